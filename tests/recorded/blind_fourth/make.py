"""Makes run01..run40.safetensors and cases.json beside itself.  NumPy + safetensors only, fixed seed."""
import json, math, os
os.environ.setdefault("OMP_NUM_THREADS", "1"); os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
from safetensors import TensorSpec, serialize_file

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 20250607
f8, c16 = np.float64, np.complex128
POLY = "poly"

# ------------------------------------------------------------------ storage types
def to_bf16(x):
    """float64 -> nearest bf16 (ties to even), as float64; returns values and the bits."""
    x = np.asarray(x, f8)
    f = x.astype(np.float32)
    # f64 -> f32 -> bf16 double rounding: make the first step round-to-odd
    b = f.view(np.uint32).copy()
    inexact = f.astype(f8) != x
    away = np.abs(f.astype(f8)) > np.abs(x)
    b[inexact & away] -= 1
    b[inexact] |= 1
    r = ((b + 0x7FFF + ((b >> 16) & 1)) >> 16).astype(np.uint16)
    return (r.astype(np.uint32) << 16).view(np.float32).astype(f8), r

def rounded(x, t):
    """values of x stored in type t, as float64/complex128"""
    if np.iscomplexobj(x):
        return rounded(x.real, t) + 1j * rounded(x.imag, t)
    if t == "bf16": return to_bf16(x)[0]
    return x.astype({"f32": np.float32, "f16": np.float16}[t]).astype(f8)

def save(path, tensors, meta):
    """tensors: name -> (array float64/complex128, storage type in f32, f16, bf16, c64, pair)"""
    keep, specs = [], {}
    for k, (v, t) in tensors.items():
        if t == "bf16": a, name = to_bf16(v)[1], "bfloat16"
        elif t == "f16": a, name = v.astype(np.float16), "float16"
        elif t == "f32": a, name = v.astype(np.float32), "float32"
        elif t == "c64": a, name = v.astype(np.complex64), "complex64"
        elif t == "pair": a, name = np.stack([v.real, v.imag], -1).astype(np.float32), "float32"
        a = np.ascontiguousarray(a); keep.append(a)
        specs[k] = TensorSpec(dtype=name, shape=list(a.shape), data_ptr=a.ctypes.data, data_len=a.nbytes)
    serialize_file(specs, path, metadata=meta)
    with open(path, "rb") as f: raw = f.read()              # metadata in a fixed order: same length, same bytes every run
    n = int.from_bytes(raw[:8], "little"); head = json.loads(raw[8:8 + n])
    head["__metadata__"] = dict(sorted(head["__metadata__"].items()))
    text = json.dumps(head, separators=(",", ":")).encode(); assert len(text) <= n
    with open(path, "wb") as f: f.write(raw[:8] + text.ljust(n) + raw[8 + n:])

# ------------------------------------------------------------------ phi, reference
def phi(k, z):
    """phi_k(z), elementwise, float64 or complex128"""
    z = np.asarray(z)
    if k == 0: return np.exp(z)
    small = np.abs(z) < 1.5
    zs = np.where(small, z, 0)
    s = np.zeros_like(zs)
    for j in range(28, -1, -1): s = s * zs + 1 / math.factorial(j + k)
    zl = np.where(small, 2.0, z)
    p = np.expm1(zl) / zl
    for i in range(1, k): p = (p - 1 / math.factorial(i)) / zl
    return np.where(small, s, p)

def coeffs(method, z, dt):
    """(A-bar, B-bar / B)"""
    dt = dt + 0 * z
    if method == "zoh": return np.exp(z), dt
    if method == "foh": return np.exp(z), dt**2 * phi(2, z)
    if method == "bilinear": return (1 + z / 2) / (1 - z / 2), dt / (1 - z / 2)
    if method == "poly": return np.exp(z), dt * phi(1, z) + dt**2 * phi(2, z) / 2
    if method == "highorder": return np.exp(z), dt * phi(1, z) + dt**2 * phi(2, z) + dt**3 * phi(3, z) / 2
    if method == "rk4": return np.exp(z), dt * (1 + z / 2 + z**2 / 6 + z**3 / 24)
    raise KeyError(method)

def decode(X, p, L):
    """variable B or C as (batch, groups, n, L), complex from interleaved"""
    if X.ndim == 4 and p["cplx"]: return X[..., 0::2] + 1j * X[..., 1::2]
    return X

def reference(p, method):
    """spec.md §2 and §3, float64; plain loops over batch and channel, written apart from sim()"""
    u, A, L = p["u"], p["A"], p["u"].shape[2]
    nb, nd, _ = u.shape; n = A.shape[1]
    out = np.zeros((nb, nd, L)); last = np.zeros((nb, nd, n), A.dtype)
    B, C = decode(p["B"], p, L), decode(p["C"], p, L)
    order = range(L - 1, -1, -1) if p["meta"].get("direction") == "reverse" else range(L)
    w = 1.0 if not p["cplx"] or p["meta"].get("complex_output") == "real-part" else 2.0
    before, withoutb = p["meta"].get("reads") == "before-update", p["meta"].get("state") == "without-b"
    for b in range(nb):
        for d in range(nd):
            dt = p["delta"][b, d] + (p["delta_bias"][d] if "delta_bias" in p else 0)
            if p["softplus"]: dt = np.log1p(np.exp(-np.abs(dt))) + np.maximum(dt, 0)
            Bd = B[b, d // (nd // B.shape[1])].T if B.ndim == 4 else np.broadcast_to(B[d], (L, n))
            Cd = C[b, d // (nd // C.shape[1])].T if C.ndim == 4 else np.broadcast_to(C[d], (L, n))
            if withoutb: Bd, Cd = np.ones((L, n)), Bd * Cd
            z = dt[:, None] * A[d][None, :]
            a, h = coeffs(method, z, dt[:, None])
            def scan(pos, x):
                y = np.zeros(L)
                for l in pos:
                    new = a[l] * x + h[l] * Bd[l] * u[b, d, l]
                    y[l] = w * np.sum(Cd[l] * (x if before else new)).real
                    x = new
                return y, x
            x0 = p["initial_state"][b, d] if "initial_state" in p else np.zeros(n, A.dtype)
            y, last[b, d] = scan(order, x0)
            if method == POLY:
                y = (y + scan(list(order)[::-1], np.zeros(n, A.dtype))[0]) / 2
            if "D" in p: y = y + p["D"][d] * u[b, d]
            if "z" in p: y = y * p["z"][b, d] / (1 + np.exp(-p["z"][b, d]))
            out[b, d] = y
    return out, last

# ---- a second, independent way: block matrix exponentials and one linear solve per state
def expm_taylor(M):
    M = M.astype(np.clongdouble); s = max(0, int(np.ceil(np.log2(max(np.abs(M).sum(1).max(), 1e-30)))) + 3)
    M = M / 2.0**s; E = np.eye(len(M), dtype=M.dtype); T = E.copy()
    for j in range(1, 30): T = T @ M / j; E = E + T
    for _ in range(s): E = E @ E
    return E
def coeffs_again(method, A, dt):
    if method in ("zoh", "rk4", "bilinear"):
        z = np.clongdouble(A) * dt
        if method == "bilinear":
            r = np.linalg.solve(np.array([[1 - A * dt / 2]], c16), np.array([[1 + A * dt / 2, dt]], c16))[0]
            return r[0], r[1]
        e = expm_taylor(np.array([[z]]))[0, 0]
        return e, dt if method == "zoh" else sum(np.longdouble(dt)**(i + 1) * np.clongdouble(A)**i / math.factorial(i + 1) for i in range(4))
    # exp of [[dA, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], 0] has e^z, phi1, phi2, phi3 in its first row
    M = np.zeros((4, 4), c16); M[0, 0] = A * dt; M[0, 1] = M[1, 2] = M[2, 3] = 1
    e, p1, p2, p3 = expm_taylor(M)[0]; dt = np.longdouble(dt)
    return e, {"foh": dt**2 * p2, "poly": dt * p1 + dt**2 * p2 / 2, "highorder": dt * p1 + dt**2 * p2 + dt**3 * p3 / 2}[method]
def verify(p, method, out, last, rng, channels=1):
    """one channel of the reference again, the recurrence as one bidiagonal system (I - N) x = b for each state"""
    nb, nd, L = p["u"].shape; n = p["A"].shape[1]; worst = 0
    flip = p["meta"].get("direction") == "reverse"
    for _ in range(channels):
        b, d = rng.integers(nb), rng.integers(nd)
        dt = p["delta"][b, d] + (p["delta_bias"][d] if "delta_bias" in p else 0)
        if p["softplus"]: dt = np.logaddexp(0, dt)
        y = np.zeros(L, c16)
        for j in range(n):
            def var(X):
                if X.ndim == 2: return np.full(L, X[d, j])
                row = X[b, d * X.shape[1] // nd, j]
                return row.reshape(L, 2) @ np.array([1, 1j]) if p["cplx"] else row
            bb, cc = var(p["B"]), var(p["C"])
            if p["meta"].get("state") == "without-b": bb, cc = np.ones(L), bb * cc
            ab = np.array([coeffs_again(method, p["A"][d, j], t) for t in dt]).astype(c16)
            rhs = ab[:, 1] * bb * p["u"][b, d]
            x0 = p["initial_state"][b, d, j] if "initial_state" in p else 0
            def solve(down, x0):
                M = np.eye(L, dtype=c16); r = rhs.copy()
                for l in range(L):
                    q = l - 1 if down else l + 1
                    if 0 <= q < L: M[l, q] = -ab[l, 0]
                    else: r[l] += ab[l, 0] * x0
                return np.linalg.solve(M, r)
            x = solve(not flip, x0); end = x[0 if flip else -1]
            worst = max(worst, abs(end - last[b, d, j]) / np.abs(last).max())
            if p["meta"].get("reads") == "before-update": x = np.concatenate([x[1:], [x0]] if flip else [[x0], x[:-1]])
            if method == POLY: x = (x + solve(flip, 0)) / 2
            y += cc * x
        y = y.real * (2 if p["cplx"] and p["meta"].get("complex_output") != "real-part" else 1)
        if "D" in p: y = y + p["D"][d] * p["u"][b, d]
        if "z" in p: g = p["z"][b, d]; y = y * g * 0.5 * (1 + np.tanh(g / 2))
        worst = max(worst, np.abs(y - out[b, d]).max() / np.abs(out).max())
    return worst

# ------------------------------------------------------------------ the simulated kernels, with their mistakes
def sim(p, method, F):
    """F: name of mistake -> its parameter"""
    u, A, bias = p["u"], p["A"], p.get("delta_bias")
    nb, nd, L = u.shape; n = A.shape[1]; cplx = p["cplx"]
    raw = p["delta"]
    # --- the step
    if bias is None: bias = np.zeros(nd)
    if "bias_after_softplus" in F: dt = np.logaddexp(0, raw) + bias[:, None]
    else:
        dt = raw + bias[:, None]
        if p["softplus"]:
            sp = np.logaddexp(0, dt)
            dt = np.where(dt > F["softplus_threshold"], dt, sp) if "softplus_threshold" in F else sp
    # --- B and C for each channel
    def load(X, name):
        if X.ndim == 2: return np.broadcast_to(X[None, :, :, None], (nb, nd, n, L))
        if cplx:
            X = X[..., :L] + 1j * X[..., L:] if name == "B" and "planar_B" in F else X[..., 0::2] + 1j * X[..., 1::2]
        g = X.shape[1]
        X = X[:, np.arange(nd) % g if "group_modulo" in F else np.arange(nd) // (nd // g)]
        if name == "C" and "C_of_batch_0" in F: X = np.broadcast_to(X[:1], X.shape)
        return X
    B, C = load(p["B"], "B"), load(p["C"], "C")
    gate = p.get("z")
    flip = p["meta"].get("direction") == "reverse"
    if flip: u, dt, B, C = u[..., ::-1], dt[..., ::-1], B[..., ::-1], C[..., ::-1]
    if "stale_B" in F:
        t = F["stale_B"]; B = B.copy(); at = np.arange(t, L, t); B[..., at] = load(p["B"], "B")[..., at - t]
    if "C_ahead" in F: C = C[..., np.minimum(np.arange(L) + 1, L - 1)]
    dt4 = dt[:, :, None, :]; A4 = A[None, :, :, None]; z = dt4 * A4
    # --- coefficients
    a, h = coeffs(method, z, dt4)
    if "foh_slope" in F:                                   # phi2 series 1/2 + z/3 + z^2/24 below the threshold
        h = np.where(np.abs(z) < F["foh_slope"], dt4**2 * (0.5 + z / 3 + z**2 / 24), h)
    if "series_by_real_part" in F:
        h = np.where(np.abs(z.real) < F["series_by_real_part"], dt4**2 * (0.5 + z * (1/6 + z * (1/24 + z / 120))), h)
    if "naive_f32" in F:
        d4, a4 = dt4.astype(np.float32), A4.astype(np.float32); z4 = d4 * a4
        h = ((np.exp(z4) - np.float32(1) - z4) / (a4 * a4)).astype(f8)
    if "phi2_asymptote" in F:
        h = np.where(z < F["phi2_asymptote"], dt4**2 * (-1 / np.where(z < -1, z, -1) + 1 / np.where(z < -1, z, -1)**2), h)
    if "angle_log2e" in F: a = np.exp(z.real) * np.exp(1j * z.imag * np.log2(np.e))
    if "bilinear_no_half" in F: h = dt4 / (1 - z)
    if "divide_without_conj" in F:
        den = 1 - z / 2; m = np.abs(den)**2
        a, h = (1 + z / 2) * den / m, dt4 * den / m
    if "poly_no_half" in F: h = dt4 * phi(1, z) + dt4**2 * phi(2, z)
    if "phi3_sixth" in F:
        h = np.where(np.abs(z) < F["phi3_sixth"], dt4 * phi(1, z) + dt4**2 * phi(2, z) + dt4**3 / 12, h)
    if "no_factorial" in F: h = dt4 * phi(1, z) + dt4**2 * phi(2, z) + dt4**3 * phi(3, z)
    if "rk4_eighteenth" in F: h = dt4 * (1 + z / 2 * (1 + z / 3 * (1 + z / 3)))
    if "decay_of_next" in F: a = a[..., np.minimum(np.arange(L) + 1, L - 1)]
    if "z_capped" in F: a = np.exp(np.minimum(z, 0))
    in_ = h * B * u[:, :, None, :]
    # --- the scan
    def scan(a, in_, x):
        X = np.zeros(a.shape, A.dtype)
        for l in range(L):
            if "readds_initial" in F and l and l % F["readds_initial"] == 0: x = x + p["initial_state"]
            if "in_place" in F:
                re = a.real[..., l] * x.real - a.imag[..., l] * x.imag + in_.real[..., l]
                im = a.real[..., l] * x.imag + a.imag[..., l] * re + in_.imag[..., l]
                new = re + 1j * im
            else: new = a[..., l] * x + in_[..., l]
            if "skip_zero_u" in F: new = np.where(u[:, :, None, l] == 0, x, new)
            if "bf16_state" in F: new = to_bf16(new)[0]
            x = new; X[..., l] = x
        return X
    x0 = p.get("initial_state", np.zeros((nb, nd, n), A.dtype))
    if "batch_carry" in F:
        X = np.zeros(a.shape, A.dtype); x = np.zeros((1, nd, n))
        for b in range(nb):
            X[b:b+1] = scan(a[b:b+1], in_[b:b+1], x); x = X[b:b+1, ..., -1]
    else: X = scan(a, in_, x0)
    if "log_scan_eps" in F:                                # x = P cumsum(b / (P + eps)), P = exp(cumsum z)
        P = np.exp(np.cumsum(z, -1)); X = P * np.cumsum(in_ / (P + F["log_scan_eps"]), -1)
    last = X[..., -1]
    Y = X
    if "compose_swapped" in F:                             # tail state of the chunks: (al ar, al br + bl)
        T = F["compose_swapped"]; X = X.copy(); carry = np.zeros_like(last); prod = np.ones_like(last)
        for s in range(0, L, T):
            x = np.zeros_like(last); run = np.ones_like(last)
            for l in range(s, min(s + T, L)):
                x = a[..., l] * x + in_[..., l]; run = run * a[..., l]
                X[..., l] = x + run * carry
            carry = carry + prod * x; prod = prod * run
        Y, last = X, X[..., -1]
    if "carry_not_decayed" in F:
        T = F["carry_not_decayed"]; Y = X.copy()
        for s in range(T, L, T):
            x = np.zeros_like(last)
            for l in range(s, min(s + T, L)):
                x = a[..., l] * x + in_[..., l]; Y[..., l] = x + X[..., s - 1]
    if "no_diagonal" in F: Y = X - in_
    w = 2.0 if cplx else 1.0
    y = w * (C * Y).sum(2).real
    if method == POLY:
        start = X[..., -1] if "reverse_from_forward" in F else np.zeros_like(last)
        R = scan(a[..., ::-1], in_[..., ::-1], start)[..., ::-1]
        if "last_of_reverse" in F: last = R[..., 0]
        if "reverse_excludes" in F: R = R - in_
        Cr = C[..., ::-1] if "reverse_C_flipped" in F else C
        y = (y + w * (Cr * R).sum(2).real) / 2
    if "padded_last" in F:
        T = F["padded_last"]; pad = -L % T
        last = last * np.exp(np.logaddexp(0, bias)[None, :, None] * pad * A[None])
    if "last_transposed" in F: last = np.stack([x.T.reshape(nd, n) for x in last])
    if "last_imag_zero" in F: last = last.real + 0j
    # --- skip and gate
    Du = 0
    if "D" in p:
        Du = p["D"][:, None] * (u * dt if "skip_delta_u" in F else u) * (2 if "skip_twice" in F else 1)
    if flip: y, Du = y[..., ::-1], Du[..., ::-1] if "D" in p else 0
    if gate is not None:
        g = gate / (1 + np.exp(-(F.get("gate_1702", 1.0)) * gate))
        out = y * g + Du if "gate_before_skip" in F else (y + Du) * g
    else: out = y + Du
    return out, last

def honest_f32_zoh(p, chunk):
    """a careful f32 kernel: chunked scan (chunk > 0) or sequential, everything float32"""
    f = np.float32; u, A = p["u"].astype(f), p["A"].astype(f); nb, nd, L = u.shape
    dt = p["delta"].astype(f) + (p["delta_bias"].astype(f)[:, None] if "delta_bias" in p else f(0))
    if p["softplus"]: dt = np.where(dt > 20, dt, np.log1p(np.exp(np.minimum(dt, f(20)))))
    ex = lambda X: (X[:, np.arange(nd) // (nd // X.shape[1])] if X.ndim == 4 else X[None, :, :, None]).astype(f)
    B, C = ex(p["B"]), ex(p["C"])
    a = np.exp(dt[:, :, None] * A[None, :, :, None]); b = (dt * u)[:, :, None] * B
    X = np.zeros(a.shape, f); carry = np.zeros(a.shape[:3], f)
    for s in range(0, L, chunk):
        x = np.zeros_like(carry); run = np.ones_like(carry)
        for l in range(s, min(s + chunk, L)):
            x = a[..., l] * x + b[..., l]; run = run * a[..., l]
            X[..., l] = x + run * carry
        carry = X[..., l]
    if p["meta"].get("reads") == "before-update": R = np.concatenate([np.zeros_like(X[..., :1]), X[..., :-1]], -1)
    else: R = X
    y = np.zeros((nb, nd, L), f)
    for j in range(A.shape[1]): y = y + (C * R)[:, :, j]
    if "D" in p: y = y + p["D"].astype(f)[:, None] * u
    if "z" in p: g = p["z"].astype(f); y = y * (g / (f(1) + np.exp(-g)))
    assert y.dtype == f
    return y.astype(f8), X[..., -1].astype(f8)

# ------------------------------------------------------------------ inputs
def inputs(rng, b, d, n, L, A, g=0, Bvar=False, Cvar=False, D=False, gate=False, bias=None, softplus=False,
           dt=(0.01, 0.3), raw=None, t="f32", x0=0.0, u_zeros=0.0, meta=None, wide=False, pair=False):
    """A: array (n) or (d, n).  dt: log-uniform range without softplus; raw: (mean, sd) of delta with it."""
    cplx = np.iscomplexobj(A)
    A = np.broadcast_to(np.asarray(A), (d, n)).copy()
    A = A * (1 + 0.1 * rng.uniform(-1, 1, (d, 1))) if np.any(A) else A
    w = lambda *s: rng.standard_normal(s) + (1j * rng.standard_normal(s) if cplx else 0)
    p = {"cplx": cplx, "softplus": softplus, "t": t, "wide": wide, "pair": pair, "meta": dict(meta or {})}
    u = rng.standard_normal((b, d, L))
    if u_zeros: u = np.where(rng.random((b, d, L)) < u_zeros, 0.0, u)
    p["u"] = rounded(u, t)
    p["delta"] = rounded(rng.normal(*raw, (b, d, L)) if raw else np.exp(rng.uniform(*np.log(dt), (b, d, L))), t)
    p["A"] = rounded(A, "f32")
    for k, v in (("B", Bvar), ("C", Cvar)):
        p[k] = rounded(rng.standard_normal((b, g or 1, n, L * (2 if cplx else 1))), t) if v else rounded(w(d, n), "f32")
    if D: p["D"] = rounded(rng.normal(0.7, 0.5, d), "f32")
    if gate: p["z"] = rounded(rng.normal(0.3, 1.2, (b, d, L)), t)
    if bias is not None: p["delta_bias"] = rounded(rng.normal(*bias, d), "f32")
    if x0: p["initial_state"] = rounded(x0 * w(b, d, n), "f32")
    return p

real = lambda n, s=1.0: -s * np.arange(1, n + 1.0)
s4d = lambda n, re=-0.5, im=np.pi: re + 1j * im * np.arange(n)

CASES = []
def wrong(method, F, say, effect, **kw): CASES.append((method, kw, F, say, effect, None))
def right(method, note, how="rounded", **kw): CASES.append((method, kw, {}, [], {}, (note, how)))

# ---- 20 single mistakes
wrong("zoh", {"no_diagonal": 1},
      ["The readout omits the current position's own input (strict mask l > s in place of l >= s): y_l = C_l (x_l - B_bar_l u_l) = C_l A_bar_l x_{l-1} (+ D u); the state recurrence and last_state are right."],
      {"no_diagonal": "out"}, b=2, d=4, n=4, L=70, A=real(4), g=2, Bvar=True, Cvar=True, D=True, softplus=True, raw=(-2, 1), bias=(-0.3, 0.3))
wrong("zoh", {"planar_B": 1},
      ["Variable complex B is read as planar (real parts in the first L entries of the last axis, imaginary parts in the last L) although it is stored interleaved re, im; C is read right."],
      {"planar_B": "both"}, b=1, d=4, n=4, L=60, A=s4d(4), g=2, Bvar=True, Cvar=True, D=True, dt=(0.02, 0.4))
wrong("zoh", {"log_scan_eps": 1e-12},
      ["The scan is x_l = P_l * cumsum(B_bar u / (P + 1e-12)) over the whole sequence with P_l = exp(cumsum of Delta A) (in float64, no overflow): once P falls below about 1e-12 (cumulative Delta A below about -27.6) the states decay to 0 and newer inputs are lost; the slowest state is hardly touched."],
      {"log_scan_eps": "both"}, b=2, d=4, n=4, L=100, A=real(4), Bvar=True, Cvar=True, g=1, gate=True, dt=(0.1, 0.4))
wrong("zoh", {"in_place": 1},
      ["The complex state is updated in place: re' = a_re re - a_im im + b_re, and then im' = a_re im + a_im re' + b_im uses the new re' in place of the old re."],
      {"in_place": "both"}, b=1, d=4, n=4, L=90, A=s4d(4), D=True, gate=True, dt=(0.01, 0.12))
wrong("zoh", {"padded_last": 32},
      ["The sequence (L = 77) is padded to a multiple of 32 (96) with u = 0 and delta = 0 before delta_bias and softplus, so that last_state is taken after 19 further steps of Delta = softplus(delta_bias): it is x_{L-1} times exp(19 softplus(bias) A); out is right."],
      {"padded_last": "last_state"}, b=2, d=4, n=5, L=77, A=real(5), g=1, Bvar=True, Cvar=False, D=True, softplus=True, raw=(0.5, 1), bias=(-4, 0.5))
wrong("foh", {"foh_slope": 0.25},
      ["Where |z| < 0.25, phi_2 is taken from a series with a wrong coefficient of z: 1/2 + z/3 + z^2/24 in place of 1/2 + z/6 + z^2/24 (so B_bar is wrong there, A_bar is right; steps with |z| >= 0.25 are right)."],
      {"foh_slope": "both"}, b=2, d=4, n=4, L=80, A=real(4, 0.5), g=2, Bvar=True, Cvar=True, softplus=True, raw=(-2, 1.2))
wrong("foh", {"series_by_real_part": 0.5},
      ["phi_2 chooses its small-z series by |Re z| < 0.5 alone in place of |z|: with large Im z the series truncated after four terms (1/2 + z/6 + z^2/24 + z^3/120) is used at |z| up to about 4, so B_bar is wrong for the states with large imaginary A and large Delta; A_bar is right."],
      {"series_by_real_part": "both"}, b=1, d=4, n=4, L=90, A=s4d(4), D=True, dt=(0.02, 0.4))
wrong("foh", {"naive_f32": 1},
      ["B_bar = (expf(z) - 1 - z) / A^2 is computed in plain float32 at |z| of 3e-4 to 2e-2: catastrophic cancellation (relative errors of B_bar up to tens of percent, noise-like), where a series is needed; A_bar is right."],
      {"naive_f32": "both"}, b=2, d=4, n=4, L=80, A=real(4, 0.5), Bvar=True, g=1, dt=(8e-4, 8e-3))
wrong("bilinear", {"bilinear_no_half": 1},
      ["B_bar = (1 - z)^-1 Delta B: the half is missing in the resolvent of B_bar (A_bar = (1 - z/2)^-1 (1 + z/2) is right)."],
      {"bilinear_no_half": "both"}, b=2, d=4, n=6, L=70, A=real(6), D=True, gate=True, softplus=True, raw=(-2, 0.8), bias=(0.2, 0.3))
wrong("bilinear", {"divide_without_conj": 1},
      ["Complex division multiplies by the denominator and not by its conjugate: with q = 1 - z/2, A_bar = (1 + z/2) q / |q|^2 and B_bar = Delta q / |q|^2 B."],
      {"divide_without_conj": "both"}, b=1, d=4, n=4, L=70, A=s4d(4), g=1, Cvar=True, dt=(0.01, 0.2), pair=True)
wrong("bilinear", {"skip_zero_u": 1},
      ["Positions with u_l = 0 exactly (about 30 % of them) are taken for padding and skipped: x_l = x_{l-1} with no decay there (should be x_l = A_bar_l x_{l-1}); y_l is still read out."],
      {"skip_zero_u": "both"}, b=2, d=4, n=4, L=80, A=real(4), g=2, Bvar=True, Cvar=True, D=True, u_zeros=0.3, dt=(0.02, 0.4))
wrong("poly", {"reverse_from_forward": 1},
      ["The reversed scan starts from the forward scan's final state x^f_{L-1} (register not cleared) in place of 0; last_state is right."],
      {"reverse_from_forward": "out"}, b=2, d=4, n=4, L=60, A=real(4, 0.5), g=1, Bvar=True, Cvar=True, gate=True, softplus=True, raw=(-2, 1), bias=(0, 0.3))
wrong("poly", {"reverse_C_flipped": 1},
      ["The reversed scan reads C at the flipped position L-1-l in place of l (u, Delta and B are flipped with the scan, C is not); the forward half and last_state are right."],
      {"reverse_C_flipped": "out"}, b=1, d=6, n=4, L=63, A=real(4), g=3, Bvar=False, Cvar=True, D=True, dt=(0.02, 0.5))
wrong("poly", {"reverse_excludes": 1},
      ["The reversed scan's contribution excludes the current position 'so as not to count it twice': y_l = 1/2 (C_l x^f_l + C_l A_bar_l x^b_{l+1}), i.e. half of C_l B_bar_l u_l is missing; last_state is right (a bf16 recording)."],
      {"reverse_excludes": "out"}, b=2, d=4, n=4, L=90, A=real(4), g=2, Bvar=True, Cvar=True, D=True, t="bf16", dt=(0.05, 0.8))
wrong("poly", {"last_of_reverse": 1},
      ["last_state is the reversed scan's final state x^b_0 in place of the forward one x^f_{L-1}; out is right."],
      {"last_of_reverse": "last_state"}, b=1, d=4, n=4, L=75, A=s4d(4), D=True, gate=True, dt=(0.01, 0.3))
wrong("highorder", {"phi3_sixth": 0.5},
      ["phi_3 is taken to be its limit 1/6 wherever |z| < 0.5 (should be the series 1/6 + z/24 + ...), so B_bar's term Delta^3 phi_3 / 2 is too large there; steps with |z| >= 0.5 and A_bar are right."],
      {"phi3_sixth": "both"}, b=2, d=4, n=4, L=64, A=real(4, 0.04), g=1, Bvar=True, Cvar=True, softplus=True, raw=(1.5, 1.5), bias=(1, 0.3))
wrong("highorder", {"no_factorial": 1},
      ["The factor 1/i! is missing in the term i = 2: B_bar = Delta phi_1 + Delta^2 phi_2 + Delta^3 phi_3 in place of ... + Delta^3 phi_3 / 2."],
      {"no_factorial": "both"}, b=1, d=4, n=4, L=60, A=s4d(4), D=True, g=2, Bvar=True, Cvar=True, dt=(0.05, 0.8))
wrong("rk4", {"rk4_eighteenth": 1},
      ["Horner's scheme of B_bar ends with the wrong divisor, Delta (1 + z/2 (1 + z/3 (1 + z/3))): the last term is Delta^4 A^3 / 18 in place of / 24 (a 16-bit recording, f16 stored widened to f32)."],
      {"rk4_eighteenth": "both"}, b=2, d=4, n=4, L=60, A=real(4), D=True, g=1, Bvar=True, Cvar=True, t="f16", wide=True, dt=(0.05, 0.6))
wrong("rk4", {"readds_initial": 16},
      ["Every chunk of 16 positions starts its local scan from initial_state and then adds the carry: at l = 16, 32, ... the state x_{l-1} used is carry + initial_state (the first chunk is right)."],
      {"readds_initial": "both"}, b=2, d=4, n=4, L=70, A=real(4, 0.5), Cvar=True, g=2, x0=1.5, softplus=True, raw=(-3, 0.8))
wrong("rk4", {"compose_swapped": 16},
      ["Chunks of 16 are joined with the associative operator's operands swapped: the aggregate of (a1,b1) then (a2,b2) is (a1 a2, a1 b2 + b1) in place of (a1 a2, a2 b1 + b2), so the state carried into chunk k >= 2 is wrong (positions 0 to 31 are right)."],
      {"compose_swapped": "both"}, b=1, d=4, n=4, L=80, A=s4d(4, -0.4, 1.5), D=True, dt=(0.01, 0.2))
# ---- 10 with two mistakes
wrong("zoh", {"bias_after_softplus": 1, "skip_delta_u": 1},
      ["delta_bias is added after softplus: Delta = softplus(delta) + delta_bias.",
       "The skip uses the premultiplied input: D * (Delta u) in place of D * u (with Delta as the kernel has it)."],
      {"bias_after_softplus": "both", "skip_delta_u": "out"}, b=2, d=4, n=4, L=60, A=real(4), g=2, Bvar=True, Cvar=True, D=True, softplus=True, raw=(-1, 1), bias=(0.4, 0.15))
wrong("zoh", {"softplus_threshold": 2.0, "gate_before_skip": 1},
      ["softplus returns Delta itself (delta + delta_bias) above 2 in place of above 20.",
       "The gate multiplies y alone and the skip is added after it: out = y silu(z) + D u."],
      {"softplus_threshold": "both", "gate_before_skip": "out"}, b=2, d=4, n=4, L=64, A=real(4, 0.06), D=True, gate=True, softplus=True, raw=(1.5, 1.2), bias=(0.5, 0.2))
wrong("foh", {"phi2_asymptote": -8.0, "stale_B": 16},
      ["Where z < -8, phi_2 is taken from an asymptote with a wrong sign, -1/z + 1/z^2 in place of -1/z - 1/z^2.",
       "A race in the double buffer: at the first position of each tile of 16 (l = 16, 32, 48, ...) B is that of 16 positions before (B_{l-16})."],
      {"phi2_asymptote": "both", "stale_B": "both"}, b=2, d=4, n=4, L=65, A=np.array([-2.0, -6, -10, -16]), g=1, Bvar=True, Cvar=True, dt=(0.2, 1.6))
wrong("foh", {"angle_log2e": 1, "last_imag_zero": 1},
      ["A_bar = e^z has its angle Im z scaled by log2(e) = 1.4427 (A prescaled for exp2 in both parts; |A_bar| and B_bar's phi_2 are right).",
       "last_state is stored with its imaginary parts as 0."],
      {"angle_log2e": "both", "last_imag_zero": "last_state"}, b=1, d=4, n=4, L=70, A=s4d(4), D=True, g=1, Cvar=True, dt=(0.02, 0.3), meta={"direction": "reverse"})
wrong("bilinear", {"carry_not_decayed": 16, "C_of_batch_0": 1},
      ["Within each chunk of 16 from the second on, the state carried in is added to every position without its decay: x_l = local_l + carry in place of local_l + (product of A_bar from the chunk's start to l) carry; the carry between chunks and last_state are right.",
       "Variable C has batch stride 0: batch entry 1 reads C of batch entry 0."],
      {"carry_not_decayed": "out", "C_of_batch_0": "out"}, b=2, d=4, n=4, L=60, A=real(4), g=2, Bvar=True, Cvar=True, gate=True, dt=(0.01, 0.2))
wrong("bilinear", {"bf16_state": 1, "gate_1702": 1.702},
      ["The state is rounded to bf16 after every step (inputs and outputs are f32).",
       "The gate is z * sigmoid(1.702 z) in place of z * sigmoid(z)."],
      {"bf16_state": "both", "gate_1702": "out"}, b=2, d=3, n=6, L=90, A=real(6, 0.3), gate=True, dt=(0.005, 0.1), g=1, Bvar=True)
wrong("poly", {"poly_no_half": 1, "skip_twice": 1},
      ["The half before the second term of B_bar is missing: B_bar = Delta phi_1 + Delta^2 phi_2 in place of Delta phi_1 + Delta^2 phi_2 / 2.",
       "The skip D u is added once in each direction, outside of the average: 2 D u (f16)."],
      {"poly_no_half": "both", "skip_twice": "out"}, b=2, d=4, n=4, L=90, A=real(4), g=2, Bvar=True, Cvar=True, D=True, t="f16", dt=(0.1, 0.9))
wrong("highorder", {"decay_of_next": 1, "last_transposed": 1},
      ["A_bar at position l is that of position l+1, exp(Delta_{l+1} A) (the last position uses its own); B_bar is right.",
       "last_state is written with its channel and state strides exchanged: each batch entry's (6, 4) memory holds the (4, 6) transpose."],
      {"decay_of_next": "both", "last_transposed": "last_state"}, b=2, d=6, n=4, L=60, A=real(4), D=True, softplus=True, raw=(-1, 1.2), bias=(-0.2, 0.2))
wrong("rk4", {"z_capped": 1, "C_ahead": 1},
      ["A_bar = exp(min(z, 0)): positive z (one state in four has a positive A) is capped at 0 so that A_bar = 1; B_bar is right.",
       "C is prefetched one position ahead: y_l reads C_{l+1} (the last position reads its own)."],
      {"z_capped": "both", "C_ahead": "out"}, b=2, d=4, n=4, L=60, A=np.array([-0.5, -1, 0.15, -2]), g=2, Bvar=True, Cvar=True, D=True, dt=(0.02, 0.3))
wrong("highorder", {"batch_carry": 1, "group_modulo": 1},
      ["The state is not cleared between batch entries: entry b >= 1 starts from the final state of entry b-1 in place of 0.",
       "Channel d reads group d % groups in place of d / (dim / groups), for B and C both."],
      {"batch_carry": "both", "group_modulo": "both"}, b=3, d=4, n=3, L=40, A=np.array([-0.02, -0.1, -0.4]), g=2, Bvar=True, Cvar=True, gate=True, dt=(0.02, 0.3))
# ---- 10 right
right("zoh", "Honest float32 chunked scan (chunks of 16, L = 93 with a tail), groups, D, gate, delta_bias, softplus.", "f32-chunked",
      b=2, d=4, n=4, L=93, A=real(4), g=2, Bvar=True, Cvar=True, D=True, gate=True, softplus=True, raw=(-2, 1), bias=(0, 0.4))
right("zoh", "Stated reads = before-update; honest float32 sequential scan; a constant B with a variable C.", "f32-sequential",
      b=2, d=4, n=6, L=60, A=real(6), g=1, Cvar=True, D=True, dt=(0.01, 0.4), meta={"reads": "before-update"})
right("foh", "Complex, constant B and C, complex tensors stored as pairs of f32.", b=1, d=4, n=8, L=80, A=s4d(8), D=True, dt=(0.005, 0.5), pair=True)
right("foh", "Stated direction = reverse; constant B, variable C; gate and skip.", b=2, d=4, n=5, L=50, A=real(5), g=2, Cvar=True, D=True, gate=True, softplus=True, raw=(-1, 1), meta={"direction": "reverse"})
right("bilinear", "Purely imaginary A (no decay at all), variable interleaved complex B and C.", b=1, d=4, n=4, L=60, A=s4d(4, 0.0, 2.0) + 0.7j, g=2, Bvar=True, Cvar=True, gate=True, dt=(0.02, 0.5))
right("poly", "bf16, variable B and C in groups, D, gate, delta_bias, softplus.", b=2, d=4, n=4, L=90, A=real(4), g=2, Bvar=True, Cvar=True, D=True, gate=True, t="bf16", softplus=True, raw=(-1.5, 1), bias=(0.1, 0.3))
right("poly", "One state with A = 0, and Delta above 20 at some positions (softplus).", b=2, d=4, n=4, L=57, A=np.array([0.0, -0.05, -0.3, -2]), Cvar=True, g=1, D=True, softplus=True, raw=(6, 10))
right("highorder", "Tiny z (1e-8 to 1e-3), where closed forms cancel.", b=2, d=4, n=4, L=80, A=real(4, 0.01), g=1, Bvar=True, dt=(1e-6, 2e-2))
right("highorder", "Complex with stated complex_output = real-part and state = without-b, and an initial_state.", b=1, d=4, n=4, L=70, A=s4d(4), D=True, x0=1.0, dt=(0.02, 0.4), meta={"complex_output": "real-part", "state": "without-b"})
right("rk4", "f16 (stored as f16), positive and negative Delta without softplus, so e^z grows at some positions; rk4's B_bar at |z| of several.", b=2, d=4, n=4, L=90, A=real(4), Bvar=True, Cvar=True, g=2, D=True, t="f16", raw=(0.4, 0.25))

# ------------------------------------------------------------------ make them
def main():
    rng = np.random.default_rng(SEED)
    vr = np.random.default_rng(1)
    order = rng.permutation(len(CASES))
    rel = lambda x, r: float(np.abs(x - r).max() / np.abs(r).max())
    cases = []; worst = 0
    for i, k in enumerate(order):
        method, kw, F, say, effect, note = CASES[k]
        p = inputs(np.random.default_rng([SEED, k]), **kw)
        out, last = reference(p, method)
        v = verify(p, method, out, last, vr); worst = max(worst, v); assert v < 1e-12, (method, v)
        # sim() without mistakes is the reference, too (where it knows the conventions)
        if not set(p["meta"]) - {"direction"}:
            o, s = sim(p, method, {}); assert rel(o, out) < 1e-11 and rel(s, last) < 1e-11, method
        t = p["t"]; fin = lambda o, s: (rounded(o, t), rounded(s, "f32"))
        if note and note[1] != "rounded": o, s = honest_f32_zoh(p, 16 if note[1] == "f32-chunked" else 1)
        elif note: o, s = out, last
        else: o, s = sim(p, method, F)
        assert np.isfinite(o).all() and np.isfinite(s).all()
        o, s = fin(o, s)
        err = {"out": rel(o, out), "last_state": rel(s, last)}
        alone = {}
        for f in F:
            a, b = fin(*sim(p, method, {f: F[f]})); e = {"out": rel(a, out), "last_state": rel(b, last)}
            eps = {"f32": 1e-6, "f16": 1e-3, "bf16": 5e-3}[t]
            for name, lim in (("out", eps), ("last_state", 1e-6)):
                hit = effect[f] in ("both", name)
                assert (e[name] > max(1e-3, 5 * lim)) if hit else e[name] < lim, (method, f, e)
            alone[f] = e
        if note: assert err["out"] < {"f32": 2e-6, "f16": 1e-3, "bf16": 5e-3}[t] and err["last_state"] < 2e-6, (method, err)
        name = f"run{i + 1:02d}.safetensors"
        wt = "f32" if not p["cplx"] else "pair" if p["pair"] else "c64"
        it = "f32" if p["wide"] else t
        T = {"u": (p["u"], it), "delta": (p["delta"], it), "A": (p["A"], wt)}
        for X in "BC": T[X] = (p[X], it if p[X].ndim == 4 else wt)
        if "z" in p: T["z"] = (p["z"], it)
        for X in ("D", "delta_bias"):
            if X in p: T[X] = (p[X], "f32")
        if "initial_state" in p: T["initial_state"] = (p["initial_state"], wt)
        T["out." + method] = (o, it); T["last_state." + method] = (s, wt)
        meta = {"delta_softplus": str(p["softplus"]).lower(), **p["meta"]}
        if p["wide"]: meta["input_type"] = t
        path = os.path.join(HERE, name); save(path, T, meta)
        assert os.path.getsize(path) <= 25 * 1024, (name, method, os.path.getsize(path))
        case = {"file": name, "method": method, "right": bool(note), "mistakes": say}
        if note: case["note"] = note[0]
        case["affects"] = {"out": any(e in ("both", "out") for e in effect.values()),
                           "last_state": any(e in ("both", "last_state") for e in effect.values())}
        case["error"] = err
        if len(F) > 1: case["error_of_each_alone"] = [alone[f] for f in F]
        case["setting"] = f"{'complex' if p['cplx'] else 'real'} {t}{' widened' if p['wide'] else ''}, (batch, dim, seqlen) {p['u'].shape}, dstate {p['A'].shape[1]}, " + \
            ", ".join(f"{X} {'variable, groups %d' % p[X].shape[1] if p[X].ndim == 4 else 'constant'}" for X in "BC") + \
            "".join(f", {X}" for X in ("D", "z", "delta_bias", "initial_state") if X in p) + (", softplus" if p["softplus"] else "") + \
            "".join(f", {a}={b}" for a, b in p["meta"].items())
        cases.append(case)
    with open(os.path.join(HERE, "cases.json"), "w") as f: json.dump(cases, f, indent=1)
    print("reference against block exponentials and linear solves, worst relative difference:", worst)

if __name__ == "__main__": main()
