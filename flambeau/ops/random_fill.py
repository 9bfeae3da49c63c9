"""Filling a tensor with random numbers in place, and the new tensors that go with it: bernoulli and normal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ops.families.constructors import OPTIONS, chosen, declare_out_of_constructor, default_dtype, size_shape
from flambeau.ops.families.numpy_cast import cast
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.overwrite import check_writeable
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.rules import same_dtype, same_shape
from flambeau.ops.families.samples import sample
from flambeau.ops.families.variants import check_overlap, fit_out, write
from flambeau.ops.random import integers, normal, normal_one_by_one, uniform_between
from flambeau.schema.device import Device
from flambeau.schema.dtype import Category, DType, int64
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import Effect, ErrorSample, OpDef, Sample, Sizes
from flambeau.schema.registry import register
from flambeau.schema.types import TensorType
from flambeau.tensor import layout
from flambeau.tensor.array_library import np
from flambeau.tensor.create import check_device
from flambeau.tensor.random import Generator, drawing
from flambeau.tensor.random_draws import Draws
from flambeau.tensor.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]


def fill(
    schema: str, draw: Callable[..., Array], doc: str = "", *, scattered: Callable[..., Array] | None = None,
    **facets: Any,
) -> None:  # fmt: skip
    """Register an operator that overwrites `self` with `draw(rng, self, *numbers)`; the generator is the last
    argument. Where elements do not lie in order, `self` is turned so that they do, and `scattered` draws instead."""

    def kernel(self: Tensor, *rest: Any) -> Tensor:
        check_writeable(self)
        check_overlap(self, ())
        numbers: Sequence[Any] = rest[:-1]
        target, chosen_draw = self, draw
        if not self._array.flags.c_contiguous:
            target, numbers = _as_it_lies(self, numbers)
            chosen_draw = scattered or draw
        with drawing(rest[-1]) as rng:
            target._array[...] = cast(np.asarray(chosen_draw(rng, target, *numbers)), self.dtype)
        self.bump_version()
        return self

    register(
        OpDef(
            schema=parse_schema(schema),
            family="random",
            kernel=kernel,
            dtype=lambda self, *rest: self.dtype,
            shape=lambda self, *rest: self.sizes,
            effect=Effect.RANDOM,
            doc=doc,
            is_function=False,
            **facets,
        )
    )


def _as_it_lies(self: Tensor, numbers: Sequence[Any]) -> tuple[Tensor, Sequence[Any]]:
    """The tensor with its dimensions in the order of memory, which is that of the numbers drawn, and tensors of
    numbers likewise."""
    sizes = self._array.shape
    order = layout.elementwise_order(sizes, [self.stride()])
    if order == list(range(len(sizes))):
        return self, numbers
    turned = [
        wrap(np.broadcast_to(one._array, sizes).transpose(order)) if isinstance(one, Tensor) else one
        for one in numbers
    ]
    return wrap(self._array.transpose(order)), turned


def _uniform(rng: Draws, self: Tensor, low: float, high: float) -> Array:
    _needs_float("check_uniform_bounds", self)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    return uniform_between(rng, self._array.shape, self.dtype, low, high)


def _normal(rng: Draws, self: Tensor, mean: float, std: float) -> Array:
    _check_normal(self, std)
    return normal(rng, self._array.shape, self.dtype) * std + mean


def _normal_scattered(rng: Draws, self: Tensor, mean: float, std: float) -> Array:
    _check_normal(self, std)
    return normal_one_by_one(rng, self._array.shape, self.dtype) * std + mean


def _check_normal(self: Tensor, std: float) -> None:
    _needs_float("normal_kernel_cpu", self)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def _exponential(rng: Draws, self: Tensor, rate: float) -> Array:
    _needs_float("exponential_kernel_impl", self)
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    return np.asarray(rng.exponential(1.0 / rate, self._array.shape))


def _cauchy(rng: Draws, self: Tensor, median: float, sigma: float) -> Array:
    if not self.dtype.is_floating_point:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {self.dtype.display}"
        )
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return np.asarray(rng.standard_cauchy(self._array.shape) * sigma + median)


def _log_normal(rng: Draws, self: Tensor, mean: float, std: float) -> Array:
    _needs_float("log_normal_kernel", self)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return np.asarray(rng.lognormal(mean, std, self._array.shape))


def _geometric(rng: Draws, self: Tensor, p: float) -> Array:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return np.asarray(rng.geometric(p, self._array.shape))


def _needs_float(kernel: str, self: Tensor) -> None:
    if self.dtype.category < Category.FLOAT:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{self.dtype.display}'")


def _whole_range(dtype: DType) -> int:
    """One more than the largest integer that `random_()` draws."""
    if dtype.category == Category.BOOL:
        return 2
    if dtype.is_integral:
        return int(np.iinfo(dtype.numpy).max) + 1
    return (1 << {"float16": 11, "bfloat16": 8, "float32": 24}.get(dtype.name, 53)) + 1


def _random(rng: Draws, self: Tensor, low: int = 0, high: int | None = None) -> Array:
    shape, dtype = self._array.shape, self.dtype
    if high is not None:
        low, high = _bounds_that_fit(dtype, low, high)
        return integers(rng, low, high, shape, int64)
    limit = _whole_range(dtype)
    return rng.words_below(limit, shape) if low == 0 and limit < 1 << 32 else integers(rng, low, limit, shape, int64)


def _bounds_that_fit(dtype: DType, low: int, high: int) -> tuple[int, int]:
    """The bounds, moved inwards to numbers that a floating dtype holds where it has too few digits for them."""
    if not dtype.is_floating_point or low >= high:
        return low, high
    digits = {"float16": 11, "bfloat16": 8, "float32": 24}.get(dtype.name, 53)
    if abs(high - 1) >> digits:
        last = _nearest(dtype, high - 1)
        if last >= high:
            high = last - (1 << (abs(high - 1).bit_length() - digits))
    if abs(low + 1) >> digits:
        first = _nearest(dtype, low + 1)
        if first < low:
            low = first + (1 << (abs(low + 1).bit_length() - digits))
    return low, high


def _nearest(dtype: DType, number: int) -> int:
    """The integer that a dtype holds for another."""
    return int(np.asarray(cast(np.asarray(float(number)), dtype)).astype(np.float64).item())


def _random_like(self: Array, generator: Generator | None = None, to: int | None = None, low: int = 0) -> Array:
    """`random_` of a new tensor."""
    like = wrap(self)
    with drawing(generator) as rng:
        return np.asarray(cast(np.asarray(_random(rng, like, low, to)), like.dtype))


def _random_from_out(self: Tensor, low: int, high: int | None, generator: Generator | None, out: Tensor) -> Tensor:
    fit_out(out, self._array.shape)
    return write(out, _random_like(self._array, generator, high, low))


def bernoulli_array(rng: Draws, probability: Array) -> Array:
    """True with the given probabilities. Raises RuntimeError for a number outside [0, 1]."""
    chances = np.asarray(probability)
    if chances.dtype.kind != "f" or chances.dtype.itemsize < 4:
        chances = chances.astype(np.float32)
    if not bool(np.all((chances >= 0) & (chances <= 1))):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return np.asarray(rng.random(chances.shape, dtype=chances.dtype.type) < chances)


def _bernoulli_float(rng: Draws, self: Tensor, p: float) -> Array:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return np.asarray(rng.random(self._array.shape) < p)


def _bernoulli_tensor(rng: Draws, self: Tensor, p: Tensor) -> Array:
    return bernoulli_array(rng, np.broadcast_to(p._array, self._array.shape))


def bernoulli_kernel(self: Array, p: Any = None, generator: Generator | None = None) -> Array:
    """1 with the probability that each element (or `p`) says, else 0."""
    if p is None and self.dtype.kind not in "fV":
        raise RuntimeError(f"Expected a floating point tensor of probabilities, got {wrap(self).dtype.display}")
    with drawing(generator) as rng:
        if isinstance(p, float) and 0 <= p <= 1:
            return np.asarray(rng.random(self.shape) < p).astype(self.dtype)
        chances = self if p is None else np.broadcast_to(np.asarray(p), self.shape)
        return bernoulli_array(rng, chances).astype(self.dtype)


def bernoulli_into(self: Tensor, p: float, generator: Generator | None, out: Tensor) -> Tensor:
    """`bernoulli` with one probability, written into `out`."""
    check_overlap(out, ())
    fit_out(out, self._array.shape)
    return write(out, bernoulli_kernel(self._array, p, generator))


def normal_kernel(
    mean: Any, std: Any = 1.0, size: Any = None, generator: Any = None, dtype: Any = None, device: Device | None = None
) -> Array:
    """Normal numbers with the given means and deviations, broadcast."""
    check_device(device)
    if size is not None:
        shape, target = tuple(size), chosen(dtype)
    else:
        shape = layout.broadcast(np.shape(mean), np.shape(std))
        source = std if isinstance(mean, int | float | complex) else mean
        target = wrap(source).dtype
    if isinstance(std, int | float):
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    elif std.dtype.kind != "c" and bool(np.any(std.astype(np.float64) < 0)):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    with drawing(generator) as rng:
        numbers = normal(rng, shape, target)
    numbers = numbers if type(std) is float and std == 1.0 else numbers * std
    numbers = numbers if type(mean) is float and mean == 0.0 else numbers + mean
    return np.ascontiguousarray(cast(np.asarray(numbers), target)).reshape(shape)


def normal_float_out(mean: float, std: float, size: Any, generator: Any = None, dtype: Any = None) -> Tensor:
    """`normal` of numbers in a given dtype."""
    return wrap(normal_kernel(mean, std, size, generator, dtype))


def _normal_dtype(mean: Any, std: Any, dtype: Any = None) -> DType | None:
    """The mean's dtype, else the deviation's, else the one asked for or the default."""
    for parameter in (mean, std):
        if isinstance(parameter, TensorType):
            return parameter.dtype
    return default_dtype(dtype)


def _normal_shape(mean: Any, std: Any, size: Any = None) -> Sizes | None:
    tensors = [t.sizes for t in (mean, std) if isinstance(t, TensorType)]
    return broadcast_known(tensors) if tensors else size_shape(size)


_G = "Generator? generator=None"
fill(
    f"aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, {_G}) -> Tensor(a!)",
    _uniform,
    doc="Overwrite with numbers uniform in [from, to).",
    samples=lambda: (Sample(args=(sample(2, 3), -1.0, 1.0)),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2), 2.0, 1.0), error=RuntimeError, message="uniform_ expects to return a [from, to) range"
        ),
    ),
)
fill(
    f"aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, {_G}) -> Tensor(a!)",
    _normal,
    scattered=_normal_scattered,
    doc="Overwrite with normal numbers.",
    samples=lambda: (Sample(args=(sample(2, 3), 1.0, 2.0)),),
    errors=lambda: (
        ErrorSample(
            args=(sample(2), 0.0, -1.0), error=RuntimeError, message="normal expects std >= 0.0, but found std -1"
        ),
    ),
)
fill(
    f"aten::exponential_(Tensor(a!) self, float lambd=1., *, {_G}) -> Tensor(a!)",
    _exponential,
    "Overwrite with exponential numbers.",
)
fill(
    f"aten::cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, {_G}) -> Tensor(a!)",
    _cauchy,
    "Overwrite with Cauchy numbers.",
)
fill(
    f"aten::log_normal_(Tensor(a!) self, float mean=1., float std=2., *, {_G}) -> Tensor(a!)",
    _log_normal,
    "Overwrite with log-normal numbers.",
)
fill(
    f"aten::geometric_(Tensor(a!) self, float p, *, {_G}) -> Tensor(a!)",
    _geometric,
    "Overwrite with how many trials a success took.",
)
fill(
    f"aten::random_(Tensor(a!) self, *, {_G}) -> Tensor(a!)",
    _random,
    "Overwrite with integers that the dtype holds exactly.",
)
fill(
    f"aten::random_.to(Tensor(a!) self, int to, *, {_G}) -> Tensor(a!)", lambda rng, self, to: _random(rng, self, 0, to)
)
fill(f"aten::random_.from(Tensor(a!) self, int from, int? to, *, {_G}) -> Tensor(a!)", _random)
declare(
    f"aten::random(Tensor self, *, {_G}) -> Tensor",
    f"aten::random.to(Tensor self, int to, *, {_G}) -> Tensor",
    kernel=_random_like,
    family="random",
    effect=Effect.RANDOM,
    outs=("out", "to_out"),
    dtype=same_dtype,
    shape=same_shape,
    is_method=False,
    is_function=False,
    doc="A tensor like `self` of integers that its dtype holds exactly.",
    samples=lambda: (Sample(args=(sample(3), 10)),),
)
register(
    OpDef(
        schema=parse_schema(f"aten::random.from(Tensor self, int from, int? to, *, {_G}) -> Tensor"),
        family="random",
        kernel=lambda self, low, high, generator: wrap(_random_like(self._array, generator, high, low)),
        effect=Effect.RANDOM,
        dtype=same_dtype,
        shape=same_shape,
        is_method=False,
        is_function=False,
    )
)
register(
    OpDef(
        schema=parse_schema(
            f"aten::random.from_out(Tensor self, int from, int? to, *, {_G}, Tensor(a!) out) -> Tensor(a!)"
        ),
        family="out",
        kernel=_random_from_out,
        effect=Effect.RANDOM,
        is_method=False,
        is_function=False,
    )
)
fill(
    f"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, {_G}) -> Tensor(a!)",
    _bernoulli_float,
    "Overwrite with 1 with probability p, else 0.",
)
fill(f"aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, {_G}) -> Tensor(a!)", _bernoulli_tensor)
declare(
    f"aten::bernoulli(Tensor self, *, {_G}) -> Tensor",
    f"aten::bernoulli.p(Tensor self, float p, *, {_G}) -> Tensor",
    f"aten::bernoulli.Tensor(Tensor self, Tensor p, *, {_G}) -> Tensor",
    kernel=bernoulli_kernel,
    family="random",
    effect=Effect.RANDOM,
    outs=("out", "", "Tensor_out"),
    dtype=same_dtype,
    shape=same_shape,
    doc="1 with the probability that each element (or `p`) says, else 0.",
    samples=lambda: (Sample(args=(wrap(np.array([0.0, 0.5, 1.0])),)), Sample(args=(sample(3), 0.3))),
    errors=lambda: (
        ErrorSample(
            args=(wrap(np.array([2.0])),),
            error=RuntimeError,
            message="Expected p_in >= 0 && p_in <= 1 to be true, but got false.",
        ),
    ),
)
declare(
    f"aten::normal.Tensor_float(Tensor mean, float std=1., *, {_G}) -> Tensor",
    f"aten::normal.float_Tensor(float mean, Tensor std, *, {_G}) -> Tensor",
    f"aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, {_G}) -> Tensor",
    f"aten::normal.float_float(float mean, float std, SymInt[] size, *, {_G}, {OPTIONS}) -> Tensor",
    kernel=normal_kernel,
    family="random",
    effect=Effect.RANDOM,
    outs=("Tensor_float_out", "float_Tensor_out", "Tensor_Tensor_out", ""),
    dtype=_normal_dtype,
    shape=_normal_shape,
    is_method=False,
    doc="Normal numbers with the given means and deviations.",
    samples=lambda: (
        Sample(args=(sample(3), 2.0)),
        Sample(args=(0.5, sample(3))),
        Sample(args=(0.0, 1.0, (2, 3))),
        Sample(args=(sample(2, 1), sample(3))),
    ),
    errors=lambda: (ErrorSample(args=(sample(3), -1.0), error=RuntimeError, message="normal expects std >= 0.0"),),
)
declare_out_of_constructor(
    f"aten::normal.float_float_out(float mean, float std, SymInt[] size, *, {_G}, Tensor(a!) out) -> Tensor(a!)",
    normal_float_out,
    Effect.RANDOM,
)
register(
    OpDef(
        schema=parse_schema(
            f"aten::bernoulli.float_out(Tensor self, float p=0.5, *, {_G}, Tensor(a!) out) -> Tensor(a!)"
        ),
        family="out",
        kernel=bernoulli_into,
        effect=Effect.RANDOM,
        is_method=False,
    )
)
