"""Runs of other people's scans, recorded while they run.

What is recorded is a file for `holdfast check` for each call. Known entry points are found in the modules that are imported
when the recording starts; any other function is named by `watch`.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from . import _holdfast, _mamba3
from ._arrays import Host, origin, to_host
from ._autograd import pair_of
from ._hooks import Backward, copied, is_recomputation
from ._layout import known_layout
from ._names import ALIASES, OF_HEADS, called, called_in, known_kind, near, path_of
from ._recorded import known_method, known_number, metadata_of, prepared, size_of, write

__tracebackhide__ = True

#: The arguments of a scan, as `record` has them.
_ARGUMENTS = (
    *("u", "delta", "A", "B", "C", "D", "z", "delta_bias", "delta_softplus"),
    *("initial_state", "dt_limit", "seq_idx", "cu_seqlens"),
)
#: Those of them that are no arrays.
_WORDS = ("delta_softplus", "dt_limit")

_TRANSFORMERS = {"hidden_states": "u", "dt": "delta"}
_EITHER = {**OF_HEADS, **_TRANSFORMERS}
_UPDATE = {**_EITHER, "state": "initial_state"}

#: Layout of a scan by Mamba-3's rule, whose arguments and outputs are those of `check_mamba3`.
_MAMBA3 = "mamba3"

#: Functions that are scans: the module that has them, or the package whose modules each have their own; what their arguments are
#: called there, and their layout. Every module that has imported such a function has it under the same name.
_FUNCTIONS: tuple[tuple[str, str, Mapping[str, str], str], ...] = (
    ("mamba_ssm.ops.selective_scan_interface", "selective_scan_fn", {}, "bdl"),
    ("mamba_ssm.ops.selective_scan_interface", "selective_scan_ref", {}, "bdl"),
    ("mamba_ssm.ops.triton.ssd_combined", "mamba_chunk_scan_combined", OF_HEADS, "blhp"),
    ("mamba_ssm.ops.triton.selective_state_update", "selective_state_update", _UPDATE, "step"),
    ("mamba_ssm.ops.triton.mamba3.mamba3_siso_combined", "mamba3_siso_combined", {}, _MAMBA3),
    ("lrnnx.ops.selective_scan", "selective_scan_fn", {}, "bdl"),
    ("lrnnx.ops.selective_scan", "selective_scan_ref", {}, "bdl"),
    ("transformers.models", "mamba_selective_scan", _TRANSFORMERS, "bdl"),
    ("transformers.models", "mamba2_chunk_scan", _EITHER, "blhp"),
    ("transformers.models", "mamba_selective_state_update", _UPDATE, "step"),
    ("transformers.models", "mamba2_selective_state_update", _UPDATE, "step"),
)

#: Functions that are a scan and the layers around it, of which nothing can be recorded.
_FUSED = (
    ("mamba_ssm.ops.selective_scan_interface", "mamba_inner_fn"),
    ("mamba_ssm.ops.triton.ssd_combined", "mamba_split_conv1d_scan_combined"),
    ("transformers.models", "mamba_inner_fn"),
    ("transformers.models", "mamba2_split_conv1d_scan_combined"),
)

#: Methods of classes that are scans.
_METHODS: tuple[tuple[str, str, str, Mapping[str, str], str], ...] = (
    ("mambapy.mamba", "MambaBlock", "selective_scan", {"x": "u"}, "bld"),
    ("mambapy.mamba", "MambaBlock", "selective_scan_seq", {"x": "u"}, "bld"),
)

#: Arguments of known scans that say how it is computed or what is returned, and not what: their values are not looked at. Any
#: other one that no recording has must be at its default.
_HARMLESS = frozenset(
    ("self", "chunk_size", "return_last_state", "return_final_states", "return_varlen_states", "use_mambapy", "use_associative_scan")
)


def _owners(where: str, name: str) -> Iterator[tuple[str, Any]]:
    """The functions of this name that the module, or a module of the package, has, each once."""
    seen = set()
    for module_name, module in list(sys.modules.items()):
        found = getattr(module, "__dict__", {}).get(name)
        if found is not None and (module_name + ".").startswith(where + ".") and id(found) not in seen:
            seen.add(id(found))
            yield f"{module_name}.{name}", found


def _is_default(value: Any, default: Any) -> bool:
    """Whether an argument says what it would say if it were left out. An array never does."""
    if value is default:
        return True
    if value is None or value is False:
        return default is None or default is False
    if default is None or not isinstance(value, (bool, int, float, str, tuple, list)):
        return False
    try:
        return bool(tuple(value) == tuple(default) if isinstance(value, (tuple, list)) else value == default)
    except (TypeError, ValueError, RuntimeError):
        return False


def _inputs(layout: str) -> tuple[str, ...]:
    """Arguments that a recording of this layout has."""
    return _mamba3.ARGUMENTS if layout == _MAMBA3 else _ARGUMENTS


def _replaced(given: Any, arrays: Iterator[Any]) -> Any:
    """An array, or a tuple of arrays and of such tuples, with the next of `arrays`, while there are some, in the place of each."""
    if not isinstance(given, (tuple, list)):
        return next(arrays, given)
    made = [_replaced(one, arrays) for one in given]
    return type(given)(made) if type(given) in (tuple, list) else type(given)(*made)


class _Call(NamedTuple):
    """A call that is to be recorded: its arguments as they were before it, the state that an update changes, and what will know of
    its backward pass."""

    given: dict[str, Any]
    state: Any
    backward: Backward | None
    is_again: bool


class _File(NamedTuple):
    """A file as it was written."""

    path: Path
    size: int
    stamp: tuple[int, int]

    @staticmethod
    def stamp_of(path: Path) -> tuple[int, int] | None:
        """What another file in its place has not."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns


class Capture:
    """What is recorded, and where.

    paths: the files that were written: the path itself, and then `NAME-2`, `NAME-3`, …
    calls: how many calls there were, those that raised among them, and not those of a checkpoint that computes them again
    backward: how many of the files have gradients
    skipped: calls that were not recorded: the files would have been larger than `max_bytes`, they are no run, they had
        arguments that no recording has, or a file could not be written; `reasons` says why, once each, and why a file lacks
        gradients or a last state. What there is of them at the end of the block is a warning, and so is each later one
    """

    def __init__(
        self, path: Path, method: str, max_bytes: int, every: int, gradients: bool, metadata: Mapping[str, str]
    ) -> None:
        self._path, self._method, self._metadata = path, method, dict(metadata)
        self._left, self._every = max_bytes, every
        self._differentiates = gradients
        # A textbook form has no gradients.
        self._is_textbook = method.partition(".")[0] not in [row[0] for row in _holdfast.methods()]
        self._lock = threading.RLock()
        self._busy = threading.local()
        self.paths: list[Path] = []
        self.calls = self.skipped = self.backward = self._again = 0
        self.reasons: list[str] = []
        #: The names of the modules that run, the innermost one last.
        self._inside: list[str] = []
        #: Known scans that are there.
        self._known: list[str] = []
        self._is_over = False

    def follow(self, model: Any, hooks: list[Any]) -> None:
        """Adds hooks that keep account of which of a model's modules runs; those that are there are the caller's to remove,
        even where one more cannot be had."""
        for name, module in model.named_modules():
            # The model itself has no name.
            name = name or type(module).__name__
            hooks.append(module.register_forward_pre_hook(lambda *_, name=name: self._inside.append(name)))
            # Even where it raises.
            hooks.append(module.register_forward_hook(lambda *_: self._left_module(), always_call=True))

    def _left_module(self) -> None:
        if self._inside:
            self._inside.pop()

    def _because(self, reason: str | Exception) -> None:
        if isinstance(reason, Exception):
            is_ours = isinstance(reason, (ValueError, OSError))
            reason = str(reason) if is_ours else f"{type(reason).__name__}: {reason}"
        if reason not in self.reasons:
            self.reasons.append(reason)
            if self._is_over:
                warnings.warn(f"holdfast.capture: {reason}", stacklevel=2)

    def _over(self) -> str | None:
        """Ends the recording. Returns what the caller is to know of it."""
        self._is_over = True
        if self.calls:
            number = len(self.paths)
            counts = f" recorded {number} call{'' if number == 1 else 's'} and left out {self.skipped}" if self.skipped else ""
            return f"holdfast.capture{counts}: {'; '.join(self.reasons)}" if self.reasons else None
        why = "no module with a scan that it knows is imported (hint: import the model first, or name the scan by holdfast.watch)"
        if self._known:
            more = f" and {len(self._known) - 3} more" if len(self._known) > 3 else ""
            hint = "holdfast.watch names any other scan; compiled code calls none"
            why = f"none of {', '.join(self._known[:3])}{more} was called (hint: {hint})"
        return f"holdfast.capture recorded nothing: {why}"

    def _skip(self, reason: str | Exception) -> None:
        self.skipped += 1
        self._because(reason)

    def _too_large(self, what: str, size: int) -> str:
        return f"{what} of {size} bytes was left out: {self._left} of max_bytes are left"

    def _begin(self, arguments: Callable[[], Mapping[str, Any]], layout: str) -> _Call | None:
        """Counts a call, and copies its arguments if it is to be recorded: it may change them."""
        is_again = is_recomputation()
        if is_again:
            self._again += 1
        else:
            self.calls += 1
        if ((self._again if is_again else self.calls) - 1) % self._every:
            return None
        try:
            found = arguments()
            given = {name: found[name] for name in _inputs(layout) if found.get(name) is not None}
            held = sum(getattr(array, "nbytes", 0) for array in given.values())
            if held > self._left:
                self._skip(self._too_large("a call", held))
                return None
            kept = {name: value if name in _WORDS else copied(name, value) for name, value in given.items()}
        except Exception as error:
            # What is recorded must not change what runs.
            self._skip(error)
            return None
        backward = None
        has_gradients = self._differentiates and (layout == _MAMBA3 or not self._is_textbook)
        # A state that is changed in place has none.
        if has_gradients and "state" not in found:
            try:
                backward = Backward.of(given, self._because)
            except Exception as error:
                self._because(error)
        # A checkpoint's second time is a call of its own only if the backward pass is that time's, and not the first one's.
        return None if is_again and backward is None else _Call(kept, found.get("state"), backward, is_again)

    def _end(self, call: _Call, returned: Any, layout: str, is_known: bool) -> Any:
        """Records a call that has returned. Returns what its caller is to get."""
        backward = call.backward
        is_varlen = is_known and type(returned) is tuple and len(returned) == 3 and call.given.get("cu_seqlens") is not None
        # It has the state after all positions as well.
        out, last_state = (returned[0], returned[2]) if is_varlen else pair_of(returned)
        if is_varlen and backward is not None:
            # A loss may see the other one.
            backward.forget()
            backward = None
        outputs = {"out": out, "last_state": last_state if call.state is None else call.state}
        try:
            if layout == _MAMBA3:
                outputs = _mamba3.outputs_of(returned)
                out = outputs["out"]
            layer = {"layer": self._inside[-1]} if self._inside else {}
            metadata = {**origin(out), **layer, **self._metadata}
            run = {**call.given, **outputs, "method": self._method, "layout": layout}
            if backward is not None:
                # They are written again with the gradients; what runs may have changed them by then.
                run |= {name: copied(name, output) for name, output in outputs.items() if output is not None}
            file = None if call.is_again else self._save(run, metadata)
        except Exception as error:
            self._skip(error)
            return returned
        if backward is None or file is None and not call.is_again:
            return returned
        if call.state is not None:
            outputs["last_state"] = last_state
        try:
            given = backward.follow(outputs, lambda found: self._complete(run, metadata, file, found))
        except Exception as error:
            backward.forget()
            self._because(error)
            return returned
        return _replaced(returned, iter(given.values()))

    def _save(self, run: Mapping[str, Any], metadata: Mapping[str, str], before: _File | None = None) -> _File | None:
        """Writes a run to the next file, or in the place of the one `before`; None where it would be too large."""
        is_mamba3 = run["layout"] == _MAMBA3
        made, stated = (_mamba3.run(run), metadata_of(False, metadata)) if is_mamba3 else prepared(run, metadata)
        number = len(self.paths) + 1
        path = self._path if number == 1 else self._path.with_stem(f"{self._path.stem}-{number}")
        size = size_of(made, stated)
        if before is not None:
            path = before.path
            if _File.stamp_of(path) != before.stamp:
                self._because(f"{path.name} is not the file that was written: its gradients were left out")
                return None
        if size - (before.size if before else 0) > self._left:
            if before is None:
                self._skip(self._too_large("a call", size))
            else:
                self._because(self._too_large("a call's gradients", size - before.size))
            return None
        write(path, made, stated, run["layout"])
        self._left -= size - (before.size if before else 0)
        if before is None:
            self.paths.append(path)
        return _File(path, size, _File.stamp_of(path) or (0, 0))

    def _complete(
        self, run: Mapping[str, Any], metadata: Mapping[str, str], file: _File | None, found: Mapping[str, Any]
    ) -> None:
        """Writes a call whose backward pass has come."""

        def zero(of: Host) -> Host:
            import numpy

            return of.map(numpy.zeros_like(of.array))

        with self._lock:
            try:
                grads = {name: zero(run[name]) if one is None else one for name, one in found.items() if name in run}
                if not grads:
                    return
                starts = {name: one for name, one in found.items() if name not in run}
                more = {**starts, "dout": found.get("dout") or zero(run["out"]), "grads": grads}
                if self._save({**run, **more}, metadata, file) is not None:
                    self.backward += 1
            except Exception as error:
                self._because(error)

    def wrap(
        self, fn: Callable[..., Any], names: Mapping[str, str], layout: str, is_known: bool = False
    ) -> Callable[..., Any]:
        """The function with every call recorded; `names` says which of its arguments is which. Of one that `is_known`, no
        argument may say what a recording cannot."""
        import inspect

        def replaced(args: tuple[Any, ...], kwargs: dict[str, Any], ours: Mapping[str, Any]) -> Any:
            """The arguments with some that are called so in `ours`, by the names that `check` has."""
            parameters = inspect.signature(called_in(fn)).parameters.values()
            order = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]

            def one(name: str, value: Any) -> Any:
                if layout == _MAMBA3 and name == "Input_States" and value is not None:
                    return _replaced(value, (ours.get(state, array) for state, array in zip(_mamba3.INITIAL_STATES, value)))
                return ours.get(names.get(name, name), value)

            placed = [one(name, value) for name, value in zip(order, args)]
            return (*placed, *args[len(order) :]), {name: one(name, value) for name, value in kwargs.items()}

        def arguments_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
            signature = inspect.signature(called_in(fn))
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            found: dict[str, Any] = {}
            defaults: dict[str, Any] = {}
            for name, value in bound.arguments.items():
                parameter = signature.parameters[name]
                if parameter.kind is parameter.VAR_KEYWORD:
                    found.update(value)
                elif parameter.kind is not parameter.VAR_POSITIONAL or value:
                    found[name], defaults[name] = value, parameter.default
            if layout == _MAMBA3:
                found = _mamba3.flat(found)
            named = {names.get(name, name): value for name, value in found.items()}
            for name, value in found.items():
                is_recorded = names.get(name, name) in _inputs(layout) or name in _HARMLESS
                if is_known and not is_recorded and not _is_default(value, defaults.get(name)):
                    raise ValueError(
                        f"argument `{name}` of {getattr(fn, '__name__', 'the scan')} is given, expected its default "
                        "(hint: no recording can hold what it says)"
                    )
            if is_known and layout != _MAMBA3 and named.get("cu_seqlens") is not None and named.get("seq_idx") is None:
                raise ValueError(
                    "argument `cu_seqlens` is given and `seq_idx` is not, expected both or none (hint: the scan goes on where a sequence "
                    "ends, and returns the state there: no recording has such)"
                )
            if layout == "step" and is_known:
                # It is changed in place, and not returned.
                named["state"] = named["initial_state"]
            return named

        @functools.wraps(fn)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            # One scan may call another one: the outer one is what the caller knows.
            if getattr(self._busy, "now", False):
                return fn(*args, **kwargs)
            with self._lock:
                call = self._begin(lambda: arguments_of(args, kwargs), layout)
            if call is not None and call.backward is not None:
                args, kwargs = replaced(args, kwargs, call.backward.arguments)
            self._busy.now = True
            try:
                returned = fn(*args, **kwargs)
            finally:
                self._busy.now = False
            if call is not None:
                with self._lock:
                    return self._end(call, returned, layout, is_known)
            return returned

        return recorded

    def fused(self, fn: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A function of which nothing can be recorded, with its calls counted."""

        @functools.wraps(fn)
        def counted(*args: Any, **kwargs: Any) -> Any:
            returned = fn(*args, **kwargs)
            # Some say so that they cannot be had here.
            if returned is not None and not getattr(self._busy, "now", False):
                with self._lock:
                    self.calls += 1
                    self._skip(
                        f"{name} is a scan and the layers around it in one, expected a scan (hint: use_fast_path=False or "
                        "use_mem_eff_path=False in mamba_ssm; model.eval() in transformers)"
                    )
            return returned

        return counted


_ACTIVE: list[Capture] = []


@called
@contextmanager
def capture(
    path: str | Path,
    *,
    method: str = "zoh",
    max_bytes: int = 1 << 30,
    every: int = 1,
    gradients: bool = True,
    model: Any = None,
    **metadata: str,
) -> Iterator[Capture]:
    """Records the scans that run inside, for `holdfast check`: those of mamba_ssm (selective_scan_fn, its reference,
    mamba_chunk_scan_combined, the updates of a state, and Mamba-3's mamba3_siso_combined), of transformers (of Mamba and Mamba-2,
    and the updates of theirs), mambapy and lrnnx, and functions that `watch` was given.

        with holdfast.capture("run.safetensors", max_bytes=1 << 30) as recorded:
            model(tokens).loss.backward()
        print(recorded.paths)

    path: the first call's file; later ones get a number
    method: as what the outputs are to be judged; those of Mamba-3's rule are judged by that
    max_bytes: of all files together, as they are on disk
    every: only each so many-th call is recorded
    gradients: whether a file gets the gradients of the first backward pass through its call, once there has been one, be it
        after the block: `dout` as it arrives, and what it makes of each input that requires grad. PyTorch only
    model: a torch.nn.Module in which they run: then each recording says as `layer` which of its modules it was
    metadata: more of what a recording states, for instance arithmetic="gate=bf16"

    Inputs are copied before the call, which may change them. A call that cannot be recorded runs as ever, and is counted with
    its reason: so is one of a known scan with arguments that no recording has, as state_batch_indices. At the end of the block the reasons are
    a warning, and so is that nothing was recorded.

    For its gradients a call is given views of its inputs, its caller gets copies of what it returns, and all of them stay in
    memory as long as PyTorch has the graph. Where an input is used elsewhere as well, its gradients may be added up in another
    order. A call in `torch.utils.checkpoint` has one
    file; with use_reentrant=True, which computes it without a graph first, a second one, with the gradients. Under no_grad,
    and for inputs that do not require grad, there are none.

    Raises ValueError for numbers that make no sense, for a method that is none, and for metadata that are no texts; TypeError for a
    path or a model that is none.
    """
    known_kind("model", model, model is None or hasattr(model, "named_modules"), "a torch.nn.Module", "leave it out")
    max_bytes, every = known_number("max_bytes", max_bytes), known_number("every", every)
    method, _ = known_method(method), metadata_of(False, metadata)
    taken = Capture(Path(path_of(path)), method, max_bytes, every, gradients, metadata)
    hooks: list[Any] = []
    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    try:
        if model is not None:
            taken.follow(model, hooks)
        def put_everywhere(name: str, original: Any, wrapped: Any) -> None:
            for module in list(sys.modules.values()):
                if getattr(module, "__dict__", {}).get(name) is original:
                    put(module, name, wrapped)

        for where, name, names, layout in _FUNCTIONS:
            for found, original in _owners(where, name):
                taken._known.append(found)
                put_everywhere(name, original, taken.wrap(original, names, layout, is_known=True))
        for where, name in _FUSED:
            for found, original in _owners(where, name):
                put_everywhere(name, original, taken.fused(original, found))
        for module_name, class_name, name, names, layout in _METHODS:
            owner = getattr(sys.modules.get(module_name), class_name, None)
            if owner is not None and name in vars(owner):
                taken._known.append(f"{module_name}.{class_name}.{name}")
                put(owner, name, taken.wrap(vars(owner)[name], names, layout, is_known=True))
        _ACTIVE.append(taken)
        yield taken
    finally:
        if taken in _ACTIVE:
            _ACTIVE.remove(taken)
        for owner, name, original in reversed(undo):
            setattr(owner, name, original)
        for hook in hooks:
            hook.remove()
    told = taken._over()
    if told is not None:
        warnings.warn(told, stacklevel=3)


@called
def watch(
    fn: Callable[..., Any], names: Mapping[str, str] | None = None, layout: str = "bdl"
) -> Callable[..., Any]:
    """A function that does what `fn` does, and whose calls `capture` records.

    names: which of its arguments is which, where it is not called as those of `check`, or as x, dt, dt_bias and dt_softplus are
        elsewhere: {"input": "u", "step": "delta"}
    layout: that of its arrays

    Other arguments are not looked at: what they change is yours to state, in the metadata of `capture`.

    Raises ValueError for names that no scan has, and for a layout that is none; TypeError for what is no function.
    """
    import inspect

    layout = known_layout(layout)
    known_kind("fn", fn, callable(fn), "a function", "holdfast.record saves arrays")
    known_kind("names", names, names is None or isinstance(names, Mapping), "a mapping", "{'x': 'u'}")
    unknown = [name for name in (names or {}).values() if name not in _ARGUMENTS]
    if unknown:
        like = near(str(unknown[0]), _ARGUMENTS)
        hint = f"{like}, perhaps" if like else "{'x': 'u'}"
        raise ValueError(f"names has `{unknown[0]}`, expected one of {', '.join(_ARGUMENTS)} (hint: {hint})")
    try:
        own = set(inspect.signature(called_in(fn)).parameters)
    except (TypeError, ValueError):
        own = set()
    spelled = {**{other: ours for other, ours in ALIASES.items() if ours not in own}, **(names or {})}

    @functools.wraps(fn)
    def watched(*args: Any, **kwargs: Any) -> Any:
        call = fn
        for taken in _ACTIVE:
            call = taken.wrap(call, spelled, layout)
        return call(*args, **kwargs)

    return watched
