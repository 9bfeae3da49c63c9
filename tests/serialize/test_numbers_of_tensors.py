"""Numbers of tensors that became ints, and assertions as calls, in archives: PyTorch runs them as Flambeau does."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn


def following(n: int) -> int:
    return n + 1


class Numbers(nn.Module):
    def forward(self, x: Tensor, names: list[str]) -> tuple[int, str, list[int], int | None]:
        flambeau._assert(x.sum() > 0, "no sum")
        flambeau._assert(len(names) > 1, f"names: {len(names)}")
        largest: list[int] = []
        largest.append(x.max().item())
        scale: int | float = x.max().item()
        wide = nn.functional.interpolate(x[None, None].float(), scale_factor=x.max().item(), mode="nearest")
        if isinstance(scale, int):
            largest.append(scale)
        return following(x.max().item()) + wide.size(2), names[x[0].item()], largest, x.min().item()


def archive() -> bytes:
    file = io.BytesIO()
    flambeau.jit.save(flambeau.script(Numbers()), file)
    return file.getvalue()


def outcome(call: Any) -> str:
    try:
        return repr(call())
    except Exception as error:
        return str(error).strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("values", "names", "expected"),
    [
        ([1, 2], ["a", "b"], "(7, 'b', [2, 2], 1)"),
        ([1, 2], ["a"], "AssertionError: names: 1"),
        ([-1, -2], ["a", "b"], "AssertionError: no sum"),
        ([1.5, 2.5], ["a", "b", "c"], "expected an int here, and the number is a float"),
    ],
)
def test_archives_mean_the_same_there(values: list[float], names: list[str], expected: str) -> None:
    module, stored = flambeau.script(Numbers()), archive()
    loaded = flambeau.jit.load(io.BytesIO(stored))
    for ours in (module, loaded):
        assert expected in outcome(lambda ours=ours: ours(flambeau.tensor(values), names))
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.jit.load(io.BytesIO(stored))
    assert expected in outcome(lambda: theirs(torch.tensor(values), names))
