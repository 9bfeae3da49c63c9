"""Several transforms, each of its part of a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import sum_rightmost
from flambeau.distributions.operators import F
from flambeau.distributions.transforms.transform import Transform
from flambeau.tensor.tensor import Tensor


class CatTransform(Transform):
    """Transforms of parts along an axis, `lengths` of it at a time.

    Raises ValueError for as many lengths as there are no transforms.

    >>> import flambeau
    >>> from flambeau.distributions.transforms import ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(flambeau.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.lengths, self.dim = [1] * len(self.transforms) if lengths is None else list(lengths), dim
        if len(self.lengths) != len(self.transforms):
            raise ValueError(
                f"CatTransform: {len(self.transforms)} transforms have as many lengths, but got {len(self.lengths)}"
            )

    @property
    def event_dim(self) -> int:
        """The most axes that a part's value has."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """How long the axis is."""
        return sum(self.lengths)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Constraint:
        """Those of the parts."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Constraint:
        """Those of the parts."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _split(self, value: Tensor) -> Any:
        return value.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return F.cat([t(part) for t, part in zip(self.transforms, self._split(x), strict=True)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.cat([t.inv(part) for t, part in zip(self.transforms, self._split(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Those of the parts, side by side; added up where the axis is one of a value."""
        parts = []
        for t, a, b in zip(self.transforms, self._split(x), self._split(y), strict=True):
            part = t.log_abs_det_jacobian(a, b)
            parts.append(sum_rightmost(part, self.event_dim - t.event_dim))
        axis = self.dim if self.dim < 0 else self.dim - x.dim()
        axis += self.event_dim
        if axis < 0:
            return F.cat(parts, axis)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


class StackTransform(Transform):
    """Transforms of slices along an axis.

    >>> import flambeau
    >>> from flambeau.distributions.transforms import ExpTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform])(flambeau.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq), dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Constraint:
        """Those of the slices."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Constraint:
        """Those of the slices."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _slices(self, value: Tensor) -> list[Tensor]:
        if value.shape[self.dim] != len(self.transforms):
            raise ValueError(
                f"StackTransform: axis {self.dim} of a value is as long as there are transforms, "
                f"{len(self.transforms)}, but got sizes {tuple(value.shape)}"
            )
        return [value.select(self.dim, i) for i in range(len(self.transforms))]

    def _call(self, x: Tensor) -> Tensor:
        return F.stack([t(part) for t, part in zip(self.transforms, self._slices(x), strict=True)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.stack([t.inv(part) for t, part in zip(self.transforms, self._slices(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Those of the slices, side by side."""
        triples = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return F.stack([t.log_abs_det_jacobian(a, b) for t, a, b in triples], self.dim)
