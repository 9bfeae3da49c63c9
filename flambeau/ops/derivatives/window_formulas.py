"""The formulas of what slides over axes: padding, pooling, convolution, resampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ops.derivatives.plain_arrays import folded_back
from flambeau.ops.derivatives.shapes import perhaps, zeros
from flambeau.schema.gradient import decomposed, flat_gradient, formulas


def _pad_back(f: Any, grad: Any, pad: Sequence[int]) -> Any:
    for number in range(len(pad) // 2):
        dim, before, behind = grad.dim() - 1 - number, pad[2 * number], pad[2 * number + 1]
        if before > 0:
            grad = f.narrow(grad, dim, before, grad.shape[dim] - before)
        if behind > 0:
            grad = f.narrow(grad, dim, 0, grad.shape[dim] - behind)
        if before < 0 or behind < 0:
            around = [0] * (2 * number) + [max(-before, 0), max(-behind, 0)]
            grad = f.constant_pad_nd(grad, around)
    return grad


formulas("aten::constant_pad_nd", self=lambda f, grad, pad: _pad_back(f, grad, pad))


def _max_pool(f: Any, grads: Any, self_sizes: Sequence[int], result1: Any, spatial: int) -> Any:
    [grad, *_] = grads
    leading = list(self_sizes[: len(self_sizes) - spatial])
    flat = f.scatter_add(
        zeros(grad, [*leading, math.prod(self_sizes[len(leading) :])]),
        len(leading),
        f.reshape(result1, [*leading, -1]),
        f.reshape(grad, [*leading, -1]),
    )
    return f.reshape(flat, self_sizes)


for _rank in (2, 3):
    flat_gradient(f"aten::fractional_max_pool{_rank}d", of="self")
    formulas(
        f"aten::fractional_max_pool{_rank}d",
        self=(lambda spatial: lambda f, grads, self_sizes, result1: _max_pool(f, grads, self_sizes, result1, spatial))(
            _rank
        ),
    )

for _rank in (1, 2, 3):
    flat_gradient(f"aten::max_pool{_rank}d_with_indices", f"aten::adaptive_max_pool{_rank}d", of="self")
    formulas(
        f"aten::max_pool{_rank}d_with_indices",
        f"aten::adaptive_max_pool{_rank}d",
        self=(lambda spatial: lambda f, grads, self_sizes, result1: _max_pool(f, grads, self_sizes, result1, spatial))(
            _rank
        ),
    )

    def _of_rank(rank: int) -> Any:
        def body(f: Any, self: Any, **options: Any) -> Any:
            return getattr(f, f"max_pool{rank}d_with_indices")(self, **options)[0]

        return body

    decomposed(f"aten::max_pool{_rank}d")(_of_rank(_rank))


def _mirrored(size: int, before: int, behind: int) -> list[int]:
    period = 2 * (size - 1)
    positions = [p % period if period else 0 for p in range(-before, size + behind)]
    return [min(p, period - p) for p in positions]


def _clipped(size: int, before: int, behind: int) -> list[int]:
    return [min(max(p, 0), size - 1) for p in range(-before, size + behind)]


def _gather_back(index_map: Callable[[int, int, int], list[int]]) -> Callable[..., Any]:
    """The formula of padding that repeats elements: each gets the gradients of all places where it stands."""

    def formula(f: Any, grad: Any, self_sizes: Sequence[int], padding: Sequence[int]) -> Any:
        return f.over_arrays(kernel, body, grad, self_sizes, padding)

    def kernel(grad: Any, self_sizes: Sequence[int], padding: Sequence[int]) -> Any:
        return folded_back(grad, self_sizes, padding, index_map)

    def body(f: Any, grad: Any, self_sizes: Sequence[int], padding: Sequence[int]) -> Any:
        for number in range(len(padding) // 2):
            dim = grad.dim() - 1 - number
            size = self_sizes[len(self_sizes) - 1 - number]
            index = f.tensor_of(index_map(size, padding[2 * number], padding[2 * number + 1]))
            sizes = [n if d != dim else size for d, n in enumerate(grad.shape)]
            grad = f.index_add(zeros(grad, sizes), dim, index, grad)
        return grad

    return formula


formulas(*[f"aten::reflection_pad{n}d" for n in (1, 2, 3)], self=_gather_back(_mirrored))
formulas(*[f"aten::replication_pad{n}d" for n in (1, 2, 3)], self=_gather_back(_clipped))
flat_gradient(*[f"aten::{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3)], of="self")


def _wrapped(size: int, before: int, behind: int) -> list[int]:
    """Around and around what is left when negative amounts were cut off."""
    first, left = max(-before, 0), size + min(before, 0) + min(behind, 0)
    return [first + (p - first) % left for p in range(-before, size + behind)] if left else []


@decomposed("aten::pad")
def _pad(f: Any, self: Any, pad: Sequence[int], mode: str, value: Any) -> Any:
    number = len(pad) // 2
    if mode == "constant":
        return f.constant_pad_nd(self, pad, 0 if value is None else value)
    if mode == "circular":
        for at in range(number):
            dim, before, behind = self.dim() - 1 - at, pad[2 * at], pad[2 * at + 1]
            size = self.shape[dim]
            index = f.tensor_of(_wrapped(size, before, behind))
            self = f.index_select(self, dim, index)
        return self
    kind = {"reflect": "reflection", "replicate": "replication"}[mode]
    return getattr(f, f"{kind}_pad{number}d")(self, pad)


# Convolutions


def _numbers(value: Any, rank: int) -> list[int]:
    listed = [value] if isinstance(value, int) else list(value)
    return listed * rank if len(listed) == 1 else listed


def _batched(f: Any, x: Any, rank: int) -> Any:
    return x if x.dim() == rank + 2 else f.unsqueeze(x, 0)


def _conv_input(
    f: Any, grad: Any, sizes: Sequence[int], weight: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    rank = weight.dim() - 2
    stride, padding, dilation = (_numbers(v, rank) for v in (stride, padding, dilation))
    ahead = []
    for at in range(rank):
        size, kernel, out = sizes[len(sizes) - rank + at], weight.shape[2 + at], grad.shape[grad.dim() - rank + at]
        ahead.append(size - ((out - 1) * stride[at] - 2 * padding[at] + dilation[at] * (kernel - 1) + 1))
    transposed = getattr(f, f"conv_transpose{rank}d")
    return transposed(grad, f.conj(weight), None, stride, padding, ahead, groups, dilation)


def _conv_weight(
    f: Any, grad: Any, x: Any, sizes: Sequence[int], stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    rank = len(sizes) - 2
    stride, padding, dilation = (_numbers(v, rank) for v in (stride, padding, dilation))
    kernel = list(sizes[2:])
    return f.convolution_weight(f.conj(x), grad, kernel, stride, padding, dilation, groups)


formulas(
    "flambeau::convolution_weight",
    input=lambda f, grad, input_sizes, slope, stride, padding, dilation, groups: _conv_input(
        f, f.conj(slope), input_sizes, f.conj(grad), stride, padding, dilation, groups
    ),
    slope=lambda f, grad, input, slope_sizes, stride, padding, dilation, groups: _transposed_input(
        f, f.conj(input), slope_sizes, f.conj(grad), stride, padding, dilation, groups
    ),
)


def _conv_bias(f: Any, grad: Any, bias_sizes: Sequence[int], weight_sizes: Sequence[int]) -> Any:
    rank = len(weight_sizes) - 2
    grad = _batched(f, grad, rank)
    return f.sum(grad, [d for d in range(grad.dim()) if d != 1])


for _rank in (1, 2, 3):
    formulas(
        f"aten::conv{_rank}d",
        input=lambda f, grad, input_sizes, weight, stride, padding, dilation, groups: _conv_input(
            f, grad, input_sizes, weight, stride, padding, dilation, groups
        ),
        weight=lambda f, grad, input, weight_sizes, stride, padding, dilation, groups: _conv_weight(
            f, grad, input, weight_sizes, stride, padding, dilation, groups
        ),
        bias=_conv_bias,
    )

    def _with_words(rank: int) -> Callable[..., Any]:
        def body(
            f: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
        ) -> Any:
            dilation = _numbers(dilation, rank)
            around: list[int] = []
            if padding == "same":
                for at in reversed(range(rank)):
                    whole = dilation[at] * (weight.shape[2 + at] - 1)
                    around += [whole // 2, whole - whole // 2]
                input = f.constant_pad_nd(input, around)
            return getattr(f, f"conv{rank}d")(input, weight, bias, stride, [0] * rank, dilation, groups)

        return body

    decomposed(f"aten::conv{_rank}d.padding")(_with_words(_rank))
    formulas(
        f"aten::conv_transpose{_rank}d",
        input=lambda f, grad, input_sizes, weight, stride, padding, dilation, groups: _transposed_input(
            f, grad, input_sizes, weight, stride, padding, dilation, groups
        ),
        weight=lambda f, grad, input, weight_sizes, stride, padding, dilation, groups: _transposed_weight(
            f, grad, input, weight_sizes, stride, padding, dilation, groups
        ),
        bias=_conv_bias,
    )


def _transposed_input(
    f: Any, grad: Any, sizes: Sequence[int], weight: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """A convolution; behind its result may be more, that padding of the output made room for."""
    rank = weight.dim() - 2
    result = getattr(f, f"conv{rank}d")(grad, f.conj(weight), None, stride, padding, dilation, groups)
    for axis in range(result.dim() - rank, result.dim()):
        if perhaps(result.shape[axis] != sizes[axis]):
            result = f.narrow(result, axis, 0, sizes[axis])
    return result


def _transposed_weight(
    f: Any, grad: Any, x: Any, sizes: Sequence[int], stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    return _conv_weight(f, f.conj(x), f.conj(grad), sizes, stride, padding, dilation, groups)


@decomposed("aten::convolution", "aten::_convolution")
def _convolution(
    f: Any,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    **rest: Any,
) -> Any:
    rank = weight.dim() - 2
    if transposed:
        run = getattr(f, f"conv_transpose{rank}d")
        return run(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(f, f"conv{rank}d")(input, weight, bias, stride, padding, dilation, groups)


# Averages


def _avg_pool(rank: int) -> Callable[..., Any]:
    """The formula of averages over windows: each element gets its share of the windows that it is in."""

    def formula(
        f: Any,
        grad: Any,
        self_sizes: Sequence[int],
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None = None,
    ) -> Any:
        kernel, padding = _numbers(kernel_size, rank), _numbers(padding, rank)
        stride = _numbers(stride, rank) if stride else kernel
        inner = list(self_sizes[len(self_sizes) - rank :])
        number = math.prod(self_sizes[: len(self_sizes) - rank])
        share = f.reshape(grad, [number, 1, *grad.shape[grad.dim() - rank :]])
        if ceil_mode is False and all(type(p) is int and p == 0 for p in padding):  # each window is full
            share = share / (math.prod(kernel) if divisor_override is None else divisor_override)
        else:
            ones = grad.new_ones([1, 1, *inner])
            options = [kernel, stride, padding, ceil_mode, count_include_pad]
            each = getattr(f, f"avg_pool{rank}d")(ones, *options, *[n for n in (divisor_override,) if n is not None])
            share = share * (each / _covered(f, ones, kernel, stride, padding, each.shape))
        spread = getattr(f, f"conv_transpose{rank}d")(share, grad.new_ones([1, 1, *kernel]), None, stride)
        around: list[Any] = []
        for at in reversed(range(rank)):
            around += [-padding[at], inner[at] - (spread.shape[2 + at] - padding[at])]
        if any(perhaps(number != 0) for number in around):
            spread = f.constant_pad_nd(spread, around)
        return f.reshape(spread, self_sizes)

    return formula


def _covered(f: Any, ones: Any, kernel: list[int], stride: list[int], padding: list[int], sizes: Any) -> Any:
    """How many elements of the input each window has."""
    result = ones.new_ones([1] * ones.dim())
    for at, (k, s, p) in enumerate(zip(kernel, stride, padding, strict=True)):
        line = f.gt(ones.new_ones([sizes[2 + at]]), 0)
        starts = (f.cumsum(line, 0) - 1) * s - p  # integers
        counts = f.clamp_max(starts + k, ones.shape[2 + at]) - f.clamp_min(starts, 0)
        result = result * f.reshape(counts, [-1 if d == 2 + at else 1 for d in range(ones.dim())])
    return result


for _rank in (1, 2, 3):
    formulas(f"aten::avg_pool{_rank}d", self=_avg_pool(_rank))
    flat_gradient(f"aten::avg_pool{_rank}d", f"aten::adaptive_avg_pool{_rank}d", of="self")


def _unpooled(f: Any, grad: Any, self_sizes: Sequence[int], indices: Any, rank: int) -> Any:
    leading = list(self_sizes[: len(self_sizes) - rank])
    flat = f.reshape(grad, [*leading, math.prod(grad.shape[len(leading) :])])
    return f.reshape(f.gather(flat, len(leading), f.reshape(indices, [*leading, -1])), self_sizes)


for _rank in (2, 3):
    formulas(
        f"aten::max_pool{_rank}d_with_indices_backward",
        grad_output=(
            lambda rank: lambda f, grad, indices, indices_sizes: _unpooled(f, grad, indices_sizes, indices, rank)
        )(_rank),
        self=lambda f, grad: f.zeros_like(grad),
    )
formulas("aten::max_unpool2d", self=lambda f, grad, self_sizes, indices: _unpooled(f, grad, self_sizes, indices, 2))
formulas("aten::max_unpool3d", self=lambda f, grad, self_sizes, indices: _unpooled(f, grad, self_sizes, indices, 3))


def _im2col_back(
    f: Any, grad: Any, self_sizes: Sequence[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    return f.col2im(grad, list(self_sizes[-2:]), kernel_size, dilation, padding, stride)


formulas("aten::im2col", self=_im2col_back)
formulas(
    "aten::col2im",
    self=lambda f, grad, kernel_size, dilation, padding, stride: f.im2col(grad, kernel_size, dilation, padding, stride),
)
