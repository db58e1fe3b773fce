"""Promise: the package behaves as a good part of its process: it starts fast, stops on Ctrl-C, lets other threads run, takes no
memory that it need not, and leaves no process behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy
import pytest
from conftest import drawn

import holdfast

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "recorded"
LARGE = """
import numpy, signal, sys, threading, time
import holdfast
# Python leaves an interrupt ignored where its parent ignores it, as a shell's background jobs do.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = numpy.random.default_rng(0)
b, d, l, n = 1, 256, 65536, 16
u = rng.normal(size=(b, d, l)).astype("f4")
run = dict(u=u, delta=abs(u), A=-numpy.ones((d, n), "f4"), B=rng.normal(size=(b, n, l)).astype("f4"))
run |= dict(C=run["B"], out=u)
"""


@contextlib.contextmanager
def python(code, *arguments, **more):
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), *arguments], text=True, **more) as process:
        try:
            yield process
        except BaseException:
            # Nobody waits for a process that was given up.
            process.kill()
            raise


def test_importing_takes_no_framework_and_little_time():
    code = """
    import sys, time
    # Of the processor: how busy the machine is otherwise is not the package's.
    start = time.process_time()
    import holdfast
    print(time.process_time() - start, [name for name in ("numpy", "torch", "jax", "pytest") if name in sys.modules])
    """
    seconds = []
    for _ in range(5):
        with python(code, stdout=subprocess.PIPE) as process:
            time_taken, imported = process.stdout.read().split(maxsplit=1)
        assert imported.strip() == "[]"
        seconds.append(float(time_taken))
    assert min(seconds) <= 0.15


def test_ctrl_c_ends_a_check_at_once():
    code = LARGE + 'print("started", flush=True)\nholdfast.check(**run)'
    with python(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(0.5)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors and "panicked" not in errors
    assert time.monotonic() - sent < 3


def test_after_an_interrupt_the_next_check_is_right():
    code = LARGE + textwrap.dedent("""
        import os, signal
        threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
        try:
            holdfast.check(**run)
        except KeyboardInterrupt:
            print("interrupted")
        # Nobody works on for an answer that nobody gets.
        time.sleep(1)
        before = time.process_time()
        time.sleep(1)
        assert time.process_time() - before < 0.3
        y = holdfast.scan(u[:, :2, :64], abs(u[:, :2, :64]), run["A"][:2], run["B"][..., :64], run["C"][..., :64])
        print(holdfast.check(u[:, :2, :64], abs(u[:, :2, :64]), run["A"][:2], run["B"][..., :64], run["C"][..., :64], out=y).passed)
    """)
    with python(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        output, errors = process.communicate(timeout=60)
    assert output.split() == ["interrupted", "True"], errors


def test_other_threads_run_meanwhile():
    inputs = drawn(batch=1, dim=64, dstate=16, seqlen=1024)
    out = numpy.zeros_like(inputs["u"])
    done, turns = threading.Event(), []

    def turn():
        while not done.wait(0.005):
            turns.append(time.monotonic())

    thread = threading.Thread(target=turn)
    thread.start()
    start = time.monotonic()
    holdfast.check(**inputs, method="zoh", out=out)
    end = time.monotonic()
    done.set()
    thread.join()
    assert len([turn for turn in turns if start < turn < end]) >= 5


def test_arrays_are_not_copied():
    code = textwrap.dedent("""
        import numpy, resource
        import holdfast
        rng = numpy.random.default_rng(0)
        delta = rng.random((1, 2048, 8192), "f4")
        u = numpy.zeros_like(delta)
        run = dict(u=u, delta=delta, A=-numpy.ones((2048, 1), "f4"), B=delta[:, :1], C=delta[:, 1:2])
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        held = sum(array.nbytes for array in (run["u"], run["delta"])) * 3 // 2
        # Transposed, so that a copy would show.
        views = {name: array if name == "A" else array.swapaxes(1, 2) for name, array in run.items()}
        before = peak()
        out = numpy.zeros_like(u).swapaxes(1, 2)
        holdfast.check(**views, out=out, layout="bld")
        print(held, peak() - before)
    """)
    with python(code, stdout=subprocess.PIPE) as process:
        held, more = map(int, process.stdout.read().split())
    assert held > 150 << 20 and more < held


def children(pid):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return listed.split()


def test_workers_end_with_the_interpreter():
    code = """
    import numpy, holdfast, os, subprocess
    one = numpy.ones((1, 1, 4), "f4")
    holdfast.scan(one, one, -numpy.ones((1, 1), "f4"), one, one)
    print(subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())], capture_output=True, text=True).stdout, flush=True)
    """
    with python(code, stdout=subprocess.PIPE) as process:
        output = process.communicate(timeout=60)[0]
    workers = [line.split()[0] for line in output.splitlines() if line.strip() and "ps" not in line.split()[1]]
    assert len(workers) == 1
    assert not Path(f"/proc/{workers[0]}").exists()


def test_a_fork_that_cannot_work_says_so():
    code = """
    import numpy, holdfast, os, signal, sys
    one = numpy.ones((1, 1, 4), "f4")
    run = dict(u=one, delta=one, A=-numpy.ones((1, 1), "f4"), B=one, C=one, out=one)
    if sys.argv[1] == "after":
        holdfast.check(**run)
    pid = os.fork()
    if pid == 0:
        # One that waits for ever ends all the same.
        signal.alarm(20)
        try:
            print("verdict", holdfast.check(**run).verdict, flush=True)
        except RuntimeError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    """
    for when, said in (("before", "verdict fail"), ("after", 'hint: multiprocessing.set_start_method("spawn")')):
        with python(code, when, stdout=subprocess.PIPE) as process:
            assert said in process.communicate(timeout=60)[0]


def test_a_fork_ends_well_whatever_threads_of_its_parent_did():
    code = """
    import os, signal, sys, threading
    import numpy, holdfast
    one = numpy.ones((1, 1, 4), "f4")
    def scan():
        holdfast.scan(one, one, -numpy.ones((1, 1), "f4"), one, one)
    threads = [threading.Thread(target=scan) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    pid = os.fork()
    if pid == 0:
        # One that waits for ever ends all the same.
        signal.alarm(20)
        try:
            holdfast._holdfast.program(["holdfast", "--version"])
        except RuntimeError as error:
            print(error, flush=True)
        sys.exit(0)
    print("status", os.waitpid(pid, 0)[1])
    scan()
    """
    with python(code, stdout=subprocess.PIPE) as process:
        said = process.communicate(timeout=60)[0]
    assert 'hint: multiprocessing.set_start_method("spawn")' in said and "status 0" in said
    assert process.returncode == 0


def test_arrays_are_let_go_of_after_an_interrupt():
    code = LARGE + textwrap.dedent("""
        import os, signal, weakref
        class Watched(numpy.ndarray):
            pass
        threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
        try:
            watched = u.view(Watched)
            gone = weakref.ref(watched)
            run["u"] = watched
            holdfast.check(**run)
        except KeyboardInterrupt:
            run, watched = None, None
        until = time.monotonic() + 20
        while gone() is not None and time.monotonic() < until:
            time.sleep(0.1)
        print("gone" if gone() is None else "there")
    """)
    with python(code, stdout=subprocess.PIPE) as process:
        assert process.communicate(timeout=60)[0] == "gone\n"


def run_command(*words, how=(sys.executable, "-m", "holdfast"), **more):
    return subprocess.run([*how, *words], capture_output=True, text=True, **more)


def test_the_command_line_comes_with_the_package():
    script = Path(sys.executable).with_name("holdfast")
    for how in ((sys.executable, "-m", "holdfast"), (str(script),)):
        assert run_command("--version", how=how).stdout == f"holdfast {holdfast.__version__}\n"
        said = run_command("check", str(GOLDEN / "foh-as-exact-zoh.safetensors"), how=how)
        assert said.returncode == 1 and "looks like runs-as-zoh-exact" in said.stdout
        assert run_command("check", "nowhere.safetensors", how=how).returncode == 2
        assert run_command("verify", "--regime", "l1", "--method", "zoh", "--backend", "cpu", how=how).returncode == 0


def test_a_worker_is_this_interpreter_whatever_the_folder_holds(tmp_path):
    # One that nobody asks anything ends well: it is the right program, not that of the folder, nor that of the environment.
    (tmp_path / "holdfast.py").write_text("raise SystemExit('the wrong one')")
    path, arguments = holdfast._holdfast.worker()
    assert str(path) == sys.executable and arguments[-1] == "worker"
    elsewhere = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for more in ((), ("--stand-in", "1000000")):
        said = run_command(*arguments, *more, how=(str(path),), cwd=tmp_path, stdin=subprocess.DEVNULL, env=elsewhere)
        assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    # What is installed beside does not come before the package itself.
    code = "import sys; sys.argv = ['-c', *sys.argv[1:]]\n" + arguments[2].partition("; from holdfast")[0] + "; print(sys.path[0])"
    said = run_command("-I", "-c", code, "/the/package", how=(str(path),))
    assert said.stdout == "/the/package\n"
    # And one that is asked something strange says so: somebody has read it.
    said = run_command(*arguments, how=(str(path),), cwd=tmp_path, input="no message" * 3, env=elsewhere)
    assert said.returncode == 2 and "the worker's stream of jobs broke" in said.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="unmeasured: signals are those of Linux")
def test_an_interrupted_command_ends_with_130():
    words = ["verify", "--backend", "cpu"]
    with subprocess.Popen([sys.executable, "-m", "holdfast", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
