"""Static operands of a group come behind its tensors, and become constants of a graph."""

from __future__ import annotations

import flambeau.ops  # noqa: F401
from flambeau.ir.parser import parse_ir
from flambeau.passes import fuse, fuse_routines
from flambeau.passes.static_operands import graph_for, static_count

BEFORE = """
graph(%n : int, %x : Float(*, *, *, *, requires_grad=0, device=cpu)):
  %s : int[] = prim::ListConstruct(%n, %n)
  %none : NoneType = prim::Constant()
  %y : Float(*, *, *, *, requires_grad=0, device=cpu) = aten::upsample_nearest2d(%x, %s, %none)
  return (%y)
"""


def test_lists_come_last_and_become_constants() -> None:
    graph = parse_ir(BEFORE)
    assert fuse_routines.do(graph)
    group = graph.find("prim::FusionGroup")
    assert group is not None
    assert [str(v.static_type).partition("(")[0] for v in group.operands] == ["Float", "int[]"]
    inner = group.attribute("Subgraph")
    assert static_count(inner) == 1
    known = graph_for(inner, [[4, 5]])
    assert len(known.parameters) == 1
    assert "value=[4, 5]" in str(known)
    assert len(inner.parameters) == 2, "the group's own graph is as it was"


def test_numbers_that_kernels_load_are_not_static() -> None:
    graph = parse_ir(
        """
        graph(%x : Float(*), %s : float):
          %y : Float(*) = aten::mul(%x, %s)
          return (%y)
        """
    )
    assert static_count(graph) == 0


def test_sizes_that_a_normalisation_reads_itself_are_not_static() -> None:
    graph = parse_ir(
        """
        graph(%x : Float(*, *, requires_grad=0, device=cpu)):
          %one : int = prim::Constant[value=1]()
          %n : int = aten::size(%x, %one)
          %s : int[] = prim::ListConstruct(%n)
          %none : NoneType = prim::Constant()
          %eps : float = prim::Constant[value=1e-05]()
          %b : bool = prim::Constant[value=1]()
          %y : Float(*, *, requires_grad=0, device=cpu) = aten::layer_norm(%x, %s, %none, %none, %eps, %b)
          return (%y)
        """
    )
    assert not fuse_routines.do(graph)
    assert fuse.do(graph)
    group = graph.find("prim::FusionGroup")
    assert group is not None
    assert [v.name for v in group.operands] == ["x"], "one kernel is for all sizes"
