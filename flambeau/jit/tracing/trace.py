"""`flambeau.trace`: a graph from a run, checked by running again, guarded where the run depended on values."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast, overload

from flambeau.executor.executor import attach
from flambeau.jit.disabled import is_disabled
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules.old_style import ScriptModule
from flambeau.jit.script import CLASSES
from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.torch_counterparts import MODULE_OF_TORCH, is_torch_module
from flambeau.jit.tracing.check import check
from flambeau.jit.tracing.inputs_and_outputs import as_arguments
from flambeau.jit.tracing.run import Call, Recorded, Run
from flambeau.jit.tracing.traced import TopLevelTracedModule, TracedFunction, TracedTree
from flambeau.jit.tracing.traced_modules import reads_to_inputs
from flambeau.nn.module import Module
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.tensor.tensor import Tensor
from flambeau.util.names import in_root, qualified_name
from flambeau.util.no_collection import no_collection

P = ParamSpec("P")
R = TypeVar("R")
NO_OPTIMIZE = "trace's `optimize` has no effect; with jit.optimized_execution(False): runs calls unoptimised"
ALREADY = "The input to trace is already a {kind}, tracing it is a no-op. Returning the object as is."
NOTHING_TO_RUN = "it is run once, with example inputs"
OTHER_METHOD = (
    "trace doesn't support compiling individual module's functions.\nPlease use trace_module with "
    "{{'{name}': example_inputs}}"
)
NO_INPUTS = "expected a dictionary of (method_name, input) pairs, got a {type}"
NO_MODULE = "expected a module as the first argument of trace_module, got a {type}"


@overload
def trace(func: Tensor) -> Tensor: ...
@overload
def trace(  # type: ignore[overload-overlap]  # a module is callable too
    func: Module,
    example_inputs: Any = ...,
    *,
    example_kwarg_inputs: Mapping[str, Any] | None = ...,
    check_trace: bool = ...,
    check_inputs: Sequence[Any] | None = ...,
    check_tolerance: float = ...,
    strict: bool = ...,
    guard: bool = ...,
    optimize: bool | None = ...,
    _force_outplace: bool = ...,
    _store_inputs: bool = ...,
) -> TopLevelTracedModule: ...
@overload
def trace(
    func: Callable[P, R],
    example_inputs: Any = ...,
    *,
    example_kwarg_inputs: Mapping[str, Any] | None = ...,
    check_trace: bool = ...,
    check_inputs: Sequence[Any] | None = ...,
    check_tolerance: float = ...,
    strict: bool = ...,
    guard: bool = ...,
    optimize: bool | None = ...,
    _force_outplace: bool = ...,
    _store_inputs: bool = ...,
) -> ScriptFunction[P, R]: ...
def trace(
    func: Callable[..., Any] | Tensor,
    example_inputs: Any = (),
    *,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
    check_trace: bool = True,
    check_inputs: Sequence[Any] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    guard: bool = True,
    optimize: bool | None = None,
    _force_outplace: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """Run `func` on example inputs and make a graph of the operators that ran.

    Args:
        func: a function or a module (or its `forward`); parameters of a module stay attributes, its submodules stay
            submodules. Of a matrix it is the sum of the diagonal: PyTorch has that under this name.
        example_inputs: the arguments: tensors, or tuples, lists and dicts of tensors, in a tuple or list. A lone tensor
            or dict is one argument.
        example_kwarg_inputs: arguments by keyword.
        check_trace: run it again, natively and through Python, and compare; trace again and compare the graphs.
        check_inputs: further example inputs to compare on.
        check_tolerance: how far results may differ, relatively and absolutely.
        strict: refuse dicts, and warn of lists, in the results.
        guard: leave guards in the graph: a later call that would need another value of what Python learned raises.
        optimize: has no meaning any more, of which it warns.

    Sizes stay expressions (`x.shape[0] * 2`). What Python learns of a tensor's contents (`if x.sum() > 0`, `int(x)`) is
    fixed: a TracerWarning names the line, `baked` lists it. So are rank, dtype and layout where Python asks for them,
    without a warning.

    Raises:
        TracingCheckError: another run gave another graph.
        RuntimeError: inputs or outputs that cannot be traced.

    >>> import flambeau
    >>> traced = flambeau.trace(lambda x: x * 2 + 1, flambeau.ones(3))
    >>> traced(flambeau.zeros(2))
    tensor([1., 1.])
    """
    if isinstance(func, Tensor):
        return func.trace()
    if optimize is not None:
        warnings.warn(NO_OPTIMIZE, FutureWarning, stacklevel=2)
    if is_disabled():
        return func
    if isinstance(func, ScriptFunction | ScriptModule):
        kind = "ScriptModule" if isinstance(func, ScriptModule) else "ScriptFunction"
        warnings.warn(ALREADY.format(kind=kind), UserWarning, stacklevel=2)
        return func
    target = _owner(func)
    call = Call.of(target, as_arguments(example_inputs), example_kwarg_inputs or {})
    run = Run(target, strict=strict, guard=guard, outplace=_force_outplace)
    recorded = run.record(call)
    traced = _module(target, {"forward": recorded}) if isinstance(target, Module) else _function(target, recorded)
    if _store_inputs:
        object.__setattr__(traced, "_traced_inputs", {"forward": call.given})
    if check_trace:
        for example in (call, *(Call(as_arguments(c), {}) for c in check_inputs or ())):
            check(run, traced, recorded, example, check_tolerance)
    return traced


def _owner(func: Any) -> Any:
    """The module whose `forward` is to be traced; other functions as they are. Raises AttributeError for another
    method of a module, TypeError for a module of PyTorch and for what nobody can call."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module):
        if func.__name__ != "forward":
            raise AttributeError(OTHER_METHOD.format(name=func.__name__))
        return owner
    if is_torch_module(func):
        raise TypeError(f"trace takes a function or a module, not a {type(func).__name__}: {MODULE_OF_TORCH}")
    if not callable(func):
        raise TypeError(f"trace takes a function or a module, not a {type(func).__name__}: {NOTHING_TO_RUN}")
    return func


trace.language_form = "trace"  # type: ignore[attr-defined]  # in programs it is the sum of a matrix's diagonal


def trace_module(
    mod: Module,
    inputs: Mapping[str, Any],
    *,
    check_trace: bool = True,
    check_inputs: Sequence[Mapping[str, Any]] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    guard: bool = True,
    example_inputs_is_kwarg: bool = False,
    _force_outplace: bool = False,
    _store_inputs: bool = True,
) -> TopLevelTracedModule:
    """Trace several methods of a module: `inputs` has example inputs by the names of methods.

    With `example_inputs_is_kwarg` they are dicts of arguments by keyword. The rest is as in `trace`.

    Raises AttributeError for a method that the module does not have and for `inputs` that are no dict, and what `trace`
    raises.

    >>> import flambeau
    >>> class Pair(flambeau.nn.Module):
    ...     def forward(self, x):
    ...         return x + 1
    ...     def twice(self, x):
    ...         return x * 2
    >>> traced = flambeau.jit.trace_module(Pair(), {"forward": flambeau.ones(1), "twice": flambeau.ones(1)})
    >>> traced.twice(flambeau.ones(2))
    tensor([2., 2.])
    """
    if is_disabled():
        return cast("TopLevelTracedModule", mod)
    if not isinstance(mod, Module):
        raise AttributeError(NO_MODULE.format(type=type(mod).__name__))
    if not isinstance(inputs, Mapping):
        raise AttributeError(NO_INPUTS.format(type=type(inputs).__name__))

    def call_of(name: str, examples: Any) -> Call:
        if example_inputs_is_kwarg:
            return Call.of(runs[name].func, (), examples)
        return Call(as_arguments(examples), {})

    runs = {
        name: Run(mod, strict=strict, guard=guard, outplace=_force_outplace, method=name) for name in inputs
    }
    recorded = {name: runs[name].record(call_of(name, examples)) for name, examples in inputs.items()}
    traced = _module(mod, recorded)
    if _store_inputs:
        inputs_of_methods = {name: call_of(name, examples).given for name, examples in inputs.items()}
        object.__setattr__(traced, "_traced_inputs", inputs_of_methods)
    for examples in (inputs, *(check_inputs or ())) if check_trace else ():
        for name, example in examples.items():
            check(runs[name], getattr(traced, name), recorded[name], call_of(name, example), check_tolerance)
    return traced


def get_trace_graph(
    f: Callable[..., Any], args: Any = (), kwargs: Mapping[str, Any] | None = None, *, strict: bool = True,
    _force_outplace: bool = False, return_inputs: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """The graph of one run in one piece, a module's parameters and buffers as further parameters of it, and the result.

    With `return_inputs` what goes in comes third: the inputs, and a module's parameters and buffers.

    Raises RuntimeError for what cannot be traced.

    Args:
        f: a function or module.
        args: example inputs.
        kwargs: example inputs by name.
        strict: whether lists and dicts as results are refused.
        _force_outplace: accepted, without effect.
        return_inputs: whether inputs come third.

    >>> import flambeau
    >>> graph, out = get_trace_graph(flambeau.nn.Linear(2, 1), flambeau.ones(3, 2))
    >>> [v.name for v in graph.parameters], out.shape
    (['input', 'weight', 'bias'], flambeau.Size([3, 1]))
    """
    call = Call.of(f, as_arguments(args), kwargs or {})
    recorded = Run(f, strict=strict, guard=False, outplace=_force_outplace).record(call, warn=False)
    graph = recorded.flat
    state = _state(f) if isinstance(f, Module) else {}
    if isinstance(f, Module):
        reads_to_inputs(graph, graph.parameters[0], state)
    inputs = (*call.given, *state.values())
    return (graph, recorded.result, inputs) if return_inputs else (graph, recorded.result)


def _state(module: Module) -> dict[str, Tensor]:
    """The parameters and buffers of a module by path: each module's own, then those of its submodules."""
    state: dict[str, Tensor] = {}
    seen: set[int] = set()
    for path, one in module.named_modules():
        for name, tensor in (*one._parameters.items(), *one._buffers.items()):
            if tensor is not None and id(tensor) not in seen:
                seen.add(id(tensor))
                state[f"{path}.{name}" if path else name] = tensor
    return state


def _function(func: Callable[..., Any], recorded: Recorded) -> TracedFunction:
    name = qualified_name(func) if hasattr(func, "__qualname__") else in_root(type(func).__qualname__)
    name = REGISTRY.unit.unique_name(name)
    function = Function(name, recorded.graph, schema_of(name.rpartition(".")[2], recorded.graph))
    function.doc = inspect.getdoc(func) or "" if hasattr(func, "__qualname__") else ""
    attach(function)
    traced = TracedFunction(function)
    traced._python = func  # for when compilation is disabled
    traced.baked = recorded.baked
    return traced


@no_collection()
def _module(module: Module, recorded: Mapping[str, Recorded]) -> TopLevelTracedModule:
    tree = TracedTree(module, CLASSES)
    taken: dict[str, set[str]] = {}
    for name, one in recorded.items():
        tree.add(name, one.graph, one.split(taken))
    tree.compile_exported()
    traced = tree.module()
    for name in recorded:
        traced._method(name)._python = module if name == "forward" else getattr(module, name)
    object.__setattr__(traced, "baked", [b for one in recorded.values() for b in one.baked])
    return traced
