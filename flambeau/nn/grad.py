"""Gradients of convolutions by themselves: of the input from its sizes, of the weight from its sizes.

>>> import flambeau
>>> x, w = flambeau.ones(1, 1, 3), flambeau.tensor([[[1.0, 2.0]]])
>>> slope = flambeau.ones(1, 1, 2)
>>> conv1d_input(x.shape, w, slope)
tensor([[[1., 3., 2.]]])
>>> conv1d_weight(x, w.shape, slope)
tensor([[[2., 2.]]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.families.composite import F
from flambeau.tensor.dispatch import call
from flambeau.tensor.tensor import Tensor

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]
Sizes = int | Sequence[int]
WRONG_SIZES: Final = (
    "{name}: a result of size {size} along dimension {dim} comes from inputs of {low} to {high}, not of {given}: check "
    "stride, padding and dilation"
)
WRONG_RANK: Final = "{name} needs the {count} sizes of {what}, got {sizes}"


def _each(value: Sizes, dims: int) -> list[int]:
    return [value] * dims if isinstance(value, int) else list(value)


def _input(
    dims: int, input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Tensor:  # fmt: skip
    """The convolution backwards, as long as the input was: a stride leaves several lengths open."""
    name = f"conv{dims}d_input"
    if len(input_size) not in (dims + 1, dims + 2):
        raise ValueError(WRONG_RANK.format(name=name, count=dims + 2, what="the input", sizes=list(input_size)))
    steps, pads, gaps = _each(stride, dims), _each(padding, dims), _each(dilation, dims)
    more: list[int] = []
    for dim in range(dims):
        size = grad_output.shape[dim - dims]
        low = (size - 1) * steps[dim] - 2 * pads[dim] + gaps[dim] * (weight.shape[dim - dims] - 1) + 1
        requested = input_size[dim - dims]
        if not low <= requested < low + steps[dim]:
            bounds = {"low": low, "high": low + steps[dim] - 1, "given": requested}
            raise ValueError(WRONG_SIZES.format(name=name, size=size, dim=dim - dims, **bounds))
        more.append(requested - low)
    backwards: Any = getattr(F, f"conv_transpose{dims}d")
    result: Tensor = backwards(grad_output, weight, None, steps, pads, more, groups, gaps)
    return result


def _weight(
    dims: int, input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Tensor:  # fmt: skip
    if len(weight_size) != dims + 2:
        sizes = list(weight_size)
        raise ValueError(WRONG_RANK.format(name=f"conv{dims}d_weight", count=dims + 2, what="the weight", sizes=sizes))
    steps, pads, gaps = _each(stride, dims), _each(padding, dims), _each(dilation, dims)
    kernel = list(weight_size[2:])
    gradient: Tensor = call("flambeau::convolution_weight", input, grad_output, kernel, steps, pads, gaps, groups)
    return gradient


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `nn.functional.conv1d`.

    Args:
        input_size: the sizes of the input.
        weight: the weight of the convolution.
        grad_output: the gradient of its result.
        stride, padding, dilation, groups: as the convolution has them.

    Raises ValueError for sizes that no such convolution has.

    >>> import flambeau
    >>> conv1d_input((1, 1, 4), flambeau.ones(1, 1, 2), flambeau.ones(1, 1, 2), stride=2).tolist()
    [[[1.0, 1.0, 1.0, 1.0]]]
    """
    return _input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `nn.functional.conv1d`, from its sizes; as `conv1d_input`.

    >>> import flambeau
    >>> conv1d_weight(flambeau.ones(1, 1, 4), (1, 1, 2), flambeau.ones(1, 1, 2), stride=2).tolist()
    [[[2.0, 2.0]]]
    """
    return _weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `nn.functional.conv2d`; as `conv1d_input`.

    >>> import flambeau
    >>> conv2d_input((1, 1, 2, 2), flambeau.ones(1, 1, 2, 2), flambeau.ones(1, 1, 1, 1)).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """
    return _input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `nn.functional.conv2d`, from its sizes; as `conv1d_input`.

    >>> import flambeau
    >>> conv2d_weight(flambeau.ones(1, 1, 2, 2), (1, 1, 2, 2), flambeau.ones(1, 1, 1, 1)).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """
    return _weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the input of `nn.functional.conv3d`; as `conv1d_input`.

    >>> import flambeau
    >>> conv3d_input((1, 1, 1, 1, 2), flambeau.ones(1, 1, 1, 1, 2), flambeau.ones(1, 1, 1, 1, 1)).tolist()
    [[[[[1.0, 1.0]]]]]
    """
    return _input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of the weight of `nn.functional.conv3d`, from its sizes; as `conv1d_input`.

    >>> import flambeau
    >>> conv3d_weight(flambeau.ones(1, 1, 1, 1, 2), (1, 1, 1, 1, 2), flambeau.ones(1, 1, 1, 1, 1)).tolist()
    [[[[[1.0, 1.0]]]]]
    """
    return _weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)
