"""Trees themselves: layout, ranges, and what only source texts have."""

# ruff: noqa: RUF001

from __future__ import annotations

import dataclasses
import inspect
import re

import pytest

from flambeau.frontend.trees import tree_views
from flambeau.frontend.trees.function_conversion import get_tree, parse_annotation, parse_module, parse_source
from flambeau.frontend.trees.tree_views import (
    And,
    Apply,
    Assign,
    ClassDef,
    Compare,
    Def,
    Expr,
    ExprStmt,
    Return,
    StringLiteral,
    Tree,
)
from flambeau.util.errors import FrontendError


def expression(text: str) -> Expr:
    statement = get_tree(f"def f(x):\n    {text}\n").body[0]
    assert isinstance(statement, (ExprStmt, Return))
    return statement.value


def flat(tree: Tree) -> str:
    return " ".join(str(tree).split())


# Closing brackets and quotes are left out of ranges, as the reference does.
RANGES = [
    ("h(x, y)", "h(x, y"),
    ("h()", "h"),
    ("h(a=3)", "h(a=3"),
    ("a.b.c", "a.b.c"),
    ("a[1]", "a[1]"),
    ("a['dne']", "a['dne'"),
    ("[1, 2]", "[1, 2"),
    ("(1, 2)", "(1, 2"),
    ("{1: 2}", "{1: 2"),
    ("{}", "{"),
    ("'abc'", "'abc"),
    ("-x", "-x"),
    ("(a + b) * c", "a + b) * c"),
    ("x if y else z", "x if y else z"),
    ("a < b < c", "a < b < c"),
    ("a not in b", "a not in b"),
    ("[q for q in z]", "[q for q in z"),
    ("torch.jit._fork(x)", "torch.jit._fork(x"),
    ("xé.größe(α)", "xé.größe(α"),
]


@pytest.mark.parametrize(("text", "marked"), RANGES)
def test_range_of_an_expression(text: str, marked: str) -> None:
    assert expression(text).range.text == marked


@pytest.mark.parametrize("text", [row[0] for row in RANGES if row[0].isascii()])
def test_ranges_are_those_of_the_reference(text: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    import ast

    context = torch._sources.SourceContext(text, "f", 1, 0)
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.Expr)
    theirs = torch.jit.frontend.build_expr(context, node.value).range()
    own = expression(text).range.text
    if text == "a['dne']":
        assert own == "a['dne'"  # what its users look for; the reference adds the bracket after short strings only
    else:
        assert own == text[theirs.start : theirs.end]


def test_trees_are_immutable_and_compare_by_identity() -> None:
    one, other = get_tree("def f(x): pass"), get_tree("def f(x): pass")
    assert one != other
    assert len({one, other}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.body = ()  # type: ignore[misc]
    assert repr(one) == str(one)


def test_children_and_walk_follow_the_printed_order() -> None:
    tree = expression("f(x, k=y)")
    assert [flat(child) for child in tree.children] == [
        "(variable (ident f))",
        "(variable (ident x))",
        "(attribute (ident k) (variable (ident y)))",
    ]
    assert [type(part).__name__ for part in tree.walk()] == [
        "Apply", "Var", "Ident", "Var", "Ident", "Attribute", "Ident", "Var", "Ident",
    ]  # fmt: skip


def test_a_chained_comparison_shares_its_middle() -> None:
    tree = expression("a < g(b) < c")
    assert isinstance(tree, And)
    assert isinstance(tree.left, Compare)
    assert isinstance(tree.right, Compare)
    assert tree.left.right is tree.right.left


def test_f_strings() -> None:
    assert str(expression("f'a {x} b {y}'")).split() == [
        "(apply",
        "(.",
        "(string_literal",
        "a",
        "{}",
        "b",
        "{})",
        "(ident",
        "format))",
        "(list",
        "(variable",
        "(ident",
        "x))",
        "(variable",
        "(ident",
        "y)))",
        "(list))",
    ]
    braces = expression("f'{{}} {x} {{y}}'")
    assert isinstance(braces, Apply)
    # Text with braces in it would be filled by format, so it is an argument itself.
    assert isinstance(braces.args[0], StringLiteral)
    assert flat(expression("f'a {x} b {y}'")) == (
        "(apply (. (string_literal a {} b {}) (ident format)) (list (variable (ident x)) (variable (ident y))) (list))"
    )
    braces = expression("f'{{}} {x} {{y}}'")
    assert isinstance(braces, Apply)
    # Text with braces in it would be filled by format, so it is an argument itself.
    assert isinstance(braces.args[0], StringLiteral)
    assert str(braces.callee.children[0]) == "(string_literal {}{}{})\n"


def test_texts_may_be_indented_and_hold_several_functions() -> None:
    trees = parse_source(
        "\n  # größe\n    # α\n    def f(x,):\n        return g(x)\n\n    def g(y=2): # no\n        return y\n"
    )
    assert [tree.name for tree in trees] == ["f", "g"]
    assert [tree.range.file_line_col()[1:] for tree in trees] == [(4, 4), (7, 4)]
    assert str(trees[1].decl.params[0].default) == "(const 2)\n"
    assert parse_source("") == []


def test_texts_may_nest_functions() -> None:
    inner = get_tree("def f(x):\n    def g(y):\n        return y\n    return g\n").body[0]
    assert isinstance(inner, Def)
    assert inner.name == "g"


def test_classes_of_texts() -> None:
    text = (
        "class M(Module):\n    __parameters__ = ['w']\n    w: Tensor\n"
        "    def forward(self: __torch__.M) -> int:\n        return 1\n"
    )
    (tree,) = parse_module(text)
    assert isinstance(tree, ClassDef)
    assert tree.name == "M"
    assert str(tree.superclass) == "(variable (ident Module))\n"
    field = tree.body[1]
    assert isinstance(field, Assign)
    assert field.value is None
    assert str(field.annotation) == "(variable (ident Tensor))\n"
    assert isinstance(tree.body[2], Def)


def test_quoted_annotation() -> None:
    where = get_tree("def f(x,\n      y: 'Dict[str, int]'): pass").decl.params[1].annotation
    assert isinstance(where, StringLiteral)
    tree = parse_annotation(where.value, where)
    assert flat(tree) == ("(subscript (variable (ident Dict)) (list (variable (ident str)) (variable (ident int))))")
    assert tree.range.file_line_col() == ("<string>", 2, 10)


COMMENTED = [
    ("def f(x, y):\n    # type: (int, List[str]) -> bool\n    pass", ["int", "List[str]"], "bool"),
    ("def f(x, y):  # type: (int, str) -> bool\n    pass", ["int", "str"], "bool"),
    ("def f(x, # type: int\n      y): # type: (...) -> bool\n    pass", None, None),
    (
        "def f(x,  # type: int\n      y,  # type: str\n      ):\n    # type: (...) -> bool\n    pass",
        ["int", "str"],
        "bool",
    ),
    ("def f(x, y):\n    # type: ignore\n    # type: (int, str) -> bool  # remark\n    pass", ["int", "str"], "bool"),
    ("def f(x, y):  # type: ignore\n    pass", ["", ""], ""),
    ("def f(x, y):\n    pass\n    # type: (int) -> bool\n    return", ["", ""], ""),
    ("def f(x: int, y: int) -> int:\n    # typed: no\n    pass", ["int", "int"], "int"),
    ("def größe(ß, y):\n    # type: (größe, str) -> bool\n    pass", ["größe", "str"], "bool"),
]


@pytest.mark.parametrize(("text", "params", "returns"), COMMENTED)
def test_type_comments(text: str, params: list[str] | None, returns: str | None) -> None:
    if params is None:
        with pytest.raises(FrontendError, match=r"Number of type annotations \(1\) did not match .* parameters \(2\)"):
            get_tree(text)
        return
    for indentation in ("", "    "):
        decl = get_tree("\n".join(indentation + line for line in text.split("\n"))).decl
        found = [_written(param.annotation) for param in decl.params]
        assert found == [written.rstrip("]") + "]" * written.count("]") for written in params]
        assert _written(decl.returns) == returns


def _written(tree: Expr | None) -> str:
    return "" if tree is None else tree.range.text


def test_type_comment_of_a_method_may_leave_self_out() -> None:
    text = "def f(self, x):\n    # type: (int) -> bool\n    pass"
    (tree,) = parse_source(text, self_name="M")
    assert [_written(param.annotation) for param in tree.decl.params] == ["self", "int"]
    with pytest.raises(FrontendError, match=r"Number of type annotations \(1\)"):
        parse_source(text)


WRONG_COMMENTS = [
    ("# type : (int) -> int", "annotation prefix in line 2"),
    ("#  type: (int) -> int", "annotation prefix in line 2"),
    ("# type: (int, int) -> int", "Number of type annotations (2) did not match the number of function parameters (1)"),
    ("# type: (int) ->", "expected a type comment like"),
    ("# type: int", "expected a type comment like"),
    ("# type: (f()) -> int", "Type annotation should not contain calls"),
    ("# type: (int) -> int\n    # type: (int) -> int", "Return type line"),
]


@pytest.mark.parametrize(("comment", "message"), WRONG_COMMENTS)
def test_wrong_type_comment(comment: str, message: str) -> None:
    with pytest.raises(FrontendError) as caught:
        get_tree(f"def f(x):\n    {comment}\n    pass\n")
    assert message in caught.value.message
    assert caught.value.range is not None
    marked = "def f(x):" if message.startswith("Number") else comment.split("\n    ")[-1]
    assert caught.value.range.text == marked


def test_comments_by_argument_need_a_result() -> None:
    with pytest.raises(FrontendError, match="Return type line '# type:") as caught:
        get_tree("def f(x,  # type: int\n      ):\n    pass\n")
    assert caught.value.range is not None
    assert caught.value.range.text == "# type: int"
    with pytest.raises(FrontendError, match="expected a type after '# type:'"):
        get_tree("def f(x,  # type: int int\n      ):\n    # type: (...) -> int\n    pass\n")
    with pytest.raises(FrontendError, match="Return type line"):
        get_tree("def f(x,  # type: int\n      ):\n    # type: (int) -> int\n    pass\n")


EXAMPLE = re.compile(r"Example: `(.+?)` → `(.+)`")
"""How the docstring of a tree's class says what is read as it, and how that prints."""


@pytest.mark.parametrize("name", tree_views.__all__)
def test_examples_in_docstrings(name: str) -> None:
    kind = getattr(tree_views, name)
    doc = inspect.getdoc(kind)
    assert doc is not None
    example = EXAMPLE.search(" ".join(doc.split()))
    if example is None:
        assert ">>>" in doc, f"{name} has no example"
        return
    source, printed = example.groups()
    is_whole = source.startswith(("def ", "class "))
    parsed: Tree = parse_module(source + "\n")[0] if is_whole else get_tree(f"def f(x, y, z):\n    {source}\n").body[-1]
    assert printed in [flat(part) for part in parsed.walk() if type(part) is kind]
