"""How many floating point operations a call takes, by the sizes of its tensors: products of matrices, convolutions.

A multiplication and the addition of its result are two. Other operators count nothing: what they take is a small part
of what networks take.

>>> import flambeau
>>> flop_registry[flambeau.ops.aten.mm]((2, 3), (3, 4), out_shape=(2, 4))
48
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any, Final

from flambeau.ops.packets import packet_of
from flambeau.tensor.tensor import Tensor
from flambeau.util.trees import flatten

Formula = Callable[..., int]
Sizes = Sequence[int]
_formulas: Final[dict[Any, Formula]] = {}
flop_registry: Final[Mapping[Any, Formula]] = MappingProxyType(_formulas)
"""A formula for each operator that is counted."""
NO_OPERATOR: Final = "a formula counts an operator, as flambeau.ops.aten.mm is, but got {kind}"


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Count an operator by the decorated function.

    It gets the arguments of a call, sizes in the place of tensors, and the sizes of the result as `out_shape`.

    Args:
        targets: an operator (`flambeau.ops.aten.mm`), or several.
        get_raw: whether it gets tensors themselves, and the result as `out_val`.

    Raises ValueError for what is no operator.

    >>> import flambeau
    >>> from flambeau.library import custom_op
    >>> from flambeau.utils.flop_counter import FlopCounterMode
    >>> @custom_op("doc_flops::scale", mutates_args=())
    ... def scale(x: flambeau.Tensor, by: float) -> flambeau.Tensor:
    ...     return x * by
    >>> @register_flop_formula(flambeau.ops.doc_flops.scale)
    ... def _(x_shape, by, *, out_shape):
    ...     return flambeau.Size(out_shape).numel()
    >>> with FlopCounterMode(display=False) as counted:
    ...     _ = scale(flambeau.ones(3), 2.0)
    >>> counted.get_total_flops()
    3
    """

    def register(formula: Formula) -> Formula:
        counts = formula if get_raw else of_sizes(formula)
        for target in targets if isinstance(targets, list | tuple) else [targets]:
            if not hasattr(target, "overloads"):
                raise ValueError(NO_OPERATOR.format(kind=type(target).__name__))
            _formulas[target] = counts
        return formula

    return register


def of_sizes(formula: Formula) -> Formula:
    """A formula of sizes as one of tensors."""

    @functools.wraps(formula)
    def count(*args: Any, out_val: Any = None, out_shape: Any = None, **kwargs: Any) -> int:
        result = _sizes(out_val) if out_shape is None else out_shape
        return formula(*map(_sizes, args), out_shape=result, **{name: _sizes(v) for name, v in kwargs.items()})

    return count


def _sizes(value: Any) -> Any:
    """Sizes in the place of the tensors in a value."""
    leaves, structure = flatten(value)
    return structure.unflatten([leaf.shape if isinstance(leaf, Tensor) else leaf for leaf in leaves])


def _register(*names: str) -> Callable[[Formula], Formula]:
    return register_flop_formula([packet_of(name) for name in names])


@_register("aten::mm")
def mm_flop(a_shape: Sizes, b_shape: Sizes, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A product of two matrices.

    >>> mm_flop((2, 3), (3, 4))
    48
    """
    return 2 * prod(a_shape) * b_shape[1]


@_register("aten::addmm", "aten::baddbmm")
def addmm_flop(
    self_shape: Sizes, a_shape: Sizes, b_shape: Sizes, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """A product that is added to something, which is not counted.

    >>> addmm_flop((4,), (2, 3), (3, 4))
    48
    """
    return bmm_flop(a_shape, b_shape)


@_register("aten::bmm")
def bmm_flop(a_shape: Sizes, b_shape: Sizes, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Products of matrices in a batch.

    >>> bmm_flop((5, 2, 3), (5, 3, 4))
    240
    """
    return 2 * prod(a_shape) * b_shape[-1]


@_register("aten::matmul")
def matmul_flop(a_shape: Sizes, b_shape: Sizes, *args: Any, out_shape: Any, **kwargs: Any) -> int:
    """A product of matrices, of batches that are broadcast; one by a vector is not counted.

    >>> matmul_flop((2, 3), (5, 3, 4), out_shape=(5, 2, 4)), matmul_flop((2, 3), (3,), out_shape=(2,))
    (240, 0)
    """
    return 2 * prod(out_shape) * a_shape[-1] if len(a_shape) > 1 and len(b_shape) > 1 else 0


@_register("aten::linear")
def linear_flop(x_shape: Sizes, weight_shape: Sizes, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A linear layer, without its bias.

    >>> linear_flop((2, 3), (4, 3), (4,))
    48
    """
    return 2 * prod(x_shape) * weight_shape[0] if len(weight_shape) > 1 else 0


@_register("aten::einsum")
def einsum_flop(equation: str, shapes: Sequence[Sizes], *args: Any, out_shape: Any, **kwargs: Any) -> int:
    """A sum of products of two tensors: twice the size of all that is multiplied, where something is summed up.

    Of more tensors, the first two, then their product and the next: an order that multiplies less is not looked for.

    >>> einsum_flop("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)], out_shape=(5, 2, 4))
    240
    """
    left, _, right = equation.replace(" ", "").partition("->")
    terms = [_axes(term, shape) for term, shape in zip(left.split(","), shapes, strict=True)]
    kept = set(_axes(right, out_shape)) if "->" in equation else _implied(terms)
    done, total = terms[0], 0
    for following, term in enumerate(terms[1:], 2):
        needed = kept.union(*terms[following:])
        shared = {axis for axis in done if axis in term and axis not in needed}
        joined = {**done, **{axis: max(size, done.get(axis, 1)) for axis, size in term.items()}}
        total += 2 * prod(size for axis, size in joined.items() if axis in needed or axis in shared) if shared else 0
        done = {axis: size for axis, size in joined.items() if axis in needed}
    return total


def _axes(term: str, shape: Sizes) -> dict[str, int]:
    """The sizes of the axes of a term by their letters; those of `...` by how far they are from its end."""
    before, dots, after = term.partition("...")
    hidden = len(shape) - len(before) - len(after) if dots else 0
    letters = [*before, *(f".{hidden - k}" for k in range(hidden)), *after]
    return dict(zip(letters, shape, strict=True))


def _implied(terms: Iterable[Mapping[str, int]]) -> set[str]:
    """The axes of a result that the equation does not say: those of one term alone, and those of `...`."""
    letters = [axis for term in terms for axis in term]
    return {axis for axis in letters if axis.startswith(".") or letters.count(axis) == 1}


def convolution_flop(out_sizes: Sizes, weight_shape: Sizes, batch: int) -> int:
    """A convolution: each weight is multiplied once for each example and place.

    >>> convolution_flop((2, 2), (4, 3, 5, 5), 1)
    2400
    """
    return 2 * batch * prod(out_sizes) * prod(weight_shape)


def _examples(shape: Sizes, weight_shape: Sizes) -> tuple[int, Sizes]:
    """How many examples there are, and at how many places in each axis; there may be no axis of examples."""
    axes = len(weight_shape) - 2
    return (shape[0] if len(shape) > axes + 1 else 1), shape[len(shape) - axes :]


@_register("aten::conv1d", "aten::conv2d", "aten::conv3d")
def conv_flop(x_shape: Sizes, weight_shape: Sizes, *args: Any, out_shape: Any, **kwargs: Any) -> int:
    """A convolution, without its bias.

    >>> conv_flop((1, 3, 6, 6), (4, 3, 5, 5), out_shape=(1, 4, 2, 2))
    2400
    """
    batch, out_sizes = _examples(out_shape, weight_shape)
    return convolution_flop(out_sizes, weight_shape, batch)


@_register("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d")
def conv_transpose_flop(x_shape: Sizes, weight_shape: Sizes, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A transposed convolution, without its bias.

    >>> conv_transpose_flop((1, 4, 2, 2), (4, 3, 5, 5))
    2400
    """
    batch, out_sizes = _examples(x_shape, weight_shape)
    return convolution_flop(out_sizes, weight_shape, batch)


@_register("aten::convolution", "aten::_convolution")
def convolution_call_flop(
    x_shape: Sizes, weight_shape: Sizes, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    *args: Any, out_shape: Any, **kwargs: Any,
) -> int:  # fmt: skip
    """A convolution that is told whether it is transposed.

    >>> convolution_call_flop((1, 3, 6, 6), (4, 3, 5, 5), None, [1], [0], [1], False, [0], 1, out_shape=(1, 4, 2, 2))
    2400
    """
    return (conv_transpose_flop if transposed else conv_flop)(x_shape, weight_shape, out_shape=out_shape)


@_register("flambeau::convolution_weight")
def convolution_weight_flop(x_shape: Sizes, gradient_shape: Sizes, *args: Any, out_shape: Any, **kwargs: Any) -> int:
    """The gradient of a convolution by its weight.

    >>> convolution_weight_flop((1, 3, 6, 6), (1, 4, 2, 2), out_shape=(4, 3, 5, 5))
    2400
    """
    batch, out_sizes = _examples(gradient_shape, out_shape)
    return convolution_flop(out_sizes, out_shape, batch)
