"""The way back through an operator block by block, where what is computed for all at once would take much memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flambeau.schema.gradient import Formula, Part, Split
from flambeau.tensor.tensor import Tensor, wrap

Values = Sequence[Any]
Run = Callable[[Values], Sequence[Any] | None]


class GradientBlocks:
    """Gradients of an operator whose formulas say what the blocks of a call are."""

    def __init__(self, split: Split, parts: Sequence[int], names: Mapping[str, int]) -> None:
        self._split = split
        self._parts = parts
        """The number of each gradient among those that a block has."""
        self._names = names
        """Where among the values each of those is that the formulas need."""

    def __call__(self, values: Values, run: Run) -> Sequence[Any] | None:
        """The gradients, by running each block; None where a call is one block, or `run` does not serve one."""
        blocks = self._split({name: values[index] for name, index in self._names.items()})
        if blocks is None:
            return None
        dtype = values[self._names["grad"]]._array.dtype
        results = [np.empty(blocks.shapes[part], dtype) for part in self._parts]
        for block in blocks.blocks:
            own = list(values)
            for name, value in block.values.items():
                own[self._names[name]] = value
            gradients = run(own)
            if gradients is None:
                return None
            self._take(gradients, results, block.indices, block.adds)
        return [wrap(result) for result in results]

    def _take(
        self, gradients: Sequence[Tensor], results: Sequence[np.ndarray[Any, Any]], indices: Sequence[Any],
        adds: Sequence[bool],
    ) -> None:  # fmt: skip
        for part, gradient, result in zip(self._parts, gradients, results, strict=True):
            where = result[indices[part]]
            if adds[part]:
                where += gradient._array
            else:
                where[...] = gradient._array


def blocks_of(formulas: Sequence[tuple[Formula, Sequence[tuple[str, int]]]]) -> GradientBlocks | None:
    """What runs formulas block by block; None for those that are not computed so."""
    parts = [formula for formula, _ in formulas if isinstance(formula, Part)]
    if not parts or len(parts) < len(formulas) or parts[0].split is None:
        return None
    return GradientBlocks(parts[0].split, [part.index for part in parts], dict(formulas[0][1]))
