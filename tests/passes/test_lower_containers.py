"""Lists and dicts whose places are constants become values; those that grow, that others see or whose places only the
run knows stay."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.ir.clone import clone_graph
from flambeau.ir.verify import verify
from flambeau.passes import constant_propagation, inline, lower_containers
from tests.jit.classes.comparing import assert_like_python


def swapped(k: int):
    pair = [1, 2]
    for i in range(k):
        pair[0], pair[1] = pair[1] + i, pair[0]
    return pair[0] * 100 + pair[-1]


def one_read_of_another(k: int):
    parts = [1, 2, 3]
    if k > 1:
        parts[0] = parts[1]
        parts[1] = parts[0] + parts[2]
    else:
        parts[-1] = parts[0]
    return parts[0], parts[1], parts[2], len(parts)


def by_key(k: int):
    d = {"a": 1, "b": k}
    for i in range(k):
        d["b"] = d["b"] + d["a"]
        if i % 2 == 0:
            d["a"] += i
    return d["a"], d["b"], "a" in d, "c" in d, len(d)


def over_keys(k: int):
    d = {"a": 1, "bc": k}
    d["a"] += k
    text, total = "", 0
    for key in d:
        text += key
        total += d[key]
    for key, value in d.items():
        total += value * len(key)
    for value in d.values():
        total = total * 3 + value
    return text, total


def equal_keys(k: int):
    d = {"a": 1, "b": 2, "a": k}  # noqa: F601
    d["b"] += d["a"]
    text = ""
    for key in d:
        text += key
    return text, d["b"]


def table(k: int):
    rows = [[1, 2, 3], [4, 5, 6]]
    for i in range(k):
        rows[0][1] += rows[1][2]
        rows[1][0] = rows[0][1] + i
    total = 0
    for row in rows:
        for item in row:
            total = total * 7 + item
    return total


def rows_under_two_names(k: int):
    rows = [[1, 2], [3]]
    first = rows[0]
    first[0] = k
    rows[0] = [first[0] + 1, first[1]]
    first[1] = 9
    return rows[0][0], rows[0][1], first[0], first[1]


def absent_at_first(k: int):
    slots: list[int | None] = [None, k]
    for i in range(k):
        if i == 2:
            slots[0] = i
    first = slots[0]
    return -1 if first is None else first


def tuples(k: int):
    pairs = [(1, 2.5), (k, 0.5)]
    for i in range(k):
        pairs[0] = (pairs[1][0] + i, pairs[0][1] * 0.5)
    return pairs[0]


def grows(k: int):
    parts = [k]
    for i in range(k):
        parts.append(i)
    return parts[0] + len(parts)


def place_of_the_run(k: int):
    parts = [1, 2, 3]
    for i in range(k):
        parts[i % 3] += i
    return parts[0] * 100 + parts[1] * 10 + parts[2]


def returned(k: int):
    parts = [1, 2]
    for i in range(k):
        parts[0] += i
    return parts


def another_name(k: int):
    parts = [1, 2]
    other = [parts, parts]
    for i in range(k):
        other[i % 2][0] += 1
    return parts[0]


def new_key(k: int):
    d = {"a": 1}
    for i in range(k):
        d["b"] = i
    return len(d)


def missing_place(k: int):
    parts = [1, 2]
    for i in range(k):
        parts[1] += i
    return parts[2] if k > 3 else parts[1]


def asked_for_a_key(k: int):
    d = {"a": 1, "b": k}
    return d["a"] + d["b"] if ("a" if k > 1 else "c") in d else 0


def asked_for_an_item(k: int):
    parts = [1, 2, 3]
    parts[0] = 4
    return k in parts


LOWERED = [
    swapped, one_read_of_another, by_key, over_keys, equal_keys, table, rows_under_two_names, absent_at_first, tuples,
]  # fmt: skip
KEPT = [
    grows, place_of_the_run, returned, another_name, new_key, missing_place, asked_for_a_key, asked_for_an_item,
]  # fmt: skip


def lowered(fn: Any) -> str:
    graph = clone_graph(flambeau.script(fn).graph)
    inline.do(graph)
    constant_propagation.do(graph)
    lower_containers.do(graph)
    verify(graph)
    assert not lower_containers.do(graph)
    return str(graph)


@pytest.mark.parametrize("fn", LOWERED, ids=lambda fn: fn.__name__)
def test_lowered(fn: Any) -> None:
    text = lowered(fn)
    assert "aten::_set_item" not in text
    assert "prim::DictConstruct" not in text


@pytest.mark.parametrize("fn", KEPT, ids=lambda fn: fn.__name__)
def test_kept(fn: Any) -> None:
    assert "prim::ListConstruct" in lowered(fn) or "prim::DictConstruct" in lowered(fn)


@pytest.mark.parametrize("fn", [*LOWERED, *KEPT], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("k", [0, 1, 2, 3, 6])
def test_meaning_is_kept(fn: Any, k: int) -> None:
    if fn is not missing_place or k <= 3:
        assert_like_python(fn, lambda: (k,), "native")


def test_a_place_that_is_not_there_is_looked_for_when_the_program_comes_to_it() -> None:
    with pytest.raises(IndexError, match="list index out of range"):
        flambeau.script(missing_place)(4)


def test_tensors_in_a_dict_are_shared_as_before() -> None:
    def shared(x: Tensor):
        d = {"x": x, "y": x * 2}
        for _i in range(3):
            d["y"] = d["y"] + d["x"]
            d["x"].add_(1)
        return d["y"], x

    assert_like_python(shared, lambda: (flambeau.arange(3.0),), "native")


def test_a_program_with_a_table_and_a_dict_is_native() -> None:
    for fn in (table, by_key):
        scripted = flambeau.script(fn)
        for _ in range(4):
            scripted(50)
        assert "native from end to end" in str(scripted.explain())
