"""Write the body of a loop several times.

```
%3 : int = prim::Constant[value=2]()               %0 : int = prim::Constant[value=0]()
%y = prim::Loop(%3, %true, %x)                     %a : Tensor = aten::add(%x, %0, %1)
  block0(%i : int, %z : Tensor):             →     %i1 : int = prim::Constant[value=1]()
    %a : Tensor = aten::add(%z, %i, %1)            %y : Tensor = aten::add(%a, %i1, %1)
    -> (%true, %a)
```

Innermost `for` loops (the condition is always true) with a constant trip count go away if they are short; with
`partly`, others do eight iterations in one, and a second loop does what is left. Without it, short loops that may end
early, by `break`, go away too: each round is in a branch of the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ir import constants
from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import nodes_within
from flambeau.schema.types import BOOL, INT

FACTOR = 8
"""How many iterations of the loop one iteration of the unrolled loop does."""
MOST_ITERATIONS = 32
"""Longer loops are not unrolled whole."""
MOST_NODES = 256
"""No loop grows beyond this many nodes."""
MOST_ENDINGS = 8
"""Rounds of a loop that may end early which is written out, at most: their branches lie within each other."""


def do(graph: Graph, *, partly: bool = True) -> bool:
    """Unroll every innermost `for` loop; without `partly` only those with a small constant trip count, and then what is
    innermost without them.
    """
    changed = False
    loops = graph.find_all("prim::Loop")
    for loop in loops if partly else reversed(loops):
        if not is_for(loop) or not _is_innermost(loop):
            continue
        size = sum(1 for n in nodes_within(loop)) - 1
        if constants.is_constant(loop.operand(0)):
            changed = write_out(loop) or changed
        elif partly and size * FACTOR <= MOST_NODES:
            _unroll(loop)
            changed = True
    if not partly:
        for loop in reversed(graph.find_all("prim::Loop")):
            changed = (_is_innermost(loop) and not is_for(loop) and _write_endings(loop)) or changed
    return changed


def _is_innermost(loop: Node) -> bool:
    return not any(n.op == "prim::Loop" for n in nodes_within(loop) if n is not loop)


def is_for(loop: Node) -> bool:
    """Whether a loop ends only by its trip count."""
    conditions = (loop.operand(1), loop.nested_blocks[0].returns[0])
    return all(constants.is_constant(c) and constants.constant_value(c) is True for c in conditions)


def write_out(loop: Node, most_nodes: int = MOST_NODES) -> bool:
    """Write a `for` loop with a small constant trip count as so many copies of its body, of so many nodes in all; False
    for others."""
    size = sum(1 for n in nodes_within(loop)) - 1
    if not is_for(loop) or not constants.is_constant(loop.operand(0)):
        return False
    trip_count = max(constants.constant_value(loop.operand(0)), 0)
    if trip_count > MOST_ITERATIONS or trip_count * size > most_nodes:
        return False
    _write_rounds(loop, trip_count)
    return True


def _write_rounds(loop: Node, trip_count: int) -> None:
    graph = loop.graph
    carried: Sequence[Value] = loop.operands[2:]
    with graph.inserting(loop), graph.at_range(loop.range):
        for index in range(trip_count):
            _, *carried = _one_round(loop.nested_blocks[0], _counter(loop, index), carried, graph)
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_uses_with(value)
    loop.erase()


def _counter(loop: Node, index: int) -> Value | None:
    """The number of a round, where the body reads it."""
    return insert_constant(loop.graph, index) if loop.nested_blocks[0].parameters[0].is_used else None


def _write_endings(loop: Node) -> bool:
    """Write a loop that may end early, with a small constant trip count, as so many copies; False for others."""
    limit, condition = loop.operands[:2]
    if not constants.is_constant(limit) or not (
        constants.is_constant(condition) and constants.constant_value(condition) is True
    ):
        return False
    trip_count, size = constants.constant_value(limit), sum(1 for n in nodes_within(loop)) - 1
    if not 0 < trip_count <= MOST_ENDINGS or trip_count * size > MOST_NODES:
        return False
    with loop.graph.inserting(loop), loop.graph.at_range(loop.range):
        carried = _rounds_from(loop, 0, trip_count, loop.operands[2:])
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_uses_with(value)
    loop.erase()
    return True


def _rounds_from(loop: Node, index: int, trip_count: int, carried: Sequence[Value]) -> Sequence[Value]:
    """The rounds from one on, at the insertion point; what is carried behind them."""
    graph = loop.graph
    goes_on, *carried = _one_round(loop.nested_blocks[0], _counter(loop, index), carried, graph)
    if index + 1 == trip_count:
        return carried
    branch = graph.insert("prim::If", [goes_on], [v.static_type for v in loop.results])
    further, end = branch.add_block(), branch.add_block()
    with graph.inserting(further):
        behind = _rounds_from(loop, index + 1, trip_count, carried)
    for block, values in ((further, behind), (end, carried)):
        for value in values:
            block.add_return(value)
    return branch.results


def _one_round(body: Block, counter: Value | None, carried: Sequence[Value], graph: Graph) -> list[Value]:
    """A copy of the body at the insertion point; whether there is another round, and what it carries on."""
    copies: Copies = dict(zip(body.parameters[1:], carried, strict=True))
    if counter is not None:
        copies[body.parameters[0]] = counter
    for node in body:
        graph.insert_node(clone_node(node, graph, copies))
    return [copies.get(v, v) for v in body.returns]


def _unroll(loop: Node) -> None:
    """Eight iterations in one, as often as they fit into the trip count, then the loop itself for the rest."""
    graph, body = loop.graph, loop.nested_blocks[0]
    uses_counter = body.parameters[0].is_used
    with graph.inserting(loop), graph.at_range(loop.range):
        eight = insert_constant(graph, FACTOR)
        trips = graph.insert("prim::max", [loop.operand(0), insert_constant(graph, 0)], [INT]).result()
        often = graph.insert("aten::floordiv", [trips, eight], [INT]).result()
        types = [v.static_type for v in loop.results]
        fast = graph.insert("prim::Loop", [often, loop.operand(1), *loop.operands[2:]], types)
        done = graph.insert("aten::mul", [often, eight], [INT]).result()
        left = graph.insert("aten::sub", [trips, done], [INT]).result()
    _fill(fast.add_block(), body, loop.operand(1), eight, graph)
    loop.replace_operand(0, left)
    for index, value in enumerate(fast.results):
        loop.replace_operand(index + 2, value)
    if uses_counter:
        with graph.inserting(body.first or body.return_node), graph.at_range(loop.range):
            shifted = graph.insert("aten::add", [body.parameters[0], done], [INT])
        body.parameters[0].replace_uses_with(shifted.result())
        shifted.replace_operand(0, body.parameters[0])


def _fill(target: Block, body: Block, true: Value, eight: Value, graph: Graph) -> None:
    counter = target.add_parameter(INT)
    carried: Sequence[Value] = [target.add_parameter(v.static_type) for v in body.parameters[1:]]
    with graph.inserting(target):
        start = graph.insert("aten::mul", [counter, eight], [INT]).result() if body.parameters[0].is_used else None
        for index in range(FACTOR):
            at = start
            if start is not None and index:
                at = graph.insert("aten::add", [start, insert_constant(graph, index)], [INT]).result()
            _, *carried = _one_round(body, at, carried, graph)
    assert true.static_type == BOOL
    for value in (true, *carried):
        target.add_return(value)
