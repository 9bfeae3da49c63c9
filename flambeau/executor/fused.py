"""A fused group at run time: native code made at its first call, or the interpreter where native code cannot serve.

The group's operators define its meaning. Whatever the kernel refuses, shapes that do not broadcast, a dtype it has no code for,
is run by the interpreter instead, which either computes it or raises the operator's own error at its own place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from flambeau.codegen import available
from flambeau.codegen.lower import LoweringError, lower
from flambeau.executor.report import KernelFacts
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir.graph import Graph


class FusedKernel:
    """What a `prim::FusionGroup` node calls with its inputs."""

    def __init__(self, name: str, graph: Graph) -> None:
        self.name = name
        self.graph = graph
        self.calls = 0
        self._lock = threading.Lock()
        self._native: Any = None
        self._state = "not called yet"
        self._milliseconds = 0.0
        self._code: Code | None = None

    def __call__(self, *inputs: Any) -> Any:
        """The group's outputs: one value, or a tuple."""
        self.calls += 1
        native = self._native
        if native is None:
            native = self._make(inputs)
        if native is not False:
            result = native(inputs)
            if result is not NotImplemented:
                return result
        return run(self.code, inputs)

    @property
    def code(self) -> Code:
        """The group as bytecode."""
        if self._code is None:
            self._code = compile_graph(self.graph, self.name)
        return self._code

    def _make(self, inputs: Sequence[Any]) -> Any:
        with self._lock:
            if self._native is None:
                start = time.perf_counter()
                self._native = self._lowered(inputs)
                self._milliseconds = (time.perf_counter() - start) * 1e3
        return self._native

    def _lowered(self, inputs: Sequence[Any]) -> Any:
        if not available():
            self._state = "interpreted: llvmlite is not installed"
            return False
        try:
            native = lower(self.graph, inputs)
        except LoweringError as reason:
            self._state = f"interpreted: {reason}"
            return False
        self._state = "native"
        return native

    def llvm_ir(self) -> str:
        """The LLVM IR made so far."""
        return str(self._native.llvm_ir()) if self._native else f"; {self.name}: {self._state}\n"

    def facts(self) -> KernelFacts:
        """What `explain` says of it."""
        operators = tuple(n.kind.partition("::")[2] for n in self.graph.nodes() if n.kind != "prim::Constant")
        native = self._native or None
        return KernelFacts(
            name=self.name,
            operators=operators,
            state=self._state,
            milliseconds=self._milliseconds + (native.milliseconds() if native else 0.0),
            calls=self.calls,
            variants=native.variant_count() if native else 0,
        )
