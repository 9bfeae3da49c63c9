"""Objects on their way into programs and back: the same objects, what is changed in them, what is refused."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.interpreter.reference import evaluate
from flambeau.jit import CompileError, ScriptError
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.resolver import PythonResolver, compile_python_function
from flambeau.jit.script_registry import ScriptRegistry
from tests.jit.classes.comparing import BACKENDS
from tests.jit.classes.programs import Context, Counter, Cube, Node, Shape, Square


class Mixed:
    def __init__(self, n: int, x: float = 1.0):
        self.n = n
        self.x = x
        self.items: list[int] = []
        self.t = flambeau.ones(2)

    def step(self) -> int:
        self.n += 1
        return self.n


def read(m: Mixed, k: int):
    return m.n, m.x, m.items, m.t


def append(m: Mixed, k: int):
    m.items.append(k)
    return m.items


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_in_attributes_are_shared(backend: str) -> None:
    scripted = flambeau.script(append, backend=backend)
    mixed, mine = Mixed(1), [1]
    mixed.items = mine
    assert scripted(mixed, 7) is mine
    assert mixed.items is mine
    assert mine == [1, 7]


def test_attributes_that_nearly_fit_are_converted() -> None:
    mixed = Mixed(1)
    mixed.x = 3
    mixed.t = np.ones(3, np.float32)  # type: ignore[assignment]
    mixed.items = (1, 2)  # type: ignore[assignment]
    n, x, items, t = flambeau.script(read)(mixed, 1)
    assert (n, x, items, t.tolist()) == (1, 3.0, [1, 2], [1.0, 1.0, 1.0])
    assert isinstance(x, float)
    assert mixed.items is items
    assert mixed.t is t
    assert isinstance(mixed.x, float)


BAD: dict[str, tuple[str, Any, str]] = {
    "type": ("n", "a", "Could not cast attribute 'n' to type int: 'a' (str) is no int"),
    "elements": ("items", [1, "b"], "cast attribute 'items' to type List[int]: element 1: 'b' (str) is no int"),
    "too large": ("n", 1 << 70, "'n' to type int: 1180591620717411303424 does not fit into 64 bits"),
}


@pytest.mark.parametrize(("name", "value", "message"), BAD.values(), ids=BAD)
def test_attributes_that_do_not_fit(name: str, value: Any, message: str) -> None:
    mixed = Mixed(1)
    setattr(mixed, name, value)
    with pytest.raises(RuntimeError) as caught:
        flambeau.script(read)(mixed, 1)
    assert message in str(caught.value)
    assert "Expected a value of type '__torch__" in str(caught.value)


def test_missing_attributes() -> None:
    mixed = Mixed(1)
    del mixed.n
    with pytest.raises(RuntimeError, match="missing attribute n"):
        flambeau.script(read)(mixed, 1)
    with pytest.raises(RuntimeError, match=r"\(Counter\) is no instance of __torch__|is no instance of __torch__"):
        flambeau.script(read)(Counter(1), 1)


class Derived(Mixed):
    pass


def test_instances_of_subclasses_go_in_as_they_are() -> None:
    derived = Derived(1)
    assert flambeau.script(read)(derived, 1)[0] == flambeau.script(read)(Mixed(1), 1)[0]
    derived.n = "a"  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="Could not cast attribute 'n' to type int"):
        flambeau.script(read)(derived, 1)


def is_shape(x: Any):
    return isinstance(x, Shape)


def is_square_or_shape(x: Any):
    return isinstance(x, (Square, Cube, Shape))


def test_isinstance_of_a_subclass() -> None:
    assert flambeau.script(is_shape)(Shape("s"))
    assert not flambeau.script(is_shape)(3)
    assert flambeau.script(is_square_or_shape)(Cube(1.0))
    assert flambeau.script(is_shape)(Cube(1.0))


class Early:
    def __init__(self) -> None:
        self.n = 1


def is_early(x: Any):
    return isinstance(x, Early)


def test_isinstance_of_a_subclass_that_came_later_does_not_guess() -> None:
    assert flambeau.script(is_early)(Early())
    late = type("Late", (Early,), {})
    with pytest.raises(RuntimeError, match="isinstance of Early was asked of a Late, a subclass"):
        flambeau.script(is_early)(late())


def in_containers(cs: list[Counter], d: dict[str, Counter], t: tuple[Counter, int], o: Counter | None):
    cs.append(Counter(3))
    for c in cs:
        c.n += 1
    d["a"].n += 10
    t[0].n += 100
    if o is not None:
        o.n += 1000
    return cs


def test_containers_are_copied_and_objects_are_not() -> None:
    counter = Counter(1)
    given = [counter]
    returned = flambeau.script(in_containers)(given, {"a": counter}, (counter, 1), counter)
    assert counter.n == 1112
    assert len(given) == 1
    assert len(returned) == 2
    assert returned[0] is counter
    assert type(returned[1]) is Counter


def through(x: Any) -> Any:
    return x


@pytest.mark.parametrize("backend", BACKENDS)
def test_identity_survives(backend: str) -> None:
    counter = Counter(1)
    assert flambeau.script(through, backend=backend)(counter) is counter


def fails(c: Counter, log: Context):
    c.n = 5
    with log:
        raise ValueError("no")


@pytest.mark.parametrize("backend", BACKENDS)
def test_changes_stay_when_the_program_raises(backend: str) -> None:
    counter, context = Counter(1), Context([])
    with pytest.raises((ScriptError, RuntimeError), match="no"):
        flambeau.script(fails, backend=backend)(counter, context)
    assert counter.n == 5
    if backend != "reference":
        assert context.log == ["in", "out"]


def tree_sum(root: Node):
    waiting = [root]
    total = 0
    while len(waiting) > 0:
        node = waiting.pop()
        total += node.value
        for child in node.children:
            waiting.append(child)
    return total


def test_cycles_and_shared_parts() -> None:
    root, leaf = Node(1), Node(2)
    root.children = [leaf, leaf]
    leaf.next = root
    assert flambeau.script(tree_sum)(root) == 5
    leaf.next = 3  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match=r"'children' to type .*: element 0: Could not cast attribute 'next'"):
        flambeau.script(tree_sum)(root)


def many_steps(c: Counter, k: int):
    for _ in range(k):
        c.n += 1
    return c.n


def test_threads_have_their_own_objects() -> None:
    scripted = flambeau.script(many_steps)
    counters = [Counter(i) for i in range(4)]
    threads = [threading.Thread(target=scripted, args=(c, 500)) for c in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [c.n for c in counters] == [500, 501, 502, 503]


class Stateful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = Counter(1)
        self.counters = [Counter(1), Counter(2)]

    def forward(self, x: Tensor) -> Tensor:
        self.counter.n += 1
        return x + self.counter.n + self.counters[1].n


def test_objects_in_modules_are_shared() -> None:
    module = Stateful()
    scripted = flambeau.script(module)
    assert scripted(flambeau.zeros(1)).tolist() == [4.0]
    module.counter.n = 10
    assert scripted(flambeau.zeros(1)).tolist() == [13.0]
    assert scripted.counter is module.counter
    assert module.counter.n == 11


def test_scripting_a_class_gives_the_class() -> None:
    assert flambeau.script(Counter) is Counter
    assert flambeau.script(flambeau.script(Counter)) is Counter
    assert "Counts." in (Counter.__doc__ or "")
    assert Counter(3).step() == 4
    assert repr(Counter) == "<class 'tests.jit.classes.programs.Counter'>"


def test_local_classes() -> None:
    class Local:
        def __init__(self, k: int):
            self.k = k

        def same(self, other: Local) -> Local:
            return other

        def more(self) -> Local:
            return Local(self.k + 1)

    @flambeau.script
    def use(x: Local, y: list[Local]) -> int:
        return x.same(y[0]).more().k

    assert use(Local(1), [Local(5)]) == 6


def test_classes_of_one_name_are_two_classes() -> None:
    def make(step: int) -> tuple[Any, Any]:
        class Local:
            def __init__(self, k: int):
                self.k = k
                self.step = step_of()

        def step_of() -> int:
            return step

        @flambeau.script
        def use(k: int):
            return Local(k).step

        return Local, use

    first, use_first = make(1)
    second, use_second = make(2)
    assert (use_first(3), use_second(3)) == (1, 2)
    assert first is not second
    names = [fn.graph.find("prim::CreateObject").result().static_type.name for fn in (use_first, use_second)]
    assert names[0] != names[1]  # which of them is mangled depends on what other classes are still there


def uses_step(c: Changing):
    return c.step()


def uses_step_too(c: Changing):
    return c.step() + 1


class Changing:
    def __init__(self) -> None:
        self.n = 1

    def step(self) -> int:
        return self.n


def test_a_class_that_changed_is_refused() -> None:
    scripted = flambeau.script(uses_step)
    assert scripted(Changing()) == 1

    def other(self: Any) -> int:
        return 7

    Changing.step = other  # type: ignore[method-assign]
    assert scripted(Changing()) == 1  # programs keep what was compiled
    with pytest.raises(CompileError, match="Class 'Changing' has changed since it was compiled: 'step'") as caught:
        flambeau.script(uses_step_too)
    assert caught.value.range is not None
    assert caught.value.range.text == "class Changing"


class Marked:
    def __init__(self) -> None:
        self.n = 1

    @flambeau.jit.ignore
    def python(self, k: int) -> int:
        self.n += len({k, 1})
        return self.n

    @flambeau.jit.unused
    def never(self, *args: Any) -> int:
        yield args

    @staticmethod
    @flambeau.jit.ignore
    def static(k: int) -> int:
        return sum({k, k})

    @property
    def generated(self) -> Any:
        return {1}

    __jit_unused_properties__ = ["generated"]  # noqa: RUF012


def marked(m: Marked, k: int):
    if k > 3:
        return m.never()
    return m.python(5) + m.static(4) + Marked.static(1) + m.n


def uses_generated(m: Marked):
    return m.generated


@pytest.mark.parametrize("backend", BACKENDS)
def test_marked_methods(backend: str) -> None:
    flambeau.script(Marked)
    scripted = flambeau.script(marked, backend=backend)
    mark = Marked()
    assert scripted(mark, 1) == 3 + 4 + 1 + 3
    assert mark.n == 3
    with pytest.raises((ScriptError, RuntimeError), match="is annotated to be ignored and cannot be run"):
        scripted(mark, 5)
    with pytest.raises(CompileError, match="no attribute or method 'generated'"):
        flambeau.script(uses_generated)


@dataclass
class Loose:
    a: float = 2


def test_int_defaults_of_float_fields_are_floats() -> None:
    def make():
        return Loose()

    assert flambeau.script(make)().a == 2.0


def test_scripted_objects() -> None:
    counter = Counter(3)
    scripted = flambeau.script(counter)
    assert scripted.step() == 4
    assert scripted.step(times=2) == 6
    scripted.double = 20
    assert (counter.n, scripted.double, scripted.n, scripted.total(1)) == (10, 20, 10, 11)
    scripted.n = 7
    assert counter.n == 7
    assert scripted.add(Counter(1)).n == 8
    assert flambeau.script(many_steps)(scripted, 2) == 9
    assert repr(scripted) == "<scripted Counter with n=9, size=1, seen=[4, 6]>"
    assert flambeau.script(scripted) is scripted
    assert "step" in dir(scripted)
    with pytest.raises(RuntimeError, match=r"Wrong type for attribute assignment of 'n'. Expected int"):
        scripted.n = "a"
    with pytest.raises(AttributeError, match="nothing"):
        _ = scripted.nothing
    with pytest.raises(TypeError, match="no method __len__"):
        len(scripted)
    counter.n = "a"  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="Could not cast attribute 'n' to type int"):
        scripted.step()


@flambeau.interface
class Steps:
    def step(self, times: int) -> int:
        pass


def test_clearing_classes() -> None:
    registry = ScriptRegistry()
    classes = ModuleClasses(registry, PythonResolver)

    class Local:
        def __init__(self) -> None:
            self.n = 1

    def use(steps: Steps):
        return Local().n

    function = compile_python_function(use, classes)
    assert list(registry.classes) == [Local]
    assert list(registry.interfaces) == [Steps]
    assert ".Local = prim::CreateObject()" in str(function.graph)
    registry.clear_classes()
    assert not registry.classes
    assert not registry.interfaces
    assert not registry.unit.types
    assert evaluate(function.graph, [Counter(1)], check_types=False) == (1,)
    registry.forget(use)
    compile_python_function(use, classes)
    assert list(registry.interfaces) == [Steps]


class Holding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mixed = Mixed("a")  # type: ignore[arg-type]

    def forward(self) -> int:
        return self.mixed.n


def test_objects_in_modules_have_the_types_of_their_class() -> None:
    with pytest.raises(RuntimeError, match="Could not cast attribute 'n' to type int"):
        flambeau.script(Holding())


class Visited:
    def __init__(self, seen: set[int], shares: set[float]):
        self.seen = seen
        self.shares = shares

    def visit(self, n: int) -> bool:
        known = n in self.seen
        self.seen.add(n)
        return known


def test_sets_in_attributes_are_shared() -> None:
    @flambeau.script
    def use(v: Visited, n: int):
        return v.visit(n), v.visit(n), v.shares

    mine: set[int] = {1}
    visited = Visited(mine, {1, 2})  # type: ignore[arg-type]
    assert use(visited, 5) == (False, True, {1.0, 2.0})
    assert visited.seen is mine
    assert mine == {1, 5}
    assert {type(v) for v in visited.shares} == {float}


@flambeau.script
class Pair:
    def __init__(self, x: int, word: str):
        self.x = x
        self.word = word

    def __getstate__(self) -> tuple[int, str]:
        return self.x, self.word

    def __setstate__(self, state: tuple[int, str]) -> None:
        self.x, self.word = state[0] + 100, state[1]


class Plain:
    def __init__(self, x: int):
        self.x = x

    def __getstate__(self):  # type: ignore[no-untyped-def]
        return self.__dict__.copy()

    def __setstate__(self, state: Any):  # type: ignore[no-untyped-def]
        self.__dict__.update(state)


class WithState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(3, "a")
        self.plain = Plain(5)

    def forward(self) -> tuple[int, str, int]:
        return self.pair.x, self.pair.word, self.plain.x


def test_archives_keep_the_state_that_a_class_declares() -> None:
    content = flambeau.script(WithState()).save_to_buffer()
    loaded = flambeau.jit.load(io.BytesIO(content))
    assert loaded() == (103, "a", 5)
    assert flambeau.jit.load(io.BytesIO(loaded.save_to_buffer()))() == (203, "a", 5)
