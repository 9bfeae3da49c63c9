"""Makes programs with classes of their own, over values of types that are made up as well."""

from __future__ import annotations

from tests.random_programs.flow.generate import PARAMETERS, RETURNS
from tests.random_programs.model import Node, Program, Statement
from tests.random_programs.typed.definitions import Definitions
from tests.random_programs.typed.values import FIRST

PRELUDE = """\
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Iterator, NamedTuple, Union


class Oops(ValueError):
    pass


class Deep(Oops):
    pass


"""


def generate(seed: int, size: int = 4) -> Program:
    """A program from a seed; the same one each time."""
    made = Definitions(seed)
    definitions = made.everything()
    made.scope = list(FIRST)
    body: list[Node] = [Statement("log: list[str] = []", True), Statement("total = 0", True)]
    for _ in range(size):
        body += made.statement(made.draw.choice([2, 3]))
    for name in made.scope[len(FIRST) :][-6:]:
        body.append(Statement(f"log.append({made.shown(name.kind, name.text)})"))
    body.append(Statement("return log, total", True))
    return Program("main", PARAMETERS, RETURNS, body, (), PRELUDE, definitions)
