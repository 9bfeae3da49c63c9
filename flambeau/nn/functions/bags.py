"""Bags of indices in `nn.functional`."""

from __future__ import annotations

from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Rows of `weight` folded by bags of indices: `mode` is mean, sum or max.

    `input` is (bags, size), or (indices,) with the places in `offsets` where bags begin. Raises ValueError for other
    ranks, modes and offsets and for gradients by frequency of maxima, NotImplementedError for weights of samples where
    nothing is added up.

    Args:
        input, offsets: indices, and where each bag begins if they are in a row.
        weight: the vectors, one for each index.
        max_norm, norm_type: vectors longer than `max_norm` are shortened to it when they are looked up.
        scale_grad_by_freq: whether the gradient of a row is divided by how often its index is there.
        sparse: accepted; gradients are dense.
        mode: "sum", "mean" or "max".
        per_sample_weights: a factor for every index, with mode "sum".
        include_last_offset: whether offsets end with the number of indices.
        padding_idx: the index whose vector is zero and stays as it is.

    Shape: (bags, n), or all indices in a row and (bags,) offsets, to (bags, size of a vector).

    >>> import flambeau
    >>> flambeau.nn.functional.embedding_bag(flambeau.tensor([[0, 2]]), flambeau.eye(3), mode="sum")
    tensor([[1., 0., 1.]])
    """
    if per_sample_weights is not None and per_sample_weights.dim() != input.dim():
        raise ValueError(
            "embedding_bag: If per_sample_weights is not None, then it must have the same shape as the input "
            f"({list(input.size())}), got {list(per_sample_weights.size())}"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                "sequences. However, found offsets given"
            )
        bags, size = input.size(0), input.size(1)  # no comparison, which a trace would fix
        starts = F.mul(F.arange(bags, dtype=input.dtype, device=input.device), size)
        indices = F.reshape(input, [-1])
        if per_sample_weights is not None:
            per_sample_weights = F.reshape(per_sample_weights, [-1])
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None: it says where each bag begins")
        if offsets.dim() != 1:
            raise ValueError(f"offsets has to be a 1D Tensor, got {offsets.dim()}D")
        starts, indices = offsets, input
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    number = _mode_number(mode, scale_grad_by_freq, sparse)
    if per_sample_weights is not None and number != 0:
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}')."
        )
    if max_norm is not None:
        F.embedding_renorm_(F.detach(weight), indices, max_norm, norm_type)
    result = F.embedding_bag(
        weight, indices, starts, scale_grad_by_freq, number, sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )  # fmt: skip
    return result[0]


def _mode_number(mode: str, scale_grad_by_freq: bool, sparse: bool) -> int:
    """The number of a mode. Raises ValueError for others, and for gradients that maxima have not."""
    if mode == "sum":
        return 0
    elif mode == "mean":
        return 1
    elif mode != "max":
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode}")
    if scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if sparse:
        raise ValueError("max mode does not support sparse weights")
    return 2
