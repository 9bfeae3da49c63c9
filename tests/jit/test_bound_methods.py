"""Methods of objects and modules, scripted as they are written: `flambeau.script(model.encode)`."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor, nn


class Scale:
    """A class of users."""

    def __init__(self, by: float) -> None:
        self.by = by

    def apply(self, x: Tensor) -> Tensor:
        return x * self.by

    @classmethod
    def twice(cls, x: Tensor) -> Tensor:
        return x * 2


class Coder(nn.Module):
    """A module of which another method than `forward` is meant."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.encode(x).sum()

    def encode(self, x: Tensor) -> Tensor:
        return self.linear(x) * 2

    def unused(self, x: Tensor) -> Tensor:
        return self.linear(x).relu()


X = flambeau.tensor([1.0, -2.0])


def test_methods_of_objects() -> None:
    scripted = flambeau.script(Scale(3.0).apply)
    assert scripted(X).tolist() == [3.0, -6.0]
    assert "Scale self, Tensor x" in repr(scripted)


@pytest.mark.parametrize("name", ["forward", "encode", "unused"])
def test_methods_of_modules(name: str) -> None:
    module = Coder()
    method = getattr(module, name)
    scripted = flambeau.script(method)
    assert scripted(X).tolist() == pytest.approx(method(X).tolist())
    scripted(X).sum().backward()
    assert module.linear.weight.grad is not None


def test_methods_of_classes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"not a class method: programs may call Scale.twice\(\.\.\.\), or make it a"):
        flambeau.script(Scale.twice)
