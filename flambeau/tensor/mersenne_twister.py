"""The bits of random numbers: MT19937 (Matsumoto and Nishimura, 1998), seeded, cut and stored as PyTorch does it.

>>> words = MersenneTwister(7).words(2)
>>> [int(word) for word in words]
[327741615, 976413892]
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from flambeau.util.inversions import NATIVE_DRAWS

Array = np.ndarray[Any, Any]
LOW_64: Final = (1 << 64) - 1
_WORDS: Final = 624
"""Words of the state, which are made anew together."""
_FEW: Final = 1024
"""Up to so many words it is quicker to take 64 bits for each."""
_HEAD: Final = struct.Struct("<QiiQ")
"""The seed, how many words are left until the state is made anew (and one), whether it was seeded, the next word."""
_TAIL: Final = struct.Struct("<dddi4xfi")
"""A normal number that was drawn and not taken is the second, and whether there is one the fourth."""
STATE_BYTES: Final = _HEAD.size + 8 * _WORDS + _TAIL.size


class _Drawn:
    """How many numbers the process has drawn by NumPy's ways, and at how many somebody asks for native code next."""

    WITH_COMPILER: Final = 1 << 15
    """Numbers that take as long as loading the code, where the compiler is there; calls count as many more."""
    CALL: Final = 256
    WITHOUT: Final = 1 << 24
    """The same with the import of the compiler."""

    FEW: Final = 64
    """Numbers for which it takes longer to find out where a generator lies."""

    def __init__(self) -> None:
        self.count = 0
        self.next = self.WITH_COMPILER
        self.is_answered = False
        """Whether there is native code: each generator then asks once."""

    def is_time(self, count: int) -> bool:
        """Whether to ask, before so many more numbers."""
        self.count += count + self.CALL
        if self.is_answered:
            return count >= self.FEW
        if self.count < self.next or (self.count < self.WITHOUT and not NATIVE_DRAWS.is_provided):
            return False
        self.next = 2 * self.count
        return True


_drawn: Final = _Drawn()


class MersenneTwister:
    """A place in the stream of a seed, and the normal number that waits there: they are drawn two at a time."""

    __slots__ = ("_native", "bits", "generator", "normal", "seed")

    def __init__(self, seed: int) -> None:
        self.bits: Any = np.random.MT19937(0)
        self.generator = np.random.Generator(self.bits)
        self._native: Any = None
        self.begin(seed)

    def native(self, count: int) -> Any:
        """What draws so many numbers by native code, as `codegen.twister` does; None where NumPy does."""
        if self._native is None and _drawn.is_time(count):
            self._native = NATIVE_DRAWS.implementation(self.bits, _drawn.count)
            _drawn.is_answered = _drawn.is_answered or self._native is not None
        return self._native

    def begin(self, seed: int) -> None:
        """Go to where the stream of a seed begins."""
        self.seed = seed & LOW_64
        self.bits._legacy_seeding(self.seed & 0xFFFFFFFF)
        self.normal: float | None = None

    def words(self, count: int) -> Array:
        """The next words of 32 bits."""
        if count < _FEW:
            return np.asarray(self.bits.random_raw(count)).astype(np.uint32)
        return np.asarray(self.generator.integers(0, 1 << 32, count, dtype=np.uint32))

    def wide_words(self, count: int) -> Array:
        """The next words of 64 bits; the upper half is drawn first."""
        pairs = self.words(2 * count).astype(np.uint64).reshape(count, 2)
        return np.asarray((pairs[:, 0] << np.uint64(32)) | pairs[:, 1])

    def floats(self, count: int) -> Array:
        """Float32s uniform in [0, 1), of 24 bits."""
        native = self.native(count)
        if native is not None:
            return np.asarray(native.floats(count))
        words = self.words(count)
        words &= np.uint32(0xFFFFFF)
        numbers = words.view(np.int32).astype(np.float32)
        numbers *= np.float32(2.0**-24)
        return numbers

    def doubles(self, count: int) -> Array:
        """Float64s uniform in [0, 1), of 53 bits."""
        native = self.native(count)
        if native is not None:
            return np.asarray(native.doubles(count))
        pairs = self.words(2 * count).reshape(count, 2)
        numbers = (pairs[:, 0] & np.uint32(0x1FFFFF)).astype(np.float64)
        numbers *= 2.0**32
        numbers += pairs[:, 1]
        numbers *= 2.0**-53
        return numbers

    def to_bytes(self) -> bytes:
        """Where in the stream this is, as `torch.get_rng_state` writes it."""
        state = self.bits.state["state"]
        taken = int(state["pos"])
        is_fresh = taken == _WORDS and self.normal is None and int(state["key"][0]) == self.seed & 0xFFFFFFFF
        head = _HEAD.pack(self.seed, _WORDS + 1 - taken, 1, 0 if is_fresh else taken)
        tail = _TAIL.pack(0.0, self.normal or 0.0, 0.0, self.normal is not None, 0.0, 0)
        key: bytes = state["key"].astype("<u8").tobytes()
        return head + key + tail

    @classmethod
    def from_bytes(cls, packed: bytes) -> MersenneTwister:
        """What `to_bytes` or `torch.get_rng_state` wrote. Raises RuntimeError for bytes that are no state."""
        seed, left, is_seeded, _ = _HEAD.unpack_from(packed)
        key = np.frombuffer(packed, "<u8", _WORDS, _HEAD.size)
        _, normal, _, has_normal, _, _ = _TAIL.unpack_from(packed, len(packed) - _TAIL.size)
        if not 0 < left <= _WORDS + 1 or is_seeded != 1 or bool((key >> np.uint64(32)).any()):
            raise RuntimeError("Invalid mt19937 state: these bytes are none that get_state() gives")
        engine = cls(seed)
        engine.bits.state = {
            "bit_generator": "MT19937", "state": {"key": key.astype(np.uint32), "pos": _WORDS + 1 - left},
        }  # fmt: skip
        engine.normal = normal if has_normal else None
        return engine
