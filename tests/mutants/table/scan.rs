//! Mutants of the scan itself: which value is read where, tiles, lanes, carried states, launch.

use holdfast::method::Method::{Foh, Poly, Zoh};

use super::Kind::{Case, Invariant, Lifted};
use super::{Mutant, SCANS, caught_in, mutant};

const SCAN: &str = "selective_scan.cuh";
const STEP: &str = "step.cuh";

pub const MUTANTS: &[Mutant] = &[
    mutant(
        SCAN,
        (
            "a-channel-mod-32",
            "A is read at channel % 32",
            "own.a = weight(p.a, n);",
            "own.a = Weight::load(p.a + (static_cast<long long>(channel() % 32) * p.dstate + n) * kWidth);",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "a-channel-mod-256",
            "A is read at channel % 256",
            "own.a = weight(p.a, n);",
            "own.a = Weight::load(p.a + (static_cast<long long>(channel() % 256) * p.dstate + n) * kWidth);",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "weights-channel-mod-64",
            "A and constant B and C are read at channel % 64",
            "(static_cast<long long>(channel()) * p.dstate + n) * kWidth",
            "(static_cast<long long>(channel() % 64) * p.dstate + n) * kWidth",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "skip-channel-mod-128",
            "D is read at channel % 128",
            "static_cast<T>(p.d[of])",
            "static_cast<T>(p.d[of % 128])",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "bias-channel-mod-256",
            "the bias of Δ is read at channel % 256",
            "static_cast<T>(p.delta_bias[of])",
            "static_cast<T>(p.delta_bias[of % 256])",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "bias-below-2048",
            "the bias of Δ is lost from position 2048 on",
            "delta.item[i] += bias;",
            "if (own.at.first < 2048) delta.item[i] += bias;",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "softplus-below-2048",
            "softplus is lost from position 2048 on",
            "if (p.delta_softplus) {",
            "if (p.delta_softplus && own.at.first < 2048) {",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "gate-below-2048",
            "the gate is lost from position 2048 on",
            "if (Layout::has_gate()) result *= gate(z[i]);",
            "if (Layout::has_gate() && at.first < 2048) result *= gate(z[i]);",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "skip-below-2048",
            "the skip is lost from position 2048 on",
            "T result = p.d ? fused",
            "T result = p.d && at.first < 2048 ? fused",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "skip-doubled",
            "2D is added",
            "fused(skip, u.item[i], y.item[i])",
            "fused(skip + skip, u.item[i], y.item[i])",
        ),
        SCANS,
        caught_in(&[Case, Invariant, Lifted], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "skip-of-first-item",
            "D times the u of the thread's first position",
            "fused(skip, u.item[i], y.item[i])",
            "fused(skip, u.item[0], y.item[i])",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "group-modulo",
            "channel d reads group d % groups",
            "group_row = row * p.dstate;",
            "group_row = (here.batch * p.groups + here.first_channel % p.groups) * p.dstate;",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["groups"]),
    ),
    mutant(
        SCAN,
        (
            "group-mod-64",
            "groups wrap at 64",
            "group_row = row * p.dstate;",
            "group_row = (here.batch * p.groups + row % p.groups % 64) * p.dstate;",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "batch-ignored-in-operands",
            "every batch entry reads the first one's B and C",
            "group_row = row * p.dstate;",
            "group_row = row % p.groups * p.dstate;",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "second-block-of-a-group",
            "a group's blocks after the first begin one channel early",
            "channels % parts * kChannels",
            "channels % parts * (kChannels - 1)",
        ),
        SCANS,
        caught_in(&[Case], &["block-edges"]),
    ),
    mutant(
        SCAN,
        (
            "readout-sign",
            "Re (C x) with +Im C Im x",
            "return fused(-c.im, x.im, fused(c.re, x.re, y));",
            "return fused(c.im, x.im, fused(c.re, x.re, y));",
        ),
        SCANS,
        caught_in(&[Case, Invariant, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        ("wide-always", "wide loads of rows that are not aligned", "wide(seqlen % items == 0)", "wide(true)"),
        SCANS,
        caught_in(&[Case], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "complex-items-halved",
            "half of a tail's complex B and C are loaded",
            "(row + kWidth * l, kWidth * valid,",
            "(row + kWidth * l, valid,",
        ),
        SCANS,
        caught_in(&[Case], &["everything-on"]),
    ),
    mutant(
        SCAN,
        ("complex-row-not-doubled", "a complex row is read from half way", "(row + kWidth * l,", "(row + l,"),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "complex-states-overlap",
            "complex rows of variable B and C are as long as real ones",
            "(tile.place.group_row + n) * p.seqlen * kWidth",
            "(tile.place.group_row + n) * p.seqlen",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "sums-not-cleared",
            "y starts where the last tile's ended",
            "total[i] = first == 0 ? y[i] : total[i] + y[i];",
            "total[i] = total[i] + y[i];",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "later-states-alone",
            "y of the last 16 states takes the place of all",
            "total[i] = first == 0 ? y[i] : total[i] + y[i];",
            "total[i] = y[i];",
        ),
        SCANS,
        caught_in(&[Case], &["block-edges", "dstate-256"]),
    ),
    mutant(
        "lanes.cuh",
        (
            "one-lane-not-summed",
            "lanes next to each other are not summed",
            "distance >= kTo; distance /= 2",
            "distance > kTo; distance /= 2",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "sum-to-other-item",
            "complex y goes to the position of the lane's number",
            "item + lane() * kItems / kLanes;",
            "item + lane() % kItems;",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        "lanes.cuh",
        (
            "halves-exchanged",
            "the upper lanes keep the lower positions",
            "const V given = upper ? v[i] : v[i + count];\n      v[i] = (upper ? v[i + count] : v[i])",
            "const V given = upper ? v[i + count] : v[i];\n      v[i] = (upper ? v[i] : v[i + count])",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "later-states-not-carried",
            "only the first 16 states are carried to the next tile",
            "if (own.own[j].exists) *carried(own.own[j].n) = own.own[j].x;",
            "if (own.own[j].exists && first == 0) *carried(own.own[j].n) = own.own[j].x;",
        ),
        SCANS,
        caught_in(&[Case], &["block-edges", "dstate-256"]),
    ),
    mutant(
        SCAN,
        (
            "carry-lost",
            "every tile starts from zero",
            "      scan_tile<false>(start, own);\n",
            "      clear_states(own);\n      scan_tile<false>(start, own);\n",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "states-of-one-channel",
            "all of a block's channels carry their states in one place",
            "return states + slot() * holdfast_launch::state_row(p.dstate) + n;",
            "return states + n;",
        ),
        SCANS,
        caught_in(&[Case], &["block-edges"]),
    ),
    mutant(
        SCAN,
        (
            "first-state-cleared",
            "only the first state starts from zero",
            "for (int n = lane(); n < p.dstate; n += kLanes) *carried(n)",
            "for (int n = lane(); n < 1; n += kLanes) *carried(n)",
        ),
        SCANS,
        caught_in(&[Case], &["block-edges"]),
    ),
    mutant(
        SCAN,
        (
            "first-lanes-cleared",
            "only as many states as lanes start from zero",
            "for (int n = lane(); n < p.dstate; n += kLanes) *carried(n)",
            "for (int n = lane(); n < kLanes; n += kLanes) *carried(n)",
        ),
        SCANS,
        caught_in(&[Case], &["block-edges", "dstate-256"]),
    ),
    mutant(
        SCAN,
        (
            "last-states-of-first-lanes",
            "only as many last states as lanes are stored",
            "for (int n = lane(); n < p.dstate; n += kLanes) keep(n, *carried(n));",
            "for (int n = lane(); n < kLanes; n += kLanes) keep(n, *carried(n));",
        ),
        SCANS,
        caught_in(&[Case], &["block-edges", "dstate-256"]),
    ),
    mutant(
        SCAN,
        (
            "states-beyond-16-lost",
            "states from 16 on are left out",
            "first < (kOnePass ? 1 : p.dstate); first += kStates",
            "first < 1; first += kStates",
        ),
        SCANS,
        caught_in(&[Case], &["block-edges", "dstate-256"]),
    ),
    mutant(
        SCAN,
        (
            "poly-forward-only",
            "poly's forward part is not added",
            "y.item[i] += reversed.item(i);",
            "y.item[i] = reversed.item(i);",
        ),
        &[Poly],
        caught_in(&[Case], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "poly-packets-forward",
            "poly's reversed scan takes a tile's packets forward",
            "const int packet = kReverse ? packets - 1 - k : k;",
            "const int packet = k;",
        ),
        &[Poly],
        caught_in(&[Case], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "poly-items-forward",
            "poly's reversed scan takes a packet's positions forward",
            "const int i = kReverse ? kItems - 1 - m : m;\n        if (i >= valid)",
            "const int i = m;\n        if (i >= valid)",
        ),
        &[Poly],
        caught_in(&[Case], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "poly-first-tile-skipped",
            "poly's reversed scan ends one tile early",
            "start >= tile.place.begin; start -= kTile",
            "start > tile.place.begin; start -= kTile",
        ),
        &[Poly],
        caught_in(&[Case], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "poly-states-go-on",
            "poly's forward scan starts from the reversed scan's states",
            "    enter<false>(own);\n    for (int start =",
            "    if (!kBidirectional) enter<false>(own);\n    for (int start =",
        ),
        &[Poly],
        caught_in(&[Case], &["short"]),
    ),
    mutant(
        SCAN,
        ("poly-not-averaged", "poly adds both directions", "T(kBidirectional ? 0.5 : 1)", "T(1)"),
        &[Poly],
        caught_in(&[Case, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        ("complex-real-part-once", "Re (C x) instead of twice it", "T(kComplex ? 2 : 1)", "T(1)"),
        SCANS,
        caught_in(&[Case, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "tail-unwritten",
            "the last element of a tail is not stored",
            "if (i < valid) p[i] = packet.item[i];",
            "if (i + 1 < valid) p[i] = packet.item[i];",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "u-of-first-item",
            "B̄ times the u of the packet's first position",
            "both[i], delta.item[i], b.item[i], u.item[i]",
            "both[i], delta.item[i], b.item[i], u.item[0]",
        ),
        SCANS,
        caught_in(&[Case, Invariant, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "c-of-first-item",
            "C of the packet's first position",
            "y[i] = readout(c.item[i], own.x, y[i]);",
            "y[i] = readout(c.item[0], own.x, y[i]);",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "b-of-first-packet",
            "B of the tile's first packet",
            "if (Layout::variable_b()) b = tile.b[row].packet[packet];",
            "if (Layout::variable_b()) b = tile.b[row].packet[0];",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "c-of-first-packet",
            "C of the tile's first packet",
            "if (Layout::variable_c()) c = tile.c[row].packet[packet];",
            "if (Layout::variable_c()) c = tile.c[row].packet[0];",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "delta-of-first-packet",
            "Δ of the tile's first packet",
            "delta = tile.delta[slot()].packet[packet];",
            "delta = tile.delta[slot()].packet[0];",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "last-position-skipped",
            "a packet's last position changes no state",
            "advance(kAllThere ? kItems : at.valid);",
            "advance(kAllThere ? kItems - 1 : at.valid);",
        ),
        SCANS,
        caught_in(&[Case], &["mixed-steps"]),
    ),
    mutant(
        SCAN,
        (
            "read-before-barrier",
            "B and C are read before all of them are loaded",
            "      __syncthreads();\n      if (!kept) {",
            "      if (!kept) {",
        ),
        SCANS,
        caught_in(&[Case], &["everything-on", "dstate-256"]),
    ),
    mutant(
        STEP,
        (
            "complex-step-sign",
            "Im (a x) with −Re x Im a",
            "fused(a.im, x.re, fused(a.re, x.im, b.im))};",
            "fused(-a.im, x.re, fused(a.re, x.im, b.im))};",
        ),
        &[Zoh, Foh],
        caught_in(&[Case, Lifted], &["short"]),
    ),
];
