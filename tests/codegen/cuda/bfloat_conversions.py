"""Rounding to bfloat16 in LLVM text of device code that runs on the host, where few processors have an instruction."""

from __future__ import annotations

import re

from flambeau.codegen.llvm.emitter import Emitter, Target, Value
from flambeau.codegen.llvm.half_precision import narrow

_ROUNDED = re.compile(r"(%\w+) = fptrunc float (\S+) to bfloat\n\s*(%\w+) = bitcast bfloat \1 to i16")


def without_instructions(text: str) -> str:
    """The text with calls of a function of its own in the place of conversions to bfloat16."""
    text, count = _ROUNDED.subn(r"\3 = call i16 @host_bfloat(float \2)", text)
    if not count:
        return text
    e = Emitter(Target())
    bits = narrow(e, Value("%x", "float", 1), "bfloat16")
    lines = [text, "define internal i16 @host_bfloat(float %x) {", *e.lines, f"  ret i16 {bits}", "}", ""]
    return "\n".join(lines)
