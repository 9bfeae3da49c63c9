"""The old names of tensors with a dtype, `FloatTensor` and its like: constructors, and classes for `isinstance`.

New programs write `flambeau.tensor(data, dtype=flambeau.float32)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.tensor.create import tensor
from flambeau.tensor.default_device import set_default_device
from flambeau.tensor.defaults import float_dtype, set_default_dtype
from flambeau.tensor.size import Size
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import CONSTRUCTORS, Array, Tensor, wrap


def constructed(name: str, dtype: DType, args: tuple[Any, ...]) -> Tensor:
    """What `FloatTensor(...)` and its like make: of a sequence its elements, of sizes memory, of nothing a vector.

    Raises TypeError for other arguments, RuntimeError for a negative size.
    """
    if len(args) == 1 and isinstance(args[0], Size):
        args = tuple(args[0])
    elif len(args) == 1 and (isinstance(args[0], bool) or not isinstance(args[0], int)):
        _check_sequence(name, args[0])
        return tensor(args[0], dtype=dtype)
    if not all(isinstance(size, int) for size in args):
        types = ", ".join(type(g).__name__ for g in args)
        raise TypeError(f"{name} takes one sequence of numbers, or sizes, got ({types})")
    if any(size < 0 for size in args):
        least = min(args)
        raise RuntimeError(f"Trying to create tensor with negative dimension {least}: {list(args)}")
    return wrap(np.empty(args or (0,), dtype.numpy))


def _check_sequence(name: str, data: Any) -> None:
    if isinstance(data, str | bytes) or not hasattr(data, "__len__"):
        raise TypeError(
            f"{name}(): data must be a sequence (got {type(data).__name__}): write flambeau.tensor({data!r}) for a "
            "tensor without dimensions"
        )


def _by_default(args: tuple[Any, ...]) -> tuple[Array, Storage | None]:
    """The memory of `Tensor(...)`: that of another tensor, or new memory in the default dtype."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0]._array, args[0]._storage
    tensor = constructed("Tensor", float_dtype(), args)
    return tensor._array, tensor._storage


CONSTRUCTORS[:] = [_by_default]


OTHER_DEVICE: Final = (
    "{name} makes tensors of the CPU, got device {device}: write flambeau.tensor(..., dtype={dtype}, device=...)"
)


class TypedTensor(type):
    """A class whose instances are the tensors of one dtype.

    >>> x = LongTensor([1, 2])
    >>> x.dtype.name, isinstance(x, LongTensor), isinstance(x, FloatTensor)
    ('int64', True, False)
    """

    dtype: DType

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        """Of one sequence, its elements; of sizes, uninitialised memory; of nothing, an empty vector. Raises
        RuntimeError for a device other than the CPU."""
        if device is not None and str(device) != "cpu":
            raise RuntimeError(OTHER_DEVICE.format(name=cls.__name__, device=device, dtype=cls.dtype))
        return constructed(cls.__name__, cls.dtype, args)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype


def _typed(name: str, dtype: DType) -> Any:
    doc = (
        f"The {dtype.name} tensors: `{name}([1, 2])` holds these numbers, `{name}(2, 3)` is memory of these sizes.\n\n"
        f"Args:\n    given: numbers as nested lists, or sizes one by one.\n\nExample:\n    flambeau.{name}([0, 1])"
    )
    return TypedTensor(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "flambeau"})


FloatTensor: Final = _typed("FloatTensor", dtypes.float32)
DoubleTensor: Final = _typed("DoubleTensor", dtypes.float64)
HalfTensor: Final = _typed("HalfTensor", dtypes.float16)
BFloat16Tensor: Final = _typed("BFloat16Tensor", dtypes.bfloat16)
ByteTensor: Final = _typed("ByteTensor", dtypes.uint8)
CharTensor: Final = _typed("CharTensor", dtypes.int8)
ShortTensor: Final = _typed("ShortTensor", dtypes.int16)
IntTensor: Final = _typed("IntTensor", dtypes.int32)
LongTensor: Final = _typed("LongTensor", dtypes.int64)
BoolTensor: Final = _typed("BoolTensor", dtypes.bool_)

TYPED_TENSORS: Final[Mapping[str, Any]] = {
    cls.__name__: cls
    for cls in (
        FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor,
        LongTensor, BoolTensor,
    )
}  # fmt: skip
"""All of them by name."""


def kind_named(t: Any) -> tuple[DType, str] | None:
    """The dtype and the device that a typed tensor or its name mean; None for what is neither.

    >>> kind_named("torch.cuda.HalfTensor"), kind_named(LongTensor), kind_named("Half")
    ((flambeau.float16, 'cuda'), (flambeau.int64, 'cpu'), None)
    """
    package, _, name = t.rpartition(".") if isinstance(t, str) else ("torch", "", getattr(t, "__name__", ""))
    kind = TYPED_TENSORS.get(name) if package in ("torch", "torch.cuda", "flambeau", "flambeau.cuda") else None
    if kind is None or not (isinstance(t, str) or t is kind):
        return None
    return kind.dtype, "cuda" if package.endswith(".cuda") else "cpu"


def set_default_tensor_type(t: Any) -> None:
    """Change the default dtype by the name of a typed tensor; a name with "cuda" in it has new tensors be on a device.

    New programs write `flambeau.set_default_dtype(flambeau.float64)` and `flambeau.set_default_device("cuda")`.

    Args:
        t: "torch.DoubleTensor", or the class.

    Raises TypeError for what names no tensors of floats.

    >>> import flambeau
    >>> flambeau.set_default_tensor_type("torch.DoubleTensor")
    >>> flambeau.zeros(1).dtype
    flambeau.float64
    >>> flambeau.set_default_tensor_type(flambeau.FloatTensor)
    """
    kind = kind_named(t)
    if kind is None:
        raise TypeError(f"invalid type object: {t!r}: write 'torch.FloatTensor', or set_default_dtype(float32)")
    dtype, device = kind
    set_default_dtype(dtype)
    set_default_device(None if device == "cpu" else device)
