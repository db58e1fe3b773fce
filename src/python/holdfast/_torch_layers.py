"""Mamba's layer and Vim's in PyTorch's own operations around a scan, by the arguments of the functions that fuse them.

A fused layer has its scan inside, where nothing can be put in its place. The reference that mamba_ssm has beside it wants a package for
CUDA, and takes no norms.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

torch: Any = import_module("torch")

_FIRST = ("xz", "conv1d_weight", "conv1d_bias", "x_proj_weight", "delta_proj_weight")
_OUT = ("out_proj_weight", "out_proj_bias")
_MORE = ("B", "C", "D", "delta_bias", "B_proj_bias", "C_proj_bias", "delta_softplus", "checkpoint_lvl")
_NORMS = ("b_rms_weight", "c_rms_weight", "dt_rms_weight", "b_c_dt_rms_eps")

#: The arguments of each fused function, in their order.
FUSED = {
    "mamba_inner_fn": (*_FIRST, *_OUT, "A", *_MORE, *_NORMS),
    "mamba_inner_fn_no_out_proj": (*_FIRST, "A", *_MORE),
    "bimamba_inner_fn": (*_FIRST, *_OUT, "A", "A_b", *_MORE),
}


def layer(name: str, scan: Callable[..., Any]) -> Callable[..., Any]:
    """The fused function of this name around a scan that takes what mamba_ssm's `selective_scan_fn` does."""
    names = FUSED[name]

    def run(*given: Any, **named: Any) -> Any:
        unknown = [one for one in named if one not in names]
        if len(given) > len(names) or unknown:
            found = ", ".join(unknown) or f"{len(given)} of them"
            raise TypeError(f"{name}() has the arguments {', '.join(names)}, found {found} (hint: as mamba_ssm's or Vim's function has them)")
        return _layer(scan, **dict(zip(names, given)), **named)

    return run


def _layer(
    scan: Callable[..., Any],
    xz: Any,
    conv1d_weight: Any,
    conv1d_bias: Any,
    x_proj_weight: Any,
    delta_proj_weight: Any,
    A: Any,
    A_b: Any = None,
    out_proj_weight: Any = None,
    out_proj_bias: Any = None,
    B: Any = None,
    C: Any = None,
    D: Any = None,
    delta_bias: Any = None,
    B_proj_bias: Any = None,
    C_proj_bias: Any = None,
    delta_softplus: bool = True,
    checkpoint_lvl: int = 1,
    b_rms_weight: Any = None,
    c_rms_weight: Any = None,
    dt_rms_weight: Any = None,
    b_c_dt_rms_eps: float = 1e-6,
) -> Any:
    """(batch, seqlen, features), or without `out_proj_weight` (batch, dim, seqlen).

    xz: (batch, 2 dim, seqlen), what the convolution takes and below it what the gate takes; conv1d_weight: (dim, 1, width)
    x_proj_weight: (rank + 2 dstate, dim), complex (rank + 4 dstate, dim): Δ, B and C of a position. A B or C that is given is a constant
    A_b: of a second scan that goes through the sequence from its end; both are added up
    checkpoint_lvl: not used; PyTorch keeps for the backward pass what its operations need
    """
    functional = torch.nn.functional
    seqlen, reach, width = xz.shape[-1], conv1d_weight.shape[-1] - 1, 2 if A.is_complex() else 1
    rank, count = delta_proj_weight.shape[1], A.shape[-1] * width
    x, z = xz.chunk(2, dim=1)
    x = functional.conv1d(x, conv1d_weight, conv1d_bias, padding=reach, groups=x.shape[1])[..., :seqlen]
    x = functional.silu(x)
    projected = functional.linear(x.transpose(1, 2), x_proj_weight)

    def normed(x: Any, weight: Any) -> Any:
        return x if weight is None else functional.rms_norm(x, weight.shape, weight, b_c_dt_rms_eps)

    def operand(columns: Any, bias: Any, weight: Any) -> Any:
        columns = normed(columns if bias is None else columns + bias.to(columns.dtype), weight)
        # Re and im in turn along the sequence.
        return columns.unflatten(-1, (-1, width)).transpose(1, 2).flatten(-2)

    delta = normed(functional.linear(projected[..., :rank], delta_proj_weight), dt_rms_weight).transpose(1, 2)
    B = operand(projected[..., rank : rank + count], B_proj_bias, b_rms_weight) if B is None else B
    C = operand(projected[..., projected.shape[-1] - count :], C_proj_bias, c_rms_weight) if C is None else C

    def flipped(x: Any) -> Any:
        # Re stays before im, and constants have no positions.
        return x if x.dim() < 3 else x.unflatten(-1, (seqlen, -1)).flip(-2).flatten(-2)

    words = {"delta_bias": delta_bias, "delta_softplus": delta_softplus}
    out = scan(x, delta, A, B, C, D, z=z, **words)
    if A_b is not None:
        u, step, later_B, later_C, gate = map(flipped, (x, delta, B, C, z))
        out = out + flipped(scan(u, step, A_b, later_B, later_C, D, z=gate, **words))
    return out if out_proj_weight is None else functional.linear(out.transpose(1, 2), out_proj_weight, out_proj_bias)
