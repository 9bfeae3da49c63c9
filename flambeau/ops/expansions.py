"""What plans have in the place of some operators where no gradients are asked for: others, which have native forms.

Bodies get the operators and the arguments in the order of the schema; what stands for a tensor knows its dtype and
rank. A body that asks for more than is known leaves the operator as it is. `F.require` has the operator itself say what
is wrong where a condition does not hold that only the run knows.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

import math
from functools import partial
from typing import Any

from flambeau.ops.attention_layers import allowed
from flambeau.ops.derivatives.view_formulas import meshgrid
from flambeau.ops.families.expansion_tables import differentiated, expansions
from flambeau.schema.dtype import bool_, by_code, float32, float64, int64
from flambeau.tensor.defaults import float_dtype


def _triangle(is_upper: bool, F: Any, x: Any, diagonal: Any = 0) -> Any:
    """Zeros where the distance to the diagonal says so."""
    if x.ndim < 2:
        return None
    rows, columns = (F.arange(size, dtype=int64) for size in x.shape[-2:])
    distance = F.sub(columns, F.unsqueeze(rows, 1))
    kept = F.ge(distance, diagonal) if is_upper else F.le(distance, diagonal)
    return F.where(kept, x, False if x.dtype is bool_ else 0)


expansions("aten::triu")(partial(_triangle, True))
expansions("aten::tril")(partial(_triangle, False))


def _self_attention(
    F: Any, x: Any, size: Any, heads: Any, qkv_weight: Any, qkv_bias: Any, weight: Any, bias: Any, mask: Any, kind: Any
) -> Any:  # fmt: skip
    """(batch, length, features); queries, keys and values by one product."""
    joined = F.linear(x, qkv_weight, qkv_bias)
    parts = [F.slice(joined, 2, size * k, size * (k + 1), 1) for k in range(3)]
    q, k, v = [F.transpose(F.unflatten(part, 2, [heads, -1]), 1, 2) for part in parts]
    shown = None if mask is None else allowed(F, mask, kind)
    attended = F.scaled_dot_product_attention(q, k, v, shown, 0.0, False)
    return F.linear(F.flatten(F.transpose(attended, 1, 2), 2), weight, bias)


@expansions("aten::_transformer_encoder_layer_fwd")
def _encoder_layer(
    F: Any, src: Any, size: Any, heads: Any, qkv_weight: Any, qkv_bias: Any, weight: Any, bias: Any, use_gelu: Any,
    norm_first: Any, eps: Any, norm_weight_1: Any, norm_bias_1: Any, norm_weight_2: Any, norm_bias_2: Any, inner: Any,
    inner_bias: Any, outer: Any, outer_bias: Any, mask: Any, kind: Any,
) -> Any:  # fmt: skip
    """Attention and two linears, each added to what it is of, and layer norms before or behind."""
    if src.ndim != 3:
        return None

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        return F.layer_norm(x, [size], weight, bias, eps)

    def attention(x: Any) -> Any:
        return _self_attention(F, x, size, heads, qkv_weight, qkv_bias, weight, bias, mask, kind)

    def forward(x: Any) -> Any:
        hidden = F.linear(x, inner, inner_bias)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), outer, outer_bias)

    if norm_first:
        x = F.add(src, attention(norm(src, norm_weight_1, norm_bias_1)))
        return F.add(x, forward(norm(x, norm_weight_2, norm_bias_2)))
    x = norm(F.add(src, attention(src)), norm_weight_1, norm_bias_1)
    return norm(F.add(x, forward(x)), norm_weight_2, norm_bias_2)


def _scale(F: Any, size: Any) -> Any:
    """What scores are multiplied with that are sums over so many numbers."""
    return 1 / (math.sqrt(size) if type(size) is int else F.sqrt(size))


@expansions("aten::_native_multi_head_attention")
def _attention_layer(
    F: Any, query: Any, key: Any, value: Any, size: Any, heads: Any, qkv_weight: Any, qkv_bias: Any, weight: Any,
    bias: Any, mask: Any = None, need_weights: Any = True, is_average: Any = True, kind: Any = None,
) -> Any:  # fmt: skip
    """The result and, where they are wanted, the weights of all heads, or those of the mean head."""
    if mask is not None or not query.ndim == key.ndim == value.ndim == 3:
        return None
    thirds = [(t.shape[0] + 2) // 3 for t in (qkv_weight, qkv_bias)]
    has_thirds = [t.shape[0] > 2 * third for t, third in zip((qkv_weight, qkv_bias), thirds, strict=True)]
    F.require(query.shape[2] == size, size % heads == 0, *has_thirds)

    def part(x: Any, index: int) -> Any:
        own = [
            F.slice(t, 0, third * index, third * (index + 1), 1)
            for t, third in zip((qkv_weight, qkv_bias), thirds, strict=True)
        ]
        return F.transpose(F.unflatten(F.linear(x, *own), 2, [heads, -1]), 1, 2)

    q, k, v = part(query, 0), part(key, 1), part(value, 2)
    if need_weights is False:
        joined = F.scaled_dot_product_attention(q, k, v, None, 0.0, False)
        return F.linear(F.flatten(F.transpose(joined, 1, 2), 2), weight, bias), F.new_empty(query, [0])
    shares = F.softmax(F.matmul(F.mul(q, _scale(F, size // heads)), F.transpose(k, -2, -1)), -1)
    result = F.linear(F.flatten(F.transpose(F.matmul(shares, v), 1, 2), 2), weight, bias)
    wanted = F.either(
        need_weights,
        lambda: F.either(is_average, lambda: F.mean(shares, [1]), lambda: shares),
        lambda: F.new_empty(query, [0]),
    )
    return result, wanted


@differentiated("aten::prelu")
@expansions("aten::prelu")
def _prelu(F: Any, x: Any, weight: Any) -> Any:
    """One weight, or one for each channel."""
    if weight.ndim > 1 or x.dtype is not weight.dtype:
        return None
    is_one = weight.ndim == 0 or weight.shape[0] == 1
    if is_one is False:
        F.require(x.ndim > 0 and weight.shape[0] == (x.shape[1] if x.ndim > 1 else 1))
    elif is_one is not True:
        return None
    channels = [1 if is_one or axis != min(x.ndim - 1, 1) else -1 for axis in range(x.ndim)]
    return F._prelu_kernel(x, F.reshape(weight, channels))


@expansions("aten::glu")
def _glu(F: Any, x: Any, dim: Any = -1) -> Any:
    """The first half times the sigmoid of the second."""
    if not x.dtype.is_floating_point or not -x.ndim <= dim < x.ndim:
        return None
    size = x.shape[dim]
    F.require(size % 2 == 0)
    half = size // 2
    return F.mul(F.narrow(x, dim, 0, half), F.sigmoid(F.narrow(x, dim, half, half)))


@expansions("aten::meshgrid")
def _meshgrid(F: Any, tensors: Any, indexing: Any = "ij") -> Any:
    """Views of each tensor along an axis of its own."""
    is_alike = len({(t.dtype, t.ndim > 1) for t in tensors}) == 1
    if not is_alike or tensors[0].ndim > 1 or indexing not in ("ij", "xy"):
        return None
    return meshgrid(F, tensors, indexing)


@expansions("aten::outer", "aten::ger")
def _outer(F: Any, x: Any, y: Any) -> Any:
    """Each element of one times each of the other."""
    return F.mul(F.unsqueeze(x, 1), y) if x.ndim == 1 and y.ndim == 1 else None


@expansions("aten::narrow")
def _narrow(F: Any, x: Any, dim: Any, start: Any, length: Any) -> Any:
    """A part that lies within the axis."""
    if not x.ndim or type(start) is not int or start < 0 or not -x.ndim <= dim < x.ndim:
        return None
    if type(length) is int and length < 0:
        return None
    end = start + length
    F.require(end <= x.shape[dim], True if type(length) is int else length >= 0)
    return F.slice(x, dim, start, end, 1)


@expansions("aten::ravel")
def _ravel(F: Any, x: Any) -> Any:
    """One axis over memory without gaps."""
    return F.reshape(F.contiguous(x), [-1])


def _in_sizes_of(name: str, F: Any, x: Any, other: Any) -> Any:
    """A view whose sizes are those of another tensor."""
    return getattr(F, name)(x, list(other.shape))


for _name in ("expand", "view", "reshape"):
    _body = partial(_in_sizes_of, _name)
    expansions(f"aten::{_name}_as")(_body)
    differentiated(f"aten::{_name}_as")(_body)


@expansions("aten::movedim", "aten::moveaxis")
def _movedim(F: Any, x: Any, source: Any, destination: Any) -> Any:
    """Axes in another order, which is known."""
    pairs = [axis if isinstance(axis, list | tuple) else [axis] for axis in (source, destination)]
    if not all(type(axis) is int and -x.ndim <= axis < x.ndim for axis in (*pairs[0], *pairs[1])):
        return None
    sources = dict(zip([d % x.ndim for d in pairs[1]], [s % x.ndim for s in pairs[0]], strict=False))
    if not len(sources) == len(set(sources.values())) == len(pairs[0]) == len(pairs[1]):
        return None
    others = iter([axis for axis in range(x.ndim) if axis not in sources.values()])
    return F.permute(x, [sources[d] if d in sources else next(others) for d in range(x.ndim)])


@expansions("aten::count_nonzero")
def _count_nonzero(F: Any, x: Any, dim: Any = None) -> Any:
    """The sum of what is not zero, as bools."""
    if x.dtype.is_complex:
        return None
    some = F.ne(x, 0)
    return F.sum(some) if dim is None else F.sum(some, dim if isinstance(dim, list | tuple) else [dim])


@expansions("aten::quantile")
def _quantile(F: Any, x: Any, q: Any, dim: Any = None, keepdim: Any = False, interpolation: Any = "linear") -> Any:
    """Between the two neighbours in order of where a known fraction of the way is; nan where there is one."""
    is_plain = x.dtype in (float32, float64) and x.ndim > 0 and interpolation == "linear"
    if not is_plain or type(q) is not float or not 0.0 <= q <= 1.0 or not isinstance(keepdim, bool):
        return None
    if (dim is None and keepdim) or not -x.ndim <= (dim or 0) < x.ndim:
        return None
    line, axis = (F.reshape(x, [-1]), 0) if dim is None else (x, dim % x.ndim)
    F.require(*[size > 0 for size in x.shape])
    count = line.shape[axis]
    ordered, _ = F.sort(line, axis)
    rank = F.mul(F.scalar_tensor(count - 1, dtype=x.dtype), q)
    below, above = F.floor(rank), F.ceil(rank)
    low, high = (F.index(ordered, [*[None] * axis, F.to(at, int64)]) for at in (below, above))
    weight = F.to(F.sub(rank, below), float64)
    wide = F.to(F.sub(high, low), float64)
    nearer_low = F.add(F.to(low, float64), F.mul(wide, weight))
    nearer_high = F.sub(F.to(high, float64), F.mul(wide, F.rsub(weight, 1.0)))
    between = F.to(F.where(F.lt(weight, 0.5), nearer_low, nearer_high), x.dtype)
    quantile = F.where(F.eq(below, above), low, between)
    last = F.select(ordered, axis, count - 1)
    quantile = F.where(F.isnan(last), math.nan, quantile)
    return F.unsqueeze(quantile, axis) if keepdim else quantile


@expansions("aten::logspace")
def _logspace(
    F: Any, start: Any, end: Any, steps: Any, base: Any = 10.0, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: Any = None,
) -> Any:  # fmt: skip
    """Powers, computed in double precision, of evenly spaced numbers."""
    target = float_dtype() if dtype is None else by_code(dtype)
    is_plain = target in (float32, float64) and layout is None and not pin_memory and str(device) in ("None", "cpu")
    if not is_plain or not all(isinstance(n, int | float) for n in (start, end, base)):
        return None
    return F.to(F.pow(base, F.linspace(start, end, steps, dtype=float64)), target)


@expansions("aten::cholesky_solve")
def _cholesky_solve(F: Any, right: Any, factor: Any, is_upper: Any = False) -> Any:
    """By a triangle, then by the other one."""
    if not (factor.ndim == right.ndim >= 2 and right.dtype is factor.dtype and right.dtype in (float32, float64)):
        return None
    if not isinstance(is_upper, bool):
        return None
    sizes = [*factor.shape[:-2], factor.shape[-1]]
    F.require(factor.shape[-2] == factor.shape[-1])
    F.require(*(one == other for one, other in zip(sizes, right.shape[:-1], strict=True)))
    turned = F.transpose(factor, -2, -1)
    lower, upper = (turned, factor) if is_upper else (factor, turned)
    half = F.linalg_solve_triangular(lower, right, upper=False)
    return F.linalg_solve_triangular(upper, half, upper=True)
