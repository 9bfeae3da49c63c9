"""Groups that a routine computes: convolutions in compiled functions beside PyTorch's in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from tests.codegen.test_convolutions import compare, numbers, random_case

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
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


@flambeau.script
def block(
    x: flambeau.Tensor, w: flambeau.Tensor, b: flambeau.Tensor, scale: flambeau.Tensor, shift: flambeau.Tensor,
    mean: flambeau.Tensor, variance: flambeau.Tensor, r: flambeau.Tensor,
) -> flambeau.Tensor:  # fmt: skip
    y = flambeau.conv2d(x, w, b, [2, 1], [1, 1])
    y = flambeau.batch_norm(y, scale, shift, mean, variance, False, 0.1, 1e-5, False)
    return flambeau.relu(y + r)


@flambeau.script
def bounded(x: flambeau.Tensor, w: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.nn.functional.hardtanh(flambeau.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 3), 0.0, 6.0)


@flambeau.script
def spread(x: flambeau.Tensor, w: flambeau.Tensor, r: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.relu(flambeau.conv_transpose2d(x, w, None, [2, 2]) + r)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [5, 33, 90])
def test_norms_additions_and_bounds_are_taken_along(dtype: str, size: int) -> None:
    sizes = [(3, 4, size, size), (13, 4, 3, 3), *[(13,)] * 4]
    x, w, b, scale, shift, mean = (numbers(k, *n, dtype=dtype) for k, n in enumerate(sizes))
    variance, r = abs(b) + 0.1, numbers(7, 3, 13, (size - 1) // 2 + 1, size, dtype=dtype)
    for added in (r, np.moveaxis(np.ascontiguousarray(np.moveaxis(r, 1, -1)), -1, 1)):
        given = (x, w, b, scale, shift, mean, variance, added)
        found = called(block, *map(flambeau.from_numpy, given))
        xs, ws, bs, *vectors, rs = (torch.tensor(a).double() for a in given)
        y = torch.batch_norm(torch.conv2d(xs, ws, bs, [2, 1], [1, 1]), *vectors, False, 0.1, 1e-5, False)
        compare(found, torch.relu(y + rs), (dtype, size))
    for one in block.explain(measure=False).compilations:
        assert [k.operators for k in one.kernels] == [("conv2d", "batch_norm", "add", "relu")]


def test_bounds_of_grouped_windows_keep_what_is_no_number() -> None:
    x, w = numbers(0, 2, 6, 7, 7), numbers(1, 9, 2, 3, 3) * 4
    x[1, 5, 3, 3] = np.nan
    found = called(bounded, flambeau.from_numpy(x), flambeau.from_numpy(w)).numpy()
    expected = torch.conv2d(torch.tensor(x), torch.tensor(w), None, 1, 1, 1, 3).clamp(0.0, 6.0).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert np.isnan(found).any()


def test_what_is_added_may_have_other_sizes() -> None:
    x, w = numbers(0, 1, 3, 4, 4), numbers(1, 3, 5, 3, 3)
    for sizes in ((1, 5, 9, 9), (1, 5, 1, 1), (2, 5, 9, 9)):
        r = numbers(2, *sizes)
        found = called(spread, *map(flambeau.from_numpy, (x, w, r))).numpy()
        expected = torch.relu(torch.conv_transpose2d(torch.tensor(x), torch.tensor(w), None, 2) + torch.tensor(r))
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="must match the size"):
        spread(*map(flambeau.from_numpy, (x, w, numbers(2, 1, 5, 9, 8))))


@flambeau.script
def written(x: flambeau.Tensor, w: flambeau.Tensor, r: flambeau.Tensor) -> flambeau.Tensor:
    y = flambeau.conv2d(x, w, None, [1, 1], [1, 1])
    y += r
    return flambeau.relu_(y)


def test_what_is_written_to_sums_is_taken_along_too() -> None:
    x, w, r = numbers(0, 2, 3, 9, 9), numbers(1, 8, 3, 3, 3), numbers(2, 2, 8, 9, 9)
    expected = torch.relu(torch.conv2d(torch.tensor(x), torch.tensor(w), None, 1, 1) + torch.tensor(r)).numpy()
    given = [flambeau.from_numpy(a) for a in (x, w, r)]
    np.testing.assert_allclose(called(written, *given).numpy(), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(given[2].numpy(), r)
    assert written.explain(measure=False).compilations[-1].kernels[-1].operators == ("conv2d", "add_", "relu_")
    with pytest.raises(RuntimeError, match="output with shape"):
        written(given[0][:1], given[1], given[2])
    with pytest.raises(RuntimeError):
        written(given[0], given[1], flambeau.ones(2, 8, 9, 9, 1))


@flambeau.script
def of_the_batch(x: flambeau.Tensor, w: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.batch_norm(flambeau.conv2d(x, w), None, None, None, None, True, 0.1, 1e-5, False)


def test_norms_by_statistics_of_the_batch_are_no_factors() -> None:
    x, w = numbers(0, 3, 2, 7, 7), numbers(1, 5, 2, 3, 3)
    y = torch.conv2d(torch.tensor(x).double(), torch.tensor(w).double())
    expected = torch.batch_norm(y, None, None, None, None, True, 0.1, 1e-5, False)
    found = called(of_the_batch, flambeau.from_numpy(x), flambeau.from_numpy(w))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [([1, 1], [1, 1]), ([2, 2], [1, 1]), ([1, 2], [2, 0], [1, 2]), ([1, 1], [0, 3])])
@pytest.mark.parametrize("size", [7, 14, 30])
def test_short_rows_have_a_copy_for_each_column_of_the_kernel(size: int, options: tuple[list[int], ...]) -> None:
    x, w, b = numbers(0, 2, 5, 14, size), numbers(1, 45, 5, 3, 3), numbers(2, 45)
    found = called(program("conv2d", list(options)), *map(flambeau.from_numpy, (x, w, b)))
    exact = [torch.tensor(a).double() for a in (x, w, b)]
    compare(found, torch.conv2d(*exact, *options) + 1.0, (size, options))
