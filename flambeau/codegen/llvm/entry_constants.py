"""What the stubs of one signature refer to: element types and fixed values, and functions made on the way."""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.codegen.graph.entry.signature import Signature
from flambeau.codegen.graph.representation import Fixed, Listed, Mapped, OneOf, Optional, Representation, Tupled
from flambeau.codegen.layouts import ObjectLayouts
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.emitter import Value
from flambeau.program.named_tuples import maker_of_fields
from flambeau.schema.dtype import DType

DESCR, FIXED = "descr_", "fixed_"


class StubConstants:
    """Symbols of a module for a signature: `DESCR` before the name of an element type, `FIXED` before the place of a
    fixed value among those of the signature.
    """

    def __init__(self, m: ModuleBuilder, layouts: ObjectLayouts, signature: Signature) -> None:
        self.m, self.layouts = m, layouts
        self.takes_asking = signature.takes_asking
        self._fixed = [*fixed_values(signature)]
        self._functions: dict[tuple[str, str, tuple[int, ...]], str] = {}

    def descr(self, dtype: DType) -> Value:
        """NumPy's descriptor of an element type."""
        return self.m.symbol(DESCR + dtype.name)

    def object(self, value: object) -> Value:
        """A fixed value: this very object."""
        index = next(k for k, other in enumerate(self._fixed) if other is value)
        return self.m.symbol(f"{FIXED}{index}")

    def function_for(self, purpose: str, r: Representation) -> tuple[str, bool]:
        """The name of the function for a purpose and a representation, and whether it has to be built."""
        key = (purpose, repr(r), tuple(map(id, _fixed_values(r))))  # equal fixed values may be different objects
        is_new = key not in self._functions
        name = self._functions.setdefault(key, f"{purpose.split()[0]}_{len(self._functions)}")
        return name, is_new


def fixed_values(signature: Signature) -> Iterator[object]:
    """The fixed values of parameters and results, in order."""
    for parameter in signature.parameters:
        yield from _fixed_values(parameter.representation)
    for result in signature.results:
        yield from _fixed_values(result)


def _fixed_values(r: Representation) -> Iterator[object]:
    match r:
        case Fixed():
            yield r.value
        case OneOf():
            yield from r.values
        case Tupled():
            yield from (key for key, _ in r.keys or ())
            if r.names is not None:
                yield maker_of_fields(*r.names)
            for item in r.items:
                yield from _fixed_values(item)
        case Optional():
            yield from _fixed_values(r.inner)
        case Listed():
            yield from _fixed_values(r.item)
        case Mapped():
            yield from _fixed_values(r.entry)
