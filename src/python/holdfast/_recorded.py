"""Arrays judged as a recorded run, saved as one, and run through the production kernels."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _holdfast
from ._arrays import PACKED, Host, convert, input_type as known_input, like, origin, widened
from ._layout import Tensor, known_layout, laid_out, layout_of, tensors
from ._names import arithmetic_of, called, diagnosis_of, known_kind, meant, near, path_of, spellings
from ._report import Report
from ._words import of_error

__tracebackhide__ = True

_BACKENDS = ("auto", "cuda", "cpu")
#: Arguments that are metadata of a recording, word for word.
_STATEMENTS = (
    *("arithmetic", "scan", "input_type", "reads", "complex_output", "state"),
    *("direction", "state_matrix", "dt_limit", "state_type", "state_read", "chunk"),
)


#: What a scan may return beside out.
_STATES = ("last_state", "chunk_states", "dA_cumsum")
#: The inputs of a scan. Each has a gradient.
_INPUTS = ("u", "delta", "A", "B", "C", "D", "z", "delta_bias", "initial_state")


def inputs_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs among a call's arguments, by their names."""
    missing = [name for name in _INPUTS[:5] if given.get(name) is None]
    if missing:
        raise ValueError(f"tensor `{missing[0]}` is None, expected an array (hint: u, delta, A, B and C are always needed)")
    return {name: given.get(name) for name in (*_INPUTS, *PACKED)}


def known_method(method: Any) -> str:
    """The method or textbook form that is meant, with its label. Raises ValueError for what is none."""
    name, dot, label = method.partition(".") if isinstance(method, str) else (method, "", "")
    regime = near(str(name), (known for known, *_ in _holdfast.regimes()), 0.8)
    hint = f'regimes="{regime}", perhaps' if regime else "holdfast.methods()"
    return meant("method", name, _holdfast.forms(), hint) + dot + label


def of_kernels(method: Any) -> str:
    """The one of the six methods that is meant. Raises ValueError for what is none."""
    hint = "holdfast.methods(); no kernel has another form"
    return meant("method", method, [row[0] for row in _holdfast.methods()], hint)


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


def known_number(name: str, value: Any, hint: str = "leave it out for the usual one") -> int:
    """Raises ValueError for what is no number of things."""
    found = _whole(value)
    if found is None or not 1 <= found < 1 << 63:
        raise ValueError(f"{name} is {value!r}, expected at least 1, a whole number below 2^63 (hint: {hint})")
    return found


def _outputs_of(method: str, out: Any, states: Mapping[str, Any]) -> dict[str, Any]:
    """By their names in a run: of one method, or of several in mappings. `states` are what a scan returns beside out."""
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
    if is_pair and states["last_state"] is None:
        out, last_state = out
        states = {**states, "last_state": last_state}
    method = method if isinstance(out, Mapping) else known_method(method)
    several = out if isinstance(out, Mapping) else {method: out}
    if "out" in several:
        raise ValueError(
            "out is a mapping that has `out`, expected one output for each method (hint: out={\"zoh\": y}; or out=y beside method=\"zoh\")"
        )
    several = {known_method(name): array for name, array in several.items()}
    named = {f"out.{name}": array for name, array in several.items()}
    for kind, given in states.items():
        of = given if isinstance(given, Mapping) else {method: given}
        known = {f"{kind}.{known_method(name)}": array for name, array in of.items()}
        named |= {name: array for name, array in known.items() if array is not None}
    return named


def computed_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a run has beside its inputs, among a call's arguments: outputs, gradients or both."""
    method, out = given["method"], given.get("out")
    gradients = _gradients_of(method, given.get("dout"), given.get("dlast_state"), given.get("grads"))
    outputs = {} if out is None and gradients else _outputs_of(method, out, {name: given.get(name) for name in _STATES})
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
    method = known_method(method)
    of_kernels(method.partition(".")[0])
    ours = {spelled: name for name in _INPUTS for spelled in spellings(name)}
    unknown = [name for name in grads if name not in ours]
    if unknown:
        hint = near(str(unknown[0]), _INPUTS)
        raise ValueError(
            f"grads has `{unknown[0]}`, expected some of {', '.join(_INPUTS)} "
            f"(hint: {f'{hint}, perhaps' if hint else 'each is named as its input'})"
        )
    named = {f"grad.{ours[name]}.{method}": array for name, array in grads.items() if array is not None}
    if not named:
        raise ValueError("grads has no array in it, expected at least one (hint: grads={\"u\": u.grad, …})")
    if dout is None:
        raise ValueError("tensor `dout` is None, expected an array as out (hint: ∂L/∂out; ones for the gradient of the sum)")
    return {"dout": dout, "dlast_state": dlast_state, **named}


def metadata_of(delta_softplus: bool, statements: Mapping[str, Any]) -> dict[str, str]:
    """What a run states of itself, as texts."""
    stated = {key: _stated(key, value) for key, value in statements.items() if value is not None}
    try:
        _holdfast.known_metadata(list(stated))
    except ValueError as error:
        raise ValueError(of_error(str(error))) from None
    if stated.get("arithmetic") == "f32":
        del stated["arithmetic"]
    # A text is true as well, "false" among them.
    is_truth = isinstance(delta_softplus, int) or type(delta_softplus).__name__ in ("bool", "bool_")
    if not is_truth or delta_softplus not in (0, 1):
        raise ValueError(f"delta_softplus is {delta_softplus!r}, expected True or False (hint: delta_softplus=True)")
    return {"delta_softplus": str(bool(delta_softplus)).lower(), **stated}


#: Arguments that metadata with a typing error may have been meant as.
_OTHERS = ("method", "delta_softplus", "layout", "out", "last_state", "chunk_states", "grads", "dout", "channels", "backend", "diagnosis")


def _limit(value: Any) -> str:
    """The text of two limits of a step. Raises ValueError for what is none."""
    try:
        low, high = (float(limit) for limit in value)
    except (TypeError, ValueError):
        raise ValueError(f"dt_limit is {value!r}, expected a tuple of two numbers (hint: dt_limit=(0.001, 0.1))") from None
    return f"{low!r} {high!r}"


def _stated(key: str, value: Any) -> str:
    """The text of a statement, or of other metadata."""
    if key == "arithmetic":
        return arithmetic_of(value)
    if key == "input_type":
        return known_input(value)
    if key == "state_type":
        return meant(key, value, ("f32", "f16", "bf16"), "a cache of these types is judged")
    if key in ("dt_limit", "time_step_limit") and not isinstance(value, str):
        return _limit(value)
    like = None if key in _STATEMENTS else near(key, (*_INPUTS, *_OTHERS), 0.85)
    if like is not None or not isinstance(value, (str, int, float)):
        raise ValueError(
            f"metadata has `{key}`, expected texts under names of their own (hint: {like or 'str(…)'}, perhaps)"
        )
    return value.replace("_", "-").lower() if key in _STATEMENTS and isinstance(value, str) else str(value)


def run_of(made: list[Tensor]) -> list[tuple[str, str, list[int], Any]]:
    return [(tensor.name, tensor.stored, tensor.shape, tensor.array) for tensor in made]


def explained(error: ValueError, layout: str) -> ValueError:
    """Which shapes an error is about: the reader of runs knows no steps."""
    said = of_error(str(error))
    if layout != "step":
        return ValueError(said)
    return ValueError(f"{said}; layout=\"{layout}\" is read as views of layout=\"bdl\", whose shapes and indices these are")


@called
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
    chunk_states: Any = None,
    dA_cumsum: Any = None,
    initial_state: Any = None,
    seq_idx: Any = None,
    cu_seqlens: Any = None,
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
    state_matrix: str | None = None,
    dt_limit: tuple[float, float] | None = None,
    state_type: str | None = None,
    state_read: str | None = None,
    chunk: int | None = None,
    name: str = "arrays",
    channels: int | None = None,
    seed: int = 1,
    backend: str = "cpu",
    diagnosis: float | str = 10,
    threads: int | None = None,
) -> Report:
    """Judges what a selective scan returned against certified truth, every element by a bound of its own.

    The arrays are those of `holdfast check` and have its verdicts: NumPy's, PyTorch's, JAX's or CuPy's, strided or not, on any
    device. They are read where they lie, and must not change meanwhile. Other threads run, and Ctrl-C works.

    Shapes, for layout="bdl" (Mamba's own order):
        u, delta, z, out: (batch, dim, seqlen)
        A: (dim, dstate), real or complex64; or a matrix for each channel, (dim, dstate, dstate) (state_matrix="dense" says so of two
            real states)
        B, C: constant (dim, dstate) as A, or (batch, dstate, seqlen) or (batch, groups, dstate, seqlen); complex ones as
            complex64, or with re and im in a last dimension of 2, or alternating along the sequence
        D, delta_bias: (dim)
        last_state, initial_state: (batch, dim, dstate), real or complex as A
    Each is f32, f16 or bf16 on its own, and is judged as such.
    layout="bld" has (batch, seqlen, dim), and B and C as (batch, seqlen[, groups], dstate). layout="blhp" is Mamba-2's: u, z and
    out (batch, seqlen, heads, p), delta (batch, seqlen, heads), A, D and delta_bias (heads), states (batch, heads, p, dstate).
    Without heads, delta may be (batch, k, seqlen), and delta_bias (k), of k steps that dim / k channels in a row share; A may be (heads).
    Gradients have the shapes of their inputs, and are sums over what shares them.
    layout="step" is one update of a state: u, delta, z and out (batch, dim), B and C (batch[, groups], dstate), the states
    before and after it as initial_state and last_state; (heads, p) may stand for dim everywhere.

    method: one of `methods()` or a textbook form, perhaps with a label: "foh", "zoh-exact", "foh.mine"
    out: what the scan returned, or that and its last state as a tuple, or a mapping of several methods' outputs
    seq_idx: integers (batch, seqlen), which of the sequences that are packed into an item each position belongs to; below 0 is padding,
        which is not judged
    cu_seqlens: integers (sequences + 1), where each of the sequences of one item begins, and where the last one ends; initial_state and
        last_state (or varlen_states) may then be (sequences, …)
    chunk_states: the states before each chunk of a chunked scan, (batch, chunks, …) as last_state; chunk: positions of a chunk
    dA_cumsum: with layout="blhp", the running sums of ΔA within each chunk, (batch, heads, chunks, chunk)
    dout, dlast_state: what a backward pass starts from, ∂L/∂out as out and ∂L/∂last_state as last_state
    grads: what it returned, by the names of the inputs, each as its input: {"u": …, "A": …}; some or all of them. Complex ones are
        PyTorch's, ∂L/∂Re + i ∂L/∂Im. `out` may then be left out
    delta: the step before bias and softplus, dimensionless as A is: only z = ΔA matters
    arithmetic, scan, input_type, reads, complex_output, state, direction, state_matrix: what a recording's metadata state; the guide's page on
        recorded runs lists them; types may be a framework's own, as torch.bfloat16
    state_type: the type in which a state is stored after each step, "bf16" or "f16"; state_read="unrounded" where outputs read the state
        before it is stored
    dt_limit: the low and the high limit to which each step is clamped after bias and softplus, as (0.001, 0.1)
    channels: how many channels to judge, for a quick look; None for all
    backend: "cpu", "cuda" or "auto"
    diagnosis: seconds that it is looked for why an output fails, which can take far longer than the verdicts; "thorough" for as
        long as it takes, "off" for the verdicts alone
    threads: how many of this machine's threads judge, where something else is to go on beside; None for all

    Raises ValueError for shapes, types, values and names that are no run's, with what was expected, what was found and a hint;
    RuntimeError where a GPU was asked for and cannot be had.
    """
    given = dict(locals())
    seed = known_seed(seed)
    known_kind("name", name, isinstance(name, str), "a text", "it identifies the run in a report")
    channels = None if channels is None else known_number("channels", channels, "leave it out for all of them")
    threads = None if threads is None else known_number("threads", threads, "leave it out for all of them")
    backend = meant("backend", backend, _BACKENDS, "cpu needs no GPU")
    return judge(
        inputs_of(given),
        computed_of(given),
        {**metadata_of(delta_softplus, {name: given[name] for name in _STATEMENTS}), **origin_of(given)},
        layout=layout,
        name=name,
        rerun=_call_of(given),
        channels=channels,
        seed=seed,
        backend=backend,
        diagnosis=diagnosis,
        threads=threads,
    )


def _call_of(given: Mapping[str, Any]) -> str:
    """The call again, by the names of its arguments."""
    words = ["u, delta, A, B, C"]
    for name, value in given.items():
        usual = {"method": "zoh", "delta_softplus": False, "layout": "bdl", "arithmetic": "f32", "name": "arrays"}
        usual |= {"seed": 1, "backend": "cpu", "diagnosis": 10}
        is_written = name == "dt_limit" or isinstance(value, (str, int, float)) and not hasattr(value, "dtype")
        if name in _INPUTS[:5] or value is None or name != "method" and is_written and value == usual.get(name):
            continue
        words.append(f"{name}={_written(value) if is_written else name}")
    return f"holdfast.check({', '.join(words)})"


def _written(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


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
    diagnosis: float | str = 10,
    causes: Sequence[str] = (),
    threads: int | None = None,
) -> Report:
    """What `check` does with a run's tensors by their names, and metadata as a file has them; `rerun` is how it is repeated."""
    asked = {"channels": channels, "seed": seed, "backend": backend, "diagnosis": diagnosis, "causes": causes, "threads": threads}
    return judged(tensors(layout, inputs, outputs), {**metadata, **layout_of(layout)}, name, rerun, layout, **asked)


def judged(made: list[Tensor], metadata: dict[str, str], name: str, rerun: str, layout: str = "", **asked: Any) -> Report:
    """The report of a run's tensors, of whichever kind it is; `asked` are other arguments of `check`."""
    asked = {"channels": None, "seed": 1, "backend": "cpu", "diagnosis": "off", "causes": (), **asked}
    try:
        asked |= {"diagnosis": diagnosis_of(asked["diagnosis"]), "causes": list(asked["causes"])}
        return Report(_holdfast.check(run_of(made), metadata, name, rerun, **asked))
    except ValueError as error:
        raise explained(error, layout) from None
    except RuntimeError as error:
        raise RuntimeError(of_error(str(error))) from None


@called
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
    chunk_states: Any = None,
    dA_cumsum: Any = None,
    initial_state: Any = None,
    seq_idx: Any = None,
    cu_seqlens: Any = None,
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


def prepared(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[list[Tensor], dict[str, str]]:
    """The tensors and metadata of the file that `record` writes for these arguments."""
    made = tensors(given["layout"], inputs_of(given), computed_of(given))
    limit = {} if given.get("dt_limit") is None else {"dt_limit": given["dt_limit"]}
    stated = metadata_of(given.get("delta_softplus", False), {**limit, **metadata})
    return made, {**origin_of(given), **layout_of(given["layout"]), **stated}


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
            part = widened(Host(part, "BF16")).array
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
    path = path_of(path)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "the recording's folder is not there (hint: os.makedirs)", path)
    try:
        for tensor in made:
            # What was computed ends in its method; names of inputs have no dot.
            if "." not in tensor.name:
                _known_finite(tensor)
        _holdfast.record(path, run_of(made), stated)
    except ValueError as error:
        raise explained(error, layout) from None


@called
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
    initial_state: Any = None,
    layout: str = "bdl",
    return_last_state: bool = False,
) -> Any:
    """The selective scan by holdfast's production CUDA kernels, whose source is compiled for the CPU here. Not fast: it is what
    the harness itself verifies. From an initial state it is the reference path's, in f32: the kernels start from zero.

    Arrays are those of `check` in the same layout. Returns out, as u, of its framework and device; with return_last_state a tuple
    of it and the last state, as initial_state would be.

    Raises ValueError for arrays or methods that no kernel takes, and for tensors that autograd follows, since nothing of this is
    differentiated; RuntimeError for a kernel that failed.
    """
    inputs = inputs_of(dict(locals()))
    import numpy

    _known_to_be_followed_by_nobody(inputs)
    method, layout = of_kernels(method), known_layout(layout)
    made = tensors(layout, inputs, {})
    first = made[0]
    # What is read as a run has an output. This one is a single number, and nobody looks at it.
    blank = numpy.broadcast_to(numpy.zeros((), first.array.dtype), first.array.shape)
    made.append(Tensor("out.zoh", first.stored, first.shape, blank))
    try:
        outputs = _holdfast.scan(run_of(made), {**metadata_of(delta_softplus, {}), **layout_of(layout)}, method)
    except ValueError as error:
        raise explained(error, layout) from None
    framework, device = like(u)
    named = {}
    for output, values, shape in outputs:
        is_state = output == "last_state"
        kind = {"F16": "f16", "BF16": "bf16"}.get(first.stored, "f32") if not is_state else "f32"
        if is_state and len(shape) == 4:
            kind = "complex"
        returned = laid_out(values.reshape(shape), layout, numpy.shape(u), is_state)
        named[output] = convert(returned, returned.shape, kind, framework, device)
    return (named["out"], named["last_state"]) if return_last_state else named["out"]


def _known_to_be_followed_by_nobody(inputs: Mapping[str, Any]) -> None:
    """Raises ValueError for tensors whose gradients somebody waits for."""
    import sys

    torch = sys.modules.get("torch")
    followed = [name for name, array in inputs.items() if getattr(array, "requires_grad", False) is True]
    if torch is not None and followed and torch.is_grad_enabled():
        raise ValueError(
            f"tensor `{followed[0]}` requires grad, expected none that does: holdfast.scan has no backward pass "
            "(hint: torch.no_grad(), or detach(); holdfast.gradients has certified gradients)"
        )
