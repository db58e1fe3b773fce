// The steps of chunks of the sequence: what a selective scan with few channels does first, so that its chunks can be scanned side by side.
//
// Formula: the steps x → Ā_l x + B̄_l u_l of a chunk are together x → P x + e, where P is the product of their Ā_l, and e the state after
// the chunk from none before it. selective_scan.cuh then starts each chunk from the state that the steps of those before it lead to.
// How: as there, without C and outputs. A block has kStates states of its channels and one chunk, in one direction of `poly`.
// Deviations: none. A state before a chunk is rounded otherwise than one that all its positions lead to.
// Expected cost: about that of the scan itself, but for the last chunk in the scan's direction, which has no chunk after it.
#pragma once

#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

template <Method kMethod, class Input, bool kComplex, class Layout, class T, int kLanes>
struct ChunkSteps : SelectiveScan<kMethod, Input, kComplex, Layout, T, kLanes, Pass::kChunkStep> {
  using Scan = SelectiveScan<kMethod, Input, kComplex, Layout, T, kLanes, Pass::kChunkStep>;
  using W = typename Scan::W;
  using typename Scan::SharedTile;
  using Scan::kTile;
  using Scan::p;
  using Scan::tile;

  HOLDFAST_DEVICE ChunkSteps(const ScanParams& params, SharedTile& tile_, int channels, int chunk)
      : Scan(params, tile_, nullptr, channels, chunk) {}

  // What block number `block` of chunk_step_blocks() does (launch.cuh).
  static HOLDFAST_DEVICE void run_block(const ScanParams& params, SharedTile& tile_, int block) {
    constexpr int kDirections = Scan::kBidirectional ? 2 : 1;
    const int groups = static_cast<int>(holdfast_launch::groups_of_states(params.dstate)), steps = static_cast<int>(params.chunks) - 1;
    const bool reverse = block % kDirections != 0;
    const int first = block / kDirections % groups * kStates, of = block / kDirections / groups;
    const int chunk = of % steps + (reverse ? 1 : 0);
    const ChunkSteps own(params, tile_, of / steps, chunk);
    if constexpr (kDirections == 2) {
      if (reverse) return own.template run<true>(chunk, first);
    }
    own.template run<false>(chunk, first);
  }

  // Of states from `first` on.
  template <bool kReverse>
  HOLDFAST_DEVICE void run(int chunk, int first) const {
    typename Scan::States own;
    this->find_states(first, own);
    HOLDFAST_UNROLL
    for (int j = 0; j < Scan::kOwn; ++j) own.own[j].product = real_as<W>(T(1));
    const int begin = tile.place.begin, last = this->last_tile();
    for (int moved = 0; moved <= last - begin; moved += kTile) {
      const int start = kReverse ? last - moved : begin + moved;
      const Positions at = this->positions(start);
      const typename Scan::Operands operands = this->load_operands(first, at);
      this->load_sequence(at);
      this->keep_operands(operands);
      __syncthreads();
      this->template scan_states<kReverse>(first, start, own);
      __syncthreads();
    }
    HOLDFAST_UNROLL
    for (int j = 0; j < Scan::kOwn; ++j) {
      if (own.own[j].exists) this->template chunk_step<kReverse>(chunk, own.own[j].n) = {own.own[j].product, own.own[j].x};
    }
  }
};

}  // namespace HOLDFAST_NAMESPACE
