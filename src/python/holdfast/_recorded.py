"""Arrays judged as a recorded run, saved as one, and run through the production kernels."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

from . import _holdfast
from ._arrays import Host, convert, like, origin
from ._layout import Tensor, tensors
from ._report import Report
from ._words import of_error

_BACKENDS = ("auto", "cuda", "cpu")
#: Arguments that are metadata of a recording, word for word.
_STATEMENTS = ("arithmetic", "scan", "input_type", "reads", "complex_output", "state", "direction")


#: The inputs of a scan. Each has a gradient.
_INPUTS = ("u", "delta", "A", "B", "C", "D", "z", "delta_bias", "initial_state")


def inputs_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs among a call's arguments, by their names."""
    missing = [name for name in _INPUTS[:5] if given.get(name) is None]
    if missing:
        raise ValueError(f"tensor `{missing[0]}` is None, expected an array (hint: u, delta, A, B and C are always needed)")
    return {name: given.get(name) for name in _INPUTS}


def known_method(method: Any) -> None:
    """Raises ValueError for what is neither a method nor a textbook form, whatever its label."""
    forms = _holdfast.forms()
    if not isinstance(method, str) or method.partition(".")[0] not in forms:
        raise ValueError(f"method is `{method}`, expected one of {', '.join(forms)} (hint: holdfast.methods())")


def of_kernels(method: Any) -> None:
    """Raises ValueError for what is none of the six methods."""
    names = [row[0] for row in _holdfast.methods()]
    if method not in names:
        raise ValueError(
            f"method is `{method}`, expected one of {', '.join(names)} (hint: holdfast.methods(); no kernel has another form)"
        )


def _whole(value: Any) -> int | None:
    """The whole number that a value is."""
    import operator

    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def known_seed(seed: Any) -> int:
    """Raises ValueError for what is no seed."""
    found = _whole(seed)
    if found is None or not 0 <= found < 1 << 64:
        raise ValueError(f"seed is {seed!r}, expected a whole number from 0 to 2^64 - 1 (hint: seed=1)")
    return found


def _known_channels(channels: Any) -> int | None:
    if channels is None:
        return None
    found = _whole(channels)
    if found is None or not 1 <= found < 1 << 63:
        raise ValueError(
            f"channels is {channels!r}, expected at least 1, a whole number below 2^63 "
            "(hint: leave it out for all of them)"
        )
    return found


def _outputs_of(method: str, out: Any, last_state: Any) -> dict[str, Any]:
    """By their names in a run: of one method, or of several in mappings."""
    if out is None:
        raise ValueError("tensor `out` is None, expected what the scan returned (hint: is there a `return` in it?)")
    # What is copied already is one array, and a tuple.
    is_several = isinstance(out, (tuple, list)) and not isinstance(out, Host)
    is_pair = is_several and isinstance(out, tuple) and len(out) == 2
    if is_several and any(hasattr(part, "shape") for part in out) and not is_pair:
        raise ValueError(
            f"out is a {type(out).__name__} of {len(out)}, expected an array, or a tuple of it and the last state "
            "(hint: leave the rest out)"
        )
    if is_pair and last_state is None:
        out, last_state = out
    if not isinstance(out, Mapping):
        known_method(method)
    several = out if isinstance(out, Mapping) else {method: out}
    states = last_state if isinstance(last_state, Mapping) else {method: last_state}
    named = {f"out.{name}": array for name, array in several.items()}
    return {**named, **{f"last_state.{name}": array for name, array in states.items() if array is not None}}


def computed_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a run has beside its inputs, among a call's arguments: outputs, gradients or both."""
    method, out = given["method"], given.get("out")
    gradients = _gradients_of(method, given.get("dout"), given.get("dlast_state"), given.get("grads"))
    outputs = {} if out is None and gradients else _outputs_of(method, out, given.get("last_state"))
    return {**outputs, **gradients}


def origin_of(given: Mapping[str, Any]) -> dict[str, str]:
    """What computed a run, as its metadata say it."""
    return origin(given["dout"] if given.get("out") is None else given["out"])


def _gradients_of(method: str, dout: Any, dlast_state: Any, grads: Mapping[str, Any] | None) -> dict[str, Any]:
    """A backward pass by its names in a run; nothing where there is none."""
    if grads is None:
        if dout is not None or dlast_state is not None:
            raise ValueError("dout is given and grads is not, expected both or none (hint: grads={\"u\": u.grad, …})")
        return {}
    if not isinstance(grads, Mapping):
        raise ValueError(f"grads is a {type(grads).__name__}, expected a mapping of arrays (hint: grads={{\"u\": u.grad, …}})")
    of_kernels(method.partition(".")[0] if isinstance(method, str) else method)
    unknown = [name for name in grads if name not in _INPUTS]
    if unknown:
        raise ValueError(
            f"grads has `{unknown[0]}`, expected some of {', '.join(_INPUTS)} (hint: each is named as its input)"
        )
    named = {f"grad.{name}.{method}": array for name, array in grads.items() if array is not None}
    if not named:
        raise ValueError("grads has no array in it, expected at least one (hint: grads={\"u\": u.grad, …})")
    if dout is None:
        raise ValueError("tensor `dout` is None, expected an array as out (hint: ∂L/∂out; ones for the gradient of the sum)")
    return {"dout": dout, "dlast_state": dlast_state, **named}


def metadata_of(delta_softplus: bool, statements: Mapping[str, str | None]) -> dict[str, str]:
    usual = {"arithmetic": "f32"}
    stated = {key: str(text) for key, text in statements.items() if text is not None and usual.get(key) != text}
    # A text is true as well, "false" among them.
    is_truth = isinstance(delta_softplus, int) or type(delta_softplus).__name__ in ("bool", "bool_")
    if not is_truth or delta_softplus not in (0, 1):
        raise ValueError(f"delta_softplus is {delta_softplus!r}, expected True or False (hint: delta_softplus=True)")
    return {"delta_softplus": str(bool(delta_softplus)).lower(), **stated}


def run_of(made: list[Tensor]) -> list[tuple[str, str, list[int], Any]]:
    return [(tensor.name, tensor.stored, tensor.shape, tensor.array) for tensor in made]


def explained(error: ValueError, layout: str) -> ValueError:
    """Which shapes an error is about: the reader of runs knows one layout."""
    said = of_error(str(error))
    if layout == "bdl":
        return ValueError(said)
    return ValueError(f"{said}; layout=\"{layout}\" is read as views of layout=\"bdl\", whose shapes and indices these are")


def check(
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    z: Any = None,
    delta_bias: Any = None,
    delta_softplus: bool = False,
    *,
    method: str = "zoh",
    out: Any = None,
    last_state: Any = None,
    initial_state: Any = None,
    dout: Any = None,
    dlast_state: Any = None,
    grads: Mapping[str, Any] | None = None,
    layout: str = "bdl",
    arithmetic: str = "f32",
    scan: str | None = None,
    input_type: str | None = None,
    reads: str | None = None,
    complex_output: str | None = None,
    state: str | None = None,
    direction: str | None = None,
    name: str = "arrays",
    channels: int | None = None,
    seed: int = 1,
    backend: str = "cpu",
    diagnose: bool = True,
) -> Report:
    """Judges what a selective scan returned against certified truth, every element by a bound of its own.

    The arrays are those of `holdfast check` and have its verdicts: NumPy's, PyTorch's, JAX's or CuPy's, strided or not, on any
    device. They are read where they lie, and must not change meanwhile. Other threads run, and Ctrl-C works.

    Shapes, for layout="bdl" (Mamba's own order):
        u, delta, z, out: (batch, dim, seqlen), of one type: f32, f16 or bf16
        A: (dim, dstate), f32 or complex64
        B, C: constant (dim, dstate) as A, or (batch, dstate, seqlen) or (batch, groups, dstate, seqlen) as u; complex ones as
            complex64, or with re and im in a last dimension of 2, or alternating along the sequence
        D, delta_bias: (dim), f32
        last_state, initial_state: (batch, dim, dstate), as A
    layout="bld" has (batch, seqlen, dim), and B and C as (batch, seqlen[, groups], dstate). layout="blhp" is Mamba-2's: u, z and
    out (batch, seqlen, heads, p), delta (batch, seqlen, heads), A, D and delta_bias (heads), states (batch, heads, p, dstate).

    method: one of `methods()` or a textbook form, perhaps with a label: "foh", "zoh-exact", "foh.mine"
    out: what the scan returned, or that and its last state as a tuple, or a mapping of several methods' outputs
    dout, dlast_state: what a backward pass starts from, ∂L/∂out as out and ∂L/∂last_state as last_state
    grads: what it returned, by the names of the inputs, each as its input: {"u": …, "A": …}; some or all of them. Complex ones are
        PyTorch's, ∂L/∂Re + i ∂L/∂Im. `out` may then be left out
    delta: the step before bias and softplus, dimensionless as A is: only z = ΔA matters
    arithmetic, scan, input_type, reads, complex_output, state, direction: what a recording's metadata state; the guide's page on
        recorded runs lists them
    channels: how many channels to judge, for a quick look; None for all
    backend: "cpu", "cuda" or "auto"
    diagnose: whether it is looked for why an output fails, which can take far longer than the verdicts

    Raises ValueError for shapes, types, values and names that are no run's, with what was expected, what was found and a hint;
    RuntimeError where a GPU was asked for and cannot be had.
    """
    given = dict(locals())
    channels, seed = _known_channels(channels), known_seed(seed)
    if backend not in _BACKENDS:
        raise ValueError(f'backend is `{backend}`, expected one of {", ".join(_BACKENDS)} (hint: "cpu" needs no GPU)')
    asked = "" if channels is None else f", channels={channels}"
    return judge(
        inputs_of(given),
        computed_of(given),
        {**metadata_of(delta_softplus, {name: given[name] for name in _STATEMENTS}), **origin_of(given)},
        layout=layout,
        name=name,
        rerun=f'holdfast.check(…, method="{method}"{asked}, seed={seed})',
        channels=channels,
        seed=seed,
        backend=backend,
        diagnose=diagnose,
    )


def judge(
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    metadata: dict[str, str],
    *,
    layout: str = "bdl",
    name: str,
    rerun: str,
    channels: int | None = None,
    seed: int = 1,
    backend: str = "cpu",
    diagnose: bool = True,
) -> Report:
    """What `check` does with a run's tensors by their names, and metadata as a file has them; `rerun` is how it is repeated."""
    made = tensors(layout, inputs, outputs)
    try:
        return Report(
            _holdfast.check(
                run_of(made), metadata, name, rerun, channels=channels, seed=seed, backend=backend, diagnose=diagnose
            )
        )
    except ValueError as error:
        raise explained(error, layout) from None
    except RuntimeError as error:
        raise RuntimeError(of_error(str(error))) from None


def record(
    path: str | os.PathLike[str],
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    z: Any = None,
    delta_bias: Any = None,
    delta_softplus: bool = False,
    *,
    method: str = "zoh",
    out: Any = None,
    last_state: Any = None,
    initial_state: Any = None,
    dout: Any = None,
    dlast_state: Any = None,
    grads: Mapping[str, Any] | None = None,
    layout: str = "bdl",
    **metadata: str,
) -> None:
    """Saves a run as a safetensors file for `holdfast check`: the arguments are those of `check`, and whatever else is given
    becomes metadata (`arithmetic="gate=bf16"`, `device="H200"`). The file appears whole or not at all.

    Raises ValueError for what is no run, and OSError where it cannot be written.
    """
    given = dict(locals())
    made, stated = prepared(given, metadata)
    write(path, made, stated, layout)


def prepared(given: Mapping[str, Any], metadata: Mapping[str, str]) -> tuple[list[Tensor], dict[str, str]]:
    """The tensors and metadata of the file that `record` writes for these arguments."""
    made = tensors(given["layout"], inputs_of(given), computed_of(given))
    return made, {**origin_of(given), **metadata_of(given.get("delta_softplus", False), metadata)}


def size_of(made: list[Tensor], stated: Mapping[str, str]) -> int:
    """How large the file of them is, in bytes."""
    import json
    import math

    header: dict[str, Any] = {"__metadata__": dict(stated)}
    end = 0
    for tensor in made:
        start, end = end, end + math.prod(tensor.shape) * tensor.array.dtype.itemsize
        header[tensor.name] = {"dtype": tensor.stored, "shape": tensor.shape, "data_offsets": [start, end]}
    return 8 + len(json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()) + end


def _known_finite(tensor: Tensor) -> None:
    """Raises ValueError for an input that has a number which is none: no element can be judged then."""
    import numpy

    # Never one number after the other: that takes long, and of NumPy's numbers version 1 shifts to other types.
    is_whole = tensor.array.ndim < 2 or not len(tensor.array)
    size = 0 if is_whole else tensor.array[0].size
    for first, part in enumerate([tensor.array] if is_whole else tensor.array):
        if tensor.stored == "BF16":
            # Held as its bits, which are the upper half of a float32's.
            part = (part.astype("uint32") << numpy.uint32(16)).view("float32")
        finite = numpy.isfinite(part)
        if not numpy.all(finite):
            at = int(numpy.argmin(numpy.ravel(finite)))
            number = numpy.ravel(part)[at]
            found = "NaN" if number != number else number
            index = tuple(int(i) for i in numpy.unravel_index(first * size + at, tensor.shape))
            raise ValueError(
                f"tensor `{tensor.name}` is {found} at {index}, expected a finite number (hint: look at what produced it)"
            )


def write(path: str | os.PathLike[str], made: list[Tensor], stated: dict[str, str], layout: str) -> None:
    """Saves them.

    Raises ValueError for what `check` refuses, and FileNotFoundError where there is no such folder.
    """
    folder = os.path.dirname(os.fspath(path))
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "the recording's folder is not there (hint: os.makedirs)", os.fspath(path))
    try:
        for tensor in made:
            if not tensor.name.startswith(("out.", "last_state.", "grad.")):
                _known_finite(tensor)
        _holdfast.record(os.fspath(path), run_of(made), stated)
    except ValueError as error:
        raise explained(error, layout) from None


def scan(
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    z: Any = None,
    delta_bias: Any = None,
    delta_softplus: bool = False,
    *,
    method: str = "zoh",
    return_last_state: bool = False,
) -> Any:
    """The selective scan by holdfast's production CUDA kernels, whose source is compiled for the CPU here. Not fast: it is what
    the harness itself verifies.

    Arrays are those of `check` in layout="bdl". Returns out, (batch, dim, seqlen) of u's type, framework and device; with
    return_last_state a tuple of it and the last state, (batch, dim, dstate) as A.

    Raises ValueError for arrays or methods that no kernel takes, RuntimeError for a kernel that failed.
    """
    inputs = inputs_of(dict(locals()))
    import numpy

    of_kernels(method)
    made = tensors("bdl", inputs, {})
    first = made[0]
    # What is read as a run has an output. This one is a single number, and nobody looks at it.
    blank = numpy.broadcast_to(numpy.zeros((), first.array.dtype), first.array.shape)
    made.append(Tensor("out.zoh", first.stored, first.shape, blank))
    try:
        outputs = _holdfast.scan(run_of(made), metadata_of(delta_softplus, {}), method)
    except ValueError as error:
        raise explained(error, "bdl") from None
    framework, device = like(u)
    named = {}
    for output, values, shape in outputs:
        kind = {"F16": "f16", "BF16": "bf16"}.get(first.stored, "f32") if output == "out" else "f32"
        if output == "last_state" and len(shape) == 4:
            kind = "complex"
        named[output] = convert(values, shape, kind, framework, device)
    return (named["out"], named["last_state"]) if return_last_state else named["out"]
