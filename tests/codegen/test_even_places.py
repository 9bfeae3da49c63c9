"""Windows of which places take as many elements, evenly apart, and go by vectors: beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.convolutions.axes import Stretch, Stretches, identity
from tests.codegen.test_convolutions import numbers
from tests.codegen.test_routines import called, is_native

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


@flambeau.script
def largest(x: flambeau.Tensor, kernel: list[int], stride: list[int], padding: list[int]) -> flambeau.Tensor:
    return flambeau.max_pool2d(x, kernel, stride, padding)


@flambeau.script
def average(x: flambeau.Tensor, kernel: list[int], stride: list[int], padding: list[int]) -> flambeau.Tensor:
    return flambeau.nn.functional.avg_pool2d(x, kernel, stride, padding)


@flambeau.script
def padded(x: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.nn.functional.pad(x, [3, 2, 1, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [5, 18, 36, 67])
def test_even_places_are_as_in_torch(width: int, dtype: str) -> None:
    x = numbers(width, 2, 3, 6, width, dtype=dtype)
    x[0, 1, 2, width - 2], x[1, 0, 5, 0] = np.nan, np.inf
    given, exact = flambeau.from_numpy(x), torch.tensor(x)
    for kernel, stride, padding in ((3, 2, 1), (2, 2, 0), (3, 1, 1), (2, 3, 1), (5, 1, 2), (1, 2, 0)):
        numbers_of = [kernel] * 2, [stride] * 2, [padding] * 2
        mine = called(largest, given, *numbers_of).numpy()
        np.testing.assert_array_equal(mine, torch.max_pool2d(exact, kernel, stride, padding).numpy())
        mine = called(average, given, *numbers_of).numpy()
        theirs = torch.nn.functional.avg_pool2d(exact.double(), kernel, stride, padding).numpy()
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(called(padded, given).numpy(), torch.nn.functional.pad(exact, [3, 2, 1, 0]).numpy())
    assert is_native(largest)
    assert is_native(average)


def test_the_stretch_of_even_places_is_the_longest() -> None:
    ends = Stretch(1, 0, 1, 2)
    assert Stretches((ends, Stretch(3, 1, 2, 3), ends)).even_places() == (1, 4, 2)
    assert identity(9).even_places() == (0, 9, 1)
    assert Stretches((ends, Stretch(3, 1, 3, 3), ends)).even_places() == (0, 0, 1)
    assert Stretches((Stretch(2, 0, 1, 3), ends, Stretch(3, 0, 2, 3))).even_places() == (3, 6, 2)
    assert Stretches((Stretch(3, 0, 1, 0),)).even_places() == (0, 0, 1)
    assert Stretches((Stretch(3, 0, times=2),)).even_places() == (0, 0, 1)
