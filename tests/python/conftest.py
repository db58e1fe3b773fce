"""What the tests share: a scan in NumPy, computed in double and wrong where it is asked to be, and a run of it."""

from __future__ import annotations

import json
import sys
import types

import numpy
import pytest

pytest_plugins = ["pytester"]


def reference(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, initial_state=None, wrong=None):
    """The scan of `zoh` in double, by its formula. `wrong`: a B̄ of the exact hold, a state that is lost in the middle, or
    outputs that are NaN."""
    batch, dim, seqlen = u.shape
    dstate = A.shape[1]
    step = delta.astype("f8")
    if delta_bias is not None:
        step = step + delta_bias.astype("f8")[:, None]
    if delta_softplus:
        step = numpy.where(step > 20, step, numpy.log1p(numpy.exp(numpy.minimum(step, 20))))

    def full(operand):
        if operand.ndim == 2:
            return numpy.broadcast_to(operand[None, :, :, None], (batch, dim, dstate, seqlen))
        operand = operand if operand.ndim == 4 else operand[:, None]
        return numpy.repeat(operand, dim // operand.shape[1], axis=1)

    B, C = full(B), full(C)
    kind = "c16" if numpy.iscomplexobj(A) else "f8"
    A = A.astype(kind)
    state = numpy.zeros((batch, dim, dstate), kind) if initial_state is None else initial_state.astype(kind)
    out = numpy.zeros((batch, dim, seqlen))
    for l in range(seqlen):
        power = step[..., l, None] * A
        held = numpy.expm1(power) / A if wrong == "exact" else step[..., l, None]
        state = numpy.exp(power) * state + held * B[..., l] * u[..., l, None].astype("f8")
        if wrong == "lost" and l == seqlen // 2:
            state = state * 0
        out[..., l] = (1 + (kind == "c16")) * (state * C[..., l]).sum(-1).real
    if D is not None:
        out = out + D.astype("f8")[:, None] * u
    if z is not None:
        out = out * (z / (1 + numpy.exp(-z.astype("f8"))))
    if wrong == "nan":
        out[0, 0, -1] = numpy.nan
    return out.astype(u.dtype), state.astype("c8" if kind == "c16" else "f4")


def ssd(x, dt, A, B, C, D=None, z=None, dt_bias=None, dt_softplus=False, initial_states=None, seq_idx=None, xp=numpy, wrong=None, cache="f8"):
    """Mamba-2's scan, a position at a time, in double where that is had. `wrong`: a mistake in it. `cache`: the type of the state."""
    batch, seqlen, heads, p = x.shape
    wide = lambda array: array.astype("f8" if xp is numpy else "f4")
    stored = lambda state: wide(state.astype(cache)) if xp is numpy else state
    own = numpy.arange(heads) % B.shape[2] if wrong == "groups" else numpy.arange(heads) // (heads // B.shape[2])
    B, C, dt = wide(B)[:, :, own], wide(C)[:, :, own], wide(dt)
    if dt_bias is not None:
        dt = dt + wide(dt_bias)
    if dt_softplus:
        dt = xp.where(dt > 20, dt, xp.log1p(xp.exp(xp.minimum(dt, 20))))
    state = xp.zeros((batch, heads, p, B.shape[3])) if initial_states is None else wide(initial_states)
    out = []
    for l in range(seqlen):
        if seq_idx is not None and l > 0 and wrong != "goes on":
            state = state * (seq_idx[:, l] == seq_idx[:, l - 1])[:, None, None, None]
        entering = (dt[:, l, :, None] * wide(x)[:, l])[..., None] * B[:, l, :, None]
        state = stored(xp.exp(dt[:, l] * wide(A))[..., None, None] * state + entering)
        out.append((state * C[:, l, :, None]).sum(-1))
    out = xp.stack(out, 1)
    if D is not None:
        out = out + wide(D)[:, None] * wide(x)
    if z is not None:
        out = out * (z / (1 + xp.exp(-wide(z))))
    return out.astype(x.dtype), state.astype("f4" if cache == "f8" else cache)


def scan_of_torch(wrong=None):
    """zoh in PyTorch, as everyone writes it. `wrong`: with the exact hold, or a softplus too many."""

    import torch

    def scan(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False):
        full = lambda x: x[None, :, :, None] if x.ndim == 2 else x.repeat_interleave(u.shape[1] // x.shape[1], 1)
        B, C = (full(x[:, None] if x.ndim == 3 else x) for x in (B, C))
        if delta_bias is not None:
            delta = delta + delta_bias[:, None]
        if delta_softplus:
            delta = torch.nn.functional.softplus(delta)
        if wrong == "twice":
            delta = torch.nn.functional.softplus(delta)
        z_step = delta[:, :, None] * A[None, :, :, None]
        held = torch.expm1(z_step) / A[None, :, :, None] if wrong == "exact" else delta[:, :, None]
        a_bar, input_term = torch.exp(z_step), held * B * u[:, :, None]
        x, y = torch.zeros_like(a_bar[..., 0]), []
        for l in range(u.shape[2]):
            x = a_bar[..., l] * x + input_term[..., l]
            y.append((x * C[..., l if C.shape[3] > 1 else 0]).sum(-1))
        out = torch.stack(y, -1)
        if D is not None:
            out = out + D[:, None] * u
        if z is not None:
            out = out * torch.nn.functional.silu(z)
        return out, x

    return scan


def halved(torch):
    """What returns its argument, with half of the gradient."""

    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, array):
            return array.view_as(array)

        @staticmethod
        def backward(ctx, gradient):
            return gradient / 2

    return Halved.apply


def drawn(batch=2, dim=4, dstate=4, seqlen=32, groups=None, seed=0):
    """Inputs of a scan, real and in f32."""
    rng = numpy.random.default_rng(seed)
    normal = lambda *shape: rng.normal(size=shape).astype("f4")
    variable = (batch, dstate, seqlen) if groups is None else (batch, groups, dstate, seqlen)
    return {
        "u": normal(batch, dim, seqlen),
        "delta": rng.uniform(0.01, 0.5, size=(batch, dim, seqlen)).astype("f4"),
        "A": -numpy.tile(numpy.arange(1, dstate + 1, dtype="f4"), (dim, 1)),
        "B": normal(*variable),
        "C": normal(*variable),
    }


def tensors_of(path):
    """Those of a recording, by their names; bfloat16 as its bits."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    kinds = {"F32": "f4", "F16": "f2", "BF16": "u2", "C64": "c8", "I32": "i4", "I64": "i8"}

    def array(one):
        first, end = one["data_offsets"]
        return numpy.frombuffer(data[start + first : start + end], kinds[one["dtype"]]).reshape(one["shape"])

    return {name: array(one) for name, one in header.items()}


@pytest.fixture
def run():
    """Inputs, and what `zoh` makes of them."""
    inputs = drawn()
    return inputs, reference(**inputs)[0]


@pytest.fixture
def module_of(monkeypatch):
    """Makes modules of other code: of this name, with these functions."""

    def made(name, **functions):
        module = types.ModuleType(name)
        vars(module).update(functions)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return made


def needed(name, of=None):
    """A package that is looked at where it is there; .github/CONTRIBUTING.md says how to install it."""
    return pytest.importorskip(name, reason=f"unmeasured: no {of or name}")


@pytest.fixture
def torch():
    found = needed("torch", "PyTorch")
    found.manual_seed(0)
    return found
