"""Schedules are of patterns: calls that share one get what they would get alone, and lengths in turn share one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from flambeau.codegen import backend
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.codegen.launches import Launch, make_launch
from flambeau.codegen.runtime import CompiledKernel
from flambeau.ir import parse_ir
from tests.codegen.products.product_groups import laid_out

F2, F1 = "Float(*, *)", "Float(*)"
GROUPS = {
    "sum with a row": (f"%x : {F2}, %y : {F1}", "aten::mul(%x, %y)", "aten::exp(%r)"),
    "two matrices": (f"%x : {F2}, %y : {F2}", "aten::mul(%x, %y)", "aten::tanh(%r)"),
    "softmax": (f"%x : {F2}, %y : {F2}", "aten::add(%x, %y, %one)", "aten::softmax(%r, %one, %none)"),
    "columns": (f"%x : {F2}, %y : {F1}", "aten::mul(%x, %y)", "aten::sum(%r, %axes, %false, %none)"),
    "places": (f"%x : {F2}, %y : {F1}", "aten::mul(%x, %y)", "aten::argmax(%r, %one, %false)"),
    "running": (f"%x : {F2}, %y : {F1}", "aten::mul(%x, %y)", "aten::cumsum(%r, %one, %none)"),
    "product": (f"%x : {F2}, %y : {F2}", "aten::mm(%x, %y)", "aten::relu(%r)"),
}
SIZES = (1, 17, 20, 24, 28, 31, 33, 40)


def compiled(name: str) -> CompiledKernel:
    inputs, first, second = GROUPS[name]
    return backend.compile_graph(
        parse_ir(f"""graph({inputs}):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %false : bool = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
  %axes : int[] = prim::ListConstruct(%zero)
  %r : Tensor = {first}
  %s : Tensor = {second}
  return (%s)
""")
    )


def arrays_for(kernel: CompiledKernel, r: np.random.Generator) -> list[npt.NDArray[Any]]:
    """Inputs of random sizes and layouts, some of which do not fit."""
    sizes = {axis: int(r.choice(SIZES)) for axis in kernel.kernel.axes}
    arrays = []
    for buffer in kernel.kernel.inputs:
        shape = [sizes[a] if r.random() < 0.85 else 1 for a in buffer.axes]
        layout = str(r.choice(["plain", "plain", "transposed", "strided"]))
        arrays.append(laid_out(r.standard_normal(shape).astype(np.float32), layout, r))
    return arrays


def facts(launch: Launch) -> tuple[Any, ...]:
    """What a call needs of a launch."""
    text = "" if launch.variant is None else print_kernel(launch.variant.kernel)
    return text, launch.words, launch.outputs, launch.nanoseconds, launch.bytes_moved, launch.operations


@pytest.mark.parametrize("name", GROUPS)
def test_a_shared_schedule_is_that_of_the_call(name: str) -> None:
    kernel, r = compiled(name), np.random.default_rng(7)
    served = 0
    for _ in range(60):
        arrays = arrays_for(kernel, r)
        try:
            alone = make_launch(kernel.kernel, kernel.spans, arrays)
        except KernelError:
            continue
        kernel(*arrays)
        shared = kernel._find_launch(arrays)
        assert facts(shared)[1:] == facts(alone)[1:], [(a.shape, a.strides) for a in arrays]
        assert facts(shared)[0] == facts(alone)[0]
        served += 1
    assert served > 20
    assert len(kernel.schedules.cache) < served


def test_lengths_in_turn_share_a_schedule() -> None:
    kernel = compiled("softmax")
    for length in range(66, 126):
        x, y = np.ones((4, length), np.float32), np.zeros((4, length), np.float32)
        np.testing.assert_allclose(kernel(x, y), np.full((4, length), 1 / length), rtol=1e-6)
    assert kernel.schedules.cache.statistics().misses == 1
    assert len(kernel.variants) == 1
