"""A function of the caller's own: what its arguments are called, and which arrays it takes."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._arrays import FRAMEWORKS, framework_of, like
from ._autograd import pair_of
from ._names import called_in, spellings

__tracebackhide__ = True

#: Shapes of B and C.
SHAPES = {
    "variable": "(batch, dstate, seqlen)",
    "grouped": "(batch, groups, dstate, seqlen)",
    "constant": "(dim, dstate)",
}
_FIRST = ("u", "delta", "A", "B", "C")
#: Arguments that change nothing if they are zero: a function that asks for them gets them.
_NEUTRAL = ("D", "delta_bias", "delta_softplus")


def name_of(fn: Callable[..., Any]) -> str:
    """Name under which a function can be called, a partial one with what it sets."""
    if isinstance(fn, functools.partial):
        short = [repr(one) if isinstance(one, (bool, int, float, str, type(None))) else "…" for one in (*fn.args, *fn.keywords.values())]
        named = [f"{name}={text}" for name, text in zip(fn.keywords, short[len(fn.args) :])]
        return f"functools.partial({', '.join([name_of(fn.func), *short[: len(fn.args)], *named])})"
    name = getattr(fn, "__name__", "fn")
    return name if name.isidentifier() else "fn"


def said(shapes: Any, layout: str) -> str:
    """Shapes of B or C in words."""
    named = [SHAPES[one] for one in ([shapes] if isinstance(shapes, str) else shapes)]
    if layout == "step":
        named = [one.replace(", seqlen", "") for one in named]
    return " or ".join(one if layout in ("bdl", "step") else _turned(one) for one in named)


def _turned(shape: str) -> str:
    return shape.replace(", dstate, seqlen)", ", dstate)").replace("(batch", "(batch, seqlen")


def _signature(fn: Callable[..., Any]) -> Any:
    import inspect

    try:
        # What is called, not what it wraps: a decorator may give arguments or take some away, unless it hands on all.
        signature = inspect.signature(called_in(fn), follow_wrapped=False)
        is_open = all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in signature.parameters.values())
        return inspect.signature(called_in(fn)) if is_open else signature
    except (TypeError, ValueError):
        # Some that are compiled tell nothing.
        return None


def _names_in(parameters: Mapping[str, Any], inputs: Iterable[str], theirs: Mapping[str, str] | None) -> dict[str, str]:
    """What a function with these parameters calls each of these inputs, and those that change nothing."""
    own = [one.name for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    by_letters = {name.lower(): name for name, one in parameters.items() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
    names: dict[str, str] = {}
    for name in (*inputs, *_NEUTRAL):
        # That of an update is a state of the scan; elsewhere the word says what a state holds.
        spelled = [*spellings(name), *(["state"] if name == "initial_state" else [])]
        known = [by_letters[one.lower()] for one in spelled if one.lower() in by_letters]
        names[name] = known[0] if known else (theirs or {}).get(name, name)
    # Of its first five, those with names that nobody knows are what stands at their places.
    taken = set(names.values())
    for name, place in zip(_FIRST, own):
        if names[name] not in parameters and place not in taken:
            names[name] = place
    return names


def unmatched(
    fn: Callable[..., Any], inputs: Iterable[str], theirs: Mapping[str, str] | None = None
) -> tuple[list[str], list[str]]:
    """Of these inputs those that the function does not take, and what it needs that is none of them."""
    signature = _signature(fn)
    if signature is None:
        return [], []
    inputs, parameters = list(inputs), signature.parameters
    names = _names_in(parameters, inputs, theirs)
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    needed = [one.name for one in parameters.values() if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return [name for name in inputs if not takes_any and names[name] not in parameters], [
        name for name in needed if name not in names.values()
    ]


def adapted(fn: Callable[..., Any], inputs: Mapping[str, Any], theirs: Mapping[str, str] | None = None) -> Callable[..., Any] | None:
    """The function as one that takes these inputs by their names, whatever its own names for them are; None where it does not
    take them all. What it needs beside them is zero where that changes nothing. `theirs` are names for one that names none."""
    signature = _signature(fn)
    parameters = {} if signature is None else signature.parameters
    is_open = all(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters.values())
    own = [one.name for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    names = _names_in(parameters, inputs, theirs)
    needed = [one.name for one in parameters.values() if one.default is one.empty]
    # What somebody has set by a partial function is meant.
    own_default = parameters.get(names["delta_softplus"])
    is_on = own_default is not None and own_default.default is True and names["delta_softplus"] not in getattr(fn, "keywords", {})
    needed += [names["delta_softplus"]] if is_on else []
    more = [name for name in _NEUTRAL if name not in inputs and names[name] in needed]
    in_order = [name for name in own if parameters[name].kind is parameters[name].POSITIONAL_ONLY]

    def placed(named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [named.pop(name) for name in in_order if name in named], named

    def call(**given: Any) -> Any:
        zeros = {name: False if name == "delta_softplus" else (given["A"].reshape(len(given["A"]), -1)[:, 0] * 0).real for name in more}
        args, kwargs = placed({names[name]: value for name, value in {**given, **zeros}.items()})
        try:
            return fn(*args, **kwargs)
        except TypeError as error:
            # Compiled code says so, and a function that hands all on without naming any. All else is the function's own error.
            is_compiled = error.__traceback__ is not None and error.__traceback__.tb_next is None
            if is_compiled and not is_about_arrays(error) or is_open and _is_about_arguments(str(error), kwargs):
                raise _refused(fn, kwargs, error) from error
            raise

    if signature is None:
        return call
    args, kwargs = placed({names[name]: None for name in (*inputs, *more)})
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return None
    return call


def _is_about_arguments(said: str, given: Mapping[str, Any]) -> bool:
    """Whether Python's error is about what a function was given, and not about what it gives to another one."""
    return "keyword argument" in said and set(re.findall(r"'(\w+)'", said)) <= set(given)


def _refused(fn: Callable[..., Any], given: Iterable[str], error: TypeError) -> TypeError:
    """The error for a function that nothing is known of before it is called, and that does not take these arguments."""
    owner = getattr(fn, "__self__", None)
    name = f"{owner.__name__}.{name_of(fn)}" if isinstance(owner, type) else name_of(fn)
    return TypeError(
        f"{name} is given {', '.join(given)} by their names and says: {error}; expected a function that takes them so "
        f"(hint: def scan(u, delta, A, B, C): return {name}(u, delta, A, B, C))"
    )


def lacking(
    fn: Callable[..., Any], inputs: Mapping[str, Any], what: str, theirs: Mapping[str, str] | None = None
) -> TypeError:
    """The error for a function that does not take these inputs, or needs others."""
    name = getattr(fn, "__name__", "the function")
    untaken, needed = unmatched(fn, inputs, theirs)
    named = [(theirs or {}).get(one, one) for one in inputs]
    if needed:
        given = ", ".join(f"{one}=…" for one in needed)
        return TypeError(
            f"{name}{_signature(fn)} needs {', '.join(f'`{one}`' for one in needed)}, which {what} has not and which has no default, expected "
            f"one that needs some of {', '.join(named)} alone (hint: a default, or functools.partial({name_of(fn)}, {given}))"
        )
    less = [(theirs or {}).get(one, one) for one in untaken] or named
    more = [f"{one}={'False' if one.endswith('softplus') else 'None'}" for one in less]
    more[-2:] = [" and ".join(more[-2:])]
    return TypeError(
        f"{name}{_signature(fn)} does not take {', '.join(less)}, which {what} has, expected one that takes {', '.join(named)} "
        f"(hint: give it {', '.join(more)})"
    )


def is_about_arrays(error: BaseException) -> bool:
    """Whether an error says that a function wants arrays of another framework."""
    said = str(error)
    return isinstance(error, (TypeError, AttributeError, ValueError)) and any(
        word in said for word in ("ndarray", "numpy", "ArrayImpl", "'Tensor' object", "must be Tensor")
    )


def _mentions(fn: Callable[..., Any], framework: str) -> bool:
    """Whether a function's code has a name of this framework."""
    names = getattr(getattr(fn, "__code__", None), "co_names", ())
    found = [getattr(fn, "__globals__", {}).get(name) for name in names]
    modules = [getattr(one, "__module__", None) or getattr(one, "__name__", "") for one in found if one is not None]
    return any(str(module).partition(".")[0] == framework for module in modules)


def what_it_takes(fn: Callable[..., Any], first: Callable[..., Any], **asked: Any) -> dict[str, Any]:
    """The shapes of B and C, the layout and the framework that a function takes: `b`, `c`, `layout` and `xp`, of which `asked` may
    leave some None. `first` makes a problem of them.

    Raises what the function raises on all of them, and TypeError where that differs between them.
    """
    # A function for groups also has what regimes with groups ask of it.
    shapes = [
        {"b": asked["b"] or one, "c": asked["c"] or one, "layout": layout}
        for layout in ([asked["layout"]] if asked["layout"] else ["bdl", "bld"])
        for one in ("grouped", "variable", *(["constant"] if layout in ("bdl", "bld") else []))
    ]
    shapes = [pair for i, pair in enumerate(shapes) if pair not in shapes[:i]]
    raised: list[tuple[str, dict[str, Any], Exception]] = []

    def ran(framework: str) -> tuple[list[tuple[dict[str, Any], bool]], str]:
        """The shapes that a function runs with, and whether what it returns is right; and whose arrays that is."""
        found: list[tuple[dict[str, Any], bool]] = []
        returned = framework
        for shape in shapes:
            if found and found[0][0]["layout"] != shape["layout"]:
                break
            problem = first(**shape, xp=framework)
            inputs, call = problem._call_of(fn)
            try:
                out, last_state = pair_of(call(**inputs))
            except Exception as error:
                raised.append((framework, shape, error))
                continue
            if getattr(out, "shape", None) is None or tuple(out.shape) != tuple(inputs["u"].shape):
                found.append((shape, False))
                continue
            returned = like(out)[0]
            try:
                is_right = problem.judge(out, last_state, diagnosis="off").passed
            except ValueError:
                is_right = False
            found.append((shape, is_right))
        return found, returned

    xp = asked["xp"]
    if xp is not None:
        frameworks = [framework_of(xp)]
    else:
        frameworks = [name for name in FRAMEWORKS if name == "numpy" or name in sys.modules]
    best: tuple[list[tuple[dict[str, Any], bool]], str] | None = None
    for framework in frameworks:
        found, returned = ran(framework)
        if returned != framework and xp is None:
            # It makes its own arrays of NumPy's, or it goes on from them; then its own are what it takes as well.
            again, _ = ran(returned)
            found, framework = (again, returned) if again else (found, framework)
        if found:
            best = found, framework
            break
        if xp is None and framework == "numpy":
            # It may have been imported by the call.
            frameworks += [name for name in FRAMEWORKS if name in sys.modules and name not in frameworks]
    if best is not None:
        found, framework = best
        right = [shape for shape, is_right in found if is_right]
        # None is right: then it is judged with the shape that most functions take.
        usual = [shape for shape, _ in found if "variable" in (shape["b"], shape["c"])]
        return {**(right or usual or [found[0][0]])[0], "xp": framework}
    # Errors are told of the arrays that it seems to be for.
    likely = sorted(raised, key=lambda one: (not _mentions(fn, one[0]), is_about_arrays(one[2])))
    last = [one for one in raised if one[0] == likely[0][0]]
    same = {(type(error), str(error)) for _, _, error in last}
    of_layout = {(type(error), str(error)) for _, shape, error in last if shape["layout"] == "bdl"}
    is_of_shapes = isinstance(last[0][2], (ValueError, RuntimeError, IndexError))
    has_heads = asked["layout"] is None and is_of_shapes and {"x", "dt"} <= set(getattr(_signature(fn), "parameters", ()))
    if 1 in (len(same), 0 if is_of_shapes else len(of_layout)) and not is_about_arrays(last[0][2]) and not has_heads:
        raise last[0][2]
    told = "; ".join(
        f"{said(shape['b'], shape['layout'])} in layout {shape['layout']}: {type(error).__name__}: {error}" for _, shape, error in last
    )
    if has_heads:
        hint = 'layout="blhp" if x is (batch, seqlen, heads, p), as Mamba-2 has it'
    else:
        hint = 'xp=torch, perhaps with device="cuda"' if is_about_arrays(last[0][2]) else "the first of these errors is above"
    raise TypeError(
        f"{name_of(fn)} raises with arrays of {last[0][0]}, whatever the shape of B and C: {told}; expected a function that takes one "
        f"of these (hint: {hint})"
    ) from last[0][2]
