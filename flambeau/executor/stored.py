"""What the compiler made of a program with an origin, kept in the cache on disk: a second process reads it.

An entry's key is the origin, what was made of it and for what, and all else that decides it: the sources of this
package, the processor, the default dtype. Nothing is kept, or read, while users have kernels of their own. As with
machine code, only files are read that nobody but the user could have written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.llvm import host
from flambeau.codegen.llvm.object_cache import ObjectCache, key_of, object_cache
from flambeau.codegen.llvm.package_sources import package_stamp
from flambeau.codegen.tuned_choices import stamp
from flambeau.executor.frozen_callees import freeze_callees
from flambeau.executor.options import Options
from flambeau.executor.records import OWN_OPERATORS, RecordError, dumps, loads
from flambeau.ir.frozen import is_frozen
from flambeau.ir.graph import Graph
from flambeau.program.function import Function
from flambeau.program.origin import Origin
from flambeau.specialise.spec import Spec, describe, spec_of
from flambeau.tensor import defaults, kernels
from flambeau.util import log
from flambeau.util.record import dataclass, replace

INTERPRETED: Final = "interpreted"
"""What stands for the processor where there is no LLVM."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """Where in the cache something is kept, or would be."""

    cache: ObjectCache
    key: str
    processor: str
    origin: Origin
    function: Function | None = None

    def read(self) -> Any:
        """What is kept there, which a function is noted to rely on; None where there is nothing, or nothing that this
        process can use."""
        content = self.content()
        return None if content is None else self.value_of(content)

    def content(self) -> bytes | None:
        """The record that is kept there; None where there is nothing."""
        return self.cache.load(self.key, self.processor)

    def value_of(self, content: bytes) -> Any:
        """What a record from there holds, which a function is noted to rely on; None where this process cannot use it.
        """
        try:
            value = loads(content, self.origin.names)
        except RecordError as error:
            if log.level("cache"):
                log.write("cache", f"{self.key} is ignored: {error}")
            return None
        if self.function is not None and self.function.provenance is not None:
            self.function.provenance.read_by(self.function)
        return value

    def is_there(self) -> bool:
        """Whether something seems to be kept there, without reading it."""
        return self.cache.has(self.key)

    def keep(self, value: Any, *, keeps_known: bool = False) -> None:
        """Keep a value; one that no record can hold is left out. `keeps_known` as for `records.dumps`."""
        try:
            content = dumps(value, self.origin.names, keeps_known=keeps_known)
        except RecordError as error:
            self.say_why_not(error)
            return
        self.cache.store(self.key, content, self.processor)

    def beside(self, what: str) -> CacheEntry:
        """Where something else is kept that was made of what lies here."""
        return replace(self, key=key_of(self.key, what))

    def say_why_not(self, error: RecordError) -> None:
        """Tell who asked with FLAMBEAU_LOG that something cannot be kept."""
        if log.level("cache"):
            log.write("cache", f"nothing is kept under {self.key}: {error}")


def entry_of(function: Function, *what: str) -> CacheEntry | None:
    """Where what was made of a function is kept; None where it is not."""
    provenance = function.provenance
    origin = None if provenance is None else provenance.origin()
    entry = None if origin is None else entry_under(origin, *what)
    return None if entry is None else replace(entry, function=function)


def entry_under(origin: Origin, *what: str) -> CacheEntry | None:
    """Where what was made of something with an origin is kept; None where nothing is."""
    if has_own_kernels():
        return None
    cache = object_cache()
    if cache is None:
        return None
    try:
        processor = host.chosen_processor().name if available() else INTERPRETED
    except host.ProcessorError:
        return None
    around = (str(defaults.float_dtype()), np.__version__, str(available()), package_stamp(), stamp())
    return CacheEntry(cache, key_of("program", origin.key, *what, *around), processor, origin)


def plan_entry(function: Function, spec: Spec, options: Options) -> CacheEntry | None:
    """Where the optimised graph for arguments of a spec is kept between processes; None where it is not."""
    if options.verify or log.level("passes"):
        return None
    about = (options.backend, sorted(options.without), options.num_threads, options.fastmath)
    return entry_of(function, "plan", describe(spec), repr(about))


def is_kept(function: Function, arguments: Sequence[Any], options: Options) -> bool:
    """Whether an earlier process has left the plan for arguments like these."""
    entry = plan_entry(function, spec_of(arguments), options)
    return entry is not None and entry.is_there()


def has_own_kernels() -> bool:
    """Whether users have kernels for operators that records may have."""
    table = kernels.table
    return bool(table.fallbacks) or any(name.startswith(OWN_OPERATORS) for name in table.kernels)


def graph_to_show(function: Function) -> Graph:
    """The graph of a function for somebody who may change it in place, as far as nothing relies on it.

    Plans that were read rely on graphs that were never made: these are made and frozen now.
    """
    provenance = function.provenance
    if provenance is not None:
        for reader in provenance.take_readers():
            freeze_callees(reader.frozen_graph)
        if not is_frozen(function.graph):
            provenance.end()
    function.is_shown = True
    return function.graph
