"""Forward mode by hand: tensors with tangents, within a block.

>>> import flambeau
>>> from flambeau.autograd import forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 0.0]))
...     forward_ad.unpack_dual(x * x).tangent
tensor([2., 0.])
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple
from weakref import ref

from flambeau.autograd.forward.dual import DualLevel, DualTensor
from flambeau.autograd.node import edge_of
from flambeau.autograd.saved import AliasBackward0
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.levels import Wrapper
from flambeau.tensor.recorder import tensors_in
from flambeau.tensor.tensor import Tensor

NO_LEVEL: Final = (
    "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
)
NESTED: Final = "Nested forward mode AD is not supported at the moment"
NOT_ENTERED: Final = "Dual level must be a positive number."
OTHER_SIZE: Final = (
    "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
    "supported. Tensor is of size {} while the given forward gradient is of size {}."
)


TWICE: Final = (
    "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported: "
    "unpack_dual(tensor).primal has none"
)


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent; None if it has none.

    >>> import flambeau
    >>> UnpackedDualTensor(flambeau.tensor(3.0), None).primal
    tensor(3.)
    """

    primal: Tensor
    tangent: Tensor | None


class _ExplicitLevel(DualLevel):
    """A level whose tensors are plain ones afterwards, and whose tape goes on to what asks for gradients outside: a
    gradient of a dual tensor has a tangent itself."""

    def __init__(self) -> None:
        super().__init__()
        self._duals: list[ref[DualTensor]] = []

    def dual(self, value: Tensor, tangent: Tensor | None) -> DualTensor:
        """A new tensor with a tangent."""
        result = super().dual(value, tangent)
        self._duals.append(ref(result))
        return result

    def lifted(self, value: Tensor) -> Wrapper:
        """The tensor as one of this level, on its tape if it asks for gradients."""
        return self._attached(super().lifted(value))

    def converted(self, tensor: Tensor) -> Wrapper:
        """What is about to be written as a tensor of this level, on its tape if it asks for gradients."""
        return self._attached(super().converted(tensor))

    def _attached(self, result: Wrapper) -> Wrapper:
        value = result._wrapped.value
        if result._node is None and is_grad_enabled() and value.requires_grad:
            result._node, result.output_nr = AliasBackward0([edge_of(value)]), 0
        return result

    def _asks(self, values: Sequence[Any]) -> bool:
        return any(tensor.requires_grad for tensor in tensors_in(list(values)))

    def closed(self) -> None:
        """All tensors are without tangents."""
        self._converted += [dual for one in self._duals if (dual := one()) is not None]
        super().closed()


class _Entered(threading.local):
    level: _ExplicitLevel | None = None
    block: AbstractContextManager[Any] | None = None


_entered: Final = _Entered()


def enter_dual_level() -> int:
    """Begin a block in which tensors may have tangents, on this thread; `exit_dual_level` ends it. Raises RuntimeError
    in such a block: use `flambeau.func.jvp`, which nests.

    >>> enter_dual_level()
    0
    >>> exit_dual_level()
    """
    if _entered.level is not None:
        raise RuntimeError(NESTED)
    _entered.level = _ExplicitLevel()
    _entered.block = _entered.level.opened()
    _entered.block.__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the block. Tensors that had tangents have none any more. Raises RuntimeError if there is no block.

    >>> import flambeau
    >>> level = enter_dual_level()
    >>> x = make_dual(flambeau.ones(2), flambeau.zeros(2))
    >>> exit_dual_level(level=level)
    >>> unpack_dual(x).tangent is None
    True
    """
    block = _entered.block
    if block is None:
        raise RuntimeError(NOT_ENTERED)
    _entered.level = _entered.block = None
    block.__exit__(None, None, None)


class dual_level:  # noqa: N801  (as programs write it)
    """A block in which tensors may have tangents.

    >>> import flambeau
    >>> with dual_level():
    ...     unpack_dual(make_dual(flambeau.ones(2), flambeau.zeros(2)) + 1).tangent
    tensor([0., 0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with a tangent.

    Args:
        tensor: the value, of floating or complex numbers.
        tangent: of the same sizes.
        level: only 0, and None for that.

    Raises RuntimeError outside of `dual_level`, or for a tangent of other sizes, ValueError for integers.

    >>> import flambeau
    >>> with dual_level():
    ...     unpack_dual(make_dual(flambeau.tensor(3.0), flambeau.tensor(1.0)) ** 2).tangent
    tensor(6.)
    """
    current = _entered.level
    if current is None:
        raise RuntimeError(NO_LEVEL)
    for what, one in (("primal", tensor), ("tangent", tangent)):
        if not one.dtype.is_floating_point and not one.dtype.is_complex:
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {one.dtype}")
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(OTHER_SIZE.format(list(tensor._array.shape), list(tangent._array.shape)))
    if current.tangent_of(tensor) is not None:
        raise RuntimeError(TWICE)
    return current.lifted(current.dual(tensor, tangent))


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor without its tangent, and the tangent.

    >>> import flambeau
    >>> with dual_level():
    ...     unpack_dual(flambeau.ones(2))
    UnpackedDualTensor(primal=tensor([1., 1.]), tangent=None)
    """
    current = _entered.level
    if current is None:
        return UnpackedDualTensor(tensor, None)
    tangent = current.tangent_of(tensor)
    return UnpackedDualTensor(current.value_of(tensor), tangent)


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
