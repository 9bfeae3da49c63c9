"""Tables of vectors by index."""

from __future__ import annotations

from typing import Self

from flambeau.nn import functional, init
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import unusual
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


def _padding_place(padding_idx: int | None, rows: int) -> int | None:
    """The place counted from the front. Raises AssertionError for one outside of the table."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings ({rows}), got {padding_idx}")
    return padding_idx % rows


class _Table(Module):
    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None, norm_type: float,
        scale_grad_by_freq: bool, padding_idx: int | None, sparse: bool, weight: Tensor | None, frozen: bool,
        device: Device | str | None, dtype: DType | None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _padding_place(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = float(norm_type)
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if weight is None:
            table = fresh.empty(num_embeddings, embedding_dim, dtype=dtype, device=device)
            self.weight = Parameter(table, requires_grad=not frozen)
            self.reset_parameters()
        else:
            if tuple(weight.shape) != (num_embeddings, embedding_dim):
                raise AssertionError(
                    f"Shape of weight does not match num_embeddings and embedding_dim: {tuple(weight.shape)}, not "
                    f"{(num_embeddings, embedding_dim)}"
                )
            self.weight = Parameter(weight, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        """Draw from the normal distribution; the row for padding is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx].fill_(0.0)


class Embedding(_Table):
    """Row `input[...]` of `weight` (num_embeddings, embedding_dim), normal at first.

    The row `padding_idx` is zero at first and gets no gradient. With `max_norm`, rows that are read are cut to that
    length in the table.

    Args:
        num_embeddings: how many vectors there are.
        embedding_dim: the size of each vector.
        padding_idx: the index whose vector is zero and stays as it is.
        max_norm: vectors that are longer are shortened to this norm when they are looked up.
        norm_type: the p of the p-norm.
        scale_grad_by_freq: whether the gradient of a row is divided by how often its index is there.
        sparse: accepted for gradients, which there are none of.
        _weight: the vectors, in place of random ones.
        _freeze: whether the vectors are fixed.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        any shape of indices, to it with `embedding_dim` behind.

    >>> import flambeau
    >>> flambeau.nn.Embedding(10, 3)(flambeau.tensor([[1, 2], [4, 5]])).shape
    flambeau.Size([2, 2, 3])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse",
    ]  # fmt: skip

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
        _freeze: bool = False, device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, padding_idx, sparse, _weight,
            _freeze, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """Integers (...) to (..., embedding_dim)."""
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Self:  # fmt: skip
        """A layer around a table that is there. Raises AssertionError for what is no table."""
        if embeddings.dim() != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, got {embeddings.dim()}D")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        return f"{self.num_embeddings}, {self.embedding_dim}" + unusual(
            self, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
        )


class EmbeddingBag(_Table):
    """Rows of a table folded by bags of indices: `mode` is mean, sum or max.

    Args:
        num_embeddings: how many vectors there are.
        embedding_dim: the size of each vector.
        max_norm: vectors that are longer are shortened to this norm when they are looked up.
        norm_type: the p of the p-norm.
        scale_grad_by_freq: whether the gradient of a row is divided by how often its index is there.
        mode: "sum", "mean" or "max".
        sparse: accepted for gradients, which there are none of.
        _weight: the vectors, in place of random ones.
        include_last_offset: whether the offsets end with the number of indices.
        padding_idx: the index whose vector is zero and stays as it is.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (bags, n), or all indices in a row and (bags,) offsets, to (bags, embedding_dim).

    >>> import flambeau
    >>> bag = flambeau.nn.EmbeddingBag.from_pretrained(flambeau.tensor([[1.0], [2.0], [4.0]]), mode="sum")
    >>> bag(flambeau.tensor([0, 1, 2]), flambeau.tensor([0, 2])).tolist()
    [[3.0], [4.0]]
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
        "include_last_offset", "padding_idx",
    ]  # fmt: skip

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, padding_idx, sparse, _weight,
            False, device, dtype,
        )  # fmt: skip
        if mode not in ("mean", "sum", "max"):
            raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """(bags, size) or, with the places where bags begin, (indices,) to (bags, embedding_dim)."""
        return functional.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:  # fmt: skip
        """A layer around a table that is there. Raises AssertionError for what is no table."""
        if embeddings.dim() != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, got {embeddings.dim()}D")
        rows, columns = embeddings.shape
        layer = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
            padding_idx,
        )  # fmt: skip
        layer.weight.requires_grad_(not freeze)
        return layer

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        shown += unusual(self, max_norm=None, norm_type=2.0, scale_grad_by_freq=False)
        return f"{shown}, mode={self.mode!r}" + unusual(self, padding_idx=None)
