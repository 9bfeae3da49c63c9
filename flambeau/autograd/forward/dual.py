"""Dual tensors: a value with its tangent, and the level that has operators compute both.

A tangent is never written: an update in place gives a tensor another one. A view's is read from that of its base, again
when the base was written since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.autograd.forward import tangents
from flambeau.autograd.windows import Window
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema.gradient import Decomposed
from flambeau.schema.opdef import OpDef
from flambeau.schema.own_gradient import gradient_of
from flambeau.tensor import dispatch, recorder
from flambeau.tensor.levels import Level, State, Wrapper, make
from flambeau.tensor.tensor import Tensor

_SLOTS: Final = (
    "_array", "_storage", "_base", "_node", "_requires_grad", "_grad", "_leaf", "_made_in", "is_wrapped_number",
    "output_nr",
)  # fmt: skip


class Dual(State):
    """A value, and its tangent at a level."""

    __slots__ = ("shown", "tangent")

    def __init__(self, level: Level, value: Tensor, tangent: Tensor | None) -> None:
        super().__init__(level, value)
        self.tangent = tangent
        """Of the value's sizes; None for zeros."""
        self.shown: Tensor | None = None
        """Of a view, the tangent of its base when its own was read."""

    def has_derivative(self) -> bool:
        """Whether it has a tangent, or one further out has."""
        return self.tangent is not None or super().has_derivative()


class DualTensor(Wrapper):
    """A tensor with a tangent."""

    __slots__ = ()

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        value, tangent = repr(self._wrapped.value), self._wrapped.tangent
        return value if tangent is None else f"{value[:-1]}, tangent={tangent})"

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded, at this level or one further out."""
        return self.asks() or self._wrapped.value.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)


class DualLevel(Level):
    """The level of one `jvp`."""

    transform = "jvp"

    def __init__(self) -> None:
        super().__init__()
        self._converted: list[Tensor] = []

    def dual(self, value: Tensor, tangent: Tensor | None) -> DualTensor:
        """A new tensor with a tangent."""
        result = make(DualTensor, Dual(self, value, tangent))
        result.is_wrapped_number = value.is_wrapped_number
        return result  # type: ignore[return-value]

    def lifted(self, value: Tensor) -> Wrapper:
        """The tensor as one of this level: with a tangent only if it, or what it is a view of, has one."""
        if self.owns(value):
            assert isinstance(value, Wrapper)
            return value
        base = value._base
        if base is not None and self.owns(base):
            return self.converted(value)
        return self.dual(value, None)

    def converted(self, tensor: Tensor) -> Wrapper:
        """Make a tensor one of this level, itself, until the level is closed: it is about to be written."""
        if self.owns(tensor):
            assert isinstance(tensor, Wrapper)
            return tensor
        base = tensor._base
        value = Tensor.__new__(type(tensor))
        _move(tensor, value)
        self._converted.append(tensor)
        tensor.__class__ = DualTensor
        tensor._wrapped = Dual(self, value, None)
        tensor._requires_grad, tensor._node, tensor.output_nr = False, None, 0
        tensor._base = None if base is None else self.converted(base)
        return tensor  # type: ignore[return-value]

    def to_write(self, value: Tensor) -> Wrapper:
        """A tensor that is about to be written, as one of this level."""
        return self.converted(value)

    def closed(self) -> None:
        """What was converted is again what it was."""
        for tensor in self._converted:
            value = tensor._wrapped.value
            tensor.__class__ = type(value)
            _move(value, tensor)

    def value_of(self, value: Any) -> Any:
        """An operand without its tangent at this level; other values as they are."""
        return value._wrapped.value if isinstance(value, Tensor) and self.owns(value) else value

    def tangent_of(self, value: Any) -> Tensor | None:
        """The tangent of an operand at this level; None for zeros."""
        if not isinstance(value, Tensor):
            return None
        if not self.owns(value):
            base = value._base
            if base is None or not self.owns(base):
                return None
            value = self.converted(value)
        state: Dual = value._wrapped
        base = value._base
        if base is not None and self.owns(base):
            whole = self.tangent_of(base)
            if whole is not state.shown and whole is not None:
                state.tangent = Window(base._wrapped.value, state.value).read(whole)
            state.shown = whole
        return state.tangent

    def run(self, definition: OpDef, arguments: Sequence[Any], parts: Callable[[Callable[[], Any]], Any]) -> Any:
        """Run an operator on values, and what its tangents are computed by."""
        operands = [self._tangents(a) for a in arguments]
        values = [self._value(a) for a in arguments]
        if not any(map(_is_some, operands)):
            return self._wrapped_results(arguments, values, dispatch.run(definition, values), None)
        gradient = gradient_of(definition)
        if isinstance(gradient, Decomposed) and not tangents.is_by_hand(definition):
            written = recorder.tensors_written(definition, arguments)
            names = [gradient.first, *[a.name for a in definition.schema.arguments[1:]]]
            body = gradient.body

            def decomposed() -> Any:
                result = body(OPERATORS, **dict(zip(names, arguments, strict=True)))
                return written[0].copy_(result) if written else result

            return parts(decomposed)
        if gradient is None and definition.family == "composite":
            return parts(lambda: definition.kernel(*arguments))
        written = recorder.tensors_written(definition, arguments)
        if written and not tangents.writes_beside(definition):
            return self._in_place(definition, arguments, values, operands)
        result = dispatch.run(definition, values)
        after = tangents.of_call(definition, values, operands, result)
        return self._wrapped_results(arguments, values, result, after)

    def _in_place(
        self, definition: OpDef, arguments: Sequence[Any], values: Sequence[Any], operands: Sequence[Any]
    ) -> Any:
        """Run what writes its first operand, which then has the tangent of the result."""
        target = arguments[0]
        tangents.refuse_out(definition, arguments)
        if not self.owns(target):
            target = self.converted(target)
            values = [target._wrapped.value, *values[1:]]
        if definition.changes_layout:
            return self._changed_layout(definition, target, values, operands)
        before = [values[0].clone() if tangents.needs_first(definition) else values[0], *values[1:]]
        result = dispatch.run(definition, values)
        after = tangents.of_call(definition, before, operands, result)
        self.write(target, after)
        return target

    def _changed_layout(self, definition: OpDef, target: Tensor, values: Sequence[Any], operands: Sequence[Any]) -> Any:
        dispatch.run(definition, values)
        state: Dual = target._wrapped
        state.tangent = tangents.out_of_place(definition, [operands[0], *values[1:]])
        if target._base is not None:
            state.shown = self.tangent_of(target._base)
        return target

    def write(self, target: Tensor, tangent: Tensor | None) -> None:
        """Give a tensor another tangent, and what it is a view of."""
        state: Dual = target._wrapped
        if tangent is None:
            tangent = OPERATORS.zeros_like(state.value)
        base = target._base
        if base is not None and self.owns(base):
            whole = self.tangent_of(base)
            if whole is None:
                whole = OPERATORS.zeros_like(base._wrapped.value)
            changed = Window(base._wrapped.value, state.value).written(whole, tangent)
            base._wrapped.tangent = state.shown = changed
        state.tangent = tangent

    def _tangents(self, value: Any) -> Any:
        if type(value) in (list, tuple):
            listed = [self._tangents(v) for v in value]
            return listed if any(map(_is_some, listed)) else None
        return self.tangent_of(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, Wrapper):
            return value._wrapped.value if value._wrapped.level is self else value
        if type(value) in (list, tuple):
            return [self._value(v) for v in value]
        return value

    def _wrapped_results(
        self, arguments: Sequence[Any], values: Sequence[Any], result: Any, after: Any
    ) -> Any:
        if isinstance(result, list | tuple):
            listed = list(after) if isinstance(after, list | tuple) else [None] * len(result)
            wrapped = [self._wrapped_result(arguments, values, r, t) for r, t in zip(result, listed, strict=True)]
            return wrapped if isinstance(result, list) else tuple(wrapped)
        if isinstance(result, Tensor):
            return self._wrapped_result(arguments, values, result, after)
        return result

    def _wrapped_result(
        self, arguments: Sequence[Any], values: Sequence[Any], result: Any, tangent: Tensor | None
    ) -> Any:
        if not isinstance(result, Tensor):
            return result
        for argument, value in zip(arguments, values, strict=True):
            if result is value:
                return argument
        shown = next((a for a in arguments if self._shows(result, a)), None)
        if tangent is None and shown is None and not self._asks(arguments):
            return result
        dual = self.dual(result, tangent)
        if shown is not None:
            dual._base = shown if shown._base is None else shown._base
            dual._wrapped.shown = self.tangent_of(dual._base) if tangent is not None else None
        return dual

    def _shows(self, result: Tensor, argument: Any) -> bool:
        """Whether a result is a view of an operand of this level."""
        if result._base is None or not isinstance(argument, Tensor) or not self.owns(argument):
            return False
        value = argument._wrapped.value
        return result._base is value or result._base is value._base


def _is_some(value: Any) -> bool:
    return value is not None


def _move(source: Tensor, target: Tensor) -> None:
    """Let a tensor be what another one was."""
    for name in _SLOTS:
        setattr(target, name, getattr(source, name))
