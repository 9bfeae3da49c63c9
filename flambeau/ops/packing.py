"""Batches of sequences of different lengths: padded to one length, or packed step by step without padding."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from itertools import pairwise
from typing import Any

from flambeau.ops.families.composite import composite
from flambeau.ops.recurrent_cells import numbers
from flambeau.schema.dtype import int64
from flambeau.schema.gradient import formulas
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Role, Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def pack(F: Any, input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The steps of all sequences, time after time, and how many sequences go on at each time. Raises RuntimeError for
    a batch without elements, and for lengths that do not fit.
    """
    if lengths.ndim == 1 and lengths.dtype is int64 and not input._array.size:
        raise RuntimeError("Cannot pack empty tensors.")
    return packed_rows(F, input, lengths, batch_first)


def packed_rows(F: Any, input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The same of steps that may be without features, as gradients of padded batches are."""
    steps = lengths.detach().reshape([-1]).tolist()
    if lengths.ndim != 1 or lengths.dtype is not int64:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D {lengths.device} "
            f"{lengths.dtype.display} tensor"
        )
    xs = F.transpose(input, 0, 1) if batch_first else input
    if len(steps) != xs.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(steps)} (batch_size={xs.shape[1]})"
        )
    if min(steps) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in pairwise(steps)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if steps[0] > xs.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {xs.shape[0]} steps, the padded length, got {steps[0]}")
    sizes = [sum(n > t for n in steps) for t in range(steps[0])]
    rows = [F.narrow(F.select(xs, 0, t), 0, 0, n) for t, n in enumerate(sizes)]
    return F.cat(rows, 0), wrap(np.array(sizes, np.int64))


def pad(
    F: Any, data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """The padded batch, and the lengths of its sequences."""
    sizes = batch_sizes.detach().tolist()
    length = len(sizes)
    if total_length > 0:
        if total_length < length:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    rest = list(data.shape[1:])
    rows = []
    for part, size in zip(F.split_with_sizes(data, sizes, 0), sizes, strict=True):
        missing = sizes[0] - size
        rows.append(F.cat([part, F.full([missing, *rest], padding_value, dtype=data.dtype)], 0) if missing else part)
    rows += [F.full([sizes[0], *rest], padding_value, dtype=data.dtype)] * (length - len(sizes))
    padded = F.stack(rows, 1 if batch_first else 0)
    lengths = [sum(size > i for size in sizes) for i in range(sizes[0])]
    return padded, wrap(np.array(lengths, np.int64))


def _longs(*values: int) -> Tensor:
    return wrap(np.array(values, np.int64))


composite(
    "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
    body=pack,
    traits=Traits(role=Role.RECURRENCE),
    doc="Sequences of decreasing lengths, time after time without the padding.",
    dtype=lambda input: (input.dtype, int64),
    shape=lambda input: (None if input.sizes is None else (None,) * (len(input.sizes) - 1), (None,)),
    samples=lambda: [Sample(args=(numbers(3, 2, 2), _longs(3, 1), False))],
    errors=lambda: [
        ErrorSample(args=(numbers(3, 2, 2), _longs(1, 3), False), error=RuntimeError, message="sorted in decreasing"),
        ErrorSample(args=(numbers(3, 2, 2), _longs(3, 0), False), error=RuntimeError, message="greater than 0"),
        ErrorSample(args=(numbers(3, 2, 2), _longs(3), False), error=RuntimeError, message="equal to batch_size"),
    ],
)

composite(
    "flambeau::packed_rows(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
    body=packed_rows,
    traits=Traits(role=Role.RECURRENCE),
    doc="Sequences of decreasing lengths, time after time without the padding; their steps may have no features.",
    dtype=lambda input: (input.dtype, int64),
    shape=lambda input: (None if input.sizes is None else (None,) * (len(input.sizes) - 1), (None,)),
    samples=lambda: [Sample(args=(numbers(3, 2, features), _longs(3, 1), False)) for features in (2, 0)],
    is_function=False,
)

composite(
    "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, "
    "int total_length) -> (Tensor, Tensor)",
    body=pad,
    traits=Traits(role=Role.RECURRENCE),
    doc="A packed batch with padding again, and the lengths of its sequences.",
    dtype=lambda data: (data.dtype, int64),
    shape=lambda data: (None if data.sizes is None else (None,) * (len(data.sizes) + 1), (None,)),
    samples=lambda: [Sample(args=(numbers(4, 2), _longs(2, 1, 1), False, 0.0, -1))],
    errors=lambda: [
        ErrorSample(
            args=(numbers(4, 2), _longs(2, 1, 1), False, 0.0, 2), error=RuntimeError, message="at least the length"
        )
    ],
)


def _packed_gradient(f: Any, grads: Any, input_sizes: Any, batch_first: Any, result1: Any) -> Any:
    """The gradients of the steps where they were, and zeros where padding was."""
    return f._pad_packed_sequence(grads[0], result1, batch_first, 0.0, input_sizes[1 if batch_first else 0])[0]


def _padded_gradient(f: Any, grads: Any, batch_first: Any, result1: Any) -> Any:
    """The gradients of the steps, without those of padding."""
    return f.own("packed_rows", grads[0], result1, batch_first)[0]


formulas("aten::_pack_padded_sequence", "flambeau::packed_rows", input=_packed_gradient)
formulas("aten::_pad_packed_sequence", data=_padded_gradient)
