"""Parts and conjugates of complex tensors are pointwise operators where kernels read them, and views elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.ir.parser import parse_ir
from flambeau.passes import complex_parts

Z = np.array([[1 + 2j, 3 - 4j], [-0.5j, 2 + 0j]])


def operators(text: str) -> list[str]:
    graph = parse_ir(text)
    complex_parts.do(graph)
    graph.lint()
    return [n.op for n in graph.nodes() if n.op != "prim::Constant"]


@pytest.mark.parametrize("name", ["conj", "_conj"])
def test_conjugates(name: str) -> None:
    text = "graph(%x : {}(*)):\n  %y : {}(*) = aten::" + name + "(%x)\n  return (%y)"
    assert operators(text.format("ComplexFloat", "ComplexFloat")) == ["aten::conj_physical"]
    assert operators(text.format("Float", "Float")) == []
    assert operators(text.replace("{}(*)", "Tensor")) == [f"aten::{name}"]


def test_matrices_turned() -> None:
    text = "graph(%x : ComplexDouble(*, *)):\n  %y : ComplexDouble(*, *) = aten::mH(%x)\n  return (%y)"
    assert operators(text) == ["aten::transpose", "aten::conj_physical"]
    assert operators(text.replace("ComplexDouble", "Double")) == ["aten::mH"]


@pytest.mark.parametrize("name", ["real", "imag"])
def test_parts(name: str) -> None:
    text = f"""graph(%x : ComplexDouble(*)):
  %y : Double(*) = aten::{name}(%x)
  %z : Double(*) = aten::exp(%y)
  return (%z)"""
    assert operators(text) == [f"flambeau::{name}_part", "aten::exp"]
    assert operators(text.replace("(%z)", "(%z, %y)")) == [f"aten::{name}", "aten::exp"], "the view is seen"
    assert operators(text.replace("ComplexDouble", "Double")) == [f"aten::{name}", "aten::exp"]


def test_a_part_that_is_written_stays_a_view() -> None:
    text = """graph(%x : ComplexDouble(*), %v : Double(*)):
  %false : bool = prim::Constant[value=0]()
  %y : Double(*) = aten::real(%x)
  %w : Double(*) = aten::copy_(%y, %v, %false)
  %z : Double(*) = aten::exp(%y)
  return (%z)"""
    assert operators(text) == ["aten::real", "aten::copy_", "aten::exp"]


def test_programs_give_the_same() -> None:
    source = """
def f(z: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    p = (z.conj() * z).real
    w = z * 2
    w.real.mul_(3.0)
    return p.sum(), z.mH @ z, w.imag + w.real, z.adjoint()
"""
    f = flambeau.CompilationUnit(source).f
    for _ in range(4):
        power, gram, both, turned = (t.numpy() for t in f(flambeau.from_numpy(Z)))
        np.testing.assert_allclose(power, (np.abs(Z) ** 2).sum(), rtol=1e-14)
        np.testing.assert_allclose(gram, Z.conj().T @ Z, rtol=1e-14)
        np.testing.assert_allclose(both, 2 * Z.imag + 6 * Z.real, rtol=1e-14)
        np.testing.assert_array_equal(turned, Z.conj().T)
    assert "native from end to end" in str(f.explain())
