"""What all transforms have in common, and those that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.distributions import constraints
from flambeau.distributions.constraints import Constraint
from flambeau.distributions.distribution import number_of, sum_rightmost
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor


class Transform:
    """A function of values that can be undone where it is a bijection, and whose log-determinant is known.

    One of your own has `domain`, `codomain`, `bijective`, `_call`, `_inverse` and `log_abs_det_jacobian`; where it is
    monotonic, `sign` too.

    Args:
        cache_size: 1 to keep the last value and its image, which inverses and densities then take; else 0.

    Raises ValueError for another size of the cache.

    >>> import flambeau
    >>> from flambeau.distributions.transforms import ExpTransform
    >>> t = ExpTransform()
    >>> t(flambeau.tensor(0.0)), t.inv(flambeau.tensor(1.0)), t.log_abs_det_jacobian(flambeau.tensor(2.0), None)
    (tensor(1.), tensor(0.), tensor(2.))
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: cache_size is 0 or 1, but got {cache_size}")
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """How many axes one value has, where it has as many before as after."""
        if self.domain.event_dim == self.codomain.event_dim:
            event_dim: int = self.domain.event_dim
            return event_dim
        raise ValueError(f"{self!r} changes the axes of a value: ask its domain and its codomain for `event_dim`")

    @property
    def sign(self) -> Any:
        """1 where it rises, -1 where it falls."""
        raise NotImplementedError(f"{type(self).__name__} does not say whether it rises or falls")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return InverseTransform(self)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        changed = type(self).__new__(type(self))
        changed.__dict__.update(self.__dict__)
        Transform.__init__(changed, cache_size)
        return changed

    def __call__(self, x: Tensor) -> Tensor:
        if not self._cache_size:
            return self._call(x)
        if x is self._cached[0]:
            kept: Tensor = self._cached[1]
            return kept
        y = self._call(x)
        self._cached = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if not self._cache_size:
            return self._inverse(y)
        if y is self._cached[1]:
            kept: Tensor = self._cached[0]
            return kept
        x = self._inverse(y)
        self._cached = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no `_call`")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the size of the Jacobian's determinant, by values and their images."""
        raise NotImplementedError(f"{type(self).__name__} is no bijection of volumes: it has no log_abs_det_jacobian")

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of images, by those of values."""
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of values, by those of images."""
        return Size(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class InverseTransform(Transform):
    """The inverse of a transform, which is its inverse again."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._base = transform

    @property
    def domain(self) -> Constraint:
        """Where images lie."""
        domain: Constraint = self._base.codomain
        return domain

    @property
    def codomain(self) -> Constraint:
        """Where values lie."""
        codomain: Constraint = self._base.domain
        return codomain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """As the transform."""
        return self._base.bijective

    @property
    def sign(self) -> Any:
        """As of the transform."""
        return self._base.sign

    @property
    def inv(self) -> Transform:
        """The transform itself."""
        return self._base

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of this size."""
        return self._base.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._base._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._base(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """That of the transform, subtracted."""
        return -self._base.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of values."""
        return self._base.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of images."""
        return self._base.forward_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InverseTransform) and self._base == other._base

    def __hash__(self) -> int:
        return hash((InverseTransform, self._base))

    def __repr__(self) -> str:
        return f"InverseTransform({self._base!r})"


class ComposeTransform(Transform):
    """Transforms one after another.

    >>> import flambeau
    >>> from flambeau.distributions.transforms import AffineTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform().inv])(flambeau.tensor(0.0))
    tensor(0.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    @property
    def domain(self) -> Constraint:
        """That of the first, for values of as many axes as the parts need together."""
        if not self.parts:
            return constraints.real
        axes = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            axes = max(axes + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _widened(self.parts[0].domain, axes)

    @property
    def codomain(self) -> Constraint:
        """That of the last, for values of as many axes as the parts need together."""
        if not self.parts:
            return constraints.real
        axes = self.parts[0].domain.event_dim
        for part in self.parts:
            axes = max(axes + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, axes)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        """The inverses, the last first."""
        return ComposeTransform([part.inv for part in reversed(self.parts)])

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the parts'."""
        if not self.parts:
            return x.new_zeros(x.shape)
        axes, total = self.domain.event_dim, None
        for part in self.parts:
            image = y if part is self.parts[-1] else part(x)
            term = sum_rightmost(part.log_abs_det_jacobian(x, image), axes - part.domain.event_dim)
            total = term if total is None else total + term
            axes += part.codomain.event_dim - part.domain.event_dim
            x = image
        assert total is not None
        return total

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of images, by those of values."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of values, by those of images."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"


class IndependentTransform(Transform):
    """A transform of each part of a value, whose log-determinants are added up.

    >>> import flambeau
    >>> from flambeau.distributions.transforms import ExpTransform
    >>> x = flambeau.ones(3)
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size) if cache_size else base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def domain(self) -> Constraint:
        """That of the transform, for each part."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:
        """That of the transform, for each part."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """As the transform."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """As of the transform."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform._inv_call(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the parts'."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of images, by those of values."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of values, by those of images."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Values of sizes `in_shape` as values of sizes `out_shape`.

    Raises ValueError for sizes of another number of elements.

    >>> import flambeau
    >>> ReshapeTransform((4,), (2, 2))(flambeau.zeros(3, 4)).shape
    flambeau.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if number_of(self.in_shape) != number_of(self.out_shape):
            raise ValueError(
                f"ReshapeTransform: values of sizes {tuple(in_shape)} and of {tuple(out_shape)} differ in their number "
                "of elements"
            )

    @property
    def domain(self) -> Constraint:
        """Numbers, of as many axes as `in_shape` has."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Constraint:
        """Numbers, of as many axes as `out_shape` has."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape([*self.forward_shape(x.shape)])

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape([*self.inverse_shape(y.shape)])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """0: no volume changes."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of images, by those of values."""
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The sizes of values, by those of images."""
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Sequence[int], old: Sequence[int], new: Sequence[int]) -> Size:
    """Sizes that end with others than they do."""
    cut = len(shape) - len(old)
    if cut < 0 or tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"ReshapeTransform: sizes that end with {tuple(old)}, but got {tuple(shape)}")
    return Size((*shape[:cut], *new))


def _widened(constraint: Constraint, axes: int) -> Constraint:
    """A constraint for values with more axes than its own."""
    more = axes - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint
