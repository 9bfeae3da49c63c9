"""Which form products of few rows take, by the registers of the processor."""

from __future__ import annotations

import pytest

from flambeau.codegen.llvm.emitter import Target
from flambeau.codegen.lower import lower_graph
from flambeau.codegen.products.tiling import choose_tiling
from flambeau.codegen.specialize import specialize
from flambeau.ir.parser import parse_ir

LINEAR = """graph(%x : Float(*, *), %w : Float(*, *)):
  %b : NoneType = prim::Constant()
  %y : Float(*, *) = aten::linear(%x, %w, %b)
  return (%y)"""


@pytest.mark.parametrize(
    ("bits", "registers", "rows", "form", "packed"),
    [
        (512, 32, 8, "dots", False), (512, 32, 15, "dots", False), (512, 32, 16, "tiles", True),
        (256, 16, 16, "dots", False), (256, 16, 17, "tiles", True),
    ],
)  # fmt: skip
def test_weights_are_turned_round_from_so_many_rows(
    bits: int, registers: int, rows: int, form: str, packed: bool
) -> None:
    kernel = lower_graph(parse_ir(LINEAR)).kernel
    (m, k), (n, _) = (buffer.axes for buffer in kernel.buffers[:2])
    sizes = {m: rows, n: 384, k: 256}
    strides = {
        (b.name, axis): 4 * (1 if at else sizes[b.axes[1]]) for b in kernel.buffers for at, axis in enumerate(b.axes)
    }
    special = specialize(kernel, sizes, strides, kernel.axes)
    tiling = choose_tiling(special, special, special, Target(vector_bits=bits, vector_registers=registers), 1)
    assert tiling is not None
    assert (tiling.form, tiling.packed) == (form, packed)
