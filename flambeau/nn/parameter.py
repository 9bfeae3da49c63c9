"""A tensor that a module owns and training changes."""

from __future__ import annotations

from flambeau.tensor.tensor import Tensor


class Parameter(Tensor):
    """A Tensor that registers itself when assigned to an attribute of a `Module`.

    It shares memory with `data` and asks for gradients unless told not to. Raises RuntimeError for a dtype that cannot
    have gradients.

    >>> import flambeau
    >>> flambeau.nn.Parameter(flambeau.ones(2)).requires_grad
    True
    """

    __slots__ = ()

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        super().__init__(data._array, data._storage)
        if requires_grad:
            self.requires_grad_(True)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"
