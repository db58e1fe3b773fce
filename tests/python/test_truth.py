"""Promise: certified values are what `holdfast truth` prints, and scans what the production kernels compute."""

from __future__ import annotations

import math
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
