"""One gradient of a call from plain tensors, by a function over their arrays (`schema.array_gradient`), as lines of a
function that computes all.

>>> from flambeau.schema.array_gradient import array_gradient_of
>>> step = ArrayStep(array_gradient_of("aten::bmm", "self"), ("grad", "mat2"), ("mat2",), is_list=False)
>>> print("\\n".join(step.lines("g", "r", {"grad": "grad", "mat2": "v0"}, "by_formula()")))
if own.dtype.char in "fd" and (type(v0) is Tensor or type(v0) in PLAIN):
    before = begin()
    try: g = r(own, v0._array)
    finally: end(before)
    if g is not None: g = wrap(g)
else: g = None
if g is None: g = by_formula()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from flambeau.autograd.saved import SavedTensor
from flambeau.schema.array_gradient import ArrayGradient
from flambeau.tensor.subclasses import PLAIN
from flambeau.tensor.tensor import Tensor, share, wrap
from flambeau.util.float_errors import begin, end


class ArrayStep:
    """The gradient of an operand, or those of a list of operands."""

    __slots__ = ("_lists", "_tensors", "gradient", "is_list", "needs")

    def __init__(
        self, gradient: ArrayGradient, needs: Sequence[str], tensors: Sequence[str], lists: Sequence[str] = (), *,
        is_list: bool,
    ) -> None:  # fmt: skip
        self.gradient = gradient
        self.needs = needs
        """What it is given, by name: the gradient, or gradients, first."""
        self._tensors, self._lists = tensors, lists
        """Which of these others are tensors, and lists of tensors."""
        self.is_list = is_list

    def lines(self, result: str, function: str, names: Mapping[str, str], otherwise: str) -> list[str]:
        """Lines that compute it by `function`, or by what is `otherwise` computed where that gives None.

        `names` are the variables of what is needed; `own` is that of the gradient's array, or of the list of arrays of
        several gradients, None where these are not served.
        """
        grad, *others = self.needs
        own = ["own is not None"] if grad == "grads" else ['own.dtype.char in "fd"']
        plain = [_IS_PLAIN.format(names[name]) for name in self._tensors]
        opened = [f"(x{k} := arrays_of({names[name]})) is not None" for k, name in enumerate(self._lists)]
        operands = [f"{names[name]}._array" if name in self._tensors else names[name] for name in others]
        for k, name in enumerate(self._lists):
            operands[others.index(name)] = f"x{k}"
        call = f"{result} = {function}({', '.join(['own', *operands])})"
        one = "shown({0}, grad)" if self.gradient.shows else "wrap({0})"
        whole = f"[{one.format('one')} for one in {result}]" if self.is_list else one.format(result)
        work = [call] if self.gradient.shows else ["before = begin()", f"try: {call}", "finally: end(before)"]
        return [
            f"if {' and '.join([*own, *plain, *opened])}:", *[f"    {line}" for line in work],
            f"    if {result} is not None: {result} = {whole}", f"else: {result} = None",
            f"if {result} is None: {result} = {otherwise}",
        ]  # fmt: skip


_IS_PLAIN: Final = "(type({0}) is Tensor or type({0}) in PLAIN)"


def arrays_of(tensors: Sequence[Any]) -> list[Any] | None:
    """The arrays of tensors, of which some may be None; None where one is no plain tensor."""
    arrays = []
    for one in tensors:
        if one is not None and type(one) is not Tensor and type(one) not in PLAIN:
            return None
        arrays.append(None if one is None else one._array)
    return arrays


def floats_of(gradients: Sequence[Any]) -> list[Any] | None:
    """The same of the gradients of several results, which are floats of one dtype."""
    arrays = arrays_of(gradients)
    return None if arrays is None or any(x is not None and x.dtype.char not in "fd" for x in arrays) else arrays


def shown(array: Any, grad: Tensor) -> Tensor:
    """An array as a tensor: on the gradient's memory, if it shows that."""
    own, base = grad._array, array.base
    if array is own:
        return grad
    return share(grad, array) if base is not None and (base is own or base is own.base) else wrap(array)


def opened(saved: Sequence[SavedTensor | None] | None) -> list[Tensor | None] | None:
    """Several tensors as they were kept, of which some may be None; None if hooks packed one, or it was written."""
    tensors: list[Tensor | None] = []
    for one in saved or ():
        if one is not None and (one.unpack is not None or one.tensor._storage.version != one.version):
            return None
        tensors.append(None if one is None else one.tensor)
    return tensors


SCOPE: Final = {
    "Tensor": Tensor, "PLAIN": PLAIN, "begin": begin, "end": end, "wrap": wrap, "shown": shown, "arrays_of": arrays_of,
    "floats_of": floats_of, "opened": opened,
}  # fmt: skip
"""What the lines refer to."""
