"""Copies of views, windows of signals, statistics, and forms that graphs of models contain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef, Sample
from flambeau.tensor.tensor import Tensor, wrap
from tests.ops import peer

COPIES = [d for d in registry.all_definitions() if d.family == "copy" and d.samples]


def flat(value: Any) -> list[Tensor]:
    return [value] if isinstance(value, Tensor) else [t for v in value for t in flat(v)]


@pytest.mark.parametrize(("definition", "sample"), peer.cases(COPIES))
def test_copies_share_nothing(definition: OpDef, sample: Sample) -> None:
    overload, arguments, result = peer.bound(definition, sample)
    if isinstance(result, Tensor):
        peer.assert_rules_hold(overload, arguments, result)
    for one in flat(result):
        assert not any(one.shares_storage(a) for a in arguments if isinstance(a, Tensor))
        assert one.is_contiguous() or "unsafe" in definition.name  # these lie as in the whole


@pytest.mark.parametrize(("definition", "sample"), peer.cases(COPIES))
def test_copies_hold_what_those_of_torch_hold(definition: OpDef, sample: Sample) -> None:
    pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    overload, arguments, result = peer.bound(definition, sample)
    theirs = peer.in_torch(overload, arguments)
    for ours, wanted in zip(flat(result), [theirs] if not isinstance(theirs, list | tuple) else theirs, strict=True):
        assert tuple(ours.shape) == tuple(wanted.shape)
        np.testing.assert_array_equal(ours._array, wanted.resolve_conj().numpy())


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name: str) -> None:
    make = getattr(flambeau, f"{name}_window")
    assert make(4, dtype=flambeau.float64).dtype is flambeau.float64
    np.testing.assert_allclose(make(6)._array, make(7, False)._array[:6], atol=1e-6)
    whole = make(9, periodic=False)._array
    np.testing.assert_allclose(whole, whole[::-1], atol=1e-6)
    assert (make(0).shape, make(1).tolist()) == ((0,), [1.0])
    with pytest.raises(RuntimeError, match=f"{name}_window expects floating point dtypes, got: int64"):
        make(4, dtype=flambeau.int64)


def test_windows_as_numpy_has_them() -> None:
    for ours, theirs in (("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman),
                         ("bartlett", np.bartlett)):  # fmt: skip
        found = getattr(flambeau, f"{ours}_window")(9, False, dtype=flambeau.float64)
        np.testing.assert_allclose(found._array, theirs(9), atol=1e-12)
    found = flambeau.kaiser_window(9, False, 6.0, dtype=flambeau.float64)
    np.testing.assert_allclose(found._array, np.kaiser(9, 6.0), atol=1e-12)
    assert flambeau.hamming_window(4, True, 0.5, 0.25).tolist() == pytest.approx([0.25, 0.5, 0.75, 0.5])


def test_statistics_of_hostile_numbers() -> None:
    assert flambeau.cov(flambeau.ones(0)).isnan().item()
    assert flambeau.cov(flambeau.tensor(2.0)).isnan().item()
    z = wrap(np.array([[1 + 1j, 2, 3j], [0, 1, 1j]]))
    np.testing.assert_allclose(z.cov()._array, np.cov(z._array))
    np.testing.assert_allclose(z.corrcoef()._array, np.corrcoef(z._array))
    assert flambeau.trapezoid(flambeau.ones(0)).item() == 0
    assert flambeau.trapezoid(flambeau.tensor([1, 2])).dtype is flambeau.float32
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        flambeau.trapezoid(flambeau.tensor(1.0))
    y = wrap(np.arange(12.0).reshape(3, 4))
    np.testing.assert_allclose(flambeau.trapz(y, dim=0, dx=2.0)._array, np.trapezoid(y._array, dx=2, axis=0))
    assert flambeau.histogram(flambeau.empty(0), 2).bin_edges.tolist() == [0.0, 0.5, 1.0]
    heights, edges = flambeau.histogram(flambeau.tensor([3.0, 3.0]), 2)
    assert (heights.tolist(), edges.tolist()) == ([0, 2], [2.5, 3, 3.5])
    with pytest.raises(RuntimeError, match="is not finite"):
        flambeau.histogram(flambeau.tensor([float("nan")]), 2)
    x = flambeau.ones(2, 3)
    assert x.renorm_(2, 0, 1.0) is x
    np.testing.assert_allclose(np.linalg.norm(x._array, axis=1), 1, rtol=1e-5)


def test_other_forms() -> None:
    assert flambeau.result_type(flambeau.tensor([1]), 2.0) is flambeau.float32
    assert flambeau.result_type(flambeau.tensor([1], dtype=flambeau.uint8), flambeau.tensor(300)) is flambeau.uint8
    x = wrap(np.arange(6.0).reshape(2, 3))
    assert x.sum_to_size(2, 3) is not x
    assert x.sum_to_size(3).tolist() == [3.0, 5.0, 7.0]
    assert x.is_set_to(x[:])
    assert not x.is_set_to(x[1:])
    mantissa, exponent = flambeau.frexp(flambeau.tensor([3.0, float("inf"), 0.0], dtype=flambeau.float16))
    assert (mantissa.tolist(), exponent.tolist()) == ([0.75, float("inf"), 0.0], [2, 0, 0])
    with pytest.raises(RuntimeError, match="nonzero value"):
        flambeau._assert_async(flambeau.tensor(0))
    parts = x.unsafe_split(1)
    parts[0].zero_()
    assert x.sum().item() == 15
    assert [p.shape for p in x.unsafe_chunk(2, 1)] == [(2, 2), (2, 1)]


@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
def test_programs(backend: str) -> None:
    def f(x: flambeau.Tensor) -> flambeau.Tensor:
        y = flambeau.permute_copy(x, [1, 0]) + flambeau.hann_window(2)
        flambeau._assert_async(flambeau.tensor(1))
        z = y.sum_to_size([1, 2]) + flambeau.cov(y).sum() + x.narrow_copy(0, 0, 1).sum()
        if flambeau.result_type(x, 2) == x.dtype:
            z = z + flambeau.trapezoid(y, dim=0)
        return z

    x = wrap(np.arange(6, dtype=np.float32).reshape(2, 3))
    script = flambeau.script(f, backend=backend)
    np.testing.assert_allclose(script(x)._array, f(x)._array, rtol=1e-6)


def test_places_of_numbers_that_count_elements() -> None:
    torch = pytest.importorskip("torch")
    for shape in ((2, 3, 4), (24,), 24):
        ours = flambeau.unravel_index(flambeau.arange(24).reshape(4, 6), shape)
        theirs = torch.unravel_index(torch.arange(24).reshape(4, 6), shape)
        assert [place.tolist() for place in ours] == [place.tolist() for place in theirs]
    with pytest.raises(TypeError, match=r"whole numbers, but got flambeau\.float32: write indices\.long\(\)"):
        flambeau.unravel_index(flambeau.zeros(2), (2,))
    with pytest.raises(ValueError, match=r"sizes \(2, 3\) has 6 elements, but got"):
        flambeau.unravel_index(flambeau.tensor([6]), (2, 3))
    with pytest.raises(ValueError, match=r"sizes are 0 or more, but got \(-1,\)"):
        flambeau.unravel_index(flambeau.tensor([0]), (-1,))
