"""Backward passes of set 6: a hand-written adjoint (numpy), checked by finite differences, with faults planted in it."""
import json, os, sys
import numpy as np
import ml_dtypes
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
f4, c8, f8 = np.float32, np.complex64, np.float64
bf16 = ml_dtypes.bfloat16
rng = np.random.default_rng(616161)


def draw(b=1, d=4, n=4, L=64, cplx=False, Bv=True, Cv=True, groups=1, gate=False, softplus=False, bias=False, skip=False,
         dtype=f4, init=False, dlast=False, scale=1.0):
    q = lambda v: np.asarray(v).astype(f4).astype(dtype)
    t = {"u": q(rng.normal(size=(b, d, L)))}
    dt = np.exp(rng.uniform(np.log(5e-3), np.log(0.2), size=(1, d, 1)) + 0.5 * rng.normal(size=(b, d, L))) * scale
    if bias:
        t["delta_bias"] = (rng.normal(size=d) * 0.3 - 1.0).astype(f4) if softplus else rng.uniform(0.01, 0.03, size=d).astype(f4)
    if softplus:
        dt = np.log(np.expm1(dt))
        if bias:
            dt = dt - t["delta_bias"][:, None]
    t["delta"] = q(dt)
    k = np.arange(n)
    if cplx:
        t["A"] = (-0.5 - 0.3 * rng.uniform(size=(d, n)) + 1j * np.pi * (k + 0.4 * rng.uniform(size=(d, n)))).astype(c8)
    else:
        t["A"] = (-(k + 1) * np.exp(0.2 * rng.normal(size=(d, n)))).astype(f4)

    def weight(var):
        shape = (b, groups, n, L) if var else (d, n)
        w = rng.normal(size=shape)
        if cplx:
            w = w + 1j * rng.normal(size=shape)
            return q(np.stack([w.real, w.imag], -1).reshape(b, groups, n, 2 * L)) if var else w.astype(c8)
        return q(w) if var else w.astype(f4)

    t["B"], t["C"] = weight(Bv), weight(Cv)
    if gate:
        t["z"] = q(1.3 * rng.normal(size=(b, d, L)))
    if skip:
        t["D"] = (1 + 0.4 * rng.normal(size=d)).astype(f4)
    state = lambda: ((rng.normal(size=(b, d, n)) + 1j * rng.normal(size=(b, d, n))).astype(c8) if cplx
                     else rng.normal(size=(b, d, n)).astype(f4))
    if init:
        t["initial_state"] = state()
    t["dout"] = q(rng.normal(size=(b, d, L)))
    if dlast:
        t["dlast_state"] = state()
    return t, dict(cplx=cplx, groups=groups, softplus=softplus, b=b, d=d, n=n, L=L, dtype=dtype)


def phi(k, z, real):
    w = z.astype(np.complex128)
    small = np.abs(w) < 1
    t, s = np.ones_like(w) / [1, 1, 2, 6, 24][k], 0
    for j in range(24):
        s = s + t
        t = t * np.where(small, w, 0) / (j + k + 1)
    g, v = np.exp(w), np.where(small, 1, w)
    for j in range(k):
        g = (g - [1, 1, 0.5, 1 / 6][j]) / v
    r = np.where(small, s, g)
    return (r if np.iscomplexobj(z) else r.real).astype(z.dtype)


def coeffs(method, t, A):
    """a, h and their derivatives by Delta and by A; t is (b, d, 1, L)."""
    A = A[None, :, :, None]
    z = t * A
    one = np.ones_like(z)
    if method == "bilinear":
        r = 1 / (1 - z / 2)
        return (1 + z / 2) * r, t * r, A * r * r, r * r, t * r * r, t * t * r * r / 2
    e = np.exp(z)
    P = [phi(k, z, 0) for k in range(5)]
    if method == "zoh":
        h, ht, hA = t * one, one, 0 * one
    elif method == "foh":
        h, ht, hA = t ** 2 * P[2], t * P[1], t ** 3 * (P[2] - 2 * P[3])
    elif method == "poly":
        h, ht = t * P[1] + t ** 2 * P[2] / 2, e + t * P[1] / 2
        hA = t ** 2 * (P[1] - P[2]) + t ** 3 * (P[2] - 2 * P[3]) / 2
    elif method == "highorder":
        h, ht = t * P[1] + t ** 2 * P[2] + t ** 3 * P[3] / 2, e + t * P[1] + t ** 2 * P[2] / 2
        hA = t ** 2 * (P[1] - P[2]) + t ** 3 * (P[2] - 2 * P[3]) + t ** 4 * (P[3] - 3 * P[4]) / 2
    elif method == "rk4":
        h, ht = t * (1 + z / 2 + z * z / 6 + z ** 3 / 24), 1 + z + z * z / 2 + z ** 3 / 6
        hA = t * t * (0.5 + z / 3 + z * z / 8)
    return e, h, A * e, ht, t * e, hA


def unpack(t, o, R):
    K = np.result_type(R, np.complex64) if o["cplx"] else R
    v = {k: np.asarray(x).astype(K if np.iscomplexobj(x) else R) for k, x in t.items()}
    idx = np.arange(o["d"]) // (o["d"] // o["groups"])
    for w in "BC":
        x = v[w]
        if x.ndim == 2:
            v[w + "f"] = x[None, :, :, None]
        else:
            if o["cplx"]:
                x = (x[..., 0::2] + 1j * x[..., 1::2]).astype(K)
            v[w + "f"] = x[:, idx]
    pre = v["delta"] + (v["delta_bias"][:, None] if "delta_bias" in v else 0)
    v["pre"] = pre
    v["dt"] = np.log1p(np.exp(pre)) if o["softplus"] else pre
    return v, K, idx


def states(a, bu, x0=None):
    x = np.zeros(a.shape[:3], a.dtype) if x0 is None else x0
    X = np.empty(a.shape, a.dtype)
    for l in range(a.shape[3]):
        x = a[..., l] * x + bu[..., l]
        X[..., l] = x
    return X


def shift(X, first=None):
    Y = np.zeros_like(X)
    Y[..., 1:] = X[..., :-1]
    if first is not None:
        Y[..., 0] = first
    return Y


sig = lambda x: 1 / (1 + np.exp(-x))
flip = lambda x: x[..., ::-1]


def loss(method, t, o):
    v, K, idx = unpack(t, o, f8)
    a, h = coeffs(method, v["dt"][:, :, None, :], v["A"])[:2]
    bu = h * v["Bf"] * v["u"][:, :, None, :]
    X = states(a, bu, v.get("initial_state"))
    y = (v["Cf"] * X).sum(2).real
    if method == "poly":
        y = (y + (v["Cf"] * flip(states(flip(a), flip(bu)))).sum(2).real) / 2
    s = y * (2 if o["cplx"] else 1) + (v["D"][:, None] * v["u"] if "D" in v else 0)
    out = s * v["z"] * sig(v["z"]) if "z" in v else s
    r = (out * v["dout"]).sum()
    if "dlast_state" in v:
        r += (X[..., -1] * v["dlast_state"].conj()).sum().real
    return r


def backward(method, t, o, fault="", R=f8):
    v, K, idx = unpack(t, o, R)
    cplx, L = o["cplx"], o["L"]
    tt, u, Bf, Cf = v["dt"][:, :, None, :], v["u"][:, :, None, :], v["Bf"], v["Cf"]
    a, h, at, ht, aA, hA = coeffs(method, tt, v["A"])
    if fault == "phi held constant":
        ht = 2 * tt * phi(2, tt * v["A"][None, :, :, None], 0)
    bu = h * Bf * u
    x0 = v.get("initial_state")
    X = states(a, bu, x0)
    before = shift(X, x0)
    poly = method == "poly"
    if poly:
        Xb = flip(states(flip(a), flip(bu)))
    g = {}
    dout = v["dout"]
    y = (Cf * (X + Xb if poly else X)).sum(2).real * (2 if cplx else 1) * (0.5 if poly else 1)
    y = y.astype(R)
    s = y + v["D"][:, None] * v["u"] if "D" in v else y
    ds = dout
    if "z" in v:
        zz = v["z"]
        ds = dout * zz * sig(zz)
        g["z"] = dout * s * sig(zz) * (1 + zz * sig(-zz))
        if fault == "derivative of sigmoid":
            g["z"] = dout * s * sig(zz) * sig(-zz)
    if "D" in v:
        g["D"] = (v["u"] * (dout if "D before gate" in fault else ds)).sum((0, 2))
    e = ds * (2 if cplx and fault != "no factor 2" else 1) * (0.5 if poly else 1)
    e = e.astype(R)[:, :, None, :]
    # cotangents of the state, last position first
    p, P = 0, np.empty(a.shape, K)
    if "dlast_state" in v and fault != "dlast ignored":
        p = v["dlast_state"].conj()
    for l in reversed(range(L)):
        if l < L - 1:
            p = a[..., l + 1] * p
        if fault == "chunks forget" and (l + 1) % 32 == 0:
            p = 0
        p = p + (Cf * e)[..., l]
        P[..., l] = p
    pa = P * (X if fault == "x after step" else before)
    pq, xq = P, X
    if poly:
        Pb = np.empty(a.shape, K)
        p = 0
        for l in range(L):
            p = (Cf * e)[..., l] + (a[..., l - 1] * p if l else 0)
            Pb[..., l] = p
        after = np.zeros_like(Xb)
        after[..., :-1] = Xb[..., 1:]
        if fault != "A forward only":
            pa = pa + Pb * after
        pq, xq = P + Pb, X + Xb
    ph = pq * Bf * u
    g["u"] = (pq * h * Bf).sum(2).real
    if "D" in v and fault != "u without skip":
        g["u"] = g["u"] + v["D"][:, None] * ds
    ddt = (at * pa + ht * ph).sum(2).real
    if o["softplus"] and fault != "no softplus slope":
        ddt = ddt * sig(v["pre"])
    g["delta"] = ddt
    if "delta_bias" in v:
        g["delta_bias"] = ddt.sum((0, 2))
    per = (aA * pa + (0 if fault == "A by decay only" else hA * ph)).sum(3)
    dA = per[-1] if "last batch" in fault else per.sum(0)
    g["A"] = dA if fault == "A not conjugated" else dA.conj()

    def weight(full, like, name):
        full = np.broadcast_to(full, a.shape).conj()
        if like.ndim == 2:
            return full.sum((0, 3))
        out = np.zeros((o["b"], o["groups"], o["n"], L), K)
        for d in range(o["d"]):
            if fault == "overwritten" and name == "B":
                out[:, idx[d]] = full[:, d]
            elif fault == "bf16 sums" and name == "B":
                out[:, idx[d]] = (out[:, idx[d]].astype(bf16) + full[:, d].astype(bf16)).astype(bf16).astype(R)
            else:
                out[:, idx[d]] += full[:, d]
        return np.stack([out.real, out.imag], -1).reshape(out.shape[:3] + (2 * L,)) if cplx else out

    g["B"] = weight(pq * h * u, v["B"], "B")
    g["C"] = weight(e * xq, v["C"], "C")
    if x0 is not None:
        g["initial_state"] = (P[..., 0] if fault == "first decay missing" else a[..., 0] * P[..., 0]).conj()
    return g


def verify():
    """Finite differences of the loss in double, for all methods."""
    worst = 0
    for method in ["zoh", "foh", "bilinear", "poly", "highorder", "rk4"]:
        for cplx in (False, True):
            t, o = draw(b=2, d=4, n=3, L=9, cplx=cplx, groups=2, gate=True, softplus=True, bias=True, skip=True,
                        init=True, dlast=True, Cv=cplx, Bv=True, scale=3)
            t = {k: x.astype(np.complex128 if np.iscomplexobj(x) else f8) for k, x in t.items()}
            g = backward(method, t, o)
            for k in g:
                for _ in range(4):
                    i = tuple(rng.integers(0, m) for m in t[k].shape)
                    for step in ([1e-6, 1e-6j] if np.iscomplexobj(t[k]) else [1e-6]):
                        f = []
                        for sg in (1, -1):
                            w = dict(t)
                            w[k] = t[k].copy()
                            w[k][i] += sg * step
                            f.append(loss(method, w, o))
                        fd = (f[0] - f[1]) / 2e-6
                        got = g[k][i].real if step == 1e-6 else g[k][i].imag
                        worst = max(worst, abs(fd - got) / (1 + abs(fd)))
    assert worst < 1e-7, worst
    print("finite differences agree within", worst)


cases = []


def emit(method, fault, cause, ok=False, R=f8, **kw):
    t, o = draw(**kw)
    g, w = backward(method, t, o, fault, R), backward(method, t, o)
    t = dict(t)
    line = []
    for k, x in g.items():
        like = t[k]
        t[f"grad.{k}.{method}"] = x.astype(like.dtype)
        e = np.abs(x - w[k]) / np.sqrt(np.mean(np.abs(w[k]) ** 2))
        if e.max() > 1e-6:
            line.append(f"{k} {e.max():.0e}/{np.mean(e > 1e-3):.2f}")
    name = f"run{len(cases) + 1:02d}.safetensors"
    save_file({k: np.ascontiguousarray(x) for k, x in t.items()}, os.path.join(HERE, name), {"delta_softplus": str(o["softplus"]).lower()})
    cases.append(dict(file=name, method=method, right=ok, cause=cause))
    if "-v" in sys.argv:
        print(name, method, "ok" if ok else "BAD", "; ".join(line))


if "-v" in sys.argv:
    verify()
rng = np.random.default_rng(616162)
emit("zoh", "no softplus slope", "The derivative of softplus is missing: grad.delta and grad.delta_bias are those by Delta, without the factor sigmoid(delta + delta_bias).",
     b=2, d=4, n=4, L=60, softplus=True, bias=True, gate=True)
emit("foh", "A by decay only", "grad.A has only the part through A-bar; that B-bar depends on A is forgotten (the term dh/dA is missing). grad.delta is right.",
     b=2, d=4, n=4, L=48, scale=3, skip=True)
emit("zoh", "chunks forget", "The reverse scan runs in chunks of 32 and drops its carry: the cotangent of the state is zero again at the end of each chunk (positions 31 and 63), nothing flows back across the boundary.",
     b=1, d=6, n=4, L=96, gate=True, skip=True)
emit("bilinear", "A not conjugated", "grad.A of complex A is the conjugate of the right one (the conjugation at the end is missing); all others are right.",
     b=2, d=4, n=4, L=40, cplx=True, skip=True)
emit("zoh", "overwritten", "Variable B: grad.B of a group holds the share of the last channel of the group only (stored instead of added up).",
     b=2, d=8, n=4, L=48, groups=2, softplus=True)
emit("highorder", "u without skip", "grad.u lacks the path through the skip: D dL/ds is not added.",
     b=1, d=6, n=4, L=56, skip=True, gate=True)
emit("poly", "A forward only", "poly: the reversed scan's share of the cotangent of A-bar, p^b x^b of the next position, is missing, so that grad.A and grad.delta have the part through A-bar from the forward direction only; the part through B-bar and all other gradients are right.",
     b=1, d=4, n=6, L=64, gate=True, Bv=False)
emit("rk4", "x after step", "The cotangent of A-bar at l is made with x_l instead of x_{l-1}: grad.A and grad.delta are wrong.",
     b=2, d=4, n=4, L=50, scale=2)
emit("zoh", "derivative of sigmoid", "grad.z uses the derivative of sigmoid, s dout sigmoid(z)(1 - sigmoid(z)), instead of that of silu.",
     b=2, d=4, n=4, L=64, gate=True, skip=True, softplus=True, bias=True)
emit("highorder", "dlast ignored", "dlast_state is ignored: the reverse scan starts with zero.",
     b=2, d=4, n=4, L=36, dlast=True, Cv=False)
emit("zoh", "no factor 2", "Complex weights: the factor 2 of y = 2 Re sum C x is missing in the backward pass, so that everything that flows through the scan (u, delta, A, B, C) is half of what it should be; with D the skip part of grad.u is right.",
     b=1, d=4, n=6, L=44, cplx=True, skip=True, softplus=True)
emit("foh", "phi held constant", "grad.delta: of h = Delta^2 phi2(Delta A) only Delta^2 is differentiated, dh/dDelta is taken to be 2 Delta phi2 with phi2 held constant. grad.A is right.",
     b=2, d=4, n=4, L=48, scale=4)
emit("zoh", "bf16 sums", "Variable B with bf16 inputs: grad.B is accumulated over the channels in bf16 (each share and each partial sum is rounded to bf16) instead of in f32 and rounded once.",
     b=1, d=16, n=4, L=48, dtype=bf16)
emit("bilinear", "first decay missing", "grad.initial_state is p_0 without the factor A-bar_0 of the first step.",
     b=2, d=4, n=4, L=40, init=True, dlast=True, scale=3)
emit("rk4", "last batch, D before gate", "Two faults: grad.A holds the share of the last batch element only, and grad.D is the sum of u dout without the gate.",
     b=3, d=4, n=4, L=40, gate=True, skip=True)
emit("zoh", "", "Right: adjoint in f32 with all states stored.", ok=True, R=f4, b=2, d=4, n=8, L=80, gate=True, skip=True, softplus=True, bias=True, init=True)
emit("poly", "", "Right: poly with complex weights, both directions, in double, rounded once.", ok=True, b=1, d=4, n=4, L=48, cplx=True, gate=True, skip=True, dlast=True)
emit("bilinear", "", "Right: bf16 inputs with groups, adjoint in f32, rounded once on store.", ok=True, R=f4, b=2, d=6, n=4, L=48, groups=3, dtype=bf16, bias=True, skip=True)
json.dump(cases, open(os.path.join(HERE, "cases.json"), "w"), indent=1)
