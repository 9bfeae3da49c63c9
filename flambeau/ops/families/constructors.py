"""What constructors share: the options in their schemas, dtype and shape rules, and the forms that write into `out`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.families.variants import check_overlap, fit_out, write
from flambeau.schema.dtype import DType, by_code
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import UNKNOWN, Effect, OpDef, Sizes
from flambeau.schema.registry import register
from flambeau.schema.types import TensorType
from flambeau.tensor import defaults
from flambeau.tensor.tensor import Tensor

OPTIONS: Final = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


LIKE_OPTIONS: Final = f"{OPTIONS}, MemoryFormat? memory_format=None"


def chosen(dtype: int | None, default: DType | None = None) -> DType:
    """The dtype a call asked for, or the default."""
    return (default or defaults.float_dtype()) if dtype is None else by_code(dtype)


def check_sizes(name: str, size: Sequence[int]) -> None:
    """Raise RuntimeError for a negative size."""
    if size and min(size) < 0:
        raise RuntimeError(f"{name}: Dimension size must be non-negative.")


def options_dtype(dtype: Any = None) -> DType | None:
    """The `dtype` option if it is given and known."""
    return None if dtype is UNKNOWN or dtype is None else by_code(dtype)


def default_dtype(dtype: Any = None) -> DType | None:
    """The `dtype` option, or the default dtype."""
    return None if dtype is UNKNOWN else chosen(dtype)


def like_dtype(self: TensorType, dtype: Any = None) -> DType | None:
    """The `dtype` option, or the tensor's own."""
    return None if dtype is UNKNOWN else self.dtype if dtype is None else by_code(dtype)


def size_shape(size: Any) -> Sizes | None:
    """The `size` argument, as far as it is known."""
    if not isinstance(size, list | tuple):
        return None
    return tuple(s if isinstance(s, int) else None for s in size)


def like_shape(self: TensorType) -> Sizes | None:
    """The tensor's sizes."""
    return self.sizes


# Into a given tensor
def declare_out_of_constructor(schema: str, kernel: Callable[..., Tensor], effect: Effect = Effect.NONE) -> None:
    """Register a constructor that writes into `out`: it computes in the dtype of `out`."""

    def write_out(*arguments: Any) -> Tensor:
        out: Tensor = arguments[-1]
        check_overlap(out, ())
        values = kernel(*arguments[:-1], dtype=out.dtype.code)
        fit_out(out, values._array.shape)
        return write(out, values._array)

    register(OpDef(schema=parse_schema(schema), family="out", kernel=write_out, effect=effect, is_method=False))
