"""Promise: a test of four lines runs a function on hard inputs, and a wrong one fails with its cause."""

from __future__ import annotations

import functools

import numpy
import pytest
from conftest import reference

import holdfast


def right(**inputs):
    return reference(**inputs)


def test_a_right_function_passes_on_the_usual_regimes():
    report = holdfast.assert_correct(right, method="zoh")
    assert report.passed and len(report.cases) >= 20
    assert {case.id.split("/")[0] for case in report.cases} >= {"short", "tiny-z", "stiff"}


def test_a_failure_tells_what_fails_and_not_what_passes():
    def forgets_the_gate(**inputs):
        inputs.pop("z", None)
        return reference(**inputs)

    with pytest.raises(AssertionError) as raised:
        holdfast.assert_correct(forgets_the_gate, regimes=["short", "everything-on"])
    text = str(raised.value)
    assert text.startswith("4 of 8 problems do not pass, of these regimes:\n  everything-on: ")
    assert "4 of 4 cases: gate-missing" in text and "short/" not in text
    assert "and 3 more failures: the report's explain() has them all" in text
    assert 'rerun holdfast.assert_correct(…, method="zoh", regimes="everything-on")' in text


def test_a_wrong_function_fails_with_its_cause():
    with pytest.raises(AssertionError, match="looks like runs-as-zoh-exact"):
        holdfast.assert_correct(lambda **inputs: reference(**inputs, wrong="exact"), method="zoh", regimes="short")
    with pytest.raises(AssertionError, match="looks like runs-as-zoh"):
        holdfast.assert_correct(right, method="foh", regimes=["short"])
    with pytest.raises(AssertionError, match="last_state"):
        holdfast.assert_correct(lambda **inputs: (right(**inputs)[0], right(**inputs)[1] * 1.01), regimes="short")


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
    assert all(p.inputs["B"].ndim == 2 and p.inputs["C"].ndim == 4 for p in asked)
    other = holdfast.problems("zoh", "short", seed=2)[0].inputs["u"]
    assert not numpy.array_equal(other, holdfast.problems("zoh", "short")[0].inputs["u"])


def test_every_regime_is_told_why_it_is_hard():
    told = holdfast.regimes()
    assert "tiny-z" in told and len(told) > 30 and all(told.values())
    assert len(holdfast.problems("zoh", "all", weights=["real", "complex"])) > 150
    every = {problem.regime for problem in holdfast.problems("zoh", "all", weights=["real", "complex"])}
    real = {problem.regime for problem in holdfast.problems("zoh", "all")}
    assert every == set(told) and "s4d-lin" in every - real
    assert {problem.regime for problem in holdfast.problems("zoh", ["short", "s4d-lin"], weights=["real", "complex"])} == {
        "short",
        "s4d-lin",
    }


def test_arrays_are_of_the_framework_that_was_asked_for():
    jax = pytest.importorskip("jax", reason="unmeasured: no JAX")
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
        from conftest import reference

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
    result.assert_outcomes(passed=8)
    report = holdfast.Report.from_json((pytester.path / "report" / "results.json").read_text())
    assert report.passed and len(report.cases) == 8
    assert [case.id for case in report.cases] == sorted(case.id for case in report.cases)
    assert {case.id.split("/")[0] for case in report.cases} == {"short", "tiny-z"}


def test_a_wrong_function_fails_the_test_with_its_cause_and_is_in_the_report(pytester):
    written(pytester, wrong="'exact'")
    result = pytester.runpytest_subprocess("--holdfast-report=report", "-k", "short")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*looks like runs-as-zoh-exact*"])
    report = holdfast.Report.from_json((pytester.path / "report" / "results.json").read_text())
    assert [case.verdict for case in report.cases] == ["fail"] * 4


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
    pytester.runpytest_subprocess("--holdfast-report=report", "-k", "short").assert_outcomes(failed=4)
    report = holdfast.Report.from_json((pytester.path / "report" / "results.json").read_text())
    assert [case.verdict for case in report.cases] == ["fail"] * 4
    assert all("ZeroDivisionError" in case.reason for case in report.cases)
