"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from flambeau.nn.parameter import Parameter
from flambeau.ops.families.composite import F
from flambeau.tensor.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other.

    >>> from flambeau import nn
    >>> parameters_to_vector(nn.Linear(3, 2).parameters()).shape
    flambeau.Size([8])
    """
    return F.cat([F.reshape(parameter, [-1]) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Parameter]) -> None:
    """Make parameters share the memory of consecutive parts of a vector.

    Raises TypeError for what is no tensor, RuntimeError if the vector is too short.

    >>> import flambeau
    >>> layer = flambeau.nn.Linear(2, 1)
    >>> vector_to_parameters(flambeau.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.weight.tolist(), layer.bias.tolist()
    ([[1.0, 2.0]], [3.0])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        part = F.narrow(vec.detach(), 0, start, count)
        parameter.data = F.view(part, list(parameter.shape))
        start += count
