"""Graphs of Python code: nodes in order, made one by one, printed as text, tables and code.

>>> from flambeau import fx
>>> import operator
>>> graph = fx.Graph()
>>> x = graph.placeholder("x")
>>> _ = graph.output(graph.call_function(operator.add, (x, 1)))
>>> print(graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})
    return add
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

from flambeau.fx import python_code
from flambeau.fx.code_generation import CodeGen, RegisteredTransform, Transform
from flambeau.fx.names import Namespace, snake_case
from flambeau.fx.node import Node, argument_text, map_arg


class NodeList:
    """The nodes of a graph in order; `reversed` goes the other way. Nodes may be added and erased meanwhile."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        node = self._graph.root.after
        while node is not self._graph.root:
            following = node.after
            if not node.is_erased:
                yield node
                following = node.after
            node = following

    def __reversed__(self) -> Iterator[Node]:
        node = self._graph.root.before
        while node is not self._graph.root:
            before = node.before
            if not node.is_erased:
                yield node
            node = before

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Graph:
    """What a function does, as nodes in order: placeholders first, the output last.

    >>> import flambeau
    >>> graph = Graph()
    >>> x = graph.placeholder('x')
    >>> y = graph.call_method('relu', (x,))
    >>> _ = graph.output(y)
    >>> print(graph.python_code('self').src.strip())
    def forward(self, x):
        relu = x.relu();  x = None
        return relu
    """

    def __init__(self, owning_module: Any = None) -> None:
        self.root = Node(self, "", "output", "output", (), {})
        """Stands before the first and behind the last node."""
        self.owning_module = owning_module
        """The module whose submodules and parameters nodes name."""
        self._names = Namespace()
        self._insert_before: Node = self.root
        self.codegen = CodeGen()
        """Writes the function around its code."""

    @property
    def nodes(self) -> NodeList:
        """The nodes in order."""
        return NodeList(self)

    # Making nodes

    def create_node(
        self, op: str, target: Any, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        name: str | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A new node, where nodes are inserted at the moment: at the end, unless a block says otherwise.

        Args:
            op: what kind of step it is.
            target: what is called, or its name.
            args: arguments; values and nodes of this graph.
            kwargs: arguments by name.
            name: what the value is to be called, if that is free.
            type_expr: an annotation.

        Raises ValueError for an unknown kind, RuntimeError for nodes of another graph.
        """
        args, kwargs = args or (), kwargs or {}
        map_arg((args, kwargs), self._check_owner)
        candidate = name if name is not None else _candidate(op, target)
        node = Node(self, "", op, target, args, kwargs, type_expr)
        node.name = self._names.create(candidate, node)
        self._insert_before.prepend(node)
        return node

    def _check_owner(self, node: Node) -> Node:
        if node.graph is not self or node.is_erased:
            raise RuntimeError(f"Argument '{node}' of Node does not belong to this Graph, or was erased from it")
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An argument of the function."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A call of a submodule. Raises AttributeError if the module has none of that name."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the function returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """A copy of a node of another graph; `arg_transform` gives what stands for its arguments here."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(self, other: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copy all nodes of another graph but its output; what that returns. `val_map` is told what stands for what."""
        for node in other.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda one: val_map[one])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda one: val_map[one])
        return None

    # Changing

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out. Raises RuntimeError while it has users, or if it is of another graph."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase.is_erased:
            return
        to_erase.args, to_erase.kwargs = (), {}
        to_erase.unlink()
        to_erase.is_erased = True

    @contextmanager
    def _inserting(self, insertion_point: Node) -> Iterator[None]:
        before, self._insert_before = self._insert_before, insertion_point
        try:
            yield
        finally:
            self._insert_before = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """Within the block, new nodes go before a node; before all without."""
        if n is not None and n.graph is not self:
            raise ValueError("Node to insert before is not in graph.")
        return self._inserting(self.root.after if n is None else n)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Within the block, new nodes go behind a node; behind all without."""
        if n is not None and n.graph is not self:
            raise ValueError("Node to insert after is not in graph.")
        return self._inserting(self.root if n is None else n.after)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase nodes that nobody uses and that do nothing else; whether there were any."""
        is_impure = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not is_impure(node):
                self.erase_node(node)
                changed = True
        return changed

    # Looking

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, perhaps only those with a target."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node_or_none(self) -> Node | None:
        """The node that returns, if there is one."""
        last = self.root.before
        return last if last.op == "output" and last is not self.root else None

    def output_node(self) -> Node:
        """The node that returns. Raises RuntimeError without one."""
        node = self.output_node_or_none()
        if node is None:
            raise RuntimeError("the graph has no output node")
        return node

    def python_code(self, root_module: str = "self") -> python_code.PythonCode:
        """The source of the function, with what its global names mean."""
        return python_code.python_code(self, root_module)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have the function around the code written by `codegen`; see `code_generation`. Recompile the module then."""
        self.codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Transform | None], Transform]) -> RegisteredTransform:
        """Have the lines of the code changed before they are compiled: from now on, or within a block of the result.

        Args:
            make_transformer: given what changes them so far, or None, what changes them then: lines to lines.

        >>> from flambeau.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: x + 1)
        >>> _ = module.graph.on_generate_code(lambda before: lambda lines: ["print('begins')", *lines])
        >>> _ = module.recompile()
        >>> module(1)
        begins
        2
        """
        before = self.codegen._body_transformer
        self.codegen._body_transformer = make_transformer(before)
        return RegisteredTransform(self.codegen, before)

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, from the arguments of a call."""
        return self.codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What a call gives, from what the graph returns."""
        return self.codegen.process_outputs(out)

    def lint(self) -> None:
        """Check that nodes use only what is before them, that names differ, and that what they name is there.

        Raises RuntimeError, ValueError for a second output or no such submodule.
        """
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                _check_target(self.owning_module, node)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        print(self.table())

    def table(self) -> str:
        """The nodes as a table: kind, name, target, arguments."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        for node in self.nodes:
            texts = argument_text(node.args, ""), argument_text(node.kwargs, "")
            rows.append([node.op, node.name, node.target_text(), *texts])
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    def __str__(self) -> str:
        return "\n".join(["graph():", *(f"    {node.format_node()}" for node in self.nodes)])

    def __deepcopy__(self, memo: Any = None) -> Graph:
        copied = Graph(self.owning_module)
        copied.codegen = copy(self.codegen)
        values: dict[Node, Any] = {}
        output = copied.graph_copy(self, values, return_output_node=True)
        if output is not None:
            result, node = output
            values[node] = copied.output(result, node.type)
        return copied


def _candidate(op: str, target: Any) -> str:
    """What a value is called where nobody says: as what made it."""
    if op == "placeholder":
        return str(target).lstrip("*")
    text = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
    if hasattr(target, "overloadpacket"):
        text = target.overloadpacket.__name__
    text = text.replace(".", "_")
    if text.startswith("__") and text.endswith("__"):
        text = text[2:-2]
    return snake_case(text)


def _check_target(module: Any, node: Node) -> None:
    value = module
    for name in node.target.split("."):
        if not hasattr(value, name):
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {name} of {module}")
        value = getattr(value, name)
