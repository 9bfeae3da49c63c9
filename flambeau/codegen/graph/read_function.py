"""A native function of a graph from the cache on disk, where an earlier process left its code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.graph.function import SYMBOL
from flambeau.codegen.graph.module import Prepare
from flambeau.codegen.graph.native import ExitHandler, Linkage, NativeFunction
from flambeau.codegen.graph.representation import Representation
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.launch_image import LaunchMemory
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.loader import Prelinked, is_supported
from flambeau.ir.graph import Graph
from flambeau.util.cached import cached_property


class ReadFunction(NativeFunction):
    """A native function that the cache on disk has. Its graph is asked for, and its text written again, when something
    happens that the code alone cannot serve."""

    def __init__(
        self, graph: Callable[[], Graph], parameters: Sequence[Representation], linkage: Linkage, key: str,
        run_exit_point: ExitHandler, launches: LaunchMemory, groups: Sequence[str],
        *, choices: Choices = USUAL, prepare: Prepare | None = None, image: Prelinked | None = None,
    ) -> None:  # fmt: skip
        """`key`: under which the cache has the code; `image`: the code as it lies in memory, where that was kept.
        Raises NativeError where there is none and the cache has the code no more."""
        start = time.perf_counter()
        self._graph, self._key, self._image = graph, key, image
        self.prepare = prepare
        self.choices = choices
        self.parameters = tuple(parameters)
        self._launches, self._groups = launches, groups
        self._begin(linkage, run_exit_point, start)

    @property
    def inline_caches(self) -> Sequence[InlineCache]:
        """The launches of the groups that it runs, in the order of the linkage."""
        return [self._launches.inline_cache(name) for name in self._groups]

    def _cell_addresses(self) -> list[int]:
        return [self._launches.cell(name) for name in self._groups]

    @cached_property
    def graph(self) -> Graph:
        """What it computes."""
        return self._graph()

    def _link(self, imports: dict[str, int]) -> NativeCode:
        if self._image is not None and is_supported():
            return engine().link_arranged(self._key, self._image, (SYMBOL,), imports)
        code = engine().link_known(self._key, (SYMBOL,), imports, is_kernel=False)
        if code is None:
            raise NativeError(f"{self._key} is not in the cache any more")
        return code
