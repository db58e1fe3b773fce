"""Promise: `holdfast.torch` computes what the judge allows, forwards and backwards, by every method on every path, and is an operator
like PyTorch's own. On CUDA tensors as well, where there is a GPU; .ci/gpu has these tests run there."""

from __future__ import annotations

import copy
import json
import re
import sys
import types
from pathlib import Path

import pytest

import holdfast

torch = pytest.importorskip("torch", reason="unmeasured: no PyTorch")
from torch._subclasses import FakeTensor, FakeTensorMode  # noqa: E402

import holdfast.torch as ours  # noqa: E402
from holdfast import _torch as kernels  # noqa: E402
from holdfast._torch_layers import FUSED, layer  # noqa: E402

METHODS = ours._METHODS
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="unmeasured: no CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    monkeypatch.delenv("VIM_USE_CUDA_KERNEL", raising=False)
    torch.manual_seed(0)
    # Small tensors are slower on many threads, and far slower where others use the machine, too.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def drawn(device="cpu", batch=2, dim=4, dstate=4, seqlen=20, groups=None, kind=torch.float32, weights=torch.float32, constant="", bare=False):
    """Inputs that require grad. `constant`: which of B and C are; those that vary have groups or not. `bare`: none that may be left out."""
    variable = (batch, dstate, seqlen) if groups is None else (batch, groups, dstate, seqlen)
    if weights.is_complex:
        variable = (*variable[:-1], 2 * seqlen)
    x = {
        # As what a linear layer has returned.
        "u": torch.randn(batch, seqlen, dim, dtype=kind).transpose(1, 2),
        "delta": torch.rand(batch, dim, seqlen, dtype=kind) / 2,
        # In memory the conjugate, and below the negative.
        "A": torch.complex(-torch.rand(dim, dstate), torch.randn(dim, dstate)).conj() if weights.is_complex else -torch.rand(dim, dstate),
        **{name: torch.randn(*variable, dtype=kind) for name in "BC" if name not in constant},
        **{name: torch.randn(dim, dstate, dtype=weights) for name in constant},
        "D": torch._neg_view(torch.randn(dim)),
        "z": torch.randn(batch, dim, seqlen, dtype=kind),
        "delta_bias": torch.rand(dim) / 4,
    }
    # φ-functions have no quotient there.
    x["A"][0, 0] = 0
    x = {name: x[name].to(device) for name in kernels.INPUTS[: 5 if bare else None]}
    # From an address that no kernel reads from.
    x["delta"] = torch.cat([x["delta"].flatten()[:1], x["delta"].flatten()])[1:].reshape(batch, dim, seqlen)
    return {name: one.requires_grad_() for name, one in x.items()}


def run(x, **words):
    """What a scan and its backward pass return, and what they started from, as `check` takes them."""
    out, last_state = ours.selective_scan_fn(**x, delta_softplus=True, return_last_state=True, **words)
    torch.manual_seed(1)
    starts = [torch.randn(one.shape, dtype=one.dtype).to(one.device) for one in (out, last_state)]
    grads = torch.autograd.grad([out, last_state], list(x.values()), starts)
    return {"out": out, "last_state": last_state, "dout": starts[0], "dlast_state": starts[1], "grads": dict(zip(x, grads))}


def is_right(x, computed, method, **words):
    report = holdfast.check(**x, delta_softplus=True, method=method, **computed, **words)
    assert report.passed, report
    return computed


KINDS = {
    "real": {},
    "groups of bf16": {"groups": 2, "kind": torch.bfloat16},
    "bare, constant B": {"groups": 2, "constant": "B", "bare": True},
    "complex": {"weights": torch.complex64},
    "constant complex": {"weights": torch.complex64, "constant": "BC", "kind": torch.float16},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_outputs_and_gradients_of_both_paths_are_right(method, kind, device):
    x = drawn(device, **KINDS[kind])
    for use_cuda_kernel, path in ((None, device), (False, "reference")):
        computed = is_right(x, run(x, discretization_method=method, use_cuda_kernel=use_cuda_kernel), method)
        assert ours.last_path() == path
        assert all(at % 16 == 0 for at in kernels._addresses(x.values(), []))
        # A loss that sees one of the two.
        _, last_state = ours.selective_scan_fn(
            **x, delta_softplus=True, return_last_state=True, discretization_method=method, use_cuda_kernel=use_cuda_kernel
        )
        grads = dict(zip("AB", torch.autograd.grad(last_state, [x["A"], x["B"]], computed["dlast_state"])))
        is_right(x, {"dout": torch.zeros_like(computed["out"]), "dlast_state": computed["dlast_state"], "grads": grads}, method)


@pytest.mark.parametrize("device", DEVICES)
def test_the_fast_tier_and_more_states_than_a_tile_are_right(device):
    x = drawn(device, seqlen=150, dstate=20)
    is_right(x, run(x, tier="fast"), "zoh", arithmetic="exp=fast")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weights, constant", [(torch.float32, ""), (torch.complex64, "B")])
@pytest.mark.parametrize("method", METHODS)
def test_a_scan_goes_on_from_a_state(method, weights, constant, device):
    x = drawn(device, weights=weights, constant=constant, groups=2)
    x["initial_state"] = torch.randn(2, 4, 4, dtype=weights).to(device).requires_grad_()
    for use_cuda_kernel in (None, False):
        is_right(x, run(x, discretization_method=method, use_cuda_kernel=use_cuda_kernel), method)


def test_types_that_are_mixed_are_computed_in_the_widest():
    x = drawn()
    narrow = {name: x[name].detach().to(torch.bfloat16) for name in ("u", "z", "A")}
    out = ours.selective_scan_fn(**{**x, **narrow})
    wide = ours.selective_scan_fn(**{**x, **{name: one.float() for name, one in narrow.items()}})
    assert out.dtype == torch.bfloat16 and torch.equal(out, wide.to(torch.bfloat16))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer = torch.nn.Linear(20, 20)
        assert ours.selective_scan_fn(layer(x["u"]), *list(x.values())[1:]).dtype == torch.bfloat16


@pytest.mark.parametrize("device", DEVICES)
def test_it_is_an_operator(device):
    x = drawn(device)
    torch.library.opcheck(kernels.SCAN, (*x.values(), True, "foh", "accurate"))

    def scan(*given):
        return ours.selective_scan_fn(*given, True, return_last_state=True, discretization_method="foh")

    def grads(fn):
        return torch.autograd.grad(sum(one.sum() for one in fn(*x.values())), list(x.values()))

    compiled = torch.compile(scan, fullgraph=True, backend="aot_eager")
    checkpointed = lambda *given: torch.utils.checkpoint.checkpoint(scan, *given, use_reentrant=False)
    found = grads(scan)
    for other in (scan, compiled, checkpointed):
        assert all(torch.equal(one, two) for one, two in zip(found, grads(other)))
    # What waits for the backward pass is the inputs, and nothing that was computed.
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda one: saved.append(one.data_ptr()), lambda one: one):
        scan(*x.values())
    assert set(saved) == {one.data_ptr() for one in x.values()}


def test_gradients_have_none_of_their_own():
    x = drawn()
    for scan in (lambda *given: kernels.scan(given[:8], given[8:]), kernels.SCAN):
        out, _ = scan(*x.values(), True, "zoh", "accurate")
        (grad,) = torch.autograd.grad(out.sum(), x["u"], create_graph=True)
        with pytest.raises(RuntimeError, match="hint: use_cuda_kernel=False"):
            grad.sum().backward()
    out = ours.selective_scan_fn(**x, use_cuda_kernel=False)
    (grad,) = torch.autograd.grad(out.sum(), x["delta"], create_graph=True)
    grad.sum().backward()


def test_a_path_that_is_forced_runs_or_fails(monkeypatch):
    assert METHODS == tuple(method.name for method in holdfast.methods())[: len(METHODS)]
    x = drawn()
    with pytest.raises(RuntimeError, match=r"use_cuda_kernel=True.*u is on cpu.*hint"):
        ours.selective_scan_fn(**x, use_cuda_kernel=True)
    monkeypatch.setenv("VIM_USE_CUDA_KERNEL", "0")
    ours.selective_scan_fn(**x)
    assert ours.last_path() == "reference"
    with pytest.raises(RuntimeError, match="u is on cpu"):
        ours.selective_scan_fn(**x, use_cuda_kernel=True)
    with pytest.raises(ValueError, match="has no other one"):
        ours.selective_scan_fn(**x, tier="fast")
    monkeypatch.setenv("VIM_USE_CUDA_KERNEL", "1")
    with pytest.raises(RuntimeError, match="VIM_USE_CUDA_KERNEL=1"):
        ours.selective_scan_fn(**x)
    monkeypatch.setenv("VIM_USE_CUDA_KERNEL", "yes")
    with pytest.raises(ValueError, match="expected 0 or 1"):
        ours.selective_scan_fn(**x)
    monkeypatch.delenv("VIM_USE_CUDA_KERNEL")
    # There is no kernel in double.
    ours.selective_scan_fn(**{name: one.double() for name, one in x.items()})
    assert ours.last_path() == "reference"


WRONG = [
    ("u", lambda one: one[0], "batch, dim, seqlen"),
    ("delta", lambda one: one[..., :7], r"delta.*7\).*expected \(2, 4, 20\)"),
    ("A", lambda one: one[:3], "one row for each channel"),
    ("B", lambda one: one[..., :7], "tensor `B`"),
    ("B", lambda one: one[:, None].expand(-1, 3, -1, -1), "divides 4"),
    ("C", lambda one: one[:, None].expand(-1, 2, -1, -1), "`C` is of 2 groups, expected 1 as B"),
    ("D", lambda one: one[:1], "tensor `D`"),
    ("z", lambda one: one[:1], "tensor `z`"),
    ("delta_bias", lambda one: one[None], "tensor `delta_bias`"),
    ("D", lambda one: one.to("meta"), "is on meta"),
    ("initial_state", lambda one: torch.zeros(2, 4, 5), "initial_state is"),
    ("discretization_method", lambda one: "fou", "foh"),
    ("tier", lambda one: "quick", "accurate"),
]


@pytest.mark.parametrize("name, change, said", WRONG)
def test_what_is_no_scan_is_refused_before_a_kernel_sees_it(name, change, said):
    x = drawn()
    with pytest.raises(ValueError, match=said) as raised:
        ours.selective_scan_fn(**{**x, name: change(x.get(name))})
    assert "expected" in str(raised.value) and "hint" in str(raised.value)


def test_what_is_prepared_is_not_made_again():
    model = torch.nn.Module()
    model.A_log = torch.nn.Parameter(torch.zeros(4, 4))
    model.child = torch.nn.Linear(2, 2)
    assert ours.prepare(model, method="rk4", batch=2, seqlen=20) == 2
    known = set(kernels._KERNELS)
    run({**drawn(groups=1), "z": torch.randn(2, 4, 20).requires_grad_()}, discretization_method="rk4")
    assert set(kernels._KERNELS) == known
    with pytest.raises(ValueError, match="no layer with A_log"):
        ours.prepare(model.child)


@pytest.mark.parametrize("device", DEVICES)
def test_a_plan_is_for_calls_like_its_own(monkeypatch, device):
    x = {name: one.detach().resolve_neg().contiguous() for name, one in drawn(device).items()}
    x["delta"] = x["delta"].clone()

    def scan(words=None, **changed):
        given = {"delta_softplus": True, "return_last_state": True, **x, **changed, **(words or {})}
        return ours.selective_scan_fn(**given)

    def anew(**changed):
        kernels._PLANS.clear()
        return scan(**changed)

    def turned(one):
        return one.mT.contiguous().mT

    narrow = {name: x[name].bfloat16() for name in ("u", "delta", "B", "C", "z")}
    others = [narrow, {"u": turned(x["u"])}, {"A": turned(x["A"])}, {"D": torch._neg_view(x["D"])}]
    others += [{"delta": drawn(device)["delta"].detach()}, {"B": x["B"][:, None]}, *[{name: None} for name in ("D", "z", "delta_bias")]]
    others += [{"words": words} for words in ({"discretization_method": "foh"}, {"tier": "fast"}, {"delta_softplus": False})]
    for other in [{}, *others, {"D": None, "z": None, "delta_bias": None}, {"delta_bias": x["D"]}]:
        expected = anew(**other)
        anew()
        found = [scan(**other)]
        with monkeypatch.context() as patch:
            # Plans look up no kernel. Calls with a tensor in two places have none.
            patch.setattr(kernels, "kernel_of", kernels.kernel_of if other.get("delta_bias") is x["D"] else None)
            found += [scan(**other), scan(**other)]
        assert all(torch.equal(one, two) and one.dtype == two.dtype for outs in found for one, two in zip(outs, expected)), other
    for name, nothing in zip(("D", "z", "delta_bias"), kernels._ABSENT):
        scan(**{name: None})
        for wrong in (x["A"], nothing.clone()):
            with pytest.raises(ValueError, match=f"tensor `{name}` is .* expected"):
                scan(**{name: wrong})
    with torch.no_grad():
        scan(A=x["A"].clone().requires_grad_())
    assert scan(A=x["A"].clone().requires_grad_())[0].grad_fn is not None and scan()[0].grad_fn is None
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert isinstance(scan()[0], FakeTensor)
    freed = x["z"].clone()
    freed.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="tensor `z` is on .*, expected one with memory"):
        scan(z=freed)
    monkeypatch.setenv("VIM_USE_CUDA_KERNEL", "0")
    scan()
    assert ours.last_path() == "reference"


def test_mamba_ssm_s_functions_are_replaced_and_put_back(monkeypatch):
    interface, model = (types.ModuleType(f"mamba_ssm.{name}") for name in ("ops.selective_scan_interface", "modules.mamba_simple"))
    interface.selective_scan_fn = original = lambda *given, **named: None
    model.selective_scan_fn = original
    model.mamba_inner_fn_no_out_proj = fused = interface.mamba_inner_fn_no_out_proj = lambda *given: None
    for module in (interface, model):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    x = drawn()
    with ours.replaced("rk4") as names:
        assert "mamba_ssm.ops.selective_scan_interface.selective_scan_fn" in names and len(names) == 2
        assert model.mamba_inner_fn_no_out_proj is not fused
        for given, named, found in ((range(15), {}, "15 of them"), ((), {"A_b": 1}, "A_b")):
            with pytest.raises(TypeError, match=rf"mamba_inner_fn_no_out_proj\(\) has the arguments xz, .*, found {found} "):
                model.mamba_inner_fn_no_out_proj(*given, **named)
        out = model.selective_scan_fn(*x.values())
    assert torch.equal(out, ours.selective_scan_fn(**x, discretization_method="rk4"))
    assert interface.selective_scan_fn is original and model.mamba_inner_fn_no_out_proj is fused
    for module in (interface, model):
        monkeypatch.delitem(sys.modules, module.__name__)
    for name in [name for name in sys.modules if name.startswith("transformers.models")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ValueError, match="import the model first"), ours.replaced():
        pass


@pytest.mark.parametrize("weights", [torch.float32, torch.complex64])
@pytest.mark.parametrize("name", FUSED)
def test_layers_that_are_fused_are_those_of_mamba_and_vim(name, weights):
    batch, dim, seqlen, dstate, rank, reach, width = 2, 6, 13, 4, 3, 4, 2 if weights.is_complex else 1
    x = drawn(batch=batch, dim=dim, dstate=dstate, seqlen=seqlen, weights=weights, constant="B")
    A, D, bias = x["A"], x["D"], x["delta_bias"]
    given = {"xz": torch.randn(batch, 2 * dim, seqlen), "conv1d_weight": torch.randn(dim, 1, reach), "conv1d_bias": torch.randn(dim)}
    given |= {"x_proj_weight": torch.randn(rank + 2 * dstate * width, dim) / 3, "delta_proj_weight": torch.randn(dim, rank) / 3}
    given |= {"out_proj_weight": torch.randn(5, dim), "out_proj_bias": torch.randn(5), "A": A, "A_b": A.detach() * 2, "D": D}
    given |= {f"{one}_proj_bias": torch.randn(dstate * width) for one in "BC"} | {"delta_bias": bias}
    # One that does not vary, to be scanned both ways.
    given |= {"B": x["B"]} if name == "bimamba_inner_fn" and width == 1 else {}
    norms = dict(zip(FUSED["mamba_inner_fn"][-4:], (torch.rand(dstate * width), torch.rand(dstate * width), torch.rand(dim), 1e-3)))
    given = {one: value for one, value in {**given, **(norms if weights.is_floating_point else {})}.items() if one in FUSED[name]}
    count = FUSED[name].index("A") + 1
    out = layer(name, ours.selective_scan_fn)(*list(given.values())[:count], **dict(list(given.items())[count:]))

    # Element by element, from the definitions.
    tensors = {one: value for one, value in given.items() if isinstance(value, torch.Tensor)}
    wide = {one: value.to(torch.complex128 if value.is_complex() else torch.float64) for one, value in tensors.items()}
    u, z = wide["xz"][:, :dim], wide["xz"][:, dim:]
    earlier = torch.cat([u.new_zeros(batch, dim, reach - 1), u], -1)
    u = sum(wide["conv1d_weight"][:, 0, i, None] * earlier[..., i : i + seqlen] for i in range(reach)) + wide["conv1d_bias"][:, None]
    u = u * torch.sigmoid(u)
    projected = torch.einsum("bdl,fd->bfl", u, wide["x_proj_weight"])

    def operand(which, rows):
        return normed(f"{which}_rms_weight".lower(), rows + wide[f"{which}_proj_bias"][:, None])

    def normed(weight, rows):
        if weight not in wide:
            return rows
        return rows / (rows.square().mean(1, keepdim=True) + given["b_c_dt_rms_eps"]).sqrt() * wide[weight][:, None]

    count = dstate * width
    delta = normed("dt_rms_weight", torch.einsum("brl,dr->bdl", projected[:, :rank], wide["delta_proj_weight"]))
    operands = [operand("B", projected[:, rank : rank + count]), operand("C", projected[:, rank + count :])]
    operands[0] = wide.get("B", operands[0])
    if width == 2:
        operands = [torch.complex(one[:, ::2], one[:, 1::2]) for one in operands]
    expected = 0
    for states, turned in ((wide["A"], lambda x: x), (wide.get("A_b"), lambda x: x.flip(-1) if x.dim() > 2 else x)):
        if states is not None:
            u_, delta_, B, C, z_ = map(turned, (u, delta, *operands, z))
            expected = expected + turned(
                ours.selective_scan_fn(u_, delta_, states, B, C, wide["D"], z_, wide["delta_bias"], True, use_cuda_kernel=False)
            )
    if "out_proj_weight" in wide:
        expected = torch.einsum("bdl,fd->blf", expected, wide["out_proj_weight"]) + wide["out_proj_bias"]
    assert out.shape == expected.shape and (out - expected).abs().max() < 1e-5 * expected.abs().max()


@pytest.mark.parametrize("device", DEVICES)
def test_a_kernel_that_goes_wrong_while_it_trains_is_found(monkeypatch, device):
    x = drawn(device, dim=6, groups=2)
    with ours.watched(every=1, channels=4) as watch:
        run(x)
    assert not watch.findings and not watch.errors and watch.calls == watch.judged == 2 and "none wrong" in str(watch)
    launch = kernels._launch

    def wrong(*given):
        outputs = launch(*given)
        outputs[0].mul_(1 + 2**-12)
        return outputs

    monkeypatch.setattr(kernels, "_launch", wrong)
    both = ["out-scaled", "gradient-scaled"]
    for scan, names in ((run, both), (lambda x: torch.autograd.grad(kept, x["u"]), both[1:])):
        kept = ours.selective_scan_fn(**x, delta_softplus=True).sum()
        with pytest.warns(UserWarning, match="holdfast.torch.watched: (?s:.)*FAIL"), ours.watched(every=2, channels=64) as watch:
            scan(x)
        assert [report.diagnosis[0].name for report in watch.findings] == names


def model_of_transformers(device):
    transformers = pytest.importorskip("transformers", reason="unmeasured: no transformers")
    from transformers.models.mamba import modeling_mamba

    if not hasattr(modeling_mamba, "mamba_selective_scan"):
        pytest.skip("unmeasured: transformers is older than 5, whose scan is no function of its own")
    sizes = dict(hidden_size=8, state_size=4, num_hidden_layers=2, time_step_rank=2, conv_kernel=3)
    model = transformers.MambaForCausalLM(transformers.MambaConfig(vocab_size=20, **sizes)).to(device).train()
    return model, (torch.arange(48).reshape(2, 24) % 7).to(device), modeling_mamba


def test_the_samples_of_the_guide_run():
    guide = Path(__file__).resolve().parents[2] / "src" / "guide"
    if not guide.exists():
        pytest.skip("unmeasured: the guide is not beside these tests")
    model, tokens, _ = model_of_transformers("cpu")
    space = {"model": model, "tokens": tokens}
    page = (guide / "torch.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(compile(block, "torch.md", "exec"), space)
    assert model.backbone.layers[0].mixer.A_log.grad is not None and "2 of 2 scans" in str(space["watch"])
    # The notebook's own checks hold after a few steps, too.
    cells = json.loads((guide / "training.ipynb").read_text(encoding="utf-8"))["cells"]
    source = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code")
    assert "steps=40" in source
    exec(compile(source.replace("steps=40", "steps=6"), "training.ipynb", "exec"), {})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", METHODS)
def test_a_model_of_transformers_trains(method, device):
    model, tokens, modeling_mamba = model_of_transformers(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    with ours.replaced(method) as names, ours.watched(every=20) as watch:
        assert "transformers.models.mamba.modeling_mamba.mamba_selective_scan" in names
        for _ in range(50):
            optimizer.zero_grad()
            loss = model(tokens, labels=tokens).loss
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0] / 2 and watch.judged >= 2 and not watch.findings and not watch.errors, (losses, watch)

    def found(wide, **words):
        """The loss and all of its gradients, where the scans are those of `words`, and of doubles."""

        def scan(*given, use_mambapy, use_associative_scan, **named):
            widened = lambda one: one.double() if wide and isinstance(one, torch.Tensor) else one
            named = {name: widened(one) for name, one in named.items()}
            return ours.selective_scan_fn(*map(widened, given), **named, discretization_method=method, **words).float()

        twin = copy.deepcopy(model)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(modeling_mamba, "mamba_selective_scan", scan)
            loss = twin(tokens, labels=tokens).loss
            loss.backward()
        return torch.cat([loss.detach().reshape(1), *[one.grad.flatten() for one in twin.parameters()]])

    exact, reference, kernel = found(True, use_cuda_kernel=False), found(False, use_cuda_kernel=False), found(False)
    # The layers around the scans round as much in both.
    assert (kernel - exact).norm() <= 2 * (reference - exact).norm()


@needs_gpu
def test_it_runs_on_the_stream_and_in_the_memory_of_pytorch():
    x = drawn("cuda", batch=8, dim=64, seqlen=200, kind=torch.float32)
    plain = {name: one.detach() for name, one in x.items()}
    expected = run(x)
    assert all(torch.equal(one, two) for one, two in zip(run(x)["grads"].values(), expected["grads"].values()))
    # Plans are for any stream.
    assert torch.equal(ours.selective_scan_fn(**plain, delta_softplus=True), expected["out"])
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        # What the scan reads is written on this stream just before it.
        torch.cuda._sleep(50_000_000)
        late = {name: one.clone() for name, one in plain.items()}
        torch.cuda.set_sync_debug_mode("error")
        out = ours.selective_scan_fn(**late, delta_softplus=True)
        torch.cuda.set_sync_debug_mode("default")
        # It did not wait.
        assert not stream.query()
    torch.cuda.synchronize()
    assert torch.equal(out, expected["out"])
    before = torch.cuda.memory_reserved()

    def taken():
        free = torch.cuda.mem_get_info()[0]
        for _ in range(100):
            ours.selective_scan_fn(**plain, delta_softplus=True)
        torch.cuda.synchronize()
        return free - torch.cuda.mem_get_info()[0]

    # Others on this GPU take and free memory meanwhile; what these calls took, they would take each time.
    assert min(taken() for _ in range(10)) <= 0 and torch.cuda.memory_reserved() == before
    with pytest.raises(ValueError, match="tensor `D` is on cpu, expected cuda:0"):
        ours.selective_scan_fn(**{**plain, "D": plain["D"].cpu()})


@needs_gpu
def test_a_graph_has_it():
    x = drawn("cuda")
    expected = run(x)
    # What has gathered gradients before would do so on another stream.
    x = {name: one.detach().requires_grad_() for name, one in x.items()}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = ours.selective_scan_fn(**x, delta_softplus=True)
        (grad,) = torch.autograd.grad(out, x["A"], torch.ones_like(out))
    with torch.no_grad():
        x["u"].mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    again = ours.selective_scan_fn(**x, delta_softplus=True)
    assert torch.equal(out, again) and not torch.equal(out, expected["out"])
    assert torch.equal(grad, torch.autograd.grad(again, x["A"], torch.ones_like(out))[0])


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="unmeasured: one CUDA device at most")
def test_each_device_has_its_own():
    x = drawn()
    outs = [ours.selective_scan_fn(**{name: one.to(f"cuda:{i}") for name, one in x.items()}) for i in (0, 1, 1, 0)]
    assert [out.device.index for out in outs] == [0, 1, 1, 0] and torch.cuda.current_device() == 0
    assert all(torch.equal(out.cpu(), outs[0].cpu()) for out in outs)
