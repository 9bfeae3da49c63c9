"""Averages of windows, linear interpolation and reflected borders by native code, against the kernels over arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.ops import native_windows
from flambeau.schema import registry

_draw = np.random.default_rng(5)
DIMENSIONS = (1, 2, 3)
LINEAR = {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}


def _arrays(dims: int) -> Iterator[np.ndarray[Any, Any]]:
    sizes = (2, 3, *(7, 5, 4)[:dims])
    for dtype in ("f4", "f8"):
        array = _draw.normal(size=sizes).astype(dtype)
        array[0, 0].flat[0] = _draw.choice([np.nan, np.inf, -np.inf])
        yield array
        yield np.ascontiguousarray(array.T).T
        yield np.repeat(array, 2, axis=-1)[..., ::2]


def _calls(dims: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for kernel, stride, padding, is_ceiled, counts in ((2, [], 0, False, True), (3, 2, 1, True, False)):
        lists = ([kernel] * dims, [stride] * dims if stride else [], [padding] * dims)
        yield f"aten::avg_pool{dims}d", (*lists, is_ceiled, counts, *((None,) if dims > 1 else ()))
    for count in (1, 3):
        yield f"aten::adaptive_avg_pool{dims}d", ([count] * dims,)
    scales = (None,) * dims
    for is_aligned in (False, True):
        yield f"aten::upsample_{LINEAR[dims]}", ([6, 9, 4][:dims], is_aligned, *scales)
    for word in ("reflection", "replication"):
        yield f"aten::{word}_pad{dims}d", ([1, 2] * dims,)


@pytest.mark.parametrize("dims", DIMENSIONS)
def test_c16_native_windows_are_those_of_arrays(dims: int, monkeypatch: pytest.MonkeyPatch) -> None:
    served = 0
    for name, rest in _calls(dims):
        kernel = registry.get(name).kernel
        for array in _arrays(dims):
            tensor = flambeau.from_numpy(array)
            found = kernel(tensor, *rest).numpy()
            served += native_windows._known.get((name, *native_windows.look(array), *_flat(rest))) is not None
            with monkeypatch.context() as patch:
                patch.setattr(native_windows, "_find", lambda *arguments: None)
                patch.setattr(native_windows, "_known", native_windows.KnownCalls())
                expected = kernel(tensor, *rest).numpy()
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=f"{name} {rest}")
    assert served > 0 or not available()


def _flat(rest: tuple[Any, ...]) -> list[Any]:
    return [(*one, None) if isinstance(one, list) else one for one in rest]


def test_c16_what_is_refused_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Output size is too small"):
            flambeau.nn.functional.avg_pool2d(flambeau.ones(1, 1, 2, 2), 3)
        with pytest.raises(NotImplementedError):
            flambeau.nn.functional.adaptive_avg_pool2d(flambeau.ones(1, 1, 2, 2, dtype=flambeau.int64), 1)


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "lgamma", "digamma", "gelu"])
def test_c16_special_functions_of_few_elements_are_as_exact_as_of_many(name: str) -> None:
    function = getattr(flambeau, name, None) or getattr(flambeau.nn.functional, name)
    values = flambeau.linspace(-0.99, 0.99, 1000, dtype=flambeau.float64) * (1 if name == "erfinv" else 3)
    values[0], values[1], values[2] = 0.0, float("nan"), float("inf")
    whole = function(values)
    pieces = flambeau.cat([function(values[k : k + 50]) for k in range(0, 1000, 50)])  # too few for native code
    np.testing.assert_allclose(whole.numpy(), pieces.numpy(), rtol=1e-12, atol=1e-14)
    x = values[3:].clone().requires_grad_()
    if name != "erfinv":
        function(x).sum().backward()
        short = values[3:23].clone().requires_grad_()
        function(short).sum().backward()
        np.testing.assert_allclose(x.grad[:20].numpy(), short.grad.numpy(), rtol=1e-11, atol=1e-13)
