"""What Python learned of a traced tensor and a trace fixes: noted, warned of at its line, and guarded in the graph."""

from __future__ import annotations

import linecache
import math
import sys
import warnings
from typing import Any

from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema import types as t
from flambeau.schema.dtype import DType
from flambeau.tensor.dispatch import call
from flambeau.tensor.settled import apart
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import GuardError, TracerWarning
from flambeau.util.record import dataclass
from flambeau.util.source import Source, SourceRange
from flambeau.util.user_code import INSIDE

KINDS: dict[str, tuple[str, str, t.Type]] = {
    "bool": ("a Python boolean", "aten::Bool", t.BOOL),
    "int": ("a Python integer", "aten::Int", t.INT),
    "index": ("a Python index", "aten::Int", t.INT),
    "float": ("a Python float", "aten::Float", t.FLOAT),
    "complex": ("a Python complex number", "aten::ComplexImplicit", t.COMPLEX),
    "item": ("a Python number", "", t.NUMBER),
    "tolist": ("a Python list", "", t.ANY),
    "numpy": ("a NumPy array", "", t.ANY),
}
"""What a tensor's contents became: how messages name it, and the operator that computes it."""
PROPERTIES: dict[str, tuple[str, str, t.Type]] = {
    "rank": ("the number of dimensions", "aten::dim", t.INT),
    "dtype": ("the dtype", "prim::dtype", t.INT),
    "is_contiguous": ("whether it is contiguous", "aten::is_contiguous", t.BOOL),
    "stride": ("the strides", "aten::stride", t.ListType(t.INT)),
}
"""What Python may ask about a tensor without looking at contents or sizes: fixed and guarded, but not warned of."""
WARNING = (
    "{action} fixes {what} in the trace, here {value}. {ending} Script this function (flambeau.script) or compute it "
    "with tensor operators to keep it open{sizes}; allow it with flambeau.jit.allow: {line}"
)
COMPARING = "Comparing sizes"
GUARDED = "A later call for which it differs raises an error that names this line."
UNGUARDED = "Nothing guards it: a later call for which it differs goes wrong silently."
FAILED = (
    "{what} in the run ({error}) fixes what the program did then: the trace has only that way, and nothing guards it. "
    "Script this function (flambeau.script), or ask for sizes and dtypes instead of trying"
)
DYNAMIC = ", or mark the size as dynamic (flambeau.jit.dynamic) if the result holds for every size"
GUARD = (
    "the trace fixed {what} at {file}:{line} to {value}, and this call needs another value: {text}. Script the "
    "function, or trace it again for inputs like these."
)


@dataclass(frozen=True)
class Baked:
    """A value that depended on the inputs and is fixed in the trace."""

    what: str
    """What it became: "a Python boolean"."""
    value: Any
    where: SourceRange


@dataclass(frozen=True)
class PropertyGuard:
    """A guard on what Python asked about a tensor."""

    kind: str
    value: Value
    """The tensor."""
    fixed: Any
    entry: Baked
    nodes: tuple[Node, ...]
    """All that the guard consists of, the last one first."""


class Baker:
    """Fixes values in one graph."""

    def __init__(self, graph: Graph, *, guard: bool, warn: bool) -> None:
        self.graph = graph
        self.baked: list[Baked] = []
        self.property_guards: list[PropertyGuard] = []
        self._guard, self._warn = guard, warn
        self.failures: list[Baked] = []
        self._known: set[tuple[str, Value]] = set()
        self.is_allowed = False
        """Whether the user said that what is fixed now may be."""

    def warn(self, text: str) -> None:
        """Warn of something else, unless nothing is to be warned of."""
        if self._warn:
            warn_user(text)

    def fix(
        self, what: str, value: Any, source: Value, *, holds: Value | None = None, action: str = "",
        precision: float = 0.0,
    ) -> None:  # fmt: skip
        """`source`, which is `value` in this run, became something in Python. `holds` is a condition that says so.

        A float is the same up to a relative `precision`: native code may round otherwise than Python's operators.
        """
        where = self.graph.current_range or user_range()
        self.baked.append(Baked(what, value, where))
        if self._guard:
            self._insert(what, value, source, where, holds, precision)
        if self._warn and not self.is_allowed:
            _, line, _ = where.file_line_col()
            text = WARNING.format(
                action=action or f"Converting a tensor to {what}",
                what="its value" if not action else what,
                value=_short(value),
                ending=GUARDED if self._guard else UNGUARDED,
                sizes=DYNAMIC if source.static_type == t.INT or action == COMPARING else "",
                line=where.text or line,
            )
            warn_user(text, where)

    def fix_property(self, kind: str, tensor: Value, fixed: Any) -> None:
        """Python asked about a tensor's rank, dtype or layout. Once for each is enough."""
        if (kind, tensor) in self._known:
            return
        self._known.add((kind, tensor))
        what, operator, type_ = PROPERTIES[kind]
        where = self.graph.current_range or user_range()
        entry = Baked(what, fixed, where)
        self.baked.append(entry)
        if not self._guard:
            return
        before = self.graph.body.last
        source = self.graph.insert(operator, [tensor], [type_]).result()
        self._insert(what, fixed, source, where, None, 0.0)
        nodes: list[Node] = []
        last = self.graph.body.last
        while last is not None and last is not before:
            nodes.append(last)
            last = last.previous
        self.property_guards.append(PropertyGuard(kind, tensor, fixed, entry, tuple(nodes)))

    def failed(self, operator: str, error: Exception) -> None:
        """An operator failed, and the program went on: it would have gone another way otherwise."""
        where = self.graph.current_range or user_range()
        entry = Baked(f"the failure of {operator}", str(error), where)
        self.baked.append(entry)
        self.failures.append(entry)

    def warn_of_failures(self) -> None:
        """Warn of failures that the program survived."""
        for entry in self.failures if self._warn else ():
            warn_user(FAILED.format(what=entry.what, error=_short(entry.value)), entry.where)

    def _insert(
        self, what: str, value: Any, source: Value, where: SourceRange, holds: Value | None, precision: float
    ) -> None:
        graph = self.graph
        plain = value.code if hasattr(value, "code") else value
        if holds is not None:
            pass
        elif isinstance(plain, float) and math.isnan(plain):
            holds = graph.insert("aten::isnan", [source], [t.BOOL]).result()
        elif isinstance(plain, float) and math.isfinite(plain) and precision:
            holds = _is_near(graph, source, plain, precision * max(abs(plain), 0.1))
        else:
            expected = insert_constant(graph, plain, source.static_type)
            holds = graph.insert("aten::eq", [source, expected], [t.BOOL]).result()
        branch = graph.insert("prim::If", [holds], [])
        branch.add_block()
        with graph.inserting(branch.add_block()):
            filename, line, _ = where.file_line_col()
            text = GUARD.format(what=what, file=filename, line=line, value=_short(value), text=where.text or "")
            message = insert_constant(graph, text, t.STRING)
            error = insert_constant(graph, GuardError.name, t.STRING)
            graph.insert("prim::RaiseException", [message, error], [])


def _is_near(graph: Graph, source: Value, wanted: float, tolerance: float) -> Value:
    apart = graph.insert("aten::sub", [source, insert_constant(graph, wanted)], [t.FLOAT]).result()
    size = graph.insert("prim::abs", [apart], [t.FLOAT]).result()
    return graph.insert("aten::le", [size, insert_constant(graph, tolerance)], [t.BOOL]).result()


def same_contents(graph: Graph, source: Value, tensor: Tensor) -> Value:
    """Whether a tensor is what it is now, rounding aside."""
    constant = insert_constant(graph, call("aten::to", apart(tensor), tensor.device), t.TENSOR)
    dtype: DType = Tensor.dtype.__get__(tensor)
    if not (dtype.is_floating_point or dtype.is_complex):
        return graph.insert("aten::equal", [source, constant], [t.BOOL]).result()
    sizes = graph.insert("aten::size", [source], [t.ListType(t.INT)]).result()
    wanted = insert_constant(graph, list(tensor._array.shape), t.ListType(t.INT))
    branch = graph.insert("prim::If", [graph.insert("aten::eq", [sizes, wanted], [t.BOOL]).result()], [t.BOOL])
    first, second = branch.add_block(), branch.add_block()
    with graph.inserting(first):
        precision = precision_of(tensor)
        contents = [insert_constant(graph, v) for v in (precision, precision * 0.1, True)]
        first.add_return(graph.insert("aten::allclose", [source, constant, *contents], [t.BOOL]).result())
    with graph.inserting(second):
        second.add_return(insert_constant(graph, False))
    return branch.result()


def precision_of(tensor: Tensor) -> float:
    """Relative differences that rounding may make of floats of a tensor's type."""
    dtype: DType = Tensor.dtype.__get__(tensor)
    return {8: 1e-10, 4: 1e-5}.get(dtype.itemsize // (2 if dtype.is_complex else 1), 1e-2)


def warn_user(text: str, where: SourceRange | None = None) -> None:
    """A `TracerWarning` at a place in the user's code, by default where it is now."""
    where = where or user_range()
    warnings.warn_explicit(text, TracerWarning, where.source.shown_name, where.file_line_col()[1], registry={})


def user_frame() -> Any:
    """The innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        frame = frame.f_back
    return frame


def user_range() -> SourceRange:
    """The line of the innermost frame outside this package."""
    frame = user_frame()
    return range_of_line(frame.f_code.co_filename, frame.f_lineno, frame.f_globals)


def range_of_line(filename: str, number: int, namespace: dict[str, Any] | None = None) -> SourceRange:
    """A line of a file, without its indentation."""
    line = linecache.getline(filename, number, namespace).rstrip("\n")
    if not line:
        return SourceRange.at(filename, number, 0)
    start = len(line) - len(line.lstrip())
    return SourceRange(Source(line, filename, first_line=number), start, len(line.rstrip()))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
