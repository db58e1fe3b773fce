// The operations on the CPU: a block is a loop over its threads.
#include "bench/host.h"

#include <utility>

#include "bench/operations.cuh"

namespace {

using holdfast_bench::kThreads;
using holdfast_bench::Operation;
using holdfast_bench::Params;

template <Operation kOperation>
void measure(const Params& params, unsigned block) {
  for (int thread = 0; thread < kThreads; ++thread) {
    holdfast_bench::operate<kOperation>(params, static_cast<long long>(block) * kThreads + thread);
  }
}

template <int... kOperation>
void measure_one(int operation, const Params& params, unsigned block, std::integer_sequence<int, kOperation...>) {
  static void (*const all[])(const Params&, unsigned) = {measure<static_cast<Operation>(kOperation)>...};
  all[operation](params, block);
}

}  // namespace

extern "C" void holdfast_measure(int operation, const Params* params, unsigned block) {
  measure_one(operation, *params, block, std::make_integer_sequence<int, static_cast<int>(Operation::kCount)>());
}
