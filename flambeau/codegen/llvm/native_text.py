"""What is written of a kernel: the LLVM text of its function, alone or beside others, and what it needs."""

from __future__ import annotations

from typing import Final

from flambeau.util.record import dataclass

ATTRIBUTES: Final = '\nattributes #0 = { nounwind "prefer-vector-width"="512" }\n!0 = !{i32 1}\n'
"""What stands behind the functions of a module: what they call `#0` and `!0`."""


@dataclass(frozen=True, slots=True)
class NativeText:
    """The LLVM text of one kernel function and what it needs to be linked.

    >>> NativeText("k", "define void @k() {...}", libm=("expf",), needs_memory=False, splits=True).libm
    ('expf',)
    """

    symbol: str
    text: str
    libm: tuple[str, ...]
    needs_memory: bool
    splits: bool
    """Whether the outermost axis may be cut into [low, high) pieces that run independently."""


@dataclass(frozen=True, slots=True)
class FunctionParts:
    """A kernel's function for a module that has others.

    >>> parts = FunctionParts("entry:\\n  ret void\\n}\\n", declarations=(), libm=(), may_fail=False)
    >>> print(parts.text("idle").strip())
    define internal void @idle(ptr %block, i64 %low, i64 %high) #0 {
    entry:
      ret void
    }
    """

    body: str
    """From the opening brace on."""
    declarations: tuple[str, ...]
    libm: tuple[str, ...]
    may_fail: bool
    """Whether it may write to the error flag."""

    def text(self, symbol: str) -> str:
        """The function under a name."""
        return f"define internal void @{symbol}(ptr %block, i64 %low, i64 %high) #0 {{\n{self.body}"
