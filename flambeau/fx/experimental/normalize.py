"""Graphs in which equal calls look equal: arguments by name, operators in the place of functions.

>>> import flambeau
>>> from flambeau import fx
>>> NormalizeOperators(fx.symbolic_trace(lambda x: flambeau.add(x, 1))).transform().code.strip().splitlines()[1].strip()
'add = x + 1;  x = None'
"""

from __future__ import annotations

import operator
from typing import Any, Final

from flambeau.fx.interpreter import Transformer
from flambeau.fx.names import MAGIC
from flambeau.fx.node import Node, map_aggregate
from flambeau.fx.operator_schemas import normalize_function, normalize_module
from flambeau.schema import registry
from flambeau.tensor.tensor import Tensor


def _type_of(value: Any) -> Any:
    """The type of an argument: of a node, what `ShapeProp` or the like left in its `meta`, a tensor without that."""
    return value.meta.get("type", Tensor) if isinstance(value, Node) else type(value)


class NormalizeArgs(Transformer):
    """The graph of a module with the arguments of functions and submodules by name, defaults included.

    Args:
        module: what is made anew by `transform`.
        normalize_to_only_use_kwargs: whether those without defaults go by name, too.

    >>> import flambeau
    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda x: flambeau.nn.functional.relu(x, True))
    >>> "relu(input = x, inplace = True)" in NormalizeArgs(traced).transform().code
    True
    """

    def __init__(self, module: Any, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs
        self._types: tuple[Any, Any] = (), {}

    def run_node(self, n: Node) -> Any:
        """A node; of functions with overloads, that which the types of its arguments choose."""
        self._types = map_aggregate(n.args, _type_of), map_aggregate(n.kwargs, _type_of)
        return super().run_node(n)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function with its arguments by name, where it is known how they are called."""
        by_place, by_name = self._types
        named = normalize_function(target, args, kwargs, by_place, by_name, self.normalize_to_only_use_kwargs)
        return super().call_function(target, *(named or (args, kwargs)))

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A submodule with its arguments by name."""
        named = normalize_module(
            self.module, target, args, kwargs, normalize_to_only_use_kwargs=self.normalize_to_only_use_kwargs
        )
        return super().call_module(target, *(named or (args, kwargs)))


_BY_TEXT: Final[dict[str, Any]] = {text: getattr(operator, name) for name, text in MAGIC.items()}


def _operator_of(target: Any) -> Any:
    """Python's operator that means what a function of two arguments does; None where there is none."""
    sign = registry.spelling(getattr(target, "operator_name", ""))
    return _BY_TEXT.get(f"{{}} {sign} {{}}") if sign else None


class NormalizeOperators(Transformer):
    """The graph of a module with operators in the place of functions that mean the same: `x + y` for `add(x, y)`."""

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of two arguments as the operator that means the same."""
        if not kwargs and len(args) == 2 and (same := _operator_of(target)) is not None:
            return super().call_function(same, args, {})
        return super().call_function(target, args, kwargs)
