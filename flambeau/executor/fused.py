"""A fused group at run time: native code made at its first call, or the interpreter where native code cannot serve.

The group's operators define its meaning. Whatever a kernel refuses, shapes that do not broadcast, a division by zero, a dtype it
has no code for, is run by the interpreter instead, which either computes it or raises the operator's own error at its own place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.codegen import available, backend
from flambeau.codegen.kernel import KernelError
from flambeau.codegen.lower import LoweringError, lower_graph
from flambeau.codegen.runtime import CompiledKernel
from flambeau.executor.report import KernelFacts
from flambeau.executor.spec import Spec, refine, spec_of
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir.graph import Graph
from flambeau.tensor.tensor import Tensor

MAX_NATIVE = 8
"""Kernels that a group keeps, one for each combination of dtypes, ranks and sizes that are 1."""


@dataclass(frozen=True, slots=True)
class _Native:
    kernel: CompiledKernel
    entry: Callable[..., Any]


class FusedKernel:
    """What a `prim::FusionGroup` node calls with its inputs; gives one result, or a tuple of several."""

    def __init__(self, name: str, graph: Graph) -> None:
        self.name = name
        self.graph = graph
        self.calls = 0
        self._several = len(graph.outputs) > 1
        self._entry: Callable[..., Any] | None = None
        """The kernel of the latest call."""
        self._natives: dict[Spec, _Native | None] = {}
        """None for arguments that native code cannot serve."""
        self._lock = threading.Lock()
        self._state = "not called yet"
        self._milliseconds = 0.0
        self._code: Code | None = None

    def __call__(self, *inputs: Any) -> Any:
        self.calls += 1
        arrays = [x._array if isinstance(x, Tensor) else x for x in inputs]
        entry = self._entry
        if entry is not None:
            try:
                result = entry(*arrays)
            except (KernelError, ZeroDivisionError):
                pass
            else:
                return tuple(map(Tensor, result)) if self._several else Tensor(result)
        return self._first_or_other(inputs, arrays)

    def _first_or_other(self, inputs: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The first call for arguments of this spec, or one that the latest kernel refused."""
        native = self._native_for(inputs)
        if native is not None:
            try:
                result = native.entry(*arrays)
            except (KernelError, ZeroDivisionError):
                pass
            else:
                self._entry = native.entry
                return tuple(map(Tensor, result)) if self._several else Tensor(result)
        results = run(self.code, inputs)
        return results if self._several else results[0]

    @property
    def code(self) -> Code:
        """The group as bytecode."""
        if self._code is None:
            self._code = compile_graph(self.graph, self.name)
        return self._code

    def _native_for(self, inputs: Sequence[Any]) -> _Native | None:
        spec = spec_of(inputs)
        if spec not in self._natives:
            with self._lock:
                if spec not in self._natives:
                    start = time.perf_counter()
                    made = self._lowered(inputs)
                    self._milliseconds += (time.perf_counter() - start) * 1e3
                    if len(self._natives) >= MAX_NATIVE:
                        self._natives.pop(next(iter(self._natives)))
                    self._natives[spec] = made
        return self._natives.get(spec)

    def _lowered(self, inputs: Sequence[Any]) -> _Native | None:
        if not available():
            self._state = "interpreted: llvmlite is not installed"
            return None
        types = [refine(v.type, given) for v, given in zip(self.graph.inputs, inputs, strict=True)]
        try:
            lowered = lower_graph(self.graph, types, name=self.name)
        except LoweringError as reason:
            self._state = f"interpreted: {reason}"
            return None
        kernel = CompiledKernel(lowered.kernel, lowered.spans)
        self._state = "native"
        return _Native(kernel, kernel.entry())

    @property
    def kernels(self) -> list[CompiledKernel]:
        """The native kernels made so far."""
        return [n.kernel for n in self._natives.values() if n is not None]

    def llvm_ir(self) -> str:
        """The LLVM IR made so far."""
        return "\n".join(map(backend.llvm_ir, self.kernels)) or f"; {self.name}: {self._state}\n"

    def facts(self) -> KernelFacts:
        """What `explain` says of it."""
        operators = tuple(n.kind.partition("::")[2] for n in self.graph.nodes() if n.kind != "prim::Constant")
        variants = [v for k in self.kernels for v in k.variants]
        return KernelFacts(
            name=self.name,
            operators=operators,
            state=self._state,
            milliseconds=self._milliseconds + sum(v.milliseconds for v in variants),
            calls=self.calls,
            variants=len(variants),
        )
