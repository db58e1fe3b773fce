"""Backward passes of set 7. One step at a time, as a kernel walks back: nothing is kept but the states (or every K-th of them).
Checked against central differences in double; then faults are planted by the flags below."""
import json, os, sys
import numpy as np
import ml_dtypes
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
F, D8 = np.float32, np.float64
METHODS = ("zoh", "foh", "bilinear", "poly", "highorder", "rk4")
gen = np.random.default_rng(777)


def problem(b, d, n, L, cplx=False, has="", groups=1, Bc=False, Cc=False, dtype=F, speed=1.0):
    q = lambda x: np.asarray(x).astype(F).astype(dtype)
    N = gen.standard_normal
    t, soft = {}, "softplus" in has
    t["u"], t["dout"] = q(N((b, d, L))), q(N((b, d, L)))
    dt = speed * np.exp(gen.uniform(np.log(4e-3), np.log(0.15), (d, 1)) + 0.5 * N((b, d, L)))
    if "bias" in has:
        t["delta_bias"] = (gen.uniform(-2, 0.5, d) if soft else gen.uniform(0.005, 0.05, d)).astype(F)
    raw = np.log(np.expm1(dt)) if soft else dt
    t["delta"] = q(raw - t["delta_bias"][:, None] if soft and "bias" in has else raw)
    k = np.arange(n)
    cw = lambda s: (N(s) + 1j * N(s)).astype(np.complex64) if cplx else N(s).astype(F)
    t["A"] = ((-0.5 + 1j * np.pi * k) * np.exp(0.2 * N((d, n)))).astype(np.complex64) if cplx else (-(k + 1) * np.exp(0.2 * N((d, n)))).astype(F)
    t["B"] = cw((d, n)) if Bc else q(N((b, groups, n, L * (2 if cplx else 1))))
    t["C"] = cw((d, n)) if Cc else q(N((b, groups, n, L * (2 if cplx else 1))))
    if "D" in has.split():
        t["D"] = gen.normal(1, 0.4, d).astype(F)
    if "gate" in has:
        t["z"] = q(1.2 * N((b, d, L)))
    if "start" in has:
        t["initial_state"] = cw((b, d, n))
    if "end" in has:
        t["dlast_state"] = cw((b, d, n))
    return t, dict(cplx=cplx, soft=soft, groups=groups)


def phi(z, top=4):
    w = z.astype(np.complex128)
    near = abs(w) < 1
    s, v = np.where(near, w, 0), np.where(near, 1, w)
    fact, g, out = [1, 1, 2, 6, 24], np.exp(w), []
    for k in range(top + 1):
        if k:
            g = (g - 1 / fact[k - 1]) / v
        acc, term = 0, 1 / fact[k]
        for j in range(1, 26):
            acc = acc + term
            term = term * s / (j + k)
        r = np.where(near, acc, g)
        out.append((r if np.iscomplexobj(z) else r.real).astype(z.dtype))
    return out


def step(method, dt, A, bug=""):
    """a, h, da/dDelta, dh/dDelta, da/dA, dh/dA of one position."""
    z = dt * A
    if method == "bilinear":
        r = 1 / (1 - z / 2)
        r2 = r if bug == "one power of r" else r * r
        return (1 + z / 2) * r, dt * r, A * r2, r * r, dt * r2, dt * dt * r * r / 2
    if method == "rk4":
        h = dt * (1 + z / 2 + z ** 2 / 6 + z ** 3 / 24)
        e = np.exp(z)
        hd = h / dt if bug == "h over Delta" else 1 + z + z ** 2 / 2 + z ** 3 / 6
        return e, h, A * e, hd, dt * e, dt ** 2 * (1 / 2 + z / 3 + z ** 2 / 8)
    p = phi(z)
    c = {"zoh": (0, 0, 0), "foh": (0, 1, 0), "poly": (1, 0.5, 0), "highorder": (1, 1, 0.5)}[method]
    if method == "zoh":
        h, hd, hA = dt + 0 * z, 1 + 0 * z, 0 * z
    else:
        h = sum(c[k - 1] * dt ** k * p[k] for k in (1, 2, 3))
        hd = sum(c[k - 1] * dt ** (k - 1) * p[k - 1] for k in (1, 2, 3))
        w = (lambda k: 1) if bug == "factor k" else (lambda k: k)
        hA = sum(c[k - 1] * dt ** (k + 1) * (p[k] - w(k) * p[k + 1]) for k in (1, 2, 3))
    return p[0], h, A * p[0], hd, dt * p[0], hA


class Pass:
    def __init__(s, method, t, o, R=D8, bug=""):
        s.method, s.o, s.R, s.bug = method, o, R, bug
        s.K = np.result_type(R, np.complex64) if o["cplx"] else R
        s.t = {k: np.asarray(x).astype(s.K if np.iscomplexobj(x) else R) for k, x in t.items()}
        t = s.t
        s.b, s.d, s.L = t["u"].shape
        s.n = t["A"].shape[1]
        s.group = np.arange(s.d) // (s.d // o["groups"])
        pre = t["delta"] + (t["delta_bias"][:, None] if "delta_bias" in t else 0)
        s.pre = pre
        s.dt = np.log1p(np.exp(pre)) if o["soft"] else pre

    def at(s, name, l):
        w = s.t[name]
        if w.ndim == 2:
            return w[None]
        if s.o["cplx"]:
            w = (w[..., 2 * l] + 1j * w[..., 2 * l + 1]).astype(s.K)
        else:
            w = w[..., l]
        return w[:, s.group]

    def move(s, l, x, bug=""):
        a, h = step(s.method, s.dt[:, :, l, None], s.t["A"][None])[:2]
        return a * x + h * s.at("B", l) * s.t["u"][:, :, l, None]

    def forward(s):
        zero = np.zeros((s.b, s.d, s.n), s.K)
        s.x0 = s.t.get("initial_state", zero)
        x, s.before, s.x = s.x0, [], []
        for l in range(s.L):
            s.before.append(x)
            x = s.move(l, x)
            s.x.append(x)
        if s.bug == "recompute from zero":  # states of each chunk of 16 anew, without the chunk's entry state
            for i in range(0, s.L, 16):
                y = zero
                for l in range(i, min(i + 16, s.L)):
                    s.before[l] = y
                    y = s.move(l, y)
                    s.x[l] = y
        s.xb, s.after, y = [None] * s.L, [None] * s.L, zero
        if s.method == "poly":
            for l in reversed(range(s.L)):
                s.after[l] = y
                y = s.move(l, y)
                s.xb[l] = y

    def s_(s):
        y = []
        for l in range(s.L):
            x = s.x[l] + s.xb[l] if s.method == "poly" else s.x[l]
            y.append((s.at("C", l) * x).sum(-1).real)
        y = np.stack(y, -1) * (2 if s.o["cplx"] else 1) * (0.5 if s.method == "poly" else 1)
        return y, (y + s.t["D"][:, None] * s.t["u"] if "D" in s.t else y)

    def loss(s):
        s.forward()
        out = s.s_()[1]
        if "z" in s.t:
            out = out * s.t["z"] / (1 + np.exp(-s.t["z"]))
        r = (out * s.t["dout"]).sum()
        return r + (s.x[-1] * s.t["dlast_state"].conj()).sum().real if "dlast_state" in s.t else r

    def backward(s):
        t, bug, poly = s.t, s.bug, s.method == "poly"
        s.forward()
        y, full = s.s_()
        g = {k: np.zeros_like(v) for k, v in t.items() if k not in ("dout", "dlast_state")}
        ds = t["dout"]
        if "z" in t:
            z = t["z"]
            sg = (1 / (1 + np.exp(-z))).astype(s.R)
            g["z"] = ds * (y if bug == "gate without skip" else full) * sg * (1 + z * (1 - sg))
            ds = ds * z * sg
        if "D" in t:
            g["D"] = (ds * t["u"]).sum((0, 2))
            g["u"] += t["D"][:, None] * ds
        w = s.R(2 if s.o["cplx"] else 1) * s.R(0.5 if poly else 1)
        dA = np.zeros((s.b, s.d, s.n), s.K)
        dB, dC = [np.zeros((s.b, s.d, s.n, s.L), s.K) for _ in "BC"]
        ddt = np.zeros(t["u"].shape, s.R)

        def pull(l, p, prev, x):
            """What position l receives from the cotangent p of its state (prev is the state it came from)."""
            a, h, ad, hd, aA, hA = step(s.method, s.dt[:, :, l, None], t["A"][None], bug)
            B, u = s.at("B", l), t["u"][:, :, l, None]
            hv = s.dt[:, :, l, None] if bug == "h of zoh" else h
            dB[..., l] += p * hv * u
            g["u"][:, :, l] += (p * hv * B).sum(-1).real
            pa, ph = p * prev, p * B * u
            if bug == "real parts only":
                ddt[:, :, l] += (ad.real * pa.real + hd.real * ph.real).sum(-1)
            elif bug == "decay path only":
                ddt[:, :, l] += (ad * pa).sum(-1).real
            else:
                ddt[:, :, l] += (ad * pa + hd * ph).sum(-1).real
            np.add(dA, aA * pa + hA * ph, out=dA)
            e = w * ds[:, :, l, None]
            dC[..., l] += (2 * e if bug == "C unhalved" else e) * x
            return a * p

        p = np.zeros((s.b, s.d, s.n), s.K)
        if "dlast_state" in t:
            p = t["dlast_state"].conj()
            if bug == "dlast decayed":
                p = step(s.method, s.dt[:, :, -1, None], t["A"][None])[0] * p
        for l in reversed(range(s.L)):
            if bug == "late decay" and l < s.L - 1:
                p = step(s.method, s.dt[:, :, l, None], t["A"][None])[0] * q
            q = p = p + s.at("C", l) * w * ds[:, :, l, None]
            p = pull(l, p, s.before[l], s.x[l])
        if "initial_state" in t:
            g["initial_state"] = p.conj()
        if poly:
            p = np.zeros((s.b, s.d, s.n), s.K)
            for l in range(s.L):
                if bug == "own decay" and l:
                    p = step(s.method, s.dt[:, :, l, None], t["A"][None])[0] * q
                q = p = p + s.at("C", l) * w * ds[:, :, l, None]
                p = pull(l, p, s.after[l], s.xb[l])
        if s.o["soft"]:
            ddt = ddt / (1 + np.exp(-(t["delta"] if bug == "slope without bias" else s.pre)))
        if bug == "tail":
            m = s.L - s.L % 16
            ddt[..., m:] = 0
            g["u"][..., m:] = 0
        g["delta"] = ddt
        if "delta_bias" in t:
            g["delta_bias"] = ddt[0].sum(-1) if bug == "h over Delta" else ddt.sum((0, 2))
        g["A"] = dA.sum(0).conj()
        for k, v in (("B", dB), ("C", dC)):
            v = v if bug == "C not conjugated" and k == "C" else v.conj()
            if t[k].ndim == 2:
                g[k] = v.sum((0, 3))
                continue
            per = s.d // s.o["groups"]
            v = v.reshape(s.b, s.o["groups"], per, s.n, s.L).sum(2)
            if bug == "mean over group":
                v = v / per
            g[k] = np.stack([v.real, v.imag], -1).reshape(t[k].shape) if s.o["cplx"] else v
        return g


def check():
    worst = 0
    for m in METHODS:
        for c in (False, True):
            t, o = problem(2, 4, 2, 7, c, "softplus bias D gate start end", 2, Bc=not c, speed=3)
            t = {k: v.astype(np.complex128 if np.iscomplexobj(v) else D8) for k, v in t.items()}
            for k, v in Pass(m, t, o).backward().items():
                for _ in range(3):
                    i = tuple(int(gen.integers(0, x)) for x in v.shape)
                    for e in (1e-6, 1e-6j) if np.iscomplexobj(v) else (1e-6,):
                        lo, hi = dict(t), dict(t)
                        hi[k], lo[k] = t[k].copy(), t[k].copy()
                        hi[k][i] += e
                        lo[k][i] -= e
                        fd = (Pass(m, hi, o).loss() - Pass(m, lo, o).loss()) / 2e-6
                        have = v[i].imag if e == 1e-6j else v[i].real
                        worst = max(worst, abs(fd - have) / (1 + abs(fd)))
    assert worst < 1e-7, worst
    print("central differences agree within", worst)


cases = []


def save(method, cause, bug="", right=False, R=D8, **kw):
    t, o = problem(**kw)
    g, w = Pass(method, t, o, R, bug).backward(), Pass(method, t, o).backward()
    name, said = f"run{len(cases) + 1:02d}.safetensors", []
    out = dict(t)
    for k, v in g.items():
        out[f"grad.{k}.{method}"] = v.astype(t[k].dtype)
        e = abs(v - w[k]) / np.sqrt((abs(w[k]) ** 2).mean())
        if e.max() > 1e-6:
            said.append(f"{k} {e.max():.0e}/{(e > 1e-3).mean():.2f}")
    save_file({k: np.ascontiguousarray(v) for k, v in out.items()}, os.path.join(HERE, name), {"delta_softplus": str(o["soft"]).lower()})
    cases.append(dict(file=name, method=method, right=right, cause=cause))
    if "-v" in sys.argv:
        print(name, method, "ok" if right else "BAD", "; ".join(said))


if "-v" in sys.argv:
    check()
gen = np.random.default_rng(778)
save("zoh", "grad.delta (and delta_bias, its sum) has only the path through A-bar; that through B-bar = Delta B is missing.", "decay path only",
     b=2, d=4, n=4, L=48, has="bias D gate")
save("zoh", "The slope of softplus is taken at delta instead of delta + delta_bias: grad.delta and grad.delta_bias have the factor sigmoid(delta).", "slope without bias",
     b=2, d=4, n=4, L=60, has="softplus bias")
save("foh", "grad.B and grad.u are made with h = Delta, the B-bar of zoh, instead of Delta^2 phi2; grad.delta, grad.A and grad.C are right.", "h of zoh",
     b=1, d=6, n=4, L=64, has="gate", speed=2)
save("bilinear", "The derivative of A-bar has one power too few, (1 - z/2)^-1 instead of (1 - z/2)^-2: grad.A and grad.delta are wrong in the part through A-bar.", "one power of r",
     b=2, d=4, n=8, L=48, has="D", speed=3)
save("zoh", "grad.C of complex weights is not conjugated; all others are right.", "C not conjugated", b=2, d=4, n=4, L=40, cplx=True, Cc=True, has="softplus")
save("highorder", "grad.delta with complex weights multiplies real parts only: Re(dA-bar/dDelta) Re(p x) + Re(dh/dDelta) Re(p B u) instead of the real part of the complex products.", "real parts only",
     b=1, d=4, n=4, L=56, cplx=True, Bc=True, has="D gate")
save("poly", "grad.z leaves out the skip: it is made with y instead of y + D u.", "gate without skip", b=1, d=6, n=4, L=48, has="D gate")
save("highorder", "The derivative of phi_k by z lacks its factor k: phi_k - phi_{k+1} instead of phi_k - k phi_{k+1}, so that grad.A is wrong in the part through B-bar.", "factor k",
     b=2, d=4, n=4, L=40, speed=8, has="bias")
save("zoh", "The reverse scan decays with A-bar of the wrong position: p_l = C_l e_l + A-bar_l p_{l+1} instead of A-bar_{l+1} p_{l+1}; u, delta, A and B are wrong.", "late decay",
     b=1, d=6, n=4, L=80, has="softplus gate", speed=2)
save("foh", "dlast_state is decayed by A-bar of the last position before it enters the cotangent of the last state.", "dlast decayed",
     b=2, d=4, n=4, L=30, has="end start", speed=3)
save("poly", "The adjoint of the reversed scan takes A-bar of its own position, p^b_l = C_l e_l + A-bar_l p^b_{l-1} instead of A-bar_{l-1} p^b_{l-1}; u, delta, A and B are wrong.", "own decay",
     b=1, d=4, n=6, L=56, has="D", speed=2)
save("zoh", "The states are recomputed in chunks of 16, each from zero instead of from the state kept at its start: grad.C, grad.A and grad.delta are wrong; grad.u and grad.B, which need no states, are right.", "recompute from zero",
     b=2, d=4, n=4, L=64, has="D")
save("rk4", "grad.B and grad.C (variable) are averaged over the channels of a group instead of summed.", "mean over group", b=1, d=8, n=4, L=48, groups=2, has="softplus bias gate")
save("bilinear", "The last seqlen % 16 = 7 positions of grad.u and grad.delta are zero (the tail is never written).", "tail", b=2, d=4, n=4, L=55, has="gate D")
save("rk4", "Two faults: dh/dDelta is taken as h/Delta (as if h were linear in Delta), so that grad.delta is wrong; and grad.delta_bias is the sum over the first batch element only (of that grad.delta).", "h over Delta",
     b=2, d=4, n=4, L=44, has="softplus bias", speed=6)
save("zoh", "Right: complex weights in f32, one position at a time.", right=True, R=F, b=1, d=4, n=6, L=64, cplx=True, has="softplus bias gate D end")
save("foh", "Right: f16 inputs with groups, f32 inside, rounded on store.", right=True, R=F, b=2, d=6, n=4, L=40, groups=3, dtype=np.float16, has="D gate")
save("rk4", "Right: with initial state and a gradient by the last state, in double.", right=True, b=2, d=4, n=4, L=48, Bc=True, has="start end softplus D")
json.dump(cases, open(os.path.join(HERE, "cases.json"), "w"), indent=1)
