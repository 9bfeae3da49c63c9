"""Views of the parts of numbers, and what conjugation, `alias` and `atleast_nd` give."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.samples import sample
from flambeau.ops.families.view import view
from flambeau.ops.orders import conjugated
from flambeau.ops.windows import unsqueeze_kernel
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, share, view_of, window, wrap


def real_kernel(self: Tensor) -> Tensor:
    """The real parts; a real tensor itself."""
    return share(self, self._array.real) if self._array.dtype.kind == "c" else self


def imag_kernel(self: Tensor) -> Tensor:
    """The imaginary parts."""
    if self._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return share(self, self._array.imag)


def view_as_real_kernel(self: Tensor) -> Tensor:
    """Complex numbers as pairs of their parts, in a new last dimension of size 2."""
    if not self.dtype.is_complex:
        raise RuntimeError(
            f"view_as_real is only supported for complex tensors, got a tensor of dtype {self.dtype.name}"
        )
    strides = [*(2 * s for s in self.stride()), 1]
    return view_of(self, (*self._array.shape, 2), strides, 2 * self.storage_offset(), self.dtype.to_real())


def view_as_complex_kernel(self: Tensor) -> Tensor:
    """Pairs in the last dimension as complex numbers."""
    dtype, shape, strides = self.dtype, self._array.shape, self.stride()
    if dtype.name not in ("float16", "float32", "float64"):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{dtype.display}"
        )
    if not shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return view_of(self, shape[:-1], [s // 2 for s in strides[:-1]], self.storage_offset() // 2, dtype.to_complex())


def _complex_sample() -> Tensor:
    return wrap(np.array([1 + 2j, 3 - 4j], np.complex64))


view(
    "aten::real(Tensor(a) self) -> Tensor(a)",
    kernel=real_kernel,
    dtype=lambda self: None if self.dtype is None else self.dtype.to_real(),
    shape=lambda self: self.sizes,
    doc="The real parts; a view.",
    traits=Traits(may_be_operand=True),
    is_method=False,
    samples=lambda: (Sample(args=(_complex_sample(),)), Sample(args=(sample(2),))),
)
view(
    "aten::imag(Tensor(a) self) -> Tensor(a)",
    kernel=imag_kernel,
    dtype=lambda self: None if self.dtype is None else self.dtype.to_real(),
    shape=lambda self: self.sizes,
    doc="The imaginary parts; a view. Raises RuntimeError for real tensors.",
    is_method=False,
    samples=lambda: (Sample(args=(_complex_sample(),)),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2),),
            error=RuntimeError,
            message="imag is not implemented for tensors with non-complex dtypes.",
        ),
    ),
)
view(
    "aten::view_as_real(Tensor(a) self) -> Tensor(a)",
    kernel=view_as_real_kernel,
    dtype=lambda self: None if self.dtype is None else self.dtype.to_real(),
    shape=lambda self: None if self.sizes is None else (*self.sizes, 2),
    doc="Complex numbers as pairs of their parts, in a new last dimension; a view.",
    is_method=False,
    samples=lambda: (Sample(args=(_complex_sample(),)),),
    errors=lambda: (
        ErrorSample(args=(sample(2),), error=RuntimeError, message="view_as_real is only supported for complex"),
    ),
)
view(
    "aten::view_as_complex(Tensor(a) self) -> Tensor(a)",
    kernel=view_as_complex_kernel,
    dtype=lambda self: None if self.dtype is None else self.dtype.to_complex(),
    shape=lambda self: None if self.sizes is None else self.sizes[:-1],
    doc="Pairs in the last dimension as complex numbers; a view.",
    is_method=False,
    samples=lambda: (Sample(args=(sample(3, 2),)),),
    errors=lambda: (
        ErrorSample(args=(sample(3),), error=RuntimeError, message="Tensor must have a last dimension of size 2"),
    ),
)
for _name in ("conj", "_conj"):
    view(
        f"aten::{_name}(Tensor(a) self) -> Tensor(a)",
        kernel=conjugated,
        traits=Traits(may_copy=True),
        shape=lambda self: self.sizes,
        doc="Complex conjugates; a real tensor itself.",
        samples=lambda: (Sample(args=(_complex_sample(),)), Sample(args=(sample(2),))),
    )
for _name in ("resolve_conj", "resolve_neg", "lift_fresh"):
    view(
        f"aten::{_name}(Tensor(a) self) -> Tensor(a)",
        kernel=lambda self: self,
        traits=Traits(may_be_operand=True),
        shape=lambda self: self.sizes,
        doc="The tensor itself: conjugation and negation are never put off here.",
    )


def detached(self: Tensor) -> Tensor:
    """The same memory as a tensor that is no view of any other."""
    return window(self._array, self._storage)


for _name in ("alias", "detach"):
    view(
        f"aten::{_name}(Tensor(a) self) -> Tensor(a)",
        kernel=(lambda self: share(self, self._array)) if _name == "alias" else detached,
        shape=lambda self: self.sizes,
        doc="The same memory as a tensor of its own, outside of any record of gradients.",
        is_function=_name == "detach",
        differentiable=_name == "alias",
        samples=lambda: (Sample(args=(sample(2),)),),
    )


def _atleast(rank: int) -> Any:
    def kernel(self: Tensor) -> Tensor:
        array = self._array
        if array.ndim >= rank:
            return self
        if array.ndim == 0:
            return view_of(self, (1,) * rank, (1,) * rank)
        if rank == 2 or array.ndim == 2:
            return unsqueeze_kernel(self, 0) if rank == 2 else unsqueeze_kernel(self, -1)
        return unsqueeze_kernel(unsqueeze_kernel(self, 0), -1)

    return kernel


for _rank in (1, 2, 3):
    view(
        f"aten::atleast_{_rank}d(Tensor self) -> Tensor",
        kernel=_atleast(_rank),
        shape=ranks.at_least(_rank),
        doc=f"With at least {_rank} dimensions; a view or the tensor itself.",
        is_method=False,
        samples=lambda: (Sample(args=(sample(),)), Sample(args=(sample(3),)), Sample(args=(sample(2, 3),))),
    )
    view(
        f"aten::atleast_{_rank}d.Sequence(Tensor[] tensors) -> Tensor[]",
        kernel=(lambda run: lambda tensors: [run(t) for t in tensors])(_atleast(_rank)),
        dtype=None,
        is_method=False,
    )
