"""Arguments as the tensors of a recorded run, in the layout that they have; what the reader of runs does not take is viewed as what
it does: B and C without groups, and `step`.

| layout | u, delta, z, out | B, C that vary | A, D, delta_bias | states |
|---|---|---|---|---|
| `bdl` | (batch, dim, seqlen) | (batch[, groups], dstate, seqlen) | (dim, dstate), (dim) | (batch, dim, dstate) |
| `bld` | (batch, seqlen, dim) | (batch, seqlen[, groups], dstate) | the same | the same |
| `blhp` | (batch, seqlen, heads, p), delta without p | as `bld` | (heads), D perhaps (heads, p) | (batch, heads, p, dstate) |
| `step` | (batch, dim), one position | (batch[, groups], dstate) | as `bdl` | (batch, dim, dstate) |

Of `step`, (heads, p) may stand for dim everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ._arrays import Host, to_host
from ._names import meant

if TYPE_CHECKING:
    import numpy

__tracebackhide__ = True

LAYOUTS = ("bdl", "bld", "blhp", "step")
#: Those that the reader of runs knows, and is told.
_STATED = ("bld", "blhp")


class Tensor(NamedTuple):
    """A tensor of a run: `shape` is what the run has, in which the array's numbers stand in their own order."""

    name: str
    stored: str
    shape: list[int]
    array: numpy.ndarray[Any, Any]


def known_layout(layout: Any) -> str:
    """The layout that is meant. Raises ValueError for any other one."""
    return meant("layout", layout, LAYOUTS, "bdl is (batch, dim, seqlen)")


def _expected(name: str, host: Host, expected: str, layout: str, hint: str | None = None) -> ValueError:
    others = ", ".join(known for known in LAYOUTS if known != layout)
    hint = hint or f'that is what layout="{layout}" has; others are {others}'
    return ValueError(f"tensor `{name}` has shape {host.array.shape}, expected {expected} (hint: {hint})")


def _is_complex(a: Host) -> bool:
    return a.stored == "C64" or a.array.ndim == 3


def _operand(name: str, host: Host, layout: str, is_complex: bool, is_single: bool) -> Host:
    """B or C with their groups, where they vary; complex floats end in 2. `is_single` says that the sequence has one position."""
    array = host.array
    pairs = int(is_complex and host.stored != "C64")
    if layout == "bdl":
        # Of complex weights, re and im of what varies may alternate along the sequence: then there are no pairs.
        are_pairs = pairs == 1 and array.ndim in (3, 4) and array.shape[-1] == 2 and not (array.ndim == 4 and is_single)
        return host.map(array[:, None]) if array.ndim == 3 + are_pairs and array.ndim > 2 else host
    return host.map(array[:, :, None]) if array.ndim == 3 + pairs else host


def _known_operand(name: str, host: Host, u: Host, a: Host) -> None:
    """Raises ValueError for a real B or C without groups that is not (batch, dstate, seqlen)."""
    (batch, dim, seqlen), (rows, dstate) = u.array.shape, a.array.shape
    # Where u does not fit A, the reader says so.
    if "C64" in (a.stored, host.stored) or rows != dim or host.array.shape == (batch, dstate, seqlen):
        return
    turned = host.array.shape == (batch, seqlen, dstate)
    hint = f"the sequence is last: {name}.swapaxes(1, 2)" if turned else "that is (batch, dstate, seqlen)"
    raise _expected(name, host, f"{(batch, dstate, seqlen)}", "bdl", hint)


def _role(name: str) -> str:
    """Which of a layout's rows a tensor belongs to, by its name in a run: a gradient is laid out as its input."""
    kind, _, rest = name.partition(".")
    if kind == "grad":
        return rest.partition(".")[0]
    return {"dout": "out", "dlast_state": "last_state"}.get(kind, kind)


def _merged(shape: Sequence[int], first: int) -> list[int]:
    """The shape with heads and p as one dimension of channels."""
    return [*shape[:first], shape[first] * shape[first + 1], *shape[first + 2 :]]


def _of_step(name: str, host: Host, u: Host | None) -> tuple[Host, int | None]:
    """A tensor of one position in layout "bdl"; and where (heads, p) are that are one dimension there."""
    role, array = _role(name), host.array
    of_heads = u is not None and u.array.ndim == 3
    expected, first = {
        "A": ("(heads, p, dstate)" if of_heads else "(dim, dstate)", 0),
        "B": ("(batch, dstate) or (batch, groups, dstate)", None),
        "C": ("(batch, dstate) or (batch, groups, dstate)", None),
        "D": ("(heads, p)" if of_heads else "(dim)", 0),
        "delta_bias": ("(heads, p)" if of_heads else "(dim)", 0),
        "initial_state": ("(batch, heads, p, dstate)" if of_heads else "(batch, dim, dstate)", 1),
        "last_state": ("(batch, heads, p, dstate)" if of_heads else "(batch, dim, dstate)", 1),
    }.get(role, ("(batch, heads, p)" if of_heads else "(batch, dim)", 1))
    if array.ndim not in {len(one.split(", ")) for one in expected.split(" or ")}:
        raise _expected(name, host, expected, "step")
    if role in ("B", "C"):
        return host.map((array[:, None] if array.ndim == 2 else array)[..., None]), None
    return (host if first == 0 or "state" in role else host.map(array[..., None])), first if of_heads else None


def laid_out(array: numpy.ndarray[Any, Any], layout: str, u: tuple[int, ...], is_state: bool) -> numpy.ndarray[Any, Any]:
    """Output or last state of a scan, in the layout of a `u` of this shape."""
    heads = u[-2:] if layout == "blhp" or layout == "step" and len(u) == 3 else (array.shape[1],)
    split = array.reshape((array.shape[0], *heads, *array.shape[2:]))
    if is_state or layout == "bdl":
        return split
    return split[..., 0] if layout == "step" else split.transpose(0, split.ndim - 1, *range(1, split.ndim - 1))


def layout_of(layout: str) -> dict[str, str]:
    """What a run's metadata say of its layout."""
    return {"layout": layout} if layout in _STATED else {}


def tensors(layout: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[Tensor]:
    """The tensors of a run. What is None is left out.

    Raises ValueError for what is no array, and where a layout's dimensions are not those that it has. All else is for the
    reader of recorded runs to say.
    """
    layout = known_layout(layout)
    hosts = {name: to_host(name, array) for name, array in {**inputs, **outputs}.items() if array is not None}
    u, a = hosts.get("u"), hosts.get("A")
    made = []
    for name, host in hosts.items():
        role = _role(name)
        merged = None
        if layout == "step":
            host, merged = _of_step(name, host, u)
        elif role in ("B", "C") and a is not None:
            is_single = u is not None and u.array.ndim == 3 and u.array.shape[2] == 1
            if layout == "bdl" and u is not None and (u.array.ndim, a.array.ndim, host.array.ndim) == (3, 2, 3):
                _known_operand(name, host, u, a)
            host = _operand(name, host, layout, layout != "blhp" and _is_complex(a), is_single)
        shape = list(host.array.shape)
        if merged is not None:
            shape = _merged(shape, merged)
        made.append(Tensor(name, host.stored, shape, host.array))
    return made
