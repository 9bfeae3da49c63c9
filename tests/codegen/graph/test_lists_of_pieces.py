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
def chunks(x: flambeau.Tensor, count: int) -> tuple[float, list[flambeau.Tensor], list[flambeau.Tensor]]:
    total = 0.0
    for k, part in enumerate(x.chunk(count, 1)):
        total += float(part.sum()) * (k + 1)
    return total, x.chunk(count), x.split([1, x.size(0) - 1, 0])


def test_chunks_are_as_many_as_there_are() -> None:
    for rows, count in [(1, 1), (4, 2), (4, 3), (5, 4), (5, 9), (3, 3), (6, 4)] * 2:
        array = np.arange(5.0 * rows, dtype=np.float32).reshape(rows, 5)
        x = flambeau.from_numpy(array)
        total, parts, others = chunks(x, count)
        width, across = -(-rows // count), -(-5 // count)
        cut = [array[k : k + width] for k in range(0, rows, width)]
        assert total == sum(float(array[:, k : k + across].sum()) * (k // across + 1) for k in range(0, 5, across))
        assert [p.shape for p in parts] == [c.shape for c in cut]
        for part, other in zip([*parts, *others], [*cut, array[:1], array[1:], array[:0]], strict=True):
            np.testing.assert_array_equal(part.numpy(), other)
        parts[-1].fill_(7.0)
        assert float(x[-1, -1]) == 7.0
    assert chunks.explain(measure=False).is_native, str(chunks.explain(measure=False))


def test_chunks_of_nothing_are_as_many_as_are_asked_for() -> None:
    function = flambeau.jit.CompilationUnit(
        "def f(x: Tensor, n: int) -> List[Tensor]:\n    return x.chunk(n, 1)\n"
    ).f
    for _ in range(4):
        assert [p.shape for p in function(flambeau.zeros(3, 0), 4)] == [(3, 0)] * 4
        with pytest.raises(RuntimeError, match="chunk expects `chunks` to be greater than 0, got: 0"):
            function(flambeau.zeros(3, 2), 0)


def test_sizes_that_do_not_add_up_are_refused() -> None:
    for _ in range(4):
        with pytest.raises(RuntimeError, match="split_with_sizes expects"):
            chunks(flambeau.zeros(0, 5), 1)


def test_real_tensors_are_their_own_parts() -> None:
    source = (
        "def f(x: Tensor) -> Tensor:\n    y = flambeau.real(x).resolve_conj().conj().positive().resolve_neg()\n"
        "    return y.mul_(2.0)\n"
    )
    function = flambeau.jit.CompilationUnit(source).f
    for _ in range(4):
        x = flambeau.arange(3.0)
        assert function(x).tolist() == x.tolist() == [0.0, 2.0, 4.0]
    assert function.explain(measure=False).is_native


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
