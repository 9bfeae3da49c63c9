"""The order of passes, what can be left out, what is told, and what a failing pass says."""

from __future__ import annotations

import pytest

import flambeau.ops  # noqa: F401
from flambeau.ir import Graph, parse_ir
from flambeau.passes import order, pipeline
from flambeau.passes.by_name import PASSES
from flambeau.passes.pipeline import PassRecord, optimise
from flambeau.passes.steps import Step, check_order
from flambeau.schema.types import INT, TENSOR
from flambeau.util.errors import InternalError, VerifyError

TEXT = """graph(%x : Float(*), %n : int):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %x)
  %b : Tensor = aten::exp(%a)
  %c : Tensor = aten::add(%b, %b, %1)
  %2 : int = aten::mul(%n, %1)
  return (%c, %2)"""


def test_everything_together() -> None:
    graph = parse_ir(TEXT)
    assert optimise(graph, check=True)
    assert [n.op for n in graph.nodes()] == ["prim::FusionGroup"]
    assert graph.returns[1] is graph.parameters[1]


def test_passes_can_be_left_out() -> None:
    graph = parse_ir(TEXT)
    optimise(graph, without={"fuse", "peephole"})
    assert [n.op for n in graph.nodes()][1:] == ["aten::mul", "aten::exp", "aten::add", "aten::mul"]
    with pytest.raises(ValueError, match=r"there is no pass called fuze; there are inline, expand_custom_functions"):
        optimise(graph, without={"fuze"})


def test_records_say_what_each_pass_did() -> None:
    records: list[PassRecord] = []
    optimise(parse_ir(TEXT), record=records.append)
    assert [r.name for r in records] == [s.name for s in order.STEPS]
    fused = next(r for r in records if r.name == "fuse")
    assert fused.changed
    assert fused.seconds > 0
    assert "+with prim::FusionGroup_0 = graph(" in fused.diff
    assert next(r for r in records if not r.changed).diff == ""


def test_the_order_is_checked() -> None:
    def nothing(graph: Graph) -> bool:
        return False

    first = Step(phase="p", name="first", run=nothing)
    late = Step(phase="p", name="late", run=nothing, after=(("first", "it needs it"),))
    early = Step(phase="p", name="early", run=nothing, before=(("first", "it spoils it"),))
    check_order([early, first, late])
    with pytest.raises(ValueError, match="pass 'late' must come after 'first': it needs it"):
        check_order([late, first])
    with pytest.raises(ValueError, match="pass 'early' must come before 'first': it spoils it"):
        check_order([first, early])
    with pytest.raises(ValueError, match="two passes have one name"):
        check_order([first, first])
    with pytest.raises(ValueError, match="must come after"):
        check_order(order.STEPS[::-1])


def test_a_failing_pass_is_named() -> None:
    def fail(graph: Graph) -> bool:
        raise KeyError("gone")

    with pytest.raises(InternalError, match="internal error in pass 'broken': KeyError: 'gone'"):
        optimise(parse_ir(TEXT), steps=[Step(phase="p", name="broken", run=fail)])


def test_a_pass_that_breaks_the_graph_is_found() -> None:
    def spoil(graph: Graph) -> bool:
        graph.add_return(graph.create("aten::neg", [graph.parameters[1]], [INT]).result())
        return True

    steps = [Step(phase="p", name="spoil", run=spoil)]
    optimise(parse_ir(TEXT), steps=steps)
    with pytest.raises(VerifyError, match="after pass 'spoil'"):
        optimise(parse_ir(TEXT), steps=steps, check=True)


def test_a_pass_that_changes_the_graph_and_does_not_say_so_is_found() -> None:
    def adds_silently(graph: Graph) -> bool:
        graph.insert("aten::neg", [graph.parameters[0]], [TENSOR])
        return False

    def does_nothing(graph: Graph) -> bool:
        return False

    steps = [Step(phase="p", name="nothing", run=does_nothing), Step(phase="p", name="silent", run=adds_silently)]
    with pytest.raises(InternalError, match="pass 'silent': it changed the graph and says that it did not"):
        optimise(parse_ir(TEXT), steps=steps, check=True)


def test_a_graph_is_verified_again_only_where_it_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    def adds(graph: Graph) -> bool:
        graph.insert("aten::neg", [graph.parameters[0]], [TENSOR])
        return True

    stages: list[str] = []
    monkeypatch.setattr(pipeline, "verify", lambda graph, stage: stages.append(stage))
    nothing = [Step(phase="p", name=f"nothing {k}", run=lambda graph: False) for k in range(3)]
    optimise(parse_ir(TEXT), steps=[*nothing[:2], Step(phase="p", name="adds", run=adds), nothing[2]], check=True)
    assert stages == ["pass 'nothing 0'", "pass 'adds'"]


def test_every_pass_has_a_name_under_which_it_can_be_run() -> None:
    assert set(order.names()) < set(PASSES)
    graph = parse_ir(TEXT)
    assert PASSES["canonicalize"](graph)
    assert not PASSES["canonicalize"](graph)


def test_a_step_is_passed_over_where_a_graph_has_nothing_that_it_looks_for() -> None:
    """What an earlier step put in counts; a step that is passed over is still among the records, unchanged."""
    entered: list[str] = []

    def negate(graph: Graph) -> bool:
        entered.append("negate")
        with graph.inserting(graph.body):
            graph.insert("aten::neg", [graph.parameters[0]])
        return True

    def look(graph: Graph) -> bool:
        entered.append("look")
        return False

    steps = [
        Step(phase="p", name="look", run=look, looks_for=("aten::neg",)),
        Step(phase="p", name="negate", run=negate),
        Step(phase="p", name="look_2", run=look, looks_for={"aten::neg": None}),
    ]
    records: list[pipeline.PassRecord] = []
    optimise(parse_ir("graph(%x : Tensor):\n  return (%x)"), steps=steps, record=records.append)
    assert entered == ["negate", "look"]
    assert [(r.name, r.changed) for r in records] == [("look", False), ("negate", True), ("look_2", False)]
