"""`collections.deque` in programs: a class of `library.queues` for each type of items.

q = deque([start])     →    a `library.queues.deque` whose `Item` is int, made of the list and its limit
q = deque()            →    as long as nobody knows what is put in, an empty list; then the function is emitted again

Queues stay in programs: what a program gives back is a list of the items.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.frontend.emit.builtins.builtin_forms import emit_list
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.library.queues import item_of, queue_class
from flambeau.frontend.trees.tree_views import Apply, ListLiteral, NoneLit
from flambeau.schema.types import ListType, NamedType, Type
from flambeau.util.errors import CompileError

ARGUMENTS: Final = "deque expected at most 2 arguments, got {count}: deque(items, maxlen=n)"
KEYWORD: Final = "deque() has no keyword argument '{name}': it takes iterable and maxlen"


def _emit_deque(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    source, limit = _arguments(tree)
    where, declared = tree.callee.range, _declared(hint)
    if source is None or (isinstance(source, ListLiteral) and not source.items):
        value = e.emit("prim::ListConstruct", (), declared or e.type_variables.list_of(tree, of_class=True))
        if e.type_variables.ids([value.static_type]):
            return SimpleValue(value)
    else:
        value = emit_list(e, Apply(tree.range, tree.callee, (source,), ()), declared).as_value(e, where)
    assert isinstance(value.static_type, ListType)
    is_limited = limit is not None and not isinstance(limit, NoneLit)
    most = e.value(limit) if is_limited else e.constant(-1)
    class_value = e.scope.resolver.sugared(queue_class(value.static_type.element), where)
    flag = e.constant(is_limited)
    result: Sugared = class_value.call(e, where, [Given(value, where), Given(most, tree.range), Given(flag, where)], ())
    return result


def _declared(hint: Type | None) -> ListType | None:
    """The list in a queue of the type that is expected."""
    python = getattr(hint.definition, "python", None) if isinstance(hint, NamedType) else None
    item = None if python is None else item_of(python)
    return None if item is None else ListType(item)


def _arguments(tree: Apply) -> tuple[Any, Any]:
    """The trees of the items and of the limit. Raises CompileError for other arguments."""
    arguments: dict[str, Any] = dict(zip(("iterable", "maxlen"), tree.args, strict=False))
    if len(tree.args) > 2:
        raise CompileError(ARGUMENTS.format(count=len(tree.args)), tree.callee.range)
    for keyword in tree.keywords:
        if keyword.name not in ("iterable", "maxlen") or keyword.name in arguments:
            raise CompileError(KEYWORD.format(name=keyword.name), keyword.range)
        arguments[keyword.name] = keyword.value
    return arguments.get("iterable"), arguments.get("maxlen")


DEQUE: Final = FormValue("deque", _emit_deque)
"""What `collections.deque` is in a program."""
