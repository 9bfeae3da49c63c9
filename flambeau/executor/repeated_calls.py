"""Compiled calls that become one node of the tape, once more with arguments as before: nothing of them is analysed
again, neither forward nor backward.

A call leaves which arguments asked, their dtypes and sizes, and how gradients go back. The next one hands plain tensors
over the same memory to the native code of the way there, and its node hands them on to that of the way back. Whatever
is not as it was goes the long way, by `compiled_calls`.

>>> import flambeau
>>> @flambeau.script
... def energy(x):
...     return (x * x).sum()
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> for _ in range(3):
...     energy(x).backward()
>>> x.grad
tensor([ 6., 12.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from flambeau.autograd import anomaly_mode
from flambeau.autograd.node import Edge, Gradients, Node, next_number
from flambeau.codegen import native_call
from flambeau.codegen.callable_type import MISSED, DispatchStub
from flambeau.executor.compiled_calls import CompiledBackward, CompiledCall, Kept, as_it_was, parted
from flambeau.executor.compiled_gradients import CompiledWayBack
from flambeau.executor.recomputed_calls import Run
from flambeau.schema.dtype import DType
from flambeau.tensor import kernels
from flambeau.tensor.observer import thread
from flambeau.tensor.subclasses import goes_below, overrides_functions
from flambeau.tensor.tensor import Tensor, plain
from flambeau.util.made_objects import Maker, make_natively

MOST_WAYS = 8
"""Ways back that are remembered of a kind of calls: for gradients that come to different results."""
OTHERS = -1
OFTEN = 64
"""Calls like one before from which on nodes and tensors are made by native code, which then is there."""
_NUMBERS: Final = (bool, int, float, str, type(None))


class Kind(NamedTuple):
    """What must be the same of an argument."""

    cls: Any
    dtype: Any = None
    """NumPy's; None for what is no tensor."""
    shape: tuple[int, ...] = ()
    asks: bool = False


class Result(NamedTuple):
    """What must be the same of a result."""

    cls: Any
    array_dtype: Any = None
    """NumPy's; None for what is no tensor that depends on what asks."""
    dtype: DType | None = None


class QuickWayBack(NamedTuple):
    """A way back as its native code takes it."""

    stub: DispatchStub
    seeds: tuple[int, ...]
    needed: tuple[int, ...]
    """Which tensors among the arguments must be as they were."""
    parameters: tuple[int, ...]
    """Which arguments it takes behind the gradients."""
    gradient_indices: tuple[int | None, ...]
    """Of each argument that asks, which of the gradients is its own; None if none is."""
    gradients: Callable[[Any], Sequence[Any]]
    """The gradients in what it gives."""


class RepeatedArguments:
    """The arguments of a call as they were."""

    __slots__ = ("call", "passed", "values", "versions")

    def __init__(
        self, call: RepeatedCall, values: Sequence[Any], passed: Sequence[Any], versions: Sequence[int | None]
    ) -> None:
        self.call = call
        self.values = values
        self.passed = passed
        """What native code took: plain tensors in the place of those that ask."""
        self.versions = versions
        """Of the memory of each tensor; None for what is none."""

    @property
    def asking(self) -> list[Tensor]:
        """The tensors that ask for gradients."""
        return [self.values[n] for n in self.call.asking]

    def again(self, run: Run) -> Run:
        """What runs the call once more: it has no effects."""
        return run

    def are_unwritten(self, needed: Sequence[int]) -> bool:
        """Whether tensors, by their numbers, are as they were."""
        values, versions = self.values, self.versions
        return all(values[number]._storage.version == versions[number] for number in needed)

    def restored(self, node: Node, needed: Sequence[int] | None = None) -> Sequence[Any]:
        """The arguments. Raises RuntimeError if one was written since: of those whose elements are needed, where that
        is told by number."""
        for number in range(len(self.values)) if needed is None else needed:
            version = self.versions[number]
            if version is not None:
                as_it_was(self.values[number], version, node)
        return self.values


class RepeatedCall:
    """What is known of the calls of a function with arguments of one kind, of which certain ones ask."""

    __slots__ = ("asking", "call", "calls", "constants", "keeps", "kinds", "marked", "results", "stub", "ways")

    def __init__(
        self, call: CompiledCall, kinds: tuple[Kind, ...], stub: DispatchStub, results: tuple[Result, ...],
        constants: frozenset[int], *, keeps: bool,
    ) -> None:  # fmt: skip
        self.call = call
        self.kinds = kinds
        self.stub = stub
        """Finds the native code of the way there."""
        self.results = results
        self.constants = constants
        """The storages of the function's constants."""
        self.keeps = keeps
        """Whether the way there gives what the way back needs, behind the function's own results."""
        self.marked = [result for result in results if result.dtype is not None]
        """The results that depend on what asks."""
        self.asking = tuple([n for n, kind in enumerate(kinds) if kind.asks])
        self.calls = 0
        self.ways: dict[int, QuickWayBack | None] = {}
        """By which results have gradients, a bit for each; None for those that go the long way."""

    def __call__(self, arguments: Sequence[Any]) -> Any:
        """The result, which is on the tape; `MISSED` for other arguments, or where native code does not serve them."""
        run = self.stub.target
        if run is None or len(arguments) != len(self.kinds) or kernels.table.overridden_names:
            return MISSED
        self.calls += 1
        if self.calls == OFTEN:
            _make_natively()
        passed: list[Any] = []
        versions: list[int | None] = []
        for value, kind in zip(arguments, self.kinds, strict=True):
            cls, dtype, _, asks = kind
            if type(value) is not cls:
                return MISSED
            if dtype is None:
                passed.append(value)
                versions.append(None)
                continue
            if not _is_like(value, kind):
                return MISSED
            storage = value._storage
            passed.append(plain(value._array, storage) if asks or cls is not Tensor else value)
            versions.append(storage.version)
        outcome = run(*passed)
        if outcome is MISSED:
            return MISSED
        return self._on_tape(outcome, RepeatedArguments(self, arguments, passed, versions))

    def _on_tape(self, outcome: Any, arguments: RepeatedArguments) -> Any:
        """The function's own result, which knows its node; `MISSED` if it is not all new tensors of the known kind."""
        own, kept = parted(self.call.plan, outcome) if self.keeps else (outcome, None)
        flat = own if type(own) is tuple else (own,)
        outputs = self._differentiable_results(flat, arguments.values)
        asking = arguments.asking
        if outputs is None or (len(asking) > 1 and len(set(map(id, asking))) < len(asking)):
            return MISSED  # a node has one edge for an argument that is passed twice
        edges = [_edge(value) for value in asking]
        shapes = [(r._array.shape, known.dtype) for r, known in zip(outputs, self.marked, strict=True)]
        node = _node(edges, next_number(), self.call, arguments, None if kept is None else Kept(kept), shapes)
        if anomaly_mode.STATE.is_enabled:
            anomaly_mode.note(node)
        for number, result in enumerate(outputs):
            result._node, result.output_nr = node, number
        if len(outputs) == len(flat):
            return own
        originals = {id(p): v for p, v in zip(arguments.passed, arguments.values, strict=True) if p is not v}
        restored = tuple([originals.get(id(result), result) for result in flat])
        return restored if flat is own else restored[0]

    def _differentiable_results(self, results: Sequence[Any], arguments: Sequence[Any]) -> list[Tensor] | None:
        """The results that depend on what asks; None if they are not of the known kind, or one shows memory of an
        argument, of a constant or of another result."""
        if len(results) != len(self.results):
            return None
        outputs: list[Tensor] = []
        memory = {id(v._storage) for v, kind in zip(arguments, self.kinds, strict=True) if kind.dtype is not None}
        for result, (cls, array_dtype, _) in zip(results, self.results, strict=True):
            if type(result) is not cls:
                return None
            if array_dtype is not None:
                identity = id(result._storage)
                if result._array.dtype != array_dtype or identity in memory or identity in self.constants:
                    return None
                memory.add(identity)
                outputs.append(result)
        return outputs

    def way_back(self, key: int) -> QuickWayBack | None:
        """How gradients go back from the results that have some, a bit for each; None where it is the long way."""
        known = self.ways.get(key, MISSED)
        if known is not MISSED:
            return known  # type: ignore[return-value]
        missing = frozenset(number for number in range(len(self.marked)) if not key >> number & 1)
        way = self.call.plan.way_back(missing, again=not self.keeps)
        quick = self._quick(way, missing)
        if len(self.ways) < MOST_WAYS:
            self.ways[key] = quick
        return quick

    def _quick(self, way: CompiledWayBack, missing: frozenset[int]) -> QuickWayBack | None:
        stub = getattr(way.function.runner, "stub", None)
        if stub is None or not missing.isdisjoint(way.seeds):
            return None
        gradient_indices = tuple([way.targets.index(n) if n in way.targets else None for n in self.asking])
        parameters = self.call.plan.parameters if self.keeps else tuple(range(len(self.kinds)))
        needed = tuple([n for n in way.needed if self.kinds[n].dtype is not None])
        return QuickWayBack(stub, way.seeds, needed, parameters, gradient_indices, way.gradients)


def _is_like(value: Any, kind: Kind) -> bool:
    """Whether a tensor is of a kind, and none of those that nothing may rely on."""
    _, dtype, shape, asks = kind
    array = value._array
    if array.shape != shape or array.dtype != dtype or (value._requires_grad or value.asks()) is not asks:
        return False
    return value._storage.version >= 0 and not value.is_wrapped_number


def _edge(tensor: Any) -> Edge:
    """Where the gradient of a tensor that asks goes."""
    node = tensor._node if tensor._base is None else tensor.grad_fn
    return (tensor, 0) if node is None else (node, tensor.output_nr)


def _bits(gradients: Gradients) -> int:
    """Which gradients there are, a bit for each; `OTHERS` if one is no plain tensor."""
    key = 0
    for number, gradient in enumerate(gradients):
        if gradient is not None:
            if type(gradient) is not Tensor:
                return OTHERS
            key |= 1 << number
    return key


class RepeatedBackward(CompiledBackward):
    """One call of a compiled function like the one before."""

    __slots__ = ()

    def apply_plainly(self, gradients: Gradients) -> Gradients:
        """The gradients of the arguments that ask. Raises RuntimeError if an input was written."""
        arguments, key = self._arguments, _bits(gradients)
        if type(arguments) is not RepeatedArguments or thread.observer is not None or key == OTHERS:
            return self.apply(gradients)
        way = arguments.call.way_back(key)
        run = None if way is None else way.stub.target
        if way is None or run is None or not arguments.are_unwritten(way.needed):
            return self.apply(gradients)
        passed = arguments.passed
        kept = () if self._kept is None else self._kept.restored(self)
        outcome = run(*[gradients[n] for n in way.seeds], *[passed[n] for n in way.parameters], *kept)
        if outcome is MISSED:
            return self.apply(gradients)
        gradients_back = way.gradients(outcome)
        return [None if index is None else gradients_back[index] for index in way.gradient_indices]


_node: Final = Maker(
    RepeatedBackward, ("edges", "sequence", "_call", "_arguments", "_kept", "_shapes"), {"extras": None}
)


def _make_natively() -> None:
    address = native_call.make_code()
    if address:
        make_natively(address)


def remembered(
    call: CompiledCall, arguments: Sequence[Any], result: Any, stub: DispatchStub, constants: frozenset[int], *,
    keeps: bool,
) -> RepeatedCall | None:  # fmt: skip
    """What the next call with arguments like these may rely on; None where more is needed than tensors and numbers."""
    kinds = [_kind_of(argument) for argument in arguments]
    flat = result if type(result) is tuple else (result,)
    marks = call.marks if isinstance(call.marks, tuple) and type(result) is tuple else (call.marks,) * len(flat)
    if len(marks) != len(flat):
        return None
    results = [_result_of(item, mark) for item, mark in zip(flat, marks, strict=True)]
    if None in kinds or None in results:
        return None
    return RepeatedCall(
        call, tuple([k for k in kinds if k]), stub, tuple([r for r in results if r]), constants, keeps=keeps
    )


def _kind_of(argument: Any) -> Kind | None:
    if isinstance(argument, Tensor):
        cls = type(argument)
        if goes_below(cls) or (cls is not Tensor and overrides_functions(cls)) or argument.is_wrapped_number:
            return None
        return Kind(cls, argument._array.dtype, argument._array.shape, argument.asks())
    return Kind(type(argument)) if type(argument) in _NUMBERS else None


def _result_of(item: Any, mark: Any) -> Result | None:
    if isinstance(item, Tensor):
        if isinstance(mark, tuple):
            return None
        depends = mark is not False and item._array.dtype.kind in "fcV"
        if not depends:
            return Result(type(item))
        return Result(Tensor, item._array.dtype, item.dtype) if type(item) is Tensor else None
    return Result(type(item)) if type(item) in _NUMBERS else None
