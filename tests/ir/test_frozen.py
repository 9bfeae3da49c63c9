"""A graph that runs can be read, copied and replaced, but not changed in place."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import flambeau
from flambeau import Tensor
from flambeau.ir import Block, Graph, Node, Value, clone_graph, frozen, parse_ir
from flambeau.ir.frozen import WRITERS, freeze, is_frozen, opened
from flambeau.ir.verify import verify
from flambeau.jit.torch_names.pass_table import CHANGES_MEANING, PASSES
from flambeau.util.errors import FrozenGraphError

MESSAGE = (
    "the graph of 'shifted' was compiled and runs: it cannot be changed in place. Copy it with "
    "flambeau.ir.clone_graph(graph), change the copy, and make a function of that: "
    "flambeau.jit.create_function_from_graph('shifted', copy)"
)


def tripled(x: Tensor) -> Tensor:
    return x * 3


def shifted(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = tripled(x) + 1
    return x


CHANGES: list[Callable[[Graph, Node], object]] = [
    lambda graph, node: graph.add_parameter(),
    lambda graph, node: graph.insert("aten::relu", [graph.parameters[0]]),
    lambda graph, node: graph.rename(graph.parameters[0], "y"),
    lambda graph, node: setattr(graph, "name", "g"),
    lambda graph, node: graph.body.add_return(graph.parameters[0]),
    lambda graph, node: graph.body.remove_return(0),
    lambda graph, node: Graph().create("aten::relu").insert_before(node),
    lambda graph, node: node.erase(),
    lambda graph, node: node.replace_operand(0, graph.parameters[0]),
    lambda graph, node: setattr(node, "op", "aten::sub"),
    lambda graph, node: node.attributes.update(a=1),
    lambda graph, node: node.result().set_type(graph.parameters[1].static_type),
    lambda graph, node: setattr(node.result(), "static_type", graph.parameters[1].static_type),
    lambda graph, node: node.result().replace_uses_with(graph.parameters[0]),
    lambda graph, node: graph.addInput(),
    lambda graph, node: flambeau._C._jit_pass_erase_number_types(graph),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_c09_a_graph_that_runs_cannot_be_changed(number: int) -> None:
    scripted = flambeau.script(shifted)
    graph = scripted.graph
    before = str(graph)
    scripted(flambeau.ones(2), 2)
    node = graph.find("aten::add")
    assert node is not None
    with pytest.raises(FrozenGraphError) as caught:
        CHANGES[number](graph, node)
    assert str(caught.value) == MESSAGE
    assert str(graph) == before
    verify(graph)


def test_c09_what_was_changed_before_the_first_call_is_what_runs() -> None:
    scripted = flambeau.jit.create_function_from_graph("shifted", clone_graph(flambeau.script(shifted).inlined_graph))
    node = scripted.graph.find("aten::add")
    assert node is not None
    node.op = "aten::sub"
    assert scripted(flambeau.ones(2), 2).tolist() == [5.0, 5.0]


def test_c09_the_cure_works() -> None:
    scripted = flambeau.script(shifted)
    scripted(flambeau.ones(2), 2)
    copy = clone_graph(scripted.graph)
    node = copy.find("aten::add")
    assert node is not None
    node.op = "aten::sub"
    changed = flambeau.jit.create_function_from_graph("shifted", copy)
    assert changed(flambeau.ones(2), 2).tolist() == [5.0, 5.0]
    assert scripted(flambeau.ones(2), 2).tolist() == [13.0, 13.0]


@flambeau.script
def callee(x: Tensor) -> Tensor:
    return x - 2


def test_c09_a_graph_that_was_inlined_cannot_be_changed_either() -> None:
    @flambeau.script
    def caller(x: Tensor) -> Tensor:
        return callee(x)

    assert not is_frozen(callee.graph)
    assert caller(flambeau.ones(1)).tolist() == [-1.0]
    with pytest.raises(FrozenGraphError, match="graph of 'callee'"):
        callee.graph.body.remove_return(0)


def test_interpreted_functions_and_methods_too() -> None:
    class Doubled(flambeau.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    module = flambeau.script(Doubled())
    module(flambeau.ones(1))
    with pytest.raises(FrozenGraphError, match="graph of 'forward'"):
        module.graph.body.remove_return(0)
    plain = flambeau.script(backend="interpreter")(shifted)
    plain(flambeau.ones(1), 1)
    with pytest.raises(FrozenGraphError, match="graph of 'shifted'"):
        plain.graph.body.remove_return(0)


KEEPS_MEANING = sorted(set(PASSES) - CHANGES_MEANING)


@pytest.mark.parametrize("name", KEEPS_MEANING)
def test_passes_that_keep_the_meaning_change_what_runs(name: str) -> None:
    @flambeau.script
    def summed(x: Tensor, n: int) -> Tensor:
        y = x
        for i in range(3):
            y = callee(y) + x * 2 + x * 2
            if n > i:
                y = y.add_(i).relu()
        return y

    before = [summed(flambeau.ones(2), n) for n in (0, 2)]
    getattr(flambeau._C, f"_jit_pass_{name}")(summed.graph)
    assert is_frozen(summed.graph)
    verify(summed.graph)
    after = [summed(flambeau.ones(2), n) for n in (0, 2)]
    again = flambeau.jit.create_function_from_graph("again", clone_graph(summed.graph))
    for n, y, z in zip((0, 2), before, after, strict=True):
        assert flambeau.equal(y, z)
        assert flambeau.equal(again(flambeau.ones(2), n), y)
    assert summed(flambeau.ones(2, 1), 1).tolist() == again(flambeau.ones(2, 1), 1).tolist()  # a plan made afterwards


def test_passes_change_graphs_that_a_trace_has_checked() -> None:
    traced = flambeau.trace(lambda x: x * 2 + x * 2, flambeau.ones(2))
    assert flambeau._C._jit_pass_cse(traced.graph)
    assert not flambeau._C._jit_pass_cse(traced.graph)
    assert len(traced.graph.findAllNodes("aten::mul")) == 1
    assert traced(flambeau.ones(3)).tolist() == [4.0] * 3


def test_opened_graphs_are_frozen_again() -> None:
    graph = clone_graph(flambeau.script(shifted).graph)
    with opened(graph):
        assert not is_frozen(graph)
    assert not is_frozen(graph)  # as it was
    freeze(graph, "shifted")
    before = {part: type(part) for node in graph.all_nodes() for part in (node, node.owner_block, *node.results)}

    def change() -> None:
        with opened(graph):
            assert not is_frozen(graph)
            next(iter(graph.all_nodes())).attributes["name"] = "other"
            raise KeyError("in between")

    with pytest.raises(KeyError, match="in between"):
        change()
    assert is_frozen(graph)
    assert before == {part: type(part) for part in before}


def test_subgraphs_freeze_with_their_graph() -> None:
    graph = parse_ir(
        "graph(%x):\n %y = prim::FusionGroup_0(%x)\n return (%y)\n"
        "with prim::FusionGroup_0 = graph(%a):\n %c = aten::relu(%a)\n return (%c)\n"
    )
    freeze(graph, "f")
    freeze(graph, "g")
    inner = graph.find("prim::FusionGroup")
    assert inner is not None
    with pytest.raises(FrozenGraphError, match="graph of 'f'"):
        inner.attributes["Subgraph"].add_parameter()


READERS = {
    Graph: {"all_nodes", "at_range", "find", "find_all", "inserting", "listed_nodes", "nodes", "set_insertion_point"},
    Block: {"find_all", "is_inside", "listed", "own_nodes", "walk"},
    Node: {"attribute", "is_before", "operand", "result"},
    Value: {"uses"},
}


@pytest.mark.parametrize("kind", READERS)
def test_every_method_is_known_to_read_or_to_write(kind: type) -> None:
    modules = {base: base.__module__ for base in kind.__mro__}
    own = [b for b, module in modules.items() if module.startswith("flambeau.ir.") and "torchscript" not in module]
    members = {name: member for base in own for name, member in vars(base).items()}
    methods = {n for n, m in members.items() if inspect.isfunction(m) and (not n.startswith("_") or n == "_link")}
    assert methods == READERS[kind] | set(WRITERS[kind])


@pytest.mark.parametrize("step", ["_freeze_block", "_freeze_node", "_freeze_values"])
@pytest.mark.parametrize("calls", range(2))
def test_c11_freezing_that_is_interrupted_is_completed(step: str, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = clone_graph(flambeau.script(shifted).graph)
    plain, left = getattr(frozen, step), [calls]

    def interrupted(*args: object) -> None:
        plain(*args)
        left[0] -= 1
        if left[0] < 0:
            raise TimeoutError("time is over")

    with monkeypatch.context() as patch:
        patch.setattr(frozen, step, interrupted)
        with pytest.raises(TimeoutError, match="time is over"):
            freeze(graph, "shifted")
    freeze(graph, "shifted")
    assert is_frozen(graph)
    for node in graph.all_nodes():
        with pytest.raises(FrozenGraphError):
            node.attributes["name"] = "other"
        with pytest.raises(FrozenGraphError):
            node.add_operand(graph.parameters[0])
