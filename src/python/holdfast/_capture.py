"""Runs of other people's scans, recorded while they run.

What is recorded is a file for `holdfast check` for each call. Known entry points are found in the modules that are imported
when the recording starts; any other function is named by `watch`.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._arrays import to_host
from ._recorded import record

#: The arguments of a scan, as `record` has them.
_ARGUMENTS = ("u", "delta", "A", "B", "C", "D", "z", "delta_bias", "delta_softplus", "initial_state")

_TRANSFORMERS = {"hidden_states": "u", "dt": "delta"}
_SSD = {"x": "u", "dt": "delta", "dt_bias": "delta_bias", "dt_softplus": "delta_softplus", "initial_states": "initial_state"}

#: Functions that are scans: where they are, what their arguments are called there, and their layout. Every module that has
#: imported such a function has it under the same name.
_FUNCTIONS: tuple[tuple[str, str, Mapping[str, str], str], ...] = (
    ("mamba_ssm.ops.selective_scan_interface", "selective_scan_fn", {}, "bdl"),
    ("mamba_ssm.ops.selective_scan_interface", "selective_scan_ref", {}, "bdl"),
    ("mamba_ssm.ops.triton.ssd_combined", "mamba_chunk_scan_combined", _SSD, "blhp"),
    ("transformers.models.mamba.modeling_mamba", "mamba_selective_scan", _TRANSFORMERS, "bdl"),
    ("transformers.models.falcon_mamba.modeling_falcon_mamba", "mamba_selective_scan", _TRANSFORMERS, "bdl"),
)

#: Methods of classes that are scans.
_METHODS: tuple[tuple[str, str, str, Mapping[str, str], str], ...] = (
    ("mambapy.mamba", "MambaBlock", "selective_scan", {"x": "u"}, "bld"),
    ("mambapy.mamba", "MambaBlock", "selective_scan_seq", {"x": "u"}, "bld"),
)


class Capture:
    """What is recorded, and where.

    paths: the files that were written: the path itself, and then `NAME-2`, `NAME-3`, …
    calls: how many calls there were
    skipped: calls that were not recorded, since the files would have been larger than `max_bytes`, or since they are no run;
        `reasons` says why, once each
    """

    def __init__(self, path: Path, method: str, max_bytes: int, every: int, metadata: Mapping[str, str]) -> None:
        self._path, self._method, self._metadata = path, method, dict(metadata)
        self._left, self._every = max_bytes, every
        self._lock = threading.RLock()
        self._busy = threading.local()
        self.paths: list[Path] = []
        self.calls = self.skipped = 0
        self.reasons: list[str] = []

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        if reason not in self.reasons:
            self.reasons.append(reason)

    def _take(self, arguments: Mapping[str, Any], returned: Any, layout: str) -> None:
        self.calls += 1
        if (self.calls - 1) % self._every:
            return
        out, last_state = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, None)
        given = {name: arguments[name] for name in _ARGUMENTS if arguments.get(name) is not None}
        try:
            arrays = [*given.items(), ("out", out), ("last_state", last_state)]
            hosts = [to_host(name, a) for name, a in arrays if a is not None and name != "delta_softplus"]
            size = sum(host.array.nbytes for host in hosts)
            if size > self._left:
                self._skip(f"a call of {size} bytes was left out: {self._left} of max_bytes are left")
                return
            number = len(self.paths) + 1
            path = self._path if number == 1 else self._path.with_stem(f"{self._path.stem}-{number}")
            run: dict[str, Any] = {**given, **self._metadata, "method": self._method, "layout": layout}
            record(path, **run, out=out, last_state=last_state)
        except (ValueError, TypeError) as error:
            # What is recorded must not change what runs.
            self._skip(str(error))
            return
        self._left -= size
        self.paths.append(path)

    def wrap(self, fn: Callable[..., Any], names: Mapping[str, str], layout: str) -> Callable[..., Any]:
        """The function with every call recorded; `names` says which of its arguments is which."""
        import inspect

        signature = inspect.signature(fn)

        @functools.wraps(fn)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            # One scan may call another one: the outer one is what the caller knows.
            if getattr(self._busy, "now", False):
                return fn(*args, **kwargs)
            self._busy.now = True
            try:
                returned = fn(*args, **kwargs)
            finally:
                self._busy.now = False
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = {names.get(name, name): value for name, value in bound.arguments.items()}
            with self._lock:
                self._take(arguments, returned, layout)
            return returned

        return recorded


_ACTIVE: list[Capture] = []


@contextmanager
def capture(
    path: str | Path,
    *,
    method: str = "zoh",
    max_bytes: int = 1 << 30,
    every: int = 1,
    **metadata: str,
) -> Iterator[Capture]:
    """Records the scans that run inside, for `holdfast check`: those of mamba_ssm (selective_scan_fn, its reference, and
    mamba_chunk_scan_combined), of transformers (mamba_selective_scan) and of mambapy, and functions that `watch` was given.

        with holdfast.capture("run.safetensors", max_bytes=1 << 30) as recorded:
            model(tokens)
        print(recorded.paths)

    path: the first call's file; later ones get a number
    method: as what the outputs are to be judged
    max_bytes: of all files together
    every: only each so many-th call is recorded
    metadata: more of what a recording states, for instance arithmetic="gate=bf16"

    Raises ValueError for numbers that make no sense, OSError where a file cannot be written.
    """
    if max_bytes < 1 or every < 1:
        raise ValueError(f"max_bytes is {max_bytes} and every {every}, expected at least 1 (hint: leave them out)")
    taken = Capture(Path(path), method, max_bytes, every, metadata)
    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    try:
        for module_name, name, names, layout in _FUNCTIONS:
            original = getattr(sys.modules.get(module_name), name, None)
            if original is None:
                continue
            wrapped = taken.wrap(original, names, layout)
            for module in list(sys.modules.values()):
                if getattr(module, "__dict__", {}).get(name) is original:
                    put(module, name, wrapped)
        for module_name, class_name, name, names, layout in _METHODS:
            owner = getattr(sys.modules.get(module_name), class_name, None)
            if owner is not None and name in vars(owner):
                put(owner, name, taken.wrap(vars(owner)[name], names, layout))
        _ACTIVE.append(taken)
        yield taken
    finally:
        if taken in _ACTIVE:
            _ACTIVE.remove(taken)
        for owner, name, original in reversed(undo):
            setattr(owner, name, original)


def watch(
    fn: Callable[..., Any], names: Mapping[str, str] | None = None, layout: str = "bdl"
) -> Callable[..., Any]:
    """A function that does what `fn` does, and whose calls `capture` records.

    names: which of its arguments is which, where it is not called as those of `check`: {"x": "u", "dt": "delta"}
    layout: that of its arrays

    Raises ValueError for names that no scan has.
    """
    unknown = [name for name in (names or {}).values() if name not in _ARGUMENTS]
    if unknown:
        raise ValueError(f"names has `{unknown[0]}`, expected one of {', '.join(_ARGUMENTS)} (hint: {{'x': 'u'}})")

    @functools.wraps(fn)
    def watched(*args: Any, **kwargs: Any) -> Any:
        call = fn
        for taken in _ACTIVE:
            call = taken.wrap(call, names or {}, layout)
        return call(*args, **kwargs)

    return watched
