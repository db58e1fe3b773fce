"""Names as people write them: of arguments, types, methods and other choices; and what is said of those that there are not."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from . import _holdfast

__tracebackhide__ = True

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Arguments of scans by what they are called elsewhere.
ALIASES = {
    "x": "u",
    "hidden_states": "u",
    "dt": "delta",
    "dt_bias": "delta_bias",
    "dt_softplus": "delta_softplus",
    "time_step_limit": "dt_limit",
    "gate": "z",
    "initial_states": "initial_state",
    "final_states": "last_state",
    "varlen_states": "last_state",
    "states": "chunk_states",
    "y": "out",
}

#: What Mamba-2's scans call the arguments that have other names here.
OF_HEADS = {"x": "u", "dt": "delta", "dt_bias": "delta_bias", "dt_softplus": "delta_softplus", "initial_states": "initial_state"}

#: Types by what they are called elsewhere.
_TYPES = {
    **dict.fromkeys(("float32", "float", "single", "fp32"), "f32"),
    **dict.fromkeys(("float16", "half", "fp16"), "f16"),
    "bfloat16": "bf16",
    "complex64": "complex",
    "pytorch": "torch",
    "gpu": "cuda",
}


def called_in(fn: Any) -> Any:
    """Function that has the names of another one's arguments: of a torch.nn.Module, its `forward`."""
    return fn.forward if hasattr(fn, "named_modules") and hasattr(fn, "forward") else fn


def spellings(name: str) -> list[str]:
    """An argument's own name, and what it is called elsewhere."""
    return [name, *(other for other, ours in ALIASES.items() if ours == name)]


def _written(value: Any) -> str:
    """Text that somebody wrote, or the type of an array's numbers as its framework has it."""
    if isinstance(value, str):
        return value
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    return name if isinstance(name, str) else str(value).removeprefix("torch.")


def _plain(text: str) -> str:
    plain = text.strip().lower().replace("_", "-").replace(" ", "-")
    return _TYPES.get(plain, plain)


def near(text: str, among: Iterable[str], likeness: float = 0.6) -> str | None:
    """The one of these names that is most like a text, if one is."""
    import difflib

    by_plain = {_plain(name): name for name in among}
    found = difflib.get_close_matches(_plain(text), by_plain, 1, likeness)
    return by_plain[found[0]] if found else None


def meant(noun: str, value: Any, among: Iterable[str], hint: str) -> str:
    """The one of these names that is meant, whatever its capitals and hyphens.

    Raises ValueError where none is; then `hint` is for what is like none of them.
    """
    names = list(among)
    text = _written(value)
    found = {_plain(name): name for name in names}.get(_plain(text))
    if found is None:
        like = near(text, names)
        hint = f"{like}, perhaps" if like else hint
        raise ValueError(f"{noun} is `{text}`, expected one of {', '.join(names)} (hint: {hint})")
    return found


def many(noun: str, value: Any, among: Iterable[str], hint: str) -> list[str]:
    """The names that are meant by one or by several.

    Raises ValueError for one that is none, and where there are none.
    """
    values = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
    if not values:
        raise ValueError(f"{noun} is empty, expected at least one name (hint: leave it out for the usual ones)")
    known = list(among)
    return list(dict.fromkeys(meant(noun, one, known, hint) for one in values))


def diagnosis_of(value: Any) -> str:
    """How long a cause is looked for, as the command line has it: seconds, thorough or off. Raises ValueError for anything else."""
    seconds = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    with contextlib.suppress(ValueError):
        seconds = float(value) if isinstance(value, str) else seconds
    if seconds is None and isinstance(value, str):
        return meant("diagnosis", value, ("thorough", "off"), "or seconds, as 10")
    if seconds is None or not 0 < seconds < 1e9:
        raise ValueError(f'diagnosis is {value!r}, expected seconds above 0, "thorough" or "off" (hint: diagnosis=10)')
    return repr(float(seconds))


def arithmetic_of(value: Any) -> str:
    """The text of an arithmetic, whose types may be called as elsewhere."""
    import re

    return re.sub(r"[a-z]+[0-9]*", lambda found: _TYPES.get(found[0], found[0]), _written(value).lower())


def known_kind(what: str, value: Any, is_right: bool, expected: str, hint: str) -> None:
    """Raises TypeError unless it is right."""
    if not is_right:
        raise TypeError(f"{what} is of type {type(value).__name__}, expected {expected} (hint: {hint})")


def path_of(value: Any) -> str:
    """The name of a file or folder. Raises TypeError for anything else."""
    known_kind("path", value, isinstance(value, (str, os.PathLike)), "the name of a file", "a text, or a pathlib.Path")
    return os.fsdecode(value)


def of_file(what: str, value: Any) -> ValueError | None:
    """The error for the name of a file where an array is expected; None for anything else."""
    if not isinstance(value, (str, os.PathLike)):
        return None
    path = os.fsdecode(value)
    hint = f"`holdfast check {path}` judges the file of a run"
    if path.lower().endswith((".pt", ".pth", ".bin", ".ckpt")):
        hint = f"run = torch.load({path!r}), and then holdfast.check(**run) if it has the names of help(holdfast.check)"
    elif not path.lower().endswith(".safetensors"):
        hint = "arrays of NumPy, PyTorch, JAX and CuPy, and what has __dlpack__"
    return ValueError(f"{what} is the text {path!r}, expected an array (hint: {hint})")


def called(fn: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function, whose arguments may be called as elsewhere, and which says what was expected where one is wrong."""

    @functools.wraps(fn)
    def caller(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        import inspect

        signature = inspect.signature(fn)
        own = signature.parameters
        for name in [name for name in kwargs if name not in own and ALIASES.get(name) in own]:
            ours = ALIASES[name]
            if ours in kwargs or list(own).index(ours) < len(args):
                raise TypeError(f"{fn.__qualname__} is given both `{name}` and `{ours}`, expected one (hint: they are the same)")
            kwargs[ours] = kwargs.pop(name)
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            raise _wrong(fn, signature, args, kwargs) from None
        return fn(*args, **kwargs)

    return caller


def _wrong(fn: Callable[..., Any], signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Error for a call whose arguments are wrong."""
    own = [one for one in signature.parameters.values() if one.name != "self"]
    args = args[len(signature.parameters) - len(own) :]
    in_order = [one.name for one in own if one.kind is one.POSITIONAL_OR_KEYWORD]
    names = [one.name for one in own if one.kind is not one.VAR_KEYWORD]
    needed = [one.name for one in own if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    about = f"help(holdfast.{fn.__qualname__}) says what each is"
    for name in kwargs:
        if name not in names and len(names) == len(own):
            like = near(name, [*names, *(other for other, ours in ALIASES.items() if ours in names)])
            instead = _holdfast.elsewhere(name) if "u" in names else None
            hint = instead or (f"{ALIASES.get(like, like)}, perhaps" if like else about)
            return TypeError(f"{fn.__qualname__} has no argument `{name}`, expected some of {', '.join(names)} (hint: {hint})")
    if args and isinstance(args[0], Mapping) and "u" in names:
        return TypeError(
            f"{fn.__qualname__} is given a {type(args[0]).__name__} as `u`, expected {', '.join(needed)} (hint: "
            f"holdfast.{fn.__qualname__}(**run), if those are its keys)"
        )
    for name, value in zip(in_order, args):
        is_file = of_file(f"argument `{name}`", value) if "u" in names else None
        if is_file:
            return is_file
    if len(args) > len(in_order):
        rest = names[len(in_order)] if len(names) > len(in_order) else in_order[-1]
        return TypeError(
            f"{fn.__qualname__} is given {len(args)} arguments in order, expected at most {len(in_order)} "
            f"(hint: the others have names, as {rest}=…)"
        )
    twice = [name for name in in_order[: len(args)] if name in kwargs]
    if twice:
        return TypeError(f"{fn.__qualname__} is given `{twice[0]}` twice, expected it once (hint: in order, or by its name)")
    missing = [name for name in needed if name not in kwargs and name not in in_order[: len(args)]]
    return TypeError(f"{fn.__qualname__} is not given `{missing[0]}`, expected {', '.join(needed)} (hint: {about})")
