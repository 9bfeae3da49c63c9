"""Pointwise operators on tensors of every form: strided, expanded, transposed, empty, 0-d."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flambeau.schema import registry
from flambeau.schema.dtype import float32, int64
from flambeau.tensor.tensor import Tensor, wrap
from tests.ops.matrix.matrix_cases import Call, copied, pointwise_calls, pointwise_names
from tests.ops.matrix.matrix_compare import difference, ulp_of
from tests.together import together

SHAPE = (4, 3)


def transposed(array: Any) -> Any:
    return np.ascontiguousarray(array.T).T


def every_second(array: Any) -> Any:
    wide = np.zeros((array.shape[0], 2 * array.shape[1]), array.dtype)
    wide[:, ::2] = array
    return wide[:, ::2]


def offset(array: Any) -> Any:
    return np.concatenate([array[:1], array])[1:]


def expanded(array: Any) -> Any:
    return np.broadcast_to(array[:, :1], array.shape)


FORMS = {"transposed": transposed, "every_second": every_second, "offset": offset, "expanded": expanded}


def at_shape(name: str) -> Iterator[tuple[Call, Any]]:
    """A call of each overload on float32 or int64, with every tensor reshaped to one shape, and its result."""
    for definition in registry.overloads(name):
        if definition.family != "pointwise":
            continue
        for dtype in (float32, int64):
            call = next(iter(pointwise_calls(definition, (dtype,))))
            values = [
                wrap(np.resize(np.roll(v._array.ravel(), i), SHAPE)) if isinstance(v, Tensor) else v
                for i, v in enumerate(call.arguments)
            ]
            made = Call(definition, tuple(values))
            try:
                expected = made.run()
            except (RuntimeError, NotImplementedError):
                continue
            yield made, expected
            break


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@together("name", pointwise_names())
def test_strides_do_not_matter(name: str, form: Any) -> None:
    for call, _ in at_shape(name):
        arguments = [wrap(form(v._array)) if isinstance(v, Tensor) else v for v in call.arguments]
        plain = [wrap(np.array(v._array, order="C")) if isinstance(v, Tensor) else v for v in arguments]
        run = call.definition.kernel
        found = difference(run(*arguments)._array, run(*plain)._array, ulp_of(call.definition))
        assert not found, f"{call} on {form.__name__} tensors: {found}"


@together("name", pointwise_names())
def test_no_elements_and_no_dimensions(name: str) -> None:
    for call, expected in at_shape(name):
        empty = [wrap(v._array[:0]) if isinstance(v, Tensor) else v for v in call.arguments]
        result = call.definition.kernel(*map(copied, empty))
        assert result.shape == (0, 3), f"{call} on no elements gives {result.shape}"
        assert result.dtype is expected.dtype
        single = [wrap(v._array[1, 1].copy()) if isinstance(v, Tensor) else v for v in call.arguments]
        point = call.definition.kernel(*single)
        assert point.shape == (), f"{call} on 0-d tensors gives {point.shape}"
        found = difference(point._array, expected._array[1, 1][()], ulp_of(call.definition))
        assert not found or point.dtype is not expected.dtype, f"{call} on 0-d tensors: {found}"


@together("name", pointwise_names())
def test_results_keep_the_order_of_dimensions(name: str) -> None:
    for call, expected in at_shape(name):
        arguments = [wrap(transposed(v._array)) if isinstance(v, Tensor) else v for v in call.arguments]
        result = call.definition.kernel(*arguments)
        assert expected.stride() == (3, 1)
        assert result.stride() == (1, 4), f"{call} on transposed tensors has strides {result.stride()}"
