"""Texts that are known when code is made, as code points in it."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import native_values
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, ChoiceValue, FixedValue, Native, TextValue
from flambeau.codegen.graph.representation import Text
from flambeau.codegen.llvm.emitter import Emitter
from flambeau.codegen.llvm.emitter import Value as Register

NULL = Register("null", "ptr", 1)


def as_text(e: Emitter, functions: dict[str, str], native: Native) -> TextValue:
    """A text that is known, one of several, or any. Raises `CannotCompileError` for what is none.

    ``functions``: what the module has beside its functions, to which literals are added.
    """
    match native:
        case TextValue():
            return native
        case FixedValue() if isinstance(native.rep.value, str):
            return _literal(functions, native.rep.value)
        case ChoiceValue() if native_values.is_text(native.rep):
            return _chosen(e, [_literal(functions, str(v)) for v in native.rep.values], native.index)
    raise CannotCompileError(f"a text is needed, not {native_values.describe(native.rep)}")


def constant(functions: dict[str, str], symbol: str, codes: Sequence[int]) -> Register:
    """The address of code points in the code."""
    items = ", ".join(f"i32 {code}" for code in codes)
    functions[symbol] = f"@{symbol} = private unnamed_addr constant [{len(codes)} x i32] [{items}]"
    return Register(f"@{symbol}", "ptr", 1)


def _literal(functions: dict[str, str], text: str) -> TextValue:
    codes = [ord(character) for character in text]
    symbol = "text_constant_" + "_".join(f"{code:x}" for code in codes)
    return TextValue(Text(), NULL, constant(functions, symbol, [*codes, 0]), number(len(text)))


def _chosen(e: Emitter, texts: Sequence[TextValue], index: Register) -> TextValue:
    data, length = texts[0].data, texts[0].length
    for k, text in enumerate(texts[1:], 1):
        is_this = e.icmp("eq", index, number(k))
        data, length = e.select(is_this, text.data, data), e.select(is_this, text.length, length)
    return TextValue(Text(), NULL, data, length)
