"""`ScriptModule` as a base class: marked methods, methods from text, attributes that are those of what was compiled."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, jit, nn
from tests.jit.modules.module_support import same

X = flambeau.tensor([1.0, -2.0, 3.0])


class Gate(jit.ScriptModule):
    __constants__ = ("k",)

    def __init__(self, by: float = 2.0) -> None:
        super().__init__()
        self.by = by
        self.k = 3
        self.count = jit.Attribute(0, int)
        self.seen = jit.Attribute([], list[int])
        self.weight = nn.Parameter(flambeau.ones(3))
        self.register_buffer("shift", flambeau.zeros(3))
        self.inner = nn.Linear(3, 3)

    @jit.script_method
    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.seen.append(self.count)
        return self.later(x) * self.weight + self.helper(x)

    @jit.script_method
    def later(self, x: Tensor) -> Tensor:
        return x * self.by + self.k + self.shift

    def helper(self, x: Tensor) -> Tensor:
        return x - 1

    def anything(self) -> Any:
        yield self.count


class Inherits(Gate):
    @jit.script_method
    def later(self, x: Tensor) -> Tensor:
        return x * 0

    @jit.script_method
    def more(self, n: int) -> int:
        return n + self.count


def test_marked_methods_are_compiled_when_the_instance_is_complete() -> None:
    gate = Gate()
    expected = (X * 2 + 3) + X - 1
    assert same(gate(X), expected)
    assert same(gate(X), expected)
    assert (gate.count, gate.seen, gate.by, gate.k) == (2, [1, 2], 2.0, 3)
    assert list(gate.anything()) == [2]
    assert "prim::CallMethod" in str(gate.graph)
    assert isinstance(gate, jit.ScriptModule)
    assert isinstance(gate.inner, jit.RecursiveScriptModule)
    assert flambeau.script(gate) is gate


def test_methods_are_inherited_and_replaced() -> None:
    one = Inherits()
    assert same(one(X), X - 1)
    assert (one.more(2), one.count) == (3, 1)


def test_attributes_are_those_of_what_was_compiled() -> None:
    gate = Gate()
    gate.by = 5.0
    gate.shift = flambeau.ones(3)
    assert same(gate(X), X * 5 + 4 + X - 1)
    gate.weight.detach().zero_()
    assert same(gate(X), X - 1)
    with pytest.raises(RuntimeError, match="Can't set constant 'k' which has value:3"):
        gate.k = 4
    with pytest.raises(RuntimeError, match="Cannot re-assign"):
        gate.inner = nn.Linear(3, 3)
    with pytest.raises(RuntimeError, match="Wrong type for attribute assignment"):
        gate.by = "a"
    gate.note = "Python's own"
    assert gate.note == "Python's own"
    assert [n for n, _ in gate.named_parameters()] == ["weight", "inner.weight", "inner.bias"]
    assert sorted(gate.state_dict()) == ["inner.bias", "inner.weight", "shift", "weight"]
    assert not gate.eval().training
    assert not gate.inner.training
    assert {"forward", "later", "weight", "by", "inner"} <= set(dir(gate))


def test_copies() -> None:
    gate = Gate()
    gate(X)
    deep, shallow = copy.deepcopy(gate), copy.copy(gate)
    assert same(deep(X), gate(X))
    gate.weight.detach().zero_()
    assert not same(deep(X), gate(X))
    assert same(shallow(X), gate(X))
    assert (deep.count, gate.count, shallow.count) == (3, 4, 2)
    assert isinstance(deep, Gate)


class PythonForward(jit.ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return {"anything": self.part(x)}.items()


def test_forward_may_stay_python() -> None:
    module = PythonForward()
    assert isinstance(module.part, jit.RecursiveScriptModule)
    assert same([*module(X)], [("anything", module.part(X))])


class FromText(jit.ScriptModule):
    def __init__(self, k: int) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.full([3], 2.0))
        self.define(f"""
            def forward(self, x):
                return self.helper(x) + {k}
            def helper(self, x):
                return x * self.w + LIMIT
        """)


LIMIT = 10


class FromMixed(FromText):
    @jit.script_method
    def both(self, x: Tensor) -> Tensor:
        return self.helper(x) - LIMIT


def test_methods_from_text() -> None:
    assert same(FromText(3)(X), X * 2 + 13)
    assert same(FromText(4)(X), X * 2 + 14)
    assert FromText(3).script_object.type == FromText(3).script_object.type
    assert FromText(3).script_object.type != FromText(4).script_object.type
    assert same(FromMixed(1).both(X), X * 2)


def test_methods_are_added_later() -> None:
    k = 5
    gate = Gate()
    gate.define("def more(self, x):\n    return self.later(x) + k\n")
    assert same(gate.more(X), X * 2 + 3 + k)
    scripted = flambeau.script(nn.Linear(3, 3))
    scripted.define("def twice(self, x):\n    return self.forward(self.forward(x))\n")
    assert same(scripted.twice(X), scripted(scripted(X)))
    with pytest.raises(RuntimeError, match="already defined"):
        scripted.define("def forward(self, x):\n    return x\n")
    with pytest.raises(RuntimeError, match="methods must have a self argument"):
        scripted.define("def no_self():\n    return 1\n")
    traced = flambeau.trace(nn.Linear(3, 3), X)
    with pytest.raises(RuntimeError, match="was traced or frozen"):
        traced.define("def more(self, x):\n    return x\n")


class InsideOther(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    def forward(self, x: Tensor) -> Tensor:
        return self.gate(x) + self.gate.later(x) + self.gate.count


def test_instances_inside_other_modules() -> None:
    outer = flambeau.script(InsideOther())
    assert same(outer(X), (X * 2 + 3) * 2 + X - 1 + 1)
    assert outer.gate.count == 1


# -- refusals ---------------------------------------------------------------------------------------------------------


class Early(jit.ScriptModule):
    def __init__(self) -> None:
        self.x = 1
        super().__init__()


class CallsMissing(jit.ScriptModule):
    @jit.script_method
    def forward(self, x: Tensor) -> Tensor:
        return self.absent(x)


class NoSelf(jit.ScriptModule):
    @jit.script_method
    def forward() -> int:  # type: ignore[misc]
        return 1


def test_refusals() -> None:
    with pytest.raises(RuntimeError, match=r"call super\(\).__init__\(\) at the start"):
        Early()
    with pytest.raises(RuntimeError, match="has no attribute 'absent'"):
        CallsMissing()
    with pytest.raises(RuntimeError, match="methods must have a self argument"):
        NoSelf()


def test_disabled() -> None:
    scripted = flambeau.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    expected = scripted(X)
    ran: list[str] = []
    with flambeau.disabled():
        assert same(scripted(X), expected)

        class Plain(jit.ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.k = 2

            @jit.script_method
            def forward(self, x: Tensor) -> Any:
                ran.append("python")
                return x * self.k

        assert same(Plain()(X), X * 2)
    assert ran == ["python"]


def test_attribute_is_its_value_while_the_module_is_made() -> None:
    class Sized(jit.ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.n: Any = jit.Attribute(3, int)
            self.twice = self.n + self.n
            self.names: Any = jit.Attribute([], list[str])
            self.inner = nn.Linear(self.n, self.n)

        @jit.script_method
        def forward(self, x: Tensor) -> Tensor:
            return x * self.n + self.twice + len(self.names)

    assert Sized()(flambeau.ones(1)).tolist() == [9.0]


@jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass  # type: ignore[return]


class AddOne(jit.ScriptModule):
    @jit.script_method
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class AddTwo(jit.ScriptModule):
    @jit.script_method
    def forward(self, x: Tensor) -> Tensor:
        return x + 2


def test_old_style_module_for_an_interface() -> None:
    class Old(jit.ScriptModule):
        step: Step

        def __init__(self) -> None:
            super().__init__()
            self.step = AddOne()

        @jit.script_method
        def forward(self, x: Tensor) -> Tensor:
            return self.step.forward(x)

    class New(nn.Module):
        step: Step

        def __init__(self) -> None:
            super().__init__()
            self.step = AddOne()

        def forward(self, x: Tensor) -> Tensor:
            return self.step.forward(x)

    for module in (Old(), flambeau.script(New())):
        before = module(flambeau.ones(1)).tolist()
        module.step = AddTwo()
        assert (before, module(flambeau.ones(1)).tolist()) == ([2.0], [3.0])
        with pytest.raises(RuntimeError, match="is not compatible with interface"):
            module.step = flambeau.script(nn.ReLU())


def test_marked_method_of_a_plain_module() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = 2

        @jit.script_method
        def forward(self, x: Tensor) -> Tensor:
            return x * self.a

    assert flambeau.script(Plain())(flambeau.ones(2)).tolist() == [2.0, 2.0]


def test_marked_methods_of_plain_modules_are_programs_once_scripted() -> None:
    class Plain(nn.Module):
        @jit.script_method
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    with pytest.raises(TypeError, match=r"'ScriptMethodStub' object is not callable: forward is marked .*script\(mod"):
        Plain()(flambeau.ones(1))
    assert flambeau.script(Plain())(flambeau.ones(1)) == 2
