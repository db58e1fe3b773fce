//! Mutants of the forward pass in chunks,
//! by somebody who had seen neither the other mutants nor the faults that can be planted.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::Kind::{Case, Invariant};
use super::{Mutant, Variant, caught, caught_in, mutant};

const VARIANT: Variant = Variant::Chunks;

pub const MUTANTS: &[Mutant] = &[
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-product-from-nothing",
            "a chunk's product begins at 0",
            "own.own[j].product = real_as<W>(T(1));",
            "own.own[j].product = real_as<W>(T(0));",
        ),
        &[Zoh, Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-product-of-two-states",
            "products begin at 1 for as many states as a lane of eight has",
            "for (int j = 0; j < Scan::kOwn; ++j) own.own[j].product",
            "for (int j = 0; j < kOwn; ++j) own.own[j].product",
        ),
        &[Zoh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-product-without-first-item",
            "the product leaves out the first position of a whole packet",
            "        } else {\n          own.product = steps[i].a * own.product;\n        }",
            "        } else if (m > 0 || !kAllThere) {\n          own.product = steps[i].a * own.product;\n        }",
        ),
        &[Zoh, HighOrder],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-reversed-pass-stops-before-the-first-tile",
            "the reversed first pass leaves out the chunk's first tile",
            "    for (int moved = 0; moved <= last - begin; moved += kTile) {",
            "    for (int moved = 0; moved <= last - begin - (kReverse ? kTile : 0); moved += kTile) {",
        ),
        &[Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-reversed-pass-in-forward-tiles",
            "the reversed first pass takes its tiles first to last",
            "      const int start = kReverse ? last - moved : begin + moved;",
            "      const int start = begin + moved;",
        ),
        &[Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-tile-overwritten",
            "no barrier after a tile's steps in the first pass",
            "      this->template scan_states<kReverse>(first, start, own);\n      __syncthreads();",
            "      this->template scan_states<kReverse>(first, start, own);",
        ),
        &[Zoh, Rk4],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-operands-of-the-first-states",
            "the first pass reads variable B of states 0 to 15 for all",
            "= this->load_operands(first, at);",
            "= this->load_operands(0, at);",
        ),
        &[Zoh, Foh],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-first-pass-without-bias",
            "Δ's bias left out of the first pass",
            "    const T bias = tile.bias[own.slot];",
            "    const T bias = kHasOutputs ? tile.bias[own.slot] : T(0);",
        ),
        &[Zoh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-both-directions-in-one-place",
            "steps of both directions of poly in the same place",
            "    const long long row = (kReverse ? p.chunks : 0) + chunk;",
            "    const long long row = chunk;",
        ),
        &[Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-rows-of-batches-overlap",
            "steps of a batch where the next chunk's are of the one before",
            "((row * p.batch + tile.place.batch) * p.dim + channel())",
            "((row + tile.place.batch) * p.dim + channel())",
        ),
        &[Zoh, Rk4],
        caught(&[Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-channels-counted-by-block",
            "steps of a channel by its number within the block",
            "tile.place.batch) * p.dim + channel()) * p.dstate + n]",
            "tile.place.batch) * p.dim + slot()) * p.dstate + n]",
        ),
        &[Zoh, Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-sixteen-states-a-channel",
            "steps of a channel 16 states from its neighbour's, more where dstate is less",
            "tile.place.batch) * p.dim + channel()) * p.dstate + n]",
            "tile.place.batch) * p.dim + channel()) * (p.dstate < kStates ? p.dstate : kStates) + n]",
        ),
        &[Zoh, HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-reversed-from-the-nearest",
            "the reversed scan's chunks are taken from the nearest one on, not from the last one",
            "kReverse ? static_cast<int>(p.chunks) - 1 - k : k, n);",
            "kReverse ? static_cast<int>(p.chunks) - chunks + k : k, n);",
        ),
        &[Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-state-of-the-last-three-chunks",
            "a state is made of the three chunks before it",
            "    for (int k = 0; k < chunks; ++k) {",
            "    for (int k = chunks > 3 ? chunks - 3 : 0; k < chunks; ++k) {",
        ),
        &[Zoh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-rounded-down-behind-the-last",
            "how many chunks are behind a block rounded down",
            "static_cast<int>((p.seqlen - tile.place.end + p.chunk_len - 1) / p.chunk_len)",
            "static_cast<int>((p.seqlen - tile.place.end) / p.chunk_len)",
        ),
        &[Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-forward-state-one-chunk-late",
            "the state before a chunk is that before the last position's chunk",
            "static_cast<int>(tile.place.begin / p.chunk_len);",
            "static_cast<int>((tile.place.begin - 1) / p.chunk_len);",
        ),
        &[Zoh, Foh],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-carried-states-past-sixteen-from-nothing",
            "states from the 17th on begin each chunk at 0",
            "*carried(n) = state_after<kReverse>(before, n);",
            "*carried(n) = n < kStates ? state_after<kReverse>(before, n) : real_as<W>(T(0));",
        ),
        &[Zoh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-carried-states-of-the-forward-scan",
            "with more than 16 states the reversed scan begins at the forward one's states",
            "*carried(n) = state_after<kReverse>(before, n);",
            "*carried(n) = state_after<false>(before, n);",
        ),
        &[Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-reversed-scan-enters-forwards",
            "the reversed scan of a chunk begins at the forward scan's state before it",
            "      enter<true>(own);",
            "      enter<false>(own);",
        ),
        &[Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-state-in-the-storage-type",
            "the state before a chunk rounded to the storage type",
            "    return x;\n  }\n\n  // The states before the block's positions.",
            "    T* const parts = reinterpret_cast<T*>(&x);\n    for (int i = 0; i < kWidth; ++i) {\n      Input stored;\n      rounded_store(parts[i], stored);\n      parts[i] = static_cast<T>(widened_load(stored));\n    }\n    return x;\n  }\n\n  // The states before the block's positions.",
        ),
        &[Zoh, Rk4],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-last-but-one-to-the-end",
            "the last chunk but one goes to the end of the sequence as well",
            "chunk + 1 < p.chunks ?",
            "chunk + 2 < p.chunks ?",
        ),
        &[Zoh, Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-product-lost-in-rare-packets",
            "the product of packets where not all is common is thrown away",
            "      if (!kHasOutputs) own[j].product = product[j];",
            "      if (!kHasOutputs) product[j] = own[j].product;",
        ),
        &[Foh, Poly],
        caught_in(&[Case], &["negative-delta-200"]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-rare-packets-of-the-first-states",
            "where not all is common the first pass finds A and constant B of states 0 to 15 again",
            "      this->template scan_states<kReverse>(first, start, own);",
            "      this->template scan_states<kReverse>(0, start, own);",
        ),
        &[Foh, Rk4],
        caught_in(&[Case], &["negative-delta-200"]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-behind-by-the-block-number",
            "how many chunks are behind a block from its first position alone",
            "static_cast<int>((p.seqlen - tile.place.end + p.chunk_len - 1) / p.chunk_len)",
            "static_cast<int>(p.chunks - 1 - tile.place.begin / p.chunk_len)",
        ),
        &[Poly],
        caught_in(&[Case], &["overflowing-products"]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-of-the-last-state-only",
            "whether products overflow is asked of a lane's last state",
            "        finite = finite && sum - sum == T(0);",
            "        finite = sum - sum == T(0);",
        ),
        &[Zoh, Rk4],
        caught_in(&[Case], &["overflowing-products"]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-of-the-forward-scan-only",
            "whether products overflow is asked of the forward scan alone",
            "        if (kBidirectional) sum += norm1(state_after<true>(p.chunks - 1, n));",
            "",
        ),
        &[Poly],
        caught_in(&[Case], &["overflowing-products"]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-lets-nan-through",
            "a state is finite unless it is large: NaN passes",
            "        finite = finite && sum - sum == T(0);",
            "        finite = finite && !(sum > T(3e38f));",
        ),
        &[Zoh, HighOrder],
        caught_in(&[Case], &["overflowing-products"]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-of-sixteen-states",
            "whether products overflow is asked of the first 16 states",
            "        T sum = norm1(state_after<false>(p.chunks - 1, n));",
            "        if (n >= kStates) break;\n        T sum = norm1(state_after<false>(p.chunks - 1, n));",
        ),
        &[Zoh, Bilinear],
        caught_in(&[Case], &["overflowing-products"]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-overflow-asked-one-chunk-short",
            "the last chunk that has a step is not asked for an overflow",
            "        T sum = norm1(state_after<false>(p.chunks - 1, n));",
            "        T sum = norm1(state_after<false>(p.chunks - 2, n));",
        ),
        &[Zoh, Foh],
        caught_in(&[Case], &["overflowing-products"]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-others-go-on-after-an-overflow",
            "the first chunk's block takes all where a product overflows, and the others go on",
            "    if (!finite) tile.place.end = tile.place.begin == 0 ? static_cast<int>(p.seqlen) : tile.place.begin;",
            "    if (!finite && tile.place.begin == 0) tile.place.end = static_cast<int>(p.seqlen);",
        ),
        &[Zoh, Poly],
        caught_in(&[Case], &["overflowing-products"]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "chunks-last-state-by-the-number",
            "the block of the last chunk stores the last state, whoever came to the end",
            "    if (tile.place.begin == tile.place.end || tile.place.end != p.seqlen) return;",
            "    if (tile.place.begin == tile.place.end || tile.place.begin / p.chunk_len + 1 != p.chunks) return;",
        ),
        &[Zoh, Foh],
        caught_in(&[Case], &["overflowing-products"]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-step-of-one-state-of-a-lane",
            "of a lane's states the first one's step alone is written",
            "if (own.own[j].exists) this->template chunk_step",
            "if (own.own[j].exists && j == 0) this->template chunk_step",
        ),
        &[Zoh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-steps-of-sixteen-states",
            "steps of the first 16 states alone are written",
            "    if constexpr (kDirections == 2) {",
            "    if (first > 0) return;\n    if constexpr (kDirections == 2) {",
        ),
        &[Zoh, Foh],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-reversed-steps-not-written",
            "no step of the reversed scan is written",
            "      if (reverse) return own.template run<true>(chunk, first);",
            "      if (reverse) return;",
        ),
        &[Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "chunk_steps.cuh",
        (
            "chunks-first-step-not-written",
            "the first chunk's step is not written",
            "    own.template run<false>(chunk, first);",
            "    if (chunk > 0) own.template run<false>(chunk, first);",
        ),
        &[Zoh, Rk4],
        caught(&[Case]),
    )
    .of(VARIANT),
];
