"""Scripted modules: what a program sees of a module and can change; all backends and plain Python agree."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, Final

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.util.errors import CompileError

BACKENDS = ("native", "interpreter", "reference")
LIMIT = 3


def plus_limit(x: Tensor) -> Tensor:
    return x + LIMIT


class Everything(nn.Module):
    table: dict[str, int]
    names: list[str]
    best: float | None
    size: Final = 4
    __constants__ = ("k", "from_class")
    from_class = 2

    def __init__(self, down: nn.Module | None = None) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(3))
        self.register_parameter("bias", None)
        self.register_buffer("running", flambeau.zeros(3))
        self.register_buffer("missing", None)
        self.count = 0
        self.rate = 0.5
        self.tag = "a"
        self.items = [1, 2]
        self.table = {}
        self.names = []
        self.best = None
        self.pair = (1, 2.0)
        self.nothing = None
        self.k = 7
        self.down = down

    def helper(self, x: Tensor) -> Tensor:
        return x * self.rate

    @staticmethod
    def double(x: Tensor, times: int = 2) -> Tensor:
        return x * times

    def forward(self, x: Tensor) -> Tensor:
        if self.down is not None:
            x = self.down(x)
        if self.bias is not None:
            x = x + self.bias
        self.count += 1
        self.running = self.running * 0.5 + x.sum(0)
        self.table[self.tag] = self.count
        self.names.append(self.tag)
        self.items[0] += self.from_class
        self.best = float(self.count)
        x = self.helper(x) * self.k + self.size
        x = self.double(x) + Everything.double(x, times=3)
        if self.training:
            x = x + self.w
        if self.nothing is None and self.missing is None:
            x = plus_limit(x)
        return x + self.pair[0]


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)])
        self.seq = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        for i, layer in enumerate(self.layers):
            x = layer(x) * i
        for a, b in zip(self.layers, reversed(self.layers)):  # noqa: B905  (no keywords in programs)
            x = b(a(x))
        x = self.layers[0](x) + self.layers[-1](x) + len(self.layers)
        for layer in self.layers[1:]:
            x = layer(x)
        parts = [layer(x) for layer in self.seq]
        return self.seq(x) + self.seq[1](parts[0])


class Splits(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        return x, 3


class Joins(nn.Module):
    def forward(self, pair: tuple[Tensor, int]) -> dict[str, Tensor]:
        return {"it": pair[0] * pair[1]}


def eager_and_scripted(make: Callable[[], nn.Module], backend: str) -> tuple[Any, Any]:
    flambeau.manual_seed(1)
    eager = make()
    flambeau.manual_seed(1)
    return eager, flambeau.script(make(), backend=backend, verify=True)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("down", [False, True])
def test_every_kind_of_attribute(backend: str, down: bool) -> None:
    eager, scripted = eager_and_scripted(lambda: Everything(nn.Linear(3, 3) if down else None), backend)
    x = flambeau.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]])
    for training in (True, False):
        eager.train(training)
        scripted.train(training)
        for _ in range(2):
            assert flambeau.allclose(eager(x), scripted(x))
    for name in ("count", "rate", "tag", "items", "table", "names", "best", "pair"):
        assert getattr(eager, name) == getattr(scripted, name), name
    assert flambeau.allclose(eager.running, scripted.running)
    assert scripted.nothing is None
    assert scripted.k == 7


@pytest.mark.parametrize("backend", BACKENDS)
def test_containers_are_unrolled(backend: str) -> None:
    eager, scripted = eager_and_scripted(Stack, backend)
    x = flambeau.randn(2, 3)
    assert flambeau.allclose(eager(x), scripted(x))
    assert "prim::Loop" not in str(scripted.graph)
    assert [n for n, _ in scripted.named_modules()] == [n for n, _ in eager.named_modules()]


def test_types_may_change_along_a_sequence() -> None:
    scripted = flambeau.script(nn.Sequential(Splits(), Joins()), verify=True)
    assert scripted(flambeau.ones(2))["it"].tolist() == [3.0, 3.0]


class Sub(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.abc = 1
        self.register_buffer("b", flambeau.zeros(2))

    @property
    def twice(self) -> int:
        return self.abc * 2

    def forward(self, x: Tensor) -> Tensor:
        return x + self.twice


class Owner(nn.Module):
    best: int | None

    def __init__(self) -> None:
        super().__init__()
        self.sub = Sub()
        self.best = None
        self.act = flambeau.relu
        self.plus = plus_limit
        self.inner = nn.ModuleList([nn.ModuleList([nn.ReLU()]), nn.ModuleList([nn.Tanh(), nn.ReLU()])])

    def forward(self, x: Tensor) -> Tensor:
        self.sub.abc = 5
        self.sub.abc += 1
        self.sub.b.add_(1)
        self.sub.b[0] = 7
        if hasattr(self, "nothing"):
            x = x + self.nothing
        if self.best is None:
            self.best = 4
        best = self.best
        assert best is not None
        for layers in self.inner:
            for layer in layers:
                x = layer(x)
        module = self.sub
        return self.plus(self.act(module(x))) + module.forward(x) + best + self.sub.twice


@pytest.mark.parametrize("backend", BACKENDS)
def test_submodules_attributes_properties_and_functions(backend: str) -> None:
    eager, scripted = eager_and_scripted(Owner, backend)
    x = flambeau.tensor([1.0, -2.0])
    for _ in range(2):
        assert flambeau.allclose(eager(x), scripted(x))
    assert flambeau.equal(eager.sub.b, scripted.sub.b)
    assert (scripted.sub.abc, scripted.best, scripted.sub.twice) == (6, 4, 12)


# -- one truth for eager and scripted --------------------------------------------------------------------------------


def test_parameters_are_shared_both_ways() -> None:
    eager = nn.Linear(2, 2)
    scripted = flambeau.script(eager)
    x = flambeau.ones(1, 2)
    assert scripted.weight is eager.weight
    eager.weight.detach().fill_(2.0)
    assert flambeau.equal(scripted(x), eager(x))
    scripted.bias.detach().zero_()
    assert eager.bias.tolist() == [0.0, 0.0]
    assert scripted(x).tolist() == [[4.0, 4.0]]
    scripted.weight = nn.Parameter(flambeau.zeros(2, 2))
    assert scripted(x).tolist() == [[0.0, 0.0]]
    assert dict(scripted.named_parameters())["weight"].sum().item() == 0.0
    assert eager(x).tolist() == [[4.0, 4.0]]


def test_state_is_that_of_the_compiled_module() -> None:
    scripted = flambeau.script(Everything())
    scripted(flambeau.ones(2, 3))
    assert scripted.state_dict()["running"].tolist() == [2.0, 2.0, 2.0]
    assert list(scripted.state_dict()) == ["w", "running"]
    other = flambeau.script(Everything())
    other.load_state_dict(scripted.state_dict())
    assert other.running.tolist() == [2.0, 2.0, 2.0]
    other(flambeau.ones(2, 3))
    assert other.running.tolist() == [3.0, 3.0, 3.0]
    assert scripted.running.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="size mismatch for w"):
        other.load_state_dict({"w": flambeau.ones(4), "running": flambeau.ones(3)})


def test_conversion_reaches_the_compiled_module() -> None:
    scripted = flambeau.script(nn.Sequential(nn.Linear(2, 2)))
    scripted.to(flambeau.float64)
    assert scripted(flambeau.ones(1, 2, dtype=flambeau.float64)).dtype == flambeau.float64
    assert all(p.dtype == flambeau.float64 for p in scripted.parameters())


class Dropping(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return flambeau.dropout(x, 0.5, self.training)


class Training(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Dropping()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * (2 if self.training else 3)


def test_train_and_eval() -> None:
    scripted = flambeau.script(Training(), verify=True)
    assert scripted.training
    assert set(scripted(flambeau.ones(50)).tolist()) == {0.0, 4.0}
    assert scripted.eval() is scripted
    assert not scripted.inner.training
    assert scripted(flambeau.ones(2)).tolist() == [3.0, 3.0]
    assert len(set(scripted.train()(flambeau.ones(50)).tolist())) == 2


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = self.first

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))


def test_a_shared_submodule_stays_one() -> None:
    eager, scripted = eager_and_scripted(Twice, "native")
    assert scripted.first is scripted.second
    assert len(list(scripted.parameters())) == 2
    x = flambeau.ones(1, 2)
    assert flambeau.allclose(eager(x), scripted(x))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self) -> int:
        self.n += 1
        return self.n


class Shares(nn.Module):
    def __init__(self, a: nn.Module, b: nn.Module) -> None:
        super().__init__()
        self.a, self.b = a, b

    def forward(self) -> tuple[int, int, int]:
        return self.a(), self.b(), self.a()


def test_state_of_a_shared_submodule_is_one() -> None:
    one = Counter()
    assert flambeau.script(Shares(one, one), verify=True)() == (1, 2, 3)
    assert flambeau.script(Shares(Counter(), Counter()), verify=True)() == (1, 1, 2)


def test_a_submodule_that_is_scripted_already_is_used_as_it_is() -> None:
    inner = flambeau.script(Counter())
    outer = flambeau.script(Shares(inner, Counter()), verify=True)
    assert outer() == (1, 1, 2)
    assert inner.n == 2
    assert outer.a is inner


def test_a_deep_copy_has_state_of_its_own() -> None:
    scripted = flambeau.script(Everything(nn.Linear(3, 3)))
    scripted.remark = "kept"
    scripted(flambeau.ones(2, 3))
    copied = copy.deepcopy(scripted)
    assert (copied.count, copied.items, copied.remark) == (1, [3, 2], "kept")
    before = copied(flambeau.ones(2, 3))
    assert (copied.count, scripted.count) == (2, 1)
    scripted.down.weight.detach().zero_()
    scripted.w.detach().zero_()
    again = copy.deepcopy(copied)
    assert flambeau.equal(again.down.weight, copied.down.weight)
    assert not flambeau.equal(again.down.weight, scripted.down.weight)
    copied.eval()
    assert (again.down.training, copied.down.training) == (True, False)
    assert before.shape == (2, 3)
    twice = copy.deepcopy(flambeau.script(Twice()))
    assert twice.first is twice.second


# -- classes ----------------------------------------------------------------------------------------------------------


class Power(nn.Module):
    __constants__ = ("k",)

    def __init__(self, k: Any) -> None:
        super().__init__()
        self.k = k

    def forward(self, x: Tensor) -> Tensor:
        return x**self.k


def test_instances_share_a_class_when_nothing_tells_them_apart() -> None:
    def definition(m: nn.Module) -> Any:
        return flambeau.script(m).script_object.type.definition

    assert definition(Power(2)) is definition(Power(2))
    assert definition(Power(2)) is not definition(Power(3))
    assert definition(Power(2)) is not definition(Power(2.0))
    assert definition(Counter()) is definition(Counter())
    assert definition(nn.Linear(2, 3)) is definition(nn.Linear(2, 3))
    assert definition(nn.Linear(2, 3)) is not definition(nn.Linear(2, 3, bias=False))
    assert definition(Outer(nn.ReLU())) is not definition(Outer(nn.Tanh()))
    plain, mangled = definition(Power(2)).name, definition(Power(3)).name
    assert plain.endswith(".Power")
    assert "___torch_mangle_" in mangled
    assert flambeau.script(Power(2))(flambeau.full([1], 3.0)).tolist() == [9.0]
    assert flambeau.script(Power(3))(flambeau.full([1], 3.0)).tolist() == [27.0]


class Exports(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 1

    @flambeau.jit.export
    def add(self, m: int, twice: bool = False) -> int:
        return self.n + (2 * m if twice else m)

    def never_compiled(self) -> Any:
        return {*"sets are no part of the language"}


def test_exported_methods_without_a_forward() -> None:
    scripted = flambeau.script(Exports(), verify=True)
    assert scripted.add(2) == 3
    assert scripted.add(2, twice=True) == 5
    with pytest.raises(AttributeError, match="has no attribute 'forward'"):
        scripted(1)
    with pytest.raises(AttributeError, match="has no attribute 'never_compiled'"):
        scripted.never_compiled()


# -- text -------------------------------------------------------------------------------------------------------------


def test_graph_text_shows_attributes_of_self() -> None:
    scripted = flambeau.script(Everything())
    text = str(scripted.graph)
    assert 'prim::GetAttr[name="count"](%self' in text
    assert 'prim::SetAttr[name="running"](%self' in text
    assert 'prim::CallMethod[name="helper"](%self' in text
    assert "CallMethod" not in str(scripted.inlined_graph)
    assert "self.count" in scripted.code
    assert "def forward(self" in scripted.code


def test_repr_is_the_tree_of_modules() -> None:
    scripted = flambeau.script(Stack())
    assert repr(scripted).splitlines()[:4] == [
        "RecursiveScriptModule(",
        "  original_name=Stack",
        "  (layers): RecursiveScriptModule(",
        "    original_name=ModuleList",
    ]
    assert scripted.original_name == "Stack"
    assert scripted.layers[0].original_name == "Linear"
    assert len(scripted.layers) == 3
    assert [m.original_name for m in scripted.seq] == ["Linear", "Tanh"]


def test_explanations_of_a_module() -> None:
    scripted = flambeau.script(Everything())
    scripted(flambeau.ones(2, 3))
    assert "forward" in str(scripted.explain())
    assert "GetAttr" in str(scripted.graph_for(flambeau.ones(2, 3)))
    assert scripted.passes(flambeau.ones(2, 3)) is not None


# -- refusals ---------------------------------------------------------------------------------------------------------


class SetsNew(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        self.fresh = 1
        return x


class ChangesType(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def forward(self, x: Tensor) -> Tensor:
        self.count = "one"  # type: ignore[assignment]
        return x


class Unconvertible(nn.Module):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        return x + self.value


class UnusedUnconvertible(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.value = {1, 2}

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Missing(nn.Module):
    limit = 3

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        return x + self.absent


class OfClass(nn.Module):
    limit = 3

    def forward(self, x: Tensor) -> Tensor:
        return x + self.limit


class Recursive(nn.Module):
    def forward(self, n: int):
        return self.again(n)

    def again(self, n: int):
        return abs(n) if n == 0 else self.forward(n - 1)


class Uninitialised(nn.Module):
    def __init__(self) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return x


class DynamicIndex(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])

    def forward(self, x: Tensor, i: int) -> Tensor:
        return self.layers[i](x)


class DynamicSlice(DynamicIndex):
    def forward(self, x: Tensor, i: int) -> Tensor:
        for layer in self.layers[i:]:
            x = layer(x)
        return x


class FarIndex(DynamicIndex):
    def forward(self, x: Tensor) -> Tensor:
        return self.layers[-11](x)


class BreaksOut(DynamicIndex):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
            break
        return x


FOREIGN = flambeau.script(nn.ReLU())


class CallsForeign(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return FOREIGN(x)


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (SetsNew, ["Tried to set nonexistent attribute: fresh. Did you forget to initialize it in __init__()?"]),
        (ChangesType, ["Wrong type for attribute assignment. Expected int but got str"]),
        (
            lambda: Unconvertible(bytearray(b"a")),
            ["Module 'Unconvertible' has no attribute 'value'", "Python type: 'bytearray'"],
        ),
        (lambda: Unconvertible([1, "a"]), ["failed to convert Python type: 'list'", "different types: int, str"]),
        (lambda: Unconvertible([]), ["an empty list tells nothing", "list[int]"]),
        (
            lambda: Unconvertible([nn.ReLU()]),
            ["Cannot infer concrete type of flambeau.nn", "must be registered as submodules"],
        ),
        (lambda: Missing("a"), ["Module 'Missing' has no attribute 'absent'"]),
        (OfClass, ["Module 'OfClass' has no attribute 'limit'", "List it in __constants__"]),
        (Recursive, ["is called recursively. Recursive calls are not supported"]),
        (Uninitialised, ["Uninitialised' has not been initialized, did you forget to call 'super()'?"]),
        (DynamicIndex, ["Expected integer literal for index", "will fail because i is not a literal"]),
        (DynamicSlice, ["Expected integer literal for index"]),
        (FarIndex, ["Index -11 out of range"]),
        (BreaksOut, ["we do not support break or continue"]),
        (CallsForeign, ["Cannot call a ScriptModule that is not a submodule of the caller"]),
    ],
)
def test_refusals_when_scripting(make: Callable[[], nn.Module], fragments: list[str]) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            flambeau.script(make())
        for fragment in fragments:
            assert fragment in str(caught.value)


def test_the_chain_of_calls_is_told() -> None:
    with pytest.raises(RuntimeError) as caught:
        flambeau.script(nn.Sequential(nn.ReLU(), SetsNew()))
    text = str(caught.value)
    assert text.count("is being compiled since it was called from") == 1
    assert "'SetsNew.forward' is being compiled since it was called from 'Sequential.forward'" in text


def test_what_cannot_be_converted_matters_only_when_used() -> None:
    assert flambeau.script(UnusedUnconvertible())(flambeau.zeros(1)).tolist() == [1.0]


def test_invalid_constants() -> None:
    with pytest.raises(TypeError, match=r"'set' object in attribute 'Power\.k' is not a valid constant"):
        flambeau.script(Power({1}))


def test_writes_from_python() -> None:
    scripted = flambeau.script(Everything(nn.Linear(3, 3)))
    scripted.count = 41
    scripted(flambeau.ones(2, 3))
    assert scripted.count == 42
    with pytest.raises(RuntimeError, match=r"Wrong type for attribute assignment of 'count'. Expected int"):
        scripted.count = "many"
    with pytest.raises(RuntimeError, match=r"Can't set constant 'k' which has value:.*It is a constant of Everything"):
        scripted.k = 8
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule"):
        scripted.down = nn.ReLU()
    scripted.remark = "a plain Python attribute"
    assert scripted.remark == "a plain Python attribute"
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = scripted.absent


def test_scripting_twice_and_a_class() -> None:
    scripted = flambeau.script(Counter())
    assert flambeau.script(scripted) is scripted
    with pytest.raises(RuntimeError, match=r"since it inherits from nn\.Module, pass an instance instead"):
        flambeau.script(Counter)
    with pytest.raises(pickle.PickleError, match="cannot be pickled"):
        pickle.dumps(scripted.forward)


# -- traces -----------------------------------------------------------------------------------------------------------


class Outer(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.scale = nn.Parameter(flambeau.full([3], 2.0))

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * self.scale


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return x + self.w
        return x - self.w


def test_nested_modules_traced() -> None:
    eager = Outer(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    traced = flambeau.trace(eager, flambeau.ones(2, 3))
    text = str(traced.graph)
    assert 'prim::GetAttr[name="inner"]' in text
    assert "scope: __module.inner.0" in str(traced.inlined_graph)
    x = flambeau.randn(4, 3)
    assert flambeau.allclose(traced(x), eager(x))
    eager.scale.detach().fill_(3.0)
    assert flambeau.allclose(traced(x), eager(x))
    assert sorted(traced.state_dict()) == sorted(eager.state_dict())


def test_a_scripted_module_in_a_trace_keeps_its_branches() -> None:
    eager = Outer(Branches())
    traced = flambeau.trace(Outer(flambeau.script(eager.inner)), flambeau.ones(3))
    assert traced.baked == []
    for x in (flambeau.ones(3), -flambeau.ones(3)):
        assert flambeau.allclose(traced(x), eager(x))


def test_a_traced_module_in_a_script() -> None:
    inner = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    scripted = flambeau.script(Outer(flambeau.trace(inner, flambeau.ones(2, 3))), verify=True)
    x = flambeau.randn(5, 3)
    assert flambeau.allclose(scripted(x), Outer(inner)(x))
    assert 'prim::CallMethod[name="forward"]' in str(scripted.graph)


class OfTensors(nn.Module):
    def same(self, a):
        return a

    def forward(self, x: int):
        return self.same(x)


def test_methods_without_annotations_are_of_tensors() -> None:
    """As in TorchScript; functions are compiled for what a call in a program brings."""
    message = (
        "Expected a value of type 'Tensor (inferred)' for argument 'a' but instead found type 'int'.\n"
        "Inferred 'a' to be of type 'Tensor' because it was not annotated"
    )
    with pytest.raises(CompileError) as refused:
        flambeau.script(OfTensors())
    assert message in str(refused.value)
