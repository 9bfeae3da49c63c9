"""Lists and dicts that programs take by reference behave as Python's, and keep their element type."""

# ruff: noqa: UP006, UP035  (spellings that programs use)

from __future__ import annotations

from typing import Any, Dict, List

import pytest

import flambeau
from flambeau import jit


def grow(x: List[int], n: int) -> int:
    for i in range(n):
        x.append(i)
    if n > 2:
        x[0] = 100
    return len(x)


def rename(d: Dict[str, List[int]]) -> None:
    d["new"] = d.pop("old")
    d["new"].append(1)


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_what_a_program_changes_the_caller_sees(backend: Any) -> None:
    fn = flambeau.script(grow, backend=backend)
    for _ in range(4):  # later calls may be native
        shared, plain = flambeau.script([5]), [5]
        assert fn(shared, 3) == fn(plain, 3) == 4
        assert list(shared) == [100, 0, 1, 2]
        assert plain == [5]
    table = flambeau.script({"old": [0]})
    flambeau.script(rename, backend=backend)(table)
    assert dict(table.items()) == {"new": [0, 1]}


def test_lists_behave_as_lists() -> None:
    made = flambeau.script([3, 1, 2])
    assert isinstance(made, jit.ScriptList)
    assert (repr(made), bool(made), len(made), made[0], made[-1], list(made)) == ("[3, 1, 2]", True, 3, 3, 2, [3, 1, 2])
    assert made[1:] == [1, 2]
    assert 1 in made
    assert 7 not in made
    assert (made.count(1), made.index(2)) == (1, 2)
    made.append(4)
    made.extend(range(2))
    made.insert(0, 9)
    made.remove(3)
    assert (made.pop(), made.pop(0)) == (1, 9)
    made[0:2] = [7, 8, 9]
    del made[0]
    assert made == [8, 9, 4, 0]
    made.clear()
    assert not made


def test_dicts_behave_as_dicts() -> None:
    made = flambeau.script({"a": 1})
    assert isinstance(made, jit.ScriptDict)
    made["b"] = 2
    assert (repr(made), len(made), list(made), list(made.keys()), list(made.values())) == (
        "{'a': 1, 'b': 2}",
        2,
        ["a", "b"],
        ["a", "b"],
        [1, 2],
    )
    del made["a"]
    assert "a" not in made
    assert made == {"b": 2}
    assert flambeau.script(made) is made


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: flambeau.script([1]).append("a"), TypeError),
        (lambda: flambeau.script([1]).extend([2, "a"]), TypeError),
        (lambda: flambeau.script([1])[7], IndexError),
        (lambda: flambeau.script([1]).pop(4), IndexError),
        (lambda: flambeau.script([1]).remove(2), ValueError),
        (lambda: flambeau.script([1]).index(2), ValueError),
        (lambda: flambeau.script({"a": 1})["b"], KeyError),
        (lambda: 3 in flambeau.script({"a": 1}), KeyError),
        (lambda: flambeau.script({"a": 1}).__setitem__("b", "c"), TypeError),
        (lambda: flambeau.script({"a": 1}).__delitem__("b"), KeyError),
        (lambda: flambeau.script([1, "a"]), TypeError),
        (lambda: flambeau.script({"a": 1, 2: 3}), TypeError),
        (lambda: flambeau.script([object()]), TypeError),
        (lambda: hash(flambeau.script([1])), TypeError),
        (lambda: hash(flambeau.script({"a": 1})), TypeError),
    ],
)
def test_refusals_have_pythons_classes(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_a_list_of_another_type_is_no_argument() -> None:
    with pytest.raises(RuntimeError, match="Expected a value of type 'List\\[int\\]' for argument 'x'"):
        flambeau.script(grow)(flambeau.script(["a"]), 1)
