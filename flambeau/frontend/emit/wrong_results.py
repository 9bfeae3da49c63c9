"""Says what to write for a result of another type than was declared, where that can be told.

return n / 2        with `-> int`          →    ". `n / 2` is a float, as in Python: write n // 2"
return xs.sort()    with `-> List[int]`    →    ". `xs.sort()` works in place and gives None: ..."
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.library import mappings, queues
from flambeau.frontend.library.mappings import is_mapping
from flambeau.frontend.library.queues import item_of
from flambeau.frontend.trees.tree_base import Tree
from flambeau.frontend.trees.tree_views import Apply, Select
from flambeau.ir.graph import Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import FLOAT, INT, NONE, NamedType, OptionalType, Type
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.source import SourceRange

_QUOTIENT: Final = instead(
    ". `{text}` is a float, as in Python: write {code}", "n // 2", of="int(n / 2)", given="n: int", shown="{whole}"
)
_IN_PLACE: Final = ". `{call}()` works in place and gives None: return what it changed in a line of its own"
STAYS: Final = (
    "a {kind} stays in the function that makes it: return {copy}(...) of it, and make a {kind} of that outside"
)
_MAY_BE_NONE: Final = ". It may be None: write `assert {name} is not None` before, or say what is to come back then"


def _kind_that_stays(type_: Type) -> str:
    """The name of a class of the library that stays in programs, and of which callers get a copy; else nothing."""
    python = getattr(type_.definition, "python", None) if isinstance(type_, NamedType) else None
    return "" if python is None or not (item_of(python) is not None or is_mapping(python)) else python.__name__


def refuse_objects_of_library(type_: Type, where: SourceRange) -> None:
    """Raise CompileError for a result that is a queue or a defaultdict, or holds one: callers would get another class
    than Python's.

    The methods of such classes may give some.
    """
    kind = next(filter(None, map(_kind_that_stays, type_.walk())), "")
    if kind and where.source.filename not in (queues.__file__, mappings.__file__):
        raise CompileError(STAYS.format(kind=kind, copy="list" if kind == "deque" else "dict"), where)


def about_result(value: Value, tree: Tree, declared: Type) -> str:
    """What goes behind the message that a result, which a tree gives, is of another type than declared."""
    type_, node = value.static_type, value.defining_node
    if isinstance(type_, OptionalType) and is_subtype(type_.element, declared):
        name = node.attribute("name") if node is not None and node.op == "prim::Load" else "it"
        return _MAY_BE_NONE.format(name=name)
    if type_ == FLOAT and declared == INT:
        return _about_quotient(value)
    if type_ == NONE and isinstance(tree, Apply) and isinstance(tree.callee, Select):
        return _IN_PLACE.format(call=tree.callee.range.text)
    return ""


def _about_quotient(value: Value) -> str:
    """What to write in place of a quotient of ints; nothing for any other float."""
    node = value.defining_node
    if node is None or node.op != "aten::div" or node.range is None or any(v.static_type != INT for v in node.operands):
        return ""
    text = node.range.text
    return _QUOTIENT.format(text=text, whole=text.replace("/", "//")) if text.count("/") == 1 else ""
