"""The node of one call of a custom function, which is also the `ctx` that its `forward` and `backward` get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.autograd import anomaly_mode
from flambeau.autograd.node import Edge, Gradients, Node, next_number
from flambeau.autograd.operator_node import fitted_dtype
from flambeau.autograd.saved import FREED, SavedTensor, save
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.tensor.grad_mode import refuse_saving
from flambeau.tensor.levels import Wrapper
from flambeau.tensor.tensor import Tensor

COUNT: Final = "function {name} returned an incorrect number of gradients (expected {expected}, got {number})"
NOT_A_VARIABLE: Final = (
    "function {name} returned a gradient different than None at position {position}, but the corresponding forward "
    "input was not a Variable"
)
SHAPE: Final = (
    "Function {name} returned an invalid gradient at index {index} - got {sizes} but expected shape compatible with "
    "{expected}"
)
COMPLEX: Final = (
    "Function {name} returned an invalid gradient at index {index} - got a torch.{dtype} for a real input: return its "
    "real part, gradient.real"
)
OF_FUNCTION: Final = (
    "Output {number} of {name} is a view and is being modified inplace. This view was created inside a custom Function "
    "(or because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom "
    "backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can "
    "fix this by cloning the output of the custom Function."
)
NO_SAVED: Final = "save_for_backward can only save variables, but argument {number} is of type {kind}"


class FunctionCtx(Node):
    """What a custom function knows of one call: what it saves, which inputs ask for gradients, and any attribute that
    it gives it."""

    def __init__(self, function: Any, inputs: Sequence[Any], edges: Sequence[Edge]) -> None:
        self.edges = edges
        """One for each input that is a tensor."""
        self.sequence = next_number()
        self.extras = None
        self.shown: Node | None = None
        self._function = function
        self._inputs: list[tuple[tuple[int, ...], Any] | None] = [
            (a._array.shape, a._array.dtype) if isinstance(a, Tensor) else None for a in inputs
        ]
        ask = iter(edges)
        self.needs_input_grad = tuple([isinstance(a, Tensor) and next(ask) is not None for a in inputs])
        """Of each input of `forward`, whether it asks for a gradient."""
        self.materialize_grads = True
        self.dirty_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.to_save: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self._saved: list[SavedTensor | None] | None = []
        self._outputs: list[Any] = []
        anomaly_mode.note(self)

    def name(self) -> str:
        """The name of the custom function, and `Backward`."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<flambeau.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    # -- what forward says ----------------------------------------------------------------------------------------

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`, as `saved_tensors`: inputs or results of `forward`, or others; or None."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        for number, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                kind = type(tensor).__name__
                raise TypeError(f"save_for_forward can only save variables, but argument {number} is of type {kind}")
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs `forward` changed in place. It must return them."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which results have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros for results without a gradient, which it does, or None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept. Raises RuntimeError if it was freed, or written since."""
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple([None if saved is None else saved.restored(self) for saved in self._saved])

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor | None, ...]:
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple(self._saved)

    def keep(self, outputs: Sequence[Any]) -> None:
        """Keep what `forward` wanted to, when its outputs are known. Raises TypeError for what is no tensor."""
        self._outputs = [(o._array.shape, o._array.dtype) if isinstance(o, Tensor) else None for o in outputs]
        kept: list[SavedTensor | None] = []
        for number, tensor in enumerate(self.to_save):
            if tensor is None:
                kept.append(None)
                continue
            if not isinstance(tensor, Tensor):
                raise TypeError(NO_SAVED.format(number=number, kind=type(tensor).__name__))
            if not isinstance(tensor, Wrapper):
                refuse_saving(tensor._storage.version)
            indices = [k for k, output in enumerate(outputs) if output is tensor]
            kept.append(save(tensor, indices[0] if indices else -1))
        self.to_save = ()
        self._saved = kept

    # -- the way back ---------------------------------------------------------------------------------------------

    def refuse_write(self, view: Tensor) -> None:
        """Views from a custom function may not be written."""
        raise RuntimeError(OF_FUNCTION.format(number=view.output_nr, name=self.name().removesuffix("Backward")))

    def release(self) -> None:
        """Let go of what was saved."""
        if self._saved:
            self._saved = None

    def apply(self, gradients: Gradients) -> Gradients:
        """What the function's `backward` gives. Raises RuntimeError for other gradients than there were inputs."""
        known: list[Tensor | None] = [*gradients, *[None] * (len(self._outputs) - len(gradients))]
        if self.materialize_grads:
            known = [
                _zeros(like) if gradient is None and like is not None else gradient
                for gradient, like in zip(known, self._outputs, strict=True)
            ]
        returned = self._function.way_back()(self, *known)
        listed = list(returned) if isinstance(returned, tuple) else [returned]
        expected = len(self._inputs)
        if len(listed) > expected and all(gradient is None for gradient in listed[expected:]):
            del listed[expected:]
        if len(listed) != expected:
            raise RuntimeError(COUNT.format(name=self.name(), expected=expected, number=len(listed)))
        results: Gradients = []
        for position, (gradient, like) in enumerate(zip(listed, self._inputs, strict=True), 1):
            if like is not None:
                results.append(self._checked(gradient, like, len(results)))
            elif gradient is not None:
                raise RuntimeError(NOT_A_VARIABLE.format(name=self.name(), position=position))
        return results

    def _checked(self, gradient: Any, like: tuple[tuple[int, ...], Any], index: int) -> Tensor | None:
        """A gradient in the sizes and dtype of its input."""
        if gradient is None or self.edges[index] is None:
            return None
        if not isinstance(gradient, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
        sizes, dtype = like
        own = gradient._array.shape
        if own != sizes:
            if not _expands(sizes, own):
                raise RuntimeError(SHAPE.format(name=self.name(), index=index, sizes=list(own), expected=list(sizes)))
            gradient = OPERATORS.sum_to_size(gradient, list(sizes))
        if gradient._array.dtype.kind == "c" and dtype.kind != "c":
            raise RuntimeError(COMPLEX.format(name=self.name(), index=index, dtype=gradient.dtype.name))
        return gradient if gradient._array.dtype == dtype else fitted_dtype(gradient, dtype)


def _zeros(like: tuple[tuple[int, ...], Any]) -> Tensor:
    return OPERATORS.zeros(list(like[0]), dtype=from_numpy_dtype(like[1]))  # type: ignore[no-any-return]


def _expands(sizes: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a tensor of these sizes expands to others."""
    if len(sizes) > len(target):
        return False
    pairs = zip(reversed(sizes), reversed(target), strict=False)
    return all(size in (1, other) for size, other in pairs)
