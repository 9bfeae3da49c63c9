"""What hooks of nodes may return, and what is said of anything else."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor


def asking() -> Tensor:
    return flambeau.tensor([1.0, 2.0], requires_grad=True)


def test_a_hook_of_a_node_gives_as_many_gradients_as_it_got() -> None:
    for register in ("register_hook", "register_prehook"):
        y = asking().exp()

        def twice(*gradients: Any) -> Any:
            return (gradients[-1][0], gradients[-1][0])

        getattr(y.grad_fn, register)(twice)
        with pytest.raises(RuntimeError, match=r"hook 'twice' has returned .* \(got 2, but expected 1\)"):
            y.sum().backward()


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        (lambda g: 3, TypeError, "but hook returned 'int'"),
        (lambda g: g[:1], RuntimeError, "changed the size"),
        (lambda g: g.double(), RuntimeError, "changed the type"),
    ],
)
def test_hooks_of_nodes_give_gradients_like_those_they_got(changed: Any, error: type[Exception], text: str) -> None:
    y = asking().exp()
    y.grad_fn.register_prehook(lambda gradients: (changed(gradients[0]),))
    with pytest.raises(error, match=text):
        y.sum().backward()
    y = asking().exp()
    y.grad_fn.register_hook(lambda inputs, outputs: (changed(inputs[0]),))
    with pytest.raises(error, match=text):
        y.sum().backward()


def test_hooks_of_nodes_replace_gradients() -> None:
    x = asking()
    y = x * 1
    y.grad_fn.register_hook(lambda inputs, outputs: tuple([None if g is None else g * 5 for g in inputs]))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2,))
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_a_hook_on_what_was_accumulated_returns_nothing() -> None:
    x = asking()
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)  # type: ignore[arg-type,return-value]
    with pytest.raises(RuntimeError, match=r"expected None, but hook '<lambda>' returned 'Tensor'"):
        (x * 2).sum().backward()


def test_reading_the_gradient_of_a_result_warns() -> None:
    x = asking()
    y = x * 2
    with pytest.warns(UserWarning, match=r"The \.grad attribute of a Tensor that is not a leaf"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None
    y.sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([1.0, 1.0], [2.0, 2.0])


def test_an_edge_of_a_scalar_begins_a_run() -> None:
    x = asking()
    edge = flambeau.autograd.graph.get_gradient_edge((x * x).sum())
    flambeau.autograd.backward(edge)
    assert x.grad.tolist() == [2.0, 4.0]
    several = flambeau.autograd.graph.get_gradient_edge(x * x)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        flambeau.autograd.backward(several)
    with pytest.raises(RuntimeError, match="made by hand needs a gradient"):
        flambeau.autograd.grad(flambeau.autograd.graph.GradientEdge(several.node, 0), x)


def test_a_first_gradient_may_have_another_real_dtype() -> None:
    x = asking()
    (x * 2).backward(flambeau.ones(2, dtype=flambeau.float64))
    assert (x.grad.dtype, x.grad.tolist()) == (flambeau.float32, [2.0, 2.0])


def test_what_is_asked_for_is_tensors_and_edges() -> None:
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got str"):
        flambeau.autograd.grad(asking().sum(), ["x"])  # type: ignore[list-item]


def test_batches_of_gradients_are_of_the_sizes_of_results() -> None:
    x = asking()
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] has a shape of torch.Size\(\[3\]\) and output\[0\]"):
        flambeau.autograd.grad(x * 2, x, flambeau.ones(4, 3), is_grads_batched=True)


def test_integers_that_are_written_with_what_asks_have_no_gradient() -> None:
    counts = flambeau.zeros(2, dtype=flambeau.int64)
    counts.copy_(asking())
    counts[0] = asking()[1]
    assert (counts.tolist(), counts.requires_grad, counts.grad_fn) == ([2, 2], False, None)


def test_a_result_cannot_be_told_to_ask() -> None:
    y = asking() * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = True
    assert y.requires_grad_() is y
