"""Names of things in graphs of Python code: unique ones for values, and how functions are written."""

from __future__ import annotations

import builtins
import keyword
import operator
import re
import types
from collections.abc import Callable
from typing import Any, Final

MAGIC: Final = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}", "floordiv": "{} // {}",
    "mod": "{} % {}", "pow": "{} ** {}", "matmul": "{} @ {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "lshift": "{} << {}", "rshift": "{} >> {}", "getitem": "{}[{}]", "eq": "{} == {}", "ne": "{} != {}",
    "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}", "neg": "-{}", "invert": "~{}",
}  # fmt: skip
"""How functions of `operator` are written with operators, by their names."""
IN_PLACE: Final = {
    "iadd": "{} += {}", "isub": "{} -= {}", "imul": "{} *= {}", "itruediv": "{} /= {}", "ifloordiv": "{} //= {}",
    "imod": "{} %= {}", "ipow": "{} **= {}", "imatmul": "{} @= {}", "iand": "{} &= {}", "ior": "{} |= {}",
    "ixor": "{} ^= {}", "ilshift": "{} <<= {}", "irshift": "{} >>= {}",
}  # fmt: skip
REFLECTABLE: Final = (
    "add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "xor", "or_", "matmul",
)  # fmt: skip
"""The operators that Python also asks the right operand for."""


class Namespace:
    """Names that no two things have.

    >>> names = Namespace()
    >>> names.create("x", None), names.create("x", None), names.create("sum", None), names.create("a.0", None)
    ('x', 'x_1', 'sum_1', 'a_0')
    """

    def __init__(self) -> None:
        self._by_object: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def create(self, candidate: str, thing: Any) -> str:
        """A name like `candidate` for a thing; the same again for a thing that has one."""
        if thing is not None and thing in self._by_object:
            return self._by_object[thing]
        base = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if base[0].isdigit():
            base = f"_{base}"
        match = re.fullmatch(r"(.*)_(\d+)", base)
        number = None
        if match:
            base, number = match.group(1), int(match.group(2))
        name = base if number is None else f"{base}_{number}"
        if number is None or number == 0:
            number = self._counts.get(base, 0)
        while name in self._used or is_taken(name, thing):
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        self._counts[base] = number
        if thing is not None:
            self._by_object[thing] = name
        return name

    def rename(self, thing: Any, name: str) -> None:
        """Note that a thing is called otherwise now."""
        self._by_object[thing] = name
        self._used.add(name)


def is_taken(name: str, thing: Any) -> bool:
    """Whether a name means something to Python, or in every module of code."""
    if name in keyword.kwlist or name in ("inf", "nan", "NoneType", "flambeau", "device", "fx_pytree", "pytree"):
        return True
    own = builtins.__dict__.get(name)
    return own is not None and own is not thing


def snake_case(text: str) -> str:
    """A name in small letters with underscores.

    >>> snake_case("MaxPool2d"), snake_case("layer1.0"), snake_case("__add__"), snake_case("_assert")
    ('max_pool2d', 'layer1_0', 'add', '_assert')
    """
    magic = re.fullmatch(r"__(.+)__", text)
    text = re.sub(r"[^0-9a-zA-Z]+", "_", magic.group(1) if magic else text)
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", text).lower()


def module_of(function: Callable[..., Any]) -> str:
    """The module that a function is reached by: its own, or the public one that has it too."""
    module: str = getattr(function, "__module__", None) or ""
    if module.startswith("flambeau.nn.functions"):
        return "flambeau.nn.functional"
    if module.startswith("flambeau.") and not module.startswith(("flambeau.nn", "flambeau.ops")):
        return "flambeau"
    return module.replace("_operator", "operator")


def qualified_name(function: Callable[..., Any]) -> str:
    """How code writes a function: `flambeau.relu`, `operator.add`, or the name of a builtin.

    >>> import flambeau
    >>> qualified_name(flambeau.relu), qualified_name(operator.add), qualified_name(len)
    ('flambeau.relu', 'operator.add', 'len')
    """
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return name
    if isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        return f"{function.__objclass__.__module__}.{function.__objclass__.__name__}.{name}"
    if hasattr(function, "overloadpacket"):
        return f"flambeau.ops.{function}"
    if name == "<lambda>":
        raise NotImplementedError("Python code generator does not support lambda expressions")
    return f"{module_of(function)}.{name}"


def is_magic(function: Any) -> bool:
    """Whether a function is written with an operator.

    >>> is_magic(operator.add), is_magic(max)
    (True, False)
    """
    name = getattr(function, "__name__", "")
    return (name in MAGIC or name in IN_PLACE) and getattr(operator, name, None) is function
