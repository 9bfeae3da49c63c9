"""What nodes of the tape are called where PyTorch calls them otherwise than the operator's name says.

An operator with several formulas numbers them (`SumBackward0` of all elements, `SumBackward1` along axes), and one that
is another operator there has that one's name.

>>> import flambeau
>>> x = flambeau.ones(2, 3, requires_grad=True)
>>> x.sum(), x.sum(0).grad_fn.name(), x.double().grad_fn.name()
(tensor(6., grad_fn=<SumBackward0>), 'SumBackward1', 'ToCopyBackward0')
"""

from __future__ import annotations

from typing import Final

from flambeau.schema.opdef import OpDef

_NUMBERED: Final = {
    1: (
        "aten::as_strided_", "aten::bernoulli_.Tensor", "aten::celu_", "aten::clamp", "aten::clamp_",
        "aten::clamp_max.Tensor", "aten::clamp_max_.Tensor", "aten::clamp_min.Tensor", "aten::clamp_min_.Tensor",
        "aten::clip", "aten::clip_", "aten::conj_physical_", "aten::copysign.Scalar", "aten::copysign_.Scalar",
        "aten::elu_", "aten::fill.Tensor", "aten::fmod.Tensor", "aten::fmod_.Tensor", "aten::index_fill.int_Tensor",
        "aten::index_fill_.int_Tensor", "aten::leaky_relu_", "aten::lerp.Tensor", "aten::lerp_.Tensor",
        "aten::masked_fill.Tensor", "aten::masked_fill_.Tensor", "aten::max", "aten::mean.dim", "aten::median.dim",
        "aten::min", "aten::nanmedian.dim", "aten::pow.Tensor_Tensor", "aten::pow_.Tensor_Tensor", "aten::prod.dim_int",
        "aten::random_.to", "aten::remainder.Tensor", "aten::remainder_.Tensor", "aten::round.decimals",
        "aten::round_.decimals", "aten::rsub.Scalar", "aten::scatter.value", "aten::scatter_.value",
        "aten::sort.stable", "aten::special_xlog1py.self_scalar", "aten::special_zeta.self_scalar", "aten::squeeze.dim",
        "aten::sum.dim_IntList", "aten::t_", "aten::threshold_", "aten::transpose_", "aten::unsqueeze_",
        "aten::xlogy.Scalar_Self", "aten::special_xlogy.self_scalar",
    ),
    2: (
        "aten::bernoulli_.float", "aten::div.Tensor_mode", "aten::div.Scalar_mode", "aten::div_.Tensor_mode",
        "aten::div_.Scalar_mode", "aten::divide.Tensor_mode", "aten::divide.Scalar_mode", "aten::fill_.Scalar",
        "aten::pow.Scalar", "aten::special_xlog1py.other_scalar", "aten::special_zeta.other_scalar",
        "aten::squeeze.dims", "aten::xlogy.Scalar_Other", "aten::xlogy_.Scalar_Other",
        "aten::special_xlogy.other_scalar",
    ),
    3: ("aten::fill_.Tensor", "aten::squeeze_"),
    4: ("aten::squeeze_.dim",),
    5: ("aten::squeeze_.dims",),
}  # fmt: skip
_NUMBERS: Final = {name: number for number, names in _NUMBERED.items() for name in names}
_OTHERWISE: Final = {
    "abs": ("absolute",),
    "acos": ("arccos",),
    "acosh": ("arccosh",),
    "asin": ("arcsin",),
    "asinh": ("arcsinh",),
    "atan": ("arctan",),
    "atan2": ("arctan2",),
    "atanh": ("arctanh",),
    "cat": ("column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "vstack"),
    "clamp": ("clip",),
    "clone": ("contiguous",),
    "convolution": (
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "_convolution",
    ),
    "div": ("divide", "true_divide"),
    "elu": ("selu",),
    "expand": ("broadcast_to", "expand_as"),
    "flip": ("fliplr", "flipud"),
    "gt": ("greater",),
    "hardtanh": ("relu6",),
    "linalg_cholesky_ex": ("linalg_cholesky",),
    "linalg_det": ("det",),
    "linalg_inv_ex": ("inverse", "linalg_inv"),
    "linalg_matrix_exp": ("matrix_exp",),
    "linalg_slogdet": ("slogdet",),
    "linalg_solve_ex": ("linalg_solve",),
    "mul": ("multiply", "outer", "ger", "native_dropout"),
    "native_batch_norm": ("batch_norm",),
    "native_group_norm": ("group_norm",),
    "native_layer_norm": ("layer_norm",),
    "neg": ("negative",),
    "nll_loss": ("nll_loss_nd", "nll_loss_of_rows"),
    "permute": ("moveaxis", "movedim"),
    "rrelu_with_noise": ("rrelu",),
    "slice": ("narrow",),
    "split": ("chunk",),
    "sub": ("subtract",),
    "to_copy": ("to",),
    "transpose": ("adjoint", "mT", "mH", "swapaxes", "swapdims"),
    "trunc": ("fix",),
    "view": ("flatten", "ravel", "reshape", "reshape_as", "unflatten", "view_as"),
}  # fmt: skip
_NAMES: Final = {theirs: name for name, all_of_them in _OTHERWISE.items() for theirs in all_of_them}
_BY_OVERLOAD: Final = {"aten::split.sizes": "split_with_sizes"}


def node_name(definition: OpDef) -> str:
    """The name of the node that a call of an overload leaves on the tape.

    >>> from flambeau.schema import registry
    >>> node_name(registry.get("aten::max_pool2d_with_indices")), node_name(registry.get("aten::sum.dim_IntList"))
    ('MaxPool2DWithIndicesBackward0', 'SumBackward1')
    """
    whole = definition.schema.full_name
    short = definition.schema.name.partition("::")[2].strip("_")
    name = _BY_OVERLOAD.get(whole) or _NAMES.get(short, short)
    return f"{name.title().replace('_', '')}Backward{_NUMBERS.get(whole, 0)}"
