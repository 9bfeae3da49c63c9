"""What plans have in the place of norms over batches that train: the norm without effects, then the running statistics;
and of a layer's norm with its statistics.

```
%y = aten::batch_norm(%x, %w, %b, %mean, %var, %true, %m, ...)
→
%y, %now, %spread = flambeau::batch_norm_training(%x, %w, %b, %mean, %var, ...)
aten::copy_(%mean, %mean * (1 - %m) + %now * %m);  aten::copy_(%var, %var * (1 - %m) + %spread * %m)
```

Gradients go through the same. Of matrices, whose channels lie side by side, norm and gradients are loops over columns.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from typing import Any

from flambeau.ops.families.expansion_tables import differentiated, expansions
from flambeau.schema.dtype import float32, float64


@expansions("aten::batch_norm")
def _batch_norm(
    F: Any, x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: Any, momentum: Any,
    eps: Any, cudnn_enabled: Any = None,
) -> Any:  # fmt: skip
    """One that is known to train, and to move both statistics."""
    if training is not True or running_mean is None or running_var is None or x.ndim < 2 or type(eps) is not float:
        return None
    if x.dtype not in (float32, float64):
        return None
    if not all(v.ndim == 1 and v.dtype is x.dtype for v in (weight, bias, running_mean, running_var) if v is not None):
        return None
    result, mean, variance = F.own("batch_norm_training", x, weight, bias, running_mean, running_var, eps)
    for running, now in ((running_mean, mean), (running_var, variance)):
        F.copy_(running, F.add(F.mul(running, 1 - momentum), F.mul(now, momentum)))
    return result


differentiated("aten::batch_norm")(_batch_norm)


@expansions("aten::native_layer_norm")
def _native_layer_norm(F: Any, x: Any, sizes: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """The norm, and the means and reciprocal deviations that it is made with."""
    is_plain = x.dtype in (float32, float64) and isinstance(sizes, list | tuple) and type(eps) is float
    if not is_plain or not 0 < len(sizes) <= x.ndim:
        return None
    parameters = [v for v in (weight, bias) if v is not None]
    if any(v.dtype is not x.dtype or v.ndim != len(sizes) for v in parameters):
        return None
    for shape in (x.shape[x.ndim - len(sizes) :], *(v.shape for v in parameters)):
        F.require(*(own == size for own, size in zip(shape, sizes, strict=True)))
    result, axes = F.layer_norm(x, sizes, weight, bias, eps), list(range(x.ndim - len(sizes), x.ndim))
    mean = F.mean(x, axes, True)
    off = F.sub(x, mean)
    return result, mean, F.rsqrt(F.add(F.mean(F.mul(off, off), axes, True), eps))


def _is_matrix(x: Any, *vectors: Any) -> bool:
    """Whether there are loops over columns for a tensor of two axes and vectors of its dtype."""
    is_alike = all(v is None or (v.ndim == 1 and v.dtype is x.dtype) for v in vectors)
    return x.ndim == 2 and x.dtype in (float32, float64) and is_alike


@expansions("flambeau::batch_norm_training")
def _matrix_norm(
    F: Any, x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, eps: Any
) -> Any:
    """The norm of a matrix over its rows."""
    vectors = [v for v in (weight, bias, running_mean, running_var) if v is not None]
    if not _is_matrix(x, *vectors):
        return None
    F.require(*[v.shape[0] == x.shape[1] for v in vectors])
    count = x.shape[0]
    mean = F.mean(x, [0])
    off = F.sub(x, mean)
    squares = F.sum(F.mul(off, off), [0])
    result = F.mul(off, F.rsqrt(F.add(F.div(squares, count), eps)))
    result = result if weight is None else F.mul(result, weight)
    return result if bias is None else F.add(result, bias), mean, F.div(squares, count - 1)


@expansions("flambeau::batch_norm_gradients")
def _matrix_gradients(F: Any, grad: Any, x: Any, weight: Any, eps: Any) -> Any:
    """Those of the input, the weight and the bias; sizes fit, or the norm itself would have refused them."""
    if not _is_matrix(x, weight) or grad.ndim != 2 or grad.dtype is not x.dtype:
        return None
    count = x.shape[0]
    off = F.sub(x, F.mean(x, [0]))
    scale = F.rsqrt(F.add(F.div(F.sum(F.mul(off, off), [0]), count), eps))
    total, along = F.sum(grad, [0]), F.sum(F.mul(grad, off), [0])
    slope = F.sub(F.sub(grad, F.div(total, count)), F.mul(off, F.div(F.mul(along, F.mul(scale, scale)), count)))
    return F.mul(slope, scale if weight is None else F.mul(scale, weight)), F.mul(along, scale), total
