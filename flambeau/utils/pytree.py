"""Values in containers one in another, as a flat list and their structure, and functions over all of their leaves.

Lists, tuples, named tuples, dictionaries (ordered ones, ones with defaults) and deques are taken apart, classes once
they are registered; anything else, None too, is a leaf. `flambeau.vmap`, `grad` and the other transforms take what is
registered here as arguments and results.

>>> import flambeau
>>> batch = {"x": [flambeau.ones(2), 3], "n": None}
>>> leaves, spec = tree_flatten(batch)
>>> leaves, spec.num_leaves
([tensor([1., 1.]), 3, None], 3)
>>> tree_map_only(flambeau.Tensor, lambda t: t * 2, batch)
{'x': [tensor([2., 2.]), 3], 'n': None}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from json import dumps, loads
from typing import Any, Final, TypeVar

from flambeau.util.record import replace
from flambeau.util.trees import LEAF, REGISTERED, Container, IsLeaf, flatten
from flambeau.util.trees import Structure as TreeSpec
from flambeau.utils.tree_texts import (
    NAMED,
    Named,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    key_get,
    treespec_dumps,
    treespec_loads,
    treespec_pprint,
)

__all__ = [
    "GetAttrKey", "LeafSpec", "MappingKey", "SequenceKey", "TreeSpec", "arg_tree_leaves", "is_namedtuple",
    "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance",
    "key_get", "keystr",
    "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
    "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path",
    "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure",
    "tree_unflatten", "treespec_dumps", "treespec_loads", "treespec_pprint",
]  # fmt: skip
Class = TypeVar("Class")
TWICE: Final = "{cls} is already registered as pytree node."
NO_DATACLASS: Final = "register_dataclass takes a dataclass, got {cls}: register it with register_pytree_node"


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]], unflatten_fn: Callable[[Any, Any], Any],
    *, serialized_type_name: str | None = None, to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None, flatten_with_keys_fn: Any = None,
) -> None:  # fmt: skip
    """Let objects of a class be taken apart.

    Args:
        cls: the class; objects of classes derived from it stay leaves.
        flatten_fn: gives the values in an object, and what else it is made of, which is compared with `==`.
        unflatten_fn: makes an object of such values and of what else there was.
        serialized_type_name: what `treespec_dumps` calls it.
        to_dumpable_context: gives what else there was as what JSON has; as it is, if omitted.
        from_dumpable_context: gives it back.
        flatten_with_keys_fn: accepted; ways to leaves are by index.

    Raises ValueError for a class that is registered.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda values, _: Pair(*values))
    >>> tree_map(lambda n: n + 1, Pair(1, 2)).b
    3
    """
    if cls in REGISTERED or cls in (list, tuple, dict):
        raise ValueError(TWICE.format(cls=cls))

    def opened(value: Any) -> tuple[Sequence[Any], Any]:
        values, context = flatten_fn(value)
        return list(values), context

    REGISTERED[cls] = Container(opened, unflatten_fn)
    if serialized_type_name is not None:
        NAMED[cls] = Named(serialized_type_name, to_dumpable_context or dumps, from_dumpable_context or loads)


def register_dataclass(
    cls: type[Class], *, field_names: Sequence[str] | None = None, drop_field_names: Sequence[str] = ()
) -> type[Class]:
    """Let objects of a dataclass be taken apart, by the fields that its constructor takes. Gives the class, so that it
    may decorate it.

    Args:
        cls: the dataclass.
        field_names: fields with leaves, where those are not all.
        drop_field_names: fields that are left out, and get their defaults.

    Raises TypeError for a class that is none, ValueError for one that is registered.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Step:
    ...     loss: float
    ...     n: int
    >>> tree_leaves([Step(0.5, 3)])
    [0.5, 3]
    """
    if not dataclasses.is_dataclass(cls):
        raise TypeError(NO_DATACLASS.format(cls=cls))
    listed = [f.name for f in dataclasses.fields(cls) if f.init] if field_names is None else list(field_names)
    names = [name for name in listed if name not in drop_field_names]
    register_pytree_node(
        cls,
        lambda value: ([getattr(value, name) for name in names], names),
        lambda values, context: cls(**dict(zip(context, values, strict=True))),
    )
    REGISTERED[cls] = replace(REGISTERED[cls], fields=tuple(names))
    return cls


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree and how they lie.

    Args:
        tree: any value.
        is_leaf: says of a container that it is not taken apart.

    >>> tree_flatten((1, [2]), is_leaf=lambda value: isinstance(value, list))[0]
    [1, [2]]
    """
    return flatten(tree, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of such a structure with these leaves. Raises ValueError if there are too few or too many.

    >>> tree_unflatten([1, 2], tree_structure({"a": 0, "b": 0}))
    {'a': 1, 'b': 2}
    """
    return treespec.unflatten(list(leaves))


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree.

    >>> tree_leaves({"a": (1, 2), "b": None})
    [1, 2, None]
    """
    return flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf | None = None) -> Iterable[Any]:
    """The leaves of a tree, one after the other.

    >>> sum(tree_iter([1, (2, 3)]))
    6
    """
    return iter(flatten(tree, is_leaf)[0])


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> TreeSpec:
    """How the leaves of a tree lie.

    >>> tree_structure([1, (2,)]) == tree_structure([3, (4,)])
    True
    """
    return flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree with `func` of each leaf, and of the leaves in the same places of further trees.

    Further trees may have containers where the first one has leaves. Raises ValueError if one has other containers,
    sizes or keys besides.

    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    leaves, spec = flatten(tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        columns.append(spec.flatten_up_to(rest))
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])


tree_map.language_form = "tree_map"  # type: ignore[attr-defined]  # what calls in programs mean


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Call `func` for each leaf, for what it does. The tree itself is returned.

    >>> seen = []
    >>> tree_map_(seen.append, [1, 2]), seen
    ([1, 2], [1, 2])
    """
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    kinds: Any, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf | None = None
) -> Any:  # fmt: skip
    """The tree with `func` of the leaves of some kinds; the others stay as they are.

    Args:
        kinds: a class, several, or a function that says of a leaf whether it is meant.
        func: what is done to such leaves.
        tree: any value.
        is_leaf: says of a container that it is not taken apart.

    >>> tree_map_only(int, lambda n: -n, [1, "a"])
    [-1, 'a']
    """
    meant = _of_kinds(kinds)
    return tree_map(lambda leaf: func(leaf) if meant(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Any, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Call `func` for each leaf of some kinds, for what it does. The tree itself is returned.

    >>> seen = []
    >>> tree_map_only_(int, seen.append, [1, "a"]), seen
    ([1, 'a'], [1])
    """
    tree_map_only(kinds, func, tree, is_leaf=is_leaf)
    return tree


def _of_kinds(kinds: Any) -> Callable[[Any], bool]:
    """Whether a leaf is of a class, of one of several, or as a function says."""
    return kinds if callable(kinds) and not isinstance(kinds, type) else lambda leaf: isinstance(leaf, kinds)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether something holds of all leaves.

    >>> tree_all(lambda n: n > 0, [1, (2,)])
    True
    """
    return all(map(pred, flatten(tree, is_leaf)[0]))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether something holds of a leaf.

    >>> tree_any(lambda n: n > 1, [1, (2,)])
    True
    """
    return any(map(pred, flatten(tree, is_leaf)[0]))


def tree_all_only(kinds: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether something holds of all leaves of some kinds.

    >>> tree_all_only(int, lambda n: n > 0, [1, ("a",)])
    True
    """
    meant = _of_kinds(kinds)
    return all(pred(leaf) for leaf in flatten(tree, is_leaf)[0] if meant(leaf))


def tree_any_only(kinds: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether something holds of a leaf of some kinds.

    >>> tree_any_only(int, lambda n: n > 1, [1, ("a",)])
    False
    """
    meant = _of_kinds(kinds)
    return any(pred(leaf) for leaf in flatten(tree, is_leaf)[0] if meant(leaf))


def tree_is_leaf(tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether a value is no container that is taken apart.

    >>> tree_is_leaf(3), tree_is_leaf([3])
    (True, False)
    """
    return flatten(tree, is_leaf)[1].is_leaf()


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of the arguments of a call, in order.

    >>> arg_tree_leaves(1, [2], k=3)
    [1, 2, 3]
    """
    return [leaf for one in (*args, *kwargs.values()) for leaf in flatten(one)[0]]


def LeafSpec() -> TreeSpec:  # noqa: N802  # a class, to its callers
    """That of a value that is no container.

    >>> LeafSpec() == tree_structure(3)
    True
    """
    return LEAF


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """An index of a list, tuple or deque.

    >>> str(SequenceKey(1))
    '[1]'
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What lies there in a sequence."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A key of a dictionary.

    >>> str(MappingKey("w"))
    "['w']"
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What lies there in a mapping."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """A field of a named tuple or dataclass.

    >>> str(GetAttrKey("w"))
    '.w'
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The field of an object."""
        return getattr(obj, self.name)


KeyPath = tuple[SequenceKey | MappingKey | GetAttrKey, ...]


def keystr(kp: KeyPath) -> str:
    """The way to a leaf as Python writes it.

    >>> keystr((MappingKey("a"), SequenceKey(0), GetAttrKey("loss")))
    "['a'][0].loss"
    """
    return "".join(map(str, kp))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a tree, each with the way to it, and how they lie.

    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    leaves, spec = flatten(tree, is_leaf)
    paths: list[KeyPath] = []
    _walk(tree, spec, (), paths)
    return list(zip(paths, leaves, strict=True)), spec


def _walk(value: Any, spec: TreeSpec, path: KeyPath, paths: list[KeyPath]) -> None:
    """Collect the ways to the leaves below a value."""
    if spec.is_leaf():
        paths.append(path)
        return
    children, _ = flatten(value, lambda one: one is not value)
    for key, child, below in zip(_keys(value, spec), children, spec.children, strict=True):
        _walk(child, below, (*path, key), paths)


def _keys(value: Any, spec: TreeSpec) -> Sequence[SequenceKey | MappingKey | GetAttrKey]:
    if isinstance(value, dict):
        return [MappingKey(key) for key in value]
    names = getattr(value, "_fields", spec.keys if dataclasses.is_dataclass(value) else None)
    if isinstance(names, list | tuple):
        return [GetAttrKey(name) for name in names]
    return [SequenceKey(index) for index in range(len(spec.children))]


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with the way to it.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path((1,))]
    [('[0]', 1)]
    """
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[[KeyPath, Any], Any], tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree with `func` of the way to each leaf and of the leaf.

    >>> tree_map_with_path(lambda path, leaf: f"{keystr(path)} = {leaf}", [5, (6,)])
    ['[0] = 5', ('[1][0] = 6',)]
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten([func(path, leaf) for path, leaf in pairs])
