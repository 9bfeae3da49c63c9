"""What is said where modules do not fit, in the words that programs search for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn

PLAIN = nn.Linear(2, 2)
SCRIPTED = flambeau.script(nn.Linear(2, 2))


class Text(nn.Module):
    def forward(self, x: str) -> str:
        return x + "f"


def with_plain(x: Tensor) -> Tensor:
    return PLAIN(x) * 2


def with_scripted(x: Tensor) -> Tensor:
    return SCRIPTED(x)


def test_plain_modules_outside_of_the_program_stay_python() -> None:
    scripted = flambeau.script(with_plain)
    x = flambeau.ones(1, 2)
    for _ in range(3):
        assert flambeau.allclose(scripted(x), PLAIN(x) * 2)
    assert any(node.op == "^forward" for node in scripted.graph.nodes())
    with pytest.raises(RuntimeError, match="Cannot call a ScriptModule that is not a submodule of the caller"):
        flambeau.script(with_scripted)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            nn.Tanh(),
            r"a ScriptModule with non-scripted module, tried to replace existing module '0': Tanh\(\)",
        ),
        (3, "Cannot re-assign modules in a ScriptModule with a int"),
        (flambeau.script(nn.Tanh()), "but found"),
    ],
)
def test_submodules_that_are_replaced(value: Any, text: str) -> None:
    scripted = flambeau.script(nn.Sequential(nn.ReLU()))
    with pytest.raises(RuntimeError, match=text):
        setattr(scripted, "0", value)


def test_constants_say_what_is_wrong_inside() -> None:
    class Net(nn.Module):
        __constants__ = ("sizes",)

        def __init__(self) -> None:
            super().__init__()
            self.sizes = [1, np.int64(3)]

        def forward(self, x: Tensor) -> Tensor:
            return x

    with pytest.raises(TypeError, match=r"'numpy.int64' object in attribute 'Net.sizes' is not a valid constant"):
        flambeau.script(Net())


def test_an_attribute_that_was_none() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.name: str | None = None

        def forward(self, x: str) -> str:
            self.name = x
            return x

    with (
        pytest.warns(UserWarning, match="doesn't support instance-level annotations on empty non-base types"),
        pytest.raises(RuntimeError, match="Wrong type for attribute assignment"),
    ):
        flambeau.script(Net())


def test_annotate_in_init_warns() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.empty = flambeau.jit.annotate(list[int], [])
            self.full = flambeau.jit.annotate(list[int], [1])

        def forward(self, x: Tensor) -> Tensor:
            return x + self.full[0]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flambeau.script(Net())
    texts = [str(w.message) for w in caught]
    assert len(texts) == 1
    assert "doesn't support instance-level annotations on empty non-base types" in texts[0]
    assert "'empty'" in texts[0]


def unnamed(name: str, change: str) -> Any:
    def hook(self: Any, input: tuple[str], output: str):  # type: ignore[no-untyped-def]
        return output + change

    hook.__name__ = name
    return hook


def two_inputs(self: Any, input: str, output: str) -> None:
    return None


def test_hooks_of_one_name_come_before_their_annotations() -> None:
    module = Text()
    module.register_forward_hook(unnamed("hook", "a"))
    module.register_forward_hook(unnamed("hook", "b"))
    with pytest.raises(RuntimeError, match=r"Hook 'hook' on .* has at least two different python definitions"):
        flambeau.script(module)


def shout(self: Any, input: tuple[str], output: str):  # type: ignore[no-untyped-def]
    return output + "!"


def test_a_hook_without_return_annotation_gives_what_it_gives() -> None:
    module = Text()
    module.register_forward_hook(shout)
    assert flambeau.script(module)("x") == module("x") == "xf!"


def test_a_hook_whose_input_is_no_tuple() -> None:
    module = Text()
    module.register_forward_hook(two_inputs)
    with pytest.raises(RuntimeError, match=r"typed as a Tuple but found type: 'str' instead\."):
        flambeau.script(module)


@pytest.mark.parametrize(
    ("inputs", "shown"),
    [
        ((flambeau.ones(1), 2), r"Tuple\[Tensor, int\]"),
        ((1,), r"Tuple\[int\]"),
        ((([1, 2],),), r"Tuple\[Tuple\[List\[int\]\]\]"),
    ],
)
def test_inputs_that_cannot_be_traced(inputs: Any, shown: str) -> None:
    with pytest.raises(RuntimeError, match=f"Type '{shown}' cannot be traced. Only Tensors and"):
        flambeau.trace(lambda *args: args[0], inputs)


class ByName(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(flambeau.full((1,), 2.0))

    def forward(self, x: int, *, y: int, z: int = 1) -> Tensor:
        return self.scale * (x - y) + z


def test_arguments_by_name_alone() -> None:
    scripted = flambeau.script(ByName())
    with pytest.raises(RuntimeError, match=r"forward\(\) takes 1 positional argument\(s\) but 3 was/were given"):
        scripted(5, 2, 1)
    for _ in range(4):
        assert scripted(5, y=2).item() == 7
        assert scripted(5, y=2, z=3).item() == 9
        with pytest.raises(RuntimeError, match=r"takes 1 positional argument\(s\) but 3 was/were given"):
            scripted(5, 2, 1)
        with pytest.raises(RuntimeError, match="missing value for argument 'y'"):
            scripted(5)
        with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'y'"):
            scripted(5, y="a")
        with flambeau.no_grad():
            assert scripted(5, y=2).item() == 7


def test_methods_that_need_their_object_take_arguments_by_name() -> None:
    class Counting(nn.Module):
        seen: list[int]

        def __init__(self) -> None:
            super().__init__()
            self.seen = [0]
            self.total = 0

        def forward(self, x: int, *, y: int) -> int:
            self.seen.append(x)
            self.total = self.total + y
            return self.total

    scripted = flambeau.script(Counting())
    assert [scripted(k, y=2) for k in range(4)] == [2, 4, 6, 8]
    assert scripted.seen == [0, 0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="takes 1 positional"):
        scripted(1, 2)


def test_frozen_methods_become_faster_by_name() -> None:
    class Two(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1

        @flambeau.jit.export
        def other(self, x: Tensor) -> Tensor:
            return flambeau.dropout(x, 0.5, False)

    frozen = flambeau.jit.freeze(flambeau.script(Two().eval()), ["other"])
    flambeau.jit.run_frozen_optimizations(frozen, preserved_methods=["other"])
    assert frozen.other(flambeau.ones(1)).item() == 1
    with pytest.raises(AttributeError, match="Two has no method 'nothing', which preserved_methods names"):
        flambeau.jit.run_frozen_optimizations(frozen, preserved_methods=["nothing"])
    with pytest.raises(RuntimeError, match="Unknown name: nothing"):
        flambeau.jit.freeze(flambeau.script(Two().eval()), ["nothing"])
    with pytest.raises(RuntimeError, match=r"Please use flambeau\.jit\.script or flambeau\.jit\.trace"):
        flambeau.jit.freeze(Two())  # type: ignore[arg-type]
