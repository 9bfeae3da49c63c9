"""Conditions of failures that no iteration of a loop changes, looked at once before it.

for k in ...:                        if n == 0: the copy that checks everything
    fail if n == 0            →      else: for k in ...:
    y[k] = x[k] // n                     y[k] = x[k] // n

A loop with one way out is one that LLVM makes vectors of, and in which it keeps in registers what an iteration stores
and the next one loads.
"""

from __future__ import annotations

import re

from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter
from flambeau.codegen.graph.scope import Iterations
from flambeau.codegen.llvm.emitter import Value as Register

_PURE = re.compile(
    r"\s*(?P<name>%\w+) = (?:add|sub|mul|and|or|xor|shl|lshr|ashr|icmp|fcmp|select|zext|sext|trunc|sitofp|uitofp|fadd"
    r"|fsub|fmul|fneg) (?P<rest>.*)"
)
"""An instruction that gives the same wherever it stands, and has no way out."""
_NAME = re.compile(r"%[\w.]+")
MOST = 12
"""Instructions of a condition, at most."""


def hoists(e: LaneEmitter, iterations: Iterations, condition: Register) -> bool:
    """Have a condition of the fast copy looked at before the loop, if it is made of what was set there; whether it is.

    Of a branch, too, unless that ends in an exception: where no iteration takes it, the copy that checks everything may
    run for nothing.
    """
    if iterations.is_rare:
        return False
    lines = _slice(e.lines, iterations, condition)
    if lines is None:
        return False
    names = {line.partition(" = ")[0].strip(): e.name() for line in lines}
    iterations.ahead += [_NAME.sub(lambda match: names.get(match[0], match[0]), line) for line in lines]
    iterations.refusals.append(Register(names.get(condition.text, condition.text), condition.type, condition.lanes))
    return True


def _slice(lines: list[str], iterations: Iterations, condition: Register) -> list[str] | None:
    """The instructions within the loop that a condition is made by, in their order; None if one of them may give
    something else in another iteration.
    """
    wanted = set() if iterations.is_outside(condition) else {condition.text}
    taken: list[str] = []
    for line in reversed(lines):
        if not wanted:
            break
        name, defines, _ = line.partition(" = ")
        if not defines or name.strip() not in wanted:
            continue
        pure = _PURE.match(line)
        if pure is None or len(taken) == MOST:
            return None
        wanted.discard(pure["name"])
        wanted |= {
            operand for operand in _NAME.findall(pure["rest"])
            if not iterations.is_outside(Register(operand, condition.type, 1))
        }  # fmt: skip
        taken.append(line)
    return None if wanted else taken[::-1]
