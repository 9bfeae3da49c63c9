"""Views whose results are copies: `permute_copy` and its like, what `lift` gives, parts that may be written.

Each runs the view that it is named after and copies what that gives; its rules are the view's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from flambeau.ops import copies, number_views, splits, views, windows
from flambeau.ops.families.opaque import declare, declare_out
from flambeau.ops.families.rules import same_dtype, same_shape
from flambeau.ops.families.samples import sample
from flambeau.schema import registry
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import OpDef, Sample
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.record import replace

DECLARING: Final = (copies, number_views, splits, views, windows)
"""Modules that declare views: imported first, because each copy is derived from its view."""
COPIES: Final = {
    "aten::alias": "alias_copy(Tensor self) -> Tensor",
    "aten::as_strided": "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
                        "Tensor",
    "aten::detach": "detach_copy(Tensor self) -> Tensor",
    "aten::diagonal": "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    "aten::expand": "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
    "aten::narrow": "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
    "aten::permute": "permute_copy(Tensor self, int[] dims) -> Tensor",
    "aten::select.int": "select_copy.int(Tensor self, int dim, SymInt index) -> Tensor",
    "aten::slice.Tensor": "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
                          "step=1) -> Tensor",
    "aten::squeeze": "squeeze_copy(Tensor self) -> Tensor",
    "aten::squeeze.dim": "squeeze_copy.dim(Tensor self, int dim) -> Tensor",
    "aten::squeeze.dims": "squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
    "aten::t": "t_copy(Tensor self) -> Tensor",
    "aten::transpose.int": "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
    "aten::unfold": "unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
    "aten::unsqueeze": "unsqueeze_copy(Tensor self, int dim) -> Tensor",
    "aten::view_as_complex": "view_as_complex_copy(Tensor self) -> Tensor",
    "aten::view_as_real": "view_as_real_copy(Tensor self) -> Tensor",
    "aten::view": "view_copy(Tensor self, SymInt[] size) -> Tensor",
    "aten::view.dtype": "view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
    "aten::unbind.int": "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
    "aten::split.Tensor": "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    "aten::split_with_sizes": "split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
}  # fmt: skip
"""The schema of each by that of its view."""
UNSAFE: Final = {
    "aten::chunk": "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    "aten::split.Tensor": "unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    "aten::split_with_sizes": "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
}
"""Parts that may be written independently: here copies as well."""


def copied(value: Any) -> Any:
    """A tensor, or each in a list, in row-major memory of its own."""
    if isinstance(value, Tensor):
        return wrap(np.array(value._array, order="C"))
    return [copied(v) for v in value]


def _copying(kernel: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: copied(kernel(*arguments))


def _of_a_copy(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Parts that lie as in the whole, of which a copy is made: on their own to gradients, and when they are written."""
    return lambda self, *others: [wrap(p._array) for p in kernel(wrap(np.array(self._array, order="K")), *others)]


def _declare(viewing: OpDef, text: str, is_method: bool) -> None:
    doc = f"What `{viewing.name.removeprefix('aten::')}` gives, in memory of its own." if viewing.doc else ""
    kernel = _of_a_copy(viewing.kernel) if text.startswith("unsafe") else _copying(viewing.kernel)
    definition = registry.register(
        replace(
            viewing, schema=parse_schema(f"aten::{text}"), kernel=kernel, family="copy", doc=doc,
            accumulator="", is_method=is_method, is_function=True,
        )
    )
    if isinstance(definition.schema.returns[0].type, TensorType):
        overload = definition.schema.overload
        name = f"{overload}_out" if overload else "out"
        declare_out(definition.schema, name, definition.kernel, {"is_function": True})


for _table in (COPIES, UNSAFE):
    for _name, _text in _table.items():
        _found = registry.get(_name)
        assert _found is not None, _name
        _declare(_found, _text, _table is UNSAFE or _name == "aten::narrow")


def _some() -> Iterable[Sample]:
    return (Sample(args=(sample(4, 3),)),)


for _name in ("lift", "lift_fresh_copy"):
    declare(
        f"aten::{_name}(Tensor self) -> Tensor",
        kernel=lambda self: copied(self), family="copy", on_tensors=True, dtype=same_dtype, shape=same_shape,
        samples=_some, is_method=False, is_function=False, doc="A copy, of a constant that a program holds.",
    )  # fmt: skip
