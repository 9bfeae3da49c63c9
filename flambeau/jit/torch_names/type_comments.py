"""The types in a comment, as the declaration that they stand for.

# type: (int, Tensor) -> Tensor      →      (decl (list (param … int …) (param … Tensor …)) (option … Tensor))
"""

from __future__ import annotations

import ast
from typing import Final

from flambeau.frontend.source.type_comments import MALFORMED
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.frontend.trees.tree_views import Decl, Ident
from flambeau.util.errors import FrontendError
from flambeau.util.record import replace
from flambeau.util.source import Source, SourceRange

PREFIX: Final = "# type:"
NO_TEXT: Final = "parse_type_comment(): incompatible function arguments: expected a comment's text, but got a {kind}"


def parse_type_comment(comment: str) -> Decl:
    """The declaration of a comment `# type: (A, B) -> C`: parameters without names, of these types, and a result.

    Raises FrontendError for a comment of another form, TypeError for what is no text.

    >>> decl = parse_type_comment("# type: (int, Tensor) -> Tensor")
    >>> len(decl.params)
    2
    >>> print(decl.returns, end="")
    (variable (ident Tensor))
    """
    if not isinstance(comment, str):
        raise TypeError(NO_TEXT.format(kind=type(comment).__name__))
    text = comment.strip()
    try:
        types = ast.parse(text.removeprefix(PREFIX).strip(), mode="func_type")
    except SyntaxError:
        types = None
    if types is None or not text.startswith(PREFIX):
        where = SourceRange(Source(comment, "<string>"), 0, len(comment))
        raise FrontendError(MALFORMED.format(comment=comment), where)
    names = ", ".join(f"type_{index}" for index in range(len(types.argtypes)))
    [tree] = parse_source(f"def comment({names}):\n    {text}\n    pass\n")
    params = [replace(p, ident=Ident(p.ident.range, "")) for p in tree.decl.params]
    return replace(tree.decl, params=tuple(params))
