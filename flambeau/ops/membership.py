"""Comparisons of whole tensors: closeness of all elements, membership in a set."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.opaque import declare
from flambeau.schema.dtype import bool_
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import call
from flambeau.tensor.settled import readable
from flambeau.tensor.tensor import Tensor, wrap


def _allclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    return bool(readable(call("aten::isclose", self, other, rtol, atol, equal_nan))._array.all())


declare(
    "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
    "bool equal_nan=False) -> bool",
    kernel=_allclose,
    family="composite",
    on_tensors=True,
    samples=lambda: [
        Sample(args=(wrap(np.array([1.0, 2.0])), wrap(np.array([1.0, 2.0 + 1e-9])))),
        Sample(args=(wrap(np.array([1.0, np.nan])), wrap(np.array([1.0, np.nan])))),
        Sample(args=(wrap(np.array([np.nan])), wrap(np.array([np.nan]))), kwargs={"equal_nan": True}),
        Sample(args=(wrap(np.ones(0)), wrap(np.ones(0))), note="no elements are all close"),
    ],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.ones(2)), wrap(np.ones(2, np.int64))),
            error=RuntimeError,
            message="Double did not match Long",
        )
    ],
    doc="Whether `isclose` holds of all elements.",
)


def _isin(elements: Any, test_elements: Any, invert: bool) -> Any:
    mask = np.isin(np.asarray(elements), np.asarray(test_elements), invert=invert)
    return np.asarray(mask)


declare(
    "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) "
    "-> Tensor",
    "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) "
    "-> Tensor",
    "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) "
    "-> Tensor",
    kernel=lambda elements=None, element=None, test_elements=None, test_element=None, invert=False: _isin(
        element if elements is None else elements, test_element if test_elements is None else test_elements, invert
    ),
    outs=("Tensor_Tensor_out", "Tensor_Scalar_out", "Scalar_Tensor_out"),
    is_method=False,
    dtype=lambda: bool_,
    shape=lambda elements=None: () if elements is None else elements.sizes,
    samples=lambda: [
        Sample(args=(wrap(np.array([[1, 2], [3, 4]])), wrap(np.array([2, 3])))),
        Sample(args=(wrap(np.array([1, 2])), 2), kwargs={"invert": True}),
        Sample(args=(2, wrap(np.array([1, 2])))),
        Sample(args=(wrap(np.array([1.0, np.nan])), wrap(np.array([np.nan]))), note="nan is in nothing"),
    ],
    doc="Whether each element is one of `test_elements`; with `invert`, whether it is none.",
)
