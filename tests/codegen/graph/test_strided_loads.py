"""Loops that load elements which lie apart become vectors where there is enough to do with each element."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.codegen.graph.loops.lanes_emitter import Accesses
from flambeau.codegen.graph.loops.strided_loads import gains_by_vectors
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import Affine
from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.llvm.emitter import Value as Register

STEP, STRIDE = Affine(slope=1), Register("%stride", "i64", 1)


def accesses(*paths: tuple[Affine, Register]) -> Accesses:
    """Loads of elements whose addresses move so."""
    names = [f"%a{k}" for k in range(len(paths))]
    return Accesses({n: ("%x", (path,)) for n, path in zip(names, paths, strict=True)}, dict.fromkeys(names))


@pytest.mark.parametrize(
    ("read", "lines", "gains"),
    [
        (accesses((STEP, STRIDE), (STEP, STRIDE)), 12, False),
        (accesses((STEP, STRIDE), (STEP, STRIDE)), 20, True),
        (accesses((STEP, number(8)), (STEP, number(8))), 6, True),
        (accesses((Affine(slope=2), number(8))), 6, False),
        (accesses((Affine((STRIDE,)), STRIDE)), 6, True),
        (accesses(), 2, True),
    ],
)
def test_vectors_of_elements_that_lie_apart_have_something_to_do(read: Accesses, lines: int, gains: bool) -> None:
    assert gains_by_vectors(Target(vector_bits=512), read, lines) == gains
    assert gains_by_vectors(Target(vector_bits=256), read, lines), "without gathers LLVM knows the costs"


def test_grey_levels_are_those_of_python() -> None:
    def grey(image: np.ndarray) -> np.ndarray:
        h, w, _ = image.shape
        out = np.empty((h, w))
        for i in range(h):
            for j in range(w):
                out[i, j] = 0.299 * image[i, j, 0] + 0.587 * image[i, j, 1] + 0.114 * image[i, j, 2]
        return out

    image = np.random.RandomState(0).rand(5, 37, 3)
    function = flambeau.script(grey)
    for x in (image, image[:, ::2], image.astype(np.float32), np.asfortranarray(image)):
        for _ in range(2):
            assert np.array_equal(function(x), grey(x))
