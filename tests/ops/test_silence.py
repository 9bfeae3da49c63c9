"""Infinities, nan and what overflows are values like others: no operator has NumPy warn of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.nn import functional
from flambeau.schema import registry
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor

HOSTILE = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e38, -1e38, 1e-45, 3.4e38, 1.0, -1.0, 0.5]


def hostile(value: Any, random: np.random.Generator) -> Any:
    """The same with other numbers in the place of most floats of tensors."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)([hostile(one, random) for one in value])
    if type(value) is not Tensor or value.dtype not in (flambeau.float32, flambeau.float64) or not value.numel():
        return value
    array = value.numpy()
    changed = np.where(random.random(array.shape) < 0.6, random.choice(HOSTILE, array.shape), array)
    with np.errstate(all="ignore"):
        return flambeau.from_numpy(np.asarray(changed.astype(array.dtype)))


def test_no_operator_warns_of_values() -> None:
    random = np.random.default_rng(0)
    warned = {}
    for definition in registry.all_definitions():
        for sample in definition.samples() if definition.samples else ():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                arguments = hostile(sample.args, random)
                options = {k: hostile(v, random) for k, v in sample.kwargs.items()}
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    dispatch.call(definition.schema.name, *arguments, **options)
                except RuntimeWarning as warning:
                    warned[definition.full_name] = str(warning)
                except Exception:  # values that an operator refuses
                    continue
    assert not warned


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_least_squares_of_what_is_not_finite_end(number: float) -> None:
    """LAPACK would look for its singular values for ever."""
    matrix = flambeau.eye(3, dtype=flambeau.float64)
    matrix[0, 1] = number
    with pytest.raises(flambeau.linalg.LinAlgError, match="input has elements that are infinite or nan"):
        flambeau.linalg.lstsq(matrix, flambeau.ones(3, 2, dtype=flambeau.float64))


X = flambeau.full((6, 6), float("inf"))
BACK: dict[str, Callable[[Tensor], Tensor]] = {
    "matmul": lambda x: x @ flambeau.zeros(6, 6),
    "bmm": lambda x: x[None] @ flambeau.zeros(1, 6, 6),
    "attention": lambda x: functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "layer_norm": lambda x: functional.layer_norm(x, (6,)),
    "batch_norm": lambda x: functional.batch_norm(x, None, None, None, None, True),
    "convolution": lambda x: functional.conv2d(x[None, None], flambeau.zeros(1, 1, 2, 2)),
    "cross_entropy": lambda x: functional.cross_entropy(x, flambeau.zeros(6, dtype=flambeau.int64)),
    "cumprod": lambda x: x.cumprod(0),
    "norm": lambda x: x.norm(),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("slope", [1.0, float("inf")])
@pytest.mark.parametrize("name", BACK)
def test_no_gradient_warns_of_values(name: str, slope: float) -> None:
    x = X.clone().requires_grad_()
    result = BACK[name](x)
    result.backward(flambeau.full_like(result, slope))
    assert x.grad is not None
