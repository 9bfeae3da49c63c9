"""What cells compute from the sums of a step, for a vector of units, and the way back through it.

A cell keeps what its way back needs: gates after their functions, and the state before the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Forward:
    """What a step gives."""

    hidden: Value
    memory: Value | None
    kept: tuple[Value, ...]
    """Gates for the way back."""


@dataclass(frozen=True, slots=True)
class Backward:
    """What a step gives back."""

    gates: tuple[Value, ...]
    """Gradients of what the gates are functions of."""
    hidden: Value | None
    """What goes straight to the hidden state before, past the weights; None for nothing."""
    memory: Value | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of cell."""

    gates: int
    """Blocks of rows of the weights."""
    from_input: tuple[int, ...]
    """The sum that each block's product with the input is added to."""
    from_hidden: tuple[int, ...]
    """The sum that each block's product with the hidden state is added to."""
    has_memory: bool
    grads: int
    """How many gates have gradients: of a gated unit, the two shares of the third one."""
    forward: Callable[[Emitter, Sequence[Value], Value | None, Value | None], Forward]
    """From the sums, and the hidden state and the memory before, where the cell reads them."""
    backward: Callable[[Emitter, Sequence[Value], Value, Value, Value | None], Backward]
    """From what was kept, the state before (memory, or hidden state), and the gradients of hidden state and memory."""

    @property
    def kept(self) -> int:
        """How many vectors a step keeps: gates, then the hidden state before it, then the memory."""
        return self.grads + 1 + self.has_memory

    @property
    def sums(self) -> int:
        """How many sums there are."""
        return 1 + max((*self.from_input, *self.from_hidden))


def _lstm(e: Emitter, sums: Sequence[Value], hidden: Value | None, memory: Value | None) -> Forward:
    assert memory is not None
    entry, forget, output = (explog.sigmoid(e, sums[k]) for k in (0, 1, 3))
    candidate = explog.tanh(e, sums[2])
    following = e.fadd(e.fmul(forget, memory), e.fmul(entry, candidate))
    return Forward(e.fmul(output, explog.tanh(e, following)), following, (entry, forget, candidate, output))


def _slope(e: Emitter, gate: Value) -> Value:
    """The derivative of a sigmoid by its value."""
    return e.fmul(e.fsub(e.like(gate, 1.0), gate), gate)


def _slope_of_tanh(e: Emitter, value: Value) -> Value:
    return e.fsub(e.like(value, 1.0), e.fmul(value, value))


def _lstm_back(e: Emitter, kept: Sequence[Value], before: Value, grad: Value, grad_memory: Value | None) -> Backward:
    assert grad_memory is not None
    entry, forget, candidate, output = kept
    shown = explog.tanh(e, e.fadd(e.fmul(forget, before), e.fmul(entry, candidate)))
    total = e.fadd(grad_memory, e.fmul(e.fmul(grad, output), _slope_of_tanh(e, shown)))
    gates = (
        e.fmul(e.fmul(_slope(e, entry), candidate), total), e.fmul(e.fmul(_slope(e, forget), before), total),
        e.fmul(e.fmul(_slope_of_tanh(e, candidate), entry), total), e.fmul(e.fmul(_slope(e, output), shown), grad),
    )  # fmt: skip
    return Backward(gates, None, e.fmul(total, forget))


def _gru(e: Emitter, sums: Sequence[Value], hidden: Value | None, memory: Value | None) -> Forward:
    assert hidden is not None
    reset, update = explog.sigmoid(e, sums[0]), explog.sigmoid(e, sums[1])
    new = explog.tanh(e, e.fadd(sums[2], e.fmul(reset, sums[3])))
    following = e.fadd(e.fmul(e.fsub(hidden, new), update), new)
    return Forward(following, None, (reset, update, new, sums[3]))


def _gru_back(e: Emitter, kept: Sequence[Value], before: Value, grad: Value, grad_memory: Value | None) -> Backward:
    reset, update, new, own = kept
    to_new = e.fmul(e.fmul(grad, e.fsub(e.like(grad, 1.0), update)), _slope_of_tanh(e, new))
    to_update = e.fmul(e.fmul(grad, e.fsub(before, new)), _slope(e, update))
    to_reset = e.fmul(e.fmul(to_new, own), _slope(e, reset))
    return Backward((to_reset, to_update, to_new, e.fmul(to_new, reset)), e.fmul(grad, update), None)


def _tanh(e: Emitter, sums: Sequence[Value], hidden: Value | None, memory: Value | None) -> Forward:
    value = explog.tanh(e, sums[0])
    return Forward(value, None, (value,))


def _tanh_back(e: Emitter, kept: Sequence[Value], before: Value, grad: Value, grad_memory: Value | None) -> Backward:
    return Backward((e.fmul(grad, _slope_of_tanh(e, kept[0])),), None, None)


def _relu(e: Emitter, sums: Sequence[Value], hidden: Value | None, memory: Value | None) -> Forward:
    value = e.most(e.like(sums[0], 0.0), sums[0])
    return Forward(value, None, (value,))


def _relu_back(e: Emitter, kept: Sequence[Value], before: Value, grad: Value, grad_memory: Value | None) -> Backward:
    zero = e.like(grad, 0.0)
    return Backward((e.select(e.fcmp("ole", kept[0], zero), zero, grad),), None, None)


CELLS = {
    "lstm": Cell(4, (0, 1, 2, 3), (0, 1, 2, 3), True, 4, _lstm, _lstm_back),
    "gru": Cell(3, (0, 1, 2), (0, 1, 3), False, 4, _gru, _gru_back),
    "rnn_tanh": Cell(1, (0,), (0,), False, 1, _tanh, _tanh_back),
    "rnn_relu": Cell(1, (0,), (0,), False, 1, _relu, _relu_back),
}
"""By the name of the operator."""
