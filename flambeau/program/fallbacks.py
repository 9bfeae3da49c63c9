"""What is computed another way than by a graph of its own, and why: tangents, gradients, batches. `explain()` says it.

>>> from flambeau.ir.graph import Graph
>>> from flambeau.schema.function import parse_schema
>>> wave = Function("__torch__.wave", Graph(), parse_schema("wave() -> ()"))
>>> note(TAPE, wave, "it prints")
>>> noted(wave)
['the gradient of wave() goes back over a tape: it prints']
"""

from __future__ import annotations

from typing import Final

from flambeau.program.function import Function
from flambeau.util.kept_on import KeptOn

TAPE: Final = "the gradient of {name}() goes back over a tape: {reason}"
BY_GRADIENTS: Final = "tangents of {name}() come from gradients: {reason}"
ONE_BY_ONE: Final = "vmap of {name}() is a loop over the examples: {reason}"
_texts: Final[KeptOn[Function, dict[str, None]]] = KeptOn()


def note(text: str, function: Function, reason: str) -> None:
    """Remember that a function is differentiated or mapped another way, which one of the texts says."""
    texts = _texts.get(function)
    if texts is None:
        texts = _texts[function] = {}
    texts[text.format(name=function.short_name, reason=reason)] = None


def noted(function: Function) -> list[str]:
    """What has been remembered of a function, each once."""
    return list(_texts.get(function) or ())
