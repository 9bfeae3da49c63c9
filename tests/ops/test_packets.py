"""`flambeau.ops.aten.add` and its overloads, called with Python values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, ops


def test_values_of_any_kind() -> None:
    add = ops.aten.add
    assert (add("a", "b"), add(2, 0.5), add(2, 3), add(2, 1j)) == ("ab", 2.5, 5, 2 + 1j)
    assert add(flambeau.ones(1), 1).tolist() == [2.0]
    assert add([1], [2]) == [1, 2]
    assert ops.aten.len([1, 2, 3]) == 3
    assert ops.aten.size(flambeau.ones(2, 3)) == [2, 3]
    assert ops.aten.zeros([2], dtype=flambeau.int64).tolist() == [0, 0]
    assert ops.aten.topk(flambeau.tensor([3.0, 1.0]), 1).values.tolist() == [3.0]


def test_overloads_are_attributes() -> None:
    add = ops.aten.add
    assert {"Tensor", "Scalar", "int", "str", "default"} <= set(add.overloads())
    assert set(add.overloads()) <= set(dir(add))
    assert add.Tensor is add.Tensor
    assert add.Tensor(flambeau.ones(1), flambeau.ones(1), alpha=2).tolist() == [3.0]
    assert str(add.Tensor._schema).startswith("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)")
    assert (str(add), str(add.Tensor), repr(add.Tensor)) == (
        "aten.add", "aten.add.Tensor", "<OpOverload(op='aten.add', overload='Tensor')>",
    )  # fmt: skip
    assert ops.aten.relu.default(flambeau.tensor([-1.0])).tolist() == [0.0]
    assert add.int(2, 3) == 5
    assert "flambeau.ops" in str(ops)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.aten.type_as(flambeau.ones(1)), r"^aten::type_as\(\) is missing value for argument 'other'\. Decl"),
    (lambda: ops.aten.relu(), r"aten::relu\(\) is missing value for argument 'self'\."),
    (lambda: ops.aten.relu(flambeau.ones(1), 2), r"aten::relu\(\) expected at most 1 argument\(s\) but received 2 arg"),
    (lambda: ops.aten.relu(flambeau.ones(1), 2), "failed to match any schema"),
    (lambda: ops.aten.relu.default(3), "Expected a value of type 'Tensor' for argument 'self' but instead found type"),
    (lambda: ops.aten.add.Tensor(flambeau.ones(1), flambeau.ones(1), 2), r"takes 2 positional argument\(s\) but 3 was"),
    (
        lambda: ops.aten.type_as(flambeau.ones(1), flambeau.ones(1), foo=1),
        r"aten::type_as\(\) expected at most 2 argument\(s\) but received 3 argument\(s\)",
    ),
    (
        lambda: ops.aten.add.Tensor(flambeau.ones(1), flambeau.ones(1), beta=1),
        "Unknown keyword argument 'beta' for operator 'aten::add'",
    ),
    (lambda: ops.aten.add(object(), 1), "instead found type 'object'"),
    (lambda: ops.aten.len(3), r"Expected a value of type 'List\[t\]' for argument 'a' but instead found type 'int'"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_fits_no_overload(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


def test_what_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"op of 'aten.add' has no overload name 'nope'; it has Tensor, "):
        _ = ops.aten.add.nope
    with pytest.raises(AttributeError, match="Invalid attribute '__origin__' for the operators of 'aten'"):
        _ = ops.aten.__origin__


def program(x: Tensor, n: int) -> tuple[Tensor, int, str]:
    y = ops.aten.add.Tensor(ops.aten.relu.default(x), x, alpha=n)
    return y, ops.aten.add(n, 2), ops.aten.add("a", "b")


@pytest.mark.parametrize("backend", ["native", "interpreter", "reference"])
def test_in_programs(backend: Any) -> None:
    x = flambeau.tensor([-1.0, 2.0])
    for run in (program, flambeau.script(program, backend=backend)):
        y, n, text = run(x, 3)
        assert (y.tolist(), n, text) == ([-3.0, 8.0], 5, "ab")


def test_an_unknown_overload_in_a_program() -> None:
    def f(x: Tensor) -> Tensor:
        return ops.aten.add.nope(x, x)  # type: ignore[no-any-return]

    with pytest.raises(RuntimeError, match="attribute lookup is not defined on builtin"):
        flambeau.script(f)
