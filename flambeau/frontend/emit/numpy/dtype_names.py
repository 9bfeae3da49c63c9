"""Dtypes that calls of NumPy's functions name: `dtype=int`, `dtype="float32"`, `x.astype(float)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply, Starred
from flambeau.ir.graph import Value
from flambeau.schema.dtype import by_code, float64, from_numpy_dtype, int64
from flambeau.schema.types import INT
from flambeau.util.source import SourceRange

Call = Callable[[Emitter, SourceRange, Sequence[Given], Sequence[Given]], Sugared]
_TYPES: Final = {"int": int64, "float": float64, "bool": by_code(11), "complex": by_code(10)}
"""The dtypes that Python's types name."""
PYTHON_TYPES: Final = (int, float, bool, complex)


def dtype_named(e: Emitter, tree: Any) -> Value | None:
    """The dtype that `int`, `float`, `bool`, `complex` or a text such as "float32" names; None for other trees."""
    python = e.python_value(tree)
    if python in PYTHON_TYPES:
        return e.constant(_TYPES[python.__name__].code, INT)
    text = getattr(tree, "value", None)
    if isinstance(text, str):
        try:
            from_text = np.dtype(text)
        except TypeError:
            return None
        dtype = from_numpy_dtype(from_text)
        return e.constant(dtype.code, INT)
    return None


def with_dtype(e: Emitter, tree: Apply, call: Call) -> Sugared | None:
    """A call whose keyword `dtype` names one of Python's types, or a text; None for any other."""
    codes = {k.name: dtype_named(e, k.value) for k in tree.keywords if k.name == "dtype"}
    if codes.get("dtype") is None or any(isinstance(a, Starred) for a in tree.args):
        return None
    args = [Given(e.value(t), t.range) for t in tree.args]
    keywords = [
        Given(codes.get(k.name) or e.value(k.value), k.value.range, k.name) for k in tree.keywords
    ]
    return call(e, tree.callee.range, args, keywords)
