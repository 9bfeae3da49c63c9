"""Checks of one node that fail with the same values leave by one block, and say what they said."""

import re

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.llvm.engine import available

pytestmark = pytest.mark.skipif(not available(), reason="there is no native code")


def picked(x: Tensor, i: int, j: int, k: int) -> float:
    return float(x[i, j, k]) + 1.0


def picked_in_turn(x: Tensor, i: int, j: int) -> float:
    total = 0.0
    for k in range(3):
        total += float(x[i, k]) * float(x[k, j])
    return total + float(x[i, j])


def arrays(x, rows, columns):
    total = 0.0
    for k in range(len(rows)):
        total += x[rows[k], columns[k]]
    return total


def failed_blocks(text):
    """What each block stores before it leaves, its own names aside."""
    function = text[text.index("@flambeau_function(") :]
    return [
        tuple(re.findall(r"store \w+ (\S+), ptr %v", block))
        for block in re.findall(r"^failed\d+:\n(.*?)(?=^[a-z_]+\d*:|^\})", function, re.MULTILINE | re.DOTALL)
    ]


def test_checks_of_one_node_leave_by_one_block():
    function = flambeau.script(picked)
    x = flambeau.ones(2, 3, 4)
    function.compile(x, 1, 2, 3)
    assert function(x, 1, 2, 3) == 2.0
    stored = [values for values in failed_blocks(function.llvm_ir) if values]
    assert stored
    assert len(stored) == len(set(stored))


def said(function, *arguments):
    with pytest.raises(IndexError) as error:
        function(*arguments)
    return str(error.value)


@pytest.mark.parametrize("indexes", [(2, 0, 0), (0, 3, 0), (0, 0, 4), (-3, 0, 0), (0, -4, 0), (0, 0, -5), (2, 3, 4)])
def test_whichever_check_fails_says_what_the_interpreter_says(indexes):
    x = flambeau.ones(2, 3, 4)
    natively, slowly = flambeau.script(picked), flambeau.script(picked, backend="interpreter")
    natively.compile(x, 0, 0, 0)
    assert natively(x, -2, -3, -4) == slowly(x, -2, -3, -4) == 2.0
    assert said(natively, x, *indexes) == said(slowly, x, *indexes)


def test_checks_in_loops_and_behind_them():
    x = flambeau.arange(9).reshape(3, 3) * 1.0
    natively, slowly = flambeau.script(picked_in_turn), flambeau.script(picked_in_turn, backend="interpreter")
    assert natively(x, 1, 2) == slowly(x, 1, 2)
    for i, j, where in ((3, 0, "float(x[i, k])"), (0, 3, "float(x[k, j])"), (5, 5, "float(x[i, k])")):
        assert said(natively, x, i, j) == said(slowly, x, i, j)
        assert where in said(natively, x, i, j)


def test_programs_on_arrays():
    program = flambeau.script(arrays)
    x, rows, columns = np.arange(12.0).reshape(3, 4), np.array([0, 1, 2]), np.array([3, 2, 1])
    assert program(x, rows, columns) == arrays(x, rows, columns)
    for bad in (np.array([0, 3, 0]), np.array([0, -4, 0])):
        with pytest.raises(IndexError, match=r"is out of bounds for axis \d with size"):
            program(x, bad, columns)
    for bad in (np.array([0, 0, 4]), np.array([-5, 0, 0])):
        with pytest.raises(IndexError, match=r"is out of bounds for axis \d with size"):
            program(x, rows, bad)


def test_a_group_that_succeeded_is_asked_once():
    def halved(x: Tensor, n: int) -> Tensor:
        for _ in range(n):
            x = (x.exp() + 1.0).log().sum(0, keepdim=True) * x
        return x

    function, slowly = flambeau.script(halved), flambeau.script(halved, backend="interpreter")
    x = flambeau.ones(600, 600)
    np.testing.assert_allclose(function(x, 2).numpy(), slowly(x, 2).numpy(), rtol=1e-5)
    text = function.llvm_ir
    comparison = r"(%v\d+) = call i64 @run_group\(.*\n  (%v\d+) = icmp ne i64 (%v\d+), 0\n  br i1 (%v\d+), "
    calls = re.findall(comparison, text)
    assert calls
    assert len(calls) == text.count("call i64 @run_group(")
    assert all(code == compared and test == asked for code, test, compared, asked in calls)
