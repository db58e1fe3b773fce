"""Runs of Mamba-3's rule (the specification, §7), by the names and shapes of `mamba3_siso_combined`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _holdfast
from ._arrays import origin, to_host
from ._layout import Tensor
from ._names import called, diagnosis_of, known_kind
from ._recorded import known_seed, metadata_of, run_of
from ._report import Report
from ._words import of_error

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
#: All that a run can hold.
ARGUMENTS = (*_INPUTS, "Input_States", "cu_seqlens")
#: Arguments that say how it is computed, and not what.
HARMLESS = ("chunk_size", "return_final_states")


def _states(what: str, states: Any, prefix: str) -> dict[str, Any]:
    """The four states by their names in a run; those that are None are left out."""
    if states is None:
        return {}
    if not isinstance(states, (tuple, list)) or len(states) != len(_STATES):
        raise ValueError(f"{what} is a {type(states).__name__}, expected four states in a tuple (hint: angle, ssm, last K, last V)")
    return {prefix + name: array for name, array in zip(_STATES, states)}


def _tensor(name: str, array: Any, is_turned: bool) -> Tensor:
    host = to_host(name, array)
    numbers = host.array.swapaxes(1, 2) if is_turned and host.array.ndim == 3 else host.array
    return Tensor(name, host.stored, list(numbers.shape), numbers)


def run(given: Mapping[str, Any]) -> list[Tensor]:
    """The tensors of a run, from the arguments of `check_mamba3`. What is None is left out.

    Raises ValueError for what is no array, and for states that are not four.
    """
    grads = given.get("grads") or {}
    known_kind("grads", grads, isinstance(grads, Mapping), "a mapping of arrays", 'grads={"V": V.grad, …}')
    unknown = [name for name in grads if name not in _INPUTS]
    if unknown:
        raise ValueError(f"grads has `{unknown[0]}`, expected some of {', '.join(_INPUTS)} (hint: each is named as its argument)")
    named = {ours: (given.get(name), name in _TURNED) for name, ours in _INPUTS.items()}
    others = {
        "cu_seqlens": given.get("cu_seqlens"),
        **_states("Input_States", given.get("Input_States"), "initial_"),
        "out.trapezoidal": given.get("out"),
        **{f"{name}.trapezoidal": state for name, state in _states("final_states", given.get("final_states"), "last_").items()},
        "dout": given.get("dout"),
        **_states("dfinal_states", given.get("dfinal_states"), "dlast_"),
    }
    named |= {name: (array, False) for name, array in others.items()}
    named |= {f"grad.{_INPUTS[name]}.trapezoidal": (array, name in _TURNED) for name, array in grads.items()}
    return [_tensor(name, array, turned) for name, (array, turned) in named.items() if array is not None]


def states_of(returned: Any) -> tuple[Any, Sequence[Any] | None]:
    """The output and the four states of what was returned, with these in a tuple or behind it; none where it is the output alone."""
    if not isinstance(returned, (tuple, list)):
        return returned, None
    out, *rest = returned
    if len(rest) == 1 and isinstance(rest[0], (tuple, list)):
        rest = list(rest[0])
    return out, rest if len(rest) == len(_STATES) else None


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

    dout, dfinal_states: what a backward pass starts from; grads: what it returned, by the names of the arguments
    scan: "log-space-64" where decays are exponentials of running sums that begin anew every 64 positions

    Raises ValueError for arrays that are no such run.
    """
    given = dict(locals())
    made = run(given)
    stated = metadata_of(False, {"scan": scan})
    try:
        judged = _holdfast.check(
            run_of(made),
            {**origin(dout if out is None else out), **stated},
            name,
            "holdfast.check_mamba3(…)",
            channels=None,
            seed=known_seed(seed),
            backend="cpu",
            diagnosis=diagnosis_of("off"),
            causes=[],
        )
    except ValueError as error:
        raise ValueError(of_error(str(error))) from None
    return Report(judged)
