#!/usr/bin/env python3
"""Recordings of backward passes: PyTorch's autograd in f32 through a plain loop over the sequence, one step of spec.md §2 after
the other, for all six methods; and one that is wrong, foh's scan with the backward pass of zoh.

    python make_backward.py

needs torch and safetensors. Inputs are drawn by PyTorch's generator on a CPU, so that a run repeats the numbers of its version.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
BATCH, DIM, GROUPS, DSTATE, SEQLEN = 2, 4, 2, 4, 48


def series(z, k):
    """φₖ of small z."""
    total, term = 0.0, 1.0
    for i in range(1, k + 1):
        term /= i
    for i in range(1, 14):
        total = total + term * z ** (i - 1)
        term /= k + i
    return total


def phi(z, k):
    """φₖ(z) of spec.md §1: by its series near 0, else by its closed form."""
    near = z.abs() < 1
    far = torch.where(near, torch.ones_like(z), z)
    closed = torch.expm1(far) / far if not z.is_complex() else (torch.exp(far) - 1) / far
    for inverse in [1.0, 0.5][: k - 1]:
        closed = (closed - inverse) / far
    return torch.where(near, series(torch.where(near, z, torch.zeros_like(z)), k), closed)


def coefficients(method, delta, a):
    """Ā, and B̄ for B = 1."""
    z = delta * a
    if method == "bilinear":
        return (1 + z / 2) / (1 - z / 2), delta / (1 - z / 2)
    h = {
        "zoh": lambda: delta,
        "foh": lambda: delta**2 * phi(z, 2),
        "poly": lambda: delta * phi(z, 1) + delta**2 * phi(z, 2) / 2,
        "highorder": lambda: delta * phi(z, 1) + delta**2 * phi(z, 2) + delta**3 * phi(z, 3) / 2,
        "rk4": lambda: delta * (1 + z / 2 + z**2 / 6 + z**3 / 24),
    }[method]()
    return torch.exp(z), h


def scan(method, u, delta, A, B, C, D, z, delta_bias):
    step = torch.nn.functional.softplus(delta + delta_bias[:, None])
    of_group = torch.arange(DIM) // (DIM // GROUPS)
    b, c = B[:, of_group], C[:, of_group]

    def one_way(positions):
        x, read = torch.zeros(BATCH, DIM, DSTATE, dtype=A.dtype), {}
        for l in positions:
            a_bar, h = coefficients(method, step[:, :, l, None], A)
            x = a_bar * x + h * b[..., l] * u[:, :, l, None]
            y = (c[..., l] * x).sum(-1)
            read[l] = 2 * y.real if y.is_complex() else y
        return torch.stack([read[l] for l in range(SEQLEN)], -1), x

    y, last = one_way(range(SEQLEN))
    if method == "poly":
        y = (y + one_way(reversed(range(SEQLEN)))[0]) / 2
    return (y + D[:, None] * u) * torch.nn.functional.silu(z), last


def inputs(is_complex):
    torch.manual_seed(20261123)
    rate = -torch.rand(DIM, DSTATE) * torch.arange(1, DSTATE + 1) - 0.1
    operand = lambda: torch.randn(BATCH, GROUPS, DSTATE, SEQLEN, dtype=torch.complex64 if is_complex else torch.float32)
    return {
        "u": torch.randn(BATCH, DIM, SEQLEN),
        "delta": torch.randn(BATCH, DIM, SEQLEN) - 2,
        "A": torch.complex(rate, torch.randn(DIM, DSTATE) * 3) if is_complex else rate,
        "B": operand(),
        "C": operand(),
        "D": torch.randn(DIM),
        "z": torch.randn(BATCH, DIM, SEQLEN),
        "delta_bias": torch.randn(DIM) / 10,
    }


def gradients(method, given, dout, dlast):
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in given.items()}
    out, last = scan(method, **leaves)
    torch.autograd.backward([out, last], [dout, dlast])
    return {name: leaf.grad.contiguous() for name, leaf in leaves.items()}


def save(name, given, losses, passes):
    recorded = {f"grad.{tensor}.{method}": value for method, of in passes.items() for tensor, value in of.items()}
    about = {"delta_softplus": "true", "torch": torch.__version__, "device": "cpu"}
    save_file({**given, **losses, **recorded}, HERE / f"{name}.safetensors", about)


def main():
    torch.set_num_threads(1)
    for is_complex in (False, True):
        given = inputs(is_complex)
        dout, dlast = torch.randn(BATCH, DIM, SEQLEN), torch.randn(BATCH, DIM, DSTATE, dtype=given["A"].dtype)
        losses = {"dout": dout, "dlast_state": dlast}
        methods = ("zoh", "foh", "bilinear", "poly", "highorder", "rk4")
        passes = {method: gradients(method, given, dout, dlast) for method in methods}
        save(f"backward-torch-{'complex' if is_complex else 'real'}", given, losses, passes)
        if not is_complex:
            save("backward-of-zoh-for-foh", given, losses, {"foh": passes["zoh"]})


if __name__ == "__main__":
    main()
