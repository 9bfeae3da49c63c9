"""Objects that stay inside become values; those that others see stay objects."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.ir.clone import clone_graph
from flambeau.ir.verify import verify
from flambeau.passes import inline, lower_objects
from tests.jit.classes.comparing import assert_like_python


class Counter:
    def __init__(self, n: int):
        self.n = n
        self.best: int | None = None
        self.pair = (n, 0.5)

    def step(self, k: int) -> int:
        self.n += k
        if self.n % 7 == 0:
            self.best = self.n
        return self.n


class Holder:
    def __init__(self, counter: Counter):
        self.counter = counter

    def go(self, k: int):
        self.counter.step(k)


class Maybe:
    n: int
    m: int

    def __init__(self, k: int):
        self.m = k
        if k > 2:
            self.n = k


def straight(k: int):
    c = Counter(k)
    c.n = c.n * 2
    return c.n, c.pair


def branches(k: int):
    c = Counter(k)
    if k > 2:
        c.n = 10
    else:
        c.step(3)
        c.best = 1
    return c.n, c.best


def loops(k: int):
    c = Counter(1)
    holder = Holder(c)
    total = 0
    for i in range(k):
        total += c.step(i)
        holder.go(1)
        if i % 3 == 0:
            inner = Counter(i)
            total += inner.step(2)
    best = c.best
    return total, c.n, -1 if best is None else best


def while_loop(k: int):
    c = Counter(0)
    while c.n < k:
        c.step(c.n + 1)
        if c.n == 15:
            break
    return c.n, c.best


def tensors(x: Tensor):
    c = Layer(x * 2)
    for i in range(3):
        c.w = c.w + i
    c.w += 1
    return c.w, x


class Layer:
    def __init__(self, w: Tensor):
        self.w = w


def early_return(k: int):
    c = Counter(k)
    for i in range(10):
        if c.step(i) > 20:
            return c.n
    return -c.n


def returned(k: int):
    return Counter(k)


def in_list(k: int):
    cs = [Counter(k)]
    cs[0].n += 1
    return cs[0].n


def carried(k: int):
    c = Counter(k)
    for i in range(k):
        c = Counter(c.n + i)
    return c.n


def compared(k: int):
    a = Counter(k)
    b = a
    return a is b


def perhaps_unset(k: int):
    m = Maybe(k)
    if k > 5:
        return m.n
    return m.m


LOWERED = [straight, branches, loops, while_loop, early_return]
KEPT = [returned, in_list, carried, compared, perhaps_unset]


def lowered(fn: Any) -> str:
    graph = clone_graph(flambeau.script(fn).graph)
    inline.do(graph)
    changed = lower_objects.do(graph)
    verify(graph)
    text = str(graph)
    assert changed == ("prim::CreateObject" not in text)
    assert not lower_objects.do(graph)
    return text


@pytest.mark.parametrize("fn", [*LOWERED, tensors], ids=lambda fn: fn.__name__)
def test_lowered(fn: Any) -> None:
    text = lowered(fn)
    assert "prim::GetAttr" not in text
    assert "prim::SetAttr" not in text


@pytest.mark.parametrize("fn", KEPT, ids=lambda fn: fn.__name__)
def test_kept(fn: Any) -> None:
    assert "prim::CreateObject" in lowered(fn)


@pytest.mark.parametrize("fn", [*LOWERED, *KEPT], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("k", [0, 1, 2, 3, 6, 20])
def test_meaning_is_kept(fn: Any, k: int) -> None:
    if fn is not compared or k:
        assert_like_python(fn, lambda: (k,), "native")


def test_tensors_are_shared_as_before() -> None:
    assert_like_python(tensors, lambda: (flambeau.arange(3.0),), "native")


def test_an_attribute_that_was_never_assigned() -> None:
    def unset(k: int):
        return Maybe(k).n

    assert flambeau.script(unset)(3) == 3
    with pytest.raises(RuntimeError, match="attribute 'n' of Maybe was used before it was assigned"):
        flambeau.script(unset)(1)


def test_a_program_with_local_objects_is_native() -> None:
    scripted = flambeau.script(loops)
    for _ in range(4):
        scripted(50)
    assert "native from end to end" in str(scripted.explain())


class Scale:
    def __init__(self, k: int, w: Tensor):
        self.k = k
        self.w = w


def reads_in_loop(s: Scale, n: int):
    total = 0
    for i in range(n):
        total += i * s.k + int(s.w[0])
    return total, s.w


def writes_in_loop(s: Scale, n: int):
    total = 0
    for i in range(n):
        total += i * s.k
        s.k += 1
    return total, s.k


def aliased_in_loop(s: Scale, t: Scale, n: int):
    total = 0
    for _ in range(n):
        total += s.k
        t.k += 1
        t.w = s.w + 1
    return total, s.w


def loop_body(fn: Any) -> str:
    given = [Scale(2, flambeau.ones(2)) for _ in range(fn.__code__.co_argcount - 1)]
    text = str(flambeau.script(fn).graph_for(*given, 3))
    return text[text.index("prim::Loop") :]


def test_attributes_of_arguments_are_read_once_where_nothing_writes_them() -> None:
    assert "prim::GetAttr" not in loop_body(reads_in_loop).split("->")[0]
    assert 'prim::GetAttr[name="k"]' in loop_body(writes_in_loop)
    assert 'prim::GetAttr[name="k"]' in loop_body(aliased_in_loop)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_attributes_in_loops(n: int) -> None:
    assert_like_python(reads_in_loop, lambda: (Scale(2, flambeau.ones(2)), n), "native")
    assert_like_python(writes_in_loop, lambda: (Scale(2, flambeau.ones(2)), n), "native")

    def same() -> tuple[Any, ...]:
        scale = Scale(2, flambeau.ones(2))
        return scale, scale, n

    assert_like_python(aliased_in_loop, same, "native")
