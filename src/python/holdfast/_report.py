"""What a check found."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from . import _holdfast
from ._names import known_kind, path_of
from ._words import of_error, of_report

__tracebackhide__ = True


class Edit(NamedTuple):
    """One edit of the specified program.

    specified, computed: a value, and what is in its place, in the notation of the specification
    place: which use of it, and where; "" where all are
    """

    name: str
    specified: str
    computed: str
    place: str


class Diagnosis(NamedTuple):
    """A fault model that explains a failure.

    name: as `holdfast list faults` has it, for instance "runs-as-zoh"
    what: what is wrong, in words
    residual: what the model leaves of the error; dimensionless
    edits: the edits of the specified program that it is; none of what is named otherwise
    """

    name: str
    what: str
    residual: float
    edits: tuple[Edit, ...] = ()


class Worst(NamedTuple):
    """The element with the largest share of its bound.

    tensor, index: which one it is, as it was given; of layout="step" in layout="bdl"
    got, want, error, bound: in units of the tensor; want is certified
    share: error and rounding on store as a share of what is allowed; above 1 it fails
    ulp: the error in units in the last place of the tensor's type
    inputs: what it was computed from, as texts
    """

    tensor: str
    index: tuple[int, ...]  # type: ignore[assignment]  # a tuple's own `index` is of no use here
    got: float
    want: float
    error: float
    bound: float
    share: float
    ulp: float
    inputs: tuple[str, ...]


class Case(NamedTuple):
    """One method on one run.

    verdict: "pass", "unmeasured" or "fail"
    reason: why, where no element tells; else empty
    judged: how many elements were judged
    diagnosis: what explains a failure, best first
    """

    id: str
    method: str
    verdict: str
    reason: str
    judged: int
    worst: Worst | None
    diagnosis: tuple[Diagnosis, ...]


def _number(value: Any) -> float:
    """JSON has no NaN."""
    return float("nan") if value is None else float(value)


def _worst(data: dict[str, Any] | None) -> Worst | None:
    if data is None:
        return None
    numbers = {key: _number(data[key]) for key in ("got", "want", "error", "bound", "share", "ulp")}
    return Worst(tensor=data["tensor"], index=tuple(data["index"]), inputs=tuple(data["inputs"]), **numbers)


def _case(data: dict[str, Any]) -> Case:
    named = tuple(
        Diagnosis(
            d["name"],
            of_report(d["what"]),
            _number(d["residual"]),
            tuple(Edit(e["name"], e["specified"], e["computed"], e.get("place", "")) for e in d.get("edits", ())),
        )
        for d in data["diagnosis"]
    )
    own = {key: data[key] for key in ("id", "method", "verdict", "reason", "judged")}
    return Case(**own, worst=_worst(data["worst"]), diagnosis=named)


class Report:
    """The verdicts of a check. `str` of it is what the console says.

    notes: what is to be known of how it came about, as which arrays a function was given
    """

    def __init__(self, findings: _holdfast.Findings) -> None:
        self._findings = findings
        self.notes: tuple[str, ...] = ()

    @classmethod
    def merged(cls, reports: Iterable[Report], command: str = "holdfast.Report.merged(…)") -> Report:
        """Several reports as one."""
        reports = list(reports) if isinstance(reports, Iterable) else [reports]
        for one in reports:
            known_kind("reports", one, isinstance(one, Report), "several reports", "Report.merged([one, other])")
        return cls(_holdfast.Findings.merged([report._findings for report in reports], command))

    @classmethod
    def from_json(cls, text: str) -> Report:
        """What `json` returned, or the results.json of a report's directory.

        Raises ValueError for any other text.
        """
        import json

        known_kind("the text", text, isinstance(text, str), "what Report.json() returned", "the text of a results.json")
        try:
            read = json.loads(text)
        except ValueError as error:
            raise ValueError(
                f"the text is no JSON ({error}), expected what Report.json() returned, or a results.json "
                "(hint: give the text of a file, and not its name)"
            ) from None
        found = read.get("schema") if isinstance(read, dict) else None
        known = json.loads(_holdfast.Findings.merged([], "").json())["schema"]
        if not isinstance(found, int) or not 1 <= found <= known:
            raise ValueError(
                f"the report has schema {found}, expected 1 to {known} "
                "(hint: another version of holdfast wrote it; repeat the run)"
            )
        return cls(_holdfast.Findings.from_json(text))

    @property
    def verdict(self) -> str:
        """"pass", "unmeasured" or "fail"."""
        return self._findings.verdict()

    @property
    def passed(self) -> bool:
        """Whether every verdict passes. What could not be measured has not passed."""
        return self.verdict == "pass"

    @functools.cached_property
    def cases(self) -> tuple[Case, ...]:
        """Every case."""
        return tuple(_case(data) for data in self.to_dict()["cases"])

    @property
    def diagnosis(self) -> tuple[Diagnosis, ...]:
        """What explains the worst failing case, best first; empty where nothing fails, or nothing explains it."""
        explained = [case for case in self._by_share() if case.diagnosis]
        return explained[0].diagnosis if explained else ()

    @property
    def worst(self) -> Worst | None:
        """The element with the largest share of its bound; none where no element could be judged."""
        cases = self._by_share()
        return cases[0].worst if cases else None

    def searched(self, how: dict[str, str]) -> Report:
        """Copy whose failures say how far their cause was looked for."""
        import json

        data = {**self.to_dict(), "undiagnosed": False}
        for case in data["cases"]:
            if case["verdict"] == "fail" and not case["diagnosis"]:
                case["search"] = how
        return Report.from_json(json.dumps(data))

    def keeping(self, other: Report, names: Iterable[str]) -> Report:
        """Copy whose cases are those of another report of them where that has one of these names."""
        import json

        named = [case for case in other.to_dict()["cases"] if case["diagnosis"] and case["diagnosis"][0]["name"] in names]
        known = {case["id"]: case for case in named}
        data = self.to_dict()
        return Report.from_json(json.dumps({**data, "cases": [known.get(case["id"], case) for case in data["cases"]]}))

    def failing_tensors(self) -> tuple[str, ...]:
        """The names of the tensors that fail in some case."""
        of_cases = (case["tensors"].items() for case in self.to_dict()["cases"])
        return tuple(sorted({name for tensors in of_cases for name, one in tensors if one["verdict"] == "fail"}))

    def _by_share(self) -> list[Case]:
        """Cases whose worst element is known, the worst first; a NaN is worse than any number."""

        def share(case: Case) -> float:
            if case.worst is None or case.worst.share == case.worst.share:
                return -1.0 if case.worst is None else case.worst.share
            return float("inf")

        return sorted(self.cases, key=share, reverse=True)

    def json(self) -> str:
        """The machine output, as `holdfast check --json` writes it."""
        return self._findings.json()

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values; the guide's page on results.json has the schema."""
        import json

        data: dict[str, Any] = json.loads(self.json())
        return data

    def html(self, path: str | os.PathLike[str]) -> Path:
        """Writes the report as one page that needs nothing else. Returns its path.

        Raises OSError where it cannot be written.
        """
        to = Path(path_of(path))
        to.write_text(self._findings.page(), encoding="utf-8")
        return to

    def write(self, directory: str | os.PathLike[str]) -> Path:
        """Writes the whole report, with plots and results.json, in the place of an older one.

        Raises ValueError for a directory that holds something else, OSError where it cannot be written.
        """
        try:
            self._findings.write(path_of(directory))
        except ValueError as error:
            raise ValueError(of_error(str(error))) from None
        return Path(directory)

    def explain(self) -> str:
        """The console's report with every failure, not only the first few."""
        return of_report(self._findings.text(verbose=True))

    def headline(self) -> str:
        """Line on what is wrong: the cause that fits most failing cases, or else their worst element; empty where nothing fails."""
        data = self.to_dict()
        failing = [case for case in self.cases if case.verdict == "fail"]
        if not failing:
            return ""
        searches = [case.get("search") or () for case in data["cases"] if case["verdict"] == "fail"]
        is_searched = not data.get("undiagnosed") and any(how != "no_models" and "not_begun" not in how for how in searches)
        none = "no cause found" if is_searched else "no cause looked for"
        named = [case.diagnosis for case in failing if case.diagnosis]
        if not named:
            worst, reasons = self.worst, [case.reason for case in failing if case.reason]
            if worst is None or reasons:
                return f"{none}; {reasons[0] if reasons else 'no element could be judged'}"
            at = ", ".join(map(str, worst.index))
            of = ", of a value that is to be 0" if worst.want == 0 else ""
            return f"{none}; worst {worst.tensor}[{at}]: the error is {worst.share:.2g} × its bound{of}"

        def sentence(cause: Diagnosis) -> str:
            # The step is written in another way where it is made of another one, and the lines of a program are those of its case.
            return cause.what.replace("delta_l", "Δ_l").split(" (specified ")[0]

        def fits(cause: Diagnosis) -> tuple[int, int]:
            """The cases of which this very sentence is said, and those that have its name."""
            said = [[sentence(one) for one in diagnoses if one.name == cause.name] for diagnoses in named]
            return sum(sentence(cause) in words for words in said), sum(map(bool, said))

        # Among those that fit as many, the one that comes first.
        most = max((diagnoses[at] for at in range(max(map(len, named))) for diagnoses in named if at < len(diagnoses)), key=fits)
        count, alike = fits(most)
        rest = [
            (alike - count, "with this name and other numbers or places"),
            (len(named) - alike, "with another name"),
            (len(failing) - len(named), "without a name"),
        ]
        others = ", ".join(f"{number} {what}" for number, what in rest if number)
        told = f"{count} of {len(failing)} failing cases"
        if 2 * alike < len(failing):
            return f"{told} look like {most.name}: {most.what} ({others})"
        return f"{most.name}: {most.what} (in {told}{', ' if others else ''}{others})"

    def _rows(self) -> list[dict[str, Any]]:
        def row(case: Case) -> dict[str, Any]:
            own = {name: getattr(case, name) for name in ("id", "method", "verdict", "judged")}
            worst = {name: getattr(case.worst, name, None) for name in Worst._fields if name not in ("index", "inputs")}
            index = list(case.worst.index) if case.worst else None
            diagnosis = case.diagnosis[0].name if case.diagnosis else None
            return {**own, "tensor": None, "index": index, **worst, "diagnosis": diagnosis, "reason": case.reason}

        return [row(case) for case in self.cases]

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each case and its worst element. Needs pandas."""
        import pandas  # pyright: ignore[reportMissingImports]

        return pandas.DataFrame(self._rows())

    def to_polars(self) -> Any:
        """The same of polars. Needs polars."""
        import polars  # pyright: ignore[reportMissingImports]

        return polars.DataFrame(self._rows(), infer_schema_length=None)

    def __str__(self) -> str:
        return "\n".join([of_report(self._findings.text()).rstrip("\n"), *(f"note: {note}" for note in self.notes)]) + "\n"

    def __repr__(self) -> str:
        named = f", looks like {self.diagnosis[0].name}" if self.diagnosis else ""
        cases = f"{len(self.cases)} case{'' if len(self.cases) == 1 else 's'}"
        return f"<holdfast.Report: {self.verdict.upper()}, {cases}{named}>"

    def _repr_html_(self) -> str:
        """The parts of the page that say what fails and how much, in its own style, which is of nothing else here."""
        import html
        import re

        page = self._findings.page()
        style = re.search(r"<style>(.*?)</style>", page, re.S)
        shown_parts = "matrix" if self.passed else "failures|matrix"
        parts = re.findall(rf'<section id="(?:{shown_parts})">.*?</section>', page, re.S)
        # There is no page around it that a link could lead to.
        shown = re.sub(r'<a class="place".*?</a>', "", "".join(parts), flags=re.S)
        shown = re.sub(r'<a\b[^>]*href="#[^>]*>(.*?)</a>', r"\1", shown, flags=re.S)
        scoped = (style.group(1) if style else "").replace(":root", ":scope").replace("body {", ":scope {")
        title, text = html.escape(repr(self)[1:-1]), html.escape(str(self))
        return (
            f'<div class="holdfast"><style>@scope (.holdfast) {{ {scoped} }}</style>'
            f"<details open><summary><b>{title}</b></summary>{shown}</details>"
            # Notebooks set what is in `pre` in the font of their text, and tables need one width for all letters.
            f'<details><summary>as text</summary><pre style="font-family:monospace;line-height:1.2">{text}</pre></details></div>'
        )
