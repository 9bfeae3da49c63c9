"""Calls with arguments that ask for gradients.

What depends on such an argument follows from the graph (`analysis.gradients`). While gradients are recorded, a function
of which a result does is one node of the tape (`recomputed_calls`), or runs an operator at a time, so that each is put
on it, as in Python. Others, and all under `no_grad()`, have plans as for any tensors, which run on plain tensors over
the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from flambeau.analysis.gradients import Flow, flow_of
from flambeau.ir.graph import Graph, Value
from flambeau.program import instances
from flambeau.schema.opdef import OpDef
from flambeau.tensor.levels import unrecorded
from flambeau.tensor.tensor import Tensor
from flambeau.util.trees import tuple_of

Asks = bool | tuple[bool, ...]
"""Whether a value is, or holds, a tensor that asks for gradients; of an object, which of the tensors in it do."""
Asking = tuple[Asks, ...]
"""Of each argument, whether it is, or holds, a tensor that asks for gradients."""


def asking(arguments: Iterable[Any]) -> Asking:
    """Which arguments ask for gradients."""
    return tuple([v.asks() if isinstance(v, Tensor) else _asks_of(v) for v in arguments])


_NO_OBJECTS: Final = (int, float, str, list, tuple, dict, type(None))


def _asks_of(value: Any) -> Asks:
    return _asks(value) if isinstance(value, _NO_OBJECTS) else of_object(value)


def of_object(owner: Any) -> Asks:
    """Which of the tensors in an object, and in objects in it, ask for gradients; False if none does."""
    flags = tuple(_each_asks(owner))
    return flags if True in flags else False


def _is_of_numbers(items: Sequence[Any]) -> bool:
    """Whether a container holds numbers or texts: lists of programs hold one kind of thing, and may be long."""
    return not items or (isinstance(items[0], int | float | str) and isinstance(items[-1], int | float | str))


def _asks(value: Any) -> bool:
    """Whether a value is, or holds, a tensor that asks."""
    return any(_each_asks(value))


def _each_asks(value: Any) -> Iterator[bool]:
    """Of each tensor that a value is or holds, whether it asks. Containers and objects are looked at once, however
    often they are named."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Tensor):
            yield one.asks()
        elif isinstance(one, int | float | str) or one is None or id(one) in seen:
            continue
        else:
            seen.add(id(one))
            waiting.extend(_inner(one))


def _inner(value: Any) -> Sequence[Any]:
    """What a container or an object holds."""
    if isinstance(value, list | tuple | dict):
        items = list(value.values()) if isinstance(value, dict) else value
        return () if _is_of_numbers(items) else items
    definition = instances.definition_of(value)
    if definition is None or not instances.may_hold_tensors(definition):
        return ()
    return instances.attribute_values(value, definition)


def flow_through(graph: Graph, arguments: Sequence[Any], asks: Asking) -> Flow:
    """What a function, of which this is the graph for a plan, does with arguments that ask for gradients."""
    return flow_of(graph, [asked is True for asked in asks], _attributes_of(graph, arguments))


def sources(graph: Graph, arguments: Sequence[Any], asks: Sequence[Asks]) -> list[Value]:
    """The parameters that stand for tensors that ask for gradients, and what is read of objects that does."""
    asking = [v for v, asked in zip(graph.parameters, asks, strict=True) if asked is True]
    return asking + _attributes_of(graph, arguments)


def _attributes_of(graph: Graph, arguments: Sequence[Any]) -> list[Value]:
    objects = {v: a for v, a in zip(graph.parameters, arguments, strict=True) if instances.definition_of(a)}
    return _attributes_that_ask(graph, objects)


def _attributes_that_ask(graph: Graph, objects: dict[Value, Any]) -> list[Value]:
    """What the graph reads of objects that asks for gradients."""
    asking = []
    for node in graph.find_all("prim::GetAttr") if objects else ():
        owner = objects.get(node.operand(0))
        if owner is None:
            continue
        definition = instances.definition_of(owner)
        if definition is None:
            continue
        value = instances.attribute_values(owner, definition)[definition.slot(node.attribute("name"))]
        if instances.definition_of(value) is not None:
            objects[node.result()] = value
        elif _asks(value):
            asking.append(node.result())
    return asking


class Plain:
    """Arguments with plain tensors in the place of those that ask for gradients."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self._originals: dict[int, Tensor] = {}
        self._stand_ins: dict[int, Tensor] = {}
        self.arguments = tuple([self._plain(value) for value in arguments])

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._stand_in(value) if value.asks() else value
        if isinstance(value, tuple):
            return tuple_of(type(value), [self._plain(item) for item in value])
        if isinstance(value, list) and _asks(value):
            return [self._plain(item) for item in value]
        if type(value) is dict and _asks(value):
            return {key: self._plain(item) for key, item in value.items()}
        return value

    def _stand_in(self, tensor: Tensor) -> Tensor:
        known = self._stand_ins.get(id(tensor))
        if known is None:
            known = self._stand_ins[id(tensor)] = unrecorded(tensor)
            self._originals[id(known)] = tensor
        return known

    def restored(self, result: Any) -> Any:
        """A result with the arguments themselves where it has what stood in for them."""
        if isinstance(result, Tensor):
            return self._originals.get(id(result), result)
        if isinstance(result, tuple):
            return tuple_of(type(result), [self.restored(item) for item in result])
        if isinstance(result, list):
            result[:] = [self.restored(item) for item in result]
        elif isinstance(result, dict):
            result.update({key: self.restored(item) for key, item in result.items()})
        return result


def one_by_one(definition: OpDef, arguments: Sequence[Any], proceed: Callable[[Sequence[Any]], Any]) -> Any:
    """An interceptor that changes nothing: each operator runs as Python calls it, and is recorded."""
    return proceed(arguments)
