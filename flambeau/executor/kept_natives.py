"""The native functions of a plan, kept beside it in the cache on disk with the launches of its groups: a first call of
another process needs neither the plan's graph nor a kernel's, and finds every address by a key.

What is kept holds for the threads that launches were made for. A function that runs operators in Python, or calls what
is not in the cache, is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.codegen import threads
from flambeau.codegen.graph.native import NativeFunction
from flambeau.codegen.graph.representation import Array, Representation
from flambeau.codegen.inline_cache import MAX_CHAIN, Published
from flambeau.codegen.kept_codes import CodeWriter, NotKeptError
from flambeau.codegen.kept_launches import KeptLaunch, kept_launch
from flambeau.codegen.launch_image import ImageWriter, LaunchMemory
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.engine import engine
from flambeau.executor.compiled_graph import CompiledGraph, Density
from flambeau.executor.fused import FusedKernel, kernel_of
from flambeau.executor.native_records import KeptGraph, KeptNative
from flambeau.executor.plan_body import FUSION, name_of_group
from flambeau.executor.stored import CacheEntry
from flambeau.util import log

CUT: Final = "cut"
"""What is kept of a plan whose groups were cut when they first ran lies beside this."""
WRITES: Final = 4
"""How often what is new of a plan is written."""


class ReadNatives:
    """What was kept of a plan, taken up by this process."""

    def __init__(self, kept: KeptGraph) -> None:
        """Raises NotKeptError or NativeError where code is gone."""
        self._natives = kept.natives
        self.looks = kept.looks
        self.launches = LaunchMemory(kept.launches, kept.codes)

    def native(self, density: Density) -> KeptNative | None:
        """The function for tensors that lie like these."""
        return next((n for n in self._natives if n.density == density), None)


def read_natives(entry: CacheEntry, wanted_threads: int | None) -> tuple[CacheEntry, ReadNatives] | None:
    """What is kept beside the entry of a plan, and the entry of its graph; None where nothing is kept, or nothing that
    this process can take up."""
    beside = _beside(entry)
    if not beside.is_there():
        entry = entry.beside(CUT)
        beside = _beside(entry)
    kept = beside.read() if beside.is_there() else None
    if not isinstance(kept, KeptGraph) or kept.threads != threads.threads_for(wanted_threads):
        return None
    try:
        return entry, ReadNatives(kept)
    except (NotKeptError, NativeError) as error:
        if log.level("cache"):
            log.write("cache", f"the native function of a plan is made anew: {error}")
        return None


class NativesWriter:
    """Keeps the native functions of a plan that was made here, after calls that made new ones."""

    def __init__(self, entry: CacheEntry, wanted_threads: int | None) -> None:
        self.entry = entry
        """Where the plan lies, or would."""
        self._entry = entry
        self._threads = threads.threads_for(wanted_threads)
        self._writes = self._size = 0
        self._is_cut = False

    def cut(self) -> None:
        """Note that groups of the plan are others now than those of the graph on disk."""
        self._is_cut = True

    def write(self, compiled: CompiledGraph, kernels: Sequence[FusedKernel]) -> bool:
        """Keep what is new after a call of native code; whether something was."""
        size = len(compiled.variants_cache) + sum(len(k.inline_cache.published) for k in kernels)
        if size == self._size or self._writes == WRITES:
            return False
        self._size, self._writes = size, self._writes + 1
        try:
            kept = _kept(compiled, self._threads)
        except NotKeptError as reason:
            if log.level("cache"):
                log.write("cache", f"the native function of {compiled.name} is not kept: {reason}")
            return False
        if self._is_cut:
            self._entry = self._entry.beside(CUT)
            self._entry.keep(compiled.graph)
            self._is_cut = False
        _beside(self._entry).keep(kept)
        return True


def writer_for(entry: CacheEntry | None, wanted_threads: int | None) -> NativesWriter | None:
    """What keeps the native functions of a plan; None where nothing is kept of it."""
    return None if entry is None else NativesWriter(entry, wanted_threads)


def _beside(entry: CacheEntry) -> CacheEntry:
    return entry.beside("native")


def _kept(compiled: CompiledGraph, count: int) -> KeptGraph:
    names = {kernel_of(node): name_of_group(k) for k, node in enumerate(compiled.graph.find_all(FUSION))}
    natives = tuple([
        _kept_native(density, native, names)
        for density, native in compiled.variants_cache.items
        if isinstance(native, NativeFunction)
    ])  # fmt: skip
    called = {name for native in natives for name in native.groups}
    writer = CodeWriter()
    launches = ImageWriter()
    for kernel, name in names.items():
        if name in called:
            launches.add(name, kernel.inline_cache.most, _kept_launches(kernel, writer))
    return KeptGraph(count, compiled.looks, natives, launches.image(), writer.written())


def _kept_native(density: Density, native: NativeFunction, names: dict[FusedKernel, str]) -> KeptNative:
    text = native.emitted
    if text.operators or text.foreign or text.callees or not native.code.key:
        raise NotKeptError("it calls what is not in the cache")
    groups = tuple([names[kernel_of(exit_point.nodes[0])] for exit_point in text.groups])
    key = native.code.key
    return KeptNative(density, _shared(native.parameters), native.linkage, key, engine().arranged(key), groups)


def _shared(values: Sequence[Representation]) -> tuple[Representation, ...]:
    """The same with one object for all equal arrays: a model has hundreds of parameters, of a few kinds."""
    first: dict[Representation, Representation] = {}
    return tuple([first.setdefault(value, value) if isinstance(value, Array) else value for value in values])


def _kept_launches(kernel: FusedKernel, writer: CodeWriter) -> list[KeptLaunch]:
    published: list[Published] = kernel.inline_cache.published[:MAX_CHAIN]
    return [kept_launch(one, kernel.launch_again, writer) for one in published if one.launch.runs is not None]
