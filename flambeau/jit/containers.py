"""`script([1, 2])` and `script({"a": 1})`: containers that programs take by reference and that keep their element type.

>>> import flambeau
>>> numbers = flambeau.script([1, 2])
>>> unit = flambeau.CompilationUnit("def grow(x: List[int]): x.append(len(x))")
>>> unit.grow(numbers)
>>> numbers
[1, 2, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flambeau.jit.infer import shared_type
from flambeau.jit.value_conversion import MismatchError, converter
from flambeau.program.shared import SharedDict, SharedList
from flambeau.schema.types import DictType, ListType


class _Shared:
    """What both have: the container that programs are given, looked into with values of the right type."""

    shared: Any
    """What programs are given."""
    _checked: Callable[[Any], Any]
    """Gives an item or a key as programs have it, and raises for one of another type."""

    def __repr__(self) -> str:
        return repr(self.shared)

    def __bool__(self) -> bool:
        return bool(self.shared)

    def __len__(self) -> int:
        return len(self.shared)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.shared)

    def __contains__(self, value: Any) -> bool:
        return self._checked(value) in self.shared

    def __eq__(self, other: object) -> bool:
        return bool(self.shared == (other.shared if isinstance(other, _Shared) else other))

    __hash__ = None  # type: ignore[assignment]  # lists and dicts have none


class ScriptList(_Shared):
    """A list of one element type that programs and Python share.

    Args:
        items: any items of one type.

    >>> from flambeau.jit import ScriptList
    >>> len(ScriptList([1, 2]))
    2
    """

    def __init__(self, items: Iterable[Any]) -> None:
        """Raises TypeError if the items have no common type of the language."""
        values = list(items)
        type_ = shared_type(values)
        assert isinstance(type_, ListType)
        self.type = type_
        """The list's type."""
        self._convert = converter(type_.element)
        self.shared: SharedList = SharedList(self._checked(item) for item in values)

    def _checked(self, value: Any) -> Any:
        try:
            return self._convert(value)
        except MismatchError as error:
            raise TypeError(f"a list of {self.type.element.annotation} cannot hold this: {error}") from None

    def __getitem__(self, index: int | slice) -> Any:
        item = self.shared[index]
        return ScriptList._of(self, item) if isinstance(index, slice) else item

    def __setitem__(self, index: int | slice, value: Any) -> None:
        if isinstance(index, slice):
            self.shared[index] = [self._checked(v) for v in value]
        else:
            self.shared[index] = self._checked(value)

    def __delitem__(self, index: int | slice) -> None:
        del self.shared[index]

    @classmethod
    def _of(cls, other: ScriptList, items: list[Any]) -> ScriptList:
        sublist = cls.__new__(cls)
        sublist.type, sublist._convert, sublist.shared = other.type, other._convert, SharedList(items)
        return sublist

    def append(self, value: Any) -> None:
        """Add at the end. Raises TypeError for a value of another type, as the other methods do."""
        self.shared.append(self._checked(value))

    def clear(self) -> None:
        """Remove all."""
        self.shared.clear()

    def count(self, value: Any) -> int:
        """How many items equal `value`."""
        return self.shared.count(self._checked(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Add all at the end."""
        self.shared.extend([self._checked(v) for v in values])

    def index(self, value: Any) -> int:
        """Where the first such item is. Raises ValueError if there is none."""
        return self.shared.index(self._checked(value))

    def insert(self, index: int, value: Any) -> None:
        """Add before `index`."""
        self.shared.insert(index, self._checked(value))

    def pop(self, index: int = -1) -> Any:
        """Remove and return. Raises IndexError if there is no such item."""
        return self.shared.pop(index)

    def remove(self, value: Any) -> None:
        """Remove the first such item. Raises ValueError if there is none."""
        self.shared.remove(self._checked(value))


class ScriptDict(_Shared):
    """A dict of one key and one value type that programs and Python share.

    Args:
        items: a dict.

    >>> from flambeau.jit import ScriptDict
    >>> ScriptDict({"a": 1})["a"]
    1
    """

    def __init__(self, items: Mapping[Any, Any]) -> None:
        """Raises TypeError if keys or values have no common type of the language."""
        type_ = shared_type(dict(items))
        assert isinstance(type_, DictType)
        self.type = type_
        """The dict's type."""
        self._key, self._value = converter(type_.key), converter(type_.value)
        self.shared: SharedDict = SharedDict()
        for key, value in items.items():
            self[key] = value

    def _checked(self, key: Any) -> Any:
        try:
            return self._key(key)
        except MismatchError as error:
            raise KeyError(f"a dict with keys of type {self.type.key.annotation} has no such key: {error}") from None

    def __getitem__(self, key: Any) -> Any:
        return self.shared[self._checked(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            self.shared[self._key(key)] = self._value(value)
        except MismatchError as error:
            raise TypeError(f"a {self.type.annotation} cannot hold this: {error}") from None

    def __delitem__(self, key: Any) -> None:
        del self.shared[self._checked(key)]

    def items(self) -> Any:
        """Pairs of key and value."""
        return self.shared.items()

    def keys(self) -> Any:
        """The keys."""
        return self.shared.keys()

    def values(self) -> Any:
        """The values."""
        return self.shared.values()
