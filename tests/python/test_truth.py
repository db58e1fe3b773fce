"""Promise: certified values are what `holdfast truth` prints, and scans what the production kernels compute."""

from __future__ import annotations

import json
import math
import pathlib
import subprocess
import sys

import numpy
import pytest
from conftest import drawn, reference

import holdfast

METHODS = [method.name for method in holdfast.methods()]


def test_the_methods_are_listed_with_their_formulas():
    assert METHODS == ["zoh", "foh", "bilinear", "poly", "highorder", "rk4"]
    assert [method.id for method in holdfast.methods()] == list(range(6))
    assert holdfast.methods()[0].b_bar == "Δ B" and "Mamba" in holdfast.methods()[0].note


@pytest.mark.parametrize("method", [*METHODS, "foh-textbook", "exp-trapezoidal"])
@pytest.mark.parametrize("a, b", [(-0.5, 2.0), (-0.5 + 3.25j, 2.0)])
def test_a_number_is_what_the_command_line_prints(method, a, b):
    text = f"{a.real}+{a.imag}i" if isinstance(a, complex) else str(a)
    words = ["truth", method, f"--a={text}", f"--b={b}", "--delta=0.125"]
    said = subprocess.run([sys.executable, "-m", "holdfast", *words], capture_output=True, text=True, check=True).stdout
    printed = {line.split()[0]: line.split()[2] for line in said.splitlines() if " = " in line}
    found = holdfast.discretize(method, a, b, 0.125)
    for name in ("a_bar", "b_bar", "b_bar_prev", "b_bar_next"):
        value = getattr(found, name)
        if value is None:
            assert name not in printed
        else:
            assert complex(printed[name].replace("i", "j")) == value
    assert found.certificate in said


def test_matrices_and_diagonals():
    a, b = numpy.array([[-1.0, 2.0], [0.0, -3.0]]), numpy.array([[1.0], [0.5]])
    dense = holdfast.discretize("zoh", a, b, 0.25)
    assert dense.a_bar.shape == (2, 2) and dense.b_bar.shape == (2, 1)
    assert dense.a_bar[0, 0] == math.exp(-0.25) and dense.a_bar[1, 0] == 0
    assert dense.b_bar.tolist() == [[0.25], [0.125]]
    # e^A of a triangular matrix: 2(e^-¼ - e^-¾)/2 off the diagonal.
    assert dense.a_bar[0, 1] == pytest.approx(math.exp(-0.25) - math.exp(-0.75), rel=1e-15)
    diagonal = holdfast.discretize("zoh", numpy.diag(a).astype("f4"), b[:, 0], 0.25)
    assert diagonal.a_bar.tolist() == numpy.diag(dense.a_bar).tolist()
    assert diagonal.b_bar.shape == (2,)


@pytest.mark.parametrize("method", ["zoh", "highorder", "foh-textbook"])
def test_many_numbers_and_steps_broadcast(method):
    a = numpy.array([-0.5 + 1j, -2.0, -3.0 - 2j])
    steps = numpy.array([[0.0], [0.25], [-0.125], [1.5]])
    many = holdfast.discretize(method, a, 2.0, steps)
    assert many.a_bar.shape == many.b_bar.shape == (4, 3)
    for i, n in numpy.ndindex(4, 3):
        one = holdfast.discretize(method, a[n], 2.0, steps[i, 0])
        assert many.a_bar[i, n] == one.a_bar and many.b_bar[i, n] == one.b_bar
        assert (many.b_bar_prev is None) == (one.b_bar_prev is None)
        assert many.b_bar_prev is None or many.b_bar_prev[i, n] == one.b_bar_prev
    # As numbers, and not as a matrix.
    square = holdfast.discretize(method, [[-1.0, -2.0], [-3.0, -4.0]], [[1.0], [2.0]], 0.25, dense=False)
    assert square.b_bar[1, 0] == holdfast.discretize(method, -3.0, 2.0, 0.25).b_bar


def test_numbers_of_16_bits_are_taken_as_they_are():
    a = numpy.array([-0.5, -2.0])
    expected = holdfast.discretize("foh", a, -a, 0.25)
    kinds = ["f2", "f4"]
    try:
        import ml_dtypes

        kinds.append(ml_dtypes.bfloat16)
    except ImportError:
        pass
    for kind in kinds:
        found = holdfast.discretize("foh", a.astype(kind), (-a).astype(kind), 0.25)
        assert found.a_bar.tolist() == expected.a_bar.tolist() and found.b_bar.tolist() == expected.b_bar.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_what_the_kernels_compute_is_judged_right(method):
    inputs = drawn(seqlen=40)
    inputs |= {"D": inputs["u"][0, :, 0], "z": inputs["u"][..., ::-1], "delta_bias": inputs["u"][0, :, 1]}
    out, state = holdfast.scan(**inputs, delta_softplus=True, method=method, return_last_state=True)
    assert out.shape == (2, 4, 40) and state.shape == (2, 4, 4) and out.dtype == "float32"
    report = holdfast.check(**inputs, delta_softplus=True, method=method, out=out, last_state=state)
    assert report.passed and 0 < report.worst.share < 1
    other = METHODS[METHODS.index(method) - 1]
    assert not holdfast.check(**inputs, delta_softplus=True, method=other, out=out).passed


def test_scans_of_16_bit_and_complex_inputs():
    inputs = {name: array if name == "A" else array.astype("f2") for name, array in drawn().items()}
    out = holdfast.scan(**inputs, method="zoh")
    assert out.dtype == "float16" and holdfast.check(**inputs, method="zoh", out=out).passed
    inputs = drawn()
    for name in ("A", "B", "C"):
        inputs[name] = inputs[name].astype("c8")
    out, state = holdfast.scan(**inputs, method="zoh", return_last_state=True)
    assert state.dtype == "complex64" and state.shape == (2, 4, 4)
    want, last = reference(**inputs)
    assert numpy.allclose(out, want, atol=1e-5) and numpy.allclose(state, last, atol=1e-5)


def test_whole_numbers_are_taken_where_double_holds_them():
    whole, real = holdfast.discretize("foh", [-1, -2], (1, 3), 1), holdfast.discretize("foh", [-1.0, -2.0], [1.0, 3.0], 1.0)
    assert numpy.array_equal(whole.a_bar, real.a_bar) and numpy.array_equal(whole.b_bar, real.b_bar)
    with pytest.raises(ValueError, match="beyond 2\\^53"):
        holdfast.discretize("foh", [-(2**53) - 1], [1], 0.1)


RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "golden/reference/gradients.json").read_text())["cases"]


def of_case(case):
    """A recorded case's arguments, and the gradients that mpmath has of it."""
    batch, dim, dstate, seqlen, groups = case["shape"]
    sequence, state = (batch, dim, seqlen), (batch, dim, dstate)
    operand = {True: (batch, groups, dstate, seqlen), False: (dim, dstate)}
    shapes = {"A": (dim, dstate), "B": operand[case["variable_b"]], "C": operand[case["variable_c"]], "D": (dim,)}
    shapes |= {"delta_bias": (dim,), "initial_state": state, "dlast_state": state}
    by_weights = ("A", "B", "C", "initial_state", "dlast_state")

    def array(name, text, kind):
        parse = float.fromhex if "0x" in text else float
        numbers = numpy.array([parse(word) for word in text.split()], kind)
        if case["width"] == 2 and name in by_weights:
            numbers = numbers.view("c8" if kind == "f4" else "c16")
        return numbers.reshape(shapes.get(name, sequence))

    given = {name: array(name, text, "f4") for name, text in {**case["inputs"], **case["given"]}.items()}
    wanted = {name: array(name, text, "f8") for name, text in case["gradients"].items()}
    return {**given, "method": case["method"], "delta_softplus": case["softplus"]}, wanted


@pytest.mark.parametrize("first", range(0, len(RECORDED), 40))
def test_gradients_are_those_of_500_digits(first):
    for case in RECORDED[first : first + 40 : 5]:
        arguments, wanted = of_case(case)
        found = holdfast.gradients(**arguments)
        for name in holdfast.Gradients._fields[:-1]:
            got = getattr(found, name)
            if name in wanted:
                assert got.dtype == wanted[name].dtype and got.tolist() == wanted[name].tolist(), (case["kind"], name)
            else:
                assert got is None, name
        assert "certified" in found.certificate


def test_gradients_have_the_shapes_of_their_inputs():
    whole = next(of_case(case) for case in RECORDED if case["width"] == 2 and case["variable_b"] and case["shape"][4] == 1)
    arguments, _ = whole
    expected = holdfast.gradients(**arguments)
    b = arguments["B"]
    pairs = b.view("f4").reshape(*b.shape, 2)
    in_turn = b.view("f4")
    for given, shape in ((b[:, 0], expected.B[:, 0].shape), (pairs[:, 0], expected.B[:, 0].shape), (pairs, expected.B.shape)):
        found = holdfast.gradients(**{**arguments, "B": given})
        assert found.B.shape == shape and found.B.ravel().tolist() == expected.B.ravel().tolist()
    found = holdfast.gradients(**{**arguments, "B": in_turn[:, 0]})
    assert found.B.shape == expected.B[:, 0].shape and (found.B == expected.B[:, 0]).all()
    # As many groups, states and positions: whichever B's shape stands for, nothing of it is lost.
    square = numpy.full((1, 2, 2, 2), 0.5, "f4")
    four = {"u": numpy.ones((1, 4, 2), "f4"), "delta": numpy.ones((1, 4, 2), "f4"), "A": -numpy.ones((4, 2), "f4"), "C": square}
    assert holdfast.gradients(**four, B=square, dout=four["u"]).B.shape == square.shape
    # The sum's gradient by the skip is the sum of u.
    ones = numpy.ones_like(arguments["u"])
    skip = numpy.ones(ones.shape[1], "f4")
    plain = {name: arguments[name] for name in ("u", "delta", "A", "B", "C", "method")}
    found = holdfast.gradients(**plain, D=skip, dout=ones)
    assert found.D.tolist() == [math.fsum(row) for row in plain["u"].transpose(1, 0, 2).reshape(len(skip), -1).tolist()]


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"dout": None}, "tensor `dout` is None, expected an array as u"),
        ({"dout": numpy.ones((1, 2), "f4")}, "tensor `dout` has shape (1, 2)"),
        ({"dout": numpy.full((1, 2, 3), numpy.nan, "f4")}, "dout[0] is NaN"),
        ({"dout": numpy.ones((1, 2, 3), "f2")}, "tensor `dout` is of type F16, expected F32 as u"),
        ({"dout": numpy.ones((1, 2, 3), int)}, 'numpy.asarray(dout, dtype="float32")'),
        ({"dlast_state": numpy.ones((1, 2), "f4")}, "tensor `dlast_state` has shape (1, 2)"),
        ({"method": "foh-textbook"}, "method is `foh-textbook`, expected one of zoh"),
        ({"A": numpy.array([[2.0], [2.0]], "f4"), "delta": numpy.ones((1, 2, 3), "f4"), "method": "bilinear"}, "pole"),
    ],
)
def test_what_has_no_gradients_is_a_value_error(changed, said):
    ones = numpy.ones((1, 2, 3), "f4")
    whole = {"u": ones, "delta": ones / 4, "A": -ones[0, :, :1], "B": ones[0, :, :1], "C": ones[0, :, :1], "dout": ones}
    with pytest.raises(ValueError) as error:
        holdfast.gradients(**{**whole, **changed})
    assert said in str(error.value) and "out.zoh" not in str(error.value)
