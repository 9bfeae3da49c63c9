"""How messages name types: TorchScript's words, compared with PyTorch where it is installed."""

from __future__ import annotations

import enum

import pytest

import flambeau
from flambeau import Tensor
from flambeau.schema.shown_type import shown_type
from flambeau.schema.types import ListType, TensorType
from flambeau.util.errors import CompileError


class Colour(enum.Enum):
    RED = 1


NAME = f"Enum<__torch__.{__name__}.Colour>"


def given_back(c: Colour) -> int:
    return c  # type: ignore[return-value]


def added(c: Colour) -> int:
    return c + 1  # type: ignore[operator, no-any-return]


def misspelt(c: Colour) -> int:
    return c.valu  # type: ignore[attr-defined, no-any-return]


def iterated(c: Colour) -> int:
    for _ in c:  # type: ignore[attr-defined]
        pass
    return 1


def value_of(c: Colour) -> int:
    return int(c.value)


MESSAGES = {
    given_back: f"having type int but is actually of type {NAME}:",
    added: f"'+' has no meaning for {NAME} and int",
    misspelt: f"'{NAME}' object has no attribute or method 'valu'.",
    iterated: f"'{NAME}' object is not iterable",
}


@pytest.mark.parametrize("fn", MESSAGES)
def test_an_enum_says_that_it_is_one(fn: object) -> None:
    with pytest.raises(CompileError) as caught:
        flambeau.script(fn)
    assert MESSAGES[fn] in str(caught.value)  # type: ignore[index]


def test_arguments_say_so_too() -> None:
    with pytest.raises(TypeError) as caught:
        flambeau.script(value_of)(3)
    assert f"Expected a value of type '{NAME}' for argument 'c'" in str(caught.value)
    assert f"value_of({NAME} c) -> int" in str(caught.value)


def test_within_others_it_has_its_name_alone() -> None:
    def colours(c: Colour) -> list[Colour]:
        return [c]

    type_ = flambeau.script(colours).schema.returns[0].type
    assert isinstance(type_, ListType)
    assert shown_type(type_) == f"List[{NAME[5:-1]}]"
    assert shown_type(type_.element) == NAME
    assert shown_type(TensorType(inferred=True)) == "Tensor (inferred)"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pytorch_says_the_same() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch's own message")
    with pytest.raises(RuntimeError) as caught:
        torch.jit.script(given_back)
    assert MESSAGES[given_back] in str(caught.value)


def unused_outside(x: Tensor) -> Tensor:
    return x


unused_outside = flambeau.jit.unused(unused_outside)


def calls_unused(x: Tensor) -> Tensor:
    return unused_outside(x)


def test_an_unused_function_is_shown_by_its_call() -> None:
    with pytest.raises(NotImplementedError) as caught:
        flambeau.script(calls_unused)(flambeau.ones(1))
    text = str(caught.value)
    assert "<unknown>" not in text
    assert "return unused_outside(x)\n           ~~~~~~~~~~~~~~ <--- HERE\nbuiltins.NotImplementedError: " in text
