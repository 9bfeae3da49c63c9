"""Lists that are joined are one literal list, unless something writes to them."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from flambeau.passes import peephole
from tests.passes.before_after import expect, expect_same

HEAD = """graph(%x : Float(*), %t : Tensor, %n : int):
  %0 : int = prim::Constant[value=0]()
"""
SIZES = "  %s : int[] = aten::size(%x)\n  %l : int[] = prim::ListConstruct(%n)\n"
JOINED = "  %0_1 : int = prim::Constant[value=0]()\n  %a : int = aten::size(%x, %0_1)\n"


def test_sizes_behind_a_number() -> None:
    before = HEAD + SIZES + "  %r : int[] = aten::add(%l, %s)\n  return (%r)"
    after = HEAD + SIZES + JOINED + "  %r : int[] = prim::ListConstruct(%n, %a)\n  return (%r)"
    expect(peephole.do, before, after)


def test_a_copy_of_sizes_before_a_number() -> None:
    copied = HEAD + SIZES + "  %c : int[] = aten::list(%s)\n"
    before = copied + "  %r : int[] = aten::add(%c, %l)\n  return (%r)"
    after = copied + JOINED + "  %r : int[] = prim::ListConstruct(%a, %n)\n  return (%r)"
    expect(peephole.do, before, after)


@pytest.mark.parametrize(
    "body",
    [
        "  %w : int[] = aten::append(%l, %n)\n  %r : int[] = aten::add(%l, %s)\n",
        "  %w : int[] = aten::append(%s, %n)\n  %r : int[] = aten::add(%l, %s)\n",
        "  %c : int[] = aten::list(%s)\n  %w : int[] = aten::append(%c, %n)\n  %r : int[] = aten::add(%c, %l)\n",
        "  %u : int[] = aten::size(%t)\n  %r : int[] = aten::add(%l, %u)\n",
    ],
)
def test_lists_that_are_written_or_not_known_stay(body: str) -> None:
    expect_same(peephole.do, HEAD + SIZES + body + "  return (%r)")


def test_the_joined_list_may_be_written() -> None:
    def sizes(x: Tensor, n: int) -> tuple[list[int], list[int]]:
        joined = [n] + list(x.shape)  # noqa: RUF005  (what is tested)
        twice = joined + joined
        joined.append(7)
        return joined, twice

    assert flambeau.script(sizes)(flambeau.zeros(2, 3), 5) == sizes(flambeau.zeros(2, 3), 5)


def test_reshaping_by_joined_sizes_is_native() -> None:
    @flambeau.script
    def spread(x: Tensor, y: Tensor) -> Tensor:
        first, second = [1] + list(x.shape), list(y.shape) + [1, 1]  # noqa: RUF005  (what is tested)
        return (x.reshape(first) * y.reshape(second)).reshape(list(y.shape) + [-1])  # noqa: RUF005

    for rows in (2, 3, 4, 5):
        x, y = flambeau.arange(float(rows * 3)).reshape(rows, 3), flambeau.arange(4.0)
        assert flambeau.equal(spread(x, y), y.reshape(4, 1) * x.reshape(1, -1))
    assert spread.explain().is_native


def test_parts_of_sizes_are_sizes() -> None:
    @flambeau.script
    def spread(x: Tensor, y: Tensor) -> Tensor:
        return x.reshape([*x.shape[:-1], *y.shape[1:], -1])

    for rows in (2, 3, 4):
        x, y = flambeau.arange(float(rows * 6)).reshape(rows, 6), flambeau.zeros(4, 2)
        assert spread(x, y).shape == (rows, 2, 3)
    assert spread.explain().is_native


def test_a_part_of_sizes_may_be_written() -> None:
    def sizes(x: Tensor) -> tuple[list[int], list[int]]:
        part = list(x.shape)[1:]
        part.append(7)
        return part, list(x.shape)[:-1]

    assert flambeau.script(sizes)(flambeau.zeros(2, 3)) == sizes(flambeau.zeros(2, 3))
