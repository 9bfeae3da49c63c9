"""Random numbers: generators with PyTorch's interface over NumPy's bit generators. The stream is our own.

>>> g = Generator().manual_seed(3)
>>> g.initial_seed()
3
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from struct import Struct
from typing import Any

import numpy as np

from flambeau.schema.device import CPU, Device
from flambeau.schema.dtype import uint8
from flambeau.tensor.array_library import is_on_device
from flambeau.tensor.device_draws import DeviceDraws
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.locks import NoForkLock

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip

NO_SEED = "manual_seed expected a long, but got {kind}"
_LOW_64 = (1 << 64) - 1
_STATE = Struct("<11Q3q")
"""A position: the seed, Philox's counter, key and words that were not taken, how many of them were, half a word."""


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
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Begin the stream of this seed (any signed or unsigned 64-bit number) and return the generator.

        Raises RuntimeError, which is a ValueError too, for another one.
        """
        try:
            seed = index(seed)
        except TypeError:
            raise SeedError(NO_SEED.format(kind=type(seed).__name__)) from None
        if not -(1 << 63) <= seed <= _LOW_64:
            raise SeedError(f"Overflow when unpacking long long: a seed has 64 bits, got {seed}")
        with self.lock:
            self._seed = seed & _LOW_64
            self._rng: np.random.Generator | None = None
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
    def rng(self) -> np.random.Generator:
        """NumPy's generator; hold `lock` while drawing. It is made late, since `numpy.random` takes long to load."""
        with self.lock:
            if self._rng is None:
                self._rng = np.random.Generator(np.random.Philox(self._seed))
            return self._rng

    def position(self) -> bytes:
        """Where in the stream the generator is: equal positions draw equal numbers."""
        with self.lock:
            state: Any = self.rng.bit_generator.state
            words = (*state["state"]["counter"], *state["state"]["key"], *state["buffer"])
            return _STATE.pack(self._seed, *words, state["buffer_pos"], state["has_uint32"], state["uinteger"])

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
        if len(packed) != _STATE.size:
            raise RuntimeError(
                f"RNG state is wrong size: expected {_STATE.size} bytes from get_state(), got {len(packed)}"
            )
        seed, *words, position, has_half, half = _STATE.unpack(packed)
        with self.lock:
            self.manual_seed(seed)
            self.rng.bit_generator.state = {
                "bit_generator": "Philox",
                "state": {"counter": np.array(words[:4], np.uint64), "key": np.array(words[4:6], np.uint64)},
                "buffer": np.array(words[6:], np.uint64),
                "buffer_pos": position, "has_uint32": has_half, "uinteger": half,
            }  # fmt: skip
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


@contextmanager
def drawing(generator: Generator | None = None) -> Iterator[np.random.Generator]:
    """NumPy's generator of `generator` (the default one if None), for this thread alone while the block runs."""
    source = default_generator if generator is None else generator
    with source.lock:
        yield DeviceDraws(source.rng) if is_on_device() else source.rng  # type: ignore[misc]
