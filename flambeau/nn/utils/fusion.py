"""A layer and the batch normalisation behind it as one layer: for models that only run."""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

from flambeau.nn.layers.batch_norm import BatchNorm
from flambeau.nn.layers.convolution import Convolution
from flambeau.nn.layers.linear import Linear
from flambeau.nn.parameter import Parameter
from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor

C = TypeVar("C", bound=Convolution)
L = TypeVar("L", bound=Linear)
Pair = tuple[Parameter, Parameter]


def _fused(
    weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, factor: Tensor | None,
    shift: Tensor | None, shape: list[int],
) -> Pair:  # fmt: skip
    """`shape` makes the factors of channels fit the weight."""
    scale = F.rsqrt(F.add(var, eps))
    if factor is not None:
        scale = F.mul(factor, scale)
    moved = F.mul(F.neg(mean) if bias is None else F.sub(bias, mean), scale)
    if shift is not None:
        moved = F.add(moved, shift)
    fused = F.mul(weight, F.reshape(scale, shape))
    return (
        Parameter(F.to(fused, weight.dtype).detach(), weight.requires_grad),
        Parameter(F.to(moved, weight.dtype if bias is None else bias.dtype).detach(), weight.requires_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> Pair:  # fmt: skip
    """Weight and bias of a convolution that normalises its result; `transpose` for transposed ones without groups.

    >>> import flambeau
    >>> ones, w = flambeau.ones(2), flambeau.ones(2, 1, 3, 3)
    >>> weight, bias = fuse_conv_bn_weights(w, None, ones, 4 * ones, 0.0, ones, None)
    >>> weight[0, 0, 0, 0].item(), bias.tolist()
    (0.5, [-0.5, -0.5])
    """
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> Pair:  # fmt: skip
    """Weight and bias of a linear layer that normalises its result.

    >>> import flambeau
    >>> ones = flambeau.ones(2)
    >>> weight, bias = fuse_linear_bn_weights(flambeau.eye(2), None, ones, 4 * ones, 0.0, ones, ones)
    >>> weight.tolist(), bias.tolist()
    ([[0.5, 0.0], [0.0, 0.5]], [0.5, 0.5])
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _statistics(layer: Convolution | Linear, bn: BatchNorm) -> tuple[Tensor, Tensor]:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call eval() of both first")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return bn.running_mean, bn.running_var


def fuse_conv_bn_eval(conv: C, bn: BatchNorm, transpose: bool = False) -> C:
    """A copy of a convolution that normalises its result, as `bn` would. Raises AssertionError while training.

    >>> from flambeau import nn
    >>> fuse_conv_bn_eval(nn.Conv2d(1, 2, 3, bias=False).eval(), nn.BatchNorm2d(2).eval())
    Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """
    mean, var = _statistics(conv, bn)
    fused = deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, mean, var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: L, bn: BatchNorm) -> L:
    """A copy of a linear layer that normalises its result, as `bn` would.

    Raises AssertionError while training, and for another number of features than one or the layer's.

    >>> from flambeau import nn
    >>> fuse_linear_bn_eval(nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval())
    Linear(in_features=3, out_features=2, bias=True)
    """
    mean, var = _statistics(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
            f"{linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(linear.weight, linear.bias, mean, var, bn.eps, bn.weight, bn.bias)
    return fused
