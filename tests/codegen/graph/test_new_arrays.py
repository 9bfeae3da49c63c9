"""New tensors in native functions: sizes that no tensor has, and sizes that are known to be fine."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def filled(n: int, m: int) -> Tensor:
    total = flambeau.zeros(2, 2)
    for k in range(3):
        total = total + flambeau.zeros([n, m]).sum() + k
    return total


@pytest.mark.parametrize("sizes", [(-1, 2), (2, -1), (-(2**63), 1), (-1, -1), (-1, 0)])
def test_negative_sizes_are_refused_as_by_the_interpreter(sizes):
    function = flambeau.script(filled)
    for _ in range(4):
        with pytest.raises(RuntimeError, match="negative"):
            function(*sizes)
        assert function(2, 3).tolist() == [[3.0, 3.0], [3.0, 3.0]]


@pytest.mark.parametrize("sizes", [(2**40, 2**40), (2**62, 2), (2**62, 4), (2**32, 2**32), (2**61, 1)])
def test_too_many_bytes_are_refused(sizes):
    function = flambeau.script(filled)
    for _ in range(4):
        with pytest.raises((RuntimeError, MemoryError)):
            function(*sizes)
        assert function(0, 7).tolist() == [[3.0, 3.0], [3.0, 3.0]]


def one_way(x: Tensor, n: int, is_made: bool) -> Tensor:
    for _ in range(3):
        x = x + flambeau.ones([n, n]).sum() if is_made else x * 2
        x = x + flambeau.zeros([n, n]).sum()
    return x


def test_a_tensor_of_one_way_says_nothing_of_sizes_elsewhere():
    function = flambeau.script(one_way)
    for _ in range(3):
        for n in (0, 1, 3):
            for is_made in (False, True):
                np.testing.assert_array_equal(
                    function(flambeau.ones(2, 2), n, is_made).numpy(), one_way(flambeau.ones(2, 2), n, is_made).numpy()
                )
        for is_made in (False, True):
            with pytest.raises(RuntimeError, match="negative"):
                function(flambeau.ones(2, 2), -2, is_made)


def outer(x: Tensor, steps: int) -> Tensor:
    total = x[:, None] * x[None, :]
    for k in range(steps):
        total = (x[:, None] * x[None, :] + total).roll(1, 0) * 0.5
        if k % 2 == 0:
            total = total[:, 1:] if total.size(1) > 1 else total
            total = total.sum(1, keepdim=True) + x[None, :]
    return total


def test_tensors_of_the_sizes_of_others():
    function = flambeau.script(outer)
    rng = np.random.default_rng(3)
    for size in (5, 1, 0, 2, 33):
        for steps in (0, 1, 4):
            x = flambeau.tensor(rng.standard_normal(size))
            np.testing.assert_allclose(function(x, steps).numpy(), outer(x, steps).numpy(), rtol=1e-12)


def test_sizes_are_looked_at_once_for_tensors_alike():
    function = flambeau.script(one_way)
    function.compile(flambeau.ones(2, 2), 3, True)
    text = str(function.llvm_ir)
    body = text[text.index("@flambeau_function(") :]
    assert "call ptr @new_block_of_2(" in body
    assert "i128" not in body
