"""What a graph is changed to is what the next call runs, however it runs, and whoever calls it."""

from __future__ import annotations

import inspect
import io
import threading
from collections.abc import Callable

import pytest

import flambeau
from flambeau import Tensor
from flambeau.ir import Block, Graph, Node, Value, clone_graph, frozen, parse_ir
from flambeau.ir.frozen import WRITERS, freeze, is_frozen, opened
from flambeau.ir.verify import verify
from flambeau.jit.torch_names.pass_table import CHANGES_MEANING, PASSES
from flambeau.util.errors import FrozenGraphError, VerifyError


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
    lambda graph, node: node.replace_operand(0, graph.parameters[0]),
    lambda graph, node: setattr(node, "op", "aten::sub"),
    lambda graph, node: node.attributes.update(a=1),
    lambda graph, node: node.result().set_type(graph.parameters[1].static_type),
    lambda graph, node: setattr(node.result(), "static_type", graph.parameters[1].static_type),
    lambda graph, node: node.result().replace_uses_with(graph.parameters[0]),
    lambda graph, node: graph.addInput(),
    lambda graph, node: node.i_("a", 1),
    lambda graph, node: node.output().setDebugName("renamed"),
    lambda graph, node: flambeau._C._jit_pass_erase_number_types(graph),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_c09_the_first_change_of_a_graph_that_runs_thaws_it(number: int) -> None:
    scripted = flambeau.script(shifted)
    copy = clone_graph(scripted.graph)
    function = flambeau.jit.create_function_from_graph("shifted", copy)
    function(flambeau.ones(2), 2)
    graph, other = function.graph, clone_graph(copy)
    assert is_frozen(graph)
    for changed in (graph, other):
        node = changed.find("aten::add")
        assert node is not None
        CHANGES[number](changed, node)
    assert not is_frozen(graph)
    assert str(graph) == str(other)


def tens(graph: Graph, kind: str = "aten::mul") -> None:
    """Have a product be one with 10."""
    node = graph.findNode(kind)
    assert node is not None
    with graph.insert_point_guard(node):
        node.replaceInput(1, graph.insertConstant(10))


def doubled_sum(x: Tensor) -> Tensor:
    return (x * 2).sum()


BACKENDS = ["native", "interpreter", "reference"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_c09_the_next_call_runs_what_a_graph_was_changed_to(backend: str) -> None:
    graph = flambeau.script(doubled_sum).graph
    plain = flambeau.jit.create_function_from_graph("doubled_sum", graph)
    function = plain.with_options(flambeau.script(backend=backend)(tripled).options)
    assert [function(flambeau.ones(n)).item() for n in (2, 2, 3)] == [4.0, 4.0, 6.0]
    tens(function.graph)
    assert [function(flambeau.ones(n)).item() for n in (2, 2, 3)] == [20.0, 20.0, 30.0]
    assert plain(flambeau.ones(2)).item() == 20.0
    assert "10" in function.code


def test_c09_gradients_and_archives_and_transforms_follow() -> None:
    function = flambeau.jit.create_function_from_graph("doubled_sum", flambeau.script(doubled_sum).graph)
    gradient, batched = flambeau.func.grad(function), flambeau.func.vmap(function)

    def results() -> list[object]:
        x = flambeau.ones(2, requires_grad=True)
        function(x).backward()
        assert x.grad is not None
        loaded = flambeau.jit.load(io.BytesIO(function.save_to_buffer()))
        plain = flambeau.ones(2)
        return [x.grad.tolist(), loaded(plain).item(), gradient(plain).tolist(), batched(plain.reshape(1, 2)).tolist()]

    assert results() == results() == [[2.0, 2.0], 4.0, [2.0, 2.0], [4.0]]
    tens(function.graph)
    assert results() == results() == [[10.0, 10.0], 20.0, [10.0, 10.0], [20.0]]


def of_dict(d: dict[str, Tensor]) -> Tensor:
    return d["a"] * 2 + d["b"]


def test_c09_calls_with_containers_follow() -> None:
    function = flambeau.jit.create_function_from_graph("of_dict", flambeau.script(of_dict).graph)
    d = {"a": flambeau.ones(1), "b": flambeau.ones(1)}
    assert function(d).item() == function(d).item() == 3.0
    tens(function.graph)
    assert function(d).item() == function(d).item() == 11.0


@pytest.mark.parametrize("is_frozen_module", [False, True])
def test_c09_modules_follow(is_frozen_module: bool) -> None:
    class Scaled(flambeau.nn.Module):  # modules of one class share their methods
        def __init__(self) -> None:
            super().__init__()
            self.weight = flambeau.nn.Parameter(flambeau.ones(2))

        def forward(self, x: Tensor) -> Tensor:
            return x * 2 + self.weight

    module = flambeau.script(Scaled().eval())
    if is_frozen_module:
        module = flambeau.jit.freeze(module)
    x, forward = flambeau.ones(2), module.forward
    assert module(x).tolist() == forward(x).tolist() == [3.0, 3.0]
    tens(module.graph)
    assert module(x).tolist() == forward(x).tolist() == module(x).tolist() == [11.0, 11.0]
    if not is_frozen_module:
        module(x).sum().backward()
        assert module.weight.grad is not None


def test_a_changed_graph_that_is_broken_or_does_not_fit_its_schema_is_refused() -> None:
    function = flambeau.jit.create_function_from_graph("shifted", flambeau.script(shifted).inlined_graph)
    function(flambeau.ones(1), 1)
    function.graph.add_parameter()
    with pytest.raises(RuntimeError, match="'shifted' was changed: it takes 3 and gives 1 values, but the function is"):
        function(flambeau.ones(1), 1)
    function.graph.body.remove_parameter(2)
    assert function(flambeau.ones(1), 1).item() == 4.0
    node, first = function.graph.findNode("aten::mul"), next(function.graph.nodes())
    assert node is not None
    first.addInput(node.output())
    with pytest.raises(VerifyError):
        function(flambeau.ones(1), 1)


def test_graphs_of_plans_refuse_changes() -> None:
    function = flambeau.jit.create_function_from_graph("doubled_sum", flambeau.script(doubled_sum).graph)
    function(flambeau.ones(1))
    for graph in (function.graph_for(flambeau.ones(1)), flambeau.jit.last_executed_optimized_graph()):
        with pytest.raises(FrozenGraphError, match=r"graph of a plan of 'doubled_sum'.*doubled_sum.graph, or a copy"):
            graph.addInput()
        graph.copy().addInput()
    assert function(flambeau.ones(1)).item() == 2.0


def test_threads_that_run_meanwhile_have_one_graph_or_the_other() -> None:
    function = flambeau.jit.create_function_from_graph("doubled_sum", flambeau.script(doubled_sum).graph)
    function(flambeau.ones(2))
    seen: set[float] = set()
    is_over = threading.Event()

    def call() -> None:
        while not is_over.is_set():
            seen.add(function(flambeau.ones(2)).item())

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for k in range(3, 9):
            node = function.graph.findNode("aten::mul")
            assert node is not None
            constant = node.inputsAt(1).node()
            constant.i_("value", k)
            assert function(flambeau.ones(2)).item() == 2.0 * k
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert seen <= {2.0 * k for k in range(2, 9)}


@flambeau.script
def callee(x: Tensor) -> Tensor:
    return x - 2


def test_c09_callers_follow() -> None:
    @flambeau.script
    def subtracted(x: Tensor) -> Tensor:
        return x - 2

    @flambeau.script
    def caller(x: Tensor) -> Tensor:
        return subtracted(x) * 1

    @flambeau.script
    def outer(x: Tensor) -> Tensor:
        return caller(x) + 1

    x = flambeau.ones(1)
    assert [outer(x).item(), caller(x).item(), subtracted(x).item()] == [0.0, -1.0, -1.0]
    tens(subtracted.graph, "aten::sub")
    assert [outer(x).item(), caller(x).item(), subtracted(x).item()] == [-8.0, -9.0, -9.0]
    assert outer.inlined_graph.findNode("aten::sub") is not None


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
    freeze(graph)
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
    freeze(graph)
    inner = graph.find("prim::FusionGroup")
    assert inner is not None
    assert is_frozen(inner.attributes["Subgraph"])
    inner.attributes["Subgraph"].add_parameter()
    assert not is_frozen(graph)
    assert not is_frozen(inner.attributes["Subgraph"])


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
            freeze(graph)
    freeze(graph)
    assert is_frozen(graph)
    for node in graph.all_nodes():
        freeze(graph)
        node.attributes["name"] = "other"
        assert node.attributes["name"] == "other"
        assert not is_frozen(graph)
