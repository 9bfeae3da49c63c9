"""Modules that hold parameters: in order (`ParameterList`) or by name (`ParameterDict`)."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Self

from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.tensor.python_forms import typename
from flambeau.tensor.tensor import Tensor

NOT_CALLED: Final = "{kind} should not be called: it holds parameters for the module around it, whose forward uses them"


def _as_parameter(value: Any) -> Any:
    """Plain tensors become parameters; other values stay what they are."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(key: str, value: Any, elements: str) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    where = f" ({value.device})" if value.device.type != "cpu" else ""
    return f"  ({key}): {kind} containing: [{elements} of size {'x'.join(map(str, value.shape))}{where}]"


def _elements(value: Any) -> str:
    return str(value.dtype) if isinstance(value, Tensor) else ""


class _Parameters(Module):
    """Parameters alone: there is nothing to call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(NOT_CALLED.format(kind=type(self).__name__))


class ParameterList(_Parameters):
    """A list of parameters; tensors put in become parameters.

    Args:
        values: the tensors.

    >>> import flambeau
    >>> from flambeau import nn
    >>> len(nn.ParameterList([flambeau.ones(2), flambeau.zeros(3)]))
    2
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return ParameterList([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), _as_parameter(value))

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def _name(self, index: int) -> str:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return str(position % len(self))

    def extra_repr(self) -> str:
        """One line for each value."""
        return "\n".join(_described(str(i), value, _elements(value)) for i, value in enumerate(self))


class ParameterDict(_Parameters):
    """Parameters by name, in the order in which they were put in; tensors put in become parameters.

    Args:
        values: tensors by name.

    >>> import flambeau
    >>> from flambeau import nn
    >>> nn.ParameterDict({"w": flambeau.ones(2)}).keys()
    ['w']
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if values is not None:
            self.update(values)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"a ParameterDict has strings for keys, not {type(key).__name__}")
        if "." in key:
            raise KeyError(f'a parameter\'s name can\'t contain ".", got {key!r}')
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> list[str]:
        """The names."""
        return list(self._keys)

    def values(self) -> list[Any]:
        """What they stand for."""
        return [self[key] for key in self._keys]

    def items(self) -> list[tuple[str, Any]]:
        """Names and values."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of that name, or `default`."""
        return self[key] if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Take a value out."""
        parameter = self[key]
        del self[key]
        return parameter

    def popitem(self) -> tuple[str, Any]:
        """Take the last name and its value out. Raises KeyError if there is none."""
        if not self._keys:
            raise KeyError("popitem(): the ParameterDict is empty")
        last = next(reversed(self._keys))
        return last, self.pop(last)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of that name, which is put in if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all values out."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        """Another one with the same values."""
        return ParameterDict(dict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another one with these names, all of one value."""
        return ParameterDict(dict.fromkeys(keys, default))

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __or__(self, other: Mapping[str, Any] | ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: Mapping[str, Any]) -> ParameterDict:
        merged = ParameterDict(other)
        merged.update(self)
        return merged

    def __ior__(self, other: Mapping[str, Any] | ParameterDict) -> Self:
        self.update(other)
        return self

    def update(self, values: Mapping[str, Any] | ParameterDict | Iterable[tuple[str, Any]]) -> None:
        """Put values in, in the place of those of the same name. Raises TypeError for what gives no pairs."""
        if not isinstance(values, Iterable):
            raise TypeError(
                f"ParameterDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(values).__name__}"
            )
        items = values.items() if isinstance(values, Mapping | ParameterDict) else values
        for key, value in items:
            self[key] = value

    def extra_repr(self) -> str:
        """One line for each value."""
        return "\n".join(_described(key, value, typename(value)) for key, value in self.items())
