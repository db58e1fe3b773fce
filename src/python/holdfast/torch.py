"""The judged kernels in the place of `selective_scan_fn`, for training with any of the six methods.

    import holdfast.torch
    with holdfast.torch.replaced(method="foh"):
        loss = model(tokens).loss; loss.backward(); optimizer.step()

On CUDA tensors they are the CUDA kernels, compiled when they are first needed; on the CPU the same source, built for it. The guide's
page on PyTorch has more.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from . import _torch as kernels
from ._capture import _owners
from ._names import called, meant
from ._recorded import of_kernels
from ._torch_layers import FUSED, layer
from ._torch_reference import scanned
from ._torch_watch import Watch

torch: Any = import_module("torch")

__all__ = ["Watch", "last_path", "prepare", "replaced", "selective_scan_fn", "watched"]

__tracebackhide__ = True

_VARIABLE = "VIM_USE_CUDA_KERNEL"
# Name of it inside of `os.environ`, whose `get` takes twenty times as long.
_ENVIRONMENT: Any = os.environ
_KEY = _ENVIRONMENT.encodekey(_VARIABLE)
# Written down, for compilers follow no call to the extension.
_METHODS = ("zoh", "foh", "bilinear", "poly", "highorder", "rk4")
_TIERS = ("accurate", "fast")


def last_path() -> str | None:
    """What computed the last scan of this thread: "cuda", "cpu" for the CPU build of the kernels, or "reference" for PyTorch's own
    operations; None before the first. Gradients count as scans."""
    return getattr(kernels.RAN, "path", None)


def _forced(use_cuda_kernel: bool | None) -> tuple[bool | None, str]:
    """Which path is asked for, and by what."""
    if use_cuda_kernel is not None:
        return bool(use_cuda_kernel), f"use_cuda_kernel={use_cuda_kernel}"
    value = os.environ.get(_VARIABLE)
    if value not in (None, "0", "1"):
        raise ValueError(f"{_VARIABLE} is `{value}`, expected 0 or 1 (hint: unset it to select automatically)")
    return None if value is None else value == "1", f"{_VARIABLE}={value}"


def _unsuited(u: Any, A: Any) -> str | None:
    """Why no kernel takes these, or None where one does."""
    if u.device.type == "cuda":
        if not torch.compiler.is_compiling():
            return kernels.missing(u.device.index)
    elif u.device.type != "cpu":
        return f"u is on {u.device}"
    if u.dtype == torch.float64:
        return "u is float64"
    return f"dstate is {A.shape[-1]}, above 256" if A.shape[-1] > 256 else None


def _has_kernel(u: Any, A: Any, use_cuda_kernel: bool | None, tier: str) -> bool:
    """Whether a kernel is to run. Raises RuntimeError where one was asked for and none can."""
    asked, by = _forced(use_cuda_kernel)
    if asked is False:
        if tier != "accurate":
            raise ValueError(f'tier is `{tier}` with {by}, expected "accurate" (hint: the reference path has no other one)')
        return False
    why = _unsuited(u, A)
    if asked and why is None and u.device.type != "cuda":
        why = f"u is on {u.device}"
    if why is None:
        return True
    if asked or tier != "accurate":
        by = by if asked else f'tier="{tier}"'
        raise RuntimeError(f"{by} asks for the kernels, which cannot run: {why} (hint: leave it out to select automatically)")
    if u.dtype != torch.float64:
        warnings.warn(f"holdfast.torch runs PyTorch's own operations: {why}", stacklevel=3)
    return False


def _converted(given: Sequence[Any]) -> list[Any]:
    """Sequences in the widest of their types, and weights in float32 or complex64: what kernels take."""
    u, delta, A, B, C, D, z, delta_bias = given
    weights = torch.complex64 if A.is_complex() else torch.float32
    # As the published function has complex ones: re and im in turn.
    B, C = (torch.view_as_real(x).flatten(-2) if x.dim() > 2 and x.is_complex() else x for x in (B, C))
    kind = u.dtype
    for x in (delta, z, *[x for x in (B, C) if x.dim() > 2]):
        kind = kind if x is None else torch.promote_types(kind, x.dtype)
    kind = torch.float32 if kind == torch.float64 else kind
    B, C = (x.to(kind if x.dim() > 2 else weights) for x in (B, C))
    D, delta_bias = (x if x is None else x.float() for x in (D, delta_bias))
    return [u.to(kind), delta.to(kind), A.to(weights), B, C, D, z if z is None else z.to(kind), delta_bias]


#: A step that leaves every state as it is: |A| times it is below half a rounding of 1 up to 2¹⁵.
_STILL = 2.0**-40


def _from_state(given: Sequence[Any], delta_softplus: bool, initial_state: Any, method: str) -> tuple[list[Any], int]:
    """The run with positions before its first, after which the state is the initial one: the kernels start from zero. Each brings one
    number of the state, by a B that has this number alone. Returns how many there are."""
    wide: list[Any] = [x if x is None or x.is_complex() else x.float() for x in given]
    u, delta, A, B, C, D, z, delta_bias = wide
    batch, dim, _ = u.shape
    dstate, width = A.shape[1], 2 if A.is_complex() else 1
    if initial_state.shape != (batch, *A.shape):
        raise ValueError(
            f"initial_state is {tuple(initial_state.shape)}, expected {(batch, *A.shape)} (hint: the last state of the run before it)"
        )
    if delta_bias is not None:
        delta = delta + delta_bias[:, None]
    if delta_softplus:
        delta = torch.nn.functional.softplus(delta)
    count = dstate * width
    state = initial_state.to(A.dtype)
    numbers = (torch.view_as_real(state) if width == 2 else state).reshape(batch, dim, count)
    # B̄ of foh is ½Δ²B here, and ΔB of the others.
    brought = torch.cat([numbers * (2 / _STILL if method == "foh" else 1), u], -1)

    def sequence(x: Any, value: float) -> Any:
        return torch.cat([x.new_full((*x.shape[:-1], x.shape[-1] // u.shape[-1] * count), value), x], -1)

    if B.dim() == 2:
        B = (torch.view_as_real(B).flatten(-2) if width == 2 else B)[None].unflatten(-1, (dstate, width)).repeat(1, 1, 1, u.shape[-1])
        B = B.expand(batch, -1, -1, -1)
        if C.dim() > 2:
            C = C if C.dim() == 4 else C[:, None]
            C = C.repeat_interleave(dim // C.shape[1], 1)
    one_each = torch.eye(count, device=u.device).reshape(dstate, width, count).transpose(1, 2).reshape(dstate, -1) / _STILL
    B = torch.cat([one_each.expand(*B.shape[:-1], -1), B], -1)
    C = C if C.dim() == 2 else sequence(C, 0)
    return [brought, sequence(delta, _STILL), A, B, C, D, z if z is None else sequence(z, 0), None], count


def selective_scan_fn(
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    z: Any = None,
    delta_bias: Any = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
    discretization_method: str = "zoh",
    use_cuda_kernel: bool | None = None,
    tier: str = "accurate",
    initial_state: Any = None,
) -> Any:
    """The selective scan of mamba_ssm's function of this name, whose arguments and results it has, by any of the six methods.

    u, delta, z: (batch, dim, seqlen) in float32, float16 or bfloat16; of different types the widest is computed with
    A: (dim, dstate), real or complex; B and C: (dim, dstate), (batch, dstate, seqlen) or (batch, groups, dstate, seqlen), of complex
        weights with re and im in turn along the sequence, or complex; D, delta_bias: (dim)
    discretization_method: zoh, foh, bilinear, poly, highorder or rk4
    use_cuda_kernel: True for the CUDA kernels or an error, False for PyTorch's own operations in float32; None for the variable
        VIM_USE_CUDA_KERNEL (1 or 0), and where it is not set for the kernels wherever they can run. `last_path` says what ran
    tier: of the kernels' forward pass, "accurate" or "fast"
    initial_state: (batch, dim, dstate), from which the scan goes on

    Returns out, as u; with return_last_state a tuple of it and the state after the last position, (batch, dim, dstate) in float32 or
    complex64. Both can be differentiated, once.

    Raises ValueError for tensors and names that are no scan's, and RuntimeError for kernels that were asked for and cannot run.
    """
    given: Any = (u, delta, A, B, C, D, z, delta_bias)
    words = (bool(delta_softplus), discretization_method, tier)
    if use_cuda_kernel is None and initial_state is None and kernels.is_plain(u) and _KEY not in _ENVIRONMENT._data:
        # A training loop's call, but for the first one.
        found = kernels.planned(given, words)
        if found is not None:
            return found if return_last_state else found[0]
    if discretization_method not in _METHODS or tier not in _TIERS:
        tier = meant("tier", tier, _TIERS, "accurate is what everything else judges")
        words = (words[0], of_kernels(discretization_method), tier)
    before = 0
    if not _has_kernel(u, A, use_cuda_kernel, words[2]):
        kernels.RAN.path = "reference"
        out, last_state = scanned(u, delta, A, B, C, D, z, delta_bias, words[0], initial_state, words[1])
    else:
        given = _converted(given)
        if initial_state is not None:
            given, before = _from_state(given, words[0], initial_state, words[1])
            words = (False, *words[1:])
        out, last_state = kernels.scan(given, words)
    out = (out[..., before:] if before else out).to(u.dtype)
    return (out, last_state) if return_last_state else out


class _Stand(NamedTuple):
    """What a kernel is found by, of a tensor."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any

    def get_device(self) -> int:
        """As a tensor has it."""
        return -1 if self.device.index is None else int(self.device.index)


@called
def prepare(
    what: Any,
    *,
    method: str = "zoh",
    tier: str = "accurate",
    batch: int = 1,
    seqlen: int = 2048,
    dtype: Any = None,
    device: Any = None,
    groups: int = 1,
    gate: bool = True,
    weights: Any = None,
    gradients: bool = True,
) -> int:
    """Compiles kernels, or loads them from the disk, before a first call needs them, which takes seconds each. Returns how many.

    what: a model with layers of Mamba, whose sizes it has; or (batch, dim, seqlen, dstate), or a list of such
    batch, seqlen: what the model is going to be called with: a kernel may be another one where channels are few
    dtype, device: of u; those of the model's weights, else float32 on the current GPU
    groups, gate, weights: of B and C, which vary along the sequence; whether there is a z; the type of A, float32 or complex64
    gradients: whether the backward pass is prepared, too

    Raises ValueError for a model without such layers, and RuntimeError where kernels cannot run.
    """
    method, tier = of_kernels(method), meant("tier", tier, _TIERS, "accurate is what everything else judges")
    if isinstance(what, torch.nn.Module):
        found = {tuple(one.A_log.shape): one.A_log for one in what.modules() if getattr(one, "A_log", None) is not None}
        layers = {shape: log for shape, log in found.items() if len(shape) == 2}
        if not layers:
            raise ValueError(f"{type(what).__name__} has no layer with A_log (dim, dstate), expected Mamba's (hint: give shapes)")
        weight = next(iter(layers.values()))
        dtype, device = dtype or weight.dtype, device or weight.device
        shapes = [(batch, dim, seqlen, dstate) for dim, dstate in layers]
    else:
        shapes = [what] if isinstance(what[0], int) else list(what)
    dtype, weights = dtype or torch.float32, weights or torch.float32
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    asked = []
    for one, dim, length, dstate in shapes:
        positions = length * (2 if weights.is_complex else 1)
        of_inputs, of_weights = (one, dim, length), (one, groups, dstate, positions)
        sequence, operand = (_Stand(shape, dtype, device) for shape in (of_inputs, of_weights))
        A, bias = _Stand((dim, dstate), weights, device), _Stand((dim,), torch.float32, device)
        given = (sequence, sequence, A, operand, operand, bias, sequence if gate else None, bias)
        asked += [(given, True, method, tier, device, False), (given, True, method, "accurate", device, True)][: 1 + gradients]
    with ThreadPoolExecutor() as threads:
        return len(list(threads.map(lambda one: kernels.kernel_of(*one), asked)))


@called
@contextmanager
def replaced(method: str = "zoh", use_cuda_kernel: bool | None = None, tier: str = "accurate") -> Iterator[list[str]]:
    """Puts the kernels in the place of the scans of mamba_ssm, Vim's copy of it and transformers that are imported, with this method,
    until the end of the block. Gives the names of what is replaced.

    A scan that is fused with the layers around it is replaced by these layers in PyTorch's own operations, around the kernels:
    `mamba_inner_fn`, Vim's `mamba_inner_fn_no_out_proj` and `bimamba_inner_fn`. transformers goes on by what it runs without kernels.
    Compiled code that was traced before keeps what it has.

    Raises ValueError where nothing is imported that it knows.
    """
    words = {"discretization_method": of_kernels(method), "use_cuda_kernel": use_cuda_kernel, "tier": tier}

    def of_mamba(*given: Any, **named: Any) -> Any:
        return selective_scan_fn(*given, **{**words, **named})

    def of_transformers(hidden_states: Any, dt: Any, *given: Any, **named: Any) -> Any:
        for name in ("use_mambapy", "use_associative_scan"):
            named.pop(name, None)
        return selective_scan_fn(hidden_states, dt, *given, **{**words, **named})

    interface = "mamba_ssm.ops.selective_scan_interface"
    table = [
        (interface, "selective_scan_fn", of_mamba),
        (interface, "selective_scan_ref", of_mamba),
        *[(interface, name, layer(name, of_mamba)) for name in FUSED],
        ("transformers.models", "mamba_selective_scan", of_transformers),
        # It has none where its kernels are not installed, and its layers go on by themselves.
        ("transformers.models", "mamba_inner_fn", lambda *given, **named: None),
    ]
    undo: list[tuple[Any, str, Any]] = []
    names = []
    try:
        for where, name, ours in table:
            for found, original in list(_owners(where, name)):
                names.append(found)
                for module in list(sys.modules.values()):
                    if getattr(module, "__dict__", {}).get(name) is original:
                        undo.append((module, name, original))
                        setattr(module, name, ours)
        if not names:
            raise ValueError("no module with a selective scan is imported, expected mamba_ssm or transformers' (hint: import the model first)")
        yield names
    finally:
        for module, name, original in reversed(undo):
            setattr(module, name, original)


@called
@contextmanager
def watched(every: int = 1000, channels: int = 64, seed: int = 0) -> Iterator[Watch]:
    """Has each so many-th scan and each so many-th backward pass by the kernels judged beside the training, on channels that are drawn
    anew each time, and warns with the finding of one that is wrong.

        with holdfast.torch.watched(every=1000) as watch:
            train(model)
        print(watch)

    channels: how many channels of an item are judged, over all items of the batch: about so many rows

    The numbers that are judged are copied on the call's own stream, and an eighth of this machine's threads judge them. While they do, no
    other call is judged but the one after. Gradients of B and C are sums over the channels of a group, and are judged where all of these
    are. Nothing is watched while a CUDA graph is recorded.
    """
    watch = Watch(every, channels, seed)
    kernels.WATCHES.append(watch)
    try:
        yield watch
    finally:
        kernels.WATCHES.remove(watch)
        watch.finish()
