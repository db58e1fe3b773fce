"""Recordings of set 6. Every run computes its output in float32 as a kernel would, with the fault written in."""
import json, os, sys
import numpy as np
import ml_dtypes
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
f4, c8 = np.float32, np.complex64
bf16, f16 = ml_dtypes.bfloat16, np.float16
rng = np.random.default_rng(60606)
cases, check = [], []


class Run:
    """Inputs as a trained layer has them."""

    def __init__(s, b=1, d=4, n=4, L=96, cplx=False, Bv=True, Cv=True, groups=1, gate=False, softplus=False, bias=False,
                 skip=False, dtype=f4, init=False, last=False, scale=1.0):
        s.b, s.d, s.n, s.L, s.cplx, s.groups, s.dtype, s.softplus, s.last = b, d, n, L, cplx, groups, dtype, softplus, last
        cast = lambda v: v.astype(f4).astype(dtype)
        s.u = cast(rng.normal(size=(b, d, L)))
        dt = np.exp(rng.uniform(np.log(2e-3), np.log(0.15), size=(1, d, 1)) + 0.6 * rng.normal(size=(b, d, L))) * scale
        s.bias = None
        if softplus:
            raw = np.log(np.expm1(dt))
            if bias:
                s.bias = (np.log(np.expm1(0.02)) + 0.5 * rng.normal(size=d)).astype(f4)
                raw = raw - s.bias[:, None]
            s.delta = cast(raw)
        else:
            if bias:
                s.bias = rng.uniform(0.01, 0.05, size=d).astype(f4)
            s.delta = cast(dt)
        if cplx:
            k = np.arange(n)
            s.A = ((-0.5 - 0.2 * rng.uniform(size=(d, n))) + 1j * np.pi * (k + 0.3 * rng.uniform(size=(d, n)))).astype(c8)
        else:
            s.A = (-(1 + np.arange(n)) * np.exp(0.25 * rng.normal(size=(d, n)))).astype(f4)

        def weight(variable):
            shape = (b, groups, n, L) if variable else (d, n)
            w = rng.normal(size=shape)
            if cplx:
                w = w + 1j * rng.normal(size=shape)
                if variable:
                    return cast(np.stack([w.real, w.imag], -1).reshape(b, groups, n, 2 * L))
                return w.astype(c8)
            return cast(w) if variable else w.astype(f4)

        s.B, s.C = weight(Bv), weight(Cv)
        s.z = cast(1.2 * rng.normal(size=(b, d, L))) if gate else None
        s.D = (1 + 0.4 * rng.normal(size=d)).astype(f4) if skip else None
        s.x0 = None
        if init:
            s.x0 = 0.4 * rng.normal(size=(b, d, n))
            s.x0 = (s.x0 + 0.4j * rng.normal(size=(b, d, n))).astype(c8) if cplx else s.x0.astype(f4)

    # --- pieces
    def dt(s):
        v = s.delta.astype(f4)
        if s.bias is not None:
            v = v + s.bias[:, None]
        return softplus(v) if s.softplus else v

    def full(s, W, group=None):
        """(b, d, n, L) or (1, d, n, 1)."""
        if W.ndim == 2:
            return W[None, :, :, None]
        W = W.astype(f4)
        if s.cplx:
            W = W[..., 0::2] + 1j * W[..., 1::2]
        group = np.arange(s.d) // (s.d // s.groups) if group is None else group
        return W[:, group]

    def finish(s, y):
        if s.D is not None:
            y = y + s.D[:, None] * s.u.astype(f4)
        if s.z is not None:
            y = y * silu(s.z.astype(f4))
        return y.astype(f4).astype(s.dtype)


def softplus(v):
    return np.where(v > 20, v, np.log1p(np.exp(np.minimum(v, f4(20)))))


def sigmoid(v):
    return f4(1) / (f4(1) + np.exp(-v))


def silu(v):
    return v * sigmoid(v)


def phi(k, z):
    """Evaluated carefully, rounded once."""
    w = z.astype(np.complex128)
    small = np.abs(w) < 1
    t, s = np.ones_like(w) / [1, 1, 2, 6][k], 0
    for j in range(24):
        s = s + t
        t = t * np.where(small, w, 0) / (j + k + 1)
    g, v = np.exp(w), np.where(small, 1, w)
    for j in range(k):
        g = (g - [1, 1, 0.5][j]) / v
    r = np.where(small, s, g)
    return r.astype(c8) if np.iscomplexobj(z) else r.real.astype(f4)


def coeffs(method, dt, A):
    """Abar and h (Bbar for B = 1), each (b, d, n, L)."""
    t = dt[:, :, None, :]
    z = t * A[None, :, :, None]
    if method == "bilinear":
        r = f4(1) / (f4(1) - z / f4(2))
        return (f4(1) + z / f4(2)) * r, t * r
    a = np.exp(z)
    if method == "zoh":
        return a, t * np.ones_like(z)
    if method == "foh":
        return a, t * t * phi(2, z)
    if method == "poly":
        return a, t * (phi(1, z) + f4(0.5) * t * phi(2, z))
    if method == "highorder":
        return a, t * (phi(1, z) + t * (phi(2, z) + f4(0.5) * t * phi(3, z)))
    if method == "rk4":
        return a, t * (f4(1) + z * (f4(0.5) + z * (f4(1) / f4(6) + z / f4(24))))


def scan(a, b, x0=None):
    x = np.zeros(a.shape[:3], b.dtype) if x0 is None else x0
    out = np.empty(a.shape, b.dtype)
    for l in range(a.shape[3]):
        x = a[..., l] * x + b[..., l]
        out[..., l] = x
    return out


def read(r, x, C):
    return f4(2) * (C * x).sum(2).real if r.cplx else (C * x).sum(2)


def drive(r, h, B=None):
    return h * (r.full(r.B) if B is None else B) * r.u.astype(f4)[:, :, None, :]


def right(method, r):
    """The plain serial scan: (out, last_state)."""
    a, h = coeffs(method, r.dt(), r.A)
    bu = drive(r, h)
    x = scan(a, bu, r.x0)
    last = x[..., -1]
    y = read(r, x, r.full(r.C))
    if method == "poly":
        xb = scan(a[..., ::-1], bu[..., ::-1])[..., ::-1]
        y = f4(0.5) * (y + read(r, xb, r.full(r.C)))
    return r.finish(y), last


def emit(method, r, out, last=None, ok=False, cause=""):
    out, last_right = np.asarray(out), right(method, r)
    k = len(cases) + 1
    name = f"run{k:02d}.safetensors"
    t = dict(u=r.u, delta=r.delta, A=r.A, B=r.B, C=r.C, D=r.D, z=r.z, delta_bias=r.bias, initial_state=r.x0)
    t["out." + method] = out.astype(r.dtype)
    if last is not None:
        t["last_state." + method] = np.asarray(last).astype(c8 if r.cplx else f4)
    t = {k: np.ascontiguousarray(v) for k, v in t.items() if v is not None}
    save_file(t, os.path.join(HERE, name), {"delta_softplus": str(r.softplus).lower()})
    cases.append(dict(file=name, method=method, right=ok, cause=cause))
    # how far from the plain scan
    def far(g, w):
        g, w = np.asarray(g).astype(np.complex128), np.asarray(w).astype(np.complex128)
        e = np.abs(g - w) / (np.sqrt(np.mean(np.abs(w) ** 2)))
        return f"max {e.max():.1e} share>1e-3 {np.mean(e > 1e-3):.2f}"
    check.append(f"{name} {method:9s} {'ok ' if ok else 'BAD'} out {far(out, last_right[0])}" +
                 (f"  last {far(last, last_right[1])}" if last is not None else ""))


# 1 chunks that forget
r = Run(b=2, d=4, n=4, L=160, skip=True)
a, h = coeffs("zoh", r.dt(), r.A)
bu = drive(r, h)
x = np.concatenate([scan(a[..., i:i + 64], bu[..., i:i + 64]) for i in range(0, r.L, 64)], -1)
emit("zoh", r, r.finish(read(r, x, r.full(r.C))), cause="Chunked scan of 64 positions whose carry is dropped: the state starts from zero at positions 64 and 128.")

# 2 carry decayed by one step only
r = Run(b=1, d=6, n=4, L=120, gate=True)
a, h = coeffs("foh", r.dt(), r.A)
bu = drive(r, h)
carry, xs = 0, []
for i in range(0, r.L, 32):
    loc = scan(a[..., i:i + 32], bu[..., i:i + 32])
    full = loc + a[..., i:i + 32] * (carry if i == 0 else carry[..., None])
    xs.append(full)
    carry = full[..., -1]
emit("foh", r, r.finish(read(r, np.concatenate(xs, -1), r.full(r.C))),
     cause="Chunks of 32: the carried state enters position l of a chunk with that position's own A-bar instead of the product of all A-bar from the start of the chunk to l.")

# 3 skip after gate
r = Run(b=2, d=4, n=8, L=64, gate=True, skip=True, softplus=True)
a, h = coeffs("bilinear", r.dt(), r.A)
y = read(r, scan(a, drive(r, h)), r.full(r.C)) * silu(r.z) + r.D[:, None] * r.u
emit("bilinear", r, y, cause="The skip D u is added after the gate: out = y silu(z) + D u.")

# 4 poly not halved
r = Run(b=1, d=4, n=6, L=100, gate=True, skip=True)
a, h = coeffs("poly", r.dt(), r.A)
bu = drive(r, h)
x = scan(a, bu) + scan(a[..., ::-1], bu[..., ::-1])[..., ::-1]
emit("poly", r, r.finish(read(r, x, r.full(r.C))), scan(a, bu)[..., -1],
     cause="poly: the two directions are added and not averaged (the factor 1/2 of y is missing); D u and gate are right.")

# 5 groups interleaved
r = Run(b=1, d=8, n=4, L=72, groups=2, softplus=True, bias=True)
a, h = coeffs("highorder", r.dt(), r.A)
g = np.arange(r.d) % r.groups
emit("highorder", r, r.finish(read(r, scan(a, drive(r, h, r.full(r.B, g))), r.full(r.C, g))),
     cause="Channel d reads group d % groups instead of d / (dim / groups), of B and of C.")

# 6 bias after softplus
r = Run(b=2, d=4, n=4, L=80, softplus=True, bias=True)
r.delta, r.bias = r.delta + r.bias[:, None], rng.uniform(0.02, 0.3, size=4).astype(f4)
r.delta = r.delta - r.bias[:, None]
dt = softplus(r.delta) + r.bias[:, None]
a, h = coeffs("rk4", dt, r.A)
emit("rk4", r, r.finish(read(r, scan(a, drive(r, h)), r.full(r.C))),
     cause="delta_bias is added after the softplus instead of before it: Delta = softplus(delta) + delta_bias.")

# 7 bf16 store by truncation
r = Run(b=2, d=6, n=4, L=96, dtype=bf16, gate=True, skip=True)
a, h = coeffs("zoh", r.dt(), r.A)
y = read(r, scan(a, drive(r, h)), r.full(r.C)) + r.D[:, None] * r.u.astype(f4)
y = (y * silu(r.z.astype(f4))).astype(f4)
emit("zoh", r, (y.view(np.uint32) & np.uint32(0xFFFF0000)).view(f4),
     cause="The bf16 output is truncated (the low 16 bits of the f32 are cut off) instead of rounded to nearest; everything before the store is right.")

# 8 state in bf16
r = Run(b=1, d=6, n=8, L=128, dtype=bf16, last=True)
a, h = coeffs("zoh", r.dt(), r.A)
bu = drive(r, h)
x, xs = np.zeros((1, 6, 8), f4), []
for l in range(r.L):
    x = (a[..., l] * x + bu[..., l]).astype(bf16).astype(f4)
    xs.append(x)
emit("zoh", r, r.finish(read(r, np.stack(xs, -1), r.full(r.C))), x,
     cause="The state is kept in bf16: after each step x is rounded to bf16 (coefficients, products and the readout are in f32).")

# 9 product of real parts only
r = Run(b=1, d=4, n=6, L=90, cplx=True, Bv=False, Cv=False, skip=True)
a, h = coeffs("zoh", r.dt(), r.A)
x = scan(a, drive(r, h))
y = f4(2) * (r.full(r.C).real * x.real).sum(2)
emit("zoh", r, r.finish(y), x[..., -1], cause="Complex readout: y = 2 sum Re(C) Re(x), the product of the imaginary parts is missing.")

# 10 C conjugated
r = Run(b=2, d=4, n=4, L=60, cplx=True, Bv=True, Cv=True)
a, h = coeffs("foh", r.dt(), r.A)
emit("foh", r, r.finish(read(r, scan(a, drive(r, h)), r.full(r.C).conj())), cause="C enters conjugated: y = 2 Re sum conj(C) x.")

# 11 planar instead of interleaved
r = Run(b=1, d=4, n=4, L=100, cplx=True, Bv=True, Cv=False, gate=True)
a, h = coeffs("zoh", r.dt(), r.A)
B = (r.B[..., :r.L] + 1j * r.B[..., r.L:]).astype(c8)[:, np.zeros(4, int)]
emit("zoh", r, r.finish(read(r, scan(a, drive(r, h, B)), r.full(r.C))),
     cause="The variable complex B is read as planar (seqlen real parts, then seqlen imaginary parts) although real and imaginary parts are interleaved.")

# 12 modulus for the denominator
r = Run(b=1, d=5, n=6, L=88, cplx=True, Bv=False, Cv=True, last=True)
t = r.dt()[:, :, None, :]
z = t * r.A[None, :, :, None]
m = f4(1) / np.abs(f4(1) - z / f4(2))
a, h = (f4(1) + z / f4(2)) * m, t * m + z * 0
x = scan(a, drive(r, h))
emit("bilinear", r, r.finish(read(r, x, r.full(r.C))), x[..., -1],
     cause="bilinear with complex A: divided by the modulus |1 - z/2| instead of the complex number 1 - z/2, in A-bar and B-bar.")

# 13 padding decays the last state
r = Run(b=2, d=4, n=4, L=100, softplus=True, bias=True, last=True)
a, h = coeffs("highorder", r.dt(), r.A)
x = scan(a, drive(r, h))
pad = softplus(np.zeros((1, 4, 28), f4) + r.bias[:, None])
ap, _ = coeffs("highorder", pad, r.A)
last = x[..., -1]
for l in range(28):
    last = ap[..., l] * last
emit("highorder", r, r.finish(read(r, x, r.full(r.C))), last,
     cause="The sequence is padded from 100 to 128 with delta = 0 and u = 0 before bias and softplus, and the last state is read after the padding: it has decayed by 28 more steps of Delta = softplus(delta_bias). The outputs are right.")

# 14 reversed output not turned back
r = Run(b=1, d=6, n=4, L=110, skip=True)
a, h = coeffs("poly", r.dt(), r.A)
bu = drive(r, h)
C = r.full(r.C)
yf = read(r, scan(a, bu), C)
yb = read(r, scan(a[..., ::-1], bu[..., ::-1]), C[..., ::-1])
emit("poly", r, r.finish(f4(0.5) * (yf + yb)), cause="poly: the output of the reversed scan is not turned back before averaging; y_l = (y^f_l + y^b_{L-1-l}) / 2.")

# 15 B and C not flipped with u
r = Run(b=1, d=4, n=8, L=70, gate=True)
dt = r.dt()
a, h = coeffs("poly", dt, r.A)
bu = drive(r, h)
yf = read(r, scan(a, bu), r.full(r.C))
ar, hr = coeffs("poly", dt[..., ::-1], r.A)
xb = scan(ar, hr * r.full(r.B) * r.u[..., ::-1][:, :, None, :])
yb = read(r, xb, r.full(r.C))[..., ::-1]
emit("poly", r, r.finish(f4(0.5) * (yf + yb)), cause="poly: for the reversed scan u and Delta are flipped in time, but the variable B and C are not.")

# 16 a coefficient
r = Run(b=2, d=4, n=4, L=50, Bv=False, Cv=False, scale=6.0, last=True)
t = r.dt()[:, :, None, :]
z = t * r.A[None, :, :, None]
a, h = np.exp(z), t * (f4(1) + z / f4(2) + z * z / f4(6) + z * z * z / f4(12))
x = scan(a, drive(r, h))
emit("rk4", r, r.finish(read(r, x, r.full(r.C))), x[..., -1], cause="rk4: the coefficient of the last term of B-bar is 1/12 instead of 1/24 (Delta^4 A^3 / 12).")

# 17 sigmoid gate
r = Run(b=2, d=4, n=4, L=64, dtype=f16, gate=True, skip=True)
a, h = coeffs("zoh", r.dt(), r.A)
y = read(r, scan(a, drive(r, h)), r.full(r.C)) + r.D[:, None] * r.u.astype(f4)
emit("zoh", r, y * sigmoid(r.z.astype(f4)), cause="The gate is sigmoid(z) instead of z sigmoid(z).")

# 18 gate of a neighbour
r = Run(b=1, d=6, n=4, L=84, gate=True, softplus=True)
a, h = coeffs("zoh", r.dt(), r.A)
y = read(r, scan(a, drive(r, h)), r.full(r.C)) * silu(np.roll(r.z, -1, axis=1))
emit("zoh", r, y, cause="The gate of channel d is taken from channel d + 1 (cyclically).")

# 19 tail of the vector loads
r = Run(b=2, d=4, n=4, L=87, skip=True)
out, _ = right("foh", r)
out = out.copy()
out[..., 84:] = 0
emit("foh", r, out, cause="Vectorised stores of four: the last seqlen % 4 = 3 positions (84 to 86) are never written, they hold zero.")

# 20 first delta of each tile stale
r = Run(b=1, d=4, n=8, L=130)
dt = r.dt().copy()
a, h = coeffs("zoh", dt, r.A)
stale = dt.copy()
stale[..., 16::16] = dt[..., 15:-1:16]
a2, _ = coeffs("zoh", stale, r.A)
emit("zoh", r, r.finish(read(r, scan(a2, drive(r, h)), r.full(r.C))),
     cause="At the first position of every tile of 16 (from 16 on) A-bar is made with the Delta of the position before; B-bar has the right one.")

# 21 operator of the associative scan
r = Run(b=1, d=4, n=4, L=64, softplus=True)
a, h = coeffs("zoh", r.dt(), r.A)
A1, B1 = a.copy(), drive(r, h)
k = 1
while k < r.L:
    An, Bn = A1.copy(), B1.copy()
    An[..., k:] = A1[..., :-k] * A1[..., k:]
    Bn[..., k:] = A1[..., :-k] * B1[..., k:] + B1[..., :-k]
    A1, B1, k = An, Bn, 2 * k
emit("zoh", r, r.finish(read(r, B1, r.full(r.C))),
     cause="Associative scan with the operands of the operator exchanged: the combined offset is a1 b2 + b1 instead of a2 b1 + b2.")

# 22 A of channel 0
r = Run(b=1, d=8, n=4, L=64, gate=True)
a, h = coeffs("rk4", r.dt(), np.repeat(r.A[:1], 8, 0))
emit("rk4", r, r.finish(read(r, scan(a, drive(r, h)), r.full(r.C))), cause="All channels use the row of A of channel 0.")

# 23 batch stride of C
r = Run(b=2, d=4, n=6, L=60, softplus=True, bias=True)
a, h = coeffs("foh", r.dt(), r.A)
C = r.full(r.C)
emit("foh", r, r.finish(read(r, scan(a, drive(r, h)), np.stack([C[0], C[0]]))), cause="The batch stride of C is missing: the second batch element reads the C of the first.")

# 24 initial state ignored
r = Run(b=1, d=4, n=4, L=48, init=True, last=True)
a, h = coeffs("bilinear", r.dt(), r.A)
x = scan(a, drive(r, h))
emit("bilinear", r, r.finish(read(r, x, r.full(r.C))), x[..., -1], cause="The given initial state is ignored, the scan starts from zero.")

# 25 initial state not decayed
r = Run(b=2, d=4, n=4, L=56, init=True, scale=3.0)
a, h = coeffs("highorder", r.dt(), r.A)
a2 = a.copy()
a2[..., 0] = 1
emit("highorder", r, r.finish(read(r, scan(a2, drive(r, h), r.x0), r.full(r.C))),
     cause="The initial state is added to the first step without the decay of that step: x_0 = x_init + B-bar_0 u_0, A-bar_0 is missing.")

# 26 Delta in bf16
r = Run(b=1, d=8, n=4, L=96, softplus=True, bias=True)
a, h = coeffs("zoh", r.dt().astype(bf16).astype(f4), r.A)
emit("zoh", r, r.finish(read(r, scan(a, drive(r, h)), r.full(r.C))),
     cause="Delta is rounded to bf16 after bias and softplus, before it is used (a bf16 buffer between two kernels); everything else is in f32.")

# 27 valid length too short
r = Run(b=2, d=4, n=4, L=96, last=True)
dt = r.dt().copy()
dt[1, :, 79:] = 0
a, h = coeffs("zoh", dt, r.A)
x = scan(a, drive(r, h))
emit("zoh", r, r.finish(read(r, x, r.full(r.C))), x[..., -1],
     cause="The second batch element is treated as 79 positions long: from position 79 on its Delta is set to 0, its state stands still there.")

# 28 two: groups and skip
r = Run(b=1, d=6, n=4, L=75, groups=3, skip=True, gate=True)
a, h = coeffs("zoh", r.dt(), r.A)
g = np.zeros(6, int)
y = read(r, scan(a, drive(r, h, r.full(r.B, g))), r.full(r.C, g)) * silu(r.z)
emit("zoh", r, y, cause="Two faults: every channel reads group 0 of B and C, and the skip D u is left out.")

# 29 two: bilinear drive and late last state
r = Run(b=2, d=4, n=8, L=52, last=True, scale=2.0)
a, h = coeffs("bilinear", r.dt(), r.A)
h = r.dt()[:, :, None, :] * np.ones_like(h)
x = scan(a, drive(r, h))
emit("bilinear", r, r.finish(read(r, x, r.full(r.C))), x[..., -2],
     cause="Two faults: B-bar is Delta B without the factor (1 - z/2)^-1, and last_state is the state before the last step (position L - 2).")

# 30 last state transposed
r = Run(b=2, d=8, n=4, L=48, last=True, gate=True)
out, last = right("rk4", r)
emit("rk4", r, out, np.ascontiguousarray(last.transpose(0, 2, 1)).reshape(last.shape),
     cause="last_state is stored in memory order (batch, dstate, dim) but labelled (batch, dim, dstate): its numbers are right and in the wrong places. The outputs are right.")

# --- right ones
# 31 Kogge-Stone
r = Run(b=1, d=4, n=8, L=150, gate=True, softplus=True, skip=True, last=True)
a, h = coeffs("zoh", r.dt(), r.A)
A1, B1 = a.copy(), drive(r, h)
k = 1
while k < r.L:
    An, Bn = A1.copy(), B1.copy()
    An[..., k:] = A1[..., k:] * A1[..., :-k]
    Bn[..., k:] = A1[..., k:] * B1[..., :-k] + B1[..., k:]
    A1, B1, k = An, Bn, 2 * k
emit("zoh", r, r.finish(read(r, B1, r.full(r.C))), B1[..., -1], True, "Right: parallel prefix scan (Kogge-Stone) over all positions in f32.")

# 32 chunks with products
r = Run(b=2, d=4, n=4, L=112, groups=2, last=True)
a, h = coeffs("highorder", r.dt(), r.A)
bu = drive(r, h)
carry, xs = np.zeros((2, 4, 4), f4), []
for i in range(0, r.L, 16):
    ac, bc = a[..., i:i + 16], bu[..., i:i + 16]
    m = np.zeros(ac.shape + (16,), f4)  # m[l, j] = product of a over j+1..l
    for l in range(16):
        m[..., l, l] = 1
        for j in range(l):
            m[..., l, j] = m[..., l - 1, j] * ac[..., l]
    x = np.einsum("bdnlj,bdnj->bdnl", m, bc) + np.cumprod(ac, -1) * carry[..., None]
    xs.append(x)
    carry = x[..., -1]
emit("highorder", r, r.finish(read(r, np.concatenate(xs, -1), r.full(r.C))), carry, True,
     "Right: chunks of 16 as products with a triangular matrix of products of A-bar, the carry with the cumulated product.")

# 33 bf16, other softplus
r = Run(b=2, d=6, n=4, L=90, dtype=bf16, softplus=True, bias=True, gate=True, skip=True)
v = r.delta.astype(f4) + r.bias[:, None]
dt = np.maximum(v, f4(0)) + np.log1p(np.exp(-np.abs(v)))
a, h = coeffs("bilinear", dt, r.A)
x = scan(a, drive(r, h))
C, y = r.full(r.C), 0
for n in reversed(range(r.n)):
    y = y + C[:, :, n] * x[:, :, n]
emit("bilinear", r, r.finish(y), None, True, "Right: bf16 inputs, softplus as max(x, 0) + log1p(exp(-|x|)), the states summed from the last to the first.")

# 34 poly, complex, flipped arrays
r = Run(b=1, d=4, n=4, L=64, cplx=True, Bv=True, Cv=True, gate=True, last=True)
a, h = coeffs("poly", r.dt(), r.A)
bu = drive(r, h)
C = r.full(r.C)
x = scan(a, bu)
fl = lambda v: np.flip(v, -1)
xb = fl(scan(fl(a), fl(bu)))
y = ((C.real * (x + xb).real).sum(2) - (C.imag * (x + xb).imag).sum(2))
emit("poly", r, r.finish(y), x[..., -1], True, "Right: poly with complex weights, both directions' states added first, and the 2 of complex weights cancelled against the 1/2 of the average.")

# 35 f16, double inside
r = Run(b=2, d=4, n=8, L=100, dtype=f16, skip=True, Bv=False, init=True)
a, h = coeffs("rk4", r.dt(), r.A)
x = scan(a.astype(np.float64), drive(r, h).astype(np.float64), r.x0.astype(np.float64))
y = (r.full(r.C).astype(np.float64) * x).sum(2) + r.D.astype(np.float64)[:, None] * r.u.astype(np.float64)
emit("rk4", r, y.astype(f4), None, True, "Right: f16 inputs, the scan and the readout accumulated in double.")

json.dump(cases, open(os.path.join(HERE, "cases.json"), "w"), indent=1)
if "-v" in sys.argv:
    print("\n".join(check))
