"""Convolutions in one to three dimensions, forward and transposed: windows as matrices, one product per group."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import prod
from typing import Any

from flambeau.ops.convolution_calls import KNOWN, learn, look
from flambeau.ops.convolution_checks import Ints, check_channels, check_numbers, spread
from flambeau.ops.convolution_windows import convolved, scattered
from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, widened
from flambeau.ops.families.half_precision import in_float32
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype, known
from flambeau.ops.product_checks import ULP
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Role, Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


@in_float32
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
        result = scattered(widened(x), widened(weight), as_bias(bias), strides, pads, extra, dilations, groups)
    else:
        result = convolved(widened(x), widened(weight), as_bias(bias), strides, pads, pads, dilations, groups)
    learn(key, input, bias, *result)
    return finished(result[0], input, unbatched)


def as_bias(bias: Array | None) -> Array | None:
    """A bias as it is added: side by side, and in the dtype that is computed in."""
    return None if bias is None else contiguous(widened(bias))


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

    @in_float32
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
    result = convolved(widened(x), widened(weight), as_bias(bias), strides, before, after, dilations, groups)
    return finished(result[0], input, unbatched)


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
