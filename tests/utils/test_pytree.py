"""Values in containers, one in another."""

from __future__ import annotations

import collections
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from flambeau.utils._pytree import tree_map as by_their_path

import flambeau
from flambeau.utils import pytree


class Point(NamedTuple):
    x: Any
    y: Any


class Box:
    def __init__(self, inside: Any, name: str = "box") -> None:
        self.inside, self.name = inside, name


@dataclass
class Batch:
    x: Any
    y: Any
    note: str = field(default="none")


pytree.register_pytree_node(Box, lambda box: ([box.inside], box.name), lambda values, name: Box(values[0], name))
pytree.register_dataclass(Batch, drop_field_names=["note"])

TREES = [
    1, None, [], (), {}, [1, (2, {"a": 3, "b": [4]})], OrderedDict([("b", 1), ("a", [2])]), Point(1, [2]),
    defaultdict(list, {"k": [1, 2]}), deque([1, 2], maxlen=3), {"n": None}, Batch(1, {"z": 2}),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES)
def test_trees_come_back(tree: Any) -> None:
    leaves, spec = pytree.tree_flatten(tree)
    back = pytree.tree_unflatten(leaves, spec)
    assert back == tree
    assert type(back) is type(tree)
    assert spec == pytree.tree_structure(back)
    assert spec.num_leaves == len(leaves)


def test_kinds_stay() -> None:
    made = pytree.tree_map(lambda n: -n, defaultdict(lambda: 7, {"a": 1}))
    assert (made["a"], made["other"]) == (-1, 7)
    made = pytree.tree_map(lambda n: -n, deque([1, 2], maxlen=2))
    made.append(3)
    assert list(made) == [-2, 3]
    box = pytree.tree_map(lambda n: n + 1, [Box(1, "red")])[0]
    assert (box.inside, box.name) == (2, "red")
    assert pytree.tree_map(lambda n: n + 1, Batch(1, 2, "kept?")) == Batch(2, 3)


def test_paths() -> None:
    tree = {"a": [1, Point(2, 3)], "b": Batch(4, (5,)), "c": Box(6)}
    pairs, spec = pytree.tree_flatten_with_path(tree)
    assert [(pytree.keystr(path), leaf) for path, leaf in pairs] == [
        ("['a'][0]", 1), ("['a'][1].x", 2), ("['a'][1].y", 3), ("['b'].x", 4), ("['b'].y[0]", 5), ("['c'][0]", 6)
    ]  # fmt: skip
    assert spec == pytree.tree_structure(tree)
    assert pytree.tree_flatten_with_path([(1, 2)], is_leaf=lambda v: isinstance(v, tuple))[0] == [
        ((pytree.SequenceKey(0),), (1, 2))
    ]


def test_containers_that_are_leaves() -> None:
    sizes = pytree.tree_map(len, [(1, 2), (3,)], is_leaf=lambda v: isinstance(v, tuple))
    assert sizes == [2, 1]
    assert pytree.tree_leaves([], is_leaf=lambda v: True) == [[]]


def test_kinds_of_leaves() -> None:
    tree = {"x": flambeau.ones(2), "n": 3, "s": "text"}
    doubled = pytree.tree_map_only((int, flambeau.Tensor), lambda v: v * 2, tree)
    assert (doubled["x"].tolist(), doubled["n"], doubled["s"]) == ([2.0, 2.0], 6, "text")
    assert pytree.tree_map_only(lambda v: v == 3, lambda v: 0, [3, 4]) == [0, 4]
    assert by_their_path(type, tree)["s"] is str
    assert pytree.tree_all(callable, [len, max])
    assert not pytree.tree_any(callable, [1, "a"])


def test_transforms_take_what_is_registered() -> None:
    out = flambeau.vmap(lambda batch: Box(batch.x * batch.y))(Batch(flambeau.arange(3.0), flambeau.arange(3.0)))
    assert out.inside.tolist() == [0.0, 1.0, 4.0]
    grads = flambeau.grad(lambda box: (box.inside**2).sum())(Box(flambeau.ones(2)))
    assert grads.inside.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: pytree.tree_map(max, [1, 2], [1]), ValueError, r"Node arity mismatch; expected 2, but got 1\."),
        (lambda: pytree.tree_map(max, {"a": 1}, {"b": 1}), ValueError, r"missing key\(s\): \['a'\], extra .*: \['b'\]"),
        (lambda: pytree.tree_map(max, Box(1, "red"), Box(1, "blue")), ValueError, "Node context mismatch; expected"),
        (lambda: pytree.tree_unflatten([1], pytree.tree_structure([1, 2])), ValueError, "`leaves` has length 1 but"),
        (lambda: pytree.register_pytree_node(Box, vars, vars), ValueError, "is already registered as pytree node"),
        (lambda: pytree.register_pytree_node(dict, vars, vars), ValueError, "is already registered"),
        (lambda: pytree.register_dataclass(int), TypeError, "register_dataclass takes a dataclass, got <class 'int'>"),
    ],
)
def test_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_further_trees_may_have_containers_where_the_first_has_leaves() -> None:
    assert pytree.tree_map(lambda a, b: (a, b), {"x": 1, "y": 2}, {"y": [3], "x": (4, 5)}) == {
        "x": (1, (4, 5)), "y": (2, [3]),
    }  # fmt: skip
    with pytest.raises(ValueError, match="Node type mismatch; expected <class 'list'>, but got <class 'tuple'>"):
        pytree.tree_map(max, [1], (1,))


def test_what_structures_say() -> None:
    Pair = collections.namedtuple("Pair", "a b")
    spec = pytree.tree_structure({"x": [1, Pair(2, 3)], "y": None})
    assert (spec.num_leaves, spec.num_nodes, spec.num_children, spec.type, spec.context) == (4, 7, 2, dict, ["x", "y"])
    assert (spec.child(0).type, spec.children_specs[0].child(1).context) == (list, Pair)
    assert (spec.is_leaf(), spec.child(1).is_leaf(), spec.child(1) == pytree.LeafSpec()) == (False, True, True)
    assert spec.flatten_up_to({"y": [1], "x": [2, Pair(3, 4)]}) == [2, 3, 4, [1]]


def test_questions_about_leaves_of_some_kinds() -> None:
    assert (pytree.tree_all_only(int, bool, [1, ""]), pytree.tree_any_only(str, bool, [1, ""])) == (True, False)
    assert (pytree.tree_is_leaf(None), pytree.tree_is_leaf(())) == (True, False)
    assert pytree.tree_leaves_with_path((1,)) == [((pytree.SequenceKey(0),), 1)]


def test_structures_as_texts() -> None:
    torch = pytest.importorskip("torch.utils._pytree", reason="torch is a peer, not a dependency")
    for tree in [*TREES[:7], defaultdict(list, {"k": [1, 2]}), deque([1, 2], maxlen=3), {"n": None}]:
        spec, theirs = pytree.tree_structure(tree), torch.tree_structure(tree)
        text = pytree.treespec_dumps(spec)
        assert text == torch.treespec_dumps(theirs)
        assert pytree.treespec_loads(text) == spec
        assert pytree.treespec_pprint(spec) == torch.treespec_pprint(theirs)


class Crate:
    def __init__(self, inside: Any) -> None:
        self.inside = inside


def test_structures_of_classes() -> None:
    pytree.register_pytree_node(
        Crate, lambda c: ([c.inside], {1}), lambda values, _: Crate(values[0]), serialized_type_name="tests.Crate",
        to_dumpable_context=sorted, from_dumpable_context=set,
    )  # fmt: skip
    spec = pytree.tree_structure([Crate(1)])
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(NotImplementedError, match="No registered serialization name"):
        pytree.treespec_dumps(pytree.tree_structure(Box(1)))
    with pytest.raises(ValueError, match="no container is registered as 'elsewhere'"):
        pytree.treespec_loads('[1, {"type": "elsewhere", "context": "null", "children_spec": []}]')
    with pytest.raises(ValueError, match="Unknown protocol 2"):
        pytree.treespec_loads("[2, {}]")
    with pytest.raises(TypeError, match="instance of PyTreeSpec"):
        pytree.treespec_dumps(1)  # type: ignore[arg-type]


def test_kinds_of_tuples() -> None:
    result = flambeau.ones(2).max(0)
    assert [pytree.is_namedtuple(v) for v in (Point(1, 2), Point, result, (1,))] == [True, True, False, False]
    assert [pytree.is_structseq(v) for v in (Point(1, 2), type(result), result, tuple)] == [False, True, True, False]
    paths = pytree.tree_leaves_with_path({"a": [Point(1, 2)]})
    assert [pytree.key_get({"a": [Point(1, 2)]}, path) for path, _ in paths] == [1, 2]
