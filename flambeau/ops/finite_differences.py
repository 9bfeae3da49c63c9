"""`gradient`: the slope of samples on a grid, from second-order differences inside and one-sided ones at the ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.families.composite import composite
from flambeau.ops.families.promotion import common_dtype
from flambeau.ops.families.rules import to_float
from flambeau.schema.dtype import DType, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

ULP: Final = {float32: 16.0, float64: 16.0}
ORDERS: Final = "torch.gradient only supports edge_order=1 and edge_order=2."
TOO_SHORT: Final = "torch.gradient expected each dimension size to be at least edge_order+1"
TWICE: Final = "dim {dim} appears multiple times in the list of dims"
SPACINGS: Final = (
    "torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'self.dim() = {dims}', "
    "but got a list of length {count}"
)
PLACES: Final = (
    "torch.gradient expected each tensor to have the same length as the dimension that it is of, got {size} "
    "for {wanted}"
)
OUTSIDE: Final = "Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"


def _uniform(F: Any, x: Any, spacing: Any, dim: int, edge_order: int) -> Any:  # noqa: N803
    """The slopes along a dimension whose samples are `spacing` apart."""
    n = x.size(dim)

    def at(start: int, length: int = 1) -> Any:
        return F.narrow(x, dim, start, length)

    inside = F.div(F.sub(at(2, n - 2), at(0, n - 2)), 2 * spacing)
    if edge_order == 1:
        first, last = F.sub(at(1), at(0)), F.sub(at(n - 1), at(n - 2))
    else:
        first = F.sub(F.sub(F.mul(at(1), 2.0), F.mul(at(0), 1.5)), F.mul(at(2), 0.5))
        last = F.add(F.sub(F.mul(at(n - 1), 1.5), F.mul(at(n - 2), 2.0)), F.mul(at(n - 3), 0.5))
    return F.cat([F.div(first, spacing), inside, F.div(last, spacing)], dim)


def _placed(F: Any, x: Any, coordinates: Any, dim: int, edge_order: int) -> Any:  # noqa: N803
    """The slopes along a dimension whose samples are at `coordinates`."""
    n = x.size(dim)
    if coordinates.dim() != 1 or coordinates.size(0) != n:
        raise RuntimeError(PLACES.format(size=list(coordinates.shape), wanted=n))
    between = F.sub(F.narrow(coordinates, 0, 1, n - 1), F.narrow(coordinates, 0, 0, n - 1))
    steps = F.reshape(between, [-1] + [1] * (x.dim() - 1 - dim))

    def at(start: int, length: int = 1) -> Any:
        return F.narrow(x, dim, start, length)

    def step(start: int, length: int = 1) -> Any:
        return F.narrow(steps, 0, start, length)

    def weighed(start: int, length: int, a: Any, b: Any, c: Any) -> Any:
        parts = [F.mul(at(start + k, length), factor) for k, factor in enumerate((a, b, c))]
        return F.add(F.add(parts[0], parts[1]), parts[2])

    before, after = step(0, n - 2), step(1, n - 2)
    both = F.add(before, after)
    inside = weighed(
        0, n - 2, F.neg(F.div(after, F.mul(before, both))), F.div(F.sub(after, before), F.mul(before, after)),
        F.div(before, F.mul(after, both)),
    )  # fmt: skip
    if edge_order == 1:
        first, last = F.div(F.sub(at(1), at(0)), step(0)), F.div(F.sub(at(n - 1), at(n - 2)), step(n - 2))
        return F.cat([first, inside, last], dim)
    d, e = step(0), step(1)
    first = weighed(
        0, 1, F.neg(F.div(F.add(F.mul(d, 2), e), F.mul(d, F.add(d, e)))), F.div(F.add(d, e), F.mul(d, e)),
        F.neg(F.div(d, F.mul(e, F.add(d, e)))),
    )  # fmt: skip
    d, e = step(n - 3), step(n - 2)
    last = weighed(
        n - 3, 1, F.div(e, F.mul(d, F.add(d, e))), F.neg(F.div(F.add(d, e), F.mul(d, e))),
        F.div(F.add(F.mul(e, 2), d), F.mul(e, F.add(d, e))),
    )  # fmt: skip
    return F.cat([first, inside, last], dim)


def _gradient(F: Any, x: Tensor, spacing: Any, dim: Any, edge_order: int) -> list[Tensor]:  # noqa: N803
    """The slopes along each of some dimensions: all, one, or those listed."""
    if edge_order not in (1, 2):
        raise RuntimeError(ORDERS)
    listed = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims: list[int] = []
    for one in listed:
        if not -x.dim() <= one < x.dim():
            raise IndexError(OUTSIDE.format(low=-x.dim(), high=x.dim() - 1, dim=one))
        dims.append(one % x.dim())
        if dims.count(dims[-1]) > 1:
            raise RuntimeError(TWICE.format(dim=dims[-1]))
        if x.size(dims[-1]) < edge_order + 1:
            raise RuntimeError(TOO_SHORT)
    spacings = list(spacing) if isinstance(spacing, list | tuple) else [1.0 if spacing is None else spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(SPACINGS.format(dims=len(dims), count=len(spacings)))
    return [
        (_placed if isinstance(one, Tensor) else _uniform)(F, x, one, axis, edge_order)
        for one, axis in zip(spacings, dims, strict=True)
    ]


def _dtype(self: TensorType, spacing: Any = None) -> DType | None:
    """That of a slope: floating point, or complex, as samples and places are together."""
    if isinstance(spacing, list | tuple) and any(isinstance(one, TensorType) for one in spacing):
        met = common_dtype((self, *spacing))
        return None if met is None else to_float(met)
    numbers = spacing if isinstance(spacing, list | tuple) else [spacing]
    if self.dtype is None or not all(one is None or isinstance(one, int | float) for one in numbers):
        return None
    return to_float(self.dtype)


def _one_apart(F: Any, x: Tensor, dim: Any, edge_order: int) -> list[Tensor]:  # noqa: N803
    return _gradient(F, x, None, dim, edge_order)


def _reference(x: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    listed = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = spacing if isinstance(spacing, list | tuple) else [1.0 if spacing is None else spacing] * len(listed)
    slope: Any = np.gradient
    return [slope(x, one, axis=d, edge_order=edge_order) for one, d in zip(steps, listed, strict=True)]


def _grid() -> Tensor:
    return wrap(np.array([[1, 2, 4, 7], [3, 1, 2, 2.5], [0, 1, -1, 5]], np.float32))


def _line(*numbers: float) -> Tensor:
    return wrap(np.array(numbers, np.float32))


def _samples(**arguments: Any) -> Callable[[], list[Sample]]:
    def listed() -> list[Sample]:
        values = {name: value() if callable(value) else value for name, value in arguments.items()}
        return [Sample(args=(_grid(),), kwargs=values | {"edge_order": k}) for k in (1, 2)]

    return listed


def _errors() -> Sequence[ErrorSample]:
    return [
        ErrorSample(args=(_grid(),), kwargs={"edge_order": 3}, error=RuntimeError, message="only supports edge_order"),
        ErrorSample(args=(_line(1.0),), error=RuntimeError, message="size to be at least edge_order+1"),
        ErrorSample(args=(_grid(),), kwargs={"dim": 2}, error=IndexError, message="Dimension out of range"),
    ]


_DOC: Final = "The slope of samples on a grid along each dimension, `spacing` apart or at the places that it has."
_REST: Final = "int edge_order=1) -> Tensor[]"
for _overload, _arguments, _given in (
    ("scalarint", "Scalar? spacing=None, int? dim=None", {}),
    ("scalararray", "Scalar spacing, int[] dim", {"spacing": 0.5, "dim": [0, 1]}),
    ("array", "int[] dim", {"dim": [1]}),
    ("scalarrayint", "Scalar[] spacing, int? dim=None", {"spacing": [2.0, 0.5]}),
    ("scalarrayarray", "Scalar[] spacing, int[] dim", {"spacing": [2.0, 0.5], "dim": [1, 0]}),
    ("tensorarrayint", "Tensor[] spacing, int? dim=None", {"spacing": lambda: [_line(0, 1, 3, 3.5)], "dim": 1}),
    ("tensorarray", "Tensor[] spacing, int[] dim", {"spacing": lambda: [_line(0, 1, 3)], "dim": [0]}),
):
    composite(
        f"aten::gradient.{_overload}(Tensor self, *, {_arguments}, {_REST}",
        body=_one_apart if _overload == "array" else _gradient,
        doc=_DOC, samples=_samples(**_given), errors=_errors if _overload == "scalarint" else None, ulp=ULP,
        reference=_reference, dtype=_dtype, shape=lambda self: self.sizes,
    )  # fmt: skip
