#!/usr/bin/env python3
"""Gradients by PyTorch's double autograd through a plain loop, for the conventions of complex gradients and of sums.

    pip install torch && python3 make_gradients_torch.py > gradients_torch.json

The problems are those of gradients.json that are well-conditioned in double (kinds plain, full and groups), a few of each
method. The formulas are the published ones, which lose some bits as z -> 0.
"""
import json
import struct
from pathlib import Path

import torch

HERE = Path(__file__).parent
KINDS = ("plain", "full", "groups")


def single(text):
    return struct.unpack("f", struct.pack("f", float(text)))[0]


def step(method, delta, a):
    z = delta * a
    if method == "bilinear":
        return (1 + z / 2) / (1 - z / 2), delta / (1 - z / 2)
    e = torch.exp(z)
    first, second, third = (e - 1) / a, (e - 1 - z) / a**2, (e - 1 - z - z**2 / 2) / a**3
    return e, {
        "zoh": delta + 0 * a,
        "foh": second,
        "poly": first + second / 2,
        "highorder": first + second + third / 2,
        "rk4": delta * (1 + z / 2 + z**2 / 6 + z**3 / 24),
    }[method]


def solve(case):
    batch, dim, n, length, groups = case["shape"]
    method, width = case["method"], case["width"]
    complex_weights = width == 2
    weights = lambda dims: dims + (2,) if complex_weights else dims
    operand = lambda variable: weights((batch, groups, n, length) if variable else (dim, n))
    shapes = {"u": (batch, dim, length), "delta": (batch, dim, length), "z": (batch, dim, length),
              "dout": (batch, dim, length), "A": weights((dim, n)), "B": operand(case["variable_b"]),
              "C": operand(case["variable_c"]), "D": (dim,), "delta_bias": (dim,),
              "initial_state": weights((batch, dim, n)), "dlast_state": weights((batch, dim, n))}
    complexes = ("A", "B", "C", "initial_state", "dlast_state")

    def read(name, text):
        tensor = torch.tensor([single(x) for x in text.split()], dtype=torch.float64).reshape(shapes[name])
        return torch.view_as_complex(tensor) if complex_weights and name in complexes else tensor

    leaves = {name: read(name, text).clone().requires_grad_() for name, text in case["inputs"].items()}
    given = {name: read(name, text) for name, text in case["given"].items()}
    w = leaves
    delta = w["delta"] + w["delta_bias"][:, None] if "delta_bias" in w else w["delta"]
    if case["softplus"]:
        delta = torch.nn.functional.softplus(delta, threshold=1e9)
    spread = lambda x: x.repeat_interleave(dim // groups, dim=1)
    constant = lambda x: x[None, :, :, None].expand(batch, dim, n, length)
    b = spread(w["B"]) if case["variable_b"] else constant(w["B"])
    c = spread(w["C"]) if case["variable_c"] else constant(w["C"])
    a_bar, b_bar = step(method, delta[:, :, None, :], w["A"][None, :, :, None])
    pushed = b_bar * b * w["u"][:, :, None, :]
    share = (2 if complex_weights else 1) * (0.5 if method == "poly" else 1)

    def scan(x, order):
        ys = {}
        for l in order:
            x = a_bar[..., l] * x + pushed[..., l]
            ys[l] = share * (c[..., l] * x).sum(-1).real
        return torch.stack([ys[l] for l in range(length)], dim=-1), x

    zero = torch.zeros_like(pushed[..., 0])
    y, last = scan(w["initial_state"] if "initial_state" in w else zero, range(length))
    if method == "poly":
        y = y + scan(zero, reversed(range(length)))[0]
    out = y + w["D"][:, None] * w["u"] if "D" in w else y
    if "z" in w:
        out = out * torch.nn.functional.silu(w["z"])
    outputs, seeds = [out], [given["dout"]]
    if "dlast_state" in given:
        outputs.append(last)
        seeds.append(given["dlast_state"])
    torch.autograd.backward(outputs, seeds)
    flat = lambda g: torch.view_as_real(g).flatten() if g.is_complex() else g.flatten()
    return {name: [float(f"{x:.15e}") for x in flat(leaf.grad).tolist()] for name, leaf in leaves.items()}


def main():
    cases = json.loads((HERE / "gradients.json").read_text())["cases"]
    rows = [json.dumps({"case": i, "gradients": solve(case)}, separators=(",", ":"))
            for i, case in enumerate(cases) if case["kind"] in KINDS and i % 4 in (1, 2)]
    print('{"provenance":%s,"cases":[\n%s\n]}' % (json.dumps({"torch": torch.__version__}), ",\n".join(rows)))


main()
