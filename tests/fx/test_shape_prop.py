"""Shapes of graphs' values: those of a run, of parts in lists, of what a node fails on."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import fx, nn
from flambeau.fx.passes.shape_prop import ShapeProp, TensorMetadata


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3)

    def forward(self, x: Any) -> Any:
        y = self.conv(x).relu()
        first, second = y.chunk(2, 1)[0], y.size(0)
        return first.to(flambeau.float64), second


def test_every_node_knows_its_value() -> None:
    traced = fx.symbolic_trace(Net())
    x = flambeau.ones(1, 2, 5, 5).to(memory_format=flambeau.channels_last)
    result = ShapeProp(traced).propagate(x)
    metas = {node.name: node.meta.get("tensor_meta") for node in traced.graph.nodes}
    assert metas["x"] == TensorMetadata(x.shape, flambeau.float32, False, x.stride(), flambeau.channels_last, False, {})
    assert metas["conv"].shape == (1, 4, 3, 3)
    assert metas["conv"].requires_grad
    assert [part.shape for part in metas["chunk"]] == [(1, 2, 3, 3)] * 2
    assert metas["size"] is None
    assert metas["output"][0].dtype is flambeau.float64 is result[0].dtype
    assert metas["output"][1] == result[1] == 1
    assert {node.name: node.meta["type"] for node in traced.graph.nodes}["size"] is int


def test_a_view_is_in_no_format() -> None:
    traced = fx.symbolic_trace(lambda x: x[:, ::2])
    ShapeProp(traced).propagate(flambeau.ones(2, 4))
    meta = next(node for node in traced.graph.nodes if node.name == "getitem").meta["tensor_meta"]
    assert (meta.shape, meta.stride, meta.memory_format) == ((2, 2), (4, 2), None)


def test_a_failure_tells_the_node() -> None:
    traced = fx.symbolic_trace(lambda x: x @ x)
    with pytest.raises(RuntimeError, match=r"ShapeProp error for: node=%matmul .*\(2x3 and 2x3\)"):
        ShapeProp(traced).propagate(flambeau.ones(2, 3))


def test_as_the_peer_has_them() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    from torch.fx.passes import shape_prop as peer

    def parts(x: Any) -> Any:
        return x.transpose(0, 1).split(1), x.sum()

    ours, theirs = fx.symbolic_trace(parts), torch.fx.symbolic_trace(parts)
    ShapeProp(ours).propagate(flambeau.ones(2, 3))
    peer.ShapeProp(theirs).propagate(torch.ones(2, 3))
    for a, b in zip(ours.graph.nodes, theirs.graph.nodes, strict=True):
        for x, y in zip(_flat(a.meta["tensor_meta"]), _flat(b.meta["tensor_meta"]), strict=True):
            assert (tuple(x.shape), x.stride, str(x.dtype).split(".")[1]) == (
                tuple(y.shape), y.stride, str(y.dtype).split(".")[1],
            )  # fmt: skip


def _flat(meta: Any) -> list[Any]:
    return [meta] if hasattr(meta, "shape") else [one for part in meta for one in _flat(part)]
