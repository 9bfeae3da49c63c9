"""The words of attention as its functions read them: sizes, steps, and where matrices of the batch lie."""

from __future__ import annotations

from flambeau.codegen.attention.words import ARRAYS, CALL, CALL_AT, MOST_BATCH
from flambeau.codegen.llvm.builder import FunctionBuilder
from flambeau.codegen.llvm.checked_emitter import word
from flambeau.codegen.llvm.emitter import Value


class Matrices:
    """What the block of a function ``(block, low, high)`` says."""

    def __init__(self, f: FunctionBuilder, size: int) -> None:
        """`size`: bytes of an element."""
        self._f, self._size = f, size
        block = f.parameters[0]
        self._call = f.at(block, CALL_AT)
        self.get = {name: f.get(self._call, CALL, name) for name in CALL.fields if name != "scale"}
        self._base = {name: f.word_of(block, self.get[name], "ptr") for name in (*ARRAYS, "y")}

    def scale(self, element: str) -> Value:
        """The number that scores are multiplied with."""
        scale = self._f.get(self._call, CALL, "scale", "double")
        return scale if element == "double" else self._f.convert("fptrunc", scale, "float")

    def of(self, number: Value) -> dict[str, Value]:
        """The addresses of the matrices of a place of the batch."""
        f, get = self._f, self.get
        rest, offsets = number, dict.fromkeys(ARRAYS, word(0))
        for axis in reversed(range(MOST_BATCH)):
            size = get[f"size_{axis}"]
            coordinate, rest = f.op("urem", rest, size), f.op("udiv", rest, size)
            for name in ARRAYS:
                is_shared = axis == MOST_BATCH - 1 and name in ("k", "v")
                own = f.op("udiv", coordinate, get[f"{name}_each"]) if is_shared else coordinate
                offsets[name] = f.op("add", offsets[name], f.op("mul", own, get[f"{name}_{axis}"]))
        whole = f.op("mul", f.op("mul", get["queries"], get["values"]), self._size)
        offsets["y"] = f.op("mul", number, whole)
        return {name: f.at(self._base[name], offset, "i8") for name, offset in offsets.items()}
