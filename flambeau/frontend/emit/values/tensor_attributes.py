"""What tensors have besides operators of their names: properties, conversions, and the codes of element types."""

from __future__ import annotations

from typing import Final

from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.schema.types import (
    BOOL,
    DEVICE,
    INT,
    STRING,
    TENSOR,
    BoolType,
    ComplexType,
    FloatType,
    IntType,
    ListType,
    OptionalType,
    Type,
)

_FLAGS = (
    "is_cuda", "is_cpu", "is_xpu", "is_mps", "is_mtia", "is_xla", "is_sparse", "is_sparse_csr", "is_mkldnn",
    "is_quantized", "is_meta", "is_vulkan", "is_ipu", "is_nested", "is_maia", "requires_grad",
)  # fmt: skip

PROPERTIES: Final[dict[str, tuple[str, Type]]] = {
    "dtype": ("prim::dtype", INT),
    "layout": ("prim::layout", INT),
    "device": ("prim::device", DEVICE),
    "shape": ("aten::size", ListType(INT)),
    "ndim": ("aten::dim", INT),
    "itemsize": ("prim::itemsize", INT),
    "nbytes": ("prim::nbytes", INT),
    "name": ("prim::name", OptionalType(STRING)),
    "data": ("prim::data", TENSOR),
    "grad": ("prim::grad", TENSOR),
    "T": ("aten::numpy_T", TENSOR),
    "mT": ("aten::mT", TENSOR),
    "H": ("aten::matrix_H", TENSOR),
    "mH": ("aten::mH", TENSOR),
    "real": ("aten::real", TENSOR),
    "imag": ("aten::imag", TENSOR),
    "is_leaf": ("aten::is_leaf", BOOL),
    "retains_grad": ("aten::retains_grad", BOOL),
    **{name: (f"prim::{name}", BOOL) for name in _FLAGS},
}
"""What a tensor has without a call: the operator that reads it, and its type."""

CONVERSIONS: Final[dict[str, DType]] = {
    "byte": dtypes.uint8, "char": dtypes.int8, "short": dtypes.int16, "int": dtypes.int32, "long": dtypes.int64,
    "half": dtypes.float16, "bfloat16": dtypes.bfloat16, "float": dtypes.float32, "double": dtypes.float64,
    "bool": dtypes.bool_, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
    "chalf": dtypes.complex32,
}  # fmt: skip
"""Methods of tensors that are `to` with a dtype."""
ELEMENT_CODES: Final[dict[type[Type], int]] = {IntType: 0, FloatType: 1, ComplexType: 2, BoolType: 3}
"""How `prim::tolist` is told the type of the elements."""
