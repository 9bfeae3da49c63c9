"""What the language does not have is refused with the place and with words that callers look for."""

from __future__ import annotations

import pytest

from flambeau.frontend.trees.function_conversion import get_tree, parse_annotation, parse_module, parse_source
from flambeau.util.errors import FrontendError, NotSupportedError, UnsupportedNodeError
from flambeau.util.source import SourceRange

# one row a refusal: statement in a function's body, message, column in it, underlined text
REFUSED = [
    ("try:\n        pass\n    except* ValueError:\n        pass", "try blocks aren't supported", "try"),
    ("global y\n    y = 3", "global variables aren't supported", "global"),
    ("y: int", "annotated assignments without assigned value aren't supported", "y: int"),
    ("y = b'a'", "Unknown Constant expression type", "b'a'"),
    ("del x[1, 2]", "del statements only support deletion at a single index", "x[1, 2]"),
    ("del x.y", "del statements are only supported for deleting list and dict items and variables", "x.y"),
    ("del (x, y)", "del statements are only supported for deleting list and dict items and variables", "(x, y"),
    ("with x as (y, z): pass", "the target of a with item must be a plain name", "(y, z"),
    ("self.y: int = 3", "annotations on instance attributes must be declared in __init__", "self.y"),
    ("break", "Syntax error: 'break' outside loop", "break"),
    ("continue", "Syntax error: 'continue' outside loop", "continue"),
]


def refusal(text: str) -> FrontendError:
    with pytest.raises(FrontendError) as caught:
        parse_source(text)
    return caught.value


@pytest.mark.parametrize(("statement", "message", "marked"), REFUSED, ids=[row[0].split("\n")[0] for row in REFUSED])
def test_statement(statement: str, message: str, marked: str) -> None:
    error = refusal(f"def f(x):\n    pass\n    {statement}\n")
    assert message in error.message
    assert error.range is not None
    assert error.range.text == marked
    assert error.range.file_line_col()[:2] == ("<string>", 3)
    excerpt = str(error).split("\n")
    underline = next(line for line in excerpt if line.endswith(" <--- HERE"))
    above = excerpt[excerpt.index(underline) - 1]
    assert above[underline.index("~") : underline.rindex("~") + 1] == marked


HEADERS = [
    ("async def f(x): pass", "Expected a single top-level function", "async def f(x): pass"),
    ("x = 1", "Expected a single top-level function", "x = 1"),
    ("class A: pass", "expected a function definition, but found class 'A'", "A"),
]


@pytest.mark.parametrize(("text", "message", "marked"), HEADERS)
def test_header(text: str, message: str, marked: str) -> None:
    error = refusal(f"\n{text}\n")
    assert message in error.message
    assert error.range is not None
    assert error.range.text == marked
    assert error.range.file_line_col()[1] == 2


def test_keyword_only_default_is_a_value_of_a_python_function_and_kept_in_text() -> None:
    def f(x, *, k=3):  # type: ignore[no-untyped-def]
        return x

    assert get_tree(f).decl.params[1].default is None
    assert str(get_tree("def f(x, *, k=3): pass").decl.params[1].default) == "(const 3)\n"


@pytest.mark.parametrize("kind", ["class A: pass", "global x; x = 3", "async def g(): pass"])
def test_definitions_inside_a_python_function(kind: str, tmp_path: object) -> None:
    names = {
        "class A: pass": "class definitions",
        "global x; x = 3": "global variables",
        "async def g(): pass": "async function definitions",
    }
    with pytest.raises(UnsupportedNodeError, match=f"^{names[kind]} aren't supported") as caught:
        get_tree(_made(f"def outer(x):\n    def f():\n        {kind}\n    return f\n", tmp_path)(1))
    assert caught.value.range is not None
    assert caught.value.range.file_line_col()[1:] == (3, 8)
    assert caught.value.range.text == kind.split(" g")[0].split(" A")[0].split(" x")[0]


def _made(text: str, folder: object):  # type: ignore[no-untyped-def]
    path = f"{folder}/made.py"
    with open(path, "w") as file:
        file.write(text)
    names: dict[str, object] = {}
    exec(compile(text, path, "exec"), names)
    return names["outer"]


def test_instance_annotation_is_a_value_error_and_allowed_in_init() -> None:
    with pytest.raises(ValueError, match="annotations on instance attributes must be declared in __init__"):
        parse_source("def f(self):\n    while True:\n        self.x: int = 3\n")
    assert parse_source("def __init__(self):\n    self.x: int = 3\n")


def test_method_without_self() -> None:
    def f():  # type: ignore[no-untyped-def]
        pass

    with pytest.raises(FrontendError, match="methods must have a self argument"):
        get_tree(f, self_name="M")


SYNTAX = [
    ("def f(x):\n    return [x x]\n", "expected ]", 2),
    ("def f(x):\n    return x(1 2)\n", "expected )", 2),
    ("def f(x):\n    x + 1 = x\n", "unexpected expression", 2),
    ("def f(x):\n    a, b += x\n", "augmented assignment can only have one LHS expression", 2),
    ("def f(x):\n    return 'abc\n", "expected a valid token", 2),
    ("def f(x):\n    return '''abc\n", "expected a valid token", 2),
    ("def f(x):\n    return x ? 1\n", "Syntax error", 2),
    ("def f(x):\n", "expected an indented block after function definition on line 1", 1),
    ("    def f(x):\n        return [x\n", "was never closed", 2),
    ("    def f(x):\n        if x:\n        return x\n", "after 'if' statement on line 2", 3),
]


@pytest.mark.parametrize(("text", "message", "line"), SYNTAX)
def test_syntax_error(text: str, message: str, line: int) -> None:
    error = refusal(text)
    assert error.message.startswith("Syntax error")
    assert message in error.message
    assert error.range is not None
    assert error.range.file_line_col()[1] == line


def test_null_byte() -> None:
    assert "null bytes" in refusal("def f(x):\n    return '\0'\n").message


def test_break_in_a_closure_within_a_loop() -> None:
    error = refusal("def f(x):\n    while x:\n        def g(y):\n            break\n")
    assert "Syntax" in error.message
    assert error.range is not None
    assert error.range.file_line_col()[1:] == (4, 12)


def test_text_with_several_functions_is_no_single_tree() -> None:
    with pytest.raises(FrontendError, match="the text has 2"):
        get_tree("def f(): pass\ndef g(): pass\n")


def test_class_of_a_text_has_one_base() -> None:
    with pytest.raises(NotSupportedError, match="at most one base"):
        parse_module("class A(B, C):\n    pass\n")


def test_annotation_text_must_be_a_type() -> None:
    where = get_tree("def f(x: 'a = 1'): pass").decl.params[0].annotation
    assert where is not None
    with pytest.raises(FrontendError, match="expected a type, but the annotation is 'a = 1'"):
        parse_annotation("a = 1", where)
    assert isinstance(where.range, SourceRange)


def test_source_nested_too_deeply_for_python() -> None:
    # Parsers differ in how deep they go; whatever they refuse gets a message, never a RecursionError.
    try:
        tree = get_tree("def f(x):\n    return " + "-" * 50_000 + "x\n")
    except NotSupportedError as error:
        refused = error.message
    else:
        refused = "nested too deeply" if tree.body else ""
    assert "nested too deeply" in refused
