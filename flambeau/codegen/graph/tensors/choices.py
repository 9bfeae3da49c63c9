"""Operators on one of several values that are known when code is made: a text, or a member of an enum.

Such a value is a number in native code, which of its values it is. An operator without effects on such values, and on
literals beside them, is run now for each of them; what it gives is looked up by the number::

    c = Color.RED if flag else Color.BLUE        which of (RED, BLUE)
    c.name                                       which of ("RED", "BLUE")
    c.value == "r"                               whether it is the first
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

from flambeau.analysis.effects import is_pure
from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.native_values import (
    ChoiceValue,
    FixedValue,
    Native,
    Scalar,
    constant_of,
    is_nothing,
)
from flambeau.codegen.graph.representation import Bool, Fixed, Float, Int, OneOf
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.opdef import UNKNOWN
from flambeau.schema.types import StringType

MOST: Final = 64
"""Combinations of values for which an operator is run beforehand."""
_KINDS: Final = (str, int, bool, float)


def by_table(fn: EmittedFunction, node: Node) -> bool:
    """Emit a node whose operands are all known but for which of a few they are; whether it is one."""
    natives = [fn.values.get(v) for v in node.operands]
    if not any(isinstance(n, ChoiceValue) for n in natives) or any(map(is_nothing, natives)):
        return False
    if node.definition is None or not _may_be_run(node):
        return False
    values = [_values(native) for native in natives]
    if UNKNOWN in (v for some in values for v in some) or math.prod(map(len, values)) > MOST:
        return False
    answers = _answers(node.definition.kernel, values)
    if answers is not None:
        fn.values.set(node.result(), _looked_up(fn, _number(fn, natives, values), answers))
    return answers is not None


def _may_be_run(node: Node) -> bool:
    """Whether an operator may be run beforehand."""
    if len(node.results) != 1 or not is_pure(node):
        return False
    return not isinstance(node.result().static_type, StringType) or not _lengthens(node)


def _lengthens(node: Node) -> bool:
    """Whether a node makes texts longer, in a loop ever more of them: sums and multiples."""
    return node.op == "aten::add" or node.op == "aten::mul"


def _values(native: Native) -> Sequence[Any]:
    """What an operand may be."""
    return native.rep.values if isinstance(native, ChoiceValue) else (literal_of(native),)


def _answers(kernel: Callable[..., Any], values: Sequence[Sequence[Any]]) -> list[Any] | None:
    """What an operator gives for each combination; None where it fails for one, or gives other things than numbers
    and texts."""
    try:
        answers = [kernel(*combination) for combination in product(*values)]
    except Exception:  # whatever the operator refuses is for the run to raise
        return None
    kinds = set(map(type, answers))
    return answers if len(kinds) == 1 and kinds.pop() in _KINDS else None


def _number(fn: EmittedFunction, natives: Sequence[Native], values: Sequence[Sequence[Any]]) -> Register:
    """The number of the combination at hand, in the order of `product`."""
    at = memory.number(0)
    for native, some in zip(natives, values, strict=True):
        if isinstance(native, ChoiceValue):
            at = memory.add(fn.e, memory.multiply(fn.e, at, memory.number(len(some))), native.index)
    return at


def _looked_up(fn: EmittedFunction, at: Register, answers: Sequence[Any]) -> Native:
    """The answer of a number."""
    distinct = list(dict.fromkeys(map(_identity, answers)))
    if len(distinct) == 1:
        return FixedValue(Fixed(answers[0])) if isinstance(answers[0], str) else constant_of(answers[0])
    if isinstance(answers[0], str):
        numbers = [distinct.index(_identity(a)) for a in answers]
        return ChoiceValue(OneOf(tuple(distinct)), _picked(fn, at, [memory.number(p) for p in numbers]))
    rep = Bool() if isinstance(answers[0], bool) else Int() if isinstance(answers[0], int) else Float()
    registers = [constant_of(a) for a in answers]
    return Scalar(rep, _picked(fn, at, [r.register for r in registers if isinstance(r, Scalar)]))


def _identity(answer: Any) -> Any:
    """What tells answers apart: floats by their bits."""
    return answer.hex() if isinstance(answer, float) else answer


def _picked(fn: EmittedFunction, at: Register, registers: Sequence[Register]) -> Register:
    """The register of a number."""
    picked = registers[0]
    for k, register in enumerate(registers[1:], 1):
        picked = fn.e.select(fn.e.icmp("eq", at, memory.number(k)), register, picked)
    return picked
