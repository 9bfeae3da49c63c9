"""Every layer, scripted and traced, frozen; and traced ones on inputs of other sizes."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from tests.nn.layer_table import draw, rows

_count = itertools.count()
ROWS = [(make, inputs) for make, inputs, remark in rows() if remark != "untraced"]


def flat(value: Any) -> list[Tensor]:
    if isinstance(value, tuple | list):
        return [one for item in value for one in flat(item)]
    return [] if value is None else [value]


def assert_same(mine: Any, theirs: Any, what: str) -> None:
    for a, b in zip(flat(mine), flat(theirs), strict=True):
        x, y = a.detach().numpy(), b.detach().numpy()
        assert (x.shape, x.dtype) == (y.shape, y.dtype), what
        np.testing.assert_allclose(x, y, rtol=5e-5, atol=5e-5, err_msg=what)


def twice(array: np.ndarray[Any, Any]) -> Tensor:
    return flambeau.from_numpy(np.concatenate([array, array[::-1]]))


@pytest.mark.parametrize(("make", "inputs"), ROWS, ids=[make for make, _ in ROWS])
def test_frozen_layers(make: str, inputs: list[str]) -> None:
    flambeau.manual_seed(1)
    layer: nn.Module = eval(make, {"nn": nn}).eval()

    def fresh() -> list[Tensor]:
        return [flambeau.from_numpy(a) for a in draw(inputs, np.float32)]

    want = layer(*fresh())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = flambeau.trace(layer, tuple(fresh()))
    if next(_count) % 3 == 0:
        assert_same(flambeau.jit.freeze(flambeau.script(layer))(*fresh()), want, "scripted")
    frozen = flambeau.jit.freeze(traced)
    assert_same(frozen(*fresh()), want, "traced")
    assert frozen.state_dict() == {} or "max_norm" in make, "an embedding with a largest norm writes its weights"
    others = [twice(a) for a in draw(inputs, np.float32)]
    try:
        want = layer(*others)
    except (RuntimeError, ValueError):
        return
    for name, module in (("traced", traced), ("frozen", frozen)):
        try:
            got = module(*[twice(a) for a in draw(inputs, np.float32)])
        except flambeau.jit.GuardError:
            continue
        assert_same(got, want, f"{name} on other sizes")
