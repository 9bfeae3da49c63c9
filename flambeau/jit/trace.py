"""`flambeau.trace`: a graph from a run, checked by running again, guarded where the run depended on values."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flambeau.executor.executor import attach
from flambeau.executor.options import Options
from flambeau.ir.constants import insert_constant
from flambeau.ir.equal import first_difference
from flambeau.ir.graph import Graph
from flambeau.ir.value import Value
from flambeau.jit.function import ScriptFunction
from flambeau.jit.recorder import Baked, Recorder, tensor_type
from flambeau.jit.registry import REGISTRY
from flambeau.jit.script import CLASSES
from flambeau.jit.script_module import RecursiveScriptModule, ScriptModule
from flambeau.nn.module import Module
from flambeau.passes import dce
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.program.signature import schema_of
from flambeau.schema import types as t
from flambeau.tensor import dispatch, observer
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.errors import TracerWarning, TracingCheckError
from flambeau.util.names import qualified_name

NOT_TRACEABLE = (
    "Type '{type}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can "
    "be traced. "
    "Numbers are fixed in a trace: close over them, or pass them as 0-d tensors"
)
BAD_OUTPUT = (
    "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions, got a "
    "{type}. "
    "Return tensors, or script the function"
)
DICT_OUTPUT = (
    "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if the "
    "container structure does not change based on the module's inputs. Use strict=False to allow it"
)
LIST_OUTPUT = (
    "Encountering a list at the output of the tracer might cause the trace to be incorrect, this is only valid if the "
    "container structure does not change based on the module's inputs. Consider a tuple, or use strict=False"
)
NONDETERMINISTIC = (
    "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes: {nodes}. "
    "Its results are not compared"
)
ALREADY = "The input to trace is already a {kind}, tracing it is a no-op. Returning the object as is."


class TracedFunction(ScriptFunction):
    """A function compiled from a run."""

    baked: list[Baked]
    """Values that depended on the inputs and are fixed in the graph, each with its line."""


class TracedModule(RecursiveScriptModule):
    """A module compiled from a run."""

    baked: list[Baked]
    """Values that depended on the inputs and are fixed in the graph, each with its line."""


def trace(
    func: Callable[..., Any],
    example_inputs: Any,
    *,
    check_trace: bool = True,
    check_inputs: Sequence[Any] = (),
    check_tolerance: float = 1e-5,
    strict: bool = True,
    guard: bool = True,
) -> Any:
    """Run `func` on example inputs and make a graph of the operators that ran.

    Args:
        func: a function or a module; parameters of a module stay attributes.
        example_inputs: a tuple of arguments: tensors, or tuples, lists and dicts of tensors. A lone tensor is one
            argument.
        check_trace: run it again, natively and through Python, and compare; trace again and compare the graphs.
        check_inputs: further example inputs to compare on.
        check_tolerance: how far results may differ, relatively and absolutely.
        strict: refuse dicts, and warn of lists, in the results.
        guard: leave guards in the graph: a later call that would need another value of what Python learned raises.

    Sizes stay expressions (`x.shape[0] * 2`). What Python learns of a tensor's contents (`if x.sum() > 0`, `int(x)`) is
    fixed: a TracerWarning names the line, `baked` lists it.

    Raises:
        TracingCheckError: the trace does not do what the function does.
        RuntimeError: inputs or outputs that cannot be traced.

    >>> import flambeau
    >>> traced = flambeau.trace(lambda x: x * 2 + 1, flambeau.ones(3))
    >>> traced(flambeau.zeros(2))
    tensor([1., 1.])
    """
    if isinstance(func, ScriptFunction | ScriptModule):
        kind = "ScriptModule" if isinstance(func, ScriptModule) else "ScriptFunction"
        warnings.warn(ALREADY.format(kind=kind), UserWarning, stacklevel=2)
        return func
    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    run = _Run(func, strict, guard)
    traced = run.trace(inputs)
    if check_trace:
        for given in (inputs, *(c if isinstance(c, tuple) else (c,) for c in check_inputs)):
            run.check(traced, given, check_tolerance, retrace=given is inputs)
    return traced


class _Run:
    """One tracing of one callable."""

    def __init__(self, func: Callable[..., Any], strict: bool, guard: bool) -> None:
        self.func = func
        self.strict = strict
        self.guard = guard
        self.module = func if isinstance(func, Module) else None
        self.random: list[str] = []

    def trace(self, inputs: Sequence[Any]) -> Any:
        """The traced function or module."""
        held = CLASSES.object_of(self.module) if self.module is not None else None
        graph, baked = self.record(inputs, held, warn=True)
        if held is None:
            name = (
                REGISTRY.unit.unique_name(qualified_name(self.func)) if hasattr(self.func, "__qualname__") else "traced"
            )
            function = Function(name, graph, schema_of(name.rpartition(".")[2], graph))
            attach(function)
            traced = TracedFunction(function)
            traced.baked = baked
            return traced
        assert self.module is not None
        return self._module(held, graph, baked)

    def _module(self, held: ScriptObject, graph: Graph, baked: list[Baked]) -> TracedModule:
        """A module of a class of its own, whose `forward` is the trace."""
        assert self.module is not None
        shared = held.type.definition
        own = ClassDefinition(REGISTRY.unit.unique_name(shared.name), is_module=True, python=shared.python)
        for a in shared.attributes:
            own.add_attribute(a.name, a.type, is_parameter=a.is_parameter, is_buffer=a.is_buffer)
        for name, value in shared.constants.items():
            own.add_constant(name, value)
        graph.inputs[0].set_type(own.type)
        function = own.add_method("forward", Function(f"{own.name}.forward", graph, schema_of("forward", graph)))
        attach(function)
        mine = ScriptObject(own.type, held.values)
        made: dict[int, ScriptObject] = {}
        CLASSES.object_of(self.module, made)
        module = TracedModule.over(self.module, mine, CLASSES, Options(), made)
        object.__setattr__(module, "baked", baked)
        return module

    def record(self, inputs: Sequence[Any], held: ScriptObject | None, *, warn: bool) -> tuple[Graph, list[Baked]]:
        """Run on copies of the inputs and make the graph."""
        graph = Graph()
        recorder = Recorder(graph, self.module, guard=self.guard, warn=warn)
        if held is not None:
            recorder.self_value = graph.add_input(held.type, "self")
        names = _parameter_names(self.func, len(inputs))
        own = [self._define(recorder, graph, copied(value), name) for value, name in zip(inputs, names, strict=True)]
        with observer.observing(recorder), dispatch.intercepting(recorder.handle):
            result = self.func(*own)
        graph.add_output(self._output(recorder, graph, result, top=True))
        dce.do(graph)
        self.random = recorder.random
        return graph, recorder.baked

    def _define(self, recorder: Recorder, graph: Graph, given: Any, name: str) -> Any:
        type_ = _input_type(given)
        self._bind(recorder, graph, given, graph.add_input(type_, name))
        return given

    def _bind(self, recorder: Recorder, graph: Graph, given: Any, value: Value) -> None:
        """Tell the recorder which values the tensors of an input are."""
        if isinstance(given, Tensor):
            recorder.define(given, value)
        elif isinstance(given, dict):
            for key, item in given.items():
                found = graph.insert(
                    "aten::__getitem__", [value, insert_constant(graph, key)], [_input_type(item)]
                ).output()
                self._bind(recorder, graph, item, found)
        else:
            kind = "prim::TupleUnpack" if isinstance(given, tuple) else "prim::ListUnpack"
            node = graph.insert(kind, [value], [_input_type(g) for g in given])
            for item, output in zip(given, node.outputs, strict=True):
                self._bind(recorder, graph, item, output)

    def _output(self, recorder: Recorder, graph: Graph, result: Any, *, top: bool = False) -> Value:
        if isinstance(result, Tensor):
            return recorder.value_of(result, t.TENSOR)
        if isinstance(result, tuple):
            parts = [self._output(recorder, graph, r) for r in result]
            return graph.insert("prim::TupleConstruct", parts, [t.TupleType(tuple(p.type for p in parts))]).output()
        if isinstance(result, list) and result:
            if self.strict:
                warnings.warn(LIST_OUTPUT, TracerWarning, stacklevel=5)
            parts = [self._output(recorder, graph, r) for r in result]
            return graph.insert(
                "prim::ListConstruct", parts, [t.ListType(t.without_refinement(parts[0].type))]
            ).output()
        if isinstance(result, dict) and result:
            if self.strict:
                raise RuntimeError(DICT_OUTPUT)
            parts = []
            for key, item in result.items():
                parts += [insert_constant(graph, key), self._output(recorder, graph, item)]
            made = t.DictType(parts[0].type, t.without_refinement(parts[1].type))
            return graph.insert("prim::DictConstruct", parts, [made]).output()
        raise RuntimeError(BAD_OUTPUT.format(type=type(result).__name__))

    # -- checking -----------------------------------------------------------------------------------------------------

    def check(self, traced: Any, inputs: Sequence[Any], tolerance: float, *, retrace: bool) -> None:
        """Compare the trace with the function. Raises TracingCheckError, warns of what cannot be compared."""
        if retrace:
            held = traced.script_object if isinstance(traced, ScriptModule) else None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TracerWarning)
                again, _ = self.record(inputs, held, warn=False)
            mine = traced.graph
            found = first_difference(mine, again)
            if found is not None:
                raise TracingCheckError(f"Graphs differed across invocations!\n{found}")
        if self.random:
            warnings.warn(
                NONDETERMINISTIC.format(nodes=", ".join(sorted(set(self.random)))), TracerWarning, stacklevel=3
            )
            return
        want = flat(self.func(*[copied(i) for i in inputs]))
        got = flat(traced(*[copied(i) for i in inputs]))
        for number, (a, b) in enumerate(zip(want, got, strict=True)):
            x, y = a.detach().numpy(), b.detach().numpy()
            if x.shape != y.shape or not np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True):
                raise TracingCheckError(
                    f"Output nr {number + 1}. of the traced function does not match the corresponding output of "
                    "the Python "
                    f"function: expected\n{x}\ngot\n{y}"
                )


def copied(value: Any) -> Any:
    """An input with tensors of its own. Raises RuntimeError for what cannot be traced."""
    if isinstance(value, Tensor):
        fresh = wrap(value._array.copy(order="K"))
        return fresh.requires_grad_() if value.requires_grad else fresh
    if isinstance(value, np.ndarray):
        return wrap(value.copy())
    if isinstance(value, list | tuple) and value:
        items = [copied(v) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, Mapping) and value:
        return {k: copied(v) for k, v in value.items()}
    if isinstance(value, list):
        raise RuntimeError("List trace inputs must have elements")
    raise RuntimeError(NOT_TRACEABLE.format(type=f"Tuple[{type(value).__name__}]"))


def flat(value: Any) -> list[Tensor]:
    """The tensors of a result, in order."""
    if isinstance(value, Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value
    return [tensor for item in items for tensor in flat(item)]


def _input_type(given: Any) -> t.Type:
    if isinstance(given, Tensor):
        return tensor_type(given)
    if isinstance(given, tuple):
        return t.TupleType(tuple(map(_input_type, given)))
    if isinstance(given, dict):
        kinds = {type(k) for k in given}
        if len(kinds) != 1 or kinds.pop() is not str:
            raise RuntimeError("the keys of a dict that is traced must be strings")
        return t.DictType(t.STRING, _one_type(list(given.values())))
    return t.ListType(_one_type(given))


def _one_type(items: Sequence[Any]) -> t.Type:
    found = {t.without_refinement(_input_type(i)) for i in items}
    if len(found) != 1:
        raise RuntimeError(
            "List and dict inputs to traced functions must have consistent element types, got "
            + ", ".join(sorted(map(str, found)))
        )
    return found.pop()


def _parameter_names(func: Any, count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(func.forward if isinstance(func, Module) else func).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return [names[i] if i < len(names) else f"argument_{i}" for i in range(count)]
