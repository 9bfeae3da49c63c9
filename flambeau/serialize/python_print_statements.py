"""The statements of printed code: one per node that is not part of another's expression, and blocks for nested ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes.modified_loops import counts
from flambeau.schema.types import OptionalType, UnionType
from flambeau.serialize.python_print_expressions import Context, expression
from flambeau.serialize.python_print_inline import inline_nodes
from flambeau.serialize.python_print_names import Names
from flambeau.serialize.python_print_text import INDENT, Body, Tagged, separated

_LONG = 40
"""Expressions of this many characters, indentation included, get a line of their own."""
_NESTED_FUNCTIONS = {
    "prim::fork": ("__forked_function", "fork"),
    "prim::awaitable": ("__awaitable_function", "awaitable"),
}
"""What the function is called that a node's subgraph becomes, and what it is passed to."""


class Statements:
    """Writes the body of one function."""

    def __init__(self, body: Body, context: Context, graph: Graph) -> None:
        self.body = body
        self.context = context
        self.names = Names(nodes_of(graph))
        self._inline: set[Node] = set()
        self._shown: dict[Value, Tagged] = {}
        """What a value is written as: its variable or the expression that makes it."""
        self._waiting: list[Value] = []
        """What moves into an expression that is not written yet, in order of evaluation."""
        self._annotated: set[Value] = set()

    # -- values --------------------------------------------------------------------------------------------------------

    def bind(self, value: Value, name: str) -> None:
        """Let a value be written as this variable."""
        self._shown[value] = Tagged(name)

    def bind_new(self, values: Sequence[Value]) -> None:
        """Let each value be a new variable."""
        for value in values:
            self.bind(value, self.names.of(value))

    def use(self, value: Value) -> Tagged:
        """What to write where a value is used."""
        return self._shown[value]

    def uses(self, values: Sequence[Value]) -> list[str | Tagged]:
        return separated([self.use(v) for v in values])

    # -- functions and blocks ------------------------------------------------------------------------------------------

    def function_body(self, graph: Graph) -> None:
        """Constants that are too long to stand in expressions, the statements, and the return."""
        self._inline |= inline_nodes(graph.body)
        for node in _constants_in_order_of_use(graph.body):
            self.plain(node)
        self.block(graph.body, is_alone=not graph.returns)
        if graph.returns:
            self.body.line(graph.body.return_node.range, "return ", *self.uses(graph.returns))

    def block(self, block: Block, *, is_alone: bool) -> None:
        """The nodes of a block; `pass` when there are none and nothing else is written beside them."""
        if is_alone and block.first is None:
            self.body.line(None, "pass")
        for node in block:
            self.node(node)

    def indented(self, block: Block, targets: Sequence[Value], sources: Sequence[Value]) -> None:
        """A nested block that ends by assigning `sources` to `targets`."""
        self.body.depth += 1
        self.block(block, is_alone=not targets)
        self.assign(block.owner_node, targets, sources)
        self._waiting.clear()
        self.body.depth -= 1

    def assign(self, node: Node | None, targets: Sequence[Value], sources: Sequence[Value]) -> None:
        """All targets in one statement."""
        if not targets:
            return
        range_ = None if node is None else node.range
        self.body.line(range_, *self.uses(targets), self.annotation(targets), " = ", *self.uses(sources))

    def annotation(self, targets: Sequence[Value]) -> str:
        """The type behind a single target that may hold values of several; only where the variable is new."""
        if len(targets) != 1 or targets[0] in self._annotated:
            return ""
        if not isinstance(targets[0].static_type, OptionalType | UnionType):
            return ""
        self._annotated.add(targets[0])
        return f" : {targets[0].static_type.annotation}"

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def node(self, node: Node) -> None:
        """The statement of a node, or its expression kept for the node that uses it."""
        if node.op == CONSTANT:
            return
        if node not in self._inline:
            self._waiting.clear()
        match node.op:
            case "prim::If":
                self.conditional(node)
            case "prim::Loop":
                self.loop(node)
            case "prim::TupleUnpack" | "prim::ListUnpack":
                self.unpack(node)
            case "prim::SetAttr":
                self.body.line(
                    node.range, self.use(node.operand(0)), f".{node.attribute('name')} = ", self.use(node.operand(1))
                )
            case "prim::Enter":
                self.enter(node)
            case "prim::Exit":
                self.exit(node)
            case "prim::ModuleContainerIndex":
                self.container_item(node)
            case "prim::Closure":
                self.closure(node)
            case _ if node.op in _NESTED_FUNCTIONS and isinstance(node.attributes.get(SUBGRAPH), Graph):
                self.nested_function(node)
            case _:
                self.plain(node)

    def plain(self, node: Node) -> None:
        """An assignment of an expression, unless it moves into its user."""
        text = expression(node, [self.use(v) for v in node.operands], self.context)
        if node in self._inline and not (node.op == CONSTANT and self.is_long(text)):
            self.keep(node, text)
        else:
            self.define(node, text)

    def keep(self, node: Node, text: Tagged) -> None:
        """An expression for the node that uses it; too long a one gets a line, after all that must come before."""
        self._shown[node.result()] = text
        if node.op == CONSTANT:
            return
        self._waiting = [v for v in self._waiting if v not in node.operands]
        self._waiting.append(node.result())
        if self.is_long(text):
            for value in self._waiting:
                assert value.defining_node is not None
                self.define(value.defining_node, self.use(value))
            self._waiting.clear()

    def define(self, node: Node, text: Tagged) -> None:
        """An expression on a line of its own, assigned to the results of its node."""
        self.bind_new(node.results)
        left: list[str | Tagged] = []
        if node.results:
            left = [*self.uses(node.results), " = "]
        self.body.line(node.range, *left, text)

    def is_long(self, text: Tagged) -> bool:
        """Whether an expression needs its own line here."""
        return len(text) + len(INDENT) * self.body.depth >= _LONG

    # -- statements with a form of their own ---------------------------------------------------------------------------

    def conditional(self, node: Node) -> None:
        self.bind_new(node.results)
        then, otherwise = node.nested_blocks
        self.body.line(node.range, "if ", self.use(node.operand(0)), ":")
        self.indented(then, node.results, then.returns)
        self.body.line(node.range, "else:")
        self.indented(otherwise, node.results, otherwise.returns)

    def loop(self, node: Node) -> None:
        (block,) = node.nested_blocks
        counter, carried = block.parameters[0], block.parameters[1:]
        is_for = counts(node)
        self.bind_new(node.results)
        for inner, outer, initial in zip(carried, node.results, node.operands[2:], strict=True):
            self._shown[inner] = self.use(outer)
            self._annotated.add(inner)
            self.initial(node, outer, initial)
        self.bind_new([counter])
        if is_for:
            self.body.line(node.range, "for ", self.use(counter), " in range(", self.use(node.operand(0)), "):")
            self.indented(block, carried, block.returns[1:])
        else:
            self.assign(node, [counter], [node.operand(1)])
            self.body.line(node.range, "while ", self.use(counter), ":")
            self.indented(block, [counter, *carried], block.returns)

    def initial(self, node: Node, variable: Value, value: Value) -> None:
        """A loop's variable before the loop, with its type where the first value has another."""
        differs = variable.static_type != value.static_type or isinstance(variable.static_type, UnionType)
        annotation = f": {variable.static_type.annotation}" if differs else ""
        self.body.line(node.range, self.use(variable), annotation, " = ", self.use(value))

    def unpack(self, node: Node) -> None:
        self.bind_new(node.results)
        left = [*self.uses(node.results), ", = "] if node.results else []
        self.body.line(node.range, *left, self.use(node.operand(0)))

    def enter(self, node: Node) -> None:
        target = node.result()
        parts: list[str | Tagged] = ["with ", self.use(node.operand(0))]
        if target.is_used:
            self.bind_new([target])
            parts += [" as ", self.use(target)]
        self.body.line(node.range, *parts, ":")
        self.body.depth += 1

    def exit(self, node: Node) -> None:
        if node.previous is not None and node.previous.op == "prim::Enter":
            self.body.line(node.range, "pass")
        self.body.depth -= 1

    def container_item(self, node: Node) -> None:
        container, key = node.operands[:2]
        self.bind_new(node.results)
        annotation = f" : {node.result().static_type.annotation} = "
        self.body.line(node.range, self.use(node.result()), annotation, self.use(container), "[", self.use(key), "]")

    def closure(self, node: Node) -> None:
        """A function that is a value: a definition of the name of that value."""
        graph = node.attribute(SUBGRAPH)
        self.bind_new(node.results)
        self.bind_new(graph.parameters)
        parameters: list[str | Tagged] = []
        for value in graph.parameters:
            parameters += [", "] if parameters else []
            parameters += [self.use(value), f": {value.static_type.annotation}"]
        self.body.line(node.range, "def ", self.use(node.result()), "(", *parameters, "):")
        self._nested(graph)

    def _nested(self, graph: Graph) -> None:
        waiting, self._waiting = self._waiting, []
        self.body.depth += 1
        self.function_body(graph)
        self.body.depth -= 1
        self._waiting = waiting

    def nested_function(self, node: Node) -> None:
        function, call = _NESTED_FUNCTIONS[node.op]
        name = self.names.unique(function)
        graph = node.attribute(SUBGRAPH)
        self.body.line(node.range, f"def {name}():")
        for inner, outer in zip(graph.parameters, node.operands, strict=True):
            self._shown[inner] = self.use(outer)
        self._nested(graph)
        text = Tagged.of(node.range, f"{call}({name})")
        self.define(node, text)


def nodes_of(graph: Graph) -> Iterator[Node]:
    """The nodes at every depth, those of nested functions included."""
    for node in graph.all_nodes():
        yield node
        is_function = node.op in _NESTED_FUNCTIONS or node.op == "prim::Closure"
        if is_function and isinstance(node.attributes.get(SUBGRAPH), Graph):
            yield from nodes_of(node.attributes[SUBGRAPH])


def _constants_in_order_of_use(block: Block) -> list[Node]:
    """The constants that nodes at any depth use."""
    constants: dict[Node, None] = {}

    def visit(block: Block) -> None:
        for node in [*block, block.return_node]:
            for inner in node.nested_blocks:
                visit(inner)
            for value in node.operands:
                if value.defining_node is not None and value.defining_node.op == CONSTANT:
                    constants[value.defining_node] = None

    visit(block)
    return list(constants)
