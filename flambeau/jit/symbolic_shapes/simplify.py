"""Simplifies programs of sizes: no size is below 0, lists are literals, and checks are the operators' own.

>>> from flambeau.jit.torch_names.torch_passes import parse_ir
>>> graph = parse_ir('''graph(%x : int[]):
...   %0 : int = prim::Constant[value=0]()
...   %n : int = aten::__getitem__(%x, %0)
...   %m : int = prim::max(%n, %0)
...   return (%m)''')
>>> simplify(graph)
>>> [node.op for node in graph.nodes()]
['prim::Constant', 'aten::__getitem__']
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.effects import has_effect
from flambeau.executor.options import FOR_NATIVE_CODE
from flambeau.ir import constants
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import list_idioms, pipeline
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import INT, ListType

ROUNDS: Final = 8
_RAISE: Final = "prim::RaiseException"


def simplify(graph: Graph) -> None:
    """Fold what is known of sizes: what one round unrolls, the next one folds."""
    for _ in range(ROUNDS):
        before = str(graph)
        _write_out(graph)
        list_idioms.do(graph)
        for node in list(graph.all_nodes()):
            if node.is_inserted:
                _rewrite(graph, node)
        pipeline.optimise(graph, without=FOR_NATIVE_CODE)
        if str(graph) == before:
            return


def _write_out(graph: Graph) -> None:
    """Make lists of constants of constant lists, which what simplifies lists looks into."""
    for node in graph.find_all(CONSTANT):
        if node.result().static_type == ListType(INT):
            with graph.inserting(node):
                items = [insert_constant(graph, item) for item in node.attributes["value"]]
                sizes = graph.insert("prim::ListConstruct", items, [ListType(INT)]).result()
            node.result().replace_uses_with(sizes)
            node.erase()


def _rewrite(graph: Graph, node: Node) -> None:
    if node.op == "prim::If":
        if not node.results and _checks(node):
            node.erase()
        else:
            _choose(node)
        return
    rule = _of_numbers.get(node.op)
    if rule is None or len(node.operands) != 2 or any(v.static_type != INT for v in node.operands):
        return
    value = rule(*node.operands)
    if isinstance(value, bool):
        with graph.inserting(node):
            node.result().replace_uses_with(insert_constant(graph, value))
    elif value is not None:
        node.result().replace_uses_with(value)


def _checks(node: Node) -> bool:
    """Whether a branch does nothing but raise."""
    inner = [n for block in node.nested_blocks for n in block.walk()]
    does_nothing_else = all(n.op == _RAISE or n.nested_blocks or not has_effect(n) for n in inner)
    return does_nothing_else and any(n.op == _RAISE for n in inner)


def _choose(node: Node) -> None:
    """Take, of a choice between two sizes where they are equal, the one that is right where they are not."""
    asked = node.operand(0).defining_node
    if asked is None or asked.op != "aten::eq" or any(map(list, node.nested_blocks)):
        return
    pair = {_key(v) for v in asked.operands}
    then, otherwise = (block.returns for block in node.nested_blocks)
    for result, first, second in zip(node.results, then, otherwise, strict=True):
        if {_key(first), _key(second)} <= pair:
            result.replace_uses_with(second)


def _key(value: Value) -> object:
    return constants.constant_value(value) if constants.is_constant(value) else value


_of_numbers: RuleTable = RuleTable("what holds of it where operands are sizes")  # type: ignore[type-arg]


@_of_numbers("aten::ge")
def _is_at_least(left: Value, right: Value) -> bool | None:
    return True if _key(right) == 0 and _is_size(left) else None


@_of_numbers("aten::lt")
def _is_below(left: Value, right: Value) -> bool | None:
    return False if _key(right) == 0 and _is_size(left) else None


@_of_numbers("prim::max")
def _larger(left: Value, right: Value) -> Value | None:
    if left is right or (_key(right) == 0 and _is_size(left)):
        return left
    return right if _key(left) == 0 and _is_size(right) else None


@_of_numbers("prim::min")
def _smaller(left: Value, right: Value) -> Value | None:
    if left is right or (_key(left) == 0 and _is_size(right)):
        return left
    return right if _key(right) == 0 and _is_size(left) else None


_keeps_sizes: RuleTable = RuleTable("whether it gives a size, where operands are sizes")  # type: ignore[type-arg]


@_keeps_sizes("aten::add", "aten::mul", "prim::max", "prim::min")
def _of_both(node: Node) -> bool:
    return all(map(_is_size, node.operands))


@_keeps_sizes("aten::floordiv")
def _divided(node: Node) -> bool:
    return all(map(_is_size, node.operands))


@_keeps_sizes("aten::__getitem__")
def _item(node: Node) -> bool:
    return node.operand(0) in node.graph.parameters


def _is_size(value: Value) -> bool:
    """Whether a number is no less than 0, as sizes are and what is made of them."""
    if constants.is_constant(value):
        number = constants.constant_value(value)
        return isinstance(number, int) and number >= 0
    maker = value.defining_node
    rule = None if maker is None else _keeps_sizes.get(maker.op)
    return rule is not None and maker is not None and bool(rule(maker))
