// From the C interface to a kernel: the tables of all methods, looked up at run time.
#include <cstdio>

#include "faults/list.cuh"
#include "host/interface.h"
#include "host/tables.h"
#include "platform.cuh"

namespace {

using holdfast::Fault;
using holdfast::kMethods;
using namespace holdfast_host;

using Methods = std::make_integer_sequence<int, kMethods>;

#define HOLDFAST_FAULT_TEXT(member, name) name,
const char* const kFaultNames[] = {HOLDFAST_FAULTS(HOLDFAST_FAULT_TEXT)};

#if defined(HOLDFAST_FAULT)
constexpr int kPlanted = HOLDFAST_FAULT;
#else
constexpr int kPlanted = 0;
#endif

constexpr bool is_flag(int x) { return x == 0 || x == 1; }

// The method that runs. The faults `runs-as-…` live here: nothing else turns an id into a method.
int method_of(int method, int fault) {
  for (int form = 0; form < holdfast::kForms; ++form) {
    // The textbook forms are causal; planted.cuh makes them of zoh.
    if (holdfast::holds(fault, holdfast::fault_after(Fault::kRunsAsZoh, form))) method = form < kMethods ? form : 0;
  }
  return method;
}

// A kernel of the production tables, or of the copies, and what the calling thread's kernels read at run time.
// Null where there is no such kernel.
Entry kernel_of(const HoldfastInstantiation& which, int fault, bool scans) {
  int method = which.method;
  const int complex = which.complex, lifted = which.lifted;
  if (method < 0 || method >= kMethods || which.input < 0 || which.input > 2) return nullptr;
  for (const int flag : {complex, lifted, which.fast, which.few_lanes, which.variable_b, which.variable_c, which.gate}) {
    if (!is_flag(flag)) return nullptr;
  }
  if (which.few_lanes && (complex || lifted || fault >= 0)) return nullptr;
  if (which.fast && fault < 0 && !lifted) {
    const FastTable& table = fast(method, complex, Methods());
    return scans ? scan_of(table, which) : table.discretize;
  }
  // Lifted kernels exist once, with the fault as a variable.
  const int planted = fault < 0 ? kPlanted : fault;
  method = method_of(method, planted);
  if (fault < 0 && !lifted) {
    const Table& table = production(method, complex, Methods());
    return scans ? scan_of(table, which) : table.discretize;
  }
  HoldfastChoices& choices = *holdfast_choices();
  choices = {};
  choices.fault = planted;
  const CopyTable& table =
      lifted ? copies<double>(method, complex, Methods()) : copies<float>(method, complex, Methods());
  if (!scans) return table.discretize;
  if (which.input != 0) return nullptr;
  set_layout(which);
  choices.perturbation[0] = which.perturbation[0];
  choices.perturbation[1] = which.perturbation[1];
  return table.scan;
}

// The steps of a production kernel's chunks; null where there is no such kernel.
Entry chunk_steps_of(const HoldfastInstantiation& which) {
  if (kernel_of(which, -1, true) == nullptr || which.lifted) return nullptr;
  const int method = which.fast ? which.method : method_of(which.method, kPlanted);
  return which.fast ? chunk_steps_of(fast(method, which.complex, Methods()), which)
                    : chunk_steps_of(production(method, which.complex, Methods()), which);
}

// The copy of a backward kernel whose arithmetic is double, with a planted fault in the steps that it has in common with the forward
// scan; null where there is no such kernel. As elsewhere, `kernel_of` makes the choices that the copies ask for.
Entry lifted_backward_of(const HoldfastInstantiation& which) {
  if (kernel_of(which, -1, true) == nullptr || !which.lifted) return nullptr;
  return copies<double>(which.method, which.complex, Methods()).backward;
}

int run(Entry kernel, const void* params, unsigned first, unsigned count, unsigned threads, long long shared,
        char* message, std::size_t capacity) {
  if (kernel == nullptr) {
    std::snprintf(message, capacity, "no such kernel instantiation");
    return 1;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (!run_block(kernel, params, first + i, threads, static_cast<std::size_t>(shared), message, capacity)) return 1;
  }
  return 0;
}

}  // namespace

extern "C" {

int holdfast_scan(const HoldfastInstantiation* which, int fault, const holdfast_launch::ScanParams* params,
                  unsigned first, unsigned count, char* message, std::size_t capacity) {
  // Few lanes have no more than this in their registers.
  const bool too_many = which->few_lanes && params->dstate > holdfast_launch::kStates;
  const Entry kernel = too_many ? nullptr : kernel_of(*which, fault, true);
  const int element = which->lifted ? sizeof(double) : sizeof(float);
  return run(kernel, params, first, count, holdfast_launch::kThreads,
             holdfast_launch::shared_bytes(params->dstate, 1 + which->complex, element), message, capacity);
}

int holdfast_chunk_steps(const HoldfastInstantiation* which, const holdfast_launch::ScanParams* params, unsigned first, unsigned count,
                         char* message, std::size_t capacity) {
  return run(chunk_steps_of(*which), params, first, count, holdfast_launch::kThreads, 0, message, capacity);
}

int holdfast_lifted_backward(const HoldfastInstantiation* which, const holdfast_launch::BackwardParams* params, unsigned first,
                             unsigned count, char* message, std::size_t capacity) {
  return run(lifted_backward_of(*which), params, first, count, holdfast_launch::kThreads, 0, message, capacity);
}

int holdfast_discretize(const HoldfastInstantiation* which, int fault, const holdfast_launch::DiscretizeParams* params,
                        unsigned first, unsigned count, char* message, std::size_t capacity) {
  const Entry kernel = kernel_of(*which, fault, false);
  return run(kernel, params, first, count, kDiscretizeThreads, 0, message, capacity);
}

unsigned holdfast_discretize_block() { return kDiscretizeThreads; }

unsigned holdfast_scan_threads() { return holdfast_launch::kThreads; }

unsigned holdfast_scan_tile(int width) {
  return static_cast<unsigned>(holdfast_launch::kLanes * holdfast_launch::items_for(width));
}

int holdfast_scan_lanes(int few) { return few ? holdfast_launch::kFewLanes : holdfast_launch::kLanes; }

int holdfast_spread(long long batch, long long dim, long long groups, long long seqlen, int has_few_lanes, int directions,
                    long long multiprocessors, long long* chunks) {
  const holdfast_launch::Spread spread =
      holdfast_launch::spread_for(batch, dim, groups, seqlen, has_few_lanes != 0, directions, multiprocessors);
  *chunks = spread.chunks;
  return spread.lanes == holdfast_launch::kFewLanes;
}

long long holdfast_chunk_len(long long seqlen, long long chunks) { return holdfast_launch::chunk_len_for(seqlen, chunks); }

long long holdfast_chunks(long long seqlen, long long chunk_len) { return holdfast_launch::chunks_of(seqlen, chunk_len); }

long long holdfast_chunk_step_blocks(long long blocks, long long chunks, long long dstate, int directions) {
  return holdfast_launch::chunk_step_blocks(blocks, chunks, dstate, directions);
}

long long holdfast_scan_blocks(long long batch, long long dim, long long groups, int few_lanes) {
  return holdfast_launch::blocks_for(batch, dim, groups, holdfast_scan_lanes(few_lanes));
}

long long holdfast_scan_block_of(long long batch, long long channel, long long dim, long long groups, int few_lanes) {
  return holdfast_launch::block_of(batch, channel, dim, groups, holdfast_scan_lanes(few_lanes));
}

unsigned holdfast_scan_shared(long long dstate, int width) {
  return static_cast<unsigned>(holdfast_launch::shared_bytes(dstate, width, sizeof(float)));
}

const char* holdfast_fault_name(int fault) {
  return fault >= 0 && fault < static_cast<int>(Fault::kCount) ? kFaultNames[fault] : nullptr;
}

int holdfast_planted_fault() { return kPlanted; }

}  // extern "C"
