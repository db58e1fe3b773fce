// The selective scan with its layout chosen at run time: on a CPU one kernel takes the place of eight where compiling
// them all would take longer than it is worth. The results are the same to the last bit.
#pragma once

#include "host/interface.h"
#include "chunk_steps.cuh"
#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

struct AnyLayout {
  static bool variable_b() { return holdfast_choices()->variable_b; }
  static bool variable_c() { return holdfast_choices()->variable_c; }
  static bool has_gate() { return holdfast_choices()->has_gate; }
};

// As selective_scan.cu has it.
template <int kMethod, class Input, bool kComplex, class T = float, int kLanes = holdfast_launch::kLanes>
void scan_of_any_layout(const ScanParams params) {
  using Scan = SelectiveScan<static_cast<Method>(kMethod), Input, kComplex, AnyLayout, T, kLanes>;
  HOLDFAST_SHARED(typename Scan::SharedTile, tile);
  HOLDFAST_DYNAMIC_SHARED(typename Scan::W, states);
  const int chunks = static_cast<int>(params.chunks), block = static_cast<int>(blockIdx.x);
  Scan(params, tile, states, block / chunks, block % chunks).run();
}

template <int kMethod, class Input, bool kComplex, class T = float, int kLanes = holdfast_launch::kLanes>
void chunk_steps_of_any_layout(const ScanParams params) {
  using Steps = ChunkSteps<static_cast<Method>(kMethod), Input, kComplex, AnyLayout, T, kLanes>;
  HOLDFAST_SHARED(typename Steps::SharedTile, tile);
  Steps::run_block(params, tile, static_cast<int>(blockIdx.x));
}

}  // namespace HOLDFAST_NAMESPACE
