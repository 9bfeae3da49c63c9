"""Identity, optionals, tuples, indices of loops, and the small helpers that lowering inserts."""

from __future__ import annotations

import enum
import operator
from typing import Any

from flambeau.ops.language import int64
from flambeau.ops.language.declare import NEVER, ON_ZERO, declare
from flambeau.schema.device import Device
from flambeau.schema.traits import Fails, Traits


def is_(a: Any, b: Any) -> bool:
    """Identity for containers, objects and tensors; equality of type and value for numbers and strings."""
    if isinstance(a, int | float | complex | str):
        return type(a) is type(b) and bool(a == b)
    return a is b or (isinstance(a, Device | enum.Enum | tuple) and type(a) is type(b) and bool(a == b))


def unwrap_optional(value: Any) -> Any:
    """The value. Raises RuntimeError for None."""
    if value is None:
        raise RuntimeError("Unwrapping null optional")
    return value


def range_length(low: int, high: int, step: int) -> int:
    """How many numbers `range(low, high, step)` has. Raises RuntimeError for step 0."""
    if step == 0:
        raise RuntimeError("range() arg 3 must not be zero")
    if step > 0:
        return 0 if low >= high else 1 + (high - 1 - low) // step
    return 0 if low <= high else 1 + (low - 1 - high) // -step


def derive_index(index: int, start: int, step: int) -> int:
    """The number at `index` of `range(start, ..., step)`."""
    return int64.add(start, int64.mul(index, step))


def _if_then_else(condition: bool, a: Any, b: Any) -> Any:
    return a if condition else b


declare("aten::__is__(t1 self, t2 obj) -> bool", is_, traits=Traits(fails=Fails.NEVER, spelling="is"))
declare(
    "aten::__isnot__(t1 self, t2 obj) -> bool", lambda a, b: not is_(a, b),
    traits=Traits(fails=Fails.NEVER, spelling="is not"),
)  # fmt: skip
declare("aten::_unwrap_optional(t(a)? optional) -> t(a)", unwrap_optional)
declare("prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)", lambda value: value)
declare("prim::unchecked_cast(t x) -> t", lambda value: value, traits=NEVER)
declare("aten::__range_length(int lo, int hi, int step) -> int", range_length, traits=ON_ZERO)
declare("aten::__derive_index(int index, int start, int step) -> int", derive_index, traits=NEVER)
declare("prim::TupleIndex(Any tup, int i) -> Any", lambda items, index: _tuple_index(items, index))
declare("prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)", _if_then_else)
declare("prim::EnumName(AnyEnumType enum) -> str", operator.attrgetter("name"))
for _t in ("int", "float", "str"):
    declare(f"prim::EnumValue.{_t}(AnyEnumType enum) -> {_t}", operator.attrgetter("value"))
declare("prim::id(AnyClassType? x) -> int", lambda value: 0 if value is None else id(value))
declare("prim::index(Device self) -> int?", operator.attrgetter("index"))
declare("prim::type(Device self) -> str", operator.attrgetter("type"))
declare("aten::device(str a) -> Device", Device)
declare("aten::device.with_index(str type, int index) -> Device", Device)
declare("aten::Size(int[] sizes) -> int[]", list)


def _tuple_index(items: tuple[Any, ...], index: int) -> Any:
    try:
        return items[index]
    except IndexError:
        raise RuntimeError("Tuple index out of range") from None
