"""Arrays of any framework as NumPy's, without a copy where they are in this machine's memory, and back again.

No framework is imported that the caller has not: what an array is shows in the array.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ._names import meant, of_file

if TYPE_CHECKING:
    import numpy

__tracebackhide__ = True

#: How the reader of recorded runs calls NumPy's types.
_STORED = {"float16": "F16", "float32": "F32", "float64": "F64", "complex64": "C64", "bfloat16": "BF16"}
#: The same of whole numbers.
_WHOLE = {"int32": "I32", "int64": "I64"}
#: Tensors that have whole numbers: they say which sequences are packed.
PACKED = ("seq_idx", "cu_seqlens")


class Host(NamedTuple):
    """An array in this machine's memory. `stored` says what its numbers are: bfloat16 is held as uint16."""

    array: numpy.ndarray[Any, Any]
    stored: str

    def map(self, array: numpy.ndarray[Any, Any]) -> Host:
        """Another view of the same numbers."""
        return Host(array, self.stored)


def _framework(module: str, array: Any, type_name: str) -> Any:
    """The framework, if it is imported and the array is one of its own."""
    framework = sys.modules.get(module)
    kind = getattr(framework, type_name, None)
    return framework if isinstance(kind, type) and isinstance(array, kind) else None


def _from_torch(torch: Any, tensor: Any) -> Host:
    tensor = tensor.detach().resolve_conj().resolve_neg().cpu()
    if tensor.dtype == torch.bfloat16:
        # NumPy has no such type; its bits are what is read.
        return Host(tensor.view(torch.int16).numpy().view("uint16"), "BF16")
    return _from_numpy(tensor.numpy())


def _from_numpy(array: numpy.ndarray[Any, Any]) -> Host:
    stored = {**_STORED, **_WHOLE}.get(array.dtype.name)
    if stored is None:
        raise TypeError(f"is of type {array.dtype}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if stored == "BF16":
        array = array.view("uint16")
    return Host(array, stored)


def _read(array: Any) -> Host:
    """An array of whatever framework, in this machine's memory. Raises TypeError for a type that no run has, and what its framework raises."""
    import numpy

    torch = _framework("torch", array, "Tensor")
    if torch is not None:
        return _from_torch(torch, array)
    if not isinstance(array, numpy.ndarray):
        if hasattr(array, "__cuda_array_interface__") and hasattr(array, "get"):
            array = array.get()  # CuPy
        elif hasattr(array, "__array__") or hasattr(array, "__array_interface__"):
            array = numpy.asarray(array)
        elif hasattr(array, "__dlpack__"):
            array = numpy.from_dlpack(array)
        else:
            array = numpy.asarray(array)
    return _from_numpy(array)


def to_host(name: str, array: Any) -> Host:
    """The array called `name`, wherever it is.

    Raises ValueError for something that is no array, or of a type that no run has.
    """
    if isinstance(array, Host):
        return array
    of_a_file = of_file(f"tensor `{name}`", array)
    if of_a_file:
        raise of_a_file
    try:
        host = _read(array)
        if (host.stored in _WHOLE.values()) != (name in PACKED):
            raise TypeError(f"is of type {host.array.dtype}")
        return host
    except (TypeError, ValueError, BufferError, RuntimeError, OverflowError) as error:
        known = "int32 or int64" if name in PACKED else "float32, float16, bfloat16 or complex64"
        if str(error).startswith("is of type"):
            may_be_complex = name.partition(".")[0] in ("A", "B", "C") or name.partition(".")[0].endswith(("_state", "_states"))
            kind = "complex64" if "complex" in str(error) and may_be_complex else "int32" if name in PACKED else "float32"
            found, hint = str(error), f'numpy.asarray({name.partition(".")[0]}, dtype="{kind}"), if that holds its numbers'
        else:
            found, hint = f"cannot be read ({error})", "arrays of NumPy, PyTorch, JAX and CuPy, and what has __dlpack__"
        raise ValueError(f"tensor `{name}` {found}, expected an array of {known} (hint: {hint})") from error


def widened(host: Host) -> Host:
    """The same numbers in f32, which has every one of f16 and bf16."""
    import numpy

    if host.stored == "BF16":
        # A bfloat16 is the upper half of a float32.
        return Host((host.array.astype("uint32") << numpy.uint32(16)).view("float32"), "F32")
    return Host(host.array.astype("float32"), "F32") if host.stored == "F16" else host


def like(array: Any) -> tuple[str, Any]:
    """Which framework an array is of, and on which device: what `convert` takes."""
    if _framework("torch", array, "Tensor") is not None:
        return "torch", array.device
    if _framework("jax", array, "Array") is not None:
        return "jax", None
    if _framework("cupy", array, "ndarray") is not None:
        return "cupy", None
    return "numpy", None


def origin(array: Any) -> dict[str, str]:
    """What computed an array, as a recording's metadata say it; nothing of one that was copied from elsewhere."""
    if isinstance(array, Host):
        return {}
    if isinstance(array, (tuple, Mapping)):
        arrays = list(array.values()) if isinstance(array, Mapping) else list(array)
        return origin(arrays[0]) if arrays else {}
    framework, _ = like(array)
    version = getattr(sys.modules.get(framework), "__version__", None)
    device = getattr(array, "device", None)
    found = {} if version is None else {framework: str(version)}
    return found if device is None or callable(device) else {"device": str(device), **found}


def convert(values: numpy.ndarray[Any, Any], shape: Sequence[int], kind: str, framework: str, device: Any) -> Any:
    """Floats as an array of a framework. `kind` is f32, f16 or bf16, or complex: then the last dimension is two floats."""
    import numpy

    array = values.reshape(tuple(shape))
    if kind == "complex":
        array = numpy.ascontiguousarray(array).view("complex64")[..., 0]
    elif kind == "f16":
        array = array.astype("float16")
    if framework == "torch":
        torch = sys.modules["torch"]
        tensor = torch.from_numpy(numpy.ascontiguousarray(array)).to(device)
        return tensor.to(torch.bfloat16) if kind == "bf16" else tensor
    if framework == "jax":
        jax: Any = sys.modules["jax"]
        array = jax.numpy.asarray(array)
        if device is not None:
            array = jax.device_put(array, device)
        return array.astype("bfloat16") if kind == "bf16" else array
    if framework == "cupy":
        cupy: Any = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            array = cupy.asarray(array)
    if kind == "bf16":
        try:
            import ml_dtypes
        except ImportError:
            raise ValueError(
                f"{framework} has no bfloat16, expected an input type of f32 or f16 (hint: pip install ml_dtypes)"
            ) from None
        return array.astype(ml_dtypes.bfloat16)
    return array


FRAMEWORKS = ("numpy", "torch", "jax", "cupy")


def framework_of(namespace: Any) -> str:
    """The framework that a module (`torch`, `jax.numpy`) or a name stands for.

    Raises ValueError for any other one, and for one that is not installed.
    """
    name = namespace if isinstance(namespace, str) else getattr(namespace, "__name__", str(namespace))
    root = meant("xp", name.partition(".")[0], FRAMEWORKS, 'xp=torch, or xp="torch"')
    try:
        __import__(root)
    except ImportError as error:
        raise ValueError(f"xp is `{root}`, expected one that is installed (hint: {error})") from None
    return root


def input_type(value: Any) -> str:
    """The type of a scan's inputs that is meant: f32, f16 or bf16. Raises ValueError for any other one."""
    return meant("inputs", value, ("f32", "f16", "bf16"), "those are the types that kernels read")
