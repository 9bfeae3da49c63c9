"""Where messages point: types within strings, and containers that a program sees outside of itself."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau

NAMES = ["a", "b"]
TABLE = {"a": 1}
SOURCES = {
    "x: 'Foo'": "Foo",
    'x: "List[ Foo]"': "Foo",
    "é: Tensor, x: 'Dict[str, Foo]'": "Foo",
    "x: '  Foo'": "Foo",
}


@pytest.mark.parametrize("parameters", SOURCES)
def test_types_within_strings_are_shown_where_they_stand(parameters: str) -> None:
    line = f"def f({parameters}) -> int:"
    with pytest.raises(flambeau.jit.CompileError) as error:
        flambeau.CompilationUnit(f"{line}\n    return 1\n")
    _, shown, mark, *_ = str(error.value).splitlines()[1:]
    assert (shown, mark) == (line, " " * line.index("Foo") + "~~~ <--- HERE")


def test_a_type_within_a_string_with_escapes_is_shown_alone() -> None:
    with pytest.raises(flambeau.jit.CompileError, match=r"\nFoo\n~~~ <--- HERE"):
        flambeau.CompilationUnit("def f(x: 'F\\x6fo') -> int:\n    return 1\n")


def length(x):  # type: ignore[no-untyped-def]
    return x * len(NAMES)


def item(x):  # type: ignore[no-untyped-def]
    return NAMES[0]


def entry(x):  # type: ignore[no-untyped-def]
    return TABLE["a"]


def loop(x):  # type: ignore[no-untyped-def]
    for _ in NAMES:
        x = x + 1
    return x


def comprehension(x):  # type: ignore[no-untyped-def]
    return [name for name in NAMES]  # noqa: C416


@pytest.mark.parametrize("function", [length, item, entry, loop, comprehension])
def test_containers_outside_of_the_program(function: Any) -> None:
    kind = "dict" if function is entry else "list"
    text = f"python value of type '{kind}' cannot be used as a value. Perhaps it is a closed over global variable"
    with pytest.raises(flambeau.jit.CompileError, match=text):
        flambeau.script(function)
