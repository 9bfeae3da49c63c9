"""Operators on floating point, and operands of operators, without a formula, each with its reason.

Operators whose results are integers or truth values need none, nor those that are declared as not differentiable.
"""

from __future__ import annotations

from flambeau.schema.gradient import not_differentiable

not_differentiable(
    "aten::_unique",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::unique_consecutive",
    "aten::unique_dim_consecutive",
    because="elements that are equal become one: where one of them moves, it becomes two",
)
not_differentiable(
    "aten::histogram", because="counts are the same nearly everywhere, and the edges of bins come out of a search"
)
not_differentiable(
    "aten::linalg_ldl_factor",
    "aten::linalg_ldl_factor_ex",
    "aten::linalg_ldl_solve",
    because="L, D and the pivots are packed as LAPACK does, by exchanges that it chooses: linalg.solve has a formula",
)
not_differentiable(
    "aten::geqrf", because="reflections as LAPACK packs them depend on signs that it chooses: linalg.qr has a formula"
)
not_differentiable(
    "aten::embedding_renorm_", because="it keeps a table in bounds between steps, and is no part of what is learned"
)
not_differentiable("aten::repeat_interleave.Tensor", because="it takes and gives integers")
not_differentiable("aten::set_", because="it changes which memory a tensor shows, not elements")
not_differentiable(
    "aten::igamma.self",
    "aten::igammac.self",
    "aten::special_gammainc.self",
    "aten::special_gammaincc.self",
    because="the derivative by the order of an incomplete gamma function is no function that there is an operator for",
)
not_differentiable(
    "aten::special_zeta.self", because="the derivative by the exponent is no function that there is an operator for"
)
not_differentiable(
    "aten::batch_norm.running_mean",
    "aten::batch_norm.running_var",
    "aten::native_batch_norm.running_mean",
    "aten::native_batch_norm.running_var",
    "aten::_native_batch_norm_legit.running_mean",
    "aten::_native_batch_norm_legit.running_var",
    because="running statistics are state, which training moves and does not learn",
)
not_differentiable(
    "aten::nll_loss.weight",
    "aten::nll_loss2d.weight",
    "aten::nll_loss_nd.weight",
    because="weights of classes say what is wanted, and are not learned",
)
not_differentiable(
    "aten::linalg_pinv.rcond",
    "aten::linalg_pinv.atol",
    "aten::linalg_pinv.rtol",
    because="tolerances decide which singular values count, so that the result is the same nearly everywhere",
)
not_differentiable(
    "aten::fractional_max_pool2d.random_samples",
    "aten::fractional_max_pool3d.random_samples",
    because="they place windows: the result is the same nearly everywhere",
)
not_differentiable(
    "aten::to.other",
    "aten::type_as.other",
    "aten::view_as.other",
    "aten::reshape_as.other",
    "aten::expand_as.other",
    because="only its sizes or its dtype are looked at",
)
