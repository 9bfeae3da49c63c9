"""Values in containers, lists, tuples and dictionaries in one another, as a flat list and their structure.

>>> leaves, structure = flatten({"b": (1, 2), "a": [3]})
>>> leaves, structure.num_leaves
([1, 2, 3], 3)
>>> structure.unflatten([10, 20, 30])
{'b': (10, 20), 'a': [30]}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from flambeau.util.record import dataclass

IsLeaf = Callable[[Any], bool]
OTHER_TYPE: Final = "Node type mismatch; expected {wanted}, but got {got}."
OTHER_COUNT: Final = "Node arity mismatch; expected {wanted}, but got {got}."
OTHER_KEYS: Final = "Node context mismatch; expected {wanted}, but got {got}."
OTHER_DICT: Final = "Node keys mismatch; missing key(s): {missing}, extra key(s): {extra}."
REGISTER: Final = ": have its fields taken apart by flambeau.utils.pytree.register_dataclass(cls)"
"""What to do about a dataclass that is a leaf."""
WRONG_COUNT: Final = (
    "treespec.unflatten(leaves): `leaves` has length {got} but the spec refers to a pytree that holds {wanted} items "
    "({spec})"
)


@dataclass(frozen=True, slots=True)
class Container:
    """How values of one type are taken apart and made anew."""

    opened: Callable[[Any], tuple[Sequence[Any], Any]]
    """The values in one, and what else it is made of, which is compared with `==`."""
    build: Callable[[Sequence[Any], Any], Any]
    """One of such values and of what else there was."""
    fields: Sequence[str] | None = None
    """The attributes that hold the values, and are what an object is made of by name; None where nobody said."""


REGISTERED: Final[dict[type, Container]] = {
    defaultdict: Container(
        lambda value: (list(value.values()), (value.default_factory, list(value))),
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    ),
    deque: Container(lambda value: (list(value), value.maxlen), lambda values, maxlen: deque(values, maxlen)),
}
"""Containers besides tuples, lists and dictionaries, by their exact type."""

RESULTS: Final = "flambeau.return_types"
"""Where classes of results with names are: containers of their own, though they are named tuples."""


class Structure:
    """How values lie in containers; equal where containers are of the same types, sizes and keys.

    >>> Structure(list, None, [Structure(), Structure()]).count
    2
    """

    __slots__ = ("children", "count", "keys", "kind")

    def __init__(self, kind: type | None = None, keys: Any = None, children: Sequence[Structure] = ()) -> None:
        self.kind = kind
        """The container's type; None of a leaf."""
        self.keys = keys
        """Of a dictionary, its keys; of a registered container, what it is made of besides its values."""
        self.children = tuple(children)
        self.count: int = 1 if kind is None else sum(child.count for child in children)
        """How many leaves there are."""

    def is_leaf(self) -> bool:
        """Whether it is no container."""
        return self.kind is None

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        return self.count

    @property
    def num_nodes(self) -> int:
        """How many leaves and containers there are."""
        return 1 + sum(child.num_nodes for child in self.children)

    @property
    def num_children(self) -> int:
        """How many values the container has."""
        return len(self.children)

    @property
    def type(self) -> Any:
        """The container's type; None of a leaf."""
        return self.kind

    @property
    def context(self) -> Any:
        """What it is made of besides its values: keys; of a named tuple its class."""
        is_named = self.kind is not None and issubclass(self.kind, tuple) and self.kind is not tuple
        return self.kind if is_named else self.keys

    def child(self, index: int) -> Structure:
        """The structure of one of its values."""
        return self.children[index]

    @property
    def children_specs(self) -> list[Structure]:
        """The structures of its values."""
        return list(self.children)

    def flatten_up_to(self, value: Any) -> list[Any]:
        """What a value has in the places of the leaves, whatever that is. Raises ValueError where it has other
        containers."""
        if self.kind is None:
            return [value]
        kind, keys, values = _opened(value)
        if kind is not self.kind:
            raise ValueError(OTHER_TYPE.format(wanted=self.kind, got=type(value)))
        if isinstance(value, dict) and kind not in REGISTERED:
            return self._of_dict(value)
        if len(values) != len(self.children):
            raise ValueError(OTHER_COUNT.format(wanted=len(self.children), got=len(values)))
        if keys != self.keys:
            raise ValueError(OTHER_KEYS.format(wanted=self.keys, got=keys))
        pairs = zip(self.children, values, strict=True)
        return [part for child, one in pairs for part in child.flatten_up_to(one)]

    def _of_dict(self, value: dict[Any, Any]) -> list[Any]:
        """`flatten_up_to` of a dictionary, whose keys may come in another order."""
        missing, extra = [k for k in self.keys if k not in value], [k for k in value if k not in self.keys]
        if missing or extra:
            raise ValueError(OTHER_DICT.format(missing=missing, extra=extra))
        pairs = zip(self.children, self.keys, strict=True)
        return [part for child, key in pairs for part in child.flatten_up_to(value[key])]

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Structure)
            and self.kind is other.kind
            and self.keys == other.keys
            and self.children == other.children
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.children))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        """As `TreeSpec(list, None, [*,` with a line for each further value."""
        if self.kind is None:
            return "*"
        indent += 2
        parts = f",\n{' ' * indent}".join(child._text(indent) for child in self.children)
        is_named = issubclass(self.kind, tuple) and hasattr(self.kind, "_fields") and self.kind.__module__ != RESULTS
        name, context = ("namedtuple", self.kind) if is_named else (self.kind.__name__, self.keys)
        return f"TreeSpec({name}, {context}, [{parts}])"

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The containers with these leaves. Raises ValueError if there are too few or too many."""
        if len(leaves) != self.count:
            raise ValueError(WRONG_COUNT.format(got=len(leaves), wanted=self.count, spec=self))
        return self._built(iter(leaves))

    def _built(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        values = [child._built(leaves) for child in self.children]
        if (container := REGISTERED.get(self.kind)) is not None:
            return container.build(values, self.keys)
        if self.keys is not None:
            return self.kind(zip(self.keys, values, strict=True))
        kind: Any = self.kind
        return tuple_of(kind, values) if issubclass(kind, tuple) else kind(values)

    def broadcast(self, prefix: Any, is_leaf: IsLeaf) -> list[Any] | None:
        """A value for each leaf from a tree that may end earlier, with one value for all that is below it; None where
        it has other containers."""
        if is_leaf(prefix) and not isinstance(prefix, CONTAINERS):
            return [prefix] * self.count
        kind, keys, values = _opened(prefix)
        if self.kind is None or kind is not self.kind or len(values) != len(self.children) or keys != self.keys:
            return None
        listed: list[Any] = []
        for child, value in zip(self.children, values, strict=True):
            below = child.broadcast(value, is_leaf)
            if below is None:
                return None
            listed += below
        return listed


LEAF: Final = Structure()
CONTAINERS: Final = (tuple, list, dict)


def _opened(value: Any) -> tuple[Any, Any, Sequence[Any]]:
    """The kind of a container, its keys and its values."""
    if (container := REGISTERED.get(type(value))) is not None:
        values, context = container.opened(value)
        return type(value), context, list(values)
    if isinstance(value, dict):
        kind = OrderedDict if isinstance(value, OrderedDict) else dict
        return kind, list(value), list(value.values())
    return type(value), None, list(value) if isinstance(value, tuple | list) else []


def flatten(value: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], Structure]:
    """The leaves of a value and how they lie: what is no container, or of which `is_leaf` says so, is a leaf itself."""
    kind: Any = type(value)
    if is_leaf is None and kind in (tuple, list) and not any(map(is_container, value)):
        return list(value), _of_leaves(kind, len(value))
    leaves: list[Any] = []
    return leaves, _flattened(value, leaves, is_leaf)


@lru_cache(256)
def _of_leaves(kind: Any, count: int) -> Structure:
    """The structure of a tuple or a list of leaves alone."""
    return Structure(kind, None, [LEAF] * count)


def _flattened(value: Any, leaves: list[Any], is_leaf: IsLeaf | None) -> Structure:
    if is_container(value) and not (is_leaf is not None and is_leaf(value)):
        kind, keys, values = _opened(value)
        return Structure(kind, keys, [_flattened(one, leaves, is_leaf) for one in values])
    leaves.append(value)
    return LEAF


def is_container(value: Any) -> bool:
    """Whether a value is taken apart: a list, tuple, named tuple, dictionary or an object of a registered class.

    >>> is_container([]), is_container("text")
    (True, False)
    """
    if isinstance(value, dict) or type(value) is list:
        return True
    return _is_open(value) if isinstance(value, tuple) else type(value) in REGISTERED


def _is_open(value: tuple[Any, ...]) -> bool:
    """Whether a tuple can be made anew from its items."""
    return type(value) is tuple or hasattr(value, "_fields")


def tuple_of(kind: Any, items: Sequence[Any]) -> Any:
    """A tuple, or a named tuple of a class, with these items.

    >>> tuple_of(tuple, [1, 2])
    (1, 2)
    """
    return kind(*items) if hasattr(kind, "_fields") else tuple(items)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same containers with `function` of each leaf.

    >>> mapped(lambda n: n + 1, (1, [2]))
    (2, [3])
    """
    leaves, structure = flatten(value)
    return structure.unflatten([function(leaf) for leaf in leaves])


def hashable(value: Any) -> Any:
    """A key for a value in lists and dictionaries: equal where these are of the same types, keys and values.

    >>> hashable({"a": [0, None]}) == hashable({"a": [0, None]}), hashable([0]) == hashable((0,))
    (True, False)
    """
    leaves, structure = flatten(value)
    return value if structure is LEAF else (structure, *leaves)
