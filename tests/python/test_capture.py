"""Promise: what ran is recorded as it ran, and recording changes nothing of it."""

from __future__ import annotations

import re
import subprocess
import sys
import types

import numpy
import pytest
from conftest import drawn, halved, reference, scan_of_torch, ssd, tensors_of

import holdfast


def command(*words):
    return subprocess.run([sys.executable, "-m", "holdfast", *map(str, words)], capture_output=True, text=True)


@pytest.fixture
def mamba_ssm(module_of):
    """Two modules as mamba_ssm has them: the scan, and a model that has imported it by name."""

    def selective_scan_fn(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, return_last_state=False):
        out, state = reference(u, delta, A, B, C, D, z, delta_bias, delta_softplus)
        return (out, state) if return_last_state else out

    module_of("mamba_ssm.ops.selective_scan_interface", selective_scan_fn=selective_scan_fn)
    return module_of("mamba_ssm.modules.mamba_simple", selective_scan_fn=selective_scan_fn)


def test_the_scans_of_a_model_are_recorded_and_judged(mamba_ssm, tmp_path):
    inputs, original = drawn(), mamba_ssm.selective_scan_fn
    bias = numpy.zeros(4, "f4")
    with holdfast.capture(tmp_path / "run.safetensors", source="a test") as recorded:
        out = mamba_ssm.selective_scan_fn(*inputs.values(), None, None, bias, True)
        again, _ = mamba_ssm.selective_scan_fn(**inputs, return_last_state=True)
    assert mamba_ssm.selective_scan_fn is original
    assert numpy.array_equal(out, reference(**inputs, delta_bias=bias, delta_softplus=True)[0])
    assert numpy.array_equal(again, reference(**inputs)[0])
    assert [path.name for path in recorded.paths] == ["run.safetensors", "run-2.safetensors"]
    assert (recorded.calls, recorded.skipped) == (2, 0)
    said = command("check", *recorded.paths)
    assert said.returncode == 0 and "2 cases: 2 pass" in said.stdout and "a test" in said.stdout
    assert "last_state" in recorded.paths[1].read_bytes()[:2000].decode("latin1")
    mamba_ssm.selective_scan_fn(**inputs)
    assert recorded.calls == 2


def test_a_wrong_scan_is_found_in_its_recording(mamba_ssm, tmp_path):
    inputs = drawn()
    with holdfast.capture(tmp_path / "run.safetensors", method="zoh-exact"):
        mamba_ssm.selective_scan_fn(**inputs)
    said = command("check", tmp_path / "run.safetensors")
    assert said.returncode == 1 and "looks like runs-as-zoh" in said.stdout


def test_methods_of_classes_with_names_and_a_layout_of_their_own(module_of, tmp_path):
    class MambaBlock:
        def selective_scan(self, x, delta, A, B, C, D):
            turn = lambda array: array.swapaxes(1, 2)
            return turn(reference(turn(x), turn(delta), A, turn(B), turn(C), D)[0])

    module_of("mambapy.mamba", MambaBlock=MambaBlock)
    given = [array if name == "A" else array.swapaxes(1, 2) for name, array in drawn().items()]
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        MambaBlock().selective_scan(*given, numpy.ones(4, "f4"))
    assert recorded.reasons == [] and command("check", *recorded.paths).returncode == 0


def test_scans_of_transformers_and_of_mamba_2_have_arguments_of_their_own(module_of, tmp_path):
    def mamba_selective_scan(hidden_states, dt, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, **kwargs):
        return reference(hidden_states, dt, A, B, C, D, z, delta_bias, delta_softplus)[0]

    def mamba_chunk_scan_combined(x, dt, A, B, C, chunk_size, D=None, dt_bias=None, dt_softplus=False):
        return ssd(x, dt, A, B, C, D, None, dt_bias, dt_softplus)[0]

    # Each model has its own.
    copy_of = lambda fn: types.FunctionType(fn.__code__, fn.__globals__, argdefs=fn.__defaults__)
    models = [f"transformers.models.{name}.modeling_{name}" for name in ("mamba", "falcon_mamba", "jamba", "zamba")]
    layers = [module_of(name, mamba_selective_scan=copy_of(mamba_selective_scan)) for name in models]
    combined = module_of("mamba_ssm.ops.triton.ssd_combined", mamba_chunk_scan_combined=mamba_chunk_scan_combined)
    normal = lambda *shape: numpy.random.default_rng(5).normal(size=shape).astype("f4")
    heads = (normal(2, 16, 4, 3), normal(2, 16, 4), -abs(normal(4)), normal(2, 16, 2, 5), normal(2, 16, 2, 5))
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        for layer in layers:
            layer.mamba_selective_scan(*drawn().values(), D=normal(4), delta_softplus=True, use_mambapy=False)
        combined.mamba_chunk_scan_combined(*heads, chunk_size=8, D=normal(4), dt_bias=normal(4), dt_softplus=True)
    assert recorded.reasons == [] and len(recorded.paths) == 5
    said = command("check", *recorded.paths)
    assert said.returncode == 0 and "5 cases: 5 pass" in said.stdout


def test_any_other_function_is_watched_by_its_own_names(tmp_path):
    def mine(x, dt, A, B, C, *, scale=1):
        return reference(x, dt, A, B, C)[0] * scale

    watched = holdfast.watch(mine, names={"x": "u", "dt": "delta"})
    inputs = list(drawn().values())
    assert numpy.array_equal(watched(*inputs), mine(*inputs))
    with holdfast.capture(tmp_path / "run.safetensors", every=2) as recorded:
        for scale in (1, 2, 3):
            watched(*inputs, scale=scale)
    assert recorded.calls == 3 and len(recorded.paths) == 2
    said = command("check", *recorded.paths)
    assert "1 pass, 1 fail" in said.stdout
    with pytest.raises(ValueError, match="expected one of u, delta"):
        holdfast.watch(mine, names={"x": "input"})


def test_a_scan_inside_of_a_scan_is_one_call(mamba_ssm, tmp_path):
    outer = holdfast.watch(lambda u, delta, A, B, C: mamba_ssm.selective_scan_fn(u, delta, A, B, C))
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        outer(*drawn().values())
    assert recorded.calls == 1 and len(recorded.paths) == 1


def test_what_is_too_large_or_no_run_is_counted_and_changes_nothing(mamba_ssm, tmp_path):
    inputs = drawn()
    with holdfast.capture(tmp_path / "first.safetensors") as recorded:
        mamba_ssm.selective_scan_fn(**inputs)
    size = recorded.paths[0].stat().st_size
    with holdfast.capture(tmp_path / "smaller.safetensors", max_bytes=size - 1) as recorded:
        mamba_ssm.selective_scan_fn(**inputs)
    assert recorded.paths == [] and f"{size - 1} of max_bytes are left" in recorded.reasons[0]
    with holdfast.capture(tmp_path / "run.safetensors", max_bytes=size) as recorded:
        mamba_ssm.selective_scan_fn(**inputs)
        mamba_ssm.selective_scan_fn(**inputs)
        doubled = {name: array.astype("f8") for name, array in inputs.items()}
        mamba_ssm.selective_scan_fn(**doubled)
    assert (recorded.calls, len(recorded.paths), recorded.skipped) == (3, 1, 2)
    assert "0 of max_bytes are left" in recorded.reasons[0]
    with holdfast.capture(tmp_path / "other.safetensors") as recorded:
        mamba_ssm.selective_scan_fn(**doubled)
    assert "F64" in recorded.reasons[0] and recorded.paths == []
    for wrong in ({"every": 0}, {"max_bytes": 0}):
        with pytest.raises(ValueError, match="expected at least 1"):
            with holdfast.capture(tmp_path / "run.safetensors", **wrong):
                pass


def test_an_error_of_the_scan_is_the_callers_and_the_scan_is_put_back(mamba_ssm, tmp_path):
    original = mamba_ssm.selective_scan_fn
    with pytest.raises(AttributeError):
        with holdfast.capture(tmp_path / "run.safetensors") as recorded:
            mamba_ssm.selective_scan_fn(1, 2, 3, 4, 5)
    assert mamba_ssm.selective_scan_fn is original and recorded.paths == []


def test_no_hook_stays_where_one_cannot_be_had(tmp_path):
    class Hook:
        def __init__(self):
            held.append(self)

        def remove(self):
            held.remove(self)

    class Module:
        def named_modules(self):
            yield "", self

        def register_forward_pre_hook(self, hook):
            return Hook()

        def register_forward_hook(self, hook):
            """Of a PyTorch that is too old: it takes no `always_call`."""

    held = []
    with pytest.raises(TypeError, match="always_call"):
        with holdfast.capture(tmp_path / "run.safetensors", model=Module()):
            pass
    assert held == []


def test_arguments_that_arrive_as_keywords_of_any_name_are_recorded(tmp_path):
    def scan(u, delta, A, B, C, **more):
        return reference(u, delta, A, B, C, **more)[0]

    inputs = drawn()
    more = {"D": numpy.ones(4, "f4"), "z": inputs["u"][:, ::-1], "delta_softplus": True}
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        holdfast.watch(scan)(**inputs, **more)
    header = recorded.paths[0].read_bytes()[:2000].decode("latin1")
    assert '"D"' in header and '"z"' in header and '"delta_softplus":"true"' in header
    assert command("check", *recorded.paths).returncode == 0


def test_a_call_whose_meaning_no_recording_has_is_skipped(module_of, tmp_path):
    def mamba_chunk_scan_combined(x, dt, A, B, C, chunk_size, seq_idx=None, dt_limit=(0.0, float("inf")), **more):
        return x

    module = module_of("mamba_ssm.ops.triton.ssd_combined", mamba_chunk_scan_combined=mamba_chunk_scan_combined)
    one = numpy.ones((1, 4, 1, 1), "f4")
    run = (one, one[..., 0], -one[0, 0, 0], one, one, 4)
    strange = ({"state_dtype": "bf16"}, {"cu_seqlens": numpy.array([0, 4])})
    for number, more in enumerate(strange):
        with holdfast.capture(tmp_path / f"{number}.safetensors") as recorded:
            module.mamba_chunk_scan_combined(*run, **more)
        assert recorded.paths == [] and recorded.skipped == 1
        assert f"`{next(iter(more))}`" in recorded.reasons[0] and "hint: " in recorded.reasons[0]
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        module.mamba_chunk_scan_combined(*run, dt_limit=(0.0, float("inf")), seq_idx=None, cu_seqlens=None)
    assert recorded.reasons == [] and len(recorded.paths) == 1


def test_sequences_that_are_packed_are_recorded_with_the_state_of_each(module_of, tmp_path):
    ends = numpy.array([0, 2, 4])

    def mamba_chunk_scan_combined(x, dt, A, B, C, chunk_size, seq_idx=None, cu_seqlens=None, return_varlen_states=False):
        parts = [slice(0, 2), slice(2, 4)] if seq_idx is not None else [slice(0, 4)]
        found = [ssd(x[:, part], dt[:, part], A, B[:, part], C[:, part]) for part in parts]
        out, states = numpy.concatenate([out for out, _ in found], 1), numpy.concatenate([state for _, state in found])
        return (out, states[-1:], states) if return_varlen_states else (out, states[-1:])

    module = module_of("mamba_ssm.ops.triton.ssd_combined", mamba_chunk_scan_combined=mamba_chunk_scan_combined)
    x = numpy.random.default_rng(5).normal(size=(1, 4, 1, 1)).astype("f4")
    run = (x, abs(x[..., 0]), -numpy.ones(1, "f4"), x + 1, x - 1, 4)
    packed = {"seq_idx": numpy.array([[0, 0, 1, 1]], "i4")}
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        module.mamba_chunk_scan_combined(*run, **packed)
        module.mamba_chunk_scan_combined(*run, **packed, cu_seqlens=ends, return_varlen_states=True)
    assert recorded.reasons == [] and command("check", *recorded.paths).returncode == 0
    one, other = map(tensors_of, recorded.paths)
    assert one["last_state.zoh"].shape == (1, 1, 1, 1) and other["last_state.zoh"].shape == (2, 1, 1, 1)


def test_inputs_are_those_before_the_call(tmp_path):
    def in_place(u, delta, A, B, C):
        u[...] = reference(u, delta, A, B, C)[0]
        delta *= 2
        return u

    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        holdfast.watch(in_place)(**drawn())
    assert command("check", *recorded.paths).returncode == 0


def test_what_goes_wrong_with_a_recording_is_no_error_of_the_model(mamba_ssm, tmp_path, monkeypatch):
    inputs = drawn()
    with holdfast.capture(tmp_path / "nowhere" / "run.safetensors") as recorded:
        out = mamba_ssm.selective_scan_fn(**inputs)
    assert numpy.array_equal(out, reference(**inputs)[0])
    assert (recorded.calls, recorded.skipped, len(recorded.reasons)) == (1, 1, 1)

    def fails(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(sys.modules["holdfast._capture"], "copied", fails)
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        mamba_ssm.selective_scan_fn(**inputs)
    assert recorded.reasons == ["RuntimeError: out of memory"] and recorded.paths == []


def test_max_bytes_counts_what_is_on_disk(tmp_path):
    # A file has its header beside the arrays.
    one = numpy.ones((1, 64, 2, 32), "f4")
    run = {"u": one, "delta": one[..., 0], "A": -one[0, 0, :, 0], "B": one[:, :, :1, :4], "C": one[:, :, :1, :4]}
    given = sum(array.nbytes for array in run.values()) + one.nbytes
    scan = holdfast.watch(lambda u, delta, A, B, C: u, layout="blhp")
    with holdfast.capture(tmp_path / "run.safetensors", max_bytes=given) as recorded:
        scan(**run)
    assert recorded.paths == [] and "max_bytes are left" in recorded.reasons[0]
    with holdfast.capture(tmp_path / "run.safetensors", unit="é") as recorded:
        scan(**run)
    assert (1 << 30) - recorded._left == recorded.paths[0].stat().st_size


def leaves(torch, **more):
    given = {**drawn(groups=1), "D": numpy.ones(4, "f4"), **more}
    return {name: torch.tensor(array, requires_grad=True) for name, array in given.items()}


def watched(wrong=None):
    return holdfast.watch(scan_of_torch(wrong))


def told(*paths):
    """How many cases of these files pass, of outputs and of gradients, and what is said of those that fail."""
    said = command("check", *paths)
    passing = re.findall(r"^\d+ (?:backward )?cases?: (\d+) pass", said.stdout, re.M)
    return str(sum(map(int, passing))), said.stdout + said.stderr


def test_each_call_of_shared_weights_gets_its_own_gradients(torch, tmp_path):
    given = leaves(torch)
    with holdfast.capture(tmp_path / "run.safetensors", max_bytes=100_000) as recorded:
        first, _ = watched()(**given)
        second, state = watched()(**{**given, "u": first})
        ((second * second).sum() + state.sum()).backward()
    assert (recorded.calls, recorded.backward, recorded.skipped, recorded.reasons) == (2, 2, 0, [])
    assert told(*recorded.paths)[0] == "4"
    one, other = map(tensors_of, recorded.paths)
    assert "dlast_state" in other and "dlast_state" not in one
    header = recorded.paths[0].read_bytes()[:4000].decode("latin1")
    assert f'"torch":"{torch.__version__}"' in header and "numpy" not in header
    for name in ("A", "D", "B"):
        # Only together are they what the weights have.
        both = one[f"grad.{name}.zoh"] + other[f"grad.{name}.zoh"]
        assert numpy.allclose(both, given[name].grad, rtol=1e-5) and not numpy.allclose(one[f"grad.{name}.zoh"], both, rtol=0.1)
    assert numpy.array_equal(one["dout"], other["grad.u.zoh"])
    assert sum(path.stat().st_size for path in recorded.paths) + recorded._left == 100_000


def test_recording_changes_no_gradient(torch, tmp_path):
    def step(run):
        given = leaves(torch)
        out, _ = run(**given)
        (out.sigmoid() * torch.arange(32.0)).sum().backward()
        return [leaf.grad for leaf in given.values()]

    alone = step(watched())
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        beside = step(watched())
    assert recorded.backward == 1 and all(map(torch.equal, alone, beside))


def test_a_wrong_backward_pass_is_found_in_its_recording(torch, tmp_path):
    scan = holdfast.watch(lambda u, delta, A, B, C, D: scan_of_torch()(u, delta, halved(torch)(A), B, C, D)[0])
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        scan(**leaves(torch)).sum().backward()
    passing, said = told(*recorded.paths)
    assert passing == "1" and "worst grad.A[" in said and "grad.u passes" in said and "looks like" in said


def test_gradients_come_when_the_backward_pass_does(torch, tmp_path):
    path = tmp_path / "run.safetensors"
    with holdfast.capture(path) as recorded:
        out, _ = watched()(**leaves(torch))
        assert recorded.paths == [path] and told(path)[0] == "1"
        # What becomes of the output is the caller's: its gradient is that of what the scan returned.
        out *= 2
    assert recorded.backward == 0 and "dout" not in tensors_of(path)
    out.sum().backward(retain_graph=True)
    assert recorded.backward == 1 and told(path)[0] == "2"
    assert set(tensors_of(path)["dout"].ravel()) == {2.0}
    # The first one it is.
    (out * 3).sum().backward()
    assert set(tensors_of(path)["dout"].ravel()) == {2.0} and recorded.reasons == []


def test_a_file_that_was_replaced_meanwhile_stays_as_it_is(torch, tmp_path):
    path = tmp_path / "run.safetensors"
    with holdfast.capture(path) as recorded:
        out, _ = watched()(**leaves(torch))
    path.unlink()
    path.write_bytes(b"another")
    out.sum().backward()
    assert path.read_bytes() == b"another" and recorded.backward == 0
    assert "run.safetensors is not the file that was written" in recorded.reasons[0]


def test_what_autograd_was_not_asked_for_is_not_there_and_what_is_not_used_is_zero(torch, tmp_path):
    def forgets(u, delta, A, B, C, D):
        return scan_of_torch()(u, delta, A, B.detach(), C)[0]

    given = leaves(torch)
    held = {**given, "delta": given["delta"].detach()}
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        out = holdfast.watch(forgets)(**held)
        torch.autograd.grad(out.sum(), [given["A"], given["C"]])
        other, state = watched()(**given)
        # Nothing of the output, but of the state.
        state.sum().backward()
    one, second = map(tensors_of, recorded.paths)
    assert {name for name in one if name.startswith("grad.")} == {f"grad.{name}.zoh" for name in "ABCD"}
    assert not one["grad.B.zoh"].any() and not one["grad.D.zoh"].any() and one["grad.A.zoh"].any()
    assert not second["dout"].any() and second["dlast_state"].all() and "grad.C.zoh" not in second
    assert told(recorded.paths[1])[0] == "2"
    assert "grad.B fails" in told(recorded.paths[0])[1]


def test_without_a_graph_there_are_no_gradients(torch, tmp_path):
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        with torch.no_grad():
            watched()(**leaves(torch))
        with torch.inference_mode():
            watched()(**leaves(torch))
        watched()(**{name: leaf.detach() for name, leaf in leaves(torch).items()})
        holdfast.watch(lambda **given: scan_of_torch()(**given)[0].detach())(**leaves(torch))
    with holdfast.capture(tmp_path / "off.safetensors", gradients=False) as off:
        watched()(**leaves(torch))[0].sum().backward()
    with holdfast.capture(tmp_path / "form.safetensors", method="zoh-exact") as form:
        watched("exact")(**leaves(torch))[0].sum().backward()
    assert [(one.backward, one.reasons) for one in (recorded, off, form)] == [(0, [])] * 3
    paths = [*recorded.paths, *off.paths, *form.paths]
    assert len(paths) == 6 and told(*paths)[0] == "6"


@pytest.mark.parametrize("is_reentrant", [False, True])
def test_a_checkpoint_s_call_is_one_call(torch, tmp_path, is_reentrant):
    given = {name: leaf * 1 for name, leaf in leaves(torch).items()}

    def layer(*arrays):
        return torch.sigmoid(watched()(*arrays)[0])

    with holdfast.capture(tmp_path / "run.safetensors", model=None) as recorded:
        out = torch.utils.checkpoint.checkpoint(layer, *given.values(), use_reentrant=is_reentrant)
        out.sum().backward()
    assert (recorded.calls, recorded.backward, recorded.reasons) == (1, 1, [])
    assert len(recorded.paths) == 1 + is_reentrant and told(*recorded.paths)[0] == str(2 + is_reentrant)
    assert "dout" in tensors_of(recorded.paths[-1])


def test_inputs_that_a_call_changes_have_the_gradients_of_what_they_were(torch, tmp_path):
    def in_place(u, delta, A, B, C, D):
        out = scan_of_torch()(u.clone(), delta.clone(), A, B, C, D)[0]
        u.zero_()
        delta.mul_(2)
        return out + delta.sum() * 0

    given = {name: leaf * 1 for name, leaf in leaves(torch).items()}
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        holdfast.watch(in_place)(**given).sum().backward()
    assert not given["u"].any() and recorded.backward == 1 and told(*recorded.paths)[0] == "2"


def test_gradients_that_are_too_large_leave_the_outputs(torch, tmp_path):
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        watched()(**leaves(torch))
    size = recorded.paths[0].stat().st_size
    with holdfast.capture(tmp_path / "run.safetensors", max_bytes=size + 100) as recorded:
        watched()(**leaves(torch))[0].sum().backward()
    assert (recorded.backward, recorded.skipped, len(recorded.paths)) == (0, 0, 1)
    assert "a call's gradients of" in recorded.reasons[0] and told(*recorded.paths)[0] == "1"


def test_a_backward_pass_that_fails_is_the_caller_s_and_the_next_one_is_recorded(torch, tmp_path):
    class Fails(torch.autograd.Function):
        failures = 1

        @staticmethod
        def forward(ctx, array):
            return array.view_as(array)

        @staticmethod
        def backward(ctx, gradient):
            Fails.failures -= 1
            if Fails.failures == 0:
                raise RuntimeError("out of memory")
            return gradient

    scan = holdfast.watch(lambda u, delta, A, B, C, D: scan_of_torch()(u, Fails.apply(delta), A, B, C, D)[0])
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        out = scan(**leaves(torch))
        with pytest.raises(RuntimeError, match="out of memory"):
            (out.sum() * 7).backward(retain_graph=True)
        assert recorded.backward == 0
        out.sum().backward()
    assert recorded.backward == 1 and told(*recorded.paths)[0] == "2"


def test_what_goes_wrong_with_gradients_is_no_error_of_the_model(torch, tmp_path, monkeypatch):
    def fails(*_):
        raise RuntimeError("out of memory")

    given = leaves(torch)
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        out, _ = watched()(**given)
        monkeypatch.setattr(sys.modules["holdfast._hooks"], "copied", fails)
        out.sum().backward()
    assert given["A"].grad is not None and recorded.backward == 0
    assert recorded.reasons == ["RuntimeError: out of memory"] and recorded.skipped == 0


def test_other_layouts_and_types_have_their_gradients(torch, tmp_path):
    def heads(u, delta, A, B, C):
        batch, seqlen, count, p = u.shape
        flat = u.permute(0, 2, 3, 1).reshape(batch, count * p, seqlen)
        spread = delta.permute(0, 2, 1).repeat_interleave(p, 1)
        weights = A.repeat_interleave(p)[:, None].expand(-1, B.shape[-1])
        out, _ = scan_of_torch()(flat, spread, weights, *(array.permute(0, 2, 3, 1) for array in (B, C)))
        return out.reshape(batch, count, p, seqlen).permute(0, 3, 1, 2)

    def turned(u, delta, A, B, C):
        out, _ = scan_of_torch()(*(array.mT for array in (u, delta)), A, *(array.mT[:, None] for array in (B, C)))
        return out.mT

    def halves(u, delta, A, B, C):
        return scan_of_torch()(u.float(), delta.float(), A, B.float(), C.float())[0].to(u.dtype)

    draw = lambda *shape, kind=torch.float32: torch.randn(*shape).to(kind).requires_grad_()
    step = lambda *shape, kind=torch.float32: (torch.rand(*shape) / 2).to(kind).requires_grad_()
    rate = lambda *shape: (-torch.rand(*shape) - 0.1).requires_grad_()
    half = {"kind": torch.bfloat16}
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        of_heads = holdfast.watch(heads, layout="blhp")
        of_heads(draw(2, 16, 4, 3), step(2, 16, 4), rate(4), draw(2, 16, 2, 5), draw(2, 16, 2, 5)).sum().backward()
        of_turned = holdfast.watch(turned, layout="bld")
        of_turned(draw(2, 16, 4), step(2, 16, 4), rate(4, 3), draw(2, 16, 3), draw(2, 16, 3)).sum().backward()
        of_halves = draw(2, 4, 16, **half), step(2, 4, 16, **half), rate(4, 3), draw(2, 1, 3, 16, **half), draw(2, 1, 3, 16, **half)
        holdfast.watch(halves)(*of_halves).sum().backward()
    assert recorded.reasons == [] and recorded.backward == 3
    passing, said = told(*recorded.paths)
    assert passing == "6", said
    names = ("u", "delta", "A", "B", "C")
    assert {name for name in tensors_of(recorded.paths[0]) if name.startswith("grad")} == {f"grad.{name}.zoh" for name in names}


def test_a_block_warns_of_what_it_did_not_record_and_why(mamba_ssm, module_of, monkeypatch, tmp_path):
    path = tmp_path / "run.safetensors"
    with pytest.warns(UserWarning, match=r"recorded nothing: none of .*selective_scan_fn was called .hint: holdfast.watch"):
        with holdfast.capture(path):
            pass
    inputs = drawn()
    with pytest.warns(UserWarning, match="recorded 1 call and left out 1: .*max_bytes are left") as told:
        with holdfast.capture(path, max_bytes=10_000) as recorded:
            mamba_ssm.selective_scan_fn(**inputs)
            mamba_ssm.selective_scan_fn(**inputs)
    assert told[0].filename == __file__ and len(recorded.paths) == 1
    # Whole layers in one function, which in transformers returns nothing where it cannot be had.
    fused = module_of("transformers.models.mamba2.modeling_mamba2", mamba2_split_conv1d_scan_combined=lambda x: x)
    original = fused.mamba2_split_conv1d_scan_combined
    with pytest.warns(UserWarning, match="recorded 0 calls and left out 1: .*mamba2_split_conv1d_scan_combined is a scan and"):
        with holdfast.capture(path):
            fused.mamba2_split_conv1d_scan_combined(1)
            fused.mamba2_split_conv1d_scan_combined(None)
    assert fused.mamba2_split_conv1d_scan_combined is original
    for name in ("mamba_ssm.ops.selective_scan_interface", fused.__name__):
        monkeypatch.delitem(sys.modules, name)
    if not any(name.startswith(("transformers.models", "mambapy", "lrnnx")) for name in sys.modules):
        with pytest.warns(UserWarning, match="no module with a scan that it knows is imported"):
            with holdfast.capture(path):
                pass


def test_a_block_that_recorded_all_is_silent(mamba_ssm, tmp_path, recwarn):
    with holdfast.capture(tmp_path / "run.safetensors"):
        mamba_ssm.selective_scan_fn(**drawn())
    assert [str(one.message) for one in recwarn] == []


def test_limits_of_a_step_are_recorded(module_of, tmp_path):
    def mamba2_chunk_scan(hidden_states, dt, A, B, C, chunk_size, D=None, dt_bias=None, dt_softplus=False, dt_limit=(0.0, float("inf"))):
        return ssd(hidden_states, numpy.clip(numpy.logaddexp(0, dt + dt_bias), *dt_limit).astype("f4"), A, B, C)[0]

    module = module_of("transformers.models.zamba2.modeling_zamba2", mamba2_chunk_scan=mamba2_chunk_scan)
    one = numpy.ones((1, 4, 1, 1), "f4")
    # softplus(1 − 1) is 0.69.
    run = (one, one[..., 0], -one[0, 0, 0], one, one, 4, None, -one[0, 0, 0], True)
    for limits, text in (((0.001, 0.8), "0.001 0.8"), ((0.7, 1.0), "0.7 1.0")):
        with holdfast.capture(tmp_path / "run.safetensors") as recorded:
            module.mamba2_chunk_scan(*run, dt_limit=limits)
        assert recorded.reasons == []
        assert f'"dt_limit":"{text}"' in recorded.paths[0].read_bytes()[:2000].decode("latin1")
        assert command("check", *recorded.paths).returncode == 0


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
@pytest.mark.parametrize("kind", ["f4", "bf16"])
def test_updates_of_a_state_are_scans_of_one_position(module_of, tmp_path, shape, kind):
    """With heads and without; in a state of f32 and in one of 16 bits."""
    kind = pytest.importorskip("ml_dtypes", reason="unmeasured: no ml_dtypes").bfloat16 if kind == "bf16" else kind

    def selective_state_update(state, x, dt, A, B, C, D=None, z=None, dt_bias=None, dt_softplus=False, state_batch_indices=None):
        step = numpy.log1p(numpy.exp(dt.astype("f8") + dt_bias))[..., None]
        grouped = lambda w: numpy.repeat(w, shape[0] // w.shape[1], 1).reshape(2, shape[0], *[1] * (len(shape) - 1), 4)
        b, c = grouped(B if B.ndim == 3 else B[:, None]), grouped(C if C.ndim == 3 else C[:, None])
        new = numpy.exp(step * A) * state.astype("f8") + step * b * x.astype("f8")[..., None]
        state[...] = new
        y = (new * c).sum(-1) + D * x.astype("f8")
        return (y * z / (1 + numpy.exp(-z.astype("f8")))).astype(x.dtype)

    name = "mamba_ssm.ops.triton.selective_state_update"
    module = module_of(name, selective_state_update=selective_state_update)
    normal = lambda *size: numpy.random.default_rng(6).normal(size=size).astype("f4")
    groups = (2,) if len(shape) == 2 else ()
    state, A = normal(2, *shape, 4).astype(kind), -abs(normal(*shape, 4))
    before = state.copy()
    more = {"D": normal(*shape), "z": normal(2, *shape), "dt_bias": normal(*shape), "dt_softplus": True}
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        x, B = normal(2, *shape), normal(2, *groups, 4)
        out = module.selective_state_update(state, x, x, A, B, B, **more)
    tensors = tensors_of(recorded.paths[0])
    bits = (lambda array: array) if kind == "f4" else lambda array: array.view("u2")
    assert numpy.array_equal(tensors["initial_state"], bits(before).reshape(2, 6, 4)) and tensors["u"].shape == (2, 6, 1)
    assert recorded.reasons == [] and numpy.array_equal(tensors["last_state.zoh"], bits(state).reshape(2, 6, 4))
    assert command("check", *recorded.paths).returncode == 0
    if kind == "f4":
        # And so are arrays of one's own.
        given = {"x": x, "dt": x, "A": A, "B": B, "C": B, **more, "initial_state": before, "out": out, "layout": "step"}
        assert holdfast.check(**given, last_state=state).passed and not holdfast.check(**given, last_state=before).passed
        goes_on = holdfast.scan(**{name: array for name, array in given.items() if name != "out"}, return_last_state=True)
        assert holdfast.check(**given | {"out": goes_on[0]}, last_state=goes_on[1]).passed and goes_on[0].shape == (2, *shape)


def test_a_scan_in_16_bits_whose_output_is_in_f32_is_recorded_as_it_is(torch, tmp_path):
    def scan(x, dt, A, B, C, D, dt_bias):
        wide = (array.float() for array in (x, dt, A, B, C, D))
        return scan_of_torch()(*wide, None, dt_bias.float())[0]

    given = {"x": (2, 4, 16), "dt": (2, 4, 16), "A": (4, 3), "B": (2, 1, 3, 16), "C": (2, 1, 3, 16), "D": (4,), "dt_bias": (4,)}
    given = {name: (-torch.rand(*shape) if name == "A" else torch.rand(*shape)).bfloat16() for name, shape in given.items()}
    given = {name: tensor.requires_grad_() for name, tensor in given.items()}
    class Layer(torch.nn.Module):
        def forward(self, x, dt, A, B, C, D, dt_bias):
            return scan(x, dt, A, B, C, D, dt_bias)

    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        out = holdfast.watch(Layer())(*given.values())
    out.sum().backward()
    assert recorded.skipped == 0 and recorded.reasons == []
    tensors = tensors_of(recorded.paths[0])
    assert tensors["out.zoh"].dtype == "f4" and {tensors[n].dtype.name for n in ("u", "A", "D", "grad.u.zoh", "grad.A.zoh")} == {"uint16"}
    assert command("check", *recorded.paths).returncode == 0
    # And so are arrays.
    assert holdfast.check(**{n: a.detach() for n, a in given.items()}, out=out).passed
