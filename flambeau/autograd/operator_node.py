"""The node of one call of an operator: its formulas, and what was kept to run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.autograd.flat_node import flat
from flambeau.autograd.node import Edge, Gradients, Node
from flambeau.autograd.saved import FREED, SavedTensor, as_saved, restored, save
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.ops.families.composite import device_of, making_on
from flambeau.ops.families.reduce import total
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.record import dataclass

ONE_OF_MANY: Final = (
    "Output {number} of {name} is a view and {what} modified inplace. This view is the output of a function that "
    "returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace "
    "the inplace operation by an out-of-place one."
)
Shape = tuple[tuple[int, ...], Any]
"""Sizes and NumPy dtype of an operand."""

Values = Sequence[Any]
"""What formulas are computed from: the gradient, or gradients, of the results; then what was kept, in its order."""
Step = Callable[[Values], Any]
"""Computes the gradient of one operand, or of a list of them."""
Quick = Callable[[Sequence[Any], Any], "Gradients | None"]
NEVER: Final = 1 << 62
"""More elements than there are."""


@dataclass(frozen=True, slots=True)
class CallFormulas:
    """The formulas of a call in which certain operands ask for gradients."""

    steps: tuple[tuple[int, Step], ...]
    """For operands that ask: their number among those that gradients may flow to, and the formula."""
    quick: Quick | None
    """Computes all gradients of a usual call that nothing is recorded of, one per edge, from what was kept and the
    gradient of its result, or the gradients of its results; gives None where a tensor was written since, or several
    gradients are no plain tensors. None for calls that are not usual."""
    kept: tuple[tuple[str, int], ...]
    """What formulas need: arguments by position; results, -1 and down."""
    names: Mapping[str, int]
    """Where in what was kept each of them is."""
    direct: tuple[tuple[int, int], ...] | None
    """Where nothing but operands and single results is kept: per item its position, with how it is kept."""
    keep: Callable[[Sequence[Any], Any], list[Any]]
    """There: what is kept of the arguments and the result of a call."""
    together: Callable[[Values], Sequence[Any] | None]
    """Computes what all steps give from large arrays; None for what it does not serve."""
    least: int
    """Elements from which on arrays are large."""
    folds: bool
    """Whether what is kept may be large where the gradient is not: a sum, a mean, a loss."""
    operand_slots: tuple[int, ...]
    """Where in what was kept operands are that may be tensors: a number there is let go of as a tensor is."""
    flat_by: str
    """Of an operator of one operand: what its gradient has the derivative 0 by, the operand or the `result`; empty if
    formulas say it all."""
    keeps_tensors: bool
    """Whether a tensor is among what is kept of every call."""


class OperatorNode(Node):
    """One call of an operator."""

    __slots__ = ("counts", "formulas", "is_single", "kept", "shapes", "shown")

    could_keep: frozenset[str] = frozenset()
    """Names of arguments that other calls of the operator may keep."""
    gives_slices = False
    """Whether several results are views that stand each for itself, as if they had been sliced one at a time."""

    def __init__(
        self,
        edges: Sequence[Edge],
        formulas: CallFormulas,
        shapes: Sequence[Shape | None] | None,
        kept: list[Any],
        number: int,
        counts: Sequence[int] | None = None,
        is_single: bool = True,
    ) -> None:
        self.edges = edges
        self.sequence = number
        self.extras = None
        self.formulas = formulas
        self.shapes = shapes
        """Per edge, what the operand is like; None where all are like the result."""
        self.kept: list[Any] | None = kept
        """What formulas need, in their order; None once it was let go."""
        self.counts = counts
        """Per operand how many tensors it is: -1 for one that is no list. None if there are no lists."""
        self.is_single = is_single
        """Whether the operator has one result."""
        self.shown: Node | None = None
        """Of a view, the node of its base when it was made."""

    def keep(self, value: Any, index: int = -1, *, as_sizes: bool = False) -> None:
        """Keep a value for the formulas; of several tensors each."""
        assert self.kept is not None
        self.kept.append(sizes_of(value) if as_sizes else _kept(value, index))

    def refuse_write(self, view: Tensor) -> None:
        """Of a function that gives several views, none may be written, nor what is a view of one."""
        if view._base is not None and self._shows_one_of_several():
            raise RuntimeError(self._of_several(view, "is being"))

    def refuse_shown(self, view: Tensor) -> None:
        """Nor may one of these be used when their base, or another view of that, was written."""
        if self._shows_one_of_several():
            raise RuntimeError(self._of_several(view, "its base or another view of its base has been"))

    def _of_several(self, view: Tensor, what: str) -> str:
        return ONE_OF_MANY.format(number=view.output_nr, name=self.operation, what=what)

    def _shows_one_of_several(self) -> bool:
        node: Any = self
        while OperatorNode in type(node).__mro__:  # `isinstance` asks an abstract class in Python
            if not (node.is_single or node.gives_slices):
                return True
            edge = node.edges[0] if node.shown is not None and node.edges else None
            node = None if edge is None else edge[0]
        return False

    def release(self) -> None:
        """Let go of what was kept, if there are operands in it: tensors, or numbers in their places."""
        if self.formulas.keeps_tensors:
            self.kept = None
            return
        kept = self.kept or ()
        for slot in self.formulas.operand_slots:
            if kept and type(kept[slot]) in _NUMBERS:
                self.kept = None
                return
        for value in kept:
            if type(value) in _TENSORS or (type(value) is list and any(type(v) in _TENSORS for v in value)):
                self.kept = None
                return

    def apply(self, gradients: Gradients) -> Gradients:
        """The gradients of the operands. Raises RuntimeError if what was kept is gone or was written."""
        if special.exists and (device := device_of(gradients)) is not None:
            with making_on(device):
                results = self._applied(gradients)
        else:
            results = self._applied(gradients)
        by = self.formulas.flat_by
        if by and mode.enabled and isinstance(results[0], Tensor):
            results[0] = flat(results[0], self, (self, 0) if by == "result" else self.edges[0])
        return results

    def _applied(self, gradients: Gradients) -> Gradients:
        kept = self.kept
        if kept is None:
            raise RuntimeError(FREED)
        values: list[Any] = [gradients[0] if self.is_single else gradients]
        for value in kept:
            values.append(restored(value, self) if type(value) is tuple else self._unpacked(value))
        if self.counts is not None:
            return self._of_lists(values, self.counts)
        gradient = values[0]
        least = self.formulas.least
        if type(gradient) is Tensor and (
            gradient._array.size >= least or (self.formulas.folds and _are_large(values, least))
        ):
            return self._of_large(values)
        shapes = self.shapes
        results: Gradients = [None] * len(self.edges)
        for number, step in self.formulas.steps:
            gradient = step(values)
            if type(gradient) is int:
                continue  # a formula that is 0 everywhere
            if shapes is not None and gradient is not None:
                like = shapes[number]
                if like is not None:
                    gradient = fitted(gradient, like)
            results[number] = gradient
        return results

    def apply_plainly(self, gradients: Gradients) -> Gradients:
        """The same while nothing is recorded and nobody intercepts operators."""
        kept, formulas = self.kept, self.formulas
        quick = formulas.quick
        if quick is None or kept is None:
            return self.apply(gradients)
        if self.is_single:
            gradient, least = gradients[0], formulas.least
            if type(gradient) is not Tensor or gradient._array.size >= least:
                return self.apply(gradients)
            if formulas.folds and _keeps_large(kept, least):
                return self.apply(gradients)
            results = quick(kept, gradient)
        else:
            results = quick(kept, gradients)
        if results is None:
            return self.apply(gradients)
        shapes = self.shapes
        if shapes is not None:
            for number, like in enumerate(shapes):
                one = results[number]
                if one is not None and like is not None:
                    array = one._array
                    if array.dtype is not like[1] or array.shape != like[0]:
                        results[number] = _fitted_plainly(one, like)
        return results

    def _of_large(self, values: list[Any]) -> Gradients:
        """The gradients by one compiled function, unless they are to be differentiated themselves."""
        steps = self.formulas.steps
        computed = None if mode.enabled else self.formulas.together(values)
        results: Gradients = [None] * len(self.edges)
        for index, (number, step) in enumerate(steps):
            gradient = step(values) if computed is None else computed[index]
            like = None if self.shapes is None else self.shapes[number]
            results[number] = gradient if gradient is None or like is None else fitted(gradient, like)
        return results

    def _unpacked(self, value: Any) -> Any:
        """What was kept in another way than a tuple."""
        if type(value) is SavedTensor:
            return value.restored(self)
        return [v.restored(self) if type(v) is SavedTensor else v for v in value] if type(value) is list else value

    def _of_lists(self, values: list[Any], counts: Sequence[int]) -> Gradients:
        results: Gradients = [None] * len(self.edges)
        starts, at = [], 0
        for count in counts:
            starts.append(at)
            at += 1 if count < 0 else count
        shapes = self.shapes or [None] * at
        for number, step in self.formulas.steps:
            gradient = step(values)
            first = starts[number]
            listed = [gradient] if counts[number] < 0 else [] if gradient is None else gradient
            for offset, one in enumerate(listed):
                like = shapes[first + offset]
                results[first + offset] = None if one is None or like is None else fitted(one, like)
        return results

    def __getattr__(self, name: str) -> Any:
        is_raw = name.startswith("_raw_saved_")
        if is_raw or name.startswith("_saved_"):
            short = name.partition("saved_")[2]
            slot = self.formulas.names.get(short.replace("_sym_sizes", "_sizes"), -1)
            if slot < 0 and short in self.could_keep:
                return None
            if slot >= 0:
                kept = self.kept
                if kept is None:
                    raise RuntimeError(FREED)
                value = kept[slot]
                if type(value) is tuple:
                    value = kept[slot] = as_saved(value)
                return value if is_raw else self._restored(value)
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'", name=name, obj=self)

    def __dir__(self) -> list[str]:
        kept = self.formulas.names.items()
        saved = [name.replace("_sizes", "_sym_sizes") for name, slot in kept if slot >= 0 and name != "grads"]
        return [*super().__dir__(), *sorted(f"_saved_{name}" for name in saved)]

    def _restored(self, value: Any) -> Any:
        if type(value) is SavedTensor:
            return value.restored(self)
        if type(value) is list:
            return tuple([self._restored(v) for v in value])
        return value


_NUMBERS: Final = (int, float, complex)
_TENSORS: Final = (tuple, SavedTensor)
"""How tensors are kept."""


def _are_large(values: Sequence[Any], least: int) -> bool:
    return any(type(value) is Tensor and value._array.size >= least for value in values)


def _keeps_large(kept: Sequence[Any], least: int) -> bool:
    """Whether one of the tensors that were kept, with its memory or without, is large."""
    for value in kept:
        if type(value) is tuple:
            array = value[0]._array if len(value) == 2 else value[0]
            if array.size >= least:
                return True
    return False


def _kept(value: Any, index: int) -> Any:
    if isinstance(value, Tensor):
        return save(value, index)
    if isinstance(value, list | tuple):
        return [save(v, n if index >= 0 else -1) if isinstance(v, Tensor) else v for n, v in enumerate(value)]
    return value


def sizes_of(value: Any) -> Any:
    """The sizes of a tensor; of a list of tensors those of each."""
    return list(value._array.shape) if isinstance(value, Tensor) else [sizes_of(one) for one in value]


def fitted(gradient: Any, like: Shape) -> Any:
    """A gradient in the sizes and the dtype of the operand it belongs to: summed over what was broadcast."""
    if not isinstance(gradient, Tensor):
        return None
    sizes, dtype = like
    array = gradient._array
    shape = array.shape
    if shape != sizes:
        more = len(shape) - len(sizes)
        if more > 0 and shape[more:] == sizes and array.dtype.kind == "f" and array.size:
            rows = gradient if more == 1 else OPERATORS.reshape(gradient, [-1, *sizes])
            gradient = OPERATORS.sum(rows, 0)
        else:
            gradient = OPERATORS.sum_to_size(gradient, list(sizes))
    return gradient if array.dtype is dtype else fitted_dtype(gradient, dtype)


def _fitted_plainly(gradient: Any, like: Shape) -> Any:
    """The same while nothing is recorded and nobody intercepts operators."""
    sizes, dtype = like
    array = gradient._array
    more = array.ndim - len(sizes)
    if type(gradient) is not Tensor or array.dtype is not dtype or dtype.char not in "fd" or more < 0:
        return fitted(gradient, like)
    if more and array.shape[more:] == sizes:
        return fitted(gradient, like)  # sums of columns, which have native code
    own = array.shape
    stretched = [d for d in range(array.ndim) if d < more or (sizes[d - more] == 1 and own[d] != 1)]
    return wrap(total(array, tuple(stretched), False, dtype).reshape(sizes))


def fitted_dtype(gradient: Tensor, dtype: Any) -> Tensor:
    """The gradient as another dtype: of complex numbers the real parts, for a real operand."""
    if gradient.dtype.is_complex and dtype.kind != "c":
        gradient = OPERATORS.real(gradient)
    return gradient if gradient._array.dtype == dtype else OPERATORS.to(gradient, from_numpy_dtype(dtype))
