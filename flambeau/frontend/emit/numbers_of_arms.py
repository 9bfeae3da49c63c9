"""Ints of one way where another way gives floats: floats, in programs on arrays.

if c: r = 0                →    the first arm ends in r = float(r): behind both, `r` is a float
else: r = x[i] / 2

0 if c else x[i]           →    0.0 if c else x[i]

if c: return 0, 1          →    return 0.0, 1
return x[i], i

TorchScript's rule for programs on tensors is that a variable has one type.
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.frames import Frame, Variable
from flambeau.frontend.emit.implicit_conversions import pack_tuple, unpack_tuple
from flambeau.frontend.emit.numpy.array_promotion import as_number, constant_number, element_type
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.captured_names import Name
from flambeau.ir.graph import Node, Value
from flambeau.schema.array_type import ArrayType, ScalarType
from flambeau.schema.dtype import DType, float64, uint64
from flambeau.schema.element_type import element_of, joined, kinds_of
from flambeau.schema.types import COMPLEX, FLOAT, INT, TupleType, Type
from flambeau.util.record import replace
from flambeau.util.source import SourceRange

_WIDTH: Final[dict[Type, int]] = {INT: 0, FLOAT: 1, COMPLEX: 2}


def common_number(e: Emitter, a: Type, b: Type) -> Type | None:
    """The type that holds the numbers of two types, item by item in tuples; None where they are equal, or none does."""
    return _common(a, b) if e.arrays and a != b else None


def _common(a: Type, b: Type) -> Type | None:
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        if a.name != b.name or len(a.elements) != len(b.elements):
            return None
        items = [joined(x, y) if x == y else _common(x, y) for x, y in zip(a.elements, b.elements, strict=True)]
        known = tuple([item for item in items if item is not None])
        return a.with_contained(known) if len(known) == len(items) else None
    narrow, wide = sorted((_number(a), _number(b)), key=lambda type_: _WIDTH.get(type_, -1))
    if narrow not in _WIDTH or narrow == wide or uint64 in kinds_of(narrow):
        return None
    return element_of(wide, *kinds_of(wide), *map(_widened, kinds_of(narrow)))


def _number(type_: Type) -> Type:
    """The type of the number that a scalar of NumPy is; other types as they are."""
    if isinstance(type_, ScalarType) and type_.dtype is not None:
        return element_of(element_type(type_.dtype), type_.dtype)
    return type_


def _widened(kind: DType | None) -> DType | None:
    """What a scalar of NumPy becomes where it meets floats."""
    return kind if kind is None or kind.is_floating_point or kind.is_complex else float64


def as_common_number(e: Emitter, where: SourceRange, value: Value, type_: Type) -> Value:
    """A value as what `common_number` says of it and another."""
    actual = value.static_type
    if isinstance(actual, TupleType) and isinstance(type_, TupleType):
        if actual == type_:
            return value
        pairs = zip(unpack_tuple(e, value), type_.elements, strict=True)
        return pack_tuple(e, [as_common_number(e, where, item, wanted) for item, wanted in pairs], type_)
    if isinstance(actual, ArrayType):
        value = as_number(e, value)
    if value.static_type not in _WIDTH or value.static_type == type_:
        return value
    number = constant_number(value)
    if number is not None and type_ == FLOAT:
        return e.constant(float(number.real))
    operands = [value, e.constant(0.0)] if type_ == COMPLEX else [value]
    return call_operator(e, where, "aten::Complex" if type_ == COMPLEX else "aten::Float", operands)


def widen_arms(
    e: Emitter, name: Name, arms: tuple[Frame[Sugared], Frame[Sugared]], if_: Node, where: SourceRange
) -> None:
    """Have a variable that two arms bind be the same number behind both, by what is stored at an arm's end."""
    first, second = (arm.names.get(name) for arm in arms)
    if not isinstance(first, Variable) or not isinstance(second, Variable) or first.slot != second.slot:
        return
    if first.slot in e.builder.cells or first.slot in e.builder.observers:
        return
    type_ = common_number(e, first.type, second.type)
    if type_ is None:
        return
    for arm, block, variable in zip(arms, if_.nested_blocks, (first, second), strict=True):
        if variable.type != type_:
            with e.inside(block):
                widened = as_common_number(e, where, e.load(name, variable), type_)
                e.builder.store(variable.slot, widened, type_)
        arm.names[name] = replace(variable, type=type_, declared=type_)


def widen_results(e: Emitter, if_: Node, where: SourceRange) -> Type | None:
    """Have both arms of an expression give what `common_number` says of them; None where it says nothing."""
    first, second = (block.returns[0] for block in if_.nested_blocks)
    type_ = common_number(e, first.static_type, second.static_type)
    if type_ is None:
        return None
    for block in if_.nested_blocks:
        with e.inside(block):
            block.return_node.set_operands((as_common_number(e, where, block.returns[0], type_),))
    return type_


def as_result(e: Emitter, where: SourceRange, value: Value) -> Value:
    """A value as what all returns of a program on arrays give, as far as that is known.

    Raises InferenceRestart if those before this one give numbers that it does not hold.
    """
    variables, before = e.type_variables, e.flow.merged_return
    if variables.result is not None:
        type_ = common_number(e, value.static_type, variables.result)
        value = value if type_ is None else as_common_number(e, where, value, type_)
    type_ = None if before is None else common_number(e, before, value.static_type)
    if type_ is not None:
        variables.widen_result(type_)
    return value
