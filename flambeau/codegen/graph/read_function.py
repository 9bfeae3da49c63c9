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
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.ir.graph import Graph
from flambeau.util.cached import cached_property


class ReadFunction(NativeFunction):
    """A native function that the cache on disk has. Its graph is asked for, and its text written again, when something
    happens that the code alone cannot serve."""

    def __init__(
        self, graph: Callable[[], Graph], parameters: Sequence[Representation], linkage: Linkage, key: str,
        run_exit_point: ExitHandler, inline_caches: Sequence[InlineCache],
        *, choices: Choices = USUAL, prepare: Prepare | None = None,
    ) -> None:  # fmt: skip
        """`key`: under which the cache has the code. Raises NativeError where it has it no more."""
        start = time.perf_counter()
        self._graph, self._key = graph, key
        self.prepare = prepare
        self.choices = choices
        self.parameters = tuple(parameters)
        self._begin(linkage, inline_caches, run_exit_point, start)

    @cached_property
    def graph(self) -> Graph:
        """What it computes."""
        return self._graph()

    def _link(self, imports: dict[str, int]) -> NativeCode:
        code = engine().link_known(self._key, (SYMBOL,), imports, is_kernel=False)
        if code is None:
            raise NativeError(f"{self._key} is not in the cache any more")
        return code
