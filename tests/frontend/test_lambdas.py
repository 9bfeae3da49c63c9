"""Lambdas as functions of their own: found in their file by where they stand, and compiled as they are called."""

from __future__ import annotations

import linecache
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.util.errors import CompileError, FrontendError

square = lambda v: v * v  # noqa: E731
hypotenuse = lambda a, b: math.sqrt(  # noqa: E731
    square(a)
    + square(b)  # over several lines
)
TABLE: dict[str, Callable[[Any], Any]] = {"up": lambda x: x + 1, "down": lambda x: x - 1}


def distances(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += hypotenuse(float(i), 2.0)
    return total


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_programs_call_them(backend: str) -> None:
    script = flambeau.script(distances, backend=backend)
    for n in (3, 10, 0):
        assert script(n) == pytest.approx(distances(n), rel=1e-15)


def test_scripted_by_themselves() -> None:
    assert flambeau.script(lambda x: x * 2)(3.0) == 6.0
    first, second = flambeau.script(lambda x: x + 1), flambeau.script(lambda x: x * 10)  # in one line
    assert [first(1.0), second(1.0), first(2), second(2)] == [2.0, 10.0, 3, 20]
    assert [flambeau.script(TABLE[name])(5) for name in ("down", "up")] == [4, 6]
    assert flambeau.script(lambda x, y=3, *, z=1: x * y + z)(2, z=5) == 11
    assert flambeau.script(lambda x: (lambda y: y * 2)(x) + 1)(4.0) == 9.0
    found = flambeau.script(lambda x: np.sin(x) * 2)(np.arange(3.0))
    np.testing.assert_allclose(found, np.sin(np.arange(3.0)) * 2, rtol=1e-15)


def test_bodies_in_parentheses() -> None:
    within, chosen = flambeau.script(lambda x: (x > 0) and (x < 9)), flambeau.script(lambda x: (x) if (x > 2) else (-x))
    assert [within(x) for x in (5, 10)] == [True, False]
    assert [chosen(x) for x in (1, 3)] == [-1, 3]


def test_several_in_one_line_without_places() -> None:
    codes = "import flambeau\nf, g = lambda x: x + 1, lambda x: x + 2\ntry: flambeau.script(g)\n"
    program = f"{codes}except flambeau.util.errors.FrontendError as error: print(error)\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "several.py"
        path.write_text(program)
        command = [sys.executable, "-X", "no_debug_ranges", str(path)]
        assert "several lambdas stand here" in subprocess.run(command, capture_output=True, text=True).stdout


def test_what_they_capture() -> None:
    def adder(k: int) -> Callable[[int], int]:
        return lambda x: x + k

    adders = [adder(k) for k in (1, 2)]
    assert [flambeau.script(one)(10) for one in adders] == [11, 12]


def test_gradients_and_batches() -> None:
    x = flambeau.tensor([1.0, 2.0])
    assert flambeau.grad(flambeau.script(lambda x: (x * x).sum()))(x).tolist() == [2.0, 4.0]
    assert flambeau.vmap(flambeau.script(lambda x: x * x + 1))(x).tolist() == [2.0, 5.0]


def test_a_module_that_calls_one_is_saved(tmp_path: Any) -> None:
    class Squares(nn.Module):
        def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
            return square(x) + 1

    module = flambeau.script(Squares())
    module.save(str(tmp_path / "m.pt"))
    x = flambeau.tensor([1.0, 3.0])
    assert flambeau.jit.load(str(tmp_path / "m.pt"))(x).tolist() == module(x).tolist() == [2.0, 10.0]


@dataclass
class Basket:
    items: list[int] = field(default_factory=lambda: [1])


def filled(n: int) -> list[int]:
    first, second = Basket(), Basket()
    first.items.append(n)
    return first.items + second.items


def test_the_default_of_a_field() -> None:
    script = flambeau.script(filled)
    assert [script(n) for n in (5, 7)] == [filled(n) for n in (5, 7)] == [[1, 5, 1], [1, 7, 1]]


def test_errors_point_into_the_users_line() -> None:
    with pytest.raises(CompileError, match="has no attribute or method 'missing'") as caught:
        flambeau.script(lambda x: x.missing())(np.ones(3))
    assert caught.value.range.text == "x.missing"
    assert caught.value.range.file_line_col()[0] == __file__


def test_one_without_source() -> None:
    names: dict[str, Any] = {"__name__": __name__}
    exec("f = lambda x: x + 1", names)
    with pytest.raises(FrontendError, match=r"cannot get the source of a lambda .* Give it a name with def"):
        flambeau.script(names["f"])


def test_a_file_that_has_changed() -> None:
    name = "<a changed file>"
    text = "f = lambda x: x + 1\n"
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, name, "exec"), names)
    for other, message in (("\n" + text, "has changed"), ("f = (\n", "was never closed"), (text, "")):
        linecache.cache[name] = len(other), None, other.splitlines(keepends=True), name
        if not message:
            assert flambeau.script(names["f"])(1) == 2
        else:
            with pytest.raises(FrontendError, match=message):
                flambeau.script(names["f"])
    del linecache.cache[name]
