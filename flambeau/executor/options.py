"""How one function is to be run. Belongs to the function; nothing here is process-global."""

from __future__ import annotations

from typing import Literal

from flambeau.codegen.choices import Choices
from flambeau.util.record import dataclass

BackendName = Literal["native", "interpreter", "reference"]
LLVM = "llvm"
CUDA_GRAPHS = "cuda_graphs"
FUSING = frozenset({"fuse", "fuse_alone", "fuse_products", "fuse_routines"})
FOR_NATIVE_CODE = FUSING | {"separate_ways"}
"""Passes that other backends have no use for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Choices of `flambeau.script`."""

    backend: BackendName = "native"
    """native: fused groups and whole graphs as machine code. interpreter: bytecode alone. reference: the slow, obvious
    evaluator that defines the meaning."""
    without: frozenset[str] = frozenset()
    """Passes to leave out, by name; `llvm` stands for those that LLVM runs over whole graphs, `cuda_graphs` for the
    replay of calls on devices as CUDA graphs."""
    verify: bool = False
    """Check the graph after every pass."""
    num_threads: int | None = None
    """Threads that one kernel may use, the caller's included; None: as `set_num_threads` says."""
    fastmath: bool = False
    """Let native code regroup the arithmetic of floats: sums in any order, reciprocals, fused multiply-adds."""
    tiered: bool = True
    """Let a long program answer its first call as it is written, before a plan is made."""
    max_plans: int = 16
    """Specialisations kept; the one unused for longest goes first."""

    def __post_init__(self) -> None:
        if self.backend not in ("native", "interpreter", "reference"):
            raise ValueError(f"backend is 'native', 'interpreter' or 'reference', not {self.backend!r}")
        for name in ("num_threads", "max_plans"):
            count = getattr(self, name)
            if count is None and name == "num_threads":
                continue
            if isinstance(count, bool) or not isinstance(count, int):
                raise TypeError(f"{name} must be an int, not {type(count).__name__}: {count!r}")
            if count < 1:
                raise ValueError(f"{name} must be at least 1, not {count}")

    @property
    def choices(self) -> Choices:
        """What native code is made by."""
        return Choices(self.num_threads, self.fastmath, LLVM not in self.without)

    @property
    def passes_left_out(self) -> frozenset[str]:
        """Passes over graphs that are not run."""
        return (self.without - {LLVM, CUDA_GRAPHS}) | (frozenset() if self.backend == "native" else FOR_NATIVE_CODE)
