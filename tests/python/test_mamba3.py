"""Promise: scans by Mamba-3's rule are judged and recorded by the names and shapes of their kernel."""

from __future__ import annotations

import subprocess
import sys
import types

import numpy
import pytest

import holdfast

BATCH, SEQLEN, HEADS, QUERY, HEADDIM, STATES, ANGLES = 2, 20, 4, 2, 3, 6, 2


def drawn():
    random = numpy.random.default_rng(3)

    def normal(*shape):
        return random.standard_normal(shape).astype("f4")

    return {
        "Q": normal(BATCH, SEQLEN, QUERY, STATES),
        "K": normal(BATCH, SEQLEN, QUERY, STATES),
        "V": normal(BATCH, SEQLEN, HEADS, HEADDIM),
        "ADT": -numpy.exp(normal(BATCH, HEADS, SEQLEN) - 1),
        "DT": numpy.exp(normal(BATCH, HEADS, SEQLEN) - 2),
        "Trap": normal(BATCH, HEADS, SEQLEN),
        "Q_bias": normal(HEADS, STATES),
        "K_bias": normal(HEADS, STATES),
        "Angles": normal(BATCH, SEQLEN, HEADS, ANGLES),
        "D": normal(HEADS),
        "Z": normal(BATCH, SEQLEN, HEADS, HEADDIM),
    }


def scanned(Q, K, V, ADT, DT, Trap, Q_bias, K_bias, Angles, D, Z, chunk_size=64, reads_before=False):
    """The rule in f32; wrong with `reads_before`, where λ is that of the position before."""
    one = numpy.float32(1)
    theta = numpy.cumsum(numpy.tanh(Angles) * numpy.float32(numpy.pi) * DT.swapaxes(1, 2)[..., None], 1, dtype="f4")

    def turned(operand, bias):
        whole = numpy.repeat(operand, HEADS // QUERY, 2) + bias
        even, odd = whole[..., 0 : 2 * ANGLES : 2].copy(), whole[..., 1 : 2 * ANGLES : 2].copy()
        whole[..., 0 : 2 * ANGLES : 2] = even * numpy.cos(theta) - odd * numpy.sin(theta)
        whole[..., 1 : 2 * ANGLES : 2] = even * numpy.sin(theta) + odd * numpy.cos(theta)
        return whole

    b, c = turned(K, K_bias), turned(Q, Q_bias)
    share = one / (one + numpy.exp(-Trap))
    x, w, out = numpy.zeros((BATCH, HEADS, HEADDIM, STATES), "f4"), numpy.float32(0), numpy.empty_like(V)
    for at in range(SEQLEN):
        of = max(at - reads_before, 0)
        now, before = (share[..., of] * DT[..., at])[..., None, None], ((one - share[..., of]) * DT[..., at])[..., None, None]
        decay, new = numpy.exp(ADT[..., at])[..., None, None], V[:, at, ..., None] * b[:, at, :, None, :]
        x, w = decay * x + before * decay * w + now * new, new
        y = (x * c[:, at, :, None, :]).sum(-1, dtype="f4") + D[:, None] * V[:, at]
        out[:, at] = y * Z[:, at] / (one + numpy.exp(-Z[:, at]))
    return out, (theta[:, -1] % numpy.float32(2 * numpy.pi), x, b[:, -1], V[:, -1].copy())


def test_a_scan_is_judged_with_its_states():
    inputs = drawn()
    out, states = scanned(**inputs)
    report = holdfast.check_mamba3(**inputs, out=out, final_states=states)
    assert report.passed, str(report)
    wrong, _ = scanned(**inputs, reads_before=True)
    assert holdfast.check_mamba3(**inputs, out=wrong, final_states=states).failing_tensors() == ("out",)
    with pytest.raises(ValueError, match="four states in a tuple"):
        holdfast.check_mamba3(**inputs, out=out, final_states=states[:2])
    with pytest.raises(ValueError, match=r"expected \(2, 20, 4\)"):
        holdfast.check_mamba3(**{**inputs, "Trap": inputs["Trap"].swapaxes(1, 2)}, out=out)
    # The gradient of the sum of all outputs by D, and one that is twice it.
    gate = inputs["Z"] / (1 + numpy.exp(-inputs["Z"]))
    right = (inputs["V"] * gate).sum((0, 1, 3))
    for factor in (1, 2):
        grads = {"D": (factor * right).astype("f4")}
        assert holdfast.check_mamba3(**inputs, dout=numpy.ones_like(out), grads=grads).passed == (factor == 1)


def test_calls_of_the_kernel_are_recorded(monkeypatch, tmp_path):
    kernel = types.ModuleType("mamba_ssm.ops.triton.mamba3.mamba3_siso_combined")

    def mamba3_siso_combined(Q, K, V, ADT, DT, Trap, Q_bias, K_bias, Angles, D, Z, Input_States=None, chunk_size=64, quantized=None):
        out, states = scanned(Q, K, V, ADT, DT, Trap, Q_bias, K_bias, Angles, D, Z)
        return out, *states

    kernel.mamba3_siso_combined = mamba3_siso_combined
    monkeypatch.setitem(sys.modules, kernel.__name__, kernel)
    with pytest.warns(UserWarning, match="`quantized` of mamba3_siso_combined is given"):
        with holdfast.capture(tmp_path / "run.safetensors", source="a test") as recorded:
            kernel.mamba3_siso_combined(**drawn(), chunk_size=32)
            kernel.mamba3_siso_combined(**drawn(), quantized="int8")
    assert (recorded.calls, recorded.skipped, len(recorded.paths)) == (2, 1, 1)
    said = subprocess.run([sys.executable, "-m", "holdfast", "check", recorded.paths[0]], capture_output=True, text=True)
    assert said.returncode == 0 and "1 case: 1 pass" in said.stdout, said.stdout
