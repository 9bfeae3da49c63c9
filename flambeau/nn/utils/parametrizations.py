"""Parametrizations for training that goes better: a weight as length and direction, a weight of norm one.

Salimans and Kingma (2016), Miyato et al. (2018). Their layers run in programs.
"""

from __future__ import annotations

from typing import Any

from flambeau.nn import functional, init
from flambeau.nn.layers.convolution import Convolution
from flambeau.nn.module import Module
from flambeau.nn.utils.orthogonal import check_tensor
from flambeau.nn.utils.orthogonal import orthogonal as orthogonal
from flambeau.nn.utils.parametrize import register_parametrization
from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor

NOT_POSITIVE = "Expected n_power_iterations to be positive, but got n_power_iterations={given}"


def lengths(weight: Tensor, dim: int) -> Tensor:
    """The lengths of the slices of `dim`, with all dimensions kept; of the whole tensor, without any, for -1."""
    if dim == -1:
        return F.norm(weight)
    others = [i for i in range(weight.dim()) if i != dim]
    return F.linalg_vector_norm(weight, 2.0, others, True)


def with_lengths(direction: Tensor, length: Tensor, dim: int) -> Tensor:
    """Slices of `dim` in these directions, of these lengths."""
    return F.mul(direction, F.div(length, lengths(direction, dim)))


def any_dim(module: Module, name: str, dim: int | None) -> int:
    """-1 for None. Raises IndexError for a dimension that the tensor does not have."""
    rank = getattr(module, name).dim()
    if dim is None or dim == -1:
        return -1
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank


class _WeightNorm(Module):
    __constants__ = ["dim"]

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return with_lengths(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return lengths(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Write a weight as lengths times directions, slice by slice of `dim`, or as a whole for None.

    `parametrizations.weight.original0` holds the lengths, `original1` the directions. States with `weight_g` and
    `weight_v` instead are loaded too. Raises ValueError for a name without a tensor.

    >>> from flambeau import nn
    >>> layer = weight_norm(nn.Linear(3, 2, bias=False))
    >>> [(name, tuple(held.shape)) for name, held in layer.named_parameters()]
    [('parametrizations.weight.original0', (2, 1)), ('parametrizations.weight.original1', (2, 3))]
    """
    check_tensor(module, name)
    register_parametrization(module, name, _WeightNorm(any_dim(module, name, dim)), unsafe=True)

    def rename(state: dict[str, Any], prefix: str, *rest: Any) -> None:
        older = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state for key in older):
            for i, key in enumerate(older):
                state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """`dim` as rows, all other dimensions as columns."""
    first = weight if dim == 0 else F.movedim(weight, dim, 0)
    return F.reshape(first, [first.size(0), -1])


def iterate(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> None:
    """Bring two vectors closer to the first singular ones, in place."""
    for _ in range(count):
        u.copy_(functional.normalize(F.mv(matrix, v), 2.0, 0, eps))
        v.copy_(functional.normalize(F.mv(F.t(matrix), u), 2.0, 0, eps))


def random_directions(matrix: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Random vectors of length 1, to begin with."""
    vectors = [init.normal_(F.empty([n], dtype=matrix.dtype, device=matrix.device)) for n in matrix.shape]
    u, v = (functional.normalize(one, 2.0, 0, eps) for one in vectors)
    return u, v


def start_vectors(matrix: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Random vectors, brought closer to the first singular ones."""
    u, v = random_directions(matrix, eps)
    iterate(matrix, u, v, 15, eps)
    return u, v


def spectral_dim(module: Module, dim: int | None) -> int:
    """The dimension of a weight that counts results, unless one is given."""
    if dim is not None:
        return dim
    return 1 if isinstance(module, Convolution) and module.transposed else 0


class _SpectralNorm(Module):
    __constants__ = ["dim", "eps", "n_power_iterations"]

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        self.dim = dim % weight.dim()
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        self._u: Tensor | None
        self._v: Tensor | None
        u, v = start_vectors(as_matrix(weight, self.dim), eps) if weight.dim() > 1 else (None, None)
        if u is not None and v is not None:
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
        else:
            self._u = self._v = None

    def forward(self, weight: Tensor) -> Tensor:
        u, v = self._u, self._v
        if u is None or v is None:
            return functional.normalize(weight, 2.0, 0, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            iterate(F.detach(matrix), u, v, self.n_power_iterations, self.eps)
        return F.div(weight, F.dot(F.clone(u), F.mv(matrix, F.clone(v))))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, which each use while training estimates better.

    The rows of the matrix are dimension `dim`: the one of results, unless given. Raises ValueError for a name without
    a tensor, or no iterations.
    """
    weight = check_tensor(module, name)
    if n_power_iterations <= 0:
        raise ValueError(NOT_POSITIVE.format(given=n_power_iterations))
    axis = spectral_dim(module, dim)
    any_dim(module, name, axis)
    return register_parametrization(module, name, _SpectralNorm(weight.detach(), n_power_iterations, axis, eps))
