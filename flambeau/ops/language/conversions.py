"""int(), float(), bool(), complex() and str() of numbers, strings and one-element tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.language import int64
from flambeau.ops.language.declare import NEVER, declare, to_bool, to_float, to_int
from flambeau.ops.language.text import value_text
from flambeau.schema.dtype import Category
from flambeau.schema.traits import Fails, Role, Traits
from flambeau.tensor.tensor import Tensor
from flambeau.tensor.truth import ambiguous_truth


def int_of_text(text: str) -> int:
    """A decimal integer. Raises RuntimeError for other texts and for what 64 bits cannot hold."""
    try:
        value = int(text)
    except ValueError:
        raise RuntimeError(f"invalid literal for int() with base 10: '{text}'") from None
    if not int64.MIN <= value <= int64.MAX:
        raise RuntimeError(f"invalid literal for int() with base 10: '{text}' does not fit in 64 bits")
    return value


def float_of_text(text: str) -> float:
    """A float, `inf` or `nan`. Raises RuntimeError for other texts."""
    try:
        return float(text)
    except ValueError:
        raise RuntimeError(f"could not convert string to float: '{text}'") from None


def _spells(conversion: Callable[[str], Any]) -> Callable[[str], bool]:
    """Whether a text is one of those that a conversion takes."""

    def kernel(text: str) -> bool:
        try:
            conversion(text)
        except RuntimeError:
            return False
        return True

    return kernel


def truth(tensor: Tensor) -> bool:
    """Whether the only element is nonzero. Raises RuntimeError for any other number of elements."""
    size = tensor._array.size
    if size != 1:
        raise RuntimeError(ambiguous_truth(size))
    return bool(tensor.item())


def _int_of_number(value: Any) -> int:
    if isinstance(value, complex):
        value = _real_only(value, "int64_t")
    return int64.from_float(value) if isinstance(value, float) else int(value)


def _int_of_tensor(tensor: Tensor) -> int:
    value = tensor.item()
    if not isinstance(value, complex) and not -9223372036854775808.0 <= value < 9223372036854775808.0:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return _int_of_number(value)


def _float_of_number(value: Any) -> float:
    return _real_only(value, "double") if isinstance(value, complex) else float(value)


def _real_only(value: complex, target: str) -> float:
    if value.imag != 0:
        raise RuntimeError(f"value cannot be converted to type {target} without overflow")
    return value.real


def _implicit(tensor: Tensor, accepts: tuple[Category, ...], wanted: str) -> Any:
    """The number in a 0-d tensor passed where a number is expected. Raises RuntimeError for anything else."""
    if tensor.requires_grad:
        raise RuntimeError(f"Cannot input a tensor that requires grad as a scalar argument; pass {wanted}(x.detach())")
    if tensor._array.ndim != 0:
        raise RuntimeError("Cannot input a tensor of dimension other than 0 as a scalar argument")
    if tensor.dtype.category not in accepts:
        dtype, what = tensor.dtype.display, WANTED[wanted]
        raise RuntimeError(f"Cannot input a tensor of type {dtype} as {what} argument; convert it with {wanted}(x)")
    return tensor.item()


WANTED: Final = {"int": "an integral", "float": "a float", "complex": "a complex", "number": "a number"}
"""What is wanted of a tensor that stands for a number, as messages say it."""
_CAST: Final = Traits(role=Role.NUMBER_CAST)
_IMPLICIT: Final = Traits(role=Role.NUMBER_CAST, is_implicit_cast=True)
_TOTAL_CAST: Final = Traits(role=Role.NUMBER_CAST, fails=Fails.NEVER)

declare("aten::Int.float(float a) -> int", int64.from_float, scalar=to_int, traits=_CAST)
declare("aten::Int.bool(bool a) -> int", int, scalar=to_int, traits=_CAST)
declare("aten::Int.Scalar(Scalar a) -> int", _int_of_number, traits=_CAST)
declare("aten::Int.str(str a) -> int", int_of_text, traits=_CAST)
declare("aten::Int.Tensor(Tensor a) -> int", _int_of_tensor, traits=_CAST)
declare("aten::Float.int(int a) -> float", float, scalar=to_float, traits=_TOTAL_CAST)
declare("aten::Float.bool(bool a) -> float", float, scalar=to_float, traits=_TOTAL_CAST)
declare(
    "aten::Float.Scalar(Scalar a) -> float",
    _float_of_number,
    traits=Traits(role=Role.NUMBER_CAST, fails=Fails.NOT_ON_REALS),
)
declare("aten::Float.str(str a) -> float", float_of_text, traits=_CAST)
declare("python::spells_int(str text) -> bool", _spells(int_of_text), traits=NEVER)
declare("python::spells_float(str text) -> bool", _spells(float_of_text), traits=NEVER)
declare("aten::Float.Tensor(Tensor a) -> float", lambda t: _float_of_number(t.item()), traits=_CAST)
declare("aten::Bool.int(int a) -> bool", bool, scalar=to_bool, traits=_TOTAL_CAST)
declare("aten::Bool.float(float a) -> bool", bool, scalar=to_bool, traits=_TOTAL_CAST)
declare("aten::Bool.Tensor(Tensor a) -> bool", truth, traits=_CAST)
declare("aten::Complex.Scalar(Scalar a) -> complex", complex)
for _a in ("int", "float", "bool"):
    for _b in ("int", "float", "bool"):
        declare(f"aten::Complex.{_a}_{_b}({_a} x, {_b} y) -> complex", complex)


def _part(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _complex_of_parts(a: Any, b: Any) -> complex:
    return complex(_part(a), _part(b))


declare("aten::Complex.Tensor_Tensor(Tensor a, Tensor b) -> complex", _complex_of_parts)
for _a in ("int", "float", "bool"):
    declare(f"aten::Complex.{_a}_Tensor({_a} x, Tensor y) -> complex", _complex_of_parts)
    declare(f"aten::Complex.Tensor_{_a}(Tensor x, {_a} y) -> complex", _complex_of_parts)
declare("aten::str(t elem) -> str", value_text)

_REALS: Final = (Category.BOOL, Category.INTEGER, Category.FLOAT)
_NUMBERS: Final = (*_REALS, Category.COMPLEX)
declare("aten::IntImplicit(Tensor a) -> int", lambda t: _implicit(t, (Category.INTEGER,), "int"), traits=_IMPLICIT)
declare(
    "aten::FloatImplicit(Tensor a) -> float", lambda t: float(_implicit(t, _REALS, "float")), traits=_IMPLICIT
)
declare(
    "aten::ComplexImplicit(Tensor a) -> complex",
    lambda t: complex(_implicit(t, _NUMBERS, "complex")),
    traits=Traits(is_implicit_cast=True),
)
declare("aten::ScalarImplicit(Tensor a) -> Scalar", lambda t: _implicit(t, _NUMBERS, "number"), traits=_IMPLICIT)
