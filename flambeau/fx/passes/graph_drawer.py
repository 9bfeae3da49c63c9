"""Graphs as pictures: text in the DOT language, which Graphviz and its viewers draw.

>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: x + 1)
>>> picture = FxGraphDrawer(traced, "sum").get_dot_graph()
>>> print(picture.to_string().splitlines()[0])
digraph "sum" {
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, argument_text, map_arg, type_text
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

_COLOURS: Final = {
    "placeholder": "AliceBlue", "get_attr": "LightYellow", "call_function": "PowderBlue", "call_method": "Thistle",
    "call_module": "LemonChiffon", "output": "PeachPuff",
}  # fmt: skip
_PLAIN_CONSTANTS: Final = ("in_channels", "out_channels", "kernel_size", "groups", "stride", "padding", "dilation")
_MOST: Final = 80
"""Letters of arguments that are shown."""


class DotGraph:
    """A picture in the DOT language: nodes with labels, and arrows between them.

    Args:
        name: what the graph is called.
        rankdir: the direction of the arrows: TB from the top to the bottom, LR from the left to the right.

    >>> picture = DotGraph("g")
    >>> picture.add_node("a", label="first")
    >>> picture.add_edge("a", "b")
    >>> print(picture.to_string(), end="")
    digraph "g" {
    rankdir=TB;
    "a" [label="first"];
    "a" -> "b";
    }
    """

    def __init__(self, name: str, rankdir: str = "TB") -> None:
        self.name = name
        self.rankdir = rankdir
        self._nodes: dict[str, dict[str, str]] = {}
        self._edges: list[tuple[str, str]] = []

    def add_node(self, name: str, **attributes: str) -> None:
        """A node with attributes of DOT: `label`, `shape`, `fillcolor`."""
        self._nodes[name] = attributes

    def add_edge(self, source: str, target: str) -> None:
        """An arrow."""
        self._edges.append((source, target))

    def get_node_list(self) -> list[str]:
        """The names of the nodes."""
        return list(self._nodes)

    def get_edge_list(self) -> list[tuple[str, str]]:
        """The arrows, as pairs of names."""
        return list(self._edges)

    def to_string(self) -> str:
        """The text."""
        lines = [f"digraph {_quoted(self.name)} {{", f"rankdir={self.rankdir};"]
        for name, attributes in self._nodes.items():
            listed = ", ".join(f"{key}={_quoted(value)}" for key, value in attributes.items())
            lines.append(f"{_quoted(name)} [{listed}];")
        lines += [f"{_quoted(source)} -> {_quoted(target)};" for source, target in self._edges]
        return "\n".join([*lines, "}"]) + "\n"

    def write(self, path: Any) -> None:
        """Write the text to a file: `dot -Tsvg graph.dot` draws it."""
        Path(path).write_text(self.to_string(), encoding="utf-8")

    write_raw = write
    write_dot = write


class FxGraphDrawer:
    """Draws the graph of a module, and those of graph modules that it calls.

    Args:
        graph_module: the module.
        name: what the picture is called.
        ignore_getattr: leave nodes out that read attributes.
        ignore_parameters_and_buffers: leave the state of submodules out of their labels.
        skip_node_names_in_args: show `...` where an argument is another node: arrows say which.
        rankdir: the direction of the arrows.

    >>> from flambeau import fx, nn
    >>> drawer = FxGraphDrawer(fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3))), "net")
    >>> drawer.get_dot_graph().get_edge_list()
    [('input_1', '_0'), ('_0', 'output')]
    """

    def __init__(
        self, graph_module: GraphModule, name: str, ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False, skip_node_names_in_args: bool = True, *, rankdir: str = "TB",
    ) -> None:  # fmt: skip
        self._name = name
        self._ignores_getattr = ignore_getattr
        self._ignores_state = ignore_parameters_and_buffers
        self._skips_names = skip_node_names_in_args
        self._rankdir = rankdir
        self._pictures = {name: self._drawn(graph_module, name)}
        for path, module in graph_module.named_modules():
            if path and isinstance(module, GraphModule):
                own = f"{name}_{path.replace('.', '_')}"
                self._pictures[own] = self._drawn(module, own)

    def get_dot_graph(self, submod_name: str | None = None) -> DotGraph:
        """The picture of the module; of one that it calls, by its name behind that of the whole."""
        return self._pictures[self._name if submod_name is None else submod_name]

    def get_main_dot_graph(self) -> DotGraph:
        """The picture of the module."""
        return self.get_dot_graph()

    def get_submod_dot_graph(self, submod_name: str) -> DotGraph:
        """The picture of a graph module that the module calls. Raises KeyError without one of the name."""
        return self._pictures[f"{self._name}_{submod_name.replace('.', '_')}"]

    def get_all_dot_graphs(self) -> dict[str, DotGraph]:
        """All pictures by their names."""
        return dict(self._pictures)

    def _drawn(self, module: GraphModule, name: str) -> DotGraph:
        picture = DotGraph(name, self._rankdir)
        for node in module.graph.nodes:
            if self._is_shown(node):
                label = "{" + "|".join(_escaped(line) for line in self._lines(module, node)) + "}"
                picture.add_node(
                    node.name, label=label, shape="record", style="filled,rounded", fillcolor=_COLOURS[node.op],
                    fontcolor="#000000",
                )  # fmt: skip
        for node in module.graph.nodes:
            for used in node.all_input_nodes:
                if self._is_shown(used) and self._is_shown(node):
                    picture.add_edge(used.name, node.name)
        return picture

    def _is_shown(self, node: Node) -> bool:
        return not (self._ignores_getattr and node.op == "get_attr")

    def _lines(self, root: Module, node: Node) -> list[str]:
        lines = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            lines += self._of_module(root.get_submodule(node.target))
        else:
            lines.append(f"target={node.target_text()}")
        if node.op in ("call_function", "call_method"):
            lines += [f"args={self._arguments(node.args)}", f"kwargs={self._arguments(node.kwargs)}"]
        if node.type is not None:
            lines.append(f"type={type_text(node.type)}")
        lines.append(f"num_users={len(node.users)}")
        return lines + _of_meta(node.meta.get("tensor_meta"))

    def _of_module(self, module: Module) -> list[str]:
        lines = [type(module).__name__]
        lines += [f"{name}={getattr(module, name)}" for name in _PLAIN_CONSTANTS if hasattr(module, name)]
        if not self._ignores_state:
            state = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
            lines += [f"{name}: {type_of_tensor(tensor)}" for name, tensor in state]
        return lines

    def _arguments(self, value: Any) -> str:
        shown = map_arg(value, lambda node: "...") if self._skips_names else value
        text = argument_text(shown)
        return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def type_of_tensor(tensor: Tensor) -> str:
    """Dtype and sizes of a tensor.

    >>> import flambeau
    >>> type_of_tensor(flambeau.ones(2, 3))
    'float32[2, 3]'
    """
    return f"{tensor.dtype.name}{list(tensor.shape)}"


def _of_meta(meta: Any) -> list[str]:
    """What shape propagation found of the value."""
    if not hasattr(meta, "dtype"):
        return []
    return [f"dtype={meta.dtype}", f"shape={tuple(meta.shape)}", f"stride={meta.stride}"]


def _escaped(text: str) -> str:
    """A text within a label: letters that say how labels are divided stand for themselves."""
    return "".join(f"\\{letter}" if letter in "{}|<>" else letter for letter in text)


def _quoted(text: str) -> str:
    inner = text.replace('"', '\\"').replace("\n", "\\l")
    return f'"{inner}"'
