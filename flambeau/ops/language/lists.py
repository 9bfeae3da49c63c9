"""Lists.

Indices and slices are Python's; a list is Python's own list object, so that aliases see each other's writes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from flambeau.ops.language import float64, int64
from flambeau.ops.language.declare import NEVER, declare
from flambeau.ops.language.text import value_text

Items = list[Any]

OUT_OF_RANGE = "list index out of range"


def getitem(items: Items, index: int) -> Any:
    """items[index]. Raises RuntimeError when there is no such item."""
    try:
        return items[index]
    except IndexError:
        raise RuntimeError(OUT_OF_RANGE) from None


def setitem(items: Items, index: int, value: Any) -> Items:
    """items[index] = value. Raises RuntimeError when there is no such item."""
    try:
        items[index] = value
    except IndexError:
        raise RuntimeError(OUT_OF_RANGE) from None
    return items


def delitem(items: Items, index: int) -> None:
    """Remove items[index]. Raises RuntimeError when there is no such item."""
    try:
        del items[index]
    except IndexError:
        raise RuntimeError(OUT_OF_RANGE) from None


def append(items: Items, value: Any) -> Items:
    """Add at the end."""
    items.append(value)
    return items


def pop(items: Items, index: int) -> Any:
    """Remove and return. Raises RuntimeError from an empty list or beyond its ends."""
    if not items:
        raise RuntimeError("pop from empty list")
    try:
        return items.pop(index)
    except IndexError:
        raise RuntimeError(OUT_OF_RANGE) from None


def insert(items: Items, index: int, value: Any) -> None:
    """Put `value` before `index`, clamped to the ends."""
    items.insert(index, value)


def slice_(items: Items, start: int | None, end: int | None, step: int) -> Items:
    """items[start:end:step]. Raises RuntimeError for the steps 0 and -2**63."""
    if step == 0:
        raise RuntimeError("List slice should have non-zero step")
    if step == int64.MIN:
        raise RuntimeError("List slice step is out of bounds")
    return items[start:end:step]


def extend_in_place(items: Items, others: Items) -> Items:
    """items += others."""
    items += others
    return items


def repeat_in_place(items: Items, count: int) -> Items:
    """items *= count."""
    items *= count
    return items


def remove(items: Items, value: Any) -> None:
    """Remove the first equal item. Raises RuntimeError when there is none."""
    try:
        items.remove(value)
    except ValueError:
        raise RuntimeError("list.remove(x): x not in list") from None


def index(items: Items, value: Any) -> int:
    """The index of the first equal item. Raises RuntimeError when there is none."""
    try:
        return items.index(value)
    except ValueError:
        shown = f"{value:g}" if isinstance(value, float) else value_text(value)
        raise RuntimeError(f"'{shown}' is not in list") from None


def _extreme_of(name: str, extreme: Callable[[Items], Any]) -> Any:
    def kernel(items: Items) -> Any:
        if not items:
            raise RuntimeError(f"{name}() arg is an empty sequence")
        return extreme(items)

    return kernel


def sum_ints(items: Items) -> int:
    """The wrapped sum, an int for bools too."""
    total = int(sum(items))
    return total if int64.MIN <= total <= int64.MAX else int64.wrap(total)


def sum_floats(items: Items) -> Any:
    """Added from left to right, without compensation."""
    total = 0.0
    for item in items:
        total += item
    return total


def sum_complex(items: Items) -> complex:
    """Added from left to right."""
    return complex(sum(items, start=0j))


def sort(items: Items, reverse: bool) -> None:
    """Sort in place, stable. Raises RuntimeError for items that have no order."""
    try:
        items.sort(reverse=reverse)
    except TypeError:
        raise RuntimeError("Only values of same type can be compared") from None


def sorted_(items: Items) -> Items:
    """A sorted copy. Raises RuntimeError for items that have no order."""
    result = list(items)
    sort(result, False)
    return result


# -- any element type -------------------------------------------------------------------------------------------------

declare("aten::__getitem__.t(t[](a) list, int idx) -> t(*)", operator.getitem)
declare("aten::select.t(t[](a) list, int idx) -> t(*)", operator.getitem)
declare("aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", setitem)
declare("aten::Delete.t(t[](a!) self, int idx) -> ()", delitem)
declare("aten::len.t(t[] a) -> int", len, traits=NEVER)
declare("aten::len.any(Any[] a) -> int", len, traits=NEVER)
declare("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", append)
declare("aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", insert)
declare("aten::extend.t(t[](a!) self, t[] other) -> ()", list.extend)
declare("aten::pop.t(t[](a!) self, int idx=-1) -> t(*)", pop)
declare("aten::reverse.t(t[](a!) self) -> ()", list.reverse)
declare("aten::clear.t(t[](a!) self) -> ()", list.clear)
declare("aten::copy.t(t[](a) self) -> t[]", list.copy)
declare("aten::list.t(t[] l) -> t[]", list)
declare("aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", slice_)
declare("aten::add.t(t[] a, t[] b) -> t[]", operator.add)
declare("aten::add_.t(t[](a!) self, t[] b) -> t[]", extend_in_place)
declare("aten::mul.left_t(t[] l, int n) -> t[]", operator.mul)
declare("aten::mul.right_(int n, t[] l) -> t[]", operator.mul)
declare("aten::mul_.t(t[](a!) l, int n) -> t[](a!)", repeat_in_place)

# -- one element type each --------------------------------------------------------------------------------------------

for _t in ("int", "float", "bool", "str"):
    declare(f"aten::remove.{_t}({_t}[](a!) self, {_t} el) -> ()", remove)
    declare(f"aten::index.list_{_t}({_t}[] self, {_t} el) -> int", index)
    declare(f"aten::count.{_t}({_t}[] self, {_t} el) -> int", list.count)
    declare(f"aten::sort.{_t}({_t}[](a!) self, bool reverse=False) -> ()", sort)
    declare(f"aten::sorted.{_t}({_t}[](a) input) -> {_t}[]", sorted_)
    declare(f"aten::eq.{_t}_list({_t}[] a, {_t}[] b) -> bool", operator.eq)
    declare(f"aten::ne.{_t}_list({_t}[] a, {_t}[] b) -> bool", operator.ne)
    declare(f"aten::any.{_t}({_t}[] self) -> bool", any)
for _t in ("int", "float", "str"):
    declare(f"aten::__contains__.{_t}_list({_t}[] l, {_t} item) -> bool", operator.contains)
for _t in ("int", "float", "bool"):
    declare(f"aten::all.{_t}({_t}[] self) -> bool", all)
    for _name, _extreme, _pick in (("min", min, float64.minimum), ("max", max, float64.maximum)):
        declare(f"prim::{_name}.self_{_t}({_t}[] self) -> {_t}", _extreme_of(_name, _extreme))
        declare(f"prim::{_name}.{_t}_list({_t}[] l, {_t}[] r) -> {_t}[]", _pick)
declare("aten::sum.int(int[] self) -> int", sum_ints)
declare("aten::sum.bool(bool[] self) -> int", sum_ints)
declare("aten::sum.float(float[] self) -> float", sum_floats)
declare("aten::sum.complex(complex[] self) -> complex", sum_complex)
declare("prim::rangelist(int n) -> int[]", lambda n: list(range(n)))
