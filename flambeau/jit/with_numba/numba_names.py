"""What names of Numba's mean in programs that were written for it: `prange`, and its typed lists and dicts.

for i in numba.prange(n)                              →    a loop over `flambeau.prange(n)`
numba.typed.List(), List.empty_list(types.int64)      →    an empty list, of what is put into it or of ints
numba.typed.Dict.empty(types.int64, types.float64)    →    an empty dict from ints to floats
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.frontend.emit.builtins.builtin_forms import emit_dict, emit_list
from flambeau.frontend.emit.builtins.iterables import emit_prange
from flambeau.frontend.emit.values.python_values import PythonValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Sugared
from flambeau.frontend.trees.tree_views import Apply, Expr, Select, Var
from flambeau.jit.with_numba.numba_calls import loaded
from flambeau.schema.types import BOOL, FLOAT, INT, STRING, DictType, ListType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NO_ATTRIBUTE = "numba.typed.{owner} has no {name} in programs: write {owner}.{maker}(...), or {owner}()"
NOT_A_TYPE = "{name} takes types of Numba's, as {name}({example}): {got} is none"
NUMBER_OF_TYPES = "{name} takes {wanted}, got {got}: write {name}({example})"


def numba_name(value: Any) -> Sugared | None:
    """What a range, or a typed list or dict of Numba's, is in a program.

    None for all else, and in a process that has not imported Numba.
    """
    numba = loaded()
    if numba is None or not isinstance(value, type):
        return None
    if value is numba.prange:
        return FormValue("prange", emit_prange)
    typed = getattr(numba, "typed", None)
    if typed is None:
        return None
    if value is typed.List:
        return ContainerClass("List", emit_list, FormValue("empty_list", _empty_list))
    return ContainerClass("Dict", emit_dict, FormValue("empty", _empty_dict)) if value is typed.Dict else None


@dataclass(slots=True)
class ContainerClass(FormValue):
    """A typed list or dict: called, or asked for the function that makes an empty one of named types."""

    maker: FormValue

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """The function that makes an empty one of named types. Raises CompileError for other names."""
        if name != self.maker.name:
            raise CompileError(NO_ATTRIBUTE.format(owner=self.name, name=name, maker=self.maker.name), where)
        return self.maker


def _empty_list(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`List.empty_list(item_type)`."""
    (item,) = _types(e, tree, "List.empty_list", ("item_type",), "types.int64")
    type_ = e.type_variables.list_of(tree) if item is None else ListType(item)
    return SimpleValue(e.emit("prim::ListConstruct", (), type_))


def _empty_dict(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    """`Dict.empty(key_type, value_type)`."""
    key, value = _types(e, tree, "Dict.empty", ("key_type", "value_type"), "types.int64, types.float64")
    type_ = e.type_variables.dict_of(tree) if key is None or value is None else DictType(key, value)
    return SimpleValue(e.emit("prim::DictConstruct", (), type_))


def _types(e: Emitter, tree: Apply, name: str, names: tuple[str, ...], example: str) -> list[Type | None]:
    """The types that are named; None for those that what is put in tells: arrays, and what is written out.

    Raises CompileError for other arguments.
    """
    trees: dict[str, Expr] = dict(zip(names, tree.args, strict=False))
    trees |= {k.name: k.value for k in tree.keywords if k.name in names}
    count = len(tree.args) + len(tree.keywords)
    if len(trees) != len(names) or count != len(names):
        wanted = " and ".join(names)
        raise CompileError(NUMBER_OF_TYPES.format(name=name, wanted=wanted, got=count, example=example), tree.range)
    types: list[Type | None] = []
    for argument in names:
        if not isinstance(trees[argument], Var | Select):
            types.append(None)
            continue
        kind = e.sugared(trees[argument])
        python = kind.python if isinstance(kind, PythonValue) else None
        if not isinstance(python, loaded().types.Type):
            text = NOT_A_TYPE.format(name=name, example=example, got=kind.kind)
            raise CompileError(text, trees[argument].range)
        types.append(_program_type(python))
    return types


def _program_type(kind: Any) -> Type | None:
    """Numba's type of numbers, texts, and tuples and lists of them in a program; None for others."""
    types = loaded().types
    plain: list[tuple[type, Callable[[], Type | None]]] = [
        (types.Boolean, lambda: BOOL), (types.Integer, lambda: INT), (types.Float, lambda: FLOAT),
        (types.UnicodeType, lambda: STRING), (types.BaseTuple, lambda: _of_parts(tuple(kind), TupleType)),
        (types.ListType, lambda: _of_parts((kind.dtype,), lambda items: ListType(items[0]))),
    ]  # fmt: skip
    return next((meaning() for cls, meaning in plain if isinstance(kind, cls)), None)


def _of_parts(kinds: tuple[Any, ...], make: Callable[[tuple[Type, ...]], Type]) -> Type | None:
    parts = [_program_type(kind) for kind in kinds]
    known = tuple(part for part in parts if part is not None)
    return make(known) if len(known) == len(parts) else None
