"""Calls of Python functions in traces: nodes `^Name`, which call the function again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from flambeau.util.names import python_name

NOT_TENSORS: Final = (
    "Cannot trace the call of {name}: in a trace, a custom function gives a tensor or a tuple of tensors"
)


class PythonCall:
    """A function with the arguments that are no tensors, as they were when the trace was made."""

    def __init__(self, name: str, function: Callable[..., Any], others: list[Any]) -> None:
        self.__name__ = name
        self._function = self.__wrapped__ = function
        self._others = others
        """All arguments, None for tensors."""
        self._tensor_indices: list[int] = []

    def of_tensors(self, indices: Iterable[int]) -> PythonCall:
        """The call, told which arguments are tensors."""
        self._tensor_indices = list(indices)
        return self

    @property
    def scalar_args(self) -> list[Any]:
        """The arguments that are no tensors."""
        return [value for index, value in enumerate(self._others) if index not in self._tensor_indices]

    @property
    def arguments_text(self) -> str:
        """These as text, which the text of a graph can be read back with."""
        return ", ".join(map(_text, self.scalar_args))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PythonCall) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self.__name__)

    def _parts(self) -> tuple[Any, ...]:
        return (self.__name__, self._function, self._others, self._tensor_indices)

    def __call__(self, *tensors: Any) -> Any:
        arguments = list(self._others)
        for index, tensor in zip(self._tensor_indices, tensors, strict=True):
            arguments[index] = tensor
        return self._function(*arguments)


def _text(value: Any) -> str:
    """Numbers and texts as Python writes them, lists and tuples of such; of anything else the class."""
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_text, value)) + "," * (isinstance(value, tuple) and len(value) == 1)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value) if isinstance(value, bool | int | float | str | None) else python_name(type(value))
