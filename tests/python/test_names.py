"""Promise: names are taken as people write them, and a wrong argument is answered with what was expected, what was found and a hint."""

from __future__ import annotations

import numpy
import pytest
from conftest import drawn, reference

import holdfast

INPUTS = drawn()
BIAS = numpy.linspace(-1, 0.5, 4, dtype="f4")
OUT = reference(**INPUTS, delta_bias=BIAS, delta_softplus=True)[0]


def found(**arguments):
    """What is judged, without how it is called."""
    results = holdfast.check(**arguments).to_dict()
    del results["command"]
    return [{name: value for name, value in case.items() if name != "rerun"} for case in results["cases"]]


def test_arguments_methods_and_types_are_those_that_people_write():
    u, delta, A, B, C = INPUTS.values()
    ours = found(**INPUTS, delta_bias=BIAS, delta_softplus=True, method="zoh", out=OUT, arithmetic="gate=bf16", input_type="f32")
    theirs = {"x": u, "dt": delta, "A": A, "B": B, "C": C, "dt_bias": BIAS, "dt_softplus": True, "y": OUT}
    assert found(**theirs, method="ZOH", arithmetic="gate=bfloat16", input_type=numpy.float32) == ours
    assert found(**INPUTS, out=reference(**INPUTS, wrong="exact")[0], method="zoh_exact")[0]["method"] == "zoh-exact"
    asked = holdfast.problems("Zoh", "Tiny_Z", weights=["REAL", numpy.complex64], inputs=["float16", numpy.float32], b="Constant")
    assert {problem.id for problem in asked} == {
        f"tiny-z/{weights}/{kind}/b-constant/c-variable" for weights in ("real", "complex") for kind in ("f16", "f32")
    }
    dout = numpy.ones_like(u)
    right = holdfast.gradients(u, A=A, B=B, C=C, dt=delta, dout=dout)
    grads = {"dt": right.delta.astype("f4"), "A": right.A.astype("f4")}
    assert holdfast.check(**INPUTS, dout=dout, grads=grads).passed


def test_types_of_torch_are_names(torch):
    (problem,) = holdfast.problems("zoh", "short", inputs=torch.bfloat16, xp="pytorch")
    assert problem.inputs["u"].dtype == torch.bfloat16
    assert holdfast.check(**problem.inputs, out=holdfast.scan(**problem.inputs), arithmetic=torch.float32).passed


def scan(u, delta, A, B, C, **more):
    return reference(u, delta, A, B, C, **more)


U, *REST = INPUTS.values()
#: Calls that are wrong, and what is said of each.
WRONG = {
    "check is not given `u`": lambda: holdfast.check(),
    "check is not given `C`": lambda: holdfast.check(U, *REST[:3], out=OUT),
    "hint: delta_softplus, perhaps": lambda: holdfast.check(**INPUTS, out=OUT, delta_sofplus=True),
    "expected an array of int32 or int64": lambda: holdfast.check(**INPUTS, out=OUT, seq_idx=OUT),
    "argument `chunk_size` is no statement": lambda: holdfast.capture("run.safetensors", chunk_size=64).__enter__(),
    "did you mean `dt_limit`": lambda: holdfast.record("run.safetensors", **INPUTS, out=OUT, dt_limt="0 1"),
    "check has no argument `gamma`": lambda: holdfast.check(**INPUTS, out=OUT, gamma=1),
    "both `dt` and `delta`": lambda: holdfast.check(**INPUTS, dt=INPUTS["delta"], out=OUT),
    "`u` twice": lambda: holdfast.check(U, *REST, u=U),
    "given 10 arguments in order": lambda: holdfast.check(U, *REST, None, None, None, False, "zoh"),
    "`holdfast check run.safetensors`": lambda: holdfast.check("run.safetensors"),
    "torch.load('run.pt')": lambda: holdfast.check("run.pt"),
    "holdfast.check(**run)": lambda: holdfast.check(INPUTS),
    "out is a mapping that has `out`": lambda: holdfast.check(**INPUTS, out={"out": OUT}),
    "hint: zoh, perhaps": lambda: holdfast.check(**INPUTS, out=OUT, method="zoo"),
    "hint: bdl, perhaps": lambda: holdfast.check(**INPUTS, out=OUT, layout="bdll"),
    "grads has `a`": lambda: holdfast.check(**INPUTS, dout=OUT, grads={"a": INPUTS["A"]}),
    "hint: method, perhaps": lambda: holdfast.record("run.safetensors", **INPUTS, out=OUT, metod="zoh"),
    "metadata has `more`": lambda: holdfast.record("run.safetensors", **INPUTS, out=OUT, more=OUT),
    "regimes is `5`": lambda: holdfast.problems("zoh", 5),
    "weights is `5`": lambda: holdfast.problems(weights=5),
    "gradients is `sums`": lambda: holdfast.problems(gradients="sums"),
    "xp is `numpi`": lambda: holdfast.problems(xp="numpi"),
    "assert_correct is not given `fn`": lambda: holdfast.assert_correct(),
    "fn is of type str": lambda: holdfast.assert_correct("scan"),
    "hint: regimes, perhaps": lambda: holdfast.assert_correct(scan, regime="short"),
    "check has no argument `grad`": lambda: holdfast.problems("zoh", "short")[0].check(OUT, grad={}),
    "shape is 5": lambda: holdfast.bench.compare(scan, shape=5),
    "shape is `vim-tin`": lambda: holdfast.bench.compare(scan, shape="vim-tin"),
    "seconds is '1'": lambda: holdfast.bench.compare(scan, seconds="1"),
    "path is of type NoneType": lambda: holdfast.capture(None).__enter__(),
    "max_bytes is '1GB'": lambda: holdfast.capture("run.safetensors", max_bytes="1GB").__enter__(),
    "model is of type str": lambda: holdfast.capture("run.safetensors", model="mamba").__enter__(),
    "watch is not given `fn`": lambda: holdfast.watch(),
    "names is of type list": lambda: holdfast.watch(scan, names=["u"]),
    "diagnosis is `of`": lambda: holdfast.check(**INPUTS, out=OUT, diagnosis="of"),
    "diagnosis is -1": lambda: holdfast.problems(diagnosis=-1),
    "hint: diagnosis, perhaps": lambda: holdfast.assert_correct(scan, diagnose=False),
    "discretize is not given `delta`": lambda: holdfast.discretize("zoh", -1.0, 1.0),
    "gradients is not given `dout`": lambda: holdfast.gradients(**INPUTS),
    "the text is of type int": lambda: holdfast.Report.from_json(5),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_argument_is_answered_with_what_was_meant(said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ValueError)) as raised:
        WRONG[said]()
    text = str(raised.value)
    assert said in text and "expected" in text and "hint: " in text and "positional argument" not in text
    assert list(tmp_path.iterdir()) == []
