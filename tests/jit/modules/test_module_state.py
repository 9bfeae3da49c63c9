"""Scripted modules whose state dict is a matter of their own programs, and what modules leave out of their programs."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from tests.jit.modules.module_support import BACKENDS, agree


class OwnState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.ones(2))
        self.saved, self.loaded = 0, 0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight

    @flambeau.jit.export
    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        self.saved += 1
        destination[prefix + "half"] = self.weight.detach() / 2

    @flambeau.jit.export
    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        self.loaded += 1
        if prefix + "half" in state_dict:
            with flambeau.no_grad():
                self.weight.copy_(2 * state_dict[prefix + "half"])
        else:
            missing_keys.append(prefix + "half")


def test_exported_methods_save_and_load() -> None:
    scripted = flambeau.script(nn.Sequential(nn.Linear(2, 2), OwnState()))
    state = scripted.state_dict()
    assert list(state) == ["0.weight", "0.bias", "1.half"]
    assert state["1.half"].tolist() == [0.5, 0.5]
    state["1.half"] = flambeau.tensor([3.0, 4.0])
    assert scripted.load_state_dict(state).missing_keys == []
    assert scripted[1].weight.tolist() == [6.0, 8.0]
    assert (scripted[1].saved, scripted[1].loaded) == (1, 1)
    state.pop("1.half")
    with pytest.raises(RuntimeError, match=r'Missing key.* in state_dict: "1.half"'):
        scripted.load_state_dict(state)


def test_other_modules_load_all_or_nothing() -> None:
    scripted = flambeau.script(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))
    state = {name: flambeau.zeros_like(value) for name, value in scripted.state_dict().items()}
    state["1.bias"] = flambeau.zeros(3)
    with pytest.raises(RuntimeError, match="size mismatch"):
        scripted.load_state_dict(state)
    assert scripted[0].weight.abs().sum() > 0


class Ignoring(nn.Module):
    __jit_ignored_attributes__ = ("cache", "table")

    def __init__(self) -> None:
        super().__init__()
        self.cache = object()

    @property
    def table(self) -> Any:
        return [self.cache, yield_nothing]

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class ReadsTable(Ignoring):
    def forward(self, x: Tensor) -> Any:
        return self.table


def yield_nothing() -> None:
    """Something that no program can hold."""


def test_ignored_properties_are_left_out() -> None:
    scripted = flambeau.script(Ignoring())
    assert scripted(flambeau.zeros(1)).tolist() == [1.0]
    with pytest.raises(flambeau.jit.CompileError, match="attribute 'table': attribute was ignored during compil") as e:
        flambeau.script(ReadsTable())
    assert "self.table\n" in str(e.value)


def test_what_one_instance_ignores_tells_it_from_others() -> None:
    first, second = nn.ReLU(), nn.ReLU()
    second.__jit_ignored_attributes__ = ("anything",)
    assert flambeau.script(first)._c._type() != flambeau.script(second)._c._type()


class NotInitialised(nn.Module):
    def __init__(self) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return x


def test_a_submodule_that_is_not_initialised_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"NotInitialised' has not been initialized, did you forget"):
        flambeau.script(nn.Sequential(NotInitialised()))


def test_too_many_parameters_of_a_hook_come_before_its_missing_annotation() -> None:
    def hook(self: Any, inputs: tuple[Tensor], output: Tensor):  # type: ignore[no-untyped-def]
        pass

    module = nn.ReLU()
    module.register_forward_pre_hook(hook)
    with pytest.raises(flambeau.jit.CompileError, match="expected to only have exactly 2 inputs but it had 3 inputs"):
        flambeau.script(module)


class InStep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Tanh(), nn.Sigmoid(), nn.Linear(1, 1)])

    def forward(self, x: Tensor, factors: list[int], states: list[Tensor]) -> Any:
        out: list[Tensor] = []
        for i, (layer, k, state) in enumerate(zip(self.layers, factors, states)):  # noqa: B905
            x = layer(x) * k + state * i
            out.append(x)
        last = {i: layer(x) for i, (k, layer) in enumerate(zip(factors, self.layers))}  # noqa: B905
        return out, [layer(x) for layer, k in zip(self.layers, factors)], last  # noqa: B905


def leaves(parts: tuple[int, float, str], numbers: list[int]) -> str:
    text = ""
    for a, b in zip(parts, numbers):  # noqa: B905
        text += f"{a} {b} "
    for i, a, b in zip(range(len(numbers)), (1, "a"), reversed(numbers)):  # noqa: B905
        if b > 5:
            return f"{i} {text}"
        text += f"{a}{b}"
    return text


def test_modules_in_step_with_a_list_that_may_be_shorter() -> None:
    for count in (0, 1, 3, 5):
        agree(InStep, flambeau.ones(1), list(range(1, count + 1)), [flambeau.ones(1)] * 4, rounds=1)
    for backend in BACKENDS:
        scripted = flambeau.script(leaves, backend=backend)
        for numbers in ([], [1], [1, 9], [1, 2, 3, 4]):
            assert scripted((1, 2.5, "x"), numbers) == leaves((1, 2.5, "x"), numbers)


class StaysPython(nn.Module):
    """`forward` is Python's; what programs call is `doubled`."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = 3

    @flambeau.jit.ignore
    def forward(self, x: Tensor) -> Tensor:
        return flambeau.from_numpy(x.numpy() * self.factor)

    @flambeau.jit.export
    def doubled(self, x: Tensor) -> Tensor:
        return x * 2


class AroundPython(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = StaysPython()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner.doubled(x) + self.inner(x)


def test_a_forward_that_stays_python_is_called() -> None:
    scripted = flambeau.script(StaysPython())
    assert scripted(flambeau.ones(2)).tolist() == [3, 3]
    assert scripted.doubled(flambeau.ones(2)).tolist() == [2, 2]
    assert scripted(flambeau.full((1,), 2.0)).tolist() == [6]
    assert flambeau.script(AroundPython())(flambeau.ones(1)).tolist() == [5]
