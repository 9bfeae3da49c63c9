"""What this machine is in LLVM's words, remembered on disk so that code from the cache runs without loading LLVM.

FLAMBEAU_CPU=x86-64-v3      code for any processor of a level: SSE4.2 (v2), AVX2 and FMA (v3), AVX-512 (v4)
FLAMBEAU_CPU=host           code for all that this processor has, as without the variable
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from typing import Any

from flambeau.codegen.llvm.object_cache import ObjectCache, key_of, object_cache
from flambeau.codegen.llvm.processor import LEVELS, Processor, level_of
from flambeau.util.locks import NoForkLock

_LIBRARY = {"darwin": "libllvmlite.dylib", "win32": "llvmlite.dll"}.get(sys.platform, "libllvmlite.so")
_DISTINGUISHED_BY = (
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features",
)  # fmt: skip
"""Lines of /proc/cpuinfo that tell processors apart; others change while a machine runs."""


VARIABLE = "FLAMBEAU_CPU"
HOST = "host"


class ProcessorError(ValueError):
    """`FLAMBEAU_CPU` names what is no level, or one that this machine does not have."""


@cache
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
    """What tells one LLVM from another without loading it: size and age of the library's file."""
    library = _library()
    if library is not None:
        file = os.stat(library)
        return f"llvmlite {file.st_size} {file.st_mtime_ns}"
    with NoForkLock():
        import llvmlite
        import llvmlite.binding as llvm

        return f"llvmlite {llvmlite.__version__} LLVM {llvm.llvm_version_info}"


@cache
def _library() -> str | None:
    """The file of the library; None where it cannot be found without loading it."""
    try:
        spec = importlib.util.find_spec("llvmlite")
    except (ImportError, ValueError):
        return None
    folder = None if spec is None or spec.origin is None else os.path.dirname(spec.origin)
    path = "" if folder is None else os.path.join(folder, "binding", _LIBRARY)
    return path if os.path.isfile(path) else None


def chosen_processor() -> Processor:
    """The processor that the environment says to make code for. Raises ProcessorError."""
    return processor_of(os.environ.get(VARIABLE, "") or HOST)


def processor_of(name: str) -> Processor:
    """Any processor of a level, or this machine's for "host". Raises ProcessorError for what this one could not run."""
    host = this_host()
    if name == HOST:
        return host
    if name not in LEVELS:
        raise ProcessorError(
            f"{VARIABLE}={name!r} names no level: expected {', '.join(LEVELS)} or {HOST}; "
            "unset it to use all that this processor has"
        )
    if host.level is None:
        machine = host.triple.partition("-")[0]
        raise ProcessorError(f"{VARIABLE}={name!r} cannot be used on {machine}: it names a level of x86-64; unset it")
    missing = sorted(feature for feature in LEVELS[name] if not host.has(feature))
    if missing:
        raise ProcessorError(
            f"{VARIABLE}={name!r} cannot be used: this processor ({host.cpu}) has no {', '.join(missing)}; "
            f"expected {host.level} or less, or unset it to use all that this processor has"
        )
    return level_of(name, host.triple)


def this_host() -> Processor:
    """This machine with all that it has, from the cache where it is known to be the same."""
    identity = _identity()
    cache = object_cache()
    if identity is None or cache is None:
        return _ask()
    key = _key(identity)
    if (cache.path, key) not in _known:
        _known[cache.path, key] = _remembered(cache, key)
    return _known[cache.path, key]


_known: dict[tuple[str, str], Processor] = {}
"""This machine by the directory of the cache and the key in it."""


def _remembered(cache: ObjectCache, key: str) -> Processor:
    """What the cache says of this machine, which it is told now if it does not know it."""
    known = (cache.load(key, HOST) or b"").decode(errors="replace").split("\n")
    if len(known) == 3:
        triple, cpu, features = known
        return Processor(triple, cpu, features)
    processor = _ask()
    cache.store(key, "\n".join((processor.triple, processor.cpu, processor.features)).encode(), HOST)
    return processor


def is_remembered() -> bool:
    """Whether the cache knows this machine, so that nobody need ask LLVM."""
    identity, cache = _identity(), object_cache()
    return identity is not None and cache is not None and cache.has(_key(identity))


@cache
def _key(identity: str) -> str:
    return key_of("host", llvm_version(), identity)


def _ask() -> Processor:
    with NoForkLock():
        import llvmlite.binding as llvm

        return Processor(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def _identity() -> str | None:
    """A text that no other kind of processor has; None where there is none at hand.

    The system's description is that of the machine. A process under an emulator has another processor, which NumPy
    has asked itself.
    """
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
    fields = {name.strip(): value.strip() for name, _, value in lines}
    if "flags" not in fields and "Features" not in fields:
        return None
    lines_apart = [f"{name}: {fields.get(name, '')}" for name in _DISTINGUISHED_BY]
    return "\n".join([*lines_apart, f"seen by NumPy: {_seen_by_numpy()}"])


def _seen_by_numpy() -> str:
    umath: Any = importlib.import_module("numpy._core._multiarray_umath")
    features: dict[str, bool] = getattr(umath, "__cpu_features__", {})
    return " ".join(name for name, is_there in features.items() if is_there)
