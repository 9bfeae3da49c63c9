"""Every operator on a batch, beside the operator on each element of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flambeau
from flambeau.func import vmap
from tests.autograd.operator_samples import SampleCall, calls, operators

m = flambeau
NAMES = sorted(operators())
DYNAMIC = "dynamic shape"


@pytest.mark.parametrize("chunk", range(8))
def test_batches_agree_with_their_elements(chunk: int) -> None:
    wrong = []
    for name in NAMES[chunk::8]:
        for call in calls(name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", m.PerformanceWarning)
                problem = _problem(call, compare="empty" not in name)
            if problem is not None and DYNAMIC not in problem:
                wrong.append((name, call.label, problem))
    assert not wrong


def _problem(call: SampleCall, *, compare: bool) -> str | None:
    batches = [m.stack([value, value * 0.9, value * 0.8]) for value in call.values]
    try:
        elements = [call.function(*[batch[n].clone() for batch in batches]) for n in range(3)]
    except RuntimeError:
        return None  # refused for these numbers
    try:
        together = vmap(call.function)(*batches)
    except RuntimeError as error:
        return str(error)
    for number, result in enumerate(together):
        for n in range(3):
            got, want = result[n], elements[n][number]
            if (got.shape, got.dtype) != (want.shape, want.dtype):
                return f"{got.shape} {got.dtype} instead of {want.shape} {want.dtype}"
            if compare and not np.allclose(got.numpy(), want.numpy(), rtol=1e-6, atol=1e-8, equal_nan=True):
                return "other values"
    return None
