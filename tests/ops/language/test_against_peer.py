"""Operators on numbers and strings give what the peer's scripted functions give, for hostile operands."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import flambeau.ops
from flambeau.schema import registry
from tests.together import together

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
assert flambeau.ops is not None

VALUES: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, -1, 2, -3, 7, 63, 64, 2**53 + 1, 2**63 - 1, -(2**63)),
    "float": (0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 1e300, -1e308, 5e-324, math.inf, -math.inf, math.nan),
    "bool": (False, True),
    "complex": (0j, 1 + 2j, -1.5j, complex(2, -0.5)),
    "str": ("", "a", "Hello world", " x1 ", "aXa", "12", "ab\ncd"),
}
TRAPS = {"floordiv", "remainder", "divmod", "__round_to_zero_floordiv", "fmod"}
"""Where the peer's process ends for some ints."""
DIFFERS = {
    "aten::remainder.int", "aten::remainder.float", "aten::remainder.int_float", "aten::remainder.float_int",
    "aten::pow.int_to_int", "aten::pow.complex", "aten::pow.complex_float", "aten::pow.float_complex",
    "aten::div.complex", "aten::log.complex_int", "aten::log.int_complex", "aten::log.complex_float",
    "aten::log.float_complex", "aten::angle.float", "aten::ldexp", "aten::gcd.int", "aten::factorial.int",
    "aten::floordiv.float", "aten::floordiv.int_float", "aten::floordiv.float_int",
    "aten::floor.int", "aten::ceil.int", "aten::divmod.float", "aten::divmod.int_float", "aten::divmod.float_int",
    "prim::rangelist",
    "aten::Complex.int_int", "aten::Complex.int_float", "aten::Complex.int_bool", "aten::Complex.float_int",
    "aten::Complex.bool_int", "aten::chr", "aten::ord", "aten::Int.str", "aten::Float.str", "aten::__getitem__.str",
    "prim::StringIndex", "aten::replace", "aten::expandtabs", "aten::center", "aten::ljust", "aten::rjust",
    "aten::zfill", "aten::count", "aten::find", "aten::rfind", "aten::index.str", "aten::rindex", "aten::startswith",
    "aten::endswith", "aten::partition", "aten::rpartition", "aten::rsplit", "aten::splitlines", "aten::Int.float",
    "aten::__lshift__.int", "aten::__rshift__.int",
}  # fmt: skip
"""Where Python is followed on purpose, each with a test of its own."""


def overloads() -> list[Any]:
    """The language's operators on numbers and strings alone."""
    found = []
    for definition in registry.all_definitions():
        types = [str(a.type) for a in definition.schema.arguments]
        if (
            definition.family == "language"
            and definition.full_name not in DIFFERS
            and definition.effect.value == "none"
            and types
            and not definition.schema.is_vararg
            and all(t in VALUES for t in types)
        ):
            found.append(definition)
    return found


def outcome(fn: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        return fn(*arguments)
    except RuntimeError:
        return "refused"


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, float):
        return (a != a and b != b) or a == b or math.isclose(a, b, rel_tol=1e-13)
    return bool(a == b)


def kills(name: str, arguments: tuple[Any, ...]) -> bool:
    """Whether the peer would end the process, or never come back."""
    short = name.partition("::")[2].partition(".")[0]
    if short == "replace" and not any(arguments[:3]):
        return True
    return short in TRAPS and all(isinstance(a, int) for a in arguments) and arguments[1] in (0, -1)


@together("definition", overloads(), ids=lambda d: d.full_name)
def test_same_as_peer(definition: Any) -> None:
    name, _, overload = definition.full_name.partition(".")
    packet = getattr(torch.ops, name.partition("::")[0])
    try:
        peer = getattr(getattr(packet, name.partition("::")[2]), overload or "default")
    except AttributeError:
        pytest.skip("the peer does not hand out this overload")
    choices = [VALUES[str(a.type)] for a in definition.schema.arguments]
    if len(choices) > 2:
        choices = [c[:3] for c in choices]
    for arguments in itertools.product(*choices):
        if kills(name, arguments):
            continue
        expected = outcome(peer, arguments)
        actual = outcome(definition.kernel, arguments)
        assert same(actual, expected), f"{definition.full_name}{arguments}: {actual!r}, not {expected!r}"
