"""Promise: what ran is recorded as it ran, and recording changes nothing of it."""

from __future__ import annotations

import subprocess
import sys
import types

import numpy
import pytest
from conftest import drawn, reference

import holdfast


def command(*words):
    return subprocess.run([sys.executable, "-m", "holdfast", *map(str, words)], capture_output=True, text=True)


@pytest.fixture
def mamba_ssm(monkeypatch):
    """Two modules as mamba_ssm has them: the scan, and a model that has imported it by name."""

    def selective_scan_fn(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, return_last_state=False):
        out, state = reference(u, delta, A, B, C, D, z, delta_bias, delta_softplus)
        return (out, state) if return_last_state else out

    scan = types.ModuleType("mamba_ssm.ops.selective_scan_interface")
    scan.selective_scan_fn = selective_scan_fn
    model = types.ModuleType("mamba_ssm.modules.mamba_simple")
    model.selective_scan_fn = selective_scan_fn
    for module in (scan, model):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return model


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


def test_methods_of_classes_with_names_and_a_layout_of_their_own(monkeypatch, tmp_path):
    module = types.ModuleType("mambapy.mamba")

    class MambaBlock:
        def selective_scan(self, x, delta, A, B, C, D):
            turn = lambda array: array.swapaxes(1, 2)
            return turn(reference(turn(x), turn(delta), A, turn(B), turn(C), D)[0])

    module.MambaBlock = MambaBlock
    monkeypatch.setitem(sys.modules, "mambapy.mamba", module)
    given = [array if name == "A" else array.swapaxes(1, 2) for name, array in drawn().items()]
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        MambaBlock().selective_scan(*given, numpy.ones(4, "f4"))
    assert recorded.reasons == [] and command("check", *recorded.paths).returncode == 0


def test_scans_of_transformers_and_of_mamba_2_have_arguments_of_their_own(monkeypatch, tmp_path):
    def module(name, **functions):
        made = types.ModuleType(name)
        vars(made).update(functions)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    def mamba_selective_scan(hidden_states, dt, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, **kwargs):
        return reference(hidden_states, dt, A, B, C, D, z, delta_bias, delta_softplus)[0]

    def mamba_chunk_scan_combined(x, dt, A, B, C, chunk_size, D=None, dt_bias=None, dt_softplus=False):
        batch, seqlen, heads, p = x.shape
        channels = [numpy.repeat(array, p) for array in (A, D, dt_bias)]
        flat, spread = x.transpose(0, 2, 3, 1).reshape(batch, heads * p, seqlen), numpy.repeat(dt.swapaxes(1, 2), p, axis=1)
        weights = numpy.tile(channels[0][:, None], (1, B.shape[-1]))
        turned = [array.transpose(0, 2, 3, 1) for array in (B, C)]
        out, _ = reference(flat, spread, weights, *turned, channels[1], None, channels[2], dt_softplus)
        return out.reshape(batch, heads, p, seqlen).transpose(0, 3, 1, 2)

    layer = module("transformers.models.mamba.modeling_mamba", mamba_selective_scan=mamba_selective_scan)
    ssd = module("mamba_ssm.ops.triton.ssd_combined", mamba_chunk_scan_combined=mamba_chunk_scan_combined)
    normal = lambda *shape: numpy.random.default_rng(5).normal(size=shape).astype("f4")
    heads = (normal(2, 16, 4, 3), normal(2, 16, 4), -abs(normal(4)), normal(2, 16, 2, 5), normal(2, 16, 2, 5))
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        layer.mamba_selective_scan(*drawn().values(), D=normal(4), delta_softplus=True, use_mambapy=False)
        ssd.mamba_chunk_scan_combined(*heads, chunk_size=8, D=normal(4), dt_bias=normal(4), dt_softplus=True)
    assert recorded.reasons == [] and len(recorded.paths) == 2
    said = command("check", *recorded.paths)
    assert said.returncode == 0 and "2 cases: 2 pass" in said.stdout


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


def test_a_call_whose_meaning_no_recording_has_is_skipped(monkeypatch, tmp_path):
    def mamba_chunk_scan_combined(x, dt, A, B, C, chunk_size, seq_idx=None, dt_limit=(0.0, float("inf")), **more):
        return x

    module = types.ModuleType("mamba_ssm.ops.triton.ssd_combined")
    module.mamba_chunk_scan_combined = mamba_chunk_scan_combined
    monkeypatch.setitem(sys.modules, module.__name__, module)
    one = numpy.ones((1, 4, 1, 1), "f4")
    run = (one, one[..., 0], -one[0, 0, 0], one, one, 4)
    strange = ({"seq_idx": numpy.zeros((1, 4), "i4")}, {"dt_limit": (0.1, 1.0)}, {"cu_seqlens": numpy.array([0, 4])})
    for number, more in enumerate(strange):
        with holdfast.capture(tmp_path / f"{number}.safetensors") as recorded:
            module.mamba_chunk_scan_combined(*run, **more)
        assert recorded.paths == [] and recorded.skipped == 1
        assert f"`{next(iter(more))}`" in recorded.reasons[0] and "hint: " in recorded.reasons[0]
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        module.mamba_chunk_scan_combined(*run, dt_limit=(0.0, float("inf")), seq_idx=None, cu_seqlens=None)
    assert recorded.reasons == [] and len(recorded.paths) == 1


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

    monkeypatch.setattr(sys.modules["holdfast._capture"], "to_host", fails)
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        mamba_ssm.selective_scan_fn(**inputs)
    assert recorded.reasons == ["RuntimeError: out of memory"] and recorded.paths == []


def test_max_bytes_counts_what_is_on_disk(tmp_path):
    # One step for every head is one for each of its channels in the file.
    one = numpy.ones((1, 64, 2, 32), "f4")
    run = {"u": one, "delta": one[..., 0], "A": -one[0, 0, :, 0], "B": one[:, :, :1, :4], "C": one[:, :, :1, :4]}
    given = sum(array.nbytes for array in run.values()) + one.nbytes
    scan = holdfast.watch(lambda u, delta, A, B, C: u, layout="blhp")
    with holdfast.capture(tmp_path / "run.safetensors", max_bytes=given + 2000) as recorded:
        scan(**run)
    assert recorded.paths == [] and "max_bytes are left" in recorded.reasons[0]
    with holdfast.capture(tmp_path / "run.safetensors", unit="é") as recorded:
        scan(**run)
    assert (1 << 30) - recorded._left == recorded.paths[0].stat().st_size
