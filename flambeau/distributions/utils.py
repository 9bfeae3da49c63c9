"""What classes of users' own distributions are written with: parameters in common sizes, probabilities and logits,
attributes that are computed once, and triangles as vectors.

>>> import flambeau
>>> loc, scale = broadcast_all(flambeau.zeros(2), 1.0)
>>> scale
tensor([1., 1.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from flambeau.distributions.distribution import broadcast_all
from flambeau.ops.families.composite import F
from flambeau.schema.dtype_limits import finfo
from flambeau.tensor.grad_mode import enable_grad
from flambeau.tensor.tensor import Tensor

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip
Result = TypeVar("Result")


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities moved away from 0 and 1 by the eps of their dtype.

    >>> import flambeau
    >>> bool((clamp_probs(flambeau.tensor([0.0, 1.0])).logit().abs() < 17).all())
    True
    """
    eps = finfo(probs.dtype).eps
    return F.clamp(probs, min=eps, max=1 - eps)  # type: ignore[no-any-return]


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities of logits: of each alone if `is_binary`, else along the last dimension.

    >>> import flambeau
    >>> logits_to_probs(flambeau.zeros(2)), logits_to_probs(flambeau.zeros(1), is_binary=True)
    (tensor([0.5000, 0.5000]), tensor([0.5000]))
    """
    return F.sigmoid(logits) if is_binary else F.softmax(logits, -1)  # type: ignore[no-any-return]


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logits of probabilities: of each alone if `is_binary`, else logarithms.

    >>> import flambeau
    >>> probs_to_logits(flambeau.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    inner = clamp_probs(probs)
    if is_binary:
        return F.log(inner) - F.log1p(-inner)  # type: ignore[no-any-return]
    return F.log(inner)  # type: ignore[no-any-return]


class lazy_property(Generic[Result]):  # noqa: N801  (a decorator, and PyTorch's name)
    """A method as an attribute that is computed when it is first asked for, with gradients recorded, and kept.

    >>> class Point:
    ...     @lazy_property
    ...     def length(self):
    ...         print("computed")
    ...         return 5.0
    >>> p = Point()
    >>> p.length + p.length
    computed
    10.0
    """

    def __init__(self, wrapped: Callable[[Any], Result]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    @overload
    def __get__(self, instance: None, obj_type: Any = None) -> lazy_property[Result]: ...
    @overload
    def __get__(self, instance: object, obj_type: Any = None) -> Result: ...
    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal of matrices, row by row.

    Raises ValueError for a diagonal that the matrices do not have.

    >>> import flambeau
    >>> tril_matrix_to_vec(flambeau.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    indices = F.tril_indices(mat.shape[-2], size, diag, device=mat.device)
    return mat[..., indices[0], indices[1]]


def _triangle(size: int, diag: int) -> int:
    """How many elements a square matrix has on and below a diagonal."""
    above = max(size - diag - 1, 0) if diag >= 0 else size
    full = size * size
    return full - above * (above + 1) // 2 if diag >= 0 else max(size + diag, 0) * (max(size + diag, 0) + 1) // 2


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices with these elements on and below a diagonal, row by row, and 0 above it.

    Raises ValueError for a number of elements that no such triangle has.

    >>> import flambeau
    >>> vec_to_tril_matrix(flambeau.tensor([1, 3, 4]))
    tensor([[1, 0],
            [3, 4]])
    """
    count = vec.shape[-1]
    n = 0
    while _triangle(n, diag) < count:
        n += 1
    if _triangle(n, diag) != count:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as a lower triangle.")
    matrix = F.zeros([*vec.shape[:-1], n, n], dtype=vec.dtype, device=vec.device)
    indices = F.tril_indices(n, n, diag, device=vec.device)
    matrix[..., indices[0], indices[1]] = vec
    return matrix  # type: ignore[no-any-return]
