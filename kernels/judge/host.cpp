// The judge's own source for the CPU, where a channel's lanes are a loop: for tests on a machine without a GPU.
#include "judge/host.h"

#include "judge/functions.cuh"
#include "judge/judge.cuh"

namespace {

using namespace holdfast_judge;

// The launcher has room for so many.
static_assert(kLanes == HOLDFAST_JUDGE_LANES && kSums == HOLDFAST_JUDGE_KEPT, "src/kernel/cpu/params.rs is out of step");

// The instantiations of a GPU.
template <typename V>
void judge_row(int chunks, const JudgeParams& params, long long row) {
  Exchange exchange;
  switch (chunks) {
    case 1:
      return judge_channel<V, 1>(params, row, exchange);
    case 2:
      return judge_channel<V, 2>(params, row, exchange);
    default:
      return judge_channel<V, 0>(params, row, exchange);
  }
}

// A block, its threads one after the other.
template <ScalarFunction kFunction>
void judge_function(const FunctionParams& params, unsigned block, unsigned blocks, unsigned threads) {
  FunctionTally& tally = params.tallies[block];
  tally = FunctionTally{};
  for (unsigned thread = 0; thread < threads; ++thread) {
    FunctionFindings found;
    judge_share<kFunction>(params, block * threads + thread, blocks * threads, found, tally.histogram);
    merge(tally.found, found);
  }
}

using JudgeFunction = void (*)(const FunctionParams&, unsigned, unsigned, unsigned);

template <int... kFunction>
JudgeFunction judge_of(int function, std::integer_sequence<int, kFunction...>) {
  static const JudgeFunction all[] = {judge_function<static_cast<ScalarFunction>(kFunction)>...};
  return all[function];
}

}  // namespace

extern "C" void holdfast_judge_function(int function, const holdfast_judge::FunctionParams* params, unsigned block, unsigned blocks,
                                        unsigned threads) {
  const auto functions = std::make_integer_sequence<int, holdfast_functions::kScalarFunctions>();
  judge_of(function, functions)(*params, block, blocks, threads);
}

extern "C" void holdfast_merge_findings(holdfast_judge::FunctionFindings* found, const holdfast_judge::FunctionFindings* other) {
  merge(*found, *other);
}

extern "C" void holdfast_judge_row(int complex, int chunks, const holdfast_judge::JudgeParams* params, long long row) {
  if (complex != 0) {
    judge_row<Complex>(chunks, *params, row);
  } else {
    judge_row<double>(chunks, *params, row);
  }
}
