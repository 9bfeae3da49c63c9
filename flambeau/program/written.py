"""Running a program from its text, before there is a graph: who can do that, and how it is given up.

A loaded program that is wanted for one answer need not be compiled for it. What runs its text computes what the graph
would, or gives up before anybody could tell that it began: then the graph is made, and answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class GivenUpError(Exception):
    """A program is to be run by its graph: what the text says, or what happened, is not for running it as text."""


class WrittenProgram(Protocol):
    """The text of a function, which can be run."""

    def run(self, arguments: Sequence[Any], *, records: bool) -> tuple[Any, int]:
        """The result, and how many operators ran. `records` says whether gradients may be recorded.

        Raises GivenUpError; then everything is as it was before.
        """
