// From the C interface to a kernel: the tables of all methods, looked up at run time.
#include <cstdio>

#include "../faults.cuh"
#include "../launch.cuh"
#include "interface.h"

// faults.cuh above belongs to the production build: its `planted` is a constant there.
#define HOLDFAST_EACH_TABLE(X) X(0, 0) X(0, 1) X(1, 0) X(1, 1) X(2, 0) X(2, 1) X(3, 0) X(3, 1) X(4, 0) X(4, 1) X(5, 0) X(5, 1)

#define HOLDFAST_DECLARE_TABLE(method, complex) extern const HoldfastTable table_##method##_##complex;
namespace holdfast {
HOLDFAST_EACH_TABLE(HOLDFAST_DECLARE_TABLE)
}
namespace holdfast_faulty {
HOLDFAST_EACH_TABLE(HOLDFAST_DECLARE_TABLE)
}

namespace holdfast_lifted {
HOLDFAST_EACH_TABLE(HOLDFAST_DECLARE_TABLE)
}

namespace {

#define HOLDFAST_PRODUCTION_TABLE(method, complex) &holdfast::table_##method##_##complex,
const HoldfastTable* const kProduction[] = {HOLDFAST_EACH_TABLE(HOLDFAST_PRODUCTION_TABLE)};
#define HOLDFAST_FAULTY_TABLE(method, complex) &holdfast_faulty::table_##method##_##complex,
const HoldfastTable* const kFaulty[] = {HOLDFAST_EACH_TABLE(HOLDFAST_FAULTY_TABLE)};

#define HOLDFAST_LIFTED_TABLE(method, complex) &holdfast_lifted::table_##method##_##complex,
const HoldfastTable* const kLifted[] = {HOLDFAST_EACH_TABLE(HOLDFAST_LIFTED_TABLE)};

constexpr int kMethods = sizeof kProduction / sizeof kProduction[0] / 2;
constexpr unsigned kDiscretizeThreads = 64;
thread_local int runtime_fault = 0;
thread_local double runtime_perturbation[2] = {0.0, 0.0};

#define HOLDFAST_FAULT_TEXT(member, name, effect) name,
const char* const kFaultNames[] = {HOLDFAST_FAULTS(HOLDFAST_FAULT_TEXT)};

constexpr bool is_flag(int x) { return x == 0 || x == 1; }

bool has_fault(int fault, holdfast::Fault which) {
  return fault < 0 ? holdfast::planted(which) : holdfast::holds(fault, which);
}

// The faults `ids-3-4-swapped` and `runs-as-…` live here: dispatch is the only place that turns an id into a method.
const HoldfastTable* table_of(int method, int complex, int lifted, int fault) {
  if (method < 0 || method >= kMethods || !is_flag(complex) || !is_flag(lifted)) return nullptr;
  if (has_fault(fault, holdfast::Fault::kIds34Swapped) && (method == 3 || method == 4)) method = 7 - method;
  const int first = static_cast<int>(holdfast::Fault::kRunsAsZoh);
  const int last = static_cast<int>(holdfast::Fault::kRunsAsExpTrapezoidal);
  for (int as = first; as <= last; ++as) {
    // The textbook forms are causal; planted.cuh makes them of zoh.
    if (has_fault(fault, static_cast<holdfast::Fault>(as))) method = as - first < kMethods ? as - first : 0;
  }
  return (lifted ? kLifted : fault < 0 ? kProduction : kFaulty)[method * 2 + complex];
}

int no_such_kernel(char* message, std::size_t capacity) {
  std::snprintf(message, capacity, "no such kernel instantiation");
  return 1;
}

int run(HoldfastKernel kernel, int fault, const void* params, unsigned first, unsigned count, unsigned threads,
        std::size_t shared, char* message, std::size_t capacity) {
  // Lifted kernels exist once, with the fault as a variable.
  runtime_fault = fault < 0 ? holdfast_planted_fault() : fault;
  for (unsigned i = 0; i < count; ++i) {
    if (!holdfast_host::run_block(kernel, params, first + i, threads, shared, message, capacity)) return 1;
  }
  return 0;
}

}  // namespace

extern "C" {

int* holdfast_runtime_fault() { return &runtime_fault; }

const double* holdfast_runtime_perturbation() { return runtime_perturbation; }

int holdfast_scan(const HoldfastInstantiation* which, int fault, const HoldfastScan* params, unsigned first,
                  unsigned count, char* message, std::size_t capacity) {
  const HoldfastTable* table = table_of(which->method, which->complex, which->lifted, fault);
  if (table == nullptr || which->input < 0 || which->input > 2 || !is_flag(which->variable_b) ||
      !is_flag(which->variable_c) || !is_flag(which->gate)) {
    return no_such_kernel(message, capacity);
  }
  const HoldfastKernel kernel = table->scan[which->input][which->variable_b][which->variable_c][which->gate];
  if (kernel == nullptr) return no_such_kernel(message, capacity);
  const long long shared = holdfast_launch::shared_bytes(params->dstate, 1 + which->complex, which->lifted ? sizeof(double) : sizeof(float));
  runtime_perturbation[0] = which->perturbation[0];
  runtime_perturbation[1] = which->perturbation[1];
  return run(kernel, fault, params, first, count, holdfast_scan_threads(params->seqlen),
             static_cast<std::size_t>(shared), message, capacity);
}

int holdfast_discretize(int method, int complex, int lifted, int fault, const HoldfastDiscretize* params, unsigned first,
                        unsigned count, char* message, std::size_t capacity) {
  const HoldfastTable* table = table_of(method, complex, lifted, fault);
  if (table == nullptr) return no_such_kernel(message, capacity);
  runtime_perturbation[0] = runtime_perturbation[1] = 0.0;
  return run(table->discretize, fault, params, first, count, kDiscretizeThreads, 0, message, capacity);
}

unsigned holdfast_discretize_block() { return kDiscretizeThreads; }

unsigned holdfast_scan_threads(long long seqlen) { return static_cast<unsigned>(holdfast_launch::threads_for(seqlen)); }

unsigned holdfast_scan_chunk(long long seqlen) { return holdfast_scan_threads(seqlen) * holdfast_launch::kItems; }

unsigned holdfast_scan_shared(long long dstate, int width) {
  return static_cast<unsigned>(holdfast_launch::shared_bytes(dstate, width, sizeof(float)));
}

const char* holdfast_fault_name(int fault) {
  const int count = static_cast<int>(holdfast::Fault::kCount);
  return fault >= 0 && fault < count ? kFaultNames[fault] : nullptr;
}

int holdfast_planted_fault() {
#if defined(HOLDFAST_FAULT)
  return HOLDFAST_FAULT;
#else
  return 0;
#endif
}

}  // extern "C"
