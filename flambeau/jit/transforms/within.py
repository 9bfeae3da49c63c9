"""Scripted functions that go by elements or have loops, called within transforms of other functions: each call is that
of a custom function with the program of its gradient, of its tangents and of its batches.

Other scripted functions run an operator at a time there; of those that go by elements, branches that these decide
differ for each example, and numbers would lose their derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from flambeau.autograd.function import Function as CustomFunction
from flambeau.autograd.function_levels import owner
from flambeau.jit.function import ScriptFunction
from flambeau.jit.transforms.flat_functions import FlatFunctions
from flambeau.jit.transforms.outlines import is_of_tensors
from flambeau.jit.transforms.programs import program_of
from flambeau.jit.transforms.staging import has_effects, runs_whole
from flambeau.jit.transforms.transformed import transformed
from flambeau.program.function import Function
from flambeau.schema.types import NamedType, TensorType
from flambeau.tensor import dispatch
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.interceptors import stack
from flambeau.tensor.levels import innermost
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import CALL_WITHIN_TRANSFORMS
from flambeau.util.kept_on import KeptOn

_calls: Final[KeptOn[Any, Any]] = KeptOn()


@CALL_WITHIN_TRANSFORMS.provide
def call_within(function: Function, arguments: Sequence[Any]) -> Any:
    """The result of a call within transforms; NotImplemented where it is to run an operator at a time."""
    if has_effects(function) or not runs_whole(function):
        return NotImplemented
    known = _calls.get(function)
    if known is None:
        known = _calls[function] = _Programs(ScriptFunction(function))
    if known.flat.takes_containers:
        opened = known.flat.of(arguments)
        return NotImplemented if opened is None else call_within(*opened)
    if known.takes_objects:
        return NotImplemented
    asks = is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in arguments)
    if not asks and owner(arguments) is None:
        return NotImplemented if stack().modes or innermost() is None else _alone(function, arguments)
    call = known.call()
    return NotImplemented if call is None else call.apply(*arguments)


def _alone(function: Function, arguments: Sequence[Any]) -> Any:
    """A call that no transform is about: natively, unless somebody looks at operators."""
    if stack().modes:
        return function(*arguments)
    with dispatch.uninterrupted():
        return function(*arguments)


class _Programs:
    """The custom function that calls of a scripted function are, made for the first call that a transform is about."""

    def __init__(self, function: ScriptFunction) -> None:
        self.function = function
        self.flat = FlatFunctions(function.script_function)
        """By what lies in containers that it takes."""
        arguments = function.script_function.schema.arguments
        self.tensor_indices = tuple([n for n, a in enumerate(arguments) if isinstance(a.type, TensorType)])
        self.pull: ScriptFunction | None = None
        self._pushes: dict[tuple[int, ...], ScriptFunction] = {}
        """What gives tangents, by the arguments that have some: those of floats."""
        self.takes_objects = any(isinstance(a.type, NamedType) for a in arguments)
        """Whether tensors may come in what nobody looks into."""
        self._call: Any = None
        self._is_made = False

    def call(self) -> Any:
        """The custom function; None where results are no tensors."""
        if not self._is_made:
            program: Function | None = None
            if is_of_tensors(self.function.script_function.schema.returns[0].type):
                with suppress(TypeError, ValueError):
                    program = program_of("vjp", self.function.script_function, argnums=self.tensor_indices)
            if program is not None:
                self.pull = ScriptFunction(program)
                self._call = _custom(self)
                self._call.__name__ = self._call.__qualname__ = self.function.name
            self._is_made = True
        return self._call

    def along(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The tangents of the results."""
        dtypes = {n: primals[n].dtype for n in self.tensor_indices}
        numbers = tuple([n for n, dtype in dtypes.items() if dtype.is_floating_point or dtype.is_complex])
        followed = [t for n, t in zip(self.tensor_indices, tangents, strict=True) if n in numbers]
        push = self._pushes.get(numbers)
        if push is None:
            program = program_of("jvp", self.function.script_function, argnums=numbers, with_value=False)
            push = self._pushes[numbers] = ScriptFunction(program)
        return push(*primals, *followed)


def _custom(programs: _Programs) -> Any:
    class Call(CustomFunction):
        @staticmethod
        def forward(*args: Any) -> Any:
            return _alone(programs.function.script_function, args)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.save_for_backward(*[inputs[n] for n in programs.tensor_indices])
            ctx.rest = [None if n in programs.tensor_indices else value for n, value in enumerate(inputs)]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            assert programs.pull is not None
            computed = programs.pull(*_all(programs, ctx), *grads)
            gradients: list[Any] = [None] * len(ctx.rest)
            for index, gradient in zip(programs.tensor_indices, computed, strict=True):
                gradients[index] = gradient
            return tuple(gradients)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            return programs.along(_all(programs, ctx), [tangents[n] for n in programs.tensor_indices])

        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            dims = tuple(in_dims)
            batch = transformed("vmap", programs.function, in_dims=dims, out_dims=0, randomness=info.randomness)
            result = batch(*args)
            return result, (0,) * len(result) if isinstance(result, tuple) else 0

    return Call


def _all(programs: _Programs, ctx: Any) -> list[Any]:
    """All arguments of a call."""
    values = list(ctx.rest)
    for index, tensor in zip(programs.tensor_indices, ctx.saved_tensors, strict=True):
        values[index] = tensor
    return values
