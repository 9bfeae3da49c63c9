"""Types that text spells: of graphs, schemas and annotations. `type_text` writes them.

>>> str(parse_type("Dict(str, Float(2, *, requires_grad=1)[])?"))
'Dict(str, Float(2, *, requires_grad=1)[])?'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flambeau.schema import dtype as dtypes
from flambeau.schema.device import KINDS, Device
from flambeau.schema.lexer import Token, Tokens, unescape
from flambeau.schema.opaque_type import OpaqueType
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    BOOL,
    INT,
    NONE,
    AnyType,
    AwaitType,
    ClassType,
    DictType,
    EnumType,
    FutureType,
    InterfaceType,
    ListType,
    NumberType,
    OptionalType,
    RRefType,
    SimpleType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    VarType,
    union_order,
)
from flambeau.util.names import OPAQUE_CLASSES, is_qualified

NameLookup = Callable[[str], Type | None]
"""Finds the class, interface or named tuple of a qualified name (`__torch__.mod.Name`)."""

SIMPLE: Mapping[str, Type] = {c.text: c() for c in SimpleType.__subclasses__()} | {
    "number": NumberType(), "AnyType": AnyType(), "None": NONE, "SymBool": BOOL,
}  # fmt: skip
AS_INT = ("SymInt", "ScalarType", "Layout", "MemoryFormat", "DeviceIndex")
"""Names in schemas for what programs hold as an int."""
_BRACKETED: Mapping[str, type[FutureType | AwaitType | RRefType | OptionalType | ListType | SetType]] = {
    "Future": FutureType, "Await": AwaitType, "RRef": RRefType, "Optional": OptionalType, "List": ListType,
    "Set": SetType,
}  # fmt: skip
WORDS: Mapping[str, Any] = {"True": True, "False": False, "None": None}
"""Words that are values by themselves."""


def parse_type(text: str, lookup: NameLookup | None = None) -> Type:
    """The type that `text` spells in graph or schema text. Raises ParseError."""
    tokens = Tokens(text)
    type_ = TypeParser(tokens, lookup).type()
    if tokens.current.kind != "end":
        tokens.fail(f"expected the end of the type but found {tokens.shown()}")
    return type_


class TypeParser:
    """Reads types from a token stream; shared by the parsers of schemas and of IR text."""

    def __init__(self, tokens: Tokens, lookup: NameLookup | None = None) -> None:
        self._tokens = tokens
        self._lookup = lookup

    def type(self) -> Type:
        """A type with its suffixes `?` and `[]`."""
        result = self.base()
        while True:
            if self._tokens.accept("?"):
                result = OptionalType.of(result)
            elif self._tokens.current.text == "[" and self._tokens.peek().text == "]":
                self._tokens.next()
                self._tokens.next()
                result = ListType(result)
            else:
                return result

    def base(self) -> Type:
        """A type without suffixes. Raises ParseError for a name that means nothing."""
        tokens = self._tokens
        if tokens.accept("("):
            return TupleType(tuple(self._list(")")))
        name = tokens.expect_kind("ident", "a type").text
        if name in _BRACKETED and tokens.current.text in "([":
            return self._bracketed(name)
        if name == "Dict":
            key, value = self._group()
            return DictType(key, value)
        if name in ("Tuple", "Union"):
            inner = tuple(self._group())
            return TupleType(inner) if name == "Tuple" else _union(inner)
        if name == "NamedTuple":
            return self._named_tuple()
        if name in ("Enum", "InterfaceType") and tokens.accept("<"):
            return self._in_angles(name)
        if (tensor := self._tensor(name)) is not None:
            return tensor
        if name in AS_INT:
            return INT
        return self._named(name)

    def _named(self, name: str) -> Type:
        if name in SIMPLE:
            return SIMPLE[name]
        if self._lookup is not None and (type_ := self._lookup(name)) is not None:
            return type_
        if is_variable(name):
            return VarType(name)
        if name.startswith(OPAQUE_CLASSES):
            return OpaqueType(name)
        if is_qualified(name):
            return ClassType(name, None)
        return self._tokens.fail(f"unknown type '{name}'")

    def _bracketed(self, name: str) -> Type:
        (inner,) = self._group()
        return OptionalType.of(inner) if name == "Optional" else _BRACKETED[name](inner)

    def _group(self) -> list[Type]:
        opening = self._tokens.next().text
        if opening not in ("(", "["):
            self._tokens.fail("expected the contained types in parentheses")
        return self._list(")" if opening == "(" else "]")

    def _list(self, closing: str) -> list[Type]:
        types: list[Type] = []
        while not self._tokens.accept(closing):
            types.append(self.type())
            if self._tokens.current.text != closing:
                self._tokens.expect(",")
        return types

    def _in_angles(self, kind: str) -> Type:
        name = self._tokens.expect_kind("ident", "the name of the type").text
        self._tokens.expect(">")
        type_ = self._lookup(name) if self._lookup is not None else None
        if type_ is not None:
            return type_
        return EnumType(name, INT, ()) if kind == "Enum" else InterfaceType(name, None)

    def _named_tuple(self) -> Type:
        tokens = self._tokens
        tokens.expect("(")
        fields: list[str] = []
        elements: list[Type] = []
        defaults: list[tuple[str, Any]] = []
        while not tokens.accept(")"):
            fields.append(tokens.expect_kind("ident", "a field name").text)
            tokens.expect(":")
            elements.append(self.type())
            if tokens.accept("="):
                defaults.append((fields[-1], parse_default(tokens)))
            if tokens.current.text != ")":
                tokens.expect(",")
        return TupleType(tuple(elements), "NamedTuple", tuple(fields), tuple(defaults))

    def _tensor(self, name: str) -> Type | None:
        element = dtypes.by_display(name.removesuffix("Tensor"))
        if name != "Tensor" and element is None:
            return None
        known: dict[str, Any] = {"dtype": element}
        is_refined = self._tokens.current.text == "(" and (element is not None or self._looks_refined())
        if is_refined:
            self._tokens.next()
            sizes = self._tensor_parts(known)
            known["sizes"] = None if name.endswith("Tensor") and not sizes else tuple(sizes)
        if self._tokens.current.text == "[" and self._tokens.peek().text == "Undefined":
            for _ in range(3):
                self._tokens.next()
            known["undefined"] = True
        return TensorType(**known)

    def _looks_refined(self) -> bool:
        following = self._tokens.peek()
        return following.kind == "number" or following.text in ("*", "requires_grad", "device", "strides", "SS")

    def _tensor_parts(self, known: dict[str, Any]) -> list[int | None]:
        tokens = self._tokens
        sizes: list[int | None] = []
        while not tokens.accept(")"):
            token = tokens.next()
            if token.text == "*":
                sizes.append(None)
            elif token.kind == "number":
                sizes.append(self._integer(token))
            elif token.text == "SS":
                tokens.expect("(")
                tokens.expect("-")
                sizes.append(-self._integer(tokens.next()))
                tokens.expect(")")
            elif token.text == "strides":
                tokens.expect("=")
                known["strides"] = self._strides()
            elif token.text == "requires_grad":
                tokens.expect("=")
                known["requires_grad"] = tokens.next().text == "1"
            elif token.text == "device":
                tokens.expect("=")
                known["device"] = self._device()
            else:
                tokens.fail(f"unexpected {token.text!r} in a tensor type")
            if tokens.current.text != ")":
                tokens.expect(",")
        return sizes

    def _strides(self) -> tuple[int, ...]:
        """`[3, 1]`."""
        self._tokens.expect("[")
        strides: list[int] = []
        while not self._tokens.accept("]"):
            strides.append(self._integer(self._tokens.next()))
            if self._tokens.current.text != "]":
                self._tokens.expect(",")
        return tuple(strides)

    def _integer(self, token: Token) -> int:
        """A whole number, which this token is."""
        if not token.text.isdecimal():
            self._tokens.fail(f"expected a whole number but found {token.text!r}", token)
        return int(token.text)

    def _device(self) -> Device:
        kind = self._tokens.current.text
        if kind not in KINDS:
            self._tokens.fail(f"expected a device, such as cpu, but found {self._tokens.shown()}")
        self._tokens.next()
        if self._tokens.accept(":"):
            return Device(kind, self._integer(self._tokens.next()))
        return Device(kind)


def is_variable(name: str) -> bool:
    """Whether a name in a schema stands for any type: `t`, `t1`, `tVal`."""
    return (len(name.rstrip("0123456789")) == 1 and name[0].islower()) or name in ("tVal", "tKey")


def _union(members: tuple[Type, ...]) -> Type:
    return UnionType(tuple(sorted(members, key=union_order)))


def parse_default(tokens: Tokens) -> Any:
    """A literal in schema text: number, string, bool, None, list, tuple, or a word such as `contiguous_format`."""
    token = tokens.current
    if token.kind == "string":
        return unescape(tokens.next().text)
    if token.text in ("[", "("):
        closing = "]" if tokens.next().text == "[" else ")"
        items = []
        while not tokens.accept(closing):
            items.append(parse_default(tokens))
            if tokens.current.text != closing:
                tokens.expect(",")
        return items if closing == "]" else tuple(items)
    negative = tokens.accept("-")
    token = tokens.current
    is_named_float = token.text in ("inf", "nan")
    if token.kind == "number" or is_named_float:
        tokens.next()
        value: complex = float(token.text) if is_named_float else parse_number(token.text)
        return -value if negative else value
    word = tokens.expect_kind("number" if negative else "ident", "a number" if negative else "a literal or a word").text
    return WORDS.get(word, word)


def parse_number(text: str) -> Any:
    """An int, float or complex literal."""
    if text.endswith("j"):
        return complex(text)
    return float(text) if any(c in text for c in ".eE") and not text.startswith("0x") else int(text, 0)
