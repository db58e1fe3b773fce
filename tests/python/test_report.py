"""Promise: a report says what the console says, in whatever form it is asked for."""

from __future__ import annotations

import json

import numpy
import pytest
from conftest import drawn, reference

import holdfast


@pytest.fixture(scope="module")
def failing():
    inputs = drawn()
    return holdfast.check(**inputs, method="zoh", out=reference(**inputs, wrong="exact")[0], name="mine")


@pytest.fixture(scope="module")
def passing():
    inputs = drawn(seed=1)
    return holdfast.check(**inputs, method="zoh", out=reference(**inputs)[0], name="other")


def test_text_and_repr(failing, passing):
    assert str(failing).startswith("holdfast ") and "FAIL mine/zoh" in str(failing)
    assert 'rerun holdfast.check(u, delta, A, B, C, method="zoh", out=out, name="mine")' in str(failing)
    assert f"numpy {numpy.__version__}" in str(failing)
    assert repr(failing) == "<holdfast.Report: FAIL, 1 case, looks like runs-as-zoh-exact>"
    assert repr(passing) == "<holdfast.Report: PASS, 1 case>"


def test_the_worst_element_is_the_one_that_was_made_so(passing):
    inputs = drawn(seed=1)
    out = reference(**inputs)[0]
    out[1, 2, 7] += 1
    report = holdfast.check(**inputs, method="zoh", out=out)
    assert report.worst.tensor == "out" and report.worst.index == (1, 2, 7)
    assert report.worst.got == out[1, 2, 7]
    assert report.worst.error == pytest.approx(1, rel=1e-3) and report.worst.error > report.worst.bound
    assert report.worst.share > 1 > passing.worst.share


def test_dictionary_and_json_are_the_machine_output(failing):
    data = failing.to_dict()
    assert data == json.loads(failing.json()) and data["schema"] == 3
    assert data["cases"][0]["diagnosis"][0]["name"] == failing.diagnosis[0].name == "runs-as-zoh-exact"
    again = holdfast.Report.from_json(failing.json())
    assert str(again) == str(failing) and again.worst == failing.worst
    with pytest.raises(ValueError):
        holdfast.Report.from_json("{}")
    with pytest.raises(ValueError, match="has schema 99, expected 1 to 3"):
        holdfast.Report.from_json(json.dumps({**data, "schema": 99}))


def test_pages_and_directories(failing, tmp_path):
    page = failing.html(tmp_path / "page.html")
    assert "runs-as-zoh-exact" in page.read_text() and page.read_text().startswith("<!")
    assert "runs-as-zoh-exact" in failing._repr_html_() and "<script" not in failing._repr_html_()
    directory = failing.write(tmp_path / "report")
    assert {file.name for file in directory.iterdir()} >= {"index.html", "report.md", "results.json"}
    assert holdfast.Report.from_json((directory / "results.json").read_text()).worst == failing.worst
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep me")
    with pytest.raises(ValueError, match="expected a new or empty directory"):
        failing.write(tmp_path / "notes")
    with pytest.raises(OSError):
        failing.html(tmp_path / "nowhere" / "page.html")


def test_reports_know_when_they_were_made(failing, passing):
    one, other = failing.to_dict(), passing.to_dict()
    assert one["took"] > 0 and f'{one["created"][:16].replace("T", " ")}' in failing._findings.page().replace("T", " ")
    both = holdfast.Report.merged([failing, passing]).to_dict()
    assert both["created"] == min(one["created"], other["created"]) and "took" not in both


def test_reports_are_merged(failing, passing):
    both = holdfast.Report.merged([passing, failing])
    assert [case.verdict for case in both.cases] == ["pass", "fail"]
    assert both.verdict == "fail" and both.worst == failing.worst and both.diagnosis == failing.diagnosis
    assert not holdfast.Report.merged([]).passed


def test_what_is_known_of_a_failure_is_said_of_it(failing):
    inputs = drawn()
    again = holdfast.check(**inputs, method="zoh", out=reference(**inputs, wrong="exact")[0], name="mine", diagnosis="off")
    assert again.failing_tensors() == ("out",) and again.diagnosis == ()
    assert again.keeping(failing, ["runs-as-zoh-exact"]).diagnosis == failing.diagnosis
    assert again.keeping(failing, ["gate-missing"]).diagnosis == ()
    assert "no cause looked for: the 60 s of" in str(again.searched({"not_begun": "60 s"})) and "not looked for" in str(again)
    assert failing.headline() == f"runs-as-zoh-exact: {failing.diagnosis[0].what} (in 1 of 1 failing cases)"
    assert again.headline().startswith("no cause looked for; worst out[") and holdfast.Report.merged([again]).headline() == again.headline()


def test_a_headline_is_said_of_those_cases_that_have_its_very_words(failing):
    def headline(*causes):
        data = failing.to_dict()
        (case,) = data["cases"]
        named = [[{**case["diagnosis"][0], "name": name, "what": what} for name, what in one] for one in causes]
        data["cases"] = [{**case, "id": str(at), "diagnosis": one} for at, one in enumerate(named)]
        return holdfast.Report.from_json(json.dumps(data)).headline()

    at_16, at_32, other = [("lost", "at 16")], [("lost", "at 32")], [("gate", "none")]
    assert headline([("step", "Δ_l is")], [("step", "delta_l is")]).endswith("(in 2 of 2 failing cases)")
    assert headline(at_16, at_32, at_32, other) == (
        "lost: at 32 (in 2 of 4 failing cases, 1 with this name and other numbers or places, 1 with another name)"
    )
    assert headline(other, at_16 + other, at_32, []) == "gate: none (in 2 of 4 failing cases, 1 with another name, 1 without a name)"
    assert headline([], at_16, [], other) == "1 of 4 failing cases look like lost: at 16 (1 with another name, 2 without a name)"


def test_a_nan_is_worse_than_any_number(failing):
    inputs = drawn()
    lost = holdfast.check(**inputs, method="zoh", out=reference(**inputs, wrong="nan")[0], name="lost")
    for parts in ([lost, failing], [failing, lost]):
        worst = holdfast.Report.merged(parts).worst
        assert worst.got != worst.got and worst.index == (0, 0, 31)


def test_a_quick_look_says_so(failing):
    inputs = drawn()
    out = reference(**inputs)[0]
    looks = [holdfast.check(**inputs, method="zoh", out=out, channels=3, seed=seed) for seed in (1, 2)]
    for seed, look in zip((1, 2), looks):
        assert look.to_dict()["sampled"] and look.cases[0].judged == 3 * out.shape[2]
        assert f"sampled: 3 of 8 rows (2 items × 4 channels) judged, drawn by seed {seed}" in " ".join(str(look).split())
        more = "" if seed == 1 else ", seed=2"
        assert f'holdfast.check(u, delta, A, B, C, method="zoh", out=out, channels=3{more})' in str(look)
    assert not failing.to_dict()["sampled"]


@pytest.mark.parametrize("table", ["pandas", "polars"])
def test_tables(failing, passing, table):
    pytest.importorskip(table, reason=f"unmeasured: no {table}")
    frame = getattr(holdfast.Report.merged([passing, failing]), f"to_{table}")()
    assert list(frame["verdict"]) == ["pass", "fail"]
    assert list(frame["diagnosis"])[1] == "runs-as-zoh-exact"
    assert list(frame["share"]) == [passing.worst.share, failing.worst.share]
