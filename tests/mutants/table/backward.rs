//! Mutants of the backward pass around its derivatives,
//! by somebody who had seen neither the other mutants nor the faults that can be planted.

use holdfast::method::Method::{Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};

use super::Kind::{Case, Invariant, Lifted};
use super::{Mutant, Variant, caught, mutant};

const VARIANT: Variant = Variant::Backward;

pub const MUTANTS: &[Mutant] = &[
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-sigmoid-one-above-ten",
            "the sigmoid is 1 above 10",
            "  const float e = expf(-fabsf(x)), below = 1.0f + e;",
            "  if (x > 10.0f) return 1.0f;\n  const float e = expf(-fabsf(x)), below = 1.0f + e;",
        ),
        &[Zoh, Foh],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-wide-sigmoid-in-float",
            "the sigmoid in double takes e^−|x| as a float",
            "  const double e = exp(-fabs(x));",
            "  const double e = expf(-fabsf(static_cast<float>(x)));",
        ),
        &[Zoh, Bilinear],
        caught(&[Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-stored-in-float",
            "what is stored goes through a float",
            "rounded_store(from[i], packet.item[i]);",
            "rounded_store(static_cast<float>(from[i]), packet.item[i]);",
        ),
        &[Zoh, Foh],
        caught(&[Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-small-16-bit-gradients-flushed",
            "gradients below 2^-14 become 0 in 16 bits",
            "rounded_store(from[i], packet.item[i]);",
            "rounded_store(sizeof(Stored) == 2 && magnitude(from[i]) < T(6.1035156e-5f) ? T(0) : from[i], packet.item[i]);",
        ),
        &[Zoh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-large-16-bit-gradients-saturate",
            "gradients above 65504 stay there in 16 bits",
            "rounded_store(from[i], packet.item[i]);",
            "rounded_store(sizeof(Stored) == 2 ? least_of(from[i], T(65504.0f)) : from[i], packet.item[i]);",
        ),
        &[Zoh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-idle-lanes-for-idle-warps",
            "lanes without a channel stay out of the sums of their warp",
            "    warp_is_idle = member - slot % kWarpChannels >= members;",
            "    warp_is_idle = member >= members;",
        ),
        &[Zoh, Foh],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-complex-poly-without-two",
            "ω of complex poly is ½",
            "return T(kComplex ? 2 : 1) * T(kBidirectional ? 0.5 : 1);",
            "return T(kBidirectional ? 0.5 : kComplex ? 2 : 1);",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-idle-lanes-load-a-channel",
            "lanes without a channel load the sequence of the group's first one",
            "    const int valid = active ? at.valid : 0;",
            "    const int valid = at.valid;",
        ),
        &[Zoh, Foh],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-step-of-the-first-past-the-end",
            "the first position past the end has a step",
            "      if (i >= valid) delta.item[i] = T(0);",
            "      if (i > valid) delta.item[i] = T(0);",
        ),
        &[Zoh, Foh],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-poly-without-constant-c-forwards",
            "poly's way forwards without a constant C",
            "    if (kBidirectional && !Layout::variable_c()) own.c = weight(p.c, n);",
            "    if (kBidirectional && !Layout::variable_c()) own.c = none;",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-poly-cotangents-forget-tiles",
            "poly's reversed cotangents start anew with each tile",
            "      if (kBidirectional) own.returned = saved(packet, n)[other_direction()];",
            "      if (kBidirectional) own.returned = none;",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-poly-saves-cotangents-as-they-are",
            "poly saves p^b + C e by this position's Ā, not Ā p^b",
            "own.returned = a_bar[i] * scaled_add(c.item[i], e.item[i], own.returned);",
            "own.returned = multiply_add(a_bar[i], own.returned, scaled(c.item[i], e.item[i]));",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-no-barrier-between-forward-tiles",
            "the way forwards has no barrier after a tile's states",
            "          if (j < there && before + kLanes < packets) save(own[j], to + j * kLanes);\n        }\n        __syncthreads();\n",
            "          if (j < there && before + kLanes < packets) save(own[j], to + j * kLanes);\n        }\n",
        ),
        &[Zoh, Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-last-state-not-conjugated",
            "dlast_state is carried back without its conjugate",
            "      own.returned = conjugated(Weight::load(p.dlast_state + (static_cast<long long>(row) * dstate + n) * kWidth));",
            "      own.returned = Weight::load(p.dlast_state + (static_cast<long long>(row) * dstate + n) * kWidth);",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-last-state-of-the-first-batch",
            "dlast_state is the first batch's",
            "Weight::load(p.dlast_state + (static_cast<long long>(row) * dstate + n) * kWidth)",
            "Weight::load(p.dlast_state + (static_cast<long long>(channel) * dstate + n) * kWidth)",
        ),
        &[Zoh, Foh],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-bilinear-slope-is-a-bar",
            "bilinear's Ā stands in place of its slope",
            "        if constexpr (kMethod == Method::kBilinear) {\n          by_slope",
            "        if constexpr (false) {\n          by_slope",
        ),
        &[Bilinear],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-poly-reversed-state-too-early",
            "poly's reversed state steps before the Ā term has seen it",
            "          by_slope = multiply_add(other[i + 1], own.x, by_slope);\n          cotangent = cotangent + scaled_add(c.item[k], e.item[k], other[i]);\n          own.x = multiply_add(d[i].a_bar, own.x, times(b.item[k], h_u));\n",
            "          own.x = multiply_add(d[i].a_bar, own.x, times(b.item[k], h_u));\n          by_slope = multiply_add(other[i + 1], own.x, by_slope);\n          cotangent = cotangent + scaled_add(c.item[k], e.item[k], other[i]);\n",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-poly-reversed-slope-one-before",
            "poly's reversed Ā term takes Ā p^b of the position before",
            "multiply_add(other[i + 1], own.x, by_slope)",
            "multiply_add(other[i], own.x, by_slope)",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-poly-reversed-cotangent-without-own-output",
            "poly's reversed cotangent lacks C e of its own position",
            "          cotangent = cotangent + scaled_add(c.item[k], e.item[k], other[i]);",
            "          cotangent = cotangent + other[i];",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-no-step-no-slope",
            "where the step is 0 the decay's slope by it is left out",
            "        sums.by_step[i] = readout(own.a, by_slope, sums.by_step[i]);",
            "        sums.by_step[i] = delta.item[k] == T(0) ? sums.by_step[i] : readout(own.a, by_slope, sums.by_step[i]);",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-gate-sees-the-forward-state-alone",
            "y, for the gate, is of the forward states alone",
            "sums.y[i] = readout(c.item[k], seen, sums.y[i]);",
            "sums.y[i] = readout(c.item[k], x[i], sums.y[i]);",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-share-not-conjugated",
            "what channels add to variable B and C is not conjugated",
            "    for (int i = 0; i < kLeft; ++i) to[i] = conjugated(share[i]);",
            "    for (int i = 0; i < kLeft; ++i) to[i] = share[i];",
        ),
        &[Zoh, Rk4],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-last-warp-not-added",
            "sums over a block's channels lack the last warp's",
            "    for (int warp = 1; warp < kWarps; ++warp) sum",
            "    for (int warp = 1; warp < kWarps - 1; ++warp) sum",
        ),
        &[Zoh, Poly],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-one-of-two-parts-cleared",
            "the second of two buffers is not cleared for warps without a channel",
            "    for (int turn = 0; turn < 2; ++turn) {",
            "    for (int turn = 0; turn < 1; ++turn) {",
        ),
        &[Zoh, Foh],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-sums-over-tiles-in-float",
            "sums over tiles are kept to a float",
            "{ *sum = is_first ? share : *sum + share; }",
            "{ *sum = static_cast<float>(is_first ? share : *sum + share); }",
        ),
        &[Zoh, Foh],
        caught(&[Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-powers-of-other-states",
            "the way back keeps the powers of A that the way forwards has left",
            "        own[j] = backward(first + lane + j * kLanes, before + kLanes);\n        store_powers(own[j].a, j * kLanes + lane);\n",
            "        own[j] = backward(first + lane + j * kLanes, before + kLanes);\n",
        ),
        &[Foh, HighOrder],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-sums-of-states-on-top-of-another",
            "blocks leave the sums of all states at the first sixteen's place",
            "(part * p.batch * p.groups + group) * dstate + first + sum_state;",
            "(part * p.batch * p.groups + group) * dstate + sum_state;",
        ),
        &[Zoh, Foh],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-sums-of-batches-on-top-of-another",
            "blocks of a group lie apart by groups, not by batch and groups",
            "(part * p.batch * p.groups + group) * dstate + first + sum_state;",
            "(part * p.groups + group) * dstate + first + sum_state;",
        ),
        &[Zoh, Poly],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-y-of-the-last-states",
            "y, for the gate, is of the last sixteen states alone",
            "add_round(tile.y[slot].packet[packet].item[i], sums.y[0], first);",
            "add_round(tile.y[slot].packet[packet].item[i], sums.y[0], 0);",
        ),
        &[Zoh, Foh],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-variable-c-by-itself-left-out",
            "blocks add up the share of C only if B varies, too",
            "        if (Layout::variable_b() || Layout::variable_c()) {",
            "        if (Layout::variable_b()) {",
        ),
        &[Zoh, Foh],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-one-buffer-of-parts",
            "packets share one buffer of warps' sums",
            "          turn ^= 1;\n",
            "",
        ),
        &[Zoh, Poly],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-reversed-state-not-carried",
            "poly's reversed state is not saved for the tile before",
            "        if (kBidirectional) carry[other_direction()] = own[j].x;\n",
            "",
        ),
        &[Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-constant-b-of-the-first-tile",
            "a constant B collects from the first tile alone",
            "        if (!Layout::variable_b()) add_weight(p.b_sums, n, own[j].db, is_last);",
            "        if (!Layout::variable_b()) add_weight(p.b_sums, n, own[j].db, true);",
        ),
        &[Zoh, Bilinear],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-no-barrier-after-a-tile",
            "the way back has no barrier after a tile's states",
            "        if (!Layout::variable_c()) add_weight(p.c_sums, n, own[j].dc, is_last);\n      }\n      __syncthreads();\n",
            "        if (!Layout::variable_c()) add_weight(p.c_sums, n, own[j].dc, is_last);\n      }\n",
        ),
        &[Zoh, Foh],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-first-lane-adds-to-nothing",
            "of a sequence that fills its last tile the first lane adds to what it has not written",
            "    const bool is_first = at.first + kTile >= p.seqlen;",
            "    const bool is_first = at.first + kTile > p.seqlen;",
        ),
        &[Zoh, Bilinear],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-softplus-slope-with-bias-off",
            "softplus' slope takes the bias off",
            "ddelta.item[i] *= sigmoid(raw[i] + bias);",
            "ddelta.item[i] *= sigmoid(raw[i] - bias);",
        ),
        &[Zoh, Rk4],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-skip-keeps-omega",
            "D and the skip's share of u take e, with ω",
            "        const T ds = e.item[i] * (T(1) / factor());",
            "        const T ds = e.item[i];",
        ),
        &[Zoh, Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-poly-gate-sees-twice",
            "y, for the gate, is not halved",
            "        T s = y.item[i] * factor();",
            "        T s = y.item[i] * T(kComplex ? 2 : 1);",
        ),
        &[Poly],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-gate-without-skip",
            "the gate's gradient sees y without D u",
            "        if (p.d) s = fused(skip, u.item[i], s);\n",
            "",
        ),
        &[Zoh, Foh],
        caught(&[Case, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-a-lane-without-position-left-out",
            "the first lane without a position leaves its sums as they were",
            "    if (active && lane >= packets) {",
            "    if (active && lane > packets) {",
        ),
        &[Zoh, Foh],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-sums-of-blocks-in-float",
            "what blocks and batches leave is added up in a float",
            "  double sum = 0.0;\n  for (long long i = 0; i < count; ++i) sum += static_cast<double>(first[i * stride]);",
            "  float sum = 0.0f;\n  for (long long i = 0; i < count; ++i) sum += static_cast<float>(first[i * stride]);",
        ),
        &[Zoh, Foh],
        caught(&[Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-seven-of-eight-lanes",
            "D and delta_bias collect from seven of a channel's lanes",
            "sum_of(sums + (batch * p.dim + i) * kLanes, 1, kLanes);",
            "sum_of(sums + (batch * p.dim + i) * kLanes, 1, kLanes - 1);",
        ),
        &[Zoh, Poly],
        caught(&[Case, Invariant, Lifted]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-blocks-of-all-groups",
            "as many blocks are added up as all channels would take in one group",
            "    const long long parts = (p.dim / p.groups - 1) / kChannels + 1;",
            "    const long long parts = (p.dim - 1) / kChannels + 1;",
        ),
        &[Zoh, Foh],
        caught(&[Case]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cu",
        (
            "back-sums-numbered-by-half-blocks",
            "the numbers that are added up are counted by blocks of 128",
            "static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x",
            "static_cast<long long>(blockIdx.x) * holdfast_launch::kThreads + threadIdx.x",
        ),
        &[Zoh, Poly],
        caught(&[Case, Invariant]),
    )
    .of(VARIANT),
    mutant(
        "selective_scan_backward.cuh",
        (
            "back-nan-past-the-end",
            "a NaN in the state at the last position meets the position after it",
            "const W before = i == 0 ? carried : chosen(i < valid, x[i - 1]);",
            "const W before = i == 0 ? carried : chosen(i <= valid, x[i - 1]);",
        ),
        &[Zoh, Foh],
        caught(&[Invariant]),
    )
    .of(VARIANT),
];
