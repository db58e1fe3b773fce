"""Promise: a test of four lines runs a function on hard inputs, and a wrong one fails with its cause."""

from __future__ import annotations

import functools

import numpy
import pytest
from conftest import halved, needed, reference, scan_of_torch

import holdfast


SHAPES = {4: "grouped", 2: "constant"}
EVERY_SHAPE = {"b": ["grouped", "constant"], "c": ["grouped", "constant"]}


def right(**inputs):
    return reference(**inputs)


def test_a_right_function_passes_on_the_usual_regimes():
    report = holdfast.assert_correct(right, method="zoh")
    assert report.passed and len(report.cases) == 9
    assert {case.id.split("/")[0] for case in report.cases} >= {"short", "tiny-z", "stiff", "groups"}


def test_a_failure_tells_what_fails_first_and_counts_what_passes():
    def forgets_the_gate(**inputs):
        inputs.pop("z", None)
        return reference(**inputs)

    with pytest.raises(AssertionError) as raised:
        holdfast.assert_correct(forgets_the_gate, regimes=["short", "everything-on"], **EVERY_SHAPE)
    text = str(raised.value)
    assert text.startswith("gate-missing: ") and "(in 4 of 4 failing cases)\n\n4 of 8 problems do not pass, of these" in text
    # What is counted above is what is counted below.
    assert "regimes:\n  everything-on: " in text and "4 of 8 cases: gate-missing" in text and "\n4/8 cases pass" in text
    assert "FAIL short/" not in text and "and 3 more failures: the report's explain() has them all" in text
    assert 'rerun holdfast.assert_correct(forgets_the_gate, method="zoh", regimes="everything-on",' in text


def test_a_wrong_function_fails_with_its_cause():
    with pytest.raises(AssertionError, match="looks like runs-as-zoh-exact"):
        holdfast.assert_correct(lambda **inputs: reference(**inputs, wrong="exact"), method="zoh", regimes="short")
    with pytest.raises(AssertionError, match="looks like runs-as-zoh"):
        holdfast.assert_correct(right, method="foh", regimes=["short"])
    with pytest.raises(AssertionError, match="last_state"):
        holdfast.assert_correct(lambda **inputs: (right(**inputs)[0], right(**inputs)[1] * 1.01), regimes="short")


def test_a_function_that_takes_no_names_is_told_of_them():
    said = r"is given u, delta, A, B, C.* by their names and says: .*; expected a function that takes them so \(hint: def scan"
    with pytest.raises(TypeError, match=said):
        holdfast.assert_correct(max, regimes="short")
    with pytest.raises(TypeError, match=said):
        holdfast.assert_correct(lambda *args, **more: (lambda u: u)(*args, **more), regimes="short")

    def mistaken(**inputs):
        return right(inputs, begin=0)

    # A function's use of its arguments is its own.
    with pytest.raises(TypeError, match=r"^right\(\) takes 0 positional arguments"):
        holdfast.assert_correct(mistaken, regimes="short")


def test_a_decorator_may_take_what_its_function_does_not():
    def own(u, delta, A, B, C, more):
        return reference(u, delta, A, B, C, **more)

    @functools.wraps(own)
    def adapted(u, delta, A, B, C, **more):
        return own(u, delta, A, B, C, more)

    assert holdfast.assert_correct(adapted, regimes="short").passed


def test_weights_inputs_and_layouts_are_those_asked_for():
    asked = holdfast.problems("zoh", "short", weights=["real", "complex"], inputs=["f32", "f16"], b="constant", c="variable")
    assert len(asked) == 4
    kinds = {(p.inputs["A"].dtype.name, p.inputs["u"].dtype.name) for p in asked}
    assert kinds == {(a, u) for a in ("float32", "complex64") for u in ("float32", "float16")}
    assert all(p.inputs["B"].ndim == 2 and p.inputs["C"].ndim == 3 for p in asked)
    shapes = [(p.inputs["B"].ndim, p.inputs["C"].ndim, p.id) for p in holdfast.problems("zoh", "short", **EVERY_SHAPE)]
    named = ((b, c, f"short/real/f32/b-{SHAPES[b]}/c-{SHAPES[c]}") for b in (4, 2) for c in (4, 2))
    assert shapes == list(named)
    # One that has groups has them always.
    assert holdfast.problems("zoh", "groups")[0].inputs["B"].ndim == 4
    other = holdfast.problems("zoh", "short", seed=2)[0].inputs["u"]
    assert not numpy.array_equal(other, holdfast.problems("zoh", "short")[0].inputs["u"])


def test_every_regime_is_told_why_it_is_hard():
    told = holdfast.regimes()
    assert "tiny-z" in told and len(told) > 30 and all(told.values())
    assert len(holdfast.problems("zoh", "all", weights=["real", "complex"])) > 80
    every = {problem.regime for problem in holdfast.problems("zoh", "all", weights=["real", "complex"])}
    real = {problem.regime for problem in holdfast.problems("zoh", "all")}
    # Asked for by its name alone: products of Ā leave f32 there, of which most implementations promise nothing.
    assert every == set(told) - {"overflowing-products"} and "s4d-lin" in every - real
    assert {p.regime for p in holdfast.problems("zoh", "overflowing-products")} == {"overflowing-products"}
    with pytest.raises(ValueError, match="is of scans alone"):
        holdfast.problems("zoh", "overflowing-products", gradients=True)
    assert {problem.regime for problem in holdfast.problems("zoh", ["short", "s4d-lin"], weights=["real", "complex"])} == {
        "short",
        "s4d-lin",
    }


def test_arrays_are_of_the_framework_that_was_asked_for():
    jax = needed("jax", "JAX")
    seen = []

    def scan(**inputs):
        seen.extend(type(array) for name, array in inputs.items() if name != "delta_softplus")
        return jax.numpy.asarray(reference(**{n: numpy.asarray(a) for n, a in inputs.items()})[0])

    holdfast.assert_correct(scan, method="zoh", regimes="short", xp=jax.numpy)
    assert all(issubclass(kind, jax.Array) for kind in seen)


def written(pytester, wrong="None"):
    pytester.makepyfile(
        test_mine=f"""
        import sys; sys.path.insert(0, {str(__file__.rpartition("/")[0])!r})
        import pytest
        from conftest import halved, needed, reference, scan_of_torch

        @pytest.mark.holdfast(method="zoh", regimes=["short", "tiny-z"])
        def test_scan(holdfast_problem):
            holdfast_problem.check(*reference(**holdfast_problem.inputs, wrong={wrong}))
        """
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_each_problem_is_a_test_and_the_session_has_one_report(pytester, workers):
    if workers:
        pytest.importorskip("xdist", reason="unmeasured: no pytest-xdist")
    written(pytester)
    more = ["-n", str(workers)] if workers else []
    result = pytester.runpytest_subprocess("--holdfast-report=report", *more)
    result.assert_outcomes(passed=2)
    report = holdfast.Report.from_json((pytester.path / "report" / "results.json").read_text())
    assert report.passed and len(report.cases) == 2
    assert [case.id for case in report.cases] == sorted(case.id for case in report.cases)
    assert {case.id.split("/")[0] for case in report.cases} == {"short", "tiny-z"}


def test_a_wrong_function_fails_the_test_with_its_cause_and_is_in_the_report(pytester):
    written(pytester, wrong="'exact'")
    result = pytester.runpytest_subprocess("--holdfast-report=report", "-k", "short")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*looks like runs-as-zoh-exact*"])
    report = holdfast.Report.from_json((pytester.path / "report" / "results.json").read_text())
    assert [case.verdict for case in report.cases] == ["fail"]


def test_a_fixture_without_a_marker_and_a_marker_with_a_typo_say_so(pytester):
    pytester.makepyfile(test_bare="def test_scan(holdfast_problem): pass")
    result = pytester.runpytest_subprocess()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*expected a marker beside it*"])
    pytester.makepyfile(
        test_bare="""
        import pytest
        @pytest.mark.holdfast(method="zho")
        def test_scan(holdfast_problem): pass
        """
    )
    result = pytester.runpytest_subprocess()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*method is `zho`, expected one of zoh*"])


def test_a_function_that_raises_is_a_failure_in_the_report(pytester):
    written(pytester, wrong="1 / 0")
    pytester.runpytest_subprocess("--holdfast-report=report", "-k", "short").assert_outcomes(failed=1)
    report = holdfast.Report.from_json((pytester.path / "report" / "results.json").read_text())
    assert [case.verdict for case in report.cases] == ["fail"]
    assert all("ZeroDivisionError" in case.reason for case in report.cases)


KINDS = ["random", "one-hot", "sum", "last", "cancelling"]


def right_gradients(problem):
    """The truth in f32, of a loss that sees the last state where the problem has one that does."""
    found = holdfast.gradients(**problem.inputs, method="zoh", dout=problem.dout, dlast_state=problem.dlast_state)
    names = set(problem.inputs) - {"delta_softplus"}
    return {name: getattr(found, name).astype(problem.inputs[name].dtype) for name in names}


def test_gradients_of_ones_own_are_judged_where_there_is_no_autograd():
    with pytest.raises(ValueError, match="numpy has no automatic differentiation, expected xp=torch"):
        holdfast.assert_correct(right, gradients=True)
    seen = []
    for problem in holdfast.problems("zoh", "short", gradients=True, **EVERY_SHAPE):
        grads = right_gradients(problem)
        seen.append(problem.dlast_state is not None)
        report = problem.check(*right(**problem.inputs), dlast_state=problem.dlast_state, grads=grads)
        assert [case.id for case in report.cases] == [f"{problem.id}/zoh", f"{problem.id}/zoh/backward"]
        assert problem.check(grads=grads, dlast_state=problem.dlast_state).passed
        with pytest.raises(AssertionError, match=r"worst grad.A\[") as raised:
            problem.check(grads={"A": grads["A"] * 2}, dlast_state=problem.dlast_state)
        words = str(raised.value).partition("rerun ")[2].replace("\\\n", "").split()
        assert f'gradients="{problem.loss}")' in words and 'b="grouped",' in words or 'b="constant",' in words
        if problem.dlast_state is not None:
            assert not problem.judge(grads=grads).passed
    assert any(seen) and not all(seen)
    problem = holdfast.problems("zoh", "short")[0]
    assert problem.loss is problem.dout is problem.dlast_state is None
    with pytest.raises(ValueError, match=r"has no dout, expected a problem that has one .hint: holdfast.problems"):
        problem.check(grads=grads)


def test_each_kind_of_loss_is_what_it_is_called():
    asked = {"b": "variable", "c": "variable"}
    every = holdfast.problems("zoh", "short", gradients="all", **asked)
    assert [problem.loss for problem in every] == KINDS
    assert [problem.id.rpartition("/")[2] for problem in every] == KINDS
    drawn, one, ones, last, cancelling = (problem.dout for problem in every)
    assert len(numpy.unique(drawn)) == drawn.size
    assert ((one == 1).sum(-1) == 1).all() and (one == 0).sum() == one.size - one[..., 0].size
    assert (ones == 1).all()
    assert (last[..., -1] == 1).all() and not last[..., :-1].any()
    assert cancelling.all() and (cancelling[..., ::2] == -cancelling[..., 1::2]).all()
    own = holdfast.problems("zoh", gradients=True, **EVERY_SHAPE)
    assert {problem.loss for problem in own} == set(KINDS)
    again = next(problem for problem in own if problem.regime == "short")
    same = holdfast.problems("zoh", "short", gradients=again.loss, **EVERY_SHAPE)[0]
    assert same.id == again.id and numpy.array_equal(same.dout, again.dout)
    assert not numpy.array_equal(holdfast.problems("zoh", "short", gradients="random", seed=2, **asked)[0].dout, drawn)
    for wrong, said in ((["lost"], "gradients is `lost`, expected one of random"), ([], "gradients is empty")):
        with pytest.raises(ValueError, match=said):
            holdfast.problems("zoh", gradients=wrong)
    with pytest.raises(ValueError, match="method is `zoh-exact`, expected one of zoh,"):
        holdfast.problems("zoh-exact", gradients=True)


def test_a_right_function_of_torch_passes_with_its_gradients(torch):
    with torch.no_grad():
        report = holdfast.assert_correct(scan_of_torch(), xp=torch, gradients=True)
    assert report.passed and len(report.cases) == 2 * 9
    with torch.inference_mode():
        assert holdfast.assert_correct(scan_of_torch(), regimes="short", xp=torch, gradients="last").passed
    for kind in ("f16", "bf16"):
        asked = {"regimes": ["short", "everything-on"], "inputs": kind, "xp": torch, "gradients": "all", **EVERY_SHAPE}
        assert len(holdfast.assert_correct(in_f32(torch), **asked).cases) == 2 * 2 * 4 * 5


def in_f32(torch):
    """The scan with half inputs and float weights, as kernels compute it."""

    def scan(delta_softplus=False, **given):
        out, state = scan_of_torch()(**{name: a.float() for name, a in given.items()}, delta_softplus=delta_softplus)
        return out.to(given["u"].dtype), state

    return scan


def test_a_wrong_gradient_of_torch_fails_by_its_name(torch):
    def scan(u, delta, A, B, C):
        return scan_of_torch()(u, delta, halved(torch)(A), B, C)

    with pytest.raises(AssertionError) as raised:
        holdfast.assert_correct(scan, regimes="short", xp=torch, gradients="random", seed=3)
    text = str(raised.value)
    assert "1 of 1 problems do not pass, of these regimes:\n  short: " in text and "autograd finds" not in text
    assert "worst grad.A[" in text and "looks like" in text
    assert 'gradients="random", seed=3)' in text.partition("rerun ")[2]
    outputs = [case for case in holdfast.assert_correct(scan, regimes="short", xp=torch).cases if case.verdict == "pass"]
    assert len(outputs) == 1


def test_the_gradient_of_what_is_not_used_is_zero_and_judged(torch):
    def scan(u, delta, A, B, C):
        return scan_of_torch()(u, delta, A.detach(), B, C)[0]

    with pytest.raises(AssertionError) as raised:
        holdfast.assert_correct(scan, regimes="short", xp=torch, gradients=True)
    assert "autograd finds no way to A: its gradient is zero" in str(raised.value)
    assert "worst grad.A[" in str(raised.value)

    # A loss that sees the last state asks nothing of a function that returns none.
    def right_without(u, delta, A, B, C):
        return scan_of_torch()(u, delta, A, B, C)[0]

    assert holdfast.assert_correct(right_without, regimes="short", xp=torch, gradients="all").passed


def test_a_last_state_is_part_of_the_loss_where_it_has_a_gradient(torch):
    asked = {"regimes": "short", "xp": torch, "gradients": "all", **EVERY_SHAPE}

    def for_a_cache(**given):
        out, state = scan_of_torch()(**given)
        return out, state.detach()

    assert holdfast.assert_correct(for_a_cache, **asked).passed

    def half_of_it(**given):
        out, state = scan_of_torch()(**given)
        return out, halved(torch)(state)

    with pytest.raises(AssertionError, match="grad"):
        holdfast.assert_correct(half_of_it, **asked)


def test_what_a_function_does_in_place_is_as_ever(torch):
    def shifts(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False):
        if delta_bias is not None:
            delta += delta_bias[:, None]
        return scan_of_torch()(u, delta, A, B, C, D, z, None, delta_softplus)

    assert holdfast.assert_correct(shifts, regimes="everything-on", xp=torch, gradients=True).passed

    def spoils(u, delta, A, B, C):
        kept = u.exp()
        out, state = scan_of_torch()(u, delta, A, B, C)
        spoilt = out + kept * 0
        kept += 1
        return spoilt + kept.log() * 0, state

    with pytest.raises(RuntimeError, match=r"(?s)short/real/.*modified by an inplace operation.*expected gradients .hint: torch"):
        holdfast.assert_correct(spoils, regimes="short", xp=torch, gradients=True)


def test_a_function_without_a_gradient_says_so(torch):
    def scan(**given):
        with torch.no_grad():
            return scan_of_torch()(**given)

    with pytest.raises(ValueError, match=r"does not require grad, expected .* .hint: is there a no_grad, a detach"):
        holdfast.assert_correct(scan, regimes="short", xp=torch, gradients=True)
    for wrong, said in (
        (lambda **given: None, "tensor `out` is None"),
        (lambda **given: scan_of_torch()(**given)[0].mT, "`out.zoh` has shape"),
        (lambda **given: (scan_of_torch()(**given)[0], given["A"]), "`last_state.zoh` has shape"),
        (lambda **given: scan_of_torch()(**given)[0].double(), "F64"),
    ):
        with pytest.raises(ValueError, match=said):
            holdfast.assert_correct(wrong, regimes="short", xp=torch, gradients="all")


def test_complex_gradients_of_torch(torch):
    def scan(u, delta, A, B, C):
        full = lambda w: w[None, :, :, None] if w.ndim == 2 else w.repeat_interleave(u.shape[1] // w.shape[1], 1)
        at = lambda w, l: full(w)[..., l if w.ndim == 4 else 0]
        x, y = 0, []
        for l in range(u.shape[2]):
            step = delta[:, :, l, None]
            x = torch.exp(step * A) * x + step * at(B, l) * u[:, :, l, None]
            y.append(2 * (x * at(C, l)).sum(-1).real)
        return torch.stack(y, -1), x

    asked = {"regimes": "short", "weights": "complex", "xp": torch, "gradients": "all"}
    assert holdfast.assert_correct(scan, **asked).passed
    with pytest.raises(AssertionError, match=r"worst grad.A.(re|im)\[") as raised:
        holdfast.assert_correct(lambda A, **more: scan(A=halved(torch)(A), **more), **asked)
    assert 'weights="complex"' in str(raised.value)


@pytest.mark.parametrize("weights", ["real", "complex"])
def test_gradients_of_jax(weights):
    jax = needed("jax", "JAX")
    asked = {"regimes": "short", "weights": weights, "gradients": "all", "xp": jax.numpy, "b": "constant", "c": "constant"}
    # Of this seed the losses see the last state.
    asked["seed"] = 3

    @jax.jit
    def scan(u, delta, A, B, C):
        power = jax.numpy.exp(delta[..., None, :] * A[..., None])
        entering = delta[..., None, :] * B[..., None] * u[:, :, None]
        x, y = 0, []
        for l in range(u.shape[2]):
            x = power[..., l] * x + entering[..., l]
            y.append((x * C).sum(-1).real * (2 if weights == "complex" else 1))
        return jax.numpy.stack(y, -1), x

    assert holdfast.assert_correct(scan, **asked).passed
    with pytest.raises(AssertionError, match=r"grad.B"):
        holdfast.assert_correct(lambda B, **more: scan(B=jax.lax.stop_gradient(B), **more), **asked)
    with pytest.raises(ValueError, match="short/.*makes NumPy's arrays of JAX's, expected"):
        holdfast.assert_correct(lambda u, **more: scan(u=numpy.sin(u), **more), **asked)
    with pytest.raises(ValueError, match="tensor `out` is None"):
        holdfast.assert_correct(lambda **given: None, **asked)


def test_a_marker_asks_for_gradients_and_the_report_has_them(torch, pytester):
    pytester.makepyfile(
        test_mine=f"""
        import sys; sys.path.insert(0, {str(__file__.rpartition("/")[0])!r})
        import pytest, torch
        from conftest import scan_of_torch

        @pytest.mark.holdfast(method="zoh", regimes="short", xp=torch, gradients=True)
        def test_scan(holdfast_problem):
            holdfast_problem.check(**holdfast_problem.run(scan_of_torch()))
        """
    )
    result = pytester.runpytest_subprocess("--holdfast-report=report")
    result.assert_outcomes(passed=1)
    report = holdfast.Report.from_json((pytester.path / "report" / "results.json").read_text())
    assert report.passed and sum(case.id.endswith("/zoh/backward") for case in report.cases) == 1


ALWAYS = "a function that always makes a softplus of it needs an argument delta_softplus, which says when"


def scan_of_guide(u, delta, A, B, C):
    """As most people write it, in NumPy: B and C are (batch, dstate, seqlen)."""
    x, y = 0, numpy.zeros_like(u)
    for l in range(u.shape[2]):
        z = delta[:, :, l, None] * A
        x = numpy.exp(z) * x + delta[:, :, l, None] * B[:, None, :, l] * u[:, :, l, None]
        y[:, :, l] = (x * C[:, None, :, l]).sum(-1)
    return y


def test_a_function_of_one_shape_is_given_that_shape():
    report = holdfast.assert_correct(scan_of_guide)
    assert report.passed and len(report.cases) == 9
    of_all = f"without D, z, delta_bias, delta_softplus, which it does not take (delta is the step; {ALWAYS})"
    assert report.notes == (
        "scan_of_guide was given NumPy's arrays, B as (batch, dstate, seqlen) and C as (batch, dstate, seqlen)",
        f"{of_all}: vim-tiny",
        "without D, which it does not take: b-zero, seqlen-513",
        f"without delta_bias, delta_softplus, which it does not take (delta is the step; {ALWAYS}): softplus-range",
    )
    assert f"note: {report.notes[1]}" in str(report)

    def with_groups(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False):
        assert B.ndim == C.ndim == 4
        return reference(u, delta, A, B, C, D, z, delta_bias, delta_softplus)[0]

    report = holdfast.assert_correct(with_groups)
    assert len(report.cases) == 9 and "B as (batch, groups, dstate, seqlen)" in report.notes[0]

    def constant(u, delta, A, B, C):
        assert B.shape == C.shape == A.shape
        return reference(u, delta, A, B, C)[0]

    def one_group(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False):
        assert B.ndim == 4
        u[:, :, None] * B
        return reference(u, delta, A, B, C, D, z, delta_bias, delta_softplus)[0]

    report = holdfast.assert_correct(one_group)
    assert report.notes[1] == "left out for several groups, with which it raises ValueError: groups, everything-on"
    assert len(report.cases) == 9
    assert {"b-zero", "vim-tiny"} < {case.id.split("/")[0] for case in report.cases}

    assert "B as (dim, dstate) and C as (dim, dstate)" in holdfast.assert_correct(constant).notes[0]
    with pytest.raises(IndexError, match="too many indices"):
        holdfast.assert_correct(scan_of_guide, b="constant", c="constant", layout="bdl")
    with pytest.raises(TypeError, match=r"arrays of numpy.*\(dim, dstate\) in layout bdl: IndexError: .* in layout bld: ValueError: .*hint: "):
        holdfast.assert_correct(scan_of_guide, b="constant", c="constant")

    def turned(x, dt, A, B, C):
        return scan_of_guide(*(w.swapaxes(1, 2) for w in (x, dt)), A, *(w.swapaxes(1, 2) for w in (B, C))).swapaxes(1, 2)

    report = holdfast.assert_correct(turned)
    assert "B as (batch, seqlen, dstate)" in report.notes[0] and len(report.cases) == 9
    with pytest.raises(AssertionError, match='layout="bld"'):
        holdfast.assert_correct(turned, "foh", "short")
    asked = {"weights": "complex", "inputs": "f16", "regimes": "groups", "b": "grouped", "c": "constant"}
    (ours,), (theirs,) = (holdfast.problems(**asked, layout=layout) for layout in ("bdl", "bld"))
    for name, array in ours.inputs.items():
        assert numpy.array_equal(array if name in "AC" else numpy.moveaxis(array, -1, 1), theirs.inputs[name])
    # Groups have no place in this one's B.
    asked = {"regimes": ["groups", "everything-on"]}
    single = "with one group in the place of several, with which it raises ValueError: groups, everything-on"
    assert holdfast.assert_correct(scan_of_guide, **asked).notes[1:] == (single, f"{of_all}: everything-on")
    with pytest.raises(TypeError, match="^one_group raises ValueError: .* regime `groups` has several groups, and with one it runs"):
        holdfast.assert_correct(one_group, **asked)


def test_a_function_gets_the_problems_without_what_it_does_not_take(pytester):
    def scan(u, delta, A, B, C, D=None):
        assert (delta >= 0).all()
        return reference(u, delta, A, B, C, D)

    with pytest.raises(AssertionError, match="(?s)2 of 9 problems .*everything-on: .*seqlen-513: "):
        holdfast.assert_correct(lambda u, delta, A, B, C, D=None: scan(u, delta, A, B, C), diagnosis="off")
    # A bias without softplus makes the same steps.
    def biased(u, delta, A, B, C, delta_bias):
        assert (delta + delta_bias[:, None] > -1e-6).all()
        return reference(u, delta, A, B, C, delta_bias=delta_bias)

    report = holdfast.assert_correct(biased, regimes="softplus-range")
    steps = f"delta + delta_bias is the step; {ALWAYS}"
    assert report.notes[1:] == (f"without delta_softplus, which it does not take ({steps}): softplus-range",)
    (problem,) = holdfast.problems("zoh", "everything-on")
    ran = problem.run(scan)
    assert ran["without"] == ("z", "delta_bias", "delta_softplus")
    assert problem.check(**ran).notes == (
        f"without z, delta_bias, delta_softplus, which it does not take (delta is the step; {ALWAYS}): everything-on",
    )
    assert not problem.judge(ran["out"], diagnosis="off").passed

    # What it needs cannot be dropped.
    def gated(u, delta, A, B, C, z):
        return reference(u, delta, A, B, C, z=z)

    assert "left out for lack of z, which it needs: short, tiny-z," in holdfast.assert_correct(gated).notes[1]

    def chunked(x, dt, A, B, C, chunk_size, D=None):
        return reference(x, dt, A, B, C, D)

    with pytest.raises(TypeError, match=r"needs `chunk_size`, which .* has no default, .*hint: .*partial\(chunked, chunk_size=…\)"):
        holdfast.assert_correct(chunked)
    assert holdfast.assert_correct(functools.partial(chunked, chunk_size=64)).passed
    pytester.makepyfile(
        """
        import holdfast, pytest

        @pytest.mark.holdfast(regimes="everything-on")
        def test_scan(holdfast_problem):
            (lambda u, delta, A, B, C: u)(**holdfast_problem.inputs)
        """
    )
    said = pytester.runpytest_subprocess().stdout.str()
    assert "regime `everything-on` has (hint: holdfast_problem.check(**holdfast_problem.run(scan)) leaves it out)" in said


def test_a_function_has_names_of_its_own():
    def elsewhere(x, dt, A, B, C, D, z=None, dt_bias=None, dt_softplus=False):
        assert D.shape == A.shape[:1]
        return reference(x, dt, A, B, C, D, z, dt_bias, dt_softplus)

    assert len(holdfast.assert_correct(elsewhere).cases) == 9
    assert holdfast.assert_correct(lambda first, second, /, a, b, c: reference(first, second, a, b, c), regimes="short").passed
    # A parameter that takes all the rest is no name of one.
    assert len(holdfast.assert_correct(lambda *a, **b: right(*a, **b)).cases) == 9
    with pytest.raises(AssertionError, match=r"rerun holdfast.assert_correct\(elsewhere, method=\"foh\", regimes=\"short\","):
        holdfast.assert_correct(elsewhere, "foh", "short")


def test_a_function_s_own_error_is_its_own():
    def broken(u, delta, A, B, C):
        return u * undefined  # noqa: F821

    with pytest.raises(NameError, match="^name 'undefined' is not defined$"):
        holdfast.assert_correct(broken)


def test_arrays_are_those_that_the_function_takes(torch):
    seen = []

    def of_torch(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False):
        seen.append(type(u))
        return scan_of_torch()(u, delta, A, B, C, D, z, delta_bias, delta_softplus)

    report = holdfast.assert_correct(of_torch)
    assert report.passed and "PyTorch's tensors" in report.notes[0] and seen[-1] is torch.Tensor
    assert report.notes[-1] == "gradients were not judged: gradients=True judges them"
    report = holdfast.assert_correct(of_torch, regimes="short", gradients=True)
    assert report.passed and len(report.notes) == 1

    class Layer(torch.nn.Module):
        def forward(self, x, dt, A, B, C):
            return scan_of_torch()(x, dt, A, B, C)

    @functools.wraps(Layer().forward)
    def hands_on(*args, **more):
        return Layer()(*args, **more)

    for one in (Layer(), hands_on):
        report = holdfast.assert_correct(one)
        assert report.passed and "without D, z, delta_bias" in report.notes[1]

    def converts(**given):
        seen.append(type(given["u"]))
        return torch.from_numpy(reference(**given)[0])

    assert holdfast.assert_correct(converts, regimes="short").passed and seen[-1] is numpy.ndarray

    def broken(u, delta, A, B, C):
        return torch.exp(u) * undefined  # noqa: F821

    with pytest.raises(NameError):
        holdfast.assert_correct(broken)
    with pytest.raises(TypeError, match="must be Tensor, not numpy.ndarray.*hint: xp=torch"):
        holdfast.assert_correct(of_torch, regimes="short", xp="numpy")
    with pytest.raises(AssertionError, match="^softplus-twice"):
        holdfast.assert_correct(scan_of_torch("twice"), regimes="everything-on")


def test_the_cause_is_the_first_line_and_no_source_of_holdfast_is_shown(torch, pytester):
    pytester.makepyfile(
        test_mine=f"""
        import sys; sys.path.insert(0, {str(__file__.rpartition("/")[0])!r})
        import holdfast, pytest
        from conftest import scan_of_torch

        def test_call():
            holdfast.assert_correct(scan_of_torch("exact"), regimes="short", gradients=True)

        @pytest.mark.holdfast(regimes="short", b="grouped", c="grouped", xp="torch")
        def test_problem(holdfast_problem):
            holdfast_problem.check(*scan_of_torch("exact")(**holdfast_problem.inputs))

        @pytest.mark.holdfast(regimes="short")
        def test_arrays(holdfast_problem):
            holdfast_problem.check(holdfast_problem.run(scan_of_torch())["out"])
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=3)
    said = result.stdout.str()
    first = [line.partition("AssertionError: ")[2] for line in said.splitlines() if line.startswith("E ") and "AssertionError: " in line]
    assert len(first) == 2 and all(line.startswith("runs-as-zoh-exact: ") for line in first)
    assert "holdfast/_" not in said and "def assert_correct" not in said
    assert "hint: @pytest.mark.holdfast(…, xp=torch)" in said
    (rerun,) = [line.partition("rerun ")[2] for line in said.splitlines() if "rerun pytest" in line]
    assert rerun == "pytest 'test_mine.py::test_problem[short/real/f32/b-grouped/c-grouped]'"
    again = pytester.run("sh", "-c", f"{__import__('sys').executable} -m {rerun}")
    again.assert_outcomes(failed=1)


def test_what_is_on_by_default_is_turned_off_where_a_problem_has_none():
    def by_default(u, delta, A, B, C, delta_softplus=True):
        return reference(u, delta, A, B, C, delta_softplus=delta_softplus)

    regimes = ("short", "softplus-range")
    assert holdfast.assert_correct(by_default, regimes=regimes).passed
    # Somebody who sets it means it.
    with pytest.raises(AssertionError, match="softplus-twice") as raised:
        holdfast.assert_correct(functools.partial(by_default, delta_softplus=True), regimes="short")
    assert "functools.partial(by_default, delta_softplus=True)" in str(raised.value)


def test_one_cause_of_all_failing_cases_has_one_name():
    """For a small |z| this is backward Euler as well, which comes first."""

    def decayed(u, delta, A, B, C):
        x, y = 0, numpy.zeros_like(u)
        for l in range(u.shape[2]):
            step = delta[:, :, l, None]
            x = numpy.exp(step * A) * (x + step * B[:, None, :, l] * u[:, :, l, None])
            y[:, :, l] = (x * C[:, None, :, l]).sum(-1)
        return y

    alone = {"regimes": "tiny-z", "diagnosis": 10}
    with pytest.raises(AssertionError) as raised:
        holdfast.assert_correct(decayed, **alone)
    assert {one.name for one in raised.value.report.diagnosis} == {"runs-as-backward-euler"}
    with pytest.raises(AssertionError) as raised:
        holdfast.assert_correct(decayed, regimes=("tiny-z", "short", "groups"))
    causes = [case.diagnosis[0].name for case in raised.value.report.cases if case.verdict == "fail"]
    assert len(causes) == 3 and set(causes) == {"input-decayed"}


def test_of_failures_that_are_alike_a_few_are_looked_at_for_every_cause_if_these_have_one(monkeypatch):
    asked = []
    judge = holdfast.Problem.judge

    def counted(self, *args, diagnosis=None, causes=(), **more):
        asked.append((diagnosis, list(causes)))
        # Whatever is found in the time of it: nothing.
        return judge(self, *args, diagnosis="off" if finds_nothing else diagnosis, causes=causes, **more)

    finds_nothing = False
    monkeypatch.setattr(holdfast.Problem, "judge", counted)

    def said(**more):
        asked.clear()
        with pytest.raises(AssertionError) as raised:
            holdfast.assert_correct(**{"regimes": "short", **EVERY_SHAPE, **more})
        return str(raised.value), [diagnosis for diagnosis, causes in asked if diagnosis != "off" and not causes]

    text, searched = said(fn=lambda **inputs: reference(**inputs, wrong="exact"))
    assert text.startswith("runs-as-zoh-exact: ") and "(in 4 of 4 failing cases)" in text
    assert searched == [10.0] and asked[-1] == (10.0, ["runs-as-zoh-exact"])

    def strange(**inputs):
        rng = numpy.random.default_rng(0)
        return (right(**inputs)[0] * (1 + rng.normal(size=inputs["u"].shape))).astype("f4")

    # A cause that two cases do not show may show in the third.
    finds_nothing = True
    text, searched = said(fn=strange)
    assert text.startswith("no cause") and searched == [10.0] * 4
    text, searched = said(fn=strange, diagnosis="off")
    assert searched == [] and text.startswith("no cause looked for; worst out[") and "why was not looked for" in text


def test_a_call_is_printed_as_it_was_made_and_a_search_is_announced(capsys):
    asked = {"regimes": ["short", "b-zero"], "inputs": ["float16"], "seed": 3, "diagnosis": 2}
    with pytest.raises(AssertionError) as raised:
        holdfast.assert_correct(scan_of_guide, "foh", **asked)
    said = " ".join(str(raised.value).replace("\\\n", "").split())
    assert 'holdfast.assert_correct(scan_of_guide, method="foh", regimes=["short", "b-zero"], inputs=["f16"], seed=3, diagnosis=2)' in said
    assert capsys.readouterr().err == 'FAIL: looking for the cause of 1 case, at most 2 s (diagnosis="off" leaves it out)\n'
    with pytest.raises(ValueError, match='hint: regimes="softplus-range", perhaps'):
        holdfast.problems("softplus_range")
