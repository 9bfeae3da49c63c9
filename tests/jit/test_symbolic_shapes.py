"""Sizes as programs: shape functions beside what operators give, graphs of sizes beside functions."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import _C, Tensor
from flambeau.interpreter.machine import interpret
from flambeau.ir.graph import Graph
from flambeau.jit.symbolic_shapes import registry as shape_registry
from flambeau.jit.symbolic_shapes.shape_functions import SHAPE_FUNCTIONS
from flambeau.schema import registry
from flambeau.schema.types import TENSOR, NumberType, Type
from flambeau.tensor import dispatch

NAMED = sorted({name.partition(".")[0] for name in SHAPE_FUNCTIONS})
ONE, OTHER = flambeau.ones(2, 1), flambeau.ones(4, 1, 3)
CALLS: dict[str, list[Any]] = {
    "aten::add": [(ONE, OTHER), (OTHER, 2.0)],
    "aten::where": [(ONE > 0, OTHER, ONE)],
    "aten::tanh": [(OTHER,)],
    "aten::relu": [(ONE,)],
    "aten::lerp": [(ONE, OTHER, OTHER)],
    "aten::max": [(OTHER,), (ONE, OTHER)],
    "aten::min": [(OTHER,), (ONE, OTHER)],
}
"""For operators whose samples are made of what they mean per element."""


def node_of(definition: Any) -> Any:
    """A node that calls an overload."""
    graph = Graph()
    values = [graph.add_parameter(_plain(a.type), a.name) for a in definition.schema.arguments]
    node = graph.insert(definition.name, values, [TENSOR])
    return node if node.definition is definition else None


def _plain(type_: Type) -> Type:
    return flambeau.schema.types.FLOAT if isinstance(type_, NumberType) else type_


def sizes(value: Any) -> Any:
    """What a shape function is given for an argument."""
    if isinstance(value, Tensor):
        return list(value.shape)
    return [sizes(v) for v in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", sorted({*NAMED, *CALLS}))
def test_shape_functions_say_what_operators_give(name: str) -> None:
    compared = 0

    def note(ran: Any, arguments: Any, proceed: Any) -> Any:
        nonlocal compared
        result = proceed(arguments)
        node = node_of(ran)
        graph = None if node is None else shape_registry.shape_graph(node)
        if graph is not None:
            [found] = interpret(graph, [sizes(a) for a in arguments])
            assert found == list(result.shape), ran.schema
            compared += 1
        return result

    definition = registry.overloads(name)[0]
    samples = [s for d in registry.overloads(name) if d.samples is not None for s in d.samples()]
    with dispatch.intercepting(note):
        for sample in samples:
            dispatch.call(definition.name, *sample.args, **sample.kwargs)
        for arguments in CALLS.get(name, ()):
            dispatch.call(definition.name, *arguments)
    assert compared


def net(x: Tensor, w: Tensor, v: Tensor) -> Any:
    y = flambeau.relu(flambeau.nn.functional.conv2d(x, w, stride=2, padding=1))
    z = flambeau.flatten(flambeau.nn.functional.max_pool2d(y, 2), 1)
    return flambeau.softmax(z @ v, -1) + z.sum(1, keepdim=True), z


def views(x: Tensor, y: Tensor) -> Any:
    a = x.view(x.size(0), -1).t()
    b = flambeau.stack([a, a], 0).permute([1, 0, 2])
    return b[:, 0, 1:], a.unsqueeze(0).expand(3, -1, -1), (y * x[0, 0]).mean(), y.transpose(0, 1).reshape(-1)


def broadcasts(x: Tensor, y: Tensor) -> Any:
    return x + x, x + y, (x * 2).t() @ x, flambeau.cat([x, y], 0) * 2


def typed(fn: Any, *ranks: int) -> Any:
    graph = flambeau.script(fn).inlined_graph
    for value, rank in zip(graph.inputs(), ranks, strict=True):
        value.setType(value.type().with_sizes([None] * rank))
    _C._jit_pass_constant_propagation(graph)
    return graph


@pytest.mark.parametrize(
    ("fn", "shapes"),
    [
        (net, [[(2, 3, 9, 8), (4, 3, 3, 3), (16, 5)], [(1, 1, 17, 16), (2, 1, 3, 3), (32, 1)]]),
        (views, [[(2, 3, 4), (3, 4)], [(5, 1, 1), (2, 1)]]),
        (broadcasts, [[(3, 4), (1, 4)], [(2, 2), (2, 2)], [(1, 3), (5, 3)]]),
    ],
)
def test_graphs_of_sizes(fn: Any, shapes: Any) -> None:
    graph = typed(fn, *map(len, shapes[0]))
    mapping = _C._jit_pass_propagate_shapes_on_graph_and_build_compute(graph)
    assert mapping is not None
    outputs = next(graph.outputs()).node().inputs()
    known = [value.type().symbolic_sizes() for value in outputs]
    symbols = list(mapping.graph_output_to_symbolic_shape_dim().values())
    for given in shapes:
        results = fn(*[flambeau.ones(s) for s in given])
        found = interpret(mapping.partial_eval_shape_graph(), [list(s) for s in given])
        sized = dict(zip(symbols, found, strict=True))
        assert [[sized.get(s, s) for s in one] for one in known] == [list(r.shape) for r in results]


def test_equal_sizes_have_one_symbol() -> None:
    graph = typed(broadcasts, 2, 2)
    _C._jit_pass_propagate_shapes_on_graph_and_build_compute(graph)
    double, other, square, *_ = (v.type().symbolic_sizes() for v in next(graph.outputs()).node().inputs())
    assert double == [-2, -3]
    assert square == [-3, -3]
    assert set(other).isdisjoint(double)


def test_results_can_be_a_function() -> None:
    graph = _C.parse_ir("graph(%x : Tensor(*, 3), %y : Tensor(3, *)):\n  %z = aten::mm(%x, %y)\n  return (%z)")
    mapping = _C._jit_pass_propagate_shapes_on_graph_and_build_compute(graph)
    computed = mapping.partial_eval_shape_graph()
    computed.makeMultiOutputIntoTuple()
    assert _C._create_function_from_graph("sizes", computed)([2, 3], [3, 5]) == (2, 5)


def test_where_sizes_cannot_be_told() -> None:
    graph = _C.parse_ir("graph(%x : Tensor(*)):\n  %y = aten::nonzero(%x)\n  return (%y)")
    assert _C._jit_pass_propagate_shapes_on_graph_and_build_compute(graph) is None
    assert _C._jit_shape_compute_graph_for_node(graph.findNode("aten::nonzero")) is None


def every_second(x: list[int]) -> list[int]:
    return [x[0] // 2]


def test_shape_functions_can_be_registered() -> None:
    graph = _C.parse_ir("graph(%x : Tensor(8)):\n  %y = aten::nonzero(%x)\n  return (%y)")
    node = graph.findNode("aten::nonzero")
    try:
        _C._jit_register_shape_compute_graph_for_node(node, flambeau.script(every_second).graph)
        found = _C._create_function_from_graph("sizes", _C._jit_shape_compute_graph_for_node(node))
        assert found([8]) == [4]
        _C._jit_pass_propagate_shapes_on_graph(graph)
        assert next(graph.outputs()).type().sizes() == [4]
    finally:
        shape_registry.forget(node)
    assert _C._jit_shape_compute_graph_for_node(node) is None


def test_what_is_no_shape_function() -> None:
    graph = _C.parse_ir("graph(%x):\n  %y = aten::relu(%x)\n  %z = prim::TupleConstruct(%y)\n  return (%z)")
    relu, made = graph.findNode("aten::relu"), graph.findNode("prim::TupleConstruct")
    good = flambeau.script(every_second).graph
    with pytest.raises(RuntimeError, match="for a node that calls an operator; prim::TupleConstruct is none"):
        _C._jit_register_shape_compute_graph_for_node(made, good)

    def two(x: list[int], y: list[int]) -> list[int]:
        return x + y

    with pytest.raises(ValueError, match=r"of aten::relu takes 1 parameters, as many as the operator .* not 2"):
        _C._jit_register_shape_compute_graph_for_node(relu, flambeau.script(two).graph)

    def number(x: list[int]) -> int:
        return x[0]

    with pytest.raises(ValueError, match="returns lists of sizes, one for each tensor: aten::relu has 1, this returns"):
        _C._jit_register_shape_compute_graph_for_node(relu, flambeau.script(number).graph)

    def itself(x: list[int]) -> list[int]:
        return x

    with pytest.raises(ValueError, match=r"relu: parameter 0 is returned as result 0. .* must return new unaliased"):
        _C._jit_register_shape_compute_graph_for_node(relu, flambeau.script(itself).graph)
    chunk = _C.parse_ir("graph(%x):\n  %y, %z = aten::frexp(%x)\n  return (%y)").findNode("aten::frexp")
    shapes = _C.parse_ir("graph(%x : int[]):\n  %y : int[] = aten::add(%x, %x)\n  return (%y, %y)")
    with pytest.raises(ValueError, match=r"frexp\.Tensor: result 1 is returned twice"):
        _C._jit_register_shape_compute_graph_for_node(chunk, shapes)


def test_objects_among_constants_hold_nothing() -> None:
    graph = _C.parse_ir("graph(%x):\n  %y = aten::relu(%x)\n  return (%y)")
    with pytest.raises(RuntimeError, match="a constant whose value is an object of a class, not a aten::relu"):
        _C._jit_object_is_non_holding(graph.findNode("aten::relu"))


def of_images(x: Tensor, k: int) -> Tensor:
    if k == 0:
        return flambeau.max_pool2d(x, [3, 2], [2, 2], [1, 0], [1, 1], True)
    return flambeau.nn.functional.avg_pool2d(x, [2, 2])


@pytest.mark.parametrize("k", range(2))
@pytest.mark.parametrize("first", [2, None])
def test_sizes_that_only_shape_functions_say_are_propagated(k: int, first: int | None) -> None:
    graph = flambeau.trace(lambda x: of_images(x, k).relu(), flambeau.ones(2, 3, 9, 8)).inlined_graph
    _C._jit_pass_erase_shape_information(graph)
    next(iter(graph.inputs())).setType(_C.TensorType.get().with_sizes([first, 3, 9, 8]))
    _C._jit_pass_propagate_shapes_on_graph(graph)
    expected = of_images(flambeau.ones(2, 3, 9, 8), k).shape
    assert next(iter(graph.outputs())).type().varyingSizes() == [first, *expected[1:]]
