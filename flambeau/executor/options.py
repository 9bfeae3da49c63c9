"""How one function is to be run. Belongs to the function; nothing here is process-global."""

from __future__ import annotations

from typing import Literal

from flambeau.util.record import dataclass

BackendName = Literal["native", "interpreter", "reference"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Choices of `flambeau.script`."""

    backend: BackendName = "native"
    """native: fused groups as machine code, the rest interpreted. interpreter: bytecode alone. reference: the slow,
    obvious evaluator that defines the meaning."""
    without: frozenset[str] = frozenset()
    """Passes to leave out, by name."""
    verify: bool = False
    """Check the graph after every pass."""
    num_threads: int | None = None
    """Threads that one kernel may use, the caller's included; None: as `set_num_threads` says."""
    max_plans: int = 16
    """Specialisations kept; the one unused for longest goes first."""

    def __post_init__(self) -> None:
        if self.backend not in ("native", "interpreter", "reference"):
            raise ValueError(f"backend is 'native', 'interpreter' or 'reference', not {self.backend!r}")
        if self.num_threads is not None and self.num_threads < 1:
            raise ValueError(f"num_threads must be at least 1, not {self.num_threads}")
        if self.max_plans < 1:
            raise ValueError(f"max_plans must be at least 1, not {self.max_plans}")
