"""Random programs of branches, loops and exits, against CPython: exits made structured, variables made values."""

from __future__ import annotations

import random
from functools import partial

import pytest

from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.scopes.name_resolution import Names
from flambeau.interpreter.reference import evaluate
from flambeau.ir.verify import verify
from flambeau.program.function import Function

NAMES = ("a", "b", "c")


class Writer:
    """Writes one program. Loops end because each counts its rounds, and a count that is too high raises."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def expression(self) -> str:
        pick = self.random.choice
        return pick((
            f"{pick(NAMES)} + {self.random.randint(-3, 3)}", f"{pick(NAMES)} * 2", f"{pick(NAMES)} - {pick(NAMES)}",
            str(self.random.randint(0, 5)), f"{pick(NAMES)} % 7",
        ))  # fmt: skip

    def condition(self) -> str:
        pick = self.random.choice
        simple = f"{pick(NAMES)} {pick(('<', '>', '==', '!=', '<='))} {self.random.randint(-2, 6)}"
        if self.random.random() < 0.2:
            return f"{simple} {pick(('and', 'or'))} {pick(NAMES)} > {self.random.randint(0, 5)}"
        return simple

    def block(self, depth: int, in_loop: bool, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, in_loop, indent)
        return lines

    def statement(self, depth: int, in_loop: bool, indent: str) -> list[str]:
        roll = self.random.random()
        inner = indent + "    "
        if depth > 0 and roll < 0.35:
            lines = [f"{indent}if {self.condition()}:", *self.block(depth - 1, in_loop, inner)]
            if self.random.random() < 0.3:
                lines += [f"{indent}elif {self.condition()}:", *self.block(depth - 1, in_loop, inner)]
            if self.random.random() < 0.5:
                lines += [f"{indent}else:", *self.block(depth - 1, in_loop, inner)]
            return lines
        if depth > 0 and roll < 0.55:
            self.loops += 1
            count = f"n{self.loops}"
            body = self.block(depth - 1, True, inner)
            if self.random.random() < 0.5:
                return [f"{indent}for {self.random.choice(('i', 'a'))} in range({self.random.randint(0, 4)}):", *body]
            guard = [
                f"{inner}{count} += 1",
                f"{inner}if {count} > 9:",
                f"{inner}    {self.random.choice(('break', 'return a'))}",
            ]
            return [f"{indent}{count} = 0", f"{indent}while {self.condition()}:", *guard, *body]
        if in_loop and roll < 0.68:
            return [f"{indent}if {self.condition()}:", f"{inner}{self.random.choice(('break', 'continue'))}"]
        if in_loop and roll < 0.72:
            return [f"{indent}{self.random.choice(('break', 'continue'))}"]
        if roll < 0.80:
            return [f"{indent}if {self.condition()}:", f"{inner}return {self.expression()}"]
        if roll < 0.83:
            return [f"{indent}return {self.expression()}"]
        if roll < 0.86:
            return [f"{indent}if {self.condition()}:", f"{inner}raise ValueError('stop')"]
        return [f"{indent}{self.random.choice(NAMES)} = {self.expression()}"]

    def program(self) -> str:
        body = self.block(3, False, "    ")
        counts = [f"    n{i} = 0" for i in range(1, self.loops + 1)]
        return "\n".join(
            ["def f(a: int, b: int, c: int) -> int:", *counts, *body, "    return a * 100 + b * 10 + c", ""]
        )


def run(function: Function, *arguments: int) -> object:
    return evaluate(function.graph, arguments)[0]


def outcome(call: object, arguments: tuple[int, ...]) -> object:
    try:
        return call(*arguments)  # type: ignore[operator]
    except Exception as error:
        return f"raised {str(error).rpartition(': ')[2].strip()}"


@pytest.mark.parametrize("batch", range(10))
def test_random_control_flow_means_what_python_means(batch: int) -> None:
    for seed in range(batch * 30, batch * 30 + 30):
        source = Writer(seed).program()
        namespace: dict[str, object] = {}
        exec(compile(source, "<random>", "exec"), namespace)
        [function] = compile_source(source, Names())
        verify(function.graph)
        for arguments in ((0, 0, 0), (1, 2, 3), (5, -1, 4), (3, 3, 3)):
            expected = outcome(namespace["f"], arguments)
            actual = outcome(partial(run, function), arguments)
            assert actual == expected, f"seed {seed}, arguments {arguments}:\n{source}"
