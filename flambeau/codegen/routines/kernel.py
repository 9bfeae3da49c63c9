"""A group that a routine computes, as a callable on arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.lib.stride_tricks import as_strided

from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.abi import NO_MEMORY, OUT_OF_MEMORY
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.recording import Program, Recordable, SizesSeen, recorded
from flambeau.codegen.routines.table import is_native, routines
from flambeau.codegen.runtime import block_of, start
from flambeau.ir.graph import Graph
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.thread_count import ANY

MOST_SIZES: Final = 64
"""Calls of some sizes and strides that native code knows of a group; others it asks Python for."""
MAX_LAUNCHES: Final = 256
"""Launches that are kept; the oldest goes first."""


class RoutineKernel:
    """The launches of a group. Raises ``KernelError`` for a group or arrays that the routine does not take."""

    def __init__(self, name: str, operator: str, graph: Graph, num_threads: int | None = None) -> None:
        """`num_threads`: how many may share its work; None for as many as are set when it is called."""
        if operator not in routines:
            raise KernelError(f"{operator} has no routine")
        self.name = name
        self._prepare = routines[operator](graph)
        self._threads = num_threads or ANY
        self._sizes: WeakKeyDictionary[InlineCache, SizesSeen] = WeakKeyDictionary()
        """The sizes that were seen, of each group that calls it."""
        self._programs: dict[Hashable, Program | None] = {}
        """What was recorded, by the calls that it is of: groups of equal layers share it."""
        self.launches_cache: SpecialisationCache[tuple[Any, ...], Launch] = SpecialisationCache(
            f"launches of {name}", MAX_LAUNCHES, describe=lambda key: ", ".join(str(shape) for _, shape, _ in key)
        )

    def call_and_keep(
        self, inputs: Sequence[Any], inline_cache: InlineCache, static: Sequence[Sequence[int]] = ()
    ) -> Any:
        """A call whose launch is put on an inline cache, so that its entry serves the next one like it, which is `told`
        the same.
        """
        if not is_native(*inputs):
            raise KernelError(f"{self.name}: a routine takes tensors")
        key = tuple([(a.dtype, a.shape, a.strides) for a in inputs])
        launch = self.launches_cache.get(key)
        if launch is None:
            launch = self.launches_cache.get_or_make(key, lambda cause: self._new_launch(inputs))
        if isinstance(self._prepare, Recordable) and not static:
            self._record(self._prepare, [Lying.of(a) for a in inputs], inline_cache)
        inline_cache.add(launch, inputs, inputs, static)
        if launch.pattern is not None and not static:
            inline_cache.add_pattern(launch, inputs, inputs)
        outputs = [o.allocate() for o in launch.outputs]
        if launch.runs is not None:
            flag = ctypes.c_int32(0)
            start(launch, block_of(launch, [*inputs, *outputs], flag))
            if flag.value == NO_MEMORY:
                raise MemoryError(OUT_OF_MEMORY)
            if flag.value:
                raise KernelError(f"{self.name}: what tensors say is refused")
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _record(self, prepare: Recordable, look: Sequence[Lying], inline_cache: InlineCache) -> None:
        """From the second call on whose sizes a group has not seen, have native code make the launches of those to
        come.
        """
        sizes = self._sizes.get(inline_cache)
        if sizes is None:
            sizes = self._sizes[inline_cache] = SizesSeen()
        changes = sizes.changes_with(look)
        if not changes:
            return
        key = (*map(Lying.key, look), changes)
        if key not in self._programs:
            if len(self._programs) == MAX_LAUNCHES:
                self._programs.clear()
            self._programs[key] = recorded(prepare.make, look, changes, self._threads)
        program = self._programs[key]
        sizes.is_hopeless = program is None
        if program is not None:
            inline_cache.add_program(program)

    def again(self, launch: Launch) -> Launch | None:
        """A launch made once more, for arrays like those that it was made for; None for another kernel's."""
        looks = next((key for key, known in self.launches_cache.items if known is launch), None)
        if looks is None:
            return None
        arrays = [as_strided(np.empty(1, dtype), shape, strides) for dtype, shape, strides in looks]
        return self._new_launch(arrays)

    def _new_launch(self, arrays: Sequence[Any]) -> Launch:
        launch = self._prepare(arrays)
        launch.threads = self._threads
        return launch
