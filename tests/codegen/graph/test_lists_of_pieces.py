"""Lists of as many pieces as a tensor has, and lists of known items compared with others, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@flambeau.script
def pieces(
    x: flambeau.Tensor, width: int
) -> tuple[flambeau.Tensor, list[flambeau.Tensor], list[flambeau.Tensor]]:
    total = flambeau.zeros([4])
    for row in x.unbind(0):
        total = total * 0.5 + row
    return total, x.unbind(1), x.split(width, 0)


def test_pieces_are_views_however_many_there_are() -> None:
    for size, width in [(3, 1), (3, 2), (3, 3), (3, 7), (1, 1), (6, 4), (0, 2), (5, 2)] * 2:
        array = np.arange(4.0 * size, dtype=np.float32).reshape(size, 4)
        x = flambeau.from_numpy(array)
        total, columns, parts = pieces(x, width)
        expected = np.zeros(4, np.float32)
        for row in array:
            expected = expected * np.float32(0.5) + row
        np.testing.assert_array_equal(total.numpy(), expected)
        for k, column in enumerate(columns):
            np.testing.assert_array_equal(column.numpy(), array[:, k])
        assert len(columns) == 4
        cut = [array[k : k + width] for k in range(0, max(size, 1), width)]
        assert len(parts) == len(cut)
        for part, other in zip(parts, cut, strict=True):
            np.testing.assert_array_equal(part.numpy(), other)
        if size:
            parts[0].fill_(9.0)
            assert float(x[0, 0]) == 9.0
    assert pieces.explain(measure=False).is_native, str(pieces.explain(measure=False))


def test_pieces_of_nothing_are_refused() -> None:
    for _ in range(4):
        with pytest.raises(RuntimeError, match="split_size can only be 0 if dimension size is 0"):
            pieces(flambeau.ones(3, 4), 0)


@flambeau.script
def answers(x: flambeau.Tensor, n: int, given: list[int]) -> int:
    known, sizes, found = [x.size(0), n], x.size(), 0
    found += 1 if known == sizes else 0
    found += 10 if known == given else 0
    found += 100 if given != sizes else 0
    found += 1000 if given == given else 0
    found += 10000 if [n, n] == [n] else 0
    return found


def test_lists_of_known_items_are_compared_with_any() -> None:
    x = flambeau.ones(3, 4)
    for n, given in [(4, [3, 4]), (4, [3]), (3, [3, 3]), (4, []), (5, [3, 4])] * 2:
        known, sizes = [3, n], [3, 4]
        wanted = (known == sizes) + 10 * (known == given) + 100 * (given != sizes) + 1000
        assert answers(x, n, given) == wanted
    assert answers.explain(measure=False).is_native, str(answers.explain(measure=False))
