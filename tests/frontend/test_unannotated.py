"""Parameters without annotations: Tensors, or the numbers that a call brings."""

from __future__ import annotations

import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def weighted(x, weight, rounds=2):
    return x * weight + rounds


def test_numbers_make_a_program_on_arrays_and_tensors_one_on_tensors() -> None:
    scripted = flambeau.script(weighted)
    assert scripted(2, 3) == 8
    assert isinstance(scripted(2, 3), int)
    assert scripted(2, 0.5, 1) == 2.0
    assert scripted(np.arange(3, dtype=np.int32), 2).dtype == np.int32
    assert np.array_equal(scripted(np.arange(3), 0.5, rounds=1), np.arange(3) * 0.5 + 1)
    two = flambeau.tensor([1.0, 2.0])
    assert scripted(two, two).tolist() == [3.0, 6.0]
    assert scripted(two, 2.0).tolist() == [4.0, 6.0]
    with pytest.raises(RuntimeError, match="Inferred 'weight' to be of type 'Tensor'"):
        scripted(two, "2.0")


def test_the_default_tells_the_type() -> None:
    def scaled(x, by=0.5, mode="sum", deep=True):
        y = x * by
        return y.sum() if mode == "sum" and deep else y.max()

    def shifted(x, n=1):
        return x + n

    scripted = flambeau.script(scaled)
    assert str(scripted.schema) == 'scaled(Tensor x, float by=0.5, str mode="sum", bool deep=True) -> Tensor'
    assert float(scripted(flambeau.ones(3), 2.0)) == 6.0
    with pytest.raises(RuntimeError, match="'int' for argument 'n' but instead found type 'str'"):
        flambeau.script(shifted)(flambeau.ones(1), "a")


def test_scripted_helpers_take_the_numbers_of_programs_on_arrays() -> None:
    @flambeau.script
    def half(v):
        return v * 0.5

    def halves(x: np.ndarray) -> np.ndarray:
        out = np.empty_like(x)
        for i in range(len(x)):
            out[i] = half(x[i])
        return out

    assert np.array_equal(flambeau.script(halves)(np.arange(3.0)), [0.0, 0.5, 1.0])


def test_what_calls_bring_is_remembered_by_kind() -> None:
    scripted = flambeau.script(weighted)
    for argument in (1, 1.0, np.ones(2), np.ones(3), 3):
        scripted(argument, 2)
    made = scripted.by_call.function()
    assert len(made.variants_cache) == 3


def test_messages_of_arrays() -> None:
    def named(x: np.ndarray) -> np.ndarray:
        y = x[::-1]
        y[0] = 1
        return y

    def cast(x: np.ndarray, out: np.ndarray) -> None:
        np.multiply(x, 0.5, out=out)

    def sized(x: np.ndarray, out: np.ndarray) -> None:
        np.multiply(x, 2, out=out)

    def widths(x: np.ndarray) -> np.ndarray:
        return np.pad(x, (1, 2, 3))

    def several(x: np.ndarray) -> np.ndarray:
        return np.median(x, out=x)

    with pytest.raises(CompileError, match=r"one memory to NumPy, and two here.*: x\[::-1\]\.copy\(\)"):
        flambeau.script(named)
    with pytest.raises(CompileError, match=r"output from dtype\('float64'\) to dtype\('int64'\) with casting rule"):
        flambeau.script(cast)(np.arange(3), np.arange(3))
    with pytest.raises(ValueError, match=r"np\.multiply: the array of out= has other sizes than the result"):
        flambeau.script(sized)(np.arange(3), np.arange(4))
    with pytest.raises(CompileError, match=r"np\.pad takes one width, two for the ends of each axis, or a pair"):
        flambeau.script(widths)
    with pytest.raises(CompileError, match=r"median: median\(\) got an unexpected keyword argument 'out'"):
        flambeau.script(several)


def test_messages_of_shapes_types_and_graphs() -> None:
    def deeper(x: np.ndarray) -> int:
        return x.shape[1]

    def unknown(x: np.ndarray) -> float:
        return x.foo

    def widening(x: np.ndarray):
        total = 0
        for v in x:
            total += v
        return total

    def converted(x: np.ndarray) -> np.ndarray:
        return x.astype(np.float32)

    with pytest.raises(CompileError, match=r"shape\[1\] of an array with 1 dimension"):
        flambeau.script(deeper)(np.arange(3))
    with pytest.raises(CompileError, match=r"'np\.ndarray' object has no attribute or method 'foo'"):
        flambeau.script(unknown)(np.arange(3))
    assert flambeau.script(widening)(np.arange(3.0)) == 3.0
    scripted = flambeau.script(converted)
    with pytest.raises(CompileError, match="converted is compiled for the dtypes and ranks of the arrays that a call"):
        _ = scripted.graph
    scripted(np.arange(3))
    assert "aten::to" in str(scripted.graph)


@pytest.mark.parametrize("other", [2, 2.0, True])
@pytest.mark.parametrize("sign", ["/", "**"])
def test_complex_numbers_with_others_are_complex(other: complex, sign: str) -> None:
    kind = type(other).__name__
    unit = flambeau.CompilationUnit(f"def f(a: complex, n: {kind}):\n    return a {sign} n, n {sign} a")
    assert str(unit.f.schema.returns[0].type) == "(complex, complex)"
    a = 1 + 2j
    assert unit.f(a, other) == ((a / other, other / a) if sign == "/" else (a**other, other**a))


def length(x):
    return np.linalg.norm(x, axis=-1), np.sum(x > 0) * np.arange(2)


def scaled(x, by: float = 2.0):
    return np.sqrt(x) * by


def picked(rows, k):
    return np.maximum(rows[0], rows[1])[k]


def test_what_names_numpy_is_of_arrays_where_calls_bring_arrays() -> None:
    x = np.array([[3.0, 4.0], [0.0, -1.0]])
    scripted = flambeau.script(length)
    for _ in range(4):
        norms, counts = scripted(x)
        assert type(norms) is np.ndarray
        assert norms.tolist() == [5.0, 1.0]
        assert type(counts) is np.ndarray
        assert counts.tolist() == [0, 2]
    assert "aten::linalg_norm" in str(scripted.graph)
    assert scripted.explain().compilations
    norms, _ = scripted(flambeau.from_numpy(x))
    assert isinstance(norms, flambeau.Tensor)
    assert norms.tolist() == [5.0, 1.0]
    halves = flambeau.script(scaled)
    assert halves(x[0], by=0.5).dtype == np.float64
    assert halves(x[0].astype(np.float32)).dtype == np.float32
    assert flambeau.func.grad(halves)(flambeau.tensor(4.0)).tolist() == 0.5
    assert flambeau.script(picked)([x[0], x[1]], 0) == 3.0
    assert flambeau.script(picked)((x[0], x[1]), 1) == 4.0


def test_scalars_of_numpy_are_what_they_are_to_numpy() -> None:
    def total(x, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return s

    def mixed(x: np.ndarray, by):
        return x * by, by + 1, by

    assert flambeau.script(total)(np.arange(5.0), np.int64(3)) == 3.0
    scripted, x = flambeau.script(mixed), np.ones(2, np.float32)
    for by in (np.float64(0.5), np.float32(0.5), np.int8(3), np.bool_(True), 0.5, 2):
        for _ in range(4):
            for ours, numpys in zip(scripted(x, by), mixed(x, by), strict=True):
                assert np.asarray(ours).dtype == np.asarray(numpys).dtype
                assert np.array_equal(ours, numpys)


def test_numbers_beside_what_a_call_brings_are_no_mixed_list() -> None:
    def turned(x, angle):
        return np.array([[1.0, angle], [-angle, 1.0]]) @ x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scripted = flambeau.script(turned)
        assert scripted(np.ones(2), 0.5).tolist() == [1.5, 0.5]


def test_what_has_no_meaning_for_tensors_is_compiled_for_what_a_call_brings() -> None:
    def distinct(pairs):
        seen = set()
        for i in range(len(pairs)):
            seen.add((pairs[i, 0], pairs[i, 1]))
        return len(seen)

    def element(x, i):
        try:
            return x[i]
        except IndexError:
            return -1.0

    def total(x):
        s = 0.0
        for v in x.flat:
            s += v
        return s

    def chosen(out, x, n):
        for i in range(len(x)):
            for j in range(2):
                out[i, j] = n if x[i] > j else 1
        return out

    assert flambeau.script(distinct)(np.array([[1, 2], [2, 1], [1, 2]])) == 2
    assert flambeau.script(chosen)(np.zeros((2, 2)), np.array([1, 2]), 7).tolist() == [[7.0, 1.0], [7.0, 7.0]]
    assert flambeau.script(element)(np.ones(2), 1) == 1.0
    assert flambeau.script(element)(np.ones(2), 2) == -1.0
    assert flambeau.script(total)(np.ones((2, 3))) == 6.0


def test_what_neither_has_is_refused_at_once() -> None:
    def flat(x):
        return x.fiat

    with pytest.raises(CompileError, match="no attribute or method 'fiat'"):
        flambeau.script(flat)


Rates = namedtuple("Rates", ["beta", "n"])
Line = namedtuple("Line", ["slopes", "start"])


@dataclass
class Account:
    balance: float
    years: int


def grown(p, x):
    for _ in range(3):
        x = x * p.beta + p.n
    return x


def along(p, k):
    total = 0
    for i in range(len(p.slopes)):
        total += p.slopes[i] * k + p.start
    return total


def of_all(ps, k):
    total = 0
    for p in ps:
        total += p.beta * k
    for i in range(len(ps)):
        total += ps[i].n
    return total


def later(p, rate):
    p.years += 1
    p.balance *= rate
    return p.balance / p.years


def test_named_tuples_and_objects_are_what_a_call_brings() -> None:
    scripted = flambeau.script(grown)
    for rates in (Rates(1.5, 2), Rates(2, 1), Rates(2, True), Rates(2.5, 0.5), Account(1.0, 2)) * 3:
        for x in (3, 0.5, np.ones(2)):
            if isinstance(rates, Account):
                with pytest.raises(CompileError, match="or method 'beta'"):
                    scripted(rates, x)
                continue
            got, wanted = scripted(rates, x), grown(rates, x)
            assert type(got) is type(wanted)
            assert np.array_equal(got, wanted)
    for number in (np.float64(1.5), np.float32(0.1), np.int8(100), np.True_):
        for rates in (Rates(number, 2), Rates(3, number)):
            assert np.array_equal(scripted(rates, np.ones(2)), grown(rates, np.ones(2)))
            assert scripted(rates, 2.0) == grown(rates, 2.0)
    for dtype in (np.float64, np.int64, np.uint8):
        line = Line(np.arange(4).astype(dtype), 2)
        for _ in range(3):
            assert flambeau.script(along)(line, 3) == along(line, 3)
    for rates in ([Rates(1.5, 2), Rates(2.5, 3)], [Rates(1, 2), Rates(2, 3)]):
        assert flambeau.script(of_all)(rates, 3) == of_all(rates, 3)
    mine, wanted = Account(100.0, 1), Account(100.0, 1)
    assert flambeau.script(later)(mine, 1.25) == later(wanted, 1.25)
    assert mine == wanted
