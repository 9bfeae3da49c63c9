"""Gradients through compiled calls: what the tape gives an operator at a time, and what differences give."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from tests.autodiff import programs
from tests.autograd import numeric

_draw = np.random.default_rng(3)


def _arrays(*shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    return [_draw.uniform(0.3, 1.2, shape) for shape in shapes]


PROGRAMS: list[tuple[Callable[..., Any], list[np.ndarray[Any, Any]], tuple[Any, ...]]] = [
    (programs.straight, _arrays((3, 4), (3, 4)), ()),
    (programs.straight, _arrays((3, 4), (1, 4)), ()),
    (programs.broadcast, _arrays((3, 4), (5, 4)), ()),
    (programs.broadcast, _arrays((1, 1), (5, 4)), ()),
    (programs.layered, _arrays((4, 3), (3, 5), (5,)), ()),
    (programs.counted, _arrays((4,)), (5,)),
    (programs.counted, _arrays((4,)), (0,)),
    (programs.nested, _arrays((4,)), ()),
    (programs.early, _arrays((4,)), ()),
    (programs.early, [np.array([0.01])], ()),
    (programs.skipping, _arrays((4,), (1,)), ()),
    (programs.swapping, _arrays((4,), (4,)), ()),
    (programs.in_lists, _arrays((2,), (2,)), ()),
    (programs.viewed, _arrays((3, 4)), ()),
    (programs.reduced, _arrays((3, 4)), ()),
    (programs.gated, _arrays((2, 4)), ()),
    (programs.collected, _arrays((3,)), ()),
    (programs.stencil, _arrays((6,)), ()),
    (programs.recurrence, _arrays((5,), (2,)), ()),
    (programs.heat, _arrays((6,)), (3,)),
    (programs.in_place, _arrays((3, 3)), ()),
    (programs.in_branches, _arrays((4,)), ()),
    (programs.parted, _arrays((2, 6)), (2,)),
    (programs.shuffled, _arrays((1, 4, 2, 3)), ()),
    (programs.written_in_a_branch, _arrays((2, 3), (3,)), ()),
]
_IDS = [f"{program.__name__}-{number}" for number, (program, _, _) in enumerate(PROGRAMS)]


@pytest.mark.parametrize(("program", "arrays", "rest"), PROGRAMS, ids=_IDS)
def test_c15_compiled_gradients_are_those_of_differences(
    program: Callable[..., Any], arrays: Sequence[np.ndarray[Any, Any]], rest: tuple[Any, ...]
) -> None:
    compiled = flambeau.script(program)
    numeric.check(lambda *tensors: compiled(*tensors, *rest), *arrays)
    assert compiled._executor.derivatives.gradient_plans, compiled._executor.derivatives._gradients.values


@pytest.mark.parametrize(("program", "arrays", "rest"), PROGRAMS[:9], ids=_IDS[:9])
def test_c15_gradients_of_gradients(
    program: Callable[..., Any], arrays: Sequence[np.ndarray[Any, Any]], rest: tuple[Any, ...]
) -> None:
    compiled = flambeau.script(program)

    def squares(run: Callable[..., Any]) -> list[np.ndarray[Any, Any]]:
        tensors = [flambeau.tensor(a).requires_grad_() for a in arrays]
        result = run(*tensors, *rest)
        first = flambeau.autograd.grad((result * result).sum(), tensors, create_graph=True)
        total = sum(((g * g).sum() for g in first), flambeau.zeros(()))
        return [g.numpy() for g in flambeau.autograd.grad(total, tensors)]

    for got, expected in zip(squares(compiled), squares(program), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("program", "arrays", "rest"), PROGRAMS[-7:], ids=_IDS[-7:])
def test_c15_gradients_of_gradients_through_writes(
    program: Callable[..., Any], arrays: Sequence[np.ndarray[Any, Any]], rest: tuple[Any, ...]
) -> None:
    compiled = flambeau.script(program)

    def first(*tensors: Tensor) -> tuple[Tensor, ...]:
        is_asked = tensors[0].requires_grad
        asking = [t.requires_grad_() for t in tensors]
        total = (compiled(*asking, *rest) * 0.5).square().sum()
        found = flambeau.autograd.grad(total, asking, create_graph=is_asked)
        return tuple(g if is_asked else g.detach() for g in found)

    numeric.check(first, *[a * 0.5 for a in arrays])


def _leaf(*values: float) -> Tensor:
    return flambeau.tensor(list(values), requires_grad=True)


def _squares(x: Tensor) -> Tensor:
    return (x * x).sum()


def _shifted(x: Tensor) -> Tensor:
    return x * 3.0 + 1.0


def test_c15_backward_again_and_through_changed_arguments() -> None:
    compiled = flambeau.script(programs.counted)
    x = _leaf(0.5, 0.25)
    y = compiled(x * 1.0, 4)
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), (2 * first).numpy())
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    for program, is_needed in ((_squares, True), (_shifted, False)):
        z = x * 1.0
        y = flambeau.script(program)(z)
        with flambeau.no_grad():
            z.add_(1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") if is_needed else nullcontext():
            y.sum().backward()


def test_c15_one_tensor_as_two_arguments() -> None:
    compiled = flambeau.script(programs.swapping)
    x = _leaf(0.5, 0.25)
    a, b = compiled(x, x)
    (a + b).sum().backward()
    z = _leaf(0.5, 0.25)
    a, b = programs.swapping(z, z)
    (a + b).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), rtol=1e-6)


def test_c15_results_that_show_arguments_are_told_apart() -> None:
    @flambeau.script
    def shown(x: Tensor) -> tuple[Tensor, Tensor]:
        return x[1:], x * 2

    x = _leaf(1.0, 2.0)
    a, b = shown(x)
    (a.sum() * 3 + b.sum()).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 5.0])


def test_c15_formulas_that_ask_the_run_are_one_node() -> None:
    @flambeau.script
    def ranked(x: Tensor) -> Tensor:
        return flambeau.linalg.qr(x.view(2, 2), "complete")[1] * 2

    x = _leaf(1.0, 2.0, 3.0, 5.0)
    ranked(x).sum().backward()
    z = _leaf(1.0, 2.0, 3.0, 5.0)
    (flambeau.linalg.qr(z.view(2, 2), "complete")[1] * 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), z.grad.numpy())
    [plan] = ranked._executor.derivatives.gradient_plans
    assert plan.backward.graph.find("prim::GradOf") is not None


def test_c15_what_is_detached_is_a_constant() -> None:
    x, y = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    doubled, product = flambeau.script(programs.unused)(x, y)
    (doubled + product).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])
    np.testing.assert_array_equal(y.grad.numpy(), [1.0, 2.0])


@flambeau.script
def scaled(x: Tensor) -> Tensor:
    return x * float(x[0])


@flambeau.script
def listed(x: Tensor) -> list[Tensor]:
    return [x * float(x[0])]


@flambeau.script
def shifted(x: Tensor, log: list[float]) -> Tensor:
    log.append(float(x.sum()))
    return x + x[1].item() * 2.0


def test_c15_the_tape_goes_through_numbers_of_compiled_calls() -> None:
    x = _leaf(3.0, 2.0)
    scaled(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [8.0, 3.0])
    twice = flambeau.CompilationUnit("def f(x: Tensor) -> Tensor: return (x * x.sum().item()).sum() * x[0].item()").f
    x = _leaf(1.0, 2.0)
    twice(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [15.0, 6.0])


def test_c15_a_write_through_a_mask_goes_back_at_run_time() -> None:
    @flambeau.script
    def masked(x: Tensor) -> Tensor:
        m = x.clone()
        m[m > 0.3] = 0.2
        return (m * float(x[0])).sum()

    for _ in range(2):
        x = _leaf(1.0, 0.1, 0.2)
        masked(x).backward()
        np.testing.assert_allclose(x.grad.numpy(), [0.5, 1.0, 1.0], rtol=1e-6)
        assert x.tolist() == _leaf(1.0, 0.1, 0.2).tolist()


def test_c15_numbers_alone_leave_the_tape() -> None:
    @flambeau.script
    def both(x: Tensor) -> tuple[Tensor, float]:
        return x * 2.0, float(x.sum())

    y, total = both(_leaf(3.0, 2.0))
    assert total == 5.0
    assert y.grad_fn.name() == "CompiledCallBackward"


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (lambda x: shifted(x, []), "it draws random numbers, prints, or writes to what was there before"),
        (lambda x: flambeau.func.jvp(lambda y: listed(y)[0], (x,), (x,)), "a transform of the function that calls it"),
        (flambeau.script(scaled.__wrapped__, backend="reference"), "its backend is the reference"),
    ],
)
def test_c15_numbers_that_no_gradient_goes_through_are_refused(run: Any, reason: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        run(_leaf(3.0, 2.0))
    text = str(caught.value)
    assert "makes a number of a tensor and computes a tensor of it (line " in text
    assert reason in text
    assert "float(x[0])" in text or "x[1].item()" in text


def test_c15_numbers_without_gradients_run_an_operator_at_a_time() -> None:
    with flambeau.no_grad():
        assert shifted(_leaf(3.0, 2.0), []).tolist() == [7.0, 6.0]
    unit = flambeau.CompilationUnit("def f(x: Tensor) -> Tensor:\n  print('')\n  return x * float(x.detach()[0])")
    x = _leaf(3.0, 2.0)
    unit.f(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])


def test_c15_writes_are_not_lost() -> None:
    @flambeau.script
    def stencil(x: Tensor) -> Tensor:
        y = flambeau.zeros_like(x)
        for i in range(1, x.size(0) - 1):
            y[i] = x[i - 1] * 0.5 + x[i + 1]
        return y

    for _ in range(4):
        x = _leaf(1.0, 2.0, 3.0, 4.0)
        stencil(x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [0.5, 0.5, 1.0, 1.0])
    if available():
        [plan] = stencil._executor.derivatives.gradient_plans
        assert "native from end to end" in str(plan.backward.runner.explain())


@pytest.mark.skipif(not available(), reason="native code needs llvmlite")
def test_c17_a_loop_goes_back_natively() -> None:
    compiled = flambeau.CompilationUnit(inspect.getsource(programs.counted)).counted
    for _ in range(4):
        compiled(_leaf(0.5, 0.25), 4).backward()
    [plan] = compiled._executor.derivatives.gradient_plans
    assert "native from end to end" in str(plan.joint.runner.explain())


def test_c15_modules_are_trained_by_compiled_calls() -> None:
    module = flambeau.nn.Sequential(flambeau.nn.Linear(3, 4), flambeau.nn.Tanh(), flambeau.nn.Linear(4, 2))
    scripted = flambeau.jit.script(module)
    x = flambeau.tensor(_draw.normal(size=(5, 3)), dtype=flambeau.float32)
    scripted(x).square().sum().backward()
    got = [p.grad.numpy().copy() for p in module.parameters()]
    for p in module.parameters():
        p.grad = None
    module(x).square().sum().backward()
    for ours, expected in zip(got, [p.grad.numpy() for p in module.parameters()], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def _asserting(x: Tensor, n: int) -> Tensor:
    if n < 0:
        raise ValueError(f"n is {n}")
    y = x * 2
    for i in range(n):
        y = y * x
        if i > 5:
            raise KeyError("too many")
    assert x.size(0) == 3, "three"
    return y


@pytest.mark.skipif(not available(), reason="needs native code")
def test_calls_that_assert_are_one_node() -> None:
    compiled = flambeau.script(_asserting)
    x = flambeau.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for n in (0, 2, 3):
        y = compiled(x, n)
        assert type(y.grad_fn).__name__ in ("CompiledBackward", "RepeatedBackward")
        (found,) = flambeau.autograd.grad(y.sum(), x)
        (wanted,) = flambeau.autograd.grad(_asserting(x, n).sum(), x)
        assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("length", "n", "kind", "text"),
    [(3, -1, ValueError, "n is -1"), (3, 9, KeyError, "too many"), (2, 1, AssertionError, "three")],
)
def test_what_recorded_calls_raise(length: int, n: int, kind: type[Exception], text: str) -> None:
    compiled = flambeau.script(_asserting)
    for _ in range(3):
        with pytest.raises(kind, match=text):
            compiled(flambeau.ones(length, requires_grad=True), n)


def _squared_items(x: Tensor) -> list[Tensor]:
    return [y * y for y in x.unbind(0)]


def _collected(x: Tensor) -> tuple[list[Tensor], Tensor]:
    ys = [x * 2]
    for number in range(3):
        ys.append(ys[-1] * x + number)
    return ys, x.detach()


@pytest.mark.parametrize("function", [_squared_items, _collected])
def test_items_of_a_list_that_grows_ask_for_gradients(function: Callable[..., Any]) -> None:
    """A list that is filled after it was made carries gradients to who gets it."""
    found = []
    for call in (function, flambeau.script(function)):
        x = flambeau.tensor([1.0, 2.0, 3.0], requires_grad=True)
        result = call(x)
        items = result[0] if isinstance(result, tuple) else result
        assert [y.requires_grad for y in items] == [True] * len(items)
        (slope,) = flambeau.autograd.grad(sum((y * y).sum() for y in items), x)
        found.append(slope.tolist())
        if isinstance(result, tuple):
            assert not result[1].requires_grad
    assert found[0] == found[1]
