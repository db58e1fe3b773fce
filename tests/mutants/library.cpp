// A mutant of the kernels as a library: Ā and B̄ of the methods HOLDFAST_MUTANT_METHODS; with HOLDFAST_MUTANT_SCANS their
// scans of f32, f16 and bf16, too, and with HOLDFAST_MUTANT_LIFTED all in double as well. What host/dispatch.cpp looks up in
// tables, this does in a loop over few.
#include <cstdio>
#include <utility>

#include "discretize.cu"
#include "host/any_layout.cuh"
#include "host/block.h"
#include "host/interface.h"
#include "host/tables.h"

namespace {

using namespace holdfast_host;
using holdfast_launch::DiscretizeParams;
using holdfast_launch::ScanParams;

template <int kMethod, bool kComplex>
Entry scan_of([[maybe_unused]] int input, [[maybe_unused]] bool lifted) {
#if defined(HOLDFAST_MUTANT_LIFTED)
  if (lifted) return enter<ScanParams, holdfast::scan_of_any_layout<kMethod, double, kComplex, double>>;
#endif
#if defined(HOLDFAST_MUTANT_SCANS)
  switch (input) {
    case 0: return enter<ScanParams, holdfast::scan_of_any_layout<kMethod, float, kComplex>>;
    case 1: return enter<ScanParams, holdfast::scan_of_any_layout<kMethod, holdfast::Half, kComplex>>;
    default: return enter<ScanParams, holdfast::scan_of_any_layout<kMethod, holdfast::Bfloat16, kComplex>>;
  }
#else
  return nullptr;
#endif
}

template <int kMethod, bool kComplex>
Entry discretize_of([[maybe_unused]] bool lifted) {
#if defined(HOLDFAST_MUTANT_LIFTED)
  if (lifted) return enter<DiscretizeParams, holdfast::discretize_elements<kMethod, kComplex, double>>;
#else
  if (lifted) return nullptr;
#endif
  return enter<DiscretizeParams, holdfast::discretize_elements<kMethod, kComplex>>;
}

struct Wanted {
  int method, complex, input, lifted;
  bool scan;
};

template <int kMethod>
void look_up(const Wanted& wanted, Entry& found) {
  if (wanted.method != kMethod) return;
  if (wanted.scan) {
    found = wanted.complex ? scan_of<kMethod, true>(wanted.input, wanted.lifted)
                           : scan_of<kMethod, false>(wanted.input, wanted.lifted);
  } else {
    found = wanted.complex ? discretize_of<kMethod, true>(wanted.lifted) : discretize_of<kMethod, false>(wanted.lifted);
  }
}

template <int... kMethods>
Entry kernel(const Wanted& wanted, std::integer_sequence<int, kMethods...>) {
  Entry found = nullptr;
  (look_up<kMethods>(wanted, found), ...);
  return found;
}

int run(const Wanted& wanted, const void* params, unsigned blocks, unsigned threads, long long shared, char* message,
        std::size_t capacity) {
  const Entry entry = kernel(wanted, std::integer_sequence<int, HOLDFAST_MUTANT_METHODS>());
  if (entry == nullptr) {
    std::snprintf(message, capacity, "not compiled");
    return 1;
  }
  for (unsigned block = 0; block < blocks; ++block) {
    if (!run_block(entry, params, block, threads, static_cast<std::size_t>(shared), message, capacity)) return 1;
  }
  return 0;
}

}  // namespace

extern "C" {

int mutant_scan(const HoldfastInstantiation* which, const ScanParams* params, unsigned blocks, char* message,
                std::size_t capacity) {
  HoldfastChoices& choices = *holdfast_choices();
  choices.variable_b = which->variable_b;
  choices.variable_c = which->variable_c;
  choices.has_gate = which->gate;
  const int element = which->lifted ? sizeof(double) : sizeof(float);
  return run({which->method, which->complex, which->input, which->lifted, true}, params, blocks,
             static_cast<unsigned>(holdfast_launch::kThreads),
             holdfast_launch::shared_bytes(params->dstate, 1 + which->complex, element), message, capacity);
}

int mutant_discretize(const HoldfastInstantiation* which, const DiscretizeParams* params, unsigned blocks,
                      unsigned threads, char* message, std::size_t capacity) {
  return run({which->method, which->complex, 0, which->lifted, false}, params, blocks, threads, 0, message, capacity);
}

}  // extern "C"
