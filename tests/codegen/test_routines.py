"""Groups that a routine computes: convolutions in compiled functions beside PyTorch's in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from tests.codegen.test_convolutions import compare, numbers, random_case

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


def called(function: Any, *arguments: Any, times: int = 4) -> Any:
    """What the last of some calls gives: from the third on native code serves."""
    for _ in range(times):
        result = function(*arguments)
    return result


def is_native(function: Any) -> bool:
    return bool(function.explain(measure=False).is_native)


def program(name: str, options: list[Any]) -> Any:
    """A function of three tensors that calls an operator with constants, and something behind it."""
    written = ", ".join(map(repr, options))
    head = "def f(x: Tensor, w: Tensor, b: Tensor) -> Tensor:\n"
    return flambeau.jit.CompilationUnit(f"{head}    return flambeau.{name}(x, w, b, {written}) + 1.0\n").f


def test_random_windows_in_native_functions_are_those_of_torch() -> None:
    rng = np.random.default_rng(11)
    cases = [case for _ in range(16) if (case := random_case(rng)) is not None]
    assert len(cases) > 8
    for name, arrays, options in cases:
        function = program(name, options)
        found = called(function, *map(flambeau.from_numpy, arrays))
        exact = [torch.tensor(np.ascontiguousarray(a)).double() for a in arrays]
        compare(found, getattr(torch.nn.functional, name)(*exact, *options) + 1.0, (name, options))
        assert is_native(function), str(function.explain(measure=False))
        eager = getattr(flambeau.nn.functional, name)(*map(flambeau.from_numpy, arrays), *options) + 1.0
        np.testing.assert_array_equal(found.numpy(), eager.numpy())
        assert found.stride() == eager.stride()


@flambeau.script
def layer(x: flambeau.Tensor, w: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.relu(flambeau.conv2d(x, w, None, [1, 1], [1, 1]))


def test_weights_changed_in_place_are_read_as_they_are() -> None:
    x, w = flambeau.from_numpy(numbers(0, 1, 3, 6, 6)), flambeau.from_numpy(numbers(1, 4, 3, 3, 3))
    first = called(layer, x, w).numpy().copy()
    w.mul_(2.0)
    np.testing.assert_allclose(layer(x, w).numpy(), 2 * first, rtol=1e-5)
    assert is_native(layer)


def test_other_sizes_and_strides_find_their_launch() -> None:
    w = flambeau.from_numpy(numbers(1, 4, 3, 3, 3))
    for size in (*range(3, 80), 3, 5):
        x = numbers(size, 1, size, 7, 3)
        seen = flambeau.from_numpy(x).permute(0, 3, 1, 2)
        expected = torch.relu(torch.conv2d(torch.tensor(x).permute(0, 3, 1, 2), torch.tensor(w.numpy()), padding=1))
        np.testing.assert_allclose(layer(seen, w).numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_what_the_operator_refuses_is_refused_in_its_words() -> None:
    x, w = flambeau.from_numpy(numbers(0, 1, 3, 6, 6)), flambeau.from_numpy(numbers(1, 4, 3, 3, 3))
    called(layer, x, w)
    with pytest.raises(RuntimeError, match="expected input\\[1, 2, 6, 6\\] to have 3 channels, but got 2 channels"):
        layer(x[:, :2], w)
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        layer(x[:, :, :0], flambeau.from_numpy(numbers(1, 4, 3, 9, 3)))
    assert tuple(layer(x, w).shape) == (1, 4, 6, 6)


def test_batches_of_nothing_and_other_dtypes_go_another_way() -> None:
    w = flambeau.ones(4, 3, 3, 3)
    assert tuple(called(layer, flambeau.zeros(0, 3, 6, 6), w).shape) == (0, 4, 6, 6)
    found = called(layer, flambeau.ones(1, 3, 3, 3, dtype=flambeau.int64), w.to(flambeau.int64))
    assert found.dtype == flambeau.int64
    assert int(found[0, 0, 1, 1]) == 27


def test_arguments_that_ask_for_gradients_are_recorded() -> None:
    x, w = numbers(0, 1, 3, 6, 6), numbers(1, 4, 3, 3, 3)
    weight = flambeau.tensor(w, requires_grad=True)
    called(layer, flambeau.from_numpy(x), weight).sum().backward()
    exact = torch.tensor(w, requires_grad=True)
    torch.relu(torch.conv2d(torch.tensor(x), exact, padding=1)).sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), exact.grad.numpy(), rtol=1e-4, atol=1e-4)
