"""Custom functions: both styles, what they may say of a call, traces, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import Function, grad
from flambeau.autograd.function import once_differentiable

Forward = Any


def made(forward: Forward = lambda ctx, x: x * 2, backward: Any = lambda ctx, g: g * 2, **more: Any) -> Any:
    """A custom function called `Own`."""
    body = {"forward": staticmethod(forward)} | ({} if backward is None else {"backward": staticmethod(backward)})
    return type("Own", (Function,), body | more)


def leaf(*values: float) -> Tensor:
    return flambeau.tensor([float(v) for v in values]).requires_grad_()


class Product(Function):
    @staticmethod
    def forward(a: Tensor, b: Tensor, power: int = 1) -> Tensor:
        return (a * b) ** power

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        a, b, ctx.power = inputs
        ctx.save_for_backward(a, b)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        inner = ctx.power * (a * b) ** (ctx.power - 1) * g
        return inner * b if ctx.needs_input_grad[0] else None, inner * a if ctx.needs_input_grad[1] else None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        return Product.apply(*args), 0


def test_both_styles() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    z = Product.apply(x, y, 2)
    assert z.grad_fn.name() == "ProductBackward"
    assert z.grad_fn.needs_input_grad == (True, True, False)
    assert [n for n, _ in z.grad_fn.next_functions] == [
        flambeau.autograd.graph.get_gradient_edge(t).node for t in (x, y)
    ]
    z.sum().backward()
    assert x.grad.tolist() == [2 * 1 * 9, 2 * 2 * 16]
    assert Product.apply(x, flambeau.ones(2), power=3).grad_fn.needs_input_grad == (True, False, False)
    square = made(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    (first,) = grad(square.apply(x).sum(), x, create_graph=True)
    assert grad(first.sum(), x)[0].tolist() == [2, 2]
    assert square.apply(flambeau.ones(2)).grad_fn is None
    with flambeau.no_grad():
        assert not square.apply(x).requires_grad


def test_several_results_and_others_than_tensors() -> None:
    seen: list[Any] = []
    own = made(lambda ctx, a: (a * 2, a + 1, 5, None), lambda ctx, g, h, i, j: (seen.append((g, h, i)), g + h)[1])
    x = leaf(1, 2)
    a, b, five, none = own.apply(x)
    assert (five, none, b.output_nr) == (5, None, 1)
    a.sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert seen[0][1].tolist() == [0, 0]
    assert seen[0][2] is None


def test_missing_gradients_are_none_where_that_is_asked_for() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, a: Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return a * 1, a * 2

    own = made(forward, lambda ctx, g, h: (seen.append(h), g)[1])
    own.apply(leaf(1))[0].sum().backward()
    assert seen == [None]


def test_inputs_that_are_changed() -> None:
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.mark_dirty(a)
        return a.mul_(3)

    own = made(forward, lambda ctx, g: g * 3)
    x = leaf(1, 2)
    y = x * 1
    assert own.apply(y) is y
    assert y.grad_fn.name() == "OwnBackward"
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    y = x * 1
    own.apply(y[:1])
    (y * y).sum().backward()
    assert x.grad.tolist() == [3 + 18, 3 + 4]
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad has been used in an in-place operation"):  # noqa: E501
        own.apply(leaf(1))


def test_results_without_gradients_and_inputs_as_they_are() -> None:
    def forward(ctx: Any, a: Tensor) -> Any:
        order = a.argsort()
        values = a * 2
        ctx.mark_non_differentiable(values)
        return a, values, order

    x = leaf(2, 1)
    same, values, order = made(forward, lambda ctx, g, h, i: g).apply(x)
    assert same is not x
    assert same._is_view()
    assert [t.requires_grad for t in (same, values, order)] == [True, False, False]
    with pytest.raises(RuntimeError, match=r"Output 0 of Own is a view and is being modified inplace. This view was"):
        made(lambda ctx, a: a[:1], lambda ctx, g: g).apply(x * 1).add_(1)


def test_results_that_are_saved_lead_back() -> None:
    own = made(
        lambda ctx, a: (ctx.save_for_backward(y := a.exp(), None), y)[1], lambda ctx, g: g * ctx.saved_tensors[0]
    )
    x = leaf(1)
    (first,) = grad(own.apply(x), x, create_graph=True)
    (second,) = grad(first, x)
    assert second.item() == pytest.approx(2.7182817)


def test_gradients_fit_the_inputs() -> None:
    x = leaf(1, 2)
    made(backward=lambda ctx, g: flambeau.ones(3, 2, dtype=flambeau.float64)).apply(x).sum().backward()
    assert x.grad.dtype is flambeau.float32
    assert x.grad.tolist() == [3, 3]
    made(backward=lambda ctx, g: (g, None, None)).apply(x).sum().backward()


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        (made(lambda c, a, b: a + b, lambda c, g: g), 2, r"function OwnBackward returned an incorrect number of gradients \(expected 2, got 1\)"),  # noqa: E501
        (made(backward=lambda c, g: (g, g)), 1, r"incorrect number of gradients \(expected 1, got 2\)"),
        (made(backward=lambda c, g: 5), 1, r"expected Variable or None \(got int\)"),
        (made(backward=lambda c, g: flambeau.ones(3)), 1, r"Function OwnBackward returned an invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]"),  # noqa: E501
        (made(lambda c, a, b: a * b, lambda c, g: (g, g)), 3, "function OwnBackward returned a gradient different than None at position 2, but the corresponding forward input was not a Variable"),  # noqa: E501
        (made(lambda c, a: (c.mark_dirty(5), a + 1)[1]), 1, "mark_dirty can only accept variables, but argument 0 is of type int"),  # noqa: E501
        (made(lambda c, a: (c.mark_dirty(a), a + 1)[1]), 1, "Some elements marked as dirty during the forward method were not returned as output"),  # noqa: E501
        (made(lambda c, a: (c.mark_non_differentiable(5), a + 1)[1]), 1, "mark_non_differentiable only accepts variable arguments"),  # noqa: E501
    ],
)  # fmt: skip
def test_nonsense_is_refused(function: Any, arguments: int, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        function.apply(*[[leaf(1, 2)], [leaf(1, 2)] * 2, [leaf(1, 2), 3]][arguments - 1]).sum().backward()


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_what_is_missing_is_said() -> None:
    with pytest.raises(
        NotImplementedError, match=r"You must implement either the backward or vjp method for your custom"
    ):
        made(backward=None).apply(leaf(1)).sum().backward()
    with pytest.raises(
        NotImplementedError, match=r"You must implement the forward function for custom autograd.Function"
    ):
        type("Own", (Function,), {}).apply(leaf(1))
    with pytest.raises(TypeError, match=r"save_for_backward can only save variables, but argument 0 is of type int"):
        made(lambda c, a: (c.save_for_backward(5), a)[1]).apply(leaf(1))
    with pytest.raises(RuntimeError, match=r"Legacy autograd function with non-static forward method is deprecated"):
        made()()(leaf(1))


def test_saved_tensors_are_freed_and_watched() -> None:
    own = made(lambda c, a: (c.save_for_backward(a), a * 2)[1], lambda c, g: g * c.saved_tensors[0])
    y = own.apply(leaf(1))
    y.backward()
    with pytest.raises(RuntimeError, match=r"Trying to backward through the graph a second time"):
        y.backward()
    z = leaf(1, 2) * 1
    y = own.apply(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: \[torch.FloatTensor \[2\]\]"):
        y.sum().backward()


def test_once_differentiable() -> None:
    own = made(
        lambda c, a: (c.save_for_backward(a), a**3)[1],
        once_differentiable(lambda c, g: 3 * c.saved_tensors[0] ** 2 * g),
    )
    x = leaf(2)
    assert grad(own.apply(x), x)[0].tolist() == [12]
    (first,) = grad(own.apply(x) ** 2, x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"trying to differentiate twice a function that was marked with @once_diff"):
        first.backward()


def test_in_a_trace_it_is_a_node() -> None:
    def model(a: Tensor, b: Tensor) -> Tensor:
        return Product.apply(a * 2, b, 2) + 1

    traced = flambeau.trace(model, (flambeau.ones(2), flambeau.ones(2)))
    assert "= ^Product" in str(traced.graph)
    x, y = leaf(1, 2), leaf(3, 4)
    assert traced(x, y).tolist() == model(x, y).tolist()
    traced(x, y).sum().backward()
    expected = grad(model(x, y).sum(), [x, y])
    assert [x.grad.tolist(), y.grad.tolist()] == [g.tolist() for g in expected]
    with pytest.raises(
        RuntimeError, match=r"Cannot trace the call of Own: in a trace, a custom function gives a tensor"
    ):
        flambeau.trace(lambda a: made(lambda c, a: (a, 5)).apply(a)[0], flambeau.ones(2))


def test_against_differences() -> None:
    x = flambeau.tensor([0.5, -1.5], dtype=flambeau.float64, requires_grad=True)
    y = flambeau.tensor([1.0, 2.0], dtype=flambeau.float64, requires_grad=True)
    assert flambeau.autograd.gradcheck(lambda a, b: Product.apply(a, b, 3), (x, y))
    assert flambeau.autograd.gradgradcheck(lambda a, b: Product.apply(a, b, 3), (x, y))
    wrong = made(lambda c, a: a * 2, lambda c, g: g * 3)
    with pytest.raises(RuntimeError, match=r"Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor"):  # noqa: E501
        flambeau.autograd.gradcheck(wrong.apply, (x,))
    assert not flambeau.autograd.gradcheck(wrong.apply, (x,), raise_exception=False)


def test_the_way_back_may_be_called_vjp() -> None:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def vjp(ctx: Any, grad: Any) -> Any:
            return grad * 2

    class Both(Doubled):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    x = flambeau.ones(2, requires_grad=True)
    Doubled.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(x).sum().backward()


def test_a_gradient_of_a_real_input_is_real() -> None:
    class Turned(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 1j

    with pytest.raises(RuntimeError, match=r"got a torch\.complex64 for a real input"):
        Turned.apply(flambeau.ones(2, requires_grad=True)).sum().backward()
