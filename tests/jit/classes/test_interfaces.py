"""Interfaces: values of several classes under one type, and what is said of those that do not fit."""

from __future__ import annotations

from typing import Any, Protocol, Self

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit import CompileError

BACKENDS = ("native", "interpreter", "reference")


@flambeau.interface
class Op:
    """What works on two tensors."""

    def one(self, x: Tensor, y: Tensor) -> Tensor:
        """A docstring instead of a body."""

    def two(self, n: int) -> Op:
        pass


class Add:
    def __init__(self) -> None:
        self.n = 0

    def one(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y

    def two(self, n: int) -> Op:
        self.n += n
        return self


class Mul:
    def __init__(self, k: float) -> None:
        self.k = k

    def one(self, x: Any, y: Tensor, scale: float = 2.0) -> Tensor:
        return y * self.k * scale

    def two(self, n: int) -> Mul:
        return Mul(self.k + n)


def use(ops: list[Op], a: Op, x: Tensor):
    b: Op = Mul(2.0)
    more: list[Op] = [a, b, Add()]
    for op in ops:
        x = op.one(x, x)
        x = op.two(2).one(x, x)
    for op in more:
        x = op.one(x, x)
    return x


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_classes_share_an_interface(backend: str) -> None:
    scripted = flambeau.script(use, backend=backend)
    expected, found = Add(), Add()
    wanted = use([expected, Mul(3.0)], expected, flambeau.ones(2))
    for _ in range(4):
        found.n = 0
        assert scripted([found, Mul(3.0)], found, flambeau.ones(2)).tolist() == wanted.tolist()
        assert found.n == expected.n == 2


def test_calls_name_the_method_and_the_interface() -> None:
    graph = str(flambeau.script(use).graph)
    assert 'prim::CallMethod[name="one"]' in graph
    assert "InterfaceType<Op>[]" in graph


class Without:
    def __init__(self) -> None:
        self.n = 1


class Fewer:
    def __init__(self) -> None:
        self.n = 1

    def one(self, x: Tensor) -> Tensor:
        return x

    def two(self, n: int) -> Op:
        return Add()


class OtherResult:
    def __init__(self) -> None:
        self.n = 1

    def one(self, x: Tensor, y: Tensor) -> int:
        return 1

    def two(self, n: int) -> Op:
        return Add()


class OtherParameter:
    def __init__(self) -> None:
        self.n = 1

    def one(self, x: int, y: Tensor) -> Tensor:
        return y

    def two(self, n: int) -> Op:
        return Add()


REFUSED = {
    "method": (Without(), "does not have method 'one'"),
    "count": (Fewer(), "is not compatible with interface __torch__.*Op: it takes 1 arguments"),
    "result": (OtherResult(), "is not compatible with interface .*: it returns int, which is no Tensor"),
    "parameter": (OtherParameter(), "is not compatible with interface .*: argument 'x' has type int"),
    "no object": (3, "is not a TorchScript compatible type, did you forget to"),
}


@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED)
def test_values_that_do_not_fit(value: Any, message: str) -> None:
    scripted = flambeau.script(use)
    with pytest.raises(RuntimeError, match=message):
        scripted([], value, flambeau.ones(2))


def assigns() -> Op:
    made: Op = Without()
    return made


def passes_on() -> int:
    return len(use([], Without(), flambeau.ones(2)))


def returns() -> Op:
    return Without()


def calls_other(op: Op):
    return op.three()


def test_refusals_while_compiling() -> None:
    with pytest.raises(CompileError, match=r"is annotated with type .*Op.* but is being assigned to a value of type"):
        flambeau.script(assigns)
    for function in (assigns, passes_on, returns):
        with pytest.raises(CompileError, match=r"Without' does not have method 'one' but '__torch__"):
            flambeau.script(function)
    with pytest.raises(CompileError, match="object has no attribute or method 'three'") as caught:
        flambeau.script(calls_other)
    assert caught.value.range is not None
    assert caught.value.range.text == "op.three"


def test_interfaces_do_not_inherit() -> None:
    with pytest.raises(CompileError, match=r"does not support inheritance yet. Please directly"):

        @flambeau.interface
        class Derived(Op):
            def three(self) -> int:
                pass


def test_interfaces_say_all_their_types() -> None:
    with pytest.raises(CompileError, match="must have a return type annotated"):

        @flambeau.interface
        class Silent:
            def three(self):
                pass


def test_interfaces_have_no_bodies() -> None:
    with pytest.raises(CompileError, match="interfaces declarations should contain 'pass' statement"):

        @flambeau.interface
        class Full:
            def three(self) -> int:
                return 3


def test_interfaces_have_no_instances() -> None:
    def makes():
        return Op()

    with pytest.raises(CompileError, match="'Op' is an interface"):
        flambeau.script(makes)


def test_interface_takes_a_class() -> None:
    with pytest.raises(RuntimeError, match="interface must be applied to a class"):
        flambeau.interface(test_interface_takes_a_class)


@flambeau.interface
class Layer(nn.Module):
    def forward(self, input: Tensor) -> Tensor:
        pass


def run_layer(layer: Layer, x: Tensor):
    return layer.forward(x)


def test_module_interfaces_take_modules_only() -> None:
    scripted = flambeau.script(run_layer)
    model = flambeau.script(nn.Linear(2, 3))
    x = flambeau.ones(4, 2)
    assert scripted(model, x).tolist() == model(x).tolist()
    with pytest.raises(RuntimeError, match="only ScriptModule class can be subtype of module interface"):
        scripted(Add(), x)


class Scorer(Protocol):
    def score(self, x: float) -> float:
        """How good it is."""
        ...


class Double:
    def __init__(self, k: float) -> None:
        self.k = k

    def score(self, x: float) -> float:
        return x * self.k

    def same(self) -> Self:
        return self


def best(scorers: list[Scorer], x: float):
    found = 0.0
    for scorer in scorers:
        found = max(found, scorer.score(x))
    return found, Double(3.0).same().k


def test_protocols_are_interfaces() -> None:
    given = [Double(2.0), Double(0.5)]
    assert flambeau.script(best)(given, 1.5) == best(given, 1.5)
    with pytest.raises(RuntimeError, match="does not have method 'score'"):
        flambeau.script(best)([Without()], 1.0)


class Game:
    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def double(self) -> None:
        self.scorer = Double(10.0)

    def play(self, x: float) -> float:
        return self.scorer.score(x)


class Half:
    def __init__(self) -> None:
        self.calls = 0

    def score(self, x: float) -> float:
        self.calls += 1
        return x / 2


def play(game: Game, other: Scorer):
    before = game.play(3.0)
    game.double()
    known = isinstance(other, Half) and other.calls == 1
    task = flambeau.jit.fork(game.play, 2.0)
    return before, game.play(3.0), flambeau.jit.wait(task), known


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_and_narrowing_of_interfaces(backend: str) -> None:
    half = Half()
    game = Game(half)
    assert flambeau.script(play, backend=backend)(game, half) == (1.5, 30.0, 20.0, True)
    assert type(game.scorer) is Double
    assert half.calls == 1
