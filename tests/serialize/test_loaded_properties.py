"""Properties of modules in archives: methods of names that PyTorch gives them too, and properties again once loaded."""

from __future__ import annotations

import io

import pytest

import flambeau
from flambeau import nn


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 3

    @property
    def more(self) -> int:
        return self.count + 10

    @more.setter
    def more(self, value: int) -> None:
        self.count = value - 10

    @property
    def fixed(self) -> int:
        return 5

    def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
        return x + self.more + self.fixed


def test_properties_are_there_after_loading() -> None:
    scripted = flambeau.script(Counter())
    assert "__more_getter" in scripted.code
    file = io.BytesIO()
    scripted.save(file)
    file.seek(0)
    loaded = flambeau.jit.load(file)
    assert (loaded.more, loaded.fixed, loaded(flambeau.zeros(1)).item()) == (13, 5, 18)
    loaded.more = 20
    assert (loaded.count, loaded.more, loaded(flambeau.zeros(1)).item()) == (10, 20, 25)
    with pytest.raises(AttributeError, match="property 'fixed' of Counter has no setter"):
        loaded.fixed = 1
    again = io.BytesIO()
    loaded.save(again)
    again.seek(0)
    assert flambeau.jit.load(again).more == 20


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_peers_read_them() -> None:
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    flambeau.script(Counter()).save(file)
    file.seek(0)
    assert torch.jit.load(file)(torch.zeros(1)).item() == 18
