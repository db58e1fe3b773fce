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


def public(module):
    """The public names of a module, and of the modules among them."""
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.ismodule(thing):
            assert len(inspect.getdoc(thing) or "") > 20, name
            yield from public(thing)
        # A table says what it is in its comment.
        elif callable(thing):
            yield pytest.param(thing, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("thing", list(public(holdfast)))
def test_every_public_name_says_what_it_is(thing):
    assert len(inspect.getdoc(thing) or "") > 20
    parameters = inspect.signature(thing).parameters.values()
    assert all(p.annotation is not p.empty for p in parameters if p.name != "self")
    for member, value in vars(thing).items() if inspect.isclass(thing) else ():
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            assert inspect.getdoc(value), f"{thing.__name__}.{member}"


@pytest.mark.parametrize("page", ["README.md", "src/guide/mamba2.md"])
def test_a_page_shows_what_is_said(page):
    if page == "README.md":
        pytest.importorskip("torch", reason="unmeasured: the README's function is one of PyTorch")
    text = (PAGE.parents[2] / page).read_text(encoding="utf-8")
    code, shown = re.findall(r"```python\n([^`]*?)```(?:(?!```).)*```text\n(.*?)```", text, re.S)[0]
    with pytest.raises(AssertionError) as raised:
        exec(compile(code, page, "exec"), {})
    said = iter(str(raised.value).splitlines())
    for line in shown.removeprefix("AssertionError: ").splitlines():
        assert line == "..." or line in said, line
