"""What a generator knows of the arrays of its program: the symbols of their axes, and what kind of numbers they hold."""

from __future__ import annotations

from dataclasses import dataclass

Axes = tuple[str, ...]
FLOATS, INTS, BOOLS = "f", "i", "b"


@dataclass(frozen=True, slots=True)
class Value:
    """An array, or a number, which has no axes."""

    text: str
    axes: Axes
    kind: str
    """Floats, ints or bools; the dtype is up to the call."""
    is_own: bool = False
    """Whether it is a variable with memory of its own, which may be written."""

    @property
    def is_array(self) -> bool:
        """Whether it has axes."""
        return bool(self.axes)


PARAMETERS = (
    Value("x", ("n", "m"), FLOATS), Value("y", ("n", "m"), FLOATS), Value("v", ("m",), FLOATS),
    Value("w", ("n",), FLOATS), Value("q", ("n", "m"), INTS), Value("idx", ("n",), INTS), Value("c", (), FLOATS),
    Value("k", (), INTS),
)  # fmt: skip
"""What a program takes: arrays of floats and of ints, places along the first axis, and numbers."""


def joined(a: Axes, b: Axes) -> Axes | None:
    """The axes of what two arrays give together; None where they do not go together for every size."""
    if len(a) < len(b):
        a, b = b, a
    rest = a[len(a) - len(b) :]
    if any(p != q and q != "1" and p != "1" for p, q in zip(rest, b, strict=True)):
        return None
    return a[: len(a) - len(b)] + tuple(p if q == "1" else q for p, q in zip(rest, b, strict=True))
