//! Mutants of the scan itself: which value is read where, chunks, warps, carried states, launch.

use holdfast::method::Method::{Foh, Poly, Zoh};

use super::Kind::{Case, Invariant, Lifted};
use super::{Mutant, SCANS, caught_in, mutant};

const SCAN: &str = "selective_scan.cuh";
const BLOCK: &str = "scan.cuh";

pub const MUTANTS: &[Mutant] = &[
    mutant(
        SCAN,
        (
            "a-channel-mod-32",
            "A is read at channel % 32",
            "const W a = Weight::load(p.a + (static_cast<long long>(channel) * p.dstate + n) * kWidth);",
            "const W a = Weight::load(p.a + (static_cast<long long>(channel % 32) * p.dstate + n) * kWidth);",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "a-channel-mod-256",
            "A is read at channel % 256",
            "const W a = Weight::load(p.a + (static_cast<long long>(channel) * p.dstate + n) * kWidth);",
            "const W a = Weight::load(p.a + (static_cast<long long>(channel % 256) * p.dstate + n) * kWidth);",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "operand-channel-mod-64",
            "a constant B or C is read at channel % 64",
            "static_cast<const float*>(from) + (static_cast<long long>(channel) * p.dstate",
            "static_cast<const float*>(from) + (static_cast<long long>(channel % 64) * p.dstate",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "skip-channel-mod-128",
            "D is read at channel % 128",
            "static_cast<T>(p.d[channel])",
            "static_cast<T>(p.d[channel % 128])",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "bias-channel-mod-256",
            "the bias of Δ is read at channel % 256",
            "static_cast<T>(p.delta_bias[channel])",
            "static_cast<T>(p.delta_bias[channel % 256])",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "bias-in-the-first-chunk",
            "the bias of Δ is lost in chunks after the first",
            "items.delta[i] += bias;",
            "if (chunk == 0) items.delta[i] += bias;",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "softplus-in-the-first-chunk",
            "softplus is lost in chunks after the first",
            "if (p.delta_softplus) items",
            "if (p.delta_softplus && chunk == 0) items",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "gate-in-the-first-chunk",
            "the gate is lost in chunks after the first",
            "if (Layout::has_gate()) result *= gate(z[i]);",
            "if (Layout::has_gate() && items.first < 2048) result *= gate(z[i]);",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "skip-in-the-first-chunk",
            "the skip is lost in chunks after the first",
            "T result = p.d ? fused",
            "T result = p.d && items.first < 2048 ? fused",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "skip-doubled",
            "2D is added",
            "T result = p.d ? fused(skip, u[i], items.y[i])",
            "T result = p.d ? fused(skip + skip, u[i], items.y[i])",
        ),
        SCANS,
        caught_in(&[Case, Invariant, Lifted], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "skip-of-first-item",
            "D times the u of the thread's first position",
            "fused(skip, u[i], items.y[i])",
            "fused(skip, u[0], items.y[i])",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "group-modulo",
            "channel d reads group d % groups",
            "channel / (p.dim / p.groups)) * p.dstate;",
            "channel % p.groups) * p.dstate;",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["groups"]),
    ),
    mutant(
        SCAN,
        (
            "group-mod-64",
            "groups wrap at 64",
            "channel / (p.dim / p.groups)) * p.dstate;",
            "channel / (p.dim / p.groups) % 64) * p.dstate;",
        ),
        SCANS,
        caught_in(&[Case], &["wide"]),
    ),
    mutant(
        SCAN,
        (
            "batch-ignored-in-operands",
            "every batch entry reads the first one's B and C",
            "group_row = (batch * p.groups +",
            "group_row = (0 * batch * p.groups +",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
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
        (
            "wide-always",
            "wide loads of rows that are not aligned",
            "items.wide = p.seqlen % kItems == 0;",
            "items.wide = true;",
        ),
        SCANS,
        caught_in(&[Case], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "complex-items-halved",
            "half of a tail's complex B and C are loaded",
            "load_items(row + 2 * l, 2 * valid,",
            "load_items(row + 2 * l, valid,",
        ),
        SCANS,
        caught_in(&[Case], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "complex-row-not-doubled",
            "a complex row is read from half way",
            "load_items(row + 2 * l,",
            "load_items(row + l,",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "complex-states-overlap",
            "complex rows of variable B and C are as long as real ones",
            "const Stored* row = group + n * seqlen * kWidth;",
            "const Stored* row = group + n * seqlen;",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "outputs-not-cleared",
            "y starts where the last chunk's ended",
            "items.y[i] = T(0);\n    }",
            "if (chunk == 0) items.y[i] = T(0);\n    }",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "own-map-reversed",
            "a thread's maps are joined in the wrong order",
            "own = j == 0 ? steps[i] : then(own, steps[i]);",
            "own = j == 0 ? steps[i] : then(steps[i], own);",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "carry-parity-lost",
            "every chunk starts from the first set of states",
            "const W* carry = states + parity * p.dstate + n;",
            "const W* carry = states + n;",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "carry-of-one-state",
            "the second set of states begins at 1",
            "const W* carry = states + parity * p.dstate + n;",
            "const W* carry = states + parity + n;",
        ),
        SCANS,
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        SCAN,
        (
            "poly-carry-parity",
            "poly's reversed scan counts parity from the front",
            "scan_chunk<true>(items, (chunks - 1 - chunk) & 1);",
            "scan_chunk<true>(items, chunk & 1);",
        ),
        &[Poly],
        caught_in(&[Case, Invariant], &["everything-2049", "everything-6145"]),
    ),
    mutant(
        SCAN,
        (
            "poly-carry-never-turns",
            "poly's reversed scan starts every chunk from zero",
            "scan_chunk<true>(items, (chunks - 1 - chunk) & 1);",
            "scan_chunk<true>(items, 0);",
        ),
        &[Poly],
        caught_in(&[Case], &["everything-2049", "everything-4097"]),
    ),
    mutant(
        SCAN,
        (
            "poly-carry-from-the-end",
            "poly's reversed scan carries the state after its first thread's last item",
            "const bool last = threadIdx.x == (kReverse ? 0 : blockDim.x - 1);",
            "const bool last = threadIdx.x == blockDim.x - 1;",
        ),
        &[Poly],
        caught_in(&[Case], &["everything-2049", "everything-4097"]),
    ),
    mutant(
        SCAN,
        (
            "last-state-of-other-set",
            "the last state is read from the set that the last chunk began with",
            "states + (chunks & 1) * p.dstate",
            "states + ((chunks & 1) ^ 1) * p.dstate",
        ),
        SCANS,
        caught_in(&[Case, Invariant, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        ("turn-never-changes", "one set of warp totals for all scans", "items.turn ^= 1;", ""),
        SCANS,
        caught_in(&[Case], &["everything-256", "everything-512"]),
    ),
    mutant(
        SCAN,
        (
            "first-state-cleared",
            "only the first state starts from zero",
            "for (int n = threadIdx.x; n < p.dstate; n += blockDim.x) states[n]",
            "for (int n = threadIdx.x; n < 1; n += blockDim.x) states[n]",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "states-cleared-by-one-stride",
            "only as many states as threads start from zero",
            "n < p.dstate; n += blockDim.x) states[n]",
            "n < p.dstate; n += p.dstate) states[n]",
        ),
        SCANS,
        caught_in(&[Case], &["dstate-256"]),
    ),
    mutant(
        SCAN,
        (
            "last-states-by-one-stride",
            "only as many last states as threads are stored",
            "i < p.dstate * kWidth; i += blockDim.x)",
            "i < p.dstate * kWidth; i += p.dstate * kWidth)",
        ),
        SCANS,
        caught_in(&[Case], &["dstate-256"]),
    ),
    mutant(
        SCAN,
        (
            "poly-forward-only",
            "poly's forward part is not added",
            "items.y[i] += workspace(items)[i];",
            "items.y[i] = workspace(items)[i];",
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
            "if (i < items.valid) out[i] = packet.item[i];",
            "if (i + 1 < items.valid) out[i] = packet.item[i];",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["everything-on"]),
    ),
    mutant(
        SCAN,
        (
            "u-of-first-item",
            "B̄ times the u of the thread's first position",
            "scaled(k.b_bar, u_at(items, i))",
            "scaled(k.b_bar, u_at(items, 0))",
        ),
        SCANS,
        caught_in(&[Case, Invariant, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "b-of-first-item",
            "B of the thread's first position",
            "discretize<kMethod>(items.delta[i], a, b[i]);",
            "discretize<kMethod>(items.delta[i], a, b[0]);",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "delta-of-first-item",
            "Δ of the thread's first position",
            "discretize<kMethod>(items.delta[i], a, b[i]);",
            "discretize<kMethod>(items.delta[0], a, b[i]);",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "c-of-first-item",
            "C of the thread's first position",
            "items.y[i] = readout(c[i], x, items.y[i]);",
            "items.y[i] = readout(c[0], x, items.y[i]);",
        ),
        SCANS,
        caught_in(&[Case, Lifted], &["short"]),
    ),
    mutant(
        SCAN,
        (
            "first-item-skipped",
            "a thread's first step is not part of its map",
            "own = j == 0 ? steps[i] : then(own, steps[i]);",
            "own = j < 2 ? steps[i] : then(own, steps[i]);",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        BLOCK,
        (
            "warp-scan-strict",
            "a lane does not join the one at exactly the distance",
            "if (rank >= distance) inclusive",
            "if (rank > distance) inclusive",
        ),
        SCANS,
        caught_in(&[Case], &["seqlen-127"]),
    ),
    mutant(
        BLOCK,
        (
            "warp-scan-of-16",
            "the scan of a warp stops at a distance of 8",
            "distance < kWarp; distance *= 2",
            "distance < kWarp / 2; distance *= 2",
        ),
        SCANS,
        caught_in(&[Case], &["seqlen-127"]),
    ),
    mutant(
        BLOCK,
        (
            "reversed-warps-forward",
            "the reversed scan joins the warps before it",
            "const int earlier_warps = kReverse ? warps - 1 - warp : warp;",
            "const int earlier_warps = warp;",
        ),
        &[Poly],
        caught_in(&[Case], &["seqlen-256"]),
    ),
    mutant(
        BLOCK,
        (
            "reversed-totals-forward",
            "the reversed scan reads warp totals from the front",
            "shared.total[turn][kReverse ? warps - 1 - i : i]",
            "shared.total[turn][i]",
        ),
        &[Poly],
        caught_in(&[Case], &["seqlen-512"]),
    ),
    mutant(
        BLOCK,
        (
            "first-lane-joins-itself",
            "the first lane of a warp takes a neighbour's map",
            "return rank == 0 ? x : multiply_add(before.a, x, before.b);",
            "return multiply_add(before.a, x, before.b);",
        ),
        SCANS,
        caught_in(&[Case, Invariant], &["short"]),
    ),
    mutant(
        BLOCK,
        (
            "barrier-missing",
            "warp totals are read without a barrier",
            "if (rank == kWarp - 1) shared.total[turn][warp] = inclusive;\n  __syncthreads();",
            "if (rank == kWarp - 1) shared.total[turn][warp] = inclusive;",
        ),
        &[Poly],
        caught_in(&[Case], &["seqlen-256"]),
    ),
    mutant(
        BLOCK,
        (
            "carry-lost",
            "the state before a chunk counts for its first thread alone",
            "W x = *carry;",
            "W x = threadIdx.x == 0 ? *carry : real_as<W>(0.0f);",
        ),
        &[Zoh],
        caught_in(&[Case], &["everything-2049"]),
    ),
    mutant(
        BLOCK,
        (
            "join-without-product",
            "joined maps keep the second factor alone",
            "return {first.a * second.a, multiply_add(",
            "return {second.a, multiply_add(",
        ),
        SCANS,
        caught_in(&[Case, Invariant, Lifted], &["short", "s4d-real"]),
    ),
    mutant(
        BLOCK,
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
