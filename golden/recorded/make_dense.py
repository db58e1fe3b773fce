"""Records the steps of HiPPO-LegS, a dense system, that libraries compute in f32 and in double.

    pip install scipy safetensors numpy torch jax
    python3 make_dense.py
"""

import pathlib

import jax
import jax.scipy.linalg
import numpy
import scipy
import torch
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).resolve().parent
jax.config.update("jax_enable_x64", True)
STEPS = (1e-4, 0.03, 0.3)


def legs(n):
    """A of HiPPO-LegS."""
    root = numpy.sqrt(2 * numpy.arange(n) + 1)
    return -numpy.tril(numpy.outer(root, root), -1) - numpy.diag(numpy.arange(n) + 1.0)


def continuous(a, b, step, method):
    """What SciPy makes of one system."""
    made = scipy.signal.cont2discrete((a, b, numpy.eye(len(a)), 0 * b), float(step), method)
    return made[0].astype(a.dtype), made[1].astype(a.dtype)


for name in ("float32", "float64"):
    a = numpy.stack([legs(16)] * len(STEPS)).astype(name)
    b = numpy.random.default_rng(5).standard_normal((len(STEPS), 16, 1)).astype(name)
    delta = numpy.array(STEPS, name)
    z, i = delta[:, None, None] * a, numpy.eye(16, dtype=name)
    below, above, input = i - z / 2, i + z / 2, delta[:, None, None] * b
    tensors = {
        "delta": delta,
        "A": a,
        "B": b,
        "A_bar.zoh.scipy": numpy.stack([scipy.linalg.expm(one) for one in z]),
        "A_bar.zoh.torch": torch.linalg.matrix_exp(torch.from_numpy(z)).numpy(),
        "A_bar.zoh.jax": numpy.stack([numpy.asarray(jax.scipy.linalg.expm(one, max_squarings=48)) for one in z]),
        "A_bar.bilinear.numpy-solve": numpy.linalg.solve(below, above),
        "B_bar.bilinear.numpy-solve": numpy.linalg.solve(below, input),
        "A_bar.bilinear.numpy-inv": numpy.linalg.inv(below) @ above,
        "A_bar.bilinear.torch-solve": torch.linalg.solve(torch.from_numpy(below), torch.from_numpy(above)).numpy(),
    }
    # A⁻¹(e^z − I)B, which many write.
    exact = numpy.linalg.solve(a, (tensors["A_bar.zoh.scipy"] - i) @ b)
    tensors["B_bar.zoh-exact.inverse"] = exact.astype(name)
    for method, form in (("zoh", "zoh-exact"), ("bilinear", "bilinear"), ("backward_diff", "backward-euler")):
        both = [continuous(one, of_b, step, method) for one, of_b, step in zip(a, b, delta)]
        for matrix, of in zip(("A_bar", "B_bar"), zip(*both)):
            tensors[f"{matrix}.{form}.cont2discrete"] = numpy.stack(of)
    tensors = {key: numpy.ascontiguousarray(value) for key, value in tensors.items()}
    versions = {one.__name__: one.__version__ for one in (numpy, scipy, torch, jax)}
    save_file(tensors, HERE / f"dense-legs-{name}.safetensors", versions)
