// The judge's own source for the CPU, where a channel's lanes are a loop: for tests on a machine without a GPU.
#include "judge/host.h"

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

}  // namespace

extern "C" void holdfast_judge_row(int complex, int chunks, const holdfast_judge::JudgeParams* params, long long row) {
  if (complex != 0) {
    judge_row<Complex>(chunks, *params, row);
  } else {
    judge_row<double>(chunks, *params, row);
  }
}
