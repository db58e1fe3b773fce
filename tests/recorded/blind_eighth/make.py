"""Makes run01 … run35.safetensors and cases.json. Each function below is one case: it gets inputs and returns outputs."""
import sys, json, os
import numpy as np
HERE = os.path.dirname(os.path.abspath(__file__)); sys.path.insert(0, os.path.dirname(HERE))
from ssm import *

CASES = []


def case(method, cause, right=False, truncate=False, **shape):
    def add(f):
        CASES.append(dict(f=f, method=method, cause=cause, right=right, shape=shape, truncate=truncate)); return f
    return add


def out_only(r): return {"out": r["out"]}


# ---------------------------------------------------------------- coefficients

@case("bilinear", "The resolvent 1/(1 − z/2) is replaced by its first-order expansion 1 + z/2 in both Ā and B̄, so Ā = (1 + z/2)² and B̄ = Δ(1 + z/2).",
      varB=False, L=80, hi=.2, gate=True)
def bilinear_cheap_reciprocal(inp, m):
    dt = step(inp); r = 1 + z_of(dt, inp["A"]) / 2
    return forward(inp, m, ab=r * r, h=r * dt[..., None])


@case("bilinear", "The complex reciprocal of w = 1 − z/2 is taken as conj(w)/|w| where conj(w)/|w|² is right, in Ā and in B̄.",
      cplx=True, varC=False, L=60, d=4, n=6, hi=.06, b=1)
def bilinear_abs_not_squared(inp, m):
    dt = step(inp); z = z_of(dt, inp["A"]); w = 1 - z / 2; r = np.conj(w) / np.abs(w)
    return forward(inp, m, ab=r * (1 + z / 2), h=r * dt[..., None])


@case("highorder", "φ₁ is taken from the series 1 + z/2 + z²/6, which stops too early for its branch |z| < 1; φ₂ and φ₃ are right.",
      L=100, hi=.3, d=5, gate=True, bias=True, softplus=True)
def highorder_short_series(inp, m):
    dt = step(inp); z = z_of(dt, inp["A"]); T = dt[..., None]
    p1 = np.where(np.abs(z) < 1, 1 + z / 2 + z * z / 6, phi(1, z))
    return forward(inp, m, h=T * p1 + T * T * phi(2, z) + .5 * T ** 3 * phi(3, z))


@case("rk4", "A parenthesis slip in Horner's form of B̄: Δ(1 + z/2 (1 + z/3)(1 + z/4)), where Δ(1 + z/2 (1 + z/3 (1 + z/4))) is right.",
      L=40, n=16, d=3, b=1, hi=.3, D=False)
def rk4_horner(inp, m):
    dt = step(inp); z = z_of(dt, inp["A"])
    return forward(inp, m, h=dt[..., None] * (1 + z / 2 * (1 + z / 3) * (1 + z / 4)))


@case("foh", "The branch to the small-argument form B̄ = Δ²/2 is taken where Δ < 0.05 and not where |ΔA| is small, so states of large |A| lose the z/6 and further terms.",
      varB=False, varC=False, L=64, n=16, d=16, b=1, D=False)
def foh_guard_on_delta(inp, m):
    dt = step(inp); z = z_of(dt, inp["A"]); T = dt[..., None] + 0 * z
    return forward(inp, m, h=np.where(T < .05, T * T / 2, T * T * phi(2, z)))


@case("foh", "Complex exponential through exp2: the real part of A was rightly scaled by log₂e, but the imaginary part too, so Ā = e^(Re z) cis(Im z · log₂e). B̄ is right.",
      cplx=True, L=70, d=4, n=5, hi=.3)
def foh_angle_log2e(inp, m):
    z = z_of(step(inp), inp["A"])
    return forward(inp, m, ab=(np.exp(z.real) * np.exp(1j * (z.imag * np.float32(np.log2(np.e))))).astype(z.dtype))


@case("foh", "A⁻² is replaced by 1/|A|² in B̄, so the phase of A⁻² is lost.", cplx=True, varB=False, varC=False, d=8, n=4, L=90, hi=.3)
def foh_abs_square(inp, m):
    dt = step(inp); z = z_of(dt, inp["A"]); A = inp["A"][:, None]
    return forward(inp, m, h=(z * z * phi(2, z) / (A * np.conj(A)).real).astype(z.dtype))


# ---------------------------------------------------------------- scans

@case("poly", "The reversed scan multiplies by Ā of position l+1 (that of the state it comes from), not by Ā of position l.", L=64, d=6, gate=True, hi=.3)
def poly_reversed_neighbour(inp, m):
    def rscan_next(a, bu): return rscan(np.concatenate([a[:, :, 1:], a[:, :, :1]], 2), bu)
    return forward(inp, m, rscan=rscan_next)


@case("poly", "To avoid counting the present input in both directions, its term C_l B̄_l u_l is subtracted once: y = ½(C x^f + C x^b − C B̄ u).",
      cplx=True, L=45, d=4, n=4, varB=False, hi=.3)
def poly_no_double_count(inp, m):
    def rscan_without_self(a, bu): return rscan(a, bu) - bu
    return forward(inp, m, rscan=rscan_without_self)


@case("zoh", "Chunks of 64: the state carried in is multiplied by the product of Ā up to but without the present position (exclusive cumulative product), so it is one decay short in every chunk but the first. The chunk's last state, which is carried on, has the same mistake.",
      L=300, d=4, n=4, b=1)
def zoh_exclusive_product(inp, m):
    def chunked(a, bu, x0=None):
        X = np.empty_like(bu); carry = np.zeros_like(bu[:, :, 0])
        for s in range(0, bu.shape[2], 64):
            c = a[:, :, s:s + 64]; P = np.cumprod(c, 2); P = np.concatenate([np.ones_like(P[:, :, :1]), P[:, :, :-1]], 2)
            X[:, :, s:s + 64] = scan(c, bu[:, :, s:s + 64]) + P * carry[:, :, None]
            carry = X[:, :, min(s + 64, bu.shape[2]) - 1]
        return X
    return forward(inp, m, scan=chunked)


@case("foh", "last_state is the state after the last full chunk of 32 positions (position 95), not after the last position 117; out is right.",
      L=118, d=5, n=4, hi=.5, kind="bf16", varC=False)
def foh_last_full_chunk(inp, m):
    dt = step(inp); a, h = coef(m, dt, inp["A"])
    X = scan(a, h * expand(inp, "B") * inp["u"][..., None])
    return {**forward(inp, m), "last_state": X[:, :, 118 // 32 * 32 - 1]}


@case("zoh", "The sequence of 150 is padded to 192 with delta = 0 before bias and softplus, so the padding has a step softplus(bias) > 0 and decays last_state by 42 more steps; out is right.",
      L=150, d=4, n=4, softplus=True, bias=True, bias_range=(-4.5, -3), lo=1e-3, hi=.1)
def zoh_padding_decays(inp, m):
    r = forward(inp, m)
    pad = softplus(inp["delta_bias"])[:, None]
    x = r["last_state"]
    for _ in range(42): x = x * np.exp(pad * inp["A"])
    return {**r, "last_state": x}


@case("highorder", "The decay is taken from the step before: x_l = Ā_{l−1} x_{l−1} + B̄_l u_l (a register of the software pipeline is one iteration stale).",
      L=77, d=6, n=6, b=3, kind="f16", hi=.3, gate=True)
def highorder_stale_decay(inp, m):
    def stale(a, bu, x0=None): return scan(np.concatenate([a[:, :, :1], a[:, :, :-1]], 2), bu)
    return forward(inp, m, scan=stale)


@case("zoh", "Two-level scan in chunks of 32: in the sum that a chunk hands on, each input is multiplied by its own decay Ā_j too (exclusive instead of inclusive cumulative sum), so what crosses a chunk is too small; within a chunk all is right.",
      L=128, d=4, n=4, cplx=True, varB=False)
def zoh_chunk_state(inp, m):
    def chunked(a, bu, x0=None):
        X = np.empty_like(bu); carry = np.zeros_like(bu[:, :, 0])
        for s in range(0, bu.shape[2], 32):
            c, w = a[:, :, s:s + 32], bu[:, :, s:s + 32]
            X[:, :, s:s + 32] = scan(c, w, carry)
            carry = scan(c, w * c, carry)[:, :, -1]
        return X
    return out_only(forward(inp, m, scan=chunked))


@case("zoh", "Between kernels of 16 positions the state is handed on through a bf16 buffer; everything else is f32.", L=160, d=4, n=4, hi=.02, varC=False, groups=2)
def zoh_bf16_carry(inp, m):
    def chunked(a, bu, x0=None):
        X = np.empty_like(bu); carry = np.zeros_like(bu[:, :, 0])
        for s in range(0, bu.shape[2], 16):
            X[:, :, s:s + 16] = scan(a[:, :, s:s + 16], bu[:, :, s:s + 16], carry)
            carry = rnd(X[:, :, s + 15], "bf16")
        return X
    return forward(inp, m, scan=chunked)


@case("zoh", "The initial state is not decayed by the first step: x_0 = x_init + B̄_0 u_0, without Ā_0.", L=40, d=4, n=6, initial=True, hi=.5, gate=True)
def zoh_initial_not_decayed(inp, m):
    def late(a, bu, x0):
        a = a.copy(); a[:, :, 0] = 1; return scan(a, bu, x0)
    return forward(inp, m, scan=late)


@case("poly", "The reversed scan starts from initial_state as the forward one does, where it has to start from zero.", L=36, d=4, n=6, initial=True, D=False)
def poly_initial_twice(inp, m):
    def rscan_from_initial(a, bu): return scan(a[:, :, ::-1], bu[:, :, ::-1], inp["initial_state"])[:, :, ::-1]
    return forward(inp, m, rscan=rscan_from_initial)


@case("poly", "last_state is the reversed scan's state at position 0; it should be the forward scan's at the last position. out is right.", L=64, d=4, n=3, cplx=True, varC=False)
def poly_last_of_reversed(inp, m):
    a, h = coef(m, step(inp), inp["A"])
    return {**forward(inp, m), "last_state": rscan(a, h * expand(inp, "B") * inp["u"][..., None])[:, :, 0]}



# ---------------------------------------------------------------- layouts, groups, broadcasting

@case("highorder", "Variable complex B, stored as re, im interleaved, is read as two halves: the first seqlen numbers as real parts, the others as imaginary parts. C is read rightly.",
      cplx=True, L=32, d=4, n=4, hi=.3)
def highorder_split_halves(inp, m):
    w = inp["B"]; L = w.shape[3] // 2
    B = np.repeat(np.swapaxes(w[..., :L] + 1j * w[..., L:], 2, 3), inp["u"].shape[1], 1)
    return forward(inp, m, B=B.astype(inp["A"].dtype))


@case("zoh", "Channel d reads group d mod groups of B and C (tiled), where it should read group d / (dim / groups) (repeated).", L=64, d=8, n=4, groups=4, kind="f16", gate=True)
def zoh_group_modulo(inp, m):
    which = np.arange(8) % 4
    return forward(inp, m, B=expand(inp, "B", which), C=expand(inp, "C", which))


@case("zoh", "Variable C is loaded once for every four positions: positions 4k … 4k+3 all use the C of position 4k.", L=60, d=5, n=8, b=3, bias=True)
def zoh_c_every_four(inp, m):
    C = expand(inp, "C")
    return forward(inp, m, C=C[:, :, np.arange(60) // 4 * 4])


@case("bilinear", "The constant B, a square matrix here (dim = dstate), is read transposed: state n of channel d gets B[n, d].", L=64, d=8, n=8, varB=False, varC=False, softplus=True, bias=True)
def bilinear_b_transposed(inp, m):
    return forward(inp, m, B=np.broadcast_to(inp["B"].T[None, :, None], (2, 8, 64, 8)))


@case("foh", "The readout sums the first 8 of 12 states only (a loop over blocks of 8 without the remainder); last_state is right.", L=48, d=4, n=12, hi=.5, D=False)
def foh_states_dropped(inp, m):
    return forward(inp, m, read=lambda inp, C, X: (C * X)[..., :8].sum(-1))


# ---------------------------------------------------------------- steps, gates, skips, rounding

@case(["rk4", "zoh"], "The bias is added after softplus: Δ = softplus(delta) + delta_bias, not softplus(delta + delta_bias). Both methods have it.", L=64, d=4, n=6, softplus=True, bias=True, bias_range=(.1, .6), hi=.3)
def bias_after_softplus(inp, m):
    return forward(inp, m, dt=softplus(inp["delta"]) + inp["delta_bias"][:, None])


@case("zoh", "softplus returns its argument from 2 on, where f32 asks for about 20: steps above 2 lack log(1 + e^−x).", L=64, d=6, n=1, softplus=True, lo=.05, hi=6, varB=False)
def softplus_early_guard(inp, m):
    x = inp["delta"]
    return forward(inp, m, dt=np.where(x > 2, x, softplus(x)))


@case("zoh", "The skip connection multiplies D by Δ·u (the variable that the scan has just overwritten) and not by u.", L=64, d=6, n=4, kind="bf16", gate=True)
def skip_of_delta_u(inp, m):
    dt = step(inp)
    def finish_du(inp, y): return finish({**inp, "u": dt * inp["u"]}, y)
    return forward(inp, m, finish=finish_du)


@case("zoh", "The factor 2 of complex conjugate pairs is applied after the skip: out = 2(Re ΣCx + D·u), so the skip is doubled.", L=64, d=4, n=4, cplx=True, varC=False, varB=False)
def complex_doubles_skip(inp, m):
    def single(inp, C, X): return (C * X).real.sum(-1)
    return forward(inp, m, read=single, finish=lambda inp, y: finish({**inp, "D": 2 * inp["D"]}, 2 * y))


@case("zoh", "Δ is clamped to at most 0.1 (a default limit of the caller), although steps go up to 0.5.", L=64, d=4, n=4, hi=.5, D=False, groups=2)
def clamp_step(inp, m): return forward(inp, m, dt=np.clip(step(inp), 1e-3, np.float32(.1)))


@case("bilinear", "The store to bf16 truncates the low 16 bits where it should round to nearest even.", truncate=True, L=64, d=4, n=8, kind="bf16", gate=True)
def bf16_truncates(inp, m):
    r = forward(inp, m); bits = np.ascontiguousarray(r["out"], np.float32).view(np.uint32) & np.uint32(0xffff0000)
    return {"out": bits.view(np.float32)}


@case("rk4", "Two slips: the gate silu(z) multiplies y alone and D·u is added after it; and delta_bias is never added.", L=64, d=4, n=4, gate=True, bias=True, lo=2e-2, hi=.4, cplx=True)
def rk4_gate_and_bias(inp, m):
    bare = {k: v for k, v in inp.items() if k != "delta_bias"}
    def gate_first(inp, y): return y * (inp["z"] * sigmoid(inp["z"])) + inp["D"][:, None] * inp["u"]
    return forward(bare, m, finish=gate_first)


# ---------------------------------------------------------------- right ones

@case("zoh", "Right: scan in chunks of 32, the carry applied afterwards by cumulative products.", right=True, L=100, d=4, n=8, gate=True, softplus=True, bias=True)
def right_chunked(inp, m):
    def chunked(a, bu, x0=None):
        X = np.empty_like(bu); carry = np.zeros_like(bu[:, :, 0])
        for s in range(0, bu.shape[2], 32):
            c = a[:, :, s:s + 32]
            X[:, :, s:s + 32] = scan(c, bu[:, :, s:s + 32]) + np.cumprod(c, 2) * carry[:, :, None]
            carry = X[:, :, s + c.shape[2] - 1]
        return X
    return forward(inp, m, scan=chunked)


@case("highorder", "Right: tree scan of pairs (Ā, B̄u), padded with (1, 0) to a power of two; B̄ = Δ(φ₁ + Δ(φ₂ + ½Δφ₃)).", right=True, cplx=True, L=75, d=4, n=4, hi=.3, varC=False)
def right_tree(inp, m):
    dt = step(inp); z = z_of(dt, inp["A"]); T = dt[..., None]
    def tree(a, bu, x0=None):
        L = bu.shape[2]; pad = ((0, 0), (0, 0), (0, 128 - L), (0, 0))
        a = np.pad(a, pad, constant_values=1); x = np.pad(bu, pad); k = 1
        while k < 128:
            x = np.concatenate([x[:, :, :k], a[:, :, k:] * x[:, :, :-k] + x[:, :, k:]], 2)
            a = np.concatenate([a[:, :, :k], a[:, :, k:] * a[:, :, :-k]], 2); k *= 2
        return x[:, :, :L]
    return forward(inp, m, scan=tree, h=T * (phi(1, z) + T * (phi(2, z) + T * phi(3, z) / 2)))


@case("poly", "Right: both directions in one loop over flipped copies, C applied once to the sum of the two states, gate by halves.", right=True, L=64, d=6, n=5, gate=True, kind="bf16", groups=3)
def right_poly(inp, m):
    a, h = coef(m, step(inp), inp["A"]); bu = expand(inp, "B") * (h * inp["u"][..., None])
    X = scan(np.concatenate([a, a[:, :, ::-1]], 1), np.concatenate([bu, bu[:, :, ::-1]], 1))
    f, r = X[:, :6], X[:, 6:, ::-1]
    y = (expand(inp, "C") * ((f + r) * np.float32(.5))).sum(-1)
    g = inp["z"] / (1 + np.exp(-inp["z"]))
    return {"out": y * g + (inp["D"][:, None] * inp["u"]) * g, "last_state": f[:, :, -1]}


@case("bilinear", "Right: complex arithmetic by hand in real and imaginary parts; states in the slowest axis, summed last to first.", right=True, cplx=True, L=80, d=4, n=6, hi=.2, varB=False)
def right_parts(inp, m):
    dt = step(inp)[..., None]; ar, ai = inp["A"].real[:, None], inp["A"].imag[:, None]
    wr, wi = 1 - dt * ar * .5, dt * ai * .5; q = 1 / (wr * wr + wi * wi)          # 1/(1 − z/2) = (wr + i wi) q
    pr, pi = 1 + dt * ar * .5, wi
    a_r, a_i = (wr * pr - wi * pi) * q, (wr * pi + wi * pr) * q
    B, C = expand(inp, "B"), expand(inp, "C"); du = dt * inp["u"][..., None] * q
    b_r, b_i = (wr * B.real - wi * B.imag) * du, (wr * B.imag + wi * B.real) * du
    xr = np.zeros_like(b_r[:, :, 0]); xi = xr.copy(); y = np.zeros(inp["u"].shape, np.float32)
    for l in range(80):
        xr, xi = a_r[:, :, l] * xr - a_i[:, :, l] * xi + b_r[:, :, l], a_r[:, :, l] * xi + a_i[:, :, l] * xr + b_i[:, :, l]
        t = C[:, :, l].real * xr - C[:, :, l].imag * xi
        for n in range(5, -1, -1): y[:, :, l] += t[..., n]
    return {"out": finish(inp, y + y), "last_state": (xr + 1j * xi).astype(np.complex64)}


@case("rk4", "Right: four positions at a time from the state at the start of the four, Ā from exp2 of A·log₂e, and B̄ by ascending powers.", right=True, L=52, d=8, n=4, groups=2, hi=.2, gate=True, kind="f16")
def right_rk4(inp, m):
    dt = step(inp)[..., None]; A = inp["A"][:, None]; z = dt * A
    a = np.exp2(dt * (A * np.float32(np.log2(np.e)))).astype(np.float32)
    z2 = z * z; h = dt + dt * z / 2 + dt * z2 / 6 + dt * (z2 * z) / 24
    def fours(a, bu, x0=None):
        X = np.empty_like(bu); x = np.zeros_like(bu[:, :, 0])
        for s in range(0, bu.shape[2], 4):
            P, w = np.ones_like(x), np.zeros_like(x)
            for l in range(s, s + 4):
                P = P * a[:, :, l]; w = w * a[:, :, l] + bu[:, :, l]; X[:, :, l] = P * x + w
            x = X[:, :, s + 3]
        return X
    return forward(inp, m, ab=a, h=h, scan=fours)


def main():
    order = np.random.default_rng(4).permutation(len(CASES)); listing = []
    for i, k in enumerate(order):
        c = CASES[k]; inp = make_inputs(1000 + k, **c["shape"]); name = f"run{i + 1:02d}.safetensors"
        methods = c["method"] if isinstance(c["method"], list) else [c["method"]]
        outs = {}
        for m in methods:
            r = c["f"](inp, m); truth = forward(widen(inp), m); worst = 0
            for key, v in r.items():
                assert v.dtype == (np.complex64 if key == "last_state" and is_cplx(inp) else np.float32), (c["f"].__name__, key, v.dtype)
                assert v.shape == truth[key].shape and np.isfinite(v).all()
                worst = max(worst, np.abs(v - truth[key]).max() / np.abs(truth[key]).max())
                if key == "out":
                    v = v if c["truncate"] else rnd(v, inp["kind"])
                outs[f"{key}.{m}"] = v
            print(f"{name} {c['f'].__name__:28s} {m:10s} {worst:.1e}" + (" right" if c["right"] else ""))
            assert worst < 2e-6 if c["right"] else worst > 1e-3, "differs too little or too much"
        path = os.path.join(HERE, name); save(path, inp, outs)
        assert os.path.getsize(path) <= 200_000, os.path.getsize(path)
        listing.append({"file": name, "method": "+".join(methods), "right": c["right"], "cause": c["cause"]})
    print(len(listing), sum(x["right"] for x in listing))
    json.dump(listing, open(os.path.join(HERE, "cases.json"), "w"), indent=1, ensure_ascii=False)


if __name__ == "__main__": main()
