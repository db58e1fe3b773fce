"""30 faulty and 5 correct recordings of selective scans, f32. All arithmetic float32; phi-functions from float64."""
import json, math, os, sys
import numpy as np
from safetensors.numpy import save_file
F, C64 = np.float32, np.complex64
HERE = os.path.dirname(os.path.abspath(__file__))


def inv_sp(x): return np.log(np.expm1(x))


def make_inputs(seed, b=2, d=8, n=6, L=96, cplx=False, groups=1, constB=False, constC=False, D=True, z=True,
                bias=True, softplus=True, dt=(0.01, 0.15), spread=0.35, Ascale=1.0, s4d="lin", init=False, bias_part=None):
    r = np.random.default_rng(seed)
    t, w = {}, (2 if cplx else 1)
    t["u"] = r.standard_normal((b, d, L)).astype(F)
    base = np.exp(r.uniform(np.log(dt[0]), np.log(min(dt[1], .11)), d))
    if not softplus:
        t["delta"] = np.exp(np.log(base)[None, :, None] + spread * r.standard_normal((b, d, L))).clip(1e-3, .3).astype(F)
    elif bias_part is not None:       # the bias is one (small) part, the raw delta carries the rest
        t["delta_bias"] = r.uniform(*bias_part, d).astype(F)
        t["delta"] = (inv_sp(base)[None, :, None] + spread * r.standard_normal((b, d, L)) - t["delta_bias"][None, :, None]).astype(F)
    elif bias:
        t["delta_bias"] = inv_sp(base).astype(F)
        t["delta"] = (spread * r.standard_normal((b, d, L))).astype(F)
    else:
        t["delta"] = (inv_sp(base)[None, :, None] + spread * r.standard_normal((b, d, L))).astype(F)
    k = np.arange(n)
    if cplx:
        re = -0.5 * np.exp(0.2 * r.standard_normal((d, n)))
        im = np.pi * k if s4d == "lin" else n / np.pi * (n / (2 * k + 1) - 1)
        t["A"] = (re + 1j * im * (1 + .03 * r.standard_normal((d, n)))).astype(C64)
    else:
        t["A"] = (-Ascale * (k + 1) * np.exp(0.15 * r.standard_normal((d, n)))).astype(F)
    for name, const in (("B", constB), ("C", constC)):
        if const:
            v = r.standard_normal((d, n))
            t[name] = ((v + 1j * r.standard_normal((d, n))) / 2**.5).astype(C64) if cplx else v.astype(F)
        else:
            t[name] = r.standard_normal((b, groups, n, L * w)).astype(F)
    if D: t["D"] = (0.6 * r.standard_normal(d) + .3).astype(F)
    if z: t["z"] = r.standard_normal((b, d, L)).astype(F)
    if init:
        t["initial_state"] = (r.standard_normal((b, d, n)) * .5).astype(F)
    return t, softplus


def phis(zz):
    small = np.abs(zz) < 0.5
    s = np.where(small, 1.0, zz)
    e = np.exp(s)
    closed = [(e - 1) / s, (e - 1 - s) / s**2, (e - 1 - s - s**2 / 2) / s**3]
    out = []
    for k, c in enumerate(closed, 1):
        term = np.ones_like(zz) / math.factorial(k); acc = 0 * zz
        for i in range(1, 26):
            acc = acc + term; term = term * zz / (k + i)
        out.append(np.where(small, acc, c))
    return out


def softplus(x):
    x = x.astype(np.float64)
    return (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))).astype(F)


# ---- the stages; a fault replaces one of them ----
def st_delta(t, sp):
    x = t["delta"]
    if "delta_bias" in t: x = (x + t["delta_bias"][None, :, None]).astype(F)
    return softplus(x) if sp else x


def decode(v, cplx, L):
    if v.ndim == 4 and cplx:
        v = v.reshape(*v.shape[:3], L, 2); v = (v[..., 0] + 1j * v[..., 1]).astype(C64)
    return v


def st_operand(v, b, d, L, cplx, gmap=None, dec=decode):
    if v.ndim == 2:
        return np.broadcast_to(v[None, :, :, None], (b, *v.shape, L))
    v = dec(v, cplx, L); g = v.shape[1]
    idx = [(i // (d // g)) if gmap is None else gmap(i, g) for i in range(d)]
    return v[:, idx]


def zof(e): return e["delta"].astype(np.float64)[:, :, None, :] * e["A"].astype(np.complex128 if e["cplx"] else np.float64)[None, :, :, None]


def st_coef(e):
    """a and the gain (B-bar over B), both of e's dtype."""
    zz = zof(e); dl = e["delta"].astype(np.float64)[:, :, None, :]; p1, p2, p3 = phis(zz); m = e["method"]
    a = (1 + zz / 2) / (1 - zz / 2) if m == "bilinear" else np.exp(zz)
    g = {"zoh": dl + 0 * zz, "foh": dl**2 * p2, "bilinear": dl / (1 - zz / 2), "poly": dl * p1 + .5 * dl**2 * p2,
         "highorder": dl * p1 + dl**2 * p2 + .5 * dl**3 * p3, "rk4": dl * (1 + zz / 2 + zz**2 / 6 + zz**3 / 24)}[m]
    return a.astype(e["wt"]), g.astype(e["wt"])


def st_drive(e, g): return ((g * e["B"]).astype(e["wt"]) * e["u"][:, :, None, :]).astype(e["wt"])


def recur(a, bu, x0=None, order=None):
    L = a.shape[-1]; X = np.zeros_like(bu); x = np.zeros_like(bu[..., 0]) if x0 is None else x0.astype(bu.dtype)
    for l in (range(L) if order is None else order):
        x = a[..., l] * x + bu[..., l]; X[..., l] = x
    return X, x


def st_scan(e, a, bu):
    X, last = recur(a, bu, e.get("x0"))
    Xb = recur(a, bu, order=reversed(range(a.shape[-1])))[0] if e["method"] == "poly" else None
    return X, Xb, last


def st_read(e, X, fac=2):
    s = (e["C"] * X).astype(e["wt"]).sum(2, dtype=e["wt"])
    return (F(fac) * s.real).astype(F) if e["cplx"] else s


def st_avg(yf, yb): return (F(.5) * (yf + yb)).astype(F)


def sig(z): return (1 / (1 + np.exp(-z.astype(np.float64)))).astype(F)


def st_gate(z): return (z * sig(z)).astype(F)


def st_finish(e, y, t):
    if "D" in t: y = y + t["D"][None, :, None] * t["u"]
    if "z" in t: y = y * st_gate(t["z"])
    return y.astype(F)


def run(t, sp, method, **h):
    """h: delta, gmap, decC, eff, coef, drive, scan, read, avg, finish, last, x0"""
    b, d, L = t["u"].shape; cplx = np.iscomplexobj(t["A"])
    e = dict(method=method, cplx=cplx, wt=C64 if cplx else F, A=t["A"], u=t["u"], t=t, L=L)
    if "initial_state" in t: e["x0"] = t["initial_state"]
    e["delta"] = h.get("delta", st_delta)(t, sp).astype(F)
    e["B"] = st_operand(t["B"], b, d, L, cplx, h.get("gmap"))
    e["C"] = st_operand(t["C"], b, d, L, cplx, h.get("gmap"), h.get("decC", decode))
    if "eff" in h: h["eff"](e)
    a, g = h.get("coef", st_coef)(e)
    bu = h.get("drive", st_drive)(e, g)
    X, Xb, last = h.get("scan", st_scan)(e, a, bu)
    read = h.get("read", st_read)
    y = read(e, X)
    if Xb is not None: y = h.get("avg", st_avg)(y, read(e, Xb))
    out = h.get("finish", st_finish)(e, y.astype(F), t)
    if "last" in h: last = h["last"](e, a, bu, X, last)
    return np.ascontiguousarray(out.astype(F)), np.ascontiguousarray(last.astype(e["wt"]))


# ---- faults ----
def chunks(L, K): return [(s, min(s + K, L)) for s in range(0, L, K)]


def sc_exclusive_carry(K):
    def f(e, a, bu):
        X = np.zeros_like(bu); carry = np.zeros_like(bu[..., 0])
        for s, t in chunks(e["L"], K):
            loc, end = recur(a[..., s:t], bu[..., s:t])
            P = np.ones_like(carry)
            for l in range(s, t):
                X[..., l] = loc[..., l - s] + P * carry
                P = P * a[..., l]
            carry = end + P * carry
        return X, None, carry
    return f


def sc_chunk(K, change):
    """change(carry, chunk number, is_last_partial) -> the state that the chunk begins with"""
    def f(e, a, bu):
        X = np.zeros_like(bu); x = np.zeros_like(bu[..., 0])
        for i, (s, t) in enumerate(chunks(e["L"], K)):
            if i: x = change(x, i, t - s < K)
            X[..., s:t], x = recur(a[..., s:t], bu[..., s:t], x)
        return X, None, x
    return f


def co_gain(fn):
    def f(e):
        a, _ = st_coef(e)
        zz = zof(e); return a, fn(e["delta"].astype(np.float64)[:, :, None, :], zz, e).astype(e["wt"])
    return f


def foh_short(dl, zz, e):
    p2 = phis(zz)[1]; return dl**2 * np.where(np.abs(zz) < .5, .5 + zz / 6, p2)


def ho_nohalf(dl, zz, e):
    p1, p2, p3 = phis(zz); return dl * p1 + dl**2 * p2 + dl**3 * p3


def ho_realA(dl, zz, e):
    p1, p2, p3 = phis(zz.real); return dl * p1 + dl**2 * p2 + .5 * dl**3 * p3


def co_exp2(e):
    _, g = st_coef(e); return np.exp(zof(e) * math.log(2)).astype(e["wt"]), g


def sc_poly_next_a(e, a, bu):
    X, last = recur(a, bu)
    a2 = np.concatenate([a[..., 1:], a[..., -1:]], -1)
    return X, recur(a2, bu, order=reversed(range(e["L"])))[0], last


def sc_poly_excl_back(e, a, bu):
    X, last = recur(a, bu)
    Xb = recur(a, bu, order=reversed(range(e["L"])))[0]
    return X, np.concatenate([Xb[..., 1:], 0 * Xb[..., :1]], -1), last


def dr_poly_no_u(e, g):
    zz = zof(e); dl = e["delta"].astype(np.float64)[:, :, None, :]; p1, p2, _ = phis(zz)
    w = e["wt"]; return ((dl * p1).astype(w) * e["B"] * e["u"][:, :, None, :] + (.5 * dl**2 * p2).astype(w) * e["B"]).astype(w)


def sc_swapped_op(e, a, bu):
    """associative_scan whose operator returns (a1 a2, a1 b2 + b1)"""
    X = np.zeros_like(bu); P = np.ones_like(bu[..., 0]); x = np.zeros_like(P)
    for l in range(e["L"]):
        x = P * bu[..., l] + x; P = P * a[..., l]; X[..., l] = x
    return X, None, x


def sc_decayed_input(e, a, bu): return st_scan(e, a, (a * bu).astype(bu.dtype))


def conjC(e): e["C"] = np.conj(e["C"])
def A_log(e): e["A"] = (-np.exp(e["A"].astype(np.float64))).astype(F)
def stale_B(K):
    def f(e):
        B = np.array(e["B"])
        for s in range(K, e["L"], K): B[..., s] = e["B"][..., s - 1]
        e["B"] = B
    return f
def four_states(e):
    for k in "BC":
        v = np.array(e[k]); v[:, :, 4:] = 0; e[k] = v
def batch0_B(e): e["B"] = np.repeat(e["B"][:1], e["B"].shape[0], 0)
def delayed_u(e): e["u"] = np.concatenate([0 * e["u"][..., :1], e["u"][..., :-1]], -1)
def flipped_u(e): e["u"] = np.ascontiguousarray(e["u"][..., ::-1])
def fin_flip(e, y, t): return st_finish(e, y[..., ::-1], t)
def fin_skip_after_gate(e, y, t): return y * st_gate(t["z"]) + t["D"][None, :, None] * t["u"]
def fin_skip_du(e, y, t): return (y + t["D"][None, :, None] * (e["delta"] * t["u"])) * st_gate(t["z"])
def fin_sigmoid(e, y, t): return (y + t["D"][None, :, None] * t["u"]) * sig(t["z"])
def fin_no_skip(e, y, t): return y * st_gate(t["z"])
def fin_raw_gate(e, y, t): return (y + t["D"][None, :, None] * t["u"]) * t["z"]
def bias_after(t, sp): return softplus(t["delta"]) + t["delta_bias"][None, :, None]
def bias_twice(t, sp): return softplus(t["delta"] + F(2) * t["delta_bias"][None, :, None])
def clamp(lo, hi): return lambda t, sp: np.clip(st_delta(t, sp), F(lo), F(hi))
def halves(v, cplx, L): return (v[..., :L] + 1j * v[..., L:]).astype(C64)
def padded_last(K):
    def f(e, a, bu, X, last):
        zz = (softplus(e["t"]["delta_bias"]).astype(np.float64)[:, None] * e["A"])[None]
        ap = ((1 + zz / 2) / (1 - zz / 2)).astype(e["wt"])
        for _ in range(-e["L"] % K): last = ap * last
        return last
    return f
mod = lambda i, g: i % g
bil = lambda dl, zz, e: dl + 0 * zz

I = make_inputs
CASES = [  # method, inputs, hooks, combined, cause
 ("zoh", dict(d=8, n=6, L=137), dict(scan=sc_exclusive_carry(24)), 0,
  "The scan is chunked with chunk length 24, and the state carried into a chunk is decayed by one step too few: at position l its weight is the product of A-bar from the chunk's start to l-1, without A-bar_l (exclusive instead of inclusive cumulative decay). The states passed from chunk to chunk are right."),
 ("foh", dict(d=6, n=5, L=96, dt=(.04, .25), D=False), dict(coef=co_gain(foh_short)), 0,
  "The input coefficient's phi_2 is computed from a series cut after two terms, 1/2 + z/6 (z^2/24 and later terms missing), where |z| < 0.5; elsewhere it is right."),
 ("bilinear", dict(d=6, n=6, L=117), dict(scan=sc_chunk(32, lambda x, i, p: 0 * x if p else x)), 0,
  "The last, partial chunk of a scan chunked by 32 (positions 96 to 116, seqlen 117) begins from a zero state: the carry is lost there only."),
 ("poly", dict(d=6, n=6, L=80, groups=2), dict(scan=sc_poly_next_a), 0,
  "The reversed scan uses A-bar of position l+1 instead of l: x_b[l] = A-bar[l+1] x_b[l+1] + B-bar[l] u[l]. The forward scan is right."),
 ("highorder", dict(d=8, n=4, L=72, dt=(.05, .25)), dict(coef=co_gain(ho_nohalf)), 0,
  "The third term of the input coefficient lacks its 1/2! : Delta^3 phi_3 instead of Delta^3 phi_3 / 2 (its coefficient is doubled)."),
 ("rk4", dict(d=5, n=7, L=90), dict(coef=co_gain(lambda dl, zz, e: dl * (1 + zz / 2 + zz**2 / 3 + zz**3 / 24))), 0,
  "In the rk4 input coefficient the Delta^3 A^2 term has the factor 1/3 instead of 1/6 (that term is doubled)."),
 ("zoh", dict(d=6, n=5, L=100, cplx=True), dict(eff=conjC), 0,
  "C is conjugated in the readout: y = 2 Re sum conj(C) x. States are right."),
 ("zoh", dict(d=10, n=5, L=64, constB=True), dict(delta=clamp(.011, .083)), 0,
  "Delta after softplus is clamped to [0.011, 0.083]."),
 ("foh", dict(d=6, n=4, L=96, cplx=True, dt=(.03, .2), bias_part=(.05, .35)), dict(delta=bias_after), 0,
  "delta_bias is added after softplus instead of before: Delta = softplus(delta) + bias."),
 ("highorder", dict(d=8, n=8, L=60, groups=2), dict(finish=fin_skip_after_gate), 0,
  "The skip D u is added after the gate, so it is not gated: out = y silu(z) + D u."),
 ("rk4", dict(d=8, n=6, L=75, groups=2), dict(gmap=mod), 0,
  "Channel d reads group d mod 2 of B and C instead of group d / 4 (interleaved instead of consecutive groups)."),
 ("bilinear", dict(d=7, n=6, L=137, dt=(.004, .05)), dict(last=padded_last(32)), 0,
  "Only last_state is wrong, out is right: the sequence of 137 is padded to a multiple of 32 (160) and the state goes on decaying through the 23 padded positions, with u = 0 and Delta = softplus(bias)."),
 ("zoh", dict(d=6, n=6, L=83), dict(scan=sc_swapped_op), 0,
  "The operator of the associative scan has its operands exchanged: a1*b2 + b1 instead of a2*b1 + b2, so that x_l = sum_k (prod_{j<k} A-bar_j) B-bar_k u_k: inputs are decayed by the steps before them and not by those after."),
 ("rk4", dict(d=6, n=4, L=110, constC=True, dt=(.02, .2)), dict(eff=A_log), 0,
  "A is taken for A_log: the kernel uses -exp(A) although A is already the negative matrix."),
 ("foh", dict(d=6, n=6, L=88, dt=(.05, .28), z=False), dict(eff=flipped_u, finish=fin_flip), 0,
  "Reversed direction done incompletely: u is flipped in time before the scan and the scan's output flipped back, but Delta, B and C are not flipped (u at L-1-l meets Delta, B, C of position l). The skip uses the right u."),
 ("poly", dict(d=5, n=5, L=77, cplx=True), dict(scan=sc_poly_excl_back), 0,
  "The reversed scan is exclusive: at position l the reversed half reads x_b[l+1] (state before its update, own input left out); the forward one is right."),
 ("highorder", dict(d=5, n=6, L=92, cplx=True), dict(coef=co_gain(ho_realA)), 0,
  "The input coefficient B-bar is computed from the real part of A only (imaginary part dropped); A-bar = exp(z) uses the complex A."),
 ("bilinear", dict(d=6, n=4, L=120, cplx=True, constB=True), dict(decC=halves), 0,
  "Variable complex C is read as two halves (first seqlen numbers real parts, last seqlen imaginary parts) instead of interleaved re, im."),
 ("poly", dict(d=6, n=7, L=70, dt=(.03, .25)), dict(drive=dr_poly_no_u), 0,
  "u is missing from the second term of the input: x gets Delta phi_1 B u + 1/2 Delta^2 phi_2 B."),
 ("bilinear", dict(d=9, n=5, L=66, groups=3), dict(finish=fin_skip_du), 0,
  "The skip uses Delta*u instead of u: out = (y + D Delta u) silu(z)."),
 ("zoh", dict(d=7, n=8, L=131, z=False), dict(eff=stale_B(19)), 0,
  "Chunk length 19: at the first position of each chunk (19, 38, 57, ...) the B of the position before is used (stale B, late by one there)."),
 ("highorder", dict(d=8, n=6, L=58, constB=True, constC=True), dict(eff=four_states), 0,
  "Only the first 4 of the 6 states are computed; states 4 and 5 are left out (zero, in the output and in last_state)."),
 ("foh", dict(d=6, n=6, L=150, dt=(.03, .2)), dict(scan=sc_chunk(29, lambda x, i, p: 0 * x), finish=fin_sigmoid), 1,
  "Two faults: the state is forgotten (starts from zero) at every chunk of length 29, and the gate is sigmoid(z) instead of z*sigmoid(z)."),
 ("bilinear", dict(d=6, n=5, L=84, cplx=True, dt=(.03, .25)), dict(coef=co_gain(bil), read=lambda e, X: st_read(e, X, 1)), 1,
  "Two faults: the input coefficient is Delta B, without the factor (1 - z/2)^-1 (zoh's input coefficient with bilinear's A-bar), and the factor 2 of the complex readout is missing (y = Re sum C x)."),
 ("poly", dict(d=8, n=5, L=76, groups=2), dict(gmap=mod, avg=lambda f, b: f + b), 1,
  "Two faults: forward and reversed outputs are summed, not averaged (factor 1/2 missing), and channel d reads group d mod 2 instead of d / 4."),
 ("rk4", dict(d=6, n=7, L=97, dt=(.04, .25)), dict(coef=co_gain(lambda dl, zz, e: dl * (1 + zz / 2 + zz**2 / 6)), eff=delayed_u), 1,
  "Two faults: the last term Delta^4 A^3/24 of the input coefficient is missing, and u enters the scan one position late (u_{l-1} in place of u_l; the skip uses the right u)."),
 ("highorder", dict(d=5, n=5, L=85, cplx=True, s4d="inv", bias_part=(-.9, .6)), dict(delta=bias_twice, finish=fin_no_skip), 1,
  "Two faults: delta_bias is added twice before softplus, and the skip D u is missing."),
 ("zoh", dict(d=8, n=6, L=128), dict(delta=lambda t, sp: F(1.37) * st_delta(t, sp), scan=sc_chunk(20, lambda x, i, p: x + x)), 1,
  "Two faults: Delta is scaled by 1.37 (after softplus), and at every chunk of length 20 the carried state is counted twice (doubled)."),
 ("foh", dict(d=6, n=6, L=94, dt=(.05, .25)), dict(scan=sc_decayed_input, eff=batch0_B), 1,
  "Two faults: the input is decayed by its own step, x_l = A-bar_l (x_{l-1} + B-bar_l u_l), and B of batch 0 is used for every batch element."),
 ("rk4", dict(d=5, n=4, L=105, cplx=True), dict(coef=co_exp2, finish=fin_raw_gate), 1,
  "Two faults: A-bar is 2^z instead of e^z (exp2 without the factor log2(e)), and the gate is z itself instead of z*sigmoid(z)."),
]


def sc_blocked(K):
    def f(e, a, bu):
        X = np.zeros_like(bu); carry = np.zeros_like(bu[..., 0])
        for s, t in chunks(e["L"], K):
            loc, _ = recur(a[..., s:t], bu[..., s:t]); P = np.ones_like(carry)
            for l in range(s, t):
                P = P * a[..., l]; X[..., l] = loc[..., l - s] + P * carry
            carry = X[..., t - 1]
        return X, None, carry
    return f
def sc_reverse(e, a, bu):
    X, last = recur(a, bu, order=reversed(range(e["L"]))); return X, None, last
def sc_before(e, a, bu):
    X, last = recur(a, bu, e.get("x0")); return np.concatenate([e["x0"][..., None], X[..., :-1]], -1), None, last
CORRECT = [
 ("poly", dict(d=6, n=5, L=73, cplx=True, groups=2, D=False, z=False, softplus=False, bias=False), {}, {},
  "Correct: complex poly, Delta given as it is (no softplus, bias, skip or gate)."),
 ("zoh", dict(d=8, n=6, L=111), dict(scan=sc_reverse), {"direction": "reverse"}, "Correct: a reversed scan, stated in the metadata (direction reverse)."),
 ("rk4", dict(d=6, n=7, L=64, constB=True, init=True), dict(scan=sc_before), {"reads": "before-update"},
  "Correct: initial state given, readout before the update, stated (reads before-update), constant B."),
 ("foh", dict(d=8, n=6, L=149, dt=(.03, .2)), dict(scan=sc_blocked(23)), {}, "Correct: a scan blocked by 23, carry multiplied by running products of A-bar in f32."),
 ("bilinear", dict(d=6, n=6, L=95, cplx=True, constB=True, constC=True, s4d="inv"), dict(read=lambda e, X: st_read(e, X, 1)), {"complex_output": "real-part"},
  "Correct: constant complex B and C, output Re sum C x as stated (complex_output real-part)."),
]


def rel(x, y): return float(np.linalg.norm((x.astype(np.complex128) - y).ravel()) / np.linalg.norm(y.ravel()))


def wide(t, sp, method):
    """The whole in f64, apart from the code above but for phis: loops per element."""
    b, d, L = t["u"].shape; n = t["A"].shape[1]; cp = np.iscomplexobj(t["A"])
    W = np.complex128 if cp else np.float64
    x = t["delta"].astype(float) + (t["delta_bias"].astype(float)[None, :, None] if "delta_bias" in t else 0)
    dl = np.log1p(np.exp(x)) if sp else x
    out = np.zeros((b, d, L)); last = np.zeros((b, d, n), W)
    def at(v, i, c, l):
        if v.ndim == 2: return v[c].astype(W)
        s = v[i, c // (d // v.shape[1])]
        return (s[:, 2 * l] + 1j * s[:, 2 * l + 1].astype(float)).astype(W) if cp else s[:, l].astype(W)
    for i in range(b):
        for c in range(d):
            def half(order):
                st = np.zeros(n, W); y = np.zeros(L)
                for l in order:
                    D = dl[i, c, l]; z = D * t["A"][c].astype(W); p1, p2, p3 = phis(z)
                    a = (1 + z / 2) / (1 - z / 2) if method == "bilinear" else np.exp(z)
                    g = {"zoh": D, "foh": D * D * p2, "bilinear": D / (1 - z / 2), "poly": D * p1 + D * D * p2 / 2,
                         "highorder": D * p1 + D * D * p2 + D**3 * p3 / 2, "rk4": D * (1 + z / 2 + z * z / 6 + z**3 / 24)}[method]
                    st = a * st + g * at(t["B"], i, c, l) * t["u"][i, c, l]
                    s = (at(t["C"], i, c, l) * st).sum(); y[l] = 2 * s.real if cp else s
                return y, st
            y, last[i, c] = half(range(L))
            if method == "poly": y = (y + half(range(L - 1, -1, -1))[0]) / 2
            if "D" in t: y = y + float(t["D"][c]) * t["u"][i, c]
            if "z" in t: zz = t["z"][i, c].astype(float); y = y * zz / (1 + np.exp(-zz))
            out[i, c] = y
    return out, last


def main():
    todo = [(m, i, h, {}, bool(c), False, cause) for m, i, h, c, cause in CASES] + \
           [(m, i, h, meta, False, True, cause) for m, i, h, meta, cause in CORRECT]
    order = np.random.default_rng(2024).permutation(len(todo))
    index = []
    for no, k in enumerate(order, 1):
        method, ikw, hooks, meta, comb, ok, cause = todo[k]
        t, sp = I(1000 + 17 * int(k), **ikw)
        out, last = run(t, sp, method, **hooks)
        ro, rl = run(t, sp, method)
        w = ""
        if "initial_state" not in t and "--check" in sys.argv:
            wo, wl = wide(t, sp, method); w = f"right scan vs f64 {rel(ro, wo):.1e} {rel(rl, wl):.1e}"
        assert np.isfinite(out).all() and np.isfinite(last).all()
        ro_, rl_ = rel(out, ro), rel(last, rl)
        f = f"run{no:02d}.safetensors"
        tensors = {a: np.array(v, order="C") for a, v in t.items()}
        tensors[f"out.{method}"] = out; tensors[f"last_state.{method}"] = last
        save_file(tensors, os.path.join(HERE, f), {"delta_softplus": str(sp).lower(), "source": f"recorded run {no}", **meta})
        sz = os.path.getsize(os.path.join(HERE, f))
        flag = "" if ok or max(ro_, rl_) > 1e-3 else " <<< weak"
        print(f"{f} #{k:2d} {method:9s} out {ro_:.1e} last {rl_:.1e} {sz//1024}kB {w}{flag} {'OK' if ok else ''} {cause[:60]}")
        assert sz < 150_000
        index.append({"file": f, "output": f"out.{method}", "cause": cause, "combined": comb, "correct": ok})
    json.dump(index, open(os.path.join(HERE, "cases.json"), "w"), indent=1)


main()
