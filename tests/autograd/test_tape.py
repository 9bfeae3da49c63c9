"""The tape as users see it: what is recorded, leaves, hooks, views and updates in place, errors."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn

backward, grad = flambeau.autograd.backward, flambeau.autograd.grad


def leaf(*values: float) -> Tensor:
    return flambeau.tensor([float(v) for v in values]).requires_grad_()


def test_results_know_the_nodes_that_made_them() -> None:
    x = leaf(1, 2)
    y = (x * 2).sum()
    assert y.grad_fn.name() == "SumBackward0"
    assert repr(y) == "tensor(6., grad_fn=<SumBackward0>)"
    ((product, index),) = y.grad_fn.next_functions
    assert (product.name(), index) == ("MulBackward0", 0)
    assert product.next_functions[0][0].variable is x
    assert product.next_functions[0][0] is product.next_functions[0][0]
    assert flambeau.as_tensor(product._saved_other).item() == 2
    assert (x > 0).grad_fn is None
    assert not (x * 2).is_leaf


def test_gradients_add_up_in_leaves() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    for _ in range(2):
        (x * w).sum().backward()
    assert x.grad.tolist() == [6, 8]
    assert w.grad.tolist() == [2, 4]
    x.grad = None
    (x + x).sum().backward(inputs=[x])
    assert x.grad.tolist() == [2, 2]
    assert w.grad.tolist() == [2, 4]


def test_leaves_never_share_their_gradients() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    given = flambeau.ones(2)
    (x + y).backward(given)
    given.fill_(7)
    x.grad.fill_(9)
    assert y.grad.tolist() == [1, 1]


def test_nothing_is_recorded_where_it_is_off() -> None:
    x = leaf(1, 2)
    with flambeau.no_grad():
        assert not (x * 2).requires_grad
        x.mul_(2)
        with flambeau.enable_grad():
            assert (x * 2).requires_grad
    assert x.tolist() == [2, 4]
    assert not x.detach().requires_grad


def test_second_and_third_order() -> None:
    x = flambeau.tensor(2.0, dtype=flambeau.float64).requires_grad_()
    (first,) = grad(x**4, x, create_graph=True)
    (second,) = grad(first, x, create_graph=True)
    (third,) = grad(second, x)
    assert (first.item(), second.item(), third.item()) == (32, 48, 48)


def test_long_chains_need_no_stack() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y * 1.0
    y.backward(flambeau.ones(1))
    assert x.grad.tolist() == [1.0]


def test_graphs_go_when_nobody_holds_them() -> None:
    x = leaf(1, 2)
    y = (x.exp() * x).sum()
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        y.backward()
        del y
        assert node() is None
    finally:
        gc.enable()


# -- views and updates in place ---------------------------------------------------------------------------------------


def part(m: Any) -> Any:
    x = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y[0].mul_(5)
    (y * y).sum().backward()
    return x.grad


def filled(m: Any) -> Any:
    w = m.tensor([1.0, 2.0], requires_grad=True)
    out = m.zeros(3, 2)
    for i in range(3):
        out[i] = w * (i + 1)
    (out * out).sum().backward()
    return w.grad


def earlier_view(m: Any) -> Any:
    x = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    v = y[1:]
    y.mul_(2)
    (v * v).sum().backward()
    return x.grad


def transposed(m: Any) -> Any:
    x = m.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = (x * 1).view(2, 2)
    y.t()[0].add_(y[1].clone())
    (y * y).sum().backward()
    return x.grad


def two_views(m: Any) -> Any:
    w = m.tensor([1.0, 2.0], requires_grad=True)
    o = m.zeros(2, 2)
    u, v = o[0], o[0]
    v.copy_(w * w)
    (u * 3).sum().backward()
    return w.grad


def by_indices(m: Any) -> Any:
    x = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[m.tensor([0, 2])] = x[1] * x[:2]
    (y**3).sum().backward()
    return x.grad


def second_order(m: Any) -> Any:
    x = m.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    z = (x.t() * 2).t()
    z[0] += x[1]
    (g,) = m.autograd.grad((z * z).sum(), x, create_graph=True)
    (g * g).sum().backward()
    return x.grad


def written_twice(m: Any) -> Any:
    x = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.clone()
    a, b = y[:2], y[1:]
    a *= 2
    b += a.clone()
    b.mul_(a.detach().clone())
    y.sum().backward()
    return x.grad


PROGRAMS = (part, filled, earlier_view, transposed, two_views, by_indices, second_order, written_twice)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_updates_in_place_as_in_pytorch(program: Any) -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(program(flambeau).numpy(), program(torch).numpy())


def test_what_shows_written_memory_asks_from_then_on() -> None:
    out, w = flambeau.zeros(2, 2), leaf(1, 2)
    before, other = out[0], out.detach()
    assert not before.requires_grad
    out[0].copy_(w)
    assert out.requires_grad
    assert before.requires_grad
    assert not other.requires_grad
    assert before.grad_fn.name() == "AsStridedBackward0"


# -- hooks ------------------------------------------------------------------------------------------------------------


def test_hooks_see_and_replace_gradients() -> None:
    x = leaf(1, 2)
    y = x * 3
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    doubled = y.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g + 1)
    after = x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    y.retain_grad()
    assert y.retains_grad
    y.sum().backward()
    assert seen == [[1, 1], [7, 7]]
    assert y.grad.tolist() == [2, 2]
    doubled.remove()
    after.remove()
    y = x * 3
    node_calls: list[Any] = []
    y.grad_fn.register_hook(lambda inputs, outputs: node_calls.append((inputs[0].tolist(), outputs[0].tolist())))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 5,))
    y.sum().backward()
    assert node_calls == [([15, 15], [5, 5])]


def test_bad_hooks_are_refused() -> None:
    x = leaf(1, 2)
    refusal = pytest.raises(RuntimeError, match="has changed the size of value: a gradient of shape")
    with x.register_hook(lambda g: g[:1]), refusal:
        (x * 2).sum().backward()
    with x.register_hook(lambda g: 5), pytest.raises(TypeError, match="hook returned 'int'"):  # type: ignore[arg-type,return-value]
        (x * 2).sum().backward()
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        flambeau.ones(2).register_hook(print)
    assert x.grad is None


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: (leaf(1, 2) * 2).backward(), "grad can be implicitly created only for scalar outputs"),
        (
            lambda: flambeau.ones(2).sum().backward(),
            "element 0 of tensors does not require grad and does not have a grad_fn",
        ),
        (lambda: (leaf(1, 2) * 2).backward(flambeau.ones(3)), r"Mismatch in shape: grad_output\[0\] has a shape of"),
        (
            lambda: grad((leaf(1) * 2).sum(), leaf(1)),
            "The differentiated Tensor at index 0 appears to not have been used",
        ),
        (lambda: grad(leaf(1).sum(), flambeau.ones(1)), "One of the differentiated Tensors does not require grad"),
        (lambda: leaf(1, 2).add_(1), "a leaf Variable that requires grad is being used in an in-place operation"),
        (lambda: leaf(1, 2)[0].mul_(2), "a view of a leaf Variable that requires grad is being used in an in-place"),
        (lambda: leaf(1).numpy(), r"Use tensor.detach\(\).numpy\(\) instead"),
        (lambda: backward(leaf(1).sum(), inputs=[]), "`inputs` argument to `backward"),
        (lambda: backward([leaf(1).sum()], [None, None]), "got 1 tensors and 2 gradients"),
        (lambda: flambeau.ones(2).retain_grad(), "can't retain_grad on Tensor that has requires_grad=False"),
    ],
)
def test_bad_calls_say_so(run: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        run()


def test_a_second_run_needs_what_was_saved() -> None:
    x = leaf(1, 2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_a_saved_tensor_that_was_written_is_named() -> None:
    y = leaf(1, 2).exp()
    y.add_(1)
    with pytest.raises(
        RuntimeError, match=r"\[torch.FloatTensor \[2\]\], which is output 0 of Exp, is at version 1; exp"
    ):
        y.sum().backward()


# -- programs ---------------------------------------------------------------------------------------------------------


def test_compiled_calls_are_one_node() -> None:
    @flambeau.script
    def steps(x: Tensor, n: int) -> Tensor:
        total = x.sum() * 0
        i = 0
        while i < n:
            total = total + (x * x).sum() if float(total) < 3.0 else total * 0.5 + x[i % x.size(0)]
            i += 1
        return total

    x, y = leaf(1, 2, 0.5), leaf(1, 2, 0.5)
    result = steps(x, 7)
    assert result.grad_fn.name() == "CompiledCallBackward"
    result.backward()
    total = y.sum() * 0
    for i in range(7):
        total = total + (y * y).sum() if float(total) < 3.0 else total * 0.5 + y[i % 3]
    total.backward()
    assert x.grad.tolist() == y.grad.tolist()
    (first,) = grad(steps(x, 1), x, create_graph=True)
    assert grad(first.sum(), x)[0].tolist() == [2, 2, 2]


def test_compiled_calls_that_draw_or_write_are_recorded_one_by_one() -> None:
    @flambeau.script
    def noisy(x: Tensor) -> Tensor:
        return flambeau.dropout(x * 2, 0.5, True)

    @flambeau.script
    def writes(x: Tensor, out: Tensor) -> Tensor:
        out.add_(x)
        return out * 2

    x = flambeau.ones(100).requires_grad_()
    y = noisy(x)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    out = flambeau.zeros(100)
    x.grad = None
    (writes(x, out) + out).sum().backward()
    assert x.grad.tolist() == [3.0] * 100


@pytest.mark.parametrize("compiled", [False, True])
def test_a_network_learns(compiled: bool) -> None:
    flambeau.manual_seed(0)
    net: Any = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    net = flambeau.script(net) if compiled else net
    x = flambeau.rand(64, 2) * 2 - 1
    y = x[:, :1] * x[:, 1:]
    losses = []
    for _ in range(150):
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with flambeau.no_grad():
            for p in net.parameters():
                p -= 0.3 * p.grad
                p.grad = None
    assert losses[-1] < 0.25 * losses[0]


def test_threads_go_back_at_the_same_time() -> None:
    w = flambeau.ones(50).requires_grad_()

    def work() -> None:
        for _ in range(20):
            (w * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.grad.tolist() == [320.0] * 50


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(2))
        self.factor = 2.0

    def forward(self, x: Tensor, steps: list[int]) -> Tensor:
        for n in steps:
            x = x * self.w * n * self.factor
        return x.sum()


def test_the_way_back_sees_what_the_call_saw() -> None:
    module = flambeau.script(Scaled())
    x, steps = leaf(1, 2), [2, 3]
    loss = module(x, steps)
    steps.append(5)
    loss.backward()
    assert x.grad.tolist() == [24, 24]
    loss = module(x, steps)
    with flambeau.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    x.grad = None
    loss = module(x, [1])
    module.factor = 3.0
    loss.backward()
    assert x.grad.tolist() == [2, 2]


@flambeau.script
class Line:
    def __init__(self, slope: Tensor, shift: float) -> None:
        self.slope = slope
        self.shift = shift


def test_objects_that_changed_since_the_call_are_refused() -> None:
    @flambeau.script
    def value(line: Line, x: Tensor) -> Tensor:
        return (line.slope * x + line.shift).sum()

    line = Line(leaf(1, 2), 0.5)
    value(line, flambeau.ones(2)).backward()
    assert line.slope.grad.tolist() == [1, 1]
    with flambeau.no_grad():
        assert [value(line, flambeau.ones(2)).requires_grad for _ in range(3)] == [False] * 3
    x = leaf(3, 4)
    value(line, x).backward()
    assert line.slope.grad.tolist() == [4, 5]
    assert x.grad.tolist() == [1, 2]
    result = value(line, flambeau.ones(2))
    assert result.grad_fn.name() == "CompiledCallBackward"
    line.shift = 1.5
    with pytest.raises(RuntimeError, match="given another shift between the call and backward"):
        result.backward()


def test_what_is_not_gone_back_through_goes_at_once() -> None:
    gc.collect()
    gc.disable()
    try:
        y = leaf(1, 2).exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_writes_without_a_formula_are_said_too() -> None:
    out = leaf(1, 2, 3).reshape(3, 1) * 1
    flambeau.embedding_renorm_(out[:2], flambeau.tensor([0]), 0.5, 2.0)
    assert out.requires_grad
    with pytest.raises(NotImplementedError, match="derivative for aten::embedding_renorm_ is not implemented"):
        out.sum().backward()


def test_operators_that_others_stand_in_for_still_write_and_refuse() -> None:
    x = flambeau.ones(200).requires_grad_()
    y = x * 1
    assert flambeau.dropout_(y, 0.5, True) is y
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    with pytest.raises(RuntimeError, match="bilinear"):
        nn.functional.bilinear(leaf(1, 2), leaf(1, 2, 3), flambeau.ones(2, 2, 2))


def test_a_gradient_that_a_hook_keeps_is_not_added_to() -> None:
    x, kept = leaf(1, 2), []
    y = x * 2
    y.grad_fn.register_prehook(lambda gradients: kept.append(gradients[0]))
    x.register_hook(lambda gradient: kept.append(gradient))
    y.sum().backward()
    (x * 3).sum().backward()
    assert [g.tolist() for g in kept] == [[1, 1], [2, 2], [3, 3]]
    assert x.grad.tolist() == [5, 5]


def test_parts_that_may_be_written_each_for_itself() -> None:
    x = flambeau.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    first, second = flambeau.unsafe_chunk(x * 1, 2, 1)
    squares = first * first
    second.mul_(10)
    (squares.sum() + second.sum()).backward()
    assert x.grad.tolist() == [[2.0, 4.0, 10.0, 10.0]]


def test_a_hook_that_raises_leaves_nothing_changed() -> None:
    x, y = leaf(1, 2), leaf(3, 4)

    def refuse(gradient: Tensor) -> None:
        raise ValueError("no")

    for first, second in ((x, y), (y, x)):
        with first.register_hook(refuse), pytest.raises(ValueError, match="no"):
            (first * second).sum().backward()
        assert x.grad is None
        assert y.grad is None


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.complex64, flambeau.bfloat16])
def test_calls_are_recorded_alike_from_the_first_to_the_native_ones(dtype: Any) -> None:
    x = flambeau.tensor([0.5, -1.5, 2.0]).to(dtype).requires_grad_()
    y = flambeau.tensor([[2.0], [0.25]]).to(dtype).requires_grad_()
    results = []
    for _ in range(4):
        x.grad = y.grad = None
        total = ((x * y).tanh() * 0.5 - y / (x * x + 3)).sum()
        (total.real if dtype.is_complex else total).backward()
        results.append((x.grad.tolist(), y.grad.tolist()))
    assert results == [results[0]] * 4


def test_numbers_and_arguments_that_are_no_operands_do_not_matter() -> None:
    x = leaf(1, 2)
    assert flambeau.add(x, 1, alpha=2.5).grad_fn.name() == "AddBackward0"
    (2 - x + 3 * x / 2 - x**2).sum().backward()
    assert x.grad.tolist() == [-1.5, -3.5]
    with flambeau.no_grad():
        assert (x * x).grad_fn is None
        assert x.mul_(2) is x
    assert (x > 1).dtype is flambeau.bool
    assert flambeau.add(flambeau.ones(2), 1).grad_fn is None


def test_a_kept_gradient_is_of_what_was_written() -> None:
    """What keeps its gradient and is written then keeps that of what it became; through a view and of a view too."""
    x = flambeau.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    assert y.retains_grad
    assert y.grad is not None
    assert y.grad.tolist() == [12.0, 24.0]
    z = x * 2
    z.retain_grad()
    shown = z[:1]
    shown.retain_grad()
    z[0] = 5.0
    (z * z).sum().backward()
    assert z.grad is not None
    assert z.grad.tolist() == [10.0, 8.0]
    assert shown.retains_grad
    assert shown.grad is None
