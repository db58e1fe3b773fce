"""Promise: the tables of a report are what query engines read, and the guide's queries say what it shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import needed

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "src" / "guide" / "many_machines.md"
#: A query, and the rows that the page shows below it.
QUERY = re.compile(r"```sql\n(.*?)```\n\n(\|[^\n]*)\n\|[-|]+\n((?:\|[^\n]*\n)+)", re.S)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Where the page's commands were run."""
    folder = tmp_path_factory.mktemp("reports")
    shutil.copytree(ROOT / "golden" / "recorded", folder / "golden" / "recorded")
    section = PAGE.read_text(encoding="utf-8").split("\n## Queries\n")[1]
    for line in re.findall(r"^\$ holdfast (.*)$", section, re.M):
        subprocess.run([sys.executable, "-m", "holdfast", *line.split()], cwd=folder, capture_output=True)
    return folder


def test_the_queries_of_the_guide_say_what_it_shows(reports, monkeypatch):
    duckdb = needed("duckdb")
    monkeypatch.chdir(reports)
    queries = QUERY.findall(PAGE.read_text(encoding="utf-8"))
    assert len(queries) == 3
    for query, names, rows in queries:
        answer = duckdb.sql(query)
        assert answer.columns == cells(names), query
        assert [[str(cell) for cell in row] for row in answer.fetchall()] == list(map(cells, rows.splitlines())), query


def test_types_are_those_of_the_columns(reports):
    polars = needed("polars")
    table = polars.read_parquet(reports / "report" / "results.parquet")
    types = {name: str(table.schema[name]) for name in ("tensor", "seqlen", "worst_share", "worst_index", "seed")}
    expected = {"tensor": "String", "seqlen": "Int64", "worst_share": "Float64", "worst_index": "List(Int64)", "seed": "UInt64"}
    assert types == expected
    worst = table.sort("worst_share", descending=True).row(0, named=True)
    assert worst["tensor"] == "grad.B" and worst["diagnosis"] == "backward-of-zoh" and len(worst["worst_index"]) == 4
    assert worst["worst_error"] / worst["worst_bound"] == pytest.approx(worst["worst_ratio"])
