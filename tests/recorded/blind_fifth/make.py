"""Makes run01..run12.safetensors and cases.json beside itself. NumPy and safetensors, fixed seed.

Written from spec.md and the page of recordings alone, before the diagnosis was read: ten faulty recordings and two right ones.
"""
import json
import math
import os

import numpy as np
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))


def phi(k, z):
    if k == 0:
        return np.exp(z)
    small = np.abs(z) < 1.5
    near = np.where(small, z, 0)
    series = sum(near**j / math.factorial(j + k) for j in range(30))
    far = np.where(small, 2.0, z)
    value = np.expm1(far) / far
    for i in range(1, k):
        value = (value - 1 / math.factorial(i)) / far
    return np.where(small, series, value)


def coefficients(method, d, a):
    z = d * a
    e = np.exp(z)
    return {
        "zoh": (e, d + 0 * z),
        "foh": (e, d**2 * phi(2, z)),
        "bilinear": ((1 + z / 2) / (1 - z / 2), d / (1 - z / 2)),
        "poly": (e, d * phi(1, z) + d**2 * phi(2, z) / 2),
        "highorder": (e, d * phi(1, z) + d**2 * phi(2, z) + d**3 * phi(3, z) / 2),
        "rk4": (e, d * (1 + z / 2 + z**2 / 6 + z**3 / 24)),
    }[method]


def softplus(x):
    return np.logaddexp(0, x)


def inputs(seed, *, batch=2, dim=4, n=4, length=70, complex_weights=False, groups=2, variable_b=True, variable_c=True, gate=False,
           skip=True, bias=None, steps=(-2.0, 1.0)):
    rng = np.random.default_rng([7, seed])
    f = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    if complex_weights:
        a = (-0.5 + 1j * math.pi * np.arange(n)) * (1 + 0.1 * rng.uniform(-1, 1, (dim, 1)))
        a = a.astype(np.complex64)
    else:
        a = (-np.arange(1.0, n + 1) * (1 + 0.1 * rng.uniform(-1, 1, (dim, 1)))).astype(np.float32)
    width = 2 if complex_weights else 1

    def weights(variable):
        if variable:
            return f(batch, groups, n, length * width)
        return (f(dim, n) + 1j * f(dim, n)).astype(np.complex64) if complex_weights else f(dim, n)

    p = {"u": f(batch, dim, length), "delta": (steps[0] + steps[1] * f(batch, dim, length)).astype(np.float32), "A": a,
         "B": weights(variable_b), "C": weights(variable_c)}
    if skip:
        p["D"] = f(dim)
    if gate:
        p["z"] = f(batch, dim, length)
    if bias is not None:
        p["delta_bias"] = (bias + 0.3 * f(dim)).astype(np.float32)
    return p


def run(method, p, *, step=None, group=None, halves=False, gate=lambda g: g / (1 + np.exp(-g)), gate_first=False, skips=1,
        chunk=None, flip_back=True, average=0.5, readout=None, padding=None):
    """What a kernel computes that has been told these mistakes; none by default."""
    f = lambda name: p[name].astype(np.complex128 if np.iscomplexobj(p[name]) else np.float64)
    u, delta, a = f("u"), f("delta"), f("A")
    batch, dim, length = u.shape
    n, is_complex = a.shape[1], np.iscomplexobj(a)
    bias = f("delta_bias")[:, None] if "delta_bias" in p else 0.0
    d = (step or (lambda raw, bias: softplus(raw + bias)))(delta, bias)
    group = group or (lambda channel, groups: channel // (dim // groups))

    def read(name):
        x = f(name)
        if x.ndim == 2:
            return np.broadcast_to(x[None, :, :, None], (batch, dim, n, length))
        if is_complex:
            x = x[..., :length] + 1j * x[..., length:] if halves and name == "C" else x[..., 0::2] + 1j * x[..., 1::2]
        return x[:, [group(channel, x.shape[1]) for channel in range(dim)]]

    b, c = read("B"), read("C")
    a_bar, b_bar = coefficients(method, d[:, :, None, :], a[None, :, :, None])
    added = b_bar * b * u[:, :, None, :]

    def scan(a_bar, added):
        states, x = np.zeros_like(added), np.zeros_like(added[..., 0])
        if chunk is None:
            for l in range(length):
                x = a_bar[..., l] * x + added[..., l]
                states[..., l] = x
            return states
        for begin in range(0, length, chunk):
            local, product = np.zeros_like(x), np.ones_like(x)
            for l in range(begin, min(begin + chunk, length)):
                local = a_bar[..., l] * local + added[..., l]
                # Without the first decay of the chunk.
                product = product * (a_bar[..., l] if l > begin else 1)
                states[..., l] = local + product * x
            x = states[..., l]
        return states

    of = readout or (lambda c, x: (2 if is_complex else 1) * np.sum(c * x, 2).real)
    states = scan(a_bar, added)
    last = states[..., -1]
    y = of(c, states)
    if method == "poly":
        flip = lambda x: x[..., ::-1]
        reversed_y = of(flip(c), scan(flip(a_bar), flip(added)))
        y = average * (y + (flip(reversed_y) if flip_back else reversed_y))
    if padding:
        more = -length % padding
        for _ in range(more):
            last = coefficients(method, softplus(0 * d[:, :, None, 0] + (bias if "delta_bias" in p else 0)), a[None])[0] * last
    through = skips * f("D")[:, None] * u if "D" in p else 0
    if "z" not in p:
        out = y + through
    elif gate_first:
        out = y * gate(f("z")) + through
    else:
        out = (y + through) * gate(f("z"))
    return out, last


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# method, inputs, mistakes, the cause in words
CASES = [
    ("zoh", dict(length=60, bias=-2.0, steps=(0.0, 1.5)), dict(step=lambda raw, bias: np.clip(softplus(raw + bias), 1e-3, 0.1)),
     "Δ is clamped to [1e-3, 0.1] after the softplus."),
    ("zoh", dict(length=100, steps=(-3.0, 1.0)), dict(chunk=24),
     "Chunks of 24: the carry meets the product of the chunk's Ā without its first one (one decay too few in each chunk)."),
    ("poly", dict(length=64, gate=True), dict(flip_back=False), "The reversed scan's output is not flipped back: y_b of position L−1−l is added."),
    ("bilinear", dict(complex_weights=True, batch=1, length=64), dict(readout=lambda c, x: 2 * np.sum(c.real * x.real, 2)),
     "The readout is 2 Σ Re C · Re x: the product of the imaginary parts is dropped."),
    ("highorder", dict(gate=True, variable_b=False), dict(gate=lambda g: g * sigmoid(1.702 * g)), "The gate is z·sigmoid(1.702 z)."),
    ("zoh", dict(gate=True, steps=(0.3, 0.1)), dict(gate_first=True, step=lambda raw, bias: raw + bias),
     "Two: the softplus is forgotten, and the skip is added after the gate."),
    ("rk4", dict(bias=0.4, steps=(-2.0, 0.7)), dict(group=lambda channel, groups: channel % groups, step=lambda raw, bias: softplus(raw) + bias),
     "Two: channel d reads group d % groups, and delta_bias is added after the softplus."),
    ("foh", dict(complex_weights=True, batch=1, length=60), dict(halves=True),
     "Variable C, interleaved, is read as halves: all real parts, then all imaginary ones."),
    ("poly", dict(length=80), dict(average=1.0, skips=2), "Two: the two scans are summed and not averaged, and each brings its skip, 2D."),
    ("foh", dict(length=75, bias=-1.0, variable_c=False), dict(padding=16),
     "last_state alone: it is taken after 5 padded positions (to a multiple of 16) with u = 0, Δ = softplus(delta_bias)."),
    ("rk4", dict(complex_weights=True, batch=1, gate=True, bias=-0.5), {}, None),
    ("poly", dict(length=33, groups=1, steps=(-8.0, 2.0)), {}, None),
]


def main():
    cases = []
    for i, (method, kind, mistakes, cause) in enumerate(CASES):
        p = inputs(i, **kind)
        (out, last), (want, want_last) = run(method, p, **mistakes), run(method, p)
        assert cause is None or max(np.abs(out - want).max(), np.abs(last - want_last).max()) > 1e-3
        file = f"run{i + 1:02d}.safetensors"
        weight = np.complex64 if np.iscomplexobj(p["A"]) else np.float32
        tensors = {**p, f"out.{method}": out.astype(np.float32), f"last_state.{method}": last.astype(weight)}
        save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, os.path.join(HERE, file), {"delta_softplus": "true"})
        cases.append({"file": file, "method": method, "right": cause is None, "cause": cause})
    with open(os.path.join(HERE, "cases.json"), "w") as f:
        json.dump(cases, f, indent=1, ensure_ascii=False)
        f.write("\n")


main()
