"""Types that a program says later: what an empty list, an empty dict or a None in a variable is for.

x = []                 →    the first time x : Tensor[], until something of another type meets it; then the function is
x.append(3)                 emitted again, with what was learned: x : int[]

A type variable equals the type that TorchScript gives (`Tensor` elements, `str` keys, `NoneType`); it is told by its
identity, so that everything else may treat it as that type. A variable that nothing determines stays as it is.

What is computed from an element of such a container is provisional: `counts[w] + 1` would be a tensor, and says nothing
of what `counts` holds, as long as something else may. If nothing does, the default is taken for what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.trees.tree_base import Tree
from flambeau.schema.element_type import joined
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    AnyType,
    DictType,
    ListType,
    NoneType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    VarType,
)
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field

ITEM: Final = {
    "append": 1, "insert": 2, "_set_item": 2, "index": 1, "count": 1, "remove": 1, "__contains__": 1,
    "set_add": 1, "set_discard": 1, "set_remove": 1,
}  # fmt: skip
"""Operators on lists, and which argument is an item."""
WHOLE: Final = ("extend", "add", "add_", "set_slice", "update")
"""Operators that are given another such list or dict."""
KEY: Final = ("_set_item", "get", "setdefault", "pop", "__contains__", "__getitem__", "Delete")
"""Operators on dicts whose second argument is a key, and whose third, if any, a value."""


class InferenceRestart(Exception):  # noqa: N818
    """A type became known: the function it is of has to be emitted again."""

    def __init__(self, owner: TypeVariables) -> None:
        super().__init__("a type became known")
        self.owner = owner


@dataclass(slots=True)
class TypeVariables:
    """The type variables of one function, and what they turned out to be."""

    parent: TypeVariables | None = None
    """The type variables of the function around it."""
    created: dict[tuple[int, str], Type] = field(default_factory=dict)
    """By the tree they are of, and their part in it."""
    open: dict[int, Type] = field(default_factory=dict)
    """The type variables that are not known yet, by identity."""
    of_classes: set[int] = field(default_factory=set)
    """The type variables that a class is chosen by, once they are known."""
    learned: dict[int, Type] = field(default_factory=dict)
    as_written: Callable[[Type], Type] | None = None
    """What the source of an inherited method means by a type."""
    wide: dict[int, set[Name]] = field(default_factory=dict)
    """Variables that have to be as wide as they were declared before a loop or `try`, by its tree."""
    numbers: dict[int, dict[Name, Type]] = field(default_factory=dict)
    """What numbers of variables may be from the start of a loop or `try` on, by its tree."""
    beginnings: dict[Name, tuple[Type, CompileError | None]] = field(default_factory=dict)
    """What numbers of variables are from their beginning on, and the refusal where they cannot be."""
    behind_loops: dict[Name, tuple[Type, CompileError]] = field(default_factory=dict)
    """Variables that loops bind and that are read behind them: their types, and the refusal if that has no form."""
    result: Type | None = None
    """What the function gives, where a return told that those before it give less."""
    error: CompileError | None = None
    """The first refusal that what is learned later may turn out to be none."""
    provisional: dict[int, Type] = field(default_factory=dict)
    """The types of values that were computed from others whose types are open, by identity."""
    has_deferred: bool = False
    """Whether a provisional type met an open one, which learned nothing from it."""
    own_defaults: bool = False
    """Whether open types are taken for their defaults, as nothing else told what they are."""

    def list_of(self, tree: Tree, *, of_class: bool = False) -> ListType:
        """The type of an empty list; `of_class`: what is emitted depends on it, whatever it turns out to be."""
        return ListType(self._part(tree, "element", TensorType, of_class))

    def dict_of(self, tree: Tree) -> DictType:
        """The type of an empty dict."""
        return DictType(self._part(tree, "key", StringType), self._part(tree, "value", TensorType))

    def dict_to(self, tree: Tree, value: Type) -> DictType:
        """The type of an empty dict whose values are known, on which what is emitted depends."""
        return DictType(self._part(tree, "key", StringType, True), value)

    def none_of(self, tree: Tree) -> Type:
        """The type of a variable that a None is assigned to."""
        return self._part(tree, "none", NoneType)

    def _part(self, tree: Tree, role: str, default: type[Type], of_class: bool = False) -> Type:
        key = (id(tree), role)
        if key not in self.created:
            self.created[key] = default()
            self.open[id(self.created[key])] = self.created[key]
            if of_class:
                self.of_classes.add(id(self.created[key]))
        return self.resolved(self.created[key])

    def resolved(self, type_: Type) -> Type:
        """A type with all that is known by now filled in."""
        learned = self.learned.get(id(type_))
        if learned is not None:
            return self.resolved(learned)
        inner = type_.contained
        new = tuple(map(self.resolved, inner))
        return type_ if all(a is b for a, b in zip(inner, new, strict=True)) else type_.with_contained(new)

    @property
    def is_pending(self) -> bool:
        """Whether anything is not known yet, here or around."""
        return bool(self.open) or (self.parent is not None and self.parent.is_pending)

    def tolerates(self, error: CompileError) -> bool:
        """Whether to go on behind a refusal, in search of what may lift it."""
        if not self.is_pending:
            return False
        self.error = self.error or error
        return True

    def owner(self, type_: Type) -> TypeVariables | None:
        """Whose type it is, if it is not known yet."""
        if id(type_) in self.open:
            return self
        return None if self.parent is None else self.parent.owner(type_)

    def ids(self, types: Sequence[Type]) -> tuple[int, ...]:
        """Which of these types, or of those inside them, are not known yet."""
        if not self.is_pending:
            return ()
        return tuple(id(t) for outer in types for t in outer.walk() if self.owner(t) is not None)

    def unify(self, a: Type, b: Type) -> None:
        """Two types have to be the same: what one says of the other is learned. Raises `InferenceRestart`."""
        if not self.is_pending or a is b:
            return
        if self._settles(a, b) or self._settles(b, a):
            return
        a, b = _present(a), _present(b)
        if isinstance(a, ListType) and isinstance(b, TupleType):
            a, b = b, a
        if isinstance(a, TupleType) and isinstance(b, ListType):
            for element in a.elements:
                self.unify(b.element, element)
        elif type(a) is type(b) and len(a.contained) == len(b.contained):
            for x, y in zip(a.contained, b.contained, strict=True):
                self.unify(x, y)

    def _settles(self, mine: Type, other: Type) -> bool:
        """Whether nothing is left to compare once `mine`, if it is open, has learned from the other."""
        owner = self.owner(mine)
        if owner is None:
            return False
        if self._is_provisional(other):
            self._defer()
            return True
        if _tells(mine, other):
            self._hand_over(other, owner)
            owner.learn(mine, other)
        elif _agrees(mine, other) and self.owner(other) is None:
            if id(mine) in owner.of_classes:
                owner.learn(mine, other)
            del owner.open[id(mine)]  # it is what it was taken for
            return True
        return False

    # -- provisional types --------------------------------------------------------------------------------------------

    @property
    def takes_defaults(self) -> bool:
        """Whether open types here, or in a function around, are taken for their defaults."""
        return self.own_defaults or (self.parent is not None and self.parent.takes_defaults)

    def derived(self, inputs: Iterable[Type], result: Type) -> Type:
        """The type of a result, told apart from others of that type if it was computed from an open type."""
        tensors = [part for part in result.walk() if isinstance(part, TensorType)]
        if not tensors or any(map(self._is_open, tensors)) or not self.is_pending or self.takes_defaults:
            return result
        if not any(isinstance(part, TensorType) and self._is_open(part) for type_ in inputs for part in type_.walk()):
            return result
        return self._fresh(result)

    def _fresh(self, type_: Type) -> Type:
        if isinstance(type_, TensorType):
            fresh = TensorType() if type_ == TensorType() else type_
            if fresh is not type_:
                self.provisional[id(fresh)] = fresh
            return fresh
        inner = type_.contained
        return type_.with_contained(tuple(map(self._fresh, inner))) if inner else type_

    def _is_open(self, type_: Type) -> bool:
        """Whether a type is open, or provisional."""
        scope: TypeVariables | None = self
        while scope is not None:
            if id(type_) in scope.open or id(type_) in scope.provisional:
                return True
            scope = scope.parent
        return False

    def _is_provisional(self, type_: Type) -> bool:
        """Whether a type, or one inside it, is provisional."""
        scope: TypeVariables | None = self
        while scope is not None:
            if scope.provisional and any(id(part) in scope.provisional for part in type_.walk()):
                return True
            scope = scope.parent
        return False

    def _defer(self) -> None:
        scope: TypeVariables | None = self
        while scope is not None:
            scope.has_deferred = True
            scope = scope.parent

    def the_certain(self, a: Type, b: Type, refusal: CompileError) -> Type | None:
        """Which of two types that do not fit together is not provisional, for now; the refusal stands if both stay."""
        first, second = self._is_provisional(a), self._is_provisional(b)
        if first is second or not self.is_pending:
            return None
        self._defer()
        self.error = self.error or refusal
        return b if first else a

    def take_defaults(self) -> bool:
        """Behind a refusal: whether to start over, with open types taken for their defaults."""
        if not self.has_deferred or self.takes_defaults:
            return False
        self.own_defaults, self.has_deferred, self.error = True, False, None
        return True

    def start(self) -> None:
        """Forget what the emission before this one computed."""
        self.provisional.clear()

    def _hand_over(self, type_: Type, owner: TypeVariables) -> None:
        """What is open inside a type that became part of an outer one is open there from now on."""
        for part in type_.walk():
            holder = self.owner(part)
            inner: TypeVariables | None = self
            while inner is not owner and inner is not None and inner is not holder:
                inner = inner.parent
            if holder is not None and holder is inner and holder is not owner:
                owner.open[id(part)] = owner.created[id(part), "handed over"] = part
                del holder.open[id(part)]

    def learn(self, open_: Type, type_: Type) -> None:
        """Note what an open type is, and start over."""
        type_ = type_ if self.as_written is None else self.as_written(type_)
        self.learned[id(open_)] = OptionalType.of(type_) if isinstance(open_, NoneType) else type_
        del self.open[id(open_)]
        self.error = None
        raise InferenceRestart(self)

    def is_none_for(self, mine: Type, other: Type) -> bool:
        """Whether `mine` is an open None of this function that learns all there is to learn from the other type."""
        if not isinstance(mine, NoneType) or id(mine) not in self.open or not _tells(mine, other):
            return False
        return self.error is None and self.as_written is None and not self.ids([other]) and not self._is_open(other)

    def note(self, open_: Type, type_: Type) -> None:
        """Note what an open type is, where what was emitted with it has been given that type."""
        self.learned[id(open_)] = type_
        del self.open[id(open_)]

    def widen(self, tree: Tree, name: Name) -> None:
        """A loop or `try` makes a variable wider than it was known to be in front of it: start over, but once."""
        names = self.wide.setdefault(id(tree), set())
        if name in names:
            return
        names.add(name)
        self.error = None
        raise InferenceRestart(self)

    def widen_numbers(self, tree: Tree, name: Name, type_: Type) -> None:
        """A loop or `try` gives a variable numbers of another kind than it had in front of it: start over."""
        types = self.numbers.setdefault(id(tree), {})
        types[name] = joined(types[name], type_) if name in types else type_
        self.error = None
        raise InferenceRestart(self)

    def widen_result(self, type_: Type) -> None:
        """A return gives numbers that those before it do not hold: start over."""
        self.result, self.error = type_, None
        raise InferenceRestart(self)

    def unify_operator(self, kind: str, types: Sequence[Type]) -> None:
        """An operator is applied to arguments of these types."""
        name = kind.partition("::")[2]
        if not types or not self.is_pending:
            return
        owner = types[0]
        if name in WHOLE and len(types) > 1 and isinstance(owner, ListType | DictType | SetType):
            self.unify(owner, types[-1])
        elif isinstance(owner, ListType | SetType) and name in ITEM and len(types) > ITEM[name]:
            self.unify(owner.element, types[ITEM[name]])
        elif isinstance(owner, DictType) and name in KEY and len(types) > 1:
            self.unify(owner.key, types[1])
            if len(types) > 2:
                self.unify(owner.value, types[2])


def _present(type_: Type) -> Type:
    return type_.element if isinstance(type_, OptionalType) else type_


def _agrees(mine: Type, other: Type) -> bool:
    """Whether an open type met just what it is taken for."""
    return isinstance(other, type(mine)) and not isinstance(mine, NoneType)


def _tells(mine: Type, other: Type) -> bool:
    """Whether an open type can be what it met."""
    if isinstance(other, TensorType) and other.is_array:
        return not (isinstance(mine, TensorType) and mine.is_array)
    return not isinstance(other, AnyType | VarType | UnionType | NoneType | type(mine))
