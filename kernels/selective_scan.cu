// The selective scan's entry point: see selective_scan.cuh for formula, deviations and cost, launch.cuh for the
// launch (one-dimensional grid of batch · dim blocks).
//
// Template parameters: Method id (spec.md §2), storage type, complex weights, variable B, variable C, gate,
// positions per thread, arithmetic type (float; double for precision lifting, with `double` storage of last_state
// and workspace).
#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

// Blocks of the largest size that registers must leave room for on a multiprocessor. Only real zoh fits twice without
// spilling; left to itself the compiler would spill a little to fit others twice, too.
template <int kMethod, bool kComplex>
constexpr int kResidentBlocks = kMethod == static_cast<int>(Method::kZoh) && !kComplex ? 2 : 1;

template <int kMethod, class Input, bool kComplex, bool kVariableB, bool kVariableC, bool kHasGate,
          int kItems = holdfast_launch::kItems, class T = float>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::kMaxThreads, (kResidentBlocks<kMethod, kComplex>))
selective_scan(const ScanParams params) {
  using Scan =
      SelectiveScan<static_cast<Method>(kMethod), Input, kComplex, Layout<kVariableB, kVariableC, kHasGate>, kItems, T>;
  using W = typename Scan::W;
  HOLDFAST_SHARED(WarpTotals<W>, totals);
  HOLDFAST_DYNAMIC_SHARED(W, states);
  Scan(params, states, totals).run();
}

}  // namespace HOLDFAST_NAMESPACE
