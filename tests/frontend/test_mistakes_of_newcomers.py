"""Typical mistakes of people who come from NumPy and Python: the message says what to write, the caret where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import CompileError

ARRAY = np.arange(6.0).reshape(2, 3)


def sum_by_dim(x: np.ndarray) -> np.ndarray:
    return x.sum(dim=0)


def length_of_array(x: np.ndarray) -> int:
    return x.length


def appended_to_array(x: np.ndarray) -> np.ndarray:
    x.append(3)
    return x


def called_shape(x: np.ndarray) -> int:
    return x.shape()


def sizes_one_by_one(x: np.ndarray) -> np.ndarray:
    return x + np.ones(2, 3)


def greatest_of_one(n: int) -> int:
    return max(n)


def best_or_none(xs: list[int]) -> int:
    best = None
    for x in xs:
        if best is None or x > best:
            best = x
    return best


def half(n: int) -> int:
    return n / 2


def sorted_in_place(xs: list[int]) -> list[int]:
    return xs.sort()


def changed_tuple(n: int) -> tuple[int, int]:
    t = (n, n)
    t[0] = 4
    return t


def one_branch(n: int) -> int:
    if n > 2:
        y = 1
    return y


def recursive(n: int):
    return abs(n) + 1 if n == 0 else n * recursive(n - 1)


def misspelt_text(n: int) -> str:
    return str(n).zfil(5)


def misspelt_tensor(x: Tensor) -> Tensor:
    return x.relue()


def misspelt_list(xs: list[int]) -> list[int]:
    xs.appendd(1)
    return xs


COMPILED: list[tuple[Callable[..., Any], tuple[Any, ...], str, str]] = [
    (sum_by_dim, (ARRAY,), "keyword 'dim' has no form for arrays in programs. NumPy calls it axis", "x.sum(dim=0)"),
    (length_of_array, (ARRAY,), r"no attribute or method 'length'. Write len\(x\)", "x.length"),
    (appended_to_array, (ARRAY,), r"Arrays keep their sizes: collect numbers in a list, xs.append\(v\)", "x.append(3)"),
    (called_shape, (ARRAY,), "cannot call a value .*: without the parentheses it is the value itself", "x.shape()"),
    (sizes_one_by_one, (ARRAY,), r"takes a dtype here, not a number: sizes are one tuple, np.ones\(\(2, 3\)\)", "3)"),
    (greatest_of_one, (3,), r"'int' object is not iterable: max\(a, b\) compares numbers", "max(n)"),
    (best_or_none, ([1],), "Optional.*It may be None: write `assert best is not None` before", "return best"),
    (half, (3,), "`n / 2` is a float, as in Python: write n // 2", "n / 2"),
    (sorted_in_place, ([1],), r"`xs.sort\(\)` works in place and gives None", "xs.sort()"),
    (changed_tuple, (3,), r"a tuple stays what it is, a list, `\[a, b\]`, does not", "t[0] = 4"),
    (one_branch, (3,), "y is not defined in the false branch. Give it a value there, or before the `if`", "return y"),
    (recursive, (3,), r"declares what it returns: `def recursive\(...\) -> int:`", "recursive(n - 1)"),
    (misspelt_text, (3,), "no attribute or method 'zfil'. Did you mean 'zfill'?", "zfil(5)"),
    (misspelt_tensor, (flambeau.ones(2),), "Did you mean 'relu", "x.relue()"),
    (misspelt_list, ([1],), "Did you mean 'append'", "xs.appendd(1)"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments", "says", "line"), COMPILED)
def test_mistakes_are_refused_with_what_to_write(
    function: Callable[..., Any], arguments: tuple[Any, ...], says: str, line: str
) -> None:
    with pytest.raises(CompileError, match=f"(?s){says}") as caught:
        flambeau.script(function)(*arguments)
    text = str(caught.value).splitlines()
    marked = [text[k - 1] for k, part in enumerate(text) if "<--- HERE" in part]
    assert any(line in part for part in marked), caught.value


def test_the_truth_of_an_array_says_any_all_and_ampersand() -> None:
    def between(x: np.ndarray) -> np.ndarray:
        return x[(x > 0) and (x < 3)]

    with pytest.raises(ValueError, match=r"is ambiguous. Use a.any\(\) or a.all\(\), and & and \| in place of"):
        flambeau.script(between)(ARRAY)
    with pytest.raises(RuntimeError, match=r"write x.any\(\) or x.all\(\)"):
        bool(flambeau.ones(2))
