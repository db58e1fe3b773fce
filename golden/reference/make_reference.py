#!/usr/bin/env python3
"""Reference values of the truth, from mpmath: every number correctly rounded to f64, as a hex float.

    pip install mpmath && python3 make_reference.py > reference.json

Nothing is shared with the harness: the phi functions of a matrix are their power series, summed without scaling
in DIGITS digits; those of a number are their formulas; bilinear is solved in DIGITS digits. Formulas: spec.md §2, §3.
"""
import json
import math
import random
from fractions import Fraction

import mpmath
from mpmath import mp, mpc, mpf

DIGITS = 500
# Sums of a matrix's power series below this are cancellation: the exact value is zero.
ZERO = mpf(10) ** -330
FORMS = ["zoh", "foh", "bilinear", "poly", "highorder", "rk4",
         "zoh-exact", "foh-textbook", "rk4-classical", "bilinear-averaged", "exp-trapezoidal",
         "foh-causal", "euler", "backward-euler"]
# "badly scaled" is D R D⁻¹ for D = diag(SCALEⁱ), exactly; its power series is summed for R.
SCALE = 2.0 ** 17
mp.dps = DIGITS
rng = random.Random(20240607)


def nearest(x):
    """The nearest f64, ties to even (Python divides integers correctly rounded)."""
    sign, man, exp, _ = mpf(x)._mpf_
    if man == 0:
        return 0.0
    q = Fraction(int(man)) * Fraction(2) ** exp
    try:
        value = q.numerator / q.denominator
    except OverflowError:
        value = math.inf
    return -value if sign else value


def hexa(value):
    """C99's %a, subnormals normalized."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return sign + "0x0p+0"
    m, e = math.frexp(abs(value))
    digits = f"{int(m * 2**53) - 2**52:013x}".rstrip("0")
    return f"{sign}0x1{'.' if digits else ''}{digits}p{e - 1:+d}"


def parts(x, width):
    return [hexa(nearest(mp.re(x))), hexa(nearest(mp.im(x)))][:width]


def phi(z):
    """eᶻ, φ₁, φ₂, φ₃ of a number."""
    if z == 0:
        return [mpf(1), mpf(1), mpf(1) / 2, mpf(1) / 6]
    e = mp.exp(z)
    return [e, (e - 1) / z, (e - 1 - z) / z**2, (e - 1 - z - z**2 / 2) / z**3]


def step(form, delta, a):
    """Ā and the coefficients of B u_l, B u_{l-1}, B u_{l+1} of a number, None at the pole."""
    z = delta * a
    e, p1, p2, p3 = phi(z)
    rk4 = delta * (1 + z / 2 + z**2 / 6 + z**3 / 24)
    zero = mpf(0)
    if form in ("bilinear", "bilinear-averaged"):
        if z == 2:
            return None
        ab, bb = (1 + z / 2) / (1 - z / 2), delta / (1 - z / 2)
        return (ab, bb, zero, zero) if form == "bilinear" else (ab, bb / 2, bb / 2, zero)
    if form == "backward-euler":
        return None if z == 1 else (1 / (1 - z), delta / (1 - z), zero, zero)
    return {
        "zoh": (e, delta, zero, zero),
        "foh": (e, delta**2 * p2, zero, zero),
        "poly": (e, delta * p1 + delta**2 * p2 / 2, zero, zero),
        "highorder": (e, delta * p1 + delta**2 * p2 + delta**3 * p3 / 2, zero, zero),
        "rk4": (e, rk4, zero, zero),
        "zoh-exact": (e, delta * p1, zero, zero),
        "foh-textbook": (e, delta * (p1 - p2), zero, delta * p2),
        "rk4-classical": (1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24, rk4, zero, zero),
        "exp-trapezoidal": (e, delta / 2, delta / 2 * e, zero),
        "foh-causal": (e, delta * p2, delta * (p1 - p2), zero),
        "euler": (1 + z, delta, zero, zero),
    }[form]


def single(x):
    """The nearest f32, as a float."""
    import struct
    return struct.unpack("f", struct.pack("f", x))[0]


def number(x):
    return [repr(float(mp.re(x))), repr(float(mp.im(x)))]


# ---- numbers ----

def scalar_cases():
    cases = []
    steps = [0.0, 2e-9, 1e-4, 1e-3, 0.0625, 0.1, 0.7, 1.0, 5.0]
    reals = [0.0, -1e-9, -0.5, -1.0, -2.0, -3.0, -16.0, -45.0, -1000.0, 2.0, 19.9, 200.0, 1e-38]
    points = [mpc(-0.5, 3.14159274), mpc(0, 1), mpc(0, 100), mpc(-0.5, 1e-6), mpc(1e-9, -1e-9), mpc(-3, 0), mpc(0, -2),
              mpc(-200, 5), mpc(-0.5, 50.2654839), mpc(2, 1e-7), mpc(30, -7)]
    for width, values in ((1, reals), (2, points)):
        elements = [(single(d), a) for d in steps for a in values]
        elements += [(single(rng.uniform(1e-3, 0.1)), a) for a in values]
        deltas, a_in, b_in = [], [], []
        for d, a in elements:
            a = mpc(single(float(mp.re(a))), single(float(mp.im(a))))
            b = mpc(single(rng.uniform(-2, 2)), single(rng.uniform(-2, 2)) if width == 2 else 0)
            deltas.append(repr(d)), a_in.append(number(a)[:width]), b_in.append(number(b)[:width])
        results = {}
        for form in FORMS:
            rows = []
            for d, a, b in zip(deltas, a_in, b_in):
                a, b = (mpc(*[mpf(float(p)) for p in (x + ["0"])[:2]]) for x in (a, b))
                result = step(form, mpf(float(d)), a)
                rows.append(None if result is None else
                            [parts(result[0], width)] + [parts(c * b, width) for c in result[1:]])
            results[form] = rows
        cases.append({"width": width, "delta": deltas, "a": a_in, "b": b_in, "forms": results})
    return cases


# ---- matrices, as lists of rows ----

def times(x, y):
    columns = list(zip(*y))
    return [[mp.fdot((p, q) for p, q in zip(row, column) if p != 0 and q != 0) for column in columns] for row in x]


def plus(*terms):
    """Σ factor · matrix"""
    rows, columns = len(terms[0][1]), len(terms[0][1][0])
    return [[mp.fsum(f * m[i][j] for f, m in terms) for j in range(columns)] for i in range(rows)]


def identity(n):
    return [[mpf(i == j) for j in range(n)] for i in range(n)]


def series(z, right, start):
    """φ_start(z) right = Σ zᵏ right/(k+start)!"""
    norm = max(float(sum(abs(x) for x in column)) for column in zip(*z)) + 1
    term = [[x / mp.factorial(start) for x in row] for row in right]
    total, k = term, 0
    while True:
        k += 1
        term = [[x / (k + start) for x in row] for row in times(z, term)]
        total = plus((1, total), (1, term))
        # Beyond k > 2 norm each term is below half its predecessor.
        if k > 2 * norm and all(abs(x) < mpf(10) ** -(DIGITS + 20) for row in term for x in row):
            return total


def solve(matrix, right):
    """Gauss-Jordan."""
    n = len(matrix)
    rows = [list(m) + list(r) for m, r in zip(matrix, right)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k])]
    return [row[n:] for row in rows]


def dense(forms, delta, a, b):
    n = len(a)
    z = [[delta * x for x in row] for row in a]
    eye = identity(n)
    need = set(forms) - {"bilinear", "bilinear-averaged", "rk4-classical", "euler", "backward-euler"}
    e = series(z, eye, 0) if need else None
    p = [None] + [series(z, b, k) if need else None for k in (1, 2, 3)]
    zb = times(z, b)
    z2b = times(z, zb)
    z3b = times(z, z2b)
    rk4 = plus((delta, b), (delta / 2, zb), (delta / 6, z2b), (delta / 24, z3b))
    d, half = delta, mpf(1) / 2
    for form in forms:
        extra = [None, None]
        if form in ("bilinear", "bilinear-averaged"):
            minus, up = plus((1, eye), (-half, z)), plus((1, eye), (half, z))
            x = solve(minus, [u + v for u, v in zip(up, [[d * y for y in row] for row in b])])
            ab, bb = [row[:n] for row in x], [row[n:] for row in x]
            if form == "bilinear-averaged":
                bb = plus((half, bb))
                extra = [[list(row) for row in bb], None]
        elif form == "backward-euler":
            x = solve(plus((1, eye), (-1, z)), [u + v for u, v in zip(eye, plus((d, b)))])
            ab, bb = [row[:n] for row in x], [row[n:] for row in x]
        elif form == "euler":
            ab, bb = plus((1, eye), (1, z)), plus((d, b))
        elif form == "rk4-classical":
            z2 = times(z, z)
            z3 = times(z2, z)
            ab, bb = plus((1, eye), (1, z), (half, z2), (mpf(1) / 6, z3), (mpf(1) / 24, times(z2, z2))), plus((1, rk4))
        else:
            ab = [list(row) for row in e]
            bb = {
                "zoh": lambda: plus((d, b)),
                "foh": lambda: plus((d**2, p[2])),
                "poly": lambda: plus((d, p[1]), (d**2 / 2, p[2])),
                "highorder": lambda: plus((d, p[1]), (d**2, p[2]), (d**3 / 2, p[3])),
                "rk4": lambda: plus((1, rk4)),
                "zoh-exact": lambda: plus((d, p[1])),
                "foh-textbook": lambda: plus((d, p[1]), (-d, p[2])),
                "exp-trapezoidal": lambda: plus((d / 2, b)),
                "foh-causal": lambda: plus((d, p[2])),
            }[form]()
            if form == "foh-textbook":
                extra = [None, plus((d, p[2]))]
            if form == "foh-causal":
                extra = [plus((d, p[1]), (-d, p[2])), None]
            if form == "exp-trapezoidal":
                extra = [plus((d / 2, times(e, b))), None]
        yield form, [ab, bb] + extra


def families():
    def random_matrix(n):
        return [[rng.uniform(-1, 1) for _ in range(n)] for _ in range(n)]

    def hippo(n):
        root = [math.sqrt(2 * i + 1) for i in range(n)]
        return [[-root[i] * root[k] if i > k else -(i + 1.0) if i == k else 0.0 for k in range(n)] for i in range(n)]

    def jordan(n, value):
        return [[value if i == k else 1.0 if k == i + 1 else 0.0 for k in range(n)] for i in range(n)]

    def skew(n):
        m = random_matrix(n)
        return [[m[i][j] - m[j][i] for j in range(n)] for i in range(n)]

    def stable(n):
        return [[x - (n if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(random_matrix(n))]

    def singular(n):
        m = random_matrix(n)
        return m[:-1] + [list(m[0])]

    def scaled(n):
        return [[x * SCALE ** (i - j) for j, x in enumerate(row)] for i, row in enumerate(stable(n))]

    def stiff(n):
        return [[-(7.0**i) if i == j else 0.25 for j in range(n)] for i in range(n)]

    # L N L⁻¹ with unit triangular integers: nilpotent, but no entry of it is zero for its structure.
    low = [[1.0 if i >= j else 0.0 for j in range(5)] for i in range(5)]
    inverse = [[1.0 if i == j else -1.0 if i == j + 1 else 0.0 for j in range(5)] for i in range(5)]
    by = lambda x, y: [[sum(p * q for p, q in zip(r, c)) for c in zip(*y)] for r in x]
    conjugated = by(by(low, jordan(5, 0.0)), inverse)
    # B = (1, 1, 0) is an eigenvector, so that B̄ has a zero where A has none.
    invariant = [[-1.5, 0.5, 0.3], [0.25, -1.25, -0.7], [0.9, -0.9, -2.0]]
    ones = lambda n: [[1.0] for _ in range(n)]
    root = lambda n: [[math.sqrt(2 * i + 1)] for i in range(n)]
    two = lambda n: [[rng.uniform(-1, 1), rng.uniform(-1, 1)] for _ in range(n)]
    yield "hippo-legs 4", hippo(4), root(4), 0.1
    yield "hippo-legs 16", hippo(16), root(16), 0.01
    yield "jordan 6", jordan(6, -0.5), ones(6), 0.3
    yield "jordan 8, small step", jordan(8, -1.0), ones(8), 1e-6
    yield "nilpotent 5", jordan(5, 0.0), ones(5), 0.7
    yield "conjugated nilpotent 5", conjugated, ones(5), 1.0
    yield "invariant subspace 3", invariant, [[1.0], [1.0], [0.0]], 0.5
    yield "zero 2", [[0.0, 0.0], [0.0, 0.0]], two(2), 0.1
    yield "singular 4", singular(4), two(4), 0.25
    yield "skew-symmetric 5", skew(5), two(5), 1.0
    yield "random stable 3", stable(3), two(3), 0.05
    yield "random stable 8", stable(8), two(8), 0.2
    yield "badly scaled 4", scaled(4), ones(4), 1e-2
    yield "stiff 4", stiff(4), ones(4), 0.5
    yield "tiny step 3", stable(3), ones(3), 1e-12
    yield "negative step 3", stable(3), ones(3), -0.1
    yield "one 1", [[-0.75]], [[1.25]], 0.1


def complex_families():
    for name, a, b, delta in list(families()):
        if name.startswith(("hippo-legs 16", "random stable 8", "badly", "negative", "invariant", "zero")):
            continue
        turn = lambda m: [[mpc(x, rng.uniform(-1, 1) if x else 0) for x in row] for row in m]
        if name.startswith(("singular", "nilpotent", "conjugated")):
            # A complex multiple keeps the structure.
            a = [[mpc(0.5 * x, -1.25 * x) for x in row] for row in a]
            yield name, a, turn(b), delta
        else:
            yield name, turn(a), turn(b), delta
    # Real and imaginary parts that vanish by symmetry.
    yield "i times a swap", [[mpc(0), mpc(0, 1)], [mpc(0, 1), mpc(0)]], [[mpc(1)], [mpc(0)]], 1.0


def dense_cases():
    cases = []
    for width, source in ((1, families()), (2, complex_families())):
        for name, a, b, delta in source:
            lift = lambda m: [[mpf(x) if width == 1 else mpc(x) for x in row] for row in m]
            exact = lambda v: mpf(0) if abs(v) < ZERO else v
            scale = SCALE if name.startswith("badly scaled") else 1.0
            a_in = [[x * mpf(scale) ** (j - i) for j, x in enumerate(row)] for i, row in enumerate(lift(a))]
            b_in = [[x * mpf(scale) ** -i for x in row] for i, row in enumerate(lift(b))]
            results = {}
            for form, panels in dense(FORMS, mpf(delta), a_in, b_in):
                for which, panel in enumerate(panels):
                    for i, row in enumerate(panel or []):
                        row[:] = [x * mpf(scale) ** (i - (j if which == 0 else 0)) for j, x in enumerate(row)]
                results[form] = [None if m is None else
                                 [[parts(mpc(exact(mp.re(x)), exact(mp.im(x))), width) for x in row] for row in m]
                                 for m in panels]
            cases.append({"name": name, "width": width, "delta": repr(delta),
                          "a": [[number(x)[:width] for x in row] for row in a],
                          "b": [[number(x)[:width] for x in row] for row in b], "forms": results})
    return cases


# ---- scans (spec.md §3) ----

def scan_case(width, variable_b, variable_c, full, limit=None):
    batch, dim, n, length, groups = 2, 4, 3, 6, 2
    draw = lambda count, low, high: [single(rng.uniform(low, high)) for _ in range(count)]
    operand = lambda variable: draw((batch * groups * n * length if variable else dim * n) * width, -1, 1)
    case = {"width": width, "variable_b": variable_b, "variable_c": variable_c, "softplus": full,
            "batch": batch, "dim": dim, "dstate": n, "seqlen": length, "groups": groups,
            "u": draw(batch * dim * length, -1, 1),
            "delta": draw(batch * dim * length, -3, 2) if full else draw(batch * dim * length, 1e-3, 0.2),
            "a": draw(dim * n, -4, -0.1) if width == 1 else
            [x for _ in range(dim * n) for x in (single(rng.uniform(-1, 0)), single(rng.uniform(-9, 9)))],
            "b": operand(variable_b), "c": operand(variable_c),
            "d": draw(dim, -1, 1) if full else None, "z": draw(batch * dim * length, -3, 3) if full else None,
            "delta_bias": draw(dim, -1, 1) if full else None, "channels": [[0, 1], [1, 3]]}
    # Places where something is exactly zero.
    case["u"][dim * length - 1] = 0.0
    case["u"][length] = 0.0
    weight = lambda values, i: mpc(*(list(map(mpf, values[i * width:(i + 1) * width])) + [mpf(0)])[:2])

    def pick(values, variable, bt, d, s, l):
        if not variable:
            return weight(values, d * n + s)
        return weight(values, ((bt * groups + d // (dim // groups)) * n + s) * length + l)

    case["forms"] = {}
    for form in FORMS:
        outs, lasts = [], []
        for bt, d in case["channels"]:
            at = lambda l: (bt * dim + d) * length + l
            u = [mpf(case["u"][at(l)]) for l in range(length)]
            deltas = []
            for l in range(length):
                x = mpf(case["delta"][at(l)]) + (mpf(case["delta_bias"][d]) if full else 0)
                x = mp.log1p(mp.exp(x)) if full else x
                deltas.append(min(max(x, mpf(limit[0])), mpf(limit[1])) if limit else x)
            y = [mpf(0)] * length
            for s in range(n):
                steps = [step(form, deltas[l], weight(case["a"], d * n + s)) for l in range(length)]
                forcing = []
                for l, (_, now, prev, nxt) in enumerate(steps):
                    following = u[min(l + 1, length - 1)]
                    total = now * u[l] + prev * (u[l - 1] if l else 0) + nxt * following
                    forcing.append(total * pick(case["b"], variable_b, bt, d, s, l))
                x = mpc(0)
                share = 2 if width == 2 else 1
                half = mpf(1) / 2 if form == "poly" else 1
                for l in range(length):
                    x = steps[l][0] * x + forcing[l]
                    y[l] += half * share * mp.re(pick(case["c"], variable_c, bt, d, s, l) * x)
                lasts += parts(x, width)
                if form == "poly":
                    x = mpc(0)
                    for l in reversed(range(length)):
                        x = steps[l][0] * x + forcing[l]
                        y[l] += half * share * mp.re(pick(case["c"], variable_c, bt, d, s, l) * x)
            for l in range(length):
                if full:
                    gate = mpf(case["z"][at(l)])
                    y[l] = (y[l] + mpf(case["d"][d]) * u[l]) * gate / (1 + mp.exp(-gate))
                outs.append(hexa(nearest(y[l])))
        case["forms"][form] = {"out": outs, "last_state": lasts}
    for key in ("u", "delta", "a", "b", "c", "d", "z", "delta_bias"):
        case[key] = case[key] and [repr(x) for x in case[key]]
    if limit:
        case["limit"] = [repr(x) for x in limit]
    return case


def limited_cases():
    # Drawn on their own: more of them change no other case.
    rng.seed("limits of the step")
    within = lambda low, high: (single(low), single(high))
    return [scan_case(width, True, full, full, within(0.25, 1.5) if full else within(0.05, 0.125))
            for width, full in ((1, False), (1, True), (2, True))]


def main():
    scans = [scan_case(width, b, c, full)
             for width in (1, 2) for b, c, full in ((False, True, False), (True, False, True), (True, True, False))]
    document = {"provenance": {"script": "golden/reference/make_reference.py", "mpmath": mpmath.__version__,
                               "digits": DIGITS, "rounding": "nearest f64, ties to even, hex float"},
                "scalar": scalar_cases(), "dense": dense_cases(), "scan": scans}
    document["scan"] += limited_cases()
    print(json.dumps(document, separators=(",", ":")))


main()
