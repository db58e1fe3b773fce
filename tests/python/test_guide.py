"""Promise: what the guide's page on Python shows runs, block after block, and every name of the package is on it or in help."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import holdfast

PAGE = Path(__file__).resolve().parents[2] / "src" / "guide" / "python.md"


def test_the_samples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 5
    space = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), space)
    assert (tmp_path / "run.safetensors").exists()
    problem = holdfast.problems("foh", "short")[0]
    space["test_scan"](problem)


@pytest.mark.parametrize("name", holdfast.__all__)
def test_every_public_name_says_what_it_is(name):
    thing = getattr(holdfast, name)
    assert len(inspect.getdoc(thing) or "") > 20
    parameters = inspect.signature(thing).parameters.values()
    assert all(p.annotation is not p.empty for p in parameters if p.name != "self")
    for member, value in vars(thing).items() if inspect.isclass(thing) else ():
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            assert inspect.getdoc(value), f"{name}.{member}"
