"""Tracing Python code to a graph: its function runs once, with proxies for its arguments.

>>> from flambeau import fx
>>> traced = symbolic_trace(lambda x, y: (x + y).sum())
>>> print(traced.graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
    %sum_1 : [num_users=1] = call_method[target=sum](args = (%add,), kwargs = {})
    return sum_1
"""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any, Final

from flambeau.fx.being_traced import tracing
from flambeau.fx.concrete_arguments import PHBase, check, leaves_of
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_aggregate
from flambeau.fx.proxy import ParameterProxy, Proxy, TraceError, TracerBase
from flambeau.fx.scopes import Scope, ScopeContextManager
from flambeau.fx.tree_code_generation import PyTreeCodeGen, PyTreeInfo, has_containers
from flambeau.nn import functional
from flambeau.nn.container import Sequential
from flambeau.nn.module import Module
from flambeau.nn.modules_called import intercepting_calls
from flambeau.nn.parameter import Parameter
from flambeau.tensor.tensor import Tensor
from flambeau.util.trees import flatten

NO_VARIABLE: Final = (
    "'{name}' of {function} cannot be traced as one value: only functions written in Python have parameters that can; "
    "give each argument a name"
)
_REST: Final = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_wrapped: Final[list[tuple[dict[str, Any], str]]] = []
"""Where `wrap` was called, and for which name."""


def wrap(fn_or_name: Any) -> Any:
    """Have calls of a function of a module's be nodes, not traced into: at the module's top, or as a decorator.

    Args:
        fn_or_name: a function of the module, or its name: `wrap("len")`.

    Raises RuntimeError for what is neither, NotImplementedError within a function.

    >>> from flambeau import fx
    >>> wrap('len')
    'len'
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            f"Unsupported type for global function! Must be either a callable or string name, got {type(fn_or_name)}"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    assert frame is not None
    calling = frame.f_back
    assert calling is not None
    if calling.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((calling.f_globals, name))
    return fn_or_name


class Tracer(TracerBase):
    """Traces a function or a module. Subclasses decide which modules stay calls (`is_leaf_module`).

    Args:
        autowrap_modules: modules whose functions become nodes.
        autowrap_functions: functions that become nodes.
        param_shapes_constant: whether sizes of parameters are constants, and not nodes.

    >>> graph = Tracer().trace(lambda x: x + 1)
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_function', 'output']
    """

    proxy_buffer_attributes: bool = False
    """Whether code that reads buffers gets what stands for them, too."""

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (), param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        modules = [f for module in autowrap_modules for f in vars(module).values() if inspect.isroutine(f)]
        self._modules = autowrap_modules
        self._functions = {*modules, *autowrap_functions}
        self.param_shapes_constant = param_shapes_constant
        self.root: Module = Module()
        self._constants: dict[int, tuple[Tensor, str]] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are nodes, not traced into: those of the package's layers, but not containers."""
        return type(m).__module__.startswith("flambeau.nn") and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The qualified name of a submodule. Raises NameError for a module that is none."""
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a submodule: a node for a leaf, else what its `forward` does."""
        name = self.path_of_module(m)
        around = self.module_stack
        with ScopeContextManager(self.scope, Scope(name, type(m))):
            self.module_stack = {**around, name: (name, type(m))}
            try:
                if self.is_leaf_module(m, name):
                    return self.create_proxy("call_module", name, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack = around

    def create_arg(self, value: Any) -> Any:
        """A value as an argument of a node; parameters, buffers and other tensors as attributes of the module."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, Module):
            return self.create_node("get_attr", self.path_of_module(value), (), {})
        return super().create_arg(value)

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that no attribute of the root has yet: the prefix with a number.

        Args:
            prefix: how the name begins.
        """
        return next(name for number in itertools.count() if not hasattr(self.root, name := f"{prefix}{number}"))

    def _tensor(self, value: Tensor) -> Node:
        name = next((n for n, one in self.root.named_parameters() if one is value), None)
        name = name or next((n for n, one in self.root.named_buffers() if one is value), None)
        name = name or _attribute_name(self.root, value)
        if name is None:
            known = self._constants.get(id(value))
            if known is None:
                known = self._constants[id(value)] = (value, self.get_fresh_qualname("_tensor_constant"))
                setattr(self.root, known[1], value)
            name = known[1]
        return self.create_node("get_attr", name, (), {})

    def trace(self, root: Any, concrete_args: Mapping[str, Any] | None = None) -> Graph:
        """The graph of a module or function.

        Args:
            root: what is traced.
            concrete_args: values for some of its arguments, which calls of the graph are checked for.
        """
        if isinstance(root, Module):
            self.root, function = root, type(root).forward
            takes_self = True
        else:
            self.root, function, takes_self = Module(), root, False
        self.graph = Graph(self.root)
        self._parameter_proxies: dict[str, Any] = {}
        self.scope = Scope("", None)
        self.node_name_to_scope = {}
        concrete = dict(concrete_args or {})
        args, kwargs = self._arguments(function, takes_self, concrete)
        with ExitStack() as block:
            block.enter_context(tracing())
            block.enter_context(intercepting_calls(self._called, self._read))
            block.enter_context(self._patched(function))
            result = _taking_rest_as_one(function)(*args, **kwargs)
        if has_containers(tuple(concrete.values())):
            result = self._taken_apart(function, takes_self, [*args[takes_self:], *kwargs.values()], result)
        hints = getattr(function, "__annotations__", {})
        self.create_node("output", "output", (self.create_arg(result),), {}, None, _annotation(hints, "return"))
        graph: Graph = self.graph
        return graph

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What code gets that reads a parameter, buffer or submodule of a module: of a parameter what stands for it.

        Args:
            attr: the name, in the module that has it.
            attr_val: what is there.
            parameter_proxy_cache: what stands for those that were read, by qualified name.
        """
        if isinstance(attr_val, Parameter):
            return self._standing_for(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._standing_for(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _standing_for(self, value: Tensor, named: Iterator[tuple[str, Tensor]], cache: dict[str, Any]) -> Any:
        """The proxy of a parameter or buffer of the root; itself where it is none."""
        name = next((n for n, one in named if one is value), None)
        if name is None:
            return value
        if name not in cache:
            node = self.create_node("get_attr", name, (), {})
            cache[name] = ParameterProxy(self, node, name, value) if self.param_shapes_constant else self.proxy(node)
        return cache[name]

    def _read(self, name: str, value: Any) -> Any:
        return self.getattr(name, value, self._parameter_proxies)

    def _called(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[..., Any]) -> Any:
        is_fixed = not any(isinstance(one, Proxy) for one in _leaves((args, kwargs)))
        if is_fixed and not any(one is module for one in self.root.modules()):
            return run(args, kwargs)
        return self.call_module(module, lambda *a, **k: run(a, k), args, kwargs)

    def _arguments(
        self, function: Callable[..., Any], takes_self: bool, concrete: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        parameters = list(inspect.signature(function).parameters.values())
        args: list[Any] = [self.root] if takes_self else []
        kwargs: dict[str, Any] = {}
        hints = getattr(function, "__annotations__", {})
        for parameter in parameters[takes_self:]:
            if parameter.name in concrete:
                value = self._specialized(parameter, concrete[parameter.name], hints)
            else:
                value = self._placeholder(parameter, hints)
            if parameter.kind in (parameter.KEYWORD_ONLY, *_STARS):
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return args, kwargs

    def _specialized(self, parameter: inspect.Parameter, value: Any, hints: Mapping[str, Any]) -> Any:
        """What the code sees of an argument whose value is known: it, with what stands for it where it has `PH`."""

        def call(function: Callable[..., Any], *args: Any) -> Proxy:
            return self.create_proxy("call_function", function, args, {})

        seen: list[Any] = []
        leaves, structure = flatten(value)
        if not structure.is_leaf():  # each leaf has a placeholder, whose name says which it is
            parameter = parameter.replace(default=parameter.empty)
        for number, (name, leaf) in enumerate(leaves_of(parameter.name, value), 1):
            proxy = self._placeholder(parameter, {} if len(leaves) > 1 else hints, f"_{number}")
            if not isinstance(leaf, PHBase):
                check(name, leaf, proxy, call)
            seen.append(proxy if isinstance(leaf, PHBase) else leaf)
        return structure.unflatten(seen)

    def _taken_apart(self, function: Callable[..., Any], takes_self: bool, values: list[Any], result: Any) -> list[Any]:
        """The leaves of a result, where arguments are containers: the code takes them apart, and puts results
        together."""
        leaves, out_spec = flatten(result)
        signature: list[str] = []
        defaults: dict[str, Any] = {}
        parameters = list(inspect.signature(function).parameters.values())[takes_self:]
        for one in parameters:
            if one.kind in _STARS:
                raise NotImplementedError(NO_STARS.format(name=one.name))
            if one.kind is one.KEYWORD_ONLY and "*" not in signature:
                signature.append("*")
            if one.default is not one.empty:
                defaults[f"_default_{one.name}"] = one.default
            signature.append(one.name if one.default is one.empty else f"{one.name} = _default_{one.name}")
        names = [one.name for one in parameters]
        info = PyTreeInfo(names, flatten(tuple(values))[1], out_spec, tuple(signature), defaults)
        self.graph.set_codegen(PyTreeCodeGen(info))
        return leaves

    def _placeholder(self, parameter: inspect.Parameter, hints: Mapping[str, Any], suffix: str = "") -> Proxy:
        """What stands for an argument; for all of `*args`, or of `**kwargs`, one that is read by index or key."""
        name, stars = parameter.name + suffix, _STARS.get(parameter.kind, "")
        default = () if parameter.default is parameter.empty else (parameter.default,)
        hint = None if stars else _annotation(hints, parameter.name)
        return self.create_proxy("placeholder", stars + name, default, {}, f"_{name}" if stars else None, hint)

    def _functions_to_replace(self, function: Callable[..., Any]) -> Iterator[tuple[dict[str, Any], str, Any]]:
        """Where functions are found that become nodes: the scope, the name and the function."""
        for scope, name in _wrapped:
            yield scope, name, scope.get(name, getattr(builtins, name, None))
        own = {
            value
            for value in vars(functional).values()
            if isinstance(value, FunctionType) and value.__module__.startswith("flambeau.nn.functions")
        }
        users = {id(s): s for s in [getattr(inspect.unwrap(function), "__globals__", {}), *_globals_of(self.root)]}
        for scope in [vars(functional), *users.values(), *map(vars, self._modules)]:
            for name, value in list(scope.items()):
                if inspect.isroutine(value) and (value in own or value in self._functions):
                    yield scope, name, value

    @contextmanager
    def _patched(self, function: Callable[..., Any]) -> Iterator[None]:
        """Within the block, functions that are not to be traced into make nodes."""
        originals: list[tuple[dict[str, Any], str, Any]] = []

        for scope, name, original in self._functions_to_replace(function):
            originals.append((scope, name, scope.get(name, _ABSENT)))
            scope[name] = _noded(original)
        try:
            yield
        finally:
            for scope, name, before in reversed(originals):
                if before is _ABSENT:
                    del scope[name]
                else:
                    scope[name] = before


_ABSENT: Final = object()
_STARS: Final[Mapping[Any, str]] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def _taking_rest_as_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with `args` and `kwargs` as parameters in the places of `*args` and `**kwargs`.

    Raises TraceError for one that is not written in Python and has such parameters.
    """
    rest = [p.name for p in inspect.signature(function).parameters.values() if p.kind in _STARS]
    if not rest:
        return function
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        name = getattr(function, "__name__", type(function).__name__)
        raise TraceError(NO_VARIABLE.format(name=rest[0], function=name))
    code = function.__code__
    named = code.co_kwonlyargcount + len(rest)  # Python keeps all of them behind the others, in this order
    code = code.replace(co_kwonlyargcount=named, co_flags=code.co_flags & ~_REST)
    same = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    same.__kwdefaults__ = function.__kwdefaults__
    return same


def _annotation(hints: Mapping[str, Any], name: str) -> Any:
    return hints.get(name)


def _leaves(value: Any) -> Iterator[Any]:
    leaves: list[Any] = []
    map_aggregate(value, leaves.append)
    return iter(leaves)


def _globals_of(root: Module) -> list[dict[str, Any]]:
    """Where the names of the forwards of a module's own submodules are looked up."""
    functions = [inspect.unwrap(getattr(type(m), "forward", None) or _leaves) for m in root.modules()]
    return [f.__globals__ for f in functions if not f.__module__.startswith("flambeau.")]


def _noded(original: Any) -> Callable[..., Any]:
    @functools.wraps(original)
    def noded(*args: Any, **kwargs: Any) -> Any:
        proxy = next((one for one in _leaves((args, kwargs)) if isinstance(one, Proxy)), None)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", original, args, kwargs)

    return noded


def _attribute_name(root: Module, value: Tensor) -> str | None:
    for path, module in root.named_modules():
        for name, one in vars(module).items():
            if one is value:
                return f"{path}.{name}" if path else name
    return None


NO_STARS: Final = (
    "*{name} cannot be traced beside an argument whose containers are known: give it a parameter for each value"
)


def symbolic_trace(root: Any, concrete_args: Mapping[str, Any] | None = None) -> GraphModule:
    """A module or function as a graph of Python code, and a module that runs it.

    Args:
        root: a module, or a function of tensors.
        concrete_args: values for arguments that decide which way the code goes, which calls of the module are checked
            for; `fx.PH` within one stands for a value that is not known.

    Raises TraceError where a traced value decides control flow, or a loop goes over one.

    >>> from flambeau import fx
    >>> import flambeau
    >>> module = symbolic_trace(lambda x: x * 2 + 1)
    >>> module(flambeau.ones(2))
    tensor([3., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
