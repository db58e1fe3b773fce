// The selective scan's entry point: see selective_scan.cuh for formula, deviations and cost, launch.cuh for the
// launch (one-dimensional grid).
//
// Template parameters: Method id (spec.md §2), storage type, complex weights, variable B, variable C, gate, arithmetic
// type (float; double for precision lifting, with `double` storage of last_state and workspace).
#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

// Blocks that registers must leave room for on a multiprocessor: the most that spill none. 6 leave 80 registers a thread, 5 leave
// 96, 4 leave 128 and 3 leave 168. What takes more than others: constants, complex numbers, and B̄ of poly and highorder.
HOLDFAST_DEVICE constexpr int resident_blocks(Method method, bool is_complex, bool variable_b, bool variable_c) {
  const int without_constants = variable_b && variable_c ? 1 : 0;
  if (method == Method::kBilinear) return 5;
  if (method == Method::kZoh) return (is_complex ? 4 : 5) + without_constants;
  return !is_complex && (method == Method::kPoly || method == Method::kHighOrder) ? 3 + without_constants : 4;
}

template <int kMethod, class Input, bool kComplex, bool kVariableB, bool kVariableC, bool kHasGate, class T = float>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::kThreads, resident_blocks(static_cast<Method>(kMethod), kComplex, kVariableB,
                                                                                  kVariableC))
selective_scan(const ScanParams params) {
  using Scan = SelectiveScan<static_cast<Method>(kMethod), Input, kComplex, Layout<kVariableB, kVariableC, kHasGate>, T>;
  using W = typename Scan::W;
  HOLDFAST_SHARED(typename Scan::SharedTile, tile);
  HOLDFAST_DYNAMIC_SHARED(W, states);
  Scan(params, tile, states).run();
}

}  // namespace HOLDFAST_NAMESPACE
