"""Every operator eagerly: against its NumPy reference, and along every other column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.schema import registry
from flambeau.schema.dtype import Category, bool_, complex64, float64, int64
from flambeau.schema.opdef import OpDef
from flambeau.tensor.tensor import Tensor
from tests.ops.matrix.matrix_cases import Call, calls, functional_names, is_random, pointwise_calls
from tests.ops.matrix.matrix_columns import COLUMNS, EAGER, SKIPPED, Column
from tests.ops.matrix.matrix_compare import same_structure, ulp_of
from tests.together import together

REFERENCED = sorted({d.name for d in registry.all_definitions() if d.reference is not None and d.family == "pointwise"})


def outcome(column: Column, call: Call) -> tuple[Any, BaseException | None]:
    try:
        return column.run(call.definition, call.fresh()), None
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
        return None, error


@pytest.mark.parametrize("column", COLUMNS[1:], ids=lambda c: c.name)
@together("name", functional_names())
def test_columns_agree(name: str, column: Column) -> None:
    for call in calls(name):
        if is_random(call.definition):
            continue
        expected, refused = outcome(EAGER, call)
        got, error = outcome(column, call)
        if got is SKIPPED:
            continue
        if refused is not None:
            assert error is not None, f"{call} is refused eagerly ({refused}), but not {column.name}"
        else:
            assert error is None, f"{call}: {error}"
            found = same_structure(got, expected, 0 if column.name == "called" else ulp_of(call.definition))
            assert not found, f"{call}: {found}"


def reference_result(definition: OpDef, call: Call) -> Any:
    assert definition.reference is not None
    is_wide = is_float_result(call)
    arguments = [in_double(v._array, is_wide) if isinstance(v, Tensor) else v for v in call.fresh()]
    named = {
        a.name: v for a, v in zip(definition.schema.arguments, arguments, strict=True) if a.has_default and a.kwarg_only
    }
    positional = [v for a, v in zip(definition.schema.arguments, arguments, strict=True) if not a.kwarg_only]
    accepted = definition.reference
    with np.errstate(all="ignore"):
        return accepted(*positional[: arity(definition)], **named)


def is_float_result(call: Call) -> bool:
    result = call.run()
    return isinstance(result, Tensor) and result.dtype.category >= Category.FLOAT


def in_double(array: Any, is_wide: bool) -> Any:
    """NumPy's functions of bools and small integers give half precision."""
    return array.astype(np.float64) if is_wide and array.dtype.kind in "biu" else array


def arity(definition: OpDef) -> int:
    return sum(not a.has_default for a in definition.schema.arguments)


@together("name", REFERENCED)
def test_same_as_numpy(name: str) -> None:
    for definition in registry.overloads(name):
        if definition.family != "pointwise" or definition.reference is None:
            continue
        for call in pointwise_calls(definition, (bool_, int64, float64, complex64)):
            ours, refused = outcome(EAGER, call)
            if refused is not None or not isinstance(ours, Tensor):
                continue
            theirs = np.asarray(reference_result(definition, call))
            with np.errstate(all="ignore"):
                theirs = theirs.astype(ours._array.dtype)
                near = np.isclose(ours._array, theirs, rtol=1e-5, atol=1e-7, equal_nan=True)
                near |= (ours._array != ours._array) & (theirs != theirs)
            assert near.all(), f"{call}: {ours._array[~near]}, reference {np.broadcast_to(theirs, near.shape)[~near]}"
