"""Operators that graphs of models contain besides their usual forms: sums to a size, weight norm, padded sequences."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, is_float, widened
from flambeau.ops.families.composite import composite
from flambeau.ops.families.elementwise import operand_of_argument
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.promotion import common_dtype, result_type
from flambeau.ops.families.rules import input_dtype, same_dtype
from flambeau.ops.families.samples import sample
from flambeau.ops.queries import query
from flambeau.schema.dtype import Category, DType, int32
from flambeau.schema.opdef import Effect, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def sum_to_size(F: Any, self: Tensor, size: Sequence[int]) -> Tensor:
    """What broadcasting stretched summed away, down to `size`. Raises RuntimeError for a size that does not fit."""
    have = list(self.shape)
    more = len(have) - len(size)
    fits = more >= 0 and all(s in (1, h) for s, h in zip(size, have[more:], strict=True))
    if not fits:
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{have}}}.")
    stretched = [d for d in range(len(have)) if d < more or (size[d - more] == 1 and have[d] != 1)]
    total = F.sum(self, stretched, True) if stretched else self
    return F.view(total, list(size)) if more else total


def _if_fractional(self: TensorType) -> DType | None:
    """The same; of integers only the sizes tell whether they are added up."""
    is_known = self.dtype is not None and self.dtype.category >= Category.FLOAT
    return self.dtype if is_known else None


composite(
    "aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor",
    body=lambda F, self, size: F.clone(summed) if (summed := sum_to_size(F, self, size)) is self else summed,
    dtype=_if_fractional, shape=lambda self, size: ranks.as_long_as(size), is_method=True, is_function=False,
    samples=lambda: [Sample(args=(sample(2, 3), [1, 3])), Sample(args=(sample(2, 3), [3]))],
    errors=lambda: [ErrorSample(args=(sample(3, 4), [2, 4]), error=RuntimeError,
                                message="size {[2, 4]} is not expandable to size {[3, 4]}.")],
    doc="What broadcasting stretched summed away, down to a size.",
)  # fmt: skip


def weight_norm(F: Any, v: Tensor, g: Tensor, dim: int) -> Any:
    """`v` with its norm over all dimensions but one replaced by `g`."""
    rest = [d for d in range(v.dim()) if dim == -1 or d != dim % v.dim()]
    return F.mul(v, F.div(g, F.linalg_vector_norm(v, 2, rest, True)))


composite(
    "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
    body=weight_norm, dtype=lambda v: v.dtype, shape=lambda v: ranks.self_rank(v),
    samples=lambda: [Sample(args=(sample(3, 4), wrap(np.ones((3, 1), np.float32)), 0))],
    doc="`v` with its norm over all dimensions but one replaced by `g`.",
    is_expanded=True,
)  # fmt: skip


def _both_dtype(self: TensorType, other: TensorType) -> Any:
    return common_dtype((self, other))


composite(
    "aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    body=lambda F, self, other, alpha: F.relu(F.add(self, other, alpha=alpha)), dtype=_both_dtype, shape=ranks.both,
    samples=lambda: [Sample(args=(sample(2, 3), sample(3)))], doc="The sum, and zero where that is negative.",
)  # fmt: skip
composite(
    "aten::_add_relu_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
    body=lambda F, self, other, alpha: F.relu_(F.add_(self, other, alpha=alpha)), dtype=lambda self, other: self.dtype,
    shape=lambda self, other: self.sizes, samples=lambda: [Sample(args=(sample(2, 3), sample(3)))],
    doc="`_add_relu` in place.",
)  # fmt: skip
composite(
    "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    body=lambda F, self, indices, values, accumulate: F.index_put(self, indices, values, accumulate),
    dtype=same_dtype, shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(sample(2, 3), [wrap(np.array([1]))], sample(1, 3)))],
    doc="`index_put` of indices that were checked.",
)  # fmt: skip
composite(
    "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
    body=lambda F, self, output_size: F.adaptive_avg_pool2d(self, output_size), dtype=same_dtype,
    shape=ranks.self_rank, samples=lambda: [Sample(args=(sample(1, 2, 4, 4), [2, 2]))],
    doc="`adaptive_avg_pool2d`.",
)  # fmt: skip


def convolution(
    F: Any, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: str,
    dilation: Sequence[int], groups: int,
) -> Any:  # fmt: skip
    """By the number of dimensions of the weight. `padding` is 'same' or 'valid'."""
    name = f"conv{weight.dim() - 2}d"
    return getattr(F, name)(input, weight, bias, stride, padding, dilation, groups)


composite(
    "aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] "
    "dilation, SymInt groups) -> Tensor",
    body=convolution, traits=Traits(has_routine=True, has_followers=True), dtype=input_dtype,
    shape=lambda input: ranks.input_rank(input),
    samples=lambda: [Sample(args=(sample(1, 1, 4, 4), sample(2, 1, 3, 3), None, [1, 1], "same", [1, 1], 1))],
    doc="A convolution whose padding has a name.",
)  # fmt: skip


def pad_sequence(
    F: Any, sequences: Sequence[Tensor], batch_first: bool, padding_value: float, padding_side: str
) -> Any:
    """Sequences of different lengths as one batch. Raises RuntimeError for none, and for an unknown side."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.shape[0] for s in sequences)
    rest = list(sequences[0].shape[1:])
    rows = []
    for one in sequences:
        filling = F.full([longest - one.shape[0], *rest], padding_value, dtype=sequences[0].dtype)
        parts = [filling, one] if padding_side == "left" else [one, filling]
        rows.append(F.cat(parts, 0) if filling.shape[0] else one)
    return F.stack(rows, 0 if batch_first else 1)


def _padded_rank(sequences: Any) -> Sizes | None:
    types = ranks.elements_of(sequences)
    return ranks.self_rank(types[0], 1) if types else None


composite(
    'aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side="right") '
    "-> Tensor",
    body=pad_sequence, shape=_padded_rank, is_function=False,
    dtype=lambda sequences: elements[0].dtype if (elements := ranks.elements_of(sequences)) else None,
    samples=lambda: [Sample(args=([sample(3), sample(2)],)),
                     Sample(args=([sample(1, 2), sample(3, 2)], True, 1.5, "left"))],
    errors=lambda: [ErrorSample(args=([],), error=RuntimeError, message="received an empty list of sequences"),
                    ErrorSample(args=([sample(1)], True, 0.0, "up"), error=RuntimeError,
                                message="Expected padding_side to be one of left or right, but got up.")],
    doc="Sequences of different lengths as one batch, filled up with a number.",
)  # fmt: skip


def frexp_kernel(self: Array) -> tuple[Array, Array]:
    """Numbers as mantissas (from 0.5 to 1) and powers of two; zero, inf and nan have the power 0."""
    if not is_float(self):
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(widened(self))
    power = np.where(np.isfinite(mantissa), exponent, 0)
    return np.asarray(mantissa).astype(self.dtype), np.asarray(power).astype(np.int32)


declare(
    "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    outs=("Tensor_out",), kernel=frexp_kernel, dtype=lambda self: (self.dtype, int32),
    shape=lambda self: (self.sizes, self.sizes),
    samples=lambda: [Sample(args=(wrap(np.array([3, 0, -0.3, np.inf, 8], np.float32)),))],
    errors=lambda: [ErrorSample(args=(wrap(np.array([3])),), error=RuntimeError, message="only supports floating")],
    doc="Numbers as mantissas (from 0.5 to 1) and powers of two.",
)  # fmt: skip


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same window on the same memory."""
    return self.shares_storage(tensor) and (self.storage_offset(), *self.shape, *self.stride()) == (
        tensor.storage_offset(), *tensor.shape, *tensor.stride(),
    )  # fmt: skip


query("aten::is_set_to(Tensor self, Tensor tensor) -> bool", is_set_to, is_method=True)


def assert_holds(self: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raises RuntimeError unless the only element is not zero."""
    if self.numel() == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if self.numel() > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if not bool(self):
        raise RuntimeError(assert_msg)


declare(
    "aten::_assert_async(Tensor self) -> ()",
    "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
    kernel=assert_holds, family="language", on_tensors=True, effect=Effect.ORDERED, is_method=False,
    errors=lambda: [ErrorSample(args=(wrap(np.array(False)),), error=RuntimeError, message="nonzero value"),
                    ErrorSample(args=(sample(2),), error=RuntimeError, message="more than one value")],
    doc="Raises RuntimeError unless the only element is not zero.",
)  # fmt: skip


def meeting_dtype(first: Any, second: Any) -> DType:
    """The dtype in which two operands meet."""
    operands = [o for argument in (first, second) if (o := operand_of_argument(argument)) is not None]
    return result_type(*operands)


for _overload, _given in (
    ("Tensor", "Tensor tensor, Tensor other"), ("Scalar", "Tensor tensor, Scalar other"),
    ("Scalar_Tensor", "Scalar scalar, Tensor tensor"), ("Scalar_Scalar", "Scalar scalar1, Scalar scalar2"),
):  # fmt: skip
    query(f"aten::result_type.{_overload}({_given}) -> ScalarType", lambda a, b: meeting_dtype(a, b).code)
