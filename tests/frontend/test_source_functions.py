"""Finding the text of Python functions, with lines and columns of the user's file."""

# The functions below are only read, never run.
# mypy: ignore-errors

from __future__ import annotations

import functools
import linecache
import sys

import pytest

from flambeau.frontend.source.python_source import NameScope, function_source, innermost_function, parameter_defaults
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.frontend.trees.tree_views import Assign, Return, StringLiteral
from flambeau.util.errors import FrontendError, NotSupportedError


def line_of(fn) -> int:
    return fn.__code__.co_firstlineno


def transparent(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    return wrapper


@transparent
@transparent
@functools.lru_cache(maxsize=None)  # noqa: UP033 - the call form is what is tested
def decorated(
    x,
):
    return x


class Holder:
    @staticmethod
    @transparent
    def static(x):
        return x

    @classmethod
    def of_class(cls, x):
        return x

    class Inner:
        def method(self, größe):
            # a comment
    # one at lower indentation
# and one at none
            text = """first
  second
"""
            return größe + text.missing(größe,
                größe)


def made(text: str, folder, name: str = "f"):
    path = str(folder / "made.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    names = {}
    exec(compile(text, path, "exec"), names)
    return names[name]


def test_decorators_do_not_shift_lines() -> None:
    tree = get_tree(decorated)
    first = line_of(innermost_function(decorated))
    assert tree.name == "decorated"
    assert tree.range.file_line_col() == (__file__, first + 3, 0)
    assert tree.body[0].range.file_line_col() == (__file__, first + 6, 4)


@pytest.mark.parametrize("fn", [Holder.static, Holder.__dict__["static"], Holder.of_class, Holder().of_class])
def test_static_and_class_methods(fn) -> None:
    assert str(get_tree(fn).body[0]) == "(return (variable (ident x)))\n"


def test_nested_class_comments_strings_and_unicode() -> None:
    tree = get_tree(Holder.Inner.method, self_name="Inner")
    text, result = tree.body
    first = line_of(Holder.Inner.method)
    assert isinstance(text, Assign)
    assert isinstance(text.value, StringLiteral)
    assert text.value.value == "first\n  second\n"
    assert text.range.file_line_col() == (__file__, first + 4, 12)
    assert isinstance(result, Return)
    call = result.value.right
    assert call.callee.range.text == "text.missing"
    assert call.callee.range.file_line_col() == (__file__, first + 7, 27)
    assert call.range.text.split("\n")[-1].strip() == "größe"
    assert "                           ~~~~~~~~~~~~ <--- HERE" in call.callee.range.highlight()


def test_tabs(tmp_path) -> None:
    fn = made("class A:\n\tdef f(self):\n\t\tif self:\n\t\t\treturn self.x\n", tmp_path, "A").f
    assert get_tree(fn).body[0].body[0].value.range.file_line_col()[1:] == (4, 10)


def test_windows_line_ends(tmp_path) -> None:
    fn = made("def f(x):\r\n    y = x\r\n    return y\r\n", tmp_path)
    assert get_tree(fn).body[1].range.file_line_col()[1:] == (3, 4)


def test_one_line_function_and_a_function_at_the_end_without_newline(tmp_path) -> None:
    fn = made("if True:\n    def f(x): return x", tmp_path)
    assert str(get_tree(fn).body[0]) == "(return (variable (ident x)))\n"


def test_name_and_self_name() -> None:
    tree = get_tree(Holder.Inner.method, "forward", "Inner")
    assert tree.name == "forward"
    assert str(tree.decl.params[0].annotation) == "(variable (ident Inner))\n"
    assert tree.decl.params[1].annotation is None


def test_function_of_a_notebook_or_prompt() -> None:
    text = "def typed(x):\n    return x.foo\n"
    name = "<cell 1>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        names = {}
        exec(compile(text, name, "exec"), names)
        assert get_tree(names["typed"]).body[0].range.file_line_col() == (name, 2, 4)
    finally:
        del linecache.cache[name]


def test_function_without_source_says_what_to_do() -> None:
    names = {"__name__": __name__}
    exec("\n".join(["def f(x):", "    return x"]), names)
    with pytest.raises(FrontendError, match=r"cannot get the source of function 'f' .*CompilationUnit\(text\)"):
        get_tree(names["f"])


def test_a_lambda_is_a_function_that_returns_its_body() -> None:
    tree = get_tree(lambda x: x)
    assert isinstance(tree.body[0], Return)
    assert tree.range.text.startswith("lambda x: x")


def test_async_function_is_refused() -> None:
    async def f(x):
        return x

    with pytest.raises(NotSupportedError, match="Expected a single top-level function, but got an async") as caught:
        get_tree(f)
    assert caught.value.range.text == "async def"
    assert caught.value.range.file_line_col()[1] == line_of(f)


@pytest.mark.parametrize("value", [3, len, int, functools.partial(decorated, 1)])
def test_what_is_no_function(value) -> None:
    with pytest.raises(FrontendError, match="expected a Python function, a method or a source text, but got"):
        get_tree(value)


def test_a_file_that_changed_since_import(tmp_path) -> None:
    fn = made("def f(x):\n    return x\n", tmp_path)
    (tmp_path / "made.py").write_text("def g(x, y):\n    return x + y\n")
    linecache.cache.pop(str(tmp_path / "made.py"), None)
    with pytest.raises(FrontendError, match="the file has changed since it was imported"):
        get_tree(fn)


def test_source_keeps_the_users_indentation() -> None:
    source = function_source(Holder.Inner.method)
    assert source.text.startswith("        def method(self, größe):\n")
    assert source.first_line == line_of(Holder.Inner.method)


@pytest.mark.parametrize("length", [500])
@pytest.mark.parametrize("form", ["{x}+", "not ", "-", "x if x else "])
def test_deep_expressions(form: str, length: int) -> None:
    limit = sys.getrecursionlimit()
    tree = get_tree("def f(x):\n    return " + form.format(x="x") * length + "x\n")
    assert str(tree).startswith("(def\n")
    assert sum(1 for _ in tree.walk()) > length
    assert sys.getrecursionlimit() == limit


def test_long_function_and_long_elif_chain() -> None:
    assert len(get_tree("def f(x):\n" + "    x = x + 1\n" * 10_000).body) == 10_000
    chain = get_tree("def f(x):\n    if x:\n        pass\n" + "    elif x:\n        pass\n" * 500)
    assert str(chain).count("(pass)") == 501


def test_deep_call_stack_does_not_matter() -> None:
    def below(depth: int):
        return below(depth - 1) if depth else get_tree("def f(x):\n    return " + "-" * 300 + "x\n")

    assert below(200).name == "f"


def test_defaults_are_values() -> None:
    def f(x, y=2, *, k, z="s"):
        return x

    assert parameter_defaults(f) == {"y": 2, "z": "s"}
    assert parameter_defaults(decorated) == {}


GLOBAL = "global"


def test_names_resolve_from_closure_globals_and_builtins() -> None:
    enclosed = "enclosed"

    def f():
        return enclosed, GLOBAL, len, late

    scope = NameScope.of_function(f, {"frame": "outer", "GLOBAL": "hidden"})
    assert scope("enclosed") == "enclosed"
    assert scope("GLOBAL") == "global"
    assert scope("frame") == "outer"
    assert scope("len") is len
    assert "late" not in scope
    with pytest.raises(KeyError, match="nothing"):
        scope("nothing")
    late = "late"
    assert scope("late") == "late"
    enclosed = "changed"
    assert scope("enclosed") == "changed"


def test_names_of_a_frame() -> None:
    local = None
    scope = NameScope.of_frame(sys._getframe())
    assert scope("local") is local
    assert scope("GLOBAL") == "global"
