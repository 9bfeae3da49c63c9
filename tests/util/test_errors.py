"""Texts and kinds of the exceptions."""

from __future__ import annotations

import pickle

import pytest

import flambeau
from flambeau.util import errors
from flambeau.util.errors import traceback_text
from flambeau.util.source import Source

SOURCE = Source("def f(x):\n    return g(x)\n", "m.py")
WHERE = SOURCE.range(21, 25)
CALL = '  File "m.py", line 2\ndef f(x):\n    return g(x)\n           ~~~~ <--- HERE\n'


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (errors.CompileError, RuntimeError),
        (errors.FrontendError, errors.CompileError),
        (errors.NotSupportedError, errors.FrontendError),
        (errors.UnsupportedNodeError, errors.NotSupportedError),
        (errors.SchemaError, RuntimeError),
        (errors.ParseError, RuntimeError),
        (errors.VerifyError, RuntimeError),
        (errors.ExecutionError, RuntimeError),
        (errors.InternalError, RuntimeError),
        (errors.GuardError, errors.ScriptError),
        (errors.ScriptError, Exception),
        (errors.TracingCheckError, Exception),
        (errors.TracerWarning, UserWarning),
    ],
)
def test_kinds(kind: type[Exception], base: type[Exception]) -> None:
    assert issubclass(kind, base)


def test_what_a_program_raises_is_no_runtime_error() -> None:
    assert not issubclass(errors.ScriptError, RuntimeError)
    assert not issubclass(errors.TracingCheckError, RuntimeError)


def test_compile_error_shows_message_and_place() -> None:
    assert str(errors.CompileError("wrong", WHERE)) == "wrong:\n" + CALL
    assert str(errors.CompileError("wrong")) == "wrong"


def test_call_chain_follows_and_each_entry_appears_once() -> None:
    error = errors.CompileError("wrong", WHERE)
    assert error.with_caller("g", "f", WHERE) is error
    error.with_caller("g", "f", WHERE).with_caller("f", "M.forward", WHERE)
    assert str(error) == (
        f"wrong:\n{CALL}'g' is being compiled since it was called from 'f'\n{CALL}"
        f"'f' is being compiled since it was called from 'M.forward'\n{CALL}"
    )


def test_call_chain_without_a_place_starts_on_its_own_line() -> None:
    error = errors.CompileError("wrong").with_caller("g", "f", WHERE)
    assert str(error).startswith("wrong\n'g' is being compiled")


def test_compile_error_survives_pickling() -> None:
    error = errors.NotSupportedError("wrong", WHERE).with_caller("g", "f", WHERE)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.NotSupportedError
    assert str(again) == str(error)


def test_refusal_of_a_construct() -> None:
    error = errors.UnsupportedNodeError.of("Lambda", WHERE, "use def")
    assert error.message == "Lambda aren't supported; use def"
    assert errors.UnsupportedNodeError.of("Lambda").message == "Lambda aren't supported"


def test_parse_error_shows_its_place() -> None:
    assert str(errors.ParseError("expected ]", WHERE)) == "expected ]:\n" + CALL
    assert str(errors.ParseError("expected ]")) == "expected ]"


def test_failures_at_run_time_show_the_scripts_own_traceback() -> None:
    frame = '  File "m.py", line 2, in f\ndef f(x):\n    return g(x)\n           ~~~~ <--- HERE\n'
    head = (
        "The following operation failed in the TorchScript interpreter.\n"
        "Traceback of TorchScript (most recent call last):\n"
    )
    assert str(errors.ExecutionError("bad shapes", [("f", WHERE)])) == f"{head}{frame}RuntimeError: bad shapes"
    assert str(errors.ScriptError("builtins.ValueError: no", [("f", WHERE)])) == f"{head}{frame}builtins.ValueError: no"
    assert str(errors.ExecutionError("bad shapes")) == "bad shapes"
    assert str(errors.ScriptError("E", [("f", None)])) == f"{head}  Without source, in f\nE"
    assert str(errors.ScriptError("E", [("f", WHERE), ("g", None)])) == f"{head}{frame}E", "its call shows where"


def test_functions_of_properties_are_called_as_the_property_is() -> None:
    for name in ("__f_getter", "__f_setter"):
        assert ", in f\n" in str(errors.ScriptError("E", [(name, WHERE)]))


def test_internal_error_names_the_stage_and_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(errors.InternalError("pass 'dce'", "oops")))
    assert str(error) == "internal error in pass 'dce': oops"
    assert (error.stage, error.message) == ("pass 'dce'", "oops")


def test_c13_calls_in_a_circle_are_shown_twice_and_counted() -> None:
    @flambeau.script
    def endless(n: int) -> int:
        return endless(n + 1) + 1  # type: ignore[no-any-return]

    with pytest.raises(RuntimeError) as caught:
        endless(1)
    text = str(caught.value)
    assert len(text.splitlines()) < 20
    assert text.count("return endless(n + 1)") == 2
    assert "more times]\n" in text
    assert "maximum recursion depth exceeded" in text


@pytest.mark.parametrize("period", [1, 2, 3, 16])
def test_c13_circles_of_several_functions(period: int) -> None:
    circle = [(f"f{i}", None) for i in range(period)]
    frames = [("start", None), *circle * 1000, *circle[: period // 2], ("end", None)]
    lines = traceback_text("RuntimeError: too deep", frames).splitlines()[2:]
    names = [line.rpartition(" ")[2] for line in lines]
    repeated = "frame" if period == 1 else f"{period} frames"
    assert names[0] == "start"
    assert lines[1 + 2 * period] == f"  [Previous {repeated} repeated 998 more times]"
    assert names[2 + 2 * period : -2] == [name for name, _ in circle[: period // 2]]
    assert names[-2] == "end"


def test_short_repetitions_are_shown_in_full() -> None:
    lines = traceback_text("RuntimeError: no", [("f", None)] * 3).splitlines()
    assert [line.rpartition(" ")[2] for line in lines[2:-1]] == ["f"] * 3
