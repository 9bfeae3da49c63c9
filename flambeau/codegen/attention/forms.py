"""Which code serves a call of attention: queries in lanes, many or few, or keys in lanes for very few queries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.codegen.attention.few_queries import few_queries_text
from flambeau.codegen.attention.kernel import BOOLS, NO_MASK, NUMBERS, SYMBOL, attention_text
from flambeau.codegen.llvm.engine import NativeCode, engine, memory_imports
from flambeau.codegen.patterns import NEVER
from flambeau.util.record import dataclass

Array = np.ndarray[Any, Any]
WIDE: Final = 4
"""Vectors of queries that are gone over together, where there are more than two."""
FEW: Final = 6
"""Queries that are gone over one after another, of as many as there are lanes for eight."""
MOST_NUMBERS: Final = 1024
"""Features, and numbers of a value, for which there is room on the stack."""


@dataclass(frozen=True, slots=True)
class Form:
    """The code that serves calls."""

    dtype: str
    mask: str
    queries: tuple[int, int]
    """How many queries it serves."""
    width: int
    """Vectors of queries that are gone over together; 0: one query after another, with keys in lanes."""
    lanes: int

    @property
    def each(self) -> int:
        """Queries of a unit of work; 0 for all."""
        return self.width * self.lanes

    @property
    def name(self) -> str:
        """What its code is kept under."""
        return f"attention {self.dtype} {self.width} {self.mask}"

    def text(self) -> str:
        """The module."""
        if self.width:
            return attention_text(self.dtype, engine().target, self.width, self.mask)
        return few_queries_text(self.dtype, engine().target, self.mask)


@cache
def code_of(form: Form) -> NativeCode:
    return engine().link_written(form.name, (SYMBOL,), form.text, memory_imports())


def form_of(q: Array, k: Array, v: Array, masks: Sequence[Array]) -> Form:
    """The form for arrays like these."""
    lanes, count = engine().target.vector_bits // (8 * q.itemsize), q.shape[-2]
    few = lanes * FEW // 8
    has_few = engine().target.vector_bits > 128 and all(_is_plain(a) for a in (q, k, v))
    if count <= few and has_few:
        return Form(q.dtype.name, _kind(masks), (1, few), 0, lanes)
    if count <= lanes:
        return Form(q.dtype.name, _kind(masks), (few + 1 if has_few else 1, lanes), 1, lanes)
    if count <= 2 * lanes:
        return Form(q.dtype.name, _kind(masks), (lanes + 1, 2 * lanes), 2, lanes)
    return Form(q.dtype.name, _kind(masks), (2 * lanes + 1, NEVER), WIDE, lanes)


def _is_plain(a: Array) -> bool:
    """Whether numbers of a row lie side by side."""
    return bool(a.strides[-1] == a.itemsize)


def _kind(masks: Sequence[Array]) -> str:
    return NO_MASK if not masks else BOOLS if masks[0].dtype == np.bool_ else NUMBERS
