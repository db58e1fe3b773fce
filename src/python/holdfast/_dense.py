"""Steps of dense systems (the specification, §8): Ā and B̄ that somebody computed, judged."""

from __future__ import annotations

from typing import Any

from ._arrays import Host, origin, to_host
from ._layout import Tensor
from ._names import called, known_kind, meant
from ._recorded import judged, known_method, known_number, known_seed
from ._report import Report

__tracebackhide__ = True

#: Axes of a tensor behind those of its systems.
_MATRICES = {"A": "(…, n, n)", "B": "(…, n, m)", "A_bar": "(…, n, n)", "B_bar": "(…, n, m)"}


def _read(name: str, array: Any) -> tuple[Host, bool]:
    """The array with the parts of its numbers in a last axis if they are complex, and whether they are."""
    import numpy

    if "complex128" in str(getattr(array, "dtype", "")):
        # The type has no name in a file; its parts have.
        if hasattr(array, "detach"):
            array = array.detach().resolve_conj().resolve_neg().cpu().numpy()
        elif hasattr(array, "__cuda_array_interface__") and hasattr(array, "get"):
            array = array.get()
        whole = numpy.asarray(array, dtype=numpy.complex128, order="C")
        return Host(whole.view("float64").reshape(*whole.shape, 2), "F64"), True
    host = to_host(name, array)
    return host, host.stored == "C64"


def _spread(name: str, array: Any, leading: tuple[int, ...], is_wide: bool) -> Tensor:
    """A tensor of all systems, whose leading axes are these or broadcast to them; real ones are complex beside others that are."""
    import math

    import numpy

    host, is_complex = _read(name.split(".")[0], array)
    if is_wide and not is_complex and host.stored in ("F32", "F64"):
        host, is_complex = _read(name.split(".")[0], host.array.astype("complex64" if host.stored == "F32" else "complex128"))
    parts = (2,) if is_complex and host.stored == "F64" else ()
    tail = host.array.shape[host.array.ndim - 2 - len(parts) :]
    is_output = "." in name
    try:
        if len(tail) != 2 + len(parts):
            raise ValueError
        if is_output and host.array.shape[: -len(tail)] != leading:
            raise ValueError
        if host.array.ndim == len(tail) and not is_output:
            # One for all systems.
            return Tensor(name, host.stored, [1, *tail], host.array.reshape(1, *tail))
        whole = numpy.broadcast_to(host.array, leading + tail)
    except ValueError:
        short = name.split(".")[0]
        how = "with the axes of delta in front" if is_output else "whose front axes broadcast to delta's"
        raise ValueError(
            f"tensor `{short}` has shape {tuple(host.array.shape)}, expected {_MATRICES[short]} {how}, {leading} "
            f"(hint: {'with one input it is ' + short + '[..., None]' if short.startswith('B') else 'one A for all systems is (n, n)'})"
        ) from None
    count = math.prod(leading)
    return Tensor(name, host.stored, [count, *tail], whole.reshape(count, *tail))


@called
def check_dense(
    delta: Any,
    A: Any,
    B: Any,
    *,
    method: str = "zoh",
    A_bar: Any = None,
    B_bar: Any = None,
    arithmetic: str | None = None,
    systems: int | None = None,
    diagnosis: float | str = 10,
    name: str = "arrays",
    seed: int = 1,
    threads: int | None = None,
) -> Report:
    """Judges Ā and B̄ that were computed of systems x' = A x + B u whose A is a matrix.

    delta: (…), a number or one for each system; A: (…, n, n) and B: (…, n, m), whose front axes broadcast to delta's; real or complex,
        of any floating type
    A_bar, B_bar: (…, n, n) and (…, n, m), with delta's axes in front; one of them at least
    method: one of `methods()` or a textbook form that reads the input of its own position: "zoh-exact", "bilinear"
    arithmetic: "f64" where results were computed in double and stored in less; else it is f64 where they are stored so, and f32
    systems: how many to judge, drawn by the seed; None for all

    A Python number for delta is taken as f64 where A is of double, and as f32 elsewhere. Raises ValueError for arrays that are no such steps.
    """
    import numpy

    method = known_method(method)
    known_kind("name", name, isinstance(name, str), "a text", "it identifies the run in a report")
    systems = None if systems is None else known_number("systems", systems, "leave it out for all of them")
    threads = None if threads is None else known_number("threads", threads, "leave it out for all of them")
    if A_bar is None and B_bar is None:
        raise ValueError("found neither A_bar nor B_bar, expected one at least (hint: A_bar=scipy.linalg.expm(delta * A))")
    of_a, is_wide = _read("A", A)
    if type(delta) in (int, float):
        kind = "float64" if of_a.stored == "F64" else "float32"
        known_kind("delta", delta, abs(delta) < 1e38, "a number of that type", "delta=0.1")
        delta = numpy.asarray(delta, dtype=kind)
    steps = to_host("delta", delta)
    leading = tuple(int(size) for size in steps.array.shape)
    made = [Tensor("delta", steps.stored, [steps.array.size], steps.array.reshape(-1))]
    named = {"A": A, "B": B, f"A_bar.{method}": A_bar, f"B_bar.{method}": B_bar}
    made += [_spread(tensor, array, leading, is_wide) for tensor, array in named.items() if array is not None]
    stated = {} if arithmetic is None else {"arithmetic": meant("arithmetic", arithmetic, ("f32", "f64"), "in which it was computed")}
    metadata = {**origin(B_bar if A_bar is None else A_bar), **stated}
    asked: dict[str, Any] = {"channels": systems, "seed": known_seed(seed), "diagnosis": diagnosis, "threads": threads}
    return judged(made, metadata, name, "holdfast.check_dense(…)", **asked)
