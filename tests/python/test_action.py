"""Promise: the action judges a user's repository: its steps, run in a fresh folder as the runner would, say what is wrong."""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import drawn, reference

import holdfast

ROOT = Path(__file__).resolve().parents[2]
yaml = pytest.importorskip("yaml", reason="unmeasured: no PyYAML")


def run_action(folder, **given):
    """Runs the action's steps there; returns the exit status, what was said, the job's summary and the outputs."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    inputs = {name: str(about.get("default", "")) for name, about in action["inputs"].items()}
    assert given.keys() <= inputs.keys()
    known = {f"inputs.{name}": value for name, value in {**inputs, **given}.items()}
    known |= {"github.action_path": str(ROOT), "github.action_repository": "nobody/nothing", "github.action_ref": "v0"}
    outputs, summary = folder / ".output", folder / ".summary"
    summary.touch()
    said, status = "", 0
    for step in action["runs"]["steps"]:
        outputs.write_text("")
        filled = {
            name: re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda match: known[match[1]], str(text)) for name, text in step["env"].items()
        }
        runner = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)}
        script = folder / ".script"
        script.write_text(step["run"])
        # As the runner starts what asks for `bash`.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=folder,
            env={**os.environ, **runner, "RUNNER_TEMP": str(folder), **filled},
            capture_output=True,
            text=True,
        )
        said += done.stdout + done.stderr
        for line in outputs.read_text().splitlines():
            name, _, value = line.partition("=")
            known[f"steps.{step['id']}.outputs.{name}"] = value
        status = done.returncode
        if status:
            break
    return status, said, summary.read_text(encoding="utf-8"), known.get("steps.judge.outputs.status")


@pytest.fixture
def program():
    found = shutil.which("holdfast", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("unmeasured: the program is not installed beside this Python")
    return found


@pytest.fixture
def runs(tmp_path):
    """A user's repository with recordings: one is right, and two where `wrong` is asked for."""

    def made(wrong):
        inputs = drawn()
        (tmp_path / "runs").mkdir()
        for number, kind in enumerate(wrong):
            out, _ = reference(**inputs, wrong=kind)
            holdfast.record(tmp_path / "runs" / f"{number}.safetensors", **inputs, out=out)
        return tmp_path

    return made


def test_what_passes_passes(runs, program):
    status, said, summary, told = run_action(runs([None]), program=program, arguments="runs/*.safetensors")
    assert (status, told) == (0, "0") and "1 case: 1 pass" in said
    assert "PASS" in summary or "pass" in summary


def test_what_is_wrong_is_in_the_summary_and_annotated(runs, program):
    status, said, summary, told = run_action(runs([None, "exact"]), program=program, arguments="runs/*.safetensors")
    assert (status, told) == (1, "1")
    assert "::error" in said and "runs-as-zoh-exact" in summary


def test_a_header_is_verified(tmp_path, program):
    if shutil.which("c++") is None:
        pytest.skip("unmeasured: no C++ compiler")
    shutil.copytree(ROOT / "tests" / "headers", tmp_path / "headers")
    arguments = "--header headers/rk4-is-zoh.cuh --backend cpu --regime short --weights real"
    status, said, summary, _ = run_action(tmp_path, program=program, command="verify", arguments=arguments)
    assert status == 1 and "runs-as-zoh" in summary and "::error" in said


@pytest.mark.parametrize("has", ["nothing", "sums", "archive"])
@pytest.mark.parametrize("machine", ["Linux x86_64", "Linux riscv64"])
def test_it_is_built_where_the_release_has_no_program(runs, program, tmp_path_factory, monkeypatch, has, machine):
    if shutil.which("curl") is None:
        pytest.skip("unmeasured: no curl")
    served, tools = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("tools")
    release = served / "nobody" / "nothing" / "releases" / "download" / "v0"
    release.mkdir(parents=True)
    for target in ("x86_64-unknown-linux-gnu", "none"):
        name = {"sums": "SHA256SUMS", "archive": f"holdfast-{target}.tar.gz"}.get(has, "other")
        (release / name).write_text("0  other.tar.gz\n")
    # In the place of a build.
    cargo = f'echo built; while [ "$1" != --target-dir ]; do shift; done; mkdir -p "$2/release"; cp {program} "$2/release/holdfast"'
    for name, does in {"cargo": cargo, "uname": f"echo {machine}"}.items():
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("GITHUB_SERVER_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
        status, said, _, told = run_action(runs([None]), arguments="runs/*.safetensors")
        server.shutdown()
    assert (status, told) == (0, "0") and "built" in said and "1 case: 1 pass" in said, said


def test_a_command_that_is_none_is_refused(tmp_path, program):
    status, said, _, told = run_action(tmp_path, program=program, command="bench; ls", arguments="x")
    assert (status, told) == (2, None) and "expected check, verify, sweep or merge" in said
