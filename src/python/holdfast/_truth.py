"""Certified values, and the methods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _holdfast
from ._arrays import to_host
from ._recorded import known_method

if TYPE_CHECKING:
    import numpy


class Method(NamedTuple):
    """A discretization method.

    id: the production API's number
    a_bar, b_bar: its formulas, in z = ΔA and the φ-functions
    note: what to know before trusting it
    """

    name: str
    id: int
    a_bar: str
    b_bar: str
    note: str


def methods() -> tuple[Method, ...]:
    """The six methods, in the order of their numbers."""
    return tuple(Method(*row) for row in _holdfast.methods())


class Discretized(NamedTuple):
    """Ā and B̄, every entry correctly rounded to float64, or complex128.

    a_bar: as A
    b_bar: as B, the coefficient of u at the step
    b_bar_prev, b_bar_next: as B, of u one step before and after; textbook forms only
    certificate: how it is known, in words; for diagonal A of the last entry
    """

    a_bar: numpy.ndarray[Any, Any]
    b_bar: numpy.ndarray[Any, Any]
    b_bar_prev: numpy.ndarray[Any, Any] | None
    b_bar_next: numpy.ndarray[Any, Any] | None
    certificate: str


def _double(name: str, array: Any) -> numpy.ndarray[Any, Any]:
    """The array in double, which holds whatever it held."""
    import numpy

    if isinstance(array, (int, float, complex, list, tuple)):
        array = numpy.asarray(array)
    if isinstance(array, numpy.ndarray) and array.dtype.kind in "iu":
        exact = array.astype("float64")
        if not numpy.array_equal(exact.astype(array.dtype), array):
            raise ValueError(f"`{name}` has whole numbers beyond 2^53, expected numbers that float64 holds (hint: scale them)")
        array = exact
    if not (isinstance(array, numpy.ndarray) and array.dtype.name in ("float64", "complex128")):
        host = to_host(name, array)
        if host.stored == "BF16":
            # A bfloat16 is the upper half of a float32.
            return (host.array.astype("uint32") << 16).view("float32").astype("float64")
        array = host.array
    double: numpy.ndarray[Any, Any] = array.astype("complex128" if array.dtype.kind == "c" else "float64")
    return double


def _solve(form: str, a: Any, b: Any, delta: float) -> tuple[list[Any], str]:
    """Ā and the B̄s of a matrix, in its own type."""
    import numpy

    is_complex = "c" in (a.dtype.kind, b.dtype.kind)
    kind = "complex128" if is_complex else "float64"

    def flat(matrix: Any) -> Any:
        return numpy.ascontiguousarray(matrix, dtype=kind).view("float64").ravel().tolist()

    parts, certificate = _holdfast.discretize_dense(form, flat(a), flat(b), a.shape[0], is_complex, delta)
    shapes = (a.shape, b.shape, b.shape, b.shape)
    made = [
        None if part is None else numpy.array(part, dtype="float64").view(kind).reshape(shape)
        for part, shape in zip(parts, shapes)
    ]
    return made, certificate


def discretize(method: str, A: Any, B: Any, delta: float) -> Discretized:
    """Discretizes x' = Ax + Bu by a step of delta, with certificate: two routes agree, and a proven bound leaves no doubt about
    the last place of any entry.

    method: a method, or a textbook form ("zoh-exact")
    A: (n, n), real or complex; or (n), the diagonal of one; or a number. Values are taken as they are, in double
    B: (n, m) beside a matrix; as A otherwise
    delta: a number of the unit of time in which A is a rate; it may be negative

    Raises ValueError for shapes that disagree, numbers that are not finite, a form's pole, and what cannot be certified.
    """
    import numpy

    known_method(method)
    a, b = _double("A", A), _double("B", B)
    if numpy.ndim(delta) != 0:
        raise ValueError(f"delta has shape {numpy.shape(delta)}, expected a number (hint: one call for each step)")
    delta = float(delta)
    if not math.isfinite(delta):
        raise ValueError(f"delta is {delta}, expected a finite number (hint: look at what produced it)")
    if a.ndim == 2:
        if a.shape[0] != a.shape[1] or b.ndim != 2 or b.shape[0] != a.shape[0]:
            raise ValueError(
                f"A has shape {a.shape} and B {b.shape}, expected (n, n) and (n, m) (hint: a diagonal A is (n))"
            )
        (a_bar, b_bar, previous, following), certificate = _solve(method, a, b, delta)
        return Discretized(a_bar, b_bar, previous, following, certificate)
    if a.ndim > 2 or a.shape != b.shape or a.size == 0:
        raise ValueError(f"A has shape {a.shape} and B {b.shape}, expected (n) both, or (n, n) and (n, m) (hint: B is as A)")
    each = [_solve(method, x.reshape(1, 1), y.reshape(1, 1), delta) for x, y in zip(a.ravel(), b.ravel())]

    def joined(which: int) -> Any:
        entries = [parts[which] for parts, _ in each]
        return None if entries[0] is None else numpy.concatenate(entries).reshape(a.shape)

    return Discretized(joined(0), joined(1), joined(2), joined(3), each[-1][1])
