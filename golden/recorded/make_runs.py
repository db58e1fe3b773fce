"""Records the runs of this folder: a sequential selective scan (spec.md §3) in PyTorch, saved by the guide's `record`.

    pip install torch safetensors numpy
    python3 make_runs.py

The scan shares nothing with the harness. φ-functions come from f64: a power series near 0, closed forms elsewhere.
"""

import math
import pathlib
import re

import torch

HERE = pathlib.Path(__file__).resolve().parent
PAGE = (HERE.parent.parent / "src" / "guide" / "recordings.md").read_text(encoding="utf-8")
# The very lines that the guide shows.
exec(re.search(r"```python\n(.*?def record.*?)```", PAGE, re.S).group(1))

METHODS = ["zoh", "foh", "bilinear", "poly", "highorder", "rk4"]


def phi(z):
    """φ₁, φ₂ and φ₃ of z, in z's type."""
    wide = z.to(torch.complex128 if z.is_complex() else torch.float64)
    small = wide.abs() < 0.5
    safe = torch.where(small, torch.ones_like(wide), wide)
    e = torch.exp(safe)
    closed = [(e - 1) / safe, (e - 1 - safe) / safe**2, (e - 1 - safe - safe**2 / 2) / safe**3]
    values = []
    for k, value in enumerate(closed, start=1):
        term = torch.ones_like(wide) / math.factorial(k)
        series = torch.zeros_like(wide)
        for i in range(1, 25):
            series = series + term
            term = term * wide / (k + i)
        values.append(torch.where(small, series, value).to(z.dtype))
    return values


def coefficients(method, delta, A):
    """Ā, and B̄/B (spec.md §2)."""
    z = delta * A
    p1, p2, p3 = phi(z)
    a_bar = (1 + z / 2) / (1 - z / 2) if method == "bilinear" else torch.exp(z)
    b_bar = {
        "zoh": lambda: delta * torch.ones_like(z),
        "foh": lambda: delta**2 * p2,
        "bilinear": lambda: delta / (1 - z / 2),
        "poly": lambda: delta * p1 + 0.5 * delta**2 * p2,
        "highorder": lambda: delta * p1 + delta**2 * p2 + 0.5 * delta**3 * p3,
        "rk4": lambda: delta * (1 + z / 2 + z**2 / 6 + z**3 / 24),
        "exact zoh": lambda: delta * p1,
    }[method]()
    return a_bar, b_bar


def scan(method, u, delta, A, B, C, D, z, delta_bias):
    """out and last_state; softplus, bias, skip and gate are on, B and C vary."""
    batch, dim, seqlen = u.shape
    delta = torch.nn.functional.softplus(delta.float() + delta_bias[None, :, None])

    def operand(x):
        x = x.float()
        if A.is_complex():
            x = torch.view_as_complex(x.reshape(*x.shape[:-1], seqlen, 2).contiguous())
        return x.repeat_interleave(dim // x.shape[1], dim=1)

    B, C = operand(B), operand(C)
    a_bar, b_bar = coefficients(method, delta[:, :, None, :], A[None, :, :, None])
    b_u = b_bar * B * u.float()[:, :, None, :]

    def run(order):
        x = torch.zeros(batch, dim, A.shape[1], dtype=A.dtype)
        y = torch.zeros(batch, dim, seqlen)
        for l in order:
            x = a_bar[..., l] * x + b_u[..., l]
            s = (C[..., l] * x).sum(-1)
            y[..., l] = 2 * s.real if A.is_complex() else s
        return y, x

    y, last_state = run(range(seqlen))
    if method == "poly":
        y = 0.5 * (y + run(reversed(range(seqlen)))[0])
    y = (y + D[None, :, None] * u.float()) * torch.nn.functional.silu(z.float())
    return y.to(u.dtype), last_state


def inputs(dtype, weights, batch=2, dim=4, dstate=4, seqlen=32, groups=2):
    n = torch.arange(dstate).float().repeat(dim, 1)
    width = 2 if weights == "complex" else 1
    randn = torch.randn
    return {
        "u": randn(batch, dim, seqlen).to(dtype),
        "delta": (0.5 * randn(batch, dim, seqlen)).to(dtype),
        "A": torch.complex(-0.5 * torch.ones_like(n), math.pi * n) if weights == "complex" else -(n + 1),
        "B": randn(batch, groups, dstate, seqlen * width).to(dtype),
        "C": randn(batch, groups, dstate, seqlen * width).to(dtype),
        "D": randn(dim),
        "z": randn(batch, dim, seqlen).to(dtype),
        "delta_bias": torch.full((dim,), -3.0),
    }


def main():
    torch.manual_seed(0)
    source = "golden/recorded/make_runs.py"
    for name, dtype, weights in [
        ("torch-bf16-real", torch.bfloat16, "real"),
        ("torch-f16-complex", torch.float16, "complex"),
        ("torch-f32-complex", torch.float32, "complex"),
    ]:
        given, outputs = inputs(dtype, weights), {}
        for method in METHODS:
            outputs[f"out.{method}"], outputs[f"last_state.{method}"] = scan(method, **given)
        record(HERE / f"{name}.safetensors", given, outputs, delta_softplus=True, source=source)
    given = inputs(torch.float32, "real")
    outputs = {"out.zoh": scan("zoh", **given)[0], "out.foh": scan("exact zoh", **given)[0]}
    record(
        HERE / "foh-as-exact-zoh.safetensors",
        given,
        outputs,
        delta_softplus=True,
        source=source + ", planted bug: foh computed as exact zoh",
    )


if __name__ == "__main__":
    main()
