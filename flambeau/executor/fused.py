"""A fused group at run time: native code made at its first call, or the interpreter where native code cannot serve.

The group's operators define its meaning. Whatever a kernel refuses, shapes that do not broadcast, a division by zero, a
dtype it has no code for, is run by the interpreter instead, which either computes it or raises the operator's own error
at its own place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from flambeau.codegen import available, native_call
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.kernel import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.lower import RepeatedResultsError, lower_graph
from flambeau.codegen.routines.kernel import MOST_SIZES, RoutineKernel
from flambeau.codegen.runtime import CompiledKernel
from flambeau.codegen.sized_launches import SizedLaunch
from flambeau.codegen.static_values import StaticValues, static_values
from flambeau.executor.kept_kernels import KeptKernels
from flambeau.executor.lowered_groups import LoweredGroups, group_key
from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir.graph import Graph, Node
from flambeau.passes.fuse_routines import routine_of
from flambeau.passes.static_operands import graph_for, static_count
from flambeau.schema.types import Type
from flambeau.specialise.cache import SpecialisationCache
from flambeau.specialise.spec import Spec, compare, describe, refine, spec_of
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import log
from flambeau.util.record import dataclass, replace
from flambeau.util.user_code import warn_user


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer that there is no kernel, and why."""

    reason: str
    can_be_cut: bool = False
    """Whether it is because some results have fewer dimensions than others."""


Shared = dict[Hashable, CompiledKernel | RoutineKernel | Refused]
"""The kernels of one plan's groups, or why there is none: groups that do the same have one."""
MAX_NATIVE, MAX_STATIC = 8, 64
"""Kernels that a group keeps, one for each combination of dtypes, ranks, sizes that are 1, and static operands."""


class FusedKernel:
    """What a `prim::FusionGroup` node calls with its inputs; gives one result, or a tuple of several.

    Calls go through `entry()`, which serves repeated patterns of inputs without Python in between.
    """

    def __init__(
        self, name: str, graph: Graph, choices: Choices = USUAL, shared: Shared | None = None,
        lowered: LoweredGroups | None = None, kept: KeptKernels | None = None, launches: InlineCache | None = None,
    ) -> None:  # fmt: skip
        """`shared`, `lowered` and `kept` belong to all groups of a plan: kernels in use, kernels lowered beforehand,
        and those on disk. `launches` are those that an earlier process left."""
        self.name = name
        self._choices = choices
        self._shared: Shared = {} if shared is None else shared
        self._lowered_groups: LoweredGroups = {} if lowered is None else lowered
        self._kept = KeptKernels(None) if kept is None else kept
        self.graph = graph
        self._static_count = static_count(graph)
        self._several = len(graph.returns) > 1
        self._routine = routine_of(graph)
        has_many = self._routine or self._static_count
        self._inline_cache = launches or (InlineCache(MOST_SIZES) if has_many else InlineCache())
        """What the entries know: plans of the inputs seen so far."""
        self._slow_calls = 0
        self.natives_cache: SpecialisationCache[Spec, CompiledKernel | RoutineKernel | Refused] = SpecialisationCache(
            f"kernels of {name}", MAX_STATIC if self._static_count else MAX_NATIVE, describe=describe, compare=compare
        )
        self.refused_types: Sequence[Type] | None = None
        """Of inputs for which it is no one kernel because some results have fewer dimensions than others."""
        self.is_read = launches is not None and not launches.is_empty
        """Whether an earlier process left launches."""
        self._state = "native" if self.is_read else "not called yet"
        self._milliseconds = 0.0
        self._code: Code | None = None

    def entry(self, otherwise: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """A callable that serves repeated patterns natively, and asks `otherwise`, or this object, for others.

        With `otherwise` it is for calls of users, whose parameters and tensors that ask for gradients are others; the
        one without is for plans, which are run on such tensors only where nothing is to be recorded. It keeps this
        kernel alive, not the other way round.
        """
        if not available():
            return otherwise or self
        if otherwise is None:
            return native_call.make_for_plan(self._inline_cache, self) or self
        return native_call.make_for_tensors(self._inline_cache, otherwise) or otherwise

    @property
    def inline_cache(self) -> InlineCache:
        """The plans that native code may use by itself."""
        return self._inline_cache

    @property
    def calls(self) -> int:
        """How often it was called."""
        return self._slow_calls + self._inline_cache.served

    def __call__(self, *inputs: Any) -> Any:
        """The first call for inputs of a pattern, or one that native code refused."""
        self._slow_calls += 1
        result = self.natively(*inputs)
        if result is not None:
            return result
        results = run(self.code, inputs)
        return results if self._several else results[0]

    def natively(self, *inputs: Any) -> Any:
        """A call by native code, which serves calls like it by itself from then on; None where it refuses."""
        first_static = len(inputs) - self._static_count
        known = static_values(inputs[first_static:])
        inputs = inputs[:first_static]
        native = self._native_for(inputs, known)
        if native is None:
            return None
        arrays = [_unwrapped(x) for x in inputs]
        try:
            result = native.call_and_keep(arrays, self._inline_cache, known.words)
        except NativeError as error:
            self._give_up(_key(inputs, known), error)
            return None
        except (KernelError, ZeroDivisionError, IndexError):
            return None
        return tuple(map(wrap, result)) if self._several else wrap(result)

    def compiled(self, inputs: Sequence[Any]) -> CompiledKernel | None:
        """The native kernel for inputs like these; None where there is none."""
        native = self._native_for(inputs, static_values(()))
        return native if isinstance(native, CompiledKernel) else None

    def sized(self, inputs: Sequence[Any]) -> list[SizedLaunch]:
        """Launches for inputs like these, whatever their sizes; none where they depend on more than that."""
        native = self.compiled(inputs)
        return [] if native is None else native.sized([_unwrapped(x) for x in inputs])

    def launch_again(self, launch: Launch) -> Launch | None:
        """A launch of a routine made once more; None for one that no routine of this group made."""
        launches = (k.again(launch) for k in self.natives_cache.values if isinstance(k, RoutineKernel))
        return next((one for one in launches if one is not None), None)

    @property
    def code(self) -> Code:
        """The group as bytecode."""
        if self._code is None:
            self._code = compile_graph(self.graph, self.name)
        return self._code

    def _native_for(self, inputs: Sequence[Any], known: StaticValues) -> CompiledKernel | RoutineKernel | None:
        """None where native code cannot serve: for tensors that stand for numbers too, which look like others."""
        if any(isinstance(x, Tensor) and x.is_wrapped_number for x in inputs):
            if not len(self.natives_cache):
                self._interpreted("it is given a tensor that stands for a number")
            return None
        key = _key(inputs, known)
        native = self.natives_cache.get(key)
        if native is None:
            native = self.natives_cache.get_or_make(key, lambda cause: self._lowered(inputs, known))
        return None if isinstance(native, Refused) else native

    def _lowered(self, inputs: Sequence[Any], known: StaticValues) -> CompiledKernel | RoutineKernel | Refused:
        """A kernel for inputs like these."""
        start = time.perf_counter()
        kernel = self._kernel_for(inputs, known)
        self._milliseconds += (time.perf_counter() - start) * 1e3
        if isinstance(kernel, Refused):
            self._interpreted(kernel.reason)
        else:
            self._state = "native"
        return kernel

    def _kernel_for(self, inputs: Sequence[Any], known: StaticValues) -> CompiledKernel | RoutineKernel | Refused:
        if not available():
            return Refused("llvmlite is not installed")
        graph = graph_for(self.graph, known.constants) if self._static_count else self.graph
        types = [refine(v.static_type, x) for v, x in zip(graph.parameters, inputs, strict=True)]
        key = group_key(graph, types) or (self.name, known, *types)
        kernel = self._shared.get(key)
        if kernel is None:
            try:
                kernel = self._routine_kernel(graph) if self._routine else self._own_kernel(key, graph, types)
            except KernelError as reason:
                kernel = Refused(str(reason), isinstance(reason, RepeatedResultsError))
            self._shared[key] = kernel
        if isinstance(kernel, Refused) and kernel.can_be_cut:
            self.refused_types = types
        return kernel

    def _routine_kernel(self, graph: Graph) -> RoutineKernel:
        return RoutineKernel(self.name, self._routine, graph, self._choices.num_threads)

    def _own_kernel(self, key: Hashable, graph: Graph, types: Sequence[Type]) -> CompiledKernel:
        on_disk = self._kept if graph is self.graph else KeptKernels(None)
        kept = on_disk.find(self.name, types)
        if kept is None:
            lowered = self._lowered_groups.get(key)
            if lowered is None:
                lowered = lower_graph(graph, types, name=self.name)
            kept = lowered, on_disk.add(self.name, types, lowered)
        lowered, schedules = kept
        return CompiledKernel(replace(lowered.kernel, name=self.name), lowered.spans, self._choices, schedules)

    def _give_up(self, key: Spec, error: NativeError) -> None:
        """Interpret such inputs from now on, and say so: that LLVM refuses our code is a mistake of ours."""
        reason = str(error).partition("\n")[0]
        self.natives_cache.put(key, Refused(reason))
        self._interpreted(reason)
        text = f"native code for {self.name} could not be made: {error}. It is interpreted; please report this"
        warn_user(text, RuntimeWarning)

    def _interpreted(self, reason: str) -> None:
        self._state = f"interpreted: {reason}"
        if log.level("codegen"):
            log.write("codegen", f"{self.name} is interpreted: {reason}")

    @property
    def state(self) -> str:
        """`native`, `not called yet`, or `interpreted: ` with the reason."""
        return self._state

    @property
    def milliseconds(self) -> float:
        """Spent on finding native forms, machine code left aside."""
        return self._milliseconds

    @property
    def routine(self) -> str:
        """The operator whose routine computes the group; empty for a group that has kernels."""
        return self._routine

    @property
    def kernels(self) -> list[CompiledKernel]:
        """The native kernels made so far."""
        return [k for k in self.natives_cache.values if isinstance(k, CompiledKernel)]


def _unwrapped(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def _key(inputs: Sequence[Any], known: StaticValues) -> Spec:
    return (*spec_of(inputs), known) if known.values else spec_of(inputs)


def kernel_of(node: Node) -> FusedKernel:
    """The kernel of a fused group's node, behind its native entry."""
    entry = node.attribute("kernel")
    kernel = getattr(entry, "__wrapped__", entry)
    assert isinstance(kernel, FusedKernel)
    return kernel
