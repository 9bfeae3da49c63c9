"""Transforms of scripted functions are scripted functions, and give what those of Python functions give."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.func import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap
from flambeau.jit.function import ScriptFunction
from flambeau.util.trees import flatten

X = flambeau.linspace(0.1, 1.0, 5).double()
BATCH = flambeau.stack([X, X * 2, X - 1])


@flambeau.script
def valley(x: Tensor) -> Tensor:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@flambeau.script
def pairs(x: Tensor, k: float = 2.0) -> tuple[Tensor, Tensor]:
    return flambeau.sin(x[1:]) * x.sum() * k, (x * x).sum()


@flambeau.script
def wandering(x: Tensor, k: float = 2.0) -> Tensor:
    s = x * 1.0
    while bool(s.sum() < 10.0):
        s = s * k
    return (s.sin() * float(x[0])).sum()


@flambeau.script
def with_dict(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return (p["w"] * x).sum() + p["b"]


def _close(got: Any, want: Any) -> None:
    got, want = flatten(got)[0], flatten(want)[0]
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("transform", "function"),
    [
        (lambda f: value_and_grad(f)(X), valley),
        (lambda f: hessian(f)(X), valley),
        (lambda f: jacrev(f)(X, k=3.0), pairs),
        (lambda f: jacfwd(f)(X), pairs),
        (lambda f: jvp(f, (X,), (X * 2,)), pairs),
        (lambda f: hvp(f, (X,), (X * 2,)), valley),
        (lambda f: vmap(f, in_dims=(1, None), out_dims=(1, 0))(BATCH.t(), 3.0), pairs),
        (lambda f: vmap(grad(f))(BATCH), valley),
    ],
    ids=["value_and_grad", "hessian", "jacrev", "jacfwd", "jvp", "hvp", "vmap", "vmap of grad"],
)
def test_c15_scripted_and_plain_agree(transform: Any, function: Any) -> None:
    want = transform(function.__wrapped__)
    for _ in range(3):
        _close(transform(function), want)


def test_c15_derivatives_kept_as_functions() -> None:
    _, pull = vjp(valley, X)
    _close(pull(flambeau.tensor(2.0).double())[0], grad(valley.__wrapped__)(X) * 2)
    _, along = linearize(valley, X)
    _close(along(X), (grad(valley.__wrapped__)(X) * X).sum())


def test_c15_they_are_scripted_functions() -> None:
    second = hessian(valley)
    assert isinstance(second, ScriptFunction)
    assert second is hessian(valley)
    assert "prim::Loop" in str(second.graph)
    assert "def valley_hessian(x: Tensor) -> Tensor:" in second.code
    want = second(X)
    if available():
        for _ in range(3):  # the first of all was recorded
            second(X)
        assert "native from end to end" in str(second.explain())
    _close(second._executor(X), want)


def test_c15_they_are_saved() -> None:
    for function in (hessian(valley), grad(flambeau.script(_loss), has_aux=True)):
        loaded = flambeau.jit.load(io.BytesIO(function.save_to_buffer()))
        _close(loaded(X), function(X))


def _differences(function: Any, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    steps = np.eye(len(x)) * 1e-6
    rows = [(function(flambeau.tensor(x + e)) - function(flambeau.tensor(x - e))).numpy() / 2e-6 for e in steps]
    return np.stack(rows, -1)


def test_c15_functions_that_go_by_elements_go_their_own_way_for_each_example() -> None:
    rows = BATCH[:2] + 0.05
    _close(vmap(wandering)(rows), flambeau.stack([wandering(row) for row in rows]))
    slopes = np.stack([_differences(wandering, row.numpy()) for row in rows])
    np.testing.assert_allclose(vmap(grad(wandering))(rows).numpy(), slopes, rtol=1e-5)
    second = _differences(grad(wandering), rows[0].numpy())
    np.testing.assert_allclose(hessian(wandering)(rows[0]).numpy(), second, rtol=1e-4, atol=1e-4)


def test_c15_dictionaries_and_further_results() -> None:
    parameters = {"w": X, "b": X[0]}
    _close(grad(with_dict)(parameters, X), {"w": X, "b": flambeau.tensor(1.0).double()})
    each = vmap(grad(with_dict), in_dims=(None, 0))
    _close(each(parameters, BATCH)["w"], BATCH)
    slope, rest = jacrev(pairs, has_aux=True)(X)
    _close((slope, rest), jacrev(pairs.__wrapped__, has_aux=True)(X))
    _close(value_and_grad(flambeau.script(_loss), has_aux=True)(X), value_and_grad(_loss, has_aux=True)(X))


def _loss(x: Tensor) -> tuple[Tensor, Tensor]:
    return (x * x).sum(), x + 1


def test_c15_gradients_of_what_dictionaries_hold() -> None:
    for _ in range(4):
        with_dict({"w": X, "b": X[0]}, X)
    w = X.clone().requires_grad_()
    with_dict({"w": w, "b": X[0]}, X).backward()
    _close(w.grad, X)


@flambeau.script
def by_transforms(x: Tensor) -> Tensor:
    return grad(valley)(x) * 2.0


def test_c15_programs_that_differentiate_are_transformed() -> None:
    _close(vmap(by_transforms)(BATCH), vmap(grad(valley.__wrapped__))(BATCH) * 2)
    _close(jacrev(by_transforms)(X), hessian(valley.__wrapped__)(X) * 2)


def test_c15_their_results_ask_for_gradients_when_arguments_do() -> None:
    slopes = []
    for function in (valley, valley.__wrapped__):
        x = X.clone().requires_grad_()
        hessian(function)(x).sum().backward()
        slopes.append(x.grad)
        with flambeau.no_grad():
            assert not hessian(function)(x).requires_grad
    _close(*slopes)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, g: grad(f)(flambeau.arange(4)),
        lambda f, g: grad(g)(X),
        lambda f, g: grad(f, 3)(X),
        lambda f, g: vmap(f)(X.sum()),
        lambda f, g: jvp(f, (X,), (X[1:],)),
        lambda f, g: vmap(f, out_dims=2)(BATCH),
    ],
)  # fmt: skip
def test_c13_what_is_refused_is_refused_alike(call: Any) -> None:
    errors = []
    for f, g in ((valley, pairs), (valley.__wrapped__, pairs.__wrapped__)):
        with pytest.raises((RuntimeError, ValueError, IndexError)) as caught:
            call(f, g)
        errors.append(str(caught.value).strip().splitlines()[-1].removeprefix("RuntimeError: "))
    assert errors[0] == errors[1]


@flambeau.script
def noisy(x: Tensor) -> Tensor:
    return (x * flambeau.rand_like(x)).sum()


def test_c15_random_numbers_of_batches() -> None:
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(noisy)(BATCH)
    same, different = vmap(noisy, randomness="same"), vmap(noisy, randomness="different")
    ones = flambeau.ones(3, 4)
    for _ in range(2):
        assert len(set(same(ones).tolist())) == 1
        assert len(set(different(ones).tolist())) == 3
    assert same(ones).tolist() != same(ones).tolist()


@flambeau.script
def newton(x: Tensor, steps: int) -> Tensor:
    for _ in range(steps):
        x = x - flambeau.linalg.solve(hessian(valley)(x), grad(valley)(x))
    return x


@flambeau.script
def slopes_of_columns(x: Tensor) -> Tensor:
    return vmap(grad(valley), in_dims=(1,), out_dims=1)(x)


def test_c15_programs_take_transforms() -> None:
    _close(newton(flambeau.tensor([0.9, 1.2, 0.8]).double(), 12), flambeau.ones(3).double())
    _close(slopes_of_columns(BATCH.t()), vmap(grad(valley.__wrapped__))(BATCH).t())


@flambeau.script
def both(x: Tensor, y: Tensor, k: float = 2.0):  # type: ignore[no-untyped-def]
    return x * y.sin() * k, (x * x).sum()


@flambeau.script
def tangents(x: Tensor, y: Tensor):  # type: ignore[no-untyped-def]
    return jvp(both, (x, y), (y, x))


@flambeau.script
def tangents_by_name(x: Tensor, y: Tensor):  # type: ignore[no-untyped-def]
    return jvp(valley, tangents=(y,), primals=(x,))


@flambeau.script
def products(x: Tensor, y: Tensor):  # type: ignore[no-untyped-def]
    return hvp(valley, (x,), (y,))


@flambeau.script
def pulled(x: Tensor, y: Tensor):  # type: ignore[no-untyped-def]
    value, pull = vjp(both, x, y)
    first = pull((y, x.sum()))
    return value, first, pull((first[0], y.sum()))


@flambeau.script
def pulled_in_a_loop(x: Tensor, y: Tensor):  # type: ignore[no-untyped-def]
    _, pull = vjp(valley, x)
    total = y.sum()
    while bool(total < 100):
        (gradient,) = pull(total)
        total = total + (gradient * gradient).sum()
    return total


@flambeau.script
def straightened(x: Tensor, y: Tensor):  # type: ignore[no-untyped-def]
    value, along = linearize(both, x, y)
    return value, along(y, x), along(x, y)


@flambeau.script
def slope_of_tangents(x: Tensor, y: Tensor) -> Tensor:
    return jvp(valley, (x,), (y,))[1]


PRODUCTS = [tangents, tangents_by_name, products, pulled, pulled_in_a_loop, straightened]


@pytest.mark.parametrize("function", PRODUCTS, ids=lambda function: function.name)
def test_c15_products_of_derivatives_in_programs_are_those_of_python(function: Any) -> None:
    x, y = flambeau.rand(3).double(), flambeau.rand(3).double() + 1
    file = io.BytesIO()
    flambeau.jit.save(function, file)
    file.seek(0)
    loaded = flambeau.jit.load(file)
    expected = function.__wrapped__(x, y)
    for _ in range(4):
        _close(function(x, y), expected)
        _close(loaded(x, y), expected)


def test_c15_products_in_programs_are_transformed_again() -> None:
    x, y = flambeau.rand(3).double(), flambeau.rand(3).double()
    _close(grad(slope_of_tangents)(x, y), hessian(valley)(x) @ y)
    _close(vmap(slope_of_tangents)(flambeau.stack([x, y]), flambeau.stack([y, x]))[1], slope_of_tangents(y, x))
    asking = x.clone().requires_grad_()
    pulled_in_a_loop(asking, y).backward()
    other = x.clone().requires_grad_()
    pulled_in_a_loop.__wrapped__(other, y).backward()
    _close(asking.grad, other.grad)


def test_c15_a_jacobian_of_random_numbers_draws_them_once() -> None:
    @flambeau.script
    def wild(x: Tensor) -> Tensor:
        return x * flambeau.rand_like(x) if bool(x[0] > 0) else x

    rows = jacrev(wild)(flambeau.ones(4))
    assert rows.diagonal().tolist() != [1.0] * 4
    assert (rows - rows.diagonal().diag()).abs().sum().item() == 0.0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("vmap(valley, n)(x)", "what vmap() takes besides a function is written out in programs"),
        ("hessian(valley, strict=True)(x)", "hessian() takes a function in programs, and argnums"),
        ("jvp(valley, (x,))[0]", "jvp() takes a function, a tuple of primals and a tuple of tangents in programs"),
        ("jvp(valley, x, (x,))[0]", "jvp() takes its primals as a tuple, one for each argument of the function"),
        ("hvp(valley, (x,), x)[0]", "hvp() takes its tangents as a tuple, one for each argument of the function"),
        ("jvp(valley, (x,), (x, x))[0]", "jvp() got 1 primals and 2 tangents: each primal has one"),
        ("jvp(valley, (x, x), (x, x))[0]", "jvp() got 2 arguments for valley(), which takes 1"),
        ("jvp(by_number, (x,), (x,))[0]", "jvp() of by_number() needs an argument for 'n', which has no default"),
        ("jvp(by_number, (x, n), (x, x))[0]", "jvp() of by_number() goes by tensors: 'n' is a int"),
        ("jvp(noisy, (x,), (x,))[0]", "jvp() of noisy(), which draws random numbers, runs it several times"),
        ("jacrev(noisy)(x)", "jacrev() of noisy(), which draws random numbers, runs it several times"),
        ("vjp(noisy, x)[0]", "vjp() of noisy(), which draws random numbers, runs it several times"),
        ("vjp(valley, x, has_aux=True)[0]", "vjp() takes a function and its arguments in programs: value, pull = vjp("),
        ("linearize(valley)[0]", "linearize() takes a function and its arguments in programs: value, along = linear"),
        ("vjp(x, x)[0]", "vjp() takes a function in programs, by its name"),
        ("vmap(noisy)(x)", "vmap() of noisy(), which draws random numbers, needs randomness='different' in programs"),
        ("vmap(valley, randomness='other')(x)", "Only allowed values for randomness are"),
        ("vmap(valley, in_dims=None)(x)", "vmap() of valley() in programs needs in_dims and out_dims"),
        ("jacrev(valley, 3)(x)", "valley() has 1 parameters: there is no argument 3"),
        ("jacrev(by_number, 1)(x, 2)", "jacrev() of by_number() goes by tensors: 'n' is a int"),
        ("jacrev(by_list)(x)", "jacrev() of by_list() needs results that are tensors, or a tuple of tensors"),
    ],
)
def test_c13_what_programs_cannot_say_of_transforms(body: str, message: str) -> None:
    names = {**globals(), **flambeau.CompilationUnit(_OTHERS)._functions}
    with pytest.raises(RuntimeError) as caught:
        exec(f"unit = flambeau.CompilationUnit({f'def main(x: Tensor, n: int) -> Tensor: return {body}'!r})", names)
    assert message in str(caught.value)


_OTHERS = """
def by_number(x: Tensor, n: int) -> Tensor: return x * n
def by_list(x: Tensor) -> list[Tensor]: return [x, x]
"""


@flambeau.script
def adaptive(y: Tensor, k: Tensor) -> Tensor:
    t, h = 0.0, 0.1
    while t < 1.0:
        slope = -k * y
        if float((slope * slope).sum()) * h > 0.05:
            h = h * 0.5
        else:
            y = y + h * slope
            t, h = t + h, min(h * 1.5, 1.0 - t - h + 1e-9)
    return y


def test_c15_tangents_of_a_solver_with_steps_of_its_own() -> None:
    y, k = flambeau.tensor([1.0, 0.5]).double(), flambeau.tensor([0.7, 1.3]).double()
    step = 1e-6
    ahead, behind = (adaptive(y + sign * step * k, k + sign * step * y) for sign in (1, -1))
    np.testing.assert_allclose(jvp(adaptive, (y, k), (k, y))[1].numpy(), ((ahead - behind) / (2 * step)).numpy(), 1e-5)


@flambeau.script
def task(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return ((flambeau.tanh(x @ w) - y) ** 2).mean()


@flambeau.script
def adapted(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return task(w - 0.1 * grad(task)(w, x, y), x * 0.5, y)


def test_c15_learning_to_learn() -> None:
    def plain(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
        loss = task.__wrapped__
        return loss(w - 0.1 * grad(loss)(w, x, y), x * 0.5, y)

    draw = np.random.default_rng(0)
    w, x, y = (flambeau.tensor(draw.normal(size=size)) for size in ((3, 2), (4, 5, 3), (4, 5, 2)))
    _close(*[vmap(grad(f), in_dims=(None, 0, 0))(w, x, y) for f in (adapted, plain)])


def over_a_dict(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return (flambeau.tanh(x @ p["w"]) ** 2).sum()


def without_annotations(p, x):
    return over_a_dict({"w": p["w"]}, x)


def differences(x: Tensor) -> Tensor:
    return (x[1:] * x[:-1]).sum()


@pytest.mark.parametrize(
    ("transform", "function"), [(grad, over_a_dict), (hessian, without_annotations), (jacrev, differences)]
)
def test_what_is_shown_is_what_runs(transform: Any, function: Any) -> None:
    arguments = (flambeau.ones(4),) if function is differences else ({"w": flambeau.ones(2, 2)}, flambeau.eye(2))
    compiled: Any = transform(flambeau.script(function))
    compiled.compile(*arguments)
    count = len(compiled.explain().compilations)
    for _ in range(3):
        compiled(*arguments)
    assert compiled.graph_for(*arguments).listed_nodes()
    assert len(compiled.explain().compilations) == count
    assert compiled.explain().is_native


def test_explain_shows_what_was_compiled_for_numbers() -> None:
    """Where a number is among the arguments, calls run the transform of a function for its type."""

    def repeated(x, n):
        for _ in range(n):
            x = x * 1.5 + flambeau.sin(x)
        return x.sum()

    gradient = flambeau.func.grad(flambeau.script(repeated))
    for size, count in ((5, 3), (2, 4)):
        gradient(flambeau.rand(size), count)
    assert gradient.explain().compilations
    assert gradient.explain().is_native
