"""Compute both sides of `and` and `or` where the second is cheap and cannot fail, so that no way branches.

```
%c : bool = prim::If(%a)                        %b : bool = aten::lt(%n, %m)
  block0():                                     %c : bool = aten::__and__(%a, %b)
    %b : bool = aten::lt(%n, %m)          →
    -> (%b)
  block1():
    -> (%false)
```

The condition of a loop such as `while i < n and x > limit` is then one straight line, which machine code tests at
once, and which other passes see through.
"""

from __future__ import annotations

from flambeau.analysis.effects import is_pure, may_raise, writes_memory
from flambeau.analysis.uninitialised import may_be_uninitialised
from flambeau.ir import constants
from flambeau.ir.clone import move_nodes
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.types import BOOL, BoolType, FloatType, IntType

LARGEST = 8
"""More operators than these are not computed in vain."""
_NUMBERS = (BoolType, FloatType, IntType)


def do(graph: Graph) -> bool:
    """Rewrite every `prim::If` of one bool that is True or False on one way; inner ones first."""
    branches = graph.find_all("prim::If")
    nothing = may_be_uninitialised(graph) if branches else set()
    rewritten = [_rewrite(node, nothing) for node in reversed(branches)]
    return any(rewritten)


def _rewrite(node: Node, nothing: set[Value]) -> bool:
    if len(node.results) != 1 or node.result().static_type != BOOL:
        return False
    known = [_known(block) for block in node.nested_blocks]
    if known[0] is None and known[1] is not None and _is_cheap(node.nested_blocks[0], nothing):
        _replace(node, node.nested_blocks[0], is_and=not known[1], is_negated=known[1])
    elif known[1] is None and known[0] is not None and _is_cheap(node.nested_blocks[1], nothing):
        _replace(node, node.nested_blocks[1], is_and=not known[0], is_negated=not known[0])
    else:
        return False
    return True


def _known(block: Block) -> bool | None:
    """What a block gives that computes nothing; None for any other."""
    (result,) = block.returns
    if not constants.is_constant(result) or any(n.op != constants.CONSTANT for n in block):
        return None
    return bool(constants.constant_value(result))


def _is_cheap(block: Block, nothing: set[Value]) -> bool:
    """Whether a block may as well run where it need not."""
    work = [n for n in block if n.op != constants.CONSTANT]
    if len(work) > LARGEST or not all(map(_is_harmless, work)):
        return False
    return not any(v in nothing for n in (*work, block.return_node) for v in n.operands)


def _is_harmless(node: Node) -> bool:
    if node.nested_blocks or not is_pure(node) or writes_memory(node) or may_raise(node):
        return False
    return all(isinstance(v.static_type, _NUMBERS) for v in node.results)


def _replace(node: Node, block: Block, *, is_and: bool, is_negated: bool) -> None:
    """The first condition, negated or not, and or or the second."""
    (second,) = move_nodes(block, node)
    graph = node.graph
    with graph.inserting(node), graph.at_range(node.range):
        first: Value = node.operand(0)
        if is_negated:
            first = graph.insert("aten::__not__", [first], [BOOL]).result()
        both = graph.insert("aten::__and__" if is_and else "aten::__or__", [first, second], [BOOL]).result()
    result = node.result()
    if result.has_name:
        name = result.name
        graph.rename(result, "")
        graph.rename(both, name)
    result.replace_uses_with(both)
    node.erase()
