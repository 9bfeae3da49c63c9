"""Which node becomes what: structure and containers here, the rest by what the operators declare.

An operator with a Scalar meaning needs no entry. The entries are for what has none: views, containers, conversions
between tensors and numbers, and new tensors. Everything else is run by Python, where its results can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flambeau.codegen.graph import (
    arrays,
    calls,
    copies,
    element_indexes,
    gather,
    groups,
    hoisted_bounds_checks,
    list_changes,
    list_folds,
    lists,
    memory,
    pointwise,
    scatter,
    writes,
)
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.foreign import call
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import (
    CannotCompileError,
    FixedValue,
    ListValue,
    OptionalValue,
    Scalar,
    TupleValue,
    constant_of,
)
from flambeau.codegen.graph.representation import Array, Bool, Element, Int, Listed, Tupled
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.ir.node import Node
from flambeau.schema import dtype as dtypes
from flambeau.schema.opdef import OpDef

Lowering = Callable[["EmittedFunction", Node], None]


def lower(fn: EmittedFunction, node: Node) -> None:
    """Emit one node. Raises `CannotCompileError` with the reason where it has no native form."""
    try:
        _lower(fn, node)
    except KernelError as error:
        raise CannotCompileError(str(error)) from None


def _lower(fn: EmittedFunction, node: Node) -> None:
    definition = node.definition
    is_language = definition is not None and definition.scalar is not None and definition.family == "language"
    if definition is not None and is_language and pointwise.is_numbers(fn, node):
        pointwise.numbers(fn, node, definition)
        return
    rule = _rule(fn, node)
    before = len(fn.e.lines)
    try:
        if rule is not None:
            rule(fn, node)
        elif definition is None:
            raise CannotCompileError("it has no native form")
        else:
            _by_declaration(fn, node, definition)
    except CannotCompileError as reason:
        if len(fn.e.lines) != before or definition is None:
            raise
        known = len(fn.parts.exit_points)
        groups.operator(fn, node)
        for exit_point in fn.parts.exit_points[known:]:
            exit_point.reason = str(reason)


def _rule(fn: EmittedFunction, node: Node) -> Lowering | None:
    """The entry for a node, by its kind and by what its operands have become."""
    reps = [fn.values.get(v).rep for v in node.operands[:2]]
    if node.op in STRUCTURE:
        return STRUCTURE[node.op]
    if node.op == "^try":
        raise CannotCompileError("a try block, which is interpreted")
    if node.op.startswith("^"):
        return call
    if reps and isinstance(reps[0], Array | Element):
        return ON_TENSORS.get(node.op)
    if any(isinstance(r, Listed | Tupled) for r in reps):
        return ON_LISTS.get(node.op)
    return None


def _by_declaration(fn: EmittedFunction, node: Node, definition: OpDef) -> None:
    """A node by what its operator declares."""
    if pointwise.is_pointwise_on_elements(fn, node):
        pointwise.on_elements(fn, node)
    elif definition.name.partition("::")[2] in pointwise.FILLS:
        pointwise.filled(fn, node, definition)
    elif definition.name == "aten::arange":
        pointwise.arange(fn, node, definition)
    elif definition.name == "aten::linspace":
        pointwise.linspace(fn, node, definition)
    elif definition.name in ("aten::tensor", "aten::scalar_tensor"):
        pointwise.from_number(fn, node, definition)
    elif not writes.in_place(fn, node, definition):
        groups.operator(fn, node)


# -- structure --------------------------------------------------------------------------------------------------------


def _tuple(fn: EmittedFunction, node: Node) -> None:
    items = tuple(fn.values.get(v) for v in node.operands)
    result = TupleValue(items)
    fn.values.set_view(node.result(), result)


def _unpack(fn: EmittedFunction, node: Node) -> None:
    given = fn.values.get(node.operand(0))
    if isinstance(given, ListValue):
        wrong = fn.e.icmp("ne", lists.length(fn, given), number(len(node.results)))
        fn.exits.fail_if(wrong, node)
        for k, value in enumerate(node.results):
            fn.values.set_view(value, lists.item(fn, given, number(k)))
        return
    if not isinstance(given, TupleValue) or len(given.items) != len(node.results):
        raise CannotCompileError("a container whose length is not known or wrong")
    for value, item in zip(node.results, given.items, strict=True):
        fn.values.set_view(value, item)


def _tuple_index(fn: EmittedFunction, node: Node) -> None:
    given, at = fn.values.get(node.operand(0)), arrays.known_int(fn, node.operand(1))
    if not isinstance(given, TupleValue) or not -len(given.items) <= at < len(given.items):
        raise CannotCompileError("an index into a tuple that is not known")
    fn.values.set_view(node.result(), given.items[at])


def _range_length(fn: EmittedFunction, node: Node) -> None:
    e = fn.e
    low, high, step = (fn.values.index(v) for v in node.operands)
    known = memory.literal(step)
    if known is None or known == 0:
        fn.exits.fail_if(e.icmp("eq", step, number(0)), node)
    if known == 1:
        count = memory.subtract(e, high, low)
        size = e.select(e.icmp("slt", low, high), count, number(0))
        fn.values.set(node.result(), Scalar(Int(), size))
        return
    up = e.icmp("sgt", step, number(0))
    runs = e.select(up, e.icmp("slt", low, high), e.icmp("sgt", low, high))
    distance = e.select(up, e.binary("sub", high, low), e.binary("sub", low, high))
    stride = e.select(up, step, e.binary("sub", number(0), step))
    one_less = e.binary("sub", distance, number(1))
    # As unsigned numbers, so that ranges wider than 63 bits and the step -2**63 come out right.
    count = e.binary("add", e.binary("udiv", one_less, e.select(runs, stride, number(1))), number(1))
    fn.values.set(node.result(), Scalar(Int(), e.select(runs, count, number(0))))


def _derive_index(fn: EmittedFunction, node: Node) -> None:
    e = fn.e
    index, start, step = (fn.values.scalar(v) for v in node.operands)
    moves = memory.multiply(e, index.register, step.register)
    affine = None
    if fn.scope.iterations is not None:
        parts = [hoisted_bounds_checks.affine_of(fn, x) for x in (index, start, step)]
        affine = hoisted_bounds_checks.added(hoisted_bounds_checks.scaled(parts[0], parts[2]), parts[1])
    fn.values.set(node.result(), Scalar(Int(), memory.add(e, start.register, moves), affine))


def _is(fn: EmittedFunction, node: Node) -> None:
    a, b = fn.values.get(node.operand(0)), fn.values.get(node.operand(1))
    for x, y in ((a, b), (b, a)):
        if isinstance(y, FixedValue) and y.rep.value is None:
            if isinstance(x, OptionalValue):
                absent = fn.e.binary("xor", x.present, fn.e.like(x.present, 1))
                fn.values.set(node.result(), Scalar(Bool(), x.present if node.op.endswith("not__") else absent))
                return
            same = isinstance(x, FixedValue) and x.rep.value is None
            answer = same != node.op.endswith("not__")
            fn.values.set(node.result(), constant_of(answer))
            return
    raise CannotCompileError("identity of values")


def _min_max(fn: EmittedFunction, node: Node) -> None:
    """`min` and `max` of a list of known length, as the interpreter picks: the first of equals."""
    given = fn.values.get(node.operand(0))
    if isinstance(given, ListValue):
        list_folds.extreme(fn, node)
        return
    if not isinstance(given, TupleValue) or not given.items:
        raise CannotCompileError("of a list whose length is not known")
    e, best = fn.e, given.items[0]
    for item in given.items[1:]:
        assert isinstance(best, Scalar)
        assert isinstance(item, Scalar)
        if best.rep != item.rep:
            raise CannotCompileError("of numbers of several types")
        below = node.op == "prim::min"
        if isinstance(best.rep, Int):
            register = e.intrinsic("smin" if below else "smax", best.register, item.register)
        else:
            better = e.fcmp("olt" if below else "ogt", item.register, best.register)
            register = e.select(better, item.register, best.register)
        best = Scalar(best.rep, register)
    fn.values.set(node.result(), best)


def _length(fn: EmittedFunction, node: Node) -> None:
    fn.values.set(node.result(), Scalar(Int(), lists.length(fn, fn.values.get(node.operand(0)))))


def _unwrap(fn: EmittedFunction, node: Node) -> None:
    given = fn.values.get(node.operand(0))
    if isinstance(given, OptionalValue):
        fn.exits.fail_if(fn.e.binary("xor", given.present, fn.e.like(given.present, 1)), node)
        given = given.inner
    elif isinstance(given, FixedValue) and given.rep.value is None:
        raise CannotCompileError("None is unwrapped")
    fn.values.set_view(node.result(), given)


STRUCTURE: Mapping[str, Lowering] = {
    "prim::ListConstruct": lists.construct,
    "prim::TupleConstruct": _tuple,
    "prim::TupleUnpack": _unpack,
    "prim::ListUnpack": _unpack,
    "prim::TupleIndex": _tuple_index,
    "prim::FusionGroup": groups.group,
    "prim::CallFunction": calls.call,
    "prim::CallMethod": calls.call,
    "prim::min": _min_max,
    "prim::max": _min_max,
    "aten::__range_length": _range_length,
    "aten::__derive_index": _derive_index,
    "aten::__is__": _is,
    "aten::__isnot__": _is,
    "aten::_unwrap_optional": _unwrap,
}
"""Nodes that are no operators, or whose operands may be anything."""

ON_LISTS: Mapping[str, Lowering] = {
    "aten::__getitem__": lists.get_item,
    "aten::select": lists.get_item,
    "aten::_set_item": lists.set_item,
    "aten::append": lists.append,
    "aten::pop": list_changes.pop,
    "aten::Delete": list_changes.pop,
    "aten::insert": list_changes.insert,
    "aten::extend": list_changes.extend,
    "aten::add_": list_changes.extend,
    "aten::add": list_changes.concatenate,
    "aten::clear": list_changes.clear,
    "aten::reverse": list_changes.reverse,
    "aten::slice": list_changes.slice_,
    "aten::len": _length,
    "aten::sum": list_folds.total,
    "aten::any": list_folds.some_or_all,
    "aten::all": list_folds.some_or_all,
    "aten::__contains__": list_folds.contains,
    "aten::eq": list_folds.equal,
    "aten::ne": list_folds.equal,
    "aten::list": lists.copy,
    "aten::copy": lists.copy,
    "aten::mul": lists.repeat,
    "aten::cat": copies.cat,
    "aten::stack": copies.stack,
}
"""Operators on lists."""

ON_TENSORS: Mapping[str, Lowering] = {
    "aten::select": arrays.select,
    "aten::slice": arrays.slice_,
    "aten::transpose": arrays.transpose,
    "aten::swapaxes": arrays.transpose,
    "aten::swapdims": arrays.transpose,
    "aten::t": arrays.t,
    "aten::numpy_T": arrays.t,
    "aten::permute": arrays.permute,
    "aten::unsqueeze": arrays.unsqueeze,
    "aten::squeeze": arrays.squeeze,
    "aten::expand": arrays.expand,
    "aten::view": arrays.view,
    "aten::reshape": arrays.view,
    "aten::clone": copies.clone,
    "aten::contiguous": copies.contiguous,
    "aten::to": copies.convert,
    "aten::scatter": scatter.scatter,
    "aten::scatter_": scatter.scatter,
    "aten::scatter_add": scatter.scatter,
    "aten::scatter_add_": scatter.scatter,
    "aten::index_add": scatter.slices,
    "aten::index_add_": scatter.slices,
    "aten::index_copy": scatter.slices,
    "aten::index_copy_": scatter.slices,
    "aten::index_put": scatter.index_put,
    "aten::index_put_": element_indexes.index_put_,
    "aten::index": element_indexes.index,
    "aten::roll": gather.roll,
    "aten::flatten": gather.flatten,
    "aten::bincount": gather.bincount,
    "aten::equal": gather.equal,
    "aten::chunk": copies.chunk,
    "prim::ConstantChunk": copies.chunk,
    "aten::detach": arrays.same,
    "aten::alias": arrays.same,
    "aten::size": arrays.size,
    "prim::shape": arrays.size,
    "aten::is_contiguous": copies.is_contiguous,
    "aten::dim": arrays.dim,
    "aten::numel": arrays.numel,
    "aten::len": arrays.length,
    "prim::dtype": arrays.dtype_of,
    "prim::device": arrays.device_of,
    "aten::Int": lambda fn, node: arrays.to_number(fn, node, dtypes.int64),
    "aten::Float": lambda fn, node: arrays.to_number(fn, node, dtypes.float64),
    "aten::Bool": lambda fn, node: arrays.to_number(fn, node, dtypes.bool_),
    "aten::FloatImplicit": lambda fn, node: arrays.implicit(fn, node, dtypes.float64),
    "aten::IntImplicit": lambda fn, node: arrays.implicit(fn, node, dtypes.int64),
    "aten::item": lambda fn, node: arrays.to_number(fn, node, None),
    "aten::copy_": writes.copy_,
    "aten::fill_": writes.fill_,
    "aten::zero_": writes.fill_,
}
"""Operators on tensors without a Scalar meaning."""
