"""The living definition of what a graph means: walk it, node by node, with a dict from values to results.

Slow and obvious on purpose. Every fast way to run a program is compared with it. Each result is checked against its
static type at once, so that an operator that breaks its word is found where it did.

>>> from flambeau.ir.graph import Graph
>>> from flambeau.schema.types import INT
>>> graph = Graph()
>>> n = graph.add_parameter(INT)
>>> graph.add_return(graph.insert("prim::TupleConstruct", [n, n]).result())
0
>>> evaluate(graph, [3], check_types=False)
((3, 3),)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.interpreter import structural
from flambeau.interpreter.awaiting import Await
from flambeau.interpreter.conform import conforms, kind_of
from flambeau.interpreter.future import Future
from flambeau.interpreter.literals import literal, python_function
from flambeau.interpreter.seldom import warn_once
from flambeau.ir import kinds
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.program import instances
from flambeau.program.function import Function
from flambeau.schema.types import TensorType
from flambeau.tensor import dispatch
from flambeau.util.depth import deep_recursion
from flambeau.util.errors import InternalError

Environment = dict[Value, Any]


class _Uninitialised:
    """The value of a variable on the paths where the program never looks at it."""

    def __repr__(self) -> str:
        return "<uninitialised>"


UNINITIALISED: Final = _Uninitialised()


@deep_recursion()
def evaluate(graph: Graph, inputs: Sequence[Any], *, check_types: bool = True) -> tuple[Any, ...]:
    """The results of a graph.

    Exceptions of operators come as they are, without a traceback of the program. Raises InternalError when a value is
    not of its type (unless `check_types` is off) and RuntimeError for a node that nothing can run.
    """
    evaluator = Evaluator(check_types)
    try:
        return evaluator.graph(graph, inputs)
    except BaseException:
        for context in reversed(evaluator.entered.copy()):
            evaluator.context("__exit__", [context, None, None, None])
        raise


class Evaluator:
    """Goes through one graph."""

    def __init__(self, check_types: bool) -> None:
        self.check_types = check_types
        self.entered: list[Any] = []
        """The contexts that were entered and not left, outermost first."""
        self.calls: tuple[Node, ...] = ()
        """The calls that are under way, outermost first."""
        self.warned: set[Any] = set()
        """The calls that led to each warning so far."""

    def graph(self, graph: Graph, inputs: Sequence[Any]) -> tuple[Any, ...]:
        if len(inputs) != len(graph.parameters):
            raise TypeError(f"{graph.name or 'the graph'} takes {len(graph.parameters)} values, not {len(inputs)}")
        environment: Environment = {}
        for value, argument in zip(graph.parameters, inputs, strict=True):
            self.define(environment, value, argument)
        return self.block(graph.body, environment)

    def define(self, environment: Environment, value: Value, result: Any) -> None:
        may_differ = result is UNINITIALISED or (result is None and _is_gradient(value))
        if self.check_types and not may_differ and not conforms(result, value.static_type):
            where = value.defining_node.op if value.defining_node is not None else "a parameter"
            text = f"%{value.name} : {value.static_type} from {where} is a {kind_of(result)}"
            raise InternalError("reference evaluator", text)
        environment[value] = result

    def block(self, block: Block, environment: Environment) -> tuple[Any, ...]:
        for node in block:
            if node.op == "prim::Uninitialized":
                environment[node.result()] = UNINITIALISED
                continue
            results = self.node(node, [environment[v] for v in node.operands], environment)
            for value, result in zip(node.results, results, strict=True):
                self.define(environment, value, result)
        return tuple(environment[v] for v in block.returns)

    def node(self, node: Node, values: list[Any], environment: Environment) -> tuple[Any, ...]:
        """The results of one node on its operands' values."""
        match node.op:
            case "prim::If":
                return self.block(node.nested_blocks[0 if values[0] else 1], environment)
            case "prim::Loop":
                return self.loop(node, values, environment)
            case "prim::GetAttr":
                return (instances.reader(node.attribute("name"))(values[0]),)
            case "prim::SetAttr":
                instances.writer(node.attribute("name"))(*values)
                return ()
            case "prim::Enter":
                entered = self.context("__enter__", values)
                self.entered.append(values[0])
                return (entered,)
            case "prim::Exit":
                self.entered.pop()
                self.context("__exit__", [*values, None, None, None])
                return ()
            case "prim::CallFunction" | "prim::CallMethod":
                return self.call(node, values)
            case "aten::warn" | "python::warn":
                written = node if node.range is None else (node.range, tuple(node.call_chain))
                warn_once(values[0], values[1], node.range, (*self.calls, written), self.warned)
                return ()
        rule = _STRUCTURAL.get(node.op)
        return self.operation(node, values) if rule is None else rule(node, values)

    def loop(self, node: Node, values: list[Any], environment: Environment) -> tuple[Any, ...]:
        limit, goes_on, *carried = values
        body = node.nested_blocks[0]
        count = 0
        while goes_on and count < limit:
            for parameter, value in zip(body.parameters, (count, *carried), strict=True):
                self.define(environment, parameter, value)
            goes_on, *carried = self.block(body, environment)
            count += 1
        return tuple(carried)

    def call(self, node: Node, values: list[Any]) -> tuple[Any, ...]:
        if node.op == "prim::CallMethod":
            callee: Any = structural.method_of(values, node.attribute("name"))
        else:
            callee = values.pop(0)
        if isinstance(callee, Function):
            before, self.calls = self.calls, (*self.calls, node)
            results = self.graph(callee.graph, values)
            self.calls = before
            return results
        return (structural.python_call(node, callee)(*values),)

    def context(self, method: str, values: list[Any]) -> Any:
        definition = instances.definition_of(values[0])
        if definition is not None:
            results = self.graph(definition.method(method).graph, values)
            return results[0] if results else None
        return (structural.enter if method == "__enter__" else structural.leave)(*values)

    def operation(self, node: Node, values: list[Any]) -> tuple[Any, ...]:
        """A node whose function depends on nothing but its attributes and the types of its operands."""
        maker = structural.MAKERS.get(node.op)
        if node.op.startswith("^"):
            result = structural.python_call(node, python_function(node))(*values)
        elif maker is not None:
            result = maker(node)(*values)
        elif node.op == "prim::fork":
            return (Future.of(lambda: _single(self.graph(node.attribute("Subgraph"), values))),)
        elif node.op == "prim::awaitable":
            return (Await(lambda *arguments: _single(self.graph(node.attribute("Subgraph"), arguments)), *values),)
        elif node.op in kinds.WAIT:
            result = values[0].wait()
        elif node.op == "prim::awaitable_nowait":
            result = Await.of(values[0])
        elif "Subgraph" in node.attributes:
            return self.graph(node.attribute("Subgraph"), values)
        elif "kernel" in node.attributes:
            result = node.attribute("kernel")(*values)
        elif node.definition is not None:
            result = dispatch.run(node.definition, values)
        else:
            raise structural.missing(node)
        if len(node.results) == 1:
            return (result,)
        return tuple(result) if node.results else ()


def _single(results: tuple[Any, ...]) -> Any:
    return results[0] if len(results) == 1 else results


# -- nodes that only make and take apart ------------------------------------------------------------------------------


def _tuple(node: Node, values: list[Any]) -> tuple[Any, ...]:
    make = structural.tuple_maker(node)
    return (tuple(values) if make is None else make(*values),)


def _unpacked(node: Node, values: list[Any]) -> tuple[Any, ...]:
    if len(values[0]) != len(node.results):
        raise RuntimeError(f"Expected {len(node.results)} elements in a list but found {len(values[0])}")
    return tuple(values[0])


def _unchanged(node: Node, values: list[Any]) -> tuple[Any, ...]:
    return tuple(values[: len(node.results)])


_STRUCTURAL: Final[Mapping[str, Callable[[Node, list[Any]], tuple[Any, ...]]]] = {
    "prim::Constant": lambda node, values: (literal(node),),
    "prim::TupleConstruct": _tuple,
    "prim::ListConstruct": lambda node, values: (values,),
    "prim::DictConstruct": lambda node, values: (dict(zip(values[::2], values[1::2], strict=True)),),
    "prim::TupleUnpack": _unpacked,
    "prim::ListUnpack": _unpacked,
    "prim::unchecked_cast": _unchanged,
    "prim::unchecked_unwrap_optional": _unchanged,
    "prim::profile": _unchanged,
    "prim::Guard": _unchanged,
}


def _is_gradient(value: Value) -> bool:
    """Whether a value may be a gradient that is not there, which is None."""
    nodes = value.owner_block.graph.all_nodes()
    return isinstance(value.static_type, TensorType) and any(n.op in _OF_GRADIENTS for n in nodes)


_OF_GRADIENTS: Final = frozenset({"prim::AutogradZero", "prim::AutogradAdd", "prim::AutogradAnyNonZero"})
