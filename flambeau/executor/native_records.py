"""What is kept on disk of a plan's native functions: all that a call needs beside the plan's graph."""

from __future__ import annotations

from flambeau.codegen.graph.native import Linkage
from flambeau.codegen.graph.representation import Representation
from flambeau.codegen.kept_codes import KeptCodes
from flambeau.codegen.launch_image import LaunchImage
from flambeau.codegen.llvm.loader import Prelinked
from flambeau.schema.types import Type
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Looks:
    """What is known of a graph without looking at it."""

    has_loop: bool
    """Whether it may take long: it has a loop, or calls a function that calls itself."""
    types: tuple[Type, ...]
    """Of the parameters."""
    written: tuple[int, ...]
    """The parameters through which tensors are written."""


@dataclass(frozen=True, slots=True)
class KeptNative:
    """A native function for tensors that lie in memory in one way."""

    density: tuple[bool, ...]
    parameters: tuple[Representation, ...]
    linkage: Linkage
    key: str
    """Under which the cache has its code."""
    image: Prelinked | None
    """The code as it lies in memory; None where our own linker does not know it."""
    groups: tuple[str, ...]
    """The groups that it runs by their launches, in the order of the linkage."""


@dataclass(frozen=True, slots=True)
class KeptGraph:
    """What a plan's calls need."""

    threads: int
    looks: Looks
    natives: tuple[KeptNative, ...]
    launches: LaunchImage
    """Of its groups, for the calls that came."""
    codes: KeptCodes
