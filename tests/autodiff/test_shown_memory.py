"""Compiled calls on the tape whose results are tensors that were there before: arguments, buffers, constants."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor


def added(x: Tensor, y: Tensor, n: int) -> Tensor:
    for _ in range(n):
        y = y + x
    return y


def added_part(x: Tensor, y: Tensor, n: int) -> Tensor:
    for _ in range(n):
        y = y + x
    return y[1:]


def added_in_list(x: Tensor, y: Tensor, n: int) -> list[Tensor]:
    for _ in range(n):
        y = y + x
    return [x * 2, y]


class Counter(flambeau.nn.Module):
    """Gives its buffer where it counts to zero."""

    start: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("start", flambeau.tensor([3.0, 4.0]))

    def forward(self, x: Tensor, n: int) -> Tensor:
        y = self.start
        for _ in range(n):
            y = y + x
        return y


@pytest.mark.parametrize("program", [added, added_part, added_in_list], ids=lambda program: program.__name__)
def test_c15_arguments_that_come_back_are_not_put_on_the_tape(program: object) -> None:
    compiled = flambeau.script(program)
    for n in (2, 0, 2, 0, 0):
        x, y = flambeau.tensor([1.0, 2.0], requires_grad=True), flambeau.tensor([3.0, 4.0])
        result = compiled(x, y, n)
        last = result[-1] if isinstance(result, list) else result
        assert y.grad_fn is None
        assert not y.requires_grad
        assert last.requires_grad == (n > 0)
        np.testing.assert_array_equal(last.detach().numpy()[-1], 4.0 + 2.0 * n)
        if n > 0:
            last.sum().backward()
            np.testing.assert_array_equal(x.grad.numpy()[-1], n)


@pytest.mark.parametrize("is_frozen", [False, True], ids=["buffer", "constant"])
def test_c15_buffers_and_constants_that_come_back_are_not_put_on_the_tape(is_frozen: bool) -> None:
    module = Counter().eval()
    compiled = flambeau.jit.script(module)
    if is_frozen:
        compiled = flambeau.jit.freeze(compiled)
    for n in (2, 0, 0):
        x = flambeau.tensor([1.0, 2.0], requires_grad=True)
        assert compiled(x, n).requires_grad == (n > 0)
        with flambeau.no_grad():
            assert compiled(x, 0).grad_fn is None
    assert module.start.grad_fn is None


def settled(x: Tensor, n: int) -> Tensor:
    y = x
    i = 0
    while i < n:
        y = y + 0.1 * (x - y * y * y)
        i += 1
    return (y * y).sum()


def folded(x: Tensor) -> Tensor:
    total = x[0] * 0.0
    for i in range(4):
        total = (total * total).sin() + x[i].exp()
    return total


@pytest.mark.parametrize(("size", "is_kept"), [(16, False), (1 << 14, True)])
def test_c17_stacks_of_large_tensors_are_kept_and_others_computed_again(size: int, is_kept: bool) -> None:
    compiled = flambeau.script(settled)
    compiled._executor.forget_plans()
    values = np.linspace(0.1, 1.5, size, dtype=np.float32)
    for _ in range(2):
        x, z = (flambeau.tensor(values, requires_grad=True) for _ in range(2))
        compiled(x, 5).backward()
        settled(z, 5).backward()
        np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), rtol=1e-5)
    [plan] = compiled._executor.derivatives.gradient_plans
    runs = [bool(part.runner.plans) for part in (plan.forward, plan.backward, plan.joint)]
    assert runs == ([True, True, False] if is_kept else [False, False, True])


def test_c17_stacks_of_numbers_are_never_kept() -> None:
    compiled = flambeau.script(folded)
    values = np.linspace(0.1, 1.5, 1 << 14, dtype=np.float64)
    x, z = (flambeau.tensor(values, requires_grad=True) for _ in range(2))
    compiled(x).backward()
    folded(z).backward()
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), rtol=1e-12)
    [plan] = compiled._executor.derivatives.gradient_plans
    assert not plan.forward.runner.plans
    assert plan.joint.runner.plans


def test_c15_computing_again_sees_what_was_written_since() -> None:
    compiled = flambeau.script(settled)
    x = flambeau.tensor([0.5, 0.7], requires_grad=True)
    z = x * 1.0
    y = compiled(z, 3)
    with flambeau.no_grad():
        z.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    y = compiled(x, 3)
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
