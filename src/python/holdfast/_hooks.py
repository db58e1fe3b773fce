"""The backward pass of one call of somebody's scan in PyTorch, by hooks that look and change nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ._arrays import Host, to_host


def _task(torch: Any) -> int:
    """Which backward pass runs in this thread; -1 for none."""
    return int(getattr(torch._C, "_current_graph_task_id", lambda: -1)())


def is_recomputation() -> bool:
    """Whether a call now is one of a backward pass that computes a forward pass again, as checkpoints do."""
    torch = sys.modules.get("torch")
    return torch is not None and _task(torch) != -1 and bool(torch.is_grad_enabled())


def copied(name: str, array: Any) -> Host:
    """The array on the host, safe from what changes it later."""
    host = to_host(name, array)
    return Host(host.array.copy(order="K"), host.stored)


class Backward:
    """What the first backward pass through a call brings: ∂L by its outputs, and by each input that requires grad.

    arguments: views of these inputs, one of each for this call alone, to be handed to it. What other calls make of the same
        tensors, as layers with shared weights do, does not come together in them

    A pass that computes none of the gradients, as one that stops above the call, is not counted.
    """

    def __init__(self, inputs: Mapping[str, Any], failed: Callable[[Exception], None]) -> None:
        self._torch: Any = sys.modules["torch"]
        self._failed = failed
        self._done: Callable[[dict[str, Any]], None] | None = None
        #: Names of what comes to the outputs.
        self._starts: set[str] = set()
        #: What each pass that still runs has brought. An input's is None where its own node returned nothing.
        self._passes: dict[int, dict[str, Any]] = {}
        self._handles: list[Any] = []
        self._is_over = False
        self.arguments = {name: array.view_as(array) for name, array in inputs.items()}
        # Those of the views as they are handed over: a call may change them in place.
        self._nodes = {array.grad_fn: name for name, array in self.arguments.items()}
        self._unused: set[str] = set()
        for name, array in self.arguments.items():
            self._watch(name, array)

    @staticmethod
    def of(given: Mapping[str, Any], failed: Callable[[Exception], None]) -> Backward | None:
        """That of a call with these arguments; None where there will be none, as under no_grad."""
        torch = sys.modules.get("torch")
        if torch is None or not torch.is_grad_enabled():
            return None
        inputs = {name: a for name, a in given.items() if isinstance(a, torch.Tensor) and a.requires_grad}
        return Backward(inputs, failed) if inputs else None

    def _watch(self, name: str, tensor: Any) -> None:
        # Returning nothing, it leaves the gradient as it is.
        self._handles.append(tensor.register_hook(lambda gradient: self._arrived(name, gradient)))

    def follow(self, outputs: Mapping[str, Any], done: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Waits for a backward pass through these outputs, of which `done` will be told: what came to each of them, as `dout` and
        `dlast_state`, and to the inputs. Returns the outputs that the caller is to get.

        They are copies: to the last state itself comes what the output makes of it as well.
        """
        torch = self._torch
        tensors = {name: one for name, one in outputs.items() if isinstance(one, torch.Tensor) and one.requires_grad}
        if not tensors:
            self.forget()
            return dict(outputs)
        self._done = done
        # An input that no output comes from has the gradient zero. A pass that was not asked for it is another matter.
        self._unused = set(self.arguments) - self._reached([o.grad_fn for o in tensors.values() if o.grad_fn is not None])
        given = {name: output.clone() for name, output in tensors.items()}
        self._starts = {f"d{name}" for name in given}
        for name, output in given.items():
            self._watch(f"d{name}", output)
        self.arguments, self._nodes = {}, {}
        return {**outputs, **given}

    def _reached(self, nodes: list[Any]) -> set[str]:
        found: set[str] = set()
        seen = set(nodes)
        while nodes:
            node = nodes.pop()
            if node in self._nodes:
                found.add(self._nodes[node])
                continue
            following = {one for one, _ in node.next_functions if one is not None} - seen
            seen |= following
            nodes.extend(following)
        return found

    def forget(self) -> None:
        """Takes the hooks away."""
        self._is_over = True
        for handle in self._handles:
            handle.remove()
        self._handles, self._passes, self._done = [], {}, None

    def _arrived(self, name: str, gradient: Any) -> None:
        if self._is_over or self._done is None:
            return
        try:
            task = _task(self._torch)
            if task not in self._passes:
                self._passes[task] = {}
                # At the end of this pass: whatever it brings has come by then.
                self._torch.autograd.Variable._execution_engine.queue_callback(lambda: self._finished(task))
            self._passes[task][name] = None if gradient is None else copied(name, gradient)
        except Exception as error:
            # What is recorded must not change what runs.
            self.forget()
            self._failed(error)

    def _finished(self, task: int) -> None:
        found = self._passes.pop(task, None)
        done = self._done
        if self._is_over or done is None or found is None or not set(found) - self._starts:
            return
        if all(found.get(name) is None for name in self._starts):
            return
        unused = self._unused
        self.forget()
        done({**dict.fromkeys(unused), **found})
