"""Regions of graphs to kernels: what they compute against the operators' own kernels, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau.ops  # noqa: F401
from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import KernelError
from flambeau.codegen.lower import LoweringError, lower_graph
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Graph
from flambeau.ir.parser import parse_ir
from flambeau.tensor.tensor import Tensor, wrap

CONSTANTS = """
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %last : int = prim::Constant[value=-1]()
  %two : int = prim::Constant[value=2]()
  %half : float = prim::Constant[value=0.5]()
  %dims : int[] = prim::Constant[value=[1]]()
  %both : int[] = prim::Constant[value=[0, 1]]()
"""


def graph(inputs: str, body: str, outputs: str) -> Graph:
    lines = "\n".join("  " + line.strip() for line in body.strip().splitlines())
    return parse_ir(f"graph({inputs}):{CONSTANTS}{lines}\n  return ({outputs})\n")


def interpret(g: Graph, *arrays: Any) -> list[np.ndarray]:
    """Run each node by its operator's kernel."""
    known: dict[Any, Any] = {
        v: wrap(a) if isinstance(a, np.ndarray) else a for v, a in zip(g.parameters, arrays, strict=True)
    }
    for node in g.nodes():
        if is_constant(node.results[0]):
            known[node.results[0]] = constant_value(node.results[0])
        elif node.op == "prim::Constant":
            known[node.result()] = None
        else:
            assert node.definition is not None, node
            made = node.definition(*[known[v] for v in node.operands])
            known.update(zip(node.results, made if len(node.results) > 1 else (made,), strict=True))
    return [known[v]._array if isinstance(known[v], Tensor) else known[v] for v in g.returns]


REGIONS = {
    "chain": ("%x : Float(*, *), %y : Float(*, *)", """
        %a : Tensor = aten::mul(%x, %y)
        %b : Tensor = aten::add(%a, %x, %two)
        %c : Tensor = aten::exp(%b)
        %d : Tensor = aten::sub(%c, %half, %one)
        """, "%d, %b"),
    "integers and floats": ("%x : Long(*, *), %y : Float(*, *)", """
        %a : Tensor = aten::mul(%x, %two)
        %b : Tensor = aten::add(%a, %y, %one)
        %c : Tensor = aten::gt(%b, %half)
        %d : Tensor = aten::div(%x, %two)
        """, "%b, %c, %d"),
    "number": ("%x : Float(*, *), %y : float", """
        %a : Tensor = aten::mul(%x, %y)
        """, "%a"),
    "sum of rows": ("%x : Float(*, *), %y : Float(*)", """
        %a : Tensor = aten::mul(%x, %y)
        %b : Tensor = aten::sum(%a, %dims, %false, %none)
        """, "%b"),
    "sum of all": ("%x : Long(*, *)", """
        %a : Tensor = aten::add(%x, %one, %one)
        %b : Tensor = aten::sum(%a, %none)
        """, "%b"),
    "sum of bools": ("%x : Float(*, *)", """
        %a : Tensor = aten::gt(%x, %half)
        %b : Tensor = aten::sum(%a, %both, %true, %none)
        """, "%b"),
    "centred": ("%x : Float(*, *)", """
        %m : Tensor = aten::mean(%x, %dims, %true, %none)
        %c : Tensor = aten::sub(%x, %m, %one)
        %s : Tensor = aten::mul(%c, %c)
        %v : Tensor = aten::mean(%s, %dims, %true, %none)
        """, "%c, %v"),
    "softmax": ("%x : Float(*, *)", """
        %a : Tensor = aten::mul(%x, %two)
        %b : Tensor = aten::softmax(%a, %last, %none)
        """, "%b"),
    "softmax of columns": ("%x : Float(*, *)", "%b : Tensor = aten::softmax(%x, %zero, %none)", "%b"),
    "log softmax": ("%x : Double(*, *)", "%b : Tensor = aten::log_softmax(%x, %one, %none)", "%b"),
    "argmax": ("%x : Float(*, *)", """
        %a : Tensor = aten::neg(%x)
        %b : Tensor = aten::argmax(%a, %one, %false)
        %c : Tensor = aten::argmax(%a, %none, %false)
        """, "%b"),
    "amax": ("%x : Float(*, *)", "%b : Tensor = aten::amax(%x, %dims, %false)", "%b"),
    "any": ("%x : Float(*, *)", "%b : Tensor = aten::any(%x, %one, %false)", "%b"),
    "variance": ("%x : Float(*, *)", "%b : Tensor = aten::var(%x, %dims, %false, %true)", "%b"),
    "deviation": ("%x : Double(*, *)", "%b : Tensor = aten::std(%x, %dims, %one, %false)", "%b"),
}  # fmt: skip


def sample(g: Graph, shape: tuple[int, int]) -> list[Any]:
    r = np.random.default_rng(3)
    found: list[Any] = []
    for v in g.parameters:
        if str(v.static_type) == "float":
            found.append(1.5)
            continue
        sizes = shape[len(shape) - len(v.static_type.sizes) :]
        numbers = r.standard_normal(sizes) * 3
        found.append(numbers.astype(v.static_type.dtype.numpy))
    return found


@pytest.mark.parametrize("name", list(REGIONS))
@pytest.mark.parametrize("shape", [(7, 100), (70, 3), (1, 1)])
def test_region(name: str, shape: tuple[int, int]) -> None:
    g = graph(*REGIONS[name])
    lowered = lower_graph(g)
    arrays = sample(g, shape)
    want = interpret(g, *arrays)
    results = {"native": backend.compile_lowered(lowered)(*arrays)}
    if shape != (7, 100):
        results["reference"] = reference.run(lowered.kernel, *arrays)
    for got in results.values():
        for mine, theirs in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
            assert mine.dtype == theirs.dtype
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)


def test_layer_norm() -> None:
    g = graph("%x : Float(*, *), %w : Float(*), %c : Float(*)", """
        %s : int[] = prim::Constant[value=[70]]()
        %e : float = prim::Constant[value=0.001]()
        %b : Tensor = aten::layer_norm(%x, %s, %w, %c, %e, %true)
        """, "%b")  # fmt: skip
    r = np.random.default_rng(0)
    arrays = [r.standard_normal(shape).astype(np.float32) for shape in ((9, 70), (70,), (70,))]
    got = backend.compile_graph(g)(*arrays)
    np.testing.assert_allclose(got, interpret(g, *arrays)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1, 100, 50_000])
def test_softmax_of_one_row(size: int) -> None:
    g = graph("%x : Float(*)", "%b : Tensor = aten::softmax(%x, %zero, %none)", "%b")
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    got = backend.compile_graph(g)(x)
    np.testing.assert_allclose(got, interpret(g, x)[0], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("row", [[0.0, -np.inf], [np.nan, 1.0], [-np.inf, -np.inf], [np.inf, 0.0], [1e30, 0.0]])
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_softmax_of_special_values(op: str, row: list[float]) -> None:
    g = graph("%x : Float(*, *)", f"%b : Tensor = aten::{op}(%x, %one, %none)", "%b")
    x = np.array([row, [1.0, 2.0]], np.float32)
    with np.errstate(all="ignore"):
        want = interpret(g, x)[0]
    np.testing.assert_allclose(backend.compile_graph(g)(x), want, rtol=1e-6)


REFUSED = {
    "folds over different dimensions": ("%x : Float(*, *)", """
        %a : Tensor = aten::sum(%x, %dims, %true, %none)
        %b : Tensor = aten::sum(%x, %both, %true, %none)
        """, "%a, %b"),
    "dtype and rank must be known": ("%x : Tensor", "%a : Tensor = aten::exp(%x)", "%a"),
    "kernels do not compute in dtype 'complex32'": ("%x : ComplexHalf(*)", "%a : Tensor = aten::exp(%x)", "%a"),
    "prod of complex numbers has no native code": ("%x : ComplexFloat(*)", "%a : Tensor = aten::prod(%x, %none)", "%a"),
    "has no native form": ("%x : Float(*, *), %y : Float(*, *)", "%a : Tensor = aten::kron(%x, %y)", "%a"),
    "a dimension meets itself": ("%x : Float(*, *)", """
        %a : Tensor = aten::sum(%x, %dims, %false, %none)
        %b : Tensor = aten::add(%x, %a, %one)
        """, "%b"),
}  # fmt: skip


@pytest.mark.parametrize("message", list(REFUSED))
def test_refused(message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        lower_graph(graph(*REFUSED[message]))


def test_shapes_that_mean_something_else_are_refused() -> None:
    """One output is as wide as `x` alone; the kernel's axis must not be widened by `y`."""
    g = graph("%x : Float(*), %y : Float(*)", """
        %a : Tensor = aten::exp(%x)
        %b : Tensor = aten::add(%x, %y, %one)
        """, "%a, %b")  # fmt: skip
    compiled = backend.compile_lowered(lower_graph(g))
    ones = np.ones(1, np.float32), np.ones(5, np.float32)
    assert [y.shape for y in compiled(ones[1], ones[1])] == [(5,), (5,)]
    assert [y.shape for y in compiled(ones[1], ones[0])] == [(5,), (5,)]
    with pytest.raises(KernelError, match="a value of size 1 along d0 shares the axis with one of size 5"):
        compiled(ones[0], ones[1])


def test_division_by_zero() -> None:
    g = graph("%x : Long(*), %y : Long(*)", "%a : Tensor = aten::floor_divide(%x, %y)", "%a")
    compiled = backend.compile_graph(g)
    x = np.arange(5)
    with pytest.raises(ZeroDivisionError):
        compiled(x, x)
