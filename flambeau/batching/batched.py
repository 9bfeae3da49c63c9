"""Batched tensors: each stands for the tensors along the first axis of another one.

To whoever looks at its sizes or strides it is one of them, the first. Its elements nobody can see: a program that
branched on them would have to go several ways.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from flambeau.tensor.levels import Level, State, Wrapper, make
from flambeau.tensor.tensor import Tensor

BRANCH: Final = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet: choose between tensors with flambeau.where(condition, a, b)."
)
ITEM: Final = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations."
)
NO_STORAGE: Final = "Cannot access data pointer of Tensor that doesn't have storage"


class Batch(State):
    """The tensors of a batch, or one tensor for all of it."""

    __slots__ = ("is_batched",)

    def __init__(self, level: Level, value: Tensor, is_batched: bool) -> None:
        super().__init__(level, value)
        self.is_batched = is_batched
        """Whether the value's first axis is the batch; else it stands for each element of it."""


class BatchedTensor(Wrapper):
    """A tensor of a batch.

    >>> import flambeau
    >>> kinds = []
    >>> _ = flambeau.vmap(lambda x: kinds.append(type(x).__name__) or x)(flambeau.ones(2))
    >>> kinds
    ['BatchedTensor']
    """

    __slots__ = ()

    @property
    def _array(self) -> Any:  # type: ignore[override]
        state = self._alive()
        array = state.value._array
        if not state.is_batched:
            return array
        return array[0, ...] if len(array) else np.zeros(array.shape[1:], array.dtype)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        state = self._wrapped
        where = "batched" if state.is_batched else "one for all"
        return f"BatchedTensor({where}, value=\n{state.value}\n)"

    def _refuse_item(self, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(ITEM)

    def _refuse_branch(self) -> NoReturn:
        raise RuntimeError(BRANCH)

    def _refuse_memory(self, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(NO_STORAGE)

    item = __int__ = __float__ = __complex__ = __index__ = __contains__ = _refuse_item
    __bool__ = _refuse_branch
    numpy = tolist = data_ptr = untyped_storage = _refuse_memory
    __array__ = __buffer__ = __dlpack__ = __reduce__ = __deepcopy__ = _refuse_memory

    def __format__(self, spec: str) -> str:
        return repr(self)


def batched(level: Level, value: Tensor, *, is_batched: bool = True) -> BatchedTensor:
    """A tensor of a batch along the first axis of `value`, or `value` itself for each element of the batch."""
    return make(BatchedTensor, Batch(level, value, is_batched))  # type: ignore[return-value]
