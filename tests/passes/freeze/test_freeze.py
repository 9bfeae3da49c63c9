"""Freezing: what becomes constant, what stays, what is refused, and that frozen modules are native from end to end."""

from __future__ import annotations

import threading
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.ir.verify import verify
from flambeau.jit import export, freeze, optimize_for_inference
from flambeau.jit.freeze import freeze_module


def frozen(module: nn.Module, *preserved: str) -> Any:
    found = freeze(flambeau.script(module.eval()), list(preserved))
    verify(found.graph)
    return found


def has(module: Any, *names: str) -> list[bool]:
    return [hasattr(module, n) for n in names]


class Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.n, self.f, self.s = 3, 0.5, "grüße"
        self.items, self.table, self.pair = [1, 2], {"a": flambeau.ones(2)}, (2.0, flambeau.ones(2))
        self.nothing = None

    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x) * self.n + self.f + len(self.s) + self.items[1] + self.table["a"] * self.pair[0] + self.pair[1]
        if self.nothing is None and not self.training:
            y = y + 1
        return y


def test_everything_becomes_constant() -> None:
    module = Everything()
    found = frozen(module)
    x = flambeau.randn(4, 3)
    np.testing.assert_allclose(found(x).numpy(), module(x).detach().numpy(), rtol=1e-6)
    assert found.graph.find("prim::GetAttr") is None
    assert not any(has(found, "fc", "n", "f", "s", "items", "table", "pair", "nothing", "training"))
    assert list(found.parameters()) == []
    assert found.state_dict() == {}


def test_values_are_those_of_the_moment_of_freezing() -> None:
    module = Everything()
    scripted = flambeau.script(module.eval())
    found = freeze(scripted)
    x = flambeau.ones(1, 3)
    before = found(x).tolist()
    scripted.n = 100
    scripted.items.append(5)
    scripted.items[1] = 70
    assert found(x).tolist() == before


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.scale = 2.0
        self.register_buffer("total", flambeau.zeros(2))
        self.total_too = self.total
        self.unread = flambeau.ones(2)

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.total.add_(x)
        return self.total_too * self.scale + self.count


def test_what_changes_stays_and_is_apart_from_its_source() -> None:
    scripted = flambeau.script(Counting().eval())
    found = freeze(scripted)
    x = flambeau.ones(2)
    assert [found(x).tolist(), found(x).tolist()] == [[3.0, 3.0], [6.0, 6.0]]
    assert has(found, "count", "total", "total_too", "scale", "unread") == [True, True, True, False, False]
    assert (found.count, found.total.tolist()) == (2, [2.0, 2.0])
    assert (scripted.count, scripted.total.tolist()) == (0, [0.0, 0.0])
    assert [n for n, _ in found.named_buffers()] == ["total"]


class Adding(nn.Module):
    def __init__(self, shares: bool, swaps: bool) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.total = flambeau.zeros(2)
        self.other = self.total if shares else flambeau.ones(2)
        self.swaps = swaps

    def forward(self, x: Tensor) -> Tensor:
        if self.swaps:
            self.total = self.other
        self.total += x
        return self.total + self.other * 2 + self.fc(x)


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("swaps", [False, True])
def test_a_tensor_that_is_added_to_in_place_keeps_what_shares_its_memory(shares: bool, swaps: bool) -> None:
    module = Adding(shares, swaps)
    found = frozen(deepcopy(module))
    eager = module.eval()
    x = flambeau.tensor([1.0, 2.0])
    for _ in range(3):
        np.testing.assert_allclose(found(x).detach().numpy(), eager(x).detach().numpy(), rtol=1e-6)
    assert has(found, "total", "other", "fc") == [True, shares or swaps, swaps]


class Untaken(nn.Module):
    def __init__(self, flag: bool) -> None:
        super().__init__()
        self.flag = flag
        self.w = flambeau.ones(2)

    def forward(self, x: Tensor) -> Tensor:
        if self.flag:
            self.w.add_(1.0)
            self.flag = False
        return x * self.w


def test_a_way_that_is_never_taken_changes_nothing() -> None:
    assert has(frozen(Untaken(flag=False)), "flag", "w") == [False, False]
    assert has(frozen(Untaken(flag=True)), "flag", "w") == [True, True]


class Sub(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.w = flambeau.ones(2) * n

    def forward(self, x: Tensor) -> Tensor:
        return x * self.w + self.n

    @export
    def shifted(self, x: Tensor) -> Tensor:
        return x + self.n


class Pair(nn.Module):
    def __init__(self, shared: bool = False) -> None:
        super().__init__()
        self.one = Sub(1)
        self.two = self.one if shared else Sub(2)

    def forward(self, x: Tensor) -> Tensor:
        self.one.n = self.one.n + 1
        return self.two(self.one(x))

    @export
    def sum(self) -> int:
        return self.one.n + self.two.n


def test_instances_are_told_apart_though_they_share_a_class() -> None:
    found = frozen(Pair())
    assert has(found, "one", "two") == [True, False]
    assert has(found.one, "n", "w") == [True, False]
    found(flambeau.ones(2))
    assert found.one.n == 2


def test_a_shared_submodule_stays_one() -> None:
    found = frozen(Pair(shared=True))
    x = flambeau.ones(2)
    assert found(x).tolist() == [5.0, 5.0]
    assert found.one is found.two
    assert found.two.n == 2


def test_preserved_names() -> None:
    assert has(frozen(Pair(), "two"), "one", "two", "sum") == [True, True, False]
    found = frozen(Pair(), "two.n", "sum")
    assert found.sum() == 3
    found.two.n = 10
    assert found.sum() == 11
    assert found(flambeau.ones(2)).tolist() == [16.0, 16.0]
    assert not hasattr(found.two, "w")
    found = frozen(Pair(), "two.shifted")
    assert found.two.shifted(flambeau.ones(1)).tolist() == [3.0]
    assert not hasattr(found.two, "n")
    assert frozen(Pair(), "two").two(flambeau.ones(2)).tolist() == [4.0, 4.0]


def test_preserved_names_must_exist() -> None:
    for name in ("nothing", "one.nothing", "three.n"):
        with pytest.raises(RuntimeError, match=f"Unknown name: .* does not have a field with name '{name}'"):
            frozen(Pair(), name)


def test_removed_methods_are_named() -> None:
    with pytest.raises(AttributeError, match=r"Pair .* does not have a field with name 'sum'"):
        frozen(Pair()).sum()


class Itself(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 1

    def forward(self, x: Tensor) -> Any:
        return self


def test_refusals() -> None:
    with pytest.raises(RuntimeError, match=r"Please call \.eval\(\) on your module before freezing"):
        freeze(flambeau.script(Everything()))
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule as input"):
        freeze(Everything().eval())
    with pytest.raises(RuntimeError, match="attempted to freeze a module that return itself"):
        frozen(Itself())


def test_a_module_in_training_keeps_its_mode() -> None:
    class Training(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return flambeau.dropout(x, 0.5, self.training)

    found = freeze_module(flambeau.script(Training()))
    assert found.graph.find("aten::dropout") is not None
    assert frozen(Training()).graph.find("aten::dropout") is None


class Returned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(2))
        self.items = [1, 2]

    def forward(self) -> tuple[Tensor, list[int]]:
        return self.w, self.items


def test_what_is_handed_out_may_be_changed() -> None:
    found = frozen(Returned())
    w, items = found()
    assert not w.requires_grad
    items.append(3)
    assert found()[1] == [1, 2, 3]
    assert has(found, "w", "items") == [False, True]


class Branchy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = Sub(1), Sub(2)

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.one, self.two):
            if bool(x.sum() > 0):
                x = layer(x)
        return x


def test_control_flow_stays() -> None:
    module = Branchy()
    found = frozen(module)
    for x in (flambeau.ones(2), -flambeau.ones(2)):
        assert found(x).tolist() == module(x).tolist()
    assert found.graph.find("prim::GetAttr") is None


def test_statistics_that_an_operator_moves_stay() -> None:
    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", flambeau.zeros(2))
            self.register_buffer("var", flambeau.ones(2))

        def forward(self, x: Tensor) -> Tensor:
            return flambeau.batch_norm(x, None, None, self.mean, self.var, True, 0.5, 1e-5, False)

    found = frozen(Norm())
    twin = flambeau.script(Norm())
    x = flambeau.randn(5, 2)
    for _ in range(3):
        assert found(x).tolist() == twin(x).tolist()
    assert found.mean.tolist() == twin.mean.tolist() != [0.0, 0.0]


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4))
        self.scale = 3.0

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x) * self.scale


def test_a_frozen_mlp_is_native_from_end_to_end() -> None:
    module = MLP()
    found = frozen(module)
    x = flambeau.randn(5, 8)
    for _ in range(5):
        got = found(x)
    np.testing.assert_allclose(got.numpy(), module(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    told = str(found.explain(measure=False))
    assert "native from end to end" in told
    assert "whole graph: native" in told
    assert "interpreted" not in told


class Constants(nn.Module):
    """Tensors that lie in memory in every way."""

    def __init__(self) -> None:
        super().__init__()
        base = flambeau.randn(6, 8)
        self.turned, self.strided, self.number = base.t(), base[::2, 1::3], flambeau.tensor(2.5)
        self.empty, self.rows = flambeau.zeros(0, 3), [flambeau.ones(3), flambeau.randn(3)]
        self.index, self.mask = flambeau.tensor([2, 0, 1]), flambeau.tensor([True, False, True])

    def forward(self, x: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
        y = x @ self.turned
        for k in range(n):
            y = y * self.number + self.strided.sum() + self.turned[k, 0]
        joined = flambeau.cat([self.rows[0], self.rows[1], x[0, :3]])
        rest = self.turned.t().contiguous() + flambeau.cat([self.empty, self.empty]).sum()
        return y, joined, rest + (self.rows[1][self.index] + self.rows[0] * self.mask).sum()


def test_constants_in_native_code() -> None:
    scripted = flambeau.script(Constants().eval())
    found = freeze(scripted)
    x = flambeau.randn(5, 8)
    for n in (0, 3, 3, 3, 2, 5):
        for want, got in zip(scripted(x, n), found(x, n), strict=True):  # numbers of hundreds, in float32
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-3)
    want = [t.tolist() for t in found(x, 3)]

    def work() -> None:
        results.append([[t.tolist() for t in found(x, 3)] == want for _ in range(200)])

    results: list[list[bool]] = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[True] * 200] * 4


def test_constants_that_are_given_back() -> None:
    class Giving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = flambeau.randn(3, 4)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x * 2, self.w[1:]

    module = Giving()
    found = frozen(module)
    for _ in range(5):
        _, rest = found(flambeau.ones(2))
    del found
    assert rest.tolist() == module.w[1:].tolist()


def test_deep_copies_and_modes_of_frozen_modules() -> None:
    found = frozen(MLP())
    x = flambeau.randn(5, 8)
    assert deepcopy(found)(x).tolist() == found(x).tolist()
    assert found.eval() is found


def test_parameters_may_stay() -> None:
    found = freeze_module(flambeau.script(MLP()), preserve_parameters=True)
    assert len(list(found.parameters())) == 6
    assert all(p.requires_grad for p in found.parameters())
    assert "prim::CallMethod" not in str(found.graph)
    assert not hasattr(found, "scale")


def test_constants_are_shared_with_the_source() -> None:
    module = nn.Linear(2, 2)
    scripted = flambeau.script(module.eval())
    found = freeze(scripted)
    held = [n.attributes["value"] for n in found.graph.find_all("prim::Constant") if "value" in n.attributes]
    assert any(h.shares_storage(module.weight) for h in held if isinstance(h, Tensor))


def test_optimize_for_inference_freezes_what_is_not_frozen() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            return flambeau.dropout(flambeau.relu(self.fc(x)), 0.5, self.training)

    scripted = flambeau.script(Net().eval())
    found = optimize_for_inference(scripted)
    assert found.graph.find("aten::dropout") is None
    assert not hasattr(found, "fc")
    assert optimize_for_inference(found) is found
    x = flambeau.randn(3, 2)
    np.testing.assert_allclose(found(x).numpy(), scripted(x).detach().numpy(), rtol=1e-5)


def test_a_frozen_module_inside_another() -> None:
    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = frozen(MLP())

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x) + 1

    module = Wrapper()
    scripted = flambeau.script(module.eval())
    x = flambeau.randn(5, 8)
    np.testing.assert_allclose(scripted(x).numpy(), module(x).numpy(), rtol=1e-5)
    np.testing.assert_allclose(freeze(scripted)(x).numpy(), module(x).numpy(), rtol=1e-5)
