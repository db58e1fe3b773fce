"""In which setting problems are posed: their layout, heads, packed sequences, a few steps from a state, and what is stated of the scan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._layout import known_layout
from ._names import OF_HEADS, meant
from ._recorded import known_number, metadata_of

__tracebackhide__ = True

#: Channels of a head that are not asked for: kernels take eights, and regimes have other numbers of heads.
_HEADDIM = 8
#: Most channels of a head, and most steps: problems are small.
_MOST = 4096
#: What tells packed sequences apart.
_PACKED = {"seq_idx": ("seq_idx",), "cu_seqlens": ("cu_seqlens",), "both": ("seq_idx", "cu_seqlens")}


class Setting(NamedTuple):
    """The setting of some problems. `stated` is what a recording's metadata have of it."""

    layout: str = "bdl"
    headdim: int | None = None
    packed: str | None = None
    decode: int | None = None
    stated: Mapping[str, str] = {}

    @property
    def tells(self) -> Sequence[str]:
        """The tensors that tell packed sequences apart."""
        return _PACKED[self.packed] if self.packed else ()

    @property
    def names(self) -> dict[str, str]:
        """What arguments are called where such a scan comes from, if not as elsewhere."""
        if self.layout not in ("blhp", "step"):
            return {}
        names = {ours: theirs for theirs, ours in OF_HEADS.items()}
        return {**names, "initial_state": "state"} if self.layout == "step" else names

    @property
    def state_type(self) -> str:
        return self.stated.get("state_type", "f32")

    def drawn(self) -> tuple[str, int, str | None, int | None, str]:
        """The same, for the extension."""
        layout = "bdl" if self.layout == "step" else self.layout
        by = self.tells[-1] if self.packed else None
        return layout, self.headdim or 0, by, self.decode, self.state_type

    def parts(self) -> list[str]:
        """What it adds to a problem's name."""
        parts = [f"heads-of-{self.headdim}"] if self.headdim else []
        parts += [f"packed-{self.packed}"] if self.packed else []
        return parts + ([f"decode-{self.decode}"] if self.decode else [])

    def words(self) -> list[str]:
        """The arguments of a call that asks for it."""
        asked = {"layout": self.layout, "headdim": self.headdim, "packed": self.packed, "decode": self.decode, **self.stated}
        usual = {"layout": "bdl", "headdim": _HEADDIM}
        return [f"{name}={json.dumps(value)}" for name, value in asked.items() if value not in (None, usual.get(name))]


def _few(name: str, value: Any) -> int:
    """Raises ValueError for what is no number of channels or steps, or is too large."""
    found = known_number(name, value)
    if found > _MOST:
        raise ValueError(f"{name} is {found}, expected at most {_MOST} (hint: every regime has so many)")
    return found


def setting_of(layout: Any, headdim: Any, packed: Any, decode: Any, statements: Mapping[str, Any]) -> Setting:
    """The setting that is meant. Raises ValueError for what makes no sense."""
    layout = known_layout(layout)
    if headdim is not None and layout != "blhp":
        raise ValueError(f'headdim is {headdim!r} and layout is `{layout}`, expected layout="blhp" (hint: that is the one that has heads)')
    if layout == "blhp":
        headdim = _HEADDIM if headdim is None else _few("headdim", headdim)
    if isinstance(packed, bool):
        packed = "seq_idx" if packed else None
    if packed is not None:
        packed = meant("packed", packed, _PACKED, "packed=True is seq_idx; cu_seqlens has one item")
    if isinstance(decode, bool):
        decode = 1 if decode else None
    if decode is not None:
        decode = _few("decode", decode)
    if layout == "step" and decode not in (None, 1):
        raise ValueError(f'decode is {decode} and layout is `step`, expected one step (hint: layout="blhp" has several, as have bdl and bld)')
    if packed is not None and (decode is not None or layout == "step"):
        raise ValueError(
            f'packed is `{packed}` and decode is {decode or 1}, expected one of the two (hint: sequences that are decoded are items of a '
            "batch, and what is packed starts from 0)"
        )
    stated = metadata_of(False, statements)
    del stated["delta_softplus"]
    if "state_read" in stated and stated.get("state_type", "f32") == "f32":
        raise ValueError('state_read is given and state_type is f32, expected a state that is rounded (hint: state_type="bf16")')
    return Setting(layout, headdim, packed, 1 if layout == "step" else decode, stated)
