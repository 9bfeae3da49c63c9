"""Lists of tensors: equality is that of elements, so only one-element tensors have it."""

from __future__ import annotations

from flambeau.ops.language import lists
from flambeau.ops.language.conversions import truth
from flambeau.ops.language.declare import declare
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor

Tensors = list[Tensor]


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are one, or equal elements. Raises RuntimeError where `==` has more than one answer."""
    return a is b or truth(dispatch.call("aten::eq", a, b))


def equal(a: Tensors, b: Tensors) -> bool:
    """Whether all pairs are the same."""
    return len(a) == len(b) and all(truth(dispatch.call("aten::eq", x, y)) for x, y in zip(a, b, strict=True))


def index(items: Tensors, wanted: Tensor) -> int:
    """The index of the first equal tensor. Raises RuntimeError when there is none."""
    for i, item in enumerate(items):
        if same(item, wanted):
            return i
    raise RuntimeError("Tensor is not in list")


def count(items: Tensors, wanted: Tensor) -> int:
    """How many are equal."""
    return sum(same(item, wanted) for item in items)


def remove(items: Tensors, wanted: Tensor) -> None:
    """Remove the first equal one. Raises RuntimeError when there is none."""
    for i, item in enumerate(items):
        if same(item, wanted):
            del items[i]
            return
    raise RuntimeError("list.remove(x): x not in list")


def sort(items: Tensors, reverse: bool) -> None:
    """Sort one-element tensors by their elements, in place."""
    items.sort(key=Tensor.item, reverse=reverse)


def sorted_(items: Tensors) -> Tensors:
    """A sorted copy."""
    return sorted(items, key=Tensor.item)


declare("aten::eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool", equal)
declare("aten::ne.Tensor_list(Tensor[] a, Tensor[] b) -> bool", lambda a, b: not equal(a, b))
declare("aten::index.list_Tensor(Tensor[] self, Tensor el) -> int", index)
declare("aten::count.Tensor(Tensor[] self, Tensor el) -> int", count)
declare("aten::remove.Tensor(Tensor[](a!) self, Tensor el) -> ()", remove)
declare("aten::sort.Tensor(Tensor[](a!) self, bool reverse=False) -> ()", sort)
declare("aten::sorted.Tensor(Tensor[](a) input) -> Tensor[]", sorted_)

# Overloads are tried in order: these take what no other one does.
declare("aten::sort.any(t[](a!) self, bool reverse=False) -> ()", lists.sort)
declare("aten::sorted.any(t[](a) self) -> t[]", lists.sorted_)
