"""Structures of trees as texts that are read again (`treespec_dumps` and its like), and kinds of tuples.

>>> from flambeau.utils.pytree import tree_structure
>>> spec = tree_structure({"a": [1, (2,)]})
>>> treespec_loads(treespec_dumps(spec)) == spec, treespec_pprint(spec)
(True, "{'a': [*, (*,)]}")
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from flambeau.util.trees import LEAF
from flambeau.util.trees import Structure as TreeSpec

PROTOCOL: Final = 1
UNKNOWN: Final = "Unknown protocol {protocol}. Available protocols: [1]"
NO_SPEC: Final = "Expected `treespec` to be an instance of PyTreeSpec but got item of type {kind}."
NO_NAME: Final = (
    "No registered serialization name for {kind} found. Please update your _register_pytree_node call with a "
    "`serialized_type_name` kwarg."
)
NO_KIND: Final = "no container is registered as {name!r}: register_pytree_node(..., serialized_type_name={name!r})"


class Named(NamedTuple):
    """How a kind of container is written: its name, and what else it is made of as what JSON has, and back."""

    name: str
    to_dumpable: Callable[[Any], Any]
    from_dumpable: Callable[[Any], Any]


def _default_dict(keys: Any) -> Any:
    factory, names = keys
    where = {"default_factory_module": getattr(factory, "__module__", None)}
    return {**where, "default_factory_name": getattr(factory, "__name__", None), "dict_context": names}


def _from_default_dict(said: Any) -> Any:
    module, name = said["default_factory_module"], said["default_factory_name"]
    factory = None if name is None else getattr(import_module(module), name)
    return factory, said["dict_context"]


NAMED: Final[dict[type, Named]] = {
    list: Named("builtins.list", json.dumps, json.loads),
    tuple: Named("builtins.tuple", json.dumps, json.loads),
    dict: Named("builtins.dict", json.dumps, json.loads),
    OrderedDict: Named("collections.OrderedDict", json.dumps, json.loads),
    deque: Named("collections.deque", json.dumps, json.loads),
    defaultdict: Named("collections.defaultdict", _default_dict, _from_default_dict),
}
"""By kind of container; classes of users come when they are registered."""


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as a text of JSON.

    Args:
        treespec: the structure.
        protocol: which form the text has: 1.

    Raises TypeError for what is no structure, ValueError for another protocol, NotImplementedError for a class that is
    registered without `serialized_type_name`.

    >>> from flambeau.utils.pytree import tree_structure
    >>> treespec_dumps(tree_structure(5))
    '[1, {"type": null, "context": null, "children_spec": []}]'
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(NO_SPEC.format(kind=type(treespec)))
    if protocol not in (None, PROTOCOL):
        raise ValueError(UNKNOWN.format(protocol=protocol))
    return json.dumps([PROTOCOL, _said(treespec)])


def _said(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    named = NAMED.get(spec.type)
    if named is None:
        raise NotImplementedError(NO_NAME.format(kind=spec.type))
    return {
        "type": named.name, "context": named.to_dumpable(spec.keys),
        "children_spec": [_said(child) for child in spec.children],
    }  # fmt: skip


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote. Raises ValueError for another protocol, or a name that is unknown.

    >>> treespec_loads('[1, {"type": null, "context": null, "children_spec": []}]')
    *
    """
    protocol, said = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(UNKNOWN.format(protocol=protocol))
    return _read(said)


def _read(said: dict[str, Any]) -> TreeSpec:
    if said["type"] is None:
        return LEAF
    kind, named = next(((k, n) for k, n in NAMED.items() if n.name == said["type"]), (None, None))
    if kind is None or named is None:
        raise ValueError(NO_KIND.format(name=said["type"]))
    return TreeSpec(kind, named.from_dumpable(said["context"]), [_read(child) for child in said["children_spec"]])


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The containers of a structure as Python prints them, with stars for leaves.

    >>> from flambeau.utils.pytree import tree_structure
    >>> treespec_pprint(tree_structure([1, {"a": 2}]))
    "[*, {'a': *}]"
    """
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))


def key_get(obj: Any, kp: Sequence[Any]) -> Any:
    """What lies at a path in a value.

    >>> from flambeau.utils.pytree import MappingKey, SequenceKey
    >>> key_get({"a": [5, 6]}, (MappingKey("a"), SequenceKey(1)))
    6
    """
    for key in kp:
        obj = key.get(obj)
    return obj


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is one of named tuples.

    >>> is_namedtuple_class(NamedTuple("Point", [("x", int)])), is_namedtuple_class(tuple)
    (True, False)
    """
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type) and issubclass(cls, tuple) and not is_structseq_class(cls)
        and isinstance(fields, tuple) and all(type(field) is str for field in fields)
    )  # fmt: skip


def is_namedtuple_instance(obj: object) -> bool:
    """Whether a value is a named tuple.

    >>> is_namedtuple_instance(Named("builtins.list", str, str))
    True
    """
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether a value is a named tuple, or a class of them.

    >>> is_namedtuple(Named), is_namedtuple((1,))
    (True, False)
    """
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of the named results of operators, or of Python's own, as of `time.localtime()`.

    >>> import flambeau
    >>> is_structseq_class(flambeau.return_types.max)
    True
    """
    if not (isinstance(cls, type) and issubclass(cls, tuple)):
        return False
    is_of_python = isinstance(getattr(cls, "n_sequence_fields", None), int)
    return is_of_python or getattr(cls, "__module__", "") == "flambeau.return_types"


def is_structseq_instance(obj: object) -> bool:
    """Whether a value is of such a class.

    >>> import time
    >>> is_structseq_instance(time.localtime())
    True
    """
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Whether a value is of such a class, or the class.

    >>> import time
    >>> is_structseq(time.struct_time), is_structseq((1,))
    (True, False)
    """
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))
