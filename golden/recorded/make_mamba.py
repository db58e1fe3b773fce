"""Records runs of mamba_ssm (https://pypi.org/project/mamba-ssm/), unchanged, saved by the guide's `record`.

    pip install torch einops safetensors numpy triton
    pip download mamba-ssm==2.3.2.post1 --no-deps --no-binary :all:    # unpack it; building it is not needed
    python3 make_mamba.py FOLDER                                       # its folder mamba_ssm-2.3.2.post1; needs a GPU

The reference scan and the minimal SSD run on the CPU, the Triton kernels on the GPU.
"""

import pathlib
import re
import sys
import types

import torch
import torch.nn.functional as F
from einops import rearrange, repeat

HERE = pathlib.Path(__file__).resolve().parent
PAGE = (HERE.parent.parent / "src" / "guide" / "recordings.md").read_text(encoding="utf-8")
# The very lines that the guide shows.
exec(re.search(r"```python\n(.*?def record.*?)```", PAGE, re.S).group(1))

PACKAGE = pathlib.Path(sys.argv[1])
VERSION = "mamba_ssm 2.3.2.post1"


def source_of(path, pattern):
    """Part of a module whose imports need the whole package, as a namespace."""
    space = {"torch": torch, "F": F, "rearrange": rearrange, "repeat": repeat}
    exec(re.search(pattern, (PACKAGE / path).read_text(encoding="utf-8"), re.S).group(), space)
    return space


def reference(weights, batch=2, dim=8, dstate=8, seqlen=128):
    """selective_scan_ref with bf16 inputs: silu of the bf16 gate is taken in bf16."""
    scan = source_of("mamba_ssm/ops/selective_scan_interface.py", r"def selective_scan_ref.*?\n\n\n")
    n = torch.arange(1, dstate + 1).float().repeat(dim, 1)
    width = 2 if weights == "complex" else 1
    bf16 = lambda *shape: torch.randn(*shape).bfloat16()
    given = {
        "u": bf16(batch, dim, seqlen),
        "delta": 0.5 * bf16(batch, dim, seqlen),
        "A": torch.complex(-0.5 * torch.ones_like(n), 3.14 * n) if weights == "complex" else -n,
        "B": bf16(batch, 1, dstate, seqlen * width),
        "C": bf16(batch, 1, dstate, seqlen * width),
        "D": torch.randn(dim),
        "z": bf16(batch, dim, seqlen),
        "delta_bias": torch.full((dim,), -2.0),
    }
    out, last_state = scan["selective_scan_ref"](**given, delta_softplus=True, return_last_state=True)
    record(
        HERE / f"mamba-bf16-{weights}.safetensors",
        given,
        {"out.zoh": out, "last_state.zoh": last_state},
        delta_softplus=True,
        source=f"selective_scan_ref of {VERSION}",
    )


def as_a_scan(x, delta, A, B, C):
    """Mamba-2's tensors as those of a selective scan: each head's step and its one A for all of its channels."""
    batch, seqlen, heads, channels = x.shape
    flat = lambda x: rearrange(x, "b l h p -> b (h p) l")
    return {
        "u": flat(x),
        "delta": flat(delta[..., None].expand(-1, -1, -1, channels)),
        "A": A.float().repeat_interleave(channels)[:, None].repeat(1, B.shape[-1]),
        "B": rearrange(B, "b l g n -> b g n l"),
        "C": rearrange(C, "b l g n -> b g n l"),
    }, flat


def minimal(block=256, batch=1, seqlen=512, heads=2, channels=2, dstate=4):
    """ssd_minimal_discrete: products of Ā as exponentials of running sums, of steps so large that the sums lose digits."""
    ssd = source_of("mamba_ssm/modules/ssd_minimal.py", r"def segsum\(.*?return Y, final_state\n")
    x, B, C = (torch.randn(batch, seqlen, heads, size) for size in (channels, dstate, dstate))
    delta, A = F.softplus(torch.randn(batch, seqlen, heads)), -0.5 - torch.rand(heads)
    out, last_state = ssd["ssd_minimal_discrete"](x * delta[..., None], A * delta, B, C, block)
    given, flat = as_a_scan(x, delta, A, B, C)
    outputs = {"out.zoh": flat(out), "last_state.zoh": rearrange(last_state, "b h p n -> b (h p) n")}
    record(
        HERE / "ssd-minimal-f32.safetensors",
        given,
        outputs,
        source=f"ssd_minimal_discrete of {VERSION}, blocks of {block}",
    )


def triton(batch=1, seqlen=256, heads=1, channels=16, dstate=16):
    """mamba_chunk_scan_combined: tensor cores take f32 as tf32."""
    sys.path.insert(0, str(PACKAGE))
    # Its __init__ imports what has to be built.
    package = types.ModuleType("mamba_ssm")
    package.__path__ = [str(PACKAGE / "mamba_ssm")]
    sys.modules["mamba_ssm"] = package
    from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

    cuda = lambda *shape: torch.randn(*shape, device="cuda")
    x, B, C = cuda(batch, seqlen, heads, channels), cuda(batch, seqlen, 1, dstate), cuda(batch, seqlen, 1, dstate)
    delta, A = 0.1 * F.softplus(cuda(batch, seqlen, heads)), -0.5 - torch.rand(heads, device="cuda")
    out = mamba_chunk_scan_combined(x, delta, A, B, C, chunk_size=64)
    given, flat = as_a_scan(x, delta, A, B, C)
    record(
        HERE / "ssd-triton-f32.safetensors",
        given,
        {"out.zoh": flat(out)},
        source=f"mamba_chunk_scan_combined of {VERSION}, chunks of 64, on {torch.cuda.get_device_name()}",
    )


def main():
    torch.manual_seed(0)
    reference("real")
    reference("complex")
    minimal()
    triton()


if __name__ == "__main__":
    main()
