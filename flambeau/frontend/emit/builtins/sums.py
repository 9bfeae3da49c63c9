"""`sum(...)`: TorchScript's operator for lists of numbers; for everything else the additions one after another.

sum(losses)    →    %total = aten::add(%first, 0), then a loop of aten::add
"""

from __future__ import annotations

from flambeau.frontend.emit.assignment import assign
from flambeau.frontend.emit.binary_operators import binary
from flambeau.frontend.emit.call_expressions import emit_arguments
from flambeau.frontend.emit.comprehensions import collect_list
from flambeau.frontend.emit.conditions import Condition
from flambeau.frontend.emit.control_flow import emit_branches
from flambeau.frontend.emit.implicit_conversions import pack_list, unpack_tuple
from flambeau.frontend.emit.loop_iterations import emit_for
from flambeau.frontend.emit.numpy.array_promotion import as_number, converted, dtype_and_rank
from flambeau.frontend.emit.numpy.element_arithmetic import rounded
from flambeau.frontend.emit.numpy.ndarray_methods import call_method
from flambeau.frontend.emit.refusals import raise_when
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply, Ident, Select, Var
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType
from flambeau.schema.dtype import bool_, float64, int64
from flambeau.schema.element_type import is_element, kinds_of
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    TENSOR,
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

OF_ELEMENTS = instead(
    "sum() of a list of numbers of arrays adds them up one by one: write {code}", "np.sum(np.array([x[0], x[1]]))",
    of="sum([x[0], x[1]])", given="x: np.ndarray", shown="np.sum(np.array(x))",
)  # fmt: skip
NO_ARRAYS = "sum() of an empty list is its start, a number, and an array is wanted here: ask for the length first"
STRINGS = instead(
    "sum() can't sum strings [use {code} instead]", "''.join(seq)", of="functools.reduce(operator.add, seq)",
    given="seq: list[str]",
)  # fmt: skip


def emit_sum(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """The sum of the items of anything that can be looped over, from a start that is 0 if it is not given."""
    where = tree.callee.range
    args, keywords = _arguments(e, tree)
    starts = [*args[1:], *(k for k in keywords if k.name == "start")]
    total = None
    if args and len(args) + len(keywords) == 1 + len(starts) <= 2:
        total = _sum_of(e, where, args[0].value, starts[0].value if starts else None)
    return SimpleValue(call_operator(e, where, "aten::sum", args, keywords) if total is None else total)


def _sum_of(e: Emitter, where: SourceRange, items: Value, start: Value | None) -> Value | None:
    """The sum of what no operator adds up; None for the rest."""
    type_ = items.static_type
    if isinstance(type_, ArrayType) and start is None:
        return _of_array(e, where, items)
    if isinstance(type_, TupleType) and type_.elements and all(isinstance(t, TensorType) for t in type_.elements):
        items = pack_list(e, unpack_tuple(e, items), TENSOR)
    if isinstance(items.static_type, TensorType) or items.static_type == ListType(TENSOR):
        return _of_tensors(e, where, items, e.constant(0) if start is None else start)
    return _of_list(e, where, items, type_.element, start) if isinstance(type_, ListType) else None


def _of_list(e: Emitter, where: SourceRange, items: Value, element: Type, start: Value | None) -> Value | None:
    """The sum of a list that is none of tensors; None for plain numbers from 0 on, and for what has no sum."""
    if isinstance(element, ArrayType) and (start is None or is_number(start.static_type)):
        return _of_arrays(e, where, items, e.constant(0) if start is None else start)
    if is_element(element):
        return _of_elements(e, where, items, element, start)
    if isinstance(element, StringType):
        raise CompileError(STRINGS, where)
    return None if start is None or is_number(element) else _added(e, where, items, start)


def _of_elements(e: Emitter, where: SourceRange, items: Value, element: Type, start: Value | None) -> Value:
    """The numbers of arrays in a list added up one by one. Raises CompileError for narrow ones, and for a start."""
    dtype = next((d for d in (float64, int64, bool_) if set(kinds_of(element)) == {d}), None)
    if start is not None or dtype is None:
        raise CompileError(OF_ELEMENTS, where)
    total = call_operator(e, where, "aten::sum", [items])
    return rounded(e, where, total, int64 if dtype is bool_ else dtype)


def _of_array(e: Emitter, where: SourceRange, items: Value) -> Value:
    """The items of an array added up by Python: in their own dtype, where `x.sum()` adds integers up in 64 bits."""
    dtype, rank = dtype_and_rank(items, where)
    total = as_number(e, call_method(e, where, "sum", items, (), [Given(e.constant(0), where, "axis")]))
    target = int64 if dtype is bool_ else dtype
    return rounded(e, where, total, target) if rank == 1 else converted(e, total, target)


def _of_arrays(e: Emitter, where: SourceRange, items: Value, start: Value) -> Value:
    """The sum of a list of arrays; of none of them an error, where Python gives the start, which is no array."""
    count = SimpleValue(items).length(e, where)
    raise_when(e, call_operator(e, where, "aten::eq", [count, e.constant(0)]), NO_ARRAYS)
    first = call_operator(e, where, "aten::__getitem__", [items, e.constant(0)])
    rest = call_operator(e, where, "aten::slice", _from_second(e, items))
    return _added(e, where, rest, binary(e, where, "+", start, first))


def _arguments(e: Emitter, tree: Apply) -> tuple[list[Given], list[Given]]:
    if not tree.args or not isinstance(tree.args[0], Apply | Var | Select):
        return emit_arguments(e, tree)
    source, where = e.sugared(tree.args[0]), tree.args[0].range
    is_value = isinstance(source, SimpleValue) and not isinstance(source.value.static_type, NamedType | SetType)
    first = source.as_value(e, where) if is_value else collect_list(e, where, source, None)
    others, keywords = emit_arguments(e, Apply(tree.range, tree.callee, tree.args[1:], tree.keywords))
    return [Given(first, where), *others], keywords


def _of_tensors(e: Emitter, where: SourceRange, items: Value, start: Value) -> Value:
    """The sum of a list of tensors, or of a tensor's rows; of none of them the start as a tensor."""
    total = Var(where, Ident(where, "$total"))
    count = SimpleValue(items).length(e, where)
    is_any = call_operator(e, where, "aten::gt", [count, e.constant(0)])

    def some() -> bool:
        if isinstance(items.static_type, TensorType):
            first = call_operator(e, where, "aten::select", [items, e.constant(0), e.constant(0)])
        else:
            first = call_operator(e, where, "aten::__getitem__", [items, e.constant(0)])
        rest = call_operator(e, where, "aten::slice", _from_second(e, items))
        begun = call_operator(e, where, "aten::add", [first, start])
        assign(e, total, SimpleValue(_added(e, where, rest, begun)), where)
        return True

    def none() -> bool:
        value = start if isinstance(start.static_type, TensorType) else call_operator(e, where, "aten::tensor", [start])
        assign(e, total, SimpleValue(value), where)
        return True

    with e.scope.nested():
        emit_branches(e, Condition(value=is_any), where, some, none)
        return e.value(total)


def _from_second(e: Emitter, items: Value) -> list[Value]:
    along = [e.constant(0)] if isinstance(items.static_type, TensorType) else []
    return [items, *along, e.constant(1), e.constant(None), e.constant(1)]


def _added(e: Emitter, where: SourceRange, items: Value, start: Value) -> Value:
    """The start and then each item, added in order."""
    total = Var(where, Ident(where, "$sum"))
    with e.scope.nested():
        assign(e, total, SimpleValue(start), where)

        def body(item: Sugared) -> bool:
            added = binary(e, where, "+", e.value(total), item.as_value(e, where))
            assign(e, total, SimpleValue(added), where)
            return True

        emit_for(e, where, SimpleValue(items).iterate(e, where), body)
        return e.value(total)
