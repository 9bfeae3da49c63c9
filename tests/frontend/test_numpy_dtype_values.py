"""Dtypes as values of programs of arrays: what Python gives for the same source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def itself(a):
    return a.dtype


def attributes(a):
    return a.dtype.name, a.dtype.kind, a.dtype.char, a.dtype.str, a.dtype.itemsize, a.dtype.num, a.dtype.isnative


def equal(a):
    d = a.dtype
    is_float = d == float  # noqa: E721  (a dtype, which equals the type)
    return d == np.float64, d != np.float32, d == "float64", is_float, d == np.dtype("int32"), d == "nonsense", d == 7


def among(a):
    return a.dtype in (np.float64, np.int8), a.dtype in ("float32", "int32"), a.dtype not in [float, "int32"]


def printed(a):
    d = a.dtype
    return str(d), f"{d} {a.dtype}", repr(a.dtype), "%s" % d, "{}".format(d)  # noqa: UP031, UP032


def in_containers(a):
    return [a.dtype, np.dtype(np.int32)], (a.dtype, 3), {"x": a.dtype}, {a.dtype: 1}


def of_a_branch(a):
    d = a.dtype if len(a) > 3 else np.dtype("int8")
    return str(d), d, d == np.int8


def of_a_loop(a):
    d = np.dtype(np.int64)
    for _ in range(len(a)):
        d = a.dtype
    return d, str(d)


def perhaps(a):
    d = None
    if a.sum() > 0:
        d = a.dtype
    return d


def makes_arrays(a):
    d = a.dtype
    out = np.empty(len(a), dtype=d)
    for i in range(len(a)):
        out[i] = a[i] * 2
    return out, np.zeros(2, np.result_type(a, np.float32)), a.astype(np.dtype("f4")), np.ones(1, dtype=np.dtype(bool))


def named(a):
    return np.dtype("c8"), np.dtype(float), np.dtype(a.dtype), np.dtype(np.uint8), np.dtype("<i2"), np.dtype(int)


def functions(a):
    return (
        np.result_type(a, 1), np.result_type(a, 1.5), np.result_type(a.dtype, np.float32),
        np.promote_types(a.dtype, "f4"), np.can_cast(a.dtype, np.float32),
        np.can_cast(a.dtype, "i4", casting="unsafe"), np.can_cast(np.int8, a.dtype),
        np.issubdtype(a.dtype, np.floating), np.issubdtype(a.dtype, np.integer), np.issubdtype(np.int32, np.number),
    )  # fmt: skip


def limits(a):
    x = a.astype(np.float32)
    return x * np.finfo(np.float32).eps, x * np.finfo(float).eps, np.iinfo(np.uint8).max + 1, np.finfo("f4").bits


def of_elements(a):
    return a[0].dtype, a.sum().dtype, a.dtype.type(3) * a, np.float32(1).dtype


def inner(x):
    return x.dtype


def through_functions(a):
    return inner(a), inner(a.astype(np.int8)), np.zeros_like(a, dtype=np.int8).dtype, (a + 1j).dtype


PROGRAMS = (
    itself, attributes, equal, among, printed, in_containers, of_a_branch, of_a_loop, perhaps, makes_arrays, named,
    functions, limits, of_elements, through_functions,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_python_gives(program: Callable[..., Any]) -> None:
    function = flambeau.script(program)
    for array in (
        np.array([1.5, 2, 3]), np.array([1, -2, 3, 9], np.int32), np.array([-1, 2.5], np.float32),
        np.array([-4.0, 1, 2, 3]), np.array([1.5, 2, 3]), np.array([True, False]), np.array([1, 2j]),
    ):  # fmt: skip
        if array.dtype.kind == "c" and program in (limits, makes_arrays, perhaps, through_functions):
            continue  # complex numbers lose their parts there, with a warning, or have no order
        assert _shown(function(array)) == _shown(program(array))
        assert _shown(function(array)) == _shown(program(array))


def _shown(value: Any) -> Any:
    """A result as text; arrays by their bytes, and numbers as Python has them."""
    if isinstance(value, tuple | list):
        return type(value), [_shown(one) for one in value]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return repr(value.item() if isinstance(value, np.generic) else value)


def named_and_compared(d):
    return d.name, d.itemsize, d == np.float64


def zeros_of(d, n):
    return np.zeros(n, dtype=d)


def passed_on(a):
    def width(d):
        return d.itemsize

    one, other = named_and_compared(a.dtype), named_and_compared(np.dtype("i1"))
    return one, other, zeros_of(a.dtype, 2), zeros_of(np.int16, 3), width(a.dtype), width(np.dtype("i1"))


def changed_behind(a):
    d, total = np.dtype("i8"), 0
    for _ in range(3):
        total += np.zeros(2, dtype=d).itemsize
        d = a.dtype
    return total


@pytest.mark.parametrize("program", [passed_on, changed_behind])
def test_each_dtype_has_code_of_its_own(program: Callable[..., Any]) -> None:
    function = flambeau.script(program)
    for dtype in (np.float64, np.int32, np.float32, np.float64):
        assert _shown(function(np.ones(3, dtype))) == _shown(program(np.ones(3, dtype)))


def zeros(n, dtype):
    return np.zeros((n, 2), dtype=dtype)


def converted(x, dtype=np.float32):
    return x.astype(dtype)


def summed(x, dtype=float):
    y = np.ones(len(x), dtype) + x
    return y, y.dtype == dtype, np.dtype(dtype).kind


@pytest.mark.parametrize("dtype", [np.float64, np.dtype("i4"), int, np.float32, bool, np.complex128])
def test_dtypes_as_arguments(dtype: Any) -> None:
    for program, first in ((zeros, 3), (converted, np.array([0.0, 1.5])), (summed, np.arange(3)), (zeros, 1)):
        function = flambeau.script(program)
        for others in ((dtype,), (np.int8,), (dtype,)):
            assert _shown(function(first, *others)) == _shown(program(first, *others))
        assert _shown(function(first, dtype=dtype)) == _shown(program(first, dtype=dtype))
        if program is not zeros:
            assert _shown(function(first)) == _shown(program(first))


def added(a):
    return a.dtype + 1


def rooted(a):
    return np.sqrt(a.dtype)


def negated(a):
    return -a.dtype


def indexed(a):
    return a[a.dtype]


def collected(a):
    return np.array([a.dtype])


def beside_arrays(a):
    return np.maximum(a, a.dtype), a * a.dtype


def ordered(a):
    return a.dtype < np.float64


def identical(a):
    return a.dtype is np.float64


def fields(a):
    return np.dtype(a.dtype).fields


def of_several(a):
    d = a.dtype if len(a) > 3 else np.dtype("int8")
    return d.itemsize


def unnamed(a):
    return np.dtype(a)


def of_texts(a):
    return np.result_type("U3", a)


def of_nothing_known(a):
    return np.can_cast([1, 2], np.int8)


def of_any_number(a):
    number = a[0] if len(a) > 1 else 2.5
    return np.result_type(a, number)


def of_unlike_arrays(a):
    collected = [np.zeros(2)]
    collected.append(np.zeros((2, 2), np.int8))
    return collected


def refused_cast(a):
    return np.can_cast(a.dtype, np.int8, casting="sometimes")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        *[(f, "dtypes are no numbers") for f in (added, rooted, negated, indexed, collected, beside_arrays)],
        (ordered, "dtypes have no order in programs: np.can_cast"),
        (identical, "dtypes are compared by =="),
        (fields, "dtypes have no fields in programs: they have name, kind"),
        (of_several, "which dtype this is, only the run tells: ask the array itself, as in x.dtype.itemsize"),
        (unnamed, "np.dtype takes dtypes here: x.dtype, np.float32, float, 'float32'"),
        (of_texts, "np.result_type gives <U32 here, of which programs have no arrays"),
        (of_nothing_known, "np.can_cast takes dtypes here"),
        (of_any_number, "np.result_type: of which dtype this number is, only the run tells"),
        (of_unlike_arrays, "here np.ndarray of float64 with 1 dimension, and now np.ndarray of int8 with 2 dimensions"),
        (refused_cast, "np.can_cast: casting must be one of"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_refused(program: Callable[..., Any], message: str) -> None:
    with pytest.raises(CompileError) as caught:
        flambeau.script(program)(np.ones(3))
    assert message in str(caught.value)


def late(x):
    total = 0.0
    for v in x.tolist():
        total += v
    return total + x.splork()


def at_once(x):
    return np.sqrt(x) + x.splork()


@pytest.mark.parametrize("program", [late, at_once])
def test_what_is_refused_of_arrays_is_said_of_them(program: Callable[..., Any]) -> None:
    """The meaning that a function has for longest is blamed: tensors have no `tolist` without a type."""
    with pytest.raises(CompileError, match=r"'np.ndarray' object has no attribute or method 'splork'"):
        flambeau.script(program)(np.ones(3))
