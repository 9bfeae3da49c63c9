"""What programs print is what Python prints, to the streams that `sys` has at the time."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

import flambeau

BACKENDS = ("reference", "interpreter", "native")


class Named:
    def __init__(self, n: int):
        self.n = n

    def __str__(self) -> str:
        return "N" + str(self.n)


def keywords(n: int, s: str):
    print(n, n + 1, sep=", ", end="!\n")
    print("to stderr", n, file=sys.stderr)
    print("flushed", file=sys.stderr, flush=True)
    print("not flushed", flush=n > 5)
    print(n, s, sep=s)
    print(n, end="")
    print(end=s)
    print(sep=None, end=None, file=None)
    print(Named(n), None, True, [1, 2], sep="|")
    print(*[1, 2], *(3, 4), sep="-")
    for i in range(n):
        print(i, end=" ")
    print()


def streams(n: int, s: str):
    written = sys.stdout.write("out\n")
    for _ in range(n):
        written += sys.stderr.write(s)
    sys.stderr.flush()
    return written


def in_conditions(n: int, s: str):
    shown = sys.stdout.write("a") > 0 and sys.stdout.write("b") > 0
    if n > 100 or sys.stdout.write(s) > 0:
        print(shown, end=".")


def printed(fn: Callable[..., Any], *args: Any) -> tuple[Any, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        result = fn(*args)
    return result, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [keywords, streams, in_conditions])
def test_as_in_python(fn, backend):
    assert printed(flambeau.script(fn, backend=backend), 3, "zz") == printed(fn, 3, "zz")


def test_without_a_stream(monkeypatch):
    def program(n: int):
        print(n, file=sys.stderr)
        return n

    scripted = flambeau.script(program)
    monkeypatch.setattr(sys, "stderr", None)
    assert scripted(3) == program(3) == 3


def unknown(n: int):
    print(n, file=sys.stderr, colour=3)


def no_text(n: int):
    print(n, end=n)


def no_bool(n: int):
    print(n, flush=n)


OPENED = io.StringIO()


def other_file(n: int):
    print(n, file=OPENED)


def other_method(n: int):
    return sys.stdout.isatty()


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (unknown, "print doesn't accept any keyword arguments but sep and end.* 'colour' is none of them"),
        (no_text, "sep and end, which are strings.* 'end' is of type int"),
        (no_bool, "flush, which is a bool.* 'flush' is of type int"),
        (other_file, "sys.stdout or sys.stderr: file is a python value of type 'StringIO'. A program writes to"),
        (other_method, "sys.stdout has write and flush here, and no 'isatty'"),
    ],
)
def test_refusals(fn, message):
    with pytest.raises(RuntimeError, match=message):
        flambeau.script(fn)


def test_places_are_shown_where_they_are_asked_for() -> None:
    @flambeau.script
    def f(x: flambeau.Tensor) -> flambeau.Tensor:
        return x + 1

    with flambeau.jit._hide_source_ranges():
        assert " # " not in str(f.graph)
        assert " # " in f.graph.str(print_source_ranges=True)
    assert " # " not in f.graph.str(print_source_ranges=False)
