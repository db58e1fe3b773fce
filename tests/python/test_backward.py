"""Promise: a backward pass is judged gradient by gradient, from arrays of any layout, and what is none is a ValueError that says so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import needed, tensors_of

import holdfast

PAGE = Path(__file__).resolve().parents[2] / "src" / "guide" / "backward.md"
RNG = np.random.default_rng(3)
BATCH, DIM, DSTATE, SEQLEN = 2, 4, 3, 9


def drawn(*shape):
    return RNG.normal(size=shape).astype("f4")


def inputs(is_complex=False):
    kind = "c8" if is_complex else "f4"
    return {
        "u": drawn(BATCH, DIM, SEQLEN),
        "delta": np.abs(drawn(BATCH, DIM, SEQLEN)) / 4,
        "A": (-np.abs(drawn(DIM, DSTATE)) + (1j * drawn(DIM, DSTATE) if is_complex else 0)).astype(kind),
        "B": (drawn(BATCH, DSTATE, SEQLEN) + (1j * drawn(BATCH, DSTATE, SEQLEN) if is_complex else 0)).astype(kind),
        "C": (drawn(DIM, DSTATE) + (1j * drawn(DIM, DSTATE) if is_complex else 0)).astype(kind),
        "D": drawn(DIM),
        "z": drawn(BATCH, DIM, SEQLEN),
        "delta_bias": drawn(DIM),
    }


def right(given, dout, method, **more):
    """The truth, rounded to what each gradient is stored in."""
    found = holdfast.gradients(**given, method=method, dout=dout, **more)._asdict()
    return {name: found[name].astype(array.dtype) for name, array in given.items()}


SAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def test_the_guide_s_samples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    # What comes after the first one of PyTorch goes on with it.
    first = next(number for number, block in enumerate(SAMPLES) if "import torch" in block)
    for block in SAMPLES[:first]:
        exec(compile(block, str(PAGE), "exec"), space)
    needed("torch", "PyTorch")
    for block in SAMPLES[first:]:
        exec(compile(block, str(PAGE), "exec"), space)
    assert len(SAMPLES) == 3 and (tmp_path / "step-2.safetensors").exists()


@pytest.mark.parametrize("method", [row.name for row in holdfast.methods()])
@pytest.mark.parametrize("is_complex", [False, True])
def test_what_is_right_passes_and_one_wrong_gradient_fails_alone(method, is_complex):
    given, dout = inputs(is_complex), drawn(BATCH, DIM, SEQLEN)
    grads = right(given, dout, method, delta_softplus=True)
    assert holdfast.check(**given, delta_softplus=True, method=method, dout=dout, grads=grads).passed
    for name, array in grads.items():
        wrong = {**grads, name: array * array.dtype.type(1.001)}
        report = holdfast.check(**given, delta_softplus=True, method=method, dout=dout, grads=wrong)
        tensors = report.to_dict()["cases"][0]["tensors"]
        failing = [tensor for tensor, found in tensors.items() if found["verdict"] == "fail"]
        assert failing == [f"grad.{name}"]


def test_outputs_and_gradients_are_cases_of_their_own():
    given, dout = inputs(), drawn(BATCH, DIM, SEQLEN)
    grads = right(given, dout, "zoh")
    out = holdfast.scan(**given, method="zoh")
    report = holdfast.check(**given, method="zoh", out=out, dout=dout, grads={"A": grads["A"]}, name="layer")
    assert report.passed
    assert [case.id for case in report.cases] == ["layer/zoh", "layer/zoh/backward"]


def test_positions_may_come_before_channels():
    given, dout = inputs(), drawn(BATCH, DIM, SEQLEN)
    grads = right(given, dout, "foh")
    turned = {"u", "delta", "z"}

    def as_bld(arrays):
        return {
            name: array.transpose(0, 2, 1) if name in turned or name == "B" else array for name, array in arrays.items()
        }

    report = holdfast.check(
        **as_bld(given), method="foh", layout="bld", dout=dout.transpose(0, 2, 1), grads=as_bld(grads)
    )
    assert report.passed, str(report)


def test_a_recorded_backward_pass_is_judged_as_its_arrays(tmp_path):
    given, dout = inputs(), drawn(BATCH, DIM, SEQLEN)
    grads = {**right(given, dout, "rk4"), "D": np.zeros(DIM, "f4")}
    path = tmp_path / "back.safetensors"
    holdfast.record(path, **given, method="rk4", dout=dout, grads=grads)
    assert {"dout", "grad.A.rk4", "grad.delta_bias.rk4"} <= set(tensors_of(path))
    assert not holdfast.check(**given, method="rk4", dout=dout, grads=grads).passed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dout": None}, "tensor `dout` is None"),
        ({"grads": None}, "dout is given and grads is not"),
        ({"grads": {}}, "grads has no array in it"),
        ({"grads": {"a": drawn(DIM, DSTATE)}}, "grads has `a`"),
        ({"grads": [drawn(DIM, DSTATE)]}, "grads is a list"),
        ({"grads": {"A": drawn(DSTATE, DIM)}}, "grad.A.zoh"),
        ({"method": "zoh-exact"}, "no kernel has another form"),
        ({"dout": drawn(BATCH, SEQLEN, DIM)}, "tensor `dout` has shape"),
    ],
)
def test_what_is_no_backward_pass_says_so(change, says):
    given, dout = inputs(), drawn(BATCH, DIM, SEQLEN)
    usual = {"method": "zoh", "dout": dout, "grads": {"A": drawn(DIM, DSTATE)}}
    with pytest.raises(ValueError, match=re.escape(says)):
        holdfast.check(**given, **{**usual, **change})


def test_pytorch_s_gradients_pass():
    torch = needed("torch", "PyTorch")
    given, dout = inputs(), drawn(BATCH, DIM, SEQLEN)
    leaves = {name: torch.tensor(array, requires_grad=True) for name, array in given.items()}
    delta = torch.nn.functional.softplus(leaves["delta"] + leaves["delta_bias"][:, None])
    x, read = torch.zeros(BATCH, DIM, DSTATE), []
    for l in range(SEQLEN):
        step = delta[:, :, l, None]
        x = torch.exp(step * leaves["A"]) * x + step * leaves["B"][:, None, :, l] * leaves["u"][:, :, l, None]
        read.append((leaves["C"] * x).sum(-1))
    out = torch.stack(read, -1) + leaves["D"][:, None] * leaves["u"]
    (out * torch.nn.functional.silu(leaves["z"])).backward(torch.tensor(dout))
    grads = {name: leaf.grad for name, leaf in leaves.items()}
    held = {name: leaf.detach() for name, leaf in leaves.items()}
    report = holdfast.check(**held, delta_softplus=True, method="zoh", dout=torch.tensor(dout), grads=grads)
    assert report.passed, str(report)


def test_what_underflows_before_a_large_rate_multiplies_it_is_no_fault():
    # As automatic differentiation has it: ∂L/∂z first, which a vanishing Ā makes subnormal, and then times A.
    for problem in holdfast.problems("zoh", "stiff", b="grouped", c="grouped", gradients=["one-hot", "last"]):
        u, delta, A, B, C = problem.inputs.values()
        dout, decay, seqlen = problem.dout, np.exp(delta[:, :, None] * A[:, :, None]), u.shape[2]
        x, p, found = np.zeros((*decay.shape[:3], seqlen + 1), "f4"), np.zeros(decay.shape[:3], "f4"), np.zeros_like(delta)
        force = B * u[:, :, None]
        for l in range(seqlen):
            x[..., l] = decay[..., l] * x[..., l - 1] + delta[:, :, None, l] * force[..., l]
        for l in reversed(range(seqlen)):
            p = p + C[..., l] * dout[:, :, None, l]
            found[:, :, l] = ((p * x[..., l - 1] * decay[..., l]) * A + p * force[..., l]).sum(-1)
            p = decay[..., l] * p
        report = problem.check(grads={"delta": found})
        assert report.cases[0].worst.share < 1
