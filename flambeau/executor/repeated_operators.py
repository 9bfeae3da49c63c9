"""Operators by themselves whose kernels are Python: calls like ones that came often run a plan of one operator.

A plan is made behind the calls, soon where the cache on disk has its code, else when the calls have taken as long as
LLVM will. It serves calls like one (dtypes, sizes, strides, all numbers) only if it gives the bits of the kernel there:
for the elements of the call in other orders, for usual and for extreme numbers, and in less time. Folds that add up
in another order are left to the kernel by that.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from flambeau.codegen import available, native_call
from flambeau.codegen.graph.entry_stub import Entry, Parameter, Signature, make_entry, ones_of
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.executor import background, stored
from flambeau.executor.eager import machine
from flambeau.executor.executor import Executor, attach
from flambeau.executor.options import Options
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
from flambeau.util.missed import MISSED, missed
from flambeau.util.user_code import PendingWarning, holding_warnings

FROM_LLVM: Final = 4096
"""Calls after which a plan is made that is nowhere: LLVM takes tens of milliseconds for it."""
MOST_ELEMENTS: Final = 1 << 16
"""Elements from which on a call from Python costs little beside its loops."""
FEW_DRAWS: Final = 12
"""Calls with other elements that are compared where results consist of elements of the operands."""
MOST_DRAWS: Final = 512
ENOUGH: Final = 1 << 14
"""Such calls where results are computed, and elements of results that are enough: functions that differ at all in the
last place do so for one element in some hundreds."""
GAIN: Final = 0.8
"""Of the kernel's time, what a plan may take."""
RUNS: Final = 4
"""Runs after which a plan has the native code that it will have."""
MOST_PLANS: Final = 96
"""Plans of operators that are kept."""
SHOWN: Final = "results lie in the memory of operands"
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
        if graph is not None:
            function = Function(name, graph, schema_of(name, graph))
            self._executor = attach(function, Options(tiered=False), is_noted=False)

    def is_ready(self, arguments: Sequence[Any], count: int) -> bool:
        """Whether the plan has been made, which begins here when `count` calls are enough for it."""
        if self._executor is None:
            return False
        if self._job is None:
            copies = [_redrawn(t, t._array.reshape(-1)) for t in tensors_of(arguments)]
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
    """What runs calls like one in place of `run`; None where there is nothing yet, `MISSED` where there will be
    nothing, NotImplemented where there is none for others either. `listed` makes of native code what gives results as
    `run` does."""
    if planned.is_refused:
        return MISSED
    native: Native | None = None
    try:
        if not planned.is_ready(arguments, count):
            return None
        planned.warm(arguments)
        native = planned.native(arguments)
        reason = "it has no native form"
        if native is not None:
            native = listed(native)
            reason = _why_not(run, native, arguments)
    except Exception as error:  # the kernel goes on
        reason, planned.is_refused = f"{type(error).__name__}: {error}", True
    if reason and log.level("codegen"):
        log.write("codegen", f"calls of {name} go on in Python: {reason}")
    return NotImplemented if reason == SHOWN else MISSED if reason else native


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


def _why_not(run: Native, native: Native, arguments: Sequence[Any]) -> str:
    """Why native code does not do in place of the kernel; empty where it gives just the same, and sooner."""
    warnings: list[PendingWarning] = []
    with np.errstate(all="ignore"), holding_warnings(warnings):
        reason = _compared(run, native, arguments)
    return "it warns" if warnings and not reason else reason


def _compared(run: Native, native: Native, arguments: Sequence[Any]) -> str:
    kernel_time = native_time = float("inf")
    elements, compared, are_moved = 0, 0, True
    before: Sequence[Tensor] = ()
    for drawn in itertools.islice(_draws(arguments), MOST_DRAWS):
        tensors = tensors_of(drawn)
        expected, seconds = _timed(run, drawn)
        result, native_seconds = _timed(native, tensors)
        if expected is _REFUSED:
            if result is not _REFUSED and result is not MISSED:
                return "it gives what is refused"
            continue
        kernel_time, native_time = min(kernel_time, seconds), min(native_time, native_seconds)
        if not _is_same(result, expected, [*tensors, *before]):
            return SHOWN if _shows(expected, tensors) else "results differ"
        before = tensors_of((result,))
        compared += 1
        parts = [one._array for one in tensors_of(_parts(expected))]
        elements += sum([part.size for part in parts])
        are_moved = are_moved and (compared > FEW_DRAWS or _are_moved(parts, tensors))
        if compared >= FEW_DRAWS and (are_moved or elements >= ENOUGH):
            break
    return _verdict(compared, kernel_time, native_time)


def _verdict(compared: int, kernel_time: float, native_time: float) -> str:
    """What is said of native code whose results are the kernel's, after so many calls."""
    if compared < 2:
        return "no elements to compare it with"
    return "" if native_time < GAIN * kernel_time else "it takes as long"


_REFUSED: Final = object()
"""What calls give that raise."""


def _timed(call: Native, arguments: Sequence[Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds."""
    start = time.perf_counter()
    try:
        result = call(*arguments)
    except Exception:
        result = _REFUSED
    return result, time.perf_counter() - start


def _shows(result: Any, tensors: Sequence[Tensor]) -> bool:
    """Whether a result lies in the memory of an operand: it takes no loop."""
    parts = tensors_of(_parts(result))
    return any(np.may_share_memory(part._array, t._array) for part in parts for t in tensors)


def _are_moved(results: Sequence[np.ndarray[Any, Any]], tensors: Sequence[Tensor]) -> bool:
    """Whether all fractions among results are elements of the operands, or 0 or 1; or there are no operands."""
    known = [t._array.reshape(-1) for t in tensors if t._array.dtype.kind == "f"]
    if not tensors:
        return True
    numbers = np.concatenate([*known, [0.0, 1.0]])
    return all(part.dtype.kind in "biu" or bool(np.isin(part, numbers).all()) for part in results)


def _is_same(result: Any, expected: Any, tensors: Sequence[Tensor]) -> bool:
    """Whether two results are of the same types, with the same bits that lie the same way, in memory of their own."""
    if type(result) is not type(expected):
        return False
    if isinstance(expected, list | tuple):
        same = map(lambda a, b: _is_same(a, b, tensors), result, expected)
        return len(result) == len(expected) and all(same)
    if not isinstance(expected, Tensor):
        return bool(result == expected or (result != result and expected != expected))
    a, b = result._array, expected._array
    is_own = result._base is None and not any(np.may_share_memory(a, t._array) for t in tensors)
    are_alike = (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
    are_alike = are_alike and result.is_wrapped_number == expected.is_wrapped_number
    return is_own and are_alike and _has_same_bits(a, b)


def _has_same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.kind not in "fc":
        return False
    are_nan = np.isnan(a) & np.isnan(b)
    return np.where(are_nan, 0, a).tobytes() == np.where(are_nan, 0, b).tobytes()


def _parts(result: Any) -> Sequence[Any]:
    return result if isinstance(result, list | tuple) else (result,)


def _draws(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments of a call with other elements in its tensors: its own in another order, ones near to these,
    usual numbers and extreme ones."""
    random = np.random.default_rng(0)
    for number in itertools.count():
        yield [_drawn(a, number, random) for a in arguments]


def _drawn(argument: Any, number: int, random: np.random.Generator) -> Any:
    if isinstance(argument, list | tuple):
        return [_drawn(one, number, random) for one in argument]
    if not isinstance(argument, Tensor):
        return argument
    known = argument._array.reshape(-1)
    if number:
        known = random.permutation(known)
    if known.dtype.kind == "f" and number % 4 == 2:
        known = (known * random.uniform(0.5, 1.5, known.size)).astype(known.dtype)
    elif known.dtype.kind == "f" and number % 4 == 3:
        known = (random.standard_normal(known.size) * 10.0 ** random.integers(-3, 4)).astype(known.dtype)
        if number % 8 == 7:
            count = 1 + known.size // 8
            known[random.integers(0, known.size, count)] = random.choice(_EXTREME, count)
    return _redrawn(argument, known)


_EXTREME: Final = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38)


def _redrawn(tensor: Tensor, elements: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that lies like another, in memory of its own, with elements from a list of as many."""
    array = tensor._array
    steps = zip(array.shape, array.strides, strict=True)
    extent = 1 + sum([(size - 1) * stride for size, stride in steps]) // array.itemsize
    memory = np.resize(elements, max(extent, 1)).astype(array.dtype, copy=False)
    return wrap(np.lib.stride_tricks.as_strided(np.ascontiguousarray(memory), array.shape, array.strides))
