"""Loops over `prange`: whether their iterations may run at the same time, and what they add up.

    for i in prange(n):           a `prim::Loop` with the attribute `parallel`
        y[i] = x[i] * 2           each iteration writes elements of its own
        total += x[i]             a reduction: every piece of the loop starts from 0, and the pieces are added in order
        last = i                  what the last iteration leaves

Everything else that one iteration hands to the next, and writes to the same elements by all, are refused where they
stand. That an iteration does not read what another one writes is the program's promise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Final

from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import is_within
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import INT, DictType, ListType
from flambeau.util.errors import CompileError

PARALLEL: Final = "parallel"
"""The attribute of such a loop."""
SUM: Final = "aten::add"
PRODUCT: Final = "aten::mul"
LEAST: Final = "prim::min"
GREATEST: Final = "prim::max"
ALL_BITS: Final = "aten::__and__"
ANY_BIT: Final = "aten::__or__"
ODD_BITS: Final = "aten::__xor__"
"""Totals, by the operators that combine those of two pieces."""
LAST = "last"
"""Of a variable that each iteration sets and none reads from the one before: the last iteration's value."""
SAME = "same"
"""What is said of a value that no iteration changes."""

LEFT = (
    "a loop over prange is left before its end: its iterations run at the same time, so that none is the last one; "
    "write range, or go on with `continue`"
)
CARRIED = (
    "{name} goes from one iteration of prange to the next, which run at the same time. What they may share is a sum "
    "(`{name} += ...`), a product, `{name} = min({name}, ...)` or max, and `&`, `|`, `^`, with no other use of {name} "
    "in the loop; else write range"
)
WRITTEN = (
    "every iteration of prange writes to the same elements here: they run at the same time, and which one comes last "
    "is chance. Write to elements that the loop's index chooses, as in y[i], to a row of each iteration's own that is "
    "summed behind the loop, or write range"
)
CHANGED = (
    "iterations of prange run at the same time, and {op} changes what they share, in the order in which they happen to "
    "come; write range"
)


def is_parallel(node: Node) -> bool:
    """Whether a node is a loop whose iterations may run at the same time."""
    return node.op == "prim::Loop" and node.attributes.get(PARALLEL) is not None


def check(graph: Graph) -> None:
    """Raise CompileError for the first loop over `prange` whose iterations need an order, at the cause."""
    for node in graph.find_all("prim::Loop"):
        if is_parallel(node):
            _check(node)


def reductions(loop: Node) -> list[str] | None:
    """What becomes of each variable that a loop carries; None where one of them needs the order of iterations."""
    (body,) = loop.nested_blocks
    if not _is_counted(loop):
        return None
    kinds = [reduction(p, r) for p, r in zip(body.parameters[1:], body.returns[1:], strict=True)]
    return [kind for kind in kinds if kind is not None] if None not in kinds else None


def reduction(parameter: Value, kept: Value) -> str | None:
    """What becomes of a variable that iterations find as `parameter` and leave as `kept`: `SUM` and the others, `LAST`
    or `SAME`; None where the order of iterations matters.
    """
    if kept is parameter:
        return SAME
    if not parameter.is_used:
        return LAST
    chain, kinds = {parameter}, set[str]()
    waiting = [parameter]
    while waiting:
        for use in waiting.pop().uses():
            following = _following(use.user, use.offset, kinds)
            if following is None:
                return None
            waiting += [v for v in following if v not in chain]
            chain.update(following)
    if len(kinds) != 1 or kept not in chain or not all(_is_whole(v, chain) for v in chain):
        return None
    return kinds.pop()


def _following(user: Node, offset: int, kinds: set[str]) -> list[Value] | None:
    """The values that hold the total behind one use of it; None where that use looks at the total."""
    owner = user.owner_block
    if user is owner.return_node:
        around = owner.owner_node
        if around is None or is_parallel(around):
            return []
        return [around.results[offset if around.op == "prim::If" else offset - 1]]
    if user.op == "prim::Loop" and offset >= 2:
        return [user.nested_blocks[0].parameters[offset - 1], user.results[offset - 2]]
    kind = totals[user.op](user, offset) if user.op in totals else None
    if kind is None or user.operands.count(user.operand(offset)) > 1:
        return None
    if kind != SAME:
        kinds.add(kind)
    return [user.result()]


totals: Final = RuleTable[Callable[[Node, int], str | None]]("what totals over iterations of `prange` are made of")
"""Registers, for an operator and the number of the operand that is the total so far, which total its result is: `SAME`
where it is the same number, None where it is none."""


@totals("aten::add")
def _added(node: Node, offset: int) -> str | None:
    return SUM if offset < 2 and _is_scaled_by_one(node) else None


@totals("aten::sub")
def _subtracted(node: Node, offset: int) -> str | None:
    return SUM if offset == 0 and _is_scaled_by_one(node) else None


@totals("prim::min", "prim::max")
def _least_or_greatest(node: Node, offset: int) -> str | None:
    # Python's `min(total, x)` is `prim::min(x, total)`. The other way round, nan makes it forget what came before.
    return node.op if offset == 1 or node.result().static_type == INT else None


@totals("aten::mul", "aten::__and__", "aten::__or__", "aten::__xor__")
def _its_own(node: Node, offset: int) -> str:
    return node.op


@totals("aten::FloatImplicit", "aten::IntImplicit", "aten::ScalarImplicit", "aten::Float", "aten::Int", "aten::Bool")
@totals("prim::NumToTensor", "prim::unchecked_cast")
def _converted(node: Node, offset: int) -> str:
    return SAME


def _is_scaled_by_one(node: Node) -> bool:
    """Whether an addition of tensors adds its second operand once."""
    if len(node.operands) < 3:
        return True
    alpha = node.operand(2)
    return is_constant(alpha) and constant_value(alpha) == 1


def _is_whole(value: Value, chain: Set[Value]) -> bool:
    """Whether what a branch or loop gives is a total on every way."""
    node = value.defining_node
    if node is not None and node.op == "prim::If":
        return all(b.returns[value.index] in chain for b in node.nested_blocks)
    if node is not None and node.op == "prim::Loop":
        return node.nested_blocks[0].returns[value.index + 1] in chain and node.operand(value.index + 2) in chain
    return True


def _check(loop: Node) -> None:
    (body,) = loop.nested_blocks
    if not _is_counted(loop):
        raise CompileError(LEFT, loop.range)
    own = _chosen_by_index(body)
    for node in body.walk():
        if node.op == "prim::SetAttr":
            raise CompileError(CHANGED.format(op="an assignment to an attribute"), node.range)
        for written in _written(node):
            if not _is_shared(written, body, own):
                continue
            if isinstance(written.static_type, ListType | DictType) and not _sets_item(node):
                raise CompileError(CHANGED.format(op=f"`{node.op.rpartition('::')[2]}`"), node.range)
            if not any(v in own for v in _indexes(node)):
                raise CompileError(WRITTEN, node.range)
    for parameter, kept in zip(body.parameters[1:], body.returns[1:], strict=True):
        if reduction(parameter, kept) is None:
            where = kept.defining_node or loop
            raise CompileError(CARRIED.format(name=parameter.name.partition(".")[0]), where.range)


def _sets_item(node: Node) -> bool:
    """Whether a list gets an item in the place of another."""
    return node.op == "aten::_set_item" and isinstance(node.operand(0).static_type, ListType)


def _indexes(node: Node) -> Sequence[Value]:
    """The operands that say which items or elements are written."""
    return chosen[node.op](node) if node.op in chosen else ()


chosen: Final = RuleTable[Callable[[Node], Sequence[Value]]]("operands that choose what is written")
"""Registers which operands of an operator that writes say where."""


@chosen("aten::_set_item", "aten::index_put_", "aten::_index_put_impl_", "aten::put_", "aten::masked_fill_")
def _second(node: Node) -> Sequence[Value]:
    return node.operands[1:2] if not isinstance(node.operand(0).static_type, DictType) else ()


@chosen("aten::index_fill_", "aten::index_copy_", "aten::scatter_")
def _third(node: Node) -> Sequence[Value]:
    return node.operands[2:3]


def _written(node: Node) -> list[Value]:
    """The operands that a node writes to."""
    definition = node.definition
    if definition is None:
        return []
    arguments = definition.schema.arguments
    return [v for v, a in zip(node.operands, arguments, strict=False) if a.alias is not None and a.alias.is_write]


def _is_shared(value: Value, body: Block, own: Set[Value]) -> bool:
    """Whether all iterations have this memory, or part of a container: no index of their own leads to it."""
    node = value.defining_node
    if node is None:
        return value.owner_block is body or not is_within(value.owner_block, body)
    if not is_within(node.owner_block, body):
        return True
    if node.op == "prim::If":
        return any(_is_shared(b.returns[value.index], body, own) for b in node.nested_blocks)
    base = _base(value, node)
    if base is None or any(v in own for v in node.operands if v is not base):
        return False
    return _is_shared(base, body, own)


def _base(value: Value, node: Node) -> Value | None:
    """The operand whose memory a result shares; None for new memory."""
    definition = node.definition
    if definition is None or value.index >= len(definition.schema.returns):
        return None
    alias = definition.schema.returns[value.index].alias
    if alias is None:
        return None
    pairs = zip(node.operands, definition.schema.arguments, strict=False)
    return next((v for v, a in pairs if a.alias is not None and not set(a.alias.before).isdisjoint(alias.before)), None)


def _chosen_by_index(body: Block) -> set[Value]:
    """The values that differ between iterations because the index does."""
    own = {body.parameters[0]}
    for node in body.walk():
        if node.op == "prim::If":
            chosen = node.operand(0) in own or _returns_one_of(node, own)
        else:
            chosen = not node.nested_blocks and any(v in own for v in node.operands)
        if chosen:
            own.update(node.results)
    return own


def _returns_one_of(node: Node, own: Set[Value]) -> bool:
    return any(v in own for block in node.nested_blocks for v in block.returns)


def _is_counted(loop: Node) -> bool:
    """Whether a loop runs all its iterations."""
    return _is_true(loop.operand(1)) and _is_true(loop.nested_blocks[0].returns[0])


def _is_true(value: Value) -> bool:
    """Whether a condition holds on every way."""
    node = value.defining_node
    if node is not None and node.op == "prim::If":
        return all(_is_true(block.returns[value.index]) for block in node.nested_blocks)
    return is_constant(value) and constant_value(value) is True
