// The backward scan's entry points: see selective_scan_backward.cuh for formula, deviations and cost, launch_backward.cuh for
// parameters and workspace. Both grids are one-dimensional; the sums are launched after the scan.
//
// Template parameters: as selective_scan.cu has them. Of the sums: storage type, arithmetic type.
#include "selective_scan_backward.cuh"

namespace HOLDFAST_NAMESPACE {

// Blocks that registers must leave room for on a multiprocessor: the most that spill none.
HOLDFAST_DEVICE constexpr int backward_blocks(Method method, bool is_complex, bool has_gate) {
  return is_complex || method == Method::kPoly || (has_gate && method != Method::kZoh) ? 3 : 4;
}

template <int kMethod, class Input, bool kComplex, bool kVariableB, bool kVariableC, bool kHasGate, class T = float>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::kThreads, backward_blocks(static_cast<Method>(kMethod), kComplex, kHasGate))
selective_scan_backward(const BackwardParams params) {
  using Scan = BackwardScan<static_cast<Method>(kMethod), Input, kComplex, Layout<kVariableB, kVariableC, kHasGate>, T>;
  HOLDFAST_SHARED(typename Scan::SharedTile, tile);
  Scan(params, tile).run();
}

template <class Input, class T = float>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::kSumThreads, 4) sum_gradients(const BackwardParams params) {
  GradientSums<Input, T>{params, static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x}.run();
}

}  // namespace HOLDFAST_NAMESPACE
