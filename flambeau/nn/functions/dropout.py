"""Dropout of `nn.functional`: of elements, of whole channels, and with the mean and variance kept."""

from __future__ import annotations

from flambeau.nn.functions import warned
from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor
from flambeau.util.scripting import is_scripting


def check_probability(p: float) -> None:
    """Raises ValueError for a probability outside [0, 1].

    >>> check_probability(1.5)
    Traceback (most recent call last):
    ValueError: dropout probability has to be between 0 and 1, but got 1.5
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element zeroed with probability `p` while training, the others divided by 1 - p; the tensor itself
    otherwise.

    Raises ValueError for a probability outside [0, 1].

    Args:
        input: the tensor.
        p: the probability with which values are dropped while training.
        training: whether the module is being trained.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.dropout(flambeau.tensor([-2.0, 0.0, 3.0]), 0.5, training=False)
    tensor([-2.,  0.,  3.])
    """
    check_probability(p)
    return F.dropout_(input, p, training) if inplace else F.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of what `selu` gives. Raises ValueError for p outside [0, 1].

    Args:
        input: the tensor.
        p: the probability with which values are dropped.
        training: whether the module is being trained.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.alpha_dropout(flambeau.tensor([-2.0, 0.0, 3.0]), 0.5, training=False)
    tensor([-2.,  0.,  3.])
    """
    check_probability(p)
    return F.alpha_dropout_(input, p, training) if inplace else F.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels. Raises ValueError for a probability outside [0, 1].

    Args:
        input: the tensor.
        p: the probability with which values are dropped while training.
        training: whether the module is being trained.
        inplace: whether the input is written to.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.feature_alpha_dropout(flambeau.ones(1, 2, 3), 0.5, training=False).shape
    flambeau.Size([1, 2, 3])
    """
    check_probability(p)
    return F.feature_alpha_dropout_(input, p, training) if inplace else F.feature_alpha_dropout(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) zeroed with probability `p` while training.

    Raises ValueError for a probability outside [0, 1], RuntimeError for another rank.

    Args:
        input: the tensor.
        p: the probability with which values are dropped while training.
        training: whether the module is being trained.
        inplace: whether the input is written to.

    Shape:
        (N, C, L) or (C, L); it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.dropout1d(flambeau.ones(1, 2, 8), 0.5, training=False).shape
    flambeau.Size([1, 2, 8])
    """
    check_probability(p)
    rank = input.dim()
    if rank != 2 and rank != 3:
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {rank}D input")
    return _channels(input, p, training, inplace, rank == 2)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, ...) zeroed with probability `p` while training.

    Raises ValueError for a probability outside [0, 1].

    Args:
        input: the tensor.
        p: the probability with which values are dropped while training.
        training: whether the module is being trained.
        inplace: whether the input is written to.

    Shape:
        (N, C, H, W); it stays. Of other ranks the second axis is taken for channels, with a warning.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.dropout2d(flambeau.ones(1, 2, 8, 8), 0.5, training=False).shape
    flambeau.Size([1, 2, 8, 8])
    """
    check_probability(p)
    if not is_scripting() and input.dim() != 4:
        warned.of_channels("dropout2d", input.dim(), "(N, C, H, W)")
    return _channels(input, p, training, inplace, False)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) zeroed with probability `p` while training.

    Raises ValueError for a probability outside [0, 1].

    Args:
        input: the tensor.
        p: the probability with which values are dropped while training.
        training: whether the module is being trained.
        inplace: whether the input is written to.

    Shape:
        (N, C, D, H, W) or (C, D, H, W); it stays.

    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.dropout3d(flambeau.ones(1, 2, 8, 8, 8), 0.5, training=False).shape
    flambeau.Size([1, 2, 8, 8, 8])
    """
    check_probability(p)
    if not is_scripting() and input.dim() != 4 and input.dim() != 5:
        warned.of_channels("dropout3d", input.dim(), "(N, C, D, H, W) or (C, D, H, W)")
    return _channels(input, p, training, inplace, input.dim() == 4)


def _channels(input: Tensor, p: float, training: bool, inplace: bool, is_single: bool) -> Tensor:
    """Channels dropped, of a batch or of one sample."""
    batch = F.unsqueeze(input, 0) if is_single else input
    result = F.feature_dropout_(batch, p, training) if inplace else F.feature_dropout(batch, p, training)
    return F.squeeze(result, 0) if is_single else result
