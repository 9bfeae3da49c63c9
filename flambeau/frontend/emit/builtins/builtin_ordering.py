"""`min`, `max`, `sorted` with keys, `round` with digits, `format`: TorchScript's operators where it has them.

sorted(x, key=len)    →    the list of keys, then python::sorted_by(%x, %keys, False)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce

from flambeau.frontend.closures.call_arguments import Argument
from flambeau.frontend.emit.assignment import assign
from flambeau.frontend.emit.builtins.library_functions import call_library
from flambeau.frontend.emit.call_expressions import emit_arguments
from flambeau.frontend.emit.comparisons import compare
from flambeau.frontend.emit.comprehensions import collect_list, map_list
from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.loop_iterations import emit_for
from flambeau.frontend.emit.numpy.element_arithmetic import as_python
from flambeau.frontend.emit.numpy.number_forms import rounded
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values import set_values
from flambeau.frontend.emit.values.object_methods import check_sortable
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.library import extremes
from flambeau.frontend.trees.tree_views import Apply, Attribute, Clause, Comprehension, Ident, NoneLit, Var
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType
from flambeau.schema.element_type import ElementBool, ElementFloat, ElementInt, element_of, kinds_of
from flambeau.schema.set_type import SetType
from flambeau.schema.subtype import unify, unify_all
from flambeau.schema.types import (
    BOOL,
    NONE,
    STRING,
    TENSOR,
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NamedType,
    StringType,
    TensorType,
    TupleType,
    Type,
    is_number,
)
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.source import SourceRange

BOOLS = instead(
    "{name}() of a bool and a number gives the one or the other: write {code}", "max(int(x[0] > 1), n)",
    of="max(int(x[0] > 1), n)", given="x: np.ndarray, n: int", shown="{name}(int(x[i]), n)",
)  # fmt: skip


def emit_sorted(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`sorted(x, key=..., reverse=...)`."""
    options = _options(tree, "sorted", ("key", "reverse"))
    if len(tree.args) != 1:
        raise CompileError(f"sorted expected 1 argument, got {len(tree.args)}", tree.callee.range)
    items = _items(e, tree)
    if not options:
        check_sortable(e, tree.callee.range, items)
        return SimpleValue(call_operator(e, tree.callee.range, "aten::sorted", [items]))
    keys = _keys(e, tree, items, options)
    check_sortable(e, tree.callee.range, keys)
    reverse = e.value(options["reverse"].value) if "reverse" in options else e.constant(False)
    return SimpleValue(call_operator(e, tree.callee.range, "python::sorted_by", [items, keys, reverse]))


def emit_min(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`min(...)`."""
    return _extreme(e, tree, "min")


def emit_max(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`max(...)`."""
    return _extreme(e, tree, "max")


def _extreme(e: Emitter, tree: Apply, name: str) -> Sugared:
    """`min` and `max`: of what one argument is gone over for, or of several."""
    options = [k.name for k in tree.keywords]
    if "key" in options:
        return SimpleValue(_extreme_by(e, tree, name))
    if len(tree.args) == 1 and not options:
        return SimpleValue(_extreme_item(e, tree, name))
    if len(tree.args) == 1 and options == ["default"]:
        items = _items(e, tree)
        default = tree.keywords[0]
        return SimpleValue(_or_default(e, tree, name, items, default, lambda: _plain_extreme(e, tree, items, name)))
    where = tree.callee.range
    args, keywords = emit_arguments(e, tree)
    result = _extreme_of(e, where, [a.value for a in args], name) if len(args) > 1 and not keywords else None
    return SimpleValue(call_operator(e, where, f"prim::{name}", args, keywords) if result is None else result)


def _extreme_item(e: Emitter, tree: Apply, name: str) -> Value:
    """The least or the greatest of what one argument has."""
    where, source = tree.callee.range, e.sugared(tree.args[0])
    value = source.value if isinstance(source, SimpleValue) else None
    others = TupleType | DictType | SetType | NamedType | StringType | ArrayType
    if value is None or isinstance(value.static_type, others):
        value = _listed(e, tree, source)
    type_ = value.static_type
    if is_number(type_):
        text = f"'{type_.annotation}' object is not iterable: {name}(a, b) compares numbers"
        raise CompileError(text, tree.args[0].range)
    if isinstance(type_, ListType) and isinstance(type_.element, TupleType) and _is_of_numbers(type_.element):
        return _item_of_extreme_key(e, where, value, value, name)
    if isinstance(type_, ListType) and isinstance(type_.element, StringType | TupleType | ListType | NamedType):
        check_sortable(e, where, value)
        return call_operator(e, where, "python::extreme", [value, e.constant(name == "max")])
    return call_operator(e, where, f"prim::{name}", [Given(value, tree.args[0].range)])


def _extreme_of(e: Emitter, where: SourceRange, values: Sequence[Value], name: str) -> Value | None:
    """The least or the greatest of several values; None where the operator finds it."""
    element = values[0].static_type
    is_one_type = all(v.static_type == element for v in values)
    if is_one_type and isinstance(element, TupleType) and _is_of_numbers(element):
        return _extreme_tuple(e, where, values, name)
    if is_one_type and element == BOOL and not any(isinstance(v.static_type, ElementBool) for v in values):
        return reduce(partial(_joined, e, where, name), values)
    if is_one_type and isinstance(element, StringType | TupleType | NamedType):
        items = e.emit("prim::ListConstruct", values, ListType(element))
        check_sortable(e, where, items)
        return call_operator(e, where, "python::extreme", [items, e.constant(name == "max")])
    if _compares_elements(values):
        return _extreme_element(e, where, values, name)
    if any(isinstance(v.static_type, ElementBool) for v in values):
        return _extreme_bool(e, where, values, name)
    return _extreme_number(e, where, values, name) if _are_numbers(values) else None


def _extreme_bool(e: Emitter, where: SourceRange, values: Sequence[Value], name: str) -> Value:
    """The least or the greatest of bools of arrays. Raises CompileError where numbers are among them."""
    if not all(v.static_type == BOOL for v in values):
        raise CompileError(BOOLS.format(name=name), where)
    result = reduce(partial(_joined, e, where, name), values)
    result.set_type(element_of(BOOL, *(kind for v in values for kind in kinds_of(v.static_type))))
    return result


def _joined(e: Emitter, where: SourceRange, name: str, a: Value, b: Value) -> Value:
    """The less or the greater of two bools."""
    return call_operator(e, where, "aten::__or__" if name == "max" else "aten::__and__", [a, b])


def _extreme_tuple(e: Emitter, where: SourceRange, values: Sequence[Value], name: str) -> Value:
    """The first of the least or the greatest of tuples of numbers."""
    best, *others = values
    for value in others:
        is_better = compare(e, where, "<" if name == "min" else ">", value, best)
        node = e.graph.insert("prim::If", (is_better,), (value.static_type,))
        for chosen in (value, best):
            node.add_block().add_return(chosen)
        best = node.result()
    return best


def _compares_elements(values: Sequence[Value]) -> bool:
    """Whether tensors are among the operands, and all others are numbers."""
    kinds = TensorType | IntType | FloatType | BoolType
    return any(_is_element(v) for v in values) and all(isinstance(v.static_type, kinds) for v in values)


def _are_numbers(values: Sequence[Value]) -> bool:
    """Whether all operands are numbers, and one is a float: of floats, some are neither less nor greater."""
    types = [v.static_type for v in values]
    return all(isinstance(t, IntType | FloatType) for t in types) and any(isinstance(t, FloatType) for t in types)


def _extreme_number(e: Emitter, where: SourceRange, values: Sequence[Value], name: str) -> Value:
    """As Python picks: the first, until another is less or greater, which nothing is than nan.

    `prim::max(a, b)` is `a if a > b else b`.
    """
    best, *others = values
    for value in others:
        best = call_operator(e, where, f"prim::{name}", [value, best])
    return best


def _extreme_element(e: Emitter, where: SourceRange, values: Sequence[Value], name: str) -> Value:
    """The first of the least or the greatest, as Python picks it: a float if a float is among them, else a tensor."""
    if any(isinstance(v.static_type, FloatType) for v in values):
        floats = [call_operator(e, where, "aten::Float", [v]) if _is_element(v) else v for v in values]
        return _extreme_number(e, where, floats, name)
    like = next(v for v in values if isinstance(v.static_type, TensorType))
    best, *others = [_as_element(e, where, v, like) for v in values]
    for value in others:
        is_better = call_operator(e, where, "aten::lt" if name == "min" else "aten::gt", [value, best])
        node = e.graph.insert("prim::If", (call_operator(e, where, "aten::Bool", [is_better]),), (TENSOR,))
        for chosen in (value, best):
            node.add_block().add_return(chosen)
        best = node.result()
    return best


def _as_element(e: Emitter, where: SourceRange, value: Value, like: Value) -> Value:
    """A number as a tensor of the dtype that it has together with another; a tensor as it is."""
    if _is_element(value):
        return value
    dtype = call_operator(e, where, "aten::result_type", [like, value])
    return call_operator(e, where, "aten::tensor", [value], [Given(dtype, where, "dtype")])


def _is_element(value: Value) -> bool:
    return isinstance(value.static_type, TensorType)


def _plain_extreme(e: Emitter, tree: Apply, items: Value, name: str) -> Value:
    return call_operator(e, tree.range, "python::extreme", [items, e.constant(name == "max")])


def _extreme_by(e: Emitter, tree: Apply, name: str) -> Value:
    """`max(x, key=f)`, `max(a, b, key=f)`, `max(x, key=f, default=d)`."""
    options = _options(tree, name, ("key", "default"))
    if len(tree.args) > 1 and "default" in options:
        text = f"Cannot specify a default for {name}() with multiple positional arguments"
        raise CompileError(text, options["default"].range)
    items = _items(e, tree) if len(tree.args) == 1 else _packed(e, tree, name)
    keys = _keys(e, tree, items, options)

    def found() -> Value:
        element = keys.static_type.element if isinstance(keys.static_type, ListType) else NONE
        if not _is_of_numbers(element):
            return call_operator(e, tree.callee.range, "python::extreme_by", [items, keys, e.constant(name == "max")])
        return _item_of_extreme_key(e, tree.callee.range, items, keys, name)

    return _or_default(e, tree, name, items, options["default"], found) if "default" in options else found()


def _is_of_numbers(type_: Type) -> bool:
    """Whether something is a number, or a tuple of some."""
    parts = type_.elements if isinstance(type_, TupleType) and type_.elements else (type_,)
    return all(isinstance(part, IntType | FloatType | BoolType) for part in parts)


def _item_of_extreme_key(e: Emitter, where: SourceRange, items: Value, keys: Value, name: str) -> Value:
    """The first item of those that have the least or the greatest key."""
    finder = vars(extremes)["place_of_largest" if name == "max" else "place_of_least"]
    index = call_library(e, where, finder, [Argument(SimpleValue(keys), where)], {}).as_value(e, where)
    return call_operator(e, where, "aten::__getitem__", [items, index])


def _packed(e: Emitter, tree: Apply, name: str) -> Value:
    """The arguments as one list."""
    values = [e.value(arg) for arg in tree.args]
    element = unify_all([value.static_type for value in values])
    if element is None:
        text = f"{name}() with a key takes something to go over, or two things and more of one type"
        raise CompileError(text, tree.callee.range)
    return pack_list(e, values, element)


def _keys(e: Emitter, tree: Apply, items: Value, options: Mapping[str, Attribute]) -> Value:
    """What items are ordered by: themselves, without a key or where it is None."""
    if "key" not in options:
        return items
    key = e.sugared(options["key"].value)
    if isinstance(key, SimpleValue) and key.value.static_type == NONE:
        return items
    return map_list(e, tree.range, items, key)


def _or_default(
    e: Emitter, tree: Apply, name: str, items: Value, option: Attribute, compute: Callable[[], Value]
) -> Value:
    """`max(x, default=d)`: d where nothing is in x."""
    default = e.value(option.value)
    assert isinstance(items.static_type, ListType)
    e.type_variables.unify(items.static_type.element, default.static_type)
    common = unify(items.static_type.element, default.static_type)
    if common is None:
        text = f"the default of {name}() is a {default.static_type.annotation}, but the items are not"
        raise CompileError(text, option.range)
    length = call_operator(e, tree.range, "aten::len", [items])
    node = e.graph.insert("prim::If", (call_operator(e, tree.range, "aten::ne", [length, e.constant(0)]),), (common,))
    there, absent = node.add_block(), node.add_block()
    with e.inside(there):
        there.add_return(compute())
    absent.add_return(default)
    return node.result()


def _items(e: Emitter, tree: Apply) -> Value:
    """The one list of a call, or what makes a list."""
    source = e.sugared(tree.args[0])
    if isinstance(source, SimpleValue) and isinstance(source.value.static_type, ListType):
        return source.value
    if isinstance(source, SimpleValue) and set_values.is_set(source.value):
        return set_values.items_of(e, tree.args[0].range, source.value)
    return _listed(e, tree, source)


def _listed(e: Emitter, tree: Apply, source: Sugared) -> Value:
    return collect_list(e, tree.args[0].range, source, None)


def _options(tree: Apply, name: str, allowed: Sequence[str]) -> dict[str, Attribute]:
    options = {k.name: k for k in tree.keywords}
    for option in options.values():
        if option.name not in allowed:
            raise CompileError(f"{name}() got an unexpected keyword argument '{option.name}'", option.range)
    return options


def emit_round(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`round(x)`, a float as in TorchScript, and in programs on arrays an int as in Python; `round(x, n)` as in Python,
    of numbers of arrays as in NumPy.
    """
    args, keywords = emit_arguments(e, tree)
    if len(args) + len(keywords) == 2 and isinstance(args[0].value.static_type, ElementFloat):
        return rounded(e, tree.callee.range, args, keywords)
    if len(args) + len(keywords) == 2 and not isinstance(args[0].value.static_type, TensorType):
        return SimpleValue(call_operator(e, tree.callee.range, "python::round", args, keywords))
    type_ = args[0].value.static_type if len(args) == 1 and not keywords else None
    if isinstance(type_, ElementInt) or (e.arrays and isinstance(type_, IntType)):
        return SimpleValue(as_python(e, args[0].value))
    whole = call_operator(e, tree.callee.range, "aten::round", args, keywords)
    if isinstance(type_, ElementFloat) or (e.arrays and isinstance(type_, FloatType)):  # NumPy's scalars round to ints
        whole = call_operator(e, tree.callee.range, "aten::Int", [whole])
    return SimpleValue(whole)


def emit_format(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`format(value, spec)`."""
    args, keywords = emit_arguments(e, tree)
    if len(args) == 1:
        args = [*args, Given(e.constant("", STRING), tree.range)]
    return SimpleValue(call_operator(e, tree.callee.range, "python::format", args, keywords))


def emit_filter(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`filter(f, x)`: the list of the items for which the function gives a true value."""
    if len(tree.args) != 2 or tree.keywords:
        raise CompileError(f"filter expected 2 arguments, got {len(tree.args)}", tree.callee.range)
    where = tree.range
    item = Var(where, Ident(where, "$item"))
    condition = item if isinstance(tree.args[0], NoneLit) else Apply(where, tree.args[0], (item,), ())
    clause = Clause(where, item, tree.args[1], (condition,))
    return e.sugared(Comprehension(where, None, item, (clause,)))


def emit_reduce(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`functools.reduce(f, x, start)`: a loop that gives the function what it has so far, and the next item."""
    where = tree.callee.range
    if not 2 <= len(tree.args) <= 3 or tree.keywords:
        raise CompileError(f"reduce expected 2 or 3 arguments, got {len(tree.args)}", where)
    items = _items(e, Apply(tree.range, tree.callee, tree.args[1:2], ()))
    with e.scope.nested():
        e.scope.frame.names["$function"] = e.sugared(tree.args[0])
        if len(tree.args) == 3:
            first = e.value(tree.args[2])
        else:
            checked = call_operator(e, where, "python::check_reduce", [items])
            first = call_operator(e, where, "aten::__getitem__", [checked, e.constant(0)])
            items = call_operator(e, where, "aten::slice", [items, e.constant(1), e.constant(None), e.constant(1)])
        total, item = Var(where, Ident(where, "$total")), Var(where, Ident(where, "$item"))
        assign(e, total, SimpleValue(first), where)

        def body(each: Sugared) -> bool:
            assign(e, item, each, where)
            call = Apply(where, Var(where, Ident(where, "$function")), (total, item), ())
            assign(e, total, SimpleValue(e.value(call)), where)
            return True

        emit_for(e, where, SimpleValue(items).iterate(e, where), body)
        return SimpleValue(e.value(total))
