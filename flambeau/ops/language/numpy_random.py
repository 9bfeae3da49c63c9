"""Random numbers of NumPy's own generator, `np.random.normal()` and its like: the same numbers as outside of programs.

They move the process's generator, in the order in which the program draws. Those of this package (`flambeau.rand`) come
from a generator of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from flambeau.ops.language.declare import declare
from flambeau.schema.dtype import float64, int64
from flambeau.schema.opdef import Effect
from flambeau.schema.traits import Traits
from flambeau.tensor.tensor import Tensor, wrap

FLOATS: Final[dict[str, tuple[str, ...]]] = {
    "random_sample": (), "standard_normal": (), "standard_exponential": (), "standard_cauchy": (),
    "uniform": ("low=0", "high=1"), "normal": ("loc=0", "scale=1"), "exponential": ("scale=1",),
    "gamma": ("shape", "scale=1"), "standard_gamma": ("shape",), "beta": ("a", "b"), "chisquare": ("df",),
    "lognormal": ("mean=0", "sigma=1"), "laplace": ("loc=0", "scale=1"), "logistic": ("loc=0", "scale=1"),
    "gumbel": ("loc=0", "scale=1"), "triangular": ("left", "mode", "right"), "weibull": ("a",), "pareto": ("a",),
    "power": ("a",), "rayleigh": ("scale=1",), "standard_t": ("df",), "vonmises": ("mu", "kappa"),
    "wald": ("mean", "scale"), "f": ("dfnum", "dfden"), "noncentral_chisquare": ("df", "nonc"),
    "noncentral_f": ("dfnum", "dfden", "nonc"),
}  # fmt: skip
"""Functions that draw floats, with their parameters but `size`."""
COUNTS: Final[dict[str, tuple[str, ...]]] = {
    "poisson": ("lam=1",), "binomial": ("n", "p"), "geometric": ("p",), "negative_binomial": ("n", "p"),
    "zipf": ("a",), "logseries": ("p",), "hypergeometric": ("ngood", "nbad", "nsample"),
}  # fmt: skip
"""The functions that draw ints, with their parameters."""


_WHOLE: Final = frozenset({("binomial", "n"), *(("hypergeometric", own) for own in COUNTS["hypergeometric"])})
"""Parameters that are ints."""


def arguments_of(name: str, parameters: Sequence[float]) -> list[float]:
    """What NumPy's function is called with, but for the size."""
    names = FLOATS.get(name) or COUNTS.get(name, ())
    return [int(p) if (name, own) in _WHOLE else p for own, p in zip(names, parameters, strict=True)]


def _draw(name: str, parameters: Sequence[float], size: Sequence[int] | None = None) -> Any:
    if name not in FLOATS and name not in COUNTS:  # code of archives may say anything
        raise ValueError(f"np.random has no distribution {name!r}")
    return getattr(np.random, name)(*arguments_of(name, parameters), size=None if size is None else tuple(size))


def _draw_one(name: str, *parameters: float) -> float:
    return float(_draw(name, parameters))


def _array(name: str, parameters: Sequence[float], size: Sequence[int]) -> Tensor:
    return wrap(np.asarray(_draw(name, parameters, size)))


def _integers(low: int, high: int, size: Sequence[int]) -> Tensor:
    return wrap(np.random.randint(low, high, tuple(size), dtype=np.int64))


def _permutation(x: Tensor) -> Tensor:
    return wrap(np.asarray(np.random.permutation(x._array)))


def _shuffle(x: Tensor) -> None:
    np.random.shuffle(x._array)


def _places(n: int, size: Sequence[int], replace: bool, p: Tensor | None) -> Tensor:
    return wrap(np.asarray(np.random.choice(n, tuple(size), replace, None if p is None else p._array)))


def _place(n: int, p: Tensor | None) -> int:
    return int(np.random.choice(n, p=None if p is None else p._array))


def _counts(n: int, pvals: Tensor, size: Sequence[int]) -> Tensor:
    return wrap(np.asarray(np.random.multinomial(n, pvals._array, tuple(size))))


def of_size(size: Any) -> Any:
    """The sizes that an argument says; None where it says nothing."""
    return tuple(n if isinstance(n, int) else None for n in size) if isinstance(size, list | tuple) else None


declare(
    "python::np_random_float(str name, float[] parameters) -> float", lambda name, p: float(_draw(name, p)),
    effect=Effect.WORLD,
)  # fmt: skip
declare(
    "python::np_random_int(str name, float[] parameters) -> int", lambda name, p: int(_draw(name, p)),
    effect=Effect.WORLD,
)  # fmt: skip
declare(
    "python::np_random_floats(str name, float[] parameters, int[] size) -> Tensor", _array, effect=Effect.WORLD,
    dtype=lambda *_: float64, shape=lambda name, parameters, size: of_size(size),
    traits=Traits(draws_normals=True),
)  # fmt: skip
declare(
    "python::np_random_ints(str name, float[] parameters, int[] size) -> Tensor", _array, effect=Effect.WORLD,
    dtype=lambda *_: int64, shape=lambda name, parameters, size: of_size(size),
)  # fmt: skip
declare(
    "python::np_random_integer(int low, int high) -> int", lambda low, high: int(np.random.randint(low, high)),
    effect=Effect.WORLD,
)  # fmt: skip
declare(
    "python::np_random_integers(int low, int high, int[] size) -> Tensor", _integers, effect=Effect.WORLD,
    dtype=lambda *_: int64, shape=lambda low, high, size: of_size(size),
)  # fmt: skip
declare("python::np_random_double() -> float", lambda: np.random.random_sample(), effect=Effect.WORLD)
for _name, _parameters in (("uniform", "float low, float high"), ("normal", "float loc, float scale"),
                           ("exponential", "float scale")):  # fmt: skip
    declare(
        f"python::np_random_{_name}({_parameters}) -> float", partial(_draw_one, _name), effect=Effect.WORLD,
        traits=Traits(draws_normals=_name == "normal"),
    )  # fmt: skip
declare(
    "python::np_random_seed(int seed) -> ()", lambda seed: np.random.seed(seed), effect=Effect.WORLD,
    traits=Traits(draws_normals=True),
)  # fmt: skip
declare("python::np_random_shuffle(Tensor(a!) x) -> ()", _shuffle, effect=Effect.WORLD)
declare(
    "python::np_random_permutation(Tensor x) -> Tensor", _permutation, effect=Effect.WORLD,
    dtype=lambda x: x.dtype, shape=lambda x: x.sizes,
)  # fmt: skip
declare(
    "python::np_random_places(int n, int[] size, bool replace, Tensor? p) -> Tensor", _places, effect=Effect.WORLD,
    dtype=lambda *_: int64, shape=lambda n, size, replace, p: of_size(size),
)  # fmt: skip
declare(
    "python::np_random_counts(int n, Tensor pvals, int[] size) -> Tensor", _counts, effect=Effect.WORLD,
    dtype=lambda *_: int64,
)  # fmt: skip
declare("python::np_random_place(int n, Tensor? p) -> int", _place, effect=Effect.WORLD)
