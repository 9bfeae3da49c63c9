"""The node of one call of an operator: its formulas, and what was kept to run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from flambeau.autograd.node import Edge, Gradients, Node
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.tensor import Tensor

if TYPE_CHECKING:
    from flambeau.schema.gradient import Formula

Shape = tuple[tuple[int, ...], Any]
"""Sizes and NumPy dtype of an operand."""

FREED: Final = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)
CHANGED: Final = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.{kind} {sizes}]{origin}, is at version {now}; expected version {then} instead. Hint: the operation that "
    "failed to compute its gradient is {name}; keep a copy (x.clone()) of what is changed in place after it was used."
)


class SavedTensor:
    """A tensor kept for the way back, with the version of its memory."""

    __slots__ = ("index", "tensor", "version")

    def __init__(self, tensor: Tensor, index: int = -1) -> None:
        self.version = tensor._storage.version
        self.index = index
        """Which result of the node it is; -1 for an operand."""
        self.tensor = tensor if index < 0 else Tensor(tensor._array, tensor._storage)  # a result refers to its node

    def restored(self, node: Node) -> Tensor:
        """The tensor as it was. Raises RuntimeError if it was written since."""
        tensor = self.tensor
        if tensor._storage.version != self.version:
            made_by, number = (node, self.index) if self.index >= 0 else (tensor._node, tensor.output_nr)
            origin = (
                "" if made_by is None else f", which is output {number} of {made_by.name().removesuffix('Backward0')}"
            )
            raise RuntimeError(
                CHANGED.format(
                    kind=f"{tensor.dtype.display}Tensor", sizes=list(tensor._array.shape), origin=origin,
                    now=tensor._storage.version, then=self.version, name=node.name(),
                )
            )  # fmt: skip
        if self.index >= 0 and is_grad_enabled():
            tensor = Tensor(tensor._array, tensor._storage)
            tensor._node, tensor.output_nr = node, self.index
        return tensor


class OperatorNode(Node):
    """One call of an operator."""

    __slots__ = ("counts", "formulas", "is_single", "kept", "shapes", "shown")

    kept: dict[str, Any] | None
    """What formulas need, by name; None once it was let go."""

    def __init__(
        self,
        edges: Sequence[Edge],
        *,
        formulas: Sequence[tuple[int, Formula]],
        counts: Sequence[int],
        shapes: Sequence[Shape | None],
        is_single: bool,
    ) -> None:
        super().__init__(edges)
        self.formulas = formulas
        """Of each operand that asks for gradients: its number, and its formula."""
        self.counts = counts
        """Per operand how many tensors it is: -1 for one that is no list."""
        self.shapes = shapes
        """Per edge, what the operand is like."""
        self.is_single = is_single
        """Whether the operator has one result."""
        self.kept = {}
        self.shown: Node | None = None
        """Of a view, the node of its base when it was made."""

    def keep(self, name: str, value: Any, index: int = -1) -> None:
        """Keep a value for the formulas; of several tensors each."""
        assert self.kept is not None
        if name.endswith("_sizes"):
            value = _sizes(value)
        elif isinstance(value, Tensor):
            value = SavedTensor(value, index)
        elif isinstance(value, list | tuple) and any(isinstance(v, Tensor) for v in value):
            value = [
                SavedTensor(v, n if index >= 0 else -1) if isinstance(v, Tensor) else v for n, v in enumerate(value)
            ]
        self.kept[name] = value

    def release(self) -> None:
        """Let go of what was kept."""
        self.kept = None

    def apply(self, gradients: Gradients) -> Gradients:
        """The gradients of the operands. Raises RuntimeError if what was kept is gone or was written."""
        kept = self.kept
        if kept is None:
            raise RuntimeError(FREED)
        values = {name: self._restored(value) for name, value in kept.items()}
        if self.is_single:
            values["grad"] = gradients[0]
        else:
            values["grads"] = gradients
        results: Gradients = [None] * len(self.edges)
        starts = self._starts()
        for number, formula in self.formulas:
            gradient = formula(OPERATORS, values)
            first = starts[number]
            if self.counts[number] < 0:
                results[first] = self._fitted(gradient, first)
            elif gradient is not None:
                for offset, one in enumerate(gradient):
                    results[first + offset] = self._fitted(one, first + offset)
        return results

    def _starts(self) -> list[int]:
        starts, at = [], 0
        for count in self.counts:
            starts.append(at)
            at += 1 if count < 0 else count
        return starts

    def _restored(self, value: Any) -> Any:
        if type(value) is SavedTensor:
            return value.restored(self)
        if type(value) is list:
            return [v.restored(self) if type(v) is SavedTensor else v for v in value]
        return value

    def _fitted(self, gradient: Any, index: int) -> Any:
        """A gradient in the sizes and the dtype of the operand it belongs to: summed over what was broadcast."""
        shape = self.shapes[index]
        if gradient is None or shape is None or not isinstance(gradient, Tensor):
            return None
        sizes, dtype = shape
        if gradient._array.shape != sizes:
            gradient = OPERATORS.sum_to_size(gradient, list(sizes))
        if gradient._array.dtype != dtype:
            gradient = fitted_dtype(gradient, dtype)
        return gradient

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            kept = self.kept
            if kept is None:
                raise RuntimeError(FREED)
            if name.removeprefix("_saved_") in kept:
                return self._restored(kept[name.removeprefix("_saved_")])
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'", name=name, obj=self)


def _sizes(value: Any) -> Any:
    return list(value._array.shape) if isinstance(value, Tensor) else [_sizes(one) for one in value]


def fitted_dtype(gradient: Tensor, dtype: Any) -> Tensor:
    """The gradient as another dtype: of complex numbers the real parts, for a real operand."""
    if gradient.dtype.is_complex and dtype.kind != "c":
        gradient = OPERATORS.real(gradient)
    return gradient if gradient._array.dtype == dtype else OPERATORS.to(gradient, from_numpy_dtype(dtype))
