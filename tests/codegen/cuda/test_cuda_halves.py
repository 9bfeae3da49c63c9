"""Half precision in kernels for devices: kept in memory, computed in float32, rounded by each operator."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import reference
from flambeau.codegen.cuda.ptx import ARCHITECTURES, programs_ptx
from flambeau.codegen.cuda.simulator import simulate
from flambeau.codegen.kernel import Kernel, parse_kernel
from flambeau.codegen.kernel.dtypes import HALVES, KernelError, element_type
from flambeau.codegen.kernel.verify import verify
from flambeau.codegen.lower import LoweringError, lower_graph
from flambeau.ir.parser import parse_ir
from tests.codegen.cuda.cuda_kernels import Array, bound_for
from tests.codegen.cuda.on_host import on_host

SUM_AND_SHIFT = """
kernel shifted {
  axes r, c
  in x: DTYPE[r, c]
  out y: DTYPE[r, c]
  out z: float32[r]
  for r {
    for c reduce s: float32 = sum {
      %0: DTYPE = load x[r, c]
      %1: float32 = cast %0
      s <- %1
    }
    store z[r], s
    for c {
      %2: DTYPE = load x[r, c]
      %3: float32 = cast %2
      %4: float32 = sub %3, s
      %5: DTYPE = cast %4
      store y[r, c], %5
    }
  }
}
"""
TWICE = """
kernel twice {
  axes i
  in x: DTYPE[i]
  out y: DTYPE[i]
  for i {
    %0: DTYPE = load x[i]
    %1: float32 = cast %0
    %2: float32 = add %1, %1
    %3: DTYPE = cast %2
    store y[i], %3
  }
}
"""


def kernel_of(text: str, dtype: str) -> Kernel:
    return parse_kernel(text.replace("DTYPE", dtype))


def values(dtype: str, *shape: int) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype(element_type(dtype).numpy)


@pytest.mark.parametrize("dtype", list(HALVES))
def test_rows(dtype: str) -> None:
    kernel, x = kernel_of(SUM_AND_SHIFT, dtype), values(dtype, 3, 256)
    wanted = reference.run(kernel, x)
    bound = bound_for(kernel, x)
    assert bound.schedule.width == 8
    simulated = simulate(bound, x)
    for found in (simulated, on_host(bound, x)):
        assert [a.dtype for a in found] == [a.dtype for a in wanted]
        np.testing.assert_array_equal(found[0], simulated[0])
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5)


@pytest.mark.parametrize("dtype", list(HALVES))
@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, -np.inf, np.nan, 65504.0, 3.3e38, 1e-8, 1.00390625, 1.01171875])
def test_roundings(dtype: str, value: float) -> None:
    """Each special value there and back, as the host converts it."""
    kernel = kernel_of(TWICE, dtype)
    with np.errstate(over="ignore"):
        x = np.full(8, value, np.float64).astype(np.float32).astype(element_type(dtype).numpy)
        wanted = (x.astype(np.float32) + x.astype(np.float32)).astype(x.dtype)
    (found,) = on_host(bound_for(kernel, x), x)
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))
    assert np.isnan(value) or (np.signbit(found) == np.signbit(wanted)).all()


@pytest.mark.parametrize("dtype", list(HALVES))
def test_eight_at_a_time(dtype: str) -> None:
    """Accesses have 16 bytes, on every architecture."""
    bound = bound_for(kernel_of(TWICE, dtype), values(dtype, 1 << 20))
    assert (bound.schedule.width, bound.schedule.wide) == (8, ("x", "y"))
    assert bound.program is not None
    for arch in (ARCHITECTURES[0], "sm_80", "sm_90"):
        text = programs_ptx([bound.program], arch, {})
        assert "ld.global.nc.v4.b32" in text
        assert "st.global.v4.b32" in text


def test_nothing_is_computed_in_halves() -> None:
    text = TWICE.replace("%1: float32 = cast %0", "%1: DTYPE = add %0, %0").replace("add %1, %1", "cast %1")
    with pytest.raises(KernelError, match="add is not defined for float16"):
        verify(kernel_of(text, "float16"))


def test_parameters_of_another_half_are_the_operators_to_refuse() -> None:
    graph = parse_ir(
        "graph(%x : Half(*, *), %w : BFloat16(*)):\n"
        "  %n : int = prim::Constant[value=8]()\n"
        "  %s : int[] = prim::ListConstruct(%n)\n"
        "  %none : NoneType = prim::Constant()\n"
        "  %eps : float = prim::Constant[value=1e-05]()\n"
        "  %yes : bool = prim::Constant[value=1]()\n"
        "  %y : Half(*, *) = aten::layer_norm(%x, %s, %w, %none, %eps, %yes)\n"
        "  return (%y)\n"
    )
    with pytest.raises(LoweringError, match="layer_norm of bfloat16, float16"):
        lower_graph(graph)
