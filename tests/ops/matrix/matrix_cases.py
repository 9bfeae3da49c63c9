"""What the matrix runs over: every operator of the registry, with calls that must work and calls that must fail.

A call is an overload with all its arguments in schema order. Pointwise operators get theirs from their schemas:
values that matter for a dtype, in every pairing. Others bring theirs in `samples`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

import flambeau
from flambeau.schema import dtype as dtypes
from flambeau.schema import registry
from flambeau.schema.dtype import Category, DType
from flambeau.schema.function import Argument
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.types import FloatType, NumberType, OptionalType, StringType, TensorType
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor, wrap

assert flambeau.Tensor is Tensor

DTYPES = (
    dtypes.bool_, dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16, dtypes.float32,
    dtypes.float64,
    dtypes.complex64,
)  # fmt: skip
WRITING = ("in_place", "out")
"""Families whose overloads follow from functional ones."""

_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 7.0, 2.0**0.5, 1e-3, 88.5, float("inf"), float("-inf"), float("nan")]
_INTEGERS = [0, 1, -1, 2, -3, 7, 100, 8]


@dataclass(frozen=True)
class Call:
    """One call of one overload."""

    definition: OpDef
    arguments: tuple[Any, ...]

    def fresh(self) -> tuple[Any, ...]:
        """The arguments with tensors copied, strides kept."""
        return tuple(map(copied, self.arguments))

    def run(self) -> Any:
        """The overload's kernel on copies."""
        return dispatch.run(self.definition, self.fresh())

    def __str__(self) -> str:
        return f"{self.definition.full_name}({', '.join(map(shown, self.arguments))})"


def copied(value: Any) -> Any:
    """A value whose tensors have memory of their own but the same sizes and strides."""
    if isinstance(value, Tensor):
        array = value._array
        order = sorted(range(array.ndim), key=lambda i: -array.strides[i])
        dense = array.transpose(order).copy().transpose(np.argsort(order)) if array.ndim else array.copy()
        return wrap(dense)
    if isinstance(value, list | tuple):
        return type(value)(map(copied, value))
    return value


def shown(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, Tensor):
        return f"{value.dtype.name}{list(value._array.shape)}{value._array.ravel()[:4].tolist()}"
    return repr(value)


def tensor_of(dtype: DType, count: int | None = None) -> Tensor:
    """A row of values that matter for a dtype."""
    if dtype.category == Category.BOOL:
        values: Any = np.array([True, False])
    elif dtype.category == Category.INTEGER:
        values = np.array(_INTEGERS, np.int64).astype(dtype.numpy)
    elif dtype.category == Category.FLOAT:
        values = np.array(_FLOATS).astype(np.float32 if dtype.itemsize < 8 else np.float64).astype(dtype.numpy)
    else:
        values = np.array([0, 1, -1j, 0.5 + 2j, -2.5 - 1.5j], dtype.numpy)
    return wrap(np.resize(values, count) if count is not None else values)


def is_functional(definition: OpDef) -> bool:
    """Whether the overload writes to none of its arguments and concerns tensors."""
    return not definition.schema.is_mutable and dispatch.concerns_tensors(definition.schema)


def functional_names() -> list[str]:
    """Every operator with a functional overload on tensors."""
    return [n for n in registry.names() if any(map(is_functional, registry.overloads(n)))]


def pointwise_names() -> list[str]:
    """Every operator of the pointwise family."""
    return [n for n in registry.names() if any(d.family == "pointwise" for d in registry.overloads(n))]


def is_random(definition: OpDef) -> bool:
    """Whether two runs may differ."""
    return definition.effect == Effect.RANDOM or definition.name.startswith("aten::empty")


def calls(name: str) -> Iterator[Call]:
    """Every call of an operator: those derived from its schemas and those of its samples."""
    for definition in registry.overloads(name):
        if definition.family == "pointwise":
            yield from pointwise_calls(definition)
        if definition.samples is not None:
            yield from sample_calls(definition)


def sample_calls(definition: OpDef) -> Iterator[Call]:
    """The declared samples, bound to the overloads they mean."""
    assert definition.samples is not None
    for sample in definition.samples():
        if not dispatch.concerns_tensors(definition.schema):
            continue
        binding = dispatch.operator(definition.name).binding(sample.args, sample.kwargs)
        yield Call(binding.definition, tuple(binding.arguments(sample.args, sample.kwargs)))


def pointwise_calls(definition: OpDef, some: Sequence[DType] = DTYPES) -> Iterator[Call]:
    """Calls of a pointwise overload on each dtype: tensors broadcast against one another, numbers of lower kinds."""
    places = [i for i, a in enumerate(definition.schema.arguments) if is_tensor(a)]
    for dtype in some:
        choices = [argument_values(a, dtype, places.index(i) if i in places else 0, len(places))
                   for i, a in enumerate(definition.schema.arguments)]  # fmt: skip
        for arguments in product(*choices):
            yield Call(definition, arguments)


def is_tensor(argument: Argument) -> bool:
    """Whether it takes a tensor."""
    inner = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    return isinstance(inner, TensorType)


def argument_values(argument: Argument, dtype: DType, place: int, count: int) -> list[Any]:
    """What a pointwise overload may be given for an argument."""
    if is_tensor(argument):
        base = tensor_of(dtypes.bool_ if argument.name == "condition" else dtype)
        shape = [1] * count
        shape[place] = -1
        return [wrap(base._array.reshape(shape))]
    if argument.has_default and argument.name not in ("approximate", "min", "max"):
        return [argument.default]
    inner = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    if isinstance(inner, NumberType):
        return [3] if dtype.category < Category.FLOAT else [3, 0.5]
    if isinstance(inner, FloatType):
        return [0.25]
    if isinstance(inner, StringType):
        return ["none", "tanh"] if argument.name == "approximate" else [None, "floor", "trunc"]
    return [1]


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every tensor inside a value."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from tensors_in(inner)


def as_type(tensor: Tensor) -> TensorType:
    """What a rule is told of a tensor."""
    return TensorType(dtype=tensor.dtype, sizes=tuple(tensor._array.shape))


def as_types(value: Any) -> Any:
    """A value with its tensors replaced by their types."""
    if isinstance(value, Tensor):
        return as_type(value)
    if isinstance(value, list | tuple):
        return type(value)(map(as_types, value))
    return value
