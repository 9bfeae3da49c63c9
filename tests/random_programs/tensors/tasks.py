"""Forked tasks: one, several at once, one for each row; results awaited late, in another order or in a loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.random_programs.model import Compound, Node, Program, Statement
from tests.random_programs.tensors.values import Scope, Value

PASSED = ("x", "y", "z", "v", "w", "ids", "mask")


def _arguments(scope: Scope) -> str:
    """What a task gets: the parameters, or others of the same kind and axes."""
    given = []
    for name in PASSED:
        like = next(v for v in scope.values if v.text == name)
        same = [v.text for v in scope.values if v.family == like.family and v.axes == like.axes]
        given.append(scope.draw.choice(same) if scope.chance(0.3) else name)
    return ", ".join([*given, scope.draw.choice(["k", "k", "k + 1", "-k"]), scope.draw.choice(["flag", "flag", "not flag"])])


def forked(scope: Scope, task: Program, results: list[Value], work: Callable[[], list[Node]]) -> tuple[list[Node], list[Value]]:
    """Statements that fork a task, maybe do something meanwhile, and wait; the variables that hold what it gave.

    The task changes nothing that others see, and what is done meanwhile changes nothing that the task sees.
    """
    draw, f = scope.draw, scope.name("f")
    kept = [replace(r, text=scope.name(), is_place=False) for r in results]
    targets = ", ".join(v.text for v in kept)
    comma = "," if len(kept) == 1 else ""
    arguments, others, more = _arguments(scope), _arguments(scope), _arguments(scope)
    meanwhile = work()
    call = f"flambeau.jit.fork({task.name}, {arguments})"
    nodes: list[Node]
    match draw.choice(["one", "one", "two", "list", "branch"]):
        case "one":
            nodes = [Statement(f"{f} = {call}"), *meanwhile, Statement(f"{targets}{comma} = flambeau.jit.wait({f})")]
        case "two":
            second = scope.name("f")
            again = [replace(r, text=scope.name(), is_place=False) for r in results]
            waits = [
                Statement(f"{targets}{comma} = flambeau.jit.wait({f})"),
                Statement(f"{', '.join(v.text for v in again)}{comma} = flambeau.jit.wait({second})"),
            ]
            draw.shuffle(waits)
            other = Statement(f"{second} = flambeau.jit.fork({task.name}, {others})")
            nodes = [Statement(f"{f} = {call}"), other, *meanwhile, *waits]
            # What a task chooses with a mask depends on its arguments: only axes with names of the layout are known.
            kept += [v for v in again if all(len(axis) == 1 or axis == "table" for axis in v.axes)]
        case "list":
            i = scope.name("i")
            source = call.replace(", k", f", {i}", 1) if draw.random() < 0.7 else call
            count = draw.choice(["3", "x.size(0)", "1 + abs(k)"])
            body: list[Node] = [Statement(f"{targets}{comma} = flambeau.jit.wait({f})")]
            before = Statement(f"{targets}{comma} = {task.name}({more})", is_kept=True)
            loop = Compound(f"for {f} in [{source} for {i} in range({count})]:", [body])
            nodes = [before, *meanwhile, loop]
            kept = [v for v in kept if all(len(axis) == 1 or axis == "table" for axis in v.axes)]
        case _:
            body = [Statement(f"{f} = flambeau.jit.fork({task.name}, {others})")]
            choice = Compound("if flag:", [body])
            nodes = [Statement(f"{f} = {call}"), choice, *meanwhile, Statement(f"{targets}{comma} = flambeau.jit.wait({f})")]
    return nodes, kept
