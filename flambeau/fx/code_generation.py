"""How the function around the code of a graph is written: its signature, what it returns, and what calls pass.

>>> import flambeau
>>> from flambeau import fx
>>> class OfList(CodeGen):
...     def gen_fn_def(self, free_vars, maybe_return_annotation):
...         return f"def forward(self, values){maybe_return_annotation}:\\n    {', '.join(free_vars)}, = values"
...     def process_inputs(self, *args):
...         return args[0]
>>> module = fx.symbolic_trace(lambda x, y: x - y)
>>> module.graph.set_codegen(OfList())
>>> _ = module.recompile()
>>> module([5, 3]), fx.Interpreter(module).run([5, 3])
(2, 2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Transform = Callable[[list[str]], list[str]]
"""From the lines of a body to those that are written."""


class CodeGen:
    """Writes the function around a graph's code; subclasses write another one, and say what calls of it pass.

    >>> CodeGen().gen_fn_def(["x", "y"], " -> int")
    'def forward(self, x, y) -> int:'
    """

    def __init__(self) -> None:
        self._body_transformer: Transform | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function, and what comes before the nodes.

        Args:
            free_vars: the arguments of the graph as they are written, without `self`.
            maybe_return_annotation: the annotation of what it returns, with its arrow, or nothing.
        """
        parameters = free_vars if free_vars[:1] == ["self"] else ["self", *free_vars]
        return f"def forward({', '.join(parameters)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The line that returns; `output_args` is shown as code writes it."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the graph, from those of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What a call gives, from what the graph gives."""
        return outputs

    def additional_globals(self) -> Sequence[tuple[str, Any]]:
        """Names that the code uses besides, and what they mean."""
        return []

    def transformed(self, lines: list[str]) -> list[str]:
        """The lines of the body, as who asked to change them leaves them."""
        if self._body_transformer is None:
            return lines
        return [line if line.endswith("\n") else f"{line}\n" for line in self._body_transformer(lines)]


class RegisteredTransform:
    """What `Graph.on_generate_code` gives: within a block of it, or from then on, code is written so."""

    def __init__(self, codegen: CodeGen, before: Transform | None) -> None:
        self._codegen = codegen
        self._before = before

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        self._codegen._body_transformer = self._before


class Written:
    """An expression that is written already: its `repr` is its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
