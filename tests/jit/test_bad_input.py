"""What is refused says what, where and why; nothing is left half changed; what is only large or strange works."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.jit.arguments import ArgumentError
from flambeau.util.errors import CompileError, ExecutionError, FrontendError, NotSupportedError, ScriptError


def made(source: str, name: str = "f", filename: str = "made.py") -> Callable[..., Any]:
    """A function from text, with lines where inspection finds them."""
    source = textwrap.dedent(source)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"flambeau": flambeau, "Tensor": Tensor, "__name__": "made"}
    exec(compile(source, filename, "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function


def underlined(text: str) -> list[tuple[int, str]]:
    """Of each place in an error's text: its line number, and what stands over the carets of the last line."""
    found, number, previous = [], 0, ""
    for line in text.splitlines():
        if line.strip().startswith('File "'):
            number = int(line.rpartition("line ")[2].partition(",")[0])
        if line.rstrip().endswith("<--- HERE"):
            first, last = line.index("~"), line.rindex("~")
            found.append((number, previous[first : last + 1]))
        previous = line
    return found


REFUSED = [
    ("def f(x):\n    y = yield x\n", NotSupportedError, "Yield aren't supported", 2, "yield x"),
    ("def f(x, **kwargs):\n    return x\n", NotSupportedError, "variable number of arguments", 1, "**kwargs"),
    ("def f(x, *args):\n    return x\n", NotSupportedError, "variable number of arguments", 1, "*args"),
    ("def f(x):\n    return x + nowhere\n", CompileError, "undefined value nowhere", 2, "nowhere"),
    ("def f(n: int):\n    if n > 0:\n        y = 1\n    else:\n        y = 'a'\n    return y\n", CompileError,
     "y is set to type int in the true branch and type str in the false branch", 6, "y"),
    ("def f(n: int):\n    if n > 0:\n        return 1\n    return n / 2\n", CompileError,
     "returned a value of type int but this return statement returns a value of type float", 4, "return n / 2"),
    ("def f(n: int):\n    return f(n - 1) if n else abs(n)\n", CompileError, "'f' is called recursively", 2, "f"),
    ("def f(x):\n    return x.no_such_method()\n", CompileError, "no_such_method", 2, "x.no_such_method"),
    ("def f(größe: int) -> int:\n    return größe * 2 + 日本\n", CompileError, "undefined value 日本", 2, "日本"),
    ("def f(n: int) -> int:\n\tif n > 0:\n\t\treturn n + none\n\treturn 0\n", CompileError, "undefined", 3, "none"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "error", "message", "line", "over_carets"), REFUSED)
def test_refused_with_line_and_caret(source: str, error: type, message: str, line: int, over_carets: str) -> None:
    with pytest.raises(error) as caught:
        flambeau.script(made(source))
    text = str(caught.value)
    assert message in text
    assert 'File "made.py", line ' in text
    assert underlined(text)[-2 if "recursively" in text else -1] == (line, over_carets)


def test_refused_again_in_the_same_words_and_what_was_fixed_compiles() -> None:
    source = "def f(x: Tensor) -> Tensor:\n    return g(x) + missing\n\ndef g(x: Tensor) -> Tensor:\n    return x * 2\n"
    function = made(source)
    texts = []
    for _ in range(2):
        with pytest.raises(CompileError, match="undefined value missing") as caught:
            flambeau.script(function)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    function.__globals__["missing"] = 1
    assert flambeau.script(function)(flambeau.ones(2)).tolist() == [3.0, 3.0]


def test_no_source() -> None:
    namespace: dict[str, Any] = {}
    exec("".join(["def f(x):\n", "    return x\n"]), namespace)  # a text that nobody holds any more
    with pytest.raises(FrontendError, match=r"(?s)cannot get the source of function 'f'.*CompilationUnit\(text\)"):
        flambeau.script(namespace["f"])
    for value in (len, np.add, 3):
        with pytest.raises(
            TypeError, match="script takes a function, a module, or a Python module with functions, not a"
        ):
            flambeau.script(value)  # type: ignore[call-overload]


def test_recursion_through_another_function_shows_the_chain() -> None:
    even = made("""
        def even(n: int):
            return bool(1) if n == 0 else odd(n - 1)
        def odd(n: int):
            return bool(0) if n == 0 else even(n - 1)
        """, "even")  # fmt: skip
    with pytest.raises(CompileError, match="function 'even' is called recursively") as caught:
        flambeau.script(even)
    assert "'odd' is being compiled since it was called from 'even'" in str(caught.value)
    assert underlined(str(caught.value)) == [(5, "even"), (5, "even(n - 1"), (3, "odd(n - 1")]


# -- calls ------------------------------------------------------------------------------------------------------------


@flambeau.script
def scaled(x: Tensor, n: int, s: float = 0.5) -> Tensor:
    x.add_(1)
    return x * n + s


WRONG: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((), {}, r"scaled\(\) is missing value for argument 'x'"),
    (
        (flambeau.ones(2),),
        {},
        r"scaled\(\) is missing value for argument 'n'. Declaration: scaled\(Tensor x, int n, float s=0.5\)",
    ),
    ((flambeau.ones(2), 1, 2.0, 3), {}, r"scaled\(\) expected at most 3 argument\(s\) but received 4 argument\(s\)"),
    (
        (flambeau.ones(2), "a"),
        {},
        r"Expected a value of type 'int' for argument 'n' but instead found type 'str'.\nPosition: 1\nValue: 'a'",
    ),
    ((flambeau.ones(2), 1.5), {}, "Expected a value of type 'int' for argument 'n' but instead found type 'float'"),
    (([1.0], 1), {}, "Expected a value of type 'Tensor' for argument 'x' but instead found type 'List"),
    ((None, 1), {}, "Expected a value of type 'Tensor' for argument 'x' but instead found type 'NoneType'"),
    ((flambeau.ones(2), 1 << 70), {}, "does not fit into 64 bits"),
    ((flambeau.ones(2), 1), {"t": 2}, "Unknown keyword argument 't'"),
    ((flambeau.ones(2), 1), {"n": 2}, "multiple values for argument 'n'"),
]


@pytest.mark.parametrize(("args", "kwargs", "message"), WRONG)
def test_wrong_calls_run_nothing(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        scaled(*args, **kwargs)
    if args and isinstance(args[0], Tensor):
        assert args[0].tolist() == [1.0, 1.0]
    assert scaled(flambeau.ones(2), 2).tolist() == [4.5, 4.5]


def inner(a: Tensor, b: Tensor) -> Tensor:
    c = a * 2.0
    return flambeau.tanh(c + b) * 3.0


def outer(a: Tensor, b: Tensor) -> Tensor:
    a = a - 1.0
    return inner(a, b) + 1.0


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_shape_mismatch_inside_a_fused_kernel(backend: str) -> None:
    function = flambeau.script(outer, backend=backend)  # type: ignore[call-overload]
    a, good, bad = flambeau.ones(3), flambeau.zeros(3), flambeau.ones(4)
    if backend == "native":
        assert "prim::FusionGroup" in str(function.graph_for(a, good))
    want = function(a, good).tolist()
    with pytest.raises(ExecutionError) as caught:
        function(a, bad)
    text = str(caught.value)
    assert text.endswith(
        "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"
    )
    first, second = outer.__code__.co_firstlineno, inner.__code__.co_firstlineno
    assert underlined(text) == [(first + 2, "inner"), (second + 2, "c + b")]
    assert [line.strip() for line in text.splitlines() if "File" in line] == [
        f'File "{__file__}", line {first + 2}, in outer', f'File "{__file__}", line {second + 2}, in inner',
    ]  # fmt: skip
    assert function(a, good).tolist() == want
    assert (a.tolist(), bad.tolist()) == ([1.0] * 3, [1.0] * 4)


def test_a_raise_of_the_program_leaves_it_usable() -> None:
    function = flambeau.script(made("""
        def f(x: Tensor, n: int) -> Tensor:
            x.add_(1)
            if n < 0:
                raise ValueError(f"no {n}")
            return x * n
        """))  # fmt: skip
    x = flambeau.zeros(2)
    for turn in range(3):
        with pytest.raises(ScriptError, match=r"builtins\.ValueError: no -2") as caught:
            function(x, -2)
        assert x.tolist() == [turn + 1.0] * 2
        assert underlined(str(caught.value))[-1][0] == 5
    assert function(x, 2).tolist() == [8.0, 8.0]


# -- large and strange, and fine --------------------------------------------------------------------------------------


def test_ten_thousand_lines() -> None:
    source = "def f(n: int) -> int:\n" + "    n += 3\n" * 9998 + "    return n\n"
    assert flambeau.script(made(source))(1) == 9998 * 3 + 1
    with pytest.raises(CompileError, match="undefined value nowhere") as caught:
        flambeau.script(made(source.replace("    return n", "    return nowhere")))
    assert underlined(str(caught.value)) == [(10_000, "nowhere")]


@pytest.mark.parametrize(
    ("expression", "want"),
    [("x" + " + 1" * 500, 501.0), ("-" * 500 + "x", 1.0), ("x" + ".neg()" * 500, 1.0),
     ("abs(" * 90 + "x" + ")" * 90, 1.0),
     ("x" + " if n > 0 else x" * 300, 1.0), ("flambeau.where(x > 0, " * 90 + "x" + ", x)" * 90, 1.0)],
)  # fmt: skip
def test_deep_expressions(expression: str, want: float) -> None:
    function = made(f"def f(x: Tensor, n: int) -> Tensor:\n    return {expression}\n")
    x = flambeau.ones(2)
    assert function(x, 1).tolist() == [want] * 2
    for backend in ("native", "interpreter", "reference"):
        assert flambeau.script(function, backend=backend)(x, 1).tolist() == [want] * 2  # type: ignore[call-overload]


def test_deeper_than_pythons_own_parser() -> None:
    with pytest.raises(FrontendError, match="nested"):
        flambeau.CompilationUnit("def f(n: int) -> int:\n    return " + "(" * 500 + "n" + ")" * 500 + "\n")
    nested = "".join("    " * depth + f"if n > {depth}:\n" for depth in range(1, 19)) + "    " * 19 + "n += 100\n"
    assert flambeau.script(made(f"def f(n: int) -> int:\n{nested}    return n\n"))(50) == 150


def test_unicode_and_tabs() -> None:
    flambé = made("def flambé(größe: int, π: float) -> float:\n    ñandú = größe * 2\n    return ñandú * π\n", "flambé")
    scripted = flambeau.script(flambé)
    assert scripted(3, 0.5) == 3.0
    assert scripted(größe=3, π=0.25) == 1.5
    assert scripted.name == "flambé"
    assert flambeau.script(made("def f(n: int) -> int:\n\tif n > 0:\n\t\treturn n\n\treturn 0\n"))(2) == 2
    assert flambeau.script(made("def f(s: str) -> str:\n\treturn s + '\\té日\\0'\n"))("x") == "x\té日\0"
