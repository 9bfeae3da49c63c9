"""What is read of printed code without Python's parser: plain constants, and parameters with nothing but a type.

>>> plain_value("-1.5e-05"), plain_value("(3, 3)"), plain_value('"zeros"'), plain_value("CONSTANTS.c0") is NOT_PLAIN
(-1.5e-05, (3, 3), 'zeros', True)
>>> parameters_of(",\\n    x: Tensor,\\n    n: Dict[str, int]) -> List[Tensor]")
([('x', 'Tensor'), ('n', 'Dict[str, int]')], 'List[Tensor]')
"""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Any, Final

NOT_PLAIN: Final = object()
"""What stands for a value that is none of those that are read here."""
_INT: Final = r"-?(?:0|[1-9]\d{0,17})"
_PLAIN: Final = re.compile(
    rf"""({_INT})|(-?(?:0|[1-9]\d*)\.\d*(?:e[+-]?\d+)?)|"([^"\\\n]*)"|\(({_INT}(?:,\ {_INT})+),?\ ?\)""", re.X
)
_WORDS: Final = {"True": True, "False": False, "None": None}
_PARAMETER: Final = re.compile(r",\n? +([A-Za-z_]\w*): ")
_RESULT: Final = ") -> "


def plain_value(text: str) -> Any:
    """The number, text, bool, None or tuple of ints that is written; `NOT_PLAIN` for anything else."""
    if text in _WORDS:
        return _WORDS[text]
    match = _PLAIN.fullmatch(text)
    if match is None:
        return NOT_PLAIN
    whole, fraction, quoted, items = match.groups()
    if whole is not None:
        return int(whole)
    if fraction is not None:
        return float(fraction)
    return quoted if quoted is not None else tuple(map(int, items.split(", ")))


def parameters_of(signature: str) -> tuple[list[tuple[str, str]], str] | None:
    """Names and types of the parameters of a method behind the first, and the type of the result; None where there is
    more to say of one, such as a default."""
    listed, _, result = signature.rpartition(_RESULT)
    if not result or any(sign in signature for sign in "=*#/\"'"):
        return None
    first, *parts = _PARAMETER.split(listed)
    names = parts[::2]
    if first or len(set(names)) < len(names) or any(map(iskeyword, names)):
        return None
    return list(zip(names, parts[1::2], strict=True)), result
