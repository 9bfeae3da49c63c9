"""Operators on tensors without data whose declarations do not say all: conversions, reshapes that may copy, writes, and
those that look at elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from flambeau.ops.meta_tensors import META_RULES, NO_COPY, NO_ITEM, empty, is_meta, results
from flambeau.ops.reshaped_sizes import reshaped_sizes
from flambeau.schema.device import META, Device
from flambeau.schema.dtype import by_code
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dataless, layout
from flambeau.tensor.array_library import np
from flambeau.tensor.create import strides_for
from flambeau.tensor.defaults import float_dtype
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.kernels import NO_FAKE
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, share, view_of, wrap


@META_RULES(
    "aten::item", "aten::_local_scalar_dense", "aten::Bool", "aten::Float", "aten::Int", "aten::Complex",
    "aten::ScalarImplicit", "aten::IntImplicit", "aten::FloatImplicit", "aten::ComplexImplicit",
)  # fmt: skip
def _an_element(definition: OpDef, arguments: Sequence[Any]) -> NoReturn:
    raise RuntimeError(NO_ITEM)


@META_RULES("aten::is_nonzero")
def _truth(definition: OpDef, arguments: Sequence[Any]) -> NoReturn:
    raise NotImplementedError(NO_COPY)


@META_RULES("aten::equal", "aten::allclose", "aten::is_set_to")
def _compared(definition: OpDef, arguments: Sequence[Any]) -> NoReturn:
    raise NotImplementedError(NO_FAKE.format(name=definition.name))


def _device_of(arguments: Sequence[Any]) -> Device | None:
    return next((a for a in arguments if type(a) is Device), None)


@META_RULES("aten::cpu", "aten::cuda")
def _to_named_device(definition: OpDef, arguments: Sequence[Any]) -> NoReturn:
    raise NotImplementedError(NO_COPY)


@META_RULES("aten::to", "aten::_to_copy", "aten::type_as")
def _converted(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """The tensor itself where nothing changes, else a new one; to "meta" from anywhere, from there nowhere."""
    source, other = arguments[0], arguments[1] if len(arguments) > 1 else None
    options = dict(zip((a.name for a in definition.schema.arguments), arguments, strict=False))
    device = _device_of(arguments) or (other.device if isinstance(other, Tensor) else source.device)
    if device.type != "meta":
        raise NotImplementedError(NO_COPY)
    code = options.get("dtype")
    dtype = other.dtype if isinstance(other, Tensor) else source.dtype if code is None else by_code(code)
    memory_format = options.get("memory_format")
    stays = memory_format in (None, 1) or source.is_contiguous(memory_format)
    copies = bool(options.get("copy")) or definition.name.endswith("_copy") or not is_meta(source)
    if dtype is source.dtype and stays and not copies:
        return source
    sizes = source._array.shape
    wanted = 1 if memory_format is None else memory_format
    return empty(sizes, dtype, strides_for(sizes, wanted, source.stride()))


@META_RULES("aten::clone")
def _cloned(definition: OpDef, arguments: Sequence[Any]) -> Tensor:
    source = arguments[0]
    wanted = 1 if arguments[1] is None else arguments[1]
    return empty(source._array.shape, source.dtype, strides_for(source._array.shape, wanted, source.stride()))


@META_RULES("aten::contiguous")
def _contiguous(definition: OpDef, arguments: Sequence[Any]) -> Any:
    source, memory_format = arguments[0], arguments[1]
    if memory_format == 1:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if source.is_contiguous(memory_format):
        return source
    sizes = source._array.shape
    return empty(sizes, source.dtype, strides_for(sizes, memory_format, source.stride()))


@META_RULES("aten::reshape", "aten::reshape_as", "aten::flatten", "aten::ravel", "aten::_unsafe_view")
def _reshaped(definition: OpDef, arguments: Sequence[Any]) -> Tensor:
    """A view where strides for the sizes exist, else new memory."""
    source = arguments[0]
    sizes = reshaped_sizes(definition, arguments)
    old = source._array.shape
    if sizes == old:
        return settle(share(source, source._array))
    strides = layout.view_strides(old, source.stride(), sizes)
    return empty(sizes, source.dtype) if strides is None else settle(view_of(source, sizes, strides))


@META_RULES("aten::mH", "aten::matrix_H", "aten::adjoint", "aten::conj", "aten::_conj", "aten::resolve_conj")
def _adjoint(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """A view of real tensors; of complex ones a new tensor."""
    source = arguments[0]
    swaps = definition.name.rpartition("::")[2] in ("mH", "matrix_H", "adjoint") and source.ndim > 1
    array = source._array.swapaxes(-1, -2) if swaps else source._array
    if not source.is_complex():
        return source if not swaps else settle(share(source, array))
    order = tuple(s // source.itemsize for s in array.strides)
    return empty(array.shape, source.dtype, layout.preserved_strides(array.shape, order))


@META_RULES("aten::copy_")
def _copied(definition: OpDef, arguments: Sequence[Any]) -> Any:
    target, source = arguments[0], arguments[1]
    if not is_meta(target):
        raise NotImplementedError(NO_COPY)
    shape = layout.broadcast(target._array.shape, source._array.shape)
    if shape != target._array.shape:
        raise RuntimeError(
            f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    refuse_writing(target._storage.version)
    target.bump_version()
    return target


@META_RULES("aten::resize_", "aten::resize_as_")
def _resized(definition: OpDef, arguments: Sequence[Any]) -> Tensor:
    target: Tensor = arguments[0]
    sizes = arguments[1]._array.shape if isinstance(arguments[1], Tensor) else tuple(arguments[1])
    strides = strides_for(sizes, arguments[2] if len(arguments) > 2 else None, target.stride())
    target._array, target._storage = dataless.window(sizes, strides, target.dtype, META)
    return target


@META_RULES("aten::empty_strided", "aten::new_empty_strided")
def _strided(definition: OpDef, arguments: Sequence[Any]) -> Tensor:
    options = dict(zip((a.name for a in definition.schema.arguments), arguments, strict=False))
    dtype = options["dtype"]
    like = arguments[0].dtype if isinstance(arguments[0], Tensor) else float_dtype()
    return empty(options["size"], like if dtype is None else by_code(dtype), options["stride"])


@META_RULES("aten::empty_like", "aten::zeros_like", "aten::ones_like", "aten::full_like", "aten::rand_like")
def _like_on_a_device(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """One like a tensor without data, with data: the sizes are known."""
    device = _device_of(arguments)
    if device is None or device.type == "meta":
        return NotImplemented
    source = arguments[0]
    apart = share_sizes(source)
    return definition.kernel(apart, *arguments[1:])


def share_sizes(source: Tensor) -> Tensor:
    """A tensor with data, one element repeated, of the same sizes and dtype."""
    return wrap(np.broadcast_to(np.zeros((), source.dtype.numpy), source._array.shape))


@META_RULES("aten::index")
def _indexed(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Indices may be on the CPU; how many a mask has, nobody knows."""
    indices = arguments[1]
    if any(i is not None and i.dtype.name in ("bool", "uint8") for i in indices):
        raise NotImplementedError(NO_FAKE.format(name="aten::nonzero"))
    placed = [i if i is None or is_meta(i) else empty(i._array.shape, i.dtype) for i in indices]
    return results(definition, [arguments[0], placed])
