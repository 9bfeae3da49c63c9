"""Dicts: Python's own, in insertion order. Keys that are tensors are found by identity."""

from __future__ import annotations

import operator
from typing import Any

from flambeau.ops.language.declare import KEYS, NEVER, OTHER_KEY, declare
from flambeau.ops.language.text import value_text

Items = dict[Any, Any]


def _missing(key: Any) -> RuntimeError:
    return RuntimeError(f"KeyError: {value_text(key)}")


def getitem(items: Items, key: Any) -> Any:
    """items[key]. Raises RuntimeError when it is not there."""
    try:
        return items[key]
    except KeyError:
        raise _missing(key) from None


def delitem(items: Items, key: Any) -> None:
    """Remove a key. Raises RuntimeError when it is not there."""
    try:
        del items[key]
    except KeyError:
        raise _missing(key) from None


def pop(items: Items, key: Any) -> Any:
    """Remove a key and return its value. Raises RuntimeError when it is not there."""
    try:
        return items.pop(key)
    except KeyError:
        raise _missing(key) from None


def popitem(items: Items) -> tuple[Any, Any]:
    """Remove and return the last pair. Raises RuntimeError when there is none."""
    if not items:
        raise RuntimeError("popitem(): dictionary is empty")
    return items.popitem()


for _k in (*KEYS, OTHER_KEY):
    _dict = f"Dict({_k}, t)"
    _pair = f"({_k}, t)"
    declare(f"aten::__getitem__.Dict_{_k}({_dict} self, {_k} key) -> t(*)", getitem)
    declare(f"aten::_set_item.{_k}({_dict}(a!) l, {_k}(b -> *) idx, t(c -> *) v) -> ()", operator.setitem)
    declare(f"aten::Delete.Dict_{_k}({_dict}(a!) self, {_k} key) -> ()", delitem)
    declare(f"aten::__contains__.{_k}({_dict} dict, {_k} key) -> bool", operator.contains)
    declare(f"aten::len.Dict_{_k}({_dict} self) -> int", len, traits=NEVER)
    declare(f"aten::get.{_k}({_dict} self, {_k} key) -> t(*)?", dict.get)
    declare(f"aten::get.default_{_k}({_dict} self, {_k} key, t default_value) -> t(*)", dict.get)
    declare(f"aten::keys.{_k}({_dict} self) -> {_k}[](*)", list)
    declare(f"aten::values.{_k}({_dict} self) -> t[](*)", lambda items: list(items.values()))
    declare(f"aten::items.{_k}({_dict} self) -> ({_pair}[])", lambda items: list(items.items()))
    declare(f"aten::pop.Dict_{_k}({_dict}(a!) self, {_k} key) -> t(*)", pop)
    declare(f"aten::pop.Dict_default_{_k}({_dict}(a!) self, {_k} key, t default_value) -> t(*)", dict.pop)
    declare(f"aten::popitem.{_k}({_dict}(a!) self) -> ({_pair})", popitem)
    declare(
        f"aten::setdefault.{_k}({_dict}(a!) self, {_k}(b -> *) key, t(c -> *) default_value) -> t(*)", dict.setdefault
    )
    declare(f"aten::update.{_k}({_dict}(a!) self, {_dict}(a!) to_add) -> ()", dict.update)
    declare(f"aten::clear.{_k}({_dict}(a!) self) -> ()", dict.clear)
    declare(f"aten::copy.Dict_{_k}({_dict}(a) self) -> {_dict}", dict.copy)
    declare(f"aten::dict.Dict_{_k}({_dict}(a) self) -> {_dict}", dict)
    declare(f"aten::dict.{_k}(({_k}, tVal)[] inputs) -> Dict({_k}, tVal)", dict)
declare("aten::dict() -> Dict(str, Tensor)", dict)
