"""Where the language does what Python does: compared with Python itself."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import flambeau.ops
from flambeau.schema import registry

assert flambeau.ops is not None
INTS = (1, -1, 2, -3, 7, 63, 2**53 + 1, 2**63 - 1, -(2**63))
FLOATS = (1.0, -1.5, 0.1, 2.5, 1e300, -1e308, 5e-324, math.inf, -math.inf)
TEXTS = ("", "a", "abcabc", " aXa ", "é\u4e2d", "x\ny")


def kernel(name: str) -> Any:
    return registry.get(name).kernel


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("name", ["floordiv", "remainder"])
def test_integer_division(name: str) -> None:
    for a, b in itertools.product(INTS, INTS):
        expected = a // b if name == "floordiv" else a % b
        assert kernel(f"aten::{name}.int")(a, b) == wrapped(expected)


def test_float_remainder_has_the_sign_of_the_divisor() -> None:
    for a, b in itertools.product(FLOATS, FLOATS):
        expected = a % b if math.isfinite(a) else math.nan
        assert repr(kernel("aten::remainder.float")(a, b)) == repr(expected)


def test_float_quotients_are_rounded_down_as_in_python() -> None:
    for a, b in itertools.product((*FLOATS, 1e308, 7.5, 0.3, math.nan), (*FLOATS, 0.3, math.nan)):
        assert repr(kernel("aten::floordiv.float")(a, b)) == repr(a // b)
        assert repr(kernel("aten::divmod.float")(a, b)) == repr(divmod(a, b))
    assert [kernel("aten::floordiv.float")(a, 0.0) for a in (1.0, -1.0)] == [math.inf, -math.inf]


@pytest.mark.parametrize("name", ["floordiv.int", "remainder.int", "__round_to_zero_floordiv.int"])
def test_integer_division_by_zero_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"^division by 0$"):
        kernel("aten::" + name)(7, 0)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("divmod.int", (1, 0), "ZeroDivisionError: integer division or modulo by zero"),
        ("divmod.float", (1.0, 0.0), "ZeroDivisionError: float divmod()"),
        ("pow.int", (0, -1), "0.0 cannot be raised to a negative power"),
        ("pow.int_to_int", (0, -1), "zero to a negative power"),
        ("factorial.int", (-1,), "factorial() not defined for negative values"),
        ("floor.float", (math.inf,), "Cannot convert float inf to integer"),
        ("ceil.float", (math.nan,), "Cannot convert float nan to integer"),
        ("chr", (-1,), "chr() arg not in range(0x110000), found -1"),
        ("ord", ("ab",), "String for ord() must be 1 character, found 2"),
        ("Int.str", ("1.5",), "invalid literal for int() with base 10: '1.5'"),
        ("Int.str", ("9" * 30,), "does not fit in 64 bits"),
        ("Float.str", ("abc",), "could not convert string to float: 'abc'"),
        ("__getitem__.str", ("abc", 5), "string index out of range"),
        ("slice.str", ("abc", None, None, 0), "String slice should have non-zero step"),
        ("slice.t", ([1], None, None, 0), "List slice should have non-zero step"),
        ("slice.t", ([1], None, None, -(2**63)), "List slice step is out of bounds"),
        ("_set_item.t", ([1], 5, 0), "list index out of range"),
        ("Delete.t", ([1], 5), "list index out of range"),
        ("pop.t", ([], -1), "pop from empty list"),
        ("pop.t", ([1], 4), "list index out of range"),
        ("remove.int", ([1], 4), "list.remove(x): x not in list"),
        ("index.list_int", ([1], 5), "'5' is not in list"),
        ("index.list_float", ([1.0], 5.0), "'5' is not in list"),
        ("__getitem__.Dict_str", ({"a": 1}, "b"), "KeyError: b"),
        ("Delete.Dict_int", ({}, 3), "KeyError: 3"),
        ("pop.Dict_str", ({}, "k"), "KeyError: k"),
        ("popitem.str", ({},), "popitem(): dictionary is empty"),
        ("split.str", ("a", "", -1), "empty separator"),
        ("partition", ("a", ""), "empty separator"),
        ("center", ("a", 5, "xy"), "The fill character must be exactly one character long"),
        ("index.str", ("abc", "z", 0, -1), "substring not found"),
        ("hash.generic", ([1],), "unhashable type: 'list'"),
        ("hash.generic", (([1],),), "unhashable type: 'list'"),
        ("__range_length", (0, 3, 0), "range() arg 3 must not be zero"),
        ("_unwrap_optional", (None,), "Unwrapping null optional"),
        ("sorted.any", ([1, "a"],), "Only values of same type can be compared"),
        ("format", ("{} {}", 1), "Too few arguments for format string: {} {}"),
        ("percentFormat", ("%", 1), "Incomplete format specifier"),
        ("percentFormat", ("%d %d", 1), "Too few arguments for format string"),
        ("percentFormat", ("x", 1), "Too many arguments for format string"),
        ("percentFormat", ("%x", 1), "The specifier %x is not supported in TorchScript format strings"),
        ("percentFormat", ("%d", "x"), "%d requires a number for formatting, but got String"),
        ("percentFormat", ("%c", "zz"), "%c requires an int or char for formatting, but got String"),
        ("_infer_size", ([2], [3]), "The size of tensor a (2) must match the size of tensor b (3)"),
    ],
)
def test_refusals(name: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        kernel("aten::" + name)(*arguments)
    assert message in str(caught.value)


def test_empty_extremes_are_refused() -> None:
    for name in ("min", "max"):
        with pytest.raises(RuntimeError, match=rf"{name}\(\) arg is an empty sequence"):
            kernel(f"prim::{name}.self_int")([])


@pytest.mark.parametrize("name", ["find", "rfind", "count", "startswith", "endswith"])
def test_searching_strings(name: str) -> None:
    for text, part in itertools.product(TEXTS, TEXTS):
        assert kernel("aten::" + name)(text, part, 0, -1) == getattr(str, name)(text, part)
        assert kernel("aten::" + name)(text, part, 1, 3) == getattr(str, name)(text, part, 1, 3)


@pytest.mark.parametrize("name", ["ljust", "rjust", "center"])
def test_justifying_strings(name: str) -> None:
    for text, width in itertools.product(TEXTS, (-3, 0, 4, 9)):
        assert kernel("aten::" + name)(text, width, "*") == getattr(str, name)(text, width, "*")


def test_splitting_strings() -> None:
    for text in TEXTS:
        assert kernel("aten::split.str")(text, None, -1) == text.split()
        assert kernel("aten::rsplit")(text, "a", 1) == text.rsplit("a", 1)
        assert kernel("aten::splitlines")(text, True) == text.splitlines(True)
        assert kernel("aten::partition")(text, "a") == text.partition("a")
        assert kernel("aten::replace")(text, "", "-", -1) == text.replace("", "-")
        assert kernel("aten::slice.str")(text, None, None, -1) == text[::-1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3."), (-0.0, "0."), (0.1, "0.10000000000000001"), (1e17, "100000000000000000."), (1e20, "1e+20"),
        (math.nan, "nan"), (-math.inf, "-inf"), (True, "True"), (None, "None"), (1j, "0.+1.j"),
        (-1 - 2.5j, "-1.-2.5j"), ([1.0, 2.5], "[1., 2.5]"), (["a", "b"], "[a, b]"), ({"a": 1}, "{a: 1}"),
        ((1,), "(1,)"), ((1, "a"), "(1, a)"),
    ],
)  # fmt: skip
def test_text_of_values(value: Any, text: str) -> None:
    assert kernel("aten::str")(value) == text
    assert kernel("aten::format")("<{}>", value) == f"<{text}>"


def test_percent_format() -> None:
    text = kernel("aten::percentFormat")("%e %E %f %d %i %c %s %%", 2.75, 2.75, 2.75, 2.75, 97, 97, 2.75)
    assert text == "2.750000e+00 2.750000E+00 2.750000 2 97 a 2.75 %"


def test_integers_wrap() -> None:
    assert kernel("aten::add.int")(2**63 - 1, 1) == -(2**63)
    assert kernel("aten::mul.int")(2**62, 2**62) == 0
    assert kernel("prim::abs.int")(-(2**63)) == -(2**63)
    assert kernel("aten::sum.int")([2**63 - 1, 1]) == -(2**63)
    assert kernel("aten::gcd.int")(-(2**63), -(2**63)) == -(2**63)
    assert kernel("aten::factorial.int")(21) == wrapped(math.factorial(21))
    assert kernel("aten::__lshift__.int")(3, 63) == -(2**63)
    assert kernel("aten::__lshift__.int")(3, 64) == 0
    assert kernel("aten::__rshift__.int")(-3, 1 << 40) == -1


def test_numbers_that_have_no_result_are_refused() -> None:
    for value in (1e19, math.nan, -math.inf):
        with pytest.raises(RuntimeError, match="Cannot convert float"):
            kernel("aten::Int.float")(value)
    for name in ("aten::__lshift__.int", "aten::__rshift__.int"):
        with pytest.raises(RuntimeError, match="negative shift count"):
            kernel(name)(1, -1)


def test_hashes_do_not_depend_on_the_process() -> None:
    assert kernel("aten::hash.generic")("a") == kernel("aten::hash.generic")("a") != kernel("aten::hash.generic")("b")
    assert kernel("aten::hash.generic")(0.0) == kernel("aten::hash.generic")(-0.0)
    assert kernel("aten::hash.generic")(-1) == -1


def test_lists_are_changed_in_place() -> None:
    items = [3, 1, 2]
    same = kernel("aten::append.t")(items, 5)
    assert same is items
    kernel("aten::sort.int")(items, True)
    assert items == [5, 3, 2, 1]
    assert kernel("aten::sorted.int")(items) == [1, 2, 3, 5]
    assert kernel("aten::mul_.t")(items, 2) is items
    assert kernel("aten::mul.left_t")([1], -1) == []


def test_overload_of_a_list_of_tensors_goes_before_the_general_one() -> None:
    from flambeau.schema.match import find_overload
    from flambeau.schema.types import BOOL, TENSOR, ListType

    found = find_overload("aten::sort", (ListType(TENSOR), BOOL))
    assert found is not None
    assert found.full_name == "aten::sort.Tensor"
