"""Which nodes of a graph a backend can compute.

>>> import operator
>>> from flambeau import fx
>>> sums = create_op_support(lambda submodules, node: node.target is operator.add)
>>> [sums.is_node_supported({}, node) for node in fx.symbolic_trace(lambda x: (x + 1) * 2).graph.nodes]
[False, True, False, False]
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.fx.names import qualified_name
from flambeau.fx.node import Node
from flambeau.nn.module import Module
from flambeau.schema.dtype import DType

Support = Callable[[Mapping[str, Module], Node], bool]
"""Called with the submodules by name, and a node."""
_CALLS: Final = ("call_function", "call_method", "call_module")


class OperatorSupportBase(abc.ABC):
    """Says which nodes a backend can compute."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether it can compute a node.

        Args:
            submodules: those of the module that the node belongs to, by qualified name.
            node: a call, an argument, an attribute or the output.
        """


class OperatorSupport(OperatorSupportBase):
    """By what is called, and perhaps dtypes; arguments, attributes and outputs it has all.

    Args:
        support_dict: by name (of functions with their module, of methods, of the classes of submodules) None for all
            dtypes, or a pair: sequences of dtypes for each argument by position, and a dict of them by keyword.

    >>> from flambeau import fx
    >>> support = OperatorSupport({"operator.add": None})
    >>> [support.is_node_supported({}, node) for node in fx.symbolic_trace(lambda x: -(x + 1)).graph.nodes]
    [True, True, False, True]
    """

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = dict(support_dict or {})

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        """Whether what the node calls is listed, for the dtypes of its arguments (`node.meta["tensor_meta"]`)."""
        if node.op not in _CALLS:
            return True
        names = _names(submodules, node)
        rows = [self._support_dict[name] for name in names if name in self._support_dict]
        if not rows:
            return False
        if rows[0] is None:
            return True
        by_place, by_name = rows[0]
        pairs = list(zip(node.args, by_place, strict=False))
        pairs += [(node.kwargs[name], dtypes) for name, dtypes in by_name.items() if name in node.kwargs]
        return all(not isinstance(arg, Node) or _dtype(arg) in dtypes for arg, dtypes in pairs)


def _names(submodules: Mapping[str, Module], node: Node) -> list[str]:
    """What users may call the target of a node."""
    if node.op == "call_module":
        kind = type(submodules[node.target])
        return [f"{kind.__module__}.{kind.__qualname__}", f"flambeau.nn.{kind.__name__}", kind.__name__]
    if node.op == "call_method":
        return [node.target]
    name = qualified_name(node.target)
    return [name, f"_operator.{name.removeprefix('operator.')}"] if name.startswith("operator.") else [name]


def _dtype(node: Node) -> Any:
    return getattr(node.meta.get("tensor_meta"), "dtype", None)


class _OfFunction(OperatorSupportBase):
    def __init__(self, supports: Support) -> None:
        self._supports = supports

    def is_node_supported(self, submodules: Mapping[str, Module], node: Node) -> bool:
        return bool(self._supports(submodules, node))


def create_op_support(is_node_supported: Support) -> OperatorSupportBase:
    """What a function says, called with the submodules and a node."""
    return _OfFunction(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What all of them can compute.

    >>> always, never = create_op_support(lambda m, n: True), create_op_support(lambda m, n: False)
    >>> chain(always, never).is_node_supported({}, None), any_chain(always, never).is_node_supported({}, None)
    (False, True)
    """
    return _OfFunction(lambda submodules, node: all(one.is_node_supported(submodules, node) for one in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What one of them can compute; see `chain`."""
    return _OfFunction(lambda submodules, node: any(one.is_node_supported(submodules, node) for one in op_support))


class OpSupports:
    """Some that are often wanted."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: DType) -> OperatorSupportBase:
        """All nodes but those with an argument of a dtype."""
        return _OfFunction(lambda submodules, node: not any(_dtype(one) == dtype for one in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: Sequence[str] | set[str]) -> OperatorSupportBase:
        """All nodes but those of these names."""
        return _OfFunction(lambda submodules, node: node.name not in disallow_set)
