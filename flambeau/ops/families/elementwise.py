"""How a pointwise overload runs on arrays: promotion, conversion, the scalar meaning, the layout of the result.

What follows from the dtypes of a call alone (which dtype to compute in, which dtype results, or a refusal) is worked
out once per combination and kept as a `Recipe`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ops.families import variants
from flambeau.ops.families.numpy_cast import Array, cast, constant
from flambeau.ops.families.numpy_scalar import NUMPY
from flambeau.ops.families.pointwise_layout import arranged, broadcast_known
from flambeau.ops.families.promotion import (
    DIMENSIONED,
    NUMBER,
    ZERO_DIM,
    Operand,
    common_dtype,
    number_dtype,
    result_type,
)
from flambeau.schema.dtype import Category, DType, bool_
from flambeau.schema.function import FunctionSchema
from flambeau.schema.opdef import UnknownNumber, UnknownValueError
from flambeau.schema.types import FloatType, NumberType, OptionalType, TensorType, Type
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.defaults import float_dtype
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import LARGE_WRITE
from flambeau.util.record import dataclass, field

DtypeMap = Callable[[DType, Sequence[Any]], DType]
"""From the dtype in which operands meet, and all arguments, to another."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the dtypes of a call decide."""

    common: DType
    """The dtype that the operands promote to."""
    compute: DType
    """What the operands are converted to."""
    result: DType
    """What the result is converted to."""
    refusal: str
    """The message when there is no meaning for these dtypes; empty when there is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointwise:
    """What the kernels and the rules of one overload share."""

    schema: FunctionSchema
    operands: tuple[int, ...]
    """Positions of the arguments that take part in promotion."""
    raw: tuple[int, ...]
    """Positions of tensors that keep their dtype (the condition of `where`)."""
    values: tuple[int, ...]
    """Positions of the arguments that `scalar` gets as values."""
    scalar: Callable[..., Any]
    result: DtypeMap
    compute: DtypeMap
    accepts: frozenset[Category]
    refusal: str
    check: Callable[..., None] | None
    check_in_place: Callable[..., None] | None
    """Like `check`, for the form that writes into its first argument."""
    out_dtype: str
    """The trait of this name."""
    recipes: dict[Any, Recipe] = field(default_factory=dict)
    """By what `_kind` says of the arguments; bounded, since there are few dtypes and strings."""

    def recipe(self, args: Sequence[Any]) -> Recipe:
        """What the dtypes of these arguments decide."""
        key = (float_dtype(), *map(_kind, args))
        cached = self.recipes.get(key)
        if cached is None:
            common = result_type(*[o for i in self.operands if (o := operand_of_argument(args[i])) is not None])
            if common.category in self.accepts:
                cached = Recipe(common, self.compute(common, args), self.result(common, args), "")
            else:
                cached = Recipe(common, common, self.result(common, args), self.refusal.format(common.display))
            self.recipes[key] = cached
        return cached

    def admit(self, recipe: Recipe, args: Sequence[Any]) -> None:
        """Refuse a call whose dtypes or arguments make no sense."""
        if self.check is not None:
            self.check(recipe.common, *args)
        if recipe.refusal:
            raise NotImplementedError(recipe.refusal)

    def evaluate(self, recipe: Recipe, args: Sequence[Any]) -> Array:
        """The result, converted but not laid out."""
        converted = list(args)
        dtype = recipe.compute
        storage = dtype.numpy
        for i in self.values:
            argument = converted[i]
            if isinstance(argument, Tensor):
                array = argument._array
                converted[i] = array if array.dtype is storage or i in self.raw else cast(array, dtype)
            elif argument is not None:
                converted[i] = constant(argument, dtype)
        with np.errstate(all="ignore"):
            return cast(self.scalar(NUMPY, *converted), recipe.result)

    def run(self, *args: Any) -> Tensor:
        """The functional kernel."""
        recipe = self.recipe(args)
        self.admit(recipe, args)
        arrays = [a._array for a in args if isinstance(a, Tensor)]
        shape = _broadcast(arrays)
        return wrap(arranged(self.evaluate(recipe, args), shape, arrays))

    def run_in_place(self, *args: Any) -> Tensor:
        """The kernel of `op_`."""
        target: Tensor = args[0]
        if self.check_in_place is not None:
            self.check_in_place(self.recipe(args).common, *args)
        variants.check_overlap(target, args[1:])
        variants.check_in_place_shape(target, _broadcast([a._array for a in args if isinstance(a, Tensor)]))
        return self._write(target, args)

    def run_out(self, *args: Any) -> Tensor:
        """The kernel of `op.out`, whose last argument is the target."""
        *inputs, target = args
        variants.check_overlap(target, inputs)
        if self.out_dtype:
            variants.check_exact(self.recipe(inputs).result, target.dtype, self.out_dtype)
        variants.fit_out(target, _broadcast([a._array for a in inputs if isinstance(a, Tensor)]))
        return self._write(target, inputs)

    def _write(self, target: Tensor, args: Sequence[Any]) -> Tensor:
        recipe = self.recipe(args)
        if self.check is not None:
            self.check(recipe.common, *args)
        if recipe.result is not bool_ or recipe.common is bool_:
            variants.check_cast(recipe.result, target.dtype)
        if recipe.refusal:
            raise NotImplementedError(recipe.refusal)
        if recipe.result is target.dtype and LARGE_WRITE.implementation(self, target, args):
            target.bump_version()
            return target
        return variants.write(target, self.evaluate(recipe, args))

    def predict_dtype(self, *args: Any) -> DType | None:
        """The dtype rule; None for dtypes that are refused."""
        common = self._known_common(args, is_certain=False)
        return None if common is None else self.result(common, args)

    def predict_compute(self, *args: Any) -> DType | None:
        """The rule for the dtype to compute in; None where the call is refused, or may be for values not known yet."""
        common = self._known_common(args, is_certain=True)
        return None if common is None else self.compute(common, args)

    def _known_common(self, args: Sequence[Any], *, is_certain: bool) -> DType | None:
        common = common_dtype([args[i] for i in self.operands])
        if common is None or common.category not in self.accepts:
            return None
        try:
            if self.check is not None:
                self.check(common, *[UnknownNumber(a) if _is_type_of_number(a) else a for a in args])
        except RuntimeError:
            return None
        except UnknownValueError:
            return None if is_certain else common
        return common

    def predict_shape(self, *args: Any) -> tuple[int | None, ...] | None:
        """The shape rule."""
        return broadcast_known([a.sizes for a in args if isinstance(a, TensorType)])


def _is_type_of_number(argument: Any) -> bool:
    """Whether it says of which kind a number is whose value is not known."""
    return isinstance(argument, Type) and not isinstance(argument, TensorType)


def pointwise_meaning(
    schema: FunctionSchema, *, operands: int | Sequence[str], raw: Sequence[str], refusal: str, **fields: Any
) -> Pointwise:
    """The `Pointwise` of a schema, with arguments given by name and the usual refusal if there is none."""
    index = schema.index
    short = schema.name.partition("::")[2]
    return Pointwise(
        schema=schema,
        operands=tuple(range(operands)) if isinstance(operands, int) else tuple(index[n] for n in operands),
        raw=tuple(index[n] for n in raw),
        values=tuple(i for i, a in enumerate(schema.arguments) if takes_value(a.type)),
        refusal=refusal or f"\"{short}_cpu\" not implemented for '{{}}'",
        **fields,
    )


def takes_value(type_: Type) -> bool:
    """Whether an operand of a type is a value of the Scalar protocol: a tensor or a number that may be a float."""
    inner = type_.element if isinstance(type_, OptionalType) else type_
    return isinstance(inner, TensorType | NumberType | FloatType)


def _kind(argument: Any) -> Any:
    """What of an argument may decide dtypes: a tensor's dtype and priority, a string, else the type."""
    if isinstance(argument, Tensor):
        array = argument._array
        return (array.dtype, array.ndim > 0, argument.is_wrapped_number)
    return argument if isinstance(argument, str) else type(argument)


def _broadcast(arrays: Sequence[Array]) -> tuple[int, ...]:
    if len(arrays) == 1:
        shape: tuple[int, ...] = arrays[0].shape
        return shape
    shapes = [a.shape for a in arrays]
    first = shapes[0] if shapes else ()
    return first if shapes.count(first) == len(shapes) else layout.broadcast(*shapes)


def operand_of_argument(argument: Any) -> Operand | None:
    """What an argument brings to type promotion; None for what is no operand."""
    if isinstance(argument, Tensor):
        if argument.is_wrapped_number:
            wrapped = number_dtype(argument._array[()].item())
            return None if wrapped is None else (NUMBER, wrapped)
        return (DIMENSIONED if argument._array.ndim else ZERO_DIM, argument.dtype)
    dtype = number_dtype(argument)
    return None if dtype is None else (NUMBER, dtype)
