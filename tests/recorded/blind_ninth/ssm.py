"""A right selective scan, in pieces that a case may replace (spec.md sections 2, 3). f32 as a kernel, or f64 as the truth."""
import math
from types import SimpleNamespace
import numpy as np
import torch
from safetensors.torch import save_file


def rounded(x, kind):
    """x in f32, rounded once to the input type."""
    x = np.asarray(x, np.float32)
    if kind == "f16":
        return x.astype(np.float16).astype(np.float32)
    if kind == "bf16":
        return torch.from_numpy(np.ascontiguousarray(x)).to(torch.bfloat16).float().numpy()
    return x


def inputs(seed, method, b=2, d=4, l=48, n=4, g=0, cplx=False, var="", kind="f32", gate=False, skip=True, bias=False,
           softplus=False, init=False, lo=2e-3, hi=0.4, native=True, scale_a=1.0, positive_bias=False):
    """var names what varies of B and C ("BC", "B", "C" or ""); native: 16-bit numbers stored as such, else widened."""
    r = np.random.default_rng(seed)
    R = lambda *s: r.standard_normal(s).astype(np.float32)
    q = SimpleNamespace(method=method, b=b, d=d, l=l, n=n, g=g, cplx=cplx, kind=kind, softplus=softplus, native=native)
    q.u = rounded(R(b, d, l), kind)
    dt = np.exp(r.uniform(np.log(lo), np.log(hi), (b, d, l)))
    q.delta_bias = (0.3 * R(d) - 0.2).astype(np.float32) if bias else None
    if positive_bias:
        q.delta_bias = np.abs(q.delta_bias)
    if softplus:
        dt = np.log(np.expm1(dt))
    if bias:
        dt = dt - q.delta_bias[:, None]
        if not softplus:
            q.delta_bias = np.abs(q.delta_bias) * np.float32(0.2)
            dt = np.exp(r.uniform(np.log(lo), np.log(hi), (b, d, l)))
    q.delta = rounded(dt, kind)
    k = np.arange(n)
    jitter = 1 + 0.1 * r.uniform(-1, 1, (d, n))
    if cplx:
        q.A = ((-0.5 * jitter + 1j * np.pi * (k + 0.3) * jitter) * scale_a).astype(np.complex64)
    else:
        q.A = (-(1 + k) * jitter * scale_a).astype(np.float32)
    weight = lambda: (R(d, n) + 1j * R(d, n)).astype(np.complex64) if cplx else R(d, n)
    varied = lambda: rounded(R(b, g, n, l * (2 if cplx else 1)), kind)
    q.B = varied() if "B" in var else weight()
    q.C = varied() if "C" in var else weight()
    q.D = (1 + 0.5 * R(d)).astype(np.float32) if skip else None
    q.z = rounded(R(b, d, l), kind) if gate else None
    q.initial_state = None
    if init:
        s = R(b, d, n)
        q.initial_state = (s + 1j * R(b, d, n)).astype(np.complex64) if cplx else s
    return q


class Kernel:
    """The right computation. A faulty kernel replaces one method or two."""

    def __init__(self, q, real=np.float32):
        self.q, self.real = q, real
        self.comp = np.complex64 if real == np.float32 else np.complex128
        self.w = self.comp if q.cplx else real
        self.u = q.u.astype(real)
        self.A = q.A.astype(self.w)

    # Inputs
    def dt(self):
        x = self.q.delta.astype(self.real)
        if self.q.delta_bias is not None:
            x = x + self.q.delta_bias.astype(self.real)[:, None]
        return self.soft(x) if self.q.softplus else x

    def soft(self, x):
        return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, self.real(20)))))

    def to_complex(self, X):
        return (X[..., 0::2] + 1j * X[..., 1::2]) if self.q.cplx else X

    def by_channel(self, X):
        return np.repeat(X, self.q.d // self.q.g, axis=1)

    def wide(self, X):
        """B or C as (batch or 1, dim, dstate, seqlen or 1)."""
        if X.ndim == 2:
            return X.astype(self.w)[None, :, :, None]
        return self.by_channel(self.to_complex(X.astype(self.real)).astype(self.w))

    def Bw(self):
        return self.wide(self.q.B)

    def Cw(self):
        return self.wide(self.q.C)

    # Coefficients; dt (b, d, 1, l), A (1, d, n, 1), z (b, d, n, l)
    def phi(self, k, z):
        near = np.abs(z) < 1.5
        s = np.where(near, z, 0)
        series = np.zeros_like(z)
        for j in range(24, -1, -1):
            series = series * s + self.real(1 / math.factorial(j + k))
        f = np.where(near, 1, z)
        closed = np.exp(f)
        for j in range(k):
            closed = (closed - self.real(1 / math.factorial(j))) / f
        return np.where(near, series, closed)

    def a_bar(self, dt, A, z):
        h = self.real(0.5)
        return (1 + h * z) / (1 - h * z) if self.q.method == "bilinear" else np.exp(z)

    def h(self, dt, A, z):
        r, m = self.real, self.q.method
        if m == "zoh":
            return dt + 0 * z
        if m == "bilinear":
            return dt / (1 - r(0.5) * z)
        if m == "foh":
            return dt * dt * self.phi(2, z)
        if m == "poly":
            return dt * (self.phi(1, z) + r(0.5) * dt * self.phi(2, z))
        if m == "highorder":
            return dt * (self.phi(1, z) + dt * (self.phi(2, z) + r(0.5) * dt * self.phi(3, z)))
        if m == "rk4":
            return dt * (1 + z * (r(1 / 2) + z * (r(1 / 6) + z * r(1 / 24))))

    # Scan
    def scan(self, a, bu, x0):
        x, xs = x0, np.empty_like(bu)
        for i in range(bu.shape[-1]):
            x = a[..., i] * x + bu[..., i]
            xs[..., i] = x
        return xs

    def scan_back(self, a, bu):
        return self.scan(a[..., ::-1], bu[..., ::-1], np.zeros_like(bu[..., 0]))[..., ::-1]

    def x0(self):
        q = self.q
        return np.zeros((q.b, q.d, q.n), self.w) if q.initial_state is None else q.initial_state.astype(self.w)

    # Output
    def read(self, C, x):
        y = (C * x).sum(axis=2)
        return 2 * y.real if self.q.cplx else y

    def both(self, yf, yb):
        return self.real(0.5) * (yf + yb)

    def silu(self, z):
        return z / (1 + np.exp(-z))

    def finish(self, y):
        q = self.q
        if q.D is not None:
            y = y + q.D.astype(self.real)[:, None] * self.u
        if q.z is not None:
            y = y * self.silu(q.z.astype(self.real))
        return y

    def last(self, xf, xb):
        return xf[..., -1]

    def go(self):
        q = self.q
        dt = self.dt()[:, :, None, :]
        A = self.A[None, :, :, None]
        z = dt * A
        a, h = self.a_bar(dt, A, z), self.h(dt, A, z)
        self.h_, self.a_ = h, a
        bu = (h * (self.Bw() * self.u[:, :, None, :])).astype(self.w)
        C = self.Cw()
        xf = self.scan(a, bu, self.x0())
        y, xb = self.read(C, xf), None
        if q.method == "poly":
            xb = self.scan_back(a, bu)
            y = self.both(y, self.read(C, xb))
        self.xf, self.xb = xf, xb
        return self.finish(y), self.last(xf, xb)


def save(path, q, outputs, **meta):
    """outputs: {"out.zoh": ..., ...}; arrays of u's type are stored in it, or widened to f32 with input_type stated."""
    t = {k: getattr(q, k) for k in ("u", "delta", "A", "B", "C", "D", "z", "delta_bias", "initial_state")}
    t |= {k: getattr(q, k) for k in ("dout", "dlast_state") if hasattr(q, k)}
    t |= outputs
    of_type = lambda k, v: k in ("u", "delta", "z", "dout") or k.startswith("out.") or v.ndim == 4 or \
        k.split(".")[:2] in (["grad", "u"], ["grad", "delta"], ["grad", "z"])
    store = {"f16": torch.float16, "bf16": torch.bfloat16}
    meta = {"delta_softplus": str(q.softplus).lower(), **meta}
    tensors = {}
    for k, v in t.items():
        if v is None:
            continue
        v = np.ascontiguousarray(v)
        v = v.astype(np.complex64 if np.iscomplexobj(v) else np.float32)
        x = torch.from_numpy(rounded(v, q.kind) if of_type(k, v) else v).clone()
        if q.kind != "f32" and of_type(k, v):
            if q.native:
                x = x.to(store[q.kind])
            else:
                meta["input_type"] = q.kind
        tensors[k] = x
    save_file(tensors, path, meta)
