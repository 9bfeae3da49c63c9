"""Operators whose gradient is that of others, as these others: the body that stands in for one is traced.

```
%y : Float(*, *) = aten::glu(%x, %1)     →     %a, %b = aten::chunk(%x, 2, 1); %s = aten::sigmoid(%b)
                                               %y : Float(*, *) = aten::mul(%a, %s)
```

What cannot be traced stays; what refuses its arguments (a mask and `is_causal`, in a branch that is not taken) stays,
and nothing flows back through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.proxies import ListProxy, NumberProxy, TensorProxy, UntraceableError
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.autograd.rule import gradient_of
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ops.families.composite import CompositeKernel
from flambeau.schema.gradient import Decomposed
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import TENSOR, ListType, TensorType

REFUSED: Final = (
    "the derivative of {operator} was not made, as it refused its arguments, which it takes now: {error}. Please "
    "report it; outside of a compiled function the gradient is there"
)


def do(graph: Graph, values: set[Value]) -> bool:
    """Decompose the operators whose operands are among `values`; whether there were any."""
    changed = False
    waiting = [(n, frozenset[str]()) for n in graph.listed_nodes() if any(v in values for v in n.operands)]
    sizes: SymbolicSizes | None = None
    while waiting:
        node, within = waiting.pop()
        definition = node.definition
        body = None if definition is None or definition.schema.is_mutable else _body(definition)
        if body is None or node.op in within:  # a norm that moves statistics has itself among its parts
            continue
        sizes = sizes or SymbolicSizes(graph)
        before = node.previous
        following = node.next or node.owner_block.return_node
        if _decompose(node, body, Builder(graph, sizes)):
            waiting += [(part, within | {node.op}) for part in _between(before, following)]
            changed = True
    return changed


def _body(definition: OpDef) -> Callable[..., Any] | None:
    """What stands in for an operator: takes operators, then the arguments in order."""
    gradient = gradient_of(definition)
    if isinstance(gradient, Decomposed):
        names = [gradient.first, *[a.name for a in definition.schema.arguments[1:]]]
        body = gradient.body
        return lambda f, *arguments: body(f, **dict(zip(names, arguments, strict=True)))
    if gradient is None and isinstance(definition.kernel, CompositeKernel):
        return definition.kernel.body
    return None


def _decompose(node: Node, body: Callable[..., Any], builder: Builder) -> bool:
    graph = node.graph
    before = node.previous
    try:
        with graph.inserting(node), graph.at_range(node.range):
            outcome = body(builder.operators, *[builder.proxy(v) for v in node.operands])
            results = [outcome] if len(node.results) == 1 else list(outcome)
            values = [_value(builder, item) for item in results]
    except UntraceableError:
        _erase_between(before, node)
        return False
    except RuntimeError as error:
        _erase_between(before, node)
        return _without_derivative(node, error)
    if len(values) != len(node.results):
        return False
    for old, new in zip(node.results, values, strict=True):
        if isinstance(new.static_type, TensorType) and new.static_type.dtype is None:
            new.set_type(old.static_type)  # of the same tensor
        old.replace_uses_with(new)
    node.erase()
    return True


def _without_derivative(node: Node, error: RuntimeError) -> bool:
    """Have nothing flow back through a node whose arguments its operator refuses, as it will when it runs, if it does:
    what gives no result has no derivative. If it gives one all the same, the run raises, rather than lose a gradient.
    """
    graph = node.graph
    following = node.next or node.owner_block.return_node
    with graph.inserting(following), graph.at_range(node.range):
        text = REFUSED.format(operator=node.op.partition("::")[2], error=error)
        graph.insert("prim::RaiseException", [insert_constant(graph, t) for t in (text, "builtins.RuntimeError")], [])
    with graph.inserting(node), graph.at_range(node.range):
        for index, value in enumerate(node.operands):
            if isinstance(value.static_type, TensorType):
                detached = graph.insert("aten::detach", (value,), (value.static_type,)).result()
                node.replace_operand(index, detached)
    return True


def _value(builder: Builder, item: Any) -> Value:
    if isinstance(item, TensorProxy | NumberProxy | ListProxy):
        value: Value = item.value
        return value
    if isinstance(item, Sequence):
        return builder.value(item, ListType(TENSOR))
    raise UntraceableError("a result that is no tensor")


def _between(before: Node | None, following: Node) -> list[Node]:
    """The nodes behind one, or from the start of the block, up to another."""
    nodes: list[Node] = []
    current = following.previous
    while current is not None and current is not before:
        nodes.append(current)
        current = current.previous
    return nodes


def _erase_between(before: Node | None, node: Node) -> None:
    """Remove what was inserted before a node, behind another."""
    for inserted in _between(before, node):
        inserted.erase()
