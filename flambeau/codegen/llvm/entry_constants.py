"""What the stubs of one signature refer to: element types and fixed values, and functions made on the way."""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.codegen.graph.representation import Fixed, Listed, OneOf, Optional, Representation, Tupled
from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import ModuleBuilder, Value
from flambeau.schema.dtype import DType


class StubConstants:
    """Symbols of a module for a signature, in the order in which they are first asked for."""

    def __init__(self, m: ModuleBuilder, layouts: ObjectLayouts) -> None:
        self.m, self.layouts = m, layouts
        self.dtypes: list[DType] = []
        """Imported as ``descr_0``, ..."""
        self.fixed: list[object] = []
        """Imported as ``fixed_0``, ..."""
        self._functions: dict[tuple[str, str, tuple[int, ...]], str] = {}

    def descr(self, dtype: DType) -> Value:
        """NumPy's descriptor of an element type."""
        if dtype not in self.dtypes:
            self.dtypes.append(dtype)
        return self.m.symbol(f"descr_{self.dtypes.index(dtype)}")

    def object(self, value: object) -> Value:
        """A fixed value: this very object."""
        index = next((k for k, other in enumerate(self.fixed) if other is value), len(self.fixed))
        if index == len(self.fixed):
            self.fixed.append(value)
        return self.m.symbol(f"fixed_{index}")

    def function_for(self, purpose: str, r: Representation) -> tuple[str, bool]:
        """The name of the function for a purpose and a representation, and whether it has to be built."""
        key = (purpose, repr(r), tuple(map(id, _fixed_values(r))))  # equal fixed values may be different objects
        is_new = key not in self._functions
        name = self._functions.setdefault(key, f"{purpose.split()[0]}_{len(self._functions)}")
        return name, is_new


def _fixed_values(r: Representation) -> Iterator[object]:
    match r:
        case Fixed():
            yield r.value
        case OneOf():
            yield from r.values
        case Tupled():
            yield from (key for key, _ in r.keys or ())
            for item in r.items:
                yield from _fixed_values(item)
        case Optional():
            yield from _fixed_values(r.inner)
        case Listed():
            yield from _fixed_values(r.item)
