"""The selective scan in plain operations of PyTorch, one position after the other, by the formulas of spec.md §2: in float32, or in
float64 where u is. It is the path that runs without a kernel, and what kernels are compared with; z = ΔA is rounded in it."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

torch: Any = import_module("torch")


def _phi(z: Any) -> tuple[Any, Any, Any]:
    """φ₁, φ₂ and φ₃ (spec.md §1), by a series where the closed forms cancel, and with finite derivatives on both sides."""
    is_small = z.abs() < 1
    near, far = torch.where(is_small, z, 0), torch.where(is_small, 1, z)
    # Upwards by φₖ = 1/k! + z φₖ₊₁; what follows the last term of φ₃ is below a rounding.
    series = torch.full_like(near, 1 / math.factorial(22))
    for k in range(21, 2, -1):
        series = series * near + 1 / math.factorial(k)
    small = (series * near + 0.5) * near + 1, series * near + 0.5, series
    phi1 = torch.expm1(far) / far
    phi2 = (phi1 - 1) / far
    large = phi1, phi2, (phi2 - 0.5) / far
    first, second, third = (torch.where(is_small, one, other) for one, other in zip(small, large))
    return first, second, third


def _discretized(method: str, delta: Any, A: Any) -> tuple[Any, Any]:
    """Ā, and B̄ for B = 1."""
    z = delta * A
    if method == "bilinear":
        below = 1 - z / 2
        return (1 + z / 2) / below, delta / below
    if method == "zoh":
        return torch.exp(z), delta.to(z.dtype)
    if method == "rk4":
        return torch.exp(z), delta * (1 + z * (0.5 + z * (1 / 6 + z / 24)))
    phi1, phi2, phi3 = _phi(z)
    held = {
        "foh": lambda: delta * delta * phi2,
        "poly": lambda: delta * (phi1 + delta / 2 * phi2),
        "highorder": lambda: delta * (phi1 + delta * (phi2 + delta / 2 * phi3)),
    }
    return torch.exp(z), held[method]()


def scanned(
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any,
    z: Any,
    delta_bias: Any,
    delta_softplus: bool,
    initial_state: Any,
    method: str,
) -> tuple[Any, Any]:
    """The output, of u's type, and the last state. B and C are constant, or (batch[, groups], dstate, seqlen)."""
    real = torch.float64 if u.dtype == torch.float64 else torch.float32
    kind = real if not A.is_complex() else torch.complex128 if real == torch.float64 else torch.complex64
    batch, dim, seqlen = u.shape
    kept, u, A = u.dtype, u.to(real), A.to(kind)

    def full(operand: Any) -> Any:
        """By position, for every channel."""
        if operand.dim() == 2:
            return operand.to(kind)[None, :, :, None].expand(batch, dim, -1, seqlen)
        operand = operand[:, None] if operand.dim() == 3 else operand
        if A.is_complex() and not operand.is_complex():
            operand = torch.view_as_complex(operand.to(real).unflatten(-1, (seqlen, 2)).contiguous())
        return operand.to(kind).repeat_interleave(dim // operand.shape[1], 1)

    B, C = full(B), full(C)
    delta = delta.to(real)
    if delta_bias is not None:
        delta = delta + delta_bias.to(real)[:, None]
    if delta_softplus:
        delta = torch.nn.functional.softplus(delta)
    a_bar, b_bar = _discretized(method, delta[:, :, None], A[None, :, :, None])
    terms = b_bar * B * u[:, :, None]

    def scan(x: Any, positions: Any) -> tuple[Any, Any]:
        y = [torch.empty(0)] * seqlen
        for l in positions:
            x = a_bar[..., l] * x + terms[..., l]
            y[l] = (C[..., l] * x).sum(-1)
        return torch.stack(y, -1), x

    zero = torch.zeros_like(terms[..., 0])
    y, last_state = scan(zero if initial_state is None else initial_state.to(kind), range(seqlen))
    if method == "poly":
        y = (y + scan(zero, reversed(range(seqlen)))[0]) / 2
    if A.is_complex():
        y = 2 * y.real
    if D is not None:
        y = y + D.to(real)[:, None] * u
    if z is not None:
        y = y * torch.nn.functional.silu(z.to(real))
    return y.to(kept), last_state
