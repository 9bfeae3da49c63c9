"""The same elements with dimensions in another order: transpose, permute, movedim, `.T` and `.mT`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from flambeau.ops.families import ranks
from flambeau.ops.families.samples import sample
from flambeau.ops.families.view import ints, view
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import wrap_dim
from flambeau.tensor.tensor import Tensor, share, wrap
from flambeau.util.user_code import warn_user

NO_MATRIX: Final = (
    "x.T of a tensor with {dims} dimensions is deprecated: write x.mT to swap the last two, or "
    "x.permute(*range(x.dim() - 1, -1, -1)) to reverse all of them; a vector or number is its own transpose"
)


def transpose_kernel(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped."""
    array = self._array
    rank = array.ndim
    if -rank <= dim0 < rank and -rank <= dim1 < rank:
        return share(self, array.swapaxes(dim0, dim1))
    a, b = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    return share(self, array.swapaxes(a, b) if rank else array[...])


def permute_kernel(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Dimensions in another order."""
    array = self._array
    if len(dims) != array.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {array.ndim} is not equal to len(dims) = {len(dims)}"
        )
    try:
        return share(self, array.transpose(dims))
    except ValueError:
        order = [wrap_dim(d, array.ndim) for d in dims]
        if len(set(order)) < len(order):
            raise RuntimeError("permute(): duplicate dims are not allowed.") from None
        raise


def t_kernel(self: Tensor) -> Tensor:
    """A matrix transposed; vectors and numbers as they are."""
    array = self._array
    if array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D")
    return share(self, array.T)


def mt_kernel(self: Tensor, name: str = "mT") -> Tensor:
    """The last two dimensions swapped."""
    rank = self._array.ndim
    if rank < 2:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {rank}-D tensor.")
    return share(self, self._array.swapaxes(-1, -2))


def conjugated(self: Tensor) -> Tensor:
    """Complex conjugates; a real tensor itself."""
    return wrap(np.conj(self._array)) if self._array.dtype.kind == "c" else self


def matrix_h_kernel(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated."""
    rank = self._array.ndim
    if rank not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor.")
    return conjugated(share(self, self._array.T))


def adjoint_kernel(self: Tensor) -> Tensor:
    """The last two dimensions swapped, and conjugated."""
    if self._array.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return conjugated(mt_kernel(self, "adjoint()") if self._array.ndim else self)


def movedim_kernel(self: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Some dimensions at other places, the others in order."""
    rank = self._array.ndim
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain the same number of "
            f"dims as destination ({targets} dims)"
        )
    from_ = [wrap_dim(d, rank) for d in sources]
    to = [wrap_dim(d, rank) for d in targets]
    for name, dims, unwrapped in (("source", from_, sources), ("destination", to, targets)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({unwrapped})")
    if rank == 0:
        return share(self, self._array[...])
    order = [-1] * rank
    for s, d in zip(from_, to, strict=True):
        order[d] = s
    rest = iter(d for d in range(rank) if d not in from_)
    return share(self, self._array.transpose([next(rest) if o < 0 else o for o in order]))


def _transpose_shape(self: TensorType, dim0: Any, dim1: Any) -> Sizes | None:
    if self.sizes is None or UNKNOWN in (dim0, dim1):
        return None if self.sizes is None else (None,) * len(self.sizes)
    sizes = list(self.sizes)
    if sizes:
        a, b = wrap_dim(dim0, len(sizes)), wrap_dim(dim1, len(sizes))
        sizes[a], sizes[b] = sizes[b], sizes[a]
    return tuple(sizes)


def _permute_shape(self: TensorType, dims: Any) -> Sizes | None:
    order = ints(dims)
    if self.sizes is None or order is None:
        return ranks.as_long_as(dims)
    return tuple(self.sizes[wrap_dim(d, len(self.sizes))] for d in order)


def _transpose_samples() -> Iterable[Sample]:
    return (Sample(args=(sample(2, 3), 0, 1)), Sample(args=(sample(2, 3, 4), -1, 0)), Sample(args=(sample(), 0, -1)))


def _transpose_errors() -> Iterable[ErrorSample]:
    message = "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
    return (ErrorSample(args=(sample(2, 3), 0, 2), error=IndexError, message=message),)


def _reversed(self: TensorType) -> Sizes | None:
    return None if self.sizes is None else self.sizes[::-1]


def _last_two_swapped(self: TensorType) -> Sizes | None:
    if self.sizes is None or len(self.sizes) < 2:
        return self.sizes
    return (*self.sizes[:-2], self.sizes[-1], self.sizes[-2])


view(
    "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    kernel=transpose_kernel,
    shape=_transpose_shape,
    in_place=True,
    doc="Two dimensions swapped; a view.",
    samples=_transpose_samples,
    errors=_transpose_errors,
)


view(
    "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    kernel=transpose_kernel,
    shape=_transpose_shape,
    in_place=True,
    doc="The same as `transpose`.",
    samples=_transpose_samples,
    errors=_transpose_errors,
)


view(
    "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
    kernel=lambda self, axis0, axis1: transpose_kernel(self, axis0, axis1),
    shape=lambda self, axis0, axis1: _transpose_shape(self, axis0, axis1),
    in_place=True,
    doc="The same as `transpose`.",
    samples=_transpose_samples,
    errors=_transpose_errors,
)


view(
    "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    kernel=permute_kernel,
    shape=_permute_shape,
    doc="The dimensions in the order `dims`; a view.",
    samples=lambda: (Sample(args=(sample(2, 3, 4), (2, 0, 1))), Sample(args=(sample(2, 3), -1, 0))),
    errors=lambda: (
        ErrorSample(
            args=(sample(2, 3), (0, 0)), error=RuntimeError, message="permute(): duplicate dims are not allowed."
        ),
        ErrorSample(
            args=(sample(2, 3), (0,)), error=RuntimeError, message="input.dim() = 2 is not equal to len(dims) = 1"
        ),
    ),
)


view(
    "aten::t(Tensor(a) self) -> Tensor(a)",
    kernel=t_kernel,
    shape=_reversed,
    in_place=True,
    doc="A matrix transposed; vectors and numbers as they are; a view.",
    samples=lambda: (Sample(args=(sample(2, 3),)), Sample(args=(sample(3),)), Sample(args=(sample(),))),
    errors=lambda: (
        ErrorSample(
            args=(sample(1, 2, 3),),
            error=RuntimeError,
            message="t() expects a tensor with <= 2 dimensions, but self is 3D",
        ),
    ),
)


def numpy_t_kernel(self: Tensor) -> Tensor:
    """All dimensions in reverse order; a warning unless there are two, since `mT` and `permute` say which is meant."""
    if self._array.ndim != 2:
        warn_user(NO_MATRIX.format(dims=self._array.ndim), UserWarning)
    return share(self, self._array.T)


for _name, _kernel in (
    ("numpy_T", numpy_t_kernel),
    ("mT", mt_kernel),
    ("matrix_H", matrix_h_kernel),
    ("mH", lambda self: conjugated(mt_kernel(self, "mH"))),
):
    for _overload in ("", ".a"):
        view(
            f"aten::{_name}{_overload}(Tensor(a) self) -> Tensor(a)",
            kernel=_kernel if _name != "mT" else lambda self: mt_kernel(self),
            traits=Traits(may_copy=_name in ("matrix_H", "mH")),
            shape=_reversed if _name == "numpy_T" else _last_two_swapped,
            is_method=False,
            is_function=False,
            samples=lambda: (Sample(args=(sample(2, 3),)),),
        )


view(
    "aten::adjoint(Tensor(a) self) -> Tensor(a)",
    kernel=adjoint_kernel,
    traits=Traits(may_copy=True),
    shape=_last_two_swapped,
    doc="The last two dimensions swapped, and conjugated.",
    samples=lambda: (Sample(args=(sample(2, 3),)),),
)


for _name in ("movedim", "moveaxis"):
    view(
        f"aten::{_name}.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        f"aten::{_name}.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        kernel=movedim_kernel,
        shape=ranks.self_rank,
        doc="Some dimensions at other places, the others in order; a view.",
        samples=lambda: (Sample(args=(sample(2, 3, 4), (0, 1), (1, 2))), Sample(args=(sample(2, 3, 4), 0, -1))),
        errors=lambda: (
            ErrorSample(
                args=(sample(2, 3), (0, 0), (0, 1)), error=RuntimeError, message="movedim: repeated dim in `source`"
            ),
        ),
    )
