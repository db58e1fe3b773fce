"""A function of the caller's own on the named regimes: hard inputs, each of a kind."""

from __future__ import annotations

import contextlib
import copy
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _holdfast
from ._arrays import convert, framework_of, input_type
from ._autograd import Ran, differentiated, pair_of
from ._calls import SHAPES, adapted, lacking, name_of, said, unmatched, what_it_takes
from ._layout import known_layout
from ._names import called, diagnosis_of, known_kind, many
from ._recorded import computed_of, judge, known_method, known_seed, metadata_of, of_kernels, origin_of
from ._report import Report
from ._setting import Setting, setting_of

__tracebackhide__ = True

#: Some regimes of different kinds that take little time, the last with borders of chunks and with D alone; and those that stand for
#: the ones with groups where there are none.
USUAL = ("short", "tiny-z", "stiff", "delta-zero", "trained-delta", "softplus-range", "groups", "everything-on", "seqlen-513")
_WITHOUT_GROUPS = {"groups": "b-zero", "everything-on": "vim-tiny"}
#: Arguments of a regime without which there is a problem as well.
_DISPENSABLE = ("D", "z", "delta_bias", "delta_softplus")
#: In their place: that B and C have one group.
_ONE_GROUP = "several groups"


def regimes() -> dict[str, str]:
    """The named regimes, and why each is hard."""
    return {name: why for name, why, _ in _holdfast.regimes()}


_GOES_ON = "the state goes on from one packed sequence to the next: out is that of one long sequence"


class Problem:
    """One problem of a regime.

    id: "regime/weights/input/b-SHAPE/c-SHAPE", and "/heads-of-8", "/packed-seq_idx", "/decode-1" and "/LOSS" of what has these
    why: why the regime is hard
    loss: with gradients, which kind of loss there is: "random", "one-hot", "sum", "last" or "cancelling"; else None
    inputs: the arguments of a scan by their names: u, delta, A, B, C, and D, z, delta_bias and delta_softplus where the regime
        has them; initial_state of decode problems, and seq_idx or cu_seqlens of packed ones; arrays of the framework and in the
        layout that were asked for, complex ones as complex64. In layout="blhp" they are called x, dt, dt_bias, dt_softplus and
        initial_states, in layout="step" the same, but for state
    """

    def __init__(
        self,
        drawn: _holdfast.Problem,
        method: str,
        framework: str,
        device: Any,
        seed: int,
        loss: str | None,
        shapes: tuple[str, str],
        setting: Setting,
        diagnosis: float | str,
    ) -> None:
        regime, weights, kind, *_ = drawn.id.split("/")
        parts = [regime, weights, kind, f"b-{shapes[0]}", f"c-{shapes[1]}", *setting.parts()]
        self.id = "/".join([*parts, *([loss] if loss else [])])
        self.regime, self.why, self.method, self.loss = drawn.regime, drawn.why, method, loss
        self._drawn, self._framework, self._device, self._seed = drawn, framework, device, seed
        self._shapes, self._setting, self._diagnosis = dict(zip("BC", shapes)), setting, diagnosis
        #: What repeats it, where that is no call of `assert_correct`; and of such a call the function's name.
        self._rerun: str | None = None
        self._function = "fn"
        #: What it is without: some of `_DISPENSABLE`, and perhaps `_ONE_GROUP`.
        self._without: tuple[str, ...] = ()

    @property
    def inputs(self) -> dict[str, Any]:
        """The arguments of a scan, drawn anew for each reader."""
        names = self._setting.names
        return {names.get(name, name): value for name, value in self._arguments().items()}

    def _arguments(self) -> dict[str, Any]:
        """The same by the names of `check`."""
        import numpy

        drawn, named = self._drawn, {}
        is_last = self._setting.layout in ("bdl", "step")
        groups = 1 if is_last else 2
        is_variable: dict[str, bool] = dict(zip(("B", "C"), drawn.variable))
        given = {name: values.reshape(shape) for name, values, shape in drawn.inputs()}
        if "delta_softplus" in self._without:
            # The steps as they come out: others would go back in time.
            bias = given.get("delta_bias", numpy.zeros(1, "f4"))
            bias = bias.reshape(-1, 1) if is_last else bias
            steps = numpy.logaddexp(0, given["delta"] + bias)
            given["delta"] = steps if "delta_bias" in self._without else steps - bias
        for name, values in given.items():
            if name in self._without:
                continue
            is_input = name in ("u", "delta", "z") or is_variable.get(name, False)
            if _ONE_GROUP in self._without and is_variable.get(name):
                values = values.take([0], axis=groups)
            shape = [*values.shape]
            if self._shapes.get(name) == "variable" and shape[groups] == 1:
                del shape[groups]
            named[name] = self._array(name, values, shape, is_input)
        if drawn.delta_softplus and "delta_softplus" not in self._without:
            named["delta_softplus"] = True
        starts = drawn.starts() if self._setting.packed else []
        for name in self._setting.tells:
            of_items = starts if name == "cu_seqlens" else [numpy.repeat(range(len(one) - 1), numpy.diff(one)) for one in starts]
            whole = numpy.asarray(of_items[0] if name == "cu_seqlens" else of_items, "i4")
            named[name] = convert(whole, whole.shape, "i32", self._framework, self._device)
        return named

    def _call_of(self, fn: Callable[..., Any]) -> tuple[dict[str, Any], Callable[..., Any]]:
        """The inputs by the names of `check`, and the function as one that takes them. Raises TypeError where it does not."""
        inputs = self._arguments()
        call = adapted(fn, inputs, self._setting.names)
        if call is None:
            raise lacking(fn, inputs, f"regime `{self.regime}`", self._setting.names)
        return inputs, call

    def _less(self, *names: str) -> Problem:
        """The same without these arguments."""
        other = copy.copy(self)
        other._without = tuple(dict.fromkeys((*self._without, *names)))
        return other

    def _lacks(self, fn: Callable[..., Any]) -> list[str]:
        """The arguments that the function needs and this has not."""
        return unmatched(fn, self._arguments(), self._setting.names)[1]

    def _for(self, fn: Callable[..., Any]) -> Problem:
        """The same without what the function does not take, as far as there is one."""
        untaken, _ = unmatched(fn, self._arguments(), self._setting.names)
        return self._less(*(name for name in untaken if name in _DISPENSABLE))

    @property
    def _has_groups(self) -> bool:
        axis = 2 if self._setting.layout in ("bld", "blhp") else 1
        operands = [shape for (name, _, shape) in self._drawn.inputs() if name in ("B", "C") and len(shape) > 3]
        return _ONE_GROUP not in self._without and any(shape[axis] > 1 for shape in operands)

    def _called(self, name: str) -> str:
        return self._setting.names.get(name, name)

    def _array(self, name: str, values: Any, shape: Sequence[int], is_input: bool) -> Any:
        drawn, setting = self._drawn, self._setting
        kind = drawn.input if is_input else setting.state_type if name == "initial_state" else "f32"
        if drawn.weights == "complex" and name in ("A", "B", "C", "initial_state", "dlast_state"):
            kind = "complex"
        array = convert(values, shape, kind, self._framework, self._device)
        return array[..., 0] if is_input and setting.layout == "step" else array

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

        `D`, `z`, `delta_bias` and `delta_softplus` are left out where the function does not take them; `without` says so. Raises
        TypeError for a function that does not take the rest; ValueError for arrays without autograd, and for outputs that do
        not depend on them.
        """
        known_kind("fn", fn, callable(fn), "a function", "check judges what it returned")
        own = self._for(fn)
        ran, _ = own._ran(fn)
        return {**ran, "without": own._without} if own._without else ran

    def _ran(self, fn: Callable[..., Any]) -> tuple[Ran, list[str]]:
        """The same of a function that takes all of it, and which inputs autograd found no way to."""
        inputs, call = self._call_of(fn)
        if self.loss is not None:
            ran, unused = differentiated(call, inputs, self._given(), self._framework, self.id)
            if "grads" not in ran and Problem.judge(self, **ran, diagnosis="off").passed:
                found, wanted = ran["last_state"].shape, self.dlast_state.shape
                raise ValueError(
                    f"{self.id}: the last state has shape {tuple(found)}, expected {tuple(wanted)} (hint: a loss sees that of each sequence)"
                )
            return ran, unused
        out, last_state = pair_of(call(**inputs))
        return {"out": out, "last_state": last_state}, []

    @called
    def check(
        self,
        out: Any = None,
        last_state: Any = None,
        *,
        dlast_state: Any = None,
        grads: Mapping[str, Any] | None = None,
        without: Sequence[str] = (),
    ) -> Report:
        """Judges what a scan returned on `inputs`, and raises AssertionError with the diagnosis where it fails.

        grads: what a backward pass returned for `dout`, as `holdfast.check` has it
        dlast_state: the problem's own, where the backward pass was given that as well
        without: inputs that the function was not given, of D, z, delta_bias and delta_softplus, as `run` has them

        Raises ValueError for an output that is none.
        """
        report = self.judge(out, last_state, dlast_state=dlast_state, grads=grads, without=without)
        if not report.passed:
            headline = _GOES_ON if self._less(*without)._goes_on(out, report) else report.headline()
            raise _failed(f"{headline}\n\n{self.id}: {self.why}\n\n{report}", report)
        return report

    def judge(
        self,
        out: Any = None,
        last_state: Any = None,
        *,
        dlast_state: Any = None,
        grads: Mapping[str, Any] | None = None,
        diagnosis: float | str | None = None,
        causes: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> Report:
        """The same without raising for a failure.

        diagnosis: how long it is looked for why an output fails, as `holdfast.check` has it; None for the problem's own
        causes: names that are asked whether they explain it; none for all
        """
        if without:
            named = many("without", without, _DISPENSABLE, "these alone may be left out")
            given = {"dlast_state": dlast_state, "grads": grads, "diagnosis": diagnosis, "causes": causes}
            report = Problem.judge(self._less(*named), out, last_state, **given)
            report.notes = tuple(self._less(*named)._notes())
            return report
        computed = {"method": self.method, "out": out, "last_state": last_state, "dlast_state": dlast_state, "grads": grads}
        if grads is not None:
            if self.loss is None:
                raise ValueError(
                    f"grads is given and {self.id} has no dout, expected a problem that has one "
                    "(hint: holdfast.problems(…, gradients=True))"
                )
            computed["dout"] = self.dout
        inputs = self._arguments()
        metadata = metadata_of(bool(inputs.pop("delta_softplus", False)), self._setting.stated)
        return judge(
            inputs,
            computed_of(computed),
            {**metadata, **origin_of(computed)},
            layout=self._setting.layout,
            name=self.id,
            rerun=self._rerun or self._call(),
            diagnosis=self._diagnosis if diagnosis is None else diagnosis,
            causes=causes,
        )

    def _call(self) -> str:
        """The call of `assert_correct` that has this problem alone."""
        drawn = self._drawn
        words = [f'holdfast.assert_correct({self._function}, method="{self.method}", regimes="{self.regime}"']
        words += [f'weights="{drawn.weights}"'] if drawn.weights != "real" else []
        words += [f'inputs="{drawn.input}"'] if drawn.input != "f32" else []
        words += [f'{name.lower()}="{shape}"' for name, shape in self._shapes.items()]
        words += self._setting.words()
        words += [f"xp={self._framework.replace('jax', 'jax.numpy')}"] if self._framework != "numpy" else []
        words += [f'device="{self._device}"'] if self._device is not None else []
        words += [f'gradients="{self.loss}"'] if self.loss else []
        words += [f"seed={self._seed}"] if self._seed != 1 else []
        return ", ".join(words) + ")"

    def _notes(self, *more: Problem) -> list[str]:
        """What this problem and others are without, in words."""
        regimes: dict[str, dict[str, None]] = {}
        for one in (self, *more):
            names = [self._called(name) for name in one._without if name in _DISPENSABLE]
            steps = " + ".join(self._called(name) for name in ("delta", "delta_bias") if name not in one._without or name == "delta")
            flag = self._called("delta_softplus")
            made = f" ({steps} is the step; a function that always makes a softplus of it needs an argument {flag}, which says when)"
            made = made if "delta_softplus" in one._without else ""
            if names:
                regimes.setdefault(f"without {', '.join(names)}, which it does not take{made}", {})[one.regime] = None
        return [f"{said}: {', '.join(names)}" for said, names in regimes.items()]

    def _goes_on(self, out: Any, report: Report) -> bool:
        """Whether an output that fails is right for items that are one sequence each, where sequences are packed."""
        if self._setting.packed is None or not any(name.startswith("out") for name in report.failing_tensors()):
            return False
        other = copy.copy(self)
        other._setting = self._setting._replace(packed=None)
        return Problem.judge(other, out, diagnosis="off").passed

    def unjudged(self, verdict: str, reason: str) -> Report:
        """A report of no element: "fail" or "unmeasured", and why."""
        import json

        import numpy

        # That of an output which nobody looks at has the rest of what a case says.
        shape = self._arguments()["u"].shape
        blank = numpy.full(shape, numpy.nan, "f4")
        report = Problem.judge(self, convert(blank, shape, self._drawn.input, "numpy", None), diagnosis="off").to_dict()
        (case,) = report["cases"]
        case.update(verdict=verdict, reason=reason, beyond="none", judged=0, worst=None, tensors={}, diagnosis=[])
        return Report.from_json(json.dumps(report))

    def __repr__(self) -> str:
        return f"<holdfast.Problem: {self.id}, {self.method}>"


@called
def problems(
    method: str = "zoh",
    regimes: str | Sequence[str] | None = None,
    *,
    weights: str | Sequence[str] = "real",
    inputs: Any = "f32",
    b: str | Sequence[str] | None = None,
    c: str | Sequence[str] | None = None,
    layout: str = "bdl",
    headdim: int | None = None,
    packed: bool | str = False,
    decode: int | None = None,
    xp: Any = "numpy",
    device: Any = None,
    gradients: bool | str | Sequence[str] = False,
    arithmetic: str | None = None,
    scan: str | None = None,
    state_type: str | None = None,
    state_read: str | None = None,
    seed: int = 1,
    diagnosis: float | str = 10,
) -> list[Problem]:
    """The problems of some regimes.

    regimes: names of `regimes()`, each of which must have such problems; "all" for those of every regime that has any, which of
        real weights alone is not every regime, but for `overflowing-products`, which is asked for by its name; None for those of
        a few usual ones
    weights: "real", "complex", or both as a list; a regime that is named may lack one of two
    inputs: types of u, delta and z: "f32", "f16", "bf16", or a framework's own, as torch.bfloat16; or several as a list
    b, c: shapes of B and C: "variable" for (batch, dstate, seqlen), but with groups in regimes that have several; "grouped" for
        (batch, groups, dstate, seqlen) everywhere; "constant" for (dim, dstate); or several as a list. The few usual regimes
        have groups where one of the two is "grouped". None for "variable", with heads for "grouped"
    layout: "bdl", or "bld" for (batch, seqlen, dim) and (batch, seqlen[, groups], dstate); "blhp" for Mamba-2's heads, and "step" for an
        update of a state, in the shapes of `check`. `Problem` has the names
    headdim: with layout="blhp", channels of a head; each channel of a regime is a head of so many. None for 8
    packed: True or "seq_idx" for sequences that are packed into the items of a batch, told apart by seq_idx; "cu_seqlens" for those
        of one item by where they begin, or "both". One of them has a single position, and they begin within chunks. With cu_seqlens
        the last state is that of each sequence, (sequences, …), or with one sequence the last one's
    decode: so many steps from a state, initial_state, which is drawn. layout="step" is one step
    xp: the framework of the arrays: a module (numpy, torch, jax.numpy, cupy) or its name
    device: where that framework is to put them
    gradients: whether each is to have a `dout`, of one kind of loss for each problem; or which kinds each is to have: some of
        "random", "one-hot", "sum", "last" and "cancelling", or "all"
    arithmetic, scan, state_type, state_read: what is stated of the scan, as `check` has it; an initial state is of the `state_type`
    diagnosis: how long it is looked for why an output fails, as `check` has it

    Raises ValueError for names that there are not, for a named regime without such problems, and for empty lists.
    """
    framework = framework_of(xp)
    stated = {"arithmetic": arithmetic, "scan": scan, "state_type": state_type, "state_read": state_read}
    setting = setting_of(layout, headdim, packed, decode, stated)
    method, seed = known_method(method), known_seed(seed)
    diagnosis_of(diagnosis)
    #: Of each problem; None is its own one.
    losses: list[str | None] | None = [None]
    if gradients is not False:
        of_kernels(method.partition(".")[0])
        kinds_of_loss = _holdfast.losses()
        is_all = isinstance(gradients, str) and gradients == "all"
        named = kinds_of_loss if is_all or gradients is True else many("gradients", gradients, kinds_of_loss, "gradients=True")
        losses = None if gradients is True else [*named]
    shapes = [(one, other) for one in _shapes("b", b, setting.layout) for other in _shapes("c", c, setting.layout)]
    has_groups = any("grouped" in pair for pair in shapes)
    known = [name for name, _, _ in _holdfast.regimes()]
    asked = [name if has_groups else _WITHOUT_GROUPS.get(name, name) for name in USUAL]
    if regimes is not None:
        is_all = isinstance(regimes, str) and regimes == "all"
        asked = [] if is_all else many("regimes", regimes, known, "holdfast.regimes() says why each is hard")
    kinds = many("weights", weights, ("real", "complex"), "complex weights are those of S4")
    types = list(dict.fromkeys(map(input_type, inputs if isinstance(inputs, (list, tuple)) else [inputs])))
    if setting.state_type != "f32" and (gradients is not False or "complex" in kinds):
        what = "gradients" if gradients is not False else "complex weights"
        raise ValueError(f"state_type is {setting.state_type} beside {what}, expected f32 (hint: they are judged where states are not rounded)")
    if not types:
        raise ValueError("inputs is empty, expected at least one type (hint: leave it out for f32)")
    laid_out = {name: name.replace("grouped", "variable") for name in SHAPES}
    drawn = [
        (one, pair)
        for pair in shapes
        for one in _holdfast.problems(asked, kinds, types, [laid_out[pair[0]]], [laid_out[pair[1]]], seed, setting.drawn())
    ]
    drawn.sort(key=lambda both: known.index(both[0].regime))
    missing = [] if regimes is None else [name for name in asked if name not in {one.regime for one, _ in drawn}]
    if missing or not drawn:
        have = {name: weights for name, _, weights in _holdfast.regimes()}
        told = [f"{name} has {' and '.join(have[name])} weights" for name in missing or asked]
        raise ValueError(
            f"no problem of {', '.join(missing or asked)} has {', '.join(kinds)} weights of these inputs, b and c, expected one of "
            f"each regime that is named (hint: {'; '.join(told)})"
        )
    return [
        Problem(one, method, framework, device, seed, loss, pair, setting, diagnosis)
        for one, pair in drawn
        for loss in ([one.given()[0]] if losses is None else losses)
    ]


def _shapes(name: str, asked: Any, layout: str) -> list[str]:
    if asked is None:
        asked = "grouped" if layout == "blhp" else "variable"
    shapes = many(name, asked, SHAPES, "; ".join(f"{one} is {shape}" for one, shape in SHAPES.items()))
    if "constant" in shapes and layout in ("blhp", "step"):
        raise ValueError(f'{name} is `constant` and layout is `{layout}`, expected "grouped" or "variable" (hint: there B and C always vary)')
    return shapes


@called
def assert_correct(
    fn: Callable[..., Any],
    method: str = "zoh",
    regimes: str | Sequence[str] | None = None,
    *,
    weights: str | Sequence[str] = "real",
    inputs: Any = "f32",
    b: str | Sequence[str] | None = None,
    c: str | Sequence[str] | None = None,
    layout: str | None = None,
    headdim: int | None = None,
    packed: bool | str = False,
    decode: int | None = None,
    xp: Any = None,
    device: Any = None,
    gradients: bool | str | Sequence[str] = False,
    arithmetic: str | None = None,
    scan: str | None = None,
    state_type: str | None = None,
    state_read: str | None = None,
    seed: int = 1,
    diagnosis: float | str = 10,
) -> Report:
    """Runs `fn(u, delta, A, B, C, D=…, z=…, delta_bias=…, delta_softplus=…)` on problems of named regimes; it returns out, or
    out and the last state. Arguments that a regime has not are left out. All other arguments are those of `problems`.

        holdfast.assert_correct(my_scan, method="foh", gradients=True)
        holdfast.assert_correct(my_ssd, layout="blhp", packed=True)
        holdfast.assert_correct(my_update, layout="step", state_type="bf16")

    fn: its arguments may have other names, as x, dt, dt_bias and dt_softplus, initial_states or state; or its first five any
        names. It gets problems without what it does not take of D, z, delta_bias and delta_softplus; what else it needs has a default
    regimes: None for a few usual ones, of which "seqlen-513" has borders of chunks
    b, c, layout: None for one shape, which the function takes, of layouts "bdl" and "bld"
    xp: None for the framework whose arrays the function takes, of those that are imported
    gradients: whether PyTorch's autograd, or JAX's vjp, is asked for the gradient by every input, and these are judged as well;
        or with which kinds of loss. An input that the function does not use has the gradient zero.
    diagnosis: seconds that it is looked for why a problem fails, and six times that for all of them; "thorough" for each as long as it
        takes, "off" for the verdicts alone

    Returns the report of all of them, whose `notes` say what the function was given and what was left out. Raises AssertionError
    with the diagnosis of what fails; ValueError where there is no autograd, as in NumPy.
    """
    asked = dict(locals())
    known_kind("fn", fn, callable(fn), "a function", "holdfast.check judges arrays")
    given: dict[str, Any] = {"weights": weights, "inputs": inputs, "device": device, "seed": seed, "diagnosis": diagnosis}
    given |= {"headdim": headdim, "packed": packed, "decode": decode, "arithmetic": arithmetic, "scan": scan}
    given |= {"state_type": state_type, "state_read": state_read}
    layout = None if layout is None else known_layout(layout)
    takes: dict[str, Any] = {"layout": layout, "xp": xp}
    takes |= {name: None if one is None else _shapes(name, one, layout or "bdl") for name, one in (("b", b), ("c", c))}
    if any(one is None for one in takes.values()):
        # The first problem that has what the function needs shows in what shapes; whether it takes groups is seen later.
        def first(**more: Any) -> Problem:
            every = problems(method, regimes, **given, **more)
            return next((one for one in every if not one._lacks(fn)), every[0])._less(_ONE_GROUP)._for(fn)

        takes = what_it_takes(fn, first, **takes)
    layout = str(takes["layout"])
    notes = [f"{name_of(fn)} was given {_arrays_of(takes['xp'])}, B as {said(takes['b'], layout)} and C as {said(takes['c'], layout)}"]
    given |= {**takes, "gradients": gradients}
    tried: list[Problem] = []
    reports: list[Report] = []
    unused: dict[str, None] = {}
    left_out: dict[str, str] = {}
    one_group: dict[str, dict[str, None]] = {}
    failing: list[tuple[Problem, Ran, Report]] = []
    queue = problems(method, regimes, **given)
    lacks = {problem.regime: problem._lacks(fn) for problem in queue}
    if regimes is None and not all(lacks.values()):
        left_out = {regime: f"lack of {', '.join(names)}, which it needs" for regime, names in lacks.items() if names}
        queue = [problem for problem in queue if problem.regime not in left_out]
    for problem in queue:
        problem = problem._for(fn)
        problem._function = name_of(fn)
        try:
            ran, without = problem._ran(fn)
        except Exception as error:
            # Many a scan has one group.
            single = problem._less(_ONE_GROUP)
            again: tuple[Ran, list[str]] | None = None
            with contextlib.suppress(Exception):
                again = single._ran(fn) if problem._has_groups else None
            if again is None:
                raise
            several = f"with which it raises {type(error).__name__}"
            if "grouped" not in (takes["b"], takes["c"]):
                # Its shape of B and C has no place for more.
                (ran, without), problem = again, single
                one_group.setdefault(several, {})[problem.regime] = None
            elif regimes is None:
                # The same of the rest may be tried without any more.
                left_out[problem.regime] = f"several groups, {several}"
                with contextlib.suppress(ValueError):
                    queue += problems(method, _WITHOUT_GROUPS[problem.regime], **given)
                continue
            else:
                raise TypeError(
                    f"{name_of(fn)} raises {type(error).__name__}: {error}; regime `{problem.regime}` has several groups, and with one it "
                    "runs; expected a function that takes them (hint: leave regimes out, or name others)"
                ) from error
        tried.append(problem)
        reports.append(problem.judge(**ran, diagnosis="off"))
        if not reports[-1].passed:
            failing.append((problem, ran, reports[-1]))
        unused.update(dict.fromkeys(() if reports[-1].passed else without))
    for why in dict.fromkeys(left_out.values()):
        notes.append(f"left out for {why}: {', '.join(name for name, own in left_out.items() if own == why)}")
    notes += [f"with one group in the place of several, {several}: {', '.join(names)}" for several, names in one_group.items()]
    notes += tried[0]._notes(*tried[1:])
    command = _command_of(asked)
    if failing:
        hard = {problem.regime: problem.why for problem, *_ in failing}
        told = "\n".join(f"  {regime}: {why}" for regime, why in hard.items())
        if unused:
            told += f"\n\nautograd finds no way to {', '.join(unused)}: its gradient is zero (is there a detach, or .data?)"
        explained = iter(_explained(failing, diagnosis_of(diagnosis)))
        reports = [report if report.passed else next(explained) for report in reports]
        text = Report.merged(reports, command)
        text.notes = tuple(notes)
        count = f"{len(failing)} of {len(tried)} problems do not pass, of these regimes:"
        goes_on = all(problem._goes_on(ran["out"], report) for problem, ran, report in failing)
        raise _failed(f"{_GOES_ON if goes_on else text.headline()}\n\n{count}\n{told}\n\n{text}", text)
    is_differentiable = framework_of(takes["xp"]) in ("torch", "jax") and method in {row[0] for row in _holdfast.methods()}
    if gradients is False and is_differentiable and decode is None and state_type is None:
        notes.append("gradients were not judged: gradients=True judges them")
    report = Report.merged(reports, command)
    report.notes = tuple(notes)
    return report


def _command_of(asked: Mapping[str, Any]) -> str:
    """The call of `assert_correct` again, with what differs from its defaults."""
    import inspect
    import json

    words = [name_of(asked["fn"]), f"method={json.dumps(known_method(asked['method']))}"]
    for name, one in list(inspect.signature(assert_correct).parameters.items())[2:]:
        value = asked[name]
        if value is None or isinstance(value, (str, int, float)) and value == one.default:
            continue
        several = [*value] if isinstance(value, (list, tuple, set, frozenset)) else [value]
        if name == "xp":
            text = framework_of(value).replace("jax", "jax.numpy")
        elif name in ("inputs", "device") or not isinstance(value, (bool, int, float)):
            texts = [json.dumps(input_type(part) if name == "inputs" else str(part)) for part in several]
            text = texts[0] if several == [value] else f"[{', '.join(texts)}]"
        else:
            text = repr(value)
        words.append(f"{name}={text}")
    return f"holdfast.assert_correct({', '.join(words)})"


#: Failures in the same tensors that are looked at for any cause, where the others are asked for those causes alone; and cases whose
#: time there is for all of them, as on the command line.
_SEARCHED, _CASES = 2, 6
#: Names that each failing case is asked for in the end.
_ASKED = 3


def _failed(text: str, report: Report) -> AssertionError:
    """The error of a failing report, which it has as `report`."""
    error = AssertionError(text)
    error.report = report  # type: ignore[attr-defined]
    return error


def _each(diagnosis: str, left: float) -> float | str:
    """How long one problem is looked at, where so many seconds are left for all."""
    return "thorough" if diagnosis == "thorough" else max(round(min(float(diagnosis), left), 3), 0.001)


def _explained(failing: Sequence[tuple[Problem, Ran, Report]], diagnosis: str) -> list[Report]:
    """The reports of what fails, with causes, as far as time goes."""
    if diagnosis == "off":
        return [report for *_, report in failing]
    seconds = float("inf") if diagnosis == "thorough" else float(diagnosis)
    count = sum(case.verdict == "fail" for *_, report in failing for case in report.cases)
    most = "" if diagnosis == "thorough" else f", at most {min(_CASES, count) * seconds:g} s"
    print(f'FAIL: looking for the cause of {count} case{"s" * (count > 1)}{most} (diagnosis="off" leaves it out)', file=sys.stderr, flush=True)
    until = time.monotonic() + _CASES * seconds
    explained: dict[int, Report] = {}
    searched: dict[tuple[str, ...], list[str]] = {}
    names: dict[str, None] = {}
    largest: int | None = None
    # The smallest tell most for the least.
    for at, (problem, ran, report) in sorted(enumerate(failing), key=lambda one: one[1][2].cases[0].judged):
        alike = searched.setdefault(report.failing_tensors(), [])
        left = until - time.monotonic()
        each = _each(diagnosis, left)
        is_named = False
        if left > 0 and names and each != "thorough":
            report = problem.judge(**ran, diagnosis=each, causes=[part for name in names for part in name.split(" + ")])
            failing_cases = [case for case in report.cases if case.verdict == "fail"]
            is_named = all(case.diagnosis and case.diagnosis[0].name in names for case in failing_cases)
        if not is_named and len(alike) >= _SEARCHED and each != "thorough":
            report = report.searched({"as": alike[0]})
            largest = at
        elif not is_named and left <= 0:
            report = report.searched({"not_begun": f"{_CASES * seconds:g} s"})
        elif not is_named:
            report = problem.judge(**ran, diagnosis=each).keeping(report, names)
            # A failure without a name in one may have one in the next.
            alike += [report.cases[0].id] if report.diagnosis else []
            names.update((case.diagnosis[0].name, None) for case in report.cases if case.diagnosis)
        explained[at] = report
    left = until - time.monotonic()
    if largest is not None and left > 0:
        # It may have what smaller ones have no room for, as chunks.
        problem, ran, _ = failing[largest]
        report = problem.judge(**ran, diagnosis=_each(diagnosis, left))
        explained[largest] = report if report.diagnosis else explained[largest]
    _agreed(failing, explained, diagnosis, until)
    return [explained[at] for at in range(len(failing))]


def _agreed(failing: Sequence[tuple[Problem, Ran, Report]], explained: dict[int, Report], diagnosis: str, until: float) -> None:
    """Gives all cases that one cause explains its name: of one function a small case may show another one as well."""

    def first(report: Report) -> set[str]:
        return {case.diagnosis[0].name for case in report.cases if case.diagnosis}

    def is_named(report: Report, name: str) -> bool:
        return all(case.verdict != "fail" or bool(case.diagnosis) and case.diagnosis[0].name == name for case in report.cases)

    names = Counter(name for report in explained.values() for name in first(report))
    best: dict[int, Report] = {}
    most = 0
    for name, _ in names.most_common(_ASKED):
        agreed: dict[int, Report] = {}
        for at, (problem, ran, _) in enumerate(failing):
            left = until - time.monotonic()
            if not is_named(explained[at], name) and left > 0:
                asked = problem.judge(**ran, diagnosis=_each(diagnosis, left), causes=name.split(" + "))
                if name in first(asked):
                    agreed[at] = explained[at].keeping(asked, [name])
        count = sum(name in first(agreed.get(at, report)) for at, report in explained.items())
        if count > most:
            best, most = agreed, count
    # A name of one case alone says no more than its own.
    if most > 1:
        explained.update(best)


def _arrays_of(xp: Any) -> str:
    return {"numpy": "NumPy's arrays", "torch": "PyTorch's tensors", "jax": "JAX's arrays", "cupy": "CuPy's arrays"}[framework_of(xp)]

