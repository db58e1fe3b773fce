// The backward scan's entry points: see selective_scan_backward.cuh for formula, deviations and cost, launch_backward.cuh for
// parameters and workspace. Both grids are one-dimensional; the sums are launched after the scan.
//
// Template parameters: as selective_scan.cu has them. Of the sums: storage type, arithmetic type.
#include "selective_scan_backward.cuh"

namespace HOLDFAST_NAMESPACE {

// Blocks that registers must leave room for on a multiprocessor: the most that spill none. 4 leave 128 registers a thread, 3
// leave 168. What takes more than others: coefficients in double, poly's other direction, and, where little is left, constants and a gate.
HOLDFAST_DEVICE constexpr int backward_blocks(Method method, bool is_complex, bool variable_b, bool variable_c,
                                              bool has_gate) {
  if (is_complex) return method == Method::kZoh && !has_gate ? 4 : 3;
  if (method == Method::kPoly) return 3;
  if (method == Method::kRk4) return has_gate && !variable_b && !variable_c ? 3 : 4;
  const bool mixed = variable_b != variable_c;
  if (method == Method::kZoh) return mixed ? 3 : 4;
  if (method == Method::kFoh && variable_b && variable_c) return 3;
  return has_gate || (mixed && method != Method::kBilinear) ? 3 : 4;
}

template <int kMethod, class Input, bool kComplex, bool kVariableB, bool kVariableC, bool kHasGate, class T = float>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::kThreads, backward_blocks(static_cast<Method>(kMethod), kComplex, kVariableB,
                                                                                 kVariableC, kHasGate))
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
