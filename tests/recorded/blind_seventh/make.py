"""Recordings of set 7: arrays are time-major (seqlen, batch, dim, dstate) inside; a fault is a function that changes one stage."""
import json, os, sys
import numpy as np
import ml_dtypes
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
F, Z = np.float32, np.complex64
BF, H = ml_dtypes.bfloat16, np.float16
gen = np.random.default_rng(20261125)
cases, log = [], []


def rnd(x, to=BF):
    return np.asarray(x).astype(to).astype(F)


def inputs(shape, weights="real", B="variable", C="variable", groups=1, dtype=F, softplus=False, has="", speed=1.0):
    b, d, n, L = shape
    c = weights == "complex"
    q = lambda x: np.asarray(x).astype(F).astype(dtype)
    t = {}
    t["u"] = q(gen.standard_normal((b, d, L)) * (1 + 0.5 * np.sin(np.arange(L) / 9)))
    dt = speed * np.exp(gen.uniform(np.log(1e-3), np.log(0.1), (d, 1)) + 0.7 * gen.standard_normal((b, d, L)))
    dt = np.maximum(dt, 1e-4)
    if "bias" in has:
        t["delta_bias"] = (np.log(np.expm1(gen.uniform(0.005, 0.08, d))) if softplus else gen.uniform(0.002, 0.02, d)).astype(F)
    raw = np.log(np.expm1(dt)) if softplus else dt
    if "bias" in has and softplus:
        raw = raw - t["delta_bias"][:, None]
    t["delta"] = q(raw)
    j = np.arange(n)
    if c:  # S4D-Inv, every channel a little of its own
        im = n / np.pi * (n / (2 * j + 1) - 1)
        t["A"] = (-0.5 * np.exp(0.3 * gen.standard_normal((d, n))) + 1j * im * (1 + 0.1 * gen.standard_normal((d, n)))).astype(Z)
    else:
        t["A"] = (-(j + 1.0) * (1 + 0.2 * gen.uniform(-1, 1, (d, n)))).astype(F)
    for name, kind in (("B", B), ("C", C)):
        if kind == "variable":
            w = gen.standard_normal((b, groups, n, 2 * L if c else L))
            t[name] = q(w)
        else:
            w = gen.standard_normal((d, n)) + (1j * gen.standard_normal((d, n)) if c else 0)
            t[name] = w.astype(Z if c else F)
    if "D" in has:
        t["D"] = gen.normal(1, 0.3, d).astype(F)
    if "gate" in has:
        t["z"] = q(gen.standard_normal((b, d, L)) * 1.4)
    if "start" in has:
        t["initial_state"] = (gen.standard_normal((b, d, n)) + (1j * gen.standard_normal((b, d, n)) if c else 0)).astype(Z if c else F)
    return t, dict(c=c, groups=groups, dtype=dtype, softplus=softplus, last="last" in has)


def tm(x):
    """(b, d, L) to time-major (L, b, d, 1), in f32."""
    return np.moveaxis(x.astype(F), -1, 0)[..., None]


def variable(w, o, d, channel_to_group=None):
    """B or C as (L or 1, b or 1, d, n)."""
    if w.ndim == 2:
        return w[None, None]
    w = w.astype(F)
    if o["c"]:
        w = (w.reshape(w.shape[:-1] + (-1, 2)) @ np.array([1, 1j], Z)).astype(Z)
    g = np.arange(d) // (d // o["groups"]) if channel_to_group is None else channel_to_group
    return np.moveaxis(w, -1, 0)[:, :, g]


def phis(z):
    w = z.astype(np.complex128)
    near = np.abs(w) < 0.8
    v, s = np.where(near, 1, w), np.where(near, w, 0)
    e = np.exp(w)
    out, g = [e], e
    for k, f in ((1, 1.0), (2, 1.0), (3, 0.5)):
        g = (g - f) / v
        a, term = 0, 1 / [1, 1, 2, 6][k]
        for j in range(1, 22):
            a = a + term
            term = term * s / (j + k)
        out.append(np.where(near, a, g))
    return [(p if np.iscomplexobj(z) else p.real).astype(z.dtype) for p in out]


def discretise(method, dt, A):
    z = dt * A
    if method == "bilinear":
        den = 1 - F(0.5) * z
        return (1 + F(0.5) * z) / den, dt / den
    p = phis(z)
    h = {"zoh": lambda: dt + 0 * z, "foh": lambda: dt * dt * p[2], "poly": lambda: dt * p[1] + F(0.5) * dt * dt * p[2],
         "highorder": lambda: dt * p[1] + dt * dt * p[2] + F(0.5) * dt * dt * dt * p[3],
         "rk4": lambda: dt * (1 + z * (F(1 / 2) + z * (F(1 / 6) + z * F(1 / 24))))}[method]()
    return p[0], h


def serial(a, v, x=0):
    xs = []
    for at, vt in zip(a, v):
        x = at * x + vt
        xs.append(x)
    return np.stack(xs)


def plain_read(C, x, o):
    y = (C * x).sum(-1)
    return F(2) * y.real if o["c"] else y


def sp(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, F(20)))))


def sg(x):
    return 1 / (1 + np.exp(-x))


def run(method, t, o, step=None, coeff=None, Bsrc=None, Csrc=None, drive=None, scan=serial, back=None, read=plain_read,
        combine=None, skip=None, gate=None, last=None, A=None):
    """Each argument replaces a stage of the kernel."""
    d = t["u"].shape[1]
    u = tm(t["u"])
    pre = tm(t["delta"]) + (t["delta_bias"][:, None] if "delta_bias" in t else 0)
    dt = step(t, o, pre) if step else (sp(pre) if o["softplus"] else pre)
    dt = dt.astype(F)
    a, h = (coeff or discretise)(method, dt, A(t["A"]) if A else t["A"])
    B = Bsrc(t["B"], o, d) if Bsrc else variable(t["B"], o, d)
    C = Csrc(t["C"], o, d) if Csrc else variable(t["C"], o, d)
    v = drive(h, B, u, dt) if drive else h * B * u
    x = scan(a, v, t.get("initial_state", 0))
    y = read(C, x, o)
    end = x[-1]
    if method == "poly":
        xb = back(a, v) if back else serial(a[::-1], v[::-1])[::-1]
        yb = read(C, xb, o)
        y = combine(y, yb) if combine else F(0.5) * (y + yb)
        if last == "reversed":
            end = xb[0]
    u2 = u[..., 0]
    out = y
    if "D" in t or skip:
        out = skip(y, t, u2, dt[..., 0]) if skip else y + t["D"] * u2
    if "z" in t:
        g = tm(t["z"])[..., 0]
        out = gate(out, g) if gate else out * (g * sg(g))
    out = np.moveaxis(out.astype(F), 0, -1).astype(o["dtype"])
    if callable(last):
        end = last(x)
    return out, np.asarray(end).astype(Z if o["c"] else F)


def keep(method, t, o, cause, ok=False, post=None, **stages):
    out, end = run(method, t, o, **stages)
    if post:
        out, end = post(out, end)
    w, wend = run(method, t, o)
    name = f"run{len(cases) + 1:02d}.safetensors"
    d = dict(t)
    d["out." + method] = out
    if o["last"]:
        d["last_state." + method] = end
    save_file({k: np.ascontiguousarray(x) for k, x in d.items()}, os.path.join(HERE, name),
              {"delta_softplus": "true" if o["softplus"] else "false"})
    cases.append(dict(file=name, method=method, right=ok, cause=cause))

    def off(p, q):
        p, q = p.astype(np.complex128), q.astype(np.complex128)
        e = abs(p - q) / np.sqrt((abs(q) ** 2).mean())
        return f"{e.max():.1e}/{(e > 1e-3).mean():.2f}"
    log.append(f"{name} {method:9s} {'ok ' if ok else 'BAD'} out {off(out, w)}" + (f" last {off(end, wend)}" if o["last"] else ""))


# --- poly
keep("poly", *inputs((1, 6, 4, 90), has="D gate"), skip=lambda y, t, u, dt: y + 2 * t["D"] * u,
     cause="poly: the skip is added once in each direction and not averaged, out = y + 2 D u (before the gate).")
keep("poly", *inputs((2, 4, 4, 56)), back=lambda a, v: serial(np.concatenate([a[1:], a[:1]])[::-1], v[::-1])[::-1],
     cause="poly: the reversed scan goes from x_{l+1} to x_l with A-bar of position l + 1 instead of l.")
keep("poly", *inputs((1, 4, 8, 150), has="last", speed=0.4),
     back=lambda a, v: np.concatenate([serial(a[i:i + 64][::-1], v[i:i + 64][::-1])[::-1] for i in range(0, len(a), 64)]),
     cause="poly: the reversed scan works in blocks of 64 positions and starts every block from zero (no carry from the block behind); the forward scan and last_state are right.")
keep("poly", *inputs((2, 4, 6, 48), has="last gate"), last="reversed",
     cause="poly: last_state is that of the reversed scan (x^b at position 0) instead of the forward one; the outputs are right.")
# --- shifts in time
keep("zoh", *inputs((2, 4, 4, 64), has="D"), drive=lambda h, B, u, dt: h * B * np.concatenate([0 * u[:1], u[:-1]]),
     cause="The scan reads u one position late, B-bar_l u_{l-1} (zero at the start); the skip D u_l is right.")
keep("foh", *inputs((1, 6, 4, 80), softplus=True), step=lambda t, o, p: np.concatenate([sp(p)[1:], sp(p)[-1:]]),
     cause="Delta is read one position ahead: step l uses Delta_{l+1} (the last one repeats).")
keep("zoh", *inputs((1, 4, 6, 70), has="gate"), Csrc=lambda C, o, d: np.roll(variable(C, o, d), 1, 0),
     cause="C is read one position late: y_l = C_{l-1} x_l (position 0 reads the last C).")
# --- gates and skips
keep("bilinear", *inputs((2, 4, 4, 64), has="gate D", softplus=True), gate=lambda y, g: y * (g * sg(g)) ** 2,
     cause="The gate is applied twice: out = (y + D u) silu(z)^2.")
keep("rk4", *inputs((1, 6, 4, 64), has="gate"), gate=lambda y, g: g * (y * sg(y)),
     cause="The gate is the wrong way round: out = z silu(y) instead of y silu(z).")
keep("foh", *inputs((1, 8, 4, 60), has="D"), skip=lambda y, t, u, dt: y + t["D"] * u * dt,
     cause="The skip uses Delta u in place of u: out = y + D Delta u.")
# --- complex
keep("highorder", *inputs((1, 4, 6, 72), "complex", B="constant"), A=lambda A: A.conj(),
     cause="A is read conjugated (the sign of its imaginary part is wrong) in A-bar and B-bar.")
keep("zoh", *inputs((2, 4, 4, 48), "complex", has="last"), Bsrc=lambda B, o, d: variable(B, o, d).conj(),
     cause="The variable B enters conjugated.")
keep("bilinear", *inputs((1, 4, 8, 60), "complex", B="constant", C="constant", has="last D"),
     coeff=lambda m, dt, A: (discretise(m, dt, A)[0], dt + 0 * A),
     cause="bilinear, complex: B-bar is Delta B, the factor (1 - z/2)^-1 is only in A-bar.")
keep("rk4", *inputs((1, 4, 4, 64), "complex", speed=3), coeff=lambda m, dt, A: (discretise(m, dt, A)[0], discretise(m, dt, A.real)[1] + 0 * A),
     cause="rk4, complex: the polynomial in B-bar is evaluated at Delta Re(A) instead of Delta A; A-bar is right.")
# --- indices
keep("zoh", *inputs((1, 4, 10, 96), has="D"), read=lambda C, x, o: plain_read(C[..., :8], x[..., :8], o),
     cause="The loop over states is unrolled by four without a remainder: of ten states only the first eight are summed into y.")
keep("foh", *inputs((2, 4, 4, 52)), read=lambda C, x, o: plain_read(C, x, o) + (C * x)[..., 0],
     cause="State 0 is counted twice in the sum over states, y = sum C x + C_0 x_0.")
keep("zoh", *inputs((1, 4, 4, 300), has="gate", speed=0.5),
     Bsrc=lambda B, o, d: np.concatenate([variable(B, o, d)[:256], variable(B, o, d)[:44]]),
     cause="B is held in a buffer of 256 positions that is not reloaded: positions from 256 on read B of l - 256.")
keep("highorder", *inputs((1, 6, 4, 66), groups=2, softplus=True, has="bias"),
     Csrc=lambda C, o, d: variable(C, o, d, np.arange(6) % 2),
     cause="C is read from group d % groups instead of d / (dim / groups); B is read from the right group.")
keep("zoh", *inputs((2, 4, 4, 60), has="last", speed=0.1),
     scan=lambda a, v, x0: (lambda f: np.concatenate([f, serial(a[:, 1:], v[:, 1:], f[-1])], 1))(serial(a[:, :1], v[:, :1])),
     cause="The state is not reset between batch elements: the second starts from the last state of the first instead of from zero.")
keep("bilinear", *inputs((1, 8, 4, 64), has="D bias"), skip=lambda y, t, u, dt: y + t["D"][0] * u,
     cause="All channels use D of channel 0.")
# --- precision
keep("zoh", *inputs((1, 6, 8, 96), dtype=BF, has="gate", softplus=True),
     read=lambda C, x, o: (lambda p: [s := rnd(p[..., 0])] and [s := rnd(s + rnd(p[..., k])) for k in range(1, 8)][-1])(C * x),
     cause="bf16 inputs: the readout is done in bf16, each product C x and each partial sum over the states is rounded to bf16; the state is in f32.")
keep("zoh", *inputs((2, 4, 4, 100), dtype=BF, has="last"), drive=lambda h, B, u, dt: rnd(rnd(h * B) * u),
     cause="bf16 inputs: Delta B and its product with u are rounded to bf16 before they enter the scan (which is in f32).")
keep("rk4", *inputs((1, 6, 8, 80), speed=5), A=lambda A: rnd(A),
     cause="A is cast to bf16 (weights under autocast) although it is f32; the rest is in f32.")


def by_cumsum(limit, dtype=F):
    def scan(a, v, x0):
        S = np.log(a).astype(dtype)
        S = np.cumsum(S, 0, dtype=dtype).astype(F)
        grow = np.exp(np.minimum(-S, F(limit)))
        return np.exp(S) * np.cumsum(v * grow, 0)
    return scan


keep("zoh", *inputs((1, 4, 8, 128), speed=4), scan=by_cumsum(15),
     cause="Scan by running sums over the whole sequence, x = e^S cumsum(e^-S B-bar u), with -S clamped at 15 against overflow: where the decay so far exceeds e^-15 the inputs enter with too small a weight.")
keep("zoh", *inputs((1, 4, 4, 120), has="last"), scan=by_cumsum(80, H),
     cause="Scan by running sums of log A-bar that are kept in f16: the decays between positions are off by the rounding of the sums.")
# --- Delta
keep("zoh", *inputs((2, 4, 4, 64), softplus=True, has="bias gate"), step=lambda t, o, p: sp(p - t["delta_bias"][:, None]),
     cause="delta_bias is forgotten: Delta = softplus(delta).")
keep("foh", *inputs((1, 6, 4, 72), softplus=True, has="bias", speed=4), step=lambda t, o, p: np.exp(p),
     cause="Delta is exp(delta + delta_bias) instead of softplus, log(1 + exp(delta + delta_bias)).")
keep("highorder", *inputs((2, 4, 4, 64), has="last"), step=lambda t, o, p: np.maximum(p, F(0.02)),
     cause="Delta is limited from below: values under 0.02 are replaced by 0.02.")
# --- two at a time


def twice(a, v, x0):
    w = v.copy()
    w[63::64] *= 2
    return serial(a, w, x0)


keep("bilinear", *inputs((1, 4, 4, 140), has="D"), scan=twice,
     Csrc=lambda C, o, d: variable(C, o, d)[..., ::-1],
     cause="Two faults: tiles of 64 overlap by one, so that the input at positions 63 and 127 enters the state twice; and C is read with the order of its states reversed.")
keep("highorder", *inputs((2, 4, 4, 64), has="gate D", speed=5),
     coeff=lambda m, dt, A: (phis(dt * A)[0], (lambda p: dt * p[1] + dt * dt * p[2] + dt * dt * dt * p[3])(phis(dt * A))),
     skip=lambda y, t, u, dt: y,
     gate=lambda y, g: y * (g * sg(g)),
     post=None, cause="Two faults: the factor 1/2 of highorder's last term is missing (Delta^3 phi3), and the skip D u is left out.")


# --- right ones
def halves(a, v, x0):
    """Recursive: the second half from zero, then the end of the first half carried through it."""
    if len(a) == 1:
        return (a * x0 + v)
    m = len(a) // 2
    first = halves(a[:m], v[:m], x0)
    second = halves(a[m:], v[m:], 0)
    return np.concatenate([first, second + np.cumprod(a[m:], 0) * first[-1]])


keep("foh", *inputs((2, 4, 4, 100), softplus=True, has="bias gate D last"), ok=True, scan=halves,
     cause="Right: divide and conquer, the second half is scanned from zero and the end of the first carried through by running products.")


def rotation(a, v, x0):
    ar, ai, vr, vi = a.real, a.imag, v.real, v.imag
    xr, xi, xs = np.zeros_like(ar[0]), np.zeros_like(ar[0]), []
    for l in range(len(a)):
        xr, xi = ar[l] * xr - ai[l] * xi + vr[l], ai[l] * xr + ar[l] * xi + vi[l]
        xs.append(xr + 1j * xi)
    return np.stack(xs).astype(Z)


keep("zoh", *inputs((1, 4, 6, 90), "complex", C="constant", has="gate last"), ok=True, scan=rotation,
     read=lambda C, x, o: F(2) * (C.real * x.real).sum(-1) - F(2) * (C.imag * x.imag).sum(-1),
     cause="Right: complex weights, the state as pairs of reals, real and imaginary parts summed apart.")
keep("rk4", *inputs((2, 6, 4, 80), dtype=BF, groups=3, has="D gate bias"), ok=True,
     gate=lambda y, g: y * (F(0.5) * g * (1 + np.tanh(F(0.5) * g))),
     drive=lambda h, B, u, dt: h * (B * u),
     cause="Right: bf16, silu by tanh, B times u first, groups.")


def both_at_once(a, v):
    return serial(np.flip(a, 0), np.flip(v, 0))[::-1]


keep("poly", *inputs((1, 6, 8, 75), has="D last start"), ok=True, back=both_at_once,
     read=lambda C, x, o: np.einsum("lbdn,lbdn->lbd", np.broadcast_to(C, x.shape), x),
     combine=lambda f, b: F(0.5) * f + F(0.5) * b,
     cause="Right: poly with an initial state (of the forward scan only), halves added after scaling.")


def blocks(a, v, x0):
    """Two levels: blocks of 8 locally, block ends serially, then the carries applied."""
    out = np.empty_like(v)
    carry = x0
    for i in range(0, len(a), 8):
        local, prod = serial(a[i:i + 8], v[i:i + 8]), np.cumprod(a[i:i + 8], 0)
        out[i:i + 8] = local + prod * carry
        carry = local[-1] + prod[-1] * carry
    return out


keep("bilinear", *inputs((2, 4, 8, 60), dtype=H, has="last"), ok=True, scan=blocks,
     coeff=lambda m, dt, A: ((2 + dt * A) / (2 - dt * A), 2 * dt / (2 - dt * A)),
     cause="Right: f16 inputs, bilinear as (2 + z)/(2 - z), two-level scan with blocks of 8.")

json.dump(cases, open(os.path.join(HERE, "cases.json"), "w"), indent=1)
if "-v" in sys.argv:
    print("\n".join(log))
