"""Makes run01 … run35.safetensors and cases.json: recorded runs, 30 faulty and 5 right. Each fault replaces a piece of ssm.Kernel."""
import json
import math
import os
import sys
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from ssm import Kernel, inputs, rounded, save  # noqa: E402

CASES = []


def case(cause, last=True, right=False, meta=None, **q):
    def add(kernel):
        CASES.append((cause, last, right, meta or {}, q, kernel))
        return kernel
    return add


# ---- faults ----

@case("The partial sums of the exponential stop one term early (Python's range(i) for k = 0..i): highorder's terms are A^-1 e^z, "
      "A^-2 (e^z - 1) and A^-3 (e^z - 1 - z)/2.", method="highorder", cplx=True, b=2, d=4, l=40, n=3, lo=0.02, hi=0.6)
class _(Kernel):
    def h(self, dt, A, z):
        e, total, part = np.exp(z), 0, 0
        for i in range(3):
            part = sum(z ** k / self.real(math.factorial(k)) for k in range(i)) if i else 0
            total = total + A ** self.real(-(i + 1)) * (e - part) / self.real(math.factorial(i))
        return total.astype(self.w)


@case("In highorder's third term the running factorial is updated after its use, so the partial sum is 1 + z + z^2 in place of "
      "1 + z + z^2/2: it uses (e^z - 1 - z - z^2)/z^3 for phi_3.",
      method="highorder", cplx=True, var="BC", g=2, b=1, d=4, l=60, n=4, lo=0.05, hi=0.6, gate=True)
class _(Kernel):
    def h(self, dt, A, z):
        r = self.real
        third = (np.exp(z) - (1 + z + z * z)) / (z * z * z)
        return dt * (self.phi(1, z) + dt * (self.phi(2, z) + r(0.5) * dt * third))


@case("delta_bias is added after the softplus: the step is softplus(delta) + bias, not softplus(delta + bias).",
      method="highorder", kind="bf16", var="BC", g=1, b=2, d=6, l=33, n=8, bias=True, softplus=True, positive_bias=True, lo=0.02)
class _(Kernel):
    def dt(self):
        return self.soft(self.q.delta.astype(self.real)) + self.q.delta_bias.astype(self.real)[:, None]


@case("Only last_state is wrong: the last tile is padded with delta = 0 before bias and softplus, so that the 58 padded positions "
      "have the step softplus(bias) and the state decays through them before it is stored.",
      method="highorder", b=2, d=5, l=70, n=4, var="B", g=1, bias=True, softplus=True, gate=True)
class _(Kernel):
    def last(self, xf, xb):
        step = self.soft(self.q.delta_bias)[:, None]
        x = xf[..., -1]
        for _ in range(128 - 70):
            x = np.exp(step * self.A) * x
        return x


@case("The initial state is added to the first position's state as it is, without being multiplied by A_bar of position 0.",
      method="highorder", cplx=True, b=2, d=4, l=24, n=4, init=True, lo=0.05, hi=0.6)
class _(Kernel):
    def scan(self, a, bu, x0):
        bu = bu.copy()
        bu[..., 0] += x0
        return super().scan(a, bu, np.zeros_like(x0))


@case("poly's reversed scan takes A_bar of the neighbour it comes from (l+1) in place of that of position l.",
      method="poly", b=2, d=4, l=50, n=4, var="BC", g=2, lo=0.01, hi=0.8)
class _(Kernel):
    def scan_back(self, a, bu):
        return super().scan_back(np.concatenate([a[..., 1:], a[..., -1:]], -1), bu)


@case("poly's reversed scan is a scan over flipped u, B and C, but delta was not flipped with them: position l uses the step of "
      "position L-1-l, in A_bar and in B_bar.", method="poly", kind="bf16", cplx=True, b=2, d=3, l=40, n=4, lo=0.01, hi=0.6)
class _(Kernel):
    def scan_back(self, a, bu):
        dt = self.dt()[:, :, None, ::-1]
        A = self.A[None, :, :, None]
        z = dt * A
        bu = self.h(dt, A, z) * (self.Bw() * self.u[:, :, None, :])
        return super().scan_back(self.a_bar(dt, A, z), bu.astype(self.w))


@case("poly subtracts the term B_bar_l u_l once, as a duplicate of the two directions: y = (C x^f + C x^b - C B_bar u)/2.",
      method="poly", b=1, d=8, l=64, n=6, var="BC", g=4, lo=0.005, hi=0.5, gate=True)
class _(Kernel):
    def both(self, yf, yb):
        bu = self.h_ * (self.Bw() * self.u[:, :, None, :])
        return self.real(0.5) * (yf + yb - self.read(self.Cw(), bu))


@case("poly's reversed scan works in chunks of 32 positions that each start from zero: the carry from the chunk to the right is "
      "lost.", method="poly", cplx=True, b=1, d=4, l=100, n=4, var="C", g=2, lo=0.002, hi=0.1)
class _(Kernel):
    def scan_back(self, a, bu):
        parts = [Kernel.scan_back(self, a[..., i:i + 32], bu[..., i:i + 32]) for i in range(0, a.shape[-1], 32)]
        return np.concatenate(parts, -1)


@case("Only last_state is wrong: it is what poly's reversed scan ends with (position 0), not the forward scan's last state.",
      method="poly", kind="f16", b=2, d=6, l=37, n=5, lo=0.01)
class _(Kernel):
    def last(self, xf, xb):
        return xb[..., 0]


@case("The factor 2 of conjugate pairs also doubles the skip: out = 2 (Re sum C x + D u).",
      method="poly", cplx=True, b=2, d=4, l=30, n=3, var="BC", g=1, last=False, gate=True)
class _(Kernel):
    def finish(self, y):
        s = y + 2 * self.q.D[:, None] * self.u
        return s * self.silu(self.q.z)


@case("z^2 of a complex z is taken component by component, as (re^2, im^2), in the input term's polynomial of rk4; z^3 is that times z.",
      method="rk4", kind="bf16", native=False, cplx=True, var="BC", g=2, b=1, d=4, l=48, n=3, lo=0.02, hi=0.5)
class _(Kernel):
    def h(self, dt, A, z):
        r = self.real
        z2 = (z.real * z.real + 1j * (z.imag * z.imag)).astype(self.w)
        return dt * (1 + z * r(1 / 2) + z2 * r(1 / 6) + z2 * z * r(1 / 24))


@case("The variable complex B is read as planes (all real parts, then all imaginary ones) where they are interleaved; C is read right.",
      method="rk4", kind="f16", cplx=True, var="BC", g=1, b=2, d=4, l=32, n=2)
class _(Kernel):
    def Bw(self):
        X = self.q.B
        half = X.shape[-1] // 2
        return self.by_channel((X[..., :half] + 1j * X[..., half:]).astype(self.w))


@case("The gate is applied before the skip: out = y z sigmoid(z) + D u, where D u should be gated too.",
      method="rk4", kind="bf16", var="BC", g=3, b=1, d=6, l=40, n=8, gate=True)
class _(Kernel):
    def finish(self, y):
        return y * self.silu(self.q.z) + self.q.D[:, None] * self.u


@case("bilinear's complex reciprocal lacks the conjugate: 1/(1 - z/2) is computed as (1 - z/2)/|1 - z/2|^2, in A_bar and in B_bar.",
      method="bilinear", cplx=True, b=2, d=4, l=50, n=4, var="B", g=2, lo=0.005, hi=0.3)
class _(Kernel):
    def inverse(self, z):
        w = 1 - self.real(0.5) * z
        return w / (w.real ** 2 + w.imag ** 2)

    def a_bar(self, dt, A, z):
        return (1 + self.real(0.5) * z) * self.inverse(z)

    def h(self, dt, A, z):
        return dt * self.inverse(z)


@case("bilinear's numerator I + z/2 uses the step of the position before (l-1), the inverse that of l: A_bar mixes two steps. B_bar is right.",
      method="bilinear", b=2, d=6, l=44, n=5, lo=0.01, hi=0.8)
class _(Kernel):
    def a_bar(self, dt, A, z):
        before = np.concatenate([z[..., :1], z[..., :-1]], -1)
        return (1 + self.real(0.5) * before) / (1 - self.real(0.5) * z)


@case("A chunked scan of 16 positions keeps the carry between its chunks in bf16, everything else in f32.",
      method="bilinear", b=1, d=8, l=160, n=4, var="C", g=2, lo=0.001, hi=0.03, skip=False)
class _(Kernel):
    def scan(self, a, bu, x0):
        out = []
        for i in range(0, a.shape[-1], 16):
            out.append(super().scan(a[..., i:i + 16], bu[..., i:i + 16], x0))
            x0 = rounded(out[-1][..., -1], "bf16")
        return np.concatenate(out, -1)


@case("The variable B is read one position late: the input term at l uses B_{l-1} (0 at l = 0); u, the step and C are those of l.",
      method="bilinear", kind="f16", native=False, cplx=True, b=2, d=4, l=36, n=4, var="BC", g=2, gate=True)
class _(Kernel):
    def Bw(self):
        B = super().Bw()
        return np.concatenate([0 * B[..., :1], B[..., :-1]], -1)


@case("Groups of B and C are spread with a tiling repeat in place of repeat_interleave: channel d reads group d % groups, not "
      "d / (dim / groups).", method="zoh", cplx=True, b=2, d=8, l=40, n=3, var="BC", g=2)
class _(Kernel):
    def by_channel(self, X):
        return np.tile(X, (1, self.q.d // self.q.g, 1, 1))


@case("The softplus was ported to exp2 and log2 and the factor ln 2 forgotten: the step is log2(1 + e^x), 1.4427 times too large.",
      method="zoh", kind="bf16", b=2, d=6, l=64, n=16, var="BC", g=1, bias=True, softplus=True, gate=True)
class _(Kernel):
    def soft(self, x):
        return np.log2(1 + np.exp2(x * np.float32(math.log2(math.e))))


@case("In a chunked scan of 20 positions the carry reaches position l with the product of A_bar over the chunk's positions before l "
      "only (an exclusive product): the factor A_bar_l is missing.", method="zoh", cplx=True, b=1, d=6, l=90, n=4, lo=0.005, hi=0.2)
class _(Kernel):
    def scan(self, a, bu, x0):
        out = []
        for i in range(0, a.shape[-1], 20):
            ac, local = a[..., i:i + 20], super().scan(a[..., i:i + 20], bu[..., i:i + 20], np.zeros_like(x0))
            before = np.concatenate([np.ones_like(ac[..., :1]), np.cumprod(ac, -1)[..., :-1]], -1)
            out.append(local + before * x0[..., None])
            x0 = out[-1][..., -1]
        return np.concatenate(out, -1)


@case("A chunked (SSD-like) form masks the decay matrix strictly below its diagonal, so that the term C_l B_bar_l u_l of the position itself is "
      "missing from out; the states are right.", method="zoh", b=2, d=4, l=96, n=8, var="BC", g=2, bias=True, softplus=True)
class _(Kernel):
    def finish(self, y):
        own = self.read(self.Cw(), self.h_ * (self.Bw() * self.u[:, :, None, :]))
        return super().finish(y - own)


@case("The variable C is loaded without the batch stride: every batch reads the C of batch 0.",
      method="foh", kind="f16", b=3, d=4, l=40, n=4, var="BC", g=2, lo=0.05, hi=0.9)
class _(Kernel):
    def Cw(self):
        return super().Cw()[:1]


@case("After a port to exp2, the imaginary part of z is multiplied by log2(e) too before sine and cosine: A_bar turns 1.4427 times too fast. B_bar is right.",
      method="foh", cplx=True, b=2, d=4, l=50, n=4, lo=0.02, hi=0.4, var="C", g=1)
class _(Kernel):
    def a_bar(self, dt, A, z):
        s = z * np.float32(math.log2(math.e))
        return (np.exp2(s.real) * (np.cos(s.imag) + 1j * np.sin(s.imag))).astype(self.w)


@case("In a chunked scan of 16 positions the carry is added with A_bar of the position alone, not with the product of A_bar from the "
      "chunk's start.", method="foh", b=2, d=4, l=80, n=4, var="BC", g=2, lo=0.05, hi=0.4)
class _(Kernel):
    def scan(self, a, bu, x0):
        out = []
        for i in range(0, a.shape[-1], 16):
            ac = a[..., i:i + 16]
            local = super().scan(ac, bu[..., i:i + 16], np.zeros_like(x0))
            out.append(local + ac * x0[..., None])
            x0 = out[-1][..., -1]
        return np.concatenate(out, -1)


@case("States come in tiles of 8 and dstate is 12: the last, partial tile (states 8 to 11) is never added to the output.",
      method="foh", kind="f16", b=1, d=6, l=48, n=12, lo=0.05, hi=0.9, last=False)
class _(Kernel):
    def read(self, C, x):
        return super().read(C[:, :, :8], x[:, :, :8])


@case("The readout conjugates C: y = 2 Re sum conj(C) x (einsum replaced by a vdot).",
      method="foh", cplx=True, b=2, d=4, l=36, n=4, var="BC", g=4, lo=0.05, hi=0.5, kind="bf16")
class _(Kernel):
    def read(self, C, x):
        return super().read(np.conj(C), x)


@case("The guard that selects the short series of phi_2 (1/2 + z/6 + z^2/24) looks at |Re z| < 0.1 only, so that it is also used for "
      "states with a large imaginary part.", method="foh", cplx=True, b=2, d=4, l=40, n=4, lo=0.02, hi=0.5)
class _(Kernel):
    def h(self, dt, A, z):
        r = self.real
        series = r(1 / 2) + z * r(1 / 6) + z * z * r(1 / 24)
        return dt * dt * np.where(np.abs(z.real) < 0.1, series, (np.exp(z) - 1 - z) / (z * z)).astype(self.w)


@case("foh divides by |A|^2 in place of the complex A^2: B_bar = (e^z - 1 - z)/|A|^2 B.",
      method="foh", cplx=True, b=1, d=4, l=44, n=4, var="B", g=2, lo=0.05, hi=0.6, gate=True)
class _(Kernel):
    def h(self, dt, A, z):
        return dt * dt * self.phi(2, z) * (z * z) / (z.real ** 2 + z.imag ** 2 + np.float32(1e-30))


@case("The step is clamped to [0.001, 0.1] after the softplus (a default time-step limit), which no specification here has.",
      method="rk4", b=2, d=4, l=40, n=4, var="BC", g=2, bias=True, softplus=True, lo=0.004, hi=0.6)
class _(Kernel):
    def dt(self):
        return np.clip(super().dt(), np.float32(0.001), np.float32(0.1))


# ---- right ones ----

@case("Right: a chunked scan, 24 positions a chunk, with running products of A_bar and a carry.", right=True,
      method="highorder", cplx=True, b=2, d=4, l=130, n=4, var="BC", g=2, lo=0.01, hi=0.3, init=True)
class _(Kernel):
    def scan(self, a, bu, x0):
        out = []
        for i in range(0, a.shape[-1], 24):
            local = super().scan(a[..., i:i + 24], bu[..., i:i + 24], np.zeros_like(x0))
            out.append(local + np.cumprod(a[..., i:i + 24], -1) * x0[..., None])
            x0 = out[-1][..., -1]
        return np.concatenate(out, -1)


@case("Right: poly over positions padded to a multiple of 64 with a step of 0 (after the softplus) and an input of 0, in both directions; the "
      "states of both directions are added before one readout.", right=True,
      method="poly", b=2, d=6, l=75, n=5, var="BC", g=3, bias=True, softplus=True, gate=True)
class _(Kernel):
    def padded(self, x, value):
        return np.concatenate([x, np.full(x.shape[:-1] + (-x.shape[-1] % 64,), value, x.dtype)], -1)

    def scan(self, a, bu, x0):
        return super().scan(self.padded(a, 1), self.padded(bu, 0), x0)[..., :a.shape[-1]]

    def scan_back(self, a, bu):
        x, xs = np.zeros_like(bu[..., 0]), np.empty_like(bu)
        for i in reversed(range(-(-a.shape[-1] // 64) * 64)):
            if i < a.shape[-1]:
                x = a[..., i] * x + bu[..., i]
                xs[..., i] = x
        return xs

    def read(self, C, x):
        return x if x.ndim == 4 and not hasattr(self, "summed") else super().read(C, x)

    def both(self, xf, xb):
        self.summed = True
        return super().read(self.Cw(), (xf + xb) * self.real(0.5))


@case("Right: rk4's input term from the four stages k1 … k4 of the classical scheme.", right=True,
      method="rk4", kind="bf16", cplx=True, b=2, d=4, l=64, n=4, var="BC", g=1, gate=True)
class _(Kernel):
    def h(self, dt, A, z):
        half = self.real(0.5)
        k1 = np.ones_like(z)
        k2 = 1 + half * z * k1
        k3 = 1 + half * z * k2
        k4 = 1 + z * k3
        return dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


@case("Right: foh with a parallel (Hillis–Steele) scan of pairs (A_bar, B_bar u).", right=True,
      method="foh", b=1, d=4, l=100, n=8, var="C", g=2, lo=0.02, hi=0.5)
class _(Kernel):
    def scan(self, a, bu, x0):
        a, x, s = a.copy(), bu.copy(), 1
        x[..., 0] += a[..., 0] * x0
        while s < x.shape[-1]:
            na, nx = a.copy(), x.copy()
            nx[..., s:] = x[..., s:] + a[..., s:] * x[..., :-s]
            na[..., s:] = a[..., s:] * a[..., :-s]
            a, x, s = na, nx, 2 * s
        return x


@case("Right: bilinear with the reciprocal in real arithmetic, conj(w)/|w|^2, and B multiplied after the step and u.", right=True,
      method="bilinear", kind="f16", native=False, cplx=True, b=2, d=4, l=50, n=4, var="BC", g=2, gate=True, bias=True, softplus=True)
class _(Kernel):
    def a_bar(self, dt, A, z):
        p, w = 1 + self.real(0.5) * z, 1 - self.real(0.5) * z
        m = 1 / (w.real * w.real + w.imag * w.imag)
        re = p.real * w.real + p.imag * w.imag
        im = p.imag * w.real - p.real * w.imag
        return ((re + 1j * im) * m).astype(self.w)

    def h(self, dt, A, z):
        w = 1 - self.real(0.5) * z
        m = dt / (w.real * w.real + w.imag * w.imag)
        return (np.conj(w) * m).astype(self.w)


def main():
    order = np.random.default_rng(20).permutation(len(CASES))
    about = []
    for place, i in enumerate(order):
        cause, last, right, meta, kw, kernel = CASES[i]
        q = inputs(1000 + int(i), **kw)
        k = kernel(q)
        out, state = k.go()
        true_out, true_state = Kernel(q, np.float64).go()
        name = f"run{place + 1:02d}.safetensors"
        assert out.dtype == np.float32, (name, out.dtype)
        tensors = {f"out.{q.method}": out}
        if last:
            tensors[f"last_state.{q.method}"] = state
        path = os.path.join(HERE, name)
        save(path, q, tensors, **meta)
        far = lambda x, t: np.abs(x - t).max() / np.abs(t).max()
        far1 = lambda x, t: np.median(np.abs(x - t) / np.abs(t))
        e, s = far(out, true_out), far(state, true_state)
        assert os.path.getsize(path) <= 200_000, name
        assert np.isfinite(out).all()
        good = max(e, s) < 2e-5 if right else max(e, s if last else 0) > 1e-3
        print(f"{name} {q.method:9} {q.kind} {'right' if right else 'wrong'} out {e:.1e} (median {far1(out, true_out):.1e}) state {s:.1e} "
              f"{os.path.getsize(path) // 1000} kB {'' if good else '<<<<'}  {cause[:50]}")
        about.append({"file": name, "method": q.method, "right": right, "cause": cause})
    json.dump(about, open(os.path.join(HERE, "cases.json"), "w"), indent=1, ensure_ascii=False)
    print(sum(not a["right"] for a in about), "faulty,", sum(a["right"] for a in about), "right")


if __name__ == "__main__":
    main()
