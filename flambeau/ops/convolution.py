"""Convolutions in one to three dimensions, forward and transposed: windows as matrices, one product per group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final

from flambeau.ops.convolution_calls import KNOWN, Fill, fill_for, learn, look
from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, dtype_of, not_implemented, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype, known
from flambeau.ops.products import ULP
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Role, Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import as_strided, np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import blas

Ints = Sequence[int]
Made = tuple[Array, Fill | None]
"""A result, and the native code that made it."""


def spread(name: str, values: Ints, dims: int) -> tuple[int, ...]:
    """One value per dimension. Raises RuntimeError for another number of values."""
    if len(values) == 1:
        return (int(values[0]),) * dims
    if len(values) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, "
            f"but got {name}={list(values)}"
        )
    return tuple(int(v) for v in values)


def check_numbers(stride: Ints, padding: Ints, dilation: Ints, groups: int) -> None:
    """Raise RuntimeError for numbers that mean nothing."""
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def check_channels(x: Array, weight: Array, bias: Array | None, groups: int, transposed: bool) -> None:
    """Raise RuntimeError unless channels, groups, bias and dtypes fit."""
    _check_input_channels(x, weight, groups, transposed)
    if bias is not None:
        _check_bias(x, weight, bias, groups, transposed)
    if weight.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {dtype_of(x).display} but found {dtype_of(weight).display}")
    if x.dtype == np.bool_:
        raise not_implemented("slow_conv2d_cpu", dtype_of(x))


def _check_input_channels(x: Array, weight: Array, groups: int, transposed: bool) -> None:
    sizes = list(weight.shape)
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{sizes} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size {[sizes]} instead"
        )
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    if x.shape[1] != channels:
        start = "Given transposed=1, weight" if transposed else f"Given groups={groups}, weight"
        raise RuntimeError(
            f"{start} of size {sizes}, expected input{list(x.shape)} to have {channels} channels, but got {x.shape[1]} "
            "channels instead"
        )


def _check_bias(x: Array, weight: Array, bias: Array, groups: int, transposed: bool) -> None:
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias.shape != (channels,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {list(weight.shape)}, expected bias to be "
            f"1-dimensional with {channels} elements, but got bias of size {list(bias.shape)} instead"
        )
    if bias.dtype != x.dtype:
        raise RuntimeError(
            f"Input type ({dtype_of(x).short}) and bias type ({dtype_of(bias).short}) should be the same"
        )


def padded(x: Array, before: Ints, after: Ints) -> Array:
    """Zeros around the spatial dimensions."""
    if not any(before) and not any(after):
        return x
    sizes = [n + b + a for n, b, a in zip(x.shape[2:], before, after, strict=True)]
    wider = np.zeros((*x.shape[:2], *sizes), x.dtype)
    inside = [slice(b, b + n) for n, b in zip(x.shape[2:], before, strict=True)]
    wider[(slice(None), slice(None), *inside)] = x
    return wider


def windows(x: Array, kernel: Ints, stride: Ints, dilation: Ints) -> Array:
    """A view (batch, channels, *kernel, *places) of every window."""
    steps = x.strides[2:]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    places = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    inner = [b * d for b, d in zip(steps, dilation, strict=True)]
    outer = [b * s for b, s in zip(steps, stride, strict=True)]
    sizes, strides = (*x.shape[:2], *kernel, *places), (*x.strides[:2], *inner, *outer)
    windows: Array = as_strided(x, sizes, strides)
    return windows


COLUMNS: Final = 1 << 20
"""Bytes of windows that are laid out as columns at a time: they are read again while they are in the cache."""


def convolved(
    x: Array, weight: Array, bias: Array | None, stride: Ints, before: Ints, after: Ints, dilation: Ints, groups: int
) -> Made:
    """(batch, outputs, *places), channels last where the input's are. Raises RuntimeError where the kernel does not
    fit.
    """
    kernel = weight.shape[2:]
    full = [s + b + a for s, b, a in zip(x.shape[2:], before, after, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if any(f < r for f, r in zip(full, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, full))}). Kernel size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )
    places = [(f - r) // s + 1 for f, r, s in zip(full, reach, stride, strict=True)]
    result = _room(x, weight.shape[0], places)
    fill = fill_for(x, weight, result, stride, before, dilation, groups, False)
    if fill is not None:
        fill(x, weight, bias, result)
        return result, fill
    result[...] = _by_columns(x, weight, stride, before, after, dilation, groups)
    return _with_bias(result, bias), None


def _room(x: Array, outputs: int, places: Sequence[int]) -> Array:
    """An array for results, whose channels are innermost in memory if those of the input are."""
    if is_channels_last(x):
        return np.moveaxis(np.empty((len(x), *places, outputs), x.dtype), -1, 1)
    return np.empty((len(x), outputs, *places), x.dtype)


def _with_bias(result: Array, bias: Array | None) -> Array:
    return result if bias is None else np.add(result, bias.reshape(-1, *(1,) * (result.ndim - 2)), out=result)


def _by_columns(x: Array, weight: Array, stride: Ints, before: Ints, after: Ints, dilation: Ints, groups: int) -> Array:
    """The convolution of numbers that have no native code: windows laid out as columns, one product per group."""
    kernel = weight.shape[2:]
    seen = windows(padded(x, before, after), kernel, stride, dilation)
    batch, outputs, inner = x.shape[0], weight.shape[0], weight.shape[1]
    places = seen.shape[2 + len(kernel) :]
    result = np.empty((batch, outputs, *places), np.result_type(x, weight))
    if inner == 1 and groups == outputs:
        return _each_channel(seen, weight, result)
    rows, columns = inner * prod(kernel), prod(places)
    filters = weight.reshape(groups, outputs // groups, rows)
    target = result.reshape(batch, groups, outputs // groups, columns)
    each = max(1, COLUMNS // max(1, groups * rows * columns * x.itemsize))
    for start in range(0, batch, each):
        part = seen[start : start + each]
        blas.matmul(filters, part.reshape(len(part), groups, rows, columns), out=target[start : start + each])
    return result


def _each_channel(seen: Array, weight: Array, result: Array) -> Array:
    """A depthwise convolution: one input channel for each output, summed over the kernel's elements."""
    result[...] = 0
    each = max(1, COLUMNS // (8 * max(1, result[:1].nbytes)))
    scratch = np.empty_like(result[:each])
    places: list[Any] = list(product(*map(range, weight.shape[2:])))
    factors = [weight[(slice(None), 0, *place)].reshape(-1, *(1,) * (result.ndim - 2)) for place in places]
    with np.errstate(all="ignore"):
        for start in range(0, len(result), each):
            target, part = result[start : start + each], seen[start : start + each]
            for place, factor in zip(places, factors, strict=True):
                target += np.multiply(part[(slice(None), slice(None), *place)], factor, out=scratch[: len(target)])
    return result


def scattered(
    x: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, output_padding: Ints, dilation: Ints,
    groups: int,
) -> Made:  # fmt: skip
    """The transposed convolution (batch, outputs, *places): every element spreads the kernel around it."""
    sizes = [
        (n - 1) * s + d * (k - 1) + 1 + o - 2 * p
        for n, s, d, k, o, p in zip(
            x.shape[2:], stride, dilation, weight.shape[2:], output_padding, padding, strict=True
        )
    ]
    if min(sizes) > 0:
        result = np.empty((len(x), weight.shape[1] * groups, *sizes), x.dtype)
        fill = fill_for(x, weight, result, stride, padding, dilation, groups, True)
        if fill is not None:
            fill(x, weight, bias, result)
            return result, fill
    spread_out = contiguous(_spread_out(x, weight, stride, padding, output_padding, dilation, groups))
    return _with_bias(spread_out, bias), None


def _spread_out(
    x: Array, weight: Array, stride: Ints, padding: Ints, output_padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The transposed convolution of numbers that have no native code."""
    kernel, batch = weight.shape[2:], x.shape[0]
    inner, outputs = weight.shape[0] // groups, weight.shape[1]
    around = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True)]
    if all(s == 1 for s in stride) and min(around) >= 0 and min(output_padding) >= 0:
        by_output = weight.reshape(groups, inner, outputs, *kernel).swapaxes(1, 2)
        turned = np.flip(by_output, tuple(range(3, 3 + len(kernel)))).reshape(groups * outputs, inner, *kernel)
        behind = [a + o for a, o in zip(around, output_padding, strict=True)]
        return _by_columns(x, np.ascontiguousarray(turned), stride, around, behind, dilation, groups)
    full = [
        (n - 1) * s + d * (k - 1) + 1 + max(o, 0)
        for n, s, d, k, o in zip(x.shape[2:], stride, dilation, kernel, output_padding, strict=True)
    ]
    rows = x.reshape(batch, groups, inner, prod(x.shape[2:]))
    filters = weight.reshape(groups, inner, outputs * prod(kernel)).transpose(0, 2, 1)
    parts = blas.matmul(filters, rows).reshape(batch, groups * outputs, prod(kernel), *x.shape[2:])
    result = np.zeros((batch, groups * outputs, *full), parts.dtype)
    for i, place in enumerate(product(*map(range, kernel))):
        target = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(place, dilation, x.shape[2:], stride, strict=True)
        )
        result[(slice(None), slice(None), *target)] += parts[:, :, i]
    cut = tuple(slice(p, f - p) for p, f in zip(padding, full, strict=True))
    return result[(slice(None), slice(None), *cut)]


def convolution_kernel(
    input: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
    output_padding: Ints, groups: int,
) -> Array:  # fmt: skip
    """Raises RuntimeError for sizes, numbers and dtypes that do not fit."""
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    key = (*look(input, weight, bias), *stride, None, *padding, None, *dilation, transposed, *output_padding, groups)
    known = KNOWN.get(key)
    if known is not None:
        return known.run(input, weight, bias)
    dims = weight.ndim - 2
    unbatched = input.ndim == weight.ndim - 1
    x = input[None] if unbatched else input
    strides, dilations = spread("stride", stride, dims), spread("dilation", dilation, dims)
    pads, extra = spread("padding", padding, dims), spread("output_padding", output_padding, dims)
    check_numbers(strides, pads, dilations, groups)
    check_channels(x, weight, bias, groups, transposed)
    if transposed:
        check_output_padding(extra, strides, dilations)
        if 0 in x.shape[2:]:
            raise RuntimeError(
                f"Only zero batch or zero channel inputs are supported, but got input shape: {list(input.shape)}"
            )
        made = scattered(widened(x), widened(weight), as_bias(bias), strides, pads, extra, dilations, groups)
    else:
        made = convolved(widened(x), widened(weight), as_bias(bias), strides, pads, pads, dilations, groups)
    learn(key, input, bias, *made)
    return finished(made[0], input, unbatched)


def as_bias(bias: Array | None) -> Array | None:
    """A bias as it is added: side by side, and in the dtype that is computed in."""
    return None if bias is None else contiguous(widened(bias))


def is_channels_last(x: Array) -> bool:
    """Whether channels are innermost in memory, and not merely by having one size."""
    last = (0, *range(2, x.ndim), 1)
    return not x.flags.c_contiguous and bool(x.transpose(last).flags.c_contiguous)


def finished(result: Array, input: Array, unbatched: bool) -> Array:
    """In the input's dtype, without the batch dimension that it did not have."""
    result = result.astype(input.dtype, copy=False)
    return result[0] if unbatched else result


def check_output_padding(extra: Ints, stride: Ints, dilation: Ints) -> None:
    """Raise RuntimeError unless it is smaller than the stride or the dilation."""
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation, strict=True)):
        three = [(1,) * (2 - len(v)) + tuple(v) if len(v) < 2 else tuple(v) for v in (stride, dilation)]
        shown = (0,) * (2 - len(extra)) + tuple(extra)
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            f"output_padding_height: {shown[-2]} output_padding_width: {shown[-1]} stride_height: {three[0][-2]} "
            f"stride_width: {three[0][-1]} dilation_height: {three[1][-2]} dilation_width: {three[1][-1]}"
        )


def check_rank(name: str, input: Array, dims: int) -> None:
    """Raise RuntimeError unless it has the dimensions of one sample or of a batch."""
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )


def forward_kernel(dims: int) -> Any:
    """The kernel of `conv1d`, `conv2d` or `conv3d`."""

    def kernel(
        input: Array, weight: Array, bias: Array | None = None, stride: Ints = (1,), padding: Ints | str = (0,),
        dilation: Ints = (1,), groups: int = 1,
    ) -> Array:  # fmt: skip
        if type(padding) is list:
            key = (*look(input, weight, bias), *stride, None, *padding, None, *dilation, False, 0, groups)
            known = KNOWN.get(key)
            if known is not None:
                return known.run(input, weight, bias)
        if weight.ndim < 3:
            raise RuntimeError("weight should have at least three dimensions")
        check_rank(f"conv{dims}d", input, dims)
        if isinstance(padding, str):
            return named_padding(input, weight, bias, stride, padding, dilation, groups)
        return convolution_kernel(input, weight, bias, stride, padding, dilation, False, (0,), groups)

    return kernel


def named_padding(
    input: Array, weight: Array, bias: Array | None, stride: Ints, padding: str, dilation: Ints, groups: int
) -> Array:
    """Padding 'valid' is none; 'same' keeps the sizes, with the odd zero at the end."""
    dims = weight.ndim - 2
    if padding == "valid":
        return convolution_kernel(input, weight, bias, stride, (0,) * dims, dilation, False, (0,), groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    strides, dilations = spread("stride", stride, dims), spread("dilation", dilation, dims)
    if any(s != 1 for s in strides):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    unbatched = input.ndim == weight.ndim - 1
    x = input[None] if unbatched else input
    check_numbers(strides, (0,) * dims, dilations, groups)
    check_channels(x, weight, bias, groups, False)
    total = [d * (k - 1) for d, k in zip(dilations, weight.shape[2:], strict=True)]
    before = [t // 2 for t in total]
    after = [t - b for t, b in zip(total, before, strict=True)]
    made = convolved(widened(x), widened(weight), as_bias(bias), strides, before, after, dilations, groups)
    return finished(made[0], input, unbatched)


def transposed_kernel(dims: int) -> Any:
    """The kernel of `conv_transpose1d`, 2d or 3d."""

    def kernel(
        input: Array, weight: Array, bias: Array | None = None, stride: Ints = (1,), padding: Ints = (0,),
        output_padding: Ints = (0,), groups: int = 1, dilation: Ints = (1,),
    ) -> Array:  # fmt: skip
        check_rank(f"conv_transpose{dims}d", input, dims) if weight.ndim == dims + 2 else None
        return convolution_kernel(input, weight, bias, stride, padding, dilation, True, output_padding, groups)

    return kernel


def conv_shape(input: TensorType, weight: TensorType, stride: Any, padding: Any, dilation: Any) -> Sizes | None:
    """Sizes of a forward convolution with numbers for padding."""
    if input.sizes is None or weight.sizes is None or isinstance(padding, str) or not known(stride, padding, dilation):
        return ranks.input_rank(input)
    dims = len(weight.sizes) - 2
    spatial: list[int | None] = []
    for i in range(dims):
        n, k = input.sizes[i - dims], weight.sizes[i - dims]
        s, p, d = (int(v[0] if len(v) == 1 else v[i]) for v in (stride, padding, dilation))
        is_known = n is not None and k is not None and n >= 0 and k >= 0
        spatial.append(((n or 0) + 2 * p - d * ((k or 0) - 1) - 1) // s + 1 if is_known else None)
    batch = input.sizes[: len(input.sizes) - dims - 1]
    return (*batch, weight.sizes[0], *spatial)


def _grid(*sizes: int) -> Tensor:
    count = prod(sizes)
    return wrap(((np.arange(count, dtype=np.float32) * 37 % 23) / 8 - 1).reshape(sizes))


def samples(dims: int) -> Any:
    """Plain, strided with bias and padding, grouped, one sample."""

    def made() -> Iterable[Sample]:
        size = (5, 4, 3)[:dims]
        kernel = (3, 2, 2)[:dims]
        yield Sample(args=(_grid(2, 4, *size), _grid(6, 4, *kernel)))
        yield Sample(args=(_grid(2, 4, *size), _grid(6, 4, *kernel), _grid(6), 2, 1))
        yield Sample(args=(_grid(2, 4, *size), _grid(6, 2, *kernel), None, 1, 1, 1, 2), note="two groups")
        yield Sample(args=(_grid(4, *size), _grid(6, 4, *kernel)), note="one sample")

    return made


def errors(dims: int) -> Any:
    """Channels that differ, a kernel that does not fit."""

    def made() -> Iterable[ErrorSample]:
        size = (2,) * dims
        yield ErrorSample(
            args=(_grid(1, 3, *size), _grid(2, 4, *(1,) * dims)),
            error=RuntimeError,
            message="to have 4 channels, but got 3 channels instead",
        )
        yield ErrorSample(
            args=(_grid(1, 3, *size), _grid(2, 3, *(3,) * dims)),
            error=RuntimeError,
            message="Kernel size can't be greater than actual input size",
        )

    return made


def transposed_samples(dims: int) -> list[Sample]:
    """Strided, padded on both sides, with a bias."""
    size, kernel = (3, 2, 2)[:dims], (2, 3, 2)[:dims]
    return [Sample(args=(_grid(2, 4, *size), _grid(4, 3, *kernel), _grid(3), 2, 1, 1))]


for _dims in (1, 2, 3):
    _one, _zero = ", ".join(["1"] * _dims), ", ".join(["0"] * _dims)
    declare(
        f"aten::conv{_dims}d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{_dims}] stride=[{_one}], "
        f"SymInt[{_dims}] padding=[{_zero}], SymInt[{_dims}] dilation=[{_one}], SymInt groups=1) -> Tensor",
        f"aten::conv{_dims}d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[{_dims}] stride=[{_one}], "
        f'str padding="valid", SymInt[{_dims}] dilation=[{_one}], SymInt groups=1) -> Tensor',
        kernel=forward_kernel(_dims),
        traits=Traits(role=Role.CONVOLUTION, has_routine=True, has_followers=True),
        doc="Every window of the input times the kernel; `weight` is (outputs, inputs / groups, *kernel).",
        dtype=input_dtype,
        shape=conv_shape,
        samples=samples(_dims),
        errors=errors(_dims),
        ulp=ULP,
        is_method=False,
        namespaces=("nn.functional",),
    )
    declare(
        f"aten::conv_transpose{_dims}d{'' if _dims == 1 else '.input'}(Tensor input, Tensor weight, Tensor? bias=None, "
        f"SymInt[{_dims}] stride=[{_one}], SymInt[{_dims}] padding=[{_zero}], SymInt[{_dims}] "
        f"output_padding=[{_zero}], "
        f"SymInt groups=1, SymInt[{_dims}] dilation=[{_one}]) -> Tensor",
        kernel=transposed_kernel(_dims),
        traits=Traits(role=Role.CONVOLUTION, has_routine=True, has_followers=True),
        doc="The gradient of a convolution by its input; `weight` is (inputs, outputs / groups, *kernel).",
        dtype=input_dtype,
        shape=ranks.input_rank,
        samples=partial(transposed_samples, _dims),
        ulp=ULP,
        is_method=False,
        namespaces=("nn.functional",),
    )

_COMMON = (
    "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, "
)

declare(
    f"aten::convolution{_COMMON}SymInt[] output_padding, SymInt groups) -> Tensor",
    f"aten::_convolution{_COMMON}SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, "
    "bool cudnn_enabled, bool allow_tf32) -> Tensor",
    f"aten::_convolution.deprecated{_COMMON}int[] output_padding, SymInt groups, bool benchmark, bool deterministic, "
    "bool cudnn_enabled) -> Tensor",
    outs=("out", "out"),
    kernel=convolution_kernel,
    traits=Traits(has_routine=True, has_followers=True),
    doc="Any convolution; the number of dimensions follows from `weight`.",
    dtype=input_dtype,
    shape=ranks.input_rank,
    samples=lambda: [
        Sample(args=(_grid(2, 4, 5), _grid(4, 3, 2), None, [2], [1], [1], True, [1], 1)),
        Sample(args=(_grid(2, 4, 5), _grid(3, 4, 2), None, [2], [1], [1], False, [0], 1)),
    ],
    ulp=ULP,
    is_method=False,
)
