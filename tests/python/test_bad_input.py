"""Promise: what is no run is refused with what was expected, what was found and a hint, and never judged."""

from __future__ import annotations

import numpy
import pytest
from conftest import drawn, reference

import holdfast

INPUTS = drawn()
OUT, STATE = reference(**INPUTS)


def changed(**changes):
    arguments = {**INPUTS, "method": "zoh", "out": OUT, **changes}
    return {name: value for name, value in arguments.items() if value is not ...}


def with_number(name, number):
    array = {**INPUTS, "out": OUT}[name].copy()
    array.flat[3] = number
    return {name: array}


@pytest.mark.parametrize(
    "changes, expected, found",
    [
        (with_number("u", numpy.nan), "expected a finite number", "`u` is NaN at (0, 0, 3)"),
        (with_number("delta", numpy.inf), "expected a finite number", "`delta` is inf"),
        (with_number("A", -numpy.inf), "expected a finite number", "`A` is -inf"),
        ({"u": None}, "expected an array", "`u` is None"),
        ({"out": None}, "expected what the scan returned", "`out` is None"),
        ({"u": "abc"}, "expected an array", "`u` is the text 'abc'"),
        ({"u": INPUTS["u"].astype("i4")}, "expected an array of float32", "`u` is of type int32"),
        ({"A": INPUTS["A"].astype("c16")}, "expected an array of float32", "`A` is of type complex128"),
        ({"A": INPUTS["A"].astype("c16")}, 'asarray(A, dtype="complex64")', "complex128"),
        ({"u": [[1.0, [2.0]]]}, "expected an array", "`u` cannot be read"),
        ({"u": INPUTS["u"].astype("f8")}, "expected F32", "`u` is of type F64"),
        ({"A": INPUTS["A"].astype("f8")}, "expected F32, F16 or BF16", "`A` is of type F64"),
        ({"delta": INPUTS["delta"].astype("c8")}, "expected F32, F16 or BF16", "`delta` is of type C64"),
        ({"out": OUT.astype("f8")}, "expected F32", "`out.zoh` is of type F64"),
        ({"out": {"zoh": OUT, "foh": OUT.astype("f2")}}, "expected F32", "`out.foh` is of type F16"),
        ({"dt_limit": 0.1}, "expected a tuple of two numbers", "dt_limit is 0.1"),
        ({"dt_limit": (0.1, 0.001)}, "expected two numbers with 0 ≤ low ≤ high", "`dt_limit` is `0.1 0.001`"),
        ({"u": INPUTS["u"][0]}, "expected (batch, dim, seqlen)", "`u` has shape (4, 32)"),
        ({"delta": INPUTS["delta"][..., :-1]}, "expected (2, 4, 32)", "`delta` has shape (2, 4, 31)"),
        ({"A": INPUTS["A"][:3]}, "expected (4, dstate)", "`A` has shape (3, 4)"),
        ({"B": INPUTS["B"][..., :-1]}, "expected (2, 4, 32)", "`B` has shape (2, 4, 31)"),
        ({"B": numpy.zeros((2, 3, 4, 32), "f4")}, "expected a divisor of dim = 4", "groups = 3"),
        ({"C": numpy.zeros((2, 2, 4, 32), "f4")}, "expected 1 as B", "groups = 2"),
        ({"D": numpy.zeros(3, "f4")}, "expected (4)", "`D` has shape (3)"),
        ({"out": OUT[..., :-1]}, "expected (2, 4, 32)", "`out.zoh` has shape (2, 4, 31)"),
        ({"last_state": STATE[:, :, :2]}, "expected (2, 4, 4)", "`last_state.zoh` has shape (2, 4, 2)"),
        ({"A": INPUTS["A"][:, :0], **{n: INPUTS[n][:, :0] for n in "BC"}}, "expected at least 1", "dstate = 0"),
        ({"method": "zho"}, "expected one of zoh, foh", "`zho`"),
        ({"method": None}, "expected one of zoh, foh", "method is `None`"),
        ({"seed": -1}, "expected a whole number", "seed is -1"),
        ({"seed": "1"}, "expected a whole number", "seed is '1'"),
        ({"channels": 10**30}, "expected at least 1", "channels is 1000"),
        ({"channels": "3"}, "expected at least 1", "channels is '3'"),
        ({"delta_softplus": "false"}, "expected True or False", "delta_softplus is 'false'"),
        ({"delta_softplus": 2}, "expected True or False", "delta_softplus is 2"),
        ({"arithmetic": "gate=bf17"}, "expected f32, f16, bf16 or tf32", "gate=bf17"),
        ({"reads": "later"}, "expected one of after-update", "`reads` is `later`"),
        ({"complex_output": "real-part"}, "needs complex weights", "`complex_output`"),
        ({"input_type": "bf16"}, "expected a number that bf16 can hold", "`u` is"),
        ({"layout": "dlb"}, "expected one of bdl, bld, blhp", "layout is `dlb`"),
        ({"layout": "blhp"}, "expected (batch, seqlen, heads, p)", "`u` has shape (2, 4, 32)"),
        ({"backend": "tpu"}, "auto, cuda, cpu", "backend is `tpu`"),
        ({"channels": 0}, "expected at least 1", "channels is 0"),
    ],
)
def test_bad_input_is_a_value_error_that_says_what_to_do(changes, expected, found):
    with pytest.raises(ValueError) as raised:
        holdfast.check(**changed(**changes))
    text = str(raised.value)
    assert expected in text and found in text and "hint: " in text


def test_another_layout_is_named_where_its_shapes_would_fit():
    with pytest.raises(ValueError, match='hint: layout="bdl" if u, delta, z and outputs are'):
        holdfast.check(**changed(layout="bld"))


def test_a_nan_in_the_output_is_a_failure_and_no_error():
    report = holdfast.check(**changed(**with_number("out", numpy.nan)))
    assert report.verdict == "fail" and report.worst.got != report.worst.got


def test_arguments_that_there_are_not_are_type_errors():
    with pytest.raises(TypeError, match="gamma"):
        holdfast.check(**changed(gamma=1))
    # One that has gradients needs no output.
    with pytest.raises(ValueError, match="tensor `out` is None"):
        holdfast.check(**changed(out=...))


def test_what_is_no_run_is_not_recorded(tmp_path):
    with pytest.raises(ValueError, match="expected"):
        holdfast.record(tmp_path / "run.safetensors", **changed(A=INPUTS["A"][:3]))
    with pytest.raises(OSError):
        holdfast.record(tmp_path / "nowhere" / "run.safetensors", **changed())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind, number, found", [("f4", -numpy.inf, "-inf"), ("f2", numpy.nan, "NaN"), ("bf16", numpy.nan, "NaN")])
def test_inputs_that_are_no_numbers_are_not_recorded(tmp_path, kind, number, found):
    if kind == "bf16":
        kind = pytest.importorskip("ml_dtypes", reason="unmeasured: no ml_dtypes").bfloat16
    narrow = {name: array if name == "A" else array.astype(kind) for name, array in {**INPUTS, "out": OUT}.items()}
    path = tmp_path / "run.safetensors"
    # An output may be anything: that is a failure.
    narrow["out"][0, 0, 0] = number
    holdfast.record(path, **narrow)
    path.unlink()
    narrow["C"][1, 2, 3] = number
    with pytest.raises(ValueError, match=rf"`C` is {found} at \(1, 0, 2, 3\)"):
        holdfast.record(path, **narrow)
    assert not path.exists()


@pytest.mark.parametrize("shape, at", [((4,), "2"), ((), "")])
def test_numbers_of_vectors_are_looked_at_in_bf16_too(tmp_path, shape, at):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="unmeasured: no ml_dtypes")
    bias = numpy.ones(shape, ml_dtypes.bfloat16)
    bias[(2,) if shape else ()] = numpy.inf
    with pytest.raises(ValueError) as raised:
        holdfast.record(tmp_path / "run.safetensors", **INPUTS, delta_bias=bias, method="zoh", out=OUT)
    assert f"`delta_bias` is inf at ({at}" in str(raised.value)


@pytest.mark.parametrize(
    "arguments, found",
    [
        (("zho", 1.0, 1.0, 0.1), "zho"),
        (("zoh", numpy.ones((2, 3)), numpy.ones((2, 1)), 0.1), "expected (n, n), (n, m) and a number"),
        (("zoh", numpy.ones(2), numpy.ones(3), 0.1), "expected shapes that broadcast"),
        (("zoh", numpy.nan, 1.0, 0.1), "NaN"),
        (("zoh", [[-1.0], [-2.0, -3.0]], 1.0, 0.1), "`A` cannot be read"),
        (("zoh", -1.0, 1.0, [0.1, [0.2]]), "expected a number, or numbers in rows of one length (hint: "),
        (("bilinear", 2.0, 1.0, 1.0), "pole"),
    ],
)
def test_what_has_no_certified_value_is_a_value_error(arguments, found):
    with pytest.raises(ValueError) as raised:
        holdfast.discretize(*arguments)
    assert found in str(raised.value)


@pytest.mark.parametrize(
    "arguments, found",
    [
        ({"method": "zho"}, "method is `zho`, expected one of zoh"),
        ({"regimes": "shrot"}, "regimes is `shrot`, expected one of short"),
        ({"weights": "quaternion"}, "quaternion"),
        ({"regimes": "s4d-lin", "weights": "real"}, "no problem of s4d-lin"),
        ({"regimes": ["short", "s4d-lin"]}, "no problem of s4d-lin"),
        ({"regimes": []}, "regimes is empty"),
        ({"weights": []}, "weights is empty"),
        ({"method": None}, "method is `None`"),
        ({"seed": -1}, "seed is -1"),
        ({"inputs": "f64"}, "f64"),
        ({"xp": "tensorflow"}, "xp is `tensorflow`, expected one of numpy"),
    ],
)
def test_problems_that_there_are_not(arguments, found):
    with pytest.raises(ValueError) as raised:
        holdfast.problems(**arguments)
    assert found in str(raised.value)


@pytest.mark.parametrize("softplus", [True, 1, numpy.True_])
def test_a_truth_of_any_kind_is_one(softplus):
    out = reference(**INPUTS, delta_softplus=True)[0]
    assert holdfast.check(**changed(delta_softplus=softplus, out=out)).passed
