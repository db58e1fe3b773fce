import json, os, sys
import numpy as np
from math import factorial
from safetensors.numpy import save_file
HERE = os.path.dirname(os.path.abspath(__file__))

# ---------------------------------------------------------------- the right kernel, in stages
def phi(k, z):
    z = np.asarray(z, dtype=np.result_type(z, np.float64))
    zs = np.where(np.abs(z) < 1, z, 0)
    ser = np.zeros_like(z)
    for i in range(24, -1, -1):
        ser = ser * zs + 1 / factorial(i + k)
    zb = np.where(np.abs(z) < 1, 1, z)
    r = np.exp(zb)
    for i in range(k):
        r = (r - 1 / factorial(i)) / zb
    return np.where(np.abs(z) < 1, ser, r)

def coef(m, A, Z, T):
    """Z = Delta A, T = Delta, both (b,d,n,l) f64; returns Abar and Bbar/B"""
    if m == "zoh": return np.exp(Z), T + 0 * Z
    if m == "foh": return np.exp(Z), T**2 * phi(2, Z)
    if m == "bilinear": return (1 + Z / 2) / (1 - Z / 2), T / (1 - Z / 2)
    if m == "poly": return np.exp(Z), T * phi(1, Z) + .5 * T**2 * phi(2, Z)
    if m == "highorder": return np.exp(Z), T * phi(1, Z) + T**2 * phi(2, Z) + .5 * T**3 * phi(3, Z)
    if m == "rk4": return np.exp(Z), T * (1 + Z / 2 + Z**2 / 6 + Z**3 / 24)

def softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, x.dtype.type(20)))))

def dt_of(p):
    d = p["delta"]
    if p.get("bias") is not None: d = d + p["bias"][None, :, None]
    return softplus(d) if p["sp"] else d

def seq(a, v):
    x = np.empty_like(v); s = np.zeros_like(v[..., 0])
    for l in range(v.shape[-1]):
        s = a[..., l] * s + v[..., l]; x[..., l] = s
    return x

def bseq(a, v): return seq(a[..., ::-1], v[..., ::-1])[..., ::-1]

def read(C, x):
    y = (C * x).sum(axis=2)
    return 2 * y.real if np.iscomplexobj(y) else y

def silu(z): return z / (1 + np.exp(-z))

def outp(y, u, D, z):
    if D is not None: y = y + D[None, :, None] * u
    if z is not None: y = y * silu(z)
    return y

def group_of(d, G, dim): return d // (dim // G)

def expand(B, p, grp):
    b, d, l = p["u"].shape
    if B.ndim == 2: return np.broadcast_to(B[None, :, :, None], (b, d, B.shape[1], l))
    G = B.shape[1]
    return B[:, [grp(i, G, d) for i in range(d)]]

def run(p, m, rt, F):
    ct = {np.float32: np.complex64, np.float64: np.complex128}[rt]
    c = lambda x: x if not isinstance(x, np.ndarray) else x.astype(ct if np.iscomplexobj(x) else rt)
    p = {k: c(x) for k, x in p.items()}
    for f in F.get("pre", []): p = f(p)
    dt = F.get("dt", dt_of)(p)
    assert dt.dtype == rt, dt.dtype
    B = expand(p["B"], p, F.get("group", group_of)); C = expand(p["C"], p, F.get("group", group_of))
    A64 = p["A"].astype(np.complex128 if np.iscomplexobj(p["A"]) else np.float64)[None, :, :, None]
    T = dt.astype(np.float64)[:, :, None, :]; Z = T * A64; T = np.broadcast_to(T, Z.shape)
    a, g = coef(m, A64, Z, T)
    for f in F.get("coef", []): a, g = f(a, g, Z, T, A64)
    a, g = c(a), c(g)
    v = F.get("vin", lambda g, B, u: g * B * u)(g, B, p["u"][:, :, None, :])
    rd = F.get("read", read)
    if "assemble" in F: x, y = F["assemble"](a, v, C, rd)
    else:
        x = F.get("scan", seq)(a, v); y = rd(C, x)
        if m == "poly": y = (y + rd(C, F.get("bscan", bseq)(a, v))) * rt(.5)
    out = F.get("out", outp)(y, p["u"], p.get("D"), p.get("z"))
    last = F.get("last", lambda x, a, v, p: x[..., -1])(x, a, v, p)
    assert out.dtype == rt, out.dtype
    return {"out": out, "last_state": last}

# ---------------------------------------------------------------- inputs
def inputs(seed, b, d, n, l, cplx=False, vB=True, vC=True, G=1, sp=True, bias=True, D=True, z=False, dmin=.01, dmax=.5, last=True):
    r = np.random.default_rng(seed); f = np.float32
    t0 = np.exp(r.uniform(np.log(dmin), np.log(dmax), d))
    p = {"u": r.standard_normal((b, d, l)).astype(f), "sp": sp, "last": last}
    if sp:
        raw = t0 + np.log(-np.expm1(-t0))
        w = .6 * r.standard_normal((b, d, l))
        if bias == "pos": p["delta"] = (w + raw[None, :, None]).astype(f); p["bias"] = r.uniform(.02, .3, d).astype(f)
        elif bias: p["delta"] = w.astype(f); p["bias"] = raw.astype(f)
        else: p["delta"] = (w + raw[None, :, None]).astype(f)
    else:
        t = t0[None, :, None] * np.exp(.5 * r.standard_normal((b, d, l)))
        if bias: p["bias"] = (.1 * t0).astype(f)
        p["delta"] = t.astype(f)
    k = np.arange(n)
    if cplx: p["A"] = (-.5 * np.exp(.3 * r.standard_normal((d, n))) + 1j * np.pi * (k + r.uniform(.1, .6, (d, n)))).astype(np.complex64)
    else: p["A"] = (-(k + 1) * np.exp(.2 * r.standard_normal((d, n)))).astype(f)
    def bc(var):
        s = (b, G, n, l) if var else (d, n)
        x = r.standard_normal(s)
        if cplx: return ((x + 1j * r.standard_normal(s)) / np.sqrt(2)).astype(np.complex64)
        return x.astype(f)
    p["B"] = bc(vB); p["C"] = bc(vC)
    if D: p["D"] = (1 + .3 * r.standard_normal(d)).astype(f)
    if z: p["z"] = r.standard_normal((b, d, l)).astype(f)
    return p

def save(path, p, m, o):
    t = {"u": p["u"], "delta": p["delta"], "A": p["A"], "out." + m: o["out"].astype(np.float32)}
    for k in "BC":
        x = p[k]
        if x.ndim == 4 and np.iscomplexobj(x):
            x = np.stack([x.real, x.imag], -1).reshape(*x.shape[:3], -1).astype(np.float32)
        t[k] = x
    for k, s in (("D", "D"), ("z", "z"), ("bias", "delta_bias")):
        if p.get(k) is not None: t[s] = p[k]
    if p["last"]:
        t["last_state." + m] = o["last_state"].astype(np.complex64 if np.iscomplexobj(p["A"]) else np.float32)
    save_file({k: np.array(x, order="C") for k, x in t.items()}, path, {"delta_softplus": str(p["sp"]).lower()})

# ---------------------------------------------------------------- mistakes: (words, stage overrides)
def pre(f): return {"pre": [f]}
def cf(f): return {"coef": [f]}
M = {}
def mk(name, words, st): M[name] = (words, st)

mk("sp_before_bias", "Delta = softplus(delta) + delta_bias: the bias is added after the softplus",
   {"dt": lambda p: softplus(p["delta"]) + p["bias"][None, :, None]})
mk("no_bias", "delta_bias is left out", {"dt": lambda p: dt_of({**p, "bias": None})})
mk("sp_thresh1", "softplus returns its argument above 1 (threshold 1 in place of 20)",
   {"dt": lambda p: (lambda x: np.where(x > 1, x, softplus(x)))(p["delta"] + p["bias"][None, :, None])})
mk("dt_clamp", "Delta is clamped to [0.001, 0.1] (dt_min, dt_max) after the softplus",
   {"dt": lambda p: np.clip(dt_of(p), p["u"].dtype.type(.001), p["u"].dtype.type(.1))})
mk("re_re", "y = 2 sum Re(C) Re(x): the product of the imaginary parts is missing",
   {"read": lambda C, x: 2 * (C.real * x.real).sum(2)})
mk("plus_im", "y = 2 sum (Re C Re x + Im C Im x), that is 2 Re sum conj(C) x: C is conjugated",
   {"read": lambda C, x: 2 * (C.real * x.real + C.imag * x.imag).sum(2)})
mk("guard_phi2", "where |Delta A| < 0.15, phi2 is replaced by the constant 1/2",
   cf(lambda a, g, Z, T, A: (a, np.where(abs(Z) < .15, T**2 * .5, g))))
mk("taylor_phi2", "where |Delta A| < 1, phi2 is the Taylor polynomial 1/2 + z/6",
   cf(lambda a, g, Z, T, A: (a, np.where(abs(Z) < 1, T**2 * (.5 + Z / 6), g))))
mk("absA2", "Bbar = (e^z - 1 - z) / |A|^2 B: |A|^2 in place of A^2",
   cf(lambda a, g, Z, T, A: (a, g * A**2 / abs(A)**2)))
mk("bil_noden", "Bbar = Delta B: the factor 1/(1 - z/2) is missing (Abar right)", cf(lambda a, g, Z, T, A: (a, T + 0 * Z)))
mk("bil_inv", "the complex reciprocal of w = 1 - z/2 is computed as w/|w|^2 (not conj(w)/|w|^2), in Abar and in Bbar",
   cf(lambda a, g, Z, T, A: ((1 + Z / 2) * (1 - Z / 2) / abs(1 - Z / 2)**2, T * (1 - Z / 2) / abs(1 - Z / 2)**2)))
mk("bil_exp", "Abar = e^z in place of (1 + z/2)/(1 - z/2) (Bbar right)", cf(lambda a, g, Z, T, A: (np.exp(Z), g)))
def bs_next(a, v):
    an = np.concatenate([a[..., 1:], a[..., -1:]], -1); return bseq(an, v)
mk("poly_next", "the reversed scan is x^b_l = Abar_{l+1} x^b_{l+1} + Bbar_l u_l: Abar is taken one position later", {"bscan": bs_next})
mk("poly_nohalf", "the second term of Bbar lacks its 1/2: Delta phi1 + Delta^2 phi2",
   cf(lambda a, g, Z, T, A: (a, T * phi(1, Z) + T**2 * phi(2, Z))))
mk("poly_noflip", "the output of the reversed scan is not flipped back: y_l = (C_l x^f_l + C_l x^b_{L-1-l})/2",
   {"bscan": lambda a, v: bseq(a, v)[..., ::-1]})
mk("poly_excl", "the reversed scan is exclusive: Abar_l x^b_{l+1} is read in place of x^b_l, so that u_l counts only in the forward one",
   {"bscan": lambda a, v: bseq(a, v) - v})
mk("poly_eps", "phi1's division is guarded by an epsilon: (e^z - 1)/(A - 0.02) in place of (e^z - 1)/A",
   cf(lambda a, g, Z, T, A: (a, np.expm1(Z) / (A - .02) + .5 * T**2 * phi(2, Z))))
mk("ho_6", "the i = 2 term of Bbar is divided by 3! in place of 2!",
   cf(lambda a, g, Z, T, A: (a, T * phi(1, Z) + T**2 * phi(2, Z) + T**3 * phi(3, Z) / 6)))
mk("ho_pow", "Bbar = Delta (phi1 + phi2 + phi3/2): the higher powers of Delta are lost",
   cf(lambda a, g, Z, T, A: (a, T * (phi(1, Z) + phi(2, Z) + phi(3, Z) / 2))))
mk("ho_cut", "the sum of Bbar stops at i = 1 (n = 1 in place of 2): Delta phi1 + Delta^2 phi2",
   cf(lambda a, g, Z, T, A: (a, T * phi(1, Z) + T**2 * phi(2, Z))))
mk("exp2", "Abar = 2^z: exp2 without the factor log2(e) (Bbar right)", cf(lambda a, g, Z, T, A: (np.exp2(Z), g)))
mk("rk_6", "the last term of Bbar is Delta^4 A^3/6 in place of /24",
   cf(lambda a, g, Z, T, A: (a, T * (1 + Z / 2 + Z**2 / 6 + Z**3 / 6))))
mk("rk_re", "Bbar is the polynomial of Re z in place of z (Abar right)",
   cf(lambda a, g, Z, T, A: (a, T * (1 + Z.real / 2 + Z.real**2 / 6 + Z.real**3 / 24) + 0 * Z)))
mk("rk_abar3", "Abar = 1 + z + z^2/2 + z^3/6 in place of e^z",
   cf(lambda a, g, Z, T, A: (1 + Z + Z**2 / 2 + Z**3 / 6, g)))
def carry_excl(Q):
    def f(a, v):
        xs = []; s = np.zeros_like(v[..., 0])
        for q in range(0, v.shape[-1], Q):
            aa, vv = a[..., q:q + Q], v[..., q:q + Q]
            P = np.concatenate([np.ones_like(aa[..., :1]), np.cumprod(aa, -1)[..., :-1]], -1)
            x = seq(aa, vv) + P * s[..., None]; xs.append(x); s = x[..., -1]
        return np.concatenate(xs, -1)
    return f
mk("carry_excl29", "the scan runs in chunks of 29; the carried state is multiplied by the exclusive running product of Abar, so each chunk's first Abar is lost",
   {"scan": carry_excl(29)})
def reset(Q):
    return lambda a, v: np.concatenate([seq(a[..., q:q + Q], v[..., q:q + Q]) for q in range(0, v.shape[-1], Q)], -1)
mk("reset50", "the state is not carried over chunk borders: it begins at 0 anew every 50 positions", {"scan": reset(50)})
def hs_wrong(a, v):
    a, v = a.copy(), v.copy(); s = 1
    while s < v.shape[-1]:
        nv = a[..., :-s] * v[..., s:] + v[..., :-s]; na = a[..., :-s] * a[..., s:]
        v = np.concatenate([v[..., :s], nv], -1); a = np.concatenate([a[..., :s], na], -1); s *= 2
    return v
mk("op_swapped", "associative (Hillis-Steele) scan with the wrong operator: (a1 a2, a1 b2 + b1) in place of (a1 a2, a2 b1 + b2), 1 being the earlier",
   {"scan": hs_wrong})
mk("grp_mod", "channel d reads group d mod groups in place of d / (dim/groups), of B and C", {"group": lambda d, G, dim: d % G})
mk("shift_u", "the scan reads u_{l-1} in place of u_l (0 at l = 0); the skip reads u_l",
   {"vin": lambda g, B, u: g * B * np.concatenate([0 * u[..., :1], u[..., :-1]], -1)})
def stale_vin(Q):
    def f(g, B, u):
        l = u.shape[-1]; q = l - l % Q; w = u.copy(); w[..., q:] = u[..., q - Q:l - Q]; return g * B * w
    return f
mk("stale64", "in the last, partial block of 64 positions the scan reads u of the block before (a stale buffer: u_{l-64}); the skip reads u_l",
   {"vin": stale_vin(64)})
mk("shift_B", "the scan reads B_{l+1} in place of B_l (at the last position B_l itself)",
   {"vin": lambda g, B, u: g * np.concatenate([B[..., 1:], B[..., -1:]], -1) * u})
mk("B_layout", "the memory of B (batch, groups, dstate, seqlen) is read as (batch, groups, seqlen, dstate)",
   pre(lambda p: {**p, "B": p["B"].reshape(*p["B"].shape[:2], p["B"].shape[3], p["B"].shape[2]).swapaxes(2, 3)}))
mk("batch0_BC", "B and C of batch 0 are read for every batch",
   pre(lambda p: {**p, **{k: np.repeat(p[k][:1], p[k].shape[0], 0) for k in "BC"}}))
mk("C_imre", "the interleaved parts of C are read as (im, re): real and imaginary part are exchanged",
   pre(lambda p: {**p, "C": (p["C"].imag + 1j * p["C"].real).astype(p["C"].dtype)}))
mk("A_2pi", "Im A is taken as a frequency in Hz: it is multiplied by 2 pi",
   pre(lambda p: {**p, "A": (p["A"].real + 2j * np.pi * p["A"].imag).astype(p["A"].dtype)}))
mk("z_layout", "the memory of z (batch, dim, seqlen) is read as (dim, batch, seqlen)",
   pre(lambda p: {**p, "z": p["z"].reshape(p["z"].shape[1], p["z"].shape[0], -1).swapaxes(0, 1)}))
mk("gate_sigmoid", "the gate is sigmoid(z) in place of z sigmoid(z)",
   {"out": lambda y, u, D, z: outp(y, u, D, None) / (1 + np.exp(-z))})
mk("gate_1702", "the gate is z sigmoid(1.702 z) (the GELU approximation) in place of z sigmoid(z)",
   {"out": lambda y, u, D, z: outp(y, u, D, None) * z / (1 + np.exp(z.dtype.type(-1.702) * z))})
mk("skip_after_gate", "out = y silu(z) + D u: the skip is added after the gate",
   {"out": lambda y, u, D, z: y * silu(z) + D[None, :, None] * u})
mk("skip_doubled", "out = 2 (Re sum C x + D u): the skip is inside the factor 2",
   {"out": lambda y, u, D, z: outp(y, u, 2 * D, z)})
def pad_last(Q):
    def f(x, a, v, p):
        s = x[..., -1]; k = -x.shape[-1] % Q
        rt = p["u"].dtype
        t = softplus((p["bias"] if p.get("bias") is not None else np.zeros(x.shape[1])).astype(rt))
        e = np.exp(t[:, None] * p["A"]).astype(x.dtype)
        for _ in range(k): s = s * e[None]
        return s
    return f
mk("pad_last", "seqlen is padded to a multiple of 16 with delta = 0, u = 0 before bias and softplus: last_state decays by the padded steps, e^(softplus(delta_bias) A) each; out is right",
   {"last": pad_last(16)})
mk("last_prev", "last_state is x_{L-2}, one step too early", {"last": lambda x, a, v, p: x[..., -2]})
mk("last_conj", "last_state is the complex conjugate of the state", {"last": lambda x, a, v, p: x[..., -1].conj()})

# ---------------------------------------------------------------- right ones in unusual style
def chunked(Q):
    def f(a, v):
        xs = []; s = np.zeros_like(v[..., 0])
        for q in range(0, v.shape[-1], Q):
            aa, vv = a[..., q:q + Q], v[..., q:q + Q]
            x = seq(aa, vv) + np.cumprod(aa, -1) * s[..., None]; xs.append(x); s = x[..., -1]
        return np.concatenate(xs, -1)
    return f
def assoc(a, v):
    a, v = a.copy(), v.copy(); s = 1
    while s < v.shape[-1]:
        nv = a[..., s:] * v[..., :-s] + v[..., s:]; na = a[..., :-s] * a[..., s:]
        v = np.concatenate([v[..., :s], nv], -1); a = np.concatenate([a[..., :s], na], -1); s *= 2
    return v
def read_rev(C, x):
    y = np.zeros_like(x[:, :, 0].real)
    for n in range(x.shape[2] - 1, -1, -1): y = y + (C[:, :, n] * x[:, :, n]).real
    return y + y if np.iscomplexobj(x) else y
def asm_rev(a, v, C, rd):
    # all arrays stored back to front; the forward scan walks down in memory, poly's reversed one is an ordinary one there
    ar, vr, Cr = a[..., ::-1], v[..., ::-1], C[..., ::-1]
    xb = seq(ar, vr); xf = bseq(ar, vr)
    y = rd(Cr, xf) + rd(Cr, xb)
    return xf[..., ::-1], (y * y.dtype.type(.5))[..., ::-1]
RIGHT = {
    "chunked": ("right: chunked scan (chunks of 37, carried state times inclusive cumprod), f32", {"scan": chunked(37)}),
    "assoc": ("right: Hillis-Steele associative scan in f32, states summed from the last to the first", {"scan": assoc, "read": read_rev}),
    "rev": ("right: every array stored reversed in time, both scans of poly on the reversed arrays, flipped back once", {"assemble": asm_rev, "read": read_rev}),
    "f64": ("right: all in f64, rounded once at the end", {}),
    "both": ("right: chunks of 19, each by an associative scan, f32, states summed from the last to the first",
             {"scan": lambda a, v: _ca(a, v), "read": read_rev}),
}
def _ca(a, v, Q=19):
    xs = []; s = np.zeros_like(v[..., 0])
    for q in range(0, v.shape[-1], Q):
        vv = v[..., q:q + Q].copy(); aa = a[..., q:q + Q]
        vv[..., 0] = vv[..., 0] + aa[..., 0] * s
        x = assoc(aa, vv); xs.append(x); s = x[..., -1]
    return np.concatenate(xs, -1)

I = lambda **k: k
CASES = [  # method, mistakes, inputs
 ("zoh", ["sp_before_bias"], I(b=2, d=8, n=8, l=100, bias="pos", last=False)),
 ("zoh", ["re_re"], I(b=2, d=6, n=8, l=128, cplx=True, vB=False, vC=False, sp=False, bias=False, dmax=.1)),
 ("foh", ["guard_phi2"], I(b=2, d=8, n=6, l=120, D=False)),
 ("foh", ["absA2"], I(b=1, d=6, n=6, l=150, cplx=True, D=False, z=True)),
 ("bilinear", ["bil_noden"], I(b=2, d=6, n=16, l=96, G=2)),
 ("bilinear", ["bil_inv"], I(b=1, d=4, n=6, l=200, cplx=True, last=False, dmax=.2)),
 ("poly", ["poly_next"], I(last=False, vB=False, b=2, d=8, n=8, l=90, z=True)),
 ("poly", ["poly_nohalf"], I(b=2, d=4, n=4, l=110, cplx=True, vB=False, vC=False)),
 ("highorder", ["ho_6"], I(last=False, b=1, d=8, n=8, l=140, sp=False, bias=False, D=False, dmin=.1, dmax=1.)),
 ("highorder", ["ho_pow"], I(b=2, d=4, n=5, l=77, cplx=True, G=2)),
 ("rk4", ["rk_6"], I(b=2, d=6, n=4, l=130, G=3, z=True)),
 ("rk4", ["rk_re"], I(b=1, d=8, n=4, l=180, cplx=True, vB=False, dmax=.2)),
 ("zoh", ["carry_excl29"], I(b=1, d=12, n=16, l=203, G=1, dmin=.003, dmax=.1)),
 ("zoh", ["grp_mod"], I(b=2, d=12, n=4, l=64, cplx=True, G=3, dmax=.1)),
 ("rk4", ["stale64"], I(b=2, d=5, n=8, l=213, sp=False, bias=False, dmax=.2)),
 ("foh", ["shift_u"], I(b=3, d=4, n=8, l=80, vB=False, D=False, dmin=.05)),
 ("bilinear", ["gate_sigmoid"], I(last=False, vC=False, b=2, d=7, n=5, l=111, z=True)),
 ("highorder", ["pad_last"], I(b=2, d=6, n=6, l=125, cplx=True, dmin=.02, dmax=.2)),
 ("zoh", ["dt_clamp", "skip_after_gate"], I(b=2, d=8, n=16, l=128, z=True)),
 ("zoh", ["A_2pi", "last_conj"], I(b=1, d=6, n=8, l=99, cplx=True, dmax=.1)),
 ("foh", ["plus_im", "reset50"], I(b=2, d=6, n=6, l=275, cplx=True, D=False, dmin=.01, dmax=.1)),
 ("foh", ["taylor_phi2", "shift_B"], I(b=2, d=6, n=8, l=73, G=2, D=False, dmin=.05)),
 ("bilinear", ["bil_exp", "skip_doubled"], I(vB=False, b=2, d=4, n=8, l=144, cplx=True, sp=False, bias=True, dmax=.3)),
 ("bilinear", ["B_layout", "no_bias"], I(last=False, vC=False, b=2, d=8, n=4, l=88)),
 ("poly", ["poly_noflip", "poly_eps"], I(vB=False, vC=False, b=1, d=10, n=8, l=105, D=False)),
 ("poly", ["poly_excl", "batch0_BC"], I(b=3, d=4, n=4, l=66, cplx=True)),
 ("highorder", ["exp2", "z_layout"], I(b=3, d=5, n=12, l=160, z=True)),
 ("highorder", ["C_imre", "ho_cut"], I(b=2, d=6, n=3, l=101, cplx=True, dmin=.1, dmax=.6)),
 ("rk4", ["rk_abar3", "gate_1702"], I(b=1, d=6, n=3, l=170, cplx=True, z=True, dmax=.1)),
 ("rk4", ["op_swapped", "sp_thresh1"], I(b=2, d=6, n=2, l=57, dmin=.05, dmax=1.2)),
]
RCASES = [("zoh", "chunked", I(b=2, d=6, n=6, l=120, cplx=True, z=True, G=2)),
          ("foh", "assoc", I(b=1, d=8, n=8, l=149)),
          ("poly", "rev", I(b=2, d=4, n=4, l=83, cplx=True, z=True)),
          ("highorder", "f64", I(b=2, d=6, n=8, l=97, vB=False, sp=False, bias=False)),
          ("rk4", "both", I(b=1, d=4, n=3, l=131, cplx=True, vC=False, dmax=.2))]

def merge(names):
    F = {}
    for k in names:
        for s, f in M[k][1].items():
            if s in ("pre", "coef"): F.setdefault(s, []).extend(f)
            else: assert s not in F, (names, s); F[s] = f
    return F

def rel(o, r, last):
    d = lambda k: np.linalg.norm(o[k] - r[k]) / np.linalg.norm(r[k])
    return d("out"), (d("last_state") if last else 0.)

def main():
    N = len(CASES) + len(RCASES); perm = np.random.default_rng(20).permutation(N) + 1
    listing = []
    for i, (m, names, spec) in enumerate(CASES):
        p = inputs(1000 + i, **spec); F = merge(names)
        right = run(p, m, np.float64, {}); bad = run(p, m, np.float64, F); o = run(p, m, np.float32, F)
        assert all(np.isfinite(x).all() for x in o.values()), names
        e = rel(bad, right, p["last"]); rnd = rel(o, bad, p["last"])
        line = f"{i:2} {m:9} {'c' if spec.get('cplx') else 'r'} {'+'.join(names):30} out {e[0]:.1e} last {e[1]:.1e} f32 noise {max(rnd):.0e}"
        ok = max(e) >= 1e-3
        if len(names) == 2:
            for k in names:   # with only the other mistake made: what this one adds
                only = run(p, m, np.float64, merge([x for x in names if x != k]))
                w = max(rel(bad, only, p["last"])); line += f"  {k}: {w:.1e}"; ok &= w >= 1e-3
        print(line, "" if ok else "INVISIBLE")
        fn = f"run{perm[i]:02}.safetensors"; save(os.path.join(HERE, fn), p, m, o)
        listing.append({"file": fn, "method": m, "right": False, "mistakes": [M[k][0] for k in names]})
    for j, (m, k, spec) in enumerate(RCASES):
        i = len(CASES) + j; p = inputs(1000 + i, **spec); words, F = RIGHT[k]
        o = run(p, m, np.float64 if k == "f64" else np.float32, F)
        print(f"{i:2} {m:9} {'c' if spec.get('cplx') else 'r'} {words}  vs default f64: {max(rel(o, run(p, m, np.float64, {}), True)):.0e}")
        fn = f"run{perm[i]:02}.safetensors"; save(os.path.join(HERE, fn), p, m, o)
        listing.append({"file": fn, "method": m, "right": True, "mistakes": [], "style": words})
    listing.sort(key=lambda c: c["file"])
    json.dump(listing, open(os.path.join(HERE, "cases.json"), "w"), indent=1)
    print(sum(not c["right"] for c in listing), "faulty,", sum(len(c["mistakes"]) == 2 for c in listing), "double,",
          sum(bool(s.get("cplx")) for _, _, s in CASES), "complex faulty")

if __name__ == "__main__": main()
