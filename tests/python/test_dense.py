"""Promise: Ā and B̄ of dense systems are judged as arrays of any kind, and bad ones are refused with a hint."""

import re
from pathlib import Path

import numpy
import pytest

import holdfast

PAGE = Path(__file__).resolve().parents[2] / "src" / "guide" / "dense.md"

RNG = numpy.random.default_rng(3)
A = RNG.standard_normal((2, 3, 4, 4)) / 2 - 1.5 * numpy.eye(4)
B = RNG.standard_normal((3, 4, 2))
DELTA = RNG.uniform(0.1, 1.0, (2, 3))
IDENTITY = numpy.eye(4)


def bilinear(delta, a, b):
    z = numpy.asarray(delta)[..., None, None] * a
    return {
        "A_bar": numpy.linalg.solve(IDENTITY - z / 2, IDENTITY + z / 2),
        "B_bar": numpy.linalg.solve(IDENTITY - z / 2, numpy.asarray(delta)[..., None, None] * b),
    }


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
def test_steps_pass_in_each_type_and_other_ones_fail(kind):
    turn = numpy.exp(0.5j) if kind.startswith("complex") else 1.0
    a, b = (A * turn).astype(kind), (B * turn).astype(kind)
    delta = DELTA.astype("float32" if kind in ("float32", "complex64") else "float64")
    made = bilinear(delta, a, b)
    made = {name: array.astype(kind) for name, array in made.items()}
    report = holdfast.check_dense(delta, a, b, method="bilinear", **made)
    assert report.passed, str(report)
    wrong = holdfast.check_dense(delta, a, b, method="bilinear", A_bar=made["A_bar"], B_bar=made["B_bar"] / delta[..., None, None])
    assert wrong.failing_tensors() == ("B_bar",)
    assert "factor-delta-missing" in str(wrong)


def test_real_arrays_are_complex_beside_a_complex_a():
    a = A[0, 0] * 1j
    z = 0.5 * a
    made = numpy.linalg.solve(IDENTITY - z / 2, IDENTITY + z / 2)
    assert holdfast.check_dense(0.5, a, B[0], method="bilinear", A_bar=made, B_bar=numpy.linalg.solve(IDENTITY - z / 2, 0.5 * B[0])).passed


def test_one_system_of_one_step_and_a_sample():
    a, b = A[0, 0].astype("float32"), B[0].astype("float32")
    made = {name: array.astype("float32") for name, array in bilinear(numpy.float32(0.1), a, b).items()}
    assert holdfast.check_dense(0.1, a, b, method="Bilinear", **made).passed
    assert holdfast.check_dense(DELTA, A, B, A_bar=bilinear(DELTA, A, B)["A_bar"], method="bilinear", systems=2).passed
    # In f32, and rounded from double.
    off = made["A_bar"] * numpy.float32(1 + 2**-22)
    assert holdfast.check_dense(0.1, a, b, method="bilinear", A_bar=off).passed
    assert not holdfast.check_dense(0.1, a, b, method="bilinear", A_bar=off, arithmetic="f64").passed


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"A_bar": None}, "found neither A_bar nor B_bar"),
        ({"A_bar": A[0]}, r"tensor `A_bar` has shape \(3, 4, 4\), expected \(…, n, n\) with the axes of delta in front, \(2, 3\)"),
        ({"B": B[0, :, 0]}, r"tensor `B` has shape \(4,\), expected \(…, n, m\)"),
        ({"A": A[..., :3]}, r"tensor `A` has shape \(6, 4, 3\), expected \(6, 4, 4\)"),
        ({"method": "zho"}, "zoh, perhaps"),
        ({"method": "foh-causal"}, "its B̄ has a part for another input"),
        ({"arithmetic": "bf16"}, "expected one of f32, f64"),
        ({"B": B.astype("int64")}, "tensor `B` is of type int64"),
    ],
)
def test_what_is_no_step_is_refused(changed, said):
    given = {"delta": DELTA, "A": A, "B": B, "method": "bilinear", "A_bar": A, **changed}
    with pytest.raises(ValueError, match=said):
        holdfast.check_dense(**given)


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    delta, a, b = (torch.from_numpy(array) for array in (DELTA, A, B))
    z = delta[..., None, None] * a
    report = holdfast.check_dense(delta, a, b, A_bar=torch.linalg.matrix_exp(z), B_bar=delta[..., None, None] * b)
    assert report.passed, str(report)


def test_the_guide_s_samples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    for block, says in zip(blocks, ("a-transposed", "exponential-of-entries"), strict=True):
        exec(compile(block, str(PAGE), "exec"), {})
        assert says in capsys.readouterr().out


def test_two_real_states_are_a_matrix_where_that_is_stated():
    turn = numpy.array([[[0.0, 1.0], [-1.0, 0.0]]], "f4")
    u, delta = numpy.ones((1, 1, 3), "f4"), numpy.full((1, 1, 3), 2.0, "f4")
    b, c = numpy.array([[1.0, 0.0]], "f4"), numpy.array([[0.0, 1.0]], "f4")
    # (I - A)^-1 (I + A) = A, and (I - A)^-1 2 B = (1, -1).
    states = [(1.0, -1.0), (0.0, -2.0), (-1.0, -1.0)]
    out = numpy.array([[[state[1] for state in states]]], "f4")
    run = {"method": "bilinear", "out": out, "last_state": numpy.array([[states[2]]], "f4")}
    assert holdfast.check(u, delta, turn, b, c, state_matrix="dense", **run).passed
    with pytest.raises(ValueError, match="A is complex"):
        holdfast.check(u, delta, turn, b[..., None], c[..., None], **run)
    with pytest.raises(ValueError, match="needs f32 throughout"):
        holdfast.check(u, delta, turn, b, c, state_matrix="dense", arithmetic="y=bf16", **run)
