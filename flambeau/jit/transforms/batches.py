"""Calls of `vmap` of a scripted function by code for whole batches, one for each pattern of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.proxies import UntraceableError
from flambeau.executor.executor import attach
from flambeau.jit.function import ScriptFunction
from flambeau.jit.transforms.batched_graph import batched_graph
from flambeau.jit.transforms.whole_graphs import pattern
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.types import TensorType
from flambeau.specialise.cache import CacheStatistics, SpecialisationCache
from flambeau.specialise.spec import refine
from flambeau.tensor.tensor import Tensor

MOST: Final = 16
"""How many patterns code is kept for."""


class Batches:
    """The code of one `vmap`, by pattern."""

    def __init__(self, function: Function, in_dims: Sequence[int | None], out_dims: Any) -> None:
        self._function, self._in_dims = function, tuple(in_dims)
        results = function.schema.returns[0].type.contained or (None,)
        self._out_dims = [out_dims] * len(results) if isinstance(out_dims, int) else list(out_dims)
        self._ways: SpecialisationCache[Any, ScriptFunction | None] = SpecialisationCache(
            "patterns of a batch", MOST, describe=str
        )

    def of(self, arguments: Sequence[Any]) -> ScriptFunction | None:
        """What runs calls with arguments like these; None where there is no such code."""
        if not self._has_examples(arguments):
            return None
        key = (self._function.changes, *map(pattern, arguments))
        return self._ways.get_or_make(key, lambda cause: self._compiled(arguments))

    def _has_examples(self, arguments: Sequence[Any]) -> bool:
        """Whether there is one number of examples, and any."""
        sizes = set()
        for argument, dim in zip(arguments, self._in_dims, strict=True):
            if dim is not None:
                if not isinstance(argument, Tensor) or not -argument.ndim <= dim < argument.ndim:
                    return False
                sizes.add(argument._array.shape[dim])
        return len(sizes) == 1 and sizes != {0}

    def _compiled(self, arguments: Sequence[Any]) -> ScriptFunction | None:
        dims = [None if d is None else d % a.ndim for a, d in zip(arguments, self._in_dims, strict=True)]
        types = []
        for formal, value in zip(self._function.schema.arguments, arguments, strict=True):
            type_ = refine(formal.type, value)
            types.append(type_.refine(requires_grad=None, strides=None) if isinstance(type_, TensorType) else type_)
        try:
            graph = batched_graph(self._function, types, dims, self._out_dims)
        except (UntraceableError, NotDifferentiableError):
            return None
        except (RuntimeError, IndexError):  # rules refuse it: an operator at a time it is refused in the user's words
            return None
        function = Function(f"{self._function.name}_vmap", graph, schema_of(graph.name, graph))
        attach(function)
        return ScriptFunction(function)

    @property
    def scripts(self) -> list[ScriptFunction]:
        """The code that is kept."""
        return [way for way in self._ways.values if way is not None]

    def statistics(self) -> CacheStatistics:
        """The counters of the cache."""
        return self._ways.statistics()
