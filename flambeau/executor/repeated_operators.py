"""Operators by themselves whose kernels are Python: calls like ones that came often run a plan of one operator.

A plan is made behind the calls, soon where the cache on disk has its code, else when the calls have taken as long as
LLVM will. It serves calls like one (dtypes, sizes, strides, all numbers) only if it gives the bits of the kernel there:
for the elements of the call in other orders, for usual and for extreme numbers, and in less time. Folds that add up
in another order are left to the kernel by that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from flambeau.codegen import available, native_call
from flambeau.codegen.graph.entry.entry_stub import Entry, Parameter, Signature, make_entry, ones_of
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.executor import background, stored
from flambeau.executor.eager import machine
from flambeau.executor.executor import Executor, attach
from flambeau.executor.options import Options
from flambeau.executor.plan_comparison import SHOWN, Comparison, redrawn
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Value
from flambeau.ops.families.composite import CompositeKernel
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.device import Device
from flambeau.schema.opdef import OpDef
from flambeau.schema.own_gradient import is_spelling
from flambeau.schema.types import TensorType
from flambeau.tensor.repeated_kernels import tensors_of
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import log
from flambeau.util.inversions import REPEATED_CALL
from flambeau.util.missed import MISSED, UNDECIDED, missed

FROM_LLVM: Final = 4096
"""Calls after which a plan is made that is nowhere: LLVM takes tens of milliseconds for it."""
MOST_ELEMENTS: Final = 1 << 16
"""Elements from which on a call from Python costs little beside its loops."""
RUNS: Final = 4
"""Runs after which a plan has the native code that it will have."""
AT_ONCE: Final = 0.0005
"""Seconds of comparing that a call waits for."""
MOST_COMPARED: Final = 8
"""Kinds of calls of a plan that are compared at a time."""
MOST_PLANS: Final = 96
"""Plans of operators that are kept."""
Native = Callable[..., Any]


class Planned:
    """One operator, or its gradients, for tensors of some dtypes and ranks, and just some numbers."""

    def __init__(self, name: str, graph: Graph | None, *, takes_asking: bool = True) -> None:
        """`graph` takes the tensors; None where there is none. `takes_asking`: see `Signature`."""
        self.is_refused = graph is None
        self._takes_asking = takes_asking
        self._executor: Executor | None = None
        self._job: background.Job | None = None
        self._entries: list[Entry] = []
        self._compared: dict[Hashable, Comparison] = {}
        """Comparisons that go on, by sizes and strides."""
        if graph is not None:
            function = Function(name, graph, schema_of(name, graph))
            self._executor = attach(function, Options(tiered=False), is_noted=False)

    def is_ready(self, arguments: Sequence[Any], count: int) -> bool:
        """Whether the plan has been made, which begins here when `count` calls are enough for it."""
        if self._executor is None:
            return False
        if self._job is None:
            copies = [redrawn(t, t._array.reshape(-1)) for t in tensors_of(arguments)]
            if count < FROM_LLVM and not stored.is_kept(self._executor.function, copies, self._executor.options):
                return False
            make = partial(_make, self._executor, copies, is_compiled=count >= FROM_LLVM)
            self._job = background.start(make) if background.is_wanted() else None
            if self._job is None:
                make()
                self._job = background.Job(make)
                return True
        return self._job.is_over or not background.is_wanted()

    def native(self, arguments: Sequence[Any]) -> Native | None:
        """What takes the tensors of a call; None where there is no native code."""
        if self._executor is None or (self._job is not None and (self._job.error or self._job.is_lost)):
            return None
        tensors = tensors_of(arguments)
        plan = self._executor.plan_for(tensors)
        if plan.fast_path is not None:
            make = native_call.make_for_plan if self._takes_asking else native_call.make_for_tensors
            return make(plan.kernels[0].inline_cache, missed)
        native = None if plan.compiled is None else plan.compiled.variant_for(tensors)
        if native is None or native.linkage.asks:
            return None
        looks = zip(native.parameters, tensors, strict=True)
        parameters = tuple([Parameter(rep, ones=ones_of(rep, tensor)) for rep, tensor in looks])
        signature = Signature(parameters, native.linkage.results, native.linkage.record_words, self._takes_asking)
        try:
            entry = make_entry(signature, native.address, missed, native.fail)
        except CannotCompileError:
            return None
        if entry is None:
            return None
        self._entries.append(entry)
        return entry.call

    def warm(self, arguments: Sequence[Any]) -> None:
        """Run the plan for a call of new sizes, which its kernels look at."""
        if self._executor is not None:
            _run(self._executor, tensors_of(arguments))


    def comparison(
        self, run: Native, arguments: Sequence[Any], listed: Callable[[Native], Native]
    ) -> Comparison | None:
        """The comparison for calls like one, which goes on where it was; None where there is no native code."""
        known = self._compared.pop(_lying(arguments), None)  # no other thread goes on with it meanwhile
        if known is None:
            self.warm(arguments)
            native = self.native(arguments)
            if native is None:
                return None
            known = Comparison(run, listed(native), arguments)
        return known

    def put_back(self, arguments: Sequence[Any], comparison: Comparison) -> None:
        """Have a comparison go on with a later call like one."""
        if len(self._compared) >= MOST_COMPARED:
            self._compared.clear()
        self._compared[_lying(arguments)] = comparison


def _lying(arguments: Sequence[Any]) -> Hashable:
    """What tells calls of one plan apart: sizes and strides."""
    return tuple([(t._array.shape, t._array.strides) for t in tensors_of(arguments)])


def _make(executor: Executor, tensors: Sequence[Tensor], *, is_compiled: bool) -> None:
    executor.make_ready(tensors)
    if is_compiled:  # LLVM is there, and calls that a plan takes over count no more
        machine.load()
    for _ in range(RUNS):
        _run(executor, tensors)


def _run(executor: Executor, tensors: Sequence[Tensor]) -> Any:
    plain = [wrap(t._array) for t in tensors]
    return executor.plan_for(plain).run(plain)


_planned: dict[Hashable, Planned] = {}


@REPEATED_CALL.provide
def _native(definition: OpDef, run: Native, arguments: Sequence[Any], count: int) -> Any:
    """What runs calls like one; None where there is nothing yet, `MISSED` where there will be nothing."""

    def new() -> Planned:
        is_written_in_others = isinstance(definition.kernel, CompositeKernel) or is_spelling(definition)
        name = definition.full_name.replace("::", "_").replace(".", "_")
        return Planned(name, _graph_of(definition, arguments), takes_asking=not is_written_in_others)

    planned = planned_for(definition, arguments, new)
    return MISSED if planned is None else native_for(planned, definition.full_name, run, arguments, count)


def planned_for(key: Hashable, arguments: Sequence[Any], new: Callable[[], Planned]) -> Planned | None:
    """The plan for the arguments of a call, which `new` begins; None for one that has none."""
    is_elsewhere = any(isinstance(a, Device) for a in arguments)
    if is_elsewhere or not available() or not all(map(_is_usual, tensors_of(arguments))):
        return None
    pattern = (key, tuple([_pattern(a) for a in arguments]))
    planned = _planned.get(pattern)
    if planned is None and len(_planned) < MOST_PLANS:
        planned = _planned[pattern] = new()
    return planned


def native_for(
    planned: Planned, name: str, run: Native, arguments: Sequence[Any], count: int,
    listed: Callable[[Native], Native] = lambda native: native,
) -> Any:  # fmt: skip
    """What runs calls like one in place of `run`; None where there is nothing yet, `UNDECIDED` where to ask again soon,
    `MISSED` where there will be nothing, NotImplemented where there is none for others either. `listed` makes of native
    code what gives results as `run` does."""
    if planned.is_refused:
        return MISSED
    reason: str | None = "it has no native form"
    comparison: Comparison | None = None
    try:
        if not planned.is_ready(arguments, count):
            return None
        comparison = planned.comparison(run, arguments, listed)
        if comparison is not None:
            reason = comparison.go_on(AT_ONCE if background.is_wanted() else float("inf"))
            if reason is None:
                planned.put_back(arguments, comparison)
                return UNDECIDED
    except Exception as error:  # the kernel goes on
        reason, planned.is_refused = f"{type(error).__name__}: {error}", True
    if reason and log.level("codegen"):
        log.write("codegen", f"calls of {name} go on in Python: {reason}")
    return NotImplemented if reason == SHOWN else MISSED if comparison is None or reason else comparison.native


def _is_usual(tensor: Tensor) -> bool:
    """Whether native code takes such a tensor, and it is no large one."""
    array = tensor._array
    is_plain = type(array) is np.ndarray and array.flags.aligned and array.dtype.isnative and not array.dtype.hasobject
    return is_plain and 0 < array.size <= MOST_ELEMENTS and all(s >= 0 for s in array.strides)


def _pattern(argument: Any) -> Any:
    """What of an argument decides which plan a call has."""
    if isinstance(argument, Tensor):
        array = argument._array
        return array.dtype, tuple([n == 1 for n in array.shape]), argument.is_wrapped_number
    if isinstance(argument, list | tuple):
        return tuple(map(_pattern, argument))
    return type(argument), repr(argument)


def _graph_of(definition: OpDef, arguments: Sequence[Any]) -> Graph | None:
    """A call as a graph of one node on its tensors; None for one that no program makes so."""
    graph = Graph()

    def operand(value: Any) -> Value:
        if not isinstance(value, Tensor):
            return insert_constant(graph, value)
        sizes = (None,) * value._array.ndim
        known = TensorType(dtype=value.dtype, sizes=sizes, device=value.device, requires_grad=False)
        return graph.add_parameter(known)

    operands = []
    try:
        for formal, argument in zip(definition.schema.arguments, arguments, strict=True):
            if isinstance(argument, list | tuple) and any(isinstance(one, Tensor) for one in argument):
                items = [operand(one) for one in argument]
                operands.append(graph.insert("prim::ListConstruct", items, [formal.type]).result())
            else:
                operands.append(operand(argument))
    except TypeError:
        return None
    node = graph.insert(definition.schema.name, operands, [r.type for r in definition.schema.returns])
    if node.definition is not definition:
        return None
    for result in node.results:
        graph.add_return(result)
    return graph
