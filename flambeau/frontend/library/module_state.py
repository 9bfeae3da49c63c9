"""The tensors of a module by their names, out of what `functional_call` is given."""

from __future__ import annotations

from typing import Dict  # noqa: UP035

from flambeau.tensor.tensor import Tensor


def named_tensor(first: Dict[str, Tensor], second: Dict[str, Tensor], name: str, other: str) -> Tensor:  # noqa: UP006
    """The tensor that either dict has under a name, or under another that stands for the same parameter."""
    if name in first:
        return first[name]
    if name in second:
        return second[name]
    if other in first:
        return first[other]
    return second[other]
