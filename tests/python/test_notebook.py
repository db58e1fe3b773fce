"""Promise: guide.ipynb has the samples of the guide's page on Python, and runs from its first cell to its last.

HOLDFAST_UPDATE=1 writes it anew from the page. What a notebook shows of a report is to be looked at: `jupyter lab` opens it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "src" / "guide" / "python.md"
NOTEBOOK = HERE / "guide.ipynb"


def cell(number, kind, text):
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text, **code}


def made():
    """The notebook of the page: its samples under their headings, and reports as a notebook shows them."""
    texts = [("markdown", "# holdfast in a notebook\n\nThe samples of `src/guide/python.md`.")]
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        blocks = re.findall(r"```python\n(.*?)\n```", body, re.S)
        if blocks:
            texts.append(("markdown", f"## {title}"))
        for block in blocks:
            texts.append(("code", block))
            if "\nprint(report)" in block:
                texts.append(("code", "report"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": [cell(number, *one) for number, one in enumerate(texts)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def test_it_is_the_guide():
    text = json.dumps(made(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("HOLDFAST_UPDATE"):
        NOTEBOOK.write_text(text, encoding="utf-8")
    assert text == NOTEBOOK.read_text(encoding="utf-8")


def test_it_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="unmeasured: no nbclient")
    pytest.importorskip("ipykernel", reason="unmeasured: no ipykernel")
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    wrong, right = shown
    assert "FAIL, 1 case, looks like runs-as-zoh-exact" in wrong
    assert "<b>holdfast.Report: PASS" in right and all("font-family:monospace" in one for one in shown)
    # The page's own tables, in its own style, and no link to what is not there.
    assert 'class="heat' in wrong and 'class="values"' in wrong and "@scope (.holdfast)" in wrong and 'href="#' not in wrong
    assert (tmp_path / "run.safetensors").exists()
