"""Write `try` blocks as branches where tests tell beforehand what a handler would take.

%o = ^try(%a, %b)                      %zero = aten::eq(%b, 0)
%how, %what = prim::TupleUnpack(%o)    %how = prim::If(%zero)
                                  →      block0: -> (10)
                                         block1: %q = aten::floordiv(%a, %b)  -> (0)

The body is then a part of the graph as any other: native where its operators are, and interpreted without a call. A
body with operators of which only running them tells (`failures`), and one whose exception somebody looks at or raises
again, stays a function that Python calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis import shapes
from flambeau.ir import constants
from flambeau.ir.clone import Copies, clone_graph, insert_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import constant_propagation, inline
from flambeau.passes.try_blocks import cells
from flambeau.passes.try_blocks.failures import has_no_rule
from flambeau.passes.try_blocks.outcomes import OUTCOME, Outcomes, remove_whole
from flambeau.passes.try_blocks.ways import FINE, Ways, cannot_tell
from flambeau.program.protected import Protected
from flambeau.schema.types import BOOL, INT, Type

TRY, CAST = "^try", "prim::unchecked_cast"


def do(graph: Graph) -> bool:
    """Rewrite every `try` block that can be; whether there was one."""
    blocks = graph.find_all(TRY)
    if not blocks:
        return False
    known = operand_types(graph, blocks)
    lowered = [_lower(node, types) for node, types in zip(blocks, known, strict=True)]
    if any(lowered):
        cells.do(graph)
    return any(lowered)


def _lower(node: Node, known: Sequence[Type]) -> bool:
    what = _what(node)
    protected = node.attributes.get("callable")
    if what is None or not isinstance(protected, Protected) or node.result().static_type != OUTCOME:
        return False
    casts = [use.user for use in what.uses() if use.user.op == CAST]
    types: list[Type] = list(dict.fromkeys(cast.result().static_type for cast in casts))
    body = _body(protected, known)
    if cannot_tell(body.body, protected.handlers) is not None:
        return False
    how, *parts = _inserted(node, protected, body, types)
    (unpack,) = (use.user for use in node.result().uses())
    for use in what.uses():
        if use.user.op != CAST:
            use.user.erase()
    for cast in casts:
        cast.result().replace_uses_with(parts[types.index(cast.result().static_type)])
        cast.erase()
    unpack.result(0).replace_uses_with(how)
    unpack.erase()
    node.erase()
    return True


def why_not(node: Node) -> Node | None:
    """Of a `try` that stays a call, the node in it of which nobody can tell beforehand whether it raises.

    Those of which ranks and dtypes tell are blamed last: with the call in the graph nothing is known of these.
    """
    protected = node.attributes.get("callable")
    if not isinstance(protected, Protected):
        return None
    (known,) = operand_types(node.graph, (node,))
    body = _body(protected, known).body
    return cannot_tell(body, protected.handlers, is_blamed=has_no_rule) or cannot_tell(body, protected.handlers)


def _what(node: Node) -> Value | None:
    """The second part of an outcome, if it is only taken for values that the body gives, or worded for nobody."""
    uses = node.result().uses()
    if len(uses) != 1 or uses[0].user.op != "prim::TupleUnpack":
        return None
    what = uses[0].user.result(1)
    is_only_taken = all(use.user.op == CAST or _is_unread(use.user) for use in what.uses())
    return what if is_only_taken else None


def _is_unread(node: Node) -> bool:
    return node.op == "^text" and not node.result().is_used


def _body(protected: Protected, known: Sequence[Type]) -> Graph:
    """The body with what is known of its operands, its calls inlined and its own `try` blocks rewritten."""
    body = clone_graph(protected.body.graph)
    for parameter, type_ in zip(body.parameters, known, strict=True):
        parameter.set_type(type_)
    inline.do(body, is_folding=True)
    constant_propagation.do(body, values_only=True)
    do(body)
    shapes.propagate(body)
    return body


def operand_types(graph: Graph, blocks: Sequence[Node]) -> list[list[Type]]:
    """What is known of the operands of `try` blocks, with their bodies in the places of the calls: a call might resize
    whatever it is given.
    """
    copies: Copies = {}
    seen = clone_graph(graph, copies)
    while (node := seen.find(TRY)) is not None:
        protected = node.attributes.get("callable")
        if not isinstance(protected, Protected):
            return [[v.static_type for v in block.operands] for block in blocks]
        with seen.inserting(node):
            insert_graph(seen, protected.body.graph, node.operands)
            ended = seen.insert("prim::Uninitialized", (), (OUTCOME,)).result()
        node.result().replace_uses_with(ended)
        node.erase()
    inline.do(seen)
    shapes.propagate(seen)
    return [[copies.get(v, v).static_type for v in block.operands] for block in blocks]


def _inserted(node: Node, protected: Protected, body: Graph, types: list[Type]) -> list[Value]:
    """Structure a body and put it before its `try`: how it ended, and what it gives, as each of the types."""
    with body.inserting(body.body.first or body.body.return_node):
        outcomes = Outcomes(body, types)
    outcomes.split(body.body)
    body.body.return_node.set_operands(outcomes.parts_of(body.returns[0]))
    remove_whole(body.body)
    is_left = Ways(body, protected.handlers).run(body.body)
    graph = node.graph
    with graph.inserting(node), graph.at_range(node.range):
        how, *parts = insert_graph(graph, body, node.operands)
        if is_left:
            how = _chosen(graph, parts.pop(), how)
    return [how, *parts]


def _chosen(graph: Graph, failed: Value, how: Value) -> Value:
    """The number of the handler if there is one, else how the body ended by itself."""
    zero = constants.insert_constant(graph, FINE)
    choice = graph.insert("prim::If", (graph.insert("aten::ne", (failed, zero), (BOOL,)).result(),), (INT,))
    choice.add_block().add_return(failed)
    choice.add_block().add_return(how)
    return choice.result()
