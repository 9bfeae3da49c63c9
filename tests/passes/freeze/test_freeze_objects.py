"""Freezing with all that modules may hold: interfaces, instances of classes, enums, forks, hooks, Python methods."""

from __future__ import annotations

import enum
from copy import deepcopy
from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit import export, fork, freeze, ignore, interface, run_frozen_optimizations, wait

READS = ("prim::GetAttr", "prim::SetAttr", "prim::CallMethod")


def frozen(module: nn.Module, *preserved: str) -> Any:
    """The frozen module, after it was compared with its source for three calls."""
    scripted = flambeau.script(module.eval())
    found, twin = freeze(scripted, list(preserved)), freeze(scripted, list(preserved))
    x = flambeau.ones(2)
    for _ in range(3):
        assert twin(x).tolist() == scripted(x).tolist()
    return found


def kept(module: Any) -> list[str]:
    return [a.name for a in module.script_object.type.definition.attributes]


def reads(module: Any) -> list[str]:
    return [n.op for n in module.graph.all_nodes() if n.op in READS]


@interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Scale(nn.Module):
    def __init__(self, n: int = 1) -> None:
        super().__init__()
        self.w, self.n = flambeau.ones(2) * n, n

    def forward(self, x: Tensor) -> Tensor:
        return x * self.w + self.n


class Minus(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x - 1


class Proxy(nn.Module):
    proxy: Step

    def __init__(self) -> None:
        super().__init__()
        self.proxy, self.other = Scale(3), Minus()

    def forward(self, x: Tensor) -> Tensor:
        return self.proxy.forward(x)


class Swapping(Proxy):
    def forward(self, x: Tensor) -> Tensor:
        self.proxy = self.other
        return self.proxy.forward(x)


class Indexed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Scale(1), Scale(2)])

    def forward(self, x: Tensor, i: int) -> Tensor:
        layer: Step = self.layers[i]
        return layer.forward(x)


def test_interfaces_are_looked_through() -> None:
    found = frozen(Proxy())
    assert kept(found) == reads(found) == []


def test_interfaces_that_change_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Freezing does not support SetAttr on an interface type\."):
        freeze(flambeau.script(Swapping().eval()))
    with pytest.raises(RuntimeError, match="Freezing modules containing prim::ModuleContainerIndex is not supported"):
        freeze(flambeau.script(Indexed().eval()))


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Named(NamedTuple):
    a: Tensor
    b: int


class Values(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.colour, self.named = Colour.RED, Named(flambeau.ones(2), 3)
        self.table, self.dtype, self.number = {"k": [flambeau.ones(2)]}, flambeau.float64, 1 + 2j

    def forward(self, x: Tensor) -> Tensor:
        if self.colour == Colour.RED:
            x = x + self.named[0] * self.named[1] + self.table["k"][0]
        return x.to(self.dtype) + self.number.imag


def test_values_of_every_kind_become_constants() -> None:
    found = frozen(Values())
    assert kept(found) == reads(found) == []
    assert found.graph.find("prim::If") is None


@flambeau.script
class Counter:
    def __init__(self, n: int) -> None:
        self.n = n
        self.t = flambeau.ones(2)

    def more(self) -> None:
        self.n += 1

    def get(self) -> int:
        return self.n


class Reading(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = Counter(3)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.counter.n + self.counter.t + self.counter.get()


class Counting(Reading):
    def forward(self, x: Tensor) -> Tensor:
        self.counter.more()
        return x * self.counter.n + self.counter.t


def test_instances_of_classes() -> None:
    found = frozen(Reading())
    assert kept(found) == reads(found) == []
    module = Counting()
    found = frozen(module)
    assert kept(found) == ["counter"]
    before = module.counter.n
    assert [found(flambeau.ones(2)).tolist() for _ in range(2)] == [[5.0, 5.0], [6.0, 6.0]]
    assert (module.counter.n, found.counter.n) == (before, 5)


class Forking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.v = flambeau.ones(2), flambeau.ones(2)

    def add(self, x: Tensor) -> Tensor:
        return x + self.w

    def forward(self, x: Tensor) -> Tensor:
        return wait(fork(self.add, x)) * self.v


class ForkingWrites(Forking):
    def add(self, x: Tensor) -> Tensor:
        self.w.add_(1)
        return x + self.w


def test_what_a_fork_is_given_stays() -> None:
    assert frozen(Forking())(flambeau.ones(2)).tolist() == [2.0, 2.0]
    found = frozen(ForkingWrites())
    assert [found(flambeau.ones(2)).tolist() for _ in range(2)] == [[3.0, 3.0], [4.0, 4.0]]


def times(self: Any, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    return output * self.n


class Python(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale, self.k = Scale(2), 3
        self.scale.register_forward_hook(times)

    @property
    def double(self) -> int:
        return self.k * 2

    @ignore
    def python(self, x: Tensor) -> Tensor:
        return x + self.k

    def forward(self, x: Tensor) -> Tensor:
        if self.scale is self.scale:
            x = self.scale(x)
        return x * self.double


class Ignoring(Python):
    def forward(self, x: Tensor) -> Tensor:
        return self.python(x)


def test_hooks_properties_and_identity() -> None:
    found = frozen(Python())
    assert kept(found) == reads(found) == []


def before(self: Any, inputs: tuple[Tensor]) -> Tensor:
    self.count += 1
    return inputs[0] * self.k


def test_hooks_of_the_module_itself() -> None:
    class Hooked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.k, self.n, self.count = 3, 2, 0

        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    module = Hooked()
    module.register_forward_pre_hook(before)
    module.register_forward_hook(times)
    module.register_forward_hook(times)
    found = frozen(module)
    for one in (found, deepcopy(found), freeze(found)):
        assert one(flambeau.ones(2)).tolist() == [16.0, 16.0]
    assert kept(found) == ["count"]
    assert found.count == 1


def test_methods_that_stay_python_see_the_module() -> None:
    assert frozen(Ignoring())(flambeau.ones(2)).tolist() == [4.0, 4.0]


class Exporting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor) -> Tensor:
        return x + self.n

    @export
    def more(self) -> int:
        self.n += 1
        return self.n


def test_methods_that_go_change_nothing() -> None:
    assert kept(frozen(Exporting())) == []
    found = frozen(Exporting(), "more")
    assert found.more() == 1
    assert found(flambeau.ones(2)).tolist() == [2.0, 2.0]


def test_optimisations_leave_the_source_alone() -> None:
    class Dropped(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return flambeau.dropout(x, 0.5, False)

    class Parent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = Dropped()

        def forward(self, x: Tensor) -> Tensor:
            return self.child(x)

    scripted = flambeau.script(Parent().eval())
    found = freeze(scripted, ["child"])
    run_frozen_optimizations(found)
    assert found.graph.find("aten::dropout") is None
    assert scripted.child.graph.find("aten::dropout") is not None


# -- attributes that overlap ------------------------------------------------------------------------------------------


class Overlapping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        whole = flambeau.arange(3.0)
        self.whole, self.part = whole, whole[1:]

    def forward(self, x: Tensor) -> Tensor:
        return self.part + self.whole.sum() + x


class OverlappingWritten(Overlapping):
    def forward(self, x: Tensor) -> Tensor:
        self.whole.add_(1)
        return self.part + x


def test_attributes_that_overlap_go_on_sharing_memory() -> None:
    assert kept(frozen(Overlapping())) == []
    assert set(kept(frozen(OverlappingWritten()))) == {"whole", "part"}
