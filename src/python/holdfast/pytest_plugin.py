"""holdfast in pytest: problems as parameters of a test, and one report of a session.

    @pytest.mark.holdfast(method="foh", regimes=["tiny-z", "stiff"])
    def test_scan(holdfast_problem):
        holdfast_problem.check(my_scan(**holdfast_problem.inputs))

The marker takes the arguments of `holdfast.problems`; each problem is a test of its own.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from holdfast import Report

__tracebackhide__ = True

#: Under which a worker of pytest-xdist hands its reports to the process that collects them.
_KEY = "holdfast_reports"
_REPORTS = pytest.StashKey[list[str]]()
#: What a test has raised.
_RAISED = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("holdfast")
    group.addoption(
        "--holdfast-report",
        metavar="DIR",
        help="write one report of every problem that holdfast judged in this session",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "holdfast(method, regimes, weights, …): run the test on each of these problems, as the fixture holdfast_problem",
    )
    config.stash[_REPORTS] = []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "holdfast_problem" not in metafunc.fixturenames:
        return
    import holdfast

    marker = metafunc.definition.get_closest_marker("holdfast")
    if marker is None:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid} asks for holdfast_problem, expected a marker beside it "
            '(hint: @pytest.mark.holdfast(method="foh"))'
        )
    try:
        found = holdfast.problems(*marker.args, **marker.kwargs)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("holdfast_problem", found, ids=[problem.id for problem in found], indirect=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    raised = call.excinfo if call.when == "call" else None
    if raised is not None and not raised.errisinstance(pytest.skip.Exception):
        item.stash[_RAISED] = raised.exconly(tryshort=True)
    outcome = yield
    if raised is not None and "holdfast_problem" in getattr(item, "fixturenames", ()):
        hint = _hint(item, raised.value)
        outcome.get_result().sections += [("holdfast", hint)] if hint else []


def _hint(item: pytest.Item, error: BaseException) -> str | None:
    """What is said of an error of a function that was given a problem."""
    if _wants_others(item, error):
        # It has NumPy's arrays unless it asks for others.
        return "the test was given NumPy's arrays (hint: @pytest.mark.holdfast(…, xp=torch))"
    problem = item.callspec.params["holdfast_problem"]  # type: ignore[attr-defined]
    untaken = re.search(r"unexpected keyword argument '(\w+)'", str(error)) if isinstance(error, TypeError) else None
    if untaken is None or untaken[1] not in problem.inputs:
        return None
    return (
        f"the function does not take `{untaken[1]}`, which regime `{problem.regime}` has "
        "(hint: holdfast_problem.check(**holdfast_problem.run(scan)) leaves it out)"
    )


def _wants_others(item: pytest.Item, error: BaseException) -> bool:
    from holdfast._calls import is_about_arrays

    marker = item.get_closest_marker("holdfast")
    return marker is not None and "xp" not in marker.kwargs and "torch" in sys.modules and is_about_arrays(error)


@pytest.fixture
def holdfast_problem(request: pytest.FixtureRequest) -> Any:
    """A problem of the marker `holdfast`: `inputs` for a scan, and `check` for what it returns."""
    problem = request.param
    kept = request.config.stash[_REPORTS]
    before = len(kept)
    judge = problem.judge
    problem._rerun = f"pytest {shlex.quote(request.node.nodeid)}"

    def keeping(*args: Any, **kwargs: Any) -> Report:
        report: Report = judge(*args, **kwargs)
        kept.append(report.json())
        return report

    problem.judge = keeping
    yield problem
    problem.judge = judge
    if len(kept) == before and request.config.getoption("--holdfast-report", None) is not None:
        # It never came to a verdict: the session's report says so.
        raised = request.node.stash.get(_RAISED, None)
        told = ("unmeasured", "the test judged nothing") if raised is None else ("fail", f"the test raised {raised}")
        kept.append(problem.unjudged(*told).json())


def pytest_testnodedown(node: Any, error: Any) -> None:
    """A worker of pytest-xdist has ended: its reports are the session's."""
    node.config.stash[_REPORTS].extend(getattr(node, "workeroutput", {}).get(_KEY, []))


# Known to pytest-xdist alone.
pytest_testnodedown.pytest_impl = {"optionalhook": True}  # type: ignore[attr-defined]


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    kept = config.stash[_REPORTS]
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_KEY] = kept
        return
    directory = config.getoption("--holdfast-report")
    if directory is None or not kept:
        return
    from holdfast import Report

    # By name, whichever worker was first.
    reports = sorted((Report.from_json(text) for text in kept), key=lambda report: report.cases[0].id)
    Report.merged(reports, f"pytest --holdfast-report={directory}").write(Path(directory))
