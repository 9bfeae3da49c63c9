"""Methods that call a Python function for every element, and write what it gives in place: slow, on the host alone.

>>> import flambeau
>>> flambeau.tensor([1.0, 4.0]).apply_(lambda v: v ** 0.5)
tensor([1., 2.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.tensor import dispatch
from flambeau.tensor.create import tensor
from flambeau.tensor.grad_mode import no_grad
from flambeau.tensor.tensor import Tensor, install_method

ASKS: Final = "Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
ON_DEVICE: Final = "{name}() calls Python for elements on the host: x.copy_(x.cpu().{name}(f))"
NO_FUNCTION: Final = "{name}() takes a function of {count}, not {given}"
NO_TENSOR: Final = "{name}() takes tensors beside it, not {given}"


def _write(name: str, function: Callable[..., Any], target: Tensor, others: Sequence[Any]) -> Tensor:
    counted = f"{len(others) + 1} number{'s' if others else ''}"
    if not callable(function):
        raise TypeError(NO_FUNCTION.format(name=name, count=counted, given=type(function).__name__))
    for one in (target, *others):
        if not isinstance(one, Tensor):
            raise TypeError(NO_TENSOR.format(name=name, given=type(one).__name__))
        if one.requires_grad:
            raise TypeError(ASKS.format(name=name))
        if one.device.type != "cpu":
            raise TypeError(ON_DEVICE.format(name=name))
    with no_grad():
        operands = [dispatch.call("aten::expand", one, list(target.shape)) for one in others]
        rows = [dispatch.call("aten::reshape", one, [-1]).tolist() for one in (target, *operands)]
        values = [function(*numbers) for numbers in zip(*rows, strict=True)]
        result = dispatch.call("aten::reshape", tensor(values, dtype=target.dtype), list(target.shape))
        dispatch.call("aten::copy_", target, result)
    return target


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a function gives for it. Raises TypeError for tensors that ask for gradients.

    Args:
        callable: a function of a number.

    >>> import flambeau
    >>> flambeau.arange(3).apply_(lambda v: v * 10)
    tensor([ 0, 10, 20])
    """
    return _write("apply_", callable, self, ())


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by what a function gives for it and the one of another tensor, which is broadcast.

    Args:
        tensor: the other tensor.
        callable: a function of two numbers.

    >>> import flambeau
    >>> flambeau.tensor([1, 5]).map_(flambeau.tensor([3, 2]), max)
    tensor([3, 5])
    """
    return _write("map_", callable, self, (tensor,))


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """The same with two other tensors.

    Args:
        x: a tensor, which is broadcast.
        y: another one.
        callable: a function of three numbers.

    >>> import flambeau
    >>> one = flambeau.ones(2)
    >>> flambeau.zeros(2).map2_(one, one * 2, lambda a, b, c: a + b + c)
    tensor([3., 3.])
    """
    return _write("map2_", callable, self, (x, y))


for _method in (apply_, map_, map2_):
    install_method(_method.__name__, _method)
