"""What the errors are that kernels of a group may find: of which operators, at which lines of the program."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from flambeau.codegen.kernel.opset import TRAPPING
from flambeau.codegen.llvm.abi import OUTSIDE, ZERO_DIVISOR
from flambeau.cuda.late_errors import LATE, ErrorOfNumber, spoken_of
from flambeau.cuda.program_lines import Line, current_line
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Graph, Node
from flambeau.ops.derivatives.meaning_steps import steps_of
from flambeau.passes.fusible import CHANGES, GATHERS, NORMALISATIONS
from flambeau.schema.dtype import int64
from flambeau.util.cached import cached_property

INDEX_ERROR: Final = "index out of range in self"
ZERO_DIVISOR_ERROR: Final = "ZeroDivisionError, an integer is divided by zero"
SIZES_ERROR: Final = "normalized_shape is not what the input's last sizes are"


Kind = tuple[type[Exception], str, Callable[[Node], bool]]


class GroupErrors:
    """The errors of one group's kernels."""

    def __init__(self, name: str, graph: Graph) -> None:
        self._name, self._graph = name, graph

    @cached_property
    def _has_lines(self) -> bool:
        return any(n.range is not None for n in self._graph.nodes())

    def here(self) -> ErrorOfNumber:
        """The errors of a call that is made now: operators of a program have lines, others that of who calls them."""
        return self.of_program if self._has_lines else _Called(self, current_line(), spoken_of())

    def of_program(self, number: int) -> Exception:
        """The error for what a kernel wrote."""
        return self.error(number, None)

    def error(self, number: int, line: Line | None, name: str = "") -> Exception:
        """The same for a call at a line, of an operator of a name where another one's kernel is a part of it."""
        kind, words, is_it = KINDS.get(number, KINDS[ZERO_DIVISOR])
        nodes = [n for n in self._graph.nodes() if n.definition and is_it(n)]
        if nodes and all(n.definition and n.definition.accumulator in NORMALISATIONS for n in nodes):
            kind, words = RuntimeError, SIZES_ERROR
        descriptions = list(dict.fromkeys(map(_described, nodes)))
        said = "" if line is None else f" at {os.path.basename(line[0].co_filename)}:{line[1]}"
        return kind(LATE.format(what=name or " or ".join(descriptions) or self._name, line=said, error=words))


class _Called:
    __slots__ = ("_errors", "_line", "_name")

    def __init__(self, errors: GroupErrors, line: Line | None, name: str) -> None:
        self._errors, self._line, self._name = errors, line, name

    def __call__(self, number: int) -> Exception:
        return self._errors.error(number, self._line, self._name)


def unnamed_error(number: int) -> Exception:
    """The error where nobody knows the operator."""
    kind, words, _ = KINDS.get(number, KINDS[ZERO_DIVISOR])
    return kind(LATE.format(what="a kernel", line="", error=words))


def _looks_at_places(node: Node) -> bool:
    assert node.definition is not None
    return node.definition.accumulator in GATHERS.keys() | CHANGES


def _divides(node: Node) -> bool:
    """Whether an operator divides integers; norms do, where the sizes that they are given are not the input's."""
    assert node.definition is not None
    if node.definition.scalar is None:
        return node.definition.accumulator in NORMALISATIONS
    constants = [constant_value(v) if is_constant(v) else None for v in node.operands]
    return any(step.name in TRAPPING for step in steps_of(node.definition, constants, int64))


def _described(node: Node) -> str:
    name = node.op.partition("::")[2]
    if node.range is None:
        return name
    file, line, _ = node.range.file_line_col()
    return f"{name} at {os.path.basename(file)}:{line}"


KINDS: Final[dict[int, Kind]] = {
    OUTSIDE: (IndexError, INDEX_ERROR, _looks_at_places),
    ZERO_DIVISOR: (ZeroDivisionError, ZERO_DIVISOR_ERROR, _divides),
}
"""By what a kernel writes: the error, its words, and which operators of a group it may be of."""
