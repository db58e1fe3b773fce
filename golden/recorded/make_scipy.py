"""Records what SciPy's `cont2discrete` and `dlsim` make of systems with constant steps, under the form that it is.

    pip install scipy safetensors numpy
    python3 make_scipy.py

A complex state stands for a conjugate pair: here a real block of two states. Everything is in double; the file has it
rounded to f32.
"""

import pathlib
import re

import numpy
import scipy
from scipy.signal import cont2discrete, dlsim

HERE = pathlib.Path(__file__).resolve().parent
PAGE = (HERE.parent.parent / "src" / "guide" / "recordings.md").read_text(encoding="utf-8")
# The very lines that the guide shows.
exec(re.search(r"```python\n(import numpy.*?def record_arrays.*?)```", PAGE, re.S).group(1))

# SciPy's method with its options, and what it is here. y_l reads the state before its update, or after it.
AFTER = {
    "foh": ("foh", {}),
    "bilinear": ("bilinear", {}),
    "backward_diff": ("backward_diff", {}),
    "impulse": ("impulse", {}),
    "gbt of 1/2": ("gbt", {"alpha": 0.5}),
    "gbt of 1": ("gbt", {"alpha": 1.0}),
}
BEFORE = {
    "zoh": ("zoh", {}),
    "euler": ("euler", {}),
    "gbt of 0": ("gbt", {"alpha": 0.0}),
}
FORMS = {
    "foh": "foh-causal",
    "bilinear": "bilinear-averaged",
    "backward_diff": "backward-euler",
    "impulse": "zoh",
    "gbt of 1/2": "bilinear-averaged.gbt",
    "gbt of 1": "backward-euler.gbt",
    "zoh": "zoh-exact",
    "euler": "euler",
    "gbt of 0": "euler.gbt",
}


def blocks(A, B, C):
    """The real system of one channel's diagonal A, B and C."""
    if not numpy.iscomplexobj(A):
        return numpy.diag(A), B[:, None], C[None, :]
    n = len(A)
    a, b, c = numpy.zeros((2 * n, 2 * n)), numpy.zeros((2 * n, 1)), numpy.zeros((1, 2 * n))
    for i in range(n):
        re, im = A[i].real, A[i].imag
        a[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[re, -im], [im, re]]
        b[2 * i : 2 * i + 2, 0] = [B[i].real, B[i].imag]
        c[0, 2 * i : 2 * i + 2] = [2 * C[i].real, -2 * C[i].imag]
    return a, b, c


def response(method, options, given):
    u, delta, A, B, C, D = (given[name].astype(complex if numpy.iscomplexobj(given[name]) else float) for name in
                            ["u", "delta", "A", "B", "C", "D"])
    out = numpy.zeros(u.shape)
    for d in range(u.shape[1]):
        # SciPy's impulse takes no D: it is added here for all methods.
        system = (*blocks(A[d], B[d], C[d]), numpy.zeros((1, 1)))
        discrete = cont2discrete(system, delta[0, d, 0], method=method, **options)
        _, y, _ = dlsim(discrete, u[0, d][:, None])
        out[0, d] = y[:, 0] + D[d] * u[0, d]
    return out.astype(numpy.float32)


def inputs(random, weights, dim=4, dstate=3, seqlen=40):
    f32 = numpy.float32
    n = numpy.arange(dstate)
    if weights == "complex":
        A = numpy.tile(-0.5 + 1j * numpy.pi * n, (dim, 1)).astype(numpy.complex64)
        operand = lambda: (random.normal(size=A.shape) + 1j * random.normal(size=A.shape)).astype(A.dtype)
    else:
        A = numpy.tile(-(n + 1.0), (dim, 1)).astype(f32)
        operand = lambda: random.normal(size=A.shape).astype(f32)
    steps = numpy.exp(random.uniform(numpy.log(0.01), numpy.log(0.4), size=dim)).astype(f32)
    return {
        "u": random.normal(size=(1, dim, seqlen)).astype(f32),
        "delta": numpy.repeat(steps[None, :, None], seqlen, axis=2),
        "A": A,
        "B": operand(),
        "C": operand(),
        "D": random.normal(size=dim).astype(f32),
    }


def main():
    random = numpy.random.default_rng(0)
    for weights in ["real", "complex"]:
        given = inputs(random, weights)
        for reads, methods in [("after-update", AFTER), ("before-update", BEFORE)]:
            outputs = {f"out.{FORMS[name]}": response(*methods[name], given) for name in methods}
            path = HERE / f"scipy-{weights}-{reads}.safetensors"
            about = {"source": "golden/recorded/make_scipy.py", "scipy": scipy.__version__}
            record_arrays(path, given, outputs, reads=reads, **about)


if __name__ == "__main__":
    main()
