"""Promise: each typical mistake has a message that says what was expected, what was found and what to do, and it is the one in
mistakes.txt. HOLDFAST_UPDATE=1 writes that file anew; look at what has changed before it is committed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest
from conftest import drawn, reference

import holdfast

SNAPSHOT = Path(__file__).with_name("mistakes.txt")
INPUTS = drawn()
OUT, STATE = reference(**INPUTS)
EVERYTHING = {
    **INPUTS,
    "D": numpy.linspace(0.5, 2, 4, dtype="f4"),
    "z": numpy.linspace(-3, 3, 256, dtype="f4").reshape(2, 4, 32),
    "delta_bias": numpy.linspace(-1, 0.5, 4, dtype="f4"),
    "delta_softplus": True,
}

#: Wrong calls, by what went wrong.
CALLS = {}
#: Wrong implementations: what each returns for the inputs that it is given.
SCANS = {}


def call(title):
    return lambda made: CALLS.setdefault(title, made)


def scan(title):
    return lambda made: SCANS.setdefault(title, made)


def check(**changes):
    return holdfast.check(**{**INPUTS, "method": "zoh", "out": OUT, **changes})


def turned(name):
    return {**INPUTS, "out": OUT}[name].swapaxes(1, 2)


def spoiled(name, number):
    array = INPUTS[name].copy()
    array.flat[5] = number
    return {name: array}


def heads(u_axes=(0, 1, 2, 3), **changes):
    """Mamba-2's inputs: 2 batches, 16 positions, 4 heads of 3 channels, 5 states."""
    u = numpy.ones((2, 16, 4, 3), "f4").transpose(u_axes)
    B = numpy.ones((2, 16, 1, 5), "f4")
    run = {"u": u, "delta": u[..., 0], "A": -numpy.ones(4, "f4"), "B": B, "C": B, "out": u, **changes}
    return holdfast.check(**run, layout="blhp")


# Shapes.
call("every array is (batch, seqlen, dim)")(lambda: check(**{n: turned(n) for n in ("u", "delta", "B", "C", "out")}))
call("the output alone is (batch, seqlen, dim)")(lambda: check(out=turned("out")))
call("B and C are (batch, seqlen, dstate)")(lambda: check(B=turned("B"), C=turned("C")))
call("there is no batch")(lambda: check(u=INPUTS["u"][0], delta=INPUTS["delta"][0], out=OUT[0]))
call("A is one number for each channel")(lambda: check(A=INPUTS["A"][:, 0]))
call("A is (dstate, dim)")(lambda: check(A=numpy.ones((5, 4), "f4")))
call("D is a number")(lambda: check(D=1.0))
call("delta_bias is (batch, dim)")(lambda: check(delta_bias=numpy.zeros((2, 4), "f4")))
call("heads and p are swapped")(lambda: heads((0, 1, 3, 2), out=numpy.ones((2, 16, 3, 4), "f4"), delta=numpy.ones((2, 16, 4), "f4")))
call("delta of heads is that of channels")(lambda: heads(delta=numpy.ones((2, 16, 12), "f4")))
call("groups do not divide the channels")(lambda: check(B=numpy.ones((2, 3, 4, 32), "f4")))

# Types and values.
call("everything is in double")(lambda: check(**{n: a.astype("f8") for n, a in INPUTS.items()}, out=OUT.astype("f8")))
call("A = -exp(A_log) is in double")(lambda: check(A=INPUTS["A"].astype("f8")))
call("u is complex")(lambda: check(u=INPUTS["u"].astype("c8")))
call("u is a list of whole numbers")(lambda: check(u=[[[1, 2], [3, 4]]]))
call("an input is NaN")(lambda: check(**spoiled("delta", numpy.nan)))
call("an input that is recorded is NaN")(
    lambda: holdfast.record("run.safetensors", **{**INPUTS, **spoiled("delta", numpy.nan)}, out=OUT)
)
call("a truth value is a text")(lambda: check(delta_softplus="false"))

# Names.
call("the method has a typo")(lambda: check(method="zoh_exat"))
call("the arithmetic is none")(lambda: check(arithmetic="bfloat8"))
call("the layout is none")(lambda: check(layout="bhld"))
call("the backend is none")(lambda: check(backend="tpu"))
call("the regime is none")(lambda: holdfast.problems("zoh", "tinyzz"))
call("a textbook form is scanned")(lambda: holdfast.scan(**INPUTS, method="zoh-exact"))
call("no channel is judged")(lambda: check(channels=0))
call("an argument that is watched is none")(lambda: holdfast.watch(reference, names={"x": "input"}))
call("the layout of what is watched is none")(lambda: holdfast.watch(reference, layout="lbd"))

# What is no output.
call("the function returns nothing")(lambda: holdfast.assert_correct(lambda **inputs: None, regimes="short"))
call("the function returns three things")(
    lambda: holdfast.assert_correct(lambda **inputs: (*reference(**inputs), None), regimes="short")
)
call("the function returns (batch, seqlen, dim)")(
    lambda: holdfast.assert_correct(lambda **inputs: reference(**inputs)[0].swapaxes(1, 2), regimes="short")
)
call("the function returns double")(
    lambda: holdfast.assert_correct(lambda **inputs: reference(**inputs)[0].astype("f8"), regimes="short")
)
call("the function needs the length of its chunks")(
    lambda: holdfast.assert_correct(lambda u, delta, A, B, C, chunk_size: reference(u, delta, A, B, C), regimes="short")
)
call("the output is tested instead of the function")(lambda: holdfast.assert_correct(OUT, method="zoh"))

# Certified values.
call("discretize has fewer numbers in B than in A")(lambda: holdfast.discretize("zoh", [-1, -2, -3], [1, 1], 0.1))
call("discretize has one step for each position")(lambda: holdfast.discretize("zoh", [-1.0, -2.0], [1.0, 1.0], numpy.ones(5)))
call("discretize has steps for a matrix")(
    lambda: holdfast.discretize("zoh", -numpy.eye(2), numpy.ones((2, 1)), numpy.ones(3), dense=True)
)
call("discretize has a method that is none")(lambda: holdfast.discretize("eulr", -1.0, 1.0, 0.1))
call("discretize has a step that is infinite")(lambda: holdfast.discretize("zoh", -1.0, 1.0, float("inf")))

# Files.
call("the folder of a recording is missing")(lambda: holdfast.record("nowhere/run.safetensors", **INPUTS, out=OUT))
call("the folder of a page is missing")(lambda: check().html("nowhere/page.html"))
call("a report is read that is none")(lambda: holdfast.Report.from_json("run.safetensors"))


@scan("the gate is missing")
def _(**inputs):
    return reference(**{**inputs, "z": None})[0]


@scan("softplus is applied twice")
def _(delta, delta_bias, **inputs):
    step = numpy.log1p(numpy.exp(delta + delta_bias[:, None]))
    return reference(delta=step, **inputs)[0]


@scan("softplus is forgotten")
def _(delta_softplus, **inputs):
    return reference(**inputs)[0]


@scan("the bias of delta is forgotten")
def _(delta_bias, **inputs):
    return reference(**inputs)[0]


@scan("the skip D is forgotten")
def _(D, **inputs):
    return reference(**inputs)[0]


@scan("B and C are swapped")
def _(B, C, **inputs):
    return reference(B=C, C=B, **inputs)[0]


@scan("the gate is a sigmoid")
def _(z, **inputs):
    return reference(**inputs)[0] / (1 + numpy.exp(-z))


@scan("the state is lost in the middle")
def _(**inputs):
    return reference(**inputs, wrong="lost")[0]


@scan("B has the exact hold")
def _(**inputs):
    return reference(**inputs, wrong="exact")[0]


@scan("A is A_log")
def _(A, **inputs):
    return reference(A=-numpy.log(-A), **inputs)[0]


@scan("an output is NaN")
def _(**inputs):
    return reference(**inputs, wrong="nan")[0]


@scan("the sequence runs backwards")
def _(**inputs):
    turned = {n: a[..., ::-1] if n in ("u", "delta", "B", "C", "z") else a for n, a in inputs.items()}
    return reference(**turned)[0][..., ::-1]


def said(title):
    """The message, without what differs between machines."""
    if title in CALLS:
        try:
            returned = CALLS[title]()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return f"no error: {returned!r}"
    report = holdfast.check(**EVERYTHING, method="zoh", out=SCANS[title](**EVERYTHING))
    assert not report.passed
    # A machine's own exp has the digits of the worst element and of what is left of it.
    (case,) = report.cases
    causes = [f"{cause.name}: {cause.what}" for cause in case.diagnosis[:1]]
    return "\n".join([repr(report), *causes, *([case.reason] if case.reason else [])])


def known():
    text = SNAPSHOT.read_text(encoding="utf-8") if SNAPSHOT.exists() else ""
    parts = [part.partition("\n") for part in text.split("== ")[1:]]
    return {title: message.strip("\n") for title, _, message in parts}


@pytest.mark.parametrize("title", [*CALLS, *SCANS])
def test_the_message_is_the_one_that_was_looked_at(title, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = said(title)
    if title in CALLS:
        assert "--" not in message, "a hint for the command line"
    if os.environ.get("HOLDFAST_UPDATE"):
        every = {**known(), title: message}
        ordered = [name for name in (*CALLS, *SCANS) if name in every]
        SNAPSHOT.write_text("\n\n".join(f"== {name}\n{every[name]}" for name in ordered) + "\n", encoding="utf-8")
    assert message == known().get(title)
    assert list(tmp_path.iterdir()) == []


def test_there_are_thirty_of_them_and_none_that_is_gone():
    assert len(CALLS) + len(SCANS) >= 30
    assert list(known()) == [*CALLS, *SCANS]
