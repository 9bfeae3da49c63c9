"""A pass over modules made of graphs, and what it gives."""

from __future__ import annotations

import abc
from typing import NamedTuple

from flambeau.fx.graph_module import GraphModule


class PassResult(NamedTuple):
    """What a pass gives.

    >>> from flambeau import fx
    >>> PassResult(fx.symbolic_trace(lambda x: x), False).modified
    False
    """

    graph_module: GraphModule
    """The module, perhaps another one."""
    modified: bool
    """Whether the pass changed something."""


class PassBase(abc.ABC):
    """A pass: subclasses say what it does in `call`, and perhaps what holds before and behind it.

    >>> from flambeau import fx
    >>> class Nothing(PassBase):
    ...     def call(self, graph_module):
    ...         return PassResult(graph_module, False)
    >>> Nothing()(fx.symbolic_trace(lambda x: x)).modified
    False
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """What the pass makes of a module."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """The pass; None where it changed nothing."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  # nothing, unless a subclass says otherwise
        """Called before: raises where the pass cannot do with a module."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Called behind: raises where the pass did not do what it says."""
