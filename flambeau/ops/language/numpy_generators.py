"""Generators of NumPy that programs make, `np.random.default_rng(seed)`: the same numbers as outside of programs.

A generator is a tensor of two words, the addresses of NumPy's generator of bits and of its state: native code that
draws from it, and NumPy's own functions, go through one sequence.

>>> words = _generator(5)
>>> _draw_one("random", words) == np.random.default_rng(5).random()
True
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from flambeau.ops.language.declare import declare
from flambeau.ops.language.numpy_random import COUNTS as COUNTS_OF_TWISTER
from flambeau.ops.language.numpy_random import FLOATS as FLOATS_OF_TWISTER
from flambeau.ops.language.numpy_random import arguments_of, of_size
from flambeau.schema.dtype import float64, int64
from flambeau.schema.opdef import Effect
from flambeau.tensor.tensor import Tensor, wrap

FLOATS: Final = {"random": (), **{name: of for name, of in FLOATS_OF_TWISTER.items() if name != "random_sample"}}
"""Methods that draw floats, with their parameters but `size`."""
COUNTS: Final = COUNTS_OF_TWISTER
"""The methods that draw ints."""


MULTIPLIER: Final = 2549297995355413924 << 64 | 4865540595714422341
"""By which PCG64 multiplies its state in each step (O'Neill 2014)."""


class _Words(ctypes.Structure):
    """The words of a generator, which they keep alive."""

    _fields_ = (("bits", ctypes.c_int64), ("state", ctypes.c_int64))
    generator: np.random.Generator


_generators: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The words of generators, by where they lie."""


def _generator(seed: int | None) -> Tensor:
    generator = np.random.default_rng(seed)
    interface: Any = generator.bit_generator.ctypes
    state = ctypes.c_int64.from_address(interface.state_address).value
    words = _Words(interface.bit_generator.value, state)
    words.generator = generator
    _generators[ctypes.addressof(words)] = words
    memory: Any = words
    return wrap(np.frombuffer(memory, dtype=np.int64))


@functools.cache
def has_plain_state() -> bool:
    """Whether the state of a generator is four words, the number and what is added to it in each step, the lower half
    of each first.
    """
    words = _generator(1)
    known = _generator_of(words).bit_generator.state["state"]
    plain = (ctypes.c_uint64 * 4).from_address(int(words._array[1]))
    return (plain[0] | plain[1] << 64, plain[2] | plain[3] << 64) == (known["state"], known["inc"])


def _generator_of(words: Tensor) -> Any:
    return _generators[words._array.__array_interface__["data"][0]].generator


def _draw(words: Tensor, name: str, parameters: Sequence[float], size: Sequence[int] | None = None) -> Any:
    if name not in FLOATS and name not in COUNTS:  # code of archives may say anything
        raise ValueError(f"generators of NumPy have no distribution {name!r}")
    draw = getattr(_generator_of(words), name)
    return draw(*arguments_of(name, parameters), size=None if size is None else tuple(size))


def _draw_one(name: str, words: Tensor, *parameters: float) -> float:
    return float(_draw(words, name, parameters))


def _count(name: str, words: Tensor, *parameters: float) -> int:
    return int(_draw(words, name, parameters))


def _array(words: Tensor, name: str, parameters: Sequence[float], size: Sequence[int]) -> Tensor:
    return wrap(np.asarray(_draw(words, name, parameters, size)))


def _integer(words: Tensor, low: int, high: int) -> int:
    return int(_generator_of(words).integers(low, high))


def _integers(words: Tensor, low: int, high: int, size: Sequence[int]) -> Tensor:
    return wrap(np.asarray(_generator_of(words).integers(low, high, tuple(size))))


def _shuffle(words: Tensor, x: Tensor) -> None:
    _generator_of(words).shuffle(x._array)


def _permutation(words: Tensor, x: Tensor) -> Tensor:
    return wrap(np.asarray(_generator_of(words).permutation(x._array)))


def _place(words: Tensor, n: int, p: Tensor | None) -> int:
    return int(_generator_of(words).choice(n, p=None if p is None else p._array))


def _places(words: Tensor, n: int, size: Sequence[int], replace: bool, p: Tensor | None) -> Tensor:
    of = None if p is None else p._array
    return wrap(np.asarray(_generator_of(words).choice(n, tuple(size), replace, of)))


declare(
    "python::np_generator(int? seed) -> Tensor", _generator, effect=Effect.WORLD, dtype=lambda _: int64,
    shape=lambda _: (2,),
)  # fmt: skip
for _names, _kind, _function in ((FLOATS, "float", _draw_one), (COUNTS, "int", _count)):
    for _name, _parameters in _names.items():
        _own = "".join(f", float {p.partition('=')[0]}" for p in _parameters)
        declare(
            f"python::generator_{_name}(Tensor(a!) words{_own}) -> {_kind}", functools.partial(_function, _name),
            effect=Effect.WORLD,
        )  # fmt: skip
for _kind, _dtype in (("floats", float64), ("ints", int64)):
    declare(
        f"python::generator_{_kind}(Tensor(a!) words, str name, float[] parameters, int[] size) -> Tensor", _array,
        effect=Effect.WORLD, dtype=lambda *_, _dtype=_dtype: _dtype,
        shape=lambda words, name, parameters, size: of_size(size),
    )  # fmt: skip
declare(
    "python::generator_integer(Tensor(a!) words, int low, int high) -> int", _integer,
    effect=Effect.WORLD,
)  # fmt: skip
declare(
    "python::generator_integers(Tensor(a!) words, int low, int high, int[] size) -> Tensor", _integers,
    effect=Effect.WORLD, dtype=lambda *_: int64, shape=lambda words, low, high, size: of_size(size),
)  # fmt: skip
declare("python::generator_shuffle(Tensor(a!) words, Tensor(b!) x) -> ()", _shuffle, effect=Effect.WORLD)
declare(
    "python::generator_permutation(Tensor(a!) words, Tensor x) -> Tensor", _permutation, effect=Effect.WORLD,
    dtype=lambda words, x: x.dtype, shape=lambda words, x: x.sizes,
)  # fmt: skip
declare("python::generator_place(Tensor(a!) words, int n, Tensor? p) -> int", _place, effect=Effect.WORLD)
declare(
    "python::generator_places(Tensor(a!) words, int n, int[] size, bool replace, Tensor? p) -> Tensor", _places,
    effect=Effect.WORLD, dtype=lambda *_: int64, shape=lambda words, n, size, replace, p: of_size(size),
)  # fmt: skip
