"""The names and numbers of a graph's values: no two have the same. One without a name prints as its number."""

from __future__ import annotations

from typing import Protocol


class NamedValue(Protocol):
    """What may have a name."""

    _name: str
    number: int


class ValueNames:
    """The names of the values of one graph."""

    def __init__(self) -> None:
        self._names: dict[str, NamedValue] = {}
        self._suffix: dict[str, int] = {}
        self._next_number = 0
        self._has_numbers = False
        """Whether any name was one that a number could be taken for."""

    def new_number(self) -> int:
        """A number that no value of this graph has."""
        while self._has_numbers and str(self._next_number) in self._names:
            self._next_number += 1
        self._next_number += 1
        return self._next_number - 1

    def rename(self, value: NamedValue, name: str) -> None:
        """Name a value; "" takes the name away. Whoever has the name moves on to the next free `name.N`."""
        if value._name == name:
            return
        if value._name:
            del self._names[value._name]
            value._name = ""
        if not name:
            return
        self._has_numbers = self._has_numbers or name.isdigit()
        holder = self._names.pop(name, None)
        self._names[name] = value
        value._name = name
        if holder is not None:
            holder._name = ""
            replacement = self._free_name(name)
            self._names[replacement] = holder
            holder._name = replacement

    def _free_name(self, name: str) -> str:
        base, dot, digits = name.rpartition(".")
        if not dot or not digits.isdigit():
            base, digits = name, "1"
        suffix = max(int(digits), self._suffix.get(base, 0) + 1)
        while f"{base}.{suffix}" in self._names:
            suffix += 1
        self._suffix[base] = suffix
        return f"{base}.{suffix}"

    def forget(self, value: NamedValue) -> None:
        """Free the name of a value that is gone."""
        if value._name:
            self._names.pop(value._name, None)

    def number(self, value: NamedValue, number: int) -> None:
        """Give an unnamed value this number, which no other value may have; numbers given later are higher."""
        value.number = number
        self._next_number = max(self._next_number, number + 1)
