"""Promise: an array is judged as the same numbers in a file are, whatever its type, strides, layout and framework."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import NamedTuple

import numpy
import pytest
from conftest import drawn, reference

import holdfast


def command(*words, **more):
    return subprocess.run([sys.executable, "-m", "holdfast", *words], capture_output=True, text=True, **more)


def found(report):
    """What was found, without the call that found it."""
    results = report.to_dict()
    del results["command"], results["created"], results["took"]
    for case in results["cases"]:
        del case["rerun"]
    return results


def elements(report):
    """The same, without places, and without the names of inputs, which have places: these are in the order of a layout."""
    results = found(report)
    del results["regimes"]
    for case in results["cases"]:
        for tensor in [case, *case["tensors"].values()]:
            tensor.pop("wrong", None)
            worst = tensor["worst"] or {}
            for key in ("index", "place"):
                worst.pop(key, None)
            if "inputs" in worst:
                worst["inputs"] = [text.partition(" = ")[2] for text in worst["inputs"]]
    return results


def bf16(array):
    """Rounded to bfloat16, to nearest even, still in f32."""
    bits = array.astype("f4").view("u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view("f4")


def test_a_right_scan_passes(run):
    inputs, out = run
    report = holdfast.check(**inputs, method="zoh", out=out)
    assert report.passed and report.verdict == "pass" and report.diagnosis == ()
    assert report.cases[0].judged == out.size
    assert 0 < report.worst.share < 1


def test_a_wrong_scan_in_four_lines_gets_its_cause():
    inputs = drawn()
    out, _ = reference(**inputs, wrong="exact")
    report = holdfast.check(**inputs, method="zoh", out=out)
    assert report.diagnosis[0].name == "runs-as-zoh-exact"
    assert not report.passed and report.worst.share > 1
    assert "looks like runs-as-zoh-exact" in str(report)


def test_without_a_diagnosis_the_verdict_is_the_same():
    inputs = drawn()
    out, _ = reference(**inputs, wrong="exact")
    why, without = (holdfast.check(**inputs, method="zoh", out=out, diagnosis=diagnosis) for diagnosis in ("thorough", "off"))
    assert why.diagnosis and not without.diagnosis
    assert "why was not looked for" in str(without)
    (left,), (right,) = why.cases, without.cases
    assert (left.verdict, left.worst.share) == (right.verdict, right.worst.share) == ("fail", why.worst.share)
    hurried = str(holdfast.check(**inputs, method="zoh", out=out, diagnosis=1e-9))
    assert re.search(r'no cause (found|looked for).* s .*\( ?diagnosis="thorough" looks on\)', " ".join(hurried.split()))


@pytest.mark.parametrize("wrong", [None, "exact", "lost", "nan"])
@pytest.mark.parametrize("given", ["plain", "everything", "groups", "constant", "complex"])
def test_the_verdict_is_that_of_the_command_line(tmp_path, given, wrong):
    inputs = drawn(groups=2 if given == "groups" else None)
    normal = numpy.random.default_rng(1).normal
    if given == "everything":
        inputs |= {"D": normal(size=4).astype("f4"), "z": normal(size=(2, 4, 32)).astype("f4")}
        inputs |= {"delta_bias": normal(size=4).astype("f4"), "delta_softplus": True}
    if given == "constant":
        inputs |= {name: normal(size=(4, 4)).astype("f4") for name in ("B", "C")}
    if given == "complex":
        for name in ("A", "B", "C"):
            inputs[name] = (inputs[name] + 1j * normal(size=inputs[name].shape)).astype("c8")
    out, last_state = reference(**inputs, wrong=wrong)
    file, answer = tmp_path / "run.safetensors", tmp_path / "answer.json"
    holdfast.record(file, **inputs, method="zoh", out=out, last_state=last_state)
    # Whatever else the machine does meanwhile; what takes longest to find no cause has none to compare.
    diagnosis = "off" if wrong == "lost" else "thorough"
    said = command("check", str(file), "--diagnosis", diagnosis, "--json", str(answer))
    report = holdfast.check(**inputs, out=out, last_state=last_state, name="run.safetensors", diagnosis=diagnosis)
    there = json.loads(answer.read_text())
    del there["command"], there["created"], there["took"]
    for case in there["cases"]:
        del case["rerun"]
    assert found(report) == there
    assert report.passed == (said.returncode == 0) == (wrong is None)


def test_strided_views_are_read_where_they_lie(run, monkeypatch):
    # A time that is the same of every report.
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    inputs, out = run
    expected = holdfast.check(**inputs, method="zoh", out=out).to_dict()
    wide = {name: numpy.repeat(array, 2, axis=-1)[..., ::2] for name, array in inputs.items()}
    back = {name: numpy.ascontiguousarray(array[..., ::-1])[..., ::-1] for name, array in inputs.items()}
    turned = {name: numpy.asfortranarray(array) for name, array in inputs.items()}
    for views in (wide, back, turned):
        assert not views["u"].flags.c_contiguous
        assert holdfast.check(**views, method="zoh", out=numpy.asfortranarray(out)).to_dict() == expected
    still = {name: array.copy() for name, array in inputs.items()}
    for array in still.values():
        array.flags.writeable = False
    assert holdfast.check(**still, method="zoh", out=out).to_dict() == expected
    swapped = inputs | {"u": inputs["u"].astype(">f4")}
    assert holdfast.check(**swapped, method="zoh", out=out).to_dict() == expected


def test_the_layout_with_the_sequence_first_is_the_same_run(run):
    inputs, out = run
    expected = elements(holdfast.check(**inputs, method="zoh", out=out))
    turned = {name: array if name == "A" else array.swapaxes(1, 2).copy() for name, array in inputs.items()}
    assert elements(holdfast.check(**turned, method="zoh", out=out.swapaxes(1, 2).copy(), layout="bld")) == expected
    inputs = drawn(groups=2)
    out, state = reference(**inputs)
    expected = elements(holdfast.check(**inputs, method="zoh", out=out, last_state=state))
    turned = {name: array.swapaxes(1, 2) for name, array in inputs.items() if array.ndim == 3}
    turned |= {name: inputs[name].transpose(0, 3, 1, 2) for name in ("B", "C")} | {"A": inputs["A"]}
    report = holdfast.check(**turned, method="zoh", out=out.swapaxes(1, 2), last_state=state, layout="bld")
    assert elements(report) == expected


def test_heads_of_mamba_2_are_channels_with_one_scalar():
    batch, seqlen, heads, p, groups, dstate = 2, 24, 4, 3, 2, 5
    rng = numpy.random.default_rng(3)
    normal = lambda *shape: rng.normal(size=shape).astype("f4")
    u, z = normal(batch, seqlen, heads, p), normal(batch, seqlen, heads, p)
    delta = rng.uniform(0.01, 0.5, size=(batch, seqlen, heads)).astype("f4")
    A, D, bias = -numpy.arange(1, heads + 1).astype("f4"), normal(heads), normal(heads)
    B, C = normal(batch, seqlen, groups, dstate), normal(batch, seqlen, groups, dstate)
    # By hand, one channel after the other.
    flat = lambda x: x.transpose(0, 2, 3, 1).reshape(batch, heads * p, seqlen)
    spread = lambda x: numpy.repeat(x, p)
    inputs = {
        "u": flat(u),
        "delta": numpy.repeat(delta.swapaxes(1, 2), p, axis=1),
        "A": numpy.tile(spread(A)[:, None], (1, dstate)),
        "B": B.transpose(0, 2, 3, 1),
        "C": C.transpose(0, 2, 3, 1),
        "D": spread(D),
        "z": flat(z),
        "delta_bias": spread(bias),
        "delta_softplus": True,
    }
    out, state = reference(**inputs)
    expected = holdfast.check(**inputs, method="zoh", out=out, last_state=state)
    own = out.reshape(batch, heads, p, seqlen).transpose(0, 3, 1, 2)
    state = state.reshape(batch, heads, p, dstate)
    arguments = (u, delta, A, B, C, D, z, bias, True)
    report = holdfast.check(*arguments, method="zoh", out=own, last_state=state, layout="blhp")
    assert report.passed and elements(report) == elements(expected)
    of_each = (u, delta, A, B, C, numpy.repeat(D[:, None], p, axis=1), z, bias, True)
    assert holdfast.check(*of_each, method="zoh", out=own, layout="blhp").passed
    wrong = own.copy()
    wrong[:, :, [0, 1]] = wrong[:, :, [1, 0]]
    assert not holdfast.check(*arguments, method="zoh", out=wrong, layout="blhp").passed


def test_packed_sequences_are_scanned_apart():
    inputs, ends = drawn(batch=1), numpy.array([0, 5, 20, 32])
    parts = [
        reference(**{name: a if name == "A" else a[..., start:end] for name, a in inputs.items()})
        for start, end in zip(ends[:-1], ends[1:])
    ]
    out, states = numpy.concatenate([part[0] for part in parts], axis=-1), numpy.concatenate([part[1] for part in parts])
    indices = numpy.repeat(numpy.arange(3), numpy.diff(ends))[None]
    assert holdfast.check(**inputs, cu_seqlens=ends, out=out, varlen_states=states).passed
    assert holdfast.check(**inputs, seq_idx=indices.astype("i4"), out=out, last_state=states[-1:]).passed
    turned = {name: a if name == "A" else numpy.moveaxis(a, -1, 1) for name, a in inputs.items()}
    assert holdfast.check(**turned, seq_idx=indices, cu_seqlens=ends, out=out.swapaxes(1, 2), last_state=states, layout="bld").passed
    report = holdfast.check(**inputs, cu_seqlens=ends, out=reference(**inputs)[0], diagnosis="off")
    assert not report.passed and report.worst.index[2] >= 5


def test_16_bit_types_are_judged_as_such():
    inputs = drawn()
    narrow = {name: array if name == "A" else array.astype("f2") for name, array in inputs.items()}
    out, _ = reference(**narrow)
    report = holdfast.check(**narrow, method="zoh", out=out)
    assert report.passed and report.to_dict()["cases"][0]["input"] == "f16"
    widened = {name: array if name == "A" else bf16(array) for name, array in inputs.items()}
    out, _ = reference(**widened)
    report = holdfast.check(**widened, method="zoh", out=bf16(out), input_type="bf16")
    assert report.passed and report.to_dict()["cases"][0]["input"] == "bf16"
    ml_dtypes = pytest.importorskip("ml_dtypes")
    narrow = {n: a if n == "A" else a.astype(ml_dtypes.bfloat16) for n, a in widened.items()}
    again = holdfast.check(**narrow, method="zoh", out=bf16(out).astype(ml_dtypes.bfloat16))
    assert again.worst == report.worst


def test_complex_weights_may_be_pairs_of_floats_or_alternate():
    inputs = drawn()
    for name in ("A", "B", "C"):
        inputs[name] = (inputs[name] + 0.5j * inputs[name][..., ::-1]).astype("c8")
    out, state = reference(**inputs)
    expected = holdfast.check(**inputs, method="zoh", out=out, last_state=state)
    assert expected.passed
    pairs = lambda x: x.view("f4").reshape(*x.shape, 2)
    alternating = {name: inputs[name].view("f4") for name in ("B", "C")}
    report = holdfast.check(**inputs | alternating | {"A": pairs(inputs["A"])}, out=out, last_state=pairs(state))
    assert report.worst == expected.worst
    twos = {name: pairs(inputs[name]) for name in ("A", "B", "C")}
    assert holdfast.check(**inputs | twos, out=out, last_state=state).worst == expected.worst
    grouped = {name: pairs(inputs[name][:, None]) for name in ("B", "C")}
    assert holdfast.check(**inputs | grouped, out=out, last_state=state).worst == expected.worst
    turned = {n: inputs[n].swapaxes(1, 2) for n in ("u", "delta")}
    turned |= {n: pairs(numpy.ascontiguousarray(inputs[n].swapaxes(1, 2))) for n in ("B", "C")}
    report = holdfast.check(**inputs | turned, out=out.swapaxes(1, 2), last_state=state, layout="bld")
    assert elements(report)["cases"][0]["worst"] == elements(expected)["cases"][0]["worst"]
    constant = inputs | {name: inputs[name][0, :, :4].T.copy() for name in ("B", "C")}
    out, _ = reference(**constant)
    expected = holdfast.check(**constant, out=out)
    twos = {name: pairs(constant[name]) for name in ("B", "C")}
    assert expected.passed and holdfast.check(**constant | twos, out=out).worst == expected.worst


def test_conventions_are_stated_as_in_a_file(run):
    inputs, _ = run
    # C of the position itself reads the state before it.
    constant = inputs | {"C": inputs["C"][0, :, :1].repeat(4, axis=1).T.copy()}
    out, _ = reference(**constant)
    late = numpy.concatenate([numpy.zeros_like(out[..., :1]), out[..., :-1]], axis=-1)
    report = holdfast.check(**constant, method="zoh", out=late)
    assert report.diagnosis[0].name == "reads-before-update"
    assert holdfast.check(**constant, method="zoh", out=late, reads="before-update").passed
    reversed_run = {n: a if n == "A" else a[..., ::-1] for n, a in inputs.items()}
    out, _ = reference(**inputs)
    assert holdfast.check(**reversed_run, method="zoh", out=out[..., ::-1], direction="reverse").passed
    assert not holdfast.check(**reversed_run, method="zoh", out=out[..., ::-1]).passed


def test_several_outputs_are_several_cases(run):
    inputs, out = run
    wrong, _ = reference(**inputs, wrong="exact")
    report = holdfast.check(**inputs, out={"zoh": out, "zoh-exact.mine": wrong, "zoh.bad": wrong})
    assert {case.id: case.verdict for case in report.cases} == {
        "arrays/zoh": "pass",
        "arrays/zoh-exact.mine": "pass",
        "arrays/zoh.bad": "fail",
    }


def test_what_returns_its_last_state_may_be_passed_on_as_it_is(run):
    inputs, _ = run
    out, state = reference(**inputs)
    report = holdfast.check(**inputs, method="zoh", out=(out, state))
    assert report.passed and set(report.to_dict()["cases"][0]["tensors"]) == {"out", "last_state"}
    assert not holdfast.check(**inputs, method="zoh", out=(out, -state)).passed

    class Scanned(NamedTuple):
        out: object
        last_state: object

    report = holdfast.check(**inputs, method="zoh", out=Scanned(out, state))
    assert report.passed and set(report.to_dict()["cases"][0]["tensors"]) == {"out", "last_state"}


@pytest.mark.parametrize("kind", ["f4", "f2", "c8"])
@pytest.mark.parametrize("more", range(8))
def test_a_recording_holds_every_number_whatever_the_strides(tmp_path, kind, more):
    inputs = drawn(seqlen=1001)
    for name in inputs if kind == "f2" else "ABC" if kind == "c8" else ():
        inputs[name] = inputs[name] if kind == "f2" and name == "A" else (inputs[name] * (1 if kind == "f2" else 1 + 1j)).astype(kind)
    run = {name: numpy.asfortranarray(array) for name, array in inputs.items()}
    file = tmp_path / "run.safetensors"
    # Pieces of the file end within numbers, wherever its header ends.
    holdfast.record(file, **run, method="zoh", out=run["u"], note="n" * more)
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    for name, array in {**inputs, "out.zoh": inputs["u"]}.items():
        start, end = header[name]["data_offsets"]
        assert data[8 + length + start : 8 + length + end] == numpy.ascontiguousarray(array).tobytes(), name


class OnlyDlpack:
    """An array of a framework that nobody knows."""

    def __init__(self, array):
        self.held = array

    def __dlpack__(self, **more):
        return self.held.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


def test_arrays_of_unknown_frameworks_come_by_dlpack(run):
    inputs, out = run
    expected = holdfast.check(**inputs, method="zoh", out=out)
    other = {name: OnlyDlpack(array) for name, array in inputs.items()}
    assert holdfast.check(**other, method="zoh", out=OnlyDlpack(out)).worst == expected.worst


class OnDevice:
    """An array of CuPy, as far as it shows: its numbers are not where NumPy could read them."""

    def __init__(self, array):
        self.held = array

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.held.shape, "typestr": self.held.dtype.str, "data": (1, True), "version": 3}

    def get(self):
        return self.held

    def __array__(self, *more, **others):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")


def test_arrays_of_cupy_are_fetched(run):
    inputs, out = run
    expected = holdfast.check(**inputs, method="zoh", out=out)
    other = {name: OnDevice(array) for name, array in inputs.items()}
    assert holdfast.check(**other, method="zoh", out=OnDevice(out)).worst == expected.worst


def test_arrays_of_jax(run):
    jax = pytest.importorskip("jax", reason="unmeasured: no JAX")
    inputs, out = run
    expected = holdfast.check(**inputs, method="zoh", out=out)
    arrays = {name: jax.numpy.asarray(array) for name, array in inputs.items()}
    assert holdfast.check(**arrays, method="zoh", out=jax.numpy.asarray(out)).worst == expected.worst
    narrow = {n: a if n == "A" else a.astype("bfloat16") for n, a in arrays.items()}
    widened = {n: numpy.asarray(a.astype("float32")) for n, a in narrow.items()}
    rounded = jax.numpy.asarray(reference(**widened)[0]).astype("bfloat16")
    report = holdfast.check(**narrow, method="zoh", out=rounded)
    assert report.passed and report.to_dict()["cases"][0]["input"] == "bf16"
    result = holdfast.scan(**narrow, method="zoh")
    assert isinstance(result, jax.Array) and result.dtype == "bfloat16"


def test_tensors_of_torch(run):
    torch = pytest.importorskip("torch", reason="unmeasured: no PyTorch")
    inputs, out = run
    expected = holdfast.check(**inputs, method="zoh", out=out)
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    for device in devices:
        tensors = {name: torch.tensor(array, device=device) for name, array in inputs.items()}
        tensors["u"].requires_grad_()
        result = torch.tensor(out, device=device)
        assert holdfast.check(**tensors, method="zoh", out=result).worst == expected.worst
        narrow = {n: a if n == "A" else a.detach().bfloat16() for n, a in tensors.items()}
        narrow["delta"] = narrow["delta"].transpose(1, 2).contiguous().transpose(1, 2)
        result = holdfast.scan(**narrow, method="zoh")
        assert result.dtype == torch.bfloat16 and result.device.type == device
        assert holdfast.check(**narrow, method="zoh", out=result).passed


def test_a_scan_goes_on_from_a_state_in_every_layout():
    inputs = drawn(groups=2)
    whole, last = reference(**inputs)
    cut = {name: array if name == "A" else array[..., 16:] for name, array in inputs.items()}
    _, between = reference(**{name: array if name == "A" else array[..., :16] for name, array in inputs.items()})
    turned = {name: array if name == "A" else numpy.moveaxis(array, -1, 1) for name, array in cut.items()}
    for layout, given in (("bdl", cut), ("bld", turned)):
        out, state = holdfast.scan(**given, layout=layout, initial_state=between, return_last_state=True)
        assert out.shape == given["u"].shape
        assert numpy.allclose(out if layout == "bdl" else out.swapaxes(1, 2), whole[..., 16:], rtol=1e-4, atol=1e-5)
        assert holdfast.check(**given, layout=layout, initial_state=between, out=out, last_state=state).passed
    assert numpy.allclose(state, last, rtol=1e-4, atol=1e-5)
    u = numpy.random.default_rng(4).normal(size=(2, 16, 4, 3)).astype("f4")
    heads = {"u": u, "delta": abs(u[..., 0]), "A": -numpy.ones(4, "f4"), "B": u[:, :, :2, :1], "C": u[:, :, :2, 1:2]}
    out, state = holdfast.scan(**heads, layout="blhp", return_last_state=True)
    assert out.shape == u.shape and state.shape == (2, 4, 3, 1)
    assert holdfast.check(**heads, layout="blhp", out=out, last_state=state).passed
    again = holdfast.scan(**heads, layout="blhp", initial_state=state)
    assert holdfast.check(**heads, layout="blhp", initial_state=state, out=again).passed and not numpy.array_equal(again, out)


def test_a_scan_of_what_requires_gradients_is_refused(torch, run):
    inputs, _ = run
    tensors = {name: torch.tensor(array) for name, array in inputs.items()}
    tensors["B"].requires_grad_()
    with pytest.raises(ValueError, match="tensor `B` requires grad, expected none that does.*hint: torch.no_grad"):
        holdfast.scan(**tensors)
    with torch.no_grad():
        assert holdfast.scan(**tensors).shape == tensors["u"].shape
