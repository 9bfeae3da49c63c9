"""One step of a graph of Python code: what is called, with what, and who uses the result."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any, Final, TypeVar

from flambeau.fx import operator_schemas
from flambeau.fx.immutable_collections import frozen
from flambeau.fx.names import qualified_name
from flambeau.tensor.assertion import _assert
from flambeau.tensor.size import Size

F = TypeVar("F", bound=Callable[..., Any])
KINDS: Final = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")


def map_arg(value: Any, function: Callable[[Node], Any]) -> Any:
    """A value with what `function` gives in place of each node in it.

    >>> map_arg([1, (2, None)], lambda node: 0)
    [1, (2, None)]
    """
    return map_aggregate(value, lambda one: function(one) if isinstance(one, Node) else one)


def map_aggregate(value: Any, function: Callable[[Any], Any]) -> Any:
    """Lists, tuples, dicts and slices with what `function` gives for each of their elements."""
    if isinstance(value, tuple):
        parts = [map_aggregate(one, function) for one in value]
        if isinstance(value, Size):
            return tuple(parts)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [map_aggregate(one, function) for one in value]
    if isinstance(value, dict):
        return {key: map_aggregate(one, function) for key, one in value.items()}
    if isinstance(value, slice):
        return slice(*[map_aggregate(one, function) for one in (value.start, value.stop, value.step)])
    return function(value)


_WITH_EFFECTS: Final[set[Any]] = {operator.setitem, builtins.setattr, builtins.print, _assert}
"""Functions that are called for what they do."""


def has_side_effect(fn: F) -> F:
    """A decorator: calls of the function stay in graphs, though nobody uses what they give.

    >>> from flambeau import fx
    >>> @has_side_effect
    ... def note(x):
    ...     print("seen", x)
    >>> graph = fx.Graph()
    >>> _ = graph.call_function(note, (graph.placeholder("x"),))
    >>> _ = graph.output(None)
    >>> graph.eliminate_dead_code()
    False
    """
    _WITH_EFFECTS.add(fn)
    return fn


class Node:
    """A step of a graph. Nodes of a graph are in order; arguments are nodes before it, or plain values.

    `op` says what it does: `placeholder` is an argument of the function, `get_attr` reads `target` of the module,
    `call_function` calls `target`, `call_method` the method named `target` of its first argument, `call_module` the
    submodule named `target`, and `output` returns `args[0]`.

    >>> from flambeau.fx import symbolic_trace
    >>> node = list(symbolic_trace(lambda x: x.neg()).graph.nodes)[1]
    >>> node.op, node.target, node.args
    ('call_method', 'neg', (x,))
    """

    def __init__(
        self, graph: Any, name: str, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:  # fmt: skip
        if op not in KINDS:
            raise ValueError(f"a node of a graph is one of {', '.join(KINDS)}; not {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target!r} has type {type(target)}")
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(f"Node [name = '{name}'] target {target!r} has type {type(target)} but a str is expected")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.users: dict[Node, None] = {}
        """Nodes that have it among their arguments, in order."""
        self.type = return_type
        self.meta: dict[str, Any] = {}
        """What passes want to remember."""
        self.before: Node = self
        self.after: Node = self
        self.is_erased = False
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self._set(args, kwargs)

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for used in self._inputs:
            used.users.pop(self, None)
        self._inputs = {}

        def note(node: Node) -> Node:
            self._inputs.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = frozen(map_arg(tuple(args), note))
        self._kwargs = frozen(map_arg(dict(kwargs), note))

    @property
    def args(self) -> tuple[Any, ...]:
        """Arguments by position. Assigning keeps `users` right."""
        return self._args

    @args.setter
    def args(self, value: tuple[Any, ...]) -> None:
        self._set(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Any]) -> None:
        self._set(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments, each once."""
        return list(self._inputs)

    @property
    def next(self) -> Node:
        """The node behind it."""
        return self.after

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self.before

    def prepend(self, node: Node) -> None:
        """Move another node of the graph to the place before this one."""
        if node.graph is not self.graph:
            raise ValueError("Attempting to move a Node into a different Graph")
        if node is self:
            return
        node.unlink()
        node.before, node.after = self.before, self
        node.before.after = node.after.before = node

    def append(self, node: Node) -> None:
        """Move another node of the graph to the place behind this one."""
        self.after.prepend(node)

    def unlink(self) -> None:
        """Take it out of the order."""
        self.before.after, self.after.before = self.after, self.before

    def replace_all_uses_with(
        self, other: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Have those who use it use another node; those who did. `delete_user_cb` says for whom."""
        if propagate_meta:
            other.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, other)
        return changed

    def replace_input_with(self, old: Node, new: Any) -> None:
        """Put a node or a value in the place of one of its arguments."""
        replaced = map_arg((self._args, self._kwargs), lambda node: new if node is old else node)
        self._set(*replaced)

    def update_arg(self, position: int, value: Any) -> None:
        """Change one argument."""
        self.args = (*self._args[:position], value, *self._args[position + 1 :])

    def insert_arg(self, position: int, value: Any) -> None:
        """Put one argument more before the one at a position. Raises IndexError for one that is not there."""
        if not 0 <= position <= len(self._args):
            raise IndexError(f"insert_arg: position {position} is not between 0 and {len(self._args)}")
        self.args = (*self._args[:position], value, *self._args[position:])

    @property
    def stack_trace(self) -> str | None:
        """Where the code that it stands for was, if that was kept, as `meta["stack_trace"]`."""
        trace: str | None = self.meta.get("stack_trace")
        return trace

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def update_kwarg(self, key: str, value: Any) -> None:
        """Change one argument with a name."""
        self.kwargs = {**self._kwargs, key: value}

    def is_impure(self) -> bool:
        """Whether it does something besides its result, so that it stays though nobody uses that."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            is_setter = self.target in _WITH_EFFECTS
            return is_setter or bool(schema is not None and schema.is_mutable)
        if self.op == "call_method":
            return bool(self.target.endswith("_") and not self.target.endswith("__"))
        if self.op == "call_module" and self.graph.owning_module is not None:
            return not type(self.graph.owning_module.get_submodule(self.target)).__module__.startswith("flambeau.nn")
        return False

    def normalized_arguments(
        self, root: Any, arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:  # fmt: skip
        """Its arguments as what it calls takes them, with defaults (`operator_schemas.ArgsKwargsPair`); None where
        that is not known.
        """
        if self.op == "call_module":
            return operator_schemas.normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        if self.op != "call_function":
            return None
        return operator_schemas.normalize_function(
            self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
        )

    def target_text(self) -> str:
        """What is called, as tables show it."""
        if isinstance(self.target, str):
            return self.target
        name = qualified_name(self.target)
        return name if "." in name else f"builtins.{name}"

    def format_node(self) -> str:
        """The line that stands for it in a printed graph."""
        shown = f" : {type_text(self.type)}" if self.type is not None else " :"
        users = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name}{shown} {users} = placeholder[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name}{shown} {users} = get_attr[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]!r}"
        return (
            f"%{self.name}{shown} {users} = {self.op}[target={self.target_text()}]"
            f"(args = {argument_text(self.args)}, kwargs = {argument_text(self.kwargs)})"
        )

    def __repr__(self) -> str:
        return self.name

    def is_before(self, other: Node) -> bool:
        """Whether it comes before another node of its graph. Raises ValueError for one of another graph."""
        if other.graph is not self.graph:
            raise ValueError(f"{self} and {other} are nodes of different graphs, and in no order")
        node = self.after
        while node is not other and node is not self.graph.root:
            node = node.after
        return node is other and node is not self

    def __lt__(self, other: Node) -> bool:
        return self.is_before(other)

    def __gt__(self, other: Node) -> bool:
        return other.is_before(self)

    def __le__(self, other: Node) -> bool:
        return self is other or self.is_before(other)

    def __ge__(self, other: Node) -> bool:
        return self is other or other.is_before(self)


def type_text(type_: Any) -> str:
    """How code writes an annotation."""
    if isinstance(type_, type):
        name = type_.__qualname__
        module = "flambeau" if type_.__module__.startswith("flambeau.tensor") else type_.__module__
        return name if module == "builtins" else f"{module}.{name}"
    return repr(type_).replace("flambeau.tensor.tensor.Tensor", "flambeau.Tensor")


def argument_text(value: Any, mark: str = "%") -> str:
    """Arguments as a printed graph shows them."""
    if isinstance(value, Node):
        return f"{mark}{value.name}"
    if isinstance(value, tuple):
        inner = ", ".join(argument_text(one, mark) for one in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return f"[{', '.join(argument_text(one, mark) for one in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {argument_text(one, mark)}" for key, one in value.items()) + "}"
    if isinstance(value, slice):
        return f"slice({', '.join(argument_text(one, mark) for one in (value.start, value.stop, value.step))})"
    return repr(value) if not isinstance(value, str) else value
