"""Views that one call gives several of: neither may be written, nor used when what they show was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import flambeau
from flambeau import Tensor

CUTS: dict[str, Callable[[Tensor], Sequence[Tensor]]] = {
    "Split": lambda y: y.chunk(2),
    "Unbind": lambda y: y.unbind(0),
}
SLICES: dict[str, Callable[[Tensor], Sequence[Tensor]]] = {
    "tensor_split": lambda y: y.tensor_split(2),
    "hsplit": lambda y: y.hsplit(2),
    "slices": lambda y: (y[:2], y[2:]),
}


def written_base(cut: Callable[[Tensor], Sequence[Tensor]]) -> tuple[Tensor, Sequence[Tensor]]:
    x = flambeau.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    parts = cut(y)
    y.mul_(3)
    return x, parts


@pytest.mark.parametrize("name", CUTS)
def test_one_of_several_is_refused_when_its_base_was_written(name: str) -> None:
    _, parts = written_base(CUTS[name])
    text = f"Output 1 of {name} is a view and its base or another view of its base has been modified inplace. This view"
    with pytest.raises(RuntimeError, match=text):
        parts[1].sum()
    with pytest.raises(RuntimeError, match=text):
        _ = parts[1].grad_fn
    assert parts[1].tolist() in ([9, 12], 6)  # to read numbers is no use of gradients
    assert "grad_fn=<Invalid>" in repr(parts[1])
    with flambeau.no_grad():
        assert parts[1].sum().item() in (21, 6)
    assert parts[1].detach().sum().item() in (21, 6)


@pytest.mark.parametrize("name", CUTS)
def test_and_so_is_a_view_of_it(name: str) -> None:
    x = flambeau.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    row = CUTS[name](y)[0].view(-1)
    with pytest.raises(RuntimeError, match="Output 0 of View is a view and is being modified inplace"):
        row.mul_(2)
    y.mul_(3)
    with pytest.raises(RuntimeError, match="Output 0 of View is a view and its base or another view"):
        row.sum()


@pytest.mark.parametrize("name", CUTS)
def test_what_was_computed_before_keeps_its_gradients(name: str) -> None:
    x = flambeau.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    double = CUTS[name](y)[0] * 2
    y.mul_(3)
    double.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == ([2, 2, 0, 0] if name != "Unbind" else [2, 0, 0, 0])


@pytest.mark.parametrize("name", SLICES)
def test_slices_may_be_written_and_used(name: str) -> None:
    x, parts = written_base(SLICES[name])
    parts[0].mul_(2)
    (parts[0].sum() + parts[1].sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6, 6, 3, 3]


def test_each_of_several_broadcast_tensors_asks_by_itself() -> None:
    x, y = flambeau.ones(3, requires_grad=True), flambeau.ones(2, 1)
    first, second = flambeau.broadcast_tensors(x, y)
    assert first.requires_grad
    assert not second.requires_grad
    (first * second).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]
