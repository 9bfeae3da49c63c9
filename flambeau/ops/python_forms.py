"""Functions whose Python form differs from the operator's: tensors given one by one, results that depend on a
keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from string import ascii_letters
from typing import Any

from flambeau.ops.families.variants import fit_out
from flambeau.ops.language.declare import declare
from flambeau.ops.language.sizes import broadcast_sizes
from flambeau.ops.older_forms import meeting_dtype
from flambeau.ops.surface import Kind
from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.dtype import DType
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import call
from flambeau.tensor.overridden_functions import method_of, overridable
from flambeau.tensor.size import Size
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import Tensor, install_method, view_of
from flambeau.tensor.typed_storage import TypedStorage
from flambeau.util.user_code import warn_user

Tensors = Tensor | Sequence[Tensor]

NO_SUBLIST = "einsum(): behind each tensor comes the list of its dimensions, as in einsum(x, [0, 1]), but got a {found}"
CHAIN = "chain_matmul is deprecated: write linalg.multi_dot(matrices)"
LU = "lu is deprecated: write linalg.lu_factor(A), or linalg.lu_factor_ex(A) for what failed"
NO_INDEXING = "meshgrid without indexing is deprecated: write indexing='ij', which it means now, or 'xy' as NumPy does"
NO_DIMENSION = "einsum(): dimensions are numbers from 0 to 51, or one ..., but got {found!r}"
_COMPUTE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def form_of(operator_name: str, *, takes_tensors: bool = True) -> Callable[[Kind], Kind]:
    """Mark a Python function with the operator that it runs, which the compiler then calls.

    Modes and classes of its arguments are asked first if it `takes_tensors`.
    """

    def note(function: Kind) -> Kind:
        function.operator_name = operator_name  # type: ignore[attr-defined]
        function.__module__ = "flambeau"
        return overridable(function) if takes_tensors else function

    return note


def listed(tensors: tuple[Any, ...]) -> list[Tensor]:
    """Tensors given one by one, or as one list."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)


@form_of("aten::broadcast_tensors")
def broadcast_tensors(*tensors: Tensors) -> tuple[Tensor, ...]:
    """Views of all tensors with their common shape.

    Args:
        tensors: tensors whose shapes broadcast.

    >>> import flambeau
    >>> [t.shape for t in flambeau.broadcast_tensors(flambeau.ones(2, 1), flambeau.ones(3))]
    [flambeau.Size([2, 3]), flambeau.Size([2, 3])]
    """
    views: tuple[Tensor, ...] = call("aten::broadcast_tensors", listed(tensors))
    return views


@form_of("aten::broadcast_shapes", takes_tensors=False)
def broadcast_shapes(*shapes: Sequence[int] | int) -> Size:
    """What any number of shapes broadcast to. Raises RuntimeError where they do not.

    Args:
        shapes: tuples of sizes, or single sizes.

    >>> broadcast_shapes((2, 1), (3,))
    flambeau.Size([2, 3])
    """
    return Size(broadcast_sizes(*([s] if isinstance(s, int) else list(s) for s in shapes)))


@form_of("aten::_infer_size", takes_tensors=False)
def infer_size(a: Sequence[int], b: Sequence[int]) -> Size:
    """What two shapes broadcast to. Raises RuntimeError when they do not."""
    return Size(broadcast_sizes(list(a), list(b)))


@form_of("aten::result_type")
def result_type(tensor1: Tensor | complex, tensor2: Tensor | complex) -> DType:
    """The dtype in which two operands meet.

    Args:
        tensor1: a tensor or number.
        tensor2: a tensor or number.

    >>> import flambeau
    >>> flambeau.result_type(flambeau.ones(2), flambeau.ones(2, dtype=flambeau.float64))
    flambeau.float64
    """
    return meeting_dtype(tensor1, tensor2)


@form_of("aten::meshgrid")
def meshgrid(*tensors: Tensors, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views that hold the coordinates of a grid; `indexing` is 'ij' (the default) or 'xy'.

    Args:
        tensors: vectors or numbers.
        indexing: "ij" or "xy".

    >>> import flambeau
    >>> y, x = flambeau.meshgrid(flambeau.arange(2), flambeau.arange(3), indexing="ij")
    >>> x.tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    if indexing is None:
        warn_user(NO_INDEXING, UserWarning)
        views: tuple[Tensor, ...] = call("aten::meshgrid", listed(tensors))
        return views
    views = call("aten::meshgrid", listed(tensors), indexing=indexing)
    return views


@form_of("aten::block_diag")
def block_diag(*tensors: Tensors) -> Tensor:
    """Matrices along the diagonal of a matrix of zeros.

    Args:
        tensors: matrices, vectors or numbers.

    >>> import flambeau
    >>> flambeau.block_diag(flambeau.ones(1, 1), flambeau.tensor([[2.0, 3.0]]))
    tensor([[1., 0., 0.],
            [0., 2., 3.]])
    """
    result: Tensor = call("aten::block_diag", listed(tensors))
    return result


@form_of("aten::cartesian_prod")
def cartesian_prod(*tensors: Tensors) -> Tensor:
    """Every choice of one element from each vector, a row each.

    Args:
        tensors: vectors.

    >>> import flambeau
    >>> flambeau.cartesian_prod(flambeau.tensor([1, 2]), flambeau.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    result: Tensor = call("aten::cartesian_prod", listed(tensors))
    return result


@form_of("aten::chain_matmul")
def chain_matmul(*matrices: Tensors, out: Tensor | None = None) -> Tensor:
    """The product of several matrices in the cheapest order.

    Args:
        matrices: matrices that go together.
        out: a tensor for the result.

    >>> import flambeau
    >>> flambeau.chain_matmul(flambeau.ones(2, 3), flambeau.ones(3, 4), flambeau.ones(4, 1)).shape
    flambeau.Size([2, 1])
    """
    warn_user(CHAIN, UserWarning)
    result: Tensor = call("aten::chain_matmul", listed(matrices), out=out)
    return result


@form_of("aten::einsum")
def einsum(equation: str | Tensor, *operands: Any) -> Tensor:
    """Products of operands whose dimensions `equation` names, summed over the names that the result lacks.

    Names may be numbers from 0 to 51 instead, in a list behind each tensor: `einsum(x, [0, 1], y, [1, 2], [0, 2])`.

    Args:
        equation: names of dimensions, as "ij,jk->ik".
        operands: a tensor for each term.

    >>> import flambeau
    >>> flambeau.einsum("ij,jk->ik", flambeau.ones(2, 3), flambeau.ones(3, 2)).tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    if isinstance(equation, Tensor):
        inputs = [equation, *operands]
        equation, operands = equation_of(inputs[1::2], inputs[2::2]), tuple(inputs[: len(inputs) // 2 * 2 : 2])
    result: Tensor = call("aten::einsum", equation, listed(operands))
    return result


def equation_of(terms: Sequence[Any], following: Sequence[Any]) -> str:
    """The equation of einsum's other form: the lists behind the tensors, and what stands behind each of those.

    The last list stands alone, without a tensor before it, where the result's dimensions are said. Raises RuntimeError
    for what is no list of numbers from 0 to 51 and at most one `...`.

    >>> equation_of([[0, 1], [1, 2]], [None, [0, 2]])
    'ab,bc->ac'
    """
    result = f"->{_letters(following[-1])}" if len(following) == len(terms) else ""
    return ",".join(map(_letters, terms)) + result


def _letters(term: Any) -> str:
    if not isinstance(term, list | tuple):
        raise RuntimeError(NO_SUBLIST.format(found=type(term).__name__))
    wrong = [d for d in term if d is not Ellipsis and not (isinstance(d, int) and 0 <= d < len(ascii_letters))]
    if wrong:
        raise RuntimeError(NO_DIMENSION.format(found=wrong[0]))
    return "".join("..." if d is Ellipsis else ascii_letters[d] for d in term)


@form_of("aten::tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Products summed over the last `dims` dimensions of `a` and the first ones of `b`, or over two lists of them.

    Raises RuntimeError for a number of dimensions that the tensors do not have.

    Args:
        a: a tensor.
        b: a tensor.
        dims: how many dimensions, or two lists of them.
        out: a tensor for the result.

    >>> import flambeau
    >>> flambeau.tensordot(flambeau.ones(2, 3), flambeau.ones(3, 4), dims=1).shape
    flambeau.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        first, second = (list(d) if isinstance(d, list | tuple) else [d] for d in dims)
    result: Tensor = call("aten::tensordot", a, b, first, second, out=out)
    return result


def _tensordot_shape(a: TensorType, b: TensorType, dims: Any = 2) -> tuple[None, ...] | None:
    """As many dimensions of unknown sizes as are left, where it is known how many are summed."""
    folded = len(dims[0]) if isinstance(dims, list) and dims and isinstance(dims[0], list) else dims
    if a.sizes is None or b.sizes is None or not isinstance(folded, int):
        return None
    return (None,) * max(0, len(a.sizes) + len(b.sizes) - 2 * folded)


for _overload in ("count(Tensor a, Tensor b, int dims=2)", "lists(Tensor a, Tensor b, int[][] dims)"):
    declare(
        f"aten::tensordot.{_overload} -> Tensor", tensordot, dtype=lambda a, b, dims=2: a.dtype, shape=_tensordot_shape
    )
declare("aten::tensordot.tensor(Tensor a, Tensor b, Tensor dims) -> Tensor", tensordot)


@form_of("aten::_unique2")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along `dim`) in order, and what else was asked for.

    Args:
        input: a tensor.
        sorted: accepted: the result is in order.
        return_inverse: whether to give where each element went.
        return_counts: whether to give how often each occurs.
        dim: the dimension whose slices count; the elements if None.

    >>> import flambeau
    >>> values, counts = flambeau.unique(flambeau.tensor([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    if dim is None:
        results = call("aten::_unique2", input, sorted, return_inverse, return_counts)
    else:
        results = call("aten::unique_dim", input, dim, sorted, return_inverse, return_counts)
    return _wanted(results, return_inverse, return_counts)


@form_of("aten::unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along `dim`) without repetitions of their predecessor, and what else was asked for.

    Args:
        input: a tensor.
        return_inverse: whether to give where each element went.
        return_counts: whether to give how often each occurs.
        dim: the dimension whose slices count; the elements if None.

    >>> import flambeau
    >>> flambeau.unique_consecutive(flambeau.tensor([1, 1, 2, 1])).tolist()
    [1, 2, 1]
    """
    results = call("aten::unique_consecutive", input, return_inverse, return_counts, dim)
    return _wanted(results, return_inverse, return_counts)


@overridable
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates along each axis of numbers that count all elements of a tensor of these sizes, row by row.

    Args:
        indices: whole numbers.
        shape: the sizes; one for a vector.

    Raises TypeError for numbers that are not whole, ValueError for sizes below 0 and for numbers that count no element.

    >>> import flambeau
    >>> flambeau.unravel_index(flambeau.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if not isinstance(indices, Tensor) or indices.is_floating_point() or indices.is_complex():
        kind = indices.dtype if isinstance(indices, Tensor) else type(indices).__name__
        raise TypeError(f"unravel_index: indices are a tensor of whole numbers, but got {kind}: write indices.long()")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index: sizes are 0 or more, but got {sizes}")
    count = prod(sizes)
    if indices.numel() and (int(indices.min().item()) < 0 or int(indices.max().item()) >= count):
        raise ValueError(f"unravel_index: a tensor of sizes {sizes} has {count} elements, but got {indices}")
    coordinates, step = [], count
    for size in sizes:
        step = step // size if size else 0
        coordinates.append(indices.div(step, rounding_mode="floor").remainder(size) if step else indices)
    return tuple(coordinates)


install_method("unique", method_of(unique))
install_method("unique_consecutive", method_of(unique_consecutive))


@overridable
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Sequence[Tensor] | None = None) -> Any:  # noqa: N803
    """L and U in one matrix and the exchanges of rows, and with `get_infos` what failed; see `linalg.lu_factor`.

    Args:
        A: (..., M, N).
        pivot: whether rows are exchanged.
        get_infos: whether a tensor says what failed.
        out: tensors for what is given, in its order.

    Raises TypeError if `out` has more or fewer tensors than are given.

    >>> import flambeau
    >>> factors, pivots = flambeau.lu(flambeau.tensor([[2.0, 0.0], [1.0, 4.0]]))
    >>> factors.tolist(), pivots.tolist()
    ([[2.0, 0.0], [0.5, 4.0]], [1, 2])
    """
    warn_user(LU, UserWarning)
    results = call("aten::_lu_with_info", A, pivot, not get_infos)
    wanted = tuple(results) if get_infos else (results[0], results[1])
    if out is None:
        return wanted
    if len(out) != len(wanted):
        raise TypeError(f"expected tuple of {len(wanted)} elements but got {len(out)}")
    for target, result in zip(out, wanted, strict=True):
        fit_out(target, result._array.shape)
        call("aten::copy_", target, result)
    return tuple(out)


install_method("lu", method_of(lu))


def set_(
    self: Tensor, source: Tensor | Storage | TypedStorage | None = None, storage_offset: int = 0, size: Any = None,
    stride: Any = (),
) -> Tensor:  # fmt: skip
    """Look at other memory from now on: another tensor's, or a storage's, from an element on, with sizes and strides.

    Args:
        source: a tensor, or a storage, whose bytes are read as the tensor's dtype; None for no elements.
        storage_offset: with `size`, how many elements come before the first.
        size: the sizes; all elements of a storage, and those of a tensor, if None.
        stride: how many elements lie between neighbours; row-major if empty.

    Raises RuntimeError for what the memory is too short for, and for a tensor of another dtype.

    >>> import flambeau
    >>> x = flambeau.zeros(1)
    >>> x.set_(flambeau.arange(6.0).untyped_storage(), 1, (2,), (2,))
    tensor([1., 3.])
    """
    if isinstance(source, TypedStorage):
        _check_kind(self, source)
        source = source.untyped()
    if source is None or isinstance(source, Storage):
        storage = Storage(np.empty(0, np.uint8)) if source is None else source
        count = storage.nbytes() // self.itemsize
        source = view_of(Tensor(np.empty(0, self.dtype.numpy), storage), (count,), (1,), 0)
    if size is None:
        return call("aten::set_", self, source)  # type: ignore[no-any-return]
    return call("aten::set_", self, source, storage_offset, list(size), list(stride))  # type: ignore[no-any-return]


def _check_kind(target: Tensor, source: TypedStorage) -> None:
    """Raise RuntimeError for memory of another dtype than the tensor that is to show it."""
    if source.dtype is not target.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {target.dtype.display} or an UntypedStorage, but got type "
            f"{source.dtype.display} for argument 1 'storage'"
        )


install_method("set_", set_)


def _wanted(results: Sequence[Tensor], inverse: bool, counts: bool) -> Any:
    chosen = [results[0], *([results[1]] if inverse else []), *([results[2]] if counts else [])]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


@form_of("aten::norm")
def norm(
    input: Tensor, p: Any = "fro", dim: int | Sequence[int] | None = None, keepdim: bool = False,
    out: Tensor | None = None, dtype: Any = None,
) -> Any:  # fmt: skip
    """The vector norm of order `p` over `dim` or all; 'fro' is 2, and 'nuc' the sum of a matrix's singular values.

    Raises ValueError for another word.

    Args:
        input: a tensor.
        p: the order, "fro" or "nuc".
        dim: the dimensions that go away; all if None.
        keepdim: whether they stay, with size 1.
        out: a tensor for the result.
        dtype: what is computed in.

    >>> import flambeau
    >>> flambeau.norm(flambeau.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    asked = None if dtype is None else to_dtype(dtype)
    if p == "nuc":
        return call("aten::linalg_matrix_norm", input, "nuc", [-2, -1] if dims is None else dims, keepdim, dtype=asked,
                    out=out)  # fmt: skip
    if isinstance(p, str):
        if p != "fro":
            raise ValueError(f"norm() has the orders 'fro', 'nuc' and numbers, but got {p!r}")
        p = 2.0
    order = 2.0 if p is None or p == 2 else float(p) if p in (inf, -inf) else p  # one object, known to native code
    if asked is None and out is None:
        return call("aten::linalg_vector_norm", input, order, dims, keepdim)
    return call("aten::linalg_vector_norm", input, order, dims, keepdim, dtype=asked, out=out)


install_method("norm", method_of(norm))


@form_of("aten::cdist")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distance of every row of the first from every row of the second. `compute_mode` makes no difference here.

    Args:
        x1: (..., P, D).
        x2: (..., R, D).
        p: the p of the p-norm.
        compute_mode: accepted, without effect.

    >>> import flambeau
    >>> flambeau.cdist(flambeau.zeros(1, 2), flambeau.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    result: Tensor = call("aten::cdist", x1, x2, float(p), _COMPUTE_MODES[compute_mode])
    return result
