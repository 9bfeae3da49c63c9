"""Nested functions as values of programs that are texts, and futures and objects that Python holds."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import jit
from flambeau.ir.parser import parse_ir

TEXT = """
def f(x: int):
    y = x * 2
    def back(g: int):
        if g > 3:
            return g * x
        for i in range(3):
            g += i
        return g + y
    return x + 1, back

def always_raises(x: int):
    def back(g: int):
        raise RuntimeError("a")
    return x, back

def called(x: int):
    def back(g: int) -> int:
        return g * x
    return back(1) + back(5)
"""


def test_a_nested_function_that_a_text_returns() -> None:
    unit = jit.CompilationUnit(TEXT)
    text = str(unit.f.graph)
    assert "prim::Closure" in text
    assert str(parse_ir(text)) == text
    result, (back, around) = unit.f(3)
    assert (result, around) == (4, (3, 6))
    assert [back(around, g) for g in (5, 1)] == [15, 10]
    assert unit.called(2) == 12


def test_printed_code_shows_it_and_says_why_it_is_not_read_back() -> None:
    unit = jit.CompilationUnit("def f(n: int):\n    def g(x: int):\n        return x + n\n    return g\n")
    code = unit.f.code
    assert "def _1(context: Tuple[int], x: int):\n    _2, = context\n    return torch.add(x, _2)\n" in code
    assert "return (_1, _0)" in code
    with pytest.raises(RuntimeError, match=r"type name 'Function'\. Printed code .* is not read back"):
        jit.CompilationUnit(code)


def test_one_that_raises_is_no_end_of_the_function_around_it() -> None:
    result, (back, around) = jit.CompilationUnit(TEXT).always_raises(7)
    assert result == 7
    with pytest.raises(Exception, match="RuntimeError: a"):
        back(around, 1)


def test_functions_of_files_do_not_hold_them() -> None:
    def f(x: int):
        def back(g: int) -> int:
            return g * x

        return x, back

    with pytest.raises(flambeau.util.errors.CompileError, match="function cannot be used as a value"):
        flambeau.script(f)


def test_break_in_a_nested_function_in_a_loop() -> None:
    text = "def f(x: int):\n    for i in range(3):\n        def back(g: int):\n            break\n    return x\n"
    with pytest.raises(RuntimeError, match="Syntax"):
        jit.CompilationUnit(text)


class Bag:
    def __init__(self, n: int):
        self.n = n

    def __iter__(self):
        return iter([self.n, 1])


def test_a_scripted_object_is_gone_over() -> None:
    assert list(flambeau.script(Bag(3))) == [3, 1]


def test_futures_have_a_place_of_their_own() -> None:
    first, second = flambeau.futures.Future(), jit.fork(lambda: 2)
    both = flambeau.futures.collect_all([first, second])
    assert not both.done()
    first.set_result(1)
    assert flambeau.futures.wait_all([first, second]) == [1, 2]


def outcomes(x: int):
    def triple(k: int) -> int:
        return 3 * k

    a: Any = jit.fork(triple, x)
    b: Any = jit._awaitable(triple, x)
    c = jit._awaitable(triple, x)
    return isinstance(a, jit.Future), isinstance(a, jit._Await), isinstance(b, jit._Await), isinstance(c, jit._Await)


def test_isinstance_of_futures_and_awaitables() -> None:
    assert flambeau.script(outcomes)(2) == (True, False, True, True)


class Unused:
    def __init__(self, n: int):
        self.n = n

    @jit.unused
    def draw(self, canvas: list[Bag | Unused], style: Nowhere) -> int:  # type: ignore[name-defined] # noqa: F821
        return 1


def draws(u: Unused, n: int):
    return u.draw(n, "solid") if n > 3 else u.n


def test_the_signature_of_an_unused_method_may_say_anything() -> None:
    scripted = flambeau.script(draws)
    assert scripted(Unused(5), 1) == 5
    with pytest.raises(Exception, match="annotated to be ignored and cannot be run"):
        scripted(Unused(5), 4)
