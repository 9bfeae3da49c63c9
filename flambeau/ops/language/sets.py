"""Sets: Python's own. What goes over one meets its items in the order that Python has them in."""

from __future__ import annotations

import operator
from typing import Any

from flambeau.ops.language.declare import NEVER, declare
from flambeau.ops.language.text import value_text

Items = set[Any]


def remove(items: Items, item: Any) -> None:
    """Take an item out. Raises RuntimeError when it is not there."""
    if item not in items:
        raise RuntimeError(f"KeyError: {value_text(item)}")
    items.discard(item)


def pop(items: Items) -> Any:
    """Take some item out. Raises RuntimeError when there is none."""
    if not items:
        raise RuntimeError("KeyError: pop from an empty set")
    return items.pop()


declare("python::set(t[] items) -> Set(t)", set)
declare("python::set_items(Set(t) self) -> t[]", list)
declare("aten::len.Set(Set(t) self) -> int", len, traits=NEVER)
declare("aten::__contains__.Set(Set(t) set, t item) -> bool", operator.contains)
for _sign, _function in {"eq": operator.eq, "ne": operator.ne, "le": operator.le, "lt": operator.lt}.items():
    declare(f"python::set_{_sign}(Set(t) self, Set(t) other) -> bool", _function)
declare("python::set_isdisjoint(Set(t) self, Set(t) other) -> bool", set.isdisjoint)
declare("python::set_copy(Set(t) self) -> Set(t)", set.copy)
for _name in ("union", "intersection", "difference", "symmetric_difference"):
    declare(f"python::set_{_name}(Set(t) self, Set(t) other) -> Set(t)", getattr(set, _name))
for _name in ("update", "intersection_update", "difference_update", "symmetric_difference_update"):
    declare(f"python::set_{_name}(Set(t)(a!) self, Set(t) other) -> ()", getattr(set, _name))
declare("python::set_add(Set(t)(a!) self, t item) -> ()", set.add)
declare("python::set_discard(Set(t)(a!) self, t item) -> ()", set.discard)
declare("python::set_remove(Set(t)(a!) self, t item) -> ()", remove)
declare("python::set_pop(Set(t)(a!) self) -> t", pop)
declare("python::set_clear(Set(t)(a!) self) -> ()", set.clear)
