"""Graphs as Python code.

>>> from flambeau import fx
>>> print(fx.symbolic_trace(lambda x: (x + 1).relu()).code.strip())
def forward(self, x):
    add = x + 1;  x = None
    relu = add.relu();  add = None
    return relu
"""

from __future__ import annotations

import builtins
import enum
import math
from collections.abc import Callable
from textwrap import indent
from typing import Any, NamedTuple

from flambeau.fx.code_generation import Written
from flambeau.fx.names import IN_PLACE, MAGIC, Namespace, is_magic, qualified_name
from flambeau.fx.node import Node, map_arg, type_text
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.formats import Layout, MemoryFormat


class PythonCode(NamedTuple):
    """The source of a function, and what its global names mean.

    >>> from flambeau.fx import symbolic_trace
    >>> code = symbolic_trace(lambda x: x.neg()).graph.python_code('self')
    >>> 'x.neg()' in code.src
    True
    """

    src: str
    globals: dict[str, Any]


class _Writer:
    def __init__(self, graph: Any, root: str) -> None:
        self.graph = graph
        self.root = root
        self.globals: dict[str, Any] = {}
        self.names = Namespace()
        for node in graph.nodes:
            self.names.create(node.name, node)

    def global_name(self, name: str, value: Any) -> str:
        """The name by which code reaches a value from outside."""
        if getattr(builtins, name, None) is value:
            return name
        module = name.partition(".")[0]
        if module in ("flambeau", "operator", "math") and "." in name:
            self.globals[module] = __import__(module)
            if _follow(self.globals[module], name.split(".")[1:]) is value:
                return name
        short = name.replace(".", "_")
        while self.globals.get(short, value) is not value:
            short += "_1"
        self.globals[short] = value
        return short

    def argument(self, value: Any) -> str:
        """An argument as code writes it."""
        if isinstance(value, Node):
            return value.name
        if isinstance(value, tuple):
            inner = ", ".join(map(self.argument, value))
            if hasattr(value, "_fields"):
                return f"{self.global_name(type_text(type(value)), type(value))}({inner})"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.argument, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.argument(one)}" for key, one in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({', '.join(self.argument(one) for one in (value.start, value.stop, value.step))})"
        return self.constant(value)

    def constant(self, value: Any) -> str:
        """A value that is in no graph: numbers and texts as they are, others by a global name."""
        if isinstance(value, float) and not math.isfinite(value):
            name = "nan" if math.isnan(value) else "inf"
            self.globals[name] = abs(value) if name == "inf" else value
            return f"-{name}" if value < 0 else name
        if isinstance(value, enum.Enum):
            return f"{self.global_name(type_text(type(value)), type(value))}.{value.name}"
        if isinstance(value, DType | Layout | MemoryFormat):
            return self.global_name(repr(value).replace("torch.", "flambeau."), value)
        if isinstance(value, Device):
            self.globals["device"] = Device
            return repr(value)
        if value is None or value is Ellipsis or isinstance(value, bool | int | float | complex | str | bytes):
            return repr(value)
        if isinstance(value, type) or callable(value):
            return self.global_name(type_text(value) if isinstance(value, type) else qualified_name(value), value)
        return repr(value)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        parts = [*map(self.argument, args), *(f"{key} = {self.argument(value)}" for key, value in kwargs.items())]
        return ", ".join(parts)

    def expression(self, node: Node) -> str:
        """What a node computes."""
        if node.op == "get_attr":
            return attribute(self.root, node.target)
        if node.op == "call_module":
            return f"{attribute(self.root, node.target)}({self.call(node.args, node.kwargs)})"
        if node.op == "call_method":
            receiver = self.argument(node.args[0])
            receiver = receiver if isinstance(node.args[0], Node) else f"({receiver})"
            return f"{receiver}.{node.target}({self.call(node.args[1:], node.kwargs)})"
        target = node.target
        if is_magic(target) and not node.kwargs and target.__name__ in MAGIC:
            return MAGIC[target.__name__].format(*map(self.argument, node.args))
        if target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{self.argument(node.args[0])}.{node.args[1]}"
        name = self.global_name(qualified_name(target), target)
        return f"{name}({self.call(node.args, node.kwargs)})"

    def statement(self, node: Node) -> str:
        """The line of a node."""
        if node.op == "output":
            return str(self.graph.codegen.generate_output(Written(self.argument(node.args[0]))))
        shown = "" if node.type is None else f" : {self.annotation(node.type)}"
        if node.op == "call_function" and is_magic(node.target) and node.target.__name__ in IN_PLACE:
            changed = IN_PLACE[node.target.__name__].format(*map(self.argument, node.args))
            return f"{changed};  {node.name}{shown} = {self.argument(node.args[0])}"
        return f"{node.name}{shown} = {self.expression(node)}"

    def annotation(self, type_: Any) -> str:
        """An annotation as code writes it."""
        return self.global_name(type_text(type_), type_) if isinstance(type_, type) else type_text(type_)

    def parameter(self, node: Node) -> str:
        """A placeholder in the signature."""
        shown = "" if node.type is None else f" : {self.annotation(node.type)}"
        default = f" = {self.argument(node.args[0])}" if node.args else ""
        return f"{node.target}{shown}{default}"


def _follow(value: Any, names: list[str]) -> Any:
    for name in names:
        value = getattr(value, name, None)
    return value


def attribute(root: str, target: str) -> str:
    """How code reads an attribute of an attribute, though a name in between may be a number.

    >>> attribute("self", "layers.0.weight")
    'getattr(self.layers, "0").weight'
    """
    text = root
    for name in target.split("."):
        text = f"{text}.{name}" if name.isidentifier() else f'getattr({text}, "{name}")'
    return text


def _last_uses(graph: Any) -> dict[Node, list[Node]]:
    """By node, the values that nobody uses behind it."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}

    def note(user: Node) -> Callable[[Node], Node]:
        def used(node: Node) -> Node:
            if node not in seen:
                seen.add(node)
                last.setdefault(user, []).append(node)
            return node

        return used

    for node in reversed(graph.nodes):
        map_arg((node.args, node.kwargs), note(node))
    return last


def python_code(graph: Any, root: str = "self") -> PythonCode:
    """The source of `forward`, with what its global names mean."""
    writer = _Writer(graph, root)
    last = _last_uses(graph)
    parameters: list[str] = []
    lines: list[str] = []
    renamed = ""
    for node in graph.nodes:
        if node.op == "placeholder":
            parameters.append(writer.parameter(node))
            plain = node.target.lstrip("*")
            if plain != node.name:
                renamed += f"    {node.name} = {plain}\n"
            continue
        line = writer.statement(node)
        if node.op == "output":
            lines.append(line)
            continue
        dead = [value.name for value in last.get(node, [])] + ([] if node.users else [node.name])
        line += f";  {' = '.join(dict.fromkeys(dead))} = None" if dead else ""
        lines.append(line)
    output = graph.output_node_or_none()
    returned = "" if output is None or output.type is None else f" -> {writer.annotation(output.type)}"
    writer.globals.update(graph.codegen.additional_globals())
    lines = graph.codegen.transformed([f"{line}\n" for line in lines])
    body = indent("".join(lines).rstrip("\n"), "    ") or "    pass"
    head = graph.codegen.gen_fn_def(parameters, returned)
    return PythonCode(f"\n\n\n{head}\n{renamed}{body}\n    ", writer.globals)
