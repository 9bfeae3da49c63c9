"""Literals of containers and texts, and the types that hints give to them.

x: List[Optional[int]] = [1, None]    →    %x : int?[] = prim::ListConstruct(%one, %none)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from flambeau.frontend.emit.call_causes import cannot_hold
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.implicit_conversions import convert, pack_list, pack_tuple
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.function_groups import FunctionsValue, FunctionTable
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.emit.values.tuple_values import TupleValue
from flambeau.frontend.scopes.type_annotations import BAD_KEY
from flambeau.frontend.trees.tree_views import (
    Const,
    DictLiteral,
    Expr,
    FalseLit,
    Lambda,
    ListLiteral,
    NoneLit,
    Select,
    Starred,
    StringLiteral,
    TrueLit,
    TupleLiteral,
    Var,
)
from flambeau.ir.graph import Value
from flambeau.schema.subtype import is_subtype, unify_all
from flambeau.schema.types import (
    FLOAT,
    INT,
    STRING,
    TENSOR,
    AnyType,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    is_key,
)
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

HETEROGENEOUS = (
    "{what} consists of heterogeneous types, which means that it has been typed as containing {union}. To use any of "
    "the values in this {what}, it will be necessary to add an `assert isinstance` statement before first use to "
    "trigger type refinement.\n{place}"
)
WRONG_ELEMENTS = (
    "List type annotation `{hint}` did not match the types of the given list elements, which were unified to {actual}"
)
MANY_LISTS = "Cannot assign an empty list when there are multiple possible List type candidates in the Union annotation"
NO_LIST_FITS = (
    "Union type annotation `{hint}` can hold multiple inner List types, but none of those types match the types of the "
    "given list elements, which were unified to {actual}"
)
NO_INNER_LIST = "Expected an Union type annotation with an inner List type, but got {hint}"
NOT_A_LIST = "Expected an annotation of type List, but got {hint}"
MIXED_KEYS = "Dicts may only contain homogeneous keys, but the type of the first generated key was {actual}"
WRONG_KEY = "Dict type annotation `{hint}` did not match the type of an actual key type `{actual}`"
WRONG_VALUE = "Dict type annotation `{hint}` did not match the type of an actual value type `{actual}`"
NO_INNER_DICT = "Expected an Union type annotation with an inner Dict type, but got {hint}"
NOT_THAT_DICT = (
    "Type annotation was inferred to be `{hint}`, but the type of {of} given by the dict literal is {actual}"
)
NO_DICT_FITS = (
    "Union type annotation `{hint}` can hold multiple inner Dict types, but none of those dict types can hold the "
    "types of the given keys and values, which were unified to Dict[{key}, {value}]"
)


def emit_true_false(e: Emitter, tree: TrueLit | FalseLit, hint: Type | None) -> Sugared:
    """`True` and `False`."""
    return SimpleValue(e.constant(isinstance(tree, TrueLit)))


def emit_none(e: Emitter, tree: NoneLit, hint: Type | None) -> Sugared:
    """`None`."""
    return SimpleValue(e.constant(None))


def emit_string(e: Emitter, tree: StringLiteral, hint: Type | None) -> Sugared:
    """A text."""
    return SimpleValue(e.constant(tree.value, STRING))


def emit_items(e: Emitter, items: Sequence[Expr], hints: Sequence[Type | None]) -> list[tuple[Sugared, SourceRange]]:
    """Items in order, starred tuples spread out, with their places; `hints` has one type an item, or is empty."""
    emitted: list[tuple[Sugared, SourceRange]] = []
    for index, item in enumerate(items):
        if isinstance(item, Starred):
            emitted += [(part, item.range) for part in e.sugared(item.value).as_tuple(e, item.range)]
        elif isinstance(item, NoneLit) and (index >= len(hints) or hints[index] is None):
            emitted.append((SimpleValue(e.constant(None, e.type_variables.none_of(item))), item.range))
        else:
            emitted.append((e.sugared(item, hints[index] if index < len(hints) else None), item.range))
    return emitted


def emit_tuple(e: Emitter, tree: TupleLiteral, hint: Type | None) -> Sugared:
    """`(a, b)`."""
    wanted = without_none(hint)
    hints = wanted.elements if isinstance(wanted, TupleType) and len(wanted.elements) == len(tree.items) else ()
    functions = _functions(e, tree.items)
    if functions is not None:
        return TupleValue(functions)
    items = emit_items(e, tree.items, hints)
    if any(item.is_function for item, _ in items):
        return TupleValue([item for item, _ in items])
    values = [item.as_value(e, where) for item, where in items]
    if hints and len(hints) == len(values):
        values = [convert(e, v, t, implicit=False) for v, t in zip(values, hints, strict=True)]
        fitted = tuple(
            t if is_subtype(v.static_type, t) and not isinstance(t, AnyType) else v.static_type
            for v, t in zip(values, hints, strict=True)
        )
        return SimpleValue(pack_tuple(e, values, TupleType(fitted)))
    return SimpleValue(pack_tuple(e, values))


def _functions(e: Emitter, items: Sequence[Expr]) -> list[Sugared] | None:
    """The items of a list, tuple or dict if functions are among them, as far as trees tell; None if all are values."""
    if not any(_may_hold_function(e, item) for item in items) or any(isinstance(item, Starred) for item in items):
        return None
    return [e.sugared(item) for item in items]


def _may_hold_function(e: Emitter, tree: Expr) -> bool:
    if isinstance(tree, TupleLiteral | ListLiteral):
        return any(_may_hold_function(e, item) for item in tree.items)
    if isinstance(tree, Lambda):
        return True
    if not isinstance(tree, Var | Select) or not _names_no_value(e, tree):
        return False
    return e.sugared(tree).stored_value(e, tree.range) is None


def _names_no_value(e: Emitter, tree: Expr) -> bool:
    """Whether the first name of `a` or `a.b` is none of the program's variables."""
    while isinstance(tree, Select):
        tree = tree.value
    return isinstance(tree, Var) and not isinstance(e.scope.find(tree.name), Variable)


def without_none(hint: Type | None) -> Type | None:
    """The hint for a value that is there."""
    return hint.element if isinstance(hint, OptionalType) else hint


def emit_list(e: Emitter, tree: ListLiteral, hint: Type | None) -> Sugared:
    """`[a, b]`."""
    wanted = without_none(hint)
    element_hint = wanted.element if isinstance(wanted, ListType) else None
    if any(isinstance(item, Starred) for item in tree.items):
        return SimpleValue(_joined(e, tree, element_hint))
    if not tree.items and (wanted is None or isinstance(wanted, AnyType)):
        return SimpleValue(e.emit("prim::ListConstruct", (), e.type_variables.list_of(tree)))
    functions = _functions(e, tree.items)
    if functions is not None:
        return FunctionsValue(functions, [item.range for item in tree.items])
    items = emit_items(e, tree.items, [element_hint] * len(tree.items))
    if any(item.is_function for item, _ in items):
        return FunctionsValue([item for item, _ in items], [where for _, where in items])
    return SimpleValue(list_of(e, tree.range, [item.as_value(e, where) for item, where in items], wanted))


def list_of(e: Emitter, where: SourceRange, values: Sequence[Value], wanted: Type | None) -> Value:
    """A new list of values, converted to one type."""
    for value in values[1:]:
        e.type_variables.unify(values[0].static_type, value.static_type)
    element = list_element(e, where, values, wanted)
    return pack_list(e, [convert(e, v, element, implicit=False) for v in values], element)


def _joined(e: Emitter, tree: ListLiteral, hint: Type | None) -> Value:
    """`[a, *x, b]`: with a list `x` the pieces one after another, else a list of so many items."""
    pieces = _pieces(e, tree, hint)
    elements = [p.static_type.element for p in pieces if isinstance(p, Value) and isinstance(p.static_type, ListType)]
    values = [v for p in pieces if isinstance(p, list) for v in p]
    if not elements:
        element = list_element(e, tree.range, values, None if hint is None else ListType(hint))
        return pack_list(e, [convert(e, v, element, implicit=False) for v in values], element)
    element = _common_element(e, tree.range, elements, values)
    result, *rest = (pack_list(e, p, element) if isinstance(p, list) else p for p in pieces)
    for part in rest:
        result = call_operator(e, tree.range, "aten::add", [result, part])
    return result if rest else call_operator(e, tree.range, "aten::list", [result])


def _common_element(e: Emitter, where: SourceRange, elements: Sequence[Type], values: Sequence[Value]) -> Type:
    """What starred lists hold. Raises CompileError for lists of something else, and items that do not fit in."""
    element, *others = elements
    types = [v.static_type for v in values]
    for type_ in (*types, *others):
        e.type_variables.unify(element, type_)
    wrong = [t for t in types if not is_subtype(t, element)] + [t for t in others if t != element]
    if wrong:
        text = f"the starred list holds {element.annotation}, so the others must too, but one is {wrong[0].annotation}"
        raise CompileError(text, where)
    return element


def _pieces(e: Emitter, tree: ListLiteral, hint: Type | None) -> list[list[Value] | Value]:
    """What a display with stars is put together from: starred lists, and the items between them."""
    pieces: list[list[Value] | Value] = []
    for item in tree.items:
        source = e.sugared(item.value) if isinstance(item, Starred) else None
        if isinstance(source, SimpleValue) and isinstance(source.value.static_type, ListType):
            pieces.append(source.value)
            continue
        if source is None:
            values = [e.value(item, hint)]
        else:
            values = [s.as_value(e, item.range) for s in source.as_tuple(e, item.range)]
        if pieces and isinstance(pieces[-1], list):
            pieces[-1] += values
        else:
            pieces.append(values)
    return pieces


def list_element(e: Emitter, where: SourceRange, values: Sequence[Value], wanted: Type | None) -> Type:
    """The element type of a list of these values where `wanted` is expected."""
    element = unify_all([v.static_type for v in values], default_to_union=True)
    if isinstance(wanted, UnionType):
        return _list_of_union(where, wanted, element)
    if isinstance(wanted, ListType):
        converted = [v for v in values if not _converts(v.static_type, wanted.element)]
        if element is None or not converted:
            return wanted.element
        raise CompileError(WRONG_ELEMENTS.format(hint=wanted.annotation, actual=element.annotation), where)
    if wanted is not None and not isinstance(wanted, AnyType):
        raise CompileError(NOT_A_LIST.format(hint=wanted.annotation), where)
    if element is None:
        return TENSOR
    element = e.scope.as_written(element)
    if isinstance(element, UnionType) and not any(v.static_type == element for v in values):
        text = HETEROGENEOUS.format(what="List", union=element.annotation, place=where.highlight())
        warnings.warn(text, UserWarning, stacklevel=2)
    return element


def _converts(actual: Type, wanted: Type) -> bool:
    if is_subtype(actual, wanted):
        return True
    inner = without_none(wanted)
    return (
        isinstance(actual, TupleType)
        and isinstance(inner, ListType)
        and all(is_subtype(t, inner.element) for t in actual.elements)
    )


def _list_of_union(where: SourceRange, wanted: UnionType, element: Type | None) -> Type:
    candidates = [m for m in wanted.members if isinstance(m, ListType)]
    if not candidates:
        raise CompileError(NO_INNER_LIST.format(hint=wanted.annotation), where)
    if element is None:
        if len(candidates) > 1:
            raise CompileError(MANY_LISTS, where)
        return candidates[0].element
    for candidate in candidates:
        if is_subtype(element, candidate.element):
            return candidate.element
    if len(candidates) == 1:
        raise CompileError(WRONG_ELEMENTS.format(hint=candidates[0].annotation, actual=element.annotation), where)
    raise CompileError(NO_LIST_FITS.format(hint=wanted.annotation, actual=element.annotation), where)


def emit_dict(e: Emitter, tree: DictLiteral, hint: Type | None) -> Sugared:
    """`{k: v}`."""
    wanted = without_none(hint)
    inner = wanted if isinstance(wanted, DictType) else None
    if any(isinstance(key, Starred) for key in tree.keys):
        return SimpleValue(_merged_dict(e, tree, inner))
    if not tree.keys and (wanted is None or isinstance(wanted, AnyType)):
        return SimpleValue(e.emit("prim::DictConstruct", (), e.type_variables.dict_of(tree)))
    functions = _functions(e, tree.values)
    if functions is not None and all(_is_name(key) for key in tree.keys):
        keys = [key.value for key in tree.keys if isinstance(key, StringLiteral | Const)]
        return FunctionTable([key for key in keys if isinstance(key, str | int)], functions)
    flat: list[Value] = []
    for key, value in zip(tree.keys, tree.values, strict=True):
        flat.append(e.value(key, inner.key if inner else None))
        flat.append(e.value(value, inner.value if inner else None))
    type_ = dict_type(e, tree.range, flat[::2], flat[1::2], wanted)
    return SimpleValue(e.emit("prim::DictConstruct", flat, type_))


def _is_name(tree: Expr) -> bool:
    return isinstance(tree, StringLiteral) or (isinstance(tree, Const) and isinstance(tree.value, int))


def _merged_dict(e: Emitter, tree: DictLiteral, wanted: DictType | None) -> Value:
    """`{**x, k: v}`: a copy of the first dict, changed entry by entry."""
    sources = {id(k): e.value(v) for k, v in zip(tree.keys, tree.values, strict=True) if isinstance(k, Starred)}
    first = wanted or next(iter(sources.values())).static_type
    if not isinstance(first, DictType):
        raise CompileError(f"argument after ** must be a dict, not a {first.annotation}", tree.range)
    result = e.emit("prim::DictConstruct", (), first)
    for key, value in zip(tree.keys, tree.values, strict=True):
        if isinstance(key, Starred):
            call_operator(e, key.range, "aten::update", [result, sources[id(key)]])
        else:
            call_operator(
                e, value.range, "aten::_set_item", [result, e.value(key, first.key), e.value(value, first.value)]
            )
    return result


def dict_type(
    e: Emitter, where: SourceRange, keys: Sequence[Value], values: Sequence[Value], wanted: Type | None
) -> DictType:
    """The type of a dict of these keys and values where `wanted` is expected."""
    key = unify_all([k.static_type for k in keys], default_to_union=True)
    value = unify_all([v.static_type for v in values], default_to_union=True)
    if isinstance(wanted, UnionType):
        return _dict_of_union(where, wanted, key, value)
    if isinstance(wanted, DictType):
        _check_entries(where, wanted, key, value)
        return wanted
    if wanted is not None and not isinstance(wanted, AnyType):
        raise CompileError(f"Expected an annotation of type Dict, but got {wanted.annotation}", where)
    if key is None or value is None:
        return DictType(STRING, TENSOR)
    if isinstance(key, UnionType):
        raise CompileError(MIXED_KEYS.format(actual=key.annotation), where)
    if not is_key(key) or isinstance(key, AnyType):
        raise CompileError(BAD_KEY.format(key=key), where)
    if isinstance(value, UnionType) and not any(v.static_type == value for v in values):
        text = HETEROGENEOUS.format(what="Dict", union=value.annotation, place=where.highlight())
        warnings.warn(text, UserWarning, stacklevel=2)
    return DictType(key, e.scope.as_written(value))


def _check_entries(where: SourceRange, wanted: DictType, key: Type | None, value: Type | None) -> None:
    """Raise CompileError for keys and values that a dict of the expected type cannot hold."""
    if key is not None and not is_subtype(key, wanted.key):
        raise CompileError(WRONG_KEY.format(hint=wanted.annotation, actual=key.annotation), where)
    if value is not None and not is_subtype(value, wanted.value):
        text = WRONG_VALUE.format(hint=wanted.annotation, actual=value.annotation)
        is_number = value == INT and wanted.value == FLOAT
        raise CompileError(f"{text}. {cannot_hold(wanted, FLOAT, value)}" if is_number else text, where)


def _dict_of_union(where: SourceRange, wanted: UnionType, key: Type | None, value: Type | None) -> DictType:
    candidates = [m for m in wanted.members if isinstance(m, DictType)]
    if not candidates:
        raise CompileError(NO_INNER_DICT.format(hint=wanted.annotation), where)
    if key is None or value is None:
        return candidates[0]
    for candidate in candidates:
        if is_subtype(key, candidate.key) and is_subtype(value, candidate.value):
            return candidate
    if len(candidates) == 1:
        only = candidates[0]
        of, actual = ("keys", key) if not is_subtype(key, only.key) else ("values", value)
        raise CompileError(NOT_THAT_DICT.format(hint=only.annotation, of=of, actual=actual.annotation), where)
    raise CompileError(NO_DICT_FITS.format(hint=wanted.annotation, key=key.annotation, value=value.annotation), where)
