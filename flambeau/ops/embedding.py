"""Rows of a table by index, and indices as rows of zeros with a one."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.families.arrays import Array, dtype_of
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import to_int64
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_outside, np
from flambeau.tensor.tensor import wrap

_PLACES: Final = (np.dtype(np.int64), np.dtype(np.int32))


def embedding_kernel(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    """Raises IndexError for an index that the table does not have, RuntimeError for other dtypes or ranks.

    `padding_idx` and the flags concern gradients only.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype not in _PLACES:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{dtype_of(indices).display}Tensor instead (while checking arguments for embedding)"
        )
    if is_outside(indices, 0, weight.shape[0]):
        raise IndexError("index out of range in self")
    return np.asarray(weight.take(indices, 0))


def one_hot_kernel(self: Array, num_classes: int = -1) -> Array:
    """As many classes as the largest index needs by default. Raises RuntimeError for indices outside of them."""
    if self.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not self.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return np.zeros((*self.shape, num_classes), np.int64)
    if self.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = int(self.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return np.asarray(self[..., None] == np.arange(num_classes)).astype(np.int64)


def embedding_dtype(weight: TensorType) -> DType | None:
    """The table's dtype."""
    return weight.dtype


def embedding_shape(weight: TensorType, indices: TensorType) -> Sizes | None:
    """A row per index."""
    if indices.sizes is None:
        return None
    return (*indices.sizes, None if weight.sizes is None else weight.sizes[1])


def one_hot_shape(self: TensorType, num_classes: Any = -1) -> Sizes | None:
    """A new last dimension for the classes."""
    if self.sizes is None:
        return None
    return (*self.sizes, None if num_classes is UNKNOWN or num_classes < 0 else num_classes)


_TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)

declare(
    "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
    "bool sparse=False) -> Tensor",
    outs=("out",),
    kernel=embedding_kernel,
    accumulator="embedding",
    doc="Row `indices[...]` of the table `weight`, for every index.",
    dtype=embedding_dtype,
    shape=embedding_shape,
    samples=lambda: [Sample(args=(wrap(_TABLE.copy()), wrap(np.array([[0, 3], [1, 1]]))))],
    errors=lambda: [
        ErrorSample(
            args=(wrap(_TABLE.copy()), wrap(np.array([4]))), error=IndexError, message="index out of range in self"
        )
    ],
    reference=lambda weight, indices: weight[indices],
    is_method=False,
)

declare(
    "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
    kernel=one_hot_kernel,
    doc="Every index as a row of zeros with a one in its place.",
    dtype=to_int64,
    shape=one_hot_shape,
    samples=lambda: [Sample(args=(wrap(np.array([0, 2])),)), Sample(args=(wrap(np.array([[0], [2]])), 4))],
    errors=lambda: [
        ErrorSample(args=(wrap(np.array([-1])),), error=RuntimeError, message="Class values must be non-negative.")
    ],
    reference=lambda self, n=3: np.eye(n, dtype=np.int64)[self],
    namespaces=("nn.functional",),
    is_function=False,
    is_method=False,
)
