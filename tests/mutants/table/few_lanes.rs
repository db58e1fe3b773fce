//! Mutants of the forward pass with two lanes a channel,
//! by somebody who had seen neither the other mutants nor the faults that can be planted.

use holdfast::method::Method::{Bilinear, Zoh};

use super::Kind::{Case, Invariant};
use super::{Mutant, Variant, caught, mutant};

const VARIANT: Variant = Variant::FewLanes;

pub const MUTANTS: &[Mutant] = &[
    mutant(
        "selective_scan.cuh",
        (
            "lanes-rows-of-the-first-eight-states",
            "B and C of states from the ninth on read from those of the first eight, where all elements are common",
            "          step_through<kReverse, true>(own[j], at, packet, j * kLanes + lane(), y);",
            "          step_through<kReverse, true>(own[j], at, packet, (j & 3) * kLanes + lane(), y);",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-each-reads-neighbouring-rows",
            "B and C by a lane's own eight neighbouring rows, where not all elements are common",
            "      step_through<kReverse, false>(one, at, packet, j * kLanes + lane(), sums[j % kSums]);",
            "      step_through<kReverse, false>(one, at, packet, lane() * kOwn + j, sums[j % kSums]);",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-later-states-left-out",
            "a lane leaves out its sixth state and those after it, where all elements are common",
            "      for (int j = kFirst; j < kOwn; j += kSums) {",
            "      for (int j = kFirst; j + kSums <= kOwn; j += kSums) {",
        ),
        &[Zoh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-tree-takes-one-branch-twice",
            "the tree's second branch begins at the next sum, whatever the level",
            "      step_all<kReverse, kFirst + kStride, 2 * kStride>(own, at, packet, other);",
            "      step_all<kReverse, kFirst + 1, 2 * kStride>(own, at, packet, other);",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-last-item-from-half-of-the-sums",
            "a packet's last position without the tree's second branches",
            "      for (int i = 0; i < kItems; ++i) y[i] = y[i] + other[i];",
            "      for (int i = 0; i + 1 < kItems; ++i) y[i] = y[i] + other[i];",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-half-of-the-sums-of-rare-packets",
            "the sums of a lane's states added up without the tree's last level, where not all elements are common",
            "    for (int count = kSums / 2; count >= 1; count /= 2) {",
            "    for (int count = kSums / 2; count > 1; count /= 2) {",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-one-item-held",
            "a lane stores the first of the sums it has",
            "      constexpr int kHeld = kItems > kLanes ? kItems / kLanes : 1;",
            "      constexpr int kHeld = 1;",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-bias-of-sixteen-channels",
            "bias and skip set for as many channels as eight lanes have",
            "    if (static_cast<int>(threadIdx.x) < kChannels) {",
            "    if (static_cast<int>(threadIdx.x) < holdfast_launch::kChannels) {",
        ),
        &[Zoh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-idle-warp-by-four-channels",
            "whether a warp is idle asked for every four channels",
            "slot() - slot() % kWarpChannels >= tile.place.channels; }",
            "slot() - slot() % 4 >= tile.place.channels; }",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-step-sizes-of-the-first-share",
            "Δ of a thread's later channels is that of its first one",
            "    for (int r = 0; r < kShare; ++r) finish_sequence(share(at, r), u[r], delta[r]);",
            "    for (int r = 0; r < kShare; ++r) finish_sequence(share(at, r), u[r], delta[0]);",
        ),
        &[Zoh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-skip-of-sixteen-channels",
            "D of a channel's number modulo 16",
            "      const T skip = tile.skip[own.slot];",
            "      const T skip = tile.skip[own.slot % holdfast_launch::kChannels];",
        ),
        &[Zoh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "lanes.cuh",
        (
            "lanes-upper-half-gets-the-lower-items",
            "what a lane gives away in a sum over lanes is its lower half, whichever half it keeps",
            "      const V given = upper ? v[i] : v[i + count];",
            "      const V given = v[i];",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan.cuh",
        (
            "lanes-positions-of-eight-packets",
            "a channel's y of a packet read where packets have eight positions",
            "      T* total = tile.y[slot()].packet[packet].item + lane() * kItems / kLanes;",
            "      T* total = tile.y[slot()].packet[packet].item + lane() * kItems / holdfast_launch::kLanes;",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
];
