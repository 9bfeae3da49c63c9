"""`"{0} {name:>5}".format(...)`: a template with fields is filled piece by piece; one with `{}` alone is TorchScript's.

>>> [(literal, field) for literal, field, _, _ in pieces("{0}: {x:.2f}")]
[('', '0'), (': ', 'x')]
"""

from __future__ import annotations

from string import Formatter

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.operator_arguments import printed
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import Apply, Expr, Formatted, Select, Starred, StringLiteral
from flambeau.ir.graph import Value
from flambeau.schema.types import STRING
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

Piece = tuple[str, str | None, str | None, str | None]


def pieces(template: str) -> list[Piece]:
    """Text, field, format and conversion of each piece. Raises ValueError for a template that is none."""
    return list(Formatter().parse(template))


def has_fields(tree: Apply) -> bool:
    """Whether a call is `"...".format(...)` with more than plain `{}` in the template."""
    callee = tree.callee
    if not isinstance(callee, Select) or callee.name != "format" or not isinstance(callee.value, StringLiteral):
        return False
    if any(isinstance(arg, Starred) for arg in tree.args):
        return False
    try:
        parts = pieces(callee.value.value)
    except ValueError:
        return False
    return bool(tree.keywords) or any(f is not None and (f or spec or conv) for _, f, spec, conv in parts)


def emit_fields(e: Emitter, tree: Apply) -> Sugared:
    """The filled template. Raises CompileError for a field that no argument fills."""
    assert isinstance(tree.callee, Select)
    literal = tree.callee.value
    assert isinstance(literal, StringLiteral)
    where, following = tree.range, 0
    result: Value | None = None
    for text, field, spec, conversion in pieces(literal.value):
        parts = [e.constant(text, STRING)] if text else []
        if field is not None:
            argument = _argument(tree, field or str(following), literal.range)
            following += not field
            parts.append(_text(e, argument, spec or "", conversion or "", where))
        for part in parts:
            result = part if result is None else call_operator(e, where, "aten::add", [result, part])
    return SimpleValue(e.constant("", STRING) if result is None else result)


def _argument(tree: Apply, field: str, where: SourceRange) -> Expr:
    if field.isdigit() and int(field) < len(tree.args):
        return tree.args[int(field)]
    for keyword in tree.keywords:
        if keyword.name == field:
            return keyword.value
    raise CompileError(f"the format string asks for '{field}', which is no argument", where)


def _text(e: Emitter, argument: Expr, spec: str, conversion: str, where: SourceRange) -> Value:
    if "{" in spec:
        raise CompileError("a format inside a format is understood in f-strings alone", where)
    if not spec and not conversion:
        return call_operator(e, where, "aten::str", [printed(e, where, e.value(argument), formatted=True)])
    literal = StringLiteral(where, spec) if spec else None
    return e.value(Formatted(where, argument, conversion, literal))
