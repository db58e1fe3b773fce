"""The kernels as operators of PyTorch: `holdfast::selective_scan`, and its gradients.

A launch is on the caller's stream and waits for nothing; what it writes to is PyTorch's memory. A kernel is found by the shapes and
types of its tensors, which are checked when it is first asked for; tensors like those of an earlier call are known by PyTorch's own guard.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Mapping, Sequence
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

#: Guards of PyTorch's compiled code, and how that takes memory: on the current device, past the dispatcher.
_GUARDS = torch._C._dynamo.guards


class _Compiled:
    """A kernel, and what each of its calls needs."""

    __slots__ = ("empty", "gpu", "launch", "outputs", "room")

    def __init__(self, kernel: Any, outputs: Sequence[Any], gpu: int | None) -> None:
        self.launch, self.gpu = kernel.launch, gpu
        self.empty = _GUARDS._empty_strided_cpu if gpu is None else _GUARDS._empty_strided_cuda
        #: Sizes, strides and type of each output, and of the memory beside the tensors.
        self.outputs = [one and (one[0], tuple(math.prod(one[0][i + 1 :]) for i in range(len(one[0]))), one[1]) for one in outputs]
        self.room = ((kernel.workspace,), (1,), torch.uint8) if kernel.workspace else None


_KERNELS: dict[Any, _Compiled] = {}
#: Kernels of more shapes than these are looked up anew.
_MOST_KERNELS = 1024
_LOCK = threading.Lock()

#: Plans of calls by the shape of u and by words, the newest first. Each has the guard that knows tensors like those of its call, in a state
#: of the dispatcher like its own; a kernel; whether all lie as kernels read them; and whether one requires grad.
_PLANS: dict[Any, list[tuple[Any, _Compiled, bool, bool]]] = {}
#: Calls of more kinds than these are planned anew.
_MOST_PLANS = 8
#: Stand-ins for a D, z and delta_bias that are left out. Guards ask for another object in each place.
_ABSENT = [torch.empty(0, device="meta") for _ in range(3)]


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


def _check(given: Mapping[str, Any]) -> list[int]:
    """Batch, dim, dstate, seqlen and groups. Raises ValueError for tensors that are no scan's."""

    def known(name: str, found: Any, expected: Sequence[Any], hint: str) -> None:
        if found not in expected:
            words = " or ".join(str(one) for one in expected)
            raise ValueError(f"tensor `{name}` is {found}, expected {words} (hint: {hint})")

    shapes = {name: tuple(one.shape) for name, one in given.items()}
    u, weights = shapes["u"], given["A"].dtype
    if len(u) != 3:
        known("u", u, ["(batch, dim, seqlen)"], "transpose(1, 2) turns (batch, seqlen, dim)")
    batch, dim, seqlen = u
    dstate = shapes["A"][-1] if shapes["A"] else 1
    known("A", shapes["A"], [(dim, dstate)], "(dim, dstate), one row for each channel of u")
    groups = {name: shapes[name][1] if len(shapes[name]) == 4 else 1 for name in "BC" if len(shapes[name]) > 2}
    positions = seqlen * (2 if weights.is_complex else 1)
    for name in "BC":
        own = groups.get(name, 1)
        if dim % max(own, 1):
            known(name, f"of {own} groups", [f"a number that divides {dim}"], "channel d reads group d // (dim // groups)")
        variable = [(batch, dstate, positions), (batch, own, dstate, positions)][:: 1 if len(shapes[name]) < 4 else -1]
        hint = "constant (dim, dstate), or (batch, dstate, seqlen), or (batch, groups, dstate, seqlen)"
        known(name, shapes[name], [(dim, dstate)] if name not in groups else variable, hint)
    if len(set(groups.values())) > 1:
        known("C", f"of {groups['C']} groups", [f"{groups['B']} as B"], "repeat_interleave those of which there are fewer")
    for name, expected in (("delta", u), ("z", u), ("D", (dim,)), ("delta_bias", (dim,))):
        if name in shapes:
            known(name, shapes[name], [expected], f"u is {u}")
    known("u", given["u"].dtype, list(_TYPES), "use_cuda_kernel=False computes float64")
    for name, one in given.items():
        is_sequence = name in ("u", "delta", "z") or name in groups
        types = [given["u"].dtype] if is_sequence else [torch.float32, torch.complex64] if name == "A" else [torch.float32]
        known(name, one.dtype, [weights] if name in "BC" and not is_sequence else types, "selective_scan_fn converts")
    return [batch, dim, dstate, seqlen, groups.get("B", groups.get("C", 1))]


def _key(given: Sequence[Any], *words: Any) -> Any:
    return *words, *[None if one is None else (one.shape, one.dtype, one.get_device()) for one in given]


def kernel_of(
    given: Sequence[Any], delta_softplus: bool, method: str, tier: str, device: Any, backward: bool
) -> Any:
    """The kernel for tensors, or for stand-ins of theirs."""
    key = _key(given, delta_softplus, method, tier, backward)
    found = _KERNELS.get(key)
    if found is None:
        named = {name: one for name, one in zip(INPUTS, given) if one is not None}
        for name, one in named.items():
            if one.device != device:
                raise _elsewhere(name, one.device, device)
        sizes = _check(named)
        gpu = None
        if device.type == "cuda":
            gpu = device.index
            if missing(gpu) is not None:
                raise RuntimeError(f"the kernels cannot run on {device}: {missing(gpu)}")
        flags = [named["A"].dtype.is_complex, *[len(named[name].shape) > 2 for name in "BC"], "z" in named]
        names = (method, tier, _TYPES[named["u"].dtype])
        kernel = _holdfast.Kernel(names, [*flags, delta_softplus, backward], sizes, gpu)
        last_state = (sizes[0], *named["A"].shape), named["A"].dtype
        gradients = [None if one is None else (tuple(one.shape), one.dtype) for one in given]
        found = _Compiled(kernel, gradients if backward else [gradients[0], last_state], gpu)
        with _LOCK:
            if len(_KERNELS) >= _MOST_KERNELS:
                _KERNELS.clear()
                _PLANS.clear()
            _KERNELS[key] = found
    return found


def _is_dense(tensor: Any) -> bool:
    return tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


def _elsewhere(name: str, found: Any, expected: Any) -> ValueError:
    return ValueError(f"tensor `{name}` is on {found}, expected {expected} (hint: .to(u.device))")


def _addresses(tensors: Sequence[Any], kept: list[Any], are_dense: bool = False) -> list[int]:
    """Where tensors lie as kernels read them: each number where it belongs, as in those that `are_dense`, from an address that 16 divides.
    Copies are `kept`."""
    found: list[int] = []
    for tensor in tensors:
        at = 0
        if tensor is not None:
            at = tensor.data_ptr()
            if not at:
                # Of no device, whose number is that of a CPU.
                raise _elsewhere(INPUTS[len(found)] if len(found) < 8 else "dout", tensor.device, "one with memory")
            if at % 16 or not are_dense and not _is_dense(tensor):
                copy = tensor.resolve_conj().resolve_neg().contiguous()
                kept.append(copy.clone() if copy.data_ptr() % 16 else copy)
                at = kept[-1].data_ptr()
        found.append(at)
    return found


def _launch(kernel: _Compiled, inputs: Sequence[Any], are_dense: bool = False) -> tuple[Any, ...]:
    """The outputs."""
    gpu, empty, stream = kernel.gpu, kernel.empty, 0
    if gpu is not None:
        if torch._C._cuda_getDevice() != gpu:
            with torch.cuda.device(gpu):
                return _launch(kernel, inputs, are_dense)
        stream = torch._C._cuda_getCurrentRawStream(gpu)
    outputs = tuple([one and empty(*one) for one in kernel.outputs])
    room = kernel.room and empty(*kernel.room)
    kept: list[Any] = []
    kernel.launch(
        _addresses(inputs, kept, are_dense),
        [0 if one is None else one.data_ptr() for one in outputs],
        0 if room is None else room.data_ptr(),
        stream,
    )
    RAN.path = "cpu" if gpu is None else "cuda"
    return outputs


def _forward(kernel: _Compiled, given: Sequence[Any], words: tuple[bool, str, str], are_dense: bool = False) -> Any:
    """The output and the last state."""
    computed = _launch(kernel, given, are_dense)
    for watch in WATCHES:
        watch.saw(given, words, dict(zip(("out", "last_state"), computed)))
    return computed


def forward(
    u: Any, delta: Any, A: Any, B: Any, C: Any, D: Any, z: Any, delta_bias: Any, delta_softplus: bool, method: str, tier: str
) -> Any:
    """The operator's scan."""
    given, words = (u, delta, A, B, C, D, z, delta_bias), (delta_softplus, method, tier)
    return _forward(kernel_of(given, *words, u.device, False), given, words)


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
    kernel = kernel_of(given, delta_softplus, method, "accurate", u.device, True)
    starts = (dout.to(u.dtype), dlast_state if dlast_state is None else dlast_state.to(A.dtype))
    if dout.shape != u.shape or dlast_state is not None and dlast_state.shape != (u.shape[0], *A.shape):
        raise ValueError(f"dout is {tuple(dout.shape)}, expected {tuple(u.shape)} as u (hint: the gradient by out, and by the last state)")
    found = [one for one in _launch(kernel, (*given, *starts)) if one is not None]
    for watch in WATCHES:
        grads = dict(zip([name for name, one in zip(INPUTS, given) if one is not None], found))
        watch.saw(given, (delta_softplus, method, "accurate"), {"dout": starts[0], "dlast_state": starts[1], "grads": grads})
    return found


_TENSORS = "Tensor u, Tensor delta, Tensor A, Tensor B, Tensor C, Tensor? D, Tensor? z, Tensor? delta_bias"
_LIBRARY = torch.library.Library("holdfast", "DEF")
_LIBRARY.define(
    f"selective_scan({_TENSORS}, bool delta_softplus, str method, str tier) -> (Tensor, Tensor)", tags=(torch.Tag.pt2_compliant_tag,)
)
_LIBRARY.define(
    f"selective_scan_backward({_TENSORS}, Tensor dout, Tensor? dlast_state, bool delta_softplus, str method) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _fake_forward(u: Any, delta: Any, A: Any, *given: Any) -> tuple[Any, Any]:
    out = torch.empty_like(u, memory_format=torch.contiguous_format)
    return out, torch.empty((u.shape[0], *A.shape), dtype=A.dtype, device=A.device)


def _fake_backward(*given: Any) -> list[Any]:
    return [torch.empty_like(one, memory_format=torch.contiguous_format) for one in given[:8] if one is not None]


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


def _scan_forward(ctx: Any, kernel: Any, are_dense: bool, words: tuple[bool, str, str], *given: Any) -> Any:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*given)
    ctx.rest = kernel is None, *words[:2]
    if kernel is not None:
        return _forward(kernel, given, words, are_dense)
    with torch._C._AutoDispatchBelowAutograd():
        return SCAN(*given, *words)


def _scan_backward(ctx: Any, dout: Any, dlast_state: Any) -> tuple[Any, ...]:
    given = ctx.saved_tensors
    if dout is None:
        if dlast_state is None:
            return (None,) * 11
        dout = torch.zeros_like(given[0])
    is_dispatched, *words = ctx.rest
    found = iter((_BACKWARD if is_dispatched else _gradients_of)(*given, dout, dlast_state, *words))
    wanted = ctx.needs_input_grad[3:]
    grads = [None if one is None else next(found) for one in given]
    return (None, None, None, *[grad if is_wanted else None for grad, is_wanted in zip(grads, wanted)])


def _twice(ctx: Any, *grads: Any) -> Any:
    raise RuntimeError(
        "the gradients of holdfast's selective scan are differentiated, expected one backward pass: the kernels have no second one "
        "(hint: use_cuda_kernel=False computes by PyTorch's own operations, which have)"
    )


def _gradients_forward(ctx: Any, is_dispatched: bool, *given: Any) -> Any:
    if not is_dispatched:
        return tuple(backward(*given))
    with torch._C._AutoDispatchBelowAutograd():
        return tuple(_BACKWARD(*given))


_Scan = _function("SelectiveScan", _scan_forward, _scan_backward)
_Gradients = _function("SelectiveScanBackward", _gradients_forward, _twice)


def _gradients_of(*given: Any) -> Any:
    # Grad mode is on here only where somebody means to differentiate once more.
    return _Gradients.apply(False, *given) if torch.is_grad_enabled() else backward(*given)


_LIBRARY.impl("selective_scan", lambda *given: _Scan.apply(None, False, given[8:], *given[:8]), "Autograd")
_LIBRARY.impl("selective_scan_backward", lambda *given: list(_Gradients.apply(True, *given)), "Autograd")

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_plain(tensor: Any) -> bool:
    """Whether nothing listens to PyTorch's dispatcher, which costs as much as the rest of a call."""
    return (
        type(tensor) in _PLAIN
        and not torch.compiler.is_compiling()
        and torch._C._len_torch_dispatch_stack() == 0
        and torch._C._functorch.peek_interpreter_stack() is None
    )


#: `_Scan.apply` but for its look at wrappers that functorch has left, which conversions have taken off.
_APPLY = super(torch.autograd.Function, _Scan).apply


def planned(given: Sequence[Any], words: tuple[bool, str, str], kernel: _Compiled | None = None) -> Any:
    """The scan by the plan of an earlier call, for which addresses alone are looked at; else by a new one for this kernel, or None."""
    u, delta, A, B, C, D, z, delta_bias = given
    no_D, no_z, no_bias = _ABSENT
    like = u, delta, A, B, C, no_D if D is None else D, no_z if z is None else z, no_bias if delta_bias is None else delta_bias
    for check, found, are_dense, requires_grad in _PLANS.get((u.shape, words), ()):
        if check(*like):
            break
    else:
        if kernel is None:
            return None
        check = _GUARDS.TensorGuards(*like, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
        found, are_dense, requires_grad = kernel, all(map(_is_dense, like)), any(one.requires_grad for one in like)
        # Guards know no call with one tensor in two places.
        if check(*like):
            plan = check, kernel, are_dense, requires_grad
            _PLANS[u.shape, words] = [plan, *_PLANS.get((u.shape, words), ())][:_MOST_PLANS]
    if requires_grad and torch.is_grad_enabled():
        return _APPLY(found, are_dense, words, *given)
    return _forward(found, given, words, are_dense)


def scan(given: Sequence[Any], words: tuple[bool, str, str]) -> Any:
    """The scan, by the operator where somebody may listen."""
    if is_plain(given[0]):
        return planned(given, words) or planned(given, words, kernel_of(given, *words, given[0].device, False))
    return SCAN(*given, *words)
