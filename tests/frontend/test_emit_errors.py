"""What does not compile is refused at the right place, with the text that callers look for."""

from __future__ import annotations

import enum
import math
import sys
import typing
from typing import Any

import pytest

from flambeau import ops as _ops
from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.scopes.name_resolution import Names
from flambeau.util.errors import CompileError
from tests.frontend.refusals import CASES
from tests.frontend.support import compiled

assert _ops is not None


class Operator:
    """A Python value that stands for an operator."""

    def __init__(self, name: str) -> None:
        self.operator_name = name


class Form:
    """A Python value that stands for a function of the language itself."""

    def __init__(self, name: str) -> None:
        self.language_form = name


class Color(enum.Enum):
    RED = 1


class Point(typing.NamedTuple):
    x: int
    y: int


VALUES: dict[str, Any] = {
    "math": math,
    "annotate": Form("annotate"),
    "unwrap": Form("unwrap_optional"),
    "NAMES": ("a",),
    "neg": Operator("aten::neg"),
    "strange": Operator("aten::xyzzyxyzzy"),
    "nothing": Operator("aten::nothing"),
    "sum_": Operator("aten::sum"),
    "BAD": [1],
    "BIG": 1 << 70,
    "Color": Color,
    "Point": Point,
    **{name: getattr(typing, name) for name in ("List", "Dict", "Tuple", "Optional", "Union", "Any", "Set")},
}


@pytest.mark.parametrize(
    ("source", "line", "underlined", "fragment"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_refusal(source: str, line: int, underlined: str, fragment: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_source(source, Names(VALUES))
    error = caught.value
    assert error.range is not None
    assert (error.range.file_line_col()[1], error.range.text) == (line, underlined)
    assert fragment in error.message
    assert "<--- HERE" in str(error)


def message(text: str, **values: object) -> str:
    with pytest.raises(CompileError) as caught:
        compile_source(text, Names({**VALUES, **values}))
    return str(caught.value)


def test_c22_a_call_that_fits_no_overload_shows_the_closest_with_its_reason() -> None:
    assert message("def f(x):\n    return relu(x, x)\n", relu=Operator("aten::relu")) == (
        "Arguments for call are not valid. The variants are:\n"
        "  aten::relu(Tensor self) -> Tensor: Expected at most 1 arguments but found 2 positional arguments.\n"
        "The original call is:\n"
        '  File "<string>", line 2\n'
        "def f(x):\n    return relu(x, x)\n           ~~~~ <--- HERE\n"
    )


CAUSES = [
    ("x: Optional[int]", "return x + 1",
     "x may be None (it is Optional[int]), which '+' does not take. Test it first: `if x is not None`."),
    ("x: Optional[int]", "return 1 - x",
     "x may be None (it is Optional[int]), which '-' does not take. Test it first: `if x is not None`."),
    ("x: Optional[int]", "return -x",
     "x may be None (it is Optional[int]), which '-' does not take. Test it first: `if x is not None`."),
    ("x: Optional[Tensor]", "return x.sum()",
     "'Optional[Tensor]' object has no attribute or method 'sum'. It may be None: test it first, `if x is not None`."),
    ("x: Optional[List[int]]", "return x[0]",
     "'Optional[List[int]]' object is not subscriptable. It may be None: test it first, `if x is not None`."),
    ("x: Tensor", "return x.max(axis=0)",
     "max() has no parameter 'axis': it is called 'dim', and gives values and indices; amax(dim=...) gives the values "
     "alone."),
    ("x", "x.append(3)", "'Tensor (inferred)' object has no attribute or method 'append'. What has no annotation is a "
     "Tensor: say what it is, as x: list[float]."),
    ("x", "return x.upper()", "'Tensor (inferred)' object has no attribute or method 'upper'. What has no annotation "
     "is a Tensor: say what it is, as x: str."),
    ("x", "return x.copy()", "copy() has no meaning for Tensor. Write x.clone()."),
    ("x: Tensor", "return x.copy()", "copy() has no meaning for Tensor. Write x.clone()."),
    ("x: Tensor", "return x.mean(axis=0)", "mean() has no parameter 'axis': it is called 'dim'."),
    ("x: Tensor", "return x.sum(dim=0, keepdims=True)", "sum() has no parameter 'keepdims': it is called 'keepdim'."),
    ("x: Tensor", "return x.sum(foo=1)", "sum() has no parameter 'foo'."),
    ("x: Dict[str, float], y: Tensor", "x['a'] = y[0]", "a Dict[str, float] cannot hold a Tensor: write float(...)."),
    ("x: Dict[str, float]", "x[1] = 2.0", "the keys of a Dict[str, float] are str, not int."),
    ("x: Dict[str, int]", "return x[1]", "the keys of a Dict[str, int] are str, not int."),
    ("x: List[int]", "return x['a']", "a List[int] is indexed by ints and slices, not by str."),
    ("x: List[int]", "x[0] = 1.5", "a List[int] cannot hold a float: write int(...)."),
    ("x: List[int]", "x.append(1.5)", "a List[int] cannot hold a float: write int(...)."),
    ("x: List[str]", "x.append(1)", "a List[str] cannot hold an int: write str(...)."),
    ("x: Dict[str, float]", "x['a'] = 1", "a Dict[str, float] cannot hold an int: write float(...)."),
    ("x: Dict[str, float], k: int", "x['a'] = k", "a Dict[str, float] cannot hold an int: write float(...)."),
    ("x: List[float]", "x.append(1)", "a List[float] cannot hold an int: write 1.0."),
    ("x: int", "return 'a' + x", "'+' has no meaning for str and int: write str(x)."),
    ("x: List[float]", "return x / 2", "'/' has no meaning for List[float] and int."),
    ("x: str", "return x < 1", "'<' has no meaning for str and int."),
    ("x: List[int]", "x[0] = 10**9 + 7",
     "a List[int] cannot hold a float: write int(...). `10**9` in line 2 is a float, as int ** int is: write "
     "int(10**9)."),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "body", "first"), CAUSES)
def test_c22_the_cause_comes_first_and_the_message_is_short(parameters: str, body: str, first: str) -> None:
    text = message(f"def f({parameters}):\n    {body}\n")
    assert text.splitlines()[0].rstrip(":") == first.rstrip(":")
    assert len(text.splitlines()) < 12


@pytest.mark.parametrize(
    "body",
    ["m = 10**9 + 7\n    return x % m", "m = 10**9 + 7\n    for i in range(m):\n        x += i\n    return x",
     "m = 10**9\n    if x > 3:\n        m = m + 7\n    x = m\n    return x"],
)  # fmt: skip
def test_c22_a_power_of_ints_is_blamed_where_it_stands(body: str) -> None:
    text = message(f"def f(x: int) -> int:\n    {body}\n")
    assert "`10**9` in line 2 is a float, as int ** int is: write int(10**9)" in text
    compile_source(f"def f(x: int) -> int:\n    {body.replace('10**9', 'int(10**9)')}\n", Names(VALUES))


def test_use_of_a_name_of_one_arm_shows_both_places() -> None:
    with pytest.raises(CompileError) as caught:
        compile_source("def f(x: int):\n    if x > 1:\n        y = 1\n    return y\n", Names())
    assert str(caught.value) == (
        "y is not defined in the false branch. Give it a value there, or before the `if`:\n"
        '  File "<string>", line 2\n'
        "def f(x: int):\n    if x > 1:\n    ~~~~~~~~~\n        y = 1\n        ~~~~~ <--- HERE\n    return y\n"
        "and was used here:\n"
        '  File "<string>", line 4\n'
        "    if x > 1:\n        y = 1\n    return y\n           ~ <--- HERE\n"
    )


def test_error_in_a_called_function_shows_the_way_there() -> None:
    with pytest.raises(CompileError) as caught:
        compile_source("def f(x: int):\n    return g(x)\n\ndef g(x: int):\n    return x.foo\n", Names())
    text = str(caught.value)
    assert "'g' is being compiled since it was called from 'f'\n" in text
    assert text.index("x.foo") < text.index("'g' is being compiled")
    assert text.count("is being compiled since") == 1
    assert "\n    return g(x)\n           ~~~ <--- HERE" in text  # the call with its arguments


def wrong_helper(x: int) -> int:
    return x.foo  # type: ignore[attr-defined, no-any-return]


def calls_wrong_helper(x: int) -> int:
    return wrong_helper(x)


def recursive(x: int) -> int:
    return recursive(x - 1)


def test_errors_in_python_functions_name_the_users_file() -> None:
    with pytest.raises(CompileError) as caught:
        compiled(calls_wrong_helper)
    first_line = wrong_helper.__code__.co_firstlineno
    assert caught.value.range is not None
    assert caught.value.range.file_line_col() == (__file__, first_line + 1, 11)
    assert "'wrong_helper' is being compiled since it was called from 'calls_wrong_helper'" in str(caught.value)


def test_recursion_is_refused() -> None:
    with pytest.raises(
        CompileError, match=r"function 'recursive' is called recursively. Recursive calls are not supported"
    ):
        compiled(recursive)


def test_lists_of_mixed_types_are_unions_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"List consists of heterogeneous types, .* containing Union\[int, str\]"):
        [function] = compile_source("def f(x: int):\n    return [x, 'a']\n", Names())
    assert str(function.schema) == "f(int x) -> Union(int, str)[]"


def test_dicts_of_mixed_types_are_unions_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"Dict consists of heterogeneous types, .* containing Union\[int, str\]"):
        [function] = compile_source("def f(x: int):\n    return {'a': x, 'b': 'c'}\n", Names())
    assert str(function.schema) == "f(int x) -> Dict(str, Union(int, str))"


def test_long_sums_need_no_recursion() -> None:
    [function] = compile_source(f"def f(x: int):\n    return {'+'.join(['x'] * 2000)}\n", Names())
    assert len(function.graph.find_all("aten::add")) == 1999


DEEP = {
    "method calls": "def f(x):\n    return x" + ".relu()" * 500 + "\n",
    "signs": "def f(x: int):\n    return " + "-" * 400 + "x\n",
    "elif": "def f(x: int):\n    if x == 0:\n        y = 0\n"
    + "".join(f"    elif x == {i}:\n        y = {i}\n" for i in range(1, 300))
    + "    else:\n        y = -1\n    return y\n",
    "parentheses": "def f(x: int):\n    return " + "-(1 + " * 90 + "x" + ")" * 90 + "\n",
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_deep_programs_compile(source: str) -> None:
    limit = sys.getrecursionlimit()
    [function] = compile_source(source, Names())
    assert len(list(function.graph.all_nodes())) > 90
    assert sys.getrecursionlimit() == limit


def test_a_program_nested_too_deeply_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flambeau.util.depth.FRAMES", 0)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        with pytest.raises(CompileError, match=r"nested too deeply to compile. Give names to parts") as caught:
            compile_source(DEEP["method calls"], Names())
    finally:
        sys.setrecursionlimit(limit)
    assert caught.value.range is not None
    assert caught.value.range.text == "f"
