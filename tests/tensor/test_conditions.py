"""Checks with messages of their own and arithmetic on sizes: what they raise, and that PyTorch answers the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau.tensor import conditions, size_arithmetic


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (flambeau._check, RuntimeError),
        (flambeau._check_index, IndexError),
        (flambeau._check_value, ValueError),
        (flambeau._check_type, TypeError),
        (flambeau._check_not_implemented, NotImplementedError),
    ],
)
def test_each_check_raises_its_class(check: Callable[..., None], error: type[Exception]) -> None:
    called: list[int] = []
    assert check(True, lambda: called.append(1)) is None
    assert called == []
    with pytest.raises(error, match=r"^rows: 3$"):
        check(False, lambda: "rows: 3")
    with pytest.raises(error, match=re.escape(conditions.NO_MESSAGE)):
        check(False)


def test_checks_refuse_what_is_no_condition() -> None:
    with pytest.raises(TypeError, match=re.escape("cond must be a bool, but got <class 'int'>")):
        flambeau._check(1)
    with pytest.raises(TypeError, match=r"use flambeau\._check_tensor_all\(\)"):
        flambeau._check(flambeau.tensor(True))
    with pytest.raises(TypeError, match="message must be a callable, as in lambda"):
        flambeau._check(False, "text")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="layer"):
        flambeau._check_with(KeyError, False, lambda: "layer")


def test_sizes() -> None:
    flambeau._check_is_size(0)
    flambeau._check_is_size(3, max=3)
    with pytest.raises(RuntimeError, match=r"^n: -1$"):
        flambeau._check_is_size(-1, lambda: "n: -1")
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        flambeau._check_is_size(4, max=3)


def test_all_elements() -> None:
    flambeau._check_tensor_all(flambeau.tensor([True, True]))
    flambeau._check_tensor_all(flambeau.tensor([], dtype=flambeau.bool))
    with pytest.raises(RuntimeError, match=r"^some$"):
        flambeau._check_tensor_all(flambeau.tensor([True, False]), lambda: "some")
    with pytest.raises(TypeError, match="cond must be a tensor, but got <class 'bool'>"):
        flambeau._check_tensor_all(True)
    with pytest.raises(TypeError, match=r"cond tensor must have dtype flambeau\.bool, but got flambeau\.int64"):
        flambeau._check_tensor_all(flambeau.tensor([1]))
    with pytest.raises(ValueError, match=r"^none$"):
        flambeau._check_tensor_all_with(ValueError, flambeau.tensor([False]), lambda: "none")


CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *(("sym_int", (x,)) for x in (2.7, -2.7, 3, True, -0.5)),
    *(("sym_float", (x,)) for x in (3, 2.5, True, math.inf)),
    *((name, pair) for name in ("sym_max", "sym_min") for pair in
      ((1, 2), (1, 2.5), (3, 2.5), (2, 2.0), (2.0, 2), (-1, 0.0), (math.inf, 1), (True, 0))),
    *(("sym_not", (x,)) for x in (True, False, 0, 3)),
    ("sym_ite", (True, 1, 2)), ("sym_ite", (False, 1.5, 2.5)),
    ("sym_sqrt", (2,)), ("sym_sqrt", (0.25,)), ("sym_sum", ([1, 2, 3],)), ("sym_sum", ([],)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_size_arithmetic_is_pytorchs(name: str, arguments: tuple[Any, ...]) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    ours, theirs = getattr(flambeau, name)(*arguments), getattr(torch, name)(*arguments)
    assert (ours, type(ours)) == (theirs, type(theirs))


def test_size_arithmetic_refuses() -> None:
    with pytest.raises(TypeError, match="expected numbers, got str and str"):
        flambeau.sym_max("a", "b")
    with pytest.raises(TypeError, match="chooses by a bool, not int"):
        flambeau.sym_ite(1, 2, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="type mismatch: int vs float"):
        flambeau.sym_ite(True, 2, 3.0)
    with pytest.raises(OverflowError):
        flambeau.sym_int(math.inf)
    assert size_arithmetic.sym_sum([1.5, 2]) == 3.5
