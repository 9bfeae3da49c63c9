"""Gradients of every operator's samples on a device, compared with the host's."""

from __future__ import annotations

from typing import Any

import numpy as np

import flambeau
from flambeau.tensor import dispatch
from flambeau.tensor.quantized import QuantizedTensor
from flambeau.tensor.tensor import Tensor
from tests.cuda.device_samples import array_of, distance, leaves, moved
from tests.ops.matrix.matrix_cases import Call
from tests.ops.matrix.matrix_compare import difference, ulp_of

UNITS = 256.0
NOTHING = 5e-6
"""Where gradients cancel, what is left of numbers around 1."""
SINGULAR = 1e7
"""Gradients beyond that are of matrices that have no inverse: they are what rounding makes of it."""
FREE_SIGNS = ("aten::linalg_svd", "aten::svd")
"""Of these, vectors may have either sign: gradients are those of the values between them."""


def check(call: Call) -> tuple[str, float]:
    """What differs between the gradients on both sides, or nothing."""
    wanted = gradients(call, on_device=False)
    if not wanted:
        return "", 0.0
    found = gradients(call, on_device=True)
    worst = 0.0
    for want, got in zip(wanted, found, strict=True):
        if want is None or got is None:
            if want is not got:
                return f"{got}, expected {want}", worst
            continue
        if not got.is_cuda:
            return "the gradient is on the host", worst
        ours, theirs = array_of(got), array_of(want)
        text = difference(ours, theirs, max(ulp_of(call.definition), UNITS), of_largest=True)
        apart = np.abs(ours.astype(np.complex128) - theirs).max(initial=0)
        if apart < NOTHING or np.abs(theirs).max(initial=0) > SINGULAR:
            text = ""
        worst = max(worst, distance(ours, theirs))
        if text:
            return text, worst
    return "", worst


def gradients(call: Call, *, on_device: bool) -> list[Any]:
    """The gradient of each operand that may ask for one, of the sum of all results; none where nothing goes back."""
    arguments = [moved(a) if on_device else a for a in call.fresh()]
    asking = [t for t in leaves(arguments) if _may_ask(t)]
    for tensor in asking:
        tensor.requires_grad_()
    flambeau.manual_seed(0)
    try:
        results = leaves(dispatch.run(call.definition, arguments))
    except RuntimeError:
        if on_device:
            raise
        return []
    if call.definition.name in FREE_SIGNS:
        results = results[1:2]
    flowing = [r for r in results if isinstance(r, Tensor) and r.requires_grad and r.numel()]
    if not asking or not flowing:
        return []
    try:
        total: Any = sum((r.real if r.is_complex() else r).sum() for r in flowing)
        total.backward()
    except (RuntimeError, NotImplementedError):
        if on_device:
            raise
        return []
    return [t.grad for t in asking]


def _may_ask(value: Any) -> bool:
    is_plain = isinstance(value, Tensor) and not isinstance(value, QuantizedTensor) and value.is_leaf
    return is_plain and (value.is_floating_point() or value.is_complex())
