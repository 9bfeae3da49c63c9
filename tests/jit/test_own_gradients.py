"""Custom functions with gradients of their own within programs: they mean what they mean when Python runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import Function
from flambeau.autograd.function import once_differentiable
from flambeau.func import grad, hessian, hvp, jacrev, jvp, value_and_grad, vjp, vmap
from flambeau.jit.own_gradients.rules import rule_of
from flambeau.schema.types import FLOAT, TENSOR

SEEN: list[int] = []


class Scaled(Function):
    """Its gradient is ten times what it would be, so that nobody else's is taken for it."""

    @staticmethod
    def forward(ctx, x, by):
        ctx.save_for_backward(x)
        ctx.by = by
        return x * x * by

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 20 * x * ctx.by, None


class Exponential(Function):
    """Keeps its result; in the second style, with tangents."""

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(output)
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, grad):
        _, y = ctx.saved_tensors
        return grad * y * 3

    @staticmethod
    def jvp(ctx, tangent):
        (y,) = ctx.saved_tensors
        return tangent * y * 3


class Product(Function):
    """Two arguments and two results, of which one shows an argument."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        ctx.set_materialize_grads(True)
        return x @ w, w.sum(0)

    @staticmethod
    def backward(ctx, first, second):
        x, w = ctx.saved_tensors
        to_x = to_w = None
        if ctx.needs_input_grad[0]:
            to_x = 2 * first @ w.T
        if ctx.needs_input_grad[1]:
            to_w = x.T @ first + second.expand_as(w) * 5
        return to_x, to_w


class Iterated(Function):
    """Loops and branches there and back."""

    @staticmethod
    def forward(ctx, x, n: int):
        y = x
        for _ in range(n):
            if n > 2:  # noqa: SIM108
                y = y.sin()
            else:
                y = y * 2
        ctx.n = n
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        for _ in range(ctx.n):
            grad = grad * (1 + y * y)
        return grad, None


class Reversed(Function):
    """Gives its argument as it is."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Nested(Function):
    """Calls another one in both directions."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Scaled.apply(x, 2.0).sum()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * Scaled.apply(x, 3.0)


class Shared(Function):
    """The gradient of one argument has to be summed over what was broadcast."""

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y * 2, grad * x * 3


def scaled(x: Tensor) -> Tensor:
    return (Scaled.apply(x.sin(), 3.0) * x).sum() + Scaled.apply(x, 0.5).sum()


def exponential(x: Tensor) -> Tensor:
    return (Exponential.apply(x) * x).sum()


def product(x: Tensor) -> Tensor:
    y, z = Product.apply(x[None] * flambeau.ones(2, 1, dtype=x.dtype), x[:, None] * x[None])
    return (y.tanh() * z).sum()


def iterated(x: Tensor) -> Tensor:
    return (Iterated.apply(x, 3) * Iterated.apply(x, 2)).sum()


def reversed_(x: Tensor) -> Tensor:
    return (Reversed.apply(x * x) * x).sum()


def nested(x: Tensor) -> Tensor:
    return Nested.apply(x).cos() * x.sum()


def shared(x: Tensor) -> Tensor:
    return (Shared.apply(x, x.sum(0, keepdim=True)) * x).sum() + Shared.apply(x[None], x.expand(3, len(x))).sum()


def in_a_loop(x: Tensor) -> Tensor:
    y = x
    for _ in range(4):
        y = Exponential.apply(y * 0.1) + Scaled.apply(y, 0.1)
    return y.sum()


def in_a_branch(x: Tensor) -> Tensor:
    return Exponential.apply(x).sum() if len(x) > 2 else Scaled.apply(x, 2.0).sum()


PROGRAMS = [scaled, exponential, product, iterated, reversed_, nested, shared, in_a_loop, in_a_branch]
POINTS = [
    [0.3, -0.2, 1.5], [0.0, -0.0, 2.0], [float("nan"), 1.0, float("inf")], [-float("inf"), 0.5, 1e-310], [0.25], [],
]  # fmt: skip


def _same(actual: Any, expected: Any) -> None:
    flambeau.testing.assert_close(actual, expected, equal_nan=True, rtol=1e-9, atol=1e-12)


def _by_tape(f: Callable[..., Any], x: Tensor) -> Any:
    leaf = x.clone().requires_grad_()
    f(leaf).backward()
    return leaf.grad


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("point", POINTS)
def test_programs_give_what_python_gives(program: Any, point: list[float]) -> None:
    x = flambeau.tensor(point, dtype=flambeau.float64)
    compiled = flambeau.script(program)
    for _ in range(2):
        _same(compiled(x), program(x))
        _same(_by_tape(compiled, x), _by_tape(program, x))
        _same(value_and_grad(compiled)(x), value_and_grad(program)(x))


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_native(program: Any) -> None:
    x = flambeau.tensor([0.3, -0.2, 1.5], dtype=flambeau.float64)
    gradient = grad(flambeau.script(program))
    _same([gradient(x) for _ in range(3)][-1], grad(program)(x))
    assert "^" not in str(gradient.graph_for(x))


@pytest.mark.parametrize("program", [scaled, exponential, iterated, reversed_, in_a_loop, shared])
def test_second_derivatives_go_through_what_is_kept(program: Any) -> None:
    x = flambeau.tensor([0.3, -0.2, 1.5], dtype=flambeau.float64)
    compiled = flambeau.script(program)

    def slope(f: Any) -> Any:
        leaf = x.clone().requires_grad_()
        [first] = flambeau.autograd.grad(f(leaf), leaf, create_graph=True)
        return flambeau.autograd.grad((first * first).sum(), leaf)[0]

    _same(slope(compiled), slope(program))

    def of_slopes(x: Tensor) -> Tensor:
        return (grad(compiled)(x) ** 2).sum()

    _same(grad(flambeau.script(of_slopes))(x), slope(program))


@pytest.mark.parametrize("program", [exponential, reversed_])
def test_batches_of_gradients(program: Any) -> None:
    xs = flambeau.tensor([[0.3, -0.2, 1.5], [1.0, 0.0, -1.0]], dtype=flambeau.float64)
    compiled = flambeau.script(program)
    one_by_one = [value_and_grad(program)(x) for x in xs]
    batch = vmap(value_and_grad(compiled))
    for _ in range(2):
        values, slopes = batch(xs)
        _same(values, flambeau.stack([value for value, _ in one_by_one]))
        _same(slopes, flambeau.stack([slope for _, slope in one_by_one]))

    def total(xs: Tensor) -> Tensor:
        return vmap(compiled)(xs).sum()

    _same(grad(flambeau.script(total))(xs), flambeau.stack([s for _, s in one_by_one]))


def test_what_all_examples_share_has_the_sum() -> None:
    def loss(w: Tensor, x: Tensor) -> Tensor:
        return Shared.apply(w, x).sum() ** 2

    w = flambeau.tensor([0.3, -0.2], dtype=flambeau.float64)
    xs = flambeau.tensor([[1.0, 2.0], [3.0, 4.0], [-1.0, 0.5]], dtype=flambeau.float64)

    def total(w: Tensor, xs: Tensor) -> Tensor:
        return vmap(loss, in_dims=(None, 0))(w, xs).mean()

    def written_out(w: Tensor) -> Tensor:
        return sum(loss(w, x) for x in xs) / len(xs)

    _same(grad(flambeau.script(total))(w, xs), grad(written_out)(w))
    _same(vmap(grad(flambeau.script(loss)), in_dims=(None, 0))(w, xs), flambeau.stack([grad(loss)(w, x) for x in xs]))


def test_tangents_are_those_of_jvp() -> None:
    x = flambeau.tensor([0.3, -0.2], dtype=flambeau.float64)
    v = flambeau.tensor([1.0, 2.0], dtype=flambeau.float64)
    compiled = flambeau.script(exponential)
    _same(jvp(compiled, (x,), (v,)), jvp(exponential, (x,), (v,)))
    _same(hvp(compiled, (x,), (v,)), hvp(exponential, (x,), (v,)))
    _same(hessian(compiled)(x), hessian(exponential)(x))

    def along(x: Tensor, v: Tensor) -> Tensor:
        value, pull = vjp(exponential, x)
        return jvp(exponential, (x,), (v,))[1] + pull(value)[0].sum()

    _same(flambeau.script(along)(x, v), along(x, v))


class WrongSize(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return flambeau.cat([grad, grad])


class TooMany(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


@pytest.mark.parametrize(("function", "message"), [(WrongSize, "invalid gradient"), (TooMany, "number of gradients")])
def test_wrong_gradients_are_refused(function: Any, message: str) -> None:
    def loss(x: Tensor) -> Tensor:
        return function.apply(x).sum()

    compiled, x = flambeau.script(loss), flambeau.ones(3)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message):
            grad(compiled)(x)
        with pytest.raises(RuntimeError, match=message):
            _by_tape(compiled, x)
    assert compiled(x).item() == 6.0


class Counted(Function):
    @staticmethod
    def forward(ctx, x):
        SEEN.append(1)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        SEEN.append(2)
        return grad * 7


class Written(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 7


class OnceOnly(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * 7


class LooksAtModes(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.asks = flambeau.is_grad_enabled()
        return x * 2 if x.requires_grad else x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 7


class OwnBatches(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 7

    @staticmethod
    def vmap(info, in_dims, x):
        return OwnBatches.apply(x) * 10, 0


class ByNumPy(Function):
    @staticmethod
    def forward(ctx, x):
        return flambeau.tensor(x.detach().numpy().copy())

    @staticmethod
    def backward(ctx, grad):
        return grad * 7


@pytest.mark.parametrize("function", [Counted, Written, OnceOnly, LooksAtModes, OwnBatches, ByNumPy])
def test_what_programs_do_not_mean_python_runs(function: Any) -> None:
    assert rule_of(function, [TENSOR]) is None

    def loss(x: Tensor) -> Tensor:
        return function.apply(x * 1).sum()

    compiled, x = flambeau.script(loss), flambeau.tensor([1.0, 2.0])
    SEEN.clear()
    for _ in range(3):
        _same(_by_tape(compiled, x), flambeau.tensor([7.0, 7.0]))
        _same(compiled(x), loss(x))
    assert function is not Counted or SEEN == [1, 2, 1, 1] * 3


def test_rules_are_of_the_types_of_arguments() -> None:
    assert rule_of(Scaled, [TENSOR, FLOAT]) is not None
    assert rule_of(Scaled, [TENSOR, FLOAT]) is rule_of(Scaled, [TENSOR, FLOAT])
    assert rule_of(Scaled, [TENSOR]) is None


class Root(Function):
    """Of a cubic, by Newton's method; by the implicit function theorem, times two."""

    @staticmethod
    def forward(a):
        x = flambeau.ones_like(a)
        for _ in range(30):
            x = x - (x**3 + x - a) / (3 * x**2 + 1)
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * grad / (3 * x**2 + 1)


root, scaled = Root.apply, Scaled.apply


def test_apply_under_a_name_of_its_own() -> None:
    def of_all(x: Tensor):
        return root(x).sum() + scaled(x, 2.0).sum(), grad(root)(x[0]), vmap(grad(root))(x), vjp(root, x)[1](x)[0]

    def loss(x: Tensor):
        return (root(x * 3) ** 2).sum()

    x = flambeau.tensor([0.5, -2.0, 3.0], dtype=flambeau.float64)
    _same(flambeau.script(of_all)(x), of_all(x))
    for _ in range(2):  # the first call runs as it is written
        _same(jacrev(grad(flambeau.script(loss)))(x), jacrev(grad(loss))(x))
