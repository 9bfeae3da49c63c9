"""What Python's own types do and TorchScript's do not: formats, keys to sort by, ordering of lists, more of `math`.

Those that extend an operator are further overloads of it; the others are named `python::`. A program that uses them
cannot be run by TorchScript.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

from flambeau.ops.language import int64
from flambeau.ops.language.declare import KEYS, NEVER, OTHER_KEY, as_floats, declare, to_int
from flambeau.schema.dtype import Category, by_code
from flambeau.schema.dtype_limits import NOT_FLOATING, NOT_INTEGER, limit
from flambeau.tensor.tensor import Tensor

# -- texts ------------------------------------------------------------------------------------------------------------


def format_value(value: Any, spec: str) -> str:
    """Python's `format(value, spec)`. Raises RuntimeError for a format that does not fit the value."""
    try:
        return format(value, spec)
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def percent(text: str, *values: Any) -> str:
    """Python's `text % values`, with widths and precisions. Raises RuntimeError for values that do not fit."""
    try:
        return text % values
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def int_of_base(text: str, base: int) -> int:
    """`int(text, base)`. Raises RuntimeError for what is no such number."""
    try:
        return int64.wrap(int(text, base))
    except ValueError as error:
        raise RuntimeError(f"ValueError: {error}") from None


def _float_limit(code: int, name: str) -> float:
    if by_code(code).category == Category.INTEGER:
        raise RuntimeError(f"TypeError: {NOT_FLOATING.format(dtype=by_code(code))}")
    return float(limit(code, name))


def _integer_limit(code: int, name: str) -> int:
    if by_code(code).category != Category.INTEGER:
        raise RuntimeError(f"TypeError: {NOT_INTEGER.format(dtype=by_code(code))}")
    return int(limit(code, name))


def as_array(value: Any) -> Any:
    """A value as it is to Python in programs on arrays: arrays of NumPy in the place of tensors, in containers too."""
    if isinstance(value, Tensor):
        return value.detach().numpy()
    if isinstance(value, list):
        return [as_array(item) for item in value]
    if isinstance(value, tuple):
        items = [as_array(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return {key: as_array(item) for key, item in value.items()} if isinstance(value, dict) else value


declare("python::as_array(Any value) -> Any", as_array)
declare("python::array_text(Any value) -> str", lambda value: str(as_array(value)))
declare("python::format(Any value, str spec) -> str", format_value)
declare("python::percent(str text, ...) -> str", percent)
declare("python::any_eq(Any a, Any b) -> bool", operator.eq)
declare("python::any_ne(Any a, Any b) -> bool", operator.ne)
declare("python::truth(Any value) -> bool", bool)
declare("python::repr(Any value) -> str", repr)
declare("python::ascii(Any value) -> str", ascii)
declare("python::finfo(int dtype, str name) -> float", _float_limit)
declare("python::iinfo(int dtype, str name) -> int", _integer_limit)
declare("python::dtype_bits(int dtype) -> int", lambda code: limit(code, "bits"))
declare("python::dtype_name(int dtype) -> str", lambda code: by_code(code).name)
declare("python::as_dtype(int dtype) -> Any", lambda code: by_code(code).numpy)
declare("python::removeprefix(str self, str prefix) -> str", str.removeprefix)
declare("python::removesuffix(str self, str suffix) -> str", str.removesuffix)
declare("python::casefold(str self) -> str", str.casefold)
declare("python::isascii(str self) -> bool", str.isascii)
declare("python::bit_length(int self) -> int", int.bit_length)
declare("python::bit_count(int self) -> int", int.bit_count)
declare("python::is_integer(float self) -> bool", float.is_integer)
declare("python::int_of_base(str text, int base) -> int", int_of_base)
declare("aten::mul.str_int(str a, int b) -> str", operator.mul, traits=NEVER)
declare("aten::mul.int_str(int a, str b) -> str", operator.mul, traits=NEVER)

# -- containers -------------------------------------------------------------------------------------------------------


def _index(items: list[Any], value: Any) -> int:
    try:
        return items.index(value)
    except ValueError:
        raise RuntimeError(f"'{value}' is not in list") from None


def _remove(items: list[Any], value: Any) -> None:
    try:
        items.remove(value)
    except ValueError:
        raise RuntimeError("list.remove(x): x not in list") from None


def sorted_by(items: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    """The items in the order of their keys; equal ones stay in order. Raises RuntimeError for keys without order."""
    try:
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    except TypeError as error:
        raise RuntimeError(f"Only values of same type can be compared: {error}") from None
    return [items[i] for i in order]


def extreme_by(items: list[Any], keys: list[Any], largest: bool) -> Any:
    """The first item with the smallest or the largest key. Raises RuntimeError for an empty list."""
    if not items:
        raise RuntimeError("min() or max() of an empty list")
    pick: Callable[..., int] = max if largest else min
    return items[pick(range(len(items)), key=keys.__getitem__)]


def merged(first: dict[Any, Any], second: dict[Any, Any]) -> dict[Any, Any]:
    """`first | second`."""
    return {**first, **second}


def set_slice(items: list[Any], start: int | None, stop: int | None, step: int | None, values: list[Any]) -> None:
    """`items[start:stop:step] = values`. Raises RuntimeError as Python does for a step and a count that do not fit."""
    try:
        items[start:stop:step] = values
    except ValueError as error:
        raise RuntimeError(f"ValueError: {error}") from None


def del_slice(items: list[Any], start: int | None, stop: int | None, step: int | None) -> None:
    """`del items[start:stop:step]`. Raises RuntimeError for the step 0."""
    try:
        del items[start:stop:step]
    except ValueError as error:
        raise RuntimeError(f"ValueError: {error}") from None


def check_unpack(items: list[Any], at_least: int) -> list[Any]:
    """The list itself. Raises RuntimeError if it is too short for the targets it is unpacked into."""
    if len(items) < at_least:
        text = f"not enough values to unpack (expected at least {at_least}, got {len(items)})"
        raise RuntimeError(f"ValueError: {text}")
    return items


def check_reduce(items: list[Any]) -> list[Any]:
    """The list itself. Raises RuntimeError if nothing is in it."""
    if not items:
        raise RuntimeError("TypeError: reduce() of empty iterable with no initial value")
    return items


def index_from(items: list[Any], value: Any, start: int = 0, end: int = int64.MAX) -> int:
    """`items.index(value, start, end)`. Raises RuntimeError where it is not there."""
    try:
        return items.index(value, start, end)
    except ValueError:
        raise RuntimeError(f"'{value}' is not in list") from None


def _added(items: list[float], start: float) -> float:
    """From left to right, without compensation."""
    for item in items:
        start += item
    return start


def extreme(items: list[Any], largest: bool) -> Any:
    """The smallest or the largest of values that have an order. Raises RuntimeError for those that have none."""
    if not items:
        raise RuntimeError(f"{'max' if largest else 'min'}() arg is an empty sequence")
    try:
        return max(items) if largest else min(items)
    except TypeError as error:
        raise RuntimeError(f"Only values of same type can be compared: {error}") from None


declare("python::check_unpack(t[](a) l, int at_least) -> t[](a)", check_unpack)
declare("python::distinct(t[] items) -> t[]", lambda items: list(dict.fromkeys(items)))
declare("python::check_reduce(t[](a) items) -> t[](a)", check_reduce)
declare("aten::index.list_from(t[] self, t el, int start=0, int end=9223372036854775807) -> int", index_from)
declare("aten::sum.int_from(int[] self, int start) -> int", lambda items, start: int64.wrap(sum(items, start)))
declare("aten::sum.float_from(float[] self, float start) -> float", lambda items, start: _added(items, start))
declare("aten::all.str(str[] self) -> bool", all)
declare("python::extreme(t[] items, bool largest) -> t", extreme)
declare("python::set_slice(t[](a!) l, int? start, int? stop, int? step, t[] values) -> ()", set_slice)
declare("python::del_slice(t[](a!) l, int? start, int? stop, int? step) -> ()", del_slice)
declare("python::contains(t[] l, t item) -> bool", operator.contains)
declare("python::index(t[] self, t el) -> int", _index)
declare("python::remove(t[](a!) self, t el) -> ()", _remove)
declare("python::count(t[] self, t el) -> int", list.count)
declare("python::sorted_by(t[] items, k[] keys, bool reverse) -> t[]", sorted_by)
declare("python::extreme_by(t[] items, k[] keys, bool largest) -> t", extreme_by)
declare("python::reversed(t[] items) -> t[]", lambda items: items[::-1])
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    declare(f"python::{_name}(t[] a, t[] b) -> bool", getattr(operator, _name))
for _key in (*KEYS, OTHER_KEY):
    _dict = f"Dict({_key}, t)"
    if _key != "Tensor":
        declare(f"aten::eq.Dict_{_key}({_dict} a, {_dict} b) -> bool", operator.eq)
        declare(f"aten::ne.Dict_{_key}({_dict} a, {_dict} b) -> bool", operator.ne)
    declare(f"python::merged.{_key}({_dict} a, {_dict} b) -> {_dict}", merged)

# -- numbers ----------------------------------------------------------------------------------------------------------


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose errors are errors of the operator."""

    def kernel(*values: Any) -> Any:
        try:
            return function(*values)
        except (ValueError, OverflowError) as error:
            raise RuntimeError(f"{type(error).__name__}: {error}") from None

    return kernel


def is_close(a: float, b: float, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    """`math.isclose`."""
    return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)


def _power_modulo(base: int, exponent: int, modulus: int) -> int:
    return pow(base, exponent, modulus)


declare("aten::pow.modulo(int base, int exp, int mod) -> int", _checked(_power_modulo))
declare("python::polar(complex z) -> (float, float)", cmath.polar)
declare("python::round(float number, int ndigits) -> float", round)
declare("python::round.int(int number, int ndigits) -> int", lambda a, n: int64.wrap(round(a, n)))
declare("python::isclose(float a, float b, *, float rel_tol=1e-09, float abs_tol=0.0) -> bool", is_close)
for _name, _meaning in (("log2", as_floats("log2")), ("cbrt", None), ("exp2", None)):
    declare(f"python::{_name}(float x) -> float", _checked(getattr(math, _name)), scalar=_meaning)
    declare(f"python::{_name}.int(int x) -> float", _checked(getattr(math, _name)), scalar=_meaning)
for _a in ("float", "int"):
    for _b in ("float", "int"):
        declare(f"python::rect.{_a}_{_b}({_a} r, {_b} phi) -> complex", _checked(cmath.rect))
        for _name in ("hypot", "nextafter"):
            declare(f"python::{_name}.{_a}_{_b}({_a} a, {_b} b) -> float", _checked(getattr(math, _name)))
declare("python::trunc(float x) -> int", int64.from_float, scalar=to_int)
declare("python::isqrt(int n) -> int", _checked(math.isqrt))
declare("python::real(complex z) -> float", lambda z: z.real)
declare("python::imag(complex z) -> float", lambda z: z.imag)
declare("python::conjugate(complex self) -> complex", complex.conjugate)
for _name in ("int", "float"):
    declare(f"python::conjugate.{_name}({_name} self) -> {_name}", lambda x: x, scalar=lambda s, x: x)
declare("python::ulp(float x) -> float", math.ulp)
declare("python::comb(int n, int k) -> int", _checked(lambda n, k: int64.wrap(math.comb(n, k))))
declare("python::perm(int n, int k) -> int", _checked(lambda n, k: int64.wrap(math.perm(n, k))))
declare("python::lcm(int a, int b) -> int", lambda a, b: int64.wrap(math.lcm(a, b)))
declare("python::lcm.three(int a, int b, int c) -> int", lambda a, b, c: int64.wrap(math.lcm(a, b, c)))
declare("aten::gcd.three(int a, int b, int c) -> int", lambda a, b, c: int64.wrap(math.gcd(a, b, c)))
declare("python::prod.int(int[] items) -> int", lambda items: int64.wrap(math.prod(items)))
declare("python::prod(float[] items) -> float", lambda items: float(math.prod(items)))
for _a in ("float", "int"):
    _kind = "" if _a == "float" else ".int"
    declare(f"python::fsum{_kind}({_a}[] items) -> float", _checked(math.fsum))
    for _b in ("float", "int"):
        _kind = "" if _a == _b == "float" else f".{_a}_{_b}"
        declare(f"python::dist{_kind}({_a}[] p, {_b}[] q) -> float", _checked(math.dist))
declare("python::hypot.three(Scalar a, Scalar b, Scalar c) -> float", _checked(math.hypot))
