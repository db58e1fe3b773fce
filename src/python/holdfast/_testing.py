"""A function of the caller's own on the named regimes: hard inputs, each of a kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _holdfast
from ._arrays import convert, framework_of, origin
from ._recorded import judge, known_method, known_seed, metadata_of, outputs_of
from ._report import Report

#: Some regimes of different kinds that take little time.
USUAL = ("short", "tiny-z", "stiff", "delta-zero", "trained-delta", "groups", "everything-on")


def regimes() -> dict[str, str]:
    """The named regimes, and why each is hard."""
    return {name: why for name, why, _ in _holdfast.regimes()}


class Problem:
    """One problem of a regime.

    id: "regime/weights/input/b-LAYOUT/c-LAYOUT"
    why: why the regime is hard
    inputs: the arguments of a scan by their names: u, delta, A, B, C, and D, z, delta_bias and delta_softplus where the regime
        has them; arrays of the framework that was asked for, in layout "bdl", complex ones as complex64
    """

    def __init__(self, drawn: _holdfast.Problem, method: str, framework: str, device: Any) -> None:
        self.id, self.regime, self.why, self.method = drawn.id, drawn.regime, drawn.why, method
        self._drawn, self._framework, self._device = drawn, framework, device

    @property
    def inputs(self) -> dict[str, Any]:
        """The arguments of a scan, drawn anew for each reader."""
        drawn, named = self._drawn, {}
        is_variable: dict[str, bool] = dict(zip(("B", "C"), drawn.variable))
        for name, values, shape in drawn.inputs():
            is_input = name in ("u", "delta", "z") or is_variable.get(name, False)
            kind = drawn.input if is_input else "f32"
            if drawn.weights == "complex" and name in ("A", "B", "C", "initial_state"):
                kind = "complex"
            named[name] = convert(values, shape, kind, self._framework, self._device)
        if drawn.delta_softplus:
            named["delta_softplus"] = True
        return named

    def check(self, out: Any, last_state: Any = None) -> Report:
        """Judges what a scan returned on `inputs`, and raises AssertionError with the diagnosis where it fails.

        Raises ValueError for an output that is none.
        """
        report = self.judge(out, last_state)
        if not report.passed:
            raise AssertionError(f"{self.id}: {self.why}\n\n{report}")
        return report

    def judge(self, out: Any, last_state: Any = None) -> Report:
        """The same without raising for a failure."""
        given = self.inputs
        metadata = metadata_of(bool(given.pop("delta_softplus", False)), {})
        return judge(
            given,
            outputs_of(self.method, out, last_state),
            {**metadata, **origin(out)},
            name=self.id,
            rerun=f'holdfast.assert_correct(…, method="{self.method}", regimes="{self.regime}")',
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
    seed: int = 1,
) -> list[Problem]:
    """The problems of some regimes.

    regimes: names of `regimes()`, each of which must have such problems; "all" for those of every regime that has any, which of
        real weights alone is not every regime; None for those of a few usual ones
    weights: "real", "complex", or both as a list; a regime that is named may lack one of two
    inputs: types of u, delta and z: "f32", "f16", "bf16"
    b, c: whether B and C vary along the sequence: "variable", "constant"
    xp: the framework of the arrays: a module (numpy, torch, jax.numpy, cupy) or its name
    device: where that framework is to put them

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
    return [Problem(one, method, framework, device) for one in drawn]


def _called(fn: Callable[..., Any], problem: Problem) -> Any:
    """What the function returns for the problem's inputs.

    Raises TypeError for one that does not take them.
    """
    import inspect

    inputs = problem.inputs
    try:
        # What is called, not what it wraps: a decorator may give arguments or take some away.
        signature = inspect.signature(fn, follow_wrapped=False)
    except (TypeError, ValueError):
        # Some that are compiled tell nothing.
        return fn(**inputs)
    try:
        signature.bind(**inputs)
    except TypeError as error:
        raise TypeError(
            f"{getattr(fn, '__name__', 'the function')}{signature}: {error}, expected one that takes {', '.join(inputs)}, which "
            f"regime `{problem.regime}` has (hint: give it D=None, z=None, delta_bias=None and delta_softplus=False, "
            "or choose other regimes)"
        ) from None
    return fn(**inputs)


def assert_correct(
    fn: Callable[..., Any],
    method: str = "zoh",
    regimes: str | Sequence[str] | None = None,
    **asked: Any,
) -> Report:
    """Runs `fn(u, delta, A, B, C, D=…, z=…, delta_bias=…, delta_softplus=…)` on problems of named regimes; it returns out, or
    out and the last state. Arguments that a regime has not are left out. All other arguments are those of `problems`.

        holdfast.assert_correct(my_scan, method="foh", xp=torch, device="cuda")

    Returns the report of all of them. Raises AssertionError with the diagnosis of what fails.
    """
    if not callable(fn):
        raise TypeError(f"fn is of type {type(fn).__name__}, expected a function (hint: holdfast.check judges arrays)")
    tried = problems(method, regimes, **asked)
    reports = [problem.judge(_called(fn, problem)) for problem in tried]
    command = f'holdfast.assert_correct(…, method="{method}")'
    failing = [(problem, report) for problem, report in zip(tried, reports) if not report.passed]
    if failing:
        hard = {problem.regime: problem.why for problem, _ in failing}
        told = "\n".join(f"  {regime}: {why}" for regime, why in hard.items())
        text = Report.merged([report for _, report in failing], command)
        raise AssertionError(f"{len(failing)} of {len(tried)} problems do not pass, of these regimes:\n{told}\n\n{text}")
    return Report.merged(reports, command)
