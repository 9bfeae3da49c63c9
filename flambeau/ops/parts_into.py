"""Copies of parts that go into given tensors: `unbind_copy(x, out=[a, b])`, and its like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.families.variants import fit_out
from flambeau.ops.python_forms import form_of
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor

COUNT: Final = "{name} expected an out= argument of size {wanted}, got size {got}"
ASKS: Final = "{name}(): functions with out=... arguments don't support automatic differentiation, but one asks for it"


def _put(name: str, parts: Sequence[Tensor], out: Sequence[Tensor] | None) -> Any:
    """The parts, or None once they are in the tensors of `out`. Raises RuntimeError before anything is written."""
    if out is None:
        return parts
    if len(out) != len(parts):
        raise RuntimeError(COUNT.format(name=name, wanted=len(parts), got=len(out)))
    if any(tensor.requires_grad for tensor in (*parts, *out)):
        raise RuntimeError(ASKS.format(name=name))
    for part, target in zip(parts, out, strict=True):
        fit_out(target, part._array.shape)
        call("aten::copy_", target, part)
    return None


@form_of("aten::unbind_copy")
def unbind_copy(input: Tensor, dim: int = 0, *, out: Sequence[Tensor] | None = None) -> Any:
    """The slices along a dimension, each in memory of its own.

    Args:
        input: a tensor.
        dim: the dimension that goes away.
        out: tensors that the slices are written to, in place of new ones.

    Raises RuntimeError if `out` has more or fewer tensors than there are slices.

    >>> import flambeau
    >>> first, second = flambeau.empty(2), flambeau.empty(2)
    >>> unbind_copy(flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]), out=[first, second])
    >>> second
    tensor([3., 4.])
    """
    return _put("unbind_copy_int_out", call("aten::unbind_copy", input, dim), out)


@form_of("aten::split_copy")
def split_copy(input: Tensor, split_size: int, dim: int = 0, *, out: Sequence[Tensor] | None = None) -> Any:
    """Parts of `split_size` along a dimension, the last one what is left, each in memory of its own.

    Args:
        input: a tensor.
        split_size: how long parts are.
        dim: along which dimension.
        out: tensors that the parts are written to, in place of new ones.

    Raises RuntimeError if `out` has more or fewer tensors than there are parts.

    >>> import flambeau
    >>> [part.tolist() for part in split_copy(flambeau.arange(3), 2)]
    [[0, 1], [2]]
    """
    return _put("split_copy_Tensor_out", call("aten::split_copy", input, split_size, dim), out)


@form_of("aten::split_with_sizes_copy")
def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> Any:
    """Parts of these sizes along a dimension, each in memory of its own.

    Args:
        input: a tensor.
        split_sizes: how long each part is; together as long as the dimension.
        dim: along which dimension.
        out: tensors that the parts are written to, in place of new ones.

    Raises RuntimeError if `out` has more or fewer tensors than there are parts.

    >>> import flambeau
    >>> first, second = flambeau.empty(0), flambeau.empty(0)
    >>> split_with_sizes_copy(flambeau.tensor([1.0, 2.0, 3.0]), [2, 1], out=[first, second])
    >>> first, second
    (tensor([1., 2.]), tensor([3.]))
    """
    return _put("split_with_sizes_copy_out", call("aten::split_with_sizes_copy", input, list(split_sizes), dim), out)
