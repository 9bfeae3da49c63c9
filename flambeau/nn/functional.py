"""Functions of neural networks: every operator declared for this module, and the spellings that differ from an
operator's. All of them can be called from programs: they are written in the scripted language.

>>> import flambeau
>>> flambeau.nn.functional.relu(flambeau.tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.nn.functions.activation import (  # noqa: F401
    celu,
    elu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from flambeau.nn.functions.adaptive import (  # noqa: F401
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
)
from flambeau.nn.functions.attention import multi_head_attention_forward  # noqa: F401
from flambeau.nn.functions.bags import embedding_bag  # noqa: F401
from flambeau.nn.functions.dropout import (  # noqa: F401
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from flambeau.nn.functions.layers import (  # noqa: F401
    batch_norm,
    bilinear,
    embedding,
    fold,
    group_norm,
    instance_norm,
    layer_norm,
    linear,
    local_response_norm,
    normalize,
    rms_norm,
    unfold,
)
from flambeau.nn.functions.linear_cross_entropy import linear_cross_entropy  # noqa: F401
from flambeau.nn.functions.loss import (  # noqa: F401
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from flambeau.nn.functions.loss_margin import (  # noqa: F401
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from flambeau.nn.functions.pooling import (  # noqa: F401
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from flambeau.nn.functions.pooling_fractional import (  # noqa: F401
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from flambeau.nn.functions.resize import (  # noqa: F401
    affine_grid,
    grid_sample,
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from flambeau.nn.functions.unpooling import max_unpool1d, max_unpool2d, max_unpool3d  # noqa: F401
from flambeau.ops import surface as _surface
from flambeau.tensor.overridden_functions import overridable as _overridable
from flambeau.tensor.tensor import Tensor

_SPELLINGS = (sigmoid, tanh, upsample, upsample_bilinear, upsample_nearest)
"""Functions that call another, about which modes and classes of arguments are asked."""
for _one in list(globals().values()):
    if getattr(_one, "__module__", "").startswith("flambeau.nn.functions") and _one not in _SPELLINGS:
        _overridable(_one)


def __getattr__(name: str) -> Callable[..., Tensor]:
    """A function derived from an operator, made when it is first asked for."""
    function: Callable[..., Tensor] = _surface.member("nn.functional", name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *_surface.members("nn.functional")})
