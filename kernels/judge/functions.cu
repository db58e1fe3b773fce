// The judge of functions of one float on a GPU: what a kernel's own program returned, argument by argument.
//
// Formula and proof: judge/functions.cuh. Nothing here is shared with the kernels that are judged. No fused multiply-adds
// (--fmad=false): every bit is that of the CPU's build.
// Cost: up to 2000 operations in f64 for each argument, of functions by φ near 0.
#include "judge/functions.cuh"

namespace holdfast_judge {

constexpr int kFunctionThreads = 256;

template <int kFunction>
__global__ void __launch_bounds__(kFunctionThreads) judge_function(const __grid_constant__ FunctionParams params) {
  __shared__ FunctionFindings of_threads[kFunctionThreads];
  __shared__ unsigned long long histogram[kHistogram];
  const unsigned own = threadIdx.x;
  if (own < kHistogram) histogram[own] = 0;
  __syncthreads();
  FunctionFindings found;
  judge_share<static_cast<ScalarFunction>(kFunction)>(params, blockIdx.x * kFunctionThreads + own, gridDim.x * kFunctionThreads, found,
                                                      histogram);
  of_threads[own] = found;
  for (unsigned half = kFunctionThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (own < half) merge(of_threads[own], of_threads[own + half]);
  }
  __syncthreads();
  FunctionTally& tally = params.tallies[blockIdx.x];
  if (own == 0) tally.found = of_threads[0];
  if (own < kHistogram) tally.histogram[own] = histogram[own];
}

}  // namespace holdfast_judge
