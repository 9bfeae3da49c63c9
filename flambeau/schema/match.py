"""Which overload a call means, when the types of all operands are known.

Type variables of a schema (`t` in `aten::append.t(t[](a!) self, t el)`) are bound by the operands and filled into the
results. Conversions that a compiler may insert (numbers to tensors, tuples to lists) are its own matter; here types
must simply fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.schema import registry
from flambeau.schema.function import FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.schema.remembered import remembered
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import is_subtype, unify
from flambeau.schema.types import (
    NONE,
    DictType,
    FutureType,
    ListType,
    OptionalType,
    RRefType,
    SimpleType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    VarType,
)

Bindings = dict[str, Type]
_WITHOUT_CONTENTS = (SimpleType, TensorType)
"""What most arguments are."""


def bind(formal: Type, actual: Type, bindings: Bindings) -> bool:
    """Bind the variables in `formal` so that `actual` has its form; False if it has not."""
    match formal, actual:
        case VarType(name), _:
            known = bindings.get(name)
            both = actual if known is None else unify(known, actual)
            if both is None:
                return False
            bindings[name] = both
            return True
        case OptionalType(element), _:
            if actual == NONE:
                return True
            inner = actual.element if isinstance(actual, OptionalType) else actual
            return bind(element, inner, bindings)
        case (
            (ListType(), ListType())
            | (SetType(), SetType())
            | (FutureType(), FutureType())
            | (RRefType(), RRefType())
        ):
            return bind(formal.contained[0], actual.contained[0], bindings)
        case DictType(key, value), DictType(actual_key, actual_value):
            return bind(key, actual_key, bindings) and bind(value, actual_value, bindings)
        case TupleType(elements), TupleType(actual_elements):
            return len(elements) == len(actual_elements) and all(
                bind(f, a, bindings) for f, a in zip(elements, actual_elements, strict=True)
            )
        case UnionType(members), _:
            return all(not has_variables(m) for m in members)
    return not has_variables(formal)


def has_variables(type_: Type) -> bool:
    """Whether a type variable occurs in it."""
    if isinstance(type_, _WITHOUT_CONTENTS):
        return False
    if isinstance(type_, VarType):
        return True
    for inner in type_.contained:  # noqa: SIM110  # asked of every argument of every overload: without a generator
        if has_variables(inner):
            return True
    return False


def substitute(type_: Type, bindings: Bindings) -> Type:
    """The type with its variables filled in. Raises KeyError for a variable that nothing bound."""
    if isinstance(type_, VarType):
        return bindings[type_.name]
    inner = type_.contained
    return type_.with_contained(tuple(substitute(t, bindings) for t in inner)) if inner else type_


def fits(formal: Type, actual: Type, bindings: Bindings) -> bool:
    """Whether a value of `actual` can be passed for `formal`; binds variables."""
    if has_variables(formal):
        if not bind(formal, actual, bindings):
            return False
        try:
            formal = substitute(formal, bindings)
        except KeyError:
            return actual == NONE
    return is_subtype(actual, formal)


def match_types(schema: FunctionSchema, inputs: Sequence[Type]) -> Bindings | None:
    """The variable bindings if operands of these types fit the schema one to one; None if they do not."""
    if len(inputs) != len(schema.arguments) and not (schema.is_vararg and len(inputs) >= len(schema.arguments)):
        return None
    bindings: Bindings = {}
    for argument, actual in zip(schema.arguments, inputs, strict=False):
        if not fits(argument.type, actual, bindings):
            return None
    return bindings


def result_types(schema: FunctionSchema, bindings: Bindings) -> tuple[Type, ...]:
    """The types of the results under these bindings."""
    return tuple(substitute(r.type, bindings) if has_variables(r.type) else r.type for r in schema.returns)


def find_overload(name: str, inputs: Sequence[Type], outputs: Sequence[Type] = ()) -> OpDef | None:
    """The first overload of `name` whose schema fits; one whose results fit too goes before others."""
    fallback: OpDef | None = None
    for definition in registry.overloads(name):
        bindings = match_types(definition.schema, inputs)
        if bindings is None:
            continue
        if not outputs or definition.schema.is_varret:
            return definition
        results = _try_results(definition.schema, bindings)
        if results is not None and len(results) == len(outputs) and all(map(_compatible, outputs, results)):
            return definition
        fallback = fallback or definition
    return fallback


@remembered(maxsize=4096)
def overload_of_plain(version: int, name: str, inputs: tuple[Type, ...], outputs: tuple[Type, ...]) -> OpDef | None:
    """`find_overload` for types without refinements, remembered for a version of the registry."""
    return find_overload(name, inputs, outputs)


def _try_results(schema: FunctionSchema, bindings: Bindings) -> tuple[Type, ...] | None:
    try:
        return result_types(schema, bindings)
    except KeyError:
        return None


def _compatible(actual: Type, declared: Type) -> bool:
    return is_subtype(actual, declared) or is_subtype(declared, actual)
