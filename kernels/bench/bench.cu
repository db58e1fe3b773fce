// The operations of operations.cuh as kernels.
#include "bench/operations.cuh"

namespace holdfast_bench {

template <int kOperation>
__global__ void __launch_bounds__(kThreads) measure(const Params params) {
  operate<static_cast<Operation>(kOperation)>(params, static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x);
}

}  // namespace holdfast_bench
