"""Lists of tensors as arguments, natively: alike or not, changed, shared, written to, returned, nested."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.codegen.graph.one_meaning import Arguments, agree, assert_native, calls, functions
from tests.processes import as_users_have

INF, NAN = float("inf"), float("nan")


def floats(*sizes: int, dtype: str = "float64") -> Tensor:
    """Numbers from -2 upwards in steps of 0.75."""
    count = 1
    for n in sizes:
        count *= n
    return (flambeau.arange(count).to(getattr(flambeau, dtype)) * 0.75 - 2).reshape(sizes)


def ints(*values: int, dtype: str = "int64") -> Tensor:
    return flambeau.tensor(values, dtype=getattr(flambeau, dtype))


def twice(x: Tensor) -> list[Tensor]:
    return [x, x]


ALIKE: dict[str, tuple[str, Arguments]] = {
    "a sum in a loop": ("""
def f(xs: List[Tensor]) -> Tensor:
    total = xs[0]
    for x in xs:
        total = total + x * 2
    return total
""", lambda: ([floats(3, 4), floats(3, 4) * 3, floats(3, 4)],)),
    "tensors that broadcast": ("""
def f(xs: List[Tensor]) -> Tensor:
    total = xs[0]
    for k in range(1, len(xs)):
        total = total * xs[k] - 1
    return total
""", lambda: ([floats(1, 4), floats(3, 1), floats(3, 4), floats(1, 1)],)),
    "tensors that lie in any way": ("""
def f(xs: List[Tensor]) -> Tuple[Tensor, float]:
    total, last = xs[0], 0.0
    for x in xs:
        total = total + x
        last += float(x[0, -1])
    return total, last
""", lambda: ([floats(4, 3).t(), floats(3, 8)[:, ::2], floats(1, 4).expand(3, 4), floats(3, 4)],)),
    "special values": ("""
def f(xs: List[Tensor]) -> Tensor:
    y = xs[0]
    for x in xs:
        y = flambeau.where(x != x, y, flambeau.maximum(x, y))
    return y
""", lambda: ([flambeau.tensor(x) for x in ([NAN, -0.0, INF], [0.0, 0.0, -INF], [1.0, NAN, 2.5])],)),
    "two lists side by side": ("""
def f(a: List[Tensor], b: List[Tensor], x: Tensor) -> Tensor:
    for w, c in zip(a, b):
        x = flambeau.relu(x @ w + c)
    return x
""", lambda: ([floats(4, 4), floats(4, 4) - 1], [floats(4), floats(4) * 2], floats(3, 4))),
    "elements written": ("""
def f(xs: List[Tensor]) -> int:
    for k, x in enumerate(xs):
        for i in range(x.size(0)):
            x[i] = x[i] * 2 + k
    return len(xs)
""", lambda: ([ints(1, 2, 3), ints(4), ints()],)),
    "tensors written in place": ("""
def f(xs: List[Tensor], y: Tensor) -> Tensor:
    for x in xs:
        x.add_(y)
        y = y + x
    return y
""", lambda: ([floats(3), floats(3) * 2], floats(3))),
    "one tensor twice, written": ("""
def f(xs: List[Tensor]) -> Tensor:
    xs[0][0] = 10.0
    xs[1][1] = float(xs[0][0]) + 1.0
    return xs[1] + xs[0]
""", lambda: (twice(floats(3)),)),
    "memory shared with another argument": ("""
def f(xs: List[Tensor], y: Tensor) -> Tensor:
    for x in xs:
        x[0] = 7.0
    return y * 2
""", lambda: (lambda y: ([y[1:], y[2:]], y))(floats(5))),
    "an item given back": ("""
def f(xs: List[Tensor], n: int) -> Tensor:
    best = xs[0]
    for x in xs:
        if float(x.sum()) > float(best.sum()):
            best = x
    return best
""", lambda: ([floats(3), floats(3) + 1, floats(3) - 1], 2)),
    "views of items given back": ("""
def f(xs: List[Tensor]) -> Tuple[Tensor, Tensor]:
    return xs[0][1:], xs[-1].t()
""", lambda: ([floats(3, 2), floats(2, 2)],)),
    "a list with more": ("""
def f(xs: List[Tensor], y: Tensor) -> int:
    xs.append(y)
    xs.append(y * 2)
    xs.pop(0)
    n = 0
    for x in xs:
        n += int(x.sum())
    return n
""", lambda: ([floats(2, 2), floats(2, 3)], floats(3, 1))),
    "items replaced": ("""
def f(xs: List[Tensor]) -> Tensor:
    for k in range(len(xs)):
        xs[k] = xs[k] * k
    return xs[0] + xs[1] + xs[2]
""", lambda: ([floats(3), floats(3), floats(3)],)),
    "a list of results": ("""
def f(xs: List[Tensor]) -> List[Tensor]:
    ys: List[Tensor] = []
    for x in xs:
        ys.append(x * 2)
    ys.append(xs[0])
    return ys
""", lambda: ([floats(3), floats(4)],)),
    "the list given back": ("""
def f(xs: List[Tensor], s: float) -> Tuple[List[Tensor], Tensor]:
    return xs, xs[0] * s
""", lambda: ([floats(3), floats(4)], 2.0)),
    "stacked and joined": ("""
def f(xs: List[Tensor]) -> Tuple[Tensor, Tensor]:
    return flambeau.stack(xs).sum(0), flambeau.cat(xs) * 2
""", lambda: ([floats(3, 2), floats(3, 2) + 1],)),
    "unpacked": ("""
def f(xs: List[Tensor]) -> Tensor:
    a, b = xs
    return a * 2 - b
""", lambda: ([floats(3), floats(3) * 4],)),
    "an index that is wrong": ("""
def f(xs: List[Tensor], k: int) -> Tensor:
    xs[0][0] = 3.0
    return xs[k] + 1
""", lambda: ([floats(3)], 1)),
    "too many to unpack": ("""
def f(xs: List[Tensor]) -> Tensor:
    a, b = xs
    return a * 2 - b
""", lambda: ([floats(3)] * 3,)),
    "a list in a tuple": ("""
def f(p: Tuple[List[Tensor], float]) -> Tensor:
    xs, s = p
    total = xs[0]
    for x in xs:
        total = total + x * s
    return total
""", lambda: (([floats(3), floats(3) + 2], 0.5),)),
    "lists of lists": ("""
def f(xss: List[List[Tensor]]) -> float:
    total = 0.0
    for xs in xss:
        for x in xs:
            total += float(x.sum())
    return total
""", lambda: ([[floats(3), floats(2)], [floats(4)]],)),
    "one tensor": ("""
def f(xs: List[Tensor]) -> Tensor:
    return flambeau.sigmoid(xs[0]) + len(xs)
""", lambda: ([floats(3)],)),
    "empty tensors": ("""
def f(xs: List[Tensor]) -> Tensor:
    y = xs[0].sum()
    for x in xs:
        y = y + x.sum() + x.size(0)
    return y
""", lambda: ([floats(0, 3), floats(2, 0), floats(2, 3)],)),
    "tensors without axes": ("""
def f(xs: List[Tensor]) -> Tensor:
    y = xs[0] * 0
    for x in xs:
        y = y * 2 + x
    return y
""", lambda: ([flambeau.tensor(1.5), flambeau.tensor(2.5), flambeau.tensor(-1.0)],)),
}  # fmt: skip

MIXED: dict[str, tuple[str, Arguments]] = {
    "weights and biases": ("""
def f(x: Tensor, ps: List[Tensor]) -> Tensor:
    for k in range(len(ps) // 2):
        x = flambeau.relu(x @ ps[2 * k] + ps[2 * k + 1])
    return x
""", lambda: (floats(2, 3), [floats(3, 4), floats(4), floats(4, 2), floats(2)])),
    "dtypes": ("""
def f(ps: List[Tensor]) -> Tuple[Tensor, Tensor]:
    a, b, c = ps
    return a * b + c, c[b]
""", lambda: ([floats(3, dtype="float32"), ints(2, 0, 1), floats(3)],)),
    "written": ("""
def f(ps: List[Tensor]) -> int:
    ps[0][0] = 4.0
    ps[1].mul_(3)
    return len(ps)
""", lambda: ([floats(3, dtype="float32"), ints(2, 0, 1)],)),
    "items given back": ("""
def f(ps: List[Tensor]) -> Tuple[Tensor, Tensor]:
    return ps[1], ps[0][1:]
""", lambda: ([floats(3, dtype="float32"), ints(2, 0, 1)],)),
    "one of them empty, one that lies apart": ("""
def f(ps: List[Tensor]) -> Tensor:
    return ps[0].sum() + ps[1].exp().sum()
""", lambda: ([floats(0, 3), floats(8, dtype="float32")[::2]],)),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_lists_of_tensors_alike(name: str) -> None:
    agree(*ALIKE[name])


@pytest.mark.parametrize("name", MIXED)
def test_lists_of_tensors_that_differ(name: str) -> None:
    agree(*MIXED[name])


SUM = """
def f(xs: List[Tensor]) -> Tensor:
    total = xs[0].sum()
    for x in xs:
        total = total + x.sum()
    return total
"""


def _called(arguments: list[Any], times: int = 4) -> Any:
    function = functions(SUM)["native"]
    for _ in range(times):
        function(arguments)
    return function


def test_any_number_of_tensors_of_any_size_needs_one_compilation() -> None:
    function = _called([floats(3, 4)])
    served = calls(function)
    for number in (1, 2, 7, 40):
        xs = [floats(k + 1, 5) for k in range(number)]
        assert float(function(xs)) == sum(float(x.sum()) for x in [xs[0], *xs])
    assert calls(function) == served + 4
    assert len(function._executor.plans) == 1
    assert_native(function)
    assert "list of float64[*, *]" in str(function.explain(measure=False))


def test_tensors_of_another_kind_are_compiled_anew_and_never_mistaken() -> None:
    function = _called([floats(3, 4)])
    for other in (floats(3, 4, dtype="float32"), floats(5), ints(1, 2, 3)):
        for xs in ([other, other], [floats(3, 4), other]):
            expected = sum(float(x.sum()) for x in [xs[0], *xs])
            assert float(function(xs)) == pytest.approx(expected)


def test_arrays_in_a_list() -> None:
    function = _called([floats(3, 4)])
    arrays = [np.arange(6.0).reshape(2, 3), np.ones((1, 2))]
    assert float(function(arrays)) == 15.0 + 15.0 + 2.0


def test_no_tensors_at_all() -> None:
    function = _called([floats(3, 4)])
    with pytest.raises(RuntimeError, match="list index out of range"):
        function([])


def test_what_needs_a_gradient_is_served_as_a_plain_tensor() -> None:
    function = _called([floats(3)])
    served = calls(function)
    needs = floats(3).requires_grad_()
    assert float(function([needs, needs])) == float(floats(3).sum()) * 3
    assert calls(function) > served


def test_a_list_that_will_hold_something_else_is_interpreted() -> None:
    by = functions("""
def f(xs: List[Tensor], y: Tensor) -> Tensor:
    xs.append(y)
    return xs[-1] + xs[0]
""")
    for _ in range(4):
        found = [by[name]([floats(3), floats(3)], ints(1, 2, 3)) for name in ("native", "interpreter")]
        assert found[0].tolist() == found[1].tolist()
        assert found[0].dtype is flambeau.float64
        found = [by[name]([ints(1, 2), ints(3, 4)], flambeau.tensor(2.5)) for name in ("native", "interpreter")]
        assert (found[0].dtype, found[0].tolist()) == (found[1].dtype, found[1].tolist())
    told = " ".join(str(by["native"].explain(measure=False)).split())
    assert "parameter %xs.1 is a list of tensors that differ in dtype, rank or need of gradients, or will once" in told


def test_an_empty_list_is_interpreted() -> None:
    by = functions("""
def f(xs: List[Tensor], y: Tensor) -> Tensor:
    for x in xs:
        y = y + x
    return y * 2
""")
    for _ in range(4):
        assert by["native"]([], floats(2)).tolist() == [-4.0, -2.5]
    told = " ".join(str(by["native"].explain(measure=False)).split())
    assert "parameter %xs.1 is an empty list: nothing tells what its Tensor would be" in told


def test_callers_lists_stay_as_they_are() -> None:
    function = functions(ALIKE["a list with more"][0])["native"]
    xs = [floats(2, 2), floats(2, 3)]
    for _ in range(4):
        function(xs, floats(3, 1))
    assert [x.tolist() for x in xs] == [floats(2, 2).tolist(), floats(2, 3).tolist()]


def test_read_only_arrays_are_not_written() -> None:
    function = functions(ALIKE["elements written"][0])["native"]
    for _ in range(4):
        assert function([ints(1, 2), ints(3)]) == 2
    frozen = np.arange(3)
    frozen.flags.writeable = False
    with pytest.raises((RuntimeError, ValueError), match="read-only"):
        function([np.arange(3), frozen])
    assert frozen.tolist() == [0, 1, 2]


def test_misaligned_arrays_give_the_same_numbers_and_byte_swapped_ones_are_refused() -> None:
    function = _called([floats(3)])
    odd = np.frombuffer(b"\0" + np.arange(3.0).tobytes(), np.float64, 3, 1)
    assert not odd.flags.aligned
    for _ in range(3):
        assert float(function([np.ones(3), odd])) == 3 + 3 + 3.0
        with pytest.raises(TypeError, match="Convert it first"):
            function([np.ones(3), np.ones(3, ">f8")])


FREED = f"""
import flambeau
f = flambeau.CompilationUnit({SUM!r}).f
for count in (1, 1, 1, 1, 7, 40):
    tensors = [flambeau.ones(k + 1, 5) for k in range(count)]
    assert float(f(tensors)) == 5 + 5 * count * (count + 1) / 2
"""


def test_what_long_lists_were_read_into_is_not_read_once_it_was_freed() -> None:
    """The C library overwrites what is freed."""
    environment = as_users_have(MALLOC_PERTURB_="85")
    done = subprocess.run(
        [sys.executable, "-c", FREED], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
