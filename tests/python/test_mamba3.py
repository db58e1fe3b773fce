"""Promise: scans by Mamba-3's rule are judged and recorded by the names and shapes of their kernel."""

from __future__ import annotations

import subprocess
import sys

import numpy
import pytest
from conftest import halved, tensors_of

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


def scanned(xp, Q, K, V, ADT, DT, Trap, Q_bias, K_bias, Angles, D, Z, states=None, reads_before=False):
    """The rule in f32 by the functions of `xp`; wrong with `reads_before`, where λ is that of the position before."""
    sigmoid = lambda array: 1 / (1 + xp.exp(-array))
    theta = xp.cumsum(xp.tanh(Angles) * numpy.pi * DT.swapaxes(1, 2)[..., None], 1)
    theta = theta if states is None else states[0][:, None] + theta

    def turned(operand, bias):
        whole = operand[:, :, [head * QUERY // HEADS for head in range(HEADS)]] + bias
        even, odd = whole[..., 0 : 2 * ANGLES : 2], whole[..., 1 : 2 * ANGLES : 2]
        pairs = even * xp.cos(theta) - odd * xp.sin(theta), even * xp.sin(theta) + odd * xp.cos(theta)
        return xp.concatenate([xp.stack(pairs, -1).reshape(*even.shape[:-1], 2 * ANGLES), whole[..., 2 * ANGLES :]], -1)

    b, c, share = turned(K, K_bias), turned(Q, Q_bias), sigmoid(Trap)
    zero = 0 * V[:, 0, ..., None] * b[:, 0, :, None]
    x, w = (zero, zero) if states is None else (states[1], states[3][..., None] * states[2][:, :, None])
    rows = []
    for at in range(SEQLEN):
        of = share[..., max(at - reads_before, 0)]
        shares = xp.exp(ADT[..., at]), of * DT[..., at], (1 - of) * DT[..., at]
        decay, now, before = (one[..., None, None] for one in shares)
        new = V[:, at, ..., None] * b[:, at, :, None]
        x, w = decay * x + before * decay * w + now * new, new
        rows.append((x * c[:, at, :, None]).sum(-1) + D[:, None] * V[:, at])
    out = xp.stack(rows, 1) * (Z * sigmoid(Z))
    return out, (theta[:, -1] % (2 * numpy.pi), x, b[:, -1], V[:, -1])


def test_a_scan_is_judged_with_its_states():
    inputs = drawn()
    out, states = scanned(numpy, **inputs)
    report = holdfast.check_mamba3(**inputs, out=out, final_states=states)
    assert report.passed, str(report)
    wrong, _ = scanned(numpy, **inputs, reads_before=True)
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


MODULE = "mamba_ssm.ops.triton.mamba3.mamba3_siso_combined"


def judged(paths):
    said = subprocess.run([sys.executable, "-m", "holdfast", "check", *paths, "--json", "-"], capture_output=True, text=True)
    return holdfast.Report.from_json(said.stdout)


def test_calls_of_the_kernel_are_recorded(module_of, tmp_path):
    def mamba3_siso_combined(Q, K, V, ADT, DT, Trap, Q_bias, K_bias, Angles, D, Z, chunk_size=64, cu_seqlens=None, quantized=None):
        out, states = scanned(numpy, Q, K, V, ADT, DT, Trap, Q_bias, K_bias, Angles, D, Z)
        return (out, *states) if cu_seqlens is None else (out, states)

    kernel = module_of(MODULE, mamba3_siso_combined=mamba3_siso_combined)
    with pytest.warns(UserWarning, match="`quantized` of mamba3_siso_combined is given"):
        with holdfast.capture(tmp_path / "run.safetensors", source="a test") as recorded:
            kernel.mamba3_siso_combined(**drawn(), chunk_size=32)
            kernel.mamba3_siso_combined(**drawn(), quantized="int8")
            item = {name: array[:1] if array.ndim > 2 else array for name, array in drawn().items()}
            kernel.mamba3_siso_combined(**item, cu_seqlens=numpy.array([0, SEQLEN]))
    assert (recorded.calls, recorded.skipped, len(recorded.paths)) == (3, 1, 2)
    report = judged(recorded.paths)
    assert report.passed and len(report.cases) == 2, str(report)


def of_torch(torch, wrong=None):
    """The rule in PyTorch, with half of the gradient of the argument called `wrong`."""

    def mamba3_siso_combined(
        Q, K, V, ADT, DT, Trap, Q_bias, K_bias, Angles, D=None, Z=None, Input_States=None, chunk_size=64, return_final_states=False
    ):
        DT = halved(torch)(DT) if wrong == "DT" else DT
        angle, x, b_before, u_before = Input_States
        b_before = halved(torch)(b_before) if wrong == "Input_States" else b_before
        states = angle, x, b_before, u_before
        out, ends = scanned(torch, Q, K, V, ADT, DT, Trap, Q_bias, K_bias, Angles, D, Z, states)
        return (out, *ends) if return_final_states else out

    return mamba3_siso_combined


@pytest.mark.parametrize(("wrong", "failing"), [(None, ()), ("DT", ("grad.delta",)), ("Input_States", ("grad.initial_B",))])
def test_calls_of_the_kernel_are_recorded_with_their_gradients(torch, module_of, tmp_path, wrong, failing):
    kernel = module_of(MODULE, mamba3_siso_combined=of_torch(torch, wrong))
    leaves = {name: torch.tensor(array, requires_grad=True) for name, array in drawn().items()}
    shapes = (ANGLES,), (HEADDIM, STATES), (STATES,), (HEADDIM,)
    states = tuple(torch.randn(BATCH, HEADS, *shape, requires_grad=True) for shape in shapes)
    # A textbook form, which is for other scans, has no gradients.
    with holdfast.capture(tmp_path / "run.safetensors", method="zoh-exact") as recorded:
        kernel.mamba3_siso_combined(**leaves, Input_States=states).square().sum().backward()
        alone = {name: leaf.grad.clone() for name, leaf in leaves.items()}
        of_states = tuple(state.grad.clone() for state in states)
        out, *ends = kernel.mamba3_siso_combined(*leaves.values(), states, return_final_states=True)
    (out.sum() + sum(end.square().sum() for end in ends)).backward()
    assert (recorded.calls, recorded.backward, recorded.reasons) == (2, 2, [])
    report = judged(recorded.paths)
    assert report.failing_tensors() == failing and len(report.cases) == 4, str(report)
    one, other = map(tensors_of, recorded.paths)
    for name, gradient in (("Q", "C"), ("K_bias", "B_bias"), ("Z", "z")):
        assert numpy.array_equal(one[f"grad.{gradient}.trapezoidal"], alone[name])
    for name, end in zip(("angle", "state", "B", "u"), ends):
        assert f"grad.initial_{name}.trapezoidal" in one and f"dlast_{name}" not in one
        assert numpy.array_equal(other[f"dlast_{name}"], 2 * end.detach())
    assert sum(name.startswith("grad.") for name in one) == len(leaves) + len(states)
    given = {"Input_States": states, "dout": one["dout"], "grads": {"Input_States": of_states}}
    assert holdfast.check_mamba3(**leaves, **given).passed == (wrong != "Input_States")
