"""What stands for values while Python code is traced: whatever is done with a proxy becomes a node."""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from flambeau.fx.names import IN_PLACE, MAGIC, REFLECTABLE
from flambeau.fx.node import Node, map_aggregate
from flambeau.fx.operator_schemas import check_for_mutable_operation
from flambeau.fx.scopes import Scope
from flambeau.fx.scopes import ScopeContextManager as ScopeContextManager
from flambeau.fx.traceback import note, users_stack
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.formats import Layout, MemoryFormat
from flambeau.tensor.tensor import Tensor

NO_BOOL: Final = "symbolically traced variables cannot be used as inputs to control flow"
NO_ITER: Final = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
    "function argument. A loop whose length depends on a traced value has no graph; pass what decides it as "
    "`concrete_args`, or leave the loop to a function that is wrapped or a leaf module."
)
NO_LEN: Final = (
    "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
    "flambeau.fx.wrap('len') at module scope"
)
NO_KEYS: Final = "Proxy object has no keys: `**proxy` cannot be traced"

NODE_AS_KEY: Final = (
    "Keys for dictionaries used as an argument cannot contain a Node. Got key: {keys}. Which key it is differs from "
    "call to call: make a list of pairs, or leave what makes the dictionary to a function that is wrapped"
)


class TraceError(ValueError):
    """Code did with a traced value what no graph says.

    >>> from flambeau import fx
    >>> try:
    ...     fx.symbolic_trace(lambda x: x if x else -x)
    ... except TraceError as error:
    ...     print(type(error).__name__)
    TraceError
    """


class Proxy:
    """Stands for the value of a node.

    >>> from flambeau.fx import symbolic_trace
    >>> kinds = []
    >>> _ = symbolic_trace(lambda x: kinds.append(type(x).__name__) or x)
    >>> kinds
    ['Proxy']
    """

    def __init__(self, node: Node, tracer: Any = None) -> None:
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"a Proxy has no {name}: it is not known what stands for")
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        count = _unpacked(inspect.currentframe())
        if count is not None:
            return iter([self[k] for k in range(count)])
        values: Iterator[Any] = self.tracer.iter(self)
        return values

    def __bool__(self) -> bool:
        return bool(self.tracer.to_bool(self))

    def __len__(self) -> int:
        raise RuntimeError(NO_LEN)

    def keys(self) -> Any:
        """Raises TraceError: what is in a dictionary is not known."""
        return self.tracer.keys(self)

    def __contains__(self, element: Any) -> bool:
        raise TraceError(f"{NO_ITER} Whether it contains something is not known while tracing.")

    def __getitem__(self, key: Any) -> Any:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    @classmethod
    def __flambeau_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls of functions and methods of the package with a proxy become nodes."""
        kwargs = kwargs or {}
        tracers: list[Any] = []
        map_aggregate((args, kwargs), lambda one: tracers.append(one.tracer) if isinstance(one, Proxy) else None)
        tracer = tracers[0]
        if getattr(func, "__self__", None).__class__ is property:
            name = next(n for n, member in inspect.getmembers(Tensor) if member is func.__self__)
            return tracer.create_proxy("call_function", getattr, (args[0], name), {})
        name = str(getattr(func, "__name__", ""))
        if getattr(Tensor, name, None) is func:
            return tracer.create_proxy("call_method", name, tuple(args), kwargs)
        return tracer.create_proxy("call_function", func, tuple(args), kwargs)

    __torch_function__ = __flambeau_function__
    __hash__ = object.__hash__


class Attribute(Proxy):
    """An attribute of a traced value; a node of its own only where it is no method that is called."""

    def __init__(self, root: Proxy, attribute: str) -> None:
        self.root = root
        self.attribute = attribute
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node, made when somebody asks for it."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attribute), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attribute, (self.root, *args), kwargs)


_PLAIN: Final = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    type(...),
    DType,
    Device,
    Layout,
    MemoryFormat,
    range,
)


class TracerBase:
    """Makes nodes for what happens to proxies.

    >>> from flambeau.fx import Graph
    >>> tracer = TracerBase()
    >>> tracer.graph = Graph()
    >>> tracer.create_proxy("placeholder", "x", (), {}).neg()
    Proxy(neg)
    """

    graph: Any
    record_stack_traces: bool = False
    """Whether nodes have a stack trace of the code that they stand for, in `meta["stack_trace"]`."""
    check_mutable_operations: bool = False
    """Whether calls of functions that write their arguments are refused, with RuntimeError."""
    scope: Scope = Scope("", None)
    """The module that the code is in."""
    module_stack: Mapping[str, Any] = MappingProxyType({})
    """The modules that the code is in, from the outside: by qualified name, with their classes."""
    node_name_to_scope: dict[str, tuple[str, Any]]
    """By the name of a node the module that it is of: qualified name and class."""

    def create_node(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A node of the graph. It remembers where it comes from, as the tracer is told to."""
        if self.check_mutable_operations and kind == "call_function":
            check_for_mutable_operation(target, args, kwargs)
        node: Node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.__dict__.setdefault("node_name_to_scope", {})[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        note(node)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = users_stack(inspect.currentframe())
        return node

    def proxy(self, node: Node) -> Proxy:
        """What stands for the value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any = None,
    ) -> Proxy:  # fmt: skip
        """A node for a call, with what stands for its result."""
        nodes = map_aggregate(args, self.create_arg), map_aggregate(kwargs, self.create_arg)
        return self.proxy(self.create_node(kind, target, nodes[0], nodes[1], name, type_expr))

    def create_arg(self, value: Any) -> Any:
        """A value as an argument of a node. Raises NotImplementedError for what no graph holds."""
        if isinstance(value, Proxy):
            return value.node
        if isinstance(value, dict) and any(isinstance(key, Proxy | Node) for key in value):
            raise RuntimeError(NODE_AS_KEY.format(keys=", ".join(map(str, value))))
        if isinstance(value, tuple | list | dict | slice):
            return map_aggregate(value, self.create_arg)
        if isinstance(value, (*_PLAIN, Node, type)) or callable(value):
            return value
        raise NotImplementedError(f"argument of type: {type(value)}")

    def iter(self, proxy: Proxy) -> Iterator[Any]:
        """Raises TraceError: how often a loop runs is not known."""
        raise TraceError(NO_ITER)

    def to_bool(self, proxy: Proxy) -> bool:
        """Raises TraceError: which way code goes is not known."""
        raise TraceError(NO_BOOL)

    def keys(self, proxy: Proxy) -> Any:
        """Raises TraceError: what is in a dictionary is not known."""
        raise TraceError(NO_KEYS)


class ParameterProxy(Proxy):
    """Stands for a parameter whose sizes are known: code sees them as numbers.

    >>> import flambeau
    >>> from flambeau import fx
    >>> graph = fx.Graph()
    >>> ParameterProxy(fx.Tracer(), graph.get_attr("weight"), "weight", flambeau.ones(2, 3)).shape[1]
    3
    """

    def __init__(self, tracer: Any, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """Its sizes."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self.param.ndim

    def size(self, *dim: int) -> Any:
        """Its sizes, or one."""
        return self.param.size(*dim)

    def dim(self) -> int:
        """How many dimensions it has."""
        return self.param.dim()

    def numel(self) -> int:
        """How many elements it has."""
        return self.param.numel()

    nelement = numel


class GraphAppendingTracer(TracerBase):
    """Appends what happens to proxies to a graph that exists: what `Proxy(node)` without a tracer has.

    >>> from flambeau.fx import Graph
    >>> graph = Graph()
    >>> GraphAppendingTracer(graph).proxy(graph.placeholder("x")) + 1
    Proxy(add)
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph


def _unpacked(frame: Any) -> int | None:
    """Into how many names the caller's caller unpacks, `a, b = proxy`; None where it goes over the values."""
    calling = frame.f_back
    for instruction in dis.get_instructions(calling.f_code):
        if instruction.offset == calling.f_lasti:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


def _define(name: str, is_reflected: bool) -> Callable[..., Any]:
    target = getattr(operator, name)

    def method(self: Proxy, *args: Any) -> Any:
        operands = (*args, self) if is_reflected else (self, *args)
        return self.tracer.create_proxy("call_function", target, operands, {})

    return method


def _special(name: str, prefix: str = "") -> str:
    return f"__{prefix}{name.rstrip('_')}__"


for _name in (*MAGIC, *IN_PLACE):
    if _name != "getitem":
        setattr(Proxy, _special(_name), _define(_name, False))
for _name in REFLECTABLE:
    setattr(Proxy, _special(_name, "r"), _define(_name, True))
