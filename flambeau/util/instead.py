"""Advice: what to write instead of something, in messages, kept so that a test compiles and runs every piece of it.

>>> text = instead("Write {code}.", "x.clone()", of="x.copy()", given="x: Tensor")
>>> text, ADVICE[-1].of
('Write x.clone().', 'x.copy()')
>>> del ADVICE[-1]

What messages say to write in the place of something goes through here; `tests/docs/test_advice.py` has no list of
its own.
"""

from __future__ import annotations

from typing import Final

from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """Code that programs may have, and what it is in the place of."""

    code: str
    """An expression, or statements where `gives` says what they leave."""
    of: str
    """What Python, NumPy or PyTorch writes for it; empty where nothing there is the same."""
    given: str
    """The parameters of a function that has the code in it."""
    gives: str = ""
    """The expression to look at behind statements."""


ADVICE: Final[list[Advice]] = []
"""All advice that messages give, in the order in which modules are imported."""


def instead(text: str, code: str, *, given: str, of: str = "", gives: str = "", shown: str = "") -> str:
    """A message with what to write in the place of `{code}`; `shown` is how the message writes it, if otherwise."""
    ADVICE.append(Advice(code, of, given, gives))
    return text.replace("{code}", shown or code)
