"""A function of the caller's own, timed in turn with the kernels."""

import numpy
import pytest
from conftest import needed, scan_of_torch

import holdfast


def softplus(x):
    return numpy.log1p(numpy.exp(x)).astype("f4")


def scan(u, delta, A, B, C, D, delta_bias, delta_softplus, factor=1.0, with_state=True):
    """zoh as holdfast has it, position by position in f32."""
    assert delta_softplus is True
    step = softplus(delta + delta_bias[None, :, None])
    state = numpy.zeros((*u.shape[:2], A.shape[1]), "f4")
    out = numpy.empty_like(u)
    for l in range(u.shape[2]):
        entered = (step[:, :, l] * u[:, :, l] * numpy.float32(factor))[:, :, None] * B[:, 0, None, :, l]
        state = numpy.exp(step[:, :, l, None] * A) * state + entered
        out[:, :, l] = (state * C[:, 0, None, :, l]).sum(-1) + D * u[:, :, l]
    return (out, state) if with_state else out


QUICK = {"shape": (2, 6, 33, 5), "samples": 7, "seconds": 0.2}


def test_both_are_timed_and_judged(tmp_path):
    calls = []

    def mine(**inputs):
        calls.append(inputs["u"].shape)
        return scan(**inputs)

    result = holdfast.bench.compare(mine, "zoh", **QUICK)
    assert result.passed and result.diagnosis is None
    assert (result.kernels.name, result.function.name) == ("cpu", "mine")
    for one in (result.kernels, result.function):
        assert one.verdict == "pass" and one.runs >= 1 and 0 < one.share < 1, one
        assert one.low is None or one.low <= one.seconds <= one.high
        assert one.elements_per_second == pytest.approx(2 * 6 * 33 / one.seconds)
    assert result.ratio == pytest.approx(result.function.seconds / result.kernels.seconds)
    # The runs that count, those before them, and the one that is judged; cold ones, as many as there is time for.
    assert len(calls) > result.function.runs + 1 and set(calls) == {(2, 6, 33)}
    assert "on mine" in str(result) and "time of mine over that of cpu" in str(result)
    result.write(tmp_path / "report")
    assert "mine" in (tmp_path / "report" / "index.html").read_text()


def test_a_wrong_function_fails_and_is_told_why():
    result = holdfast.bench.compare(lambda **inputs: scan(**inputs, factor=2.0), "zoh", name="doubled", **QUICK)
    assert not result.passed and result.kernels.verdict == "pass"
    assert result.function.verdict == "fail" and result.function.share > 1
    assert result.diagnosis is not None and result.diagnosis.diagnosis, str(result)
    assert str(result.diagnosis) in str(result)


def test_the_last_state_may_be_missing():
    result = holdfast.bench.compare(lambda **inputs: scan(**inputs, with_state=False), "zoh", **QUICK)
    assert result.passed, str(result)


@pytest.mark.parametrize("wrong", [None, "twice"])
def test_a_scan_of_torch(torch, wrong):
    def mine(u, **inputs):
        assert isinstance(u, torch.Tensor) and not torch.is_grad_enabled()
        return scan_of_torch(wrong)(u, **inputs)

    result = holdfast.bench.compare(mine, "zoh", xp=torch, **QUICK)
    assert result.kernels.verdict == "pass" and result.function.runs >= 1 and result.ratio > 0
    assert result.passed is (wrong is None), str(result)
    assert (result.diagnosis is None) or "softplus-twice" in str(result)


@pytest.mark.parametrize("wrong", [None, "twice"])
def test_a_scan_of_jax(wrong):
    jax = needed("jax", "JAX")

    # The arrays come back before they are computed: what is timed is until they are there.
    @jax.jit
    def compiled(u, delta, A, B, C, D, delta_bias):
        delta = jax.nn.softplus(delta + delta_bias[:, None])
        delta = jax.nn.softplus(delta) if wrong else delta

        def step(x, now):
            delta, u, B, C = now
            x = jax.numpy.exp(delta[..., None] * A) * x + delta[..., None] * B[:, None] * u[..., None]
            return x, (x * C[:, None]).sum(-1)

        along = (delta.transpose(2, 0, 1), u.transpose(2, 0, 1), B[:, 0].transpose(2, 0, 1), C[:, 0].transpose(2, 0, 1))
        last, out = jax.lax.scan(step, jax.numpy.zeros((*u.shape[:2], A.shape[1])), along)
        return out.transpose(1, 2, 0) + D[:, None] * u, last

    def mine(delta_softplus, **inputs):
        assert delta_softplus and isinstance(inputs["u"], jax.Array)
        return compiled(**inputs)

    result = holdfast.bench.compare(mine, "zoh", xp=jax.numpy, **QUICK)
    assert result.kernels.verdict == "pass" and result.function.runs >= 1 and result.ratio > 0
    assert result.passed is (wrong is None), str(result)
    assert (result.diagnosis is None) or "softplus-twice" in str(result)


def test_another_method_is_not_that_method():
    result = holdfast.bench.compare(scan, "foh", **QUICK)
    assert result.kernels.verdict == "pass" and result.function.verdict == "fail"


def test_what_the_function_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        holdfast.bench.compare(lambda **_: 1 / 0, "zoh", **QUICK)


@pytest.mark.parametrize(
    ("fn", "arguments", "said"),
    [
        (lambda u, **_: u.astype("f8"), {}, "out is F64"),
        (lambda u, **_: u[:, :, 1:], {}, "expected F32 of shape"),
        (scan, {"shape": "tiny"}, "expected one of vim-tiny"),
        (scan, {"shape": (1, 2, 3)}, "expected four sizes"),
        (scan, {"shape": (1, 2, 3, 300)}, "dstate at most 256"),
        (scan, {"samples": 0}, "at least 1"),
        (scan, {"seconds": float("nan")}, "above 0"),
        (scan, {"name": "cpu"}, "expected none of a backend"),
        (scan, {"tier": "slow"}, "slow"),
        (scan, {"inputs": "f64"}, "f64"),
    ],
)
def test_bad_input_is_a_value_error(fn, arguments, said):
    with pytest.raises(ValueError, match=said):
        holdfast.bench.compare(fn, "zoh", **{**QUICK, **arguments})


def test_shapes_are_those_of_the_command_line():
    assert holdfast.bench.SHAPES["mamba-1.4b"] == (8, 4096, 2048, 16)
    assert "sweep" not in holdfast.bench.SHAPES
