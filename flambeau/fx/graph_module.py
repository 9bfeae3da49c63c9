"""Modules whose `forward` is the code of a graph.

>>> from flambeau import fx
>>> import operator
>>> graph = fx.Graph()
>>> _ = graph.output(graph.call_function(operator.mul, (graph.placeholder("x"), 3)))
>>> module = GraphModule({}, graph)
>>> module(2)
6
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar, Final

from flambeau.fx.graph import Graph
from flambeau.fx.names import qualified_name
from flambeau.fx.node import Node, map_aggregate, map_arg
from flambeau.fx.package_writer import write_package
from flambeau.fx.tree_code_generation import PyTreeCodeGen, PyTreeInfo
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

NO_ROOT: Final = "Unsupported type {root} passed for root! It is a module, or a dict from names to what they mean"
NO_GRAPH: Final = "Expected a Graph instance, but got {kind}"
NOT_IN_ROOT: Final = "Node {node} referenced target {target} but that target was not provided in ``root``!"
_numbers: Final = itertools.count()


class NoGraphError(TypeError, AssertionError):
    """Raised where a module is given what is no graph."""


class GraphModule(Module):
    """A module made of a graph: its code is generated, and runs as any Python does.

    Args:
        root: the module that the graph names submodules and parameters of, or a dict from their names.
        graph: what `forward` does.
        class_name: what its class is called.

    Change `graph`, then call `recompile()`. Raises RuntimeError for a name that `root` does not have.

    >>> import flambeau
    >>> from flambeau.fx import symbolic_trace
    >>> module = symbolic_trace(flambeau.nn.Linear(2, 1))
    >>> isinstance(module, GraphModule), module(flambeau.ones(3, 2)).shape
    (True, flambeau.Size([3, 1]))
    """

    __jit_unused_properties__: ClassVar[list[str]] = ["graph", "code"]

    def __new__(cls, root: Any, graph: Graph, class_name: Any = "GraphModule", *args: Any, **kwargs: Any) -> Any:
        """Each has a class of its own, whose `forward` is its code; subclasses may take other arguments."""
        is_name = isinstance(class_name, str) and class_name.isidentifier()
        own = type(class_name if is_name else "GraphModule", (_base_of(cls),), {})
        return super().__new__(own)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        if not isinstance(root, Module | Mapping):
            raise RuntimeError(NO_ROOT.format(root=root))
        super().__init__()
        self.__dict__["_class_name"] = class_name
        self.meta: dict[str, Any] = {}
        """What passes want to remember of the whole."""
        if isinstance(root, Module):
            self.training = root.training
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attribute(root, self, node)
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def graph(self) -> Graph:
        """What it does. A graph that is assigned is compiled."""
        graph: Graph = self.__dict__["_graph"]
        return graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise NoGraphError(NO_GRAPH.format(kind=type(graph)))
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":
            type(self).graph.fset(self, value)  # type: ignore[attr-defined]
        else:
            super().__setattr__(name, value)

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return str(self.__dict__["_code"])

    def recompile(self) -> Any:
        """Generate the code of the graph again; to be called after the graph was changed."""
        written = self.graph.python_code("self")
        if isinstance(self.graph.codegen, PyTreeCodeGen):
            info = self.graph.codegen.pytree_info
            self.__dict__.update(_in_spec=info.in_spec, _out_spec=info.out_spec)
        self.__dict__["_code"] = written.src
        filename = f"<graph module {next(_numbers)}>"
        scope = {"__name__": "flambeau.fx.generated", **written.globals}
        source = written.src
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        exec(compile(source, filename, "exec"), scope)
        forward = scope["forward"]
        type(self).forward = forward
        return written

    def print_readable(self, print_output: bool = True) -> str:
        """The code as a class."""
        body = "\n".join(f"    {line}" for line in self.code.strip().splitlines())
        text = f"class {self.__dict__['_class_name']}(flambeau.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write a package that makes the module again: `from folder import FxModule; model = FxModule()`.

        Args:
            folder: where; it is made, where it is not there.
            module_name: what the class is called.

        Its state lies in `state_dict.pt`, submodules beside it. Raises ValueError for a name that is none.
        """
        write_package(self, Path(folder), module_name)

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module under a qualified name; whether that could be."""
        *path, name = target.split(".")
        parent: Any = self
        for part in path:
            if not hasattr(parent, part):
                setattr(parent, part, Module())
            parent = getattr(parent, part)
            if not isinstance(parent, Module):
                return False
        parent.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take a submodule away; whether there was one."""
        *path, name = target.split(".")
        parent: Any = self
        for part in path:
            parent = getattr(parent, part, None)
        if not isinstance(getattr(parent, name, None), Module):
            return False
        delattr(parent, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take submodules away that no node calls or reads."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[: k + 1]) for k in range(len(parts))}
                if node.op == "call_module":
                    below = self.get_submodule(node.target)
                    used |= {f"{node.target}.{name}" for name, _ in below.named_modules() if name}
        for name, _ in list(self.named_modules()):
            if name and name not in used:
                self.delete_submodule(name)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        root = Module()
        memo[id(self)] = copied = GraphModule({}, Graph(), self.__dict__["_class_name"])
        root.__dict__.update({k: deepcopy(v, memo) for k, v in self.__dict__.items() if k not in _OWN})
        for name, value in root.__dict__.items():
            copied.__dict__[name] = value
        copied.graph = deepcopy(self.graph)
        return copied

    def __copy__(self) -> GraphModule:
        return GraphModule(self, self.graph, self.__dict__["_class_name"])

    def __reduce__(self) -> Any:
        attributes = {k: v for k, v in self.__dict__.items() if k not in _OWN}
        codegen = self.graph.codegen
        info = codegen.pytree_info if isinstance(codegen, PyTreeCodeGen) else None
        return (_rebuilt, (attributes, self.__dict__["_class_name"], _nodes_of(self.graph), info))

    def __str__(self) -> str:
        return f"{super().__str__()}\n\n{self.code}"


_OWN: Final = ("_graph", "_code", "_class_name")


def _base_of(cls: type) -> type:
    """The class of graph modules itself, of one or of the class of one."""
    return next(base for base in cls.__mro__ if "forward" not in base.__dict__ or base is GraphModule)


def _nodes_of(graph: Graph) -> list[tuple[Any, ...]]:
    """The nodes as plain values: functions by where they are found."""
    numbers = {node: number for number, node in enumerate(graph.nodes)}

    def plain(value: Any) -> Any:
        return map_arg(value, lambda node: _Place(numbers[node]))

    rows = []
    for node in graph.nodes:
        target = node.target if isinstance(node.target, str) else _Named(qualified_name(node.target), node.target)
        rows.append((node.op, node.name, target, plain(node.args), plain(node.kwargs), node.type))
    return rows


class _Place:
    """Stands for a node in what is pickled."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Named:
    """A function in what is pickled: by its public name where it has one."""

    def __init__(self, name: str, function: Any) -> None:
        self.name = name
        self.function = function

    def __reduce__(self) -> Any:
        root = self.name.partition(".")[0]
        return (
            (_named, (self.name,)) if root in ("flambeau", "operator", "math") else (_Named, (self.name, self.function))
        )


def _named(name: str) -> _Named:
    value: Any = __import__(name.partition(".")[0])
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return _Named(name, value)


def _rebuilt(
    attributes: Mapping[str, Any], class_name: str, rows: list[tuple[Any, ...]], info: PyTreeInfo | None = None
) -> GraphModule:
    """The module that was pickled."""
    graph = Graph()
    nodes: list[Any] = []

    def node_of(value: Any) -> Any:
        return map_aggregate(value, lambda one: nodes[one.number] if isinstance(one, _Place) else one)

    for op, name, target, args, kwargs, type_ in rows:
        function = target.function if isinstance(target, _Named) else target
        nodes.append(graph.create_node(op, function, node_of(args), node_of(kwargs), name, type_))
    if info is not None:
        graph.set_codegen(PyTreeCodeGen(info))
    module = GraphModule({}, Graph(), class_name)
    module.__dict__.update(attributes)
    module.graph = graph
    return module


def _copy_attribute(root: Any, module: Module, node: Node) -> None:
    """Give a module what a node names: the same object that `root` has there."""
    target = node.target
    *path, name = target.split(".")
    source: Any = root
    if isinstance(root, Mapping):
        if target not in root:
            raise RuntimeError(NOT_IN_ROOT.format(node=node, target=target))
        value = root[target]
    else:
        for part in (*path, name):
            if not hasattr(source, part):
                raise RuntimeError(f"Node referenced target {target} but {type(root).__name__} has no attribute {part}")
            source = getattr(source, part)
        value = source
    parent: Any = module
    for part in path:
        if not hasattr(parent, part):
            parent.add_module(part, Module())
        parent = getattr(parent, part)
    if hasattr(parent, name) and getattr(parent, name) is value:
        return
    is_buffer = isinstance(value, Tensor) and name not in getattr(parent, "_parameters", {})
    if is_buffer and type(value).__name__ != "Parameter":
        parent.register_buffer(name, value)
    else:
        setattr(parent, name, value)
