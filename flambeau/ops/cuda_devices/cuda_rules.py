"""Operators on tensors of a device that look at memory themselves: conversions, copies between devices, reshapes that
may copy, elements as Python numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.cuda import library, tensors
from flambeau.cuda.devices import device as using
from flambeau.cuda.devices import numbered
from flambeau.cuda.fresh import strided
from flambeau.cuda.numbers import number_on_device
from flambeau.cuda.storage import WITHIN, copy
from flambeau.cuda.tensors import is_on_device, lent, on_device, on_host
from flambeau.ops.cuda_devices.cuda_calls import (
    CUDA_RULES,
    NO_KERNEL,
    device_among,
    run,
    tensors_among,
)
from flambeau.ops.families.overwrite import check_writeable
from flambeau.ops.families.scalars import exact_scalar
from flambeau.ops.families.variants import check_overlap
from flambeau.ops.reshaped_sizes import reshaped_sizes
from flambeau.schema.device import CPU, Device
from flambeau.schema.dtype import DType, by_code
from flambeau.schema.opdef import OpDef, named_arguments
from flambeau.tensor import layout
from flambeau.tensor.create import strides_for
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, share, view_of
from flambeau.util.inversions import DEVICE_COPY

PRESERVE = 1


@CUDA_RULES(
    "aten::item", "aten::_local_scalar_dense", "aten::Bool", "aten::Float", "aten::Int", "aten::Complex",
    "aten::ScalarImplicit", "aten::IntImplicit", "aten::FloatImplicit", "aten::ComplexImplicit", "aten::is_nonzero",
    "aten::equal", "aten::allclose",
)  # fmt: skip
def _looked_at_on_host(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """What looks at elements waits for the device and asks the host."""
    return definition.kernel(*[on_host(a) if is_on_device(a) else a for a in arguments])


@CUDA_RULES("aten::to", "aten::_to_copy", "aten::type_as", "aten::cpu", "aten::cuda")
def _converted(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """The tensor itself where nothing changes, else a copy with another dtype, device or format."""
    source = arguments[0]
    options = named_arguments(definition, arguments)
    other = options.get("other")
    code = options.get("dtype")
    dtype = other.dtype if other is not None else source.dtype if code is None else by_code(code)
    copies = bool(options.get("copy")) or definition.name.endswith("_copy")
    is_pinned_copy = bool(options.get("non_blocking"))
    target = _target(definition, arguments, source, other)
    return moved(source, target, dtype, options.get("memory_format"), copies=copies, waits=not is_pinned_copy)


def _target(definition: OpDef, arguments: Sequence[Any], source: Tensor, other: Tensor | None) -> Device:
    if definition.name in ("aten::cpu", "aten::cuda"):
        wanted = CPU if definition.name == "aten::cpu" else device_among(arguments) or Device("cuda")
    else:
        wanted = device_among(arguments) or (source.device if other is None else other.device)
    if wanted.type == "cuda" and wanted.index is None and source.device.type == "cuda":
        return source.device
    return numbered(wanted) if wanted.type == "cuda" else wanted


def moved(
    source: Tensor, target: Device, dtype: DType, memory_format: int | None, *, copies: bool, waits: bool
) -> Tensor:
    """A tensor on a device, with a dtype and in a format: itself if it is so and no copy is asked for."""
    stays = memory_format in (None, PRESERVE) or source.is_contiguous(memory_format)
    if target == source.device:
        if dtype is source.dtype and stays and not copies:
            return source
        return copied(source, dtype, memory_format)
    if not is_on_device(source) and dtype.itemsize > source.itemsize:  # the narrower one travels
        return moved(on_device(source, target, waits=waits), target, dtype, memory_format, copies=False, waits=waits)
    if dtype is not source.dtype or not stays:
        source = _in_form(source, dtype, memory_format)
    if not is_on_device(source):
        return on_device(source, target, waits=waits)
    if target.type == "cuda":
        return _to_other_device(source, target)
    return on_host(source)


def _in_form(source: Tensor, dtype: DType, memory_format: int | None) -> Tensor:
    if is_on_device(source):
        return copied(source, dtype, memory_format)
    return source.to(dtype=dtype, memory_format=memory_format)


def _to_other_device(source: Tensor, target: Device) -> Tensor:
    source = source if layout.is_non_overlapping_and_dense(source._array.shape, source.stride()) else copied(source)
    result = tensors.empty(source._array.shape, source.dtype, target, source.stride())
    copy(result.data_ptr(), source.data_ptr(), source.nbytes, WITHIN, target)
    return result


def copied(source: Tensor, dtype: DType | None = None, memory_format: int | None = None) -> Tensor:
    """A copy in new memory of the same device, converted, in the same order of dimensions unless a format is named."""
    sizes = source._array.shape
    wanted = PRESERVE if memory_format is None else memory_format
    result = strided(
        sizes, source.dtype if dtype is None else dtype, source.device, strides_for(sizes, wanted, source.stride())
    )
    overwrite(result, source)
    return result


def overwrite(target: Tensor, source: Tensor) -> None:
    """Put the elements of a tensor into one on a device, broadcast and converted."""
    if not is_on_device(source):
        source = on_device(source, target.device)
    if _by_kernel(target, source):
        return
    with using(target.device.index):
        array = lent(source)
        if target.dtype.is_complex != source.dtype.is_complex and source.dtype.is_complex:
            array = array.real
        lent(target)[...] = array


def _by_kernel(target: Tensor, source: Tensor) -> bool:
    """The same by a kernel of our own, which writes row by row: the axes of both are brought into the order that the
    target's have in memory. Whether there is one."""
    if source.dtype.is_complex and not target.dtype.is_complex:
        return False
    sizes, steps = target._array.shape, target.stride()
    if source._array.shape != sizes:
        source = _repeated(source, sizes)
    order = sorted(range(len(sizes)), key=lambda k: -steps[k])
    if order == list(range(len(sizes))):
        return DEVICE_COPY.implementation(target, source)
    target, source = [
        tensors.shown(t, [t._array.shape[k] for k in order], [t.stride()[k] for k in order]) for t in (target, source)
    ]
    return DEVICE_COPY.implementation(target, source)


def _repeated(source: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A tensor as one of larger sizes, nothing being copied."""
    sizes_before = source._array.shape
    missing = len(sizes) - len(sizes_before)
    pairs = zip(sizes_before, sizes[missing:], source.stride(), strict=True)
    steps = [step if size == wanted else 0 for size, wanted, step in pairs]
    return tensors.shown(source, sizes, [0] * missing + steps)


def fill(target: Tensor, value: Any) -> None:
    """Put a number into every element of a tensor on a device."""
    array, device = target._array, target.device
    if not array.size:
        return
    if not value and array.nbytes == target._storage.nbytes() and str(value)[0] != "-":
        with using(device.index):
            cuda = library.cupy().cuda
            cuda.runtime.memsetAsync(target.data_ptr(), 0, array.nbytes, cuda.get_current_stream().ptr)
        return
    number = number_on_device(exact_scalar(value, target.dtype), array.dtype, device)
    overwrite(target, tensors.shown(number, array.shape, (0,) * array.ndim))


@CUDA_RULES("aten::clone")
def _cloned(definition: OpDef, arguments: Sequence[Any]) -> Tensor:
    return copied(arguments[0], None, arguments[1])


@CUDA_RULES("aten::contiguous")
def _contiguous(definition: OpDef, arguments: Sequence[Any]) -> Any:
    source, memory_format = arguments[0], arguments[1]
    if memory_format == PRESERVE:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return source if source.is_contiguous(memory_format) else copied(source, None, memory_format)


@CUDA_RULES("aten::reshape", "aten::reshape_as", "aten::flatten", "aten::ravel", "aten::_unsafe_view")
def _reshaped(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """A view where strides for the sizes exist, else a copy."""
    source = arguments[0]
    sizes = reshaped_sizes(definition, arguments)
    if sizes == source._array.shape:
        return settle(share(source, source._array))
    strides = layout.view_strides(source._array.shape, source.stride(), sizes)
    if strides is None:
        source, strides = copied(source, None, 0), layout.contiguous_strides(sizes)
    return settle(view_of(source, sizes, strides))


@CUDA_RULES("aten::index", "aten::index_put", "aten::index_put_")
def _indexed(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Indices may be on the host, and are brought to the tensor that they are for."""
    target, indices, *rest = arguments
    if not is_on_device(target) or all(i is None or is_on_device(i) for i in indices):
        return NotImplemented
    brought = [i if i is None or is_on_device(i) else on_device(i, target.device) for i in indices]
    return run(definition, [target, brought, *rest])


@CUDA_RULES("aten::_pack_padded_sequence", "flambeau::packed_rows", "aten::_pad_packed_sequence")
def _packed(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Lengths and batch sizes are read on the host, may lie there, and are given there."""
    return definition.kernel(*arguments)


@CUDA_RULES(
    "aten::_make_per_channel_quantized_tensor", "aten::_make_per_tensor_quantized_tensor", "aten::quantize_per_channel",
    "aten::quantize_per_tensor", "aten::quantized_gru", "aten::quantized_lstm", "quantized::embedding_byte",
    "quantized::linear_dynamic", "quantized::linear_dynamic_fp16", "quantized::linear_relu_dynamic",
    "quantized::linear_relu_dynamic_fp16", "quantized::quantized_gru_cell_dynamic",
    "quantized::quantized_lstm_cell_dynamic", "quantized::quantized_rnn_relu_cell_dynamic",
    "quantized::quantized_rnn_tanh_cell_dynamic",
)  # fmt: skip
def _refused(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Quantised integers stay on the host."""
    device = next(a.device for a in tensors_among(arguments) if is_on_device(a))
    raise NotImplementedError(
        NO_KERNEL.format(name=definition.name, reason="quantised integers stay on the host", device=device)
    )


@CUDA_RULES("aten::copy_")
def _copied_into(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Between any two devices; what is written keeps its device, dtype and sizes."""
    target, source = arguments[0], arguments[1]
    if target is source:
        return target
    check_writeable(target)
    check_overlap(target, (source,))
    shape = layout.broadcast(target._array.shape, source._array.shape)
    if shape != target._array.shape:
        raise RuntimeError(
            f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    if is_on_device(target):
        overwrite(target, moved(source, target.device, source.dtype, None, copies=False, waits=True))
        target.bump_version()
    else:
        definition.kernel(target, on_host(source), *arguments[2:])
    return target


@CUDA_RULES("aten::fill_", "aten::zero_")
def _filled(definition: OpDef, arguments: Sequence[Any]) -> Any:
    target: Tensor = arguments[0]
    value = arguments[1] if len(arguments) > 1 else 0
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        check_writeable(target)
        overwrite(target, value)
    else:
        check_writeable(target)
        fill(target, value)
    target.bump_version()
    return target


@CUDA_RULES("aten::resize_", "aten::resize_as_")
def _resized(definition: OpDef, arguments: Sequence[Any]) -> Tensor:
    """Other sizes in place; what fits stays."""
    target: Tensor = arguments[0]
    sizes = arguments[1]._array.shape if isinstance(arguments[1], Tensor) else tuple(arguments[1])
    fresh = tensors.empty(sizes, target.dtype, target.device, strides_for(sizes, None))
    kept = min(fresh.nbytes, target._storage.nbytes())
    copy(fresh.data_ptr(), target._storage.address, kept, WITHIN, target.device)
    target._array, target._storage = fresh._array, fresh._storage
    return target
