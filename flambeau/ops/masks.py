"""Writing where a mask holds."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.folds import display
from flambeau.ops.families.overwrite import overwrite
from flambeau.ops.families.samples import sample
from flambeau.ops.families.scalars import exact_scalar
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap

Array = np.ndarray[Any, Any]


def _mask_for(name: str, self: Array, mask: Array) -> Array:
    if mask.dtype != np.bool_:
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {from_numpy_dtype(mask.dtype).short}"
        )
    if mask.shape == self.shape:
        return mask
    shape = layout.broadcast(self.shape, mask.shape)
    if shape != self.shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}")
    return np.broadcast_to(mask, shape)


def masked_fill_scalar(self: Array, mask: Array, value: Any) -> None:
    """One number where the mask holds."""
    number = exact_scalar(value, from_numpy_dtype(self.dtype))
    is_spread = mask.dtype == np.bool_ and layout.spreads_to(mask.shape, self.shape)  # which NumPy does itself
    np.copyto(self, number, where=mask if is_spread else _mask_for("masked_fill_", self, mask), casting="unsafe")


def masked_fill_tensor(self: Array, mask: Array, value: Array) -> None:
    """`masked_fill` with the number in a 0-d tensor."""
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    masked_fill_scalar(self, mask, wrap(value).item())


def masked_scatter(self: Array, mask: Array, source: Array) -> None:
    """The elements of `source` in order where the mask holds."""
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {display(self)} and "
            f"{display(source)}"
        )
    if mask.dtype != np.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {display(mask)}")
    masked = _mask_for("masked_scatter_", self, mask)
    count = int(np.count_nonzero(masked))
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    self[masked] = np.ascontiguousarray(source).reshape(-1)[:count]


overwrite(
    "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    kernel=masked_fill_scalar,
    entry="masked_fill",
    outs=("Scalar_out",),
    broadcasts=True,
    doc="One number where the mask holds.",
    samples=lambda: (Sample(args=(sample(2, 3), wrap(np.array([True, False, True])), 9)),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2), sample(2), 1),
            error=RuntimeError,
            message="masked_fill_ only supports boolean masks, but got mask with dtype float",
        ),
    ),
)


overwrite(
    "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    kernel=masked_fill_tensor,
    outs=("Tensor_out",),
    broadcasts=True,
    samples=lambda: (Sample(args=(sample(2), wrap(np.array([True, False])), sample())),),
)


overwrite(
    "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    kernel=masked_scatter,
    outs=("out",),
    broadcasts=True,
    doc="The elements of `source` in order where the mask holds.",
    samples=lambda: (Sample(args=(sample(2, 3), wrap(np.array([True, False, True])), sample(4))),),
)
