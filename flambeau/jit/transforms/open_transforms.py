"""Transforms of scripted functions that are compiled for what calls bring (`jit.open_function`): of what they are for
the types of each call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flambeau.executor.report import Explanation
from flambeau.ir.graph import Graph
from flambeau.jit.by_types import ByTypes, ByTypesOfTransform
from flambeau.jit.open_function import OpenFunction
from flambeau.tensor.observer import thread

Transform = Callable[..., Any]


class OpenTransform:
    """A transform of such a function, or of another such transform."""

    takes_containers: Final = True

    def __init__(
        self, kind: str, function: OpenFunction | OpenTransform, options: dict[str, Any], plain: Transform,
        transform: Transform,
    ) -> None:  # fmt: skip
        """`plain` is the transform of the Python function; `transform` gives those of scripted functions."""
        functools.update_wrapper(self, plain)
        self.kind, self.plain = kind, plain
        self.function = function
        self.transforms: dict[Any, Any] = {}
        """What was made of it, by kind and options."""
        inner = function.by_types
        assert inner is not None
        self.by_types: ByTypes | ByTypesOfTransform = ByTypesOfTransform(inner, partial(transform, kind, **options))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The transform's result. Raises what the function, or its transform, does."""
        if thread.is_plain:
            return self.plain(*args, **kwargs)
        if self.kind in ("jvp", "hvp"):
            return self._for(args[0], {})(*args)
        return self._for(args, kwargs)(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """Make the code of calls with arguments like these."""
        return self._for(args, kwargs).compile(*args, **kwargs)  # type: ignore[attr-defined]

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph that runs for arguments like these."""
        graph: Graph = self._for(args, kwargs).graph_for(*args, **kwargs)  # type: ignore[attr-defined]
        return graph

    def explain(self, *, measure: bool | None = None) -> Explanation:
        """Every compilation: for arguments of all types that calls brought."""
        empty = Explanation(f"{self.plain.__name__}_{self.kind}", "native", (), 0)
        scripts = [one for one in self.by_types.scripts if hasattr(one, "explain")]
        return empty.joined([script.explain(measure=measure) for script in scripts])

    def _for(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Transform:
        """What runs calls with arguments like these. Raises CompileError as the function does."""
        one: Transform | None = self.by_types.of(args, kwargs)
        if one is not None:
            return one
        function = self.function
        while isinstance(function, OpenTransform):
            function = function.function
        function.variant_for(args, kwargs)  # says why there is none
        return self.plain


def eager_open(function: OpenFunction | OpenTransform) -> Transform:
    """Such a function as transforms see it: an operator at a time."""
    if isinstance(function, OpenTransform):
        return function.plain

    @functools.wraps(function)
    def one_by_one(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return one_by_one
