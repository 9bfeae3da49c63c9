"""What is said of values that are not close.

>>> print(mismatch("Scalars", "Expected 2 but got 1.", Difference(1, 0), Difference(0.5, 0)))
Scalars are not equal!
<BLANKLINE>
Expected 2 but got 1.
Absolute difference: 1
Relative difference: 0.5
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Difference(NamedTuple):
    """How far values are apart.

    >>> Difference(0.5, 0.1, (2,)).said("absolute", True)
    'Greatest absolute difference: 0.5 at index (2,) (up to 0.1 allowed)'
    """

    amount: Any
    tolerance: float
    where: tuple[int, ...] | None = None
    """Where the greatest difference is; None for numbers."""

    def said(self, kind: str, has_tolerance: bool) -> str:
        """The mismatch in words."""
        if self.where is None:
            text = f"{kind.title()} difference: {self.amount}"
        else:
            text = f"Greatest {kind} difference: {self.amount} at index {self.where}"
        return f"{text} (up to {self.tolerance} allowed)" if has_tolerance else text


def mismatch(what: str, extra: str, absolute: Difference, relative: Difference) -> str:
    """The text about two numbers or tensors."""
    has_tolerance = not absolute.tolerance == relative.tolerance == 0
    first = f"{what} are not {'close' if has_tolerance else 'equal'}!\n"
    return "\n".join([first, extra, absolute.said("absolute", has_tolerance), relative.said("relative", has_tolerance)])
