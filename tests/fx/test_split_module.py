"""Graphs cut into parts."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import fx, nn
from flambeau.fx.passes.split_module import split_module


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 2)
        self.shift = nn.Parameter(flambeau.ones(3))

    def forward(self, x: Any, scale: Any = 2) -> Any:
        hidden = flambeau.relu(self.first(x)) + self.shift
        return self.second(hidden) * scale, hidden.sum()


def part_by(names: dict[str, Any]) -> Any:
    return lambda node: next((key for key, listed in names.items() if node.name in listed.split()), "rest")


def test_parts_do_what_the_whole_did() -> None:
    net, x = Net(), flambeau.randn(4, 2)
    traced = fx.symbolic_trace(net)
    names: dict[str, str] = {}
    parts = split_module(traced, net, part_by({"a": "first relu add"}), names)
    assert [name for name, _ in parts.named_children()] == ["submod_a", "submod_rest"]
    for mine, whole in zip(parts(x, 3), net(x, 3), strict=True):
        assert mine.equal(whole)
    assert parts(x)[0].equal(net(x)[0])
    assert parts.submod_a.first.weight is net.first.weight
    assert names == {"submod_a.first": "first", "submod_rest.second": "second"}


def test_several_results_of_a_part() -> None:
    traced = fx.symbolic_trace(lambda x: (x + 1, x * 2))
    parts = split_module(traced, None, lambda node: 0)
    assert [r.tolist() for r in parts(flambeau.ones(1))] == [[2], [2]]
    assert "getitem_1 = submod_0[1]" in parts.code


def test_parts_that_need_each_other_are_refused() -> None:
    traced = fx.symbolic_trace(lambda x: ((x + 1).relu() * 2).neg())
    with pytest.raises(RuntimeError, match="submod_a, submod_rest need results of each other"):
        split_module(traced, None, part_by({"a": "add mul"}))
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module(traced, None, part_by({"a": "add mul"}), keep_original_order=True)
