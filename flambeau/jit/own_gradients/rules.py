"""What a custom function is in programs: graphs of its `forward`, of its `backward` and of its `jvp`.

A function whose methods programs cannot mean, or that looks at more than its arguments, has none: Python runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_effect
from flambeau.analysis.gradients import is_open
from flambeau.autograd.function import Function as GradientFunction
from flambeau.executor.executor import attach
from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.source.python_source import NameScope, parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Def
from flambeau.ir.graph import Graph, Node, Value
from flambeau.jit.compiling import tidy
from flambeau.jit.own_gradients.contexts import ContextError, keeping, parameters_of, taking
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.jit.script_registry import REGISTRY
from flambeau.passes import dce, inline, lower_tuples
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.opdef import Effect
from flambeau.schema.types import FUNCTION, NONE, TENSOR, TensorType, TupleType, Type, without_refinement
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util import log
from flambeau.util.errors import CompileError
from flambeau.util.inversions import CUSTOM_FUNCTION_RESULT
from flambeau.util.kept_on import KeptOn
from flambeau.util.record import dataclass

MOST: Final = 16
"""For how many kinds of arguments graphs of a custom function are kept."""
_rules: Final[KeptOn[Any, SpecialisationCache[Any, Any]]] = KeptOn()


def custom_function(node: Node) -> type[GradientFunction] | None:
    """The custom function that a node has Python run; None for other nodes."""
    owner = getattr(node.attributes.get("callable"), "__self__", None) if node.op[0] == "^" else None
    return owner if isinstance(owner, type) and issubclass(owner, GradientFunction) else None


class NoRuleError(Exception):
    """Programs do not mean what a custom function does."""


@dataclass(frozen=True, slots=True)
class OwnGradient:
    """The graphs of a custom function for arguments of some types."""

    forward: Graph
    """Of the arguments; gives the results, and behind them what is kept."""
    results: int
    """How many results there are."""
    is_tuple: bool
    """Whether they are given in a tuple."""
    backward: Function
    """Of the gradients of all results and of what is kept; gives a tuple with the gradient of each argument or None."""
    jvp: Function | None
    """Of the tangents of the arguments and of what is kept; gives a tuple with those of the results. None where there
    is none."""


def rule_of(cls: type[GradientFunction], types: Sequence[Type]) -> OwnGradient | None:
    """The graphs for arguments of some types; None where Python runs the function."""
    known = _rules.get(cls)
    if known is None:
        known = _rules[cls] = SpecialisationCache("custom functions", MOST, describe=str)
    rule = known.get_or_make(tuple(types), lambda cause: _attempt(cls, types))
    return rule if isinstance(rule, OwnGradient) else None


@CUSTOM_FUNCTION_RESULT.provide
def result_of(cls: type[GradientFunction], types: Sequence[Type]) -> Type | None:
    """The type of what a function gives that has several results; None for others."""
    rule = rule_of(cls, types)
    return None if rule is None or not rule.is_tuple else TupleType((TENSOR,) * rule.results)


def _attempt(cls: type[GradientFunction], types: Sequence[Type]) -> OwnGradient | str:
    try:
        return _Methods(cls, types).rule()
    except (NoRuleError, ContextError, CompileError, OSError, TypeError) as error:
        if log.level("executor"):
            log.write("executor", f"Python runs {cls.__name__}.apply: {error}")
        return str(error)


class _Methods:
    """Compiles those of one custom function."""

    def __init__(self, cls: type[GradientFunction], types: Sequence[Type]) -> None:
        self._cls, self._types = cls, [without_refinement(type_) for type_ in types]
        self._is_tuple = False
        self._asks = [isinstance(type_, TensorType) for type_ in types]

    def rule(self) -> OwnGradient:
        """The rule with all its graphs. Raises what `_attempt` catches."""
        cls = self._cls
        if cls.vmap is not GradientFunction.vmap:
            raise NoRuleError("its vmap is its own")
        graph, results, names, kept = self._forward()
        tensors = [TENSOR] * len(results)
        back = self._reading(cls.way_back(), tensors, names, kept)
        if len(_elements(back)) != len(self._types):
            raise NoRuleError("backward gives other gradients than there are arguments")
        for type_, asks in zip(_elements(back), self._asks, strict=True):
            if not (type_ == NONE or (asks and isinstance(type_, TensorType))):
                raise NoRuleError(f"backward gives {type_.annotation} as a gradient")
        return OwnGradient(graph, len(results), self._is_tuple, back, self._jvp(tensors, names, kept))

    def _jvp(self, results: Sequence[Type], names: Sequence[str], kept: Sequence[Type]) -> Function | None:
        if self._cls.jvp is GradientFunction.jvp or not all(self._asks):
            return None
        try:
            function = self._reading(self._cls.jvp, [TENSOR] * len(self._types), names, kept)
        except (NoRuleError, ContextError, CompileError):
            return None
        tangents = _elements(function)
        is_fit = len(tangents) == len(results) and all(isinstance(type_, TensorType) for type_ in tangents)
        return function if is_fit else None

    def _forward(self) -> tuple[Graph, list[Type], list[str], list[Type]]:
        """The graph of `forward`, the types of the results, the names of what is kept and its types."""
        cls, types = self._cls, self._types
        graph = Graph(f"{cls.__name__}_forward")
        parameters = [graph.add_parameter(type_) for type_ in types]
        if cls.setup_context is GradientFunction.setup_context:
            tree, names = keeping(cls.forward)
            function = _compiled(cls.forward, tree, parameters_of(cls.forward)[1:], types)
            result, kept = _unpacked(graph, _called(graph, function, parameters))
        else:
            function = _compiled(cls.forward, get_tree(cls.forward), parameters_of(cls.forward), types)
            result = _called(graph, function, parameters)
            inputs = graph.insert("prim::TupleConstruct", parameters, [TupleType(tuple(types))]).result()
            tree, names = keeping(cls.setup_context)
            both = [inputs, result]
            names_of_both = parameters_of(cls.setup_context)[1:]
            setup = _compiled(cls.setup_context, tree, names_of_both, [v.static_type for v in both])
            _, kept = _unpacked(graph, _called(graph, setup, both))
        self._is_tuple = isinstance(result.static_type, TupleType)
        results = _unpacked(graph, result) if self._is_tuple else [result]
        if not results or not all(isinstance(v.static_type, TensorType) for v in results):
            raise NoRuleError("a result that is no tensor")
        for value in (*results, *_leaves(graph, kept)):
            graph.add_return(value)
        inline.do(graph)
        lower_tuples.do(graph)
        dce.do(graph)
        _check(graph)
        return graph, [v.static_type for v in results], names, _types_of(kept)

    def _reading(
        self, method: Callable[..., Any], first: Sequence[Type], names: Sequence[str], kept: Sequence[Type]
    ) -> Function:
        """A method that reads what was kept, as a function of its own arguments, and then all that was kept."""
        if len(parameters_of(method)) != len(first) + 1:
            raise NoRuleError(f"{method.__name__} takes other arguments than there are results")
        tree, read = taking(method, names, self._asks, goes_forward=method is self._cls.jvp)
        types = [*first, *[kept[names.index(name)] for name in read]]
        function = _compiled(method, tree, [p.name for p in tree.decl.params], types)
        graph = Graph(f"{self._cls.__name__}_{method.__name__}")
        own = [graph.add_parameter(type_) for type_ in first]
        others = [_parameters(graph, type_) for type_ in kept]
        result = _called(graph, function, [*own, *[others[names.index(name)] for name in read]])
        if not isinstance(result.static_type, TupleType):
            result = graph.insert("prim::TupleConstruct", [result], [TupleType((result.static_type,))]).result()
        graph.add_return(self._fitted(graph, result))
        inline.do(graph)
        lower_tuples.do(graph)
        dce.do(graph)
        _check(graph)
        whole = Function(graph.name, graph, schema_of(graph.name, graph))
        attach(whole)
        return whole

    def _fitted(self, graph: Graph, result: Value) -> Value:
        """A tuple without what is None behind all gradients."""
        elements = _types_of(result)
        wanted = len(self._types)
        if len(elements) <= wanted or any(type_ != NONE for type_ in elements[wanted:]):
            return result
        parts = _unpacked(graph, result)[:wanted]
        return graph.insert("prim::TupleConstruct", parts, [TupleType(tuple(elements[:wanted]))]).result()


def _compiled(fn: Callable[..., Any], tree: Def, names: Sequence[str], types: Sequence[Type]) -> Function:
    """The function of a tree, for arguments of some types."""
    if hasattr(fn, "__wrapped__"):
        raise NoRuleError(f"a decorator is around {fn.__name__}")
    if len(names) != len(types):
        raise NoRuleError(f"{fn.__name__} is given {len(types)} arguments")
    resolver = PythonResolver(NameScope.of_function(fn), CLASSES, tree.name)
    with REGISTRY.lock:
        function = compile_def(
            tree, resolver, defaults=parameter_defaults(fn), bound=Bound(types=dict(zip(names, types, strict=True)))
        )
    tidy(function)
    attach(function)
    return function


def _called(graph: Graph, function: Function, values: Sequence[Value]) -> Value:
    named = graph.insert("prim::Constant", (), [FUNCTION], name=function.short_name, function=function).result()
    returns = function.schema.returns
    return graph.insert("prim::CallFunction", [named, *values], [returns[0].type]).result()


def _unpacked(graph: Graph, value: Value) -> list[Value]:
    return list(graph.insert("prim::TupleUnpack", [value], _types_of(value)).results)


def _leaves(graph: Graph, value: Value) -> list[Value]:
    """What lies in a tuple, and in those within."""
    if not isinstance(value.static_type, TupleType) or value.static_type.name is not None:
        return [value]
    return [leaf for part in _unpacked(graph, value) for leaf in _leaves(graph, part)]


def _parameters(graph: Graph, type_: Type) -> Value:
    """A value of a type that is made of parameters, one for each leaf."""
    if not isinstance(type_, TupleType) or type_.name is not None:
        return graph.add_parameter(without_refinement(type_))
    parts = [_parameters(graph, element) for element in type_.elements]
    return graph.insert("prim::TupleConstruct", parts, [type_]).result()


def _types_of(value: Value) -> list[Type]:
    assert isinstance(value.static_type, TupleType)
    return list(value.static_type.elements)


def _elements(function: Function) -> list[Type]:
    type_ = function.schema.returns[0].type
    return list(type_.elements) if isinstance(type_, TupleType) else [type_]


def _check(graph: Graph) -> None:
    """Raise NoRuleError for a graph that does more than computing its results."""
    for node in graph.listed_nodes():
        if custom_function(node) is not None:
            continue
        is_quiet = own_effect(node) in (Effect.NONE, Effect.RANDOM) or node.op == "prim::RaiseException"
        if is_open(node) or not is_quiet:
            raise NoRuleError(f"{node.op} is Python's, looks at gradients, or does more than computing")
    writers = AliasAnalysis(graph)
    if any(writers.has_writers(parameter) for parameter in graph.parameters):
        raise NoRuleError("it writes its arguments")
