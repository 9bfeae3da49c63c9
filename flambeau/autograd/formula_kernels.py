"""Formulas of gradients as kernels of their own: what computes element by element is one native call on the way back,
where each of its operators would be one.

What runs there are the loops that the operators of the formula would run, one after another, so that it makes no
difference to any bit: see `executor.eager`, which looks at calls that repeat.

>>> from flambeau.schema import registry
>>> from flambeau.schema.gradient import Call
>>> import flambeau
>>> formula = registry.get("aten::sigmoid").gradient.formula("self", Call())
>>> kernel = formula_kernel("sigmoid_self", formula)
>>> kernel(flambeau.ones(2), flambeau.tensor([0.5, 0.25]))
tensor([0.2500, 0.1875])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.ops.families.numpy_scalar import NUMPY
from flambeau.schema import registry
from flambeau.schema.dtype import DType, float32, float64
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.gradient import Formula
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_on_device
from flambeau.util.inversions import EAGER_CALL
from flambeau.util.native_type import NativeBase, let_instances_be_native, tell

_COMPUTED_IN: Final = (float32, float64)
"""Dtypes in which operators compute what they give: others are converted around each of them."""


class _Loops:
    """The operators as formulas call them, on NumPy's arrays or what stands for these: the loops of each."""

    where = staticmethod(np.where)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        overloads = registry.overloads(f"aten::{name}")
        scalar = overloads[0].scalar if overloads else None

        def call(*operands: Any) -> Any:
            if scalar is None or any(isinstance(x, int | float | complex) for x in operands):
                return np.asarray(operands[0])  # which nothing that only stands for an array answers
            return scalar(NUMPY, *operands)

        setattr(self, name, call)
        return call


LOOPS: Final = _Loops()


class FormulaMeaning:
    """What a formula computes from the elements at one place, as native code asks about it."""

    raw: tuple[int, ...] = ()

    def __init__(self, name: str, formula: Formula) -> None:
        needs = formula.needs
        arguments = tuple([Argument(need, TensorType()) for need in needs])
        self.schema = FunctionSchema(f"flambeau::{name}", "", arguments, (Argument("", TensorType()),))
        self.values = tuple(range(len(needs)))
        self._function = formula.function

    def scalar(self, s: Any, *values: Any) -> Any:
        """The formula, of NumPy's arrays or what stands for these."""
        return self._function(LOOPS, *values)

    def predict_dtype(self, *types: Any) -> DType | None:
        """That of all tensors of a call, where they have the same and its operators compute in that; else None."""
        dtypes = {t.dtype for t in types if isinstance(t, TensorType)}
        dtype = dtypes.pop() if len(dtypes) == 1 else None
        return dtype if dtype in _COMPUTED_IN else None

    predict_compute = predict_dtype


class FormulaKernel(EntryKernel):
    """Computes a formula, given what it needs in the order of its parameters."""

    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        result = self.run(*arguments)
        if is_on_device():
            return result
        EAGER_CALL.implementation(self, arguments, result)
        return result


let_instances_be_native(FormulaKernel)


class FormulaProduct(NativeBase):  # type: ignore[misc]  # made at run time
    """A product of two matrices of which one is read as its transpose, in native code; None for what that does not
    serve."""

    __slots__ = ()

    def __call__(self, left: Any, right: Any) -> Any:
        return None


let_instances_be_native(FormulaProduct)


def _not_served(left: Any, right: Any) -> None:
    """What native code calls for what it does not serve."""


PRODUCTS_OF_GRADIENTS: Final = {"product_of_transposed": FormulaProduct(), "product_by_transposed": FormulaProduct()}
"""By the names of native entries: with the first factor transposed, and with the second."""
for _product in PRODUCTS_OF_GRADIENTS.values():
    tell(_product, 0, _not_served)


def formula_kernel(name: str, formula: Formula) -> Callable[..., Any] | None:
    """What computes a formula while nothing is recorded; None where its operators run one at a time."""
    if not formula.is_elementwise:
        return None
    function = formula.function

    def run(*values: Any) -> Any:
        return function(OPERATORS, *values)

    return FormulaKernel(name, FormulaMeaning(name, formula), run).unrecorded
