"""What a function returns, and its gradients by automatic differentiation as its framework has it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ._arrays import PACKED

__tracebackhide__ = True

#: What a function returned and its gradients, as `Problem.check` takes them.
Ran = dict[str, Any]


def pair_of(returned: Any) -> tuple[Any, Any]:
    """The output, and the last state where there is one."""
    return returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, None)


def differentiated(
    fn: Callable[..., Any], inputs: Mapping[str, Any], given: Mapping[str, Any], framework: str, problem: str
) -> tuple[Ran, list[str]]:
    """Runs `fn(**inputs)` and differentiates it: `given` has `dout`, and `dlast_state` where the loss sees the last state.

    Returns what it returned with its gradients, and which inputs autograd found no way to. The gradient of these is zero. There
    are no gradients where an output has not the shape that it should have: that is for the judge to say.

    Raises ValueError for a framework without autograd, and for outputs that it knows no way to; RuntimeError where the
    backward pass raises anything.
    """
    if framework == "torch":
        return _by_torch(fn, inputs, given, problem)
    if framework == "jax":
        return _by_jax(fn, inputs, given, problem)
    raise ValueError(
        f"{framework} has no automatic differentiation, expected xp=torch or xp=jax.numpy "
        "(hint: problem.check(out, grads=…) of holdfast.problems(…, gradients=True) judges gradients of your own)"
    )


def _unlike(out: Any, given: Any) -> bool:
    return bool(getattr(out, "shape", None) != given.shape)


def _by_torch(
    fn: Callable[..., Any], inputs: Mapping[str, Any], given: Mapping[str, Any], problem: str
) -> tuple[Ran, list[str]]:
    torch = sys.modules["torch"]
    # Whatever the caller's own mode is: a test may run under no_grad.
    with torch.inference_mode(False), torch.enable_grad():
        leaves = {
            name: array.clone().requires_grad_()
            for name, array in inputs.items()
            if isinstance(array, torch.Tensor) and name not in PACKED
        }
        # Copies, as what one layer hands to the next: a function may change its inputs.
        out, last_state = pair_of(fn(**{**inputs, **{name: leaf.clone() for name, leaf in leaves.items()}}))
        ran: Ran = {"out": out, "last_state": last_state}
        if not isinstance(out, torch.Tensor) or _unlike(out, given["dout"]):
            return ran, []
        from_outputs = [(out, given["dout"])]
        dlast_state = given.get("dlast_state")
        # A last state without a gradient is for a cache, and no loss sees it.
        if dlast_state is not None and isinstance(last_state, torch.Tensor) and last_state.requires_grad:
            if _unlike(last_state, dlast_state):
                return ran, []
            from_outputs.append((last_state, dlast_state))
            ran["dlast_state"] = dlast_state
        asked = [(output, one) for output, one in from_outputs if output.requires_grad]
        if not asked:
            raise ValueError(
                f"{problem}: the output does not require grad, expected one that autograd knows the inputs of "
                "(hint: is there a no_grad, a detach, or NumPy in it?)"
            )
        try:
            found = torch.autograd.grad(
                [output for output, _ in asked],
                list(leaves.values()),
                [one for _, one in asked],
                allow_unused=True,
            )
        except Exception as error:
            raise RuntimeError(
                f"{problem}: the backward pass raised {type(error).__name__}: {error}; expected gradients "
                "(hint: torch.autograd.set_detect_anomaly(True) shows where that comes from)"
            ) from error
    unused = [name for name, gradient in zip(leaves, found) if gradient is None]
    ran["grads"] = {
        name: torch.zeros_like(leaf) if gradient is None else gradient
        for (name, leaf), gradient in zip(leaves.items(), found)
    }
    ran["out"] = out.detach()
    return ran, unused


def _by_jax(
    fn: Callable[..., Any], inputs: Mapping[str, Any], given: Mapping[str, Any], problem: str
) -> tuple[Ran, list[str]]:
    jax: Any = sys.modules["jax"]
    arrays = {name: array for name, array in inputs.items() if isinstance(array, jax.Array) and name not in PACKED}
    rest = {name: value for name, value in inputs.items() if name not in arrays}
    try:
        (out, last_state), pull = jax.vjp(lambda arrays: pair_of(fn(**arrays, **rest)), arrays)
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(
            f"{problem}: the function makes NumPy's arrays of JAX's, expected one that jax.vjp follows "
            "(hint: jax.numpy in the place of numpy)"
        ) from error
    ran: Ran = {"out": out, "last_state": last_state}
    if _unlike(out, given["dout"]):
        return ran, []
    dlast_state = given.get("dlast_state") if last_state is not None else None
    if dlast_state is not None:
        if _unlike(last_state, dlast_state):
            return ran, []
        ran["dlast_state"] = dlast_state

    def started(output: Any, start: Any) -> Any:
        # JAX's gradient of a complex number is the conjugate of PyTorch's, on both sides.
        return jax.numpy.conj(start).astype(output.dtype) if start is not None else jax.numpy.zeros_like(output)

    seen = None if last_state is None else started(last_state, dlast_state)
    (found,) = pull((started(out, given["dout"]), seen))
    ran["grads"] = {name: jax.numpy.conj(gradient) for name, gradient in found.items()}
    return ran, []
