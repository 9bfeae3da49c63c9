"""Programs with the arrays that they are run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Draws = np.random.Generator
Script = Callable[[Callable[..., Any]], Any]
"""What compiles a function, or gives it back."""


@dataclass(frozen=True)
class Example:
    """A program on data."""

    program: Callable[[Script], Callable[..., Any]]
    """Makes it of what compiles functions."""
    arguments: Callable[[Draws], tuple[Any, ...]]
    tolerance: float = 1e-7

    @property
    def name(self) -> str:
        return self.program.__name__.replace("_", " ")


EXAMPLES: list[Example] = []


def example(arguments: Callable[[Draws], tuple[Any, ...]], **options: Any) -> Callable[[Any], Any]:
    """Note a program with what makes its arguments; the program stays as it is."""

    def note(program: Any) -> Any:
        EXAMPLES.append(Example(program, arguments, **options))
        return program

    return note
