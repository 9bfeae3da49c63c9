"""What programs ask about a tensor: sizes, strides, dtype, device, its only element."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from flambeau.cuda.pinned import is_pinned
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.promotion import can_cast as dtype_can_cast
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType, by_code, promote
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import OpDef
from flambeau.schema.registry import register
from flambeau.schema.traits import PLAIN, Fails, Role, Traits
from flambeau.schema.types import BoolType, ComplexType, FloatType, IntType
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, wrap


def query(
    schema: str,
    kernel: Callable[..., Any],
    *,
    is_function: bool = False,
    is_method: bool = False,
    doc: str = "",
    family: str = "query",
    is_about_tensor: bool = False,
    differentiable: bool = True,
    traits: Traits = PLAIN,
) -> OpDef:
    """Declare an operator that looks at tensors and makes none. `Tensor` itself has the method, if there is one."""
    return register(
        OpDef(
            schema=parse_schema(schema),
            family=family,
            kernel=kernel,
            doc=doc,
            is_method=is_method,
            is_function=is_function,
            is_about_tensor=is_about_tensor,
            differentiable=differentiable,
            traits=traits,
        )
    )


metadata = partial(query, family="metadata", traits=Traits(fails=Fails.NEVER))
"""A query that does not look at elements: only what changes the tensor itself changes the answer."""
_ON_AXIS: Final = Traits(fails=Fails.ON_AXIS)


def _stride_of(self: Tensor, dim: int) -> int:
    return int(self.stride(dim))


def _strides_match_storage(self: Tensor) -> bool:
    return layout.is_non_overlapping_and_dense(self._array.shape, self.stride())


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same sizes."""
    return bool(self._array.shape == other._array.shape)


def is_nonzero(self: Tensor) -> bool:
    """Whether the only element is not zero. Raises RuntimeError unless there is exactly one."""
    return bool(self)


def equal(self: Tensor, other: Tensor) -> bool:
    """Whether sizes and all elements are equal, of other dtypes too. nan differs from itself."""
    if self._array.shape != other._array.shape:
        return False
    if self.dtype is not other.dtype:
        common = promote(self.dtype, other.dtype)
        return bool(np.all(cast(self._array, common) == cast(other._array, common)))
    return bool((self._array == other._array).all())


def can_cast(from_: int, to: int) -> bool:
    """Whether results of one dtype may be stored as another."""
    return dtype_can_cast(by_code(from_), by_code(to))


def _number_dtype(number: Any) -> DType | None:
    """The dtype that holds any number of a kind, of which the rule is told the type or a value."""
    for python, type_, dtype in (
        (bool, BoolType, dtypes.bool_),
        (int, IntType, dtypes.int64),
        (float, FloatType, dtypes.float64),
        (complex, ComplexType, dtypes.complex128),
    ):
        if isinstance(number, python | type_):
            return dtype
    return None


def _is_zero_dim(self: Tensor) -> list[int]:
    return list(self._array.shape)


metadata("aten::size(Tensor self) -> int[]", _is_zero_dim)
metadata("aten::size.int(Tensor self, int dim) -> int", lambda self, dim: self.size(dim), traits=_ON_AXIS)
metadata("aten::sym_size(Tensor self) -> SymInt[]", _is_zero_dim)
metadata("aten::sym_size.int(Tensor self, int dim) -> SymInt", lambda self, dim: self.size(dim), traits=_ON_AXIS)
metadata("aten::stride(Tensor self) -> int[]", lambda self: list(self.stride()))
metadata("aten::stride.int(Tensor self, int dim) -> int", _stride_of, traits=_ON_AXIS)
metadata("aten::dim(Tensor self) -> int", Tensor.dim)
metadata("aten::numel(Tensor self) -> int", Tensor.numel, is_function=True, doc="The number of elements.")
metadata("aten::sym_numel(Tensor self) -> SymInt", Tensor.numel)
metadata("aten::storage_offset(Tensor self) -> int", Tensor.storage_offset)
metadata("aten::element_size(Tensor self) -> int", Tensor.element_size)


def _length(t: Tensor) -> int:
    """How many items a loop over a tensor has. Raises TypeError for one without dimensions."""
    if not t.shape:
        raise TypeError("len() of a 0-d tensor, or iteration of a 0-d tensor")
    return t.shape[0]


metadata("aten::len.Tensor(Tensor t) -> int", _length, traits=_ON_AXIS)
metadata("aten::is_contiguous(Tensor self) -> bool", Tensor.is_contiguous)
metadata(
    "aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool", Tensor.is_contiguous,
    traits=PLAIN,
)  # fmt: skip
metadata("aten::is_non_overlapping_and_dense(Tensor self) -> bool", _strides_match_storage)
metadata("aten::is_floating_point(Tensor self) -> bool", Tensor.is_floating_point, is_function=True)
metadata("aten::is_complex(Tensor self) -> bool", Tensor.is_complex, is_function=True)
metadata("aten::is_signed(Tensor self) -> bool", Tensor.is_signed, is_function=True)
metadata("aten::is_same_size(Tensor self, Tensor other) -> bool", is_same_size, is_function=True, is_method=True)
query("aten::is_nonzero(Tensor self) -> bool", is_nonzero, is_function=True, is_method=True)
query("aten::is_conj(Tensor self) -> bool", lambda self: False, is_function=True, is_method=True)
query("aten::is_neg(Tensor self) -> bool", lambda self: False, is_function=True, is_method=True)
query("aten::is_leaf(Tensor self) -> bool", lambda self: self.is_leaf, is_about_tensor=True)
query("aten::is_inference(Tensor self) -> bool", Tensor.is_inference, is_function=True, is_method=True)
query("aten::is_pinned(Tensor self, Device? device=None) -> bool", lambda self, device: is_pinned(self), is_method=True)
query("aten::output_nr(Tensor self) -> int", lambda self: self.output_nr)
query("aten::_version(Tensor self) -> int", lambda self: self._version)
metadata("aten::get_device(Tensor self) -> int", Tensor.get_device, is_function=True)
query("aten::item(Tensor self) -> Scalar", Tensor.item)
query("aten::_local_scalar_dense(Tensor self) -> Scalar", Tensor.item)
query(
    "aten::equal(Tensor self, Tensor other) -> bool",
    equal,
    is_function=True,
    is_method=True,
    doc="Whether sizes and all elements are equal.",
)
query("aten::can_cast(ScalarType from_, ScalarType to) -> bool", can_cast, is_function=True)
query("aten::_shape_as_tensor(Tensor self) -> Tensor", lambda self: wrap(np.array(self._array.shape, np.int64)))
query(
    "aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
    Tensor.requires_grad_,
    is_about_tensor=True,
    traits=Traits(changes_layout=True),
)
metadata("prim::shape(Tensor self) -> int[]", _is_zero_dim)
metadata("prim::dtype(Tensor a) -> int", lambda a: a.dtype.code)
metadata("prim::device(Tensor a) -> Device", lambda a: a.device)
metadata("prim::layout(Tensor a) -> Layout", lambda a: int(a.layout))
metadata("prim::itemsize(Tensor a) -> int", Tensor.element_size)
metadata("prim::nbytes(Tensor a) -> int", lambda a: a.nbytes)
query("prim::requires_grad(Tensor a) -> bool", lambda a: a.requires_grad, is_about_tensor=True)
query("prim::grad(Tensor a) -> Tensor(*)", lambda a: a.grad, is_about_tensor=True)
query(
    "prim::data(Tensor(a) a) -> Tensor(a)",
    lambda a: settle(Tensor(a._array, a._storage)),
    is_about_tensor=True,
    differentiable=False,
)
query("prim::name(Tensor a) -> str?", lambda a: None)
metadata("prim::is_cpu(Tensor a) -> bool", lambda a: a.is_cpu)
metadata("prim::is_cuda(Tensor a) -> bool", lambda a: a.is_cuda)
metadata("prim::is_quantized(Tensor a) -> bool", lambda a: a.dtype.is_quantized)
for _kind in (
    "ipu",
    "maia",
    "meta",
    "mkldnn",
    "mps",
    "mtia",
    "nested",
    "sparse",
    "sparse_csr",
    "vulkan",
    "xla",
    "xpu",
):
    metadata(f"prim::is_{_kind}(Tensor a) -> bool", lambda a: False)
register(
    OpDef(
        schema=parse_schema("prim::NumToTensor.Scalar(Scalar a) -> Tensor"),
        family="query",
        kernel=lambda a: wrap(np.array(a, dtypes.float64.numpy if isinstance(a, float) else None)),
        dtype=_number_dtype,
        shape=lambda a: (),
        is_method=False,
        is_function=False,
        traits=Traits(role=Role.NUMBER_CAST),
    )
)
register(
    OpDef(
        schema=parse_schema("prim::NumToTensor.bool(bool a) -> Tensor"),
        family="query",
        kernel=lambda a: wrap(np.array(a, np.bool_)),
        dtype=lambda a: dtypes.bool_,
        shape=lambda a: (),
        is_method=False,
        is_function=False,
        traits=Traits(role=Role.NUMBER_CAST),
    )
)
