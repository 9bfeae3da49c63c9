"""What binds calls from Python to overloads: which values are tensors, and what tensors are for other parameters.

>>> from flambeau.schema import registry
>>> binder.bind("aten::neg", registry.overloads("aten::neg"), (wrap_number(1),), {}).definition.full_name
'aten::neg'
"""

from __future__ import annotations

from typing import Any

from flambeau.schema.argument_rules import RuntimeTypes
from flambeau.schema.bind import Binder
from flambeau.tensor.bridge import from_array
from flambeau.tensor.observer import current
from flambeau.tensor.random import Generator
from flambeau.tensor.tensor import Tensor, wrap_number


def _to_index(tensor: Tensor) -> Any:
    """What a tensor of one integer is for a parameter that takes an int. Raises TypeError for other dtypes."""
    if tensor._array.dtype.kind not in "biu":
        tensor.item()
        raise TypeError(f"expected a tensor holding int, got one of dtype {tensor.dtype}")
    watching = current()
    return int(tensor.item()) if watching is None or tensor._array.size != 1 else watching.integer(tensor)


def _to_number(tensor: Tensor) -> Any:
    """What a tensor of one element is for a parameter that takes a number."""
    watching = current()
    return Tensor.item(tensor) if watching is None or tensor._array.size != 1 else watching.number(tensor)


binder = Binder(
    RuntimeTypes(
        tensor=Tensor,
        generator=Generator,
        from_number=wrap_number,
        from_array=from_array,
        to_number=_to_number,
        to_index=_to_index,
    )
)
