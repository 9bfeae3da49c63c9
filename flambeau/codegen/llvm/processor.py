"""A kind of processor to make native code for, and the levels of x86-64.

A level is what the x86-64 psABI calls so: a set of instructions that every processor of it has. Whatever depends on the
processor (vectors, registers, vector functions, tiles of products, keys of the cache) follows from the one description.
"""

from __future__ import annotations

import hashlib

from flambeau.codegen.llvm.emitter import Target
from flambeau.util.cached import cached_property
from flambeau.util.record import dataclass

_V2 = frozenset({"cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"})
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
LEVELS = {"x86-64": frozenset[str](), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""Levels, the least first, and what their processors have beyond the first, named as LLVM does."""


@dataclass(frozen=True)
class Processor:
    """A kind of processor to make code for, and to run it on."""

    triple: str
    cpu: str
    """As LLVM names it: a processor's own name, or a level."""
    features: str
    """As LLVM writes them: +avx2,-sse4a,..."""
    is_chosen: bool = False
    """Whether `FLAMBEAU_CPU` chose it, instead of this machine's own."""

    @cached_property
    def _present(self) -> frozenset[str]:
        return frozenset(f[1:] for f in self.features.split(",") if f.startswith("+"))

    def has(self, feature: str) -> bool:
        """Whether the processor has a feature, named as LLVM does."""
        return feature in self._present

    @property
    def level(self) -> str | None:
        """The highest level whose instructions the processor has; None for what is no x86-64."""
        if not self.triple.startswith("x86_64"):
            return None
        return next(name for name in reversed(LEVELS) if LEVELS[name] <= self._present)

    @property
    def identity(self) -> str:
        """All that makes a difference to code, in one line."""
        return f"{self.triple} {self.cpu} {self.features}"

    @cached_property
    def name(self) -> str:
        """A level, or a processor's name with its features as a number, since some machines turn features off."""
        if self.is_chosen:
            return self.cpu
        return f"{self.cpu}-{hashlib.sha256(self.identity.encode()).hexdigest()[:8]}"

    @cached_property
    def target(self) -> Target:
        """What the generators of LLVM text may assume of it."""
        is_arm = self.triple.startswith(("aarch64", "arm64"))
        wide = self.has("avx512f") and self.has("avx512dq")
        return Target(
            vector_bits=512 if wide else 256 if self.has("avx2") else 128,
            has_scalef=wide,
            table_lanes=16 if wide else 8 if self.has("avx2") else 0,
            has_fma=is_arm or self.has("fma"),
            adds_pairs=self.triple.startswith("x86_64"),
            adds_bytes=wide and self.has("avx512vnni"),
            has_masks=wide and self.has("avx512bw") and self.has("avx512vl"),
            vector_registers=32 if wide or is_arm else 16,
            converted_halves=("float16",) if is_arm or self.has("f16c") else (),
        )


def level_of(level: str, triple: str) -> Processor:
    """The description of any processor of a level."""
    return Processor(triple, level, ",".join(f"+{f}" for f in sorted(LEVELS[level])), is_chosen=True)
