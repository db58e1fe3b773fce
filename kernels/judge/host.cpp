// The judge's own source for the CPU, where a channel's lanes are a loop: for tests on a machine without a GPU.
#include "judge/host.h"

#include "judge/judge.cuh"

extern "C" void holdfast_judge_row(int complex, const holdfast_judge::JudgeParams* params, long long row) {
  using namespace holdfast_judge;
  Exchange exchange;
  if (complex != 0) {
    judge_channel<Complex, 0>(*params, row, exchange);
  } else {
    judge_channel<double, 0>(*params, row, exchange);
  }
}
