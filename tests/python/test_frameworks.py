"""Promise: what people have installed is judged as it is, and each scan of theirs gets the verdict that its formula deserves.

What is not installed is unmeasured; .github/CONTRIBUTING.md says how to install it.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types
from unittest.mock import MagicMock

import numpy
import pytest
from conftest import drawn, needed, scan_of_torch

import holdfast


def judged(*paths):
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "check", *map(str, paths)], capture_output=True, text=True, encoding="utf-8"
    )


def test_a_right_scan_of_torch_passes(torch):
    report = holdfast.assert_correct(scan_of_torch(), method="zoh", xp=torch)
    assert report.passed and f"torch {torch.__version__}" in str(report)


def test_a_wrong_scan_of_torch_gets_its_cause_from_four_lines(torch, pytester):
    pytester.makepyfile(
        test_mine=f"""
        import sys; sys.path.insert(0, {str(__file__.rpartition("/")[0])!r})
        from conftest import scan_of_torch

        import holdfast, torch
        def test_my_scan():
            holdfast.assert_correct(scan_of_torch("exact"), method="zoh", regimes="short", xp=torch)
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*looks like runs-as-zoh-exact*"])
    with pytest.raises(AssertionError, match="softplus-twice"):
        holdfast.assert_correct(scan_of_torch("twice"), method="zoh", regimes="everything-on", xp=torch)


@pytest.mark.parametrize("wrong", [None, "exact"])
def test_a_scan_of_jax(wrong):
    jax = needed("jax", "JAX")

    @jax.jit
    def scan(u, delta, A, B, C):
        def step(x, now):
            delta, u, B, C = now
            power = delta[..., None] * A
            held = jax.numpy.expm1(power) / A if wrong else delta[..., None]
            x = jax.numpy.exp(power) * x + held * B[:, None] * u[..., None]
            return x, (x * C[:, None]).sum(-1)

        turned = [jax.numpy.moveaxis(array, -1, 0) for array in (delta, u, B[:, 0], C[:, 0])]
        start = jax.numpy.zeros((u.shape[0], *A.shape), "float32")
        state, out = jax.lax.scan(step, start, tuple(turned))
        return jax.numpy.moveaxis(out, 0, -1), state

    def judge():
        return holdfast.assert_correct(scan, regimes="short", b="grouped", c="grouped", xp=jax.numpy)

    if wrong is None:
        assert judge().passed
        return
    with pytest.raises(AssertionError, match="looks like runs-as-zoh-exact"):
        judge()


@pytest.mark.parametrize(
    "theirs, ours",
    [("zoh", "zoh-exact"), ("bilinear", "bilinear"), ("euler", "euler"), ("backward_diff", "backward-euler")],
)
def test_the_discretizations_of_scipy_are_the_textbooks(theirs, ours):
    signal = needed("scipy.signal", "SciPy")
    a, b = numpy.array([[-1.0, 2.0], [0.0, -3.0]]), numpy.array([[1.0], [0.5]])
    known = holdfast.discretize(ours, a, b, 0.25)
    a_bar, b_bar, *_ = signal.cont2discrete((a, b, numpy.eye(2), numpy.zeros((2, 1))), 0.25, theirs)
    assert numpy.abs(a_bar - known.a_bar).max() < 1e-14 and numpy.abs(b_bar - known.b_bar).max() < 1e-14
    # The production's zoh is another one.
    assert numpy.abs(b_bar - holdfast.discretize("zoh", a, b, 0.25).b_bar).max() > (0.01 if theirs != "euler" else -1)


@pytest.mark.parametrize("kind, delta", [("f4", 0.01), ("c8", 0.03)])
def test_scipy_s_backward_diff_that_is_read_after_its_update_has_no_false_name(kind, delta):
    """Its C and D are those of the state before the update: C(I − ΔA)⁻¹ reads it, and CB̄ is in D. Two edits say so, if there is time."""
    signal = needed("scipy.signal", "SciPy")
    rng = numpy.random.default_rng(14)
    normal = lambda *shape: rng.normal(size=shape) + 1j * rng.normal(size=shape) * (kind == "c8")
    A = (-rng.uniform(0.2, 4, (2, 8)) + 2j * (normal(2, 8).imag)).astype("c8")
    A, B, C = (w.real.astype("f4") if kind == "f4" else w.astype("c8") for w in (A, normal(2, 8), normal(2, 8)))
    u = rng.normal(size=(1, 2, 128)).astype("f4")
    out = {"dlsim": numpy.zeros_like(u), "after": numpy.zeros_like(u)}
    for channel, (a, b, c) in enumerate(zip(A, B, C)):
        system = (numpy.diag(a), b[:, None], c[None], numpy.zeros((1, 1)))
        a_bar, b_bar, c_bar, d_bar, _ = signal.cont2discrete(tuple(w.astype("c16") for w in system), float(numpy.float32(delta)), "backward_diff")
        state = numpy.zeros(8, "c16")
        for l, now in enumerate(u[0, channel]):
            before, state = state, a_bar @ state + b_bar[:, 0] * now
            for name, read in (("dlsim", before), ("after", state)):
                out[name][0, channel, l] = (1 + (kind == "c8")) * (c_bar @ read + d_bar[0] * now).real[0]
    run = {"u": u, "delta": numpy.full_like(u, delta), "A": A, "B": B, "C": C, "method": "backward-euler"}
    assert holdfast.check(**run, out=out["dlsim"]).passed
    report = holdfast.check(**run, out=out["after"])
    exact = "input-added-to-state + scan-times-inverse"
    assert not report.passed and {one.name for one in report.diagnosis} <= {exact}, report.diagnosis


@pytest.mark.parametrize("theirs, ours", [("discretize_zoh", "zoh-exact"), ("discretize_bilinear", "bilinear")])
def test_the_discretizations_of_s5(torch, theirs, ours):
    s5 = needed("s5.s5_model", "s5-pytorch")
    a, b = numpy.array([-0.5 + 3.25j, -1 - 2j]), numpy.array([1.0 + 0.5j, 2.0 + 0j])
    known = holdfast.discretize(ours, a, b, 0.125)
    tensors = [torch.tensor(array, dtype=torch.complex128) for array in (a, b[:, None])]
    a_bar, b_bar = getattr(s5, theirs)(*tensors, torch.full((2,), 0.125, dtype=torch.float64))
    assert numpy.abs(a_bar.numpy() - known.a_bar).max() < 1e-14
    assert numpy.abs(b_bar.numpy()[:, 0] - known.b_bar).max() < 1e-14


@pytest.mark.parametrize("theirs, ours", [("mamba", "zoh"), ("zoh", "zoh-exact"), ("bilinear", "bilinear")])
def test_the_scans_of_lrnnx(torch, monkeypatch, tmp_path, theirs, ours):
    needed("lrnnx")
    # Its kernels are for GPUs, and imported beside their reference.
    kernels = ("selective_scan_cuda", "simplified_scan_cuda", "s7_scan_cuda", "rglru_scan_cuda", "triton", "triton.language")
    for kernel in [name for name in kernels if importlib.util.find_spec(name.partition(".")[0]) is None]:
        monkeypatch.setitem(sys.modules, kernel, MagicMock(Config=lambda *_, **__: MagicMock(num_warps=1)))
    scans = importlib.import_module("lrnnx.ops.selective_scan")
    inputs = {name: torch.from_numpy(array) for name, array in drawn().items()}
    with holdfast.capture(tmp_path / "run.safetensors") as recorded:
        out, state = scans.selective_scan_ref(**inputs, discretization=theirs, return_last_state=True)
    if theirs == "mamba":
        assert len(recorded.paths) == 1
    else:
        assert "argument `discretization`" in recorded.reasons[0]
    assert holdfast.check(**inputs, method=ours, out=out, last_state=state).passed
    other = holdfast.check(**inputs, method="foh", out=out)
    assert not other.passed


def model_of_transformers(torch):
    """Three layers, the module with their scan, and tokens."""
    transformers = needed("transformers")
    from transformers.models.mamba import modeling_mamba

    if not hasattr(modeling_mamba, "mamba_selective_scan"):
        pytest.skip("unmeasured: transformers is older than 5, whose scan is no function of its own")
    config = transformers.MambaConfig(
        vocab_size=50, hidden_size=16, state_size=4, num_hidden_layers=3, intermediate_size=32, use_cache=False
    )
    return transformers.MambaForCausalLM(config), modeling_mamba, torch.arange(48).reshape(2, 24) % 50


def test_a_forward_pass_of_transformers_is_judged_layer_by_layer(torch, tmp_path):
    model, modeling_mamba, tokens = model_of_transformers(torch)
    model.eval()
    with torch.no_grad():
        expected = model(tokens).logits
        with holdfast.capture(tmp_path / "run.safetensors", model=model) as recorded:
            assert torch.equal(model(tokens).logits, expected)
    assert recorded.reasons == [] and len(recorded.paths) == 3
    said = judged(*recorded.paths)
    assert said.returncode == 0 and "3 cases: 3 pass" in said.stdout
    layers = [said.stdout.find(f"layer backbone.layers.{layer}.mixer") for layer in range(3)]
    assert -1 not in layers and layers == sorted(layers)

    # And one that is wrong in its second layer alone.
    scan = modeling_mamba.mamba_selective_scan
    calls = []

    def second_is_wrong(hidden_states, dt, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, **more):
        calls.append(None)
        if len(calls) % 3 != 2:
            return scan(hidden_states, dt, A, B, C, D, z, delta_bias, delta_softplus, **more)
        out, state = scan_of_torch("exact")(
            hidden_states, dt, A, B[:, None], C[:, None], D, z, delta_bias, delta_softplus
        )
        return (out, state) if more.get("return_last_state") else out

    modeling_mamba.mamba_selective_scan = second_is_wrong
    try:
        with torch.no_grad(), holdfast.capture(tmp_path / "wrong.safetensors", model=model) as recorded:
            model(tokens)
    finally:
        modeling_mamba.mamba_selective_scan = scan
    said = judged(*recorded.paths)
    assert said.returncode == 1 and "3 cases: 2 pass, 1 fail" in said.stdout
    assert "\nFAIL wrong-2.safetensors/zoh" in said.stdout and "looks like runs-as-zoh-exact" in said.stdout


@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_a_training_step_of_transformers_is_judged_layer_by_layer(torch, tmp_path, is_checkpointed):
    model, _, tokens = model_of_transformers(torch)
    model.train()
    if is_checkpointed:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

    def step():
        model.zero_grad()
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        return [loss.detach(), *(parameter.grad.clone() for parameter in model.parameters())]

    expected = step()
    with holdfast.capture(tmp_path / "run.safetensors", model=model) as recorded:
        assert all(map(torch.equal, step(), expected))
    assert (recorded.reasons, recorded.calls, recorded.backward) == ([], 3, 3)
    said = judged(*recorded.paths)
    assert said.returncode == 0 and "3 cases: 3 pass" in said.stdout and "3 backward cases: 3 pass" in said.stdout


@pytest.mark.parametrize("scan", ["selective_scan", "selective_scan_seq"])
def test_the_gradients_of_mambapy(torch, scan):
    block = needed("mambapy.mamba", "mambapy").MambaBlock

    def turned(u, delta, A, B, C):
        config = types.SimpleNamespace(d_inner=u.shape[1], d_state=A.shape[1])
        given = (u.mT, delta.mT, A, B[:, 0].mT, C[:, 0].mT, torch.zeros(u.shape[1]))
        return getattr(block, scan)(types.SimpleNamespace(config=config), *given).mT

    asked = {"regimes": ["short", "tiny-z", "stiff", "delta-zero"], "b": "grouped", "c": "grouped", "gradients": "all"}
    assert holdfast.assert_correct(turned, xp=torch, **asked).passed


@pytest.mark.parametrize("is_parallel", [False, True])
def test_a_forward_pass_of_mambapy(torch, tmp_path, is_parallel):
    mamba = needed("mambapy.mamba", "mambapy")
    model = mamba.Mamba(mamba.MambaConfig(d_model=8, n_layers=2, d_state=4, pscan=is_parallel))
    with torch.no_grad(), holdfast.capture(tmp_path / "run.safetensors", model=model) as recorded:
        model(torch.randn(2, 16, 8))
    assert recorded.reasons == [] and len(recorded.paths) == 2
    said = judged(*recorded.paths)
    assert said.returncode == 0 and "2 cases: 2 pass" in said.stdout and "layer layers.1.mixer" in said.stdout


def apart(got, want):
    """Relative, in the norm of all numbers."""
    return numpy.linalg.norm(got.numpy() - want) / numpy.linalg.norm(want)


#: A few hundred roundings of f32 are within this, and no mistake in a formula is.
ROUNDED = 2.0**-19


@pytest.mark.parametrize("wrong", [None, "exact", "twice"])
def test_gradients_are_those_of_autograd(torch, wrong):
    def draw(*shape):
        return torch.randn(*shape, requires_grad=True)

    batch, dim, dstate, seqlen, groups = 2, 6, 4, 37, 2
    given = {"u": draw(batch, dim, seqlen), "delta": draw(batch, dim, seqlen)}
    given["A"] = (-torch.rand(dim, dstate) * 4 - 0.1).requires_grad_()
    given |= {"B": draw(batch, groups, dstate, seqlen), "C": draw(batch, groups, dstate, seqlen), "D": draw(dim)}
    given |= {"z": draw(batch, dim, seqlen), "delta_bias": draw(dim)}
    scanned = scan_of_torch(wrong)(**given, delta_softplus=True)
    out = scanned[0] if isinstance(scanned, tuple) else scanned
    dout = torch.randn(batch, dim, seqlen)
    out.backward(dout)
    inputs = {name: tensor.detach() for name, tensor in given.items()}
    right = holdfast.gradients(**inputs, delta_softplus=True, method="zoh", dout=dout)
    off = {name: apart(tensor.grad, getattr(right, name)) for name, tensor in given.items()}
    if wrong is None:
        assert max(off.values()) < ROUNDED, off
    else:
        assert min(off[name] for name in ("u", "delta", "A", "B")) > 1e-3, off


def test_the_backward_pass_that_mambapy_wrote(torch):
    """Its parallel scan has a backward pass of its own, by hand."""
    pscan = needed("mambapy.pscan", "mambapy").pscan
    batch, seqlen, dim, dstate = 2, 67, 8, 4
    u, dout = torch.randn(2, batch, seqlen, dim)
    delta, A = torch.rand(batch, seqlen, dim) * 0.2 + 0.01, -torch.rand(dim, dstate) * 4 - 0.1
    B, C = torch.randn(2, batch, seqlen, dstate)
    given = {"u": u, "delta": delta, "A": A, "B": B, "C": C, "D": torch.ones(dim)}
    for tensor in given.values():
        tensor.requires_grad_()
    power = torch.exp(delta[..., None] * A)
    states = pscan(power, delta[..., None] * B[:, :, None] * u[..., None])
    ((states @ C[..., None]).squeeze(3) + given["D"] * u).backward(dout)
    ours = {name: tensor.detach().transpose(1, 2) if tensor.ndim == 3 else tensor.detach() for name, tensor in given.items()}
    right = holdfast.gradients(**ours, method="zoh", dout=dout.transpose(1, 2))
    for name, tensor in given.items():
        got = tensor.grad.transpose(1, 2) if tensor.ndim == 3 else tensor.grad
        assert apart(got, getattr(right, name)) < ROUNDED, name


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_mamba_2_of_transformers_is_judged_over_a_prompt_and_the_tokens_after_it(torch, tmp_path, kind):
    transformers = needed("transformers")
    from transformers.models.mamba2 import modeling_mamba2

    if not hasattr(modeling_mamba2, "mamba2_chunk_scan"):
        pytest.skip("unmeasured: transformers is older than 5, whose scan is no function of its own")
    sizes = {"hidden_size": 16, "num_heads": 4, "head_dim": 8, "n_groups": 2, "state_size": 4, "num_hidden_layers": 2}
    config = transformers.Mamba2Config(vocab_size=50, chunk_size=8, expand=2, **sizes)
    model = transformers.Mamba2ForCausalLM(config).to(getattr(torch, kind)).eval()
    tokens = torch.arange(22).reshape(2, 11) % 50
    # The scan itself is right in bf16, too, and returns f32; steps are rounded on their way into it.
    stated = {"arithmetic": "delta=bfloat16"} if kind == "bfloat16" else {}
    with torch.no_grad(), holdfast.capture(tmp_path / "run.safetensors", model=model, **stated) as recorded:
        prompt = model(tokens, use_cache=True)
        model(tokens[:, :1], cache_params=prompt.cache_params, use_cache=True)
    assert (recorded.calls, recorded.reasons, len(recorded.paths)) == (4, [], 4)
    said = " ".join(judged(*recorded.paths).stdout.split())
    assert "4 cases: 4 pass" in said and ("out is in f32" in said) == (kind == "bfloat16"), said
