"""Makes run01 … run18.safetensors and cases.json: recorded backward passes, 15 faulty and 3 right.

Backward is the right pass in f32 by spec.md section 6 (cotangents without conjugates, conjugated at the end); each fault replaces
a piece. The truth is torch's autograd in double through a plain loop."""
import json
import math
import os
import sys
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "blind_ninth"))
from ssm import Kernel, inputs, rounded, save  # noqa: E402


def truth(q):
    """Gradients by autograd, in double."""
    leaf = {}
    for k in ("u", "delta", "A", "B", "C", "D", "z", "delta_bias", "initial_state"):
        v = getattr(q, k)
        if v is not None:
            leaf[k] = torch.from_numpy(v.astype(np.complex128 if np.iscomplexobj(v) else np.float64)).requires_grad_()

    def phi(k, z):
        near = z.abs() < 1.5
        s, w = torch.where(near, z, 0 * z), torch.where(near, torch.ones_like(z), z)
        series = sum(s ** j / float(math.factorial(j + k)) for j in range(26))
        e = torch.exp(w)
        for j in range(k):
            e = (e - 1 / math.factorial(j)) / w
        return torch.where(near, series, e)

    def wide(X):
        if X.ndim == 2:
            return X[None, :, :, None]
        if q.cplx:
            X = torch.complex(X[..., 0::2], X[..., 1::2])
        return X.repeat_interleave(q.d // q.g, 1)

    dt = leaf["delta"]
    if q.delta_bias is not None:
        dt = dt + leaf["delta_bias"][:, None]
    if q.softplus:
        dt = torch.log1p(torch.exp(dt))
    dt = dt[:, :, None, :]
    z = dt * leaf["A"][None, :, :, None]
    m = q.method
    a = (1 + z / 2) / (1 - z / 2) if m == "bilinear" else torch.exp(z)
    h = {"zoh": lambda: dt + 0 * z, "foh": lambda: dt ** 2 * phi(2, z), "bilinear": lambda: dt / (1 - z / 2),
         "poly": lambda: dt * phi(1, z) + dt ** 2 * phi(2, z) / 2,
         "highorder": lambda: dt * phi(1, z) + dt ** 2 * phi(2, z) + dt ** 3 * phi(3, z) / 2,
         "rk4": lambda: dt * (1 + z / 2 + z ** 2 / 6 + z ** 3 / 24)}[m]()
    bu = h * wide(leaf["B"]) * leaf["u"][:, :, None, :]
    C = wide(leaf["C"])
    zero = torch.zeros_like(bu[..., 0])
    x = leaf.get("initial_state", zero)

    def readout(xs):
        y = (C * torch.stack(xs, -1)).sum(2)
        return 2 * y.real if q.cplx else y

    xs = []
    for i in range(q.l):
        x = a[..., i] * x + bu[..., i]
        xs.append(x)
    y, last = readout(xs), x
    if m == "poly":
        x, xb = zero, []
        for i in reversed(range(q.l)):
            x = a[..., i] * x + bu[..., i]
            xb.append(x)
        y = (y + readout(xb[::-1])) / 2
    if q.D is not None:
        y = y + leaf["D"][:, None] * leaf["u"]
    if q.z is not None:
        y = y * leaf["z"] * torch.sigmoid(leaf["z"])
    loss = (y * torch.from_numpy(q.dout.astype(np.float64))).sum()
    if hasattr(q, "dlast_state"):
        g = torch.from_numpy(q.dlast_state.astype(np.complex128 if q.cplx else np.float64))
        loss = loss + ((last * g.conj()).real.sum() if q.cplx else (last * g).sum())
    loss.backward()
    return {k: v.grad.numpy() for k, v in leaf.items()}


class Backward(Kernel):
    """The right backward pass."""

    # pieces that faults replace
    def sigma(self, z):
        return 1 / (1 + np.exp(-z))

    def before(self, x, x0):                     # x_{l-1}
        return np.concatenate([x0[..., None], x[..., :-1]], -1)

    def after(self, x):                          # x_{l+1}
        return np.concatenate([x[..., 1:], 0 * x[..., :1]], -1)

    def adjoint(self, a, ce, end):               # p_l = C_l e_l + A_{l+1} p_{l+1}
        p, carry = np.empty_like(ce), end
        for i in reversed(range(ce.shape[-1])):
            p[..., i] = carry = ce[..., i] + carry
            carry = a[..., i] * carry
        return p

    def adjoint_back(self, a, ce):               # p_l = C_l e_l + A_{l-1} p_{l-1}
        return self.adjoint(a[..., ::-1], ce[..., ::-1], 0 * ce[..., 0])[..., ::-1]

    def end(self):
        q = self.q
        return np.conj(q.dlast_state).astype(self.w) if hasattr(q, "dlast_state") else np.zeros((q.b, q.d, q.n), self.w)

    def a_slopes(self, dt, A, z):                # dA_bar/d dt, dA_bar/dA
        f = (1 - self.real(0.5) * z) ** -2 if self.q.method == "bilinear" else np.exp(z)
        return A * f, dt * f

    def slope(self, k, z):                       # phi_k'
        return self.phi(k, z) - self.real(k) * self.phi(k + 1, z)

    def h_by_dt(self, dt, A, z):
        r, m, phi = self.real, self.q.method, self.phi
        if m == "zoh":
            return 1 + 0 * z
        if m == "bilinear":
            return (1 - r(0.5) * z) ** -2
        if m == "foh":
            return dt * phi(1, z)
        if m == "poly":
            return phi(0, z) + r(0.5) * dt * phi(1, z)
        if m == "highorder":
            return phi(0, z) + dt * phi(1, z) + r(0.5) * dt * dt * phi(2, z)
        return 1 + z * (1 + z * (r(0.5) + z * r(1 / 6)))

    def h_by_a(self, dt, A, z):
        r, m, slope = self.real, self.q.method, self.slope
        if m == "zoh":
            return 0 * z
        if m == "bilinear":
            return r(0.5) * dt * dt * (1 - r(0.5) * z) ** -2
        if m == "foh":
            return dt ** 3 * slope(2, z)
        if m == "poly":
            return dt ** 2 * (slope(1, z) + r(0.5) * dt * slope(2, z))
        if m == "highorder":
            return dt ** 2 * (slope(1, z) + dt * (slope(2, z) + r(0.5) * dt * slope(3, z)))
        return dt ** 2 * (r(1 / 2) + z * (r(1 / 3) + z * r(1 / 8)))

    def fold(self, X, like):                     # the cotangent of B or C as (b, d, n, l), to the gradient's layout
        q = self.q
        if like.ndim == 2:
            return np.conj(X.sum((0, 3)))
        return self.interleave(np.conj(self.of_groups(X)))

    def of_groups(self, X):
        q = self.q
        return X.reshape(q.b, q.g, q.d // q.g, q.n, q.l).sum(2)

    def interleave(self, X):
        return np.stack([X.real, X.imag], -1).reshape(*X.shape[:-1], -1) if self.q.cplx else X

    def finish_delta(self, g):
        q = self.q
        if q.softplus:
            x = q.delta + (0 if q.delta_bias is None else q.delta_bias[:, None])
            g = g * self.sigma(x)
        return g

    def by_bias(self, g_delta):
        return g_delta.sum((0, 2))

    def omega(self):
        return self.real((2 if self.q.cplx else 1) * (0.5 if self.q.method == "poly" else 1))

    def gate_slope(self, z):
        s = self.sigma(z)
        return s * (1 + z * (1 - s))

    def backward(self):
        q, r = self.q, self.real
        out = self.go()[0]
        g = {}
        ds = q.dout
        if q.z is not None:
            s = self.skipped()
            g["z"] = q.dout * s * self.gate_slope(q.z)
            ds = q.dout * self.silu(q.z)
        if q.D is not None:
            g["D"] = (q.u * ds).sum((0, 2))
        e = (self.omega() * ds)[:, :, None, :]
        dt, A = self.dt()[:, :, None, :], self.A[None, :, :, None]
        z = dt * A
        a, h, B, C, u = self.a_, self.h_, self.Bw(), self.Cw(), q.u[:, :, None, :]
        p = self.adjoint(a, (C * e).astype(self.w), self.end())
        if q.initial_state is not None:
            g["initial_state"] = np.conj(a[..., 0] * p[..., 0])
        x = self.xf
        pa = p * self.before(x, self.x0())
        if q.method == "poly":
            pb = self.adjoint_back(a, (C * e).astype(self.w))
            pa = pa + pb * self.after(self.xb)
            p, x = p + pb, x + self.xb
        ph = p * B * u
        a_dt, a_a = self.a_slopes(dt, A, z)
        d_dt = (a_dt * pa + self.h_by_dt(dt, A, z) * ph).real.sum(2)
        g["A"] = np.conj((a_a * pa + self.h_by_a(dt, A, z) * ph).sum((0, 3)))
        g["B"] = self.fold(p * h * u, q.B)
        g["C"] = self.fold(e * x, q.C)
        g["u"] = (p * h * B).real.sum(2) + (0 if q.D is None else q.D[:, None] * ds)
        g["delta"] = self.finish_delta(d_dt)
        if q.delta_bias is not None:
            g["delta_bias"] = self.by_bias(g["delta"])
        return out, g

    def skipped(self):                           # y + D u
        z, self.q.z = self.q.z, None
        s = self.go()[0]
        self.q.z = z
        return s


CASES = []


def case(cause, right=False, end=False, **q):
    def add(kernel):
        CASES.append((cause, right, end, q, kernel))
        return kernel
    return add


# ---- faults ----

@case("grad.A: h's derivative by A lacks the term -2 phi_3 of phi_2' = phi_2 - 2 phi_3 (the product is not differentiated through the "
      "1/z^2): Delta^3 phi_2 in its place.", method="foh", cplx=True, b=2, d=4, l=30, n=4, lo=0.05, hi=0.8)
class _(Backward):
    def h_by_a(self, dt, A, z):
        return dt ** 3 * self.phi(2, z)


@case("grad.delta: foh's Delta^2 is taken as constant in B_bar's derivative: only Delta^2 A phi_2'(z) remains, without 2 Delta phi_2.",
      method="foh", b=2, d=4, l=36, n=4, var="BC", g=2, lo=0.05, hi=0.8, gate=True)
class _(Backward):
    def h_by_dt(self, dt, A, z):
        return dt * z * self.slope(2, z)


@case("grad.A is not conjugated: the complex cotangent (JAX's convention) is returned where PyTorch's gradient is its conjugate.",
      method="highorder", cplx=True, b=2, d=4, l=24, n=4, var="BC", g=2, lo=0.02, hi=0.4)
class _(Backward):
    def backward(self):
        out, g = super().backward()
        return out, g | {"A": np.conj(g["A"])}


@case("grad.B and grad.C: the sum over the channels of a group takes channels g, g + groups, … (reshaped as (dim/groups, groups)) where group g has "
      "dim/groups channels in a row.", method="highorder", b=2, d=8, l=28, n=4, var="BC", g=2, lo=0.05, hi=0.6)
class _(Backward):
    def of_groups(self, X):
        q = self.q
        return X.reshape(q.b, q.d // q.g, q.g, q.n, q.l).sum(1)


@case("The reversed scan's adjoint is missing in A_bar: p^b_l x^b_{l+1} is not added, so grad.A and grad.delta lack it; B, C and u have both directions.",
      method="poly", cplx=True, b=1, d=4, l=40, n=4, var="C", g=2, lo=0.02, hi=0.4)
class _(Backward):
    def after(self, x):
        return 0 * x


@case("poly's mean is not in the backward pass: e lacks its factor 1/2, so all gradients that pass through the scan (u apart from the skip, delta, A, B, C) are twice too large.",
      method="poly", kind="bf16", b=2, d=4, l=30, n=4, var="BC", g=1, lo=0.02, hi=0.6, gate=True)
class _(Backward):
    def omega(self):
        return self.real(1)


@case("The adjoint scan multiplies by A_bar of its own position, p_l = C_l e_l + A_bar_l p_{l+1}, in place of A_bar_{l+1}: grad.u, delta, A and B are wrong, C is right.",
      method="rk4", b=2, d=6, l=32, n=5, var="B", g=3, lo=0.01, hi=0.8)
class _(Backward):
    def adjoint(self, a, ce, end):
        return super().adjoint(np.concatenate([a[..., :1], a[..., :-1]], -1), ce, end)


@case("grad.A: rk4's polynomial is differentiated with coefficients of e^z's series for h by A: 1/2 + z/6 + z^2/24 (the index factors 1, 2, 3 are missing); grad.delta is right.",
      method="rk4", cplx=True, kind="f16", b=2, d=4, l=24, n=3, lo=0.05, hi=0.5)
class _(Backward):
    def h_by_a(self, dt, A, z):
        r = self.real
        return dt ** 2 * (r(1 / 2) + z * (r(1 / 6) + z * r(1 / 24)))


@case("grad.A and grad.delta: bilinear's A_bar' is taken as (1 - z/2)^-1 in place of (1 - z/2)^-2; h's derivatives are right.",
      method="bilinear", cplx=True, b=2, d=4, l=30, n=4, var="BC", g=4, lo=0.05, hi=0.5)
class _(Backward):
    def a_slopes(self, dt, A, z):
        f = 1 / (1 - self.real(0.5) * z)
        return A * f, dt * f


@case("grad.delta and grad.delta_bias: the derivative of the softplus is taken as sigmoid of the step after the softplus, sigma(Delta), in place of sigma(delta + delta_bias).",
      method="highorder", kind="bf16", native=False, b=2, d=5, l=32, n=4, var="BC", g=1, bias=True, softplus=True, lo=0.02, hi=0.6)
class _(Backward):
    def finish_delta(self, g):
        return g * self.sigma(self.dt())


@case("grad.delta_bias is summed over the positions before the derivative of the softplus is applied to grad.delta: the factor sigma is missing in the bias alone.",
      method="zoh", cplx=True, b=2, d=4, l=40, n=4, var="B", g=1, bias=True, softplus=True, gate=True)
class _(Backward):
    def finish_delta(self, g):
        self.raw = g
        return super().finish_delta(g)

    def by_bias(self, g):
        return self.raw.sum((0, 2))


@case("grad.z: the derivative of the gate is sigma(z)(1 - z sigma(-z)), with a wrong sign, in place of sigma(z)(1 + z sigma(-z)).",
      method="rk4", kind="f16", b=2, d=4, l=40, n=4, var="BC", g=2, gate=True, bias=True, softplus=True)
class _(Backward):
    def gate_slope(self, z):
        s = self.sigma(z)
        return s * (1 - z * (1 - s))


@case("The adjoint is computed in chunks of 16 positions and its carry into the chunk before lacks A_bar of the chunk's first position: grad.u, delta, A and B are wrong before the last chunk.",
      method="foh", b=1, d=6, l=60, n=4, lo=0.05, hi=0.5, var="C", g=2)
class _(Backward):
    def adjoint(self, a, ce, end):
        a = a.copy()
        a[..., 16::16] = 1
        return super().adjoint(a, ce, end)


@case("dlast_state is not conjugated: the complex gradient of the last state enters the adjoint of cotangents as it is, and the gradients near the end are wrong.",
      method="bilinear", cplx=True, b=2, d=4, l=20, n=4, end=True, init=True, lo=0.01, hi=0.2)
class _(Backward):
    def end(self):
        return self.q.dlast_state


@case("grad.A and grad.delta: where the initial state is given, the adjoint of A_bar at position 0 still uses x_{-1} = 0; grad.initial_state itself is right.",
      method="highorder", cplx=True, b=2, d=4, l=16, n=4, var="C", g=2, init=True, lo=0.05, hi=0.4)
class _(Backward):
    def before(self, x, x0):
        return super().before(x, 0 * x0)


# ---- right ones ----

@case("Right: the states are computed again backwards from checkpoints every 16 positions.", right=True,
      method="highorder", cplx=True, b=2, d=4, l=50, n=4, var="BC", g=2, gate=True, bias=True, softplus=True, end=True, init=True, lo=0.05, hi=0.5)
class _(Backward):
    def before(self, x, x0):
        out = np.empty_like(x)
        for start in range(0, x.shape[-1], 16):
            s = x0 if start == 0 else x[..., start - 1]
            for i in range(start, min(start + 16, x.shape[-1])):
                out[..., i] = s
                s = self.a_[..., i] * s + (self.h_ * self.Bw())[..., i] * self.u[:, :, None, i]
        return out


@case("Right: poly with the adjoint of the reversed scan as a chunked scan with running products.", right=True,
      method="poly", kind="bf16", b=2, d=4, l=45, n=4, var="BC", g=2, gate=True, lo=0.02, hi=0.5)
class _(Backward):
    def adjoint_back(self, a, ce):
        shifted = np.concatenate([0 * a[..., :1], a[..., :-1]], -1)
        out, carry = [], 0 * ce[..., 0]
        for i in range(0, ce.shape[-1], 10):
            local = self.scan(shifted[..., i:i + 10], ce[..., i:i + 10], 0 * carry)
            out.append(local + np.cumprod(shifted[..., i:i + 10], -1) * carry[..., None])
            carry = out[-1][..., -1]
        return np.concatenate(out, -1)


@case("Right: phi_k' by its series near 0 and (phi_{k-1} - 1/(k-1)! … )/z form elsewhere: (z phi_k' = phi_{k-1} - k phi_k).", right=True,
      method="foh", b=2, d=4, l=40, n=4, var="B", g=1, softplus=True, lo=0.02, hi=0.9)
class _(Backward):
    def slope(self, k, z):
        near = np.abs(z) < 1
        s, w = np.where(near, z, 0), np.where(near, 1, z)
        series = sum((self.real((j + 1) / math.factorial(j + 1 + k)) * s ** j for j in range(12)), 0 * z)
        return np.where(near, series, (self.phi(k - 1, w) - self.real(k) * self.phi(k, w)) / w)


def main():
    order = np.random.default_rng(21).permutation(len(CASES))
    about = []
    for place, i in enumerate(order):
        cause, right, end, kw, kernel = CASES[i]
        q = inputs(2000 + int(i), **kw)
        r = np.random.default_rng(3000 + int(i))
        q.dout = rounded(r.standard_normal((q.b, q.d, q.l)), q.kind)
        if end:
            s = r.standard_normal((q.b, q.d, q.n))
            q.dlast_state = (s + 1j * r.standard_normal(s.shape)).astype(np.complex64) if q.cplx else s.astype(np.float32)
        out, grads = kernel(q).backward()
        want = truth(q)
        assert set(want) == set(grads)
        name = f"run{place + 1:02d}.safetensors"
        path = os.path.join(HERE, name)
        for k in want:
            assert grads[k].shape == want[k].shape and np.isfinite(grads[k]).all(), (name, k)
            assert grads[k].dtype in (np.float32, np.complex64), (name, k, grads[k].dtype)
        save(path, q, {f"grad.{k}.{q.method}": v for k, v in grads.items()})
        far = {k: np.abs(grads[k] - want[k]).max() / np.abs(want[k]).max() for k in want}
        good = max(far.values()) < 2e-5 if right else max(far.values()) > 1e-3
        assert os.path.getsize(path) <= 200_000, name
        print(f"{name} {q.method:9} {q.kind} {'right' if right else 'wrong'} {'' if good else '<<<<'}",
              " ".join(f"{k}:{v:.0e}" for k, v in far.items()), "|", cause[:40])
        about.append({"file": name, "method": q.method, "right": right, "cause": cause})
    json.dump(about, open(os.path.join(HERE, "cases.json"), "w"), indent=1, ensure_ascii=False)
    print(sum(not a["right"] for a in about), "faulty,", sum(a["right"] for a in about), "right")


if __name__ == "__main__":
    main()
