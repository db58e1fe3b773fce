// The backward scan with its layout chosen at run time, as any_layout.cuh has the forward one.
#pragma once

#include "host/any_layout.cuh"
#include "selective_scan_backward.cuh"

namespace HOLDFAST_NAMESPACE {

// As selective_scan_backward.cu has it.
template <int kMethod, class Input, bool kComplex, class T = float>
void backward_of_any_layout(const holdfast_launch::BackwardParams params) {
  using Scan = BackwardScan<static_cast<Method>(kMethod), Input, kComplex, AnyLayout, T>;
  HOLDFAST_SHARED(typename Scan::SharedTile, tile);
  Scan(params, tile).run();
}

}  // namespace HOLDFAST_NAMESPACE
