"""Views that come often: windows that are known are what the kernels show, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau as fb
from flambeau.schema import registry
from flambeau.tensor import remembered_views, repeated_kernels
from flambeau.tensor.remembered_views import is_window, window_of
from flambeau.util.missed import MISSED, missed

OFTEN = 4
VIEWS: dict[str, Callable[[Any], Any]] = {
    "expand": lambda x: x.expand(5, 4, 6),
    "expand -1": lambda x: x.expand(2, -1, -1),
    "broadcast_to": lambda x: fb.broadcast_to(x, (3, 4, 6)),
    "expand_as": lambda x: x.expand_as(fb.zeros(2, 4, 6)),
    "view_as": lambda x: x.view_as(fb.zeros(6, 4)),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "x[:, None]": lambda x: x[:, None],
    "movedim": lambda x: x.movedim(0, 1),
    "diagonal": lambda x: x.diagonal(1),
    "unflatten": lambda x: x.unflatten(1, (2, 3)),
    "unfold": lambda x: x.unfold(1, 3, 2),
    "as_strided": lambda x: x.as_strided((2, 3), (6, 1)),
    "as_strided from": lambda x: x.as_strided((2, 3), (6, 1), 2),
    "view": lambda x: x.view(3, 8),
    "view of none": lambda x: x[:0].view(0, 6),
    "transpose": lambda x: x.transpose(0, 1),
    "select": lambda x: x.select(1, 2),
}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(repeated_kernels, "LOOKED_AT", OFTEN)
    monkeypatch.setattr(remembered_views, "GAIN", -1e9)  # whatever their time
    repeated_kernels._forget_all()
    yield
    repeated_kernels._forget_all()


def facts(view: Any, base: Any) -> Any:
    """All that tells one view of a tensor from another."""
    shown = view._base is base and view._storage is base._storage
    return view.shape, view.stride(), view.storage_offset(), view.dtype, shown, view.tolist()


@pytest.mark.parametrize("name", VIEWS)
def test_windows_are_those_of_the_kernel(name: str) -> None:
    x = fb.arange(24.0).reshape(4, 6).clone()
    expected = facts(VIEWS[name](x), x)
    for _ in range(4 * OFTEN):
        assert facts(VIEWS[name](x), x) == expected
    other = fb.arange(100.0, 148.0).reshape(8, 6).clone()
    part = other[4:]  # of a storage that begins before it
    seen, numbers = VIEWS[name](part), part.numpy()
    assert seen._base is other
    lone = fb.from_numpy(numbers.copy())
    expected_there = other.as_strided((2, 3), (6, 1), 2) if name == "as_strided from" else VIEWS[name](lone)
    assert seen.tolist() == expected_there.tolist()
    turned = fb.from_numpy(np.asfortranarray(x.numpy()))
    if not name.startswith(("view", "as_strided")):
        assert VIEWS[name](turned).tolist() == expected[-1]


def test_known_windows_are_recorded_written_and_refused_as_others() -> None:
    x = fb.ones(2, 3)
    for _ in range(4 * OFTEN):
        x.diagonal()
    x.diagonal().zero_()
    assert x.tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]
    weight = fb.nn.Parameter(fb.ones(2, 3))
    for _ in range(4 * OFTEN):
        seen = weight.diagonal()
    seen.sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    with fb.no_grad():
        inside = weight.diagonal()
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        inside.mul_(2)
    for _ in range(4 * OFTEN):
        with pytest.raises(IndexError):
            x.diagonal(0, 0, 5)


def test_which_overloads_show_windows() -> None:
    for name in ("aten::expand", "aten::diagonal", "aten::unfold", "aten::expand_as"):
        assert is_window(registry.get(name))
    for name in ("aten::to.dtype", "aten::contiguous", "aten::chunk", "aten::squeeze_", "aten::as_strided"):
        assert not is_window(registry.get(name))


def test_what_is_no_window_is_left_to_the_kernel() -> None:
    x = fb.ones(2, 3)
    assert window_of(lambda t: t.clone(), (x,)) is MISSED
    assert window_of(lambda t: t, (x,)) is MISSED
    assert window_of(lambda t: t[:0], (x,)) is MISSED
    assert window_of(lambda t: t.t(), (x.t(),)) is MISSED
    for _ in range(2 * OFTEN):
        x.t().unfold(0, 2, 1)
    find: Any = repeated_kernels.repeated(registry.get("aten::unfold"))
    assert list(find.__globals__["find"].__self__.values()) == [missed]


def test_conversions_that_give_their_operand_do_not_turn_off_others() -> None:
    x, y = fb.ones(3), fb.ones(3, dtype=fb.float64)
    for _ in range(4 * OFTEN):
        assert x.to(dtype=fb.float32) is x
        assert y.to(dtype=fb.float32).dtype is fb.float32
        assert x.to(fb.float32, copy=True) is not x
    assert not registry.get("aten::to.dtype").kernel.often.__globals__["is_off"]
