"""Levels of function transforms: tensors that stand for more than their elements, and who runs operators on them.

Within `vmap` a tensor stands for a batch, within `jvp` for a value with its tangent: a `Wrapper` of the level that the
transform opened. A `Level` is an interceptor. It unwraps what is of its level, calls operators below it, where the
levels of transforms further out are, and wraps the results. Each level has a tape of its own: what asks for gradients
inside of a transform is a wrapper, and recorded before it is unwrapped, so that transforms nest in any order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch
from flambeau.tensor.grad_mode import is_grad_enabled, note_asked
from flambeau.tensor.interceptors import stack
from flambeau.tensor.observer import thread
from flambeau.tensor.recorder import tensors_written
from flambeau.tensor.subclasses import disabled_function, goes_below
from flambeau.tensor.tensor import Tensor, window
from flambeau.util.inversions import LEVEL_TAPE

_new = object.__new__
ESCAPED: Final = (
    "a tensor of {transform} was used after {transform} had ended: return it from the function that was transformed "
    "instead of keeping it elsewhere"
)
ASKED_INSIDE: Final = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using flambeau.autograd.functional.* APIs) inside "
    "of a function being transformed by a flambeau.func transform. This is unsupported, please attempt to use the "
    "transforms of flambeau.func (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a "
    "function being transformed instead."
)


class State:
    """What a wrapper stands for."""

    __slots__ = ("level", "value")

    def __init__(self, level: Level, value: Tensor) -> None:
        self.level = level
        self.value = value
        """The tensor behind it: of a level further out, or a plain one."""

    def has_derivative(self) -> bool:
        """Whether a tangent goes with it, at its level or one further out."""
        return isinstance(self.value, Wrapper) and bool(self.value._wrapped.has_derivative())


class Wrapper(Tensor):
    """A tensor of a level."""

    __slots__ = ()
    __flambeau_function__ = __torch_function__ = staticmethod(disabled_function)
    _wrapped: Any
    """Its `State`."""

    @property
    def _array(self) -> Any:  # type: ignore[override]  # a slot of plain tensors
        return self._alive().value._array

    @property
    def _storage(self) -> Any:  # type: ignore[override]
        return self._alive().value._storage

    def _alive(self) -> Any:
        """Its state. Raises RuntimeError after its level was closed."""
        state = self._wrapped
        if not state.level.is_open:
            raise RuntimeError(ESCAPED.format(transform=state.level.transform))
        return state

    def unrecorded(self) -> Tensor:
        """The same elements without a record of how they were computed."""
        return make(type(self), self._wrapped)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Raise RuntimeError: who transforms a function asks for gradients."""
        if requires_grad:
            raise RuntimeError(ASKED_INSIDE)
        return self


def make(kind: type[Wrapper], state: State) -> Wrapper:
    """A new wrapper."""
    wrapper = _new(kind)
    wrapper._wrapped = state
    wrapper._requires_grad = wrapper.is_wrapped_number = False
    wrapper._grad = wrapper._leaf = wrapper._node = wrapper._base = wrapper._made_in = None
    wrapper.output_nr = 0
    return wrapper


class Level(ABC):
    """One transform at work: an interceptor of this thread's operators while it is open."""

    transform = "a transform"

    def __init__(self) -> None:
        self.is_open = True
        self._is_recorded = True

    @abstractmethod
    def lifted(self, value: Tensor) -> Wrapper:
        """The tensor as a wrapper of this level: itself if it is one, else one that stands for it alone."""

    def to_write(self, value: Tensor) -> Wrapper:
        """The same of a tensor that is about to be written: who has it sees what is written."""
        return self.lifted(value)

    def owns(self, tensor: Tensor) -> bool:
        """Whether a tensor is a wrapper of this level."""
        return isinstance(tensor, Wrapper) and tensor._wrapped.level is self

    @abstractmethod
    def run(self, definition: OpDef, arguments: Sequence[Any], parts: Callable[[Callable[[], Any]], Any]) -> Any:
        """Run an operator on wrappers of this level; what it calls is below. `parts(body)` runs a body over operators
        that are wrappers' again."""

    def untouched(self, definition: OpDef, arguments: Sequence[Any], proceed: Callable[..., Any]) -> Any:
        """Run an operator none of whose operands is of this level."""
        return proceed(arguments)

    def __call__(self, definition: OpDef, arguments: Sequence[Any], proceed: Callable[..., Any]) -> Any:
        """The interceptor."""
        if not self._concerns(arguments):
            return self.untouched(definition, arguments, proceed)
        if definition.is_about_tensor and not definition.changes_layout:
            return definition.kernel(*arguments)
        below = thread.handlers
        outside = stack()
        here = outside._replace(handlers=(*outside.handlers, self))

        def parts(body: Callable[[], Any]) -> Any:
            thread.handlers = here
            try:
                return body()
            finally:
                thread.handlers = below

        def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
            before = thread.handlers
            thread.handlers = below
            try:
                return self.run(definition, arguments, parts)
            finally:
                thread.handlers = before

        if self._is_recorded and is_grad_enabled() and self._asks(arguments):
            written = {id(t) for t in tensors_written(definition, arguments)}
            lifted = [self.to_write(a) if id(a) in written else self._lifted(a) for a in arguments]
            return parts(lambda: LEVEL_TAPE.implementation(definition, lifted, run))
        return self.run(definition, arguments, parts)

    def _concerns(self, values: Sequence[Any]) -> bool:
        for value in values:
            if isinstance(value, Tensor):
                if self.owns(value) or (value._base is not None and self.owns(value._base)):
                    return True
            elif type(value) in (list, tuple) and self._concerns(value):
                return True
        return False

    def _asks(self, values: Sequence[Any]) -> bool:
        for value in values:
            if isinstance(value, Wrapper):
                if value._wrapped.level is self and value.asks():
                    return True
            elif type(value) in (list, tuple) and self._asks(value):
                return True
        return False

    def _lifted(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.lifted(value)
        if type(value) in (list, tuple):
            return [self._lifted(v) for v in value]
        return value

    @contextmanager
    def opened(self) -> Iterator[Self]:
        """Within the block, this thread's operators come here first."""
        with dispatch.intercepting(self):
            try:
                yield self
            finally:
                self.is_open = False
                self.closed()

    @contextmanager
    def unrecorded_here(self) -> Iterator[None]:
        """Within the block, nothing is recorded on the tape of this level; those of others go on."""
        before, self._is_recorded = self._is_recorded, False
        try:
            yield
        finally:
            self._is_recorded = before

    def closed(self) -> None:  # noqa: B027  (most levels have nothing to do)
        """Called when the block has ended."""


def innermost() -> Level | None:
    """The level that operators of this thread come to first; None outside of transforms."""
    return next((h for h in reversed(stack().handlers) if isinstance(h, Level)), None)


def unrecorded(tensor: Tensor) -> Tensor:
    """The same elements without a record of how they were computed: a tensor of the class that operators look at."""
    cls = type(tensor)
    if isinstance(tensor, Wrapper):
        return tensor.unrecorded()
    if not goes_below(cls):
        return window(tensor._array, tensor._storage)
    result = object.__new__(cls)
    Tensor.__init__(result, tensor._array, tensor._storage)
    result.__dict__.update(tensor.__dict__)
    return result


def of_innermost_level(tensor: Tensor) -> Tensor:
    """A new tensor with the same elements that the innermost tape records, and nothing is recorded of yet."""
    level = innermost()
    if level is not None:
        return unrecorded(level.lifted(tensor))
    if thread.handlers:  # a tracer has to know it
        shown: Tensor = dispatch.call("aten::detach", tensor)
        return shown
    return unrecorded(tensor)


def variable(tensor: Tensor) -> Tensor:
    """A new tensor with the same elements that asks for gradients, on the innermost tape."""
    result = of_innermost_level(tensor)
    result._requires_grad = note_asked()
    return result
