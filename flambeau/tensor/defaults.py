"""The float dtype of tensors that nobody gave one, for the current thread or everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.schema import dtype as dtypes
from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.dtype import DType


class _Default:
    dtype: DType = dtypes.float32


_watching: list[Callable[[], None]] = []


def when_changed(call: Callable[[], None]) -> None:
    """Have `call` run whenever the default dtype has become another."""
    _watching.append(call)


def float_dtype() -> DType:
    """The dtype of `zeros(2)` and `tensor(1.5)`."""
    return _Default.dtype


def set_default_dtype(dtype: Any) -> None:
    """Change the default dtype. Raises TypeError unless it is a floating point type.

    Args:
        dtype: a floating point dtype.

    >>> import flambeau
    >>> flambeau.set_default_dtype(flambeau.float32)
    """
    target = to_dtype(dtype)
    if not target.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {target!r}")
    if target is not _Default.dtype:
        _Default.dtype = target
        for call in _watching:
            call()


def get_default_dtype() -> DType:
    """The default dtype: float32 unless it was changed.

    >>> import flambeau
    >>> flambeau.get_default_dtype()
    flambeau.float32
    """
    return _Default.dtype
