"""Whether the graph of a transform is code as a whole, for arguments of any sizes: its batches are operators on whole
batches, and its gradients derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.executor.inlined_graph import inlined_graph
from flambeau.ir.clone import clone_graph
from flambeau.jit.transforms.vmap_nodes import graph_of
from flambeau.passes import pipeline
from flambeau.passes.order import STEPS_OF_PREPARING
from flambeau.program.batches import VMAP
from flambeau.program.function import Function
from flambeau.program.gradients import GRADIENT
from flambeau.schema.types import TensorType
from flambeau.specialise.cache import SpecialisationCache
from flambeau.specialise.spec import refine
from flambeau.tensor.tensor import Tensor

MOST: Final = 16
"""Of how many patterns of arguments it is known."""
_EXPANDED: Final = [step.name for step in STEPS_OF_PREPARING].index("expand_vmaps")


class WholeGraph:
    """Of one transform, by patterns of arguments."""

    def __init__(self, program: Function) -> None:
        self._program = program
        self._known: SpecialisationCache[Any, bool] = SpecialisationCache("patterns of a transform", MOST, describe=str)

    def holds(self, arguments: Sequence[Any]) -> bool:
        """Whether it is, for arguments like these."""
        return self._known.get_or_make(tuple(map(pattern, arguments)), lambda cause: self._found(arguments))

    def _found(self, arguments: Sequence[Any]) -> bool:
        graph = clone_graph(inlined_graph(self._program))
        for parameter, value in zip(graph.parameters, arguments, strict=True):
            type_ = refine(parameter.static_type, value)
            if isinstance(type_, TensorType):
                type_ = type_.refine(requires_grad=None, strides=None)
            parameter.set_type(type_)
        pipeline.optimise(graph, steps=STEPS_OF_PREPARING[:_EXPANDED])
        if any(graph_of(node) is None for node in graph.find_all(VMAP)):
            return False
        pipeline.optimise(graph, steps=STEPS_OF_PREPARING[_EXPANDED:])
        return not any(node.op in (VMAP, GRADIENT) for node in graph.all_nodes())


def pattern(value: Any) -> Any:
    """What of an argument decides the graph of a batch: dtype, rank and which sizes are 1, as in plans."""
    if isinstance(value, Tensor):
        return value._array.dtype, tuple([s == 1 for s in value._array.shape]), value.device.type
    if type(value) in (list, tuple):
        return type(value), *map(pattern, value)
    return type(value)
