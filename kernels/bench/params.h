// What a launch of bench/ is told. src/kernel/cpu/params.rs has the same layout.
#pragma once

namespace holdfast_bench {

// `from` and `to` have n floats, `to` two more where the operation tells its clock. `repeat`: how often an operation that touches no
// memory is done. `zero` is 0: what the compiler must not know.
struct Params {
  const float* from;
  float* to;
  long long n;
  long long repeat;
  float zero;
};

// Threads of a block.
constexpr int kThreads = 256;

}  // namespace holdfast_bench
