"""Containers of modules and parameters in programs: loops, items, walks; and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, jit, nn
from tests.jit.modules.module_support import agree

X = flambeau.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]])


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.ReLU()})
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])
        self.layers += [nn.ReLU()]
        self.params = nn.ParameterList([flambeau.ones(3), flambeau.zeros(3)])
        self.named = nn.ParameterDict({"u": flambeau.ones(3), "v": flambeau.full([3], 2.0)})
        self.seq = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU()))
        self.register_buffer("seen", flambeau.ones(3))


class Dicts(Holder):
    def forward(self, x: Tensor) -> Tensor:
        for key, layer in self.table.items():
            x = layer(x) + len(key)
        for layer in self.table.values():
            x = layer(x)
        for key in self.table.keys():  # noqa: SIM118
            x = x + len(key)
        for key in self.table:
            x = x + len(key)
        if "a" in self.table:
            x = x + 1
        if "absent" in self.table:
            x = x + 100
        names = [key for key in self.table.keys()]  # noqa: C416, SIM118
        return self.table["a"](x) + len(self.table) + len(names)


class Lists(Holder):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[1:]:
            x = layer(x)
        for layer in self.layers[::-1]:
            x = layer(x)
        some = self.layers[0:2]
        for layer in some:
            x = layer(x)
        x = self.layers[-1](x) + self.layers[0](x)
        for i, (layer, k) in enumerate(zip(self.layers, [1, 2, 3])):  # noqa: B905
            x = layer(x) * k + i
        for layer, k in zip(self.layers, range(1, 6, 2)):  # noqa: B905
            x = layer(x) * k
        results = [layer(x) for layer in self.layers]
        return results[0] + results[2] + len(self.layers[1:])


class Parameters(Holder):
    def forward(self, x: Tensor) -> Tensor:
        for p in self.params:
            x = x + p
        x = x * self.params[0] + self.params[-1] + len(self.params)
        x = x + self.named["v"]
        for key, p in self.named.items():
            x = x + p * len(key)
        for p in self.named.values():
            x = x + p
        if "u" in self.named:
            x = x + self.named["u"]
        return x + len(self.named)


class Walks(Holder):
    def forward(self, x: Tensor) -> tuple[Tensor, list[str]]:
        names: list[str] = []
        for layer in self.seq.children():
            x = layer(x)
        for name, layer in self.seq.named_children():
            names.append(name)
            x = layer(x)
        for name, _ in self.named_children():
            names.append(name)
        for name, _ in self.named_modules():
            names.append(name)
        for name, p in self.named_parameters():
            names.append(name)
            x = x + p.sum()
        for p in self.parameters():
            x = x + p.mean()
        for b in self.buffers():
            x = x + b
        for name, b in self.named_buffers():
            names.append(name)
            x = x + b
        for _ in self.modules():
            names.append("m")
        return x, names


class AnyLayer(Holder):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)])
        self.table = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})

    def forward(self, x: Tensor, i: int, key: str) -> Tensor:
        for j in range(2):
            x = self.layers[j](x)
        return self.table[key](self.layers[i](x))


class OwnLength(nn.Sequential):
    @jit.export
    def __len__(self) -> int:
        return 42

    def forward(self, x: Tensor) -> Tensor:
        return x + len(self)


class AsksLength(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq = OwnLength(nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        return self.seq(x) + len(self.seq)


class ListOfOwn(nn.ModuleList):
    def __init__(self) -> None:
        super().__init__([nn.ReLU() for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self:
            x = layer(x) + 1
        return x


class DictOfOwn(nn.ModuleDict):
    def __init__(self) -> None:
        super().__init__({"a": nn.ReLU(), "b": nn.Tanh()})

    def forward(self, x: Tensor) -> Tensor:
        for key, layer in self.items():
            x = layer(x) + len(key)
        return self["a"](x)


@pytest.mark.parametrize("make", [Dicts, Lists, Parameters, Walks, AsksLength, ListOfOwn, DictOfOwn])
def test_containers(make: Callable[[], nn.Module]) -> None:
    agree(make, X)


@pytest.mark.parametrize(("i", "key"), [(0, "a"), (3, "b"), (-1, "a")])
def test_any_index_among_modules_of_one_class(i: int, key: str) -> None:
    agree(AnyLayer, X, i, key)
    scripted = flambeau.script(AnyLayer())
    assert "prim::ModuleContainerIndex" in str(scripted.graph)
    with pytest.raises(RuntimeError, match="Index 9 out of range of length 4"):
        scripted(X, 9, key)


@jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Shift(nn.Module):
    def __init__(self, by: int) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x + self.by


class Scale(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 3


class Other(nn.Module):
    def forward(self, y: int) -> int:
        return y


class ThroughInterface(nn.Module):
    def __init__(self, *more: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Shift(1), Scale(), Shift(2), *more])
        self.table = nn.ModuleDict({"shift": Shift(5), "scale": Scale()})

    def forward(self, x: Tensor, key: str) -> Tensor:
        for i in range(3):
            layer: Layer = self.layers[i]
            x = layer.forward(x)
        named: Layer = self.table[key]
        return named.forward(x)


def test_any_index_through_an_interface() -> None:
    agree(ThroughInterface, X, "scale")
    agree(ThroughInterface, X, "shift")
    with pytest.raises(RuntimeError, match="Attribute 3 is not of annotated type"):
        flambeau.script(ThroughInterface(Other()))


class Swapped(nn.Module):
    proxy_mod: Layer

    def __init__(self) -> None:
        super().__init__()
        self.proxy_mod = Shift(1)
        self.fixed = Shift(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fixed.forward(self.proxy_mod.forward(x))


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_a_module_behind_an_interface_can_be_swapped(backend: Any) -> None:
    scripted = flambeau.script(Swapped(), backend=backend)
    x = flambeau.ones(2)
    for _ in range(4):
        assert scripted(x).tolist() == [4.0, 4.0]
    scripted.proxy_mod = flambeau.script(Scale())
    for _ in range(4):
        assert scripted(x).tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="a ScriptModule with non-scripted module"):
        scripted.proxy_mod = Scale()
    with pytest.raises(RuntimeError, match="not compatible with interface"):
        scripted.proxy_mod = flambeau.script(Other())
    with pytest.raises(RuntimeError, match=r"value of type '.*Shift.*' for field 'fixed', but found '.*Scale"):
        scripted.fixed = flambeau.script(Scale())
    scripted.fixed = flambeau.script(Shift(10))
    assert scripted(x).tolist() == [13.0, 13.0]


def test_scripted_containers_are_containers() -> None:
    scripted = flambeau.script(Lists())
    assert len(scripted.layers) == 3
    assert [m.original_name for m in scripted.layers[1:]] == ["Tanh", "ReLU"]
    assert scripted.layers[0] in scripted.layers
    assert list(scripted.table) == ["a", "b"]
    assert scripted.table["b"].original_name == "ReLU"
    assert "a" in scripted.table
    assert [k for k, _ in scripted.table.items()] == list(scripted.table.keys())
    assert [m.original_name for m in scripted.table.values()] == ["Linear", "ReLU"]
    assert len(scripted.params) == 2
    assert scripted.named["v"].tolist() == [2.0, 2.0, 2.0]
    assert len(flambeau.script(OwnLength(nn.ReLU()))) == 42
    assert flambeau.script(nn.ModuleList())


# -- refusals ---------------------------------------------------------------------------------------------------------


class MissingKey(Holder):
    def forward(self, x: Tensor) -> Tensor:
        return self.table["blah"](x)


class AnyKey(Holder):
    def forward(self, x: Tensor, key: str) -> Tensor:
        return self.table[key](x)


class AnyIndex(Holder):
    def forward(self, x: Tensor, i: int) -> Tensor:
        return self.layers[i](x)


class UnknownLength(Holder):
    def forward(self, x: Tensor, many: list[int]) -> Tensor:
        for layer, k in reversed(zip(self.layers, many)):  # noqa: B905
            x = layer(x) * k
        return x


class SliceOfKeys(Holder):
    def forward(self, x: Tensor) -> Tensor:
        return self.table[1:](x)


class WalkWithArguments(Holder):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.children(1):
            x = layer(x)
        return x


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (MissingKey, ["Key Error, blah"]),
        (
            AnyKey,
            [
                "Unable to extract string literal index. ModuleDict indexing is only supported with string literals. "
                "For example, 'i = \"a\"; self.layers[i](x)' will fail because i is not a literal",
            ],
        ),
        (
            AnyIndex,
            ["Expected integer literal for index", "Enumeration is supported, e.g. ", "because i is not a literal"],
        ),
        (UnknownLength, ["that does not have a statically determinable length"]),
        (SliceOfKeys, ["Unable to extract string literal index"]),
        (WalkWithArguments, ["children() takes no arguments in a program"]),
    ],
)
def test_refusals(make: Callable[[], nn.Module], fragments: list[str]) -> None:
    with pytest.raises(RuntimeError) as caught:
        flambeau.script(make())
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_containers_with_places_left_empty() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.by_name = nn.ModuleDict({"a": None, "b": nn.Hardtanh(-1.0, 2.0)})
            self.in_order = nn.ModuleList([None, nn.ReLU(), None])

        def forward(self, x: Tensor) -> Tensor:
            for name, module in self.by_name.items():
                if module is not None:
                    x = module(x) + len(name)
            for one in self.in_order:
                x = x + 10 if one is None else one(x)
            return x

    module = Net()
    x = flambeau.tensor([-3.0, 5.0])
    assert module(x).tolist() == flambeau.script(module)(x).tolist() == [20.0, 23.0]
    assert "(a): None" in repr(module.by_name)
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        nn.ModuleList([3])  # type: ignore[list-item]


def test_dir_has_names_alone() -> None:
    module = nn.Sequential(nn.ReLU(), nn.Linear(1, 1))
    for one in (module, flambeau.script(module)):
        assert not [name for name in dir(one) if name.isdigit()]
        assert "forward" in dir(one)


class AsksForClasses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Linear(2, 2)])

    def forward(self, x: Tensor) -> list[bool]:
        answers = [isinstance(self, nn.Module), isinstance(self, AsksForClasses), isinstance(self.layers, nn.ReLU)]
        for layer in self.layers:
            answers.append(isinstance(layer, nn.ReLU))
            answers.append(isinstance(layer, (nn.Linear, nn.Tanh)))
            if isinstance(layer, nn.Linear):
                answers.append(layer.in_features == 2)
        return answers


def test_classes_of_modules() -> None:
    module = AsksForClasses()
    assert flambeau.script(module)(flambeau.ones(1)) == module(flambeau.ones(1))
    assert module(flambeau.ones(1)) == [True, True, False, True, False, False, True, True]
