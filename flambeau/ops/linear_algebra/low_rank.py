"""Singular values of matrices that are nearly of low rank, from products with random vectors (Halko, Martinsson and
Tropp, 2011: Finding structure with randomness).

>>> import flambeau
>>> matrix = flambeau.outer(flambeau.arange(4.0), flambeau.ones(3))
>>> _ = flambeau.manual_seed(0)
>>> round(svd_lowrank(matrix, q=1)[1].item(), 3)
6.481
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.tensor.dispatch import call
from flambeau.tensor.overridden_functions import overridable
from flambeau.tensor.tensor import Tensor

RANK: Final = "q(={q}) must be non-negative integer and not greater than min(m, n)={most}"
ROUNDS: Final = "niter(={niter}) must be non-negative integer"
NO_MATRIX: Final = "{name} takes a matrix, or a batch of them, of floats, but got {shape} of {dtype}"


def _range_of(matrix: Tensor, rank: int, rounds: int) -> Any:
    """An orthonormal basis of what a matrix makes of random vectors; each round has less of small singular values."""
    sizes = [*matrix.shape[:-2], matrix.shape[-1], rank]
    probe = call("aten::randn", sizes, dtype=matrix.dtype, device=matrix.device)
    turned = call("aten::mH", matrix)
    basis = call("aten::linalg_qr", call("aten::matmul", matrix, probe))[0]
    for _ in range(rounds):
        basis = call("aten::linalg_qr", call("aten::matmul", turned, basis))[0]
        basis = call("aten::linalg_qr", call("aten::matmul", matrix, basis))[0]
    return basis


def _check(name: str, matrix: Tensor) -> None:
    if matrix.dim() < 2 or not (matrix.is_floating_point() or matrix.is_complex()):
        raise ValueError(NO_MATRIX.format(name=name, shape=list(matrix.shape), dtype=matrix.dtype))


@overridable
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The `q` largest singular values of matrices with their vectors: `U @ diag(S) @ V.mH` is nearly the matrix, and is
    it if its rank is at most `q`.

    Args:
        A: (..., m, n).
        q: how many singular values; a few more than the rank is expected to be.
        niter: how often products are repeated: more where singular values fall slowly.
        M: what is subtracted from `A` before, such as means; sizes that broadcast to those of `A`.

    Returns:
        `U`, `S` and `V`, of sizes (..., m, q), (..., q) and (..., n, q), or of fewer columns where `A` has fewer.

    Raises ValueError for what is no matrix of floats, and for `q` and `niter` that are negative.

    >>> import flambeau
    >>> matrix = flambeau.diag(flambeau.tensor([5.0, 2.0, 0.0]))
    >>> _ = flambeau.manual_seed(0)
    >>> u, s, v = flambeau.svd_lowrank(matrix, q=2)
    >>> [round(x, 3) for x in s.tolist()], flambeau.allclose(u @ flambeau.diag(s) @ v.mH, matrix, atol=1e-5)
    ([5.0, 2.0], True)
    """
    _check("svd_lowrank", A)
    rank, rounds = 6 if q is None else q, 2 if niter is None else niter
    most = min(A.shape[-2:])
    if rank < 0:
        raise ValueError(RANK.format(q=rank, most=most))
    if rounds < 0:
        raise ValueError(ROUNDS.format(niter=rounds))
    matrix = A if M is None else call("aten::sub", A, M)
    is_wide = matrix.shape[-2] < matrix.shape[-1]
    tall = call("aten::mH", matrix) if is_wide else matrix
    basis = _range_of(tall, min(rank, most), rounds)
    inner, values, right = call("aten::linalg_svd", call("aten::matmul", call("aten::mH", basis), tall), False)
    left, right = call("aten::matmul", basis, inner), call("aten::mH", right)
    return (right, values, left) if is_wide else (left, values, right)


@overridable
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The `q` largest principal components of samples in rows: `svd_lowrank` of the rows without their mean.

    Args:
        A: (..., m, n): m samples of n numbers.
        q: how many components; at most 6 if None.
        center: whether the mean of the samples is subtracted before.
        niter: as in `svd_lowrank`.

    Returns:
        `U`, `S` and `V`: the columns of `V` are the components, `A @ V` are the samples in terms of them, and
        `S**2 / (m - 1)` are their variances.

    Raises ValueError for what is no matrix of floats, for `q` that is negative or larger than the matrix, and for a
    negative `niter`.

    >>> import flambeau
    >>> samples = flambeau.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> _ = flambeau.manual_seed(0)
    >>> [round(x, 3) for x in flambeau.pca_lowrank(samples, q=1)[2].abs().flatten().tolist()]
    [0.447, 0.894]
    """
    _check("pca_lowrank", A)
    most = min(A.shape[-2:])
    rank = min(6, most) if q is None else q
    if not 0 <= rank <= most:
        raise ValueError(RANK.format(q=rank, most=most))
    return svd_lowrank(A, rank, niter, call("aten::mean", A, [-2], True) if center else None)
