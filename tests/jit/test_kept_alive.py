"""Compiling keeps nothing of the user's alive: what is made inside a function goes when nobody uses it any more."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import gc
import inspect
import pickle
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import pytest

import flambeau
from flambeau import Tensor, jit, nn
from flambeau.util.kept_on import ATTRIBUTE, KeptOn


def collect() -> None:
    """Collect what nobody uses, what Python's own `inspect` holds left aside.

    Until Python 3.12.3 `inspect.getattr_static` keeps the last 128 classes that it looked at (python/cpython#118013).
    """
    held = getattr(inspect, "_shadowed_dict_from_mro_tuple", None)
    if held is not None:
        held.cache_clear()
    gc.collect()


MADE: list[Callable[[], list[Any]]] = []


def made(maker: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    MADE.append(maker)
    return maker


@made
def a_class() -> list[Any]:
    class P:
        def __init__(self, n: int):
            self.n = n

        def plus(self, k: int) -> int:
            return self.n + k

    @flambeau.script
    def use(p: P, k: int):
        return p.plus(k) + P(k).plus(1)

    assert use(P(2), 3) == 9
    return [P]


@made
def a_scripted_instance() -> list[Any]:
    class P:
        def __init__(self, n: int):
            self.n = n

        def plus(self, k: int) -> int:
            return self.n + k

    assert flambeau.script(P(3)).plus(3) == 6
    return [P]


@made
def a_dataclass() -> list[Any]:
    @flambeau.script
    @dataclasses.dataclass
    class D:
        a: int
        b: list[int] = dataclasses.field(default_factory=list)

    @flambeau.script
    def use(d: D) -> int:
        return d.a + len(d.b) + D(3).a

    assert use(D(2)) == 5
    return [D]


@made
def a_base_and_a_subclass() -> list[Any]:
    class Base:
        def __init__(self, n: int):
            self.n = n

        def get(self) -> int:
            return self.n

    class Subclass(Base):
        def get(self) -> int:
            return self.n + 1

    @flambeau.script
    def use(b: Base) -> int:
        return b.get()

    assert use(Subclass(2)) + use(Base(2)) == 5
    return [Base, Subclass]


@made
def interfaces() -> list[Any]:
    @flambeau.interface
    class Steps:
        def step(self, x: int) -> int:
            pass

    class Bounded(Protocol):
        def bound(self) -> int: ...

    class A:
        def __init__(self):
            self.x = 1

        def step(self, x: int) -> int:
            return self.x + x

        def bound(self) -> int:
            return 5

    @flambeau.script
    def use(s: Steps, b: Bounded) -> int:
        return s.step(1) + b.bound()

    assert use(A(), A()) == 7
    return [Steps, Bounded, A]


@made
def an_enum() -> list[Any]:
    class Color(enum.Enum):
        RED = 1
        BLUE = 2

    @flambeau.script
    def use(c: Color) -> bool:
        return c == Color.RED

    assert use(Color.RED)
    return [Color]


@made
def a_named_tuple() -> list[Any]:
    class Pair(NamedTuple):
        a: int
        b: float

    @flambeau.script
    def use(p: Pair) -> Pair:
        return Pair(p.a + 1, p.b)

    assert use(Pair(1, 2.0)).a == 2
    return [Pair]


@made
def functions() -> list[Any]:
    def apply(f, x):
        return f(x)

    def add_one(x: Tensor):
        return x + 1

    def use(x):
        return apply(add_one, x) + (lambda y: y * 2)(x)

    assert flambeau.script(use)(flambeau.ones(2)).tolist() == [4.0, 4.0]
    return [apply, add_one, use]


@made
def overloads() -> list[Any]:
    @jit._overload
    def twice(x: int) -> int: ...
    @jit._overload
    def twice(x: str) -> str: ...  # noqa: F811
    def twice(x):  # noqa: F811
        return x + x

    @flambeau.script
    def use(n: int, s: str):
        return twice(n), twice(s)

    assert use(2, "a") == (4, "aa")
    return [twice]


@made
def a_module() -> list[Any]:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x) + 1

    assert flambeau.script(M())(flambeau.ones(2, 2)).shape == (2, 2)
    return [M]


@made
def a_module_in_containers() -> list[Any]:
    class M(nn.Module):
        def forward(self, x):
            return x + 1

    nested = nn.Sequential(nn.Sequential(M(), nn.ReLU()), M())
    assert flambeau.script(nested)(flambeau.ones(2)).tolist() == [3.0, 3.0]
    return [M]


class Holder(nn.Module):
    def __init__(self, act: Any, first: Any):
        super().__init__()
        self.act = act
        self.first = first

    def forward(self, x):
        return self.act(x) if self.first is not None else x


@made
def a_module_with_a_function_and_an_object() -> list[Any]:
    class Node:
        def __init__(self):
            self.n = 1
            self.rest: Node | None = None

    def act(x: Tensor) -> Tensor:
        return x * 2

    assert flambeau.script(Holder(act, Node()))(flambeau.ones(2)).tolist() == [2.0, 2.0]
    return [act, Node]


@made
def a_traced_and_a_frozen_module() -> list[Any]:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(flambeau.ones(2))

        def forward(self, x):
            return x * self.w

    jit.trace(M(), (flambeau.ones(2),))(flambeau.ones(2))
    jit.freeze(flambeau.script(M().eval()))(flambeau.ones(2))
    return [M]


@made
def what_does_not_compile() -> list[Any]:
    class P:
        def __init__(self, n: int):
            self.n = n + "a"

    def use(n: int):
        return P(n).n

    with pytest.raises(RuntimeError, match="Arguments for call are not valid"):
        flambeau.script(use)
    return [P, use]


@pytest.mark.parametrize("maker", MADE, ids=[m.__name__ for m in MADE])
def test_what_was_compiled_goes(maker):
    for _ in range(3):
        maker()
    collect()
    before, rounds = len(gc.get_objects()), 8
    references = [weakref.ref(part) for _ in range(rounds) for part in maker()]
    collect()
    assert [r() for r in references if r() is not None] == []
    assert len(gc.get_objects()) - before < len(references) + 4 * rounds  # the references, and some noise


def test_fifty_classes_of_instances_go():
    references = [weakref.ref(a_scripted_instance()[0]) for _ in range(50)]
    collect()
    assert not any(r() is not None for r in references)


def test_a_class_stays_compiled_as_long_as_it_lives():
    [cls] = a_class()
    first = flambeau.script(cls(1)).plus.graph
    collect()
    assert flambeau.script(cls(2)).plus.graph is first


def test_modules_share_a_class_as_long_as_it_lives():
    [cls] = a_module()
    first = flambeau.script(nn.Sequential(cls())).script_object.type.definition
    collect()
    assert flambeau.script(nn.Sequential(cls())).script_object.type.definition is first


def test_protocols_ask_for_what_they_did():
    from typing import runtime_checkable

    @runtime_checkable
    class Bounded(Protocol):
        def bound(self) -> int: ...

    class Five:
        def bound(self) -> int:
            return 5

    def use(b: Bounded) -> int:
        return b.bound()

    assert flambeau.script(use)(Five()) == 5
    assert isinstance(Five(), Bounded)
    assert not isinstance(3, Bounded)


def test_copies_of_attributes_are_no_entries():
    known: KeptOn[Any, str] = KeptOn()

    def f() -> None: ...
    def g() -> None: ...

    known[f] = "f"
    functools.update_wrapper(g, f)
    assert vars(g)[ATTRIBUTE] is vars(f)[ATTRIBUTE]
    assert known.get(g) is None
    known[g] = "g"
    assert (known.get(f), known.get(g), len(known)) == ("f", "g", 2)
    assert pickle.loads(pickle.dumps(copy.deepcopy(vars(f)[ATTRIBUTE]))).values == {}
    assert known.pop(f) == "f"
    assert known.pop(f) is None
    assert sorted(known.values()) == ["g"]
    known.clear()
    assert len(known) == 0
    assert g not in known
