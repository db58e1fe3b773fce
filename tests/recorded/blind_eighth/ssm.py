"""Common pieces: inputs, the right coefficients, the plain scan, saving. Works in f32 and, for checks, in f64.
Arrays are laid out (batch, dim, seqlen, dstate) once expanded. 16-bit inputs are f32 arrays of rounded numbers."""
import numpy as np, torch
from math import factorial
from safetensors.torch import save_file

TORCH = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def rnd(x, kind):
    """Round to nearest even in a type, and back to f32."""
    if kind == "f32": return np.asarray(x, np.float32)
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32)).to(TORCH[kind]).float().numpy()


def make_inputs(seed, b=2, d=4, L=64, n=8, cplx=False, varB=True, varC=True, groups=1, D=True, gate=False, bias=False,
                softplus=False, kind="f32", initial=False, lo=1e-3, hi=0.1, bias_range=(-.5, .5)):
    r = np.random.default_rng(seed)
    t = {"u": rnd(r.standard_normal((b, d, L)), kind)}
    dt = np.exp(r.uniform(np.log(lo), np.log(hi), (b, d, L)))
    if bias: t["delta_bias"] = (r.uniform(*bias_range, d) if softplus else r.uniform(0, lo, d)).astype(np.float32)
    if softplus: dt = np.log(np.expm1(dt)) - (t["delta_bias"][:, None] if bias else 0)
    t["delta"] = rnd(dt, kind)
    if cplx:
        A = -0.5 * r.uniform(0.7, 1.4, (d, n)) + 1j * np.pi * np.arange(n) * r.uniform(0.8, 1.2, (d, 1)) + 0.3j
    else:
        A = -(np.arange(n) + 1.0) * r.uniform(0.7, 1.3, (d, n))
    w = np.complex64 if cplx else np.float32
    t["A"] = A.astype(w)
    def weight(var):
        if var: return rnd(r.standard_normal((b, groups, n, L * (2 if cplx else 1))), kind)
        x = r.standard_normal((d, n)) + (1j * r.standard_normal((d, n)) if cplx else 0)
        return x.astype(w)
    t["B"], t["C"] = weight(varB), weight(varC)
    if D: t["D"] = r.standard_normal(d).astype(np.float32)
    if gate: t["z"] = rnd(r.standard_normal((b, d, L)) * 1.5, kind)
    if initial:
        t["initial_state"] = (r.standard_normal((b, d, n)) + (1j * r.standard_normal((b, d, n)) if cplx else 0)).astype(w)
    return dict(t, kind=kind, softplus=softplus)


def widen(inp):
    """The same inputs in double precision."""
    up = {np.dtype("f4"): np.float64, np.dtype("c8"): np.complex128}
    return {k: v.astype(up[v.dtype]) if isinstance(v, np.ndarray) else v for k, v in inp.items()}


def is_cplx(inp): return np.iscomplexobj(inp["A"])


def softplus(x): return np.logaddexp(x, x.dtype.type(0))


def sigmoid(x): return 1 / (1 + np.exp(-x))


def step(inp):
    x = inp["delta"]
    if "delta_bias" in inp: x = x + inp["delta_bias"][:, None]
    return softplus(x) if inp["softplus"] else x


def group_of(inp, g):
    d = inp["u"].shape[1]
    return np.arange(d) // (d // g)


def expand(inp, name, group=None):
    """B or C as (batch, dim, seqlen, dstate)."""
    w = inp[name]; b, d, L = inp["u"].shape
    if w.ndim == 2: return np.broadcast_to(w[None, :, None, :], (b, d, L, w.shape[1]))
    if is_cplx(inp): w = w[..., 0::2] + w.dtype.type(1) * (1j * w[..., 1::2]).astype(inp["A"].dtype)
    w = w[:, group_of(inp, w.shape[1]) if group is None else group]
    return np.ascontiguousarray(np.swapaxes(w, 2, 3))


def phi(k, z):
    """φ_k, evaluated in double and rounded once."""
    kind = z.dtype; w = z.astype(np.complex128 if np.iscomplexobj(z) else np.float64)
    small = np.abs(w) < 1
    s = np.where(small, w, 0); series = np.zeros_like(w)
    for j in range(24, -1, -1): series = series * s + 1 / factorial(j + k)
    c = np.where(small, 1, w); closed = np.exp(c)
    for i in range(k): closed = (closed - 1 / factorial(i)) / c
    return np.where(small, series, closed).astype(kind)


def z_of(dt, A): return dt[..., None] * A[:, None, :]


def coef(m, dt, A):
    """Ā and h = B̄ for B = 1."""
    z = z_of(dt, A); T = dt[..., None]; f = dt.dtype.type
    if m == "bilinear":
        r = 1 / (1 - z / 2); return r * (1 + z / 2), r * T
    h = {"zoh": lambda: T + 0 * z, "foh": lambda: T * T * phi(2, z), "poly": lambda: T * phi(1, z) + f(.5) * T * T * phi(2, z),
         "highorder": lambda: T * phi(1, z) + T * T * phi(2, z) + f(.5) * T * T * T * phi(3, z),
         "rk4": lambda: T * (1 + z / 2 * (1 + z / 3 * (1 + z / 4)))}[m]()
    return np.exp(z), h


def scan(a, bu, x0=None):
    x = np.zeros_like(bu[:, :, 0]) if x0 is None else x0
    X = np.empty_like(bu)
    for l in range(bu.shape[2]):
        x = a[:, :, l] * x + bu[:, :, l]; X[:, :, l] = x
    return X


def rscan(a, bu): return scan(a[:, :, ::-1], bu[:, :, ::-1])[:, :, ::-1]


def read(inp, C, X): 
    return 2 * (C * X).real.sum(-1) if is_cplx(inp) else (C * X).sum(-1)


def finish(inp, y):
    if "D" in inp: y = y + inp["D"][:, None] * inp["u"]
    if "z" in inp: y = y * (inp["z"] * sigmoid(inp["z"]))
    return y


def forward(inp, m, dt=None, A=None, B=None, C=None, ab=None, h=None, scan=scan, rscan=rscan, read=read, finish=finish):
    """The right pass; a case gives what it does differently."""
    dt = step(inp) if dt is None else dt
    ca, ch = coef(m, dt, inp["A"] if A is None else A)
    ab = ca if ab is None else ab; h = ch if h is None else h
    B = expand(inp, "B") if B is None else B; C = expand(inp, "C") if C is None else C
    bu = h * B * inp["u"][..., None]
    X = scan(ab, bu, inp.get("initial_state"))
    y = read(inp, C, X)
    if m == "poly": y = (y + read(inp, C, rscan(ab, bu))) * y.dtype.type(.5)
    return {"out": finish(inp, y), "last_state": X[:, :, -1]}


def save(path, inp, outputs, meta=None):
    """Inputs and outputs, with 16-bit ones in that type."""
    kind = inp["kind"]; t = {}
    typed = {"u", "delta", "z", "dout"}
    for k, v in list(inp.items()) + list(outputs.items()):
        if not isinstance(v, np.ndarray): continue
        x = torch.from_numpy(np.ascontiguousarray(v))
        name = k.split(".")[1] if k.startswith("grad.") else k.split(".")[0]
        if name in typed or name == "out" or name in ("B", "C") and v.ndim == 4: x = x.to(TORCH[kind])
        t[k] = x
    save_file(t, path, {"delta_softplus": str(inp["softplus"]).lower(), **(meta or {})})
