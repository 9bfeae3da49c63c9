"""What a program of whole tensors is called with: sizes from 0, in memory in one piece or not."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.random_programs.tensors.values import ONE, Axes, Value

SETS = 3
"""Sets of arguments."""
TURNS = ((0, 0, 0, 1, 0), (1, 1, 1, 0, 1), (2, 2, 1, 2))
"""The sets in the order in which a function is called with them, by seed: the same again, when there are plans."""
USUAL, SMALL, LARGE = (2, 3, 4, 5), (0, 0, 0, 1, 1, 2, 3), (9, 17, 33)
TABLE = 7
"""Rows of the table that indices look up, where there is more than one: programs take indices modulo this."""
PARAMETERS = "x: Tensor, y: Tensor, z: Tensor, v: Tensor, w: Tensor, ids: Tensor, mask: Tensor, k: int, flag: bool"


class Layout:
    """The parameters of a seed's program, and its arguments."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        draw = random.Random(f"layout {seed}")
        shapes: list[Axes] = [("b",), (ONE, "b"), ("a", ONE), (ONE,), (), (ONE, ONE), ("a", "b")]
        self.tensors = [
            Value("x", ("a", "b"), "exact"),
            Value("y", draw.choice(shapes), "exact"),
            Value("z", draw.choice([("a", "b"), ("a",), ("a", "b", "c"), ("c", "a", "b")]), "exact"),
            Value("v", ("b",), "exact"),
            Value("w", ("table", draw.choice(["c", "b"])), "exact"),
            Value("ids", draw.choice([("a", "b"), ("a",), ("a", ONE), ("b",), ()]), "index"),
            Value("mask", draw.choice([(), (), ("a",), ("b",), ("a", "b")]), "bool"),
        ]
        self.floats, self.ints = draw.choice(["float32", "float32", "float64"]), draw.choice(["int64", "int64", "int32"])
        self.spread = draw.random() < 0.25
        sizes = [self._sizes(draw, USUAL + LARGE), self._sizes(draw, SMALL), self._sizes(draw, USUAL + SMALL)]
        self.sizes = sizes

    def _sizes(self, draw: random.Random, among: tuple[int, ...]) -> dict[str, int]:
        rows = draw.choice((TABLE, TABLE, TABLE, TABLE, 1, 0)) if among is SMALL else TABLE
        return {axis: draw.choice(among) for axis in "abc"} | {ONE: 1, "table": rows}

    def arguments(self, call: int) -> dict[str, Any]:
        """One set of arguments, as arrays and numbers of its own."""
        draw = np.random.default_rng([self.seed, call])
        given: dict[str, Any] = {}
        for value in self.tensors:
            shape = tuple(self.sizes[call][a] for a in value.axes)
            match value.family:
                case "bool":
                    array = draw.random(shape) < 0.5
                case "index":
                    array = draw.integers(0, max(1, self.sizes[call]["table"]), shape).astype(self.ints)
                case _:
                    array = draw.integers(-4, 5, shape).astype(self.floats)
            given[value.text] = self._laid_out(np.asarray(array), draw)
        return given | {"k": int(draw.integers(-2, 4)), "flag": bool(draw.random() < 0.5)}

    def _laid_out(self, array: np.ndarray[Any, Any], draw: np.random.Generator) -> np.ndarray[Any, Any]:
        """The same numbers: in one piece, or with the axes turned, or with gaps."""
        kind = draw.integers(0, 4) if self.spread and array.ndim else 3
        if kind == 0:
            return np.asfortranarray(array)
        if kind == 1:
            wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
            wide[..., ::2] = array
            return wide[..., ::2]
        return np.ascontiguousarray(array) if array.ndim else array
