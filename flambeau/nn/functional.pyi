"""What `flambeau.nn.functional` has. Written by `python -m flambeau.tools.stubs`: do not edit."""

# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, valid-type, misc, no-redef"
# ruff: noqa

import builtins as _builtins
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import overload as _overload

from flambeau.schema.device import Device as _Device
from flambeau.schema.dtype import DType as _DType
from flambeau.tensor.random import Generator as _Generator
from flambeau.tensor.tensor import Tensor as _Tensor

_int = _builtins.int
_float = _builtins.float
_bool = _builtins.bool
_complex = _builtins.complex
_Number = _builtins.int | _builtins.float | _builtins.complex

from collections.abc import Callable as Callable
from flambeau.nn.functions.activation import celu as celu
from flambeau.nn.functions.activation import elu as elu
from flambeau.nn.functions.activation import gumbel_softmax as gumbel_softmax
from flambeau.nn.functions.activation import hardsigmoid as hardsigmoid
from flambeau.nn.functions.activation import hardswish as hardswish
from flambeau.nn.functions.activation import hardtanh as hardtanh
from flambeau.nn.functions.activation import leaky_relu as leaky_relu
from flambeau.nn.functions.activation import log_softmax as log_softmax
from flambeau.nn.functions.activation import logsigmoid as logsigmoid
from flambeau.nn.functions.activation import mish as mish
from flambeau.nn.functions.activation import relu as relu
from flambeau.nn.functions.activation import relu6 as relu6
from flambeau.nn.functions.activation import rrelu as rrelu
from flambeau.nn.functions.activation import selu as selu
from flambeau.nn.functions.activation import sigmoid as sigmoid
from flambeau.nn.functions.activation import silu as silu
from flambeau.nn.functions.activation import softmax as softmax
from flambeau.nn.functions.activation import softmin as softmin
from flambeau.nn.functions.activation import softsign as softsign
from flambeau.nn.functions.activation import tanh as tanh
from flambeau.nn.functions.activation import tanhshrink as tanhshrink
from flambeau.nn.functions.activation import threshold as threshold
from flambeau.nn.functions.adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from flambeau.nn.functions.adaptive import adaptive_avg_pool2d as adaptive_avg_pool2d
from flambeau.nn.functions.adaptive import adaptive_avg_pool3d as adaptive_avg_pool3d
from flambeau.nn.functions.adaptive import adaptive_max_pool1d as adaptive_max_pool1d
from flambeau.nn.functions.adaptive import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices
from flambeau.nn.functions.adaptive import adaptive_max_pool2d as adaptive_max_pool2d
from flambeau.nn.functions.adaptive import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices
from flambeau.nn.functions.adaptive import adaptive_max_pool3d as adaptive_max_pool3d
from flambeau.nn.functions.adaptive import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices
from flambeau.nn.functions.attention import multi_head_attention_forward as multi_head_attention_forward
from flambeau.nn.functions.bags import embedding_bag as embedding_bag
from flambeau.nn.functions.dropout import alpha_dropout as alpha_dropout
from flambeau.nn.functions.dropout import dropout as dropout
from flambeau.nn.functions.dropout import dropout1d as dropout1d
from flambeau.nn.functions.dropout import dropout2d as dropout2d
from flambeau.nn.functions.dropout import dropout3d as dropout3d
from flambeau.nn.functions.dropout import feature_alpha_dropout as feature_alpha_dropout
from flambeau.nn.functions.layers import batch_norm as batch_norm
from flambeau.nn.functions.layers import bilinear as bilinear
from flambeau.nn.functions.layers import embedding as embedding
from flambeau.nn.functions.layers import fold as fold
from flambeau.nn.functions.layers import group_norm as group_norm
from flambeau.nn.functions.layers import instance_norm as instance_norm
from flambeau.nn.functions.layers import layer_norm as layer_norm
from flambeau.nn.functions.layers import linear as linear
from flambeau.nn.functions.layers import local_response_norm as local_response_norm
from flambeau.nn.functions.layers import normalize as normalize
from flambeau.nn.functions.layers import rms_norm as rms_norm
from flambeau.nn.functions.layers import unfold as unfold
from flambeau.nn.functions.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from flambeau.nn.functions.loss import binary_cross_entropy as binary_cross_entropy
from flambeau.nn.functions.loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from flambeau.nn.functions.loss import cross_entropy as cross_entropy
from flambeau.nn.functions.loss import ctc_loss as ctc_loss
from flambeau.nn.functions.loss import gaussian_nll_loss as gaussian_nll_loss
from flambeau.nn.functions.loss import huber_loss as huber_loss
from flambeau.nn.functions.loss import kl_div as kl_div
from flambeau.nn.functions.loss import l1_loss as l1_loss
from flambeau.nn.functions.loss import mse_loss as mse_loss
from flambeau.nn.functions.loss import nll_loss as nll_loss
from flambeau.nn.functions.loss import poisson_nll_loss as poisson_nll_loss
from flambeau.nn.functions.loss import smooth_l1_loss as smooth_l1_loss
from flambeau.nn.functions.loss import soft_margin_loss as soft_margin_loss
from flambeau.nn.functions.loss_margin import cosine_embedding_loss as cosine_embedding_loss
from flambeau.nn.functions.loss_margin import hinge_embedding_loss as hinge_embedding_loss
from flambeau.nn.functions.loss_margin import margin_ranking_loss as margin_ranking_loss
from flambeau.nn.functions.loss_margin import multi_margin_loss as multi_margin_loss
from flambeau.nn.functions.loss_margin import multilabel_margin_loss as multilabel_margin_loss
from flambeau.nn.functions.loss_margin import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from flambeau.nn.functions.loss_margin import triplet_margin_loss as triplet_margin_loss
from flambeau.nn.functions.loss_margin import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from flambeau.nn.functions.pooling import lp_pool1d as lp_pool1d
from flambeau.nn.functions.pooling import lp_pool2d as lp_pool2d
from flambeau.nn.functions.pooling import lp_pool3d as lp_pool3d
from flambeau.nn.functions.pooling import max_pool1d as max_pool1d
from flambeau.nn.functions.pooling import max_pool1d_with_indices as max_pool1d_with_indices
from flambeau.nn.functions.pooling import max_pool2d as max_pool2d
from flambeau.nn.functions.pooling import max_pool2d_with_indices as max_pool2d_with_indices
from flambeau.nn.functions.pooling import max_pool3d as max_pool3d
from flambeau.nn.functions.pooling import max_pool3d_with_indices as max_pool3d_with_indices
from flambeau.nn.functions.pooling_fractional import fractional_max_pool2d as fractional_max_pool2d
from flambeau.nn.functions.pooling_fractional import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
from flambeau.nn.functions.pooling_fractional import fractional_max_pool3d as fractional_max_pool3d
from flambeau.nn.functions.pooling_fractional import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
from flambeau.nn.functions.resize import affine_grid as affine_grid
from flambeau.nn.functions.resize import grid_sample as grid_sample
from flambeau.nn.functions.resize import interpolate as interpolate
from flambeau.nn.functions.resize import upsample as upsample
from flambeau.nn.functions.resize import upsample_bilinear as upsample_bilinear
from flambeau.nn.functions.resize import upsample_nearest as upsample_nearest
from flambeau.nn.functions.unpooling import max_unpool1d as max_unpool1d
from flambeau.nn.functions.unpooling import max_unpool2d as max_unpool2d
from flambeau.nn.functions.unpooling import max_unpool3d as max_unpool3d
from flambeau.ops import surface as _surface
from flambeau.tensor.overridden_functions import overridable as _overridable
from flambeau.tensor.tensor import Tensor as Tensor
_SPELLINGS = (sigmoid, tanh, upsample, upsample_bilinear, upsample_nearest)

@_overload
def avg_pool1d(input: _Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> _Tensor: ...
@_overload
def avg_pool1d(input: _Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., *, out: _Tensor) -> _Tensor: ...
@_overload
def avg_pool2d(input: _Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> _Tensor: ...
@_overload
def avg_pool2d(input: _Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: _Tensor) -> _Tensor: ...
@_overload
def avg_pool3d(input: _Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ...) -> _Tensor: ...
@_overload
def avg_pool3d(input: _Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: _Tensor) -> _Tensor: ...
def celu_(input: _Tensor, alpha: _Number = ...) -> _Tensor: ...
@_overload
def channel_shuffle(input: _Tensor, groups: _int) -> _Tensor: ...
@_overload
def channel_shuffle(input: _Tensor, groups: _int, *, out: _Tensor) -> _Tensor: ...
@_overload
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> _Tensor: ...
@_overload
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> _Tensor: ...
@_overload
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> _Tensor: ...
@_overload
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> _Tensor: ...
@_overload
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> _Tensor: ...
@_overload
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> _Tensor: ...
@_overload
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: _int = ...) -> _Tensor: ...
@_overload
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: _int = ..., *, out: _Tensor) -> _Tensor: ...
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> _Tensor: ...
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> _Tensor: ...
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> _Tensor: ...
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: _int = ..., eps: _float = ...) -> _Tensor: ...
def elu_(input: _Tensor, alpha: _Number = ..., scale: _Number = ..., input_scale: _Number = ...) -> _Tensor: ...
@_overload
def gelu(input: _Tensor, *, approximate: str = ..., inplace: _bool = ...) -> _Tensor: ...
@_overload
def gelu(input: _Tensor, *, approximate: str = ..., out: _Tensor, inplace: _bool = ...) -> _Tensor: ...
def gelu_(input: _Tensor, *, approximate: str = ...) -> _Tensor: ...
@_overload
def glu(input: _Tensor, dim: _int = ...) -> _Tensor: ...
@_overload
def glu(input: _Tensor, dim: _int = ..., *, out: _Tensor) -> _Tensor: ...
@_overload
def hardshrink(input: _Tensor, lambd: _Number = ...) -> _Tensor: ...
@_overload
def hardshrink(input: _Tensor, lambd: _Number = ..., *, out: _Tensor) -> _Tensor: ...
def hardsigmoid_(input: _Tensor) -> _Tensor: ...
def hardswish_(input: _Tensor) -> _Tensor: ...
def hardtanh_(input: _Tensor, min_val: _Number = ..., max_val: _Number = ...) -> _Tensor: ...
def leaky_relu_(input: _Tensor, negative_slope: _Number = ...) -> _Tensor: ...
@_overload
def log_sigmoid(input: _Tensor) -> _Tensor: ...
@_overload
def log_sigmoid(input: _Tensor, *, out: _Tensor) -> _Tensor: ...
def mish_(input: _Tensor) -> _Tensor: ...
def native_channel_shuffle(input: _Tensor, groups: _int) -> _Tensor: ...
def one_hot(input: _Tensor, num_classes: _int = ...) -> _Tensor: ...
def pad(input: _Tensor, pad: _Sequence[_int] | _int, mode: str = ..., value: _float | None = ...) -> _Tensor: ...
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ...) -> _Tensor: ...
def pdist(input: _Tensor, p: _float = ...) -> _Tensor: ...
def pixel_shuffle(input: _Tensor, upscale_factor: _int) -> _Tensor: ...
def pixel_unshuffle(input: _Tensor, downscale_factor: _int) -> _Tensor: ...
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor: ...
def relu6_(input: _Tensor) -> _Tensor: ...
def relu_(input: _Tensor) -> _Tensor: ...
def rrelu_(input: _Tensor, lower: _Number = ..., upper: _Number = ..., training: _bool = ..., generator: _Generator | None = ...) -> _Tensor: ...
def scaled_dot_product_attention(query: _Tensor, key: _Tensor, value: _Tensor, attn_mask: _Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., *, scale: _float | None = ..., enable_gqa: _bool = ...) -> _Tensor: ...
def selu_(input: _Tensor) -> _Tensor: ...
def silu_(input: _Tensor) -> _Tensor: ...
@_overload
def softplus(input: _Tensor, beta: _Number = ..., threshold: _Number = ...) -> _Tensor: ...
@_overload
def softplus(input: _Tensor, beta: _Number = ..., threshold: _Number = ..., *, out: _Tensor) -> _Tensor: ...
@_overload
def softshrink(input: _Tensor, lambd: _Number = ...) -> _Tensor: ...
@_overload
def softshrink(input: _Tensor, lambd: _Number = ..., *, out: _Tensor) -> _Tensor: ...
def threshold_(input: _Tensor, threshold: _Number, value: _Number) -> _Tensor: ...
