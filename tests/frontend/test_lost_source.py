"""Functions made where no file holds their lines."""

from __future__ import annotations

import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau.frontend.source.python_source import function_source
from flambeau.util.errors import CompileError, FrontendError

ROOT = Path(__file__).parents[2]


def python(*arguments: str, text: str | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], input=text, capture_output=True, text=True, cwd=ROOT, check=False
    )
    return done.stdout + done.stderr


def test_exec_of_a_variable_and_of_a_literal() -> None:
    source = "x = 1\n\n@flambeau.script\ndef f(n: int) -> int:\n    return n + 1\n"
    scope: dict[str, Any] = {"flambeau": flambeau}
    exec(source, scope)
    assert scope["f"](1) == 2
    exec("@flambeau.script\ndef g(n: int) -> int:\n    return n + 2\n", scope)
    assert scope["g"](1) == 3


def test_another_text_under_the_same_name_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    # As since Python 3.13 under `python -c`: the command's text is found for whatever `exec` made.
    other = "import sys; exec(sys.stdin.read())\n"
    monkeypatch.setitem(linecache.cache, "<string>", (len(other), None, [other], "<string>"))
    scope: dict[str, Any] = {"flambeau": flambeau}
    text = "def f(n: int) -> int:\n    return n + 2\n"
    exec(text, scope)
    assert flambeau.script(scope["f"])(1) == 3
    exec("".join(reversed(["    return n + 3\n", "def g(n: int) -> int:\n"])), scope)
    with pytest.raises(FrontendError, match="cannot get the source of function 'g'"):
        function_source(scope["g"])


def test_errors_name_the_line_in_the_text() -> None:
    source = "\n\ndef f(n: int):\n    return n.splork\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    with pytest.raises(CompileError, match=r'File "<string>", line 4'):
        flambeau.script(scope["f"])


def test_a_text_that_is_not_the_definition_is_not_taken() -> None:
    scope: dict[str, Any] = {}
    exec("".join(["def f(n):\n", "    return n * 3\n"]), scope)
    other = "def f(n):\n    return n * 4\n"
    assert other
    with pytest.raises(FrontendError, match="cannot get the source of function 'f'"):
        function_source(scope["f"])


def test_the_command_line() -> None:
    program = "import flambeau\n@flambeau.script\ndef f(n: int) -> int:\n    return n * 2\nprint('answer', f(21))"
    assert "answer 42" in python("-c", program)


def test_a_prompt_with_history() -> None:
    """What the readline module of an interactive session remembers."""
    pytest.importorskip("readline", reason="prompts keep a history only with readline")
    program = (
        "import readline, flambeau\n"
        "typed = ['import flambeau', 'y = 3', '@flambeau.script', 'def f(n: int) -> int:']\n"
        "typed += ['    m = n + 1', '    return m * 2']\n"
        "for line in typed:\n"
        "    readline.add_history(line)\n"
        "scope = {}\n"
        "for block in (typed[:1], typed[2:]):\n"
        "    exec(compile(chr(10).join(block) + chr(10), '<stdin>', 'exec'), scope)\n"
        "print('answer', scope['f'](2))\n"
    )
    assert "answer 6" in python("-", text=program)
