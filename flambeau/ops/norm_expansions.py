"""What plans have in the place of norms over batches that train: the norm without effects, then the running statistics.

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

from flambeau.ops.expansions import differentiated, expansions
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
