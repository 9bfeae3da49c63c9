"""One run of a function under the recorder, which leaves the function's module as it was."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Value
from flambeau.jit.tracing import traced_modules as trace_modules
from flambeau.jit.tracing.baking import Baked, range_of_line, warn_user
from flambeau.jit.tracing.inputs_and_outputs import (
    Outputs,
    define_inputs,
    fresh,
    parameter_names,
    signature_names,
    with_tensors,
)
from flambeau.jit.tracing.redundant_guards import drop_implied
from flambeau.jit.tracing.trace_recorder import Recorder
from flambeau.jit.tracing.traced_modules import TracedMethod
from flambeau.nn.module import Module
from flambeau.nn.uninitialized import UNINITIALIZED, is_lazy
from flambeau.passes import dce
from flambeau.schema import types as t
from flambeau.tensor.settled import apart, is_readable
from flambeau.tensor.tensor import Tensor
from flambeau.util.no_collection import no_collection
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

BACKWARD_HOOKS = (
    "modules that have backward hooks assigned can't be compiled: {name} has one, which a trace does not run. Remove it"
)
NO_BUFFER = (
    "The attribute '{name}' of the traced module was assigned a result. The trace will not do that: what it reads of "
    "the attribute is the tensor that was there. Register it as a buffer (register_buffer)"
)


class BackwardHooksError(RuntimeError, ValueError):
    """A module cannot be traced because gradients inside of it go to hooks."""


@dataclass(frozen=True, slots=True)
class Call:
    """Example inputs."""

    args: tuple[Any, ...]
    keywords: dict[str, Any]

    @classmethod
    def of(cls, func: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Call:
        """Arguments for a callable: those by name in the order in which it has its parameters."""
        order = {name: index for index, name in enumerate(signature_names(func))}
        return cls(args, dict(sorted(keywords.items(), key=lambda item: order.get(item[0], len(order)))))

    @property
    def given(self) -> list[Any]:
        """All arguments, those by name last."""
        return [*self.args, *self.keywords.values()]

    def fresh(self) -> Call:
        """This call with tensors of its own. Raises RuntimeError for inputs that cannot be traced."""
        return Call(fresh(self.args), dict(zip(self.keywords, fresh([*self.keywords.values()]), strict=True)))


@dataclass
class Recorded:
    """What a run left behind."""

    graph: Graph
    self_value: Value | None
    baked: list[Baked]
    random: list[str]
    """Operators that drew random numbers."""
    flat: Graph = field(default_factory=Graph)
    """A copy of the graph in one piece."""
    result: Any = None
    """What the function gave."""

    @no_collection()
    def split(self, taken: dict[str, set[str]]) -> list[TracedMethod]:
        """Make methods of the calls of submodules. `taken` are names that modules have already, by path."""
        assert self.self_value is not None
        methods = trace_modules.split(self.graph, self.self_value, taken)
        for method in methods:
            taken.setdefault(method.path, set()).add(method.name)
            dce.do(method.graph)
        dce.do(self.graph)
        return methods


class Run:
    """How a callable is traced."""

    def __init__(
        self, func: Callable[..., Any], *, strict: bool, guard: bool, outplace: bool = False, method: str = "forward"
    ) -> None:
        self.func = func
        self.module = func if isinstance(func, Module) else None
        self._strict, self._guard, self._outplace = strict, guard, outplace
        if self.module is not None and method != "forward":
            self.func = getattr(self.module, method)

    @no_collection()
    def record(self, call: Call, *, warn: bool = True) -> Recorded:
        """Run on copies of the inputs and make the graph, attributes read from the root under dotted names."""
        graph = Graph()
        recorder = Recorder(graph, self.module, guard=self._guard, warn=warn, outplace=self._outplace)
        if self.module is not None:
            _refuse_untraceable(self.module)
            recorder.values.self_value = graph.add_parameter(t.ANY, "self")
        graph.current_range = _definition_of(self.func)
        own = call.fresh()
        before = {} if self.module is None else {id(m): dict(vars(m)) for m in self.module.modules()}
        names = parameter_names(self.func, own.args, own.keywords)
        with state_restored(self.module), recorder.recording():
            define_inputs(recorder, graph, (*own.args, *own.keywords.values()), names)
            result = self.func(*own.args, **own.keywords)
            graph.add_return(Outputs(recorder, graph, strict=self._strict, warn=warn).value(result))
            if self.module is not None:
                _note_rebound(recorder, self.module, before, warn=warn)
        recorder.baker.warn_of_failures()
        implied = {id(g.entry) for g in drop_implied(graph, recorder.baker.property_guards)}
        baked = [b for b in recorder.baker.baked if id(b) not in implied]
        recorded = Recorded(graph, recorder.values.self_value, baked, recorder.random)
        recorded.flat, recorded.result = clone_graph(graph), with_tensors(result)
        for one in (recorded.flat, graph) if self.module is None else (recorded.flat,):
            trace_modules.drop_markers(one)
            dce.do(one)
        return recorded


def _definition_of(func: Any) -> SourceRange | None:
    """Where a function begins: the place of what is done to its inputs."""
    function = inspect.unwrap(getattr(func, "forward", func) if isinstance(func, Module) else func)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return None if code is None else range_of_line(code.co_filename, code.co_firstlineno)


def _refuse_untraceable(module: Module) -> None:
    for path, one in module.named_modules():
        if vars(one).get("_backward_hooks") or vars(one).get("_backward_pre_hooks"):
            raise BackwardHooksError(BACKWARD_HOOKS.format(name=path or type(one).__name__))
        tensors = (*one._parameters.items(), *one._buffers.items())
        if unknown := [name for name, tensor in tensors if is_lazy(tensor)]:
            raise RuntimeError(UNINITIALIZED.format(owner=type(one).__qualname__, name=", ".join(unknown)))


@contextmanager
def state_restored(module: Module | None) -> Iterator[None]:
    """Within the block, a module may change its attributes and tensors; afterwards they are what they were."""
    modules = [] if module is None else [m for m in module.modules() if "script_object" not in vars(m)]
    buffers = [(m, dict(m._buffers)) for m in modules]
    attributes = [(vars(m), dict(vars(m))) for m in modules]
    tensors = [v for _, table in (*buffers, *attributes) for v in table.values() if isinstance(v, Tensor)]
    contents = [(t_, t_._version, apart(t_)) for t_ in tensors]
    try:
        yield
    finally:
        for owner, table in buffers:
            owner._buffers.update(table)
        for now, table in attributes:
            now.clear()
            now.update(table)
        for tensor, version, before in contents:
            if tensor._version != version:
                if is_readable(tensor):
                    tensor._array[...] = before._array
                    tensor.bump_version()
                else:
                    tensor.detach().copy_(before)


def _note_rebound(recorder: Recorder, module: Module, before: dict[int, dict[str, Any]], *, warn: bool) -> None:
    """A buffer that is another tensor now is assigned in the graph; other attributes are not, which is warned of."""
    for path, one in module.named_modules():
        if "script_object" in vars(one):
            continue
        prefix = f"{path}." if path else ""
        for name, tensor in one._buffers.items():
            if isinstance(tensor, Tensor) and recorder.values.is_known(tensor):
                recorder.values.assign(f"{prefix}{name}", tensor)
        for name, value in vars(one).items() if warn else ():
            known = before[id(one)].get(name)
            if isinstance(value, Tensor) and value is not known is not None and recorder.values.is_known(value):
                warn_user(NO_BUFFER.format(name=f"{prefix}{name}"))
