"""Batches of sequences of different lengths: padded, or packed for recurrent networks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from flambeau.ops.families.composite import F
from flambeau.schema import dtype as dtypes
from flambeau.tensor.create import tensor
from flambeau.tensor.tensor import Tensor
from flambeau.util.scripting import is_scripting

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence(NamedTuple):
    """The steps of several sequences, longest first, time step after time step.

    `sorted_indices` says which sequence of the batch each of the sorted ones is, `unsorted_indices` the reverse; None
    where the batch came sorted.

    >>> import flambeau
    >>> packed = pack_sequence([flambeau.tensor([1, 2]), flambeau.tensor([3])])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 3, 2], [2, 1])
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With other elements, as `Tensor.to`; the orders of sequences go with them to another device."""
        data = self.data.to(*args, **kwargs)
        orders = (None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *orders)

    def double(self) -> PackedSequence:
        """In float64."""
        return self.to(dtypes.float64)

    def float(self) -> PackedSequence:
        """In float32."""
        return self.to(dtypes.float32)

    def half(self) -> PackedSequence:
        """In float16."""
        return self.to(dtypes.float16)

    def long(self) -> PackedSequence:
        """In int64."""
        return self.to(dtypes.int64)

    def int(self) -> PackedSequence:
        """In int32."""
        return self.to(dtypes.int32)

    def short(self) -> PackedSequence:
        """In int16."""
        return self.to(dtypes.int16)

    def char(self) -> PackedSequence:
        """In int8."""
        return self.to(dtypes.int8)

    def byte(self) -> PackedSequence:
        """In uint8."""
        return self.to(dtypes.uint8)

    def cpu(self) -> PackedSequence:
        """In the host's memory."""
        return self.to("cpu")

    def cuda(self) -> PackedSequence:
        """On a GPU. Raises RuntimeError where no tensor can be put there."""
        return self.to("cuda")

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Whether its elements are in memory that a GPU copies from."""
        return bool(self.data.is_pinned())


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes one.

    >>> import flambeau
    >>> invert_permutation(flambeau.tensor([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    return None if permutation is None else F.argsort(permutation)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """(time, batch, ...), or (batch, time, ...) with `batch_first`, without what is behind each sequence's length.

    Raises RuntimeError for lengths that are not positive or, with `enforce_sorted`, do not decrease.

    >>> import flambeau
    >>> pack_padded_sequence(flambeau.ones(3, 2, 1), [3, 1]).batch_sizes.tolist()
    [2, 1, 1]
    """
    steps = lengths if isinstance(lengths, Tensor) else tensor(lengths, dtype=dtypes.int64)
    if enforce_sorted:
        data, sizes = F._pack_padded_sequence(input, steps, batch_first)
        return PackedSequence(data, sizes)
    steps, order = F.sort(steps, -1, True)
    order = order.to(input.device)
    rows = F.index_select(input, 0 if batch_first else 1, order)
    data, sizes = F._pack_padded_sequence(rows, steps, batch_first)
    return PackedSequence(data, sizes, order, invert_permutation(order))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch and the lengths, in the order before packing.

    Raises ValueError for a `total_length` that is too short.

    >>> import flambeau
    >>> padded, lengths = pad_packed_sequence(pack_sequence([flambeau.tensor([1, 2]), flambeau.tensor([3])]))
    >>> padded.tolist(), lengths.tolist()
    ([[1, 3], [2, 0]], [2, 1])
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    padded, lengths = F._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value,
        longest if total_length is None else total_length,
    )  # fmt: skip
    order = sequence.unsorted_indices
    if order is not None:
        sorted_back = F.index_select(padded, 0 if batch_first else 1, order)
        return sorted_back, F.index_select(lengths, 0, order.to(lengths.device))
    return padded, lengths


def _listed(sequences: Any) -> list[Tensor]:
    """What gives tensors, a generator too, as a list of them."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    return list(sequences)


def pad_sequence(
    sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (length, ...) as one batch (time, batch, ...), or (batch, time, ...) with `batch_first`.

    Raises RuntimeError for an empty list and for what cannot be gone over, ValueError for a side that is neither
    'left' nor 'right'.

    >>> import flambeau
    >>> pad_sequence([flambeau.tensor([1, 2]), flambeau.tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side must be 'left' or 'right', got {padding_side!r}")
    if not is_scripting() and not isinstance(sequences, Tensor):
        sequences = _listed(sequences)
    parts = F.unbind(sequences, 0) if isinstance(sequences, Tensor) else sequences
    if len(parts) == 0:
        raise RuntimeError("received an empty list of sequences")
    longest = max([part.size(0) for part in parts])
    rows = []
    for part in parts:
        missing = longest - part.size(0)
        sides = [missing, 0] if padding_side == "left" else [0, missing]
        rows.append(F.constant_pad_nd(part, [0, 0] * (part.dim() - 1) + sides, padding_value) if missing else part)
    return F.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, each with its length.

    >>> import flambeau
    >>> padded = flambeau.tensor([[1, 2], [3, 0]])
    >>> [t.tolist() for t in unpad_sequence(padded, flambeau.tensor([2, 1]), batch_first=True)]
    [[1, 2], [3]]
    """
    rows = F.unbind(padded_sequences, 0 if batch_first else 1)
    return [F.narrow(rows[i], 0, 0, int(lengths[i])) for i in range(len(rows))]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (length, ...) packed. Raises RuntimeError as `pack_padded_sequence`.

    >>> import flambeau
    >>> pack_sequence([flambeau.tensor([1]), flambeau.tensor([2, 3])], enforce_sorted=False).data.tolist()
    [2, 1, 3]
    """
    lengths = tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, False, enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch, in the order before packing.

    >>> import flambeau
    >>> [t.tolist() for t in unpack_sequence(pack_sequence([flambeau.tensor([1, 2]), flambeau.tensor([3])]))]
    [[1, 2], [3]]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
