"""What formulas do about sizes: axes that a reduction folded away come back, parts become wholes, lists become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def axes(dim: Any, rank: int) -> list[int]:
    """The axes that a `dim` argument names, counted from the front; all if it names none."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return list(range(rank))
    listed = [dim] if isinstance(dim, int) else list(dim)
    return [d % rank if rank else 0 for d in listed]


def kept(f: Any, value: Any, dim: Any, keepdim: bool, rank: int) -> Any:
    """A result of a reduction with the axes that it folded, of size 1."""
    if keepdim or rank == 0:
        return value
    for axis in sorted(axes(dim, rank)):
        value = f.unsqueeze(value, axis)
    return value


def unreduced(f: Any, value: Any, dim: Any, keepdim: bool, sizes: Sequence[int]) -> Any:
    """A result of a reduction in the sizes of what was reduced."""
    whole = value if value.dim() == 0 else kept(f, value, dim, keepdim, len(sizes))
    return f.expand(whole, list(sizes))


def count(dim: Any, sizes: Sequence[int]) -> int:
    """How many elements a reduction over `dim` folds into one."""
    number = 1
    for axis in set(axes(dim, len(sizes))) if sizes else ():
        number *= sizes[axis]
    return number


def perhaps(condition: Any) -> bool:
    """Whether a condition on sizes holds, or may hold: what only a graph knows when it runs is no reason to stop.

    >>> perhaps(2 > 3)
    False
    """
    return condition if isinstance(condition, bool) else True


def at_least_zero(f: Any, number: Any, like: Any) -> Any:
    """A number, or 0 if it is less; of a graph's a tensor with one element, in the dtype of another."""
    return max(number, 0) if isinstance(number, int | float) else f.clamp_min(f.full([], number, dtype=like.dtype), 0)


def adjoint(f: Any, x: Any) -> Any:
    """The conjugate of a matrix's transpose."""
    return f.conj(f.mT(x))


def scaled(grad: Any, factor: Any) -> Any:
    """A gradient through a product with a number."""
    return grad if factor == 1 else grad * (factor.conjugate() if isinstance(factor, complex) else factor)


def zeros(grad: Any, sizes: Sequence[int]) -> Any:
    """Zeros of the gradient's dtype."""
    return grad.new_zeros(list(sizes))


def complete(f: Any, grads: Sequence[Any], sizes: Sequence[Sequence[int]]) -> list[Any]:
    """The gradients of several results: zeros where none came."""
    known = next(g for g in grads if g is not None)
    gradients = [*grads, *[None] * (len(sizes) - len(grads))]
    return [zeros(known, size) if g is None else g for g, size in zip(gradients, sizes, strict=True)]
