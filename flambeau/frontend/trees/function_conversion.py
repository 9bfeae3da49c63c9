"""Python functions and source texts to tree views.

    def f(x):              (def (ident f) (decl (list (param (ident x) …)) (option))
        return x + 1   →     (list (return (+ (variable (ident x)) (const 1)))))

Two tables, `EXPRESSIONS` and `STATEMENTS`, say how each kind of `ast` node is converted. A rule is a generator: it
yields the nodes it needs and is sent their trees, so that a program of any depth converts without recursion. A kind
that is in no table is refused by name.
"""

from __future__ import annotations

import ast

from flambeau.frontend.source.decorated import without_any
from flambeau.frontend.source.python_source import ParsedText, innermost_function, parse_function, parse_text
from flambeau.frontend.source.type_comments import find_type_comments
from flambeau.frontend.trees.conversion_rules import Context
from flambeau.frontend.trees.conversion_stack import convert_node, run
from flambeau.frontend.trees.definition_conversion import define
from flambeau.frontend.trees.tree_views import ClassDef, Def, Expr
from flambeau.util.errors import FrontendError
from flambeau.util.record import replace
from flambeau.util.source import Source

ONE_FUNCTION = "Expected a single top-level function, but the text has {count}"
NO_SELF = "methods must have a self argument"


def get_tree(fn: object, name: str | None = None, self_name: str | None = None) -> Def:
    """The tree of a Python function, or of the one function in a source text.

    `name` replaces the function's own name. `self_name` makes it a method: its first parameter, if not annotated, gets
    this type name. Raises `FrontendError` or one of its kinds, with the place in the user's file.

    >>> print(get_tree("def f(x):\\n    return x\\n").body[0], end="")
    (return (variable (ident x)))
    """
    if isinstance(fn, str):
        trees = parse_source(fn)
        if len(trees) != 1:
            raise FrontendError(ONE_FUNCTION.format(count=len(trees)))
        return _renamed(trees[0], name)
    text, node = parse_function(innermost_function(fn))
    without_any(innermost_function(fn), node)
    if self_name is not None and not (node.args.posonlyargs or node.args.args):
        raise FrontendError(NO_SELF, text.first(node, "def"))
    if self_name is not None:
        mangle_private_names(node, innermost_function(fn).__qualname__)
    context = Context(text, "", self_name)
    tree = run(context, define(context, node))
    assert isinstance(tree, Def)
    return _renamed(tree, name)


def mangle_private_names(node: ast.FunctionDef, qualified: str) -> None:
    """Let `self.__x` in a method of class C be `self._C__x`, as it is in Python."""
    owner = qualified.split(".")[-2:-1]
    if not owner or owner[0] == "<locals>":
        return
    prefix = "_" + owner[0].lstrip("_")
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr.startswith("__") and not inner.attr.endswith("__"):
            inner.attr = prefix + inner.attr


def parse_source(text: str, filename: str = "<string>", self_name: str | None = None) -> list[Def]:
    """The functions of a source text, in order. Unlike a Python function's, their defaults are in the trees.

    Raises `FrontendError` for a syntax error, for what is refused, and for anything but functions at the top.
    """
    trees: list[Def] = []
    for tree in parse_module(text, filename, self_name):
        if not isinstance(tree, Def):
            raise FrontendError(f"expected a function definition, but found class '{tree.name}'", tree.ident.range)
        trees.append(tree)
    return trees


def parse_module(text: str, filename: str = "<string>", self_name: str | None = None) -> list[Def | ClassDef]:
    """The functions and classes of a source text, in order."""
    parsed = parse_text(Source(text.replace("\r\n", "\n").replace("\r", "\n"), filename))
    return [_top_level(parsed, node, self_name) for node in parsed.body]


def parse_annotation(text: str, where: Expr) -> Expr:
    """The tree of a type written as a string, as in `x: "List[int]"`. Its parts stand within `where`.

    >>> quoted = get_tree("def f(x: 'List[int]'): pass").decl.params[0].annotation
    >>> print(parse_annotation("List[int]", quoted), end="")
    (subscript
      (variable (ident List))
      (list (variable (ident int))))
    """
    # Parsed as a line of its own: the text may hold escapes, so its columns are not those of the user's file.
    _, line, column = where.range.file_line_col()
    source = replace(where.range.source, text=text.strip(), first_line=line, leading_whitespace=column + 1)
    parsed = parse_text(source)
    if len(parsed.body) != 1 or not isinstance(parsed.body[0], ast.Expr):
        raise FrontendError(f"expected a type, but the annotation is {text!r}", where.range)
    tree = convert_node(Context(_put_into_place(parsed, text, where), "", None), parsed.body[0].value)
    assert isinstance(tree, Expr)
    return tree


def _put_into_place(parsed: ParsedText, text: str, where: Expr) -> ParsedText:
    """Have the nodes of a type within a string stand where the user wrote them, unless there are escapes in it."""
    source, start = where.range.source, where.range.start
    written = (source.text or "")[start : start + len(text) + 2]
    if "\n" in text or written not in (f"'{text}'", f'"{text}"'):
        return parsed
    index = source.line_index(start)
    begin = start + 1 + len(text) - len(text.lstrip())
    column = len(source.line(index)[: begin - source.line_starts[index]].encode())
    for node in ast.walk(parsed.body[0]):
        if isinstance(node, ast.expr):
            node.lineno = node.end_lineno = index + 1
            node.col_offset += column
            node.end_col_offset = (node.end_col_offset or 0) + column
    return ParsedText(source, parsed.body, False)


def commented_types(fn: object, is_method: bool) -> tuple[dict[str, Expr], Expr | None]:
    """The types that comments give the parameters of a Python function, by name, and its result.

    Nothing of a function without source. The body may hold anything. Raises `FrontendError` for malformed comments.
    """
    try:
        text, node = parse_function(innermost_function(fn))
    except (FrontendError, OSError, TypeError):
        return {}, None
    comments = find_type_comments(text, node, is_method)
    names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
    context = Context(text, "", None)

    def tree(node: ast.expr) -> Expr:
        expression = convert_node(context, node)
        assert isinstance(expression, Expr)
        return expression

    types = {names[index]: tree(written) for index, written in comments.params.items()}
    return types, None if comments.returns is None else tree(comments.returns)


def _top_level(parsed: ParsedText, node: ast.stmt, self_name: str | None) -> Def | ClassDef:
    context = Context(parsed, "", self_name, is_text=True)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        tree = convert_node(context, node)
        assert isinstance(tree, (Def, ClassDef))
        return tree
    raise FrontendError("Expected a single top-level function or class here", parsed.range(node))


def _renamed(tree: Def, name: str | None) -> Def:
    if name is None or name == tree.name:
        return tree
    ident = type(tree.ident)(tree.ident.range, name)
    return Def(tree.range, ident, tree.decl, tree.body)
