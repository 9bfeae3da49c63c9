"""`vjp` and `linearize` of scripted functions of tensors, and of containers of them: the value by the function, the
products by its program.

The program computes again what it needs of the way there, which for compiled code costs less than to keep it. That is
for functions without effects, of tensors that ask for nothing, where no transform is at work; others go by the tape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from flambeau.autograd.node import edge_of
from flambeau.tensor.levels import innermost
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import OPENED_CALL, SCRIPTED_TRANSFORM
from flambeau.util.trees import Structure, flatten

Products = Callable[..., Any]
CHANGED: Final = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: an argument of "
    "the function was written between the call and its product"
)


def program_of(kind: str, func: Callable[..., Any], primals: Sequence[Any]) -> Products | None:
    """What computes the products of a function at tensors; None where the tape does."""
    if not primals or thread.handlers or thread.is_plain or thread.observer is not None or innermost() is not None:
        return None
    for value in primals:
        is_plain = type(value) is Tensor and value._array.dtype.kind == "f" and edge_of(value) is None
        if not is_plain:
            return None
    program: Products | None = SCRIPTED_TRANSFORM.implementation(kind, func, argnums=tuple(range(len(primals))))
    compiled = program.args[0] if isinstance(program, partial) else program
    is_whole = getattr(compiled, "may_run_again", False) and len(func.schema.arguments) == len(primals)  # type: ignore[attr-defined]
    return program if is_whole else None


class Opened(NamedTuple):
    """A call with containers: the function of the tensors in them."""

    func: Callable[..., Any]
    leaves: list[Any]
    program: Products
    inside: Structure
    """How the tensors lie in the arguments."""
    results: Structure

    def whole(self, result: Any) -> Any:
        """A result of the function in its containers."""
        return result if self.results.is_leaf() else self.results.unflatten(result)


def opened(kind: str, func: Callable[..., Any], primals: Sequence[Any]) -> Opened | None:
    """A call of a scripted function with containers of tensors, and what computes its products; None where the tape
    does."""
    if thread.handlers or thread.is_plain or thread.observer is not None or innermost() is not None:
        return None
    call = None if all(type(value) is Tensor for value in primals) else OPENED_CALL.implementation(func, primals)
    if call is None:
        return None
    flat, leaves, results = call
    same, inside = flatten(tuple(primals))
    program = program_of(kind, flat, leaves)
    if program is None or [*map(id, same)] != [*map(id, leaves)]:
        return None
    return Opened(flat, leaves, program, inside, results)


def is_alone(result: Any) -> bool:
    """Whether a result is a tensor that asks for nothing, or a tuple of such."""
    parts = result if type(result) is tuple else (result,)
    return bool(parts) and all(type(part) is Tensor and edge_of(part) is None for part in parts)


class Unchanged:
    """Tensors with the versions that they had, so that later writes are noticed."""

    __slots__ = ("_tensors", "_versions")

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors = tuple(tensors)
        self._versions = [tensor._storage.version for tensor in tensors]

    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors. Raises RuntimeError if one was written since."""
        if [tensor._storage.version for tensor in self._tensors] != self._versions:
            raise RuntimeError(CHANGED)
        return self._tensors


def fits(values: Sequence[Any], likes: Sequence[Tensor]) -> bool:
    """Whether values are tensors of the sizes and dtypes of others, and ask for nothing."""
    return len(values) == len(likes) and all(
        type(value) is Tensor and edge_of(value) is None
        and value._array.shape == like._array.shape and value._array.dtype == like._array.dtype
        for value, like in zip(values, likes, strict=True)
    )  # fmt: skip
