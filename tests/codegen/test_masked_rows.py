"""Bands of images copied by masked vectors: rows of any width, steps and zeros around, beside PyTorch."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.codegen.convolutions import masked_rows
from tests.codegen.test_convolutions import compare, numbers

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

WIDTHS = 1, 7, 8, 15, 17, 31, 33, 58, 64, 65, 130
PADDINGS = 0, 1, 9, 20
"""More than a vector has lanes, too: such long rows are not of those whose first and last vector alone have masks."""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_rows_of_any_width_have_zeros_around(stride: int, dtype: str) -> None:
    w = numbers(1, 3, 2, 3, 2, dtype=dtype)
    for width in WIDTHS:
        x = numbers(width, 1, 2, 4, width, dtype=dtype)
        for padding in (p for p in PADDINGS if width + 2 * p >= 2):
            exact = torch.conv2d(torch.tensor(x).double(), torch.tensor(w).double(), None, stride, (1, padding))
            mine = flambeau.conv2d(flambeau.tensor(x), flambeau.tensor(w), None, [stride] * 2, [1, padding])
            compare(mine, exact, (width, padding))


@pytest.mark.parametrize("stride", [1, 2])
def test_windows_of_largest_numbers_have_infinity_around(stride: int) -> None:
    for width in WIDTHS[1:]:
        x = -1 - abs(numbers(width, 1, 2, 5, width))
        exact = torch.max_pool2d(torch.tensor(x), 3, stride, 1)
        mine = flambeau.max_pool2d(flambeau.tensor(x), 3, stride, 1)
        assert (mine.numpy() == exact.numpy()).all(), width


@pytest.mark.skipif(not hasattr(mmap, "PROT_READ"), reason="needs pages that may not be read")
def test_nothing_beside_an_image_is_read() -> None:
    page, libc = mmap.PAGESIZE, ctypes.CDLL(None)
    memory = mmap.mmap(-1, 3 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for place in (start, start + 2 * page):
        assert libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(page), 0) == 0
    count = page // 4
    whole = np.frombuffer((ctypes.c_float * count).from_address(start + page), np.float32)
    whole[:] = 1
    for width in (7, 33, 58):
        for x in (whole[: 4 * width], whole[count - 4 * width :]):
            image = flambeau.from_numpy(x.reshape(1, 1, 4, width))
            for stride in (1, 2):
                y = flambeau.conv2d(image, flambeau.ones(1, 1, 3, 3), None, [stride] * 2, [1, 1]).numpy()
                assert y[0, 0, 1, 1] == 9
                assert y[0, 0, 0, 0] == 4


def test_functions_have_numbers_of_their_own() -> None:
    names = masked_rows.functions()
    assert sorted(names) == list(range(1, len(names) + 1))
    assert names[masked_rows.MOST + 1] == "rows_1_long"
    assert names[masked_rows.MOST + 2] == "rows_2_1"
