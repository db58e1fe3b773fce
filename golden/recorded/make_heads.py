#!/usr/bin/env python3
"""Recordings of Mamba-2's scan with heads, in NumPy and f32: its outputs and gradients by a plain loop, and the same backward pass with a
fault that was reported in public. In chunks, dA's running sums collect a matrix of rows (the outputs) and columns (the inputs); the last
block of rows of each chunk was left out.

    python make_heads.py

needs numpy and safetensors.
"""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

HERE = Path(__file__).resolve().parent
BATCH, SEQLEN, HEADS, P, GROUPS, DSTATE = 2, 32, 4, 2, 2, 4
CHUNK, BLOCK = 16, 4


def drawn():
    rng = np.random.default_rng(0)
    normal = lambda *shape: rng.normal(size=shape).astype("f4")
    return {
        "u": normal(BATCH, SEQLEN, HEADS, P),
        "delta": normal(BATCH, SEQLEN, HEADS) - np.float32(2),
        "A": -rng.uniform(1, 8, HEADS).astype("f4"),
        "B": normal(BATCH, SEQLEN, GROUPS, DSTATE),
        "C": normal(BATCH, SEQLEN, GROUPS, DSTATE),
        "D": normal(HEADS),
        "delta_bias": normal(HEADS) / np.float32(4),
        "dout": normal(BATCH, SEQLEN, HEADS, P),
    }


def scan(run):
    """Outputs, states before and after each position, steps, and B and C of each head."""
    u, A = run["u"], run["A"]
    B, C = (np.repeat(run[name], HEADS // GROUPS, axis=2) for name in "BC")
    step = np.log1p(np.exp(run["delta"] + run["delta_bias"]))
    x = np.zeros((SEQLEN + 1, BATCH, HEADS, P, DSTATE), "f4")
    y = np.zeros_like(u)
    for l in range(SEQLEN):
        decay = np.exp(step[:, l] * A)[..., None, None]
        x[l + 1] = decay * x[l] + (step[:, l, :, None] * u[:, l])[..., None] * B[:, l, :, None]
        y[:, l] = (x[l + 1] * C[:, l, :, None]).sum(-1) + run["D"][:, None] * u[:, l]
    return y, x, step, B, C


def lost(run, step, B, C):
    """What the last block of rows of each chunk adds to the gradient of ΔA."""
    of = np.zeros_like(step)
    sums = np.cumsum(step * run["A"], axis=1)
    for i in range(SEQLEN):
        start = i // CHUNK * CHUNK
        if i < start + CHUNK - BLOCK:
            continue
        for j in range(start, i):
            term = (C[:, i] * B[:, j]).sum(-1) * np.exp(sums[:, i] - sums[:, j]) * step[:, j]
            of[:, j + 1 : i + 1] += (term * (run["dout"][:, i] * run["u"][:, j]).sum(-1))[:, None]
    return of


def backward(run, is_wrong):
    y, x, step, B, C = scan(run)
    u, A, dout = run["u"], run["A"], run["dout"]
    grads = {name: np.zeros_like(run[name]) for name in ("u", "A", "D")}
    by_z, by_step = np.zeros_like(step), np.zeros_like(step)
    to_b, to_c = np.zeros_like(B), np.zeros_like(C)
    p = np.zeros((BATCH, HEADS, P, DSTATE), "f4")
    for l in reversed(range(SEQLEN)):
        p = p + C[:, l, :, None] * dout[:, l, ..., None]
        by_input = (p * B[:, l, :, None]).sum(-1)
        grads["u"][:, l] = by_input * step[:, l, :, None] + run["D"][:, None] * dout[:, l]
        to_c[:, l] = (dout[:, l, ..., None] * x[l + 1]).sum(2)
        to_b[:, l] = (p * u[:, l, ..., None]).sum(2) * step[:, l, :, None]
        by_step[:, l] = (by_input * u[:, l]).sum(-1)
        p = np.exp(step[:, l] * A)[..., None, None] * p
        by_z[:, l] = (p * x[l]).sum((2, 3))
    if is_wrong:
        by_z -= lost(run, step, B, C)
    grads["A"] = (by_z * step).sum((0, 1))
    grads["D"] = (dout * u).sum((0, 1, 3))
    grads["delta"] = (by_z * A + by_step) / (1 + np.exp(-(run["delta"] + run["delta_bias"])))
    grads["delta_bias"] = grads["delta"].sum((0, 1))
    for name, of_heads in (("B", to_b), ("C", to_c)):
        grads[name] = of_heads.reshape(BATCH, SEQLEN, GROUPS, HEADS // GROUPS, DSTATE).sum(3)
    return y, x[SEQLEN], grads


for name, is_wrong in (("heads", False), ("heads-lost-rows", True)):
    run = drawn()
    out, last_state, grads = backward(run, is_wrong)
    tensors = {**run, "out.zoh": out, "last_state.zoh": last_state}
    tensors |= {f"grad.{of}.zoh": grad for of, grad in grads.items()}
    about = {"layout": "blhp", "delta_softplus": "true", "numpy": np.__version__}
    save_file({of: np.ascontiguousarray(array) for of, array in tensors.items()}, HERE / f"{name}.safetensors", about)
