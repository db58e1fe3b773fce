"""Certified values, and the methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _holdfast
from ._arrays import to_host, widened
from ._layout import tensors
from ._names import called
from ._recorded import explained, inputs_of, known_method, metadata_of, of_kernels, run_of

if TYPE_CHECKING:
    import numpy

__tracebackhide__ = True


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
        try:
            array = numpy.asarray(array)
        except ValueError as error:
            raise ValueError(
                f"`{name}` cannot be read ({error}), expected a number, or numbers in rows of one length "
                "(hint: look for a row that is longer than the others)"
            ) from None
    if isinstance(array, numpy.ndarray) and array.dtype.kind in "iu":
        exact = array.astype("float64")
        if not numpy.array_equal(exact.astype(array.dtype), array):
            raise ValueError(f"`{name}` has whole numbers beyond 2^53, expected numbers that float64 holds (hint: scale them)")
        array = exact
    if not (isinstance(array, numpy.ndarray) and array.dtype.name in ("float64", "complex128")):
        array = widened(to_host(name, array)).array
    double: numpy.ndarray[Any, Any] = array.astype("complex128" if array.dtype.kind == "c" else "float64")
    return double


def _joined(parts: list[Any], kind: str, shapes: tuple[Any, ...]) -> tuple[Any, Any, Any, Any]:
    """Ā and the B̄s as arrays of these shapes."""
    import numpy

    a_bar, b_bar, previous, following = (
        None if part is None else numpy.array(part, dtype="float64").view(kind).reshape(shape)
        for part, shape in zip(parts, shapes)
    )
    return a_bar, b_bar, previous, following


@called
def discretize(method: str, A: Any, B: Any, delta: Any, dense: bool | None = None) -> Discretized:
    """Discretizes x' = Ax + Bu by steps of delta, with certificate: two routes agree, and a proven bound leaves no doubt about
    the last place of any entry.

    method: a method, or a textbook form ("zoh-exact")
    A: numbers, each an equation of its own: rates of any shape; or, dense, a matrix (n, n). Real or complex, taken as they
        are, in double
    B: numbers that broadcast with A and delta, as in NumPy; or, dense, (n, m)
    delta: steps of the unit of time in which A is a rate, which may be negative; dense, one number
    dense: whether A is a matrix; by default it is one where A is (n, n), B (n, m) and delta a number

    The results have the shape that A, B and delta broadcast to; dense, those of A and of B. The certificate of many is the last
    one's. Raises ValueError for shapes that disagree, numbers that are not finite, a form's pole, and what cannot be certified.
    """
    import numpy

    method = known_method(method)
    a, b, steps = _double("A", A), _double("B", B), _double("delta", delta)
    if steps.dtype.kind == "c":
        raise ValueError("delta has complex numbers, expected real ones (hint: a step is a time)")
    if not numpy.isfinite(steps).all():
        wrong = steps[~numpy.isfinite(steps)].ravel()[0]
        raise ValueError(f"delta is {wrong}, expected finite numbers (hint: look at what produced it)")
    kind = "complex128" if "c" in (a.dtype.kind, b.dtype.kind) else "float64"

    def flat(numbers: Any) -> Any:
        return numpy.ascontiguousarray(numbers, dtype=kind).view("float64").ravel().tolist()

    if dense is None:
        dense = a.ndim == 2 and steps.ndim == 0
    if dense:
        if a.ndim != 2 or a.shape[0] != a.shape[1] or b.ndim != 2 or b.shape[0] != a.shape[0] or steps.ndim != 0:
            raise ValueError(
                f"A has shape {a.shape}, B {b.shape} and delta {steps.shape}, expected (n, n), (n, m) and a number "
                "(hint: dense=False takes numbers, each an equation of its own)"
            )
        parts, certificate = _holdfast.discretize_dense(
            method, flat(a), flat(b), a.shape[0], kind == "complex128", float(steps)
        )
        return Discretized(*_joined(parts, kind, (a.shape, b.shape, b.shape, b.shape)), certificate)
    try:
        a, b, steps = numpy.broadcast_arrays(a, b, steps)
    except ValueError:
        raise ValueError(
            f"A has shape {a.shape}, B {b.shape} and delta {steps.shape}, expected shapes that broadcast (hint: one B and one step "
            "for each A, or axes of length 1)"
        ) from None
    if a.size == 0:
        raise ValueError(f"A, B and delta have shape {a.shape}, expected at least one number (hint: look at what produced them)")
    steps = numpy.ascontiguousarray(steps).ravel().tolist()
    parts, certificate = _holdfast.discretize_elements(method, flat(a), flat(b), kind == "complex128", steps)
    return Discretized(*_joined(parts, kind, (a.shape,) * 4), certificate)


class Gradients(NamedTuple):
    """The derivatives of a loss by every input of a selective scan, correctly rounded to float64: each as its input, None for
    what the scan does not have. Complex ones are ∂L/∂Re + i ∂L/∂Im in complex128, as PyTorch's, whether the input had complex
    numbers or re and im apart.

    certificate: how they are known, in words
    """

    u: numpy.ndarray[Any, Any]
    delta: numpy.ndarray[Any, Any]
    A: numpy.ndarray[Any, Any]
    B: numpy.ndarray[Any, Any]
    C: numpy.ndarray[Any, Any]
    D: numpy.ndarray[Any, Any] | None
    z: numpy.ndarray[Any, Any] | None
    delta_bias: numpy.ndarray[Any, Any] | None
    initial_state: numpy.ndarray[Any, Any] | None
    certificate: str


def _has_groups(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether B or C of shape `own` was given with its groups, which `shape` always has: complex ones may end in re and im, or
    have them in turn along the sequence."""
    # Complex ones that are this are no pairs: these would have one dimension more.
    if own == shape:
        return True
    batch, _, dstate, seqlen = shape
    without: list[tuple[int, ...]] = [(batch, dstate, seqlen), (batch, dstate, 2 * seqlen)]
    # With one position, four dimensions are those with groups.
    without += [(batch, dstate, seqlen, 2)] if seqlen > 1 else []
    return own not in without


@called
def gradients(
    u: Any,
    delta: Any,
    A: Any,
    B: Any,
    C: Any,
    D: Any = None,
    z: Any = None,
    delta_bias: Any = None,
    delta_softplus: bool = False,
    *,
    method: str = "zoh",
    dout: Any,
    dlast_state: Any = None,
    initial_state: Any = None,
    dt_limit: tuple[float, float] | None = None,
) -> Gradients:
    """The gradients of a loss by the inputs of a selective scan, certified as `discretize`'s values are: what a backward pass
    must return. 50,000 to 350,000 states times positions a second and core.

    The inputs are those of `check` in layout="bdl", in f32, f16 or bf16.

    dout: ∂L/∂out, of u's shape and type
    dlast_state: ∂L/∂last_state, (batch, dim, dstate) as A; None where the loss does not see the last state
    dt_limit: what each step is clamped to, as `check` has it

    Raises ValueError for arrays that are no run's, numbers that are not finite, a pole of the method, and what cannot be
    certified.
    """
    inputs = inputs_of(dict(locals()))
    import numpy

    method = of_kernels(method)
    if dout is None:
        raise ValueError("tensor `dout` is None, expected an array as u (hint: ∂L/∂out; ones for the gradient of the sum)")
    hosts = {"dout": to_host("dout", dout)}
    if dlast_state is not None:
        hosts["dlast_state"] = to_host("dlast_state", dlast_state)
    of_inputs = to_host("u", u).stored
    if hosts["dout"].stored != of_inputs:
        raise ValueError(
            f"tensor `dout` is of type {hosts['dout'].stored}, expected {of_inputs} as u "
            "(hint: dout.astype(u.dtype), or dout.to(u.dtype))"
        )
    # In place of a run's outputs, whose shapes and types they have.
    given = {f"out.{method}": hosts["dout"], f"last_state.{method}": hosts.get("dlast_state")}
    try:
        made = tensors("bdl", inputs, {name: host for name, host in given.items() if host is not None})
        found, certificate = _holdfast.gradients(run_of(made), metadata_of(delta_softplus, {"dt_limit": dt_limit}), method)
    except ValueError as error:
        text = str(explained(error, "bdl"))
        for name, meant in ((f"out.{method}", "dout"), (f"last_state.{method}", "dlast_state")):
            text = text.replace(name, meant)
        raise ValueError(text) from None
    by_name: dict[str, Any] = dict.fromkeys(Gradients._fields)
    for name, numbers, shape, is_complex in found:
        field = name.removeprefix("grad.")
        values = (numbers.view("complex128") if is_complex else numbers).reshape(shape)
        if field in ("B", "C") and values.ndim == 4 and not _has_groups(numpy.shape(inputs[field]), values.shape):
            values = values[:, 0]
        by_name[field] = values
    return Gradients(**{**by_name, "certificate": certificate})
