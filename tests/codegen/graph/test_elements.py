"""Elements of tensors as indexes, bounds, shift counts and conditions, and the least and greatest of them."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.tensor.tensor import wrap
from tests.codegen.graph.one_meaning import Arguments, agree, functions, outcome

LOOP = """
def f(x: Tensor, i: Tensor, j: Tensor):
    s = 0.0
    for k in range(i.shape[0]):
        {body}
    return x, s
"""
READS = {
    "an element": "s += x[i[k], 0]",
    "behind an int": "s += x[0, i[k]]",
    "two elements": "s += x[i[k], j[k]]",
    "a row": "s += x[i[k]].sum()",
    "a column": "s += x[:, i[k]].sum()",
    "an element of a part": "s += x[1:, i[k]][0] + x[:, 1:][i[k], 0]",
    "an index that is computed": "s += x[i[k] - j[k], (i[k] + j[k]) % 2]",
    "an index of an index": "s += x[i[j[k] % 4] % 3, 0]",
    "ints": "s += x[int(i[k]), int(j[k])]",
    "a row that is kept": "y = x[i[k]]\n        x[0, 0] = 9\n        s += y[0]",
    "a condition": "if x[i[k], j[k]] > 1 and 0 <= i[k] < 2:\n            s += 1",
    "a bound": "for q in range(i[k]):\n            s += q",
    "bounds": "for q in range(j[k], i[k]):\n            s += q",
    "a shift": "s += (1 << int(i[k] + 3)) + (i[k] << 2)",
    "conversions": "s += int(x[i[k], 0]) + float(i[k]) + int(bool(i[k])) + round(float(x[i[k], 1])) + abs(x[i[k], 1])",
    "the greatest": "s += float(max(x[i[k], 0], x[j[k], 1]))",
    "the least of three": "s += float(min(x[i[k], 0], x[j[k], 1], x[0, 0]))",
    "with numbers": "s = max(s, x[i[k], 0]) + min(x[i[k], 1], 0.5) + max(0.25, x[0, 0], s)",
    "a number of its own": "v = x[i[k], 0].item()\n        s += v * 2 + (1 if v > s else 0)",
}
WRITES = {
    "an element": "x[i[k], 0] = 5",
    "an element of another": "x[i[k], j[k]] = x[j[k], i[k]]",
    "a sum": "x[i[k], j[k]] += 1.5",
    "a product": "x[i[k], 0] *= x[j[k], 1]",
    "a row": "x[i[k]] = x[j[k]] * 2",
    "a row of another": "x[i[k]] = x[0]",
    "a row of a number": "x[i[k]] = 3",
    "a row of an element": "x[i[k]] = x[0, 0]",
    "a column": "x[:, i[k]] = x[:, 0] + 1",
    "a part of a row": "x[1:, i[k]] = x[0, j[k]]",
    "integers": "x[i[k], 0] = j[k]",
}


def given(*, first: int = -2, dtype: str = "float64", index: str = "int64", is_turned: bool = False) -> Arguments:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((3, 3)) * 4).astype(dtype)
    i, j = (rng.integers(first, 3, 6).astype(index) for _ in range(2))
    return lambda: (wrap(x.T.copy().T if is_turned else x.copy()), wrap(i.copy()), wrap(j.copy()))


@pytest.mark.parametrize("is_turned", [False, True], ids=["", "lies across"])
@pytest.mark.parametrize("name", READS)
def test_c17_elements_are_indexes(name: str, is_turned: bool) -> None:
    source = LOOP.format(body=READS[name])
    agree(source, given(is_turned=is_turned), is_native=not (is_turned and "row" in name))
    agree(source, given(dtype="float32", index="int32"))


@pytest.mark.parametrize("is_turned", [False, True], ids=["", "lies across"])
@pytest.mark.parametrize("name", WRITES)
def test_c17_elements_say_where_to_write(name: str, is_turned: bool) -> None:
    source = LOOP.format(body=WRITES[name])
    agree(source, given(is_turned=is_turned))
    agree(source, given(dtype="int32", index="int32"), is_native=name != "a sum")


@pytest.mark.parametrize("body", ["s += x[i[k], 0]", "s += x[:, i[k]].sum()", "x[i[k], 1] = 2", "x[j[k], i[k]] += 1"])
def test_c17_an_element_out_of_range_is_refused_where_it_stands(body: str) -> None:
    agree(LOOP.format(body=body), lambda: (given()()[0], flambeau.tensor([0, 1, -4, 2]), flambeau.tensor([0, 1, 1, 1])))
    agree(LOOP.format(body=body), lambda: (given()()[0], flambeau.tensor([0, 3, 1]), flambeau.tensor([0, 1, 1])))


def test_c17_writes_by_elements_are_those_of_python() -> None:
    """Eagerly, an element is an int as an index; what is compiled writes the same."""
    for name, body in WRITES.items():
        source = LOOP.format(body=body)
        namespace: dict[str, object] = {"Tensor": Tensor}
        exec(source, namespace)
        arguments, mine = given()(), given()()
        namespace["f"](*arguments)  # type: ignore[operator]
        for backend, function in functions(source).items():
            mine = given()()
            function(*mine)
            assert mine[0].tolist() == arguments[0].tolist(), (name, backend)


@pytest.mark.parametrize("values", [(1.0, float("nan")), (float("nan"), 1.0), (-0.0, 0.0), (0.0, -0.0), (2.0, 1.0)])
@pytest.mark.parametrize("call", ["max(x[0], x[1])", "min(x[0], x[1])", "max(x[0], x[1], x[0])"])
def test_c17_the_extreme_of_elements_is_the_one_that_python_picks(call: str, values: tuple[float, float]) -> None:
    source = f"def f(x: Tensor) -> float:\n    return float({call})\n"
    namespace: dict[str, object] = {"Tensor": Tensor}
    exec(source, namespace)
    x = flambeau.tensor(values, dtype=flambeau.float64)
    expected = namespace["f"](x)  # type: ignore[operator]
    for function in functions(source).values():
        assert repr(function(x)) == repr(expected)
    agree(source, lambda: (x.clone(),))


@pytest.mark.parametrize("call", ["max(x[0], x[1], 0.5)", "min(2, x[1], 0.5, x[0])", "max(n, x[0], x[1], n)"])
def test_c17_numbers_are_among_the_elements(call: str) -> None:
    source = f"def f(x: Tensor, n: float) -> float:\n    return float({call})\n"
    namespace: dict[str, object] = {"Tensor": Tensor}
    exec(source, namespace)
    for values in ((1.0, 3.0), (-1.0, -3.0)):
        x = flambeau.tensor(values, dtype=flambeau.float64)
        for function in functions(source).values():
            assert function(x, 2.5) == namespace["f"](x, 2.5)  # type: ignore[operator]


def test_c17_the_extreme_of_tensors_with_axes_is_as_ambiguous_as_in_python() -> None:
    for function in functions("def f(x: Tensor) -> Tensor:\n    return max(x, x + 1)\n").values():
        with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
            function(flambeau.ones(3))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_c17_numbers_of_elements_go_round_loops(dtype: str) -> None:
    source = """
def f(x: Tensor):
    best = x[0].item()
    last = x[1].item()
    for k in range(len(x)):
        v = x[k].item()
        if v > best:
            best = v
        last = best
    return best, last
"""
    agree(source, lambda: (flambeau.tensor([0, 1, 3, 2, 0]).to(getattr(flambeau, dtype)),))


def test_c17_numbers_of_several_kinds_stay_numbers() -> None:
    source = """
def f(x: Tensor, i: Tensor, n: int):
    a = x[0].item()
    for k in range(n):
        a = i[k].item() if k % 2 == 0 else a + 1
    return a
"""
    by = functions(source)
    for n in range(3):
        arguments = (flambeau.tensor([1.5]), flambeau.tensor([3, 4, 5]), n)
        assert len({repr(outcome(function, arguments)) for function in by.values()}) == 1


COPIED = """
def f(x: Tensor, w: Tensor):
    for i in range(1, x.size(0) - 1):
        kept = x[i].clone()
        x[i] = 0
        w[i - 1] += kept * 2
        w[i] += kept
        w[i + 1] += kept * x[i + 1]
    return x, w
"""


@pytest.mark.parametrize("size", [0, 2, 3, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
def test_a_copy_of_an_element_is_what_it_was(size: int, dtype: str) -> None:
    values = np.array([(k * 37 % 11) - 5 for k in range(size)])
    if dtype == "float32" and size > 3:
        values = np.where(np.arange(size) % 13 == 5, np.nan, values / 3)
    agree(COPIED, lambda: (wrap(values.astype(dtype)), wrap(np.ones(size, dtype))))


def test_a_copy_of_an_element_that_nobody_writes_has_no_memory() -> None:
    function = flambeau.CompilationUnit(COPIED).f
    function(flambeau.ones(9), flambeau.ones(9))
    text = str(function.llvm_ir)
    body = text[text.index("@flambeau_function(") :]
    assert "@new_block" not in body
