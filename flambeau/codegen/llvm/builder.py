"""Builds LLVM modules of stubs: functions whose names, types and blocks are checked while they are built.

    m = ModuleBuilder(C_INTERFACE)
    f = m.function("i1 same", "ptr a", "ptr b", "i64 n")
    a, b, n = f.parameters
    with f.loop(n) as k:
        f.return_unless(f.icmp("eq", f.load_word(a, k), f.load_word(b, k)), FALSE)
    f.ret(TRUE)
    text = m.text()

Operands of the wrong type, calls that do not fit, and blocks without an end raise `BuildError` at the line that is
wrong, not when LLVM parses the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from flambeau.codegen.llvm.builder_loops import Chain, Loop, Repetition
from flambeau.codegen.llvm.checked_emitter import BuildError, CheckedEmitter, Operand
from flambeau.codegen.llvm.emitter import Value

F = TypeVar("F", bound="FunctionBuilder")


class Signature:
    """The type of a function, ``"i64 (ptr, ptr)"``."""

    def __init__(self, text: str) -> None:
        self.result, _, parameters = text.partition(" ")
        self.parameters = tuple(p.strip() for p in parameters.strip("()").split(",") if p.strip())

    def declaration(self, symbol: str) -> str:
        """The declaration of a function of this type."""
        return f"declare {self.result} @{symbol}({', '.join(self.parameters)})"


IMPORTED: Final = "flambeau_"
"""What symbols of imports begin with, unless a module says otherwise."""


class ModuleBuilder:
    """The functions of one module, and what they import."""

    def __init__(
        self, interface: Mapping[str, str], prefix: str = IMPORTED, own: Mapping[str, str] | None = None
    ) -> None:
        self.prefix = prefix
        """Of the symbols of what is imported."""
        self.interface = interface
        """The types of functions that may be imported, by name."""
        self.imported: dict[str, None] = {}
        """Names of the functions that are imported: those that are called."""
        self.symbols: dict[str, str] = {}
        """LLVM types of the external variables that are referred to, by name."""
        self.declarations: dict[str, None] = {}
        """Declarations of LLVM's own functions, and of variables of the module."""
        self.access = ""
        """What loads and stores say of themselves behind the address."""
        self.metadata: list[str] = []
        """Nodes of metadata, behind all functions."""
        self._defined: dict[str, Signature] = {name: Signature(kind) for name, kind in (own or {}).items()}
        self._functions: list[FunctionBuilder] = []

    def function(self, head: str, *parameters: str, exported: bool = False, attributes: str = "") -> FunctionBuilder:
        """A new function: ``"i1 same"``, ``"ptr a"``, ``"i64 n"``."""
        return self.special(FunctionBuilder, head, *parameters, exported=exported, attributes=attributes)

    def special(self, kind: type[F], head: str, *parameters: str, exported: bool = False, attributes: str = "") -> F:
        """A new function that is built by a class of its own."""
        result, name = head.split()
        pairs = [p.split() for p in parameters]
        self.own(name, f"{result} ({', '.join(t for t, _ in pairs)})")
        linkage = "" if exported else "internal "
        listed = ", ".join(f"{t} %{p}" for t, p in pairs)
        heading = f"define {linkage}{result} @{name}({listed}){attributes and ' ' + attributes} {{"
        f = kind(self, heading, result, [Value("%" + p, t, 1) for t, p in pairs])
        self._functions.append(f)
        return f

    def own(self, name: str, kind: str) -> None:
        """Say that the module defines a function of this type, here or later."""
        known = self._defined.setdefault(name, Signature(kind))
        if (known.result, known.parameters) != (Signature(kind).result, Signature(kind).parameters):
            raise BuildError(f"{name} is {kind} and something else")

    def callee(self, name: str) -> tuple[str, Signature]:
        """The symbol of a function by name, and its type."""
        if name in self._defined:
            return name, self._defined[name]
        if name not in self.interface:
            raise BuildError(f"nothing is called {name}")
        self.imported.setdefault(name)
        return self.prefix + name, Signature(self.interface[name])

    def address(self, name: str) -> Value:
        """The address of a function of the module."""
        return Value("@" + self.callee(name)[0], "ptr", 1)

    def symbol(self, name: str, kind: str = "i8") -> Value:
        """The address of an external object or variable."""
        self.symbols[name] = kind
        return Value(f"@{self.prefix}{name}", "ptr", 1)

    def text(self, behind: str = "") -> str:
        """The text of the module; of one that goes behind another text, without what that declares."""
        bodies = [f.text() for f in self._functions]
        imports = [Signature(self.interface[name]).declaration(self.prefix + name) for name in self.imported]
        symbols = [f"@{self.prefix}{name} = external global {kind}" for name, kind in self.symbols.items()]
        declared = set(behind.splitlines())
        head = [line for line in (*imports, *symbols, *self.declarations) if line not in declared]
        return "\n".join([*head, *bodies, *self.metadata, ""])


class FunctionBuilder(CheckedEmitter):
    """One function of a module: its calls are checked against what the module has and imports."""

    def __init__(self, module: ModuleBuilder, heading: str, result: str, parameters: Sequence[Value]) -> None:
        super().__init__(module.declarations, heading, result, parameters)
        self.module = module

    def access_note(self) -> str:
        """What the module says of loads and stores."""
        return self.module.access

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, name: str, *arguments: Operand) -> Value:
        """A call of a function of the module, or of an imported one."""
        symbol, signature = self.module.callee(name)
        return self._call(f"@{symbol}", signature, arguments)

    def call_address(self, address: Value, kind: str, *arguments: Operand) -> Value:
        """A call of the function at an address."""
        return self._call(str(self.typed(address, "ptr")), Signature(kind), arguments)

    def _call(self, target: str, signature: Signature, arguments: Sequence[Operand]) -> Value:
        if len(arguments) != len(signature.parameters):
            raise BuildError(f"{self.heading}: {target} takes {len(signature.parameters)} arguments")
        pairs = zip(arguments, signature.parameters, strict=True)
        listed = ", ".join(f"{kind} {self.typed(argument, kind)}" for argument, kind in pairs)
        text = f"call {signature.result} {target}({listed})"
        if signature.result == "void":
            self.raw(text)
            return Value("", "void", 1)
        return self.define(text, signature.result)

    # -- loops -------------------------------------------------------------------------------------------------------

    def loop(self, count: Operand, *carried: Value) -> Loop:
        """``with f.loop(n) as k``: what is built inside runs for k = 0 .. n - 1; ``carried`` values change from one
        iteration to the next (`Loop.values`, `Loop.carry`).
        """
        return Loop(self, self.typed(count, "i64"), carried)

    def repeat(self, count: Operand, *carried: Value, note: str = "") -> Repetition:
        """``with f.repeat(n) as k``: as `loop`, for an ``n`` above 0; ``note``: what the branch back says of itself."""
        return Repetition(self, self.typed(count, "i64"), carried, note)

    def follow(self, first: Value, advance: Callable[[Value], Value]) -> Chain:
        """``with f.follow(first, next_of) as item``: what is built inside runs for each struct of a chain."""
        return Chain(self, first, advance)
