"""Operators replaced by graphs that were given for them."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor, jit
from flambeau.ir.clone import clone_graph
from flambeau.ir.verify import verify
from flambeau.jit import _decompositions
from flambeau.passes import run_decompositions


def cubed(x: Tensor) -> Tensor:
    return x * x * x


def program(x: Tensor, n: int) -> Tensor:
    y = x
    for _ in range(n):
        if bool(y.sum() > 0):
            y = flambeau.expm1(y)
        y = flambeau.expm1(y) + 1
    return y


def test_every_one_is_replaced() -> None:
    jit._register_decomposition(flambeau.ops.aten.expm1.default, flambeau.script(cubed).graph)
    graph = clone_graph(flambeau.script(program).graph)
    assert run_decompositions.do(graph)
    verify(graph)
    assert not graph.find_all("aten::expm1")
    assert len(graph.find_all("aten::mul")) == 4
    assert all(n.range is not None for n in graph.find_all("aten::mul"))
    x = flambeau.tensor([0.5, -0.25])
    y = x
    for _ in range(2):
        y = cubed(cubed(y) if bool(y.sum() > 0) else y) + 1
    assert flambeau.allclose(jit.create_function_from_graph("f", graph)(x, 2), y)
    assert not run_decompositions.do(graph)
    assert flambeau.script(program)(x, 0).tolist() == x.tolist()


def test_what_is_no_decomposition() -> None:
    graph = flambeau.script(cubed).graph
    two = flambeau.CompilationUnit("def f(x: Tensor, n: int): return x * n").f.graph
    number = flambeau.CompilationUnit("def f(n: int): return n * n").f.graph
    for op, given, error, message in (
        ("aten::nope", graph, KeyError, "there is no operator aten::nope"),
        (3, graph, TypeError, "takes an overload such as flambeau.ops.aten.square.default, not a int"),
        ("aten::relu", 3, TypeError, "a decomposition is a graph, such as fn.graph, not a int"),
        ("aten::relu", two, ValueError, "the graph for aten::relu has 2 parameters, but the operator has 1"),
        ("aten::relu", number, ValueError, "takes a int as parameter 0, but the operator is given a Tensor"),
    ):
        with pytest.raises(error, match=message):
            jit._register_decomposition(op, given)


def variances(x: Tensor):  # type: ignore[no-untyped-def]
    kept = flambeau.var(x, [1], correction=0, keepdim=True), x.var([0, 1], False, True)
    return x.var(), x.var(False), x.var(0), x.var([0], True), flambeau.var(x, [0], correction=5), kept


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.complex64])
@pytest.mark.parametrize("sizes", [(4, 5), (0, 3)])
def test_variances_are_means_of_squares(dtype: flambeau.dtype, sizes: tuple[int, int]) -> None:
    scripted = flambeau.script(variances)
    graph = clone_graph(scripted.graph)
    assert run_decompositions.do(graph)
    verify(graph)
    assert not [n for n in graph.all_nodes() if n.op == "aten::var"]
    x = flambeau.randn(*sizes, dtype=dtype)
    *found, kept = jit.create_function_from_graph("variances", graph)(x)
    *expected, kept_before = scripted(x)
    for a, b in zip((*found, *kept), (*expected, *kept_before), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert flambeau.allclose(a, b, equal_nan=True)


def test_functions_that_stand_for_operators() -> None:
    registry: dict[str, jit.ScriptFunction[..., object]] = {}

    @_decompositions.register_decomposition(flambeau.ops.aten.hardsigmoid.default, registry)
    def ramp(x: Tensor) -> Tensor:
        return flambeau.clamp(x + 3, 0, 6) / 6

    assert list(registry) == ["aten::hardsigmoid(Tensor self) -> Tensor"]
    assert "ramp" in _decompositions.function_name_set
    assert not set(registry) & set(_decompositions.decomposition_table)
    text = "graph(%x):\n  %y : Tensor = aten::hardsigmoid(%x)\n  return (%y)"
    node = flambeau._C.parse_ir(text).findNode("aten::hardsigmoid")
    assert node is not None
    graph = flambeau._C._jit_decomposition_graph_for_node(node)
    assert graph is not None
    x = flambeau.tensor([-4.0, 0.5, 4.0])
    assert flambeau.allclose(jit.create_function_from_graph("f", graph)(x), flambeau.nn.functional.hardsigmoid(x))
    schema = flambeau._C.parse_schema("aten::hardswish(Tensor self) -> Tensor")
    flambeau._C._jit_register_decomposition_for_schema(schema, flambeau.script(cubed).graph)
    other = clone_graph(flambeau.script(switched).graph)
    assert run_decompositions.do(other)
    assert len(other.find_all("aten::mul")) == 2


def switched(x: Tensor) -> Tensor:
    return flambeau.nn.functional.hardswish(x)


def test_functions_that_may_stand_for_none() -> None:
    decorate = _decompositions.register_decomposition(flambeau.ops.aten.hardtanh.default, {})
    with pytest.raises(ValueError, match="and silent does not: x, the result"):

        @decorate
        def silent(x):  # type: ignore[no-untyped-def]
            return x

    with pytest.raises(ValueError, match="there is a decomposition ramp already"):

        @decorate
        def ramp(x: Tensor) -> Tensor:
            return x
