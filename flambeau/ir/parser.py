"""Text to graphs: everything that `printer` and TorchScript write, and hand-written text with types left out.

>>> graph = parse_ir('''
... graph(%x, %n : int):
...   %y : Tensor = aten::add(%x, %x, %n) # model.py:3:4
...   return (%y)
... ''')
>>> print(graph, end="")
graph(%x : Tensor,
      %n : int):
  %y : Tensor = aten::add(%x, %x, %n) # model.py:3:4
  return (%y)

A result that is written over another operand of the same node says so: `aten::relu(%x, out=%x)`. Operators that are
declared are given as many operands as one of their overloads takes.

Lines that hold only a comment, such as `# CHECK: aten::add`, are skipped, and indentation is free. Names of unknown
operators and attributes are taken as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from flambeau.ir.constant_parser import ConstantParser, MakeTensor
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.kinds import PYTHON_ARGUMENTS
from flambeau.ir.operands import problem_of_operands
from flambeau.ir.printer import SUBGRAPH
from flambeau.schema.lexer import Token, Tokens
from flambeau.schema.type_parser import NameLookup, TypeParser
from flambeau.schema.types import TENSOR, Type
from flambeau.util.depth import deep_recursion
from flambeau.util.source import SourceRange

_PLACE = re.compile(r"# (.*):(\d+):(\d+)\s*$")
_GROUP_SUFFIX = re.compile(r"_(\d+)$")
_NUMBER = re.compile(r"0|[1-9]\d{0,17}$")


@deep_recursion()
def parse_ir(
    text: str,
    parse_tensor_constants: MakeTensor | None = None,
    *,
    lookup: NameLookup | None = None,
    filename: str = "<string>",
) -> Graph:
    """The graph that `text` describes. Raises ParseError with the line and a mark under what is wrong.

    `parse_tensor_constants` makes tensors of tensor constants, given what the text says of them and the type of the
    constant; without it they stay a `TensorLiteral`. `lookup` finds the classes, interfaces, enums and named tuples of
    type names.

    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> graph.find('aten::neg').operand(0).name
    'x'
    """
    tokens = Tokens(text, filename, lines=True)
    parser = _Parser(tokens, lookup, parse_tensor_constants)
    parser.skip_lines()
    graph = parser.graph()
    parser.skip_lines()
    if tokens.current.kind != "end":
        tokens.fail(f"expected the end of the graph but found {tokens.shown()}")
    return graph


class _Parser:
    def __init__(self, tokens: Tokens, lookup: NameLookup | None, make_tensor: MakeTensor | None) -> None:
        self.tokens = tokens
        self.types = TypeParser(tokens, lookup)
        self.constants = ConstantParser(tokens, self.types, make_tensor)
        self.scopes: list[_Scope] = []

    # -- lines --------------------------------------------------------------------------------------------------------

    def skip_lines(self) -> None:
        """Go on to the next token that is neither the end of a line nor a comment."""
        while self.tokens.current.kind in ("newline", "comment"):
            self.tokens.next()

    def end_line(self) -> SourceRange | None:
        """Take the rest of a line: nothing, or a comment, whose place is returned if it names one."""
        comment = self.tokens.next() if self.tokens.current.kind == "comment" else None
        if self.tokens.current.kind not in ("newline", "end"):
            self.tokens.fail(f"expected the end of the line but found {self.tokens.shown()}")
        match = None if comment is None else _PLACE.match(comment.text)
        self.skip_lines()
        return None if match is None else SourceRange.at(match[1], int(match[2]), int(match[3]))

    def expect(self, text: str) -> Token:
        """Take this punctuation or word, on this or a later line."""
        self.skip_lines()
        return self.tokens.expect(text)

    # -- graphs and blocks --------------------------------------------------------------------------------------------

    def graph(self) -> Graph:
        self.expect("graph")
        graph = Graph()
        self.scopes.append(scope := _Scope(graph))
        self.parameters(graph.body)
        self.expect(":")
        self.end_line()
        self.body(graph.body, "return")
        self.tokens.expect("return")
        self.returns(graph.body)
        self.end_line()
        while (node := scope.next_group(self.defined())) is not None:
            self.subgraph(node)
        self.scopes.pop()
        return graph

    def defined(self) -> str:
        """The name in `with <name> =` if that comes next."""
        return self.tokens.peek().text if self.tokens.current.text == "with" else ""

    def subgraph(self, node: Node) -> None:
        self.tokens.next()
        self.tokens.next()
        self.tokens.expect("=")
        node.attributes = {SUBGRAPH: self.graph(), **node.attributes}
        node.op = _GROUP_SUFFIX.sub("", node.op)

    def parameters(self, block: Block) -> None:
        self.expect("(")
        self.listed(lambda: self.define(lambda type_: block.add_parameter(type_)))

    def returns(self, block: Block) -> None:
        self.expect("(")
        self.listed(lambda: block.add_return(self.operand()))

    def listed(self, one: Callable[[], object]) -> None:
        """`one` per item until the closing parenthesis, over several lines if need be."""
        self.skip_lines()
        while not self.tokens.accept(")"):
            one()
            self.skip_lines()
            if self.tokens.current.text != ")":
                self.tokens.expect(",")
                self.skip_lines()

    def body(self, block: Block, end: str) -> None:
        """Nodes, each with its blocks, up to the word that ends the body."""
        node: Node | None = None
        while True:
            self.skip_lines()
            current = self.tokens.current
            if current.text == end and current.kind in ("ident", "punct"):
                return
            if current.kind == "ident" and re.fullmatch(r"block\d+", current.text) and node is not None:
                self.block(node)
            elif current.kind == "value" or current.text == "=":
                node = self.node(block)
            else:
                self.tokens.fail(f"expected a node or '{end}' but found {self.tokens.shown()}")

    def block(self, node: Node) -> None:
        self.tokens.next()
        block = node.add_block()
        self.parameters(block)
        self.expect(":")
        self.end_line()
        self.body(block, "->")
        self.tokens.expect("->")
        self.returns(block)
        self.end_line()

    # -- nodes --------------------------------------------------------------------------------------------------------

    def node(self, block: Block) -> Node:
        graph = block.graph
        results: list[tuple[Token, Type]] = []
        while not self.tokens.accept("="):
            results.append(self.typed_name())
            if self.tokens.current.text != "=":
                self.tokens.expect(",")
                self.skip_lines()
        node = block.append(Node(graph, ""))
        start = self.tokens.current
        self.kind(node, results[0][1] if len(results) == 1 else None)
        self.expect("(")
        names: list[str] = []
        self.listed(lambda: names.append(self.named_operand(node)))
        end = self.tokens.peek(-1)
        if self.tokens.accept(","):
            node.scope = self.scope()
        node.range = self.end_line()
        for token, type_ in results:
            self.scopes[-1].define(node.add_result(type_), token, self.tokens)
        problem = problem_of_operands(node, names)
        if problem:
            self.tokens.fail(problem, start._replace(end=end.end))
        if _GROUP_SUFFIX.search(node.op):
            self.scopes[-1].candidates.append(node)
        return node

    def kind(self, node: Node, result: Type | None) -> None:
        """The operator's name, its attributes, and for a Python function its other arguments."""
        is_python = self.tokens.accept("^")
        name = self.tokens.expect_kind("ident", "the operator's name").text
        node.op = "^" + name if is_python else name
        if self.tokens.accept("["):
            self.attributes(node, result)
        if is_python:
            self.tokens.expect("(")
            if arguments := self.raw_until_closed():
                node.attributes[PYTHON_ARGUMENTS] = arguments
        if node.op == CONSTANT and "value" in node.attributes and result is not None:
            node.attributes["value"] = self.constants.fit(node.attributes["value"], result)

    def attributes(self, node: Node, result: Type | None) -> None:
        self.skip_lines()
        while not self.tokens.accept("]"):
            name = self.tokens.expect_kind("ident", "the attribute's name").text
            self.tokens.expect("=")
            after_sign = self.tokens.peek(-1).end
            node.attributes[name] = self.constants.value(after_sign, result if node.op == CONSTANT else None)
            self.skip_lines()
            if self.tokens.current.text != "]":
                self.tokens.expect(",")
                self.skip_lines()

    def raw_until_closed(self) -> str:
        """The text up to the parenthesis that closes the one just taken."""
        start, depth = self.tokens.current.start, 1
        while True:
            token = self.tokens.current
            if token.kind == "end":
                self.tokens.fail("expected ')' but found the end of the text")
            depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "punct" else 0
            if depth == 0:
                self.tokens.next()
                return (self.tokens.source.text or "")[start : token.start]
            self.tokens.next()

    def scope(self) -> str:
        """`scope: name`, where the name goes on to the comment or the end of the line."""
        self.tokens.expect("scope")
        self.tokens.expect(":")
        start = self.tokens.current.start
        while self.tokens.current.kind not in ("newline", "comment", "end"):
            self.tokens.next()
        return (self.tokens.source.text or "")[start : self.tokens.current.start].rstrip()

    # -- values -------------------------------------------------------------------------------------------------------

    def typed_name(self) -> tuple[Token, Type]:
        token = self.tokens.expect_kind("value", "a value such as %x")
        return token, self.types.type() if self.tokens.accept(":") else TENSOR

    def define(self, make: Callable[[Type], Value]) -> None:
        token, type_ = self.typed_name()
        self.scopes[-1].define(make(type_), token, self.tokens)

    def named_operand(self, node: Node) -> str:
        """Add an operand; its name in `out=%x`, empty for `%x`."""
        name = ""
        if self.tokens.current.kind == "ident":
            name = self.tokens.next().text
            self.tokens.expect("=")
        node.add_operand(self.operand())
        return name

    def operand(self) -> Value:
        token = self.tokens.current
        if token.kind != "value":
            self.tokens.fail(f"expected a value such as %x but found {self.tokens.shown()}")
        value = self.scopes[-1].values.get(token.text)
        if value is None:
            self.tokens.fail(f"{token.text} is used but not defined before")
        self.tokens.next()
        return value


class _Scope:
    """The values and the possible subgraph nodes of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: dict[str, Value] = {}
        self.candidates: list[Node] = []
        """Nodes whose kind ends in a number: `prim::fork_0` with a subgraph, or an operator that is called so."""
        self.groups = 0
        """How many subgraphs were read."""

    def define(self, value: Value, token: Token, tokens: Tokens) -> None:
        if token.text in self.values:
            tokens.fail(f"{token.text} is defined twice", token)
        name = token.text[1:]
        if _NUMBER.match(name):
            self.graph.number(value, int(name))
        else:
            self.graph.rename(value, name)
        self.values[token.text] = value

    def next_group(self, name: str) -> Node | None:
        """The node that the definition of `prim::fork_0` belongs to, if that is the next number of this graph."""
        if not name.endswith(f"_{self.groups}"):
            return None
        group = next((n for n in self.candidates if n.op == name), None)
        self.groups += group is not None
        return group
