"""Function schemas: `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`, as data and as text.

`str(parse_schema(text)) == text` holds for every schema of TorchScript's registry and is tested on all of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from flambeau.schema import compatibility
from flambeau.schema.alias import WILDCARD, AliasInfo
from flambeau.schema.lexer import Token, Tokens
from flambeau.schema.remembered import remembered
from flambeau.schema.type_parser import AS_INT, NameLookup, TypeParser, parse_default
from flambeau.schema.type_text import default_text, print_in_schema
from flambeau.schema.types import DictType, ListType, OptionalType, TensorType, TupleType, Type
from flambeau.util.cached import cached_property
from flambeau.util.errors import ParseError
from flambeau.util.record import dataclass, replace


class _Missing:
    """The default of an argument that has none."""

    def __repr__(self) -> str:
        return "<no default>"


NO_DEFAULT: Final = _Missing()

ENUM_WORDS: Final = {
    "contiguous_format": 0, "preserve_format": 1, "channels_last": 2, "channels_last_3d": 3,
    "Mean": 1, "Sum": 2, "strided": 0, "float": 6, "long": 4, "bool": 11,
}  # fmt: skip
"""Words that stand for ints in the defaults of schema text."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter or result of a schema."""

    name: str
    """Empty for an unnamed result."""
    type: Type
    """What programs hold: `SymInt` and `ScalarType` are int here."""
    declared: str = ""
    """The spelling in the schema when it says more than the type: `SymInt[]`, `int[2]`, `ScalarType?`."""
    default: Any = NO_DEFAULT
    default_declared: str = ""
    """The spelling of the default when it is a word."""
    kwarg_only: bool = False
    alias: AliasInfo | None = None
    broadcast: int | None = None
    """The N of `int[N]`: a single int is repeated N times."""
    positional_only: bool = False
    """Whether calls cannot name it; schema text does not say so."""

    @property
    def has_default(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not NO_DEFAULT

    def has_default_value(self) -> bool:
        """`has_default`, as TorchScript's users ask it of `fn.schema.arguments`."""
        return self.has_default

    @property
    def default_value(self) -> Any:
        """What stands for it where a call leaves it out; None where none may."""
        return self.default if self.has_default else None

    @property
    def is_out(self) -> bool:
        """Whether it is an `out=` tensor: keyword-only and written."""
        return self.kwarg_only and self.alias is not None and self.alias.is_write

    def __str__(self) -> str:
        type_ = print_in_schema(self.type)
        type_ = type_ if self.broadcast is None else type_.replace("[]", f"[{self.broadcast}]", 1)
        text = self.declared or type_ + str(self.alias or "")
        if self.name:
            text += f" {self.name}"
        if self.has_default:
            text += f"={self.default_declared or default_text(self.default)}"
        return text


@dataclass(frozen=True)
class FunctionSchema:
    """A name, an overload name, arguments and returns. Raises SchemaError when a default precedes an argument without
    one.
    """

    name: str
    """Qualified: `aten::add`."""
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @property
    def full_name(self) -> str:
        """Name and overload: `aten::add.Tensor`."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def overload_name(self) -> str:
        """`overload`, as TorchScript's users call it."""
        return self.overload

    @cached_property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments that may be given by position."""
        return tuple(a for a in self.arguments if not a.kwarg_only)

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each argument by name."""
        return {a.name: i for i, a in enumerate(self.arguments)}

    @cached_property
    def is_mutable(self) -> bool:
        """Whether any argument is written."""
        return any(a.alias is not None and a.alias.is_write for a in self.arguments)

    @cached_property
    def stored(self) -> tuple[int, ...]:
        """The arguments that go into the container which the first one is, as `(b -> *)` says of them.

        >>> parse_schema("aten::insert(t[](a!) self, int idx, t(b -> *) el) -> ()").stored
        (2,)
        """
        into = self.arguments[0].alias if self.arguments else None
        if into is None or not into.is_write:
            return ()
        entering = enumerate((a.alias for a in self.arguments[1:]), 1)
        return tuple(i for i, alias in entering if alias is not None and WILDCARD in (alias.after or ()))

    @cached_property
    def says_aliases(self) -> bool:
        """Whether an argument is written, or a result may be memory that was there before."""
        return any(a.alias is not None for a in (*self.arguments, *self.returns))

    @cached_property
    def concerns_tensors(self) -> bool:
        """Whether a tensor goes in or comes out; other operators belong to the language alone."""
        for one in (*self.arguments, *self.returns):
            if isinstance(one.type, TensorType) or _holds_tensors(one.type):
                return True
        return False

    def renamed(self, name: str, overload: str = "") -> FunctionSchema:
        """This signature under another name."""
        return replace(self, name=name, overload=overload)

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Whether every call of the older declaration `old` is a call of this one and means the same.

        >>> new = parse_schema("f(Tensor? x, int n=1) -> Tensor")
        >>> new.is_backward_compatible_with(parse_schema("f(Tensor x) -> Tensor"))
        True
        """
        return compatibility.is_backward_compatible(self, old)

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """Whether this adds to `old` nothing but arguments with defaults that are no lists; else why not."""
        return compatibility.forward_compatibility(self, old)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        shown: list[str] = []
        starred = False
        for argument in self.arguments:
            if argument.kwarg_only and not starred:
                shown.append("*")
                starred = True
            shown.append(str(argument))
        if self.is_vararg:
            shown.append("...")
        returns = [str(r) for r in self.returns] + (["..."] if self.is_varret else [])
        is_bare = len(returns) == 1 and not returns[0].startswith("(")
        result = returns[0] if is_bare else f"({', '.join(returns)})"
        return f"{self.full_name}({', '.join(shown)}) -> {result}"


@remembered(maxsize=1024)
def _holds_tensors(type_: Type) -> bool:
    return any(isinstance(part, TensorType) for part in type_.walk())


def parse_schema(text: str, lookup: NameLookup | None = None) -> FunctionSchema:
    """Read one schema. Raises ParseError with the place of what is wrong."""
    return (_in_parts(text) if lookup is None else None) or _whole(text, lookup)


def _whole(text: str, lookup: NameLookup | None) -> FunctionSchema:
    tokens = Tokens(text)
    schema = _SchemaParser(tokens, lookup).schema()
    if tokens.current.kind != "end":
        tokens.fail(f"expected the end of the schema but found {tokens.shown()}")
    return schema


_NESTED = r"(?:[^,()\[\]\"']|\((?:[^()\"']|\([^()\"']*\))*\)|\[[^\[\]\"']*\])+"
_PART: Final = re.compile(_NESTED)
_PARTS: Final = re.compile(rf"(?:{_NESTED}(?:, ?{_NESTED})*)?")
_SCHEMA: Final = re.compile(r"([A-Za-z_][\w:]*)(?:\.(\w+))?\((.*)\) ?-> ?(.*)")


def _in_parts(text: str) -> FunctionSchema | None:
    """The same schema, its arguments read one by one and each text only once; None where it takes the whole parser.

    Schemas share most of their arguments, and importing the operators reads some thousand schemas.
    """
    match = _SCHEMA.fullmatch(text)
    if match is None:
        return None
    name, overload, listed, returned = match.groups()
    if returned.startswith("(") and returned.endswith(")"):
        returned = returned[1:-1]
    if _PARTS.fullmatch(listed) is None or _PARTS.fullmatch(returned) is None:
        return None
    arguments, kwarg_only = [], False
    for part in _PART.findall(listed):
        if part.strip() == "*":
            kwarg_only = True
            continue
        argument = _argument(part, kwarg_only, True)
        if argument is None:
            return None
        arguments.append(argument)
    returns = [_argument(part, False, False) for part in _PART.findall(returned)]
    known = tuple([r for r in returns if r is not None])
    return FunctionSchema(name, overload or "", tuple(arguments), known) if len(known) == len(returns) else None


_ARGUMENT: Final = re.compile(r"([^=]*[^=\s])\s+([A-Za-z_]\w*)(?:=(.+))?")
"""A type, a name and a default; no type has an equals sign."""


@lru_cache(maxsize=4096)
def _argument(text: str, kwarg_only: bool, needs_name: bool) -> Argument | None:
    """One argument; None where its text is not that of one argument. Types and defaults are read once each."""
    match = _ARGUMENT.fullmatch(text.strip())
    if match is None and needs_name:
        return None
    written, name, default = (text.strip(), "", None) if match is None else match.groups()
    annotated = _annotated(written)
    if annotated is None:
        return None
    type_, alias, broadcast, declared = annotated
    if default is None:
        return Argument(name, type_, declared, NO_DEFAULT, "", kwarg_only, alias, broadcast)
    value = _default(default, type_, broadcast)
    return None if value is None else Argument(name, type_, declared, *value, kwarg_only, alias, broadcast)


@lru_cache(maxsize=1024)
def _annotated(text: str) -> tuple[Type, AliasInfo | None, int | None, str] | None:
    """A type, its aliases, the N of `int[N]`, and its spelling if it says more; None where the text is not one type."""
    try:
        tokens = Tokens(text)
        annotated = _SchemaParser(tokens, None).annotated()
    except ParseError:
        return None
    return annotated if tokens.current.kind == "end" else None


@remembered(maxsize=1024)
def _default(text: str, type_: Type, broadcast: int | None) -> tuple[Any, str] | None:
    """A default and its spelling if that differs; None where the text is no default alone."""
    try:
        tokens = Tokens(text)
        value = _SchemaParser(tokens, None).default(type_, broadcast)
    except ParseError:
        return None
    return value if tokens.current.kind == "end" else None


class _SchemaParser:
    def __init__(self, tokens: Tokens, lookup: NameLookup | None) -> None:
        self.tokens = tokens
        self.types = TypeParser(tokens, lookup)
        self.text = tokens.source.text or ""

    def schema(self) -> FunctionSchema:
        name, _, overload = self.tokens.expect_kind("ident", "the operator's name").text.partition(".")
        arguments, is_vararg = self.arguments()
        if is_vararg and any(a.has_default for a in arguments):
            self.tokens.fail("schemas with vararg (...) can't have default value args")
        self.tokens.expect("->")
        returns, is_varret = self.returns()
        return FunctionSchema(name, overload, tuple(arguments), tuple(returns), is_vararg, is_varret)

    def arguments(self) -> tuple[list[Argument], bool]:
        parameters: list[Argument] = []
        kwarg_only = is_vararg = False
        self.tokens.expect("(")
        while not self.tokens.accept(")"):
            if self.tokens.accept("*"):
                kwarg_only = True
            elif self.tokens.accept("..."):
                is_vararg = True
            else:
                parameters.append(self.argument(kwarg_only))
            if self.tokens.current.text != ")":
                self.tokens.expect(",")
        return parameters, is_vararg

    def returns(self) -> tuple[list[Argument], bool]:
        if self.tokens.accept("..."):
            return [], True
        if not self.tokens.accept("("):
            return [self.argument(False, needs_name=False)], False
        returned: list[Argument] = []
        is_varret = False
        while not self.tokens.accept(")"):
            if self.tokens.accept("..."):
                is_varret = True
            else:
                returned.append(self.argument(False, needs_name=False))
            if self.tokens.current.text != ")":
                self.tokens.expect(",")
        return returned, is_varret

    def argument(self, kwarg_only: bool, needs_name: bool = True) -> Argument:
        type_, alias, broadcast, declared = self.annotated()
        name = ""
        if self.tokens.current.kind == "ident":
            name = self.tokens.next().text
        elif needs_name:
            self.tokens.fail(f"expected the argument's name but found {self.tokens.shown()}")
        default: Any = NO_DEFAULT
        default_declared = ""
        if self.tokens.accept("="):
            default, default_declared = self.default(type_, broadcast)
        return Argument(name, type_, declared, default, default_declared, kwarg_only, alias, broadcast)

    def annotated(self) -> tuple[Type, AliasInfo | None, int | None, str]:
        """What `annotated_type` gives, and the spelling of the type if it says more than the type."""
        start = self.tokens.current
        type_, alias, broadcast = self.annotated_type()
        declared = self.since(start)
        says_more = any(word in declared for word in AS_INT) or declared != str(type_) + str(alias or "")
        return type_, alias, broadcast, declared if says_more else ""

    def default(self, type_: Type, broadcast: int | None) -> tuple[Any, str]:
        """The default of an argument, and its spelling if that differs."""
        start = self.tokens.current
        value = parse_default(self.tokens)
        return self.canonical_default(value, self.since(start), type_, broadcast)

    @staticmethod
    def canonical_default(value: Any, declared: str, type_: Type, broadcast: int | None) -> tuple[Any, str]:
        """The value that programs see, and its spelling where that differs."""
        base = type_.contained[0] if isinstance(type_, OptionalType) else type_
        if isinstance(value, str) and value in ENUM_WORDS and not declared.startswith(('"', "'")):
            return ENUM_WORDS[value], declared
        if broadcast is not None and isinstance(value, int | float) and not isinstance(value, bool):
            value = [value] * broadcast
        if str(base) == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        return value, "" if default_text(value) == declared else declared

    def annotated_type(self) -> tuple[Type, AliasInfo | None, int | None]:
        """A type whose parts may carry alias annotations, and the N of `int[N]`."""
        type_, alias, broadcast = self.annotated_base()
        while True:
            if self.tokens.accept("?"):
                type_ = OptionalType.of(type_)
            elif self.tokens.current.text == "[" and (
                self.tokens.peek().text == "]"
                or (self.tokens.peek().kind == "number" and self.tokens.peek(2).text == "]")
            ):
                self.tokens.next()
                broadcast = int(self.tokens.next().text) if self.tokens.current.kind == "number" else None
                if self.tokens.current.text == "]":
                    self.tokens.next()
                inner = alias
                alias = self.alias()
                if alias is None and inner is not None:
                    alias = AliasInfo(contained=(inner,))
                elif alias is not None and inner is not None:
                    alias = replace(alias, contained=(inner,))
                type_ = ListType(type_)
            else:
                return type_, alias, broadcast

    def annotated_base(self) -> tuple[Type, AliasInfo | None, int | None]:
        if self.tokens.current.text == "Dict" and self.tokens.peek().text == "(":
            self.tokens.next()
            self.tokens.next()
            key, key_alias, _ = self.annotated_type()
            self.tokens.expect(",")
            value, value_alias, _ = self.annotated_type()
            self.tokens.expect(")")
            alias = self.alias()
            if key_alias is not None or value_alias is not None:
                alias = replace(alias or AliasInfo(), contained=(key_alias, value_alias))
            return DictType(key, value), alias, None
        if self.tokens.accept("("):
            parts: list[tuple[Type, AliasInfo | None, int | None]] = []
            while not self.tokens.accept(")"):
                parts.append(self.annotated_type())
                if self.tokens.current.text != ")":
                    self.tokens.expect(",")
            return TupleType(tuple(p[0] for p in parts)), self.alias(), None
        type_ = self.types.base()
        return type_, self.alias(), None

    def alias(self) -> AliasInfo | None:
        """`(a!)`, `(a -> *)`, `(b|a)`; None when there is none."""
        if self.tokens.current.text != "(" or not _is_alias_set(self.tokens.peek()):
            return None
        self.tokens.next()
        before = self.alias_sets()
        is_write = self.tokens.accept("!")
        after = self.alias_sets() if self.tokens.accept("->") else None
        self.tokens.expect(")")
        return AliasInfo(before, after, is_write)

    def alias_sets(self) -> tuple[str, ...]:
        names = [self.tokens.next().text]
        while self.tokens.accept("|"):
            names.append(self.tokens.next().text)
        return tuple(names)

    def since(self, start: Token) -> str:
        return self.text[start.start : self.tokens.peek(-1).end]


def _is_alias_set(token: Token) -> bool:
    return token.text == "*" or (token.kind == "ident" and len(token.text.rstrip("0123456789")) == 1)
