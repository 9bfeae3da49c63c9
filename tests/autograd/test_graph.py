"""The tape's graph as users reach into it: saved tensors, edges, anomalies, and who may write what."""

from __future__ import annotations

import copy
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd import grad, graph
from flambeau.utils.checkpoint import checkpoint


def leaf(*values: float) -> Tensor:
    return flambeau.tensor([float(v) for v in values]).requires_grad_()


# -- saved tensors ----------------------------------------------------------------------------------------------------


def test_hooks_pack_what_is_saved() -> None:
    packed: list[Any] = []
    x = leaf(1, 2)
    with graph.saved_tensors_hooks(lambda t: (packed.append(t.tolist()), t.tolist())[1], flambeau.tensor):
        y = (x.exp() * x * 3).sum()
    assert len(packed) >= 3
    outside = x * x
    y.backward()
    (outside.sum() * 0).backward()
    plain = leaf(1, 2)
    (plain.exp() * plain * 3).sum().backward()
    assert x.grad.tolist() == pytest.approx(plain.grad.tolist())


def test_hooks_see_operands_themselves() -> None:
    seen: list[Any] = []
    weight = flambeau.nn.Parameter(flambeau.ones(2))
    x = leaf(1, 2) * 1
    with graph.saved_tensors_hooks(lambda t: (seen.append((t, (t * 2).requires_grad)), t)[1], lambda t: t):
        y = x * weight
    assert [t for t, _ in seen if t is weight]
    assert [t for t, _ in seen if t is x]
    assert not any(asks for _, asks in seen)  # nothing is recorded in hooks
    y.sum().backward()
    assert weight.grad.tolist() == [1.0, 2.0]


def test_hooks_of_one_saved_tensor() -> None:
    x = leaf(1, 2)
    y = x.exp()
    raw = y.grad_fn._raw_saved_result
    raw.register_hooks(lambda t: t * 2, lambda t: t / 2)
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(y.tolist())
    with pytest.raises(
        RuntimeError, match=r"Calling register_hooks on a saved tensor whose hooks have already been set"
    ):
        raw.register_hooks(lambda t: t, lambda t: t)
    y = x * x
    with pytest.raises(TypeError, match="register_hooks"):
        y.grad_fn._raw_saved_self.register_hooks(1, 2)
    with pytest.raises(RuntimeError, match=r"A saved tensor pack hook is modifying its input in place"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t.detach().add_(1), lambda t: t)
    y.grad_fn._raw_saved_other.register_hooks(lambda t: t, lambda t: 5)
    with pytest.raises(
        TypeError, match=r"Output of saved tensor unpack_hook expected to be a Tensor but got result of type"
    ):
        y.sum().backward()


def test_hooks_may_be_refused() -> None:
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match=r"not here"):
        graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
    with (
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match=r"nor here"),
        graph.disable_saved_tensors_hooks("nor here"),
    ):
        pass


def test_saving_on_the_cpu_and_writing_what_was_saved() -> None:
    x = leaf(1, 2)
    with graph.save_on_cpu(pin_memory=False):
        (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    with graph.allow_mutation_on_saved_tensors():
        y = x.exp()
        z = y * y
        y.mul_(100)
        z.sum().backward()
    assert x.grad.tolist() == pytest.approx([2 + 2 * 2.7182817**2, 4 + 2 * 2.7182817**4], rel=1e-5)


def test_versions() -> None:
    x = leaf(1, 2)
    y = x * 1
    z = y * y
    graph.increment_version(y)
    with pytest.raises(
        RuntimeError, match=r"is at version 1; expected version 0 instead. Hint: enable anomaly detection"
    ):
        z.sum().backward()


# -- edges and hooks on several tensors -------------------------------------------------------------------------------


def test_edges_stand_for_tensors() -> None:
    x = leaf(1, 2)
    y = x * 3
    edge, end = graph.get_gradient_edge(y), graph.get_gradient_edge(x)
    assert edge.node is y.grad_fn
    assert isinstance(edge.node, graph.Node)
    z = (y * y).sum()
    assert grad(edge, x, flambeau.ones(2), retain_graph=True)[0].tolist() == [3, 3]
    assert grad(z, [edge, end], retain_graph=True)[0].tolist() == [6, 12]
    z.backward(inputs=[end])
    assert x.grad.tolist() == [18, 36]
    with pytest.raises(RuntimeError, match=r"It is not possible to get the gradient edge for a Tensor that does not"):
        graph.get_gradient_edge(flambeau.ones(1))


def test_the_node_of_a_leaf_has_hooks_while_somebody_holds_it() -> None:
    x = leaf(1, 2)
    end = graph.get_gradient_edge(x).node
    seen: list[Any] = []
    end.register_prehook(lambda grads: (grads[0] * 2,))
    end.register_hook(lambda inputs, outputs: seen.append(x.grad.tolist()))
    (x * 3).sum().backward()
    assert seen == [[6, 6]]


def test_hooks_on_several_tensors() -> None:
    x, y, other = leaf(1), leaf(2), leaf(3)
    calls: list[Any] = []
    with graph.register_multi_grad_hook([x, y, other], lambda grads: calls.append([g and g.item() for g in grads])):
        (x * y).sum().backward()
        assert calls == [[2, 1, None]]
        (x * other * y).sum().backward()
    (x * y).sum().backward()
    assert calls[1:] == [[6, 3, 2]]
    first: list[Any] = []
    graph.register_multi_grad_hook([x, y], lambda gradient: first.append(gradient.item()), mode="any")
    (x * y).sum().backward()
    assert len(first) == 1
    with pytest.raises(ValueError, match=r"Expects mode to be one of"):
        graph.register_multi_grad_hook([x], print, mode="some")


# -- anomalies --------------------------------------------------------------------------------------------------------


def test_anomalies_point_at_the_line() -> None:
    x = flambeau.zeros(1).requires_grad_()
    with pytest.warns(UserWarning, match=r"Anomaly Detection has been enabled"):
        looking = flambeau.autograd.detect_anomaly()
    with looking:
        y = x / x  # the line
        with (
            pytest.warns(UserWarning, match=r"(?s)Error detected in DivBackward0. Traceback.*y = x / x  # the line"),
            pytest.raises(RuntimeError, match=r"Function 'DivBackward0' returned nan values in its 1th output."),
        ):
            y.backward()
    with flambeau.autograd.set_detect_anomaly(True, check_nan=False):
        (x / x).backward()
        y = x.exp()
        y.add_(1)
        with pytest.warns(UserWarning, match=r"y = x.exp"), pytest.raises(RuntimeError, match=r"inplace operation"):
            y.backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x / x).backward()


# -- writes, and what may be assigned ---------------------------------------------------------------------------------


def view_without_recording(x: Tensor) -> None:
    with flambeau.no_grad():
        v = x[:1]
    v.add_(1)


def assign(x: Tensor, value: Any) -> None:
    x.grad = value


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda x: (x * 1).unbind(0)[0].add_(1), RuntimeError, "Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function that returns multiple views."),  # noqa: E501
        (lambda x: (x * 1).split(1)[1].add_(1), RuntimeError, "Output 1 of Split is a view and is being modified inplace."),  # noqa: E501
        (view_without_recording, RuntimeError, "A view was created in no_grad mode and is being modified inplace with grad mode enabled."),  # noqa: E501
        (lambda x: view_without_recording(x * 1), RuntimeError, "Given that this use case is ambiguous and error-prone, it is forbidden."),  # noqa: E501
        (lambda x: assign(x, flambeau.ones(3)), RuntimeError, r"attempting to assign a gradient of size '\[3\]' to a tensor of size '\[2, 2\]'. Please ensure"),  # noqa: E501
        (lambda x: assign(x, flambeau.ones(2, 2).double()), RuntimeError, "attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'"),  # noqa: E501
        (lambda x: assign(x, 5), TypeError, "assigned grad expected to be a Tensor or None but got grad of type int"),
        (lambda x: assign(x, x), RuntimeError, "can't assign Variable as its own grad"),
        (lambda x: x[:1].detach_(), RuntimeError, r"Can't detach views in-place. Use detach\(\) instead."),
        (lambda x: copy.deepcopy(x * 2), RuntimeError, r"Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy protocol at the moment.  If you"),  # noqa: E501
        (lambda x: (x * 2).requires_grad_(False), RuntimeError, "you can only change requires_grad flags of leaf variables."),  # noqa: E501
        (lambda x: flambeau.ones(2, dtype=flambeau.int64).requires_grad_(), RuntimeError, "only Tensors of floating point dtype can require gradients"),  # noqa: E501
    ],
)  # fmt: skip
def test_what_may_not_be_done(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(flambeau.ones(2, 2).requires_grad_())


def test_views_and_writes_both_without_recording() -> None:
    x = leaf(1, 2)
    with flambeau.no_grad():
        x[:1].add_(1)
    assert x.tolist() == [2, 2]
    y = (x * 1).detach_()
    assert y.is_leaf
    assert not y.requires_grad
    assert isinstance(x, flambeau.autograd.Variable)


# -- long chains, threads, runs inside of runs ------------------------------------------------------------------------


def test_a_hundred_thousand_nodes() -> None:
    x = leaf(1)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.backward()
    assert x.grad.tolist() == [1]
    del y


def test_runs_inside_of_runs_and_on_many_threads() -> None:
    w = flambeau.ones(8).requires_grad_()
    errors: list[BaseException] = []

    def inner(gradient: Tensor) -> Tensor:
        with flambeau.enable_grad():
            x = leaf(3)
            (x * x).backward()
        return gradient * x.grad

    def work() -> None:
        try:
            for _ in range(5):
                y = w * 2
                y.register_hook(inner)
                y.sum().backward()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert w.grad.tolist() == [32 * 5 * 12.0] * 8


@pytest.mark.parametrize("scale", [1.0, 1.5], ids=["leaf", "result"])
def test_what_hooks_unpack_is_differentiated_again(scale: float) -> None:
    """Gradients of second order are the same with hooks, and in checkpoints, which are hooks."""

    def curved(x: Tensor, y: Tensor) -> Tensor:
        return (x * y).exp() * x.sin() + x**3 / y

    def hooked(x: Tensor, y: Tensor) -> Tensor:
        with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t * 1):
            return curved(x, y)

    def checked(x: Tensor, y: Tensor) -> Tensor:
        return checkpoint(curved, x, y, use_reentrant=False)

    found = []
    for function in (curved, hooked, checked):
        x, y = (flambeau.tensor(v, requires_grad=True) for v in ([0.5, 1.0], [0.25, 2.0]))
        first = grad(function(x * scale if scale != 1.0 else x, y).sum(), (x, y), create_graph=True)
        second = grad(sum((g * g).sum() for g in first), (x, y))
        found.append(np.array([g.tolist() for g in (*first, *second)]))
    for one in found[1:]:
        np.testing.assert_allclose(one, found[0], rtol=1e-4)


def test_a_number_is_an_operand_without_an_edge() -> None:
    x = flambeau.ones(2, requires_grad=True)
    for y in (x * 2, 2 * x, x + 1, x - 1, x / 2, x.clone().mul_(2)):
        assert len(y.grad_fn.next_functions) == 2
        assert y.grad_fn.next_functions[1] == (None, 0)
    assert len((x**2).grad_fn.next_functions) == len((x % 2).grad_fn.next_functions) == 1
    assert all(node is not None for node, _ in (x * x).grad_fn.next_functions)


def test_hooks_of_nodes_see_none_for_a_number() -> None:
    x = flambeau.ones(2, requires_grad=True)
    y, seen = x * 2, []
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append(grad_inputs))
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 10, None))
    y.sum().backward()
    assert [seen[0][0].tolist(), *seen[0][1:]] == [[2, 2], None]
    assert x.grad.tolist() == [20, 20]
    y = x * 2
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: grad_inputs[:1])
    with pytest.raises(RuntimeError, match=r"incorrect number of values \(got 1, but expected 2\)"):
        y.sum().backward()


def test_saved_sizes_have_two_names() -> None:
    node = flambeau.ones(2, 3, requires_grad=True).sum().grad_fn
    assert tuple(node._saved_self_sym_sizes) == (2, 3)


def test_blocks_that_copy_saved_tensors_are_not_nested() -> None:
    with (
        graph.allow_mutation_on_saved_tensors(),
        pytest.raises(RuntimeError, match="cannot be nested"),
        graph.allow_mutation_on_saved_tensors(),
    ):
        pass
    with graph.allow_mutation_on_saved_tensors():
        pass
