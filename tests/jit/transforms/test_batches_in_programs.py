"""Batches and Jacobians in programs, and Jacobians of functions with loops, are operators on whole batches."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autograd.functional import jacobian as jacobian_on_the_tape
from flambeau.func import grad, hessian, hvp, jacfwd, jacrev, jvp, vmap
from flambeau.program.batches import VMAP
from flambeau.util.trees import flatten

m = flambeau


def numbers(*sizes: int, seed: int = 0) -> Tensor:
    return m.from_numpy(np.random.default_rng(seed).normal(size=sizes))


def swing(x: Tensor, p: Tensor) -> Tensor:
    for _ in range(7):
        x = x + 0.1 * m.stack([x[1], -p * m.sin(x[0])])
    return x


def bent(x: Tensor, p: Tensor) -> Tensor:
    return (swing(x, p) ** 2).sum()


def halved(x: Tensor, p: Tensor) -> Tensor:
    while bool((x * x).sum() > 1.0):
        x = x * 0.5 * p
    return x.sin()


def pair(x: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    return swing(x, p), (x * p).sum()


scripted = {f.__name__: m.script(f) for f in (swing, bent, halved, pair)}


def close(got: Any, want: Any) -> None:
    got, want = flatten(got)[0], flatten(want)[0]
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-11)


TRANSFORMS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "jacrev": jacrev, "jacfwd": jacfwd, "by both": lambda f: jacrev(f, (0, 1)), "hessian": hessian,
    "hvp": lambda f: lambda x, p: hvp(f, (x, p), (x, p)), "jvp": lambda f: lambda x, p: jvp(f, (x, p), (x, p)),
    "of each": lambda f: lambda x, p: vmap(jacrev(f), (0, None))(m.stack([x, x * 3, -x]), p),
}  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", scripted)
def test_values_are_those_of_the_python_function(name: str, transform: str) -> None:
    if transform == "hvp" and name not in ("bent",):
        pytest.skip("products with Hessians are of numbers")
    if transform == "of each" and name == "halved":
        pytest.skip("a Python function cannot branch for each example")
    function, python = scripted[name], globals()[name]
    made, wanted = TRANSFORMS[transform](function), TRANSFORMS[transform](python)
    x, p = numbers(2) * 3, numbers(1)[0]
    for scale in (1.0, 0.25, 2.0):
        close(made(x * scale, p), wanted(x * scale, p))


@pytest.mark.parametrize("transform", ["jacrev", "hessian", "jacfwd"])
def test_one_plan_serves_all_sizes(transform: str) -> None:
    made = TRANSFORMS[transform](m.script(mixed))
    for size in (2, 3, 5, 8):
        x, w = numbers(size), numbers(size, size, seed=1)
        close(made(x, w), TRANSFORMS[transform](mixed)(x, w))
    plans = next(c for c in made.explain().caches if c.name == "plans")
    assert (plans.entries, plans.misses) == (1, 1)
    kinds = {n.op for n in made.graph_for(numbers(6), numbers(6, 6)).all_nodes()}
    assert not kinds & {VMAP, "prim::Gradient"}


def mixed(x: Tensor, w: Tensor) -> Tensor:
    for _ in range(4):
        x = m.tanh(w @ x) + 0.1 * x
    return x


swings, bends = scripted["swing"], scripted["bent"]


def together(x: Tensor, p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return vmap(swings, (0, None))(x, p), vmap(grad(bends), (0, None))(x, p), vmap(jacrev(swings), (0, None), 1)(x, p)


def newton(x: Tensor, p: Tensor) -> Tensor:
    for _ in range(3):
        x = x - m.linalg.solve(hessian(bends)(x, p) + m.eye(2, dtype=x.dtype), grad(bends)(x, p))
    return x


def by_number(x: Tensor) -> Tensor:
    while float(x[0]) > 1.0:
        x = x * 0.5
    return x


by_numbers = m.script(by_number)


def test_calls_in_programs_have_no_loop_over_examples() -> None:
    program = m.script(together)
    x, p = numbers(5, 2), numbers(1)[0]
    found = program(x, p)
    want = m.stack([swing(row, p) for row in x]), m.stack([grad(bent)(row, p) for row in x])
    jacobians = m.stack([jacrev(swing)(row, p) for row in x], 1)
    close(found, (*want, jacobians))
    loops = [n for n in program.graph_for(x, p).all_nodes() if n.op == "prim::Loop"]
    assert all(n.operand(0).defining_node is not None and n.operand(0).defining_node.op != "aten::size" for n in loops)
    close(program(x[:3], p), (*[v[:3] for v in want], jacobians[:, :3]))


def test_steps_with_hessians_in_a_loop() -> None:
    x, p = numbers(2), numbers(1)[0]
    close(m.script(newton)(x, p), newton(x, p))


def test_examples_that_go_their_own_ways_go_one_by_one() -> None:
    @m.script
    def program(x: Tensor) -> Tensor:
        return vmap(by_numbers)(x)

    x = numbers(6, 3) * 9
    close(program(x), m.stack([by_number(row) for row in x]))


def test_examples_of_several_arguments_are_as_many() -> None:
    @m.script
    def program(x: Tensor, p: Tensor) -> Tensor:
        return vmap(swings)(x, p)

    x, p = numbers(4, 2), numbers(4)
    close(program(x, p), m.stack([swing(x[n], p[n]) for n in range(4)]))
    for count in (3, 1, 5):
        with pytest.raises(ValueError, match=r"same size in the mapped dimension, got sizes \[4, \d\]"):
            program(numbers(4, 2), numbers(count))


def test_a_batch_is_differentiated_and_batched_again() -> None:
    @m.script
    def total(x: Tensor, p: Tensor) -> Tensor:
        return (vmap(swings, (0, None))(x, p) ** 2).sum()

    def plain(x: Tensor, p: Tensor) -> Tensor:
        return (m.stack([swing(row, p) for row in x]) ** 2).sum()

    x, p = numbers(3, 2), numbers(1)[0]
    close(grad(total, (0, 1))(x, p), grad(plain, (0, 1))(x, p))
    batch = m.stack([x, x * 2])
    close(vmap(grad(total), (0, None))(batch, p), m.stack([grad(plain)(x, p), grad(plain)(x * 2, p)]))
    asking = x.clone().requires_grad_()
    total(asking, p).backward()
    close(asking.grad, grad(plain)(x, p))


def test_archives_hold_loops_over_examples() -> None:
    program = m.script(together)
    stream = io.BytesIO()
    m.jit.save(program, stream)
    loaded = m.jit.load(io.BytesIO(stream.getvalue()))
    x, p = numbers(4, 2), numbers(1)[0]
    close(loaded(x, p), program(x, p))
    assert "swing_one_by_one" in vmap(swings, (0, None)).code


def test_in_mixed_precision_each_example_is_cast() -> None:
    @m.script
    def row(x: Tensor, w: Tensor) -> Tensor:
        return w @ x

    @m.script
    def program(x: Tensor, w: Tensor) -> Tensor:
        with m.autocast("cpu", dtype=m.bfloat16):
            return vmap(row, (0, None))(x, w)

    found = program(m.ones(3, 2), m.ones(4, 2))
    assert found.dtype is m.bfloat16
    assert found.tolist() == [[2.0] * 4] * 3


def test_a_jacobian_of_nothing() -> None:
    made = jacrev(scripted["halved"])
    assert tuple(made(m.zeros(0, dtype=m.float64), m.tensor(1.0)).shape) == (0, 0)


def test_derivatives_of_the_tape_are_the_same() -> None:
    x, p = numbers(2), numbers(1)[0]
    want = jacobian_on_the_tape(lambda y: grad(bent)(y, p), x)
    close(hessian(bends)(x, p), want)


def of_sizes_and_numbers(x: Tensor, k: int) -> Tensor:
    if k > 3:
        raise ValueError("large")
    assert x.shape[0] == 3, "three"
    return (x**2).sum()


def of_elements(x: Tensor) -> Tensor:
    if bool(x.sum() > 100):
        raise ValueError("large")
    return (x**2).sum()


def test_functions_that_may_raise_are_batches_as_a_whole() -> None:
    x = flambeau.arange(12.0).reshape(4, 3)
    by_sizes, by_elements = flambeau.script(of_sizes_and_numbers), flambeau.script(of_elements)
    batch = flambeau.vmap(by_sizes, in_dims=(0, None))
    for _ in range(2):
        assert batch(x, 1).tolist() == [5.0, 50.0, 149.0, 302.0]
        assert flambeau.vmap(by_elements)(x).tolist() == [5.0, 50.0, 149.0, 302.0]
        assert flambeau.vmap(flambeau.grad(by_elements))(x).tolist() == (2 * x).tolist()
        with pytest.raises(ValueError, match="large"):
            batch(x, 5)
        with pytest.raises(AssertionError, match="three"):
            batch(x.T, 1)
        for transform in (flambeau.vmap, lambda f: flambeau.vmap(flambeau.grad(f))):
            with pytest.raises(ValueError, match="large"):
                transform(by_elements)(x * 100)

    def attention(q: Tensor, k: Tensor) -> Tensor:
        return flambeau.softmax(q @ k.T, -1)

    def heads(q: Tensor, k: Tensor) -> Tensor:
        return flambeau.vmap(flambeau.vmap(attention, in_dims=1, out_dims=1))(q, k)

    q, k = flambeau.randn(2, 5, 3, 4), flambeau.randn(2, 5, 3, 4)
    compiled = flambeau.script(heads)
    flambeau.testing.assert_close(compiled(q, k), heads(q, k))
    assert "Loop" not in str(compiled.graph_for(q, k))
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        compiled(q, flambeau.randn(2, 5, 2, 4))
