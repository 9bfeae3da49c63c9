"""Functions that make the block of a new tensor: they refuse sizes that no tensor has, once for all tensors of a rank.

    fail if a < 0                                       %block = call ptr @new_block_of_2(%context, 8, %a, %b)
    fail if b < 0                                  →    leave if %block is null (no memory) or 1 (refused)
    fail if 8 * a * b does not fit
    %block = call ptr @new_block(%context, 8 * a * b)

Looked at in line, the sizes of each new tensor took a dozen lines and several ways out, which was a third of the
checks of programs with many small tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from flambeau.codegen.graph.native_values import ArrayValue, Native
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.emitter import Value

REFUSED: Final = Value("inttoptr (i64 1 to ptr)", "ptr", 1)
"""What comes in place of a block for sizes that no tensor has: one is negative, or there are too many bytes."""
MOST_BYTES: Final = 1 << 62


def new_block_function(functions: dict[str, str], rank: int) -> str:
    """The name of ``ptr (ptr context, i64 itemsize, i64 sizes...)``: a block, null without memory, or `REFUSED`; its
    text is added to ``functions``.
    """
    name = f"new_block_of_{rank}"
    if name not in functions:
        m = ModuleBuilder({}, own={"new_block": "ptr (ptr, i64)"})
        sizes = [f"i64 size{k}" for k in range(rank)]
        _build(m.function(f"ptr {name}", "ptr context", "i64 itemsize", *sizes, attributes="noinline"))
        functions[name] = m.text()
    return name


def _build(f: FunctionBuilder) -> None:
    context, itemsize, *sizes = f.parameters
    signs = sizes[0]
    for size in sizes[1:]:
        signs = f.op("or", signs, size)
    f.return_if(f.compare("slt", signs, 0), REFUSED)
    total = f.convert("zext", itemsize, "i128")
    for size in sizes:
        total = f.op("mul", total, f.convert("zext", size, "i128"))
        f.return_if(f.compare("ugt", total, MOST_BYTES), REFUSED)
    f.ret(f.call("new_block", context, f.convert("trunc", total, "i64")))


class KnownSizes:
    """Sizes of tensors that there are wherever code is being emitted: another tensor of the same is not refused."""

    def __init__(self) -> None:
        self._around: list[frozenset[tuple[Value, ...]]] = []
        self._here: set[tuple[Value, ...]] = set()

    @contextmanager
    def within_block(self) -> Iterator[None]:
        """Within a `with`, a block is emitted behind which its tensors need not be."""
        self._around.append(frozenset(self._here))
        try:
            yield
        finally:
            self._here = set(self._around.pop())

    def note(self, native: Native | None) -> None:
        """Note a value that is there from here on. Only a tensor that lies in one piece has memory for all elements."""
        if isinstance(native, ArrayValue) and native.rep.rank and native.rep.dense == native.rep.rank:
            self._here.add(_in_some_order(native.sizes))

    def include(self, sizes: Sequence[Value]) -> bool:
        """Whether there is a tensor with these sizes, in whatever order."""
        return _in_some_order(sizes) in self._here


def _in_some_order(sizes: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(sorted(s for s in sizes if s.text != "1"))
