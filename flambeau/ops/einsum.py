"""Einstein summation: subscripts name dimensions; what the result does not name is summed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from math import prod
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, dtype_of, reduce_with, widened
from flambeau.ops.families.element_loops import FLOATS
from flambeau.ops.families.opaque import declare
from flambeau.ops.product_checks import ULP
from flambeau.ops.small_tensors import signed
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, view_of, wrap
from flambeau.util import blas
from flambeau.util.record import dataclass


def operands(equation: str) -> tuple[list[str], str | None]:
    """The subscripts of each operand and of the result (None when it is implied). Raises RuntimeError for other
    letters.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    for index, letter in enumerate(equation.replace("->", "  ").replace("...", "   ")):
        if not (letter.isascii() and letter.isalpha()) and letter not in ", ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {index} in the equation string, subscripts must be in "
                f"[a-zA-Z]"
            )
    return left.split(","), right if arrow else None


def check(equation: str, tensors: Sequence[Array]) -> None:
    """Raise RuntimeError for subscripts that do not fit the operands."""
    named, result = operands(equation)
    if len(named) > len(tensors):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(named) < len(tensors):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    sizes: dict[str, int] = {}
    for i, (letters, tensor) in enumerate(zip(named, tensors, strict=True)):
        bare = letters.replace("...", "")
        if "..." not in letters and len(bare) != tensor.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(bare)}) does not match the number of "
                f"dimensions "
                f"({tensor.ndim}) for operand {i} and no ellipsis was given"
            )
        if len(bare) > tensor.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(bare)}) is more than the number of "
                f"dimensions "
                f"({tensor.ndim}) for operand {i}"
            )
        before, _, after = letters.partition("...")
        labelled_sizes = list(zip(before, tensor.shape, strict=False))
        labelled_sizes += list(zip(reversed(after), reversed(tensor.shape), strict=False)) if "..." in letters else []
        own: dict[str, int] = {}
        for letter, size in labelled_sizes:
            if own.setdefault(letter, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {letter} is repeated for operand {i} but the sizes don't match, "
                    f"{size} != {own[letter]}"
                )
            known = sizes.setdefault(letter, size)
            if size != known and 1 not in (size, known):
                raise RuntimeError(
                    f"einsum(): subscript {letter} has size {size} for operand {i} which does not broadcast with "
                    f"previously "
                    f"seen size {known}"
                )
            sizes[letter] = max(size, known) if 0 not in (size, known) else 0
    check_result(result, sizes)


def check_result(result: str | None, sizes: dict[str, int]) -> None:
    """Raise RuntimeError for a result that names an unknown subscript, or one twice."""
    for letter in (result or "").replace("...", ""):
        if (result or "").count(letter) > 1:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
        if letter not in sizes:
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
            )


def einsum_kernel(equation: str, tensors: Sequence[Array], path: Sequence[int] | None = None) -> Array:
    """Products are formed pair by pair in a cheap order; `path` is a hint that is not needed."""
    check(equation, tensors)
    first = tensors[0]
    for other in tensors[1:]:
        if other.dtype != first.dtype:
            raise RuntimeError(f"expected scalar type {dtype_of(first).display} but found {dtype_of(other).display}")
    named, result = operands(equation)
    squeezed, wide = singles_squeezed(named, [widened(t) for t in tensors])
    text = ",".join(squeezed) + "->" + (implied(named) if result is None else result)
    if result is not None and "..." in ",".join(named) and "..." not in result:
        return contiguous(_summed_ellipsis(squeezed, result, wide).astype(first.dtype, copy=False))
    product = blas.einsum(text, *wide, optimize=len(wide) > 1)
    product = np.array(product) if product.base is not None else np.asarray(product)
    return contiguous(product).astype(first.dtype, copy=False)


@dataclass(frozen=True, slots=True)
class _Product:
    """Two operands as stacks of matrices, and their product as the result."""

    left: tuple[int, ...]
    """The axes of the first: what both have and the result names, what only it has, what is summed."""
    right: tuple[int, ...]
    """Of the second: what both have and the result names, what is summed, what only it has."""
    shared: tuple[tuple[int, int], ...]
    """Axes of each that have one name."""
    counts: tuple[int, int, int]
    """How many axes number the matrices, their rows and their columns."""
    order: tuple[int, ...]
    """The axes of the product in the order of the result."""


def _kinds(a: str, b: str, out: str) -> tuple[list[str], ...]:
    """The letters of both operands and the result, those of one operand and the result, those that are summed."""
    both = {*a} & {*b}
    rows, columns = ([c for c in out if c in own and c not in both] for own in (a, b))
    return [c for c in out if c in both], rows, columns, [c for c in a if c in both and c not in out]


@lru_cache(maxsize=256)
def _as_product(equation: str, ranks: tuple[int, ...]) -> _Product | None:
    """How a sum of two operands is a product of matrices; None where it is not one."""
    named, result = operands(equation)
    if "..." in equation or len(named) != 2 or [len(n) for n in named] != list(ranks):
        return None
    a, b = named
    out = implied(named) if result is None else result
    if any(len(set(letters)) < len(letters) for letters in (a, b, out)):
        return None
    stack, rows, columns, summed = _kinds(a, b, out)
    parts = ((out, stack, rows, columns), (a, stack, rows, summed), (b, stack, summed, columns))
    if not summed or any({*letters} != {*chain(*ways)} for letters, *ways in parts):
        return None
    axes = [*stack, *rows, *columns]
    return _Product(
        left=tuple([a.index(c) for c in (*stack, *rows, *summed)]),
        right=tuple([b.index(c) for c in (*stack, *summed, *columns)]),
        shared=tuple([(a.index(c), b.index(c)) for c in (*stack, *summed)]),
        counts=(len(stack), len(rows), len(columns)),
        order=tuple([axes.index(c) for c in out]),
    )


def _multiplied(equation: str, tensors: Sequence[Array]) -> Array | None:
    """The sum as one product of stacks of matrices; None where it is none, or sizes have to be looked at."""
    if len(tensors) != 2 or not all(map(is_host_array, tensors)):
        return None
    a, b = tensors
    product = _as_product(equation, (a.ndim, b.ndim))
    if product is None or a.dtype != b.dtype or a.dtype not in FLOATS or not a.size or not b.size:
        return None
    if any(a.shape[i] != b.shape[j] for i, j in product.shared):
        return None
    stack, rows, columns = product.counts
    left, right = a.transpose(product.left), b.transpose(product.right)
    batch, inner = left.shape[:stack], prod(left.shape[stack + rows :])
    of_rows, of_columns = left.shape[stack : stack + rows], right.shape[right.ndim - columns :]
    left = left.reshape(*batch, prod(of_rows), inner)
    right = right.reshape(*batch, inner, prod(of_columns))
    array = blas.matmul(left, right).reshape((*batch, *of_rows, *of_columns))
    return contiguous(array.transpose(product.order))


def implied(named: Sequence[str]) -> str:
    """The result that is meant without an arrow: broadcast dimensions, then what occurs once, in alphabetical order."""
    together = "".join(named).replace("...", "")
    once = sorted(c for c in set(together) if together.count(c) == 1)
    return ("..." if any("..." in n for n in named) else "") + "".join(once)


def singles_squeezed(named: Sequence[str], tensors: Sequence[Array]) -> tuple[list[str], list[Array]]:
    """Operands without the dimensions of size one that broadcast against another operand's."""
    sizes: dict[str, int] = {}
    for letters, tensor in zip(named, tensors, strict=True):
        if "..." not in letters:
            for letter, size in zip(letters, tensor.shape, strict=True):
                sizes[letter] = max(sizes.get(letter, 1), size)
    texts, arrays = [], []
    for letters, tensor in zip(named, tensors, strict=True):
        if "..." in letters:
            texts.append(letters)
            arrays.append(tensor)
            continue
        kept = [i for i, c in enumerate(letters) if not (tensor.shape[i] == 1 and sizes[c] > 1)]
        texts.append("".join(letters[i] for i in kept))
        arrays.append(tensor.reshape([tensor.shape[i] for i in kept]))
    return texts, arrays


def _summed_ellipsis(named: Sequence[str], result: str, tensors: Sequence[Array]) -> Array:
    total = blas.einsum(",".join(named) + "->..." + result, *tensors, optimize=len(tensors) > 1)
    extra = total.ndim - len(result)
    return np.asarray(reduce_with(np.add, total, axis=tuple(range(extra))))


def _reference(equation: str, tensors: Any) -> Any:
    return np.einsum(equation, *tensors)


def viewed(equation: str, tensor: Tensor) -> Tensor | None:
    """A view when one operand is only permuted, or its diagonal taken; None when anything is summed."""
    named, result = operands(equation)
    result = implied(named) if result is None else result
    if "..." in equation or len(named) != 1 or set(named[0]) != set(result):
        return None
    array = tensor._array
    sizes = [array.shape[named[0].index(c)] for c in result]
    strides = [sum(s for s, d in zip(tensor.stride(), named[0], strict=True) if d == c) for c in result]
    return view_of(tensor, sizes, strides)


def named_shape(equation: Any) -> Sizes | None:
    """A dimension for each name of the result; nothing is told of an ellipsis."""
    if not isinstance(equation, str) or "..." in equation:
        return None
    named, result = operands(equation)
    return ranks.of_rank(len(implied(named) if result is None else result))


@np.errstate(all="ignore")
def run(equation: str, tensors: Sequence[Tensor], path: Sequence[int] | None = None) -> Tensor:
    """A view of the operand where that is enough, else the sum."""
    result = _multiplied(equation, [t._array for t in tensors])
    if result is not None:
        return wrap(result)
    check(equation, [t._array for t in tensors])
    view = viewed(equation, tensors[0]) if len(tensors) == 1 else None
    return wrap(einsum_kernel(equation, [t._array for t in tensors], path)) if view is None else view


declare(
    "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    kernel=run,
    dtype=lambda tensors: ranks.promoted(*ranks.elements_of(tensors)),
    shape=named_shape,
    on_tensors=True,
    doc="Products of operands whose dimensions `equation` names, summed over the names that the result lacks.",
    samples=lambda: [
        Sample(args=("ij,jk->ik", [signed(2, 3), signed(3, 4)])),
        Sample(args=("ii->i", [signed(3, 3)]), note="diagonal"),
        Sample(args=("ij", [signed(2, 3)]), note="no arrow"),
        Sample(args=("...ij,...jk->...ik", [signed(5, 2, 3), signed(3, 4)])),
        Sample(args=("bi,bj,bij->b", [signed(2, 3), signed(2, 4), signed(2, 3, 4)])),
    ],
    errors=lambda: [
        ErrorSample(
            args=("ij,jk", [signed(2, 3), signed(2, 3)]),
            error=RuntimeError,
            message="subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3",
        ),
        ErrorSample(
            args=("ij", [signed(2)]),
            error=RuntimeError,
            message="subscripts in the equation (2) does not match the number of dimensions (1) for operand 0",
        ),
        ErrorSample(
            args=("i->ii", [signed(2)]), error=RuntimeError, message="output subscript i appears more than once"
        ),
        ErrorSample(
            args=("ii->i", [signed(1, 3)]),
            error=RuntimeError,
            message="subscript i is repeated for operand 0 but the sizes don't match, 3 != 1",
        ),
        ErrorSample(args=("i1->i", [signed(2, 2)]), error=RuntimeError, message="invalid subscript given at index 1"),
    ],
    reference=_reference,
    ulp=ULP,
    is_method=False,
)
