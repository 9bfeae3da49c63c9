"""Bodies of generators, node by node: at a `^yield` they stop, to go on when the next item is asked for.

A `^try` whose body yields is gone through here too, so that what is raised at a `yield` reaches the handlers. Ending a
generator early is an exception at its `yield`, as in Python.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from flambeau.interpreter import structural
from flambeau.interpreter.compile import code_of
from flambeau.interpreter.machine import run
from flambeau.interpreter.reference import Environment, Evaluator
from flambeau.ir.graph import Block, Graph, Node
from flambeau.program.function import Function
from flambeau.program.generators import Closed
from flambeau.program.protected import HANDLED, Protected, class_of
from flambeau.util.errors import InternalError

Steps = Generator[Any, None, tuple[Any, ...]]
YIELD = "^yield"


class _Stepping(Evaluator):
    """The evaluator of graphs, in which blocks that yield are gone through step by step."""

    def __init__(self) -> None:
        super().__init__(check_types=False)
        self.yielding: dict[int, bool] = {}

    def yields(self, node: Node) -> bool:
        """Whether a node, or one inside of it, yields."""
        answer = self.yielding.get(id(node))
        if answer is None:
            answer = node.op == YIELD or any(self.yields(n) for block in node.nested_blocks for n in block)
            answer = answer or (_protected(node) is not None and self.graph_yields(_protected(node)))
            self.yielding[id(node)] = answer
        return answer

    def graph_yields(self, protected: Protected | None) -> bool:
        return protected is not None and any(self.yields(node) for node in protected.body.graph.body)

    def graph_steps(self, graph: Graph, inputs: Sequence[Any]) -> Steps:
        environment: Environment = dict(zip(graph.parameters, inputs, strict=True))
        return (yield from self.block_steps(graph.body, environment))

    def block_steps(self, block: Block, environment: Environment) -> Steps:
        for node in block:
            if not self.yields(node):
                self.run_node(node, environment)
                continue
            values = [environment[v] for v in node.operands]
            if node.op == YIELD:
                yield values[0]
                continue
            if node.op == "prim::If":
                results = yield from self.block_steps(node.nested_blocks[0 if values[0] else 1], environment)
            elif node.op == "prim::Loop":
                results = yield from self.loop_steps(node, values, environment)
            else:
                how = yield from self.try_steps(node.attribute("callable"), values)
                results = (how,)
            environment.update(zip(node.results, results, strict=True))
        return tuple(environment[v] for v in block.returns)

    def run_node(self, node: Node, environment: Environment) -> None:
        if node.op == "prim::Uninitialized":
            environment[node.result()] = None
            return
        results = self.node(node, [environment[v] for v in node.operands], environment)
        environment.update(zip(node.results, results, strict=True))

    def loop_steps(self, node: Node, values: list[Any], environment: Environment) -> Steps:
        limit, goes_on, *carried = values
        body = node.nested_blocks[0]
        count = 0
        while goes_on and count < limit:
            environment.update(zip(body.parameters, (count, *carried), strict=True))
            goes_on, *carried = yield from self.block_steps(body, environment)
            count += 1
        return tuple(carried)

    def try_steps(self, protected: Protected, values: list[Any]) -> Generator[Any, None, tuple[int, Any]]:
        entered = len(self.entered)
        try:
            (how,) = yield from self.graph_steps(protected.body.graph, values)
            result: tuple[int, Any] = how
            return result
        except InternalError:
            raise
        except BaseException as error:
            self.leave_from(entered)
            raised = class_of(error) if isinstance(error, Exception) else _class_of(error)
            for number, handler in enumerate(protected.handlers):
                if issubclass(raised, handler):
                    return HANDLED + number, error
            raise

    def call(self, node: Node, values: list[Any]) -> tuple[Any, ...]:
        """A call, which is the machine's: nothing in it yields."""
        named = node.op == "prim::CallMethod"
        callee: Any = structural.method_of(values, node.attribute("name")) if named else values.pop(0)
        if isinstance(callee, Function):
            return run(code_of(callee), values)
        return (structural.python_call(node, callee)(*values),)

    def leave_from(self, entered: int) -> None:
        """Leave the contexts that were entered since, the last first."""
        while len(self.entered) > entered:
            self.context("__exit__", [self.entered.pop(), None, None, None])


def _class_of(error: BaseException) -> type:
    return GeneratorExit if isinstance(error, Closed) else type(error)


def _protected(node: Node) -> Protected | None:
    marker = node.attributes.get("callable")
    return marker if isinstance(marker, Protected) else None


def run_suspended(body: Function, values: tuple[Any, ...]) -> Generator[Any, None, None]:
    """What the body of a generator yields, as it is asked for."""
    stepping = _Stepping()
    try:
        yield from stepping.graph_steps(body.graph, values)
    except BaseException:
        stepping.leave_from(0)
        raise
