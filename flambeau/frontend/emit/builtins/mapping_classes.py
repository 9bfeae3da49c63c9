"""`collections.defaultdict` and `collections.Counter` in programs: classes of `library.mappings` for types of keys.

d = defaultdict(int)    →    as long as nobody knows what the keys are, an empty dict; then the function is emitted
d[word] += 1                 again, and d is a `library.mappings.defaultdict` whose `Key` is str and whose `Item` is int

They stay in programs: what a program gives back is a dict of them.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.frontend.emit.builtins.builtin_forms import emit_list
from flambeau.frontend.emit.values.literal_factories import LiteralFactory, as_literal
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.library.mappings import mapping_class
from flambeau.frontend.trees.tree_views import Apply, Const, Expr, FalseLit, Lambda, ListLiteral, StringLiteral
from flambeau.schema.set_type import SetType
from flambeau.schema.types import BOOL, FLOAT, INT, STRING, DictType, ListType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

_NUMBERS: Final[dict[Any, Type]] = {int: INT, float: FLOAT, bool: BOOL, str: STRING}
_CONTAINERS: Final[dict[Any, type[Type]]] = {list: ListType, set: SetType, dict: DictType}
FACTORIES: Final = (
    "defaultdict takes one of int, float, bool, str, list and set for what is missing in programs, dict where an "
    "annotation says of what, d: Dict[str, Dict[str, int]], or a literal, written out as in `lambda: [0, 0]`: write "
    "d.setdefault(key, value), with a dict, for anything else"
)
COUNTED: Final = (
    "Counter takes what it counts here, a list, a text or something else to go over: for more, c.update(...)"
)


def _emit_defaultdict(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    factory = _factory(e, tree.args[0]) if len(tree.args) == 1 and not tree.keywords else None
    if isinstance(hint, DictType) and _makes(factory, hint.value):
        return _mapping(e, tree.range, "defaultdict", hint, factory)
    if factory in (list, set):
        items = e.type_variables.list_of(tree.args[0], of_class=True)
        item: Type = items if factory is list else SetType(items.element)
    elif isinstance(factory, type) and factory in _NUMBERS:
        item = _NUMBERS[factory]
    elif isinstance(factory, LiteralFactory):
        item = e.value(factory.tree).static_type
    else:
        raise CompileError(FACTORIES, tree.callee.range)
    return _mapping(e, tree.range, "defaultdict", e.type_variables.dict_to(tree, item), factory)


def _makes(factory: Any, declared: Type) -> bool:
    """Whether a factory makes items of the type that is declared."""
    if factory in _CONTAINERS:
        return isinstance(declared, _CONTAINERS[factory])
    return isinstance(factory, type) and _NUMBERS.get(factory) == declared


def _factory(e: Emitter, tree: Expr) -> Any:
    """What makes what is missing: a type by its name, as which `lambda: 0` and its like count, or another literal."""
    body = tree.body if isinstance(tree, Lambda) and not tree.decl.params else None
    if isinstance(body, Const) and not body.value:
        return type(body.value)
    if isinstance(body, StringLiteral) and not body.value:
        return str
    if isinstance(body, FalseLit):
        return bool
    if isinstance(body, ListLiteral) and not body.items:
        return list
    if isinstance(body, Apply) and not body.args and not body.keywords:
        return e.python_value(body.callee)
    literal = None if body is None else as_literal(e, body)
    return e.python_value(tree) if literal is None else LiteralFactory(literal)


def _emit_counter(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    if not tree.args and not tree.keywords:
        return _mapping(e, tree.range, "Counter", e.type_variables.dict_to(tree, INT), int)
    if len(tree.args) != 1 or tree.keywords:
        raise CompileError(COUNTED, tree.callee.range)
    keys = emit_list(e, Apply(tree.range, tree.callee, tree.args, ()), None).as_value(e, tree.range)
    if not isinstance(keys.static_type, ListType):
        raise CompileError(COUNTED, tree.callee.range)
    counter = _mapping(e, tree.range, "Counter", DictType(keys.static_type.element, INT), int)
    counter.attribute(e, tree.range, "update").call(e, tree.range, [Given(keys, tree.range)], ())
    return counter


def _mapping(e: Emitter, where: SourceRange, kind: str, type_: DictType, factory: Any) -> Sugared:
    """An object of the class for such a dict; the dict itself as long as its types are not known."""
    table = e.emit("prim::DictConstruct", (), type_)
    if e.type_variables.ids([type_]):
        return SimpleValue(table)
    class_value = e.scope.resolver.sugared(mapping_class(kind, type_.key, type_.value, factory), where)
    result: Sugared = class_value.call(e, where, [Given(table, where)], ())
    return result


DEFAULTDICT: Final = FormValue("defaultdict", _emit_defaultdict)
"""What `collections.defaultdict` is in a program."""
COUNTER: Final = FormValue("Counter", _emit_counter)
"""What `collections.Counter` is in a program."""
