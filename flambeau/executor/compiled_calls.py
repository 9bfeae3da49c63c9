"""A compiled call as one node on the tape whose way back is compiled as well.

What the way back needs of the way there is kept, or computed again by the way back itself (`recomputes`): a stack that
a loop fills costs more to hand over, an object for each round, than most loops take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.analysis.gradients import Flow, Marks
from flambeau.autograd.flat_node import flat_by_operands
from flambeau.autograd.node import Gradients, Node, edge_of
from flambeau.autograd.saved import FREED, SavedTensor
from flambeau.executor import lost_numbers
from flambeau.executor.compiled_gradients import GradientPlan, Refusal, Stacks
from flambeau.executor.gradients import Plain
from flambeau.executor.recomputed_calls import (
    Arguments,
    CompiledCallBackward,
    KeptArguments,
    OnceArguments,
    Run,
    attach,
    marked,
    own_results,
)
from flambeau.tensor.grad_mode import is_grad_enabled, refuse_saving
from flambeau.tensor.levels import Wrapper
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, plain
from flambeau.util.record import dataclass

LARGE = 1 << 16
"""Bytes of the largest argument from which stacks of tensors are kept: a round on so much takes longer than a tensor
takes to hand over."""


def recomputes(plan: GradientPlan, arguments: Sequence[Any]) -> bool:
    """Whether the way back computes the way there again, in place of what that would have to keep."""
    if plan.stacks is not Stacks.OF_TENSORS:
        return plan.stacks is Stacks.OF_NUMBERS
    return max((v._array.nbytes for v in arguments if isinstance(v, Tensor)), default=0) < LARGE


class Kept:
    """What the way there gave for the way back. Raises RuntimeError for what was made in `inference_mode()`."""

    __slots__ = ("_values", "_versions")

    def __init__(self, values: Sequence[Any]) -> None:
        self._values: list[Any] = []
        self._versions: list[int | None] = []
        for value in values:
            version = None
            if isinstance(value, Tensor):
                storage = value._storage
                version = storage.version
                refuse_saving(version)
                value = settle(plain(value._array, storage))
            self._values.append(value)
            self._versions.append(version)

    def restored(self, node: Node) -> list[Any]:
        """The values as they were; lists are copies, which the way back takes apart. Raises RuntimeError if a tensor
        was written since."""
        return [
            as_it_was(v, version, node) if version is not None else list(v) if type(v) is list else v
            for v, version in zip(self._values, self._versions, strict=True)
        ]


def as_it_was(tensor: Tensor, version: int, node: Node) -> Tensor:
    """A tensor that was kept. Raises RuntimeError if it was written since its memory had this version."""
    if tensor._storage.version != version:
        saved = SavedTensor(tensor)
        saved.version = version
        saved.restored(node)
    return tensor


@dataclass(frozen=True, slots=True, eq=False)
class CompiledCall:
    """What calls of a function with arguments of one kind have in common."""

    plan: GradientPlan
    marks: Marks
    """Which results depend on what asks."""
    run: Run
    """Runs the function again, for gradients that are batches, or have tangents."""


class CompiledBackward(Node):
    """One call of a compiled function, with a compiled way back."""

    __slots__ = ("_arguments", "_call", "_kept", "_shapes")

    def __init__(
        self, call: CompiledCall, arguments: KeptArguments, kept: Kept | None, results: Sequence[Tensor]
    ) -> None:
        super().__init__([edge_of(tensor) for tensor in arguments.asking])
        self._call = call
        self._arguments: KeptArguments | None = arguments
        self._kept = kept
        """None where the way back computes again what it needs."""
        self._shapes = [(tuple(r.shape), r.dtype) for r in results]

    def name(self) -> str:
        """As all nodes of compiled calls."""
        return "CompiledCallBackward"

    def apply(self, gradients: Gradients) -> Gradients:
        """The gradients of the arguments that ask. Raises RuntimeError if an input was written."""
        arguments, kept, plan = self._arguments, self._kept, self._call.plan
        if arguments is None:
            raise RuntimeError(FREED)
        if self._runs_again(arguments, gradients):
            run = arguments.again(self._call.run)
            return CompiledCallBackward(run, arguments, self._call.marks).apply(gradients)
        missing = frozenset(n for n in range(len(self._shapes)) if n >= len(gradients) or gradients[n] is None)
        way = plan.way_back(missing, again=kept is None or is_grad_enabled())
        seeds = [self._complete(gradients, number) for number in way.seeds]
        values = arguments.restored(self, way.needed)
        inputs = _inputs(plan, values, None if kept is None or is_grad_enabled() else kept.restored(self))
        computed = way.gradients(way.function(*seeds, *inputs))
        by_tensor = _by_tensor([values[n] for n in way.targets], computed)
        results = [by_tensor.get(id(tensor)) for tensor in arguments.asking]
        return flat_by_operands(results, self) if is_grad_enabled() else results

    def _runs_again(self, arguments: KeptArguments, gradients: Gradients) -> bool:
        """Whether the way back is that of a second run: for gradients that are batches or have tangents, and to be
        differentiated itself where a call has effects that its graph would repeat."""
        has_effects = isinstance(arguments, OnceArguments)
        return any(isinstance(g, Wrapper) for g in gradients) or (has_effects and is_grad_enabled())

    def _complete(self, gradients: Gradients, number: int) -> Tensor:
        """The gradient of a result, which is zero where none came."""
        gradient = gradients[number] if number < len(gradients) else None
        if gradient is not None:
            return gradient
        sizes, dtype = self._shapes[number]
        known = next(g for g in gradients if g is not None)
        zeros: Tensor = known.new_zeros(list(sizes), dtype=dtype)
        return zeros

    def release(self) -> None:
        """Let go of what was kept."""
        self._arguments = self._kept = None


def _inputs(plan: GradientPlan, arguments: Sequence[Any], kept: list[Any] | None) -> Sequence[Any]:
    """What a way back takes behind the gradients: of one that computes the way there again (`kept` is None) all
    arguments, of others those it needs, and what was kept. They do not ask where nothing is recorded."""
    values = arguments if is_grad_enabled() else Plain(arguments).arguments
    return values if kept is None else [*[values[n] for n in plan.parameters], *kept]


def _by_tensor(arguments: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> dict[int, Tensor]:
    """The gradients of tensors, by identity: an argument that was given twice has the sum."""
    sums: dict[int, Tensor] = {}
    for argument, gradient in zip(arguments, gradients, strict=True):
        if gradient is not None:
            key = id(argument)
            sums[key] = sums[key] + gradient if key in sums else gradient
    return sums


def parted(plan: GradientPlan, outcome: Any) -> tuple[Any, Sequence[Any]]:
    """The function's own result, and what is kept, of what the way there gave."""
    values = outcome if plan.gives_several else (outcome,)
    return values[0] if plan.results == 1 else values[: plan.results], values[plan.results :]


def on_tape(
    call: CompiledCall,
    result: Any,
    kept: Kept | None,
    arguments: Arguments,
    constants: frozenset[int],
) -> bool:
    """Have the result of the way there know how it came about. False where `own_results` cannot tell which tensors it
    made."""
    results = marked(result, call.marks)
    own = own_results(results, arguments, constants)
    if own is not None:
        arguments.refuse_inference(call.plan.parameters)
        attach(own, CompiledBackward(call, arguments, kept, results))
    return own is not None


def kept_on_tape(
    call: CompiledCall, arguments: Sequence[Any], saved: Arguments, constants: frozenset[int]
) -> tuple[Any, bool]:
    """Run the way there of a call and keep what it gives for the way back. The result, and whether it is on the tape
    (`on_tape`)."""
    plain = Plain(arguments)
    result, kept = parted(call.plan, call.plan.forward(*plain.arguments))
    if isinstance(saved, OnceArguments):
        saved.ran()
    is_done = on_tape(call, result, Kept(kept), saved, constants)
    return plain.restored(result), is_done


def once_on_tape(
    plan: GradientPlan | Refusal, flow: Flow, arguments: Sequence[Any], again: Run, constants: frozenset[int]
) -> Any:
    """Run a call that draws random numbers, or writes to what asks for nothing, as one node; a Refusal, before
    anything has run, where it cannot be one. `again` runs the function, an operator at a time."""
    if isinstance(plan, Refusal) or flow.replay is None:
        return plan
    saved = OnceArguments(arguments, flow.replay)
    if not saved.are_apart():
        return Refusal(lost_numbers.SHARED)
    result, is_done = kept_on_tape(CompiledCall(plan, flow.marks, again), arguments, saved, constants)
    assert is_done  # `Flow.replay` is None where results may share memory
    return result
