"""Numbers made of sizes stay open in a trace; of comparisons only the outcome is fixed."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.jit import GuardError, TracerWarning

F = nn.functional

OPEN: list[Any] = [
    lambda x: x.shape[1] * 2 + x,
    lambda x: 2.5 - x.shape[1] + 0 * x,
    lambda x: x.shape[1] / (x + 1),
    lambda x: x.shape[1] // (x + 1),
    lambda x: x.shape[1] ** (x * 0.01),
    lambda x: x.shape[1] % (x.long() + 1),
    lambda x: x.shape[1] / (x.bool() + 1),
    lambda x: (x.shape[1] / 2 + 0.5) ** x.sign(),
    lambda x: 7 % x.shape[0] + x,
    lambda x: x.shape[1] > x,
    lambda x: x == x.shape[0],
    lambda x: (x.shape[1] / 2) * x,
    lambda x: x / x.shape[0] ** 0.5,
    lambda x: x * (1.0 / x.size(0)),
    lambda x: x * (x.size(0) ** 2 - x.size(0) ** 3),
    lambda x: x * 2.0 ** x.size(0),
    lambda x: x.new_zeros(math.floor(x.size(0) / 2) + math.ceil(x.size(1) / 2), round(x.size(1) / 2)),
    lambda x: x[: math.trunc(x.size(0) * 0.5)],
    lambda x: x * abs(x.shape[0] - 9) + divmod(x.shape[0], 2)[1] - divmod(9, x.shape[0])[0],
    lambda x: x * -x.shape[0] + (+x.shape[1]),
    lambda x: x.sum() / max(x.shape[0], 1) + x,
    lambda x: x.clamp(0, x.shape[0] / 4),
    lambda x: F.layer_norm(x, x.shape[1:], eps=x.shape[0] * 1e-5),
    lambda x: F.interpolate(x[None, None], size=(x.shape[0] * 2, x.shape[1] * 2)),
    lambda x: F.interpolate(x[None, None], size=x.shape[-2:], mode="bilinear", align_corners=False),
    lambda x: x.sum() * math.prod(x.shape) + sum(x.shape),
]


@pytest.mark.parametrize("index", range(len(OPEN)))
def test_numbers_made_of_sizes_stay_open(index: int) -> None:
    take = OPEN[index]
    small, large = flambeau.arange(12.0).reshape(3, 4), flambeau.arange(20.0).reshape(4, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if "max" in take.__code__.co_names else "error", TracerWarning)
        traced = flambeau.trace(take, small)
    for x in (small, large):
        expected, found = take(x), traced(x)
        assert found.dtype is expected.dtype
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def test_a_count_that_is_a_tensor_stays_open() -> None:
    traced = flambeau.trace(lambda x, k: x.topk(k)[0], (flambeau.ones(4), flambeau.tensor(2)))
    assert traced(flambeau.arange(5.0), flambeau.tensor(3)).tolist() == [4.0, 3.0, 2.0]
    assert traced.baked == []


def test_a_count_in_a_buffer_is_read_again() -> None:
    class Most(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("k", flambeau.tensor(1))

        def forward(self, x: Any) -> Any:
            return x.topk(self.k)[0]

    module = Most()
    traced = flambeau.trace(module, flambeau.ones(4))
    module.k.fill_(3)
    assert traced(flambeau.arange(5.0)).tolist() == [4.0, 3.0, 2.0]


def test_floats_are_no_counts() -> None:
    with pytest.raises(TypeError, match="expected a tensor holding int, got one of dtype"):
        flambeau.ones(4).topk(flambeau.tensor(2.0))


def test_a_comparison_fixes_its_outcome_only() -> None:
    with pytest.warns(TracerWarning, match="Comparing sizes fixes the outcome of a comparison in the trace, here True"):
        traced = flambeau.trace(lambda x: x * 2 if x.shape[0] > 2 else x, flambeau.ones(3))
    assert [b.what for b in traced.baked] == ["the outcome of a comparison"]
    assert traced(flambeau.ones(7)).tolist() == [2.0] * 7
    with pytest.raises(GuardError, match=r"the trace fixed the outcome of a comparison .* to True"):
        traced(flambeau.ones(2))


@pytest.mark.parametrize(
    ("take", "what"),
    [
        (lambda x: x * 2 ** x.shape[0], "a Python integer"),
        (lambda x: x * (x.shape[0] << 1), "a Python integer"),
        (lambda x: x * (6 & x.shape[0]), "a Python integer"),
        (lambda x: x * math.sqrt(x.shape[0]), "a Python float"),
        (lambda x: x * round(x.shape[0] / 7, 2), "a Python float"),
        (lambda x: x + (x.shape[0] * 1j).imag, "a Python number"),
    ],
)
def test_what_needs_the_number_fixes_it(take: Any, what: str) -> None:
    with pytest.warns(TracerWarning, match=what):
        traced = flambeau.trace(take, flambeau.ones(3))
    assert traced(flambeau.ones(3)).tolist() == take(flambeau.ones(3)).tolist()
    with pytest.raises(GuardError, match=what):
        traced(flambeau.ones(8))


def test_a_float_made_of_a_size_may_be_marked() -> None:
    def scaled(x: Any) -> Any:
        half = flambeau.jit.dynamic(x.shape[0] / 2)
        return x * math.sqrt(flambeau.jit.allow(x.shape[0] / 2)) if half > 1 else x

    with warnings.catch_warnings():
        warnings.simplefilter("error", TracerWarning)
        traced = flambeau.trace(scaled, flambeau.ones(3))
    assert [b.value for b in traced.baked] == [1.5]


def test_sizes_given_to_scripts_stay_open() -> None:
    @flambeau.script
    def grown(x: flambeau.Tensor, n: int, by: float, rest: list[int], table: dict[str, int]) -> flambeau.Tensor:
        for _ in range(n):
            x = x + by
        return x + rest[0] + table["k"]

    def given(x: Any) -> Any:
        n = x.shape[0]
        return grown(x, n, n / 2, [n, 1], {"k": n})

    with warnings.catch_warnings():
        warnings.simplefilter("error", TracerWarning)
        traced = flambeau.trace(given, flambeau.ones(2))
    assert traced.baked == []
    assert traced(flambeau.ones(4)).tolist() == given(flambeau.ones(4)).tolist() == [17.0] * 4


def test_a_size_that_an_attribute_is_given_is_fixed() -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.size = 0

        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            return x + self.size

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = flambeau.script(Last())

        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            self.last.size = x.shape[0]
            return self.last(x)

    outer = Outer()
    with pytest.warns(TracerWarning, match="a Python integer"):
        traced = flambeau.trace(outer, flambeau.ones(3))
    assert type(outer.last.size) is int
    with pytest.raises(GuardError, match="a Python integer"):
        traced(flambeau.ones(5))


NUMBERS_OF_TENSORS: list[Any] = [
    lambda x, i, s: x[i:],
    lambda x, i, s: x[:, i : i + 2, ...],
    lambda x, i, s: x[-i:, ::i],
    lambda x, i, s: flambeau.full((2,), i),
    lambda x, i, s: flambeau.full((2,), s) + x.sum(),
    lambda x, i, s: flambeau.arange(i + 3),
    lambda x, i, s: flambeau.arange(0, i, s),
    lambda x, i, s: x.clamp(s, i + 4),
    lambda x, i, s: flambeau.add(x, x, alpha=i),
    lambda x, i, s: flambeau.nn.functional.leaky_relu(x - 3, s),
    lambda x, i, s: flambeau.layer_norm(x, [x.shape[1]], eps=s),
    lambda x, i, s: flambeau.full((2,), s.bfloat16()),
]


@pytest.mark.parametrize("index", range(len(NUMBERS_OF_TENSORS)))
def test_tensors_that_operators_take_as_numbers_stay_open(index: int) -> None:
    function = NUMBERS_OF_TENSORS[index]
    x = flambeau.arange(24.0).reshape(4, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = flambeau.trace(function, (x, flambeau.tensor(1), flambeau.tensor(0.5)))
    for rows, i, s in ((4, 1, 0.5), (4, 2, 0.25), (6, 3, 0.125)):
        call = (flambeau.arange(6.0 * rows).reshape(rows, 6), flambeau.tensor(i), flambeau.tensor(s))
        np.testing.assert_allclose(traced(*call).float().numpy(), function(*call).float().numpy(), rtol=1e-6)


def test_a_slice_of_what_is_assigned_stays_open() -> None:
    def shifted(x: flambeau.Tensor, i: flambeau.Tensor) -> flambeau.Tensor:
        y = x.clone()
        y[i:] = 3
        y[:, :i] += 1
        return y

    x = flambeau.arange(24.0).reshape(4, 6)
    traced = flambeau.trace(shifted, (x, flambeau.tensor(1)))
    for i in (2, 0, -1, 9):
        np.testing.assert_array_equal(traced(x, flambeau.tensor(i)).numpy(), shifted(x, flambeau.tensor(i)).numpy())
