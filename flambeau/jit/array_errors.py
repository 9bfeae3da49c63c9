"""Errors of programs of arrays, as NumPy has them: sizes that do not go together are ValueErrors, in NumPy's words.

Operators say what is wrong in PyTorch's words, for tensors; a function of arrays tells it anew on the way out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from flambeau.tensor.layout import BroadcastError
from flambeau.util.errors import ExecutionError, traceback_text


class ArrayError(ExecutionError, ValueError):
    """Arrays whose sizes do not go together, in a program of arrays."""

    def __str__(self) -> str:
        return traceback_text(f"ValueError: {self.message}" if self.frames else self.message, self.frames)


def array_error(error: ExecutionError) -> ExecutionError:
    """The error that a function of arrays raises in place of one that an operator raised; mostly the same."""
    if type(error) is not ExecutionError:
        return error
    text = _of_shapes(error.__cause__) or _of_text(error.message)
    return error if text is None else ArrayError(text, error.frames)


def _of_shapes(cause: BaseException | None) -> str | None:
    while isinstance(cause, ExecutionError):  # of a part of the program, and of what it was cut out of
        cause = cause.__cause__
    if not isinstance(cause, BroadcastError):
        return None
    if cause.is_assignment:
        into, source = map(_shown, cause.shapes)
        return f"could not broadcast input array from shape {source} into shape {into}"
    return f"operands could not be broadcast together with shapes {' '.join(map(_shown, cause.shapes))}"


def _shown(shape: tuple[int, ...]) -> str:
    """A shape as NumPy writes it: without spaces."""
    return str(tuple(shape)).replace(" ", "")


def _of_list(text: str) -> str:
    """The same of a shape in brackets."""
    return _shown(tuple(int(n) for n in text.split(",") if n.strip()))


_PATTERNS: Final[tuple[tuple[str, Callable[[re.Match[str]], str]], ...]] = (
    (
        r"output with shape \[([\d, ]*)\] doesn't match the broadcast shape \[([\d, ]*)\]$",
        lambda m: f"non-broadcastable output operand with shape {_of_list(m[1])} doesn't match the broadcast shape "
        f"{_of_list(m[2])}",
    ),
    (
        r"shape '\[([-\d, ]*)\]' is invalid for input of size (\d+)$",
        lambda m: f"cannot reshape array of size {m[2]} into shape {_of_list(m[1])}",
    ),
    (r"stack expects each tensor to be equal size", lambda m: "all input arrays must have the same shape"),
    (
        r"Sizes of tensors must match except in dimension",
        lambda m: "all the input array dimensions except for the concatenation axis must match exactly",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)",
        lambda m: _mismatch(m[1], m[2]),
    ),
    (
        r"inconsistent tensor size, expected tensor \[(\d+)\] and src \[(\d+)\]",
        lambda m: _mismatch(m[1], m[2]),
    ),
    (
        r"size mismatch, got input \(\d+\), mat \(\d+x(\d+)\), vec \((\d+)\)",
        lambda m: _mismatch(m[1], m[2]),
    ),
)
"""What operators say of sizes, and what NumPy says instead."""


def _mismatch(columns: str, rows: str) -> str:
    return (
        "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?) "
        f"(size {rows} is different from {columns})"
    )


def _of_text(message: str) -> str | None:
    for pattern, worded in _PATTERNS:
        match = re.match(pattern, message)
        if match is not None:
            return worded(match)
    return None
