#!/usr/bin/env python3
"""Reference values of the gradients, from mpmath: every number correctly rounded to f64, as a hex float.

    pip install mpmath==1.3.0 gmpy2 && python3 make_gradients.py > gradients.json

Nothing is differentiated by a formula: a gradient is the central difference of the loss, (L(w + h) - L(w - h)) / 2h for
h = 10^-160 in DIGITS digits, by the real and the imaginary part of every input. The loss is made of the definitions of
spec.md §2 and §3; the phi functions are their formulas, and their power series for |z| < 10^-20. What the quotient leaves
out is below 10^-300, so that KEPT digits of it are exact, and what is below 10^-250 is zero.
"""
import json
import random
import struct
from fractions import Fraction

import mpmath
from mpmath import mp, mpc, mpf

DIGITS, KEPT = 500, 230
METHODS = ["zoh", "foh", "bilinear", "poly", "highorder", "rk4"]
mp.dps = DIGITS
H = mpf(10) ** -160
ZERO = mpf(10) ** -250
rng = random.Random()


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def hexa(x):
    """The nearest f64, ties to even (Python divides integers correctly rounded), as C99's %a."""
    with mp.workdps(KEPT):
        sign, man, exp, _ = (+mpf(x))._mpf_
    if man == 0 or abs(x) < ZERO:
        return "0x0p+0"
    q = Fraction(int(man)) * Fraction(2) ** exp
    value = q.numerator / q.denominator
    mantissa, power = value.hex()[2:].split("p")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{'-' if sign else ''}0x{mantissa}p{power}"


def phi(z):
    """phi_0 to phi_3 of a number."""
    if abs(z) >= mpf(10) ** -20:
        e = mp.exp(z)
        return [e, (e - 1) / z, (e - 1 - z) / z**2, (e - 1 - z - z**2 / 2) / z**3]
    sums = []
    for k in range(4):
        term, total, n = mpf(1) / mp.factorial(k), mpf(0), k
        while abs(term) > mpf(10) ** (-DIGITS - 20):
            total += term
            n += 1
            term = term * z / n
        sums.append(total)
    return sums


def step(method, delta, a):
    """A-bar, and B-bar for B = 1."""
    z = delta * a
    if method == "bilinear":
        return (1 + z / 2) / (1 - z / 2), delta / (1 - z / 2)
    if method == "zoh":
        return mp.exp(z), delta
    if method == "rk4":
        return mp.exp(z), delta * (1 + z / 2 + z**2 / 6 + z**3 / 24)
    e, p1, p2, p3 = phi(z)
    return e, {
        "foh": delta**2 * p2,
        "poly": delta * p1 + delta**2 * p2 / 2,
        "highorder": delta * p1 + delta**2 * p2 + delta**3 * p3 / 2,
    }[method]


def loss(case, w):
    """Sum of dout·out and, for each part, dlast_state·last_state."""
    batch, dim, n, length, groups = case["shape"]
    width, method = case["width"], case["method"]

    def number(values, i):
        return values[i] if width == 1 else mpc(values[2 * i], values[2 * i + 1])

    def operand(values, variable, b, d, s, l):
        if not variable:
            return number(values, d * n + s)
        return number(values, ((b * groups + d // (dim // groups)) * n + s) * length + l)

    total = mpf(0)
    for b in range(batch):
        for d in range(dim):
            row = (b * dim + d) * length
            y = [mpf(0)] * length
            deltas = []
            for l in range(length):
                x = w["delta"][row + l] + (w["delta_bias"][d] if "delta_bias" in w else 0)
                deltas.append(mp.log(1 + mp.exp(x)) if case["softplus"] else x)
            for s in range(n):
                a = number(w["A"], d * n + s)
                steps = [step(method, deltas[l], a) for l in range(length)]
                pushed = [steps[l][1] * operand(w["B"], case["variable_b"], b, d, s, l) * w["u"][row + l]
                          for l in range(length)]
                at = (b * dim + d) * n + s
                x = number(w["initial_state"], at) if "initial_state" in w else mpf(0)
                share = (2 if width == 2 else 1) * (mpf(1) / 2 if method == "poly" else 1)
                for l in range(length):
                    x = steps[l][0] * x + pushed[l]
                    y[l] += share * mp.re(operand(w["C"], case["variable_c"], b, d, s, l) * x)
                if "dlast_state" in case:
                    parts = [mp.re(x), mp.im(x)][:width]
                    total += sum(g * p for g, p in zip(case["given"]["dlast_state"][at * width:], parts))
                if method == "poly":
                    x = mpf(0)
                    for l in reversed(range(length)):
                        x = steps[l][0] * x + pushed[l]
                        y[l] += share * mp.re(operand(w["C"], case["variable_c"], b, d, s, l) * x)
            for l in range(length):
                out = y[l] + (w["D"][d] * w["u"][row + l] if "D" in w else 0)
                if "z" in w:
                    out *= w["z"][row + l] / (1 + mp.exp(-w["z"][row + l]))
                total += case["given"]["dout"][row + l] * out
    return total


def gradients(case, w):
    result = {}
    for name in w:
        values = []
        for i, x in enumerate(w[name]):
            sides = []
            for h in (H, -H):
                w[name][i] = x + h
                sides.append(loss(case, w))
            w[name][i] = x
            values.append(hexa((sides[0] - sides[1]) / (2 * H)))
        result[name] = " ".join(values)
    return result


# What a kind of problem has: shape (batch, dim, dstate, seqlen, groups), and the optional inputs.
KINDS = {
    "plain": ((1, 2, 2, 2, 1), ()),
    "full": ((2, 2, 1, 2, 1), ("softplus", "delta_bias", "D", "z", "dlast_state")),
    "groups": ((1, 4, 1, 2, 2), ("D", "dlast_state", "initial_state")),
    "edges": ((1, 1, 2, 4, 1), ("z", "dlast_state")),
    "hard": ((2, 1, 1, 3, 1), ("softplus", "D", "z")),
}


def drawn(kind, method, width, variable_b, variable_c):
    # A stream for each, so that no other method's values depend on it.
    rng.seed(f"{kind} {method} {width} {variable_b} {variable_c}")
    shape, extras = KINDS[kind]
    batch, dim, n, length, groups = shape
    text = lambda count, low, high: [f"{rng.uniform(low, high):.4f}" for _ in range(count)]
    sequence, states = batch * dim * length, batch * dim * n * width
    operand = lambda variable: (batch * groups * n * length if variable else dim * n) * width
    has = lambda name, count, low, high: {name: text(count, low, high)} if name in extras else {}
    inputs = {"u": text(sequence, -1, 1),
              "delta": text(sequence, -3, 2) if "softplus" in extras else text(sequence, 0.05, 0.9),
              "A": text(dim * n, -4, -0.2) if width == 1 else
              [x for _ in range(dim * n) for x in text(1, -1, 0) + text(1, -9, 9)],
              "B": text(operand(variable_b), -1, 1), "C": text(operand(variable_c), -1, 1),
              **has("D", dim, -1, 1), **has("z", sequence, -3, 3), **has("delta_bias", dim, -1, 1),
              **has("initial_state", states, -1, 1)}
    given = {"dout": text(sequence, -1, 1), **has("dlast_state", states, -1, 1)}
    if kind == "edges":
        # A = 0 of one state, steps of 0 and below, inputs, gates and gradients of 0.
        inputs["A"][:width] = ["0.0"] * width
        inputs["delta"][1:3] = ["0.0", "-0.2"]
        inputs["u"][rng.randrange(3)] = "0.0"
        inputs["z"][rng.randrange(4)] = "0.0"
        given["dout"][rng.randrange(3)] = "0.0"
    if kind == "hard":
        # Softplus at the threshold of kernels and far to either side of it, gates far out, z from tiny to large.
        inputs["delta"] = ["20.0", "3.5", "-17.0", "25.0", "-30.0", "0.0"]
        inputs["A"] = [rng.choice(["-3.0", "-0.001", "1e-7"])] + ["2.5"] * (width - 1)
        inputs["z"][:2] = ["-30.0", "18.0"]
    return {"kind": kind, "method": method, "width": width, "shape": shape, "variable_b": variable_b,
            "variable_c": variable_c, "softplus": "softplus" in extras}, inputs, given


def main():
    cases = []
    for kind in KINDS:
        for method in METHODS:
            for width in (1, 2):
                for variable_b, variable_c in ((False, False), (False, True), (True, False), (True, True)):
                    case, inputs, given = drawn(kind, method, width, variable_b, variable_c)
                    exact = lambda texts: [mpf(single(float(x))) for x in texts]
                    case["given"] = {name: exact(texts) for name, texts in given.items()}
                    case.update({name: True for name in given})
                    found = gradients(case, {name: exact(texts) for name, texts in inputs.items()})
                    kept = {key: case[key] for key in
                            ("kind", "method", "width", "shape", "variable_b", "variable_c", "softplus")}
                    joined = lambda named: {name: " ".join(texts) for name, texts in named.items()}
                    cases.append({**kept, "inputs": joined(inputs), "given": joined(given), "gradients": found})
    provenance = {"script": "golden/reference/make_gradients.py", "mpmath": mpmath.__version__, "digits": DIGITS,
                  "rounding": "nearest f64, ties to even, hex float"}
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    print('{"provenance":%s,"cases":[\n%s\n]}' % (json.dumps(provenance), lines))


main()
