"""Attributes of nodes from text: literals, types, and stand-ins for tensors and objects."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from flambeau.ir.literals import EnumMember, Opaque, TensorLiteral
from flambeau.schema import dtype as dtypes
from flambeau.schema.device import Device
from flambeau.schema.lexer import Tokens, unescape
from flambeau.schema.type_parser import WORDS, TypeParser, parse_number
from flambeau.schema.types import (
    BoolType,
    ClassType,
    ComplexType,
    DeviceType,
    DictType,
    EnumType,
    FloatType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.util.names import is_qualified

MakeTensor = Callable[[TensorLiteral, Type], Any]
"""Makes a tensor of what text says of it."""

_COLUMNS = re.compile(
    r"(?:Columns \d+ to \d+|\(\d+(?:,\d+|,\.)*\) =|true|false|nan|inf|[-+0-9.eEj*()]|\s)*\[ (\w+)Type\{([\d,]*)\} \]"
)
"""A tensor with up to ten elements: ` 1  2 [ CPULongType{2} ]`."""
_ELEMENT = re.compile(r"\{(?:(-?(?:nan|inf|[\d.e+-]+))|\((-?[\w.+-]+),(-?[\w.+-]+)\))\}")
"""A tensor with one element: `{3}`, `{(2,3)}`."""
_BACKENDS = ("CPU", "CUDA", "Meta")
_OF_LITERALS: dict[type[Type], tuple[tuple[type, ...], Callable[[Any], Any]]] = {
    BoolType: ((int,), bool), FloatType: ((int,), float), ComplexType: ((int, float), complex),
    DeviceType: ((str,), Device),
}  # fmt: skip
"""Types whose values are written as literals of other types: those of Python's types, and what makes the value."""


class ConstantParser:
    """Reads values of attributes from the parser's own tokens."""

    def __init__(self, tokens: Tokens, types: TypeParser, make_tensor: MakeTensor | None) -> None:
        self.tokens = tokens
        self.types = types
        self.make_tensor = make_tensor

    def value(self, start: int, type_: Type | None) -> Any:
        """The value whose text begins at offset `start`, for a constant of this type."""
        tensor = self._tensor(start)
        return self._literal(type_) if tensor is None else tensor

    def _tensor(self, start: int) -> TensorLiteral | None:
        text = self.tokens.source.text or ""
        if (match := _COLUMNS.match(text, start)) is not None:
            name = match[1]
            for backend in _BACKENDS:
                name = name.removeprefix(backend)
            sizes = tuple(int(s) for s in match[2].split(",") if s)
            literal = TensorLiteral(match[0].replace("\n", " "), dtypes.by_display(name), sizes)
        elif (match := _ELEMENT.match(text, start)) is not None:
            element: complex = complex(float(match[2]), float(match[3])) if match[2] else _real(match[1])
            literal = TensorLiteral(match[0], value=element)
        else:
            return None
        self.tokens.skip_to(match.end())
        return literal

    def _literal(self, type_: Type | None) -> Any:
        tokens = self.tokens
        self._skip_lines()
        token = tokens.current
        match token.kind, token.text:
            case "string", _:
                return unescape(tokens.next().text)
            case ("number", _) | (_, "-" | "nan" | "inf"):
                return self._number()
            case _, "[":
                return self._items("[", "]")
            case _, "(":
                return self._tuple()
            case _, "{":
                return self._dict()
            case _, "<":
                return self._bracketed()
            case "ident", "annotate":
                return self._annotated()
            case "ident", "object":
                return self._raw_call()
            case "ident", text if text in WORDS:
                tokens.next()
                return WORDS[text]
            case "ident", "torch.device":
                tokens.next()
                return Device(self._items("(", ")")[0])
            case "ident", text:
                return self._name(text, type_)
        return tokens.fail(f"expected the value of an attribute but found {tokens.shown()}")

    def _skip_lines(self) -> None:
        while self.tokens.current.kind == "newline":
            self.tokens.next()

    def _number(self) -> Any:
        first = self._signed()
        text = self.tokens.current.text
        if text in ("+", "-") and isinstance(first, float):
            imaginary = self._signed()
            return complex(first, imaginary.imag if isinstance(imaginary, complex) else self._imaginary_word(imaginary))
        return first

    def _signed(self) -> Any:
        negative = self.tokens.accept("-")
        if not negative:
            self.tokens.accept("+")
        token = self.tokens.next()
        if token.text in ("nan", "inf", "nanj", "infj"):
            number: Any = complex(0.0, float(token.text[:-1])) if token.text.endswith("j") else float(token.text)
        elif token.kind == "number":
            number = parse_number(token.text)
        else:
            self.tokens.reset(self.tokens.mark() - 1)
            return self.tokens.fail(f"expected a number but found {self.tokens.shown()}")
        if isinstance(number, complex):
            return complex(0.0, -number.imag if negative else number.imag)
        return -number if negative else number

    def _imaginary_word(self, number: float) -> float:
        return self.tokens.fail(f"expected an imaginary part but found {number}")

    def _items(self, opening: str, closing: str) -> list[Any]:
        self.tokens.expect(opening)
        items: list[Any] = []
        self._skip_lines()
        if opening == "[" and (list_of_tensors := self._tensors()) is not None:
            return list_of_tensors
        text, start = self.tokens.source.text or "", self.tokens.peek(-1).end
        while not self.tokens.accept(closing):
            items.append(self.value(start, None))
            self._skip_lines()
            if self.tokens.current.text != closing:
                end = self.tokens.expect(",").end
                start = end + text.startswith(" ", end)
        return items

    def _tensors(self) -> list[Any] | None:
        """`[<Tensors>]` says nothing of the tensors, not even how many there are: one stands for all."""
        if self.tokens.current.text != "<" or self.tokens.peek().text not in ("Tensors", "Tensor"):
            return None
        self._bracketed()
        self.tokens.expect("]")
        return [TensorLiteral("<Tensor>")]

    def _tuple(self) -> Any:
        items = tuple(self._items("(", ")"))
        if items and all(isinstance(t, Type) for t in items):
            return self._suffixed(TupleType(items))
        return items

    def _suffixed(self, type_: Type) -> Type:
        """`?` and `[]` behind a type in parentheses."""
        while True:
            if self.tokens.accept("?"):
                type_ = OptionalType.of(type_)
            elif self.tokens.current.text == "[" and self.tokens.peek().text == "]":
                self.tokens.next()
                self.tokens.next()
                type_ = ListType(type_)
            else:
                return type_

    def _dict(self) -> dict[Any, Any]:
        self.tokens.expect("{")
        entries: dict[Any, Any] = {}
        self._skip_lines()
        while not self.tokens.accept("}"):
            key = self.value(self.tokens.current.start, None)
            self.tokens.expect(":")
            entries[key] = self.value(self.tokens.current.start, None)
            self._skip_lines()
            if self.tokens.current.text != "}":
                self.tokens.expect(",")
                self._skip_lines()
        return entries

    def _bracketed(self) -> Any:
        """`<Tensor>`, `<Graph>`, `<__torch__.M object at 0x55>`."""
        start = self.tokens.expect("<").start
        while self.tokens.current.kind not in ("end", "newline") and self.tokens.current.text != ">":
            self.tokens.next()
        end = self.tokens.expect(">").end
        text = (self.tokens.source.text or "")[start:end]
        return TensorLiteral(text) if text == "<Tensor>" else Opaque(text)

    def _raw_call(self) -> Opaque:
        start = self.tokens.next().start
        self.tokens.expect("(")
        while self.tokens.current.kind not in ("end", "newline") and self.tokens.current.text != ")":
            self.tokens.next()
        return Opaque((self.tokens.source.text or "")[start : self.tokens.expect(")").end])

    def _annotated(self) -> Any:
        self.tokens.next()
        self.tokens.expect("(")
        type_ = self.types.type()
        self.tokens.expect(",")
        value = self.fit(self.value(self.tokens.current.start, type_), type_)
        self.tokens.expect(")")
        return value

    def _name(self, text: str, type_: Type | None) -> Any:
        """A type, or a member of an enum."""
        class_name, _, member = text.rpartition(".")
        if not is_qualified(class_name):
            return self.types.type()
        if isinstance(type_, EnumType) and class_name == type_.name:
            self.tokens.next()
            return self.fit(EnumMember(class_name, member), type_)
        return self.types.type()

    def fit(self, value: Any, type_: Type) -> Any:
        """`value` as the type wants it: literals leave open whether 1 is an int, a bool or a float."""
        if isinstance(type_, OptionalType):
            return value if value is None else self.fit(value, type_.element)
        if isinstance(value, TensorLiteral):
            return self._made(value, type_)
        if isinstance(value, list | dict | tuple):
            return self._fit_container(value, type_)
        if isinstance(type_, EnumType) and isinstance(value, EnumMember | ClassType):
            return self._enum_member(value, type_)
        if type(type_) in _OF_LITERALS:
            literals, convert = _OF_LITERALS[type(type_)]
            return convert(value) if isinstance(value, literals) else value
        return value

    def _fit_container(self, value: Any, type_: Type) -> Any:
        match type_:
            case ListType(element) if isinstance(value, list):
                return [self.fit(v, element) for v in value]
            case DictType(key, element) if isinstance(value, dict):
                return {self.fit(k, key): self.fit(v, element) for k, v in value.items()}
            case TupleType(elements) if isinstance(value, tuple) and len(value) == len(elements):
                return tuple(self.fit(v, t) for v, t in zip(value, elements, strict=True))
        return value

    def _enum_member(self, value: Any, type_: EnumType) -> Any:
        name = value.name.rpartition(".")[2]
        return type_.python[name] if type_.python is not None else EnumMember(type_.name, name)

    def _made(self, literal: TensorLiteral, type_: Type) -> Any:
        """A literal with what the constant's type knows, or the tensor made of it."""
        known = type_ if isinstance(type_, TensorType) else TensorType()
        shape = literal.shape
        if shape is None and known.sizes is not None and all(s is not None and s >= 0 for s in known.sizes):
            shape = tuple(s for s in known.sizes if s is not None)
        if shape is None and literal.value is not None:
            shape = ()
        full = TensorLiteral(literal.text, known.dtype or literal.dtype, shape, literal.value)
        return full if self.make_tensor is None else self.make_tensor(full, type_)


def _real(text: str) -> complex:
    number = float(text)
    return int(text) if text.lstrip("-").isdigit() and math.isfinite(number) else number
