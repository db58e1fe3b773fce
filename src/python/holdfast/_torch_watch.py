"""Scans that run in PyTorch, judged beside what runs."""

from __future__ import annotations

import os
import random
import threading
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ._names import known_kind
from ._recorded import check, known_number
from ._report import Report
from ._torch import INPUTS

torch: Any = import_module("torch")


#: Threads that judge: what launches is to have processors of its own.
_THREADS = max((os.cpu_count() or 1) // 8, 1)


def _on_host(one: Any) -> Any:
    if isinstance(one, dict):
        return {name: _on_host(part) for name, part in one.items()}
    return one.cpu() if isinstance(one, torch.Tensor) else one


class Watch:
    """What was judged.

    calls: scans and backward passes that ran
    judged: how many of them were judged
    busy: how many were not, since an earlier one still was
    findings: the reports of those that are wrong
    errors: what kept some from being judged
    """

    def __init__(self, every: int, channels: int, seed: int) -> None:
        self._every, self._channels = known_number("every", every), known_number("channels", channels)
        known_kind("seed", seed, isinstance(seed, int), "a whole number", "it draws the channels")
        self._random = random.Random(seed)
        self._seen = {"forward": 0, "backward": 0}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        #: What is to be judged next. There are as many as a training step makes at once, a scan and its gradients.
        self._waiting: list[tuple[dict[str, Any], Any]] = []
        self.judged = self.busy = 0
        self.findings: list[Report] = []
        self.errors: list[str] = []
        self._untold: list[str] = []

    @property
    def calls(self) -> int:
        """Scans and backward passes that ran."""
        return sum(self._seen.values())

    def __str__(self) -> str:
        found = f"{len(self.findings)} wrong" if self.findings else "none wrong"
        busy = f", {self.busy} left out while one was judged" if self.busy else ""
        return f"{self.judged} of {self.calls} scans and backward passes judged, {found}{busy}"

    def saw(self, given: Sequence[Any], words: tuple[bool, str, str], computed: Mapping[str, Any]) -> None:
        """Looks at a call: its inputs; softplus, method and tier; and what it computed of them."""
        kind = "backward" if "grads" in computed else "forward"
        self._seen[kind] += 1
        if (self._seen[kind] - 1) % self._every:
            return
        self._tell()
        if given[0].is_cuda and torch.cuda.is_current_stream_capturing():
            return
        if len(self._waiting) > 1:
            self.busy += 1
            return
        with torch.no_grad():
            run, ready = self._sample(given, computed)
        delta_softplus, method, tier = words
        run |= {"delta_softplus": delta_softplus, "method": method}
        run |= {"arithmetic": "exp=fast"} if tier == "fast" else {}
        with self._lock:
            self._waiting.append((run, ready))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def _sample(self, given: Sequence[Any], computed: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Copies of the rows of some channels of one group, and what says that they have been made."""
        inputs = {name: one for name, one in zip(INPUTS, given) if one is not None}
        u = inputs["u"]
        batch, dim, _ = u.shape
        variable = [inputs[name] for name in "BC" if inputs[name].dim() > 2]
        groups = max([one.shape[1] for one in variable if one.dim() == 4], default=1)
        members = dim // groups
        group = self._random.randrange(groups)
        count = min(max(self._channels // batch, 1), members)
        chosen = sorted(group * members + one for one in self._random.sample(range(members), count))
        index = torch.tensor(chosen).to(u.device, non_blocking=True)

        def part(name: str, one: Any) -> Any:
            if name in "BC" and one.dim() > 2:
                one = one[:, group : group + 1] if one.dim() == 4 else one[:, None]
            else:
                one = one.index_select(0 if one.dim() < 3 else 1, index)
            return one.detach().clone()

        run = {name: part(name, one) for name, one in inputs.items()}
        for name, one in computed.items():
            if name == "grads":
                whole = count == members
                grads = {of: grad for of, grad in one.items() if whole or of not in "BC" or inputs[of].dim() == 2}
                run[name] = {of: part(of, grad) for of, grad in grads.items()}
            elif one is not None:
                run[name] = part(name, one)
        ready = None
        if u.is_cuda:
            ready = torch.cuda.Event()
            ready.record(torch.cuda.current_stream(u.device))
        return run, ready

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                run, ready = self._waiting[0]
            self._judge(run, ready)
            with self._lock:
                del self._waiting[0]

    def _judge(self, run: dict[str, Any], ready: Any) -> None:
        try:
            if ready is not None:
                # On a stream of its own: nobody else waits for it.
                with torch.cuda.stream(torch.cuda.Stream(run["u"].device)):
                    ready.wait()
                    run = {name: _on_host(one) for name, one in run.items()}
            report = check(**run, name="watched", threads=_THREADS)
            self.judged += 1
            if not report.passed:
                self.findings.append(report)
                self._untold.append(str(report))
        except Exception as error:
            # What is watched goes on.
            self.errors.append(f"{type(error).__name__}: {error}")
            self._untold.append(self.errors[-1])

    def _tell(self) -> None:
        """Warns in the thread that trains."""
        while self._untold:
            warnings.warn(f"holdfast.torch.watched: {self._untold.pop(0)}", stacklevel=4)

    def finish(self) -> None:
        """Waits for what is judged, and warns of it."""
        thread = self._thread
        if thread is not None:
            thread.join()
        self._tell()
