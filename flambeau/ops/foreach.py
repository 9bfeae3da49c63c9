"""`flambeau._foreach_add` and its like: an operator on each tensor of a list, as loops over parameters write it.

>>> import flambeau
>>> parameters = [flambeau.ones(2), flambeau.ones(1)]
>>> _ = flambeau._foreach_mul_(parameters, 0.5)
>>> parameters, flambeau._foreach_add(parameters, parameters, alpha=2)
([tensor([0.5000, 0.5000]), tensor([0.5000])], (tensor([1.5000, 1.5000]), tensor([1.5000])))

Where another operand is a list, of tensors or numbers, each tensor gets its own; a number or a tensor goes to all. They
are functions for Python: programs loop over lists themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from flambeau.schema import registry
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor

Function = Callable[..., Any]

PREFIX: Final = "_foreach_"
AS_BOUNDS: Final = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""Operators that do the same, with numbers too."""
NOT_A_LIST: Final = "{name}() takes a list of tensors as its first argument, got {kind}"
NONE_THERE: Final = "Tensor list must have at least one tensor."
OTHER_LENGTH: Final = "Tensor lists must have the same number of tensors, got {count} and {other}"


@cache
def function(name: str) -> Function | None:
    """The function of a name, always the same one; None where no operator goes element by element under that name.

    >>> function("_foreach_neg").__name__, function("_foreach_matmul")
    ('_foreach_neg', None)
    """
    short = name.removeprefix(PREFIX)
    over_lists = _OWN.get(short)
    if over_lists is None:
        plain = short.removesuffix("_")
        if not any(d.family == "pointwise" for d in registry.overloads(f"aten::{plain}")):
            return None
        over_lists = _over_lists(name, plain, short.endswith("_"))
    over_lists.__name__ = over_lists.__qualname__ = name
    over_lists.__module__ = "flambeau"
    return over_lists


def _over_lists(name: str, plain: str, is_in_place: bool) -> Function:
    operator = dispatch.operator(f"aten::{AS_BOUNDS.get(plain, plain)}{'_' if is_in_place else ''}")
    scalars = "value" if plain in ("addcmul", "addcdiv") else None

    def over_lists(self: Sequence[Tensor], *others: Any, **keywords: Any) -> Any:
        further = list(others)
        if plain == "pow" and not isinstance(self, list | tuple):
            exponents = _checked(name, *further)
            return _each(operator, [self] * len(exponents), [exponents], keywords)
        if scalars is not None and len(further) == 3:
            keywords = {**keywords, scalars: further.pop()}
        results = _each(operator, _checked(name, self), further, keywords)
        return list(self) if is_in_place else results

    form = f"`{plain}{'_' if is_in_place else ''}`"
    over_lists.__doc__ = f"{form} of each tensor of a list{', in place' if is_in_place else ''}."
    return over_lists


def _each(
    operator: Function, tensors: Sequence[Any], further: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Tensor, ...]:
    """The results of an operator on each of some tensors, with what goes with it."""
    columns = [_column(other, len(tensors)) for other in further]
    named = {key: _column(value, len(tensors)) for key, value in keywords.items()}
    return tuple(
        operator(tensor, *(c[i] for c in columns), **{key: _number(key, c[i]) for key, c in named.items()})
        for i, tensor in enumerate(tensors)
    )


def _number(key: str, value: Any) -> Any:
    """A factor as a number, where it comes as an element of a tensor of factors."""
    return value.item() if key == "value" and isinstance(value, Tensor) else value


def _column(other: Any, count: int) -> Sequence[Any]:
    """What goes with each of so many tensors. Raises RuntimeError for a list of another length."""
    if isinstance(other, list | tuple):
        if len(other) != count:
            raise RuntimeError(OTHER_LENGTH.format(count=count, other=len(other)))
        return other
    return [other] * count


def _checked(name: str, tensors: Any) -> Sequence[Tensor]:
    if not isinstance(tensors, list | tuple) or not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise TypeError(NOT_A_LIST.format(name=name, kind=type(tensors).__name__))
    if not tensors:
        raise RuntimeError(NONE_THERE)
    return tensors


def _norm(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of each tensor of a list, by `linalg.vector_norm`."""
    operator = dispatch.operator("aten::linalg_vector_norm")
    return tuple(operator(tensor, ord, dtype=dtype) for tensor in _checked("_foreach_norm", self))


def _max(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The largest element of each tensor of a list."""
    return tuple(tensor.max() for tensor in _checked("_foreach_max", self))


def _clone(self: Sequence[Tensor], *, memory_format: Any = None) -> tuple[Tensor, ...]:
    """A copy of each tensor of a list."""
    return tuple(tensor.clone(memory_format=memory_format) for tensor in _checked("_foreach_clone", self))


def _zero_(self: Sequence[Tensor]) -> list[Tensor]:
    """Zeros in each tensor of a list, in place."""
    return [tensor.zero_() for tensor in _checked("_foreach_zero_", self)]


def _copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> list[Tensor]:
    """The elements of each tensor of a list from those of another list, in place."""
    tensors = _checked("_foreach_copy_", self)
    sources = _column(list(src), len(tensors))
    return [tensor.copy_(source, non_blocking) for tensor, source in zip(tensors, sources, strict=True)]


_OWN: Final[dict[str, Function]] = {"norm": _norm, "max": _max, "clone": _clone, "zero_": _zero_, "copy_": _copy_}
"""The operators whose forms on lists are written by hand."""
