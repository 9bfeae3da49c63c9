"""Attributes, constants, properties and methods of modules in programs, against Python; and what is refused."""

from __future__ import annotations

import copy
import enum
import pickle
import types
import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, jit, nn
from flambeau.nn import functional as F  # noqa: N812
from tests.jit.modules.module_support import agree, same

X = flambeau.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]])


# -- methods ----------------------------------------------------------------------------------------------------------


class Alias(nn.Module):
    def _forward(self, x: Tensor) -> Tensor:
        return x * 2

    forward = _forward


def thrice(self: Any, x: Tensor) -> Tensor:
    return x * 3


def replaced() -> nn.Module:
    module = Alias()
    module.forward = types.MethodType(thrice, module)
    return module


class OfTheClass(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k = 4

    @staticmethod
    def static(x: Tensor, k: int = 2) -> Tensor:
        return x * k

    @classmethod
    def of_class(cls, x: Tensor) -> Tensor:
        return cls.static(x) + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.static(x) + OfTheClass.static(x, 3) + self.of_class(x) * self.k


class StaticForward(nn.Module):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x * 2


class Inherits(Alias):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + 1


class Functions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.add = flambeau.add
        self.act = F.relu
        self.plain = static_helper
        self.scripted = flambeau.script(static_helper)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.add(x, x)) + self.plain(x) + self.scripted(x)


def static_helper(x: Tensor) -> Tensor:
    return x - 1


class ReturnsModules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Linear(3, 3), nn.Linear(3, 3)

    def pick(self):  # type: ignore[no-untyped-def]
        return self.conv1

    def forward(self, x: Tensor) -> Tensor:
        m = self.conv1
        if m is self.conv1 and m is not self.conv2:
            x = x + 1
        return self.pick()(x)


class Mangled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.__a = 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.__a


@pytest.mark.parametrize(
    "make",
    [Alias, replaced, OfTheClass, StaticForward, Inherits, Functions, ReturnsModules, Mangled],
    ids=lambda m: m.__name__,
)
def test_methods_and_functions(make: Callable[[], nn.Module]) -> None:
    agree(make, X)


def test_a_replaced_method_makes_another_class() -> None:
    assert same(flambeau.script(replaced())(X), X * 3)
    assert same(flambeau.script(Alias())(X), X * 2)


def test_a_changed_class_is_compiled_anew() -> None:
    class Changes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    assert same(flambeau.script(Changes())(X), X + 1)
    Changes.forward = Alias._forward  # type: ignore[method-assign]
    assert same(flambeau.script(Changes())(X), X * 2)


# -- properties -------------------------------------------------------------------------------------------------------


class Properties(nn.Module):
    __jit_unused_properties__ = ("generated",)

    def __init__(self) -> None:
        super().__init__()
        self._w = 2

    @property
    def w(self) -> int:
        return self._w

    @w.setter
    def w(self, v: int) -> None:
        self._w = v * 2

    @property
    def fixed(self) -> int:
        return 7

    @jit.unused
    @property
    def bad(self) -> Any:
        return {1, 2}

    @property
    def generated(self) -> Any:
        yield 3

    def forward(self, x: Tensor) -> Tensor:
        self.w = self.w + 1
        return x * self.w


def test_properties_are_read_and_written() -> None:
    agree(Properties, X)
    scripted = flambeau.script(Properties())
    scripted.w = 5
    assert (scripted.w, scripted._w, scripted.fixed) == (10, 10, 7)
    with pytest.raises(AttributeError, match="has no setter"):
        scripted.fixed = 3
    for name in ("bad", "generated"):
        with pytest.raises(AttributeError, match="has no attribute"):
            getattr(scripted, name)


# -- methods that stay Python -----------------------------------------------------------------------------------------


class StaysPython(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.names = {1, 2}

    @jit.ignore
    def note(self, x: Tensor, k: int) -> int:
        self.count += 1
        return k + len(self.names)

    @jit.ignore
    def nothing(self, x: Tensor, *, more: int = 10) -> None:
        self.count += more

    @jit.unused
    def never(self, x: Tensor) -> Tensor:
        yield x

    def forward(self, x: Tensor, go: bool = False) -> Tensor:
        self.nothing(x)
        self.nothing(x, more=5)
        if go:
            x = self.never(x)
        return x * self.note(x, 3)


def test_ignored_methods_see_the_scripted_module() -> None:
    agree(StaysPython, X)
    scripted = flambeau.script(StaysPython())
    scripted(X)
    assert (scripted.count, scripted.names) == (16, {1, 2})
    assert scripted.note(X, 1) == 3
    with pytest.raises(jit.Error, match="annotated to be ignored and cannot be run"):
        scripted(X, True)
    assert "^note" in str(scripted.graph)


class IgnoresAttributes(nn.Module):
    __jit_ignored_attributes__ = ("table", "listed")

    def __init__(self) -> None:
        super().__init__()
        self.table = {1}

    @property
    def listed(self) -> Any:
        return {1}

    def forward(self, x: Tensor) -> Tensor:
        return x


class UsesIgnored(IgnoresAttributes):
    def forward(self, x: Tensor) -> Tensor:
        return x + len(self.table)


def test_ignored_attributes() -> None:
    agree(IgnoresAttributes, X)
    assert flambeau.script(IgnoresAttributes()).table == {1}
    with pytest.raises(RuntimeError, match="attribute was ignored during compilation") as caught:
        flambeau.script(UsesIgnored())
    assert "len(self.table)" in str(caught.value)


# -- attributes -------------------------------------------------------------------------------------------------------


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Pair(NamedTuple):
    a: int
    b: Tensor


class Point:
    def __init__(self, x: int) -> None:
        self.x = x

    def twice(self) -> int:
        return self.x * 2


class Base(nn.Module):
    state: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.state = []


class Kinds(Base):
    named: Pair

    def __init__(self) -> None:
        super().__init__()
        self.c = 1j
        self.nested = [[1], [2, 3]]
        self.table = {"a": [1.0]}
        self.color = Color.RED
        self.dtype = flambeau.float64
        self.device = flambeau.device("cpu")
        self.size = flambeau.ones(2, 3).shape
        self.plain = Pair(1, flambeau.ones(1))
        self.named = Pair(2, flambeau.ones(1))
        self.layout = flambeau.strided
        self.point = Point(3)

    def forward(self, x: Tensor) -> tuple[Tensor, list[int], complex]:
        self.state.append(1)
        if self.color == Color.RED:
            x = x + 1
        x = x.to(self.dtype) + self.nested[1][1] + self.table["a"][0] + self.size[1] + self.plain[0] + self.named.a
        self.point.x += 1
        return x + flambeau.ones(1, device=self.device) * self.point.twice(), self.state, self.c


def test_kinds_of_attributes() -> None:
    agree(Kinds, X)


class WithAttribute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = jit.Attribute([], list[int])
        self.best = jit.Attribute(None, float | None)

    def forward(self, k: int) -> int:
        self.seen.append(k)
        self.best = float(k)
        return len(self.seen)


def test_attributes_with_a_type_of_their_own() -> None:
    scripted = flambeau.script(WithAttribute(), verify=True)
    assert (scripted(3), scripted(4), scripted.seen, scripted.best) == (1, 2, [3, 4], 4.0)


class Constants(nn.Module):
    __constants__ = ("k", "items", "nothing")
    z: Final[int]

    def __init__(self, k: Any) -> None:
        super().__init__()
        self.k = k
        self.items = [1, (2, 3)]
        self.z = 3
        self.nothing = None

    def forward(self, x: Tensor) -> Tensor:
        if self.nothing is None:
            x = x + 1
        x = x + self.items[0] + self.items[1][1]
        return x * self.k + self.z


class SetsConstant(Constants):
    def forward(self, x: Tensor) -> Tensor:
        self.k = 4
        return x


def test_constants() -> None:
    agree(lambda: Constants(2), X)
    for value, text in [(np.int64(3), r"'numpy\.int64' object"), ({1}, "'set' object"), ([1, {2}], "'set' object")]:
        with pytest.raises(TypeError, match=rf"{text} in attribute 'Constants\.k' is not a valid constant"):
            flambeau.script(Constants(value))
    with pytest.raises(RuntimeError, match="nonexistent attribute: k"):
        flambeau.script(SetsConstant(2))


class OptionalPart(nn.Module):
    def __init__(self, part: nn.Module | None) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Tensor) -> Tensor:
        if self.part is not None:
            x = self.part(x)
        if hasattr(self, "absent"):
            x = self.absent(x)
        return x


class NestedWrites(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = ReturnsModules()
        self.sub.conv1.register_buffer("seen", flambeau.zeros(1))
        self.running_var = 1

    def forward(self, x: Tensor) -> Tensor:
        self.sub.conv1.seen = self.sub.conv1.seen + 1
        self.running_var += 1
        return x + self.sub.conv1.seen + self.running_var


def test_optional_parts_and_writes_to_parts() -> None:
    agree(lambda: OptionalPart(None), X)
    agree(lambda: OptionalPart(nn.ReLU()), X)
    agree(NestedWrites, X)


# -- substitutes ------------------------------------------------------------------------------------------------------


class Prepared(nn.Module):
    def __prepare_scriptable__(self) -> nn.Module:
        return Alias()

    def forward(self, x: Tensor) -> Any:
        yield x


def test_substitutes_are_compiled() -> None:
    assert same(flambeau.script(Prepared())(X), X * 2)
    one = Prepared()
    model = nn.Sequential(one, one, nn.ReLU())
    scripted = flambeau.script(model)
    assert same(scripted(X), flambeau.relu(X * 4))
    assert scripted[0] is scripted[1]
    assert isinstance(model[0], Prepared)


class Factory:
    def __prepare_scriptable__(self) -> Any:
        return static_helper


def test_other_objects_may_name_a_substitute() -> None:
    assert same(flambeau.script(Factory())(X), X - 1)  # type: ignore[call-overload]


# -- copies and changes from outside ----------------------------------------------------------------------------------


def test_copies_share_or_do_not_and_parameters_may_change() -> None:
    scripted = flambeau.script(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    shallow, deep = copy.copy(scripted), copy.deepcopy(scripted)
    before = scripted(X)
    assert same(shallow(X), before)
    assert same(deep(X), before)
    with flambeau.no_grad():
        for parameter in scripted.parameters():
            parameter.add_(1)
    assert not same(scripted(X), before)
    assert same(shallow(X), scripted(X))
    assert same(deep(X), before)
    scripted[0].weight = nn.Parameter(flambeau.zeros(3, 3))
    assert same(scripted(X)[0], scripted(X)[1])
    linear = flambeau.script(nn.Linear(2, 2))
    other = copy.copy(linear)
    other.weight = nn.Parameter(flambeau.zeros(2, 2))
    assert linear.weight is not other.weight
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(linear)


def test_names_are_those_of_the_module_and_of_what_was_compiled() -> None:
    for module in (Kinds(), Properties(), nn.ModuleList([nn.ReLU()]), nn.Linear(1, 1)):
        hidden = {"append", "extend", "insert", "pop", "clear", "update"}
        assert set(dir(module)) - set(dir(flambeau.script(module))) <= hidden


# -- refusals ---------------------------------------------------------------------------------------------------------


def changes_a_global(x: Tensor) -> Tensor:
    global COUNT
    COUNT = 1
    return x


class BadFunction(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f = changes_a_global

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x)


class Holds(nn.Module):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.a = value

    def forward(self, x: Tensor) -> Tensor:
        return x + len(self.a)


class OfClass(nn.Module):
    LIMIT = 3

    def forward(self, x: Tensor) -> Tensor:
        return x + self.LIMIT


class EmptyInInit(nn.Module):
    def __init__(self, kind: str = "list") -> None:
        super().__init__()
        if kind == "list":
            self.x: list[int] = []
        self.y: int = 3
        self.z: list[int] = [1]

    def forward(self) -> int:
        self.x = [1]
        return 1


def cyclic() -> nn.Module:
    module = nn.Sequential(nn.Sequential(nn.ReLU()))
    module[0].add_module("up", module)
    return module


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (
            BadFunction,
            [
                "failed to compile",
                "This function exists as an attribute on the Python module, but we failed to compile it to a "
                "TorchScript function.",
                "global",
            ],
        ),
        (
            lambda: Holds([nn.ReLU()]),
            [
                "Module 'Holds' has no attribute 'a' (This attribute exists on the Python module, but we failed to "
                "convert Python type: 'list' to a TorchScript type.",
                "Could not infer type of list element: Cannot infer concrete type of flambeau.nn.Module",
            ],
        ),
        *(
            (lambda value=value: Holds(value), [f"failed to convert Python type: '{type(value).__name__}'"])
            for value in (bytearray(b"a"), [1, "a"], (nn.ReLU(),), {"a": nn.ReLU()}, {1: "a", "b": 2}, [])
        ),
        (lambda: Holds(np.ones(2)), ["failed to convert Python type: 'numpy.ndarray'"]),
        (OfClass, ["Module 'OfClass' has no attribute 'LIMIT'"]),
        (cyclic, ["module Sequential contains itself", "reached again as 0.up", "Keep the reference out of the tree"]),
    ],
)
def test_refusals(make: Callable[[], nn.Module], fragments: list[str]) -> None:
    texts = []
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            flambeau.script(make())
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    for fragment in fragments:
        assert fragment in texts[0]


def test_annotations_in_init_say_nothing() -> None:
    with (
        pytest.warns(UserWarning, match="doesn't support instance-level annotations on empty non-base types") as seen,
        pytest.raises(RuntimeError, match="Tried to set nonexistent attribute: x"),
    ):
        flambeau.script(EmptyInInit())
    assert len(seen) == 1
    assert "'x' of EmptyInInit" in str(seen[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flambeau.script(Kinds())


def test_attributes_keep_their_types() -> None:
    scripted = flambeau.script(WithAttribute())
    with pytest.raises(RuntimeError, match=r"Wrong type for attribute assignment of 'seen'\. Expected List\[int\]"):
        scripted.seen = ["a"]
    scripted.note = "Python's own"
    assert scripted.note == "Python's own"


# -- what conditions tell of attributes -------------------------------------------------------------------------------


class MayBeThere(nn.Module):
    o: int | None
    t: Tensor | None
    cache: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.o = None
        self.t = flambeau.ones(1)
        self.cache = None
        self.inner = nn.Linear(3, 3)

    def reset(self) -> int:
        self.t = None
        return 1

    def forward(self, x: Tensor, drop: bool = False) -> Tensor:
        if self.t is not None and self.t.sum() > 0:
            x = x + self.t
        y = x * self.t if self.t is not None else x
        if self.o is None:
            self.o = 1
        else:
            self.o += 1
        if self.cache is None:
            self.cache = x
        x = self.cache + x * self.o
        for _ in range(2):
            if self.t is not None:
                x = x * self.t
                if drop:
                    self.t = None
        if self.t is None:
            return x
        self.inner(x)
        assert self.inner.bias is not None
        return x + self.t + self.inner.bias.sum() + y


class Forgets(MayBeThere):
    def forward(self, x: Tensor, drop: bool = False) -> Tensor:
        if self.t is not None:
            self.t = None
            x = x + self.t  # type: ignore[operator]
        return x


class ForgetsInLoop(MayBeThere):
    def forward(self, x: Tensor, drop: bool = False) -> Tensor:
        assert self.t is not None
        for _ in range(2):
            x = x + self.t
            self.t = None
        return x


class ChangesUnseen(MayBeThere):
    def forward(self, x: Tensor, drop: bool = False) -> Tensor:
        if self.t is not None:
            self.reset()
            x = x + self.t  # type: ignore[operator]
        return x


def test_conditions_narrow_attributes() -> None:
    agree(MayBeThere, X, rounds=3)
    agree(MayBeThere, X, True, rounds=3)
    for kind in (Forgets, ForgetsInLoop):
        with pytest.raises(RuntimeError, match=r"but instead found type '(NoneType|Optional\[Tensor\])'"):
            flambeau.script(kind())
    with pytest.raises(RuntimeError, match="Unwrapping null optional"):
        flambeau.script(ChangesUnseen())(X)


class GivesModules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Linear(3, 3)

    @jit.export
    def parts(self):  # type: ignore[no-untyped-def]
        return self.part, [self.part], 3

    def forward(self, x: Tensor):  # type: ignore[no-untyped-def]
        return self


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_modules_as_results_are_scripted_modules(backend: Any) -> None:
    scripted = flambeau.script(GivesModules(), backend=backend)
    assert scripted(X) is scripted
    first, [second], three = scripted.parts()
    assert first is second is scripted.part
    assert three == 3


class NamesOther(nn.Module):
    __constants__ = ("absent", "part", "count", "weight", "k")

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.ReLU()
        self.register_buffer("count", flambeau.zeros(1))
        self.weight = nn.Parameter(flambeau.ones(1))
        self.k = 3

    def forward(self, x: Tensor) -> Tensor:
        return x * self.k


def test_names_among_constants_that_are_none() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flambeau.script(NamesOther())
    texts = [str(w.message) for w in caught]
    assert texts == [
        "'absent' was found in ScriptModule constants, but was not actually set in __init__. Consider removing it.",
        "'count' was found in ScriptModule constants,  but it is a non-constant buffer. Consider removing it.",
        "'part' was found in ScriptModule constants,  but it is a non-constant submodule. Consider removing it.",
        "'weight' was found in ScriptModule constants,  but it is a non-constant parameter. Consider removing it.",
    ]
    assert all(w.filename == __file__ for w in caught)


class TensorConstant(nn.Module):
    __constants__ = ("k",)

    def __init__(self) -> None:
        super().__init__()
        self.k = flambeau.ones(1)

    def forward(self, x: Tensor) -> Tensor:
        return x


def test_what_constants_may_be_is_said() -> None:
    text = r"'flambeau\.Tensor' object in attribute 'TensorConstant\.k' is not a valid constant\.\nValid constants are:"
    with pytest.raises(TypeError, match=text):
        flambeau.script(TensorConstant())
