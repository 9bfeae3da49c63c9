"""LLVM text to an address: from the cache on disk, or compiled and kept there; linked by our own linker, or by LLVM's.

LLVM is loaded when something is first compiled, not before. Code lives as long as the ``NativeCode`` that owns it.
Compiling is serialised by a lock.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from flambeau.codegen.llvm import file_statuses, loader
from flambeau.codegen.llvm.arranged import arranged_of, written
from flambeau.codegen.llvm.c_memory import keep_what_is_freed
from flambeau.codegen.llvm.compiler import Compiler, NativeError
from flambeau.codegen.llvm.effort import is_hasty
from flambeau.codegen.llvm.emitted import KernelText, Needs, emitter_sources, needs_of, packed, unpacked
from flambeau.codegen.llvm.host import chosen_processor, is_installed, llvm_version
from flambeau.codegen.llvm.lanes import PREFIX
from flambeau.codegen.llvm.memory import ALLOCATE, FREE
from flambeau.codegen.llvm.native_text import NativeText
from flambeau.codegen.llvm.object_cache import ObjectCache, key_of, object_cache
from flambeau.codegen.llvm.object_file import NotLinkedError
from flambeau.codegen.llvm.processor import Processor
from flambeau.codegen.llvm.shared_entries import SharedEntries
from flambeau.util.locks import NoForkLock
from flambeau.util.progress import progress
from flambeau.util.record import dataclass, field
from flambeau.util.version import __version__


@dataclass(slots=True)
class NativeCode:
    """Linked code: addresses by symbol, and the owner that frees the code when this object goes."""

    addresses: dict[str, int]
    text: str
    object_bytes: int
    milliseconds: float
    is_from_cache: bool
    """Whether the object was found on disk."""
    owner: Any = field(repr=False)
    key: str = ""
    """Under which the cache on disk has the object; empty where it has not."""
    imports: tuple[str, ...] = ()
    """What it refers to elsewhere, for code that is no kernel."""


def available() -> bool:
    """Whether LLVM is installed here, so that there is native code.

    >>> available()
    True
    """
    return is_installed()


class Engine:
    """Compiles and links for one kind of processor, which code is run on: this machine's, or a lesser one of its kind.

    Raises ProcessorError if `FLAMBEAU_CPU` asks for what this machine cannot run.
    """

    def __init__(self, processor: Processor | None = None) -> None:
        self._lock = NoForkLock()
        self._compiler: Compiler | None = None
        self._shared: dict[tuple[str, str], SharedEntries] = {}
        self._at_hand: set[tuple[str, str, str]] = set()
        """Directory, identity and text of each code that the cache was seen to have."""
        self.processor = chosen_processor() if processor is None else processor
        self.target = self.processor.target
        self._identity = "\n".join((__version__, llvm_version(), self.processor.identity))

    @property
    def identity(self) -> str:
        """What code depends on beside its text."""
        return f"{self._identity}\nhasty" if is_hasty() else self._identity

    def link(
        self,
        text: str,
        exports: tuple[str, ...],
        imports: dict[str, int],
        *,
        is_glue: bool = False,
        optimise: bool = False,
        tidies: bool = False,
    ) -> NativeCode:
        """Compile and link ``text``; ``imports`` gives the address of every external symbol.

        Glue is compiled in a fifth of the time, and a call through it takes a few nanoseconds more. With ``optimise``,
        LLVM's passes run first: for scalar code, whose loops they turn into vectors. Both together mean code that every
        process needs: compiled as glue where the cache does not have it, and well at the end of the process, for the
        next ones. ``tidies`` has a few passes run, for functions that mostly call others. Raises ``NativeError``.
        """
        start = time.perf_counter()
        cache = object_cache()
        key = self._key(text, is_glue, optimise, tidies=tidies) if cache else ""
        content = cache.load(key, self.processor.name) if cache else None
        is_from_cache = content is not None
        if content is None:
            with self._lock, progress("making native code"):
                content = self._compiled(text, is_glue=is_glue, optimise=optimise and not is_glue, tidies=tidies)
            if cache and is_glue and optimise and not is_hasty():
                atexit.register(self._compile_well, cache, key, text)
            elif cache:
                cache.store(key, content, self.processor.name)
        addresses, owner = self._linked(content, exports, imports)
        spent = (time.perf_counter() - start) * 1e3
        return NativeCode(addresses, text, len(content), spent, is_from_cache, owner, key, tuple(imports))

    def link_entry(
        self,
        what: str,
        exports: tuple[str, ...],
        write: Callable[[], tuple[str, Sequence[str]]],
        addresses_of: Callable[[Sequence[str]], dict[str, int]],
        *,
        optimise: bool = True,
        is_glue: bool = True,
        is_shared: bool = True,
    ) -> NativeCode:
        """``link`` code for ``what`` a text says, without writing it where the cache has it: code that every process
        needs, or, unless `is_shared`, some do.

        ``write`` gives the text and the names of what it imports, ``addresses_of`` where these are by symbol. The cache
        notes for each such text under which key its code lies: with ``optimise`` that becomes better at the end of a
        process, unless it is no glue, which is compiled well at once.
        """
        start = time.perf_counter()
        cache = object_cache()
        path = self._entry_place(what) if cache else ""
        shared = self._shared_entries(cache) if cache and is_shared and loader.is_supported() else None
        entry = None if shared is None else shared.find(path)
        if entry is not None:
            image = loader.load(entry.arranged, [exports], [_finder(addresses_of(entry.names))])
            spent = (time.perf_counter() - start) * 1e3
            return NativeCode(image.addresses, "", len(entry.arranged.content), spent, True, image)
        note = _read_note(cache.load(path, self.processor.name)) if cache else None
        again = self._linked_again(cache, note[0], exports, addresses_of(note[1])) if cache and note else None
        if again is not None and note is not None:
            addresses, owner, size, arranged = again
            if shared is not None and arranged is not None:
                shared.add(path, note[1], arranged)
            return NativeCode(addresses, "", size, (time.perf_counter() - start) * 1e3, True, owner)
        text, names = write()
        if cache:
            cache.store(path, json.dumps([self._key(text, is_glue, optimise), *names]).encode(), self.processor.name)
        return self.link(text, exports, addresses_of(names), is_glue=is_glue, optimise=optimise)

    def _shared_entries(self, cache: ObjectCache) -> SharedEntries:
        """The code that every process needs, of this engine."""
        key = key_of(self.identity, "shared entries", emitter_sources())
        known = self._shared.get((cache.path, key))
        if known is None:
            known = self._shared.setdefault((cache.path, key), SharedEntries(cache, key, self.processor.name))
        return known

    def has_entry(self, what: str) -> bool:
        """Whether the cache has what ``link_entry`` would make."""
        cache = object_cache()
        if cache is None:
            return False
        note = _read_note(cache.load(self._entry_place(what), self.processor.name))
        return note is not None and cache.has(note[0])

    def _entry_place(self, what: str) -> str:
        """Where the cache notes under which key the code of an entry lies."""
        return key_of(self.identity, "entry", emitter_sources(), what)

    def link_kernel(
        self, what: str, symbol: str, emit: Callable[[], NativeText], imports: Callable[[Needs], dict[str, int]]
    ) -> tuple[KernelText, NativeCode]:
        """Link the function that ``emit`` writes for ``what`` a text says, without writing it where the cache has it.

        ``imports`` gives the address of every external symbol, for what the function needs. Raises ``NativeError``.
        """
        start = time.perf_counter()
        cache = object_cache()
        key = key_of(self.identity, "kernel", emitter_sources(), what) if cache else ""
        entry = cache.load(key, self.processor.name) if cache else None
        kept = None if entry is None else unpacked(entry)
        if kept is None:
            native = emit()
            needs, text = needs_of(native), native.text
            with self._lock, progress("making native code"):
                content = self._compiled(text)
            if cache:
                cache.store(key, packed(needs, content), self.processor.name)
            kernel = KernelText(symbol, needs, lambda: text)
        else:
            needs, content = kept
            kernel = KernelText(symbol, needs, lambda: emit().text)
        addresses, owner = self._linked(content, (symbol,), imports(needs))
        spent = (time.perf_counter() - start) * 1e3
        return kernel, NativeCode(addresses, "", len(content), spent, kept is not None, owner, key)

    def link_written(
        self, what: str, exports: tuple[str, ...], write: Callable[[], str], imports: dict[str, int]
    ) -> NativeCode:
        """``link`` the text that ``write`` gives for ``what`` a text says, without writing it where the cache has its
        code. ``write`` depends on ``what``, the processor and the sources of the emitter alone. Raises ``NativeError``.
        """
        start = time.perf_counter()
        cache = object_cache()
        if cache is None:
            return self.link(write(), exports, imports)
        key = self._written_key(what)
        again = self._linked_again(cache, key, exports, imports)
        if again is not None:
            addresses, owner, size, _ = again
        else:
            with self._lock, progress("making native code"):
                content = self._compiled(write())
            cache.store(key, content, self.processor.name)
            self._keep_arranged(cache, key, content)
            size = len(content)
            addresses, owner = self._linked(content, exports, imports)
        spent = (time.perf_counter() - start) * 1e3
        return NativeCode(addresses, "", size, spent, again is not None, owner, key, tuple(imports))

    def has_written(self, what: str) -> bool:
        """Whether the cache has what ``link_written`` would make, or had it when somebody asked before."""
        cache = object_cache()
        if cache is None:
            return False
        asked = cache.path, self.identity, what
        if asked not in self._at_hand:
            if not cache.has(self._written_key(what)):
                return False
            self._at_hand.add(asked)
        return True

    def _written_key(self, what: str) -> str:
        return key_of(self.identity, "written", emitter_sources(), what)

    def content(self, key: str, *, is_kernel: bool) -> bytes | None:
        """The object that the cache has under a key, `NativeCode.key` of any process; None where it has none."""
        cache = object_cache()
        content = None if cache is None else cache.load(key, self.processor.name)
        if content is None or not is_kernel:
            return content
        kept = unpacked(content)
        return None if kept is None else kept[1]

    def arranged(self, key: str) -> loader.Prelinked | None:
        """How the object that the cache has under a key lies in memory; None where it has none, or our own linker does
        not know it."""
        content = self.content(key, is_kernel=False)
        return None if content is None else _arranged(content)

    def link_arranged(
        self, key: str, arranged: loader.Prelinked, exports: tuple[str, ...], imports: dict[str, int]
    ) -> NativeCode:
        """Put into memory what `arranged` gave for a key, in this process or in another. Raises NativeError."""
        start = time.perf_counter()
        try:
            image = loader.load(arranged, [exports], [_finder(imports)])
        except NotLinkedError as error:
            raise NativeError(str(error)) from error
        spent = (time.perf_counter() - start) * 1e3
        return NativeCode(image.addresses, "", len(arranged.content), spent, True, image, key)

    def link_known(
        self, key: str, exports: tuple[str, ...], imports: dict[str, int], *, is_kernel: bool
    ) -> NativeCode | None:
        """Link what the cache has under a key; None where it has nothing."""
        start = time.perf_counter()
        content = self.content(key, is_kernel=is_kernel)
        if content is None:
            return None
        addresses, owner = self._linked(content, exports, imports)
        spent = (time.perf_counter() - start) * 1e3
        return NativeCode(addresses, "", len(content), spent, True, owner, key)

    def _compiled(self, text: str, *, is_glue: bool = False, optimise: bool = False, tidies: bool = False) -> bytes:
        is_short = is_hasty()
        optimise = optimise and not is_short
        return self._llvm().compile(text, is_glue=is_glue or is_short, optimise=optimise, tidies=tidies)

    def _key(self, text: str, is_glue: bool, optimise: bool, *, tidies: bool = False) -> str:
        return key_of(self.identity, f"glue={is_glue} optimise={optimise}{' tidied' * tidies}", text)

    def is_cached(self, text: str, *, is_glue: bool = False, optimise: bool = False) -> bool:
        """Whether the cache has what ``link`` would make."""
        cache = object_cache()
        return cache is not None and cache.has(self._key(text, is_glue, optimise))

    def _linked(self, content: bytes, exports: tuple[str, ...], imports: dict[str, int]) -> tuple[dict[str, int], Any]:
        if loader.is_supported():
            try:
                image = loader.link(content, exports, _finder(imports))
            except NotLinkedError:
                pass
            else:
                return image.addresses, image
        with self._lock:
            tracker = self._llvm().link(content, exports, imports)
        return {name: tracker[name] for name in exports}, tracker

    def _linked_again(
        self, cache: ObjectCache, key: str, exports: tuple[str, ...], imports: dict[str, int]
    ) -> tuple[dict[str, int], Any, int, loader.Prelinked | None] | None:
        """The addresses of what the cache has under a key, who owns the code, its size, and how it is arranged; None
        where there is nothing. That is kept beside it, so that the object is arranged once for all processes."""
        path = key_of(key, "arranged")
        kept = cache.load(path, self.processor.name) if loader.is_supported() and cache.has(path) else None
        arranged = None if kept is None else arranged_of(kept)
        if arranged is None:
            content = cache.load(key, self.processor.name)
            if content is None:
                return None
            arranged = self._keep_arranged(cache, key, content)
            if arranged is None:
                return *self._linked(content, exports, imports), len(content), None
        image = loader.load(arranged, [exports], [_finder(imports)])
        return image.addresses, image, len(arranged.content), arranged

    def _keep_arranged(self, cache: ObjectCache, key: str, content: bytes) -> loader.Prelinked | None:
        """How an object lies in memory, which is kept beside it; None where our own linker does not know it."""
        arranged = _arranged(content)
        if arranged is not None:
            cache.store(key_of(key, "arranged"), written(arranged), self.processor.name)
        return arranged

    def _compile_well(self, cache: ObjectCache, key: str, text: str) -> None:
        if not cache.has(key):
            with contextlib.suppress(NativeError), self._lock:
                cache.store(key, self._llvm().compile(text, is_glue=False, optimise=True), self.processor.name)

    def assembly(self, text: str, *, optimise: bool = False, tidies: bool = False, is_glue: bool = False) -> str:
        """The machine instructions of ``text``."""
        with self._lock:
            return self._llvm().assembly(text, optimise=optimise, tidies=tidies, is_glue=is_glue)

    def optimised_ir(self, text: str) -> str:
        """``text`` after LLVM's passes, as ``link`` runs them with ``optimise``."""
        with self._lock:
            return self._llvm().optimised_ir(text)

    def _llvm(self) -> Compiler:
        if self._compiler is None:
            self._compiler = Compiler(self.processor)
            cache = object_cache()
            if cache is not None:
                file_statuses.keep(cache, self.processor, self._compiler)
        return self._compiler


def _read_note(note: bytes | None) -> tuple[str, list[str]] | None:
    """A key, and the names of what its code imports; None for what is no such note."""
    try:
        key, *names = json.loads(note or b"")
    except (ValueError, TypeError):
        return None
    return str(key), list(map(str, names))


def _finder(imports: dict[str, int]) -> loader.Find:
    return lambda name: imports.get(name) or c_address(name)


def _arranged(content: bytes) -> loader.Prelinked | None:
    """An object as it lies in memory; None where our own linker does not know it."""
    try:
        return loader.prelinked([content]) if loader.is_supported() else None
    except NotLinkedError:
        return None


_engine_lock = NoForkLock()
_engines: list[Engine] = []


@contextmanager
def using(other: Engine) -> Iterator[None]:
    """Compile with another engine for a while, for tests; kernels compiled before keep their code."""
    with _engine_lock:
        before = _engines[:]
        _engines[:] = [other]
    try:
        yield
    finally:
        with _engine_lock:
            _engines[:] = before


def engine() -> Engine:
    """The process's engine, made at first use for what `FLAMBEAU_CPU` says then. Raises NativeError without LLVM."""
    try:
        return _engines[0]  # the lock is for whoever makes one
    except IndexError:
        pass
    with _engine_lock:
        if not _engines:
            if not is_installed():
                raise NativeError("there is no native code: llvmlite is not installed")
            keep_what_is_freed()
            _engines.append(Engine())
        return _engines[0]


def leave_glue() -> None:
    """Do not compile at the end of this process what is glue so far, for tests: nobody reads their cache later."""
    with _engine_lock:
        for one_engine in _engines:
            atexit.unregister(one_engine._compile_well)


@cache
def _c_library() -> ctypes.CDLL:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    try:  # `ctypes.util.find_library` asks other programs, which takes longer than all that a first call does
        return ctypes.CDLL("libm.dylib" if sys.platform == "darwin" else "libm.so.6")
    except OSError:
        return ctypes.CDLL(None)


@cache
def c_address(name: str) -> int | None:
    """A C function that kernels call, or LLVM of itself where the processor lacks an instruction: fma, roundeven."""
    name = name.removeprefix(PREFIX)
    for library in (ctypes.CDLL(None), _c_library()):
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    return None


def has_c_function(name: str) -> bool:
    """Whether the C library has a function that not all have."""
    return hasattr(_c_library(), name)


def c_imports(names: tuple[str, ...]) -> dict[str, int]:
    """Addresses of C math functions under the symbols that kernels call."""
    library = _c_library()
    addresses: dict[str, int] = {}
    for name in names:
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        assert address is not None, name
        addresses[PREFIX + name] = address
    return addresses


def memory_imports() -> dict[str, int]:
    """Python's raw allocator, which may be called without the GIL."""
    api = ctypes.pythonapi
    pairs = ((ALLOCATE, api.PyMem_RawMalloc), (FREE, api.PyMem_RawFree))
    return {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in pairs}
