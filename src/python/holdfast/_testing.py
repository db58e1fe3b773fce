"""A function of the caller's own on the named regimes: hard inputs, each of a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _holdfast
from ._arrays import convert, framework_of
from ._autograd import Ran, differentiated, pair_of
from ._recorded import computed_of, judge, known_method, known_seed, metadata_of, of_kernels, origin_of
from ._report import Report

#: Some regimes of different kinds that take little time.
USUAL = ("short", "tiny-z", "stiff", "delta-zero", "trained-delta", "groups", "everything-on")


def regimes() -> dict[str, str]:
    """The named regimes, and why each is hard."""
    return {name: why for name, why, _ in _holdfast.regimes()}


class Problem:
    """One problem of a regime.

    id: "regime/weights/input/b-LAYOUT/c-LAYOUT", and "/LOSS" with gradients
    why: why the regime is hard
    loss: with gradients, which kind of loss there is: "random", "one-hot", "sum", "last" or "cancelling"; else None
    inputs: the arguments of a scan by their names: u, delta, A, B, C, and D, z, delta_bias and delta_softplus where the regime
        has them; arrays of the framework that was asked for, in layout "bdl", complex ones as complex64
    """

    def __init__(
        self, drawn: _holdfast.Problem, method: str, framework: str, device: Any, seed: int, loss: str | None
    ) -> None:
        self.id = drawn.id if loss is None else f"{drawn.id}/{loss}"
        self.regime, self.why, self.method, self.loss = drawn.regime, drawn.why, method, loss
        self._drawn, self._framework, self._device, self._seed = drawn, framework, device, seed

    @property
    def inputs(self) -> dict[str, Any]:
        """The arguments of a scan, drawn anew for each reader."""
        drawn, named = self._drawn, {}
        is_variable: dict[str, bool] = dict(zip(("B", "C"), drawn.variable))
        for name, values, shape in drawn.inputs():
            is_input = name in ("u", "delta", "z") or is_variable.get(name, False)
            named[name] = self._array(name, values, shape, is_input)
        if drawn.delta_softplus:
            named["delta_softplus"] = True
        return named

    def _array(self, name: str, values: Any, shape: Sequence[int], is_input: bool) -> Any:
        drawn = self._drawn
        kind = drawn.input if is_input else "f32"
        if drawn.weights == "complex" and name in ("A", "B", "C", "initial_state", "dlast_state"):
            kind = "complex"
        return convert(values, shape, kind, self._framework, self._device)

    def _given(self) -> dict[str, Any]:
        """What a backward pass starts from; nothing without gradients."""
        if self.loss is None:
            return {}
        _, given = self._drawn.given(self.loss)
        return {name: self._array(name, values, shape, name == "dout") for name, values, shape in given}

    @property
    def dout(self) -> Any:
        """With gradients, ∂L/∂out as a backward pass is given it: as u. Else None."""
        return self._given().get("dout")

    @property
    def dlast_state(self) -> Any:
        """With gradients and a loss that sees the last state, ∂L/∂last_state: (batch, dim, dstate), as A. Else None."""
        return self._given().get("dlast_state")

    def run(self, fn: Callable[..., Any]) -> Ran:
        """Calls `fn(**inputs)`, and with gradients differentiates it by PyTorch's autograd or JAX's vjp. Returns the arguments
        of `check`.

        Raises TypeError for a function that does not take the inputs; ValueError for arrays without autograd, and for outputs
        that do not depend on them.
        """
        return self._ran(fn)[0]

    def _ran(self, fn: Callable[..., Any]) -> tuple[Ran, list[str]]:
        """The same, and which inputs autograd found no way to."""
        inputs = self.inputs
        _known_to_take(fn, inputs, self.regime)
        if self.loss is not None:
            return differentiated(fn, inputs, self._given(), self._framework, self.id)
        out, last_state = pair_of(fn(**inputs))
        return {"out": out, "last_state": last_state}, []

    def check(
        self, out: Any = None, last_state: Any = None, *, dlast_state: Any = None, grads: Mapping[str, Any] | None = None
    ) -> Report:
        """Judges what a scan returned on `inputs`, and raises AssertionError with the diagnosis where it fails.

        grads: what a backward pass returned for `dout`, as `holdfast.check` has it
        dlast_state: the problem's own, where the backward pass was given that as well

        Raises ValueError for an output that is none.
        """
        report = self.judge(out, last_state, dlast_state=dlast_state, grads=grads)
        if not report.passed:
            raise AssertionError(f"{self.id}: {self.why}\n\n{report}")
        return report

    def judge(
        self, out: Any = None, last_state: Any = None, *, dlast_state: Any = None, grads: Mapping[str, Any] | None = None
    ) -> Report:
        """The same without raising for a failure."""
        computed = {"method": self.method, "out": out, "last_state": last_state, "dlast_state": dlast_state, "grads": grads}
        if grads is not None:
            if self.loss is None:
                raise ValueError(
                    f"grads is given and {self.id} has no dout, expected a problem that has one "
                    "(hint: holdfast.problems(…, gradients=True))"
                )
            computed["dout"] = self.dout
        inputs = self.inputs
        metadata = metadata_of(bool(inputs.pop("delta_softplus", False)), {})
        drawn, more = self._drawn, "" if self.loss is None else f', gradients="{self.loss}"'
        if drawn.weights != "real":
            more += f', weights="{drawn.weights}"'
        if drawn.input != "f32":
            more += f', inputs="{drawn.input}"'
        if self._seed != 1:
            more += f", seed={self._seed}"
        return judge(
            inputs,
            computed_of(computed),
            {**metadata, **origin_of(computed)},
            name=self.id,
            rerun=f'holdfast.assert_correct(…, method="{self.method}", regimes="{self.regime}"{more})',
        )

    def unjudged(self, verdict: str, reason: str) -> Report:
        """A report of no element: "fail" or "unmeasured", and why."""
        import json

        import numpy

        # That of an output which nobody looks at has the rest of what a case says.
        shape = self.inputs["u"].shape
        blank = numpy.full(shape, numpy.nan, "f4")
        report = Problem.judge(self, convert(blank, shape, self._drawn.input, "numpy", None)).to_dict()
        (case,) = report["cases"]
        case.update(verdict=verdict, reason=reason, beyond="none", judged=0, worst=None, tensors={}, diagnosis=[])
        return Report.from_json(json.dumps(report))

    def __repr__(self) -> str:
        return f"<holdfast.Problem: {self.id}, {self.method}>"


def problems(
    method: str = "zoh",
    regimes: str | Sequence[str] | None = None,
    *,
    weights: str | Sequence[str] = "real",
    inputs: str | Sequence[str] = "f32",
    b: str | Sequence[str] = ("variable", "constant"),
    c: str | Sequence[str] = ("variable", "constant"),
    xp: Any = "numpy",
    device: Any = None,
    gradients: bool | str | Sequence[str] = False,
    seed: int = 1,
) -> list[Problem]:
    """The problems of some regimes.

    regimes: names of `regimes()`, each of which must have such problems; "all" for those of every regime that has any, which of
        real weights alone is not every regime, but for `overflowing-products`, which is asked for by its name; None for those of a few usual ones
    weights: "real", "complex", or both as a list; a regime that is named may lack one of two
    inputs: types of u, delta and z: "f32", "f16", "bf16"
    b, c: whether B and C vary along the sequence: "variable", "constant"
    xp: the framework of the arrays: a module (numpy, torch, jax.numpy, cupy) or its name
    device: where that framework is to put them
    gradients: whether each is to have a `dout`, of one kind of loss for each problem; or which kinds each is to have: some of
        "random", "one-hot", "sum", "last" and "cancelling", or "all"

    Raises ValueError for names that there are not, for a named regime without such problems, and for empty lists.
    """

    def many(name: str, texts: str | Sequence[str]) -> list[str]:
        found = [texts] if isinstance(texts, str) else list(texts)
        if not found:
            raise ValueError(f"{name} is empty, expected at least one name (hint: leave it out for the usual ones)")
        return found

    framework = framework_of(xp)
    known_method(method)
    known_seed(seed)
    #: Of each problem; None is its own one.
    losses: list[str | None] | None = [None]
    if gradients is not False:
        of_kernels(method.partition(".")[0])
        kinds_of_loss = _holdfast.losses()
        losses = None if gradients is True else [*(kinds_of_loss if gradients == "all" else many("gradients", gradients))]
        strange = [loss for loss in losses or () if loss not in kinds_of_loss]
        if strange:
            raise ValueError(
                f"gradients has `{strange[0]}`, expected True, or some of {', '.join(kinds_of_loss)} (hint: gradients=True)"
            )
    asked = [] if regimes == "all" else list(USUAL) if regimes is None else many("regimes", regimes)
    kinds = many("weights", weights)
    known = [name for name, _, _ in _holdfast.regimes()]
    unknown = [name for name in asked if name not in known]
    if unknown:
        import difflib

        near = difflib.get_close_matches(str(unknown[0]), known, 1)
        hint = f"{near[0]}, perhaps" if near else "holdfast.regimes() says why each is hard"
        raise ValueError(f"unknown regime `{unknown[0]}`, expected one of {', '.join(known)} (hint: {hint})")
    drawn = _holdfast.problems(asked, kinds, many("inputs", inputs), many("b", b), many("c", c), seed)
    missing = [] if regimes is None else [name for name in asked if name not in {one.regime for one in drawn}]
    if missing or not drawn:
        have = {name: weights for name, _, weights in _holdfast.regimes()}
        told = [f"{name} has {' and '.join(have[name])} weights" for name in missing or asked]
        raise ValueError(
            f"no problem of {', '.join(missing or asked)} has {', '.join(kinds)} weights of these inputs, b and c, expected one of "
            f"each regime that is named (hint: {'; '.join(told)})"
        )
    return [
        Problem(one, method, framework, device, seed, loss)
        for one in drawn
        for loss in ([one.given()[0]] if losses is None else losses)
    ]


def _known_to_take(fn: Callable[..., Any], inputs: Mapping[str, Any], regime: str) -> None:
    """Raises TypeError for a function that does not take the inputs."""
    import inspect

    try:
        # What is called, not what it wraps: a decorator may give arguments or take some away.
        signature = inspect.signature(fn, follow_wrapped=False)
    except (TypeError, ValueError):
        # Some that are compiled tell nothing.
        return
    try:
        signature.bind(**inputs)
    except TypeError as error:
        raise TypeError(
            f"{getattr(fn, '__name__', 'the function')}{signature}: {error}, expected one that takes {', '.join(inputs)}, which "
            f"regime `{regime}` has (hint: give it D=None, z=None, delta_bias=None and delta_softplus=False, "
            "or choose other regimes)"
        ) from None


def assert_correct(
    fn: Callable[..., Any],
    method: str = "zoh",
    regimes: str | Sequence[str] | None = None,
    *,
    gradients: bool | str | Sequence[str] = False,
    **asked: Any,
) -> Report:
    """Runs `fn(u, delta, A, B, C, D=…, z=…, delta_bias=…, delta_softplus=…)` on problems of named regimes; it returns out, or
    out and the last state. Arguments that a regime has not are left out. All other arguments are those of `problems`.

        holdfast.assert_correct(my_scan, method="foh", xp=torch, device="cuda")

    gradients: whether PyTorch's autograd, or JAX's vjp, is asked for the gradient by every input, and these are judged as well;
        or with which kinds of loss. An input that the function does not use has the gradient zero.

    Returns the report of all of them. Raises AssertionError with the diagnosis of what fails; ValueError where there is no
    autograd, as in NumPy.
    """
    if not callable(fn):
        raise TypeError(f"fn is of type {type(fn).__name__}, expected a function (hint: holdfast.check judges arrays)")
    tried = problems(method, regimes, gradients=gradients, **asked)
    reports: list[Report] = []
    unused: dict[str, None] = {}
    for problem in tried:
        ran, without = problem._ran(fn)
        reports.append(problem.judge(**ran))
        unused.update(dict.fromkeys(() if reports[-1].passed else without))
    command = f'holdfast.assert_correct(…, method="{method}")'
    failing = [(problem, report) for problem, report in zip(tried, reports) if not report.passed]
    if failing:
        hard = {problem.regime: problem.why for problem, _ in failing}
        told = "\n".join(f"  {regime}: {why}" for regime, why in hard.items())
        if unused:
            told += f"\n\nautograd finds no way to {', '.join(unused)}: its gradient is zero (is there a detach, or .data?)"
        text = Report.merged([report for _, report in failing], command)
        raise AssertionError(f"{len(failing)} of {len(tried)} problems do not pass, of these regimes:\n{told}\n\n{text}")
    return Report.merged(reports, command)
