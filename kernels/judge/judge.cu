// The judge of recorded runs on a GPU: for every channel the quick route's value and bound of each element, and what they say
// of what was recorded.
//
// Formula: src/judge/budget/mod.rs and src/judge/quick.rs, in f64. Eight threads walk one channel. Nothing here is shared with
// the kernels that are judged. No fused multiply-adds (--fmad=false): every bit is that of the Rust code.
// Deviations: Δ with its error, and silu of the gate, come from the host, which knows them by its own library.
// Cost: some 500 operations in f64 for each position and state.
#include "judge/judge.cuh"

namespace holdfast_judge {

constexpr int kThreads = 64;

template <bool kComplex, int kChunks>
struct Number {
  using Type = double;
};
template <int kChunks>
struct Number<true, kChunks> {
  using Type = Complex;
};

template <bool kComplex, int kChunks>
__global__ void __launch_bounds__(kThreads) judge(const __grid_constant__ JudgeParams params) {
  __shared__ Exchange exchanges[kThreads / kLanes];
  const int of_block = static_cast<int>(threadIdx.x) / kLanes;
  const long long row = static_cast<long long>(blockIdx.x) * (kThreads / kLanes) + of_block;
  judge_channel<typename Number<kComplex, kChunks>::Type, kChunks>(params, row, exchanges[of_block]);
}

}  // namespace holdfast_judge
