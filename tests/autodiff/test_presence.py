"""What took no part in a compiled call has no gradient, as an operator at a time: not zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.autodiff.presence import Presence, Presences
from flambeau.autodiff.presence_flags import add
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify


def branch(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    y = x * w if n > 1 else x.sin()
    return y.floor() + v if n == 0 else y


def early(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    total = x.sum() + w.exp().sum() * 0.0
    if n == 2:
        return total
    return total + v.sum() * float(n)


def rounds(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x * w if i % 2 == 0 else x + v.sin()
    return x


def nested(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    total = x * 2.0
    for i in range(3):
        y = total
        for j in range(n - i):
            y = y * w
            if j == 2:
                y = y + v
        total = total + y
    return total


def turns(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    k = 0
    while bool(x.sum() < 3.0 * n):
        x = x + (w.abs() if k < 2 else v.abs())
        k += 1
        if k > 3:
            break
    return x


def picked(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    xs = [x, w]
    xs.append(v)
    if n == 3:
        xs[1] = x
    return xs[min(n, 2)] * x


def extended(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    xs = [x, x.sin()]
    xs.extend([xs[0] * w, x])
    joined = flambeau.cat(xs).reshape(-1, x.size(0)).sum(0)
    for i in range(n):
        return x * 0.5 + w if i == 1 else x * 0.5
    return joined * v


def added(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    xs = [x]
    ys = [w, v] if n > 1 else [x]
    xs += ys
    if n == 3:
        return xs[0] * 2.0
    return flambeau.stack(xs).sum(0)


def collected(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    xs = [x]
    for i in range(n):
        xs.append(xs[-1] * w)
        if i == 1:
            xs.append(v)
    if n == 3:
        xs.pop()
    return flambeau.stack(xs).sum(0) if n > 0 else xs[0] * 2.0


def elements(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    y = x.clone()
    for i in range(n):
        y[i] = x[i] * w[i]
        if i > 1:
            y[0] += v[i]
    return y


def pieces(x: Tensor, w: Tensor, v: Tensor, n: int) -> Tensor:
    a, b = flambeau.cat([x, w])[:n].split(2)[0], x
    return flambeau.cat([b, v]) if n % 3 else b * a.sum()


PROGRAMS: list[Callable[..., Tensor]] = [
    branch, early, rounds, nested, turns, picked, extended, added, collected, elements, pieces,
]  # fmt: skip


def leaves() -> list[Tensor]:
    draw = np.random.default_rng(3)
    return [flambeau.tensor(draw.uniform(0.2, 1.0, 4), requires_grad=True) for _ in range(3)]


def same(found: list[Any], wanted: list[Any]) -> None:
    assert [g is None for g in found] == [g is None for g in wanted]
    for ours, plain in zip(found, wanted, strict=True):
        if plain is not None:
            np.testing.assert_allclose(ours.detach().numpy(), plain.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_took_no_part_has_no_gradient(program: Callable[..., Tensor]) -> None:
    compiled = flambeau.script(program)
    for n in (0, 1, 3, 2):
        found = []
        for function in (program, compiled, compiled):
            one, other = leaves(), leaves()
            first = list(flambeau.autograd.grad((function(*one, n) ** 2).sum(), one, allow_unused=True))
            (function(*other, n) ** 2).sum().backward()
            found.append([*first, *(t.grad for t in other)])
        for ours in found[1:]:
            same(ours, found[0])


def test_second_gradients_of_what_took_no_part() -> None:
    found = []
    for function in (rounds, flambeau.script(rounds)):
        tensors = leaves()
        total = (function(*tensors, 1) ** 2).sum()
        first = flambeau.autograd.grad(total, tensors, create_graph=True, allow_unused=True)
        sum((g * g).sum() for g in first if g is not None).backward()
        found.append([*first, *(t.grad for t in tensors)])
    same(*found)


def test_a_gradient_that_is_not_there_is_refused_where_nobody_allows_it() -> None:
    x, w, v = leaves()
    compiled = flambeau.script(rounds)
    compiled(x, w, v, 2).sum().backward()
    with pytest.raises(RuntimeError, match="index 1 appears to not have been used"):
        flambeau.autograd.grad(compiled(x, w, v, 1).sum(), [x, v])


def test_what_comes_before_the_call_has_no_gradient_either() -> None:
    x, w, v = leaves()
    compiled = flambeau.script(branch)
    compiled(x, w * 2.0, v, 1).sum().backward()
    assert [t.grad is None for t in (x, w, v)] == [False, True, True]


def test_only_what_the_run_decides_is_told_by_the_run() -> None:
    graph = parse_ir("""
graph(%g : Float(4), %w : Float(4), %n : int):
  %t : bool = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %two : int = prim::Constant[value=2]()
  %one : int = prim::Constant[value=1]()
  %z : Float(4) = aten::zeros_like(%w, %none, %none, %none, %none, %none)
  %a : Float(4), %b : Float(4) = prim::Loop(%n, %t, %g, %z)
    block0(%i : int, %p : Float(4), %q : Float(4)):
      %r : Float(4) = aten::mul(%p, %w)
      %s : Float(4) = aten::add(%q, %p, %one)
      -> (%t, %r, %s)
  %c : Float(4) = prim::Loop(%two, %t, %z)
    block0(%j : int, %u : Float(4)):
      %v : Float(4) = aten::add(%u, %g, %one)
      -> (%t, %v)
  return (%a, %b, %c, %z)""")
    seeds = [graph.parameters[0]]
    always, never, at_times = Presence.ALWAYS, Presence.NEVER, Presence.AT_TIMES
    assert list(map(Presences(graph, seeds).of, graph.returns)) == [always, at_times, always, never]
    assert add(graph, seeds) == ([always, at_times, always, never], [None, 4, None, None])
    verify(graph)
    assert graph.returns[4].defining_node.op == "aten::gt"
    assert len(graph.find_all("prim::Loop")[0].results) == 2
