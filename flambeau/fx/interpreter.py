"""Running graphs a node at a time: to look at values, or to make other graphs of them.

>>> import flambeau
>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x: (x + 1).relu())
>>> Interpreter(traced).run(flambeau.tensor([-3.0, 1.0]))
tensor([0., 2.])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_arg
from flambeau.fx.proxy import Proxy
from flambeau.fx.traceback import set_current_meta
from flambeau.fx.tracer import Tracer
from flambeau.nn.module import Module

WHILE: Final = "While executing "


class Interpreter:
    """Runs the nodes of a graph in order. Subclasses change what a kind of node does.

    Args:
        module: the module that the graph belongs to.
        garbage_collect_values: let go of values after their last use.
        graph: another graph than the module's.

    >>> import flambeau
    >>> from flambeau.fx import symbolic_trace
    >>> class Loud(Interpreter):
    ...     def call_method(self, target, args, kwargs):
    ...         print('calls', target)
    ...         return super().call_method(target, args, kwargs)
    >>> Loud(symbolic_trace(lambda x: x.neg())).run(flambeau.ones(1))
    calls neg
    tensor([-1.])
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module: Module = module
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        """The values of nodes that somebody still uses."""
        self.garbage_collect_values = garbage_collect_values
        self._args: Iterator[Any] = iter(())

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph on arguments. Raises RuntimeError for too few. What a node raises says which node it was.

        Args:
            args: the arguments of the graph.
            initial_env: values of nodes that are not run.
            enable_io_processing: whether arguments and result go through the graph's `process_inputs` and
                `process_outputs`, as a call of its code has them.
        """
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.env = dict(initial_env or {})
        self._args = iter(args)
        last = self._last_uses() if self.garbage_collect_values else {}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                value = self.env[node] = self.run_node(node)
            except Exception as error:
                _tell_where(error, node)
                raise
            for dead in last.get(node, ()):
                self.env.pop(dead, None)
            if node.op == "output":
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on a list of arguments, which it empties: nobody else then keeps them in memory.

        Args:
            args_list: the arguments of the graph.
        """
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def _last_uses(self) -> dict[Node, list[Node]]:
        last: dict[Node, list[Node]] = {}
        for node in self.graph.nodes:
            users = list(node.users)
            if users:
                order = {one: k for k, one in enumerate(self.graph.nodes)} if len(users) > 1 else {}
                user = max(users, key=lambda one: order[one]) if order else users[0]
                last.setdefault(user, []).append(node)
        return last

    def run_node(self, n: Node) -> Any:
        """The value of a node."""
        with set_current_meta(n, type(self).__name__):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with values for nodes."""
        return self.map_nodes_to_values((n.args, n.kwargs), n)  # type: ignore[no-any-return]

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Values in place of nodes. Raises RuntimeError for a node that was not run."""

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose")
            return self.env[node]

        return map_arg(args, value_of)

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument, or its default; of `*args` all that are left, of `**kwargs` none.

        Raises RuntimeError without either.
        """
        if target.startswith("*"):
            return {} if target.startswith("**") else tuple(self._args)
        for value in self._args:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def fetch_attr(self, target: str) -> Any:
        """An attribute by its qualified name. Raises RuntimeError where there is none."""
        value: Any = self.module
        for number, name in enumerate(target.split(".")):
            if not hasattr(value, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(target.split('.')[: number + 1])}")
            value = getattr(value, name)
        return value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function gives."""
        return target(*args, **kwargs)

    def call_method(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a method of the first argument gives."""
        receiver, *rest = args
        return getattr(receiver, target)(*rest, **kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a submodule gives."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the graph returns."""
        return args[0]


def _tell_where(error: Exception, node: Node) -> None:
    """Have the text of an error end with the node that raised it, and where in the user's code that was, if known."""
    text = error.args[0] if error.args else ""
    if not isinstance(text, str) or WHILE in text or isinstance(error, KeyError):  # a KeyError shows its text quoted
        return
    origin = f"\nOriginal traceback:\n{node.stack_trace}" if node.stack_trace else ""
    error.args = (f"{text}\n\n{WHILE}{node.format_node()}{origin}", *error.args[1:])


class _TransformerTracer(Tracer):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.root = Module()

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """An interpreter whose values are proxies: what its methods do with them is a new graph.

    >>> import flambeau
    >>> from flambeau import fx
    >>> class Swapped(Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(flambeau.tanh if target is flambeau.relu else target, args, kwargs)
    >>> Swapped(fx.symbolic_trace(lambda x: flambeau.relu(x))).transform().code.strip().splitlines()[1]
    '    tanh = flambeau.tanh(x);  x = None'
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph.codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An argument of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute, read by the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a submodule by the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function by the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_proxies(result))
        return GraphModule(self.module, self.new_graph)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """As an interpreter does; arguments are those of the new graph."""
        return super().run(*args, initial_env=initial_env)


def map_proxies(value: Any) -> Any:
    """Values with nodes in place of proxies."""
    if isinstance(value, Proxy):
        return value.node
    if isinstance(value, tuple | list):
        return type(value)(map(map_proxies, value))
    return {k: map_proxies(v) for k, v in value.items()} if isinstance(value, dict) else value
