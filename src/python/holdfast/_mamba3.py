"""Runs of Mamba-3's rule (the specification, §7), by the names and shapes of `mamba3_siso_combined`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._arrays import origin, to_host
from ._layout import Tensor
from ._names import called, known_kind
from ._recorded import judged, known_seed, metadata_of
from ._report import Report

__tracebackhide__ = True

#: What the arguments are in a run.
_INPUTS = {
    **{"Q": "C", "K": "B", "V": "u", "ADT": "ADT", "DT": "delta", "Trap": "trap"},
    **{"Q_bias": "C_bias", "K_bias": "B_bias", "Angles": "angles", "D": "D", "Z": "z"},
}
#: Those that are (batch, heads, seqlen) there and (batch, seqlen, heads) in a run.
_TURNED = ("ADT", "DT", "Trap")
#: States in their order: their names behind `initial_` and `last_`.
_STATES = ("angle", "state", "B", "u")
INITIAL_STATES, LAST_STATES = ([prefix + name for name in _STATES] for prefix in ("initial_", "last_"))
#: Inputs that a run can hold, as `flat` has them.
ARGUMENTS = (*_INPUTS, *INITIAL_STATES, "cu_seqlens")
#: Arguments that are four states, and the names of these in a run.
_FOURS = {"Input_States": INITIAL_STATES, "final_states": LAST_STATES, "dfinal_states": [f"d{name}" for name in LAST_STATES]}


def _four(what: str, states: Any) -> dict[str, Any]:
    """The states by their names in a run; none where there are none."""
    if states is not None and (not isinstance(states, (tuple, list)) or len(states) != len(_STATES)):
        raise ValueError(f"{what} is a {type(states).__name__}, expected four states in a tuple (hint: angle, ssm, last K, last V)")
    return dict(zip(_FOURS[what], states or ()))


def flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `check_mamba3`, with each state by its name in a run. What is None is left out.

    Raises ValueError for states that are not four.
    """
    found = {name: value for name, value in given.items() if name not in _FOURS}
    for what in _FOURS:
        found |= _four(what, given.get(what))
    return {name: value for name, value in found.items() if value is not None}


def _tensor(name: str, array: Any, is_turned: bool) -> Tensor:
    host = to_host(name, array)
    numbers = host.array.swapaxes(1, 2) if is_turned and host.array.ndim == 3 else host.array
    return Tensor(name, host.stored, list(numbers.shape), numbers)


def run(given: Mapping[str, Any]) -> list[Tensor]:
    """The tensors of a run, from the arguments of `check_mamba3`, `flat` or not. What is None is left out.

    Raises ValueError for what is no array, and for states that are not four.
    """
    grads = given.get("grads") or {}
    known_kind("grads", grads, isinstance(grads, Mapping), "a mapping of arrays", 'grads={"V": V.grad, …}')
    given, grads = flat(given), flat(grads)
    unknown = [name for name in grads if name not in (*_INPUTS, *INITIAL_STATES)]
    if unknown:
        known = ", ".join((*_INPUTS, "Input_States"))
        raise ValueError(f"grads has `{unknown[0]}`, expected some of {known} (hint: each is named as its argument)")
    stored = {**_INPUTS, **{name: name for name in (*INITIAL_STATES, "cu_seqlens", "dout", *_FOURS["dfinal_states"])}}
    stored |= {name: f"{name}.trapezoidal" for name in ("out", *LAST_STATES)}
    made = [_tensor(ours, given[name], name in _TURNED) for name, ours in stored.items() if name in given]
    return made + [_tensor(f"grad.{stored[name]}.trapezoidal", array, name in _TURNED) for name, array in grads.items()]


def outputs_of(returned: Any) -> dict[str, Any]:
    """The output, and in their order the four states behind it or in a tuple, where there are any.

    Raises ValueError where there are others.
    """
    out, *rest = returned if isinstance(returned, (tuple, list)) else (returned,)
    states = rest[0] if len(rest) == 1 else rest or None
    return {"out": out, **_four("final_states", states)}


@called
def check_mamba3(
    Q: Any,
    K: Any,
    V: Any,
    ADT: Any,
    DT: Any,
    Trap: Any,
    Q_bias: Any = None,
    K_bias: Any = None,
    Angles: Any = None,
    D: Any = None,
    Z: Any = None,
    Input_States: Any = None,
    *,
    cu_seqlens: Any = None,
    out: Any = None,
    final_states: Any = None,
    dout: Any = None,
    dfinal_states: Any = None,
    grads: Mapping[str, Any] | None = None,
    scan: str | None = None,
    name: str = "arrays",
    seed: int = 1,
) -> Report:
    """Judges what a scan by Mamba-3's rule returned, as `check` judges others. The arguments are those of `mamba3_siso_combined`:

        Q, K: (batch, seqlen, query heads, d); Q_bias, K_bias: (heads, d)
        V, Z, out: (batch, seqlen, heads, dv); D: (heads)
        ADT, DT, Trap: (batch, heads, seqlen)
        Angles: (batch, seqlen, heads, k), with 2 k at most d
        Input_States, final_states: (batch, heads, k), (batch, heads, dv, d), (batch, heads, d) and (batch, heads, dv) in a tuple, of
            angles, which count modulo 2π, states, the last turned K and the last V; None in it for what is not to be judged. With
            cu_seqlens (sequences + 1) of one item they are (sequences, …)

    dout, dfinal_states: what a backward pass starts from; grads: what it returned, by the names of the arguments, those of
        Input_States in a tuple as well
    scan: "log-space-64" where decays are exponentials of running sums that begin anew every 64 positions

    Raises ValueError for arrays that are no such run.
    """
    given = dict(locals())
    made = run(given)
    stated = {**metadata_of(False, {"scan": scan}), **origin(dout if out is None else out)}
    return judged(made, stated, name, "holdfast.check_mamba3(…)", seed=known_seed(seed))
