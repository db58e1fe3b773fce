"""The kernels as operators of PyTorch: `holdfast::selective_scan`, and its gradients.

A launch is on the caller's stream and waits for nothing; what it writes to is PyTorch's memory. A kernel is found by the shapes and
types of its tensors, which are checked when it is first asked for.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import _holdfast

torch: Any = import_module("torch")

INPUTS = ("u", "delta", "A", "B", "C", "D", "z", "delta_bias")
_TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}

#: The path that ran last, of each thread.
RAN = threading.local()

#: Who looks at calls: `holdfast.torch.watched` puts itself here.
WATCHES: list[Any] = []

_KERNELS: dict[Any, Any] = {}
#: Kernels of more shapes than these are looked up anew.
_MOST_KERNELS = 1024
_LOCK = threading.Lock()


def _load_nvrtc() -> None:
    """Loads the NVRTC of PyTorch's own wheel, which no path of the system leads to."""
    places = [Path(torch.__file__).parent / "lib"]
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        places += Path(folder).glob("*/lib")
    for place in places:
        for library in sorted(place.glob("libnvrtc*.so*")):
            if "builtins" not in library.name:
                try:
                    ctypes.CDLL(str(library))
                    return
                except OSError:
                    continue


_MISSING: dict[int, str | None] = {}


def missing(gpu: int) -> str | None:
    """Why no kernel can run on the GPU of this number, or None where they can."""
    if gpu not in _MISSING:
        _load_nvrtc()
        _MISSING[gpu] = _holdfast.missing(gpu)
    return _MISSING[gpu]


def _check(shapes: Sequence[Any], types: Sequence[Any]) -> list[int]:
    """Batch, dim, dstate, seqlen and groups. Raises ValueError for tensors that are no scan's."""

    def wrong(name: str, found: Any, expected: str, hint: str) -> ValueError:
        return ValueError(f"tensor `{name}` is {found}, expected {expected} (hint: {hint})")

    def shape(name: str) -> tuple[int, ...] | None:
        found = shapes[INPUTS.index(name)]
        return None if found is None else tuple(found)

    u, weights = shape("u"), shape("A")
    if u is None or len(u) != 3:
        raise wrong("u", u, "(batch, dim, seqlen)", "transpose(1, 2) turns (batch, seqlen, dim)")
    batch, dim, seqlen = u
    if weights is None or len(weights) != 2 or weights[0] != dim:
        raise wrong("A", weights, f"({dim}, dstate)", "one row for each channel of u")
    dstate = weights[1]
    groups = 1
    is_complex = types[2] == torch.complex64
    for name in ("B", "C"):
        found = shape(name) or ()
        if len(found) == 2:
            expected: tuple[int, ...] = (dim, dstate)
        else:
            own = found[1] if len(found) == 4 else 1
            groups = max(groups, own)
            expected = (batch, *found[1:-2], dstate, seqlen * (2 if is_complex else 1))
            if dim % max(own, 1):
                raise wrong(name, found, f"a number of groups that divides {dim}", "channel d reads group d // (dim // groups)")
        if found != expected:
            raise wrong(name, found, str(expected), "constant (dim, dstate), or (batch, dstate, seqlen), or with groups")
    counts = {name: (shape(name) or ())[1] if len(shape(name) or ()) == 4 else 1 for name in "BC" if len(shape(name) or ()) > 2}
    if len(set(counts.values())) > 1:
        raise wrong("C", f"of {counts['C']} groups", f"{counts['B']} as B", "repeat_interleave those of which there are fewer")
    for name, expected in (("delta", u), ("z", u), ("D", (dim,)), ("delta_bias", (dim,))):
        found = shape(name)
        if found is not None and found != expected:
            raise wrong(name, found, str(expected), f"u is {u}")
    if types[0] not in _TYPES:
        raise wrong("u", types[0], "float32, float16 or bfloat16", "use_cuda_kernel=False computes float64")
    for name, kind in zip(INPUTS, types):
        constant = len(shape(name) or ()) == 2 and name in "BC"
        of_weights = (torch.float32, torch.complex64) if name == "A" else (types[2],) if constant else (torch.float32,)
        known = of_weights if name in ("A", "D", "delta_bias") or constant else (types[0],)
        if kind is not None and kind not in known:
            raise wrong(name, kind, " or ".join(str(one) for one in known), "selective_scan_fn converts")
    return [batch, dim, dstate, seqlen, groups]


def kernel_of(
    given: Sequence[Any], delta_softplus: bool, method: str, tier: str, device: Any, backward: bool
) -> Any:
    """The kernel for tensors, or for stand-ins of theirs. This and what launches are most of a call's time: they do nothing twice."""
    key = (
        *[None if one is None else (one.shape, one.dtype, one.get_device()) for one in given],
        *(delta_softplus, method, tier, device, backward),
    )
    found = _KERNELS.get(key)
    if found is None:
        for name, one in zip(INPUTS, given):
            if one is not None and one.device != device:
                raise _elsewhere(name, one.device, device)
        shapes = [None if one is None else one.shape for one in given]
        types = [None if one is None else one.dtype for one in given]
        sizes = _check(shapes, types)
        gpu = None
        if device.type == "cuda":
            gpu = torch.cuda.current_device() if device.index is None else device.index
            if missing(gpu) is not None:
                raise RuntimeError(f"the kernels cannot run on {device}: {missing(gpu)}")
        flags = (types[2] == torch.complex64, len(shapes[3]) > 2, len(shapes[4]) > 2, given[6] is not None)
        names = (method, tier, _TYPES[types[0]])
        found = _holdfast.Kernel(names, (*flags, delta_softplus, backward), sizes, gpu)
        with _LOCK:
            if len(_KERNELS) >= _MOST_KERNELS:
                _KERNELS.clear()
            _KERNELS[key] = found
    return found


def _elsewhere(name: str, found: Any, expected: Any) -> ValueError:
    return ValueError(f"tensor `{name}` is on {found}, expected {expected} (hint: .to(u.device))")


def _addresses(tensors: Sequence[Any], kept: list[Any]) -> list[int]:
    """Where tensors lie as kernels read them: each number where it belongs, from an address that 16 divides. Copies are `kept`."""
    found = []
    for tensor in tensors:
        at = 0
        if tensor is not None:
            at = tensor.data_ptr()
            if not at:
                # Of no device, whose number is that of a CPU.
                raise _elsewhere(INPUTS[len(found)] if len(found) < 8 else "dout", tensor.device, "one with memory")
            if at % 16 or not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg():
                copy = tensor.resolve_conj().resolve_neg().contiguous()
                kept.append(copy.clone() if copy.data_ptr() % 16 else copy)
                at = kept[-1].data_ptr()
        found.append(at)
    return found


def _launch(kernel: Any, inputs: Sequence[Any], outputs: Sequence[Any], device: Any) -> None:
    on_gpu = device.type == "cuda"
    size = kernel.workspace
    room = torch.empty(size, dtype=torch.uint8, device=device) if size else None
    kept: list[Any] = []
    kernel.launch(
        _addresses(inputs, kept),
        [0 if one is None else one.data_ptr() for one in outputs],
        0 if room is None else room.data_ptr(),
        torch._C._cuda_getCurrentRawStream(device.index) if on_gpu else 0,
    )
    RAN.path = "cuda" if on_gpu else "cpu"


def forward(
    u: Any, delta: Any, A: Any, B: Any, C: Any, D: Any, z: Any, delta_bias: Any, delta_softplus: bool, method: str, tier: str
) -> tuple[Any, Any]:
    """The output and the last state."""
    given = (u, delta, A, B, C, D, z, delta_bias)
    device = u.device
    kernel = kernel_of(given, delta_softplus, method, tier, device, False)
    out, last_state = _outputs(u, A)
    _launch(kernel, given, (out, last_state), device)
    for watch in WATCHES:
        watch.saw(given, (delta_softplus, method, tier), {"out": out, "last_state": last_state})
    return out, last_state


def _outputs(u: Any, A: Any) -> tuple[Any, Any]:
    out = torch.empty_like(u, memory_format=torch.contiguous_format)
    return out, torch.empty((u.shape[0], *A.shape), dtype=A.dtype, device=A.device)


def backward(
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any,
    z: Any,
    delta_bias: Any,
    dout: Any,
    dlast_state: Any,
    delta_softplus: bool,
    method: str,
) -> list[Any]:
    """The gradients of the inputs that there are, in their order."""
    given = (u, delta, A, B, C, D, z, delta_bias)
    device = u.device
    kernel = kernel_of(given, delta_softplus, method, "accurate", device, True)
    starts = (dout.to(u.dtype), dlast_state if dlast_state is None else dlast_state.to(A.dtype))
    if dout.shape != u.shape or dlast_state is not None and dlast_state.shape != (u.shape[0], *A.shape):
        raise ValueError(f"dout is {tuple(dout.shape)}, expected {tuple(u.shape)} as u (hint: the gradient by out, and by the last state)")
    found = _gradients(given)
    outputs = iter(found)
    placed = [next(outputs) if one is not None else None for one in given]
    _launch(kernel, (*given, *starts), placed, device)
    for watch in WATCHES:
        grads = dict(zip([name for name, one in zip(INPUTS, given) if one is not None], found))
        watch.saw(given, (delta_softplus, method, "accurate"), {"dout": starts[0], "dlast_state": starts[1], "grads": grads})
    return found


def _gradients(given: Sequence[Any]) -> list[Any]:
    return [torch.empty_like(one, memory_format=torch.contiguous_format) for one in given if one is not None]


_TENSORS = "Tensor u, Tensor delta, Tensor A, Tensor B, Tensor C, Tensor? D, Tensor? z, Tensor? delta_bias"
_LIBRARY = torch.library.Library("holdfast", "DEF")
_LIBRARY.define(
    f"selective_scan({_TENSORS}, bool delta_softplus, str method, str tier) -> (Tensor, Tensor)", tags=(torch.Tag.pt2_compliant_tag,)
)
_LIBRARY.define(
    f"selective_scan_backward({_TENSORS}, Tensor dout, Tensor? dlast_state, bool delta_softplus, str method) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _fake_forward(*given: Any) -> tuple[Any, Any]:
    return _outputs(given[0], given[2])


def _fake_backward(*given: Any) -> list[Any]:
    return _gradients(given[:8])


for _device in ("CPU", "CUDA"):
    _LIBRARY.impl("selective_scan", forward, _device)
    _LIBRARY.impl("selective_scan_backward", backward, _device)
torch.library.register_fake("holdfast::selective_scan", _fake_forward, lib=_LIBRARY)
torch.library.register_fake("holdfast::selective_scan_backward", _fake_backward, lib=_LIBRARY)

SCAN = torch.ops.holdfast.selective_scan.default
_BACKWARD = torch.ops.holdfast.selective_scan_backward.default


def _function(name: str, forward: Any, backward: Any) -> Any:
    """A function that autograd knows the backward pass of."""
    return type(name, (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def _scan_forward(ctx: Any, run: Any, *given: Any) -> Any:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*given[:8])
    ctx.words = given[8:10]
    ctx.run = _gradients_of if run is forward else _dispatched_gradients
    if run is forward:
        return forward(*given)
    with torch._C._AutoDispatchBelowAutograd():
        return SCAN(*given)


def _scan_backward(ctx: Any, dout: Any, dlast_state: Any) -> tuple[Any, ...]:
    given = ctx.saved_tensors
    if dout is None:
        if dlast_state is None:
            return (None,) * 12
        dout = torch.zeros_like(given[0])
    found = iter(ctx.run(*given, dout, dlast_state, *ctx.words))
    wanted = ctx.needs_input_grad[1:]
    grads = [None if one is None else next(found) for one in given]
    return (None, *[grad if is_wanted else None for grad, is_wanted in zip(grads, wanted)], None, None, None)


def _twice(ctx: Any, *grads: Any) -> Any:
    raise RuntimeError(
        "the gradients of holdfast's selective scan are differentiated, expected one backward pass: the kernels have no second one "
        "(hint: use_cuda_kernel=False computes by PyTorch's own operations, which have)"
    )


def _gradients_forward(ctx: Any, run: Any, *given: Any) -> Any:
    if run is backward:
        return tuple(backward(*given))
    with torch._C._AutoDispatchBelowAutograd():
        return tuple(_BACKWARD(*given))


_Scan = _function("SelectiveScan", _scan_forward, _scan_backward)
_Gradients = _function("SelectiveScanBackward", _gradients_forward, _twice)


def _gradients_of(*given: Any) -> Any:
    # Grad mode is on here only where somebody means to differentiate once more.
    return _Gradients.apply(backward, *given) if torch.is_grad_enabled() else backward(*given)


def _dispatched_gradients(*given: Any) -> Any:
    return _BACKWARD(*given)


_LIBRARY.impl("selective_scan", lambda *given: _Scan.apply(None, *given), "Autograd")
_LIBRARY.impl("selective_scan_backward", lambda *given: list(_Gradients.apply(None, *given)), "Autograd")

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def scan(*given: Any) -> tuple[Any, Any]:
    """The operator; without PyTorch's dispatcher, which costs as much as the rest, where nothing listens to it."""
    is_plain = (
        not torch.compiler.is_compiling()
        and type(given[0]) in _PLAIN
        and torch._C._len_torch_dispatch_stack() == 0
        and torch._C._functorch.peek_interpreter_stack() is None
    )
    found: tuple[Any, Any] = _Scan.apply(forward, *given) if is_plain else SCAN(*given)
    return found
