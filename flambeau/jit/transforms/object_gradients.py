"""Gradients by registered dataclasses, in programs: those by what the fields hold, made an object again.

`grad(loss)` of `loss(p: Layer, x: Tensor) -> Tensor`, where a Layer holds `w` and `b`, is

```
def flat(_0: Tensor, _1: Tensor, _2: Tensor):
    return _f(_k0(w=_0, b=_1), _2)
def transformed(p: Layer, x: Tensor):
    (_g0, _g1,) = _grad(flat, (0, 1))(p.w, p.b, x)
    return _k0(w=_g0, b=_g1)
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flambeau.func.reverse import grad, value_and_grad
from flambeau.jit.transforms.flat_functions import is_registered
from flambeau.jit.transforms.outlines import compiled_text, header_of, joined, names_of, written
from flambeau.program.function import Function
from flambeau.program.gradients import gradient_of
from flambeau.schema.types import ClassType, Type
from flambeau.util.trees import REGISTERED


def gradient(
    kind: str, function: Function, argnums: int | Sequence[int], *, with_value: bool, has_aux: bool
) -> Function:
    """The gradient by some arguments, of which some may be such objects; `with_value`, a pair of the value and that.
    Raises TypeError and ValueError as `gradient_of` does."""
    count = len(function.schema.arguments)
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    if not any(-count <= n < count and fields_of(function.schema.arguments[n].type) for n in numbers):
        return gradient_of(function, argnums, with_value=with_value, has_aux=has_aux)
    o = _Opened(function, [n % count for n in numbers])
    m = o.mark
    left, result = o.gradients, written(o.remade, is_tuple=not isinstance(argnums, int))
    if with_value:
        left, result = f"{m}v, {left}", f"{m}v, {result}"
    elif has_aux:
        left, result = f"{left}, {m}v", f"{result}, {m}v"
    lines = [
        f"def {m}flat({o.header}):", f"    return {m}f({o.call})",
        f"def transformed({header_of(function.schema, o.names)}):",
        f"    {left} = {m}grad({m}flat, {o.numbers}, has_aux={has_aux})({o.leaves})", f"    return {result}",
    ]  # fmt: skip
    known = {f"{m}f": function, f"{m}grad": value_and_grad if with_value else grad, **o.classes.by_name}
    return compiled_text(f"{function.name}_{kind}", lines, known)


class _Opened:
    """The texts of a function some of whose arguments are taken apart."""

    def __init__(self, function: Function, numbers: Sequence[int]) -> None:
        arguments = function.schema.arguments
        self.mark = "_"
        while any(a.name.startswith(self.mark) for a in arguments):
            self.mark += "_"
        self.names = names_of(function.schema, f"{self.mark}a")
        self.classes = _Classes(self.mark)
        leaves: list[tuple[str, Type]] = []
        leaf_numbers: list[list[int]] = []
        for number, (name, argument) in enumerate(zip(self.names, arguments, strict=True)):
            own = list(_leaves(name, argument.type)) if number in numbers else [(name, argument.type)]
            leaf_numbers.append(list(range(len(leaves), len(leaves) + len(own))))
            leaves += own
        self.leaves = joined([text for text, _ in leaves])
        self.header = joined([f"{self.mark}{n}: {type_.annotation}" for n, (_, type_) in enumerate(leaves)])
        parameters = [iter([f"{self.mark}{n}" for n in own]) for own in leaf_numbers]
        self.call = joined([
            self.classes.made(argument.type, texts) if number in numbers else next(texts)
            for number, (argument, texts) in enumerate(zip(arguments, parameters, strict=True))
        ])  # fmt: skip
        self.numbers = tuple([n for number in numbers for n in leaf_numbers[number]])
        """Of the leaves of what is differentiated by."""
        gradients = [f"{self.mark}g{n}" for n in self.numbers]
        self.gradients, texts = written(gradients, is_tuple=True), iter(gradients)
        self.remade = [self.classes.made(arguments[number].type, texts) for number in numbers]
        """The gradients by the arguments, of those by their leaves."""


def _leaves(text: str, type_: Type) -> Iterator[tuple[str, Type]]:
    """What the fields of objects hold, as texts with their types."""
    fields = fields_of(type_)
    if not fields:
        yield text, type_
    for name, declared in fields.items():
        yield from _leaves(f"{text}.{name}", declared)


def fields_of(type_: Type) -> dict[str, Type]:
    """The fields of a registered dataclass; none of another type."""
    if not (isinstance(type_, ClassType) and is_registered(type_)):
        return {}
    names = REGISTERED[type_.definition.python].fields or ()
    return {name: type_.definition.attribute(name).type for name in names}


class _Classes:
    """The classes that a text names."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self.by_name: dict[str, Any] = {}

    def made(self, type_: Type, texts: Iterator[str]) -> str:
        """The text of a value of texts for what lies in it."""
        fields = fields_of(type_)
        if not fields:
            return next(texts)
        cls: Any = type_.definition.python  # type: ignore[attr-defined]
        name = next((n for n, known in self.by_name.items() if known is cls), f"{self._mark}k{len(self.by_name)}")
        self.by_name[name] = cls
        inside = [f"{field}={self.made(declared, texts)}" for field, declared in fields.items()]
        return f"{name}({joined(inside)})"
