"""What this machine is in LLVM's words, remembered on disk so that code from the cache runs without loading LLVM."""

from __future__ import annotations

import os
import sys
from functools import cache

from flambeau.codegen.llvm.object_cache import key_of, object_cache
from flambeau.util.record import dataclass

_TOLD_APART_BY = (
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features",
)  # fmt: skip
"""Lines of /proc/cpuinfo that tell processors apart; others change while a machine runs."""


@dataclass(frozen=True, slots=True)
class Host:
    """A kind of machine to compile for."""

    triple: str
    cpu: str
    features: str
    """As LLVM writes them: +avx2,-sse4a,..."""

    def has(self, feature: str) -> bool:
        """Whether the processor has a feature, named as LLVM does."""
        return f"+{feature}" in self.features.split(",")


def is_installed() -> bool:
    """Whether LLVM can be loaded here; it is not loaded if the library is where it should be."""
    if _library() is not None:
        return True
    try:
        import llvmlite.binding  # noqa: F401
    except (ImportError, OSError):
        return False
    return True


@cache
def llvm_version() -> str:
    """What tells one LLVM from another without loading it: version of llvmlite, size and age of the library's file."""
    import llvmlite

    library = _library()
    if library is not None:
        found = os.stat(library)
        return f"llvmlite {llvmlite.__version__} {found.st_size} {found.st_mtime_ns}"
    import llvmlite.binding as llvm

    return f"llvmlite {llvmlite.__version__} LLVM {llvm.llvm_version_info}"


def _library() -> str | None:
    """The file of the library; None where it cannot be found without loading it."""
    try:
        import llvmlite
        from llvmlite.utils import get_library_name
    except ImportError:
        return None
    path = os.path.join(os.path.dirname(llvmlite.__file__), "binding", get_library_name())
    return path if os.path.isfile(path) else None


def this_host() -> Host:
    """This machine, from the cache where it is known to be the same."""
    identity = _identity()
    cache = object_cache()
    if identity is None or cache is None:
        return _ask()
    key = key_of("host", llvm_version(), identity)
    known = (cache.load(key) or b"").decode(errors="replace").split("\n")
    if len(known) == 3:
        return Host(*known)
    found = _ask()
    cache.store(key, "\n".join((found.triple, found.cpu, found.features)).encode())
    return found


def _ask() -> Host:
    import llvmlite.binding as llvm

    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def _identity() -> str | None:
    """A text that no other kind of processor has; None where there is none at hand."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        handle = os.open("/proc/cpuinfo", os.O_RDONLY)
    except OSError:
        return None
    try:
        # The first processor is enough: reading on takes time for each further one.
        first = os.read(handle, 1 << 14).partition(b"\n\n")[0].decode(errors="replace")
    finally:
        os.close(handle)
    lines = (line.partition(":") for line in first.splitlines())
    told = {name.strip(): value.strip() for name, _, value in lines}
    if "flags" not in told and "Features" not in told:
        return None
    return "\n".join(f"{name}: {told.get(name, '')}" for name in _TOLD_APART_BY)
