"""A scan of the caller's own timed in turn with the production kernels, and judged beside them: speed and error in one table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import _holdfast
from ._arrays import convert, framework_of, input_type, to_host
from ._autograd import pair_of
from ._calls import adapted, lacking, name_of
from ._names import called, known_kind, meant
from ._recorded import check, known_number, of_kernels
from ._report import Report
from ._words import of_error

__all__ = ["SHAPES", "Comparison", "Timing", "compare"]

__tracebackhide__ = True

#: Shapes as (batch, dim, seqlen, dstate), by the names that they have on the command line.
SHAPES: dict[str, tuple[int, int, int, int]] = dict(_holdfast.shapes())


class Timing(NamedTuple):
    """How fast one of the two is, and how right.

    name: a backend of holdfast ("cuda", "cpu", "cuda-fast", "cpu-fast"), or the function's name
    verdict, reason: "pass", "unmeasured" or "fail", and why; of the outputs on some channels
    share: the largest error as a share of its bound; above 1 it fails; None where nothing was judged
    seconds, low, high: the median of the warm runs, and where it lies with a confidence of 95 %; None where too few ran
    cold: the median of runs after a flush of the caches
    runs: how many warm runs counted
    elements_per_second: batch·dim·seqlen over `seconds`
    """

    name: str
    verdict: str
    reason: str
    share: float | None
    seconds: float | None
    low: float | None
    high: float | None
    cold: float | None
    runs: int
    elements_per_second: float | None


class Comparison:
    """The kernels and the function, side by side. `str` of it is a table.

    kernels, function: their timings
    ratio: how many times as long as the kernels the function takes; None where one was not timed
    diagnosis: where the function's outputs fail, the report that says what is wrong with them; else None
    """

    def __init__(self, findings: _holdfast.Findings, elements: int, diagnosis: Report | None) -> None:
        import json

        self._findings, self.diagnosis = findings, diagnosis
        self.kernels, self.function = (_timing(one, elements) for one in json.loads(findings.json())["bench"])

    @property
    def passed(self) -> bool:
        """Whether both were timed and are right."""
        return self._findings.verdict() == "pass"

    @property
    def ratio(self) -> float | None:
        """How many times as long as the kernels the function takes."""
        ours, theirs = self.kernels.seconds, self.function.seconds
        return theirs / ours if ours and theirs else None

    def json(self) -> str:
        """The results, in the form of a results.json: what `holdfast bench --compare` reads."""
        return self._findings.json()

    def write(self, directory: str | Path) -> None:
        """Writes a report as `holdfast bench --out` does, whose page has a picture of error against time."""
        self._findings.write(str(directory))

    def __str__(self) -> str:
        text = self._findings.text().rstrip()
        return text if self.diagnosis is None else f"{text}\n\n{self.diagnosis}"

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self._findings.page())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def __repr__(self) -> str:
        ratio = "" if self.ratio is None else f", {self.ratio:.3g} times as long"
        return f"<holdfast.bench.Comparison: {self.function.name} beside {self.kernels.name}{ratio}, {self._findings.verdict()}>"


def _timing(one: dict[str, Any], elements: int) -> Timing:
    warm, cold = one["warm"] or {}, one["cold"] or {}
    seconds = warm.get("median")
    low, high = warm.get("interval") or (None, None)
    return Timing(
        name=one["backend"],
        verdict=one["verdict"],
        reason=one["reason"],
        share=one.get("share"),
        seconds=seconds,
        low=low,
        high=high,
        cold=cold.get("median"),
        runs=warm.get("samples", 0),
        elements_per_second=elements / seconds if seconds else None,
    )


def _shape_of(shape: str | Sequence[int]) -> tuple[int, ...]:
    if isinstance(shape, str):
        return SHAPES[meant("shape", shape, SHAPES, "or four sizes: batch, dim, seqlen, dstate")]
    sizes = tuple(shape) if isinstance(shape, (list, tuple)) else ()
    if len(sizes) != 4 or not all(isinstance(size, int) for size in sizes):
        raise ValueError(
            f"shape is {shape!r}, expected four sizes: batch, dim, seqlen, dstate (hint: shape=(8, 512, 1024, 16))"
        )
    return sizes


def _is_on_gpu(array: Any) -> bool:
    """Of an array of PyTorch, CuPy or JAX."""
    device = getattr(array, "device", None)
    kind = getattr(device, "type", None) or getattr(device, "platform", None) or str(device)
    return "cuda" in str(kind).lower() or "gpu" in str(kind).lower() or type(array).__module__.startswith("cupy")


@called
def compare(
    fn: Callable[..., Any],
    method: str = "zoh",
    *,
    shape: str | Sequence[int] = "seed",
    weights: str = "real",
    inputs: str = "f32",
    tier: str = "accurate",
    xp: Any = "numpy",
    device: Any = None,
    name: str | None = None,
    samples: int = 51,
    seconds: float = 2.0,
) -> Comparison:
    """Times `fn(u, delta, A, B, C, D=…, delta_bias=…, delta_softplus=True)` in turn with the kernel of a method, run for run, and judges
    what both return. It returns out, or out and the last state; B and C vary along the sequence.

        print(holdfast.bench.compare(my_scan, "zoh", shape="mamba-1.4b", xp=torch, device="cuda"))

    shape: (batch, dim, seqlen, dstate), or a name of `SHAPES`: "seed", "vim-tiny", "mamba-1.4b", "long"
    weights, inputs: "real" or "complex"; the type of u, delta, B and C: "f32", "f16", "bf16"
    tier: of the kernels: "accurate" or "fast"
    xp, device: the framework of the arrays that the function gets, and where it is to put them. On a GPU the kernels run there as well,
        else their own source does on this machine's CPU, which says nothing of a GPU's speed.
    name: what the function is called; its own name by default
    samples, seconds: runs that count, and how long they may take for each; one is done in any case

    Both read inputs of the same values, each its own. On a GPU time is told by events on the default stream, where PyTorch and CuPy put
    their work; a function of JAX is waited for, and then so are the kernels. PyTorch records no gradients meanwhile.

    Raises ValueError for what there is not, and for outputs of another shape or type than u; RuntimeError where the kernels cannot run;
    and what the function raises.
    """
    known_kind("fn", fn, callable(fn), "a function", "holdfast.check judges arrays")
    method, sizes, inputs = of_kernels(method), _shape_of(shape), input_type(inputs)
    weights = meant("weights", weights, ("real", "complex"), "complex weights are those of S4")
    tier = meant("tier", tier, ("accurate", "fast"), "accurate is what everything else judges")
    samples = min(known_number("samples", samples), 2**31 - 1)
    if not isinstance(seconds, (int, float)) or not 0 < seconds < 1e6:
        raise ValueError(f"seconds is {seconds!r}, expected a time above 0 (hint: seconds=2)")
    label = str(name or getattr(fn, "__name__", "function"))
    label = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in label)[:24] or "function"
    if label in ("cuda", "cpu", "cuda-fast", "cpu-fast", "reference"):
        raise ValueError(f"name is `{label}`, expected none of a backend (hint: name=\"mine\")")
    framework = framework_of(xp)
    try:
        race = _holdfast.Race(method, ",".join(str(size) for size in sizes), weights, inputs)
    except ValueError as error:
        raise ValueError(of_error(str(error))) from None
    given: dict[str, Any] = {}
    for key, values, its_shape in race.inputs():
        is_input = key in ("u", "delta", "B", "C")
        kind = "complex" if weights == "complex" and key in ("A", "B", "C") else inputs if is_input else "f32"
        given[key] = convert(values, its_shape, kind, framework, device)
    on_gpu = _is_on_gpu(given["u"])
    last: list[Any] = [None]
    arguments = {**given, "delta_softplus": True}
    takes = adapted(fn, arguments)
    if takes is None:
        raise lacking(fn, arguments, "a timed scan")

    def call() -> None:
        last[0] = takes(**arguments)
        if framework == "jax":
            sys.modules["jax"].block_until_ready(last[0])

    def returned() -> list[bytes]:
        out, last_state = pair_of(last[0])
        found = [_bytes_of("out", out, sizes[:3], _STORED[inputs])]
        if last_state is not None:
            stored = "C64" if weights == "complex" else "F32"
            found.append(_bytes_of("last_state", last_state, (sizes[0], sizes[1], sizes[3]), stored))
        return found

    command = f'holdfast.bench.compare({name_of(fn)}, "{method}", shape={sizes})'
    with _undisturbed(framework, on_gpu):
        findings = race.run(
            label, tier, "cuda" if on_gpu else "cpu", (samples, seconds), framework == "jax", command, call, returned
        )
        diagnosis = None
        compared = Comparison(findings, sizes[0] * sizes[1] * sizes[2], None)
        if compared.function.verdict == "fail" and last[0] is not None:
            out, last_state = pair_of(last[0])
            diagnosis = check(**given, delta_softplus=True, method=method, out=out, last_state=last_state, channels=16)
    return Comparison(findings, sizes[0] * sizes[1] * sizes[2], diagnosis)


_STORED = {"f32": "F32", "f16": "F16", "bf16": "BF16"}


def _bytes_of(name: str, array: Any, shape: tuple[int, ...], stored: str) -> bytes:
    host = to_host(name, array)
    if host.stored != stored or host.array.shape != shape:
        raise ValueError(
            f"{name} is {host.stored} of shape {host.array.shape}, expected {stored} of shape {shape} "
            "(hint: the function returns out as u is, or out and the last state in float32 or complex64)"
        )
    return host.array.tobytes()


def _undisturbed(framework: str, on_gpu: bool) -> Any:
    """Where a function runs: PyTorch's on the default stream, and without gradients."""
    import contextlib

    stack = contextlib.ExitStack()
    if framework == "torch":
        torch = sys.modules["torch"]
        stack.enter_context(torch.no_grad())
        if on_gpu:
            stack.enter_context(torch.cuda.stream(torch.cuda.default_stream()))
    return stack
