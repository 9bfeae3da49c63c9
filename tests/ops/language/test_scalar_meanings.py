"""What operators on numbers mean element by element, which native code is made of, is what their kernels compute."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import flambeau  # noqa: F401  (registers the operators)
from flambeau.ops.families.numpy_scalar import NUMPY
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef

VALUES: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, -1, 2, 3, -3, 7, 63, 64, 65, -63, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**62, 2**53 + 1),
    "float": (
        0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, 2.0**63,
        -(2.0**63), 9.007199254740993e15, 0.1, 3.5, -3.5, 1e-300,
    ),
    "bool": (True, False),
}  # fmt: skip
ARRAYS = {"int": np.int64, "float": np.float64, "bool": np.bool_}


def types(definition: OpDef) -> list[str]:
    return [str(a.type) for a in definition.schema.arguments]


DEFINITIONS = [
    d
    for d in registry.all_definitions()
    if d.family == "language" and d.scalar is not None and all(t in VALUES for t in types(d))
]


def same(a: Any, b: Any) -> bool:
    if not isinstance(a, float):
        return type(a) is type(b) and a == b
    if a != a or b != b:
        return a != a and b != b
    return math.isclose(a, b, rel_tol=1e-13) and math.copysign(1.0, a) == math.copysign(1.0, b)


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.full_name)
def test_a_meaning_is_its_kernel(definition: OpDef) -> None:
    names = types(definition)
    assert definition.scalar is not None
    for values in itertools.product(*(VALUES[t] for t in names)):
        if definition.name in ("aten::pow", "python::element_power") and values[1] == 0.5:
            continue  # NumPy takes a square root, which knows -0.0 and -inf otherwise
        try:
            want = definition.kernel(*values)
        except (RuntimeError, OverflowError, ValueError):
            continue  # a meaning has no errors: whoever uses it looks for what is refused
        with np.errstate(all="ignore"):
            got = definition.scalar(NUMPY, *(ARRAYS[t](x) for t, x in zip(names, values, strict=True)))
        assert same(want, got.item()), (values, want, got)
