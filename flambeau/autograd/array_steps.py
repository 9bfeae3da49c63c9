"""One gradient of a call from plain tensors, by a function over their arrays: see `schema.array_gradient`.

>>> import flambeau
>>> from flambeau.schema.array_gradient import array_gradient_of
>>> step = ArrayStep(array_gradient_of("aten::t", "self"), ["grad"], is_list=False)
>>> step(flambeau.tensor([[1.0, 2.0]]))
tensor([[1.],
        [2.]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.autograd.saved import SavedTensor
from flambeau.schema.array_gradient import ArrayGradient
from flambeau.tensor.subclasses import PLAIN
from flambeau.tensor.tensor import Tensor, share, wrap
from flambeau.util.float_errors import begin, end

_FLOATS: Final = "fd"
"""Characters of the dtypes of gradients that are served."""


class ArrayStep:
    """The gradient of an operand, or those of a list of operands; None for what is left to the formula."""

    __slots__ = ("_function", "is_for_large", "is_list", "needs")

    def __init__(self, gradient: ArrayGradient, needs: Sequence[str], *, is_list: bool) -> None:
        self._function = gradient.function
        self.is_for_large = gradient.is_for_large
        """Whether arrays of any size are served."""
        self.needs = needs
        """What it is given, by name: the gradient, or gradients, first."""
        self.is_list = is_list

    def __call__(self, grad: Any, *values: Any) -> Any:
        if type(grad) is Tensor:
            own: Any = grad._array
            dtype = own.dtype
        else:
            own = _arrays(grad)
            dtype = next((one.dtype for one in own or () if one is not None), None)
        given = None if dtype is None or dtype.char not in _FLOATS else _given(values)
        if given is None:
            return None
        before = begin()
        try:
            result = self._function(own, *given)
        finally:
            end(before)
        if result is None:
            return None
        return [_shown(one, grad) for one in result] if self.is_list else _shown(result, grad)


def _given(values: Sequence[Any]) -> list[Any] | None:
    """Values with the arrays of tensors in their places, those of lists too; None where one is no plain tensor."""
    given: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is Tensor or kind in PLAIN:
            given.append(value._array)
        elif isinstance(value, Tensor):
            return None
        elif kind is list and value and (value[0] is None or isinstance(value[0], Tensor)):
            arrays = _arrays(value)
            if arrays is None:
                return None
            given.append(arrays)
        else:
            given.append(value)
    return given


def _arrays(tensors: Any) -> list[Any] | None:
    """The arrays of tensors, of which some may be None; None where one is no plain tensor."""
    arrays = []
    for one in tensors:
        if one is not None and type(one) is not Tensor and type(one) not in PLAIN:
            return None
        arrays.append(None if one is None else one._array)
    return arrays


def _shown(array: Any, grad: Any) -> Tensor:
    """An array as a tensor: on the gradient's memory, if it shows that."""
    if type(grad) is Tensor:
        own, base = grad._array, array.base
        if array is own:
            return grad
        if base is not None and (base is own or base is own.base):
            return share(grad, array)
    return wrap(array)


def unpacked(saved: SavedTensor) -> Tensor | None:
    """One of several results, as it was kept; None if hooks packed it, or it was written since."""
    tensor: Tensor = saved.tensor
    return None if saved.unpack is not None or tensor._storage.version != saved.version else tensor


def opened(saved: Sequence[SavedTensor | None] | None) -> list[Tensor | None] | None:
    """The same of several tensors, of which some may be None; None where that is not said of one."""
    tensors: list[Tensor | None] = []
    for one in saved or ():
        tensor = None if one is None else unpacked(one)
        if tensor is None and one is not None:
            return None
        tensors.append(tensor)
    return tensors
