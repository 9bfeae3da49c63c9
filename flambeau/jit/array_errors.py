"""Errors of programs of arrays, as NumPy has them: of its classes, and in its words.

Operators say what is wrong in PyTorch's words, for tensors; a function of arrays tells it anew on the way out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Final

import numpy as np

from flambeau.tensor.layout import BroadcastError
from flambeau.util.errors import ExecutionError, ScriptError, traceback_text


class OfArraysError(ExecutionError):
    """What an operator does not take, in a program of arrays."""

    named: ClassVar[str]
    """NumPy's class of such errors, or Python's."""

    def __str__(self) -> str:
        return traceback_text(f"{self.named}: {self.message}" if self.frames else self.message, self.frames)


class ArrayError(OfArraysError, ValueError):
    """Arrays, or their sizes, that do not go together."""

    named = "ValueError"


class ArrayTypeError(OfArraysError, TypeError):
    """An array where a number is meant."""

    named = "TypeError"


class ArrayIndexError(OfArraysError, IndexError):
    """A place that an array does not have."""

    named = "IndexError"


class ArrayAxisError(OfArraysError, np.exceptions.AxisError):
    """An axis that an array does not have."""

    named = "numpy.exceptions.AxisError"


class ArrayLinAlgError(OfArraysError, np.linalg.LinAlgError):
    """A matrix that has no such decomposition, or is not square."""

    named = "numpy.linalg.LinAlgError"


FAILED: Final = (ExecutionError, ScriptError)
"""What a program raises: of an operator, and of its own."""


def array_error(error: ExecutionError | ScriptError) -> ExecutionError | ScriptError:
    """The error that a function of arrays raises in place of one that an operator, or the program, raised; mostly the
    same."""
    if isinstance(error, ScriptError):
        return type(error)(error.message.removeprefix("builtins."), error.frames)
    if isinstance(error, OfArraysError) or not (type(error) is ExecutionError or isinstance(error, IndexError)):
        return error
    text = _of_shapes(error.__cause__)
    if text is not None:
        return ArrayError(text, error.frames)
    for pattern, kind, worded in _PATTERNS:
        match = re.match(pattern, error.message)
        if match is not None:
            return kind(worded if isinstance(worded, str) else worded(match), error.frames)
    return error


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
    """A shape that PyTorch writes in brackets, as NumPy writes it."""
    return _shown(tuple(int(n) for n in text.split(",") if n.strip()))


def _place(m: re.Match[str]) -> str:
    return f"index {m[1]} is out of bounds for axis {m[3]} with size {int(m[2].split(',')[int(m[3])])}"


def _axis(m: re.Match[str]) -> str:
    return f"axis {m[2]} is out of bounds for array of dimension {int(m[1]) + 1}"


def _of_nothing(m: re.Match[str]) -> str:
    kind = m[1].lstrip("a").removeprefix("nan").removeprefix("rg")
    if m[1].startswith("arg"):
        return f"attempt to get {m[1]} of an empty sequence"
    return f"zero-size array to reduction operation {kind}imum which has no identity"


def _mismatch(m: re.Match[str]) -> str:
    return (
        "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?) "
        f"(size {m[2]} is different from {m[1]})"
    )


_NEGATIVE: Final = "negative dimensions are not allowed"
_PATTERNS: Final[tuple[tuple[str, type[ExecutionError], str | Callable[[re.Match[str]], str]], ...]] = (
    (
        r"output with shape \[([\d, ]*)\] doesn't match the broadcast shape \[([\d, ]*)\]$", ArrayError,
        lambda m: f"non-broadcastable output operand with shape {_of_list(m[1])} doesn't match the broadcast shape "
        f"{_of_list(m[2])}",
    ),
    (
        r"shape '\[([-\d, ]*)\]' is invalid for input of size (\d+)$", ArrayError,
        lambda m: f"cannot reshape array of size {m[2]} into shape {_of_list(m[1])}",
    ),
    (
        r"shape mismatch: value tensor of shape \[([\d, ]*)\] cannot be broadcast to indexing result of shape "
        r"\[([\d, ]*)\]", ArrayError,
        lambda m: f"shape mismatch: value array of shape {_of_list(m[1])} could not be broadcast to indexing result of "
        f"shape {_of_list(m[2])}",
    ),
    (r"the tensor's memory is read-only", ArrayError, "assignment destination is read-only"),
    (r"stack expects each tensor to be equal size", ArrayError, "all input arrays must have the same shape"),
    (
        r"Sizes of tensors must match except in dimension", ArrayError,
        "all the input array dimensions except for the concatenation axis must match exactly",
    ),
    (
        r"Tensors must have same number of dimensions: got (\d+) and (\d+)", ArrayError,
        lambda m: f"all the input arrays must have same number of dimensions, but one has {m[1]} and another {m[2]}",
    ),
    (r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)", ArrayError, _mismatch),
    (r"inconsistent tensor size, expected tensor \[(\d+)\] and src \[(\d+)\]", ArrayError, _mismatch),
    (r"size mismatch, got input \(\d+\), mat \(\d+x(\d+)\), vec \((\d+)\)", ArrayError, _mismatch),
    (
        r"select\(\): index (-?\d+) out of range for tensor of size \[([\d, ]+)\] at dimension (\d+)", ArrayIndexError,
        _place,
    ),
    (
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)", ArrayIndexError,
        lambda m: f"index {m[1]} is out of bounds for axis {m[2]} with size {m[3]}",
    ),
    (r"index out of range in self$", ArrayIndexError, "index is out of bounds for the size of the axis"),
    (
        r"select\(\) cannot be applied to a 0-dim tensor|too many indices for tensor of dimension", ArrayIndexError,
        "too many indices for array",
    ),
    (r"Dimension out of range \(expected to be in range of \[-\d+, (\d+)\], but got (-?\d+)\)", ArrayAxisError, _axis),
    (
        r"(argmax|argmin|max|min|amax|amin)\(\): Expected reduction dim to be specified for input.numel\(\) == 0",
        ArrayError, _of_nothing,
    ),
    (r"permute\(.*\): number of dimensions in the tensor input does not match", ArrayError, "axes don't match array"),
    (r"\w+: Dimension size must be non-negative|n must be greater or equal to 0|Repeats must be non-negative",
     ArrayError, _NEGATIVE),
    (r"number of steps must be non-negative", ArrayError, "the number of samples must be non-negative"),
    (r"bincount only supports 1-d non-negative", ArrayError, "bincount takes one axis of non-negative whole numbers"),
    (r"step must be nonzero", ArrayError, "the step of np.arange must not be zero"),
    (
        r"a Tensor with (\d+) elements cannot be converted to Scalar", ArrayTypeError,
        "only 0-dimensional arrays can be converted to Python scalars",
    ),
    (
        r"Cannot input a tensor of dimension other than 0 as a scalar argument", ArrayTypeError,
        "an array is given back where a number is declared: declare np.ndarray, or give one element",
    ),
    (
        r"Boolean value of Tensor with (more than one|no) value", ArrayError,
        "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all(), and & and | in "
        "place of the words",
    ),
    (r"(torch\.)?linalg[._]\w+: .*must be batches of square matrices", ArrayLinAlgError,
     "Last 2 dimensions of the array must be square"),
    (r"(torch\.)?linalg\.cholesky\w*: .*not positive-definite", ArrayLinAlgError, "Matrix is not positive definite"),
    (r"(torch\.)?linalg\.\w+: .*singular", ArrayLinAlgError, "Singular matrix"),
    (r"(torch\.)?linalg\.(eig|svd)\w*: .*failed to converge", ArrayLinAlgError, "the decomposition did not converge"),
)  # fmt: skip
"""What operators say, and of which class it is for arrays, in which words."""
