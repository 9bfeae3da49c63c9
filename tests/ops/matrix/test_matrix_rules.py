"""What the rules of an operator predict is what its kernel gives: dtype, sizes, and which results share memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flambeau.schema.opdef import UNKNOWN
from flambeau.schema.types import TensorType
from flambeau.tensor.tensor import Tensor
from tests.ops.matrix.matrix_cases import Call, as_types, calls, functional_names, tensors_in
from tests.together import together

MAY_BE_ITSELF = "returns its argument when there is nothing to do; its schema does not say so, as PyTorch's does not"
UNDECLARED_ALIASES = {
    "aten::dropout": MAY_BE_ITSELF,
    "aten::feature_dropout": MAY_BE_ITSELF,
    "aten::alpha_dropout": MAY_BE_ITSELF,
    "aten::feature_alpha_dropout": MAY_BE_ITSELF,
    "aten::type_as": MAY_BE_ITSELF,
    "aten::rrelu": MAY_BE_ITSELF,
    "aten::atleast_1d": MAY_BE_ITSELF,
    "aten::atleast_2d": MAY_BE_ITSELF,
    "aten::atleast_3d": MAY_BE_ITSELF,
    "aten::pad": MAY_BE_ITSELF,
    "aten::meshgrid": MAY_BE_ITSELF,
    "aten::broadcast_tensors": MAY_BE_ITSELF,
    "aten::einsum": MAY_BE_ITSELF,
    "aten::conj_physical": MAY_BE_ITSELF,
}
"""Operators whose results may share memory though their schemas do not say so."""


def results_of(call: Call) -> list[Any] | None:
    try:
        result = call.run()
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return None
    return list(result) if isinstance(result, tuple) else [result]


def predicted(rule: Any, call: Call, count: int) -> list[Any]:
    found = rule(*as_types(list(call.arguments)))
    return [found] if count == 1 else list(found) if found is not None else [None] * count


@together("name", functional_names())
def test_predicted_dtype_and_sizes(name: str) -> None:
    for call in calls(name):
        results = results_of(call)
        definition = call.definition
        if results is None or not all(isinstance(r, Tensor) for r in results):
            continue
        if definition.dtype is not None:
            for result, dtype in zip(results, predicted(definition.dtype, call, len(results)), strict=True):
                assert dtype is None or dtype is result.dtype, f"{call}: predicted {dtype}, got {result.dtype}"
        if definition.shape is not None:
            for result, sizes in zip(results, predicted(definition.shape, call, len(results)), strict=True):
                if sizes is not None:
                    assert len(sizes) == result.ndim, f"{call}: predicted {sizes}, got {result.shape}"
                    agrees = all(s is None or s < 0 or s == n for s, n in zip(sizes, result.shape, strict=True))
                    assert agrees, f"{call}: predicted {sizes}, got {result.shape}"


@together("name", functional_names())
def test_rules_bear_ignorance(name: str) -> None:
    """A rule that is told nothing says nothing, or something that holds anyway."""
    for call in calls(name):
        definition = call.definition
        unknown = [
            TensorType() if isinstance(v, Tensor) else v if isinstance(v, str | bool | type(None)) else
            [TensorType() for _ in v] if isinstance(v, list) and v and isinstance(v[0], Tensor) else UNKNOWN
            for v in call.arguments
        ]  # fmt: skip
        for rule in (definition.dtype, definition.shape):
            if rule is not None:
                rule(*unknown)


@together("name", functional_names())
def test_declared_aliases_are_shared_memory(name: str) -> None:
    if name in UNDECLARED_ALIASES:
        pytest.skip(UNDECLARED_ALIASES[name])
    for call in calls(name):
        arguments = call.fresh()
        try:
            result = call.definition.kernel(*arguments)
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            continue
        results = result if isinstance(result, tuple) else (result,)
        declared = [r.alias for r in call.definition.schema.returns]
        for one, alias in zip(results, declared, strict=False):
            if alias is None:
                for tensor in tensors_in(one):
                    for given in tensors_in(list(arguments)):
                        shares = tensor._array.size and np.may_share_memory(tensor._array, given._array)
                        assert not shares, f"{call}: shares memory that its schema does not mention"
