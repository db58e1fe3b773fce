"""Promise: heads, packed sequences and steps from a state are problems of `assert_correct`, and show what plain ones do not."""

from __future__ import annotations

import functools

import numpy
import pytest
from conftest import needed, reference, ssd

import holdfast


@pytest.mark.parametrize("asked", [{}, {"packed": True}, {"decode": 3}, {"headdim": 3, "b": "variable", "inputs": "f16"}], ids=repr)
def test_a_right_scan_of_heads_passes(asked):
    def scan(x, dt, A, B, C, D=None, z=None, dt_bias=None, dt_softplus=False, initial_states=None, seq_idx=None):
        assert A.shape == dt.shape[2:] and x.shape[2:] == (len(A), asked.get("headdim", 8))
        B, C = (w if w.ndim == 4 else w[:, :, None] for w in (B, C))
        return ssd(x, dt, A, B, C, D, z, dt_bias, dt_softplus, initial_states, seq_idx)

    report = holdfast.assert_correct(scan, layout="blhp", **asked)
    assert report.passed and len(report.cases) == 9
    # One that names none gets the names of Mamba-2.
    assert holdfast.assert_correct(lambda **inputs: ssd(**inputs), layout="blhp", regimes="everything-on", **{**asked, "b": None}).passed


def test_a_scan_that_goes_on_across_borders_fails_in_packed_problems_alone():
    def goes_on(**inputs):
        return ssd(**inputs, wrong="goes on")

    assert holdfast.assert_correct(goes_on, layout="blhp").passed
    with pytest.raises(AssertionError, match="^the state goes on from one packed sequence(.|\n)*of 9 problems do not pass") as raised:
        holdfast.assert_correct(goes_on, layout="blhp", packed=True, diagnosis="off")
    problem = holdfast.problems(layout="blhp", packed=True, regimes="short")[0]
    with pytest.raises(AssertionError, match="^the state goes on"):
        problem.check(*goes_on(**problem.inputs))
    with pytest.raises(AssertionError, match="^(?!the state goes on)"):
        problem.check(2 * goes_on(**problem.inputs)[0])
    # The line that is printed has that problem alone.
    rerun = " ".join(str(raised.value).partition("rerun ")[2].partition(")\n")[0].replace("\\\n", "").split())
    assert 'layout="blhp", packed="seq_idx"' in rerun
    with pytest.raises(AssertionError, match="1 of 1 problems do not pass"):
        exec(rerun + ")", {"holdfast": holdfast, "goes_on": goes_on})


def test_a_head_that_reads_another_group_fails_where_there_are_several():
    with pytest.raises(AssertionError, match="2 of 9 problems do not pass") as raised:
        holdfast.assert_correct(functools.partial(ssd, wrong="groups"), layout="blhp", diagnosis="off")
    assert "groups: three groups" in str(raised.value)


@pytest.mark.parametrize("chunk", [64, 128, 256])
def test_a_carry_that_forgets_the_chunks_before_the_last_one_fails(chunk):
    def scan(x, dt, A, B, C):
        outs, state = [], None
        for start in range(0, x.shape[1], chunk):
            part = [x[:, start : start + chunk], dt[:, start : start + chunk], A, B[:, start : start + chunk], C[:, start : start + chunk]]
            outs.append(ssd(*part, initial_states=state)[0])
            state = ssd(*part)[1]
        return numpy.concatenate(outs, 1)

    with pytest.raises(AssertionError, match="1 of 9 problems do not pass, of these regimes:\n  seqlen-513: "):
        holdfast.assert_correct(scan, layout="blhp", diagnosis="off")
    # In another layout it has too few axes.
    with pytest.raises(TypeError, match='hint: layout="blhp" if x is'):
        holdfast.assert_correct(lambda x, dt, A, B, C: ssd(x, dt, A, B, C))


def test_sequences_are_told_apart_as_it_was_asked_and_lie_within_chunks():
    for problem in holdfast.problems(packed="both", regimes=["short", "seqlen-512"]):
        indices, ends = problem.inputs["seq_idx"], problem.inputs["cu_seqlens"]
        assert indices.shape == (1, problem.inputs["u"].shape[2]) and indices.dtype == ends.dtype == numpy.int32
        lengths = numpy.diff(ends)
        assert (numpy.repeat(numpy.arange(len(lengths)), lengths) == indices[0]).all()
        assert 1 in lengths and (ends[1:-1] % 64 != 0).any()
    (several,) = holdfast.problems(packed=True, regimes="short")
    assert several.id.endswith("/packed-seq_idx") and several.inputs["seq_idx"].shape == (2, 8) and "cu_seqlens" not in several.inputs

    def of_each(u, delta, A, B, C, cu_seqlens):
        """The states of all, and the sequences one after the other."""
        parts = [slice(*ends) for ends in zip(cu_seqlens, cu_seqlens[1:])]
        run = [reference(u[..., part], delta[..., part], A, B[..., part], C[..., part]) for part in parts]
        return numpy.concatenate([out for out, _ in run], -1), numpy.concatenate([state for _, state in run])

    assert holdfast.assert_correct(of_each, packed="cu_seqlens").passed

    def in_another_order(**inputs):
        out, states = of_each(**inputs)
        return out, states[::-1].copy()

    with pytest.raises(AssertionError, match=r"worst last_state\["):
        holdfast.assert_correct(in_another_order, packed="cu_seqlens", regimes="short", diagnosis="off")


def test_a_cache_in_16_bits_passes_where_it_is_stated():
    bf16 = needed("ml_dtypes").bfloat16

    def scan(initial_states, **inputs):
        assert initial_states.dtype == kind
        return ssd(**inputs, initial_states=initial_states, cache=bf16)

    kind = bf16
    asked = {"layout": "blhp", "decode": 4}
    assert holdfast.assert_correct(scan, **asked, state_type="bf16").passed
    kind = numpy.float32
    with pytest.raises(AssertionError):
        holdfast.assert_correct(scan, **asked, diagnosis="off")

    def update(state, x, dt, A, B, C, D=None, z=None, dt_bias=None, dt_softplus=False):
        assert state.dtype == bf16 and x.shape == dt.shape == state.shape[:2]
        x, dt, B, C, z = (w if w is None else w[..., None] for w in (x, dt, B, C, z))
        out, after = reference(x, dt, A, B, C, D, z, dt_bias, dt_softplus, initial_state=state)
        return out[..., 0], after.astype(bf16)

    # It reads the state before it is stored, and the other one after.
    kind, unrounded = bf16, {"state_type": "bf16", "state_read": "unrounded"}
    report = holdfast.assert_correct(update, layout="step", **unrounded)
    assert report.passed and "B as (batch, groups, dstate)" in report.notes[0]
    with pytest.raises(AssertionError, match='decode=4, state_type="bf16", state_read="unrounded"'):
        holdfast.assert_correct(scan, **asked, **unrounded, diagnosis="off")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"headdim": 4}, 'layout is `bdl`, expected layout="blhp"'),
        ({"layout": "blhp", "b": "constant"}, "expected \"grouped\" or \"variable\""),
        ({"layout": "step", "decode": 2}, "expected one step"),
        ({"decode": 1 << 40}, "expected at most 4096"),
        ({"packed": True, "decode": 2}, "expected one of the two"),
        ({"packed": "seqidx"}, "hint: seq_idx, perhaps"),
        ({"state_read": "stored"}, "expected a state that is rounded"),
        ({"decode": 1, "state_type": "f16", "gradients": True}, "beside gradients, expected f32"),
    ],
)
def test_what_makes_no_sense_says_what_does(asked, said):
    with pytest.raises(ValueError, match=said):
        holdfast.problems(**asked)


def test_gradients_of_heads_are_sums():
    jax = needed("jax", "JAX")
    asked = {"layout": "blhp", "xp": jax.numpy, "regimes": "short", "gradients": "random", "seed": 3}
    scan = functools.partial(ssd, xp=jax.numpy)
    report = holdfast.assert_correct(scan, packed=True, **asked)
    assert report.passed and len(report.cases) == 2

    @jax.custom_vjp
    def last_channel(dt):
        return dt

    last_channel.defvjp(lambda dt: (dt, None), lambda _, gradient: (gradient * 1.01,))
    with pytest.raises(AssertionError, match="grad.delta"):
        holdfast.assert_correct(lambda dt, **inputs: scan(dt=last_channel(dt), **inputs), **asked, diagnosis="off")
