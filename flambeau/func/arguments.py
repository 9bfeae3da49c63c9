"""Which arguments a transform is about, and the values in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.tensor.bridge import from_numpy_or_copy
from flambeau.tensor.tensor import Tensor
from flambeau.util.trees import REGISTER, Structure, flatten

INSTEAD: Final = {
    float: ": pass flambeau.tensor(x), or give a scripted function that takes a float",
    int: ": gradients are of floating point numbers; pass flambeau.tensor(float(x))",
}
ArgNums = int | tuple[int, ...]


def positions(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions that `argnums` names, counted from the front. Raises RuntimeError for what names none."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {numbers}")
    for number in numbers:
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
    return tuple([n % count for n in numbers])


def chosen(arguments: Sequence[Any], argnums: Any) -> Any:
    """The arguments that `argnums` names: one, or a tuple."""
    numbers = positions(argnums, len(arguments))
    return arguments[numbers[0]] if isinstance(argnums, int) else tuple([arguments[n] for n in numbers])


def replaced(arguments: Sequence[Any], argnums: Any, values: Any) -> tuple[Any, ...]:
    """The arguments with others in the places that `argnums` names."""
    numbers = positions(argnums, len(arguments))
    listed = [values] if isinstance(argnums, int) else list(values)
    result = list(arguments)
    for number, value in zip(numbers, listed, strict=True):
        result[number] = value
    return tuple(result)


def tensors(value: Any) -> tuple[list[Tensor], Structure]:
    """The tensors in a value; arrays of NumPy are tensors on their memory. Raises ValueError for other leaves."""
    leaves, structure = flatten(value)
    return [_tensor(leaf) for leaf in leaves], structure


def as_tensor(leaf: Any) -> Any:
    """An array or a number of NumPy as a tensor; anything else as it is."""
    return from_numpy_or_copy(np.asarray(leaf)) if isinstance(leaf, np.ndarray | np.generic) else leaf


def _tensor(leaf: Any) -> Tensor:
    leaf = as_tensor(leaf)
    if isinstance(leaf, Tensor):
        return leaf
    advice = REGISTER if dataclasses.is_dataclass(leaf) else INSTEAD.get(type(leaf), "")
    raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}{advice}")


def with_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """The result of a function and what it gives besides. Raises RuntimeError if that should be there and is not."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def name_of(function: Callable[..., Any]) -> str:
    """What messages call a function."""
    return getattr(function, "__name__", None) or repr(function)
