"""The sizes that `reshape` and its kind ask for, wherever the memory is."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from flambeau.schema.opdef import OpDef
from flambeau.tensor import layout


def reshaped_sizes(definition: OpDef, arguments: Sequence[Any]) -> tuple[int, ...]:
    """The sizes of a result of `reshape`, `reshape_as`, `flatten`, `ravel` or `_unsafe_view`. Raises RuntimeError for
    those that do not hold as many elements.
    """
    source = arguments[0]
    shape = source._array.shape
    short = definition.name.removeprefix("aten::")
    if short == "reshape_as":
        return tuple(arguments[1]._array.shape)
    if short == "ravel":
        return (source.numel(),)
    if short != "flatten":
        return layout.infer_size(arguments[1], source.numel())
    if not shape:
        return (1,)
    first, last = (layout.wrap_dim(d, len(shape)) for d in arguments[1:3])
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])
