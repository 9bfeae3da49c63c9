"""The few functions whose Python form differs from the operator's: what they return depends on a keyword, or they
take dtypes."""

from __future__ import annotations

from typing import Any

from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.dtype import Category, DType
from flambeau.schema.dtype import promote as _promote
from flambeau.tensor.dispatch import call
from flambeau.tensor.overridden_functions import overridable
from flambeau.tensor.tensor import Tensor


@overridable
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The places of elements other than zero: a row each, or with `as_tuple` a vector for each dimension.

    Args:
        input: a tensor of any shape.
        as_tuple: whether the result is a tuple with a vector for each dimension.
        out: a tensor for the result.

    >>> import flambeau
    >>> flambeau.nonzero(flambeau.tensor([0, 5, 0, 7])).tolist()
    [[1], [3]]
    """
    if as_tuple:
        return call("aten::nonzero_numpy", input)
    return call("aten::nonzero", input) if out is None else call("aten::nonzero", input, out=out)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor.

    Args:
        obj: anything.

    >>> import flambeau
    >>> flambeau.is_tensor(flambeau.ones(2)), flambeau.is_tensor([1])
    (True, False)
    """
    return isinstance(obj, Tensor)


def typename(obj: Any) -> str:
    """What `obj` is, in words: the type of a tensor, or the class of something else with its module.

    >>> import flambeau
    >>> typename(flambeau.ones(2)) == flambeau.ones(2).type(), typename(flambeau.nn.Linear(1, 1))[-6:]
    (True, 'Linear')
    """
    if is_tensor(obj):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None)
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"


def can_cast(from_: Any, to: Any) -> bool:
    """Whether results of one dtype may be stored as another: never from a higher kind of number to a lower one.

    Args:
        from_: a dtype.
        to: a dtype.

    >>> import flambeau
    >>> flambeau.can_cast(flambeau.float32, flambeau.int64)
    False
    """
    source, target = to_dtype(from_), to_dtype(to)
    if source.category == Category.BOOL:
        return True
    return source.category <= target.category


def promote_types(type1: Any, type2: Any) -> DType:
    """The smallest dtype that both convert to.

    Args:
        type1: a dtype or its name.
        type2: a dtype or its name.

    >>> promote_types("uint8", "int8")
    flambeau.int16
    """
    return _promote(to_dtype(type1), to_dtype(type2))
