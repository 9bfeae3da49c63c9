"""One pointwise kernel from text to machine code."""

import numpy as np
import pytest

from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import parse_kernel, print_kernel

TEXT = """\
kernel squares {
  axes i, j
  in x: float32[i, j]
  out y: float32[i, j]
  for i, j {
    %0: float32 = load x[i, j]
    %1: float32 = mul %0, %0
    %2: float32 = tanh %1
    store y[i, j], %2
  }
}
"""


def test_text_round_trip() -> None:
    assert print_kernel(parse_kernel(TEXT)) == TEXT


@pytest.mark.parametrize("shape", [(37, 53), (1, 5), (0, 4), (3, 0), (64, 64)])
def test_against_reference(shape: tuple[int, int]) -> None:
    kernel = parse_kernel(TEXT)
    compiled = backend.compile_kernel(kernel)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for view in (x, x.T, x[::2, ::-1]):
        np.testing.assert_allclose(compiled(view), reference.run(kernel, view)[0], rtol=3e-7)
