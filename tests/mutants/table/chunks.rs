//! Mutants of the forward pass in chunks,
//! by somebody who had seen neither the other mutants nor the faults that can be planted.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::Kind::{Case, Invariant};
use super::{Mutant, Variant, caught, mutant};

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
];
