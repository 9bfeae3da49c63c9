"""Random numbers: generators with PyTorch's interface, and its numbers: see `random_draws`.

>>> g = Generator().manual_seed(3)
>>> g.initial_seed()
3
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from typing import Any

import numpy as np

from flambeau.schema.device import CPU, Device
from flambeau.schema.dtype import uint8
from flambeau.tensor.array_library import is_on_device
from flambeau.tensor.device_draws import DeviceDraws
from flambeau.tensor.mersenne_twister import LOW_64, STATE_BYTES, MersenneTwister
from flambeau.tensor.random_draws import Draws
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.locks import NoForkLock

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip

NO_SEED = "manual_seed expected a long, but got {kind}"


class SeedError(RuntimeError, ValueError, TypeError):
    """Raised for what is no seed."""


class Generator:
    """A source of random numbers that several threads may share: draw while holding `lock`.

    Args:
        device: "cpu".

    >>> import flambeau
    >>> source = flambeau.Generator().manual_seed(0)
    >>> flambeau.rand(2, generator=source).shape
    flambeau.Size([2])
    """

    __slots__ = ("_rng", "_seed", "device", "lock")

    def __init__(self, device: Device | str = CPU) -> None:
        self.device = Device(device) if isinstance(device, str) else device
        self.lock = NoForkLock()
        self._rng: Draws | None = None
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Begin the stream of this seed (any signed or unsigned 64-bit number) and return the generator.

        Raises RuntimeError, which is a ValueError too, for another one.
        """
        try:
            seed = index(seed)
        except TypeError:
            raise SeedError(NO_SEED.format(kind=type(seed).__name__)) from None
        if not -(1 << 63) <= seed <= LOW_64:
            raise SeedError(f"Overflow when unpacking long long: a seed has 64 bits, got {seed}")
        with self.lock:
            self._seed = seed & LOW_64
            if self._rng is not None:
                self._rng.engine.begin(seed)
        return self

    def seed(self) -> int:
        """Begin the stream of a seed nobody chose, and return that seed."""
        seed = int.from_bytes(os.urandom(8)) >> 1
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed of the current stream."""
        return self._seed

    @property
    def rng(self) -> Draws:
        """What draws; hold `lock` meanwhile. It is made late, since `numpy.random` takes long to load."""
        with self.lock:
            if self._rng is None:
                self._rng = Draws(MersenneTwister(self._seed))
            return self._rng

    def position(self) -> bytes:
        """Where in the stream the generator is: equal positions draw equal numbers."""
        with self.lock:
            return self.rng.engine.to_bytes()

    def get_state(self) -> Tensor:
        """Where in the stream the generator is, for `set_state`: bytes that can be saved as any tensor."""
        return wrap(np.frombuffer(bytearray(self.position()), np.uint8))

    def set_state(self, state: Tensor) -> Generator:
        """Go back to a state from `get_state`.

        Raises TypeError for what is no tensor of bytes, RuntimeError for bytes that are no state.
        """
        if not isinstance(state, Tensor) or state.dtype is not uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, as get_state() gives it, not {_kind(state)}")
        packed = state.numpy().tobytes()
        if len(packed) != STATE_BYTES:
            raise RuntimeError(
                f"RNG state is wrong size: expected {STATE_BYTES} bytes from get_state(), got {len(packed)}"
            )
        engine = MersenneTwister.from_bytes(packed)
        with self.lock:
            self._seed, self._rng = engine.seed, Draws(engine)
        return self

    def clone_state(self) -> Generator:
        """A generator that will draw the same numbers."""
        return Generator(self.device).set_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (str(self.device), self.get_state()))


def _kind(state: Any) -> str:
    return f"a tensor of {state.dtype}" if isinstance(state, Tensor) else type(state).__name__


def _restore(device: str, state: Tensor) -> Generator:
    return Generator(device).set_state(state)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Begin the default generator's stream of this seed.

    Args:
        seed: an int of 64 bits.

    >>> import flambeau
    >>> _ = flambeau.manual_seed(7)
    >>> first = flambeau.rand(2)
    >>> _ = flambeau.manual_seed(7)
    >>> bool((flambeau.rand(2) == first).all())
    True
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Begin the stream of a seed that nobody chose, everywhere where `manual_seed` does, and return that seed.

    >>> seed() == initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator.

    >>> import flambeau
    >>> _ = flambeau.manual_seed(7)
    >>> flambeau.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator: bytes, which go into checkpoints as other tensors do.

    >>> import flambeau
    >>> state = flambeau.get_rng_state()
    >>> first = flambeau.rand(2)
    >>> flambeau.set_rng_state(state)
    >>> bool((flambeau.rand(2) == first).all())
    True
    """
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Put the default generator back into a state from `get_rng_state`.

    Args:
        state: what `get_rng_state` gave.

    >>> import flambeau
    >>> flambeau.set_rng_state(flambeau.get_rng_state())
    """
    default_generator.set_state(state)


@contextmanager
def fork_rng(devices: object = None, enabled: bool = True) -> Iterator[None]:
    """Within the block the default generator draws what it would draw; behind it, it is where it was before.

    Args:
        devices: accepted, without effect: there is one generator, of the CPU.
        enabled: False for a block that changes nothing.

    >>> import flambeau
    >>> with flambeau.random.fork_rng():
    ...     inside = flambeau.rand(2)
    >>> bool((flambeau.rand(2) == inside).all())
    True
    """
    before = default_generator.get_state()
    try:
        yield
    finally:
        if enabled:
            default_generator.set_state(before)


class _Drawing:
    """A block in which one thread draws from a generator."""

    __slots__ = ("_source",)

    def __init__(self, source: Generator) -> None:
        self._source = source

    def __enter__(self) -> Draws:
        source = self._source
        source.lock.__enter__()
        try:
            rng = source._rng or source.rng
            return DeviceDraws(rng) if is_on_device() else rng  # type: ignore[return-value]
        except BaseException:
            source.lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._source.lock.release()


def drawing(generator: Generator | None = None) -> _Drawing:
    """What draws from `generator` (the default one if None), for this thread alone while the block runs.

    >>> with drawing() as rng:
    ...     rng.random(2).shape
    (2,)
    """
    return _Drawing(default_generator if generator is None else generator)
