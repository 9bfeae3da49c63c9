"""Gradients that users register for their operators: one function for all operands, and a context between the ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.autograd.node import Edge, Gradients, Node, edge_of
from flambeau.autograd.saved import FREED, SavedTensor
from flambeau.schema.opdef import OpDef
from flambeau.tensor import below
from flambeau.tensor.grad_mode import is_grad_enabled, no_grad, refuse_saving
from flambeau.tensor.interceptors import changed, stack
from flambeau.tensor.recorder import is_asked, tensors_in
from flambeau.tensor.tensor import Tensor

WRONG_COUNT = "{name}'s backward formula returned {got} gradients for {wanted} inputs: one for each, None for no tensor"


class Context:
    """What the way there leaves for the way back: attributes of any name, and tensors."""

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        """Per argument, whether it is a tensor that asks for gradients."""
        self._saved: tuple[SavedTensor | None, ...] = ()
        self.node: Node | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors; changes that are made to them meanwhile are noticed. Raises RuntimeError for tensors that were
        made in `inference_mode()`."""
        for tensor in tensors:
            if tensor is not None and any(self.needs_input_grad):
                refuse_saving(tensor._storage.version)
        self._saved = tuple([None if t is None else SavedTensor(t) for t in tensors])

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was kept. Raises RuntimeError for a tensor that was written since."""
        assert self.node is not None, "tensors are read on the way back"
        return tuple([None if saved is None else saved.restored(self.node) for saved in self._saved])

    def release(self) -> None:
        """Let go of what was kept."""
        self._saved = ()


class RegisteredNode(Node):
    """A call of an operator whose gradient a user registered."""

    __slots__ = ("_backward", "_context", "_counts", "_is_released", "_name")

    def __init__(
        self, edges: Sequence[Edge], counts: Sequence[int], name: str, backward: Callable[..., Any], context: Context
    ) -> None:
        super().__init__(edges)
        self._counts = counts
        """Per argument: how many tensors it is, -1 for one by itself, -2 for what is none."""
        self._name = name
        self._backward = backward
        self._context = context
        self._is_released = False
        context.node = self

    def name(self) -> str:
        """What the operator is called."""
        return f"GeneratedBackwardFor_{self._name.replace('::', '_').replace('.', '_')}_Backward"

    def release(self) -> None:
        """Let go of what was kept."""
        self._is_released = True
        self._context.release()

    def apply(self, gradients: Gradients) -> Gradients:
        """The gradients of the operands. Raises RuntimeError for another number of them than there are arguments."""
        if self._is_released:
            raise RuntimeError(FREED)
        returned = self._backward(self._context, *gradients)
        each = returned if isinstance(returned, tuple) else (returned,)
        if len(each) != len(self._counts):
            raise RuntimeError(WRONG_COUNT.format(name=self._name, got=len(each), wanted=len(self._counts)))
        results: Gradients = []
        for count, gradient in zip(self._counts, each, strict=True):
            if count >= 0:
                results.extend([None] * count if gradient is None else gradient)
            elif count == -1:
                results.append(gradient)
        return results


def autograd_kernel(
    definition: OpDef, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
) -> Callable[..., Any]:
    """What runs an operator and puts a node with a user's formula on the tape, where an operand asks for gradients."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        arguments = [*args]
        for formal in definition.schema.arguments[len(args) :]:
            arguments.append(kwargs.get(formal.name, formal.default))
        with changed(excluded=stack().excluded | {below.AUTOGRAD}), no_grad():
            result = below.run(definition, arguments)
        if is_grad_enabled() and is_asked(arguments):
            context = Context(tuple([isinstance(a, Tensor) and a.requires_grad for a in arguments]))
            inputs = _set_up(definition, arguments, result, context, setup_context)
            edges, counts = _edges(inputs)
            _attach(RegisteredNode(edges, counts, definition.full_name, backward, context), arguments, result)
        return result

    return kernel


def _set_up(
    definition: OpDef, arguments: Sequence[Any], result: Any, context: Context, setup: Callable[..., Any] | None
) -> list[Any]:
    """Have a user keep what the way back needs; the arguments that have gradients, or could."""
    inputs: list[Any] = []
    named: dict[str, Any] = {}
    for formal, argument in zip(definition.schema.arguments, arguments, strict=False):
        if formal.kwarg_only:
            named[formal.name] = argument
        else:
            inputs.append(argument)
    if setup is not None:
        options = {"keyword_only_inputs": named} if named else {}
        setup(ctx=context, inputs=tuple(inputs), output=result, **options)
    return inputs


def _attach(node: RegisteredNode, arguments: Sequence[Any], result: Any) -> None:
    for number, tensor in enumerate(tensors_in([result])):
        if tensor._array.dtype.kind in "fcV" and not any(tensor is a for a in arguments):
            tensor._node, tensor.output_nr = node, number


def _edges(arguments: Sequence[Any]) -> tuple[list[Edge], list[int]]:
    edges: list[Edge] = []
    counts: list[int] = []
    for argument in arguments:
        if isinstance(argument, Tensor):
            edges.append(edge_of(argument))
            counts.append(-1)
        elif isinstance(argument, list | tuple) and argument and all(isinstance(a, Tensor) for a in argument):
            edges.extend(edge_of(a) for a in argument)
            counts.append(len(argument))
        else:
            counts.append(-2)
    return edges, counts
