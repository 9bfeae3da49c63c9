"""A compiled call as one node on the tape: native code at first; on the way back it runs again, an operator at a time.

That is for functions whose second run gives what the first one gave: those that draw no random numbers, write nothing
that others see, and print nothing. Others run an operator at a time to begin with.

>>> import flambeau
>>> @flambeau.script
... def energy(x):
...     return (x * x).sum()
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> energy(x).grad_fn.name()
'CompiledCallBackward'
>>> energy(x).backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flambeau.analysis.gradients import Marks
from flambeau.autograd.backward import grad_of
from flambeau.autograd.node import Gradients, Node, edge_of
from flambeau.autograd.operator_node import FREED, SavedTensor
from flambeau.program.object import ScriptObject
from flambeau.tensor.grad_mode import is_grad_enabled, set_grad_enabled
from flambeau.tensor.tensor import Tensor


class CompiledCallBackward(Node):
    """One call of a compiled function."""

    __slots__ = ("_again", "_marks", "_saved")

    def __init__(self, again: Callable[[], Any], inputs: Sequence[Tensor], marks: Marks) -> None:
        super().__init__([edge_of(tensor) for tensor in inputs])
        self._again: Callable[[], Any] | None = again
        self._saved = [SavedTensor(tensor) for tensor in inputs]
        self._marks = marks

    def apply(self, gradients: Gradients) -> Gradients:
        """Run the function again, recorded, and go back through that. Raises RuntimeError if an input was written."""
        again = self._again
        if again is None:
            raise RuntimeError(FREED)
        inputs = [saved.restored(self) for saved in self._saved]
        creates = is_grad_enabled()
        with set_grad_enabled(True):
            results = marked(again(), self._marks)
        pairs = [(r, g) for r, g in zip(results, gradients, strict=False) if g is not None and edge_of(r) is not None]
        roots, given = [r for r, _ in pairs], [g for _, g in pairs]
        return grad_of(roots, inputs, given, None, creates, ends_at_targets=True)

    def release(self) -> None:
        """Let go of the arguments."""
        self._again = None
        self._saved = []


def marked(result: Any, marks: Marks) -> list[Tensor]:
    """The tensors in a result that depend on what asks for gradients."""
    found: list[Tensor] = []
    _collect(result, marks, found)
    return found


def _collect(result: Any, marks: Marks, found: list[Tensor]) -> None:
    if isinstance(result, Tensor):
        if marks is not False and result._array.dtype.kind in "fcV":
            found.append(result)
    elif isinstance(result, list | tuple):
        several = isinstance(marks, tuple) and len(marks) == len(result)
        for number, item in enumerate(result):
            _collect(item, marks[number] if several and isinstance(marks, tuple) else marks, found)
    elif isinstance(result, dict):
        for item in result.values():
            _collect(item, marks, found)


def asking_tensors(values: Iterable[Any]) -> list[Tensor]:
    """The tensors that ask for gradients among values, in containers and objects, each once."""
    found: dict[int, Tensor] = {}
    seen: set[int] = set()
    waiting = list(values)[::-1]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Tensor):
            if value.asks():
                found[id(value)] = value
        elif isinstance(value, list | tuple | dict | ScriptObject) and id(value) not in seen:
            seen.add(id(value))
            inner = (
                value.values()
                if isinstance(value, dict)
                else value.values
                if isinstance(value, ScriptObject)
                else value
            )
            waiting.extend(inner)
    return list(found.values())


def put_on_tape(result: Any, marks: Marks, inputs: Sequence[Tensor], again: Callable[[], Any]) -> bool:
    """Have the results of a native call know how they come about; False if they show memory of the inputs, which one
    node does not tell apart."""
    results = marked(result, marks)
    memory = {id(tensor._storage) for tensor in inputs}
    if any(id(r._storage) in memory for r in results) or len({id(r._storage) for r in results}) < len(results):
        return False
    node = CompiledCallBackward(again, inputs, marks)
    for number, tensor in enumerate(results):
        tensor._node, tensor.output_nr = node, number
    return True
