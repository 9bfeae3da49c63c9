"""`weight_norm` and `spectral_norm` in their older form: the parts are parameters of the layer itself.

New code takes those of `nn.utils.parametrizations`; these are for models stored with `weight_g` and `weight_v`.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.utils.computed import compute, computed_as, drop, refuse_flat
from flambeau.nn.utils.orthogonal import check_tensor
from flambeau.nn.utils.parametrizations import (
    NOT_POSITIVE,
    any_dim,
    as_matrix,
    iterate,
    lengths,
    random_directions,
    spectral_dim,
    with_lengths,
)
from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor
from flambeau.util.user_code import warn_user

M = TypeVar("M", bound=Module)
OLDER_WEIGHT_NORM: Final = (
    "nn.utils.weight_norm is deprecated: write nn.utils.parametrizations.weight_norm, which loads states of this too"
)


def _check(module: Module, name: str, kind: str) -> Tensor:
    if computed_as(module, name) == kind:
        raise RuntimeError(f"Cannot register two {kind} hooks on the same parameter {name}")
    refuse_flat(module, name)
    return check_tensor(module, name)


def _remove(module: Module, name: str, kind: str) -> Tensor:
    """Take the computed attribute away; what it was last."""
    if computed_as(module, name) != kind:
        raise ValueError(f"{kind} of '{name}' not found in {module}")
    value: Tensor = getattr(module, name).detach()
    drop(module, name)
    return value


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Write a weight as the lengths `weight_g` times the directions `weight_v`, slice by slice of `dim`.

    Raises ValueError for a name without a tensor, RuntimeError if it is such already.

    >>> from flambeau import nn
    >>> list(weight_norm(nn.Linear(3, 2)).state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    warn_user(OLDER_WEIGHT_NORM, FutureWarning)
    weight = _check(module, name, "weight_norm")
    axis = any_dim(module, name, dim)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(lengths(weight.detach(), axis)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))

    def value(self: Any) -> Tensor:
        return with_lengths(getattr(self, f"{name}_v"), getattr(self, f"{name}_g"), axis)

    compute(module, name, "weight_norm", value, f"with_lengths(self.{name}_v, self.{name}_g, {axis})")
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the weight a plain parameter again. Raises ValueError if it is none that `weight_norm` made.

    >>> from flambeau import nn
    >>> layer = weight_norm(nn.Linear(3, 2))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight_g', 'weight_v']
    >>> sorted(name for name, _ in remove_weight_norm(layer).named_parameters())
    ['bias', 'weight']
    """
    value = _remove(module, name, "weight_norm")
    delattr(module, f"{name}_g")
    delattr(module, f"{name}_v")
    module.register_parameter(name, Parameter(value))
    return module


def divided(weight: Tensor, u: Tensor, v: Tensor, training: bool, dim: int, count: int, eps: float) -> Tensor:
    """A weight divided by its largest singular value, which is estimated better while training."""
    matrix = as_matrix(weight, dim)
    if training:  # the other vector first: what is iterated is the transposed matrix
        iterate(F.t(F.detach(matrix)), v, u, count, eps)
    return F.div(weight, F.dot(F.clone(u), F.mv(matrix, F.clone(v))))


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide `weight_orig` by its largest singular value, which `weight_u` and `weight_v` estimate.

    Raises ValueError for a name without a tensor, or no iterations, RuntimeError if it is such already.

    >>> from flambeau import nn
    >>> list(spectral_norm(nn.Linear(3, 2)).state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    weight = _check(module, name, "spectral_norm")
    if n_power_iterations <= 0:
        raise ValueError(NOT_POSITIVE.format(given=n_power_iterations))
    axis = spectral_dim(module, dim)
    any_dim(module, name, axis)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", Parameter(weight.detach(), weight.requires_grad))
    u, v = random_directions(as_matrix(weight.detach(), axis), eps)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    settings = f"{axis}, {n_power_iterations}, {eps!r}"

    def value(self: Any) -> Tensor:
        parts = [getattr(self, f"{name}_{part}") for part in ("orig", "u", "v")]
        return divided(parts[0], parts[1], parts[2], self.training, axis, n_power_iterations, eps)

    text = f"divided(self.{name}_orig, self.{name}_u, self.{name}_v, self.training, {settings})"
    compute(module, name, "spectral_norm", value, text)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the weight a plain parameter again. Raises ValueError if it is none that `spectral_norm` made.

    >>> from flambeau import nn
    >>> layer = spectral_norm(nn.Linear(3, 2))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight_orig']
    >>> sorted(name for name, _ in remove_spectral_norm(layer).named_parameters())
    ['bias', 'weight']
    """
    was_training, module.training = module.training, False
    try:
        value = _remove(module, name, "spectral_norm")
    finally:
        module.training = was_training
    for part in ("orig", "u", "v"):
        delattr(module, f"{name}_{part}")
    module.register_parameter(name, Parameter(value))
    return module
