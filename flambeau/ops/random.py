"""Random tensors. Equal seeds give the numbers that PyTorch's give on a CPU (`tensor.random_draws` says which)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.families import ranks
from flambeau.ops.families.constructors import (
    LIKE_OPTIONS,
    OPTIONS,
    check_sizes,
    chosen,
    declare_out_of_constructor,
    default_dtype,
    like_dtype,
    size_shape,
)
from flambeau.ops.families.numpy_cast import cast, dtype_of
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.rules import same_dtype, same_shape
from flambeau.ops.families.samples import sample
from flambeau.schema.device import Device
from flambeau.schema.dtype import Category, DType, by_code, float32, float64, int64
from flambeau.schema.opdef import UNKNOWN, Effect, ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor import layout
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.create import check_device, empty_strided, strides_for
from flambeau.tensor.random import Generator, drawing
from flambeau.tensor.random_draws import Draws
from flambeau.tensor.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]


def uniform(rng: Draws, shape: Sequence[int], dtype: DType) -> Array:
    """Numbers in [0, 1): of 53 bits for float64, else of 24, as float32s where a dtype has fewer."""
    if dtype.is_complex:
        return _joined(uniform(rng, (*shape, 2), dtype.to_real()))
    return rng.random(shape) if dtype is float64 else rng.random(shape, dtype=np.float32)


def uniform_between(rng: Draws, shape: Sequence[int], dtype: DType, low: float, high: float) -> Array:
    """Numbers in [low, high) in their dtype: what rounds to `high` becomes `low`."""
    numbers = uniform(rng, shape, dtype)
    if (low, high) != (0.0, 1.0):
        numbers = numbers * (high - low) + low
    elif dtype is float32 or dtype is float64:
        return numbers
    numbers = np.asarray(cast(numbers, dtype))
    if dtype.is_complex:
        return numbers
    ends = np.asarray([low, high]).astype(dtype.numpy)
    numbers[numbers == ends[1]] = ends[0]
    return numbers


def _unit(rng: Draws, shape: Sequence[int], dtype: DType) -> Array:
    return uniform_between(rng, shape, dtype, 0.0, 1.0)


def normal(rng: Draws, shape: Sequence[int], dtype: DType) -> Array:
    """Numbers of mean 0 and variance 1, as float32s for halves; a complex number's parts have variance 1/2."""
    if dtype.is_complex:
        parts = normal(rng, (*shape, 2), dtype.to_real())
        return _joined(parts * parts.dtype.type(np.sqrt(0.5)))
    if dtype is float32 or dtype is float64:
        return np.asarray(rng.standard_normal(shape, dtype=dtype.numpy.type))
    return np.asarray(rng.half_normal(shape))


def normal_one_by_one(rng: Draws, shape: Sequence[int], dtype: DType) -> Array:
    """The same for elements that do not lie in order: no blocks are drawn, whatever their number."""
    if dtype.is_complex:
        parts = normal_one_by_one(rng, (*shape, 2), dtype.to_real())
        return _joined(parts * parts.dtype.type(np.sqrt(0.5)))
    kind = np.float64 if dtype is float64 else np.float32
    return np.asarray(rng.normal_one_by_one(shape)).astype(kind)


def _joined(parts: Array) -> Array:
    """Complex numbers of real and imaginary parts side by side."""
    return np.asarray(parts[..., 0] + np.complex64(1j) * parts[..., 1])


def integers(rng: Draws, low: int, high: int, shape: Sequence[int], dtype: DType) -> Array:
    """Integers from `low` up to, not including, `high`."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return np.asarray(rng.integers(low, high, shape, dtype=np.int64)).astype(dtype.numpy)


Draw = Callable[[Draws, Sequence[int], DType], Array]


def _float_dtype(name: str, dtype: DType) -> DType:
    if dtype.category < Category.FLOAT:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.display}'")
    return dtype


def _creator(name: str, kernel_name: str, draw: Draw) -> Callable[..., Tensor]:
    def kernel(
        size: Sequence[int], generator: Generator | None = None, dtype: int | None = None, device: Device | None = None
    ) -> Tensor:
        check_device(device)
        check_sizes(name, size)
        target = _float_dtype(kernel_name, chosen(dtype))
        with drawing(generator) as rng:
            return wrap(np.asarray(cast(draw(rng, size, target), target)))

    return kernel


def _like(kernel_name: str, draw: Draw, scattered: Draw) -> Callable[..., Tensor]:
    def kernel(
        self: Tensor,
        generator: Generator | None = None,
        dtype: int | None = None,
        device: Device | None = None,
        memory_format: int | None = None,
    ) -> Tensor:
        check_device(device)
        target = chosen(dtype, self.dtype)
        if kernel_name:
            _float_dtype(kernel_name, target)
        return _placed(self, target, memory_format, generator, draw, scattered)

    return kernel


def _placed(
    self: Tensor, dtype: DType, memory_format: int | None, generator: Generator | None, draw: Draw,
    scattered: Draw | None = None,
) -> Tensor:  # fmt: skip
    """Random numbers in a tensor's sizes and order of dimensions, drawn in the order of memory."""
    shape = self._array.shape
    if self._array.flags.c_contiguous and memory_format in (None, 0, 1):
        with drawing(generator) as rng:
            return wrap(np.asarray(cast(draw(rng, shape, dtype), dtype)))
    wanted = 1 if memory_format is None else memory_format
    result = empty_strided(shape, strides_for(shape, wanted, self.stride()), dtype)
    chosen_draw = draw if result.flags.c_contiguous or scattered is None else scattered
    order = layout.elementwise_order(shape, [wrap(result).stride()])
    with drawing(generator) as rng:
        result.transpose(order)[...] = cast(chosen_draw(rng, [shape[d] for d in order], dtype), dtype)
    return wrap(result)


def randint_kernel(
    high: int,
    size: Sequence[int],
    low: int = 0,
    generator: Generator | None = None,
    dtype: int | None = None,
    device: Device | None = None,
) -> Tensor:
    """Integers from `low` up to, not including, `high`."""
    check_device(device)
    check_sizes("randint", size)
    target = int64 if dtype is None else by_code(dtype)
    with drawing(generator) as rng:
        return wrap(integers(rng, low, high, size, target))


def randint_like_kernel(
    self: Tensor,
    high: int | Tensor,
    low: int = 0,
    generator: Generator | None = None,
    dtype: int | None = None,
    device: Device | None = None,
    memory_format: int | None = None,
) -> Tensor:
    """`randint` in a tensor's sizes and dtype."""
    check_device(device)
    top = int(high._array.item()) if isinstance(high, Tensor) else high
    return _placed(
        self,
        chosen(dtype, self.dtype),
        memory_format,
        generator,
        lambda rng, shape, target: integers(rng, low, top, shape, target),
    )


def randperm_kernel(
    n: int, generator: Generator | None = None, dtype: int | None = None, device: Device | None = None
) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    check_device(device)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got{n}")
    target = int64 if dtype is None else by_code(dtype)
    with drawing(generator) as rng:
        return wrap(rng.permutation(n).astype(target.numpy))


def multinomial_kernel(
    self: Array, num_samples: int, replacement: bool = False, generator: Generator | None = None
) -> Array:
    """Places drawn with the given weights, a row for each row of weights."""
    _check_probabilities(self)
    weights = self.astype(np.float64).reshape((1, *self.shape)[-2:])
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    _check_weights(weights)
    draw = _with_replacement if replacement and num_samples > 1 else _without_replacement  # one place is drawn alike
    with drawing(generator) as rng:
        result = draw(rng, weights, num_samples)
    return result[0] if self.ndim == 1 else result


def _check_probabilities(array: Array) -> None:
    if array.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if array.dtype.kind not in "fV":
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {wrap(array).dtype.display}"
        )


def _check_weights(weights: Array) -> None:
    """Raise RuntimeError unless all are finite and not negative, and some of each row are larger."""
    if is_host_array(weights) and weights.size:  # two folds say that all is well, as it mostly is
        totals = np.add.reduce(weights, axis=1)
        if np.minimum.reduce(weights, axis=None) >= 0:
            least, most = np.minimum.reduce(totals), np.maximum.reduce(totals)
            if least > 0 and most < np.inf:
                return
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if np.any(weights.sum(axis=1) == 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _with_replacement(rng: Draws, weights: Array, count: int) -> Array:
    """Of each row so many places."""
    edges = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    drawn = rng.random((len(weights), count)) * edges[:, -1:]
    if weights.size * count <= _FEW:
        indices = np.count_nonzero(edges[:, None, :] <= drawn[:, :, None], axis=2)
    else:
        rows = [np.searchsorted(e, one, side="right") for e, one in zip(edges, drawn, strict=True)]
        indices = np.stack(rows) if rows else np.empty(drawn.shape, np.int64)
    return np.asarray(np.minimum(indices, weights.shape[1] - 1)).astype(np.int64, copy=False)


_FEW: Final = 1 << 18
"""Comparisons up to which all weights are compared with what was drawn."""


def _without_replacement(rng: Draws, weights: Array, count: int) -> Array:
    """Of each row the first of events that happen at exponential times, each at the rate of its weight."""
    rows, columns = weights.shape
    is_turned = layout.elementwise_order(weights.shape, [weights.strides]) == [1, 0]
    drawn = rng.exponential(size=(columns, rows)).T if is_turned else rng.exponential(size=weights.shape)
    with np.errstate(all="ignore"):
        times = drawn / weights
    if count == 1:
        return np.asarray(np.argmin(times, axis=1, keepdims=True))
    return np.ascontiguousarray(np.argsort(times, axis=1, kind="stable")[:, :count])


def poisson_kernel(self: Array, generator: Generator | None = None) -> Array:
    """Poisson numbers with each element as their mean."""
    with drawing(generator) as rng:
        return np.asarray(rng.poisson(self.astype(np.float64))).astype(self.dtype)


def binomial_kernel(count: Array, prob: Array, generator: Generator | None = None) -> Array:
    """How many of `count` trials succeed, each with probability `prob`."""
    with drawing(generator) as rng:
        return np.asarray(rng.binomial(count, prob)).astype(count.dtype)


def standard_gamma_kernel(self: Array, generator: Generator | None = None) -> Array:
    """Gamma numbers of scale 1 with each element as their shape: never 0, whatever they are rounded to."""
    with drawing(generator) as rng:
        numbers = np.asarray(rng.standard_gamma(self.astype(np.float64)))
    rounded = np.asarray(cast(numbers, dtype_of(self)))
    least = np.finfo(self.dtype if self.dtype.kind == "f" else np.float32).tiny
    return np.asarray(np.maximum(rounded, np.asarray(cast(np.asarray(least), dtype_of(self)))))


def _randn_out(size: Sequence[int], generator: Generator | None = None, dtype: int | None = None) -> Tensor:
    return _creator("randn", "normal_kernel_cpu", normal)(size, generator, dtype)


def _rand_out(size: Sequence[int], generator: Generator | None = None, dtype: int | None = None) -> Tensor:
    return _creator("rand", "check_uniform_bounds", _unit)(size, generator, dtype)


def _randint_low(
    low: int, high: int, size: Sequence[int], generator: Generator | None = None, dtype: int | None = None
) -> Tensor:
    return randint_kernel(high, size, low, generator, dtype)


def _integer_dtype(dtype: Any = None) -> DType | None:
    return None if dtype is UNKNOWN else int64 if dtype is None else by_code(dtype)


_GENERATOR: Final = "Generator? generator"
_INT_OPTIONS: Final = OPTIONS.replace("dtype=None", "dtype=4", 1)
_RANDOM: Final[dict[str, Any]] = {
    "on_tensors": True, "family": "random", "effect": Effect.RANDOM, "is_method": False,
}  # fmt: skip

for _name, _words, _refused, _draw, _scattered in (
    ("rand", "Numbers uniform in [0, 1)", "check_uniform_bounds", _unit, _unit),
    ("randn", "Numbers of mean 0 and variance 1", "normal_kernel_cpu", normal, normal_one_by_one),
):
    declare(
        f"aten::{_name}(SymInt[] size, *, {OPTIONS}) -> Tensor",
        f"aten::{_name}.generator(SymInt[] size, *, {_GENERATOR}, {OPTIONS}) -> Tensor",
        kernel=_creator(_name, _refused, _draw),
        dtype=default_dtype,
        shape=size_shape,
        doc=f"{_words}.",
        samples=lambda: (Sample(args=((2, 3),)), Sample(args=((4,),), kwargs={"dtype": float64})),
        errors=(
            lambda name: (
                lambda: (
                    ErrorSample(
                        args=(-1,), error=RuntimeError, message=f"{name}: Dimension size must be non-negative."
                    ),
                )
            )
        )(_name),
        **_RANDOM,
    )
    declare(
        f"aten::{_name}_like(Tensor self, *, {LIKE_OPTIONS}) -> Tensor",
        f"aten::{_name}_like.generator(Tensor self, *, {_GENERATOR}, {LIKE_OPTIONS}) -> Tensor",
        kernel=_like(_refused, _draw, _scattered),
        differentiable=False,
        dtype=like_dtype,
        shape=same_shape,
        doc=f"{_words}, in the sizes and dtype of a tensor.",
        samples=lambda: (Sample(args=(sample(2, 3),)),),
        **_RANDOM,
    )
declare(
    f"aten::randint(SymInt high, SymInt[] size, *, {_INT_OPTIONS}) -> Tensor",
    f"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, {_INT_OPTIONS}) -> Tensor",
    f"aten::randint.generator(SymInt high, SymInt[] size, *, {_GENERATOR}, {_INT_OPTIONS}) -> Tensor",
    f"aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, {_GENERATOR}, {_INT_OPTIONS}) -> Tensor",
    kernel=randint_kernel,
    dtype=_integer_dtype,
    shape=size_shape,
    doc="Integers from `low` (0) up to, not including, `high`.",
    samples=lambda: (Sample(args=(3, (4,))), Sample(args=(-2, 5, (2, 2)))),
    errors=lambda: (
        ErrorSample(
            args=(3, 3, (1,)),
            error=RuntimeError,
            message="random_ expects 'from' to be less than 'to', but got from=3 >= to=3",
        ),
    ),
    **_RANDOM,
)
declare(
    f"aten::randint_like(Tensor self, SymInt high, *, {LIKE_OPTIONS}) -> Tensor",
    f"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, {LIKE_OPTIONS}) -> Tensor",
    f"aten::randint_like.Tensor(Tensor self, Tensor high, *, {LIKE_OPTIONS}) -> Tensor",
    f"aten::randint_like.generator(Tensor self, SymInt high, *, {_GENERATOR}, {LIKE_OPTIONS}) -> Tensor",
    f"aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, {_GENERATOR}, {LIKE_OPTIONS}) "
    "-> Tensor",
    kernel=randint_like_kernel,
    differentiable=False,
    dtype=like_dtype,
    shape=same_shape,
    doc="Integers from `low` (0) up to, not including, `high`, in the sizes and dtype of a tensor.",
    samples=lambda: (Sample(args=(sample(2, 3), 4)),),
    **_RANDOM,
)
declare(
    f"aten::randperm(SymInt n, *, {_INT_OPTIONS}) -> Tensor",
    f"aten::randperm.generator(SymInt n, *, {_GENERATOR}, {_INT_OPTIONS}) -> Tensor",
    kernel=randperm_kernel,
    dtype=_integer_dtype,
    shape=lambda n: (n if isinstance(n, int) else None,),
    doc="The integers from 0 to n - 1 in random order.",
    samples=lambda: (Sample(args=(5,)), Sample(args=(0,))),
    errors=lambda: (ErrorSample(args=(-1,), error=RuntimeError, message="n must be non-negative, got-1"),),
    **_RANDOM,
)
declare(
    "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> "
    "Tensor",
    kernel=multinomial_kernel,
    family="random",
    traits=Traits(out_dtype="multinomial expects {wanted.display} tensor out, got: {got.display}"),
    effect=Effect.RANDOM,
    outs=("out",),
    dtype=lambda: int64,
    shape=ranks.self_rank,
    doc="Places drawn with the given weights, a row for each row of weights.",
    samples=lambda: (Sample(args=(wrap(np.array([1.0, 2.0, 0.0])), 2)), Sample(args=(sample(2, 3), 4, True))),
    errors=lambda: (
        ErrorSample(
            args=(wrap(np.array([-1.0, 2.0])), 1),
            error=RuntimeError,
            message="probability tensor contains either `inf`, `nan` or element < 0",
        ),
    ),
)
declare(
    "aten::poisson(Tensor self, Generator? generator=None) -> Tensor",
    kernel=poisson_kernel,
    family="random",
    effect=Effect.RANDOM,
    outs=("out",),
    dtype=same_dtype,
    shape=same_shape,
    is_method=False,
    doc="Poisson numbers with each element as their mean.",
    samples=lambda: (Sample(args=(sample(3),)),),
)
declare(
    "aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    kernel=binomial_kernel,
    family="random",
    effect=Effect.RANDOM,
    outs=("out",),
    dtype=lambda count: count.dtype,
    shape=lambda count, prob: broadcast_known([count.sizes, prob.sizes]),
    is_method=False,
    doc="How many trials of `count` succeed, each with probability `prob`.",
    samples=lambda: (Sample(args=(wrap(np.array([3.0, 10.0])), wrap(np.array([0.25, 1.0])))),),
)
declare(
    "aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
    kernel=standard_gamma_kernel,
    family="random",
    effect=Effect.RANDOM,
    dtype=same_dtype,
    shape=same_shape,
    is_method=False,
    doc="Gamma numbers of scale 1 with each element as their shape.",
    samples=lambda: (Sample(args=(wrap(np.array([0.5, 1.0, 20.0])),)),),
)

for _name, _kernel in (("rand", _rand_out), ("randn", _randn_out)):
    declare_out_of_constructor(
        f"aten::{_name}.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", _kernel, Effect.RANDOM
    )
    declare_out_of_constructor(
        f"aten::{_name}.generator_out(SymInt[] size, *, {_GENERATOR}, Tensor(a!) out) -> Tensor(a!)",
        _kernel,
        Effect.RANDOM,
    )
declare_out_of_constructor(
    "aten::randint.out(SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", randint_kernel, Effect.RANDOM
)
declare_out_of_constructor(
    "aten::randint.low_out(SymInt low, SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
    _randint_low,
    Effect.RANDOM,
)
declare_out_of_constructor(
    "aten::randperm.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", randperm_kernel, Effect.RANDOM
)
