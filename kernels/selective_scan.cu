// The selective scan's entry point: see selective_scan.cuh for formula, deviations and cost, launch.cuh for the
// launch (one-dimensional grid).
//
// Template parameters: Method id (spec.md §2), storage type, complex weights, variable B, variable C, gate, arithmetic
// type (float; double for precision lifting, with `double` storage of last_state and workspace).
#include "chunk_steps.cuh"
#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

// Blocks that registers must leave room for on a multiprocessor: the most that spill none. 5 leave 96 registers a thread,
// 4 leave 128 and 3 leave 168. What takes more than others: constants, complex numbers, above all in double, and B̄ of poly and highorder,
// the latter's with variable B and C but on sm_90.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 1000 || __CUDA_ARCH__ < 900)
constexpr bool kTakesMore = true;
#else
constexpr bool kTakesMore = false;
#endif
HOLDFAST_DEVICE constexpr int resident_blocks(Method method, bool is_complex, bool variable_b, bool variable_c, int lanes) {
  if (lanes != holdfast_launch::kLanes) return holdfast_launch::kResidentOfFewLanes;
  const bool no_constants = variable_b && variable_c;
  if (method == Method::kZoh || method == Method::kBilinear) return is_complex ? 4 : 5;
  if (method == Method::kRk4) return is_complex && !kFast ? 3 : 4;
  if (kFast || is_complex || method == Method::kPoly) return kTakesMore && is_complex && method == Method::kPoly ? 2 : 3;
  return method == Method::kFoh || (no_constants && !kTakesMore) ? 4 : 3;
}

template <int kMethod, class Input, bool kComplex, bool kVariableB, bool kVariableC, bool kHasGate, class T = float,
          int kLanes = holdfast_launch::kLanes>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::kThreads, resident_blocks(static_cast<Method>(kMethod), kComplex, kVariableB,
                                                                                  kVariableC, kLanes))
selective_scan(const ScanParams params) {
  using Scan =
      SelectiveScan<static_cast<Method>(kMethod), Input, kComplex, Layout<kVariableB, kVariableC, kHasGate>, T, kLanes>;
  using W = typename Scan::W;
  HOLDFAST_SHARED(typename Scan::SharedTile, tile);
  HOLDFAST_DYNAMIC_SHARED(W, states);
  const int chunks = static_cast<int>(params.chunks), block = static_cast<int>(blockIdx.x);
  Scan(params, tile, states, block / chunks, block % chunks).run();
}

// The first pass of a scan in chunks: launched before selective_scan, with the same argument.
template <int kMethod, class Input, bool kComplex, bool kVariableB, class T = float, int kLanes = holdfast_launch::kLanes>
__global__ void HOLDFAST_LAUNCH_BOUNDS(holdfast_launch::kThreads,
                                       resident_blocks(static_cast<Method>(kMethod), kComplex, kVariableB, false, kLanes))
chunk_steps(const ScanParams params) {
  using Steps = ChunkSteps<static_cast<Method>(kMethod), Input, kComplex, Layout<kVariableB, false, false>, T, kLanes>;
  HOLDFAST_SHARED(typename Steps::SharedTile, tile);
  Steps::run_block(params, tile, static_cast<int>(blockIdx.x));
}

}  // namespace HOLDFAST_NAMESPACE
