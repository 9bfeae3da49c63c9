"""TorchScript's switches of executors and fusers under their names in `torch._C`: each for this thread alone.

Plans are made by argument specification; `_jit_set_profiling_executor(True)` has this thread's calls run a few times,
recorded, and then specialised on what was seen, behind guards. Results are the same.

>>> import flambeau
>>> unit = flambeau.CompilationUnit("def f(x: Tensor): return flambeau.tanh(x * x) + 1")
>>> before = _jit_set_profiling_executor(True)
>>> x = flambeau.ones(3)
>>> y = unit.f(x), unit.f(x)
>>> [node.kind() for node in unit.f.graph_for(x).nodes()]
['prim::TypeCheck', 'prim::If']
>>> _jit_set_profiling_executor(before)
True
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from flambeau.codegen import available
from flambeau.executor.profiling.settings import settings
from flambeau.executor.profiling.switches import change, fusion_strategy
from flambeau.jit.compiling import is_inlining, set_inlining
from flambeau.jit.execution import is_optimised, set_optimised

DEPTH_IS_OLD: Final = (
    "Use _jit_set_fusion_strategy, bailout depth is deprecated. Setting to (STATIC, {depth}): {depth} guards on sizes, "
    "one within the fallback of another"
)
NOT_HERE: Final = "{name}({value}) changes nothing: {why}"
_NO_OTHER: Final = "there is one fuser, and it makes code for the host and for CUDA devices"
_ALWAYS: Final = "what a kernel refuses, and what a guard lets through to no group, always runs otherwise"
_DYNAMIC: Final = "kernels are made for any sizes; which sizes a guard asks for, _jit_set_fusion_strategy says"
_INLINED: Final = "graphs show their groups as nodes with subgraphs"


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """Whether this thread's calls are profiled and specialised on what was seen; what held before.

    >>> _jit_set_profiling_executor(False)
    False
    """
    return change(is_on=bool(enabled)).is_on


def _jit_set_profiling_mode(enabled: bool) -> bool:
    """Whether the profiling executor counts runs; what held before. Without it, plans are made by arguments.

    >>> _jit_set_profiling_mode(True)
    True
    """
    return change(has_mode=bool(enabled)).has_mode


def _jit_set_num_profiled_runs(count: int) -> int:
    """How many runs record before a function is specialised; the number before. Raises ValueError below 0.

    >>> _jit_set_num_profiled_runs(1)
    1
    """
    if count < 0:
        raise ValueError(f"a function is run and recorded 0 or more times, not {count}")
    return change(runs=int(count)).runs


def _jit_get_num_profiled_runs() -> int:
    """How many runs record before a function is specialised.

    >>> _jit_get_num_profiled_runs()
    1
    """
    return settings().runs


def _jit_set_bailout_depth(depth: int) -> int:
    """How many guards on sizes there may be one within the fallback of another; the number before. Warns that
    `_jit_set_fusion_strategy` says more."""
    warnings.warn(DEPTH_IS_OLD.format(depth=depth), UserWarning, stacklevel=2)
    before = settings().depth
    fusion_strategy([("STATIC", depth)])
    return before


def _jit_set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Which guards are made one within the fallback of another, and how often; what held before.

    "STATIC" guards ask for sizes and strides, "DYNAMIC" ones for dtypes and ranks. Behind the last, plans are made by
    arguments. Raises ValueError for another word or a count below 0.

    >>> _jit_set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 10)])
    [('STATIC', 2), ('DYNAMIC', 10)]
    """
    return fusion_strategy(strategy)


def _jit_set_texpr_fuser_enabled(enabled: bool) -> None:
    """Whether calls of this thread have fused groups.

    >>> _jit_set_texpr_fuser_enabled(True)
    """
    change(fuses=bool(enabled))


def _jit_texpr_fuser_enabled() -> bool:
    """Whether calls of this thread have fused groups.

    >>> _jit_texpr_fuser_enabled()
    True
    """
    return settings().fuses


def _jit_override_can_fuse_on_cpu(enabled: bool) -> None:
    """Whether calls of this thread have fused groups.

    >>> _jit_override_can_fuse_on_cpu(True)
    """
    change(fuses=bool(enabled))


def _jit_set_texpr_reductions_enabled(enabled: bool) -> bool:
    """Whether the groups of the profiling executor take reductions; what holds now.

    >>> _jit_set_texpr_reductions_enabled(True)
    True
    """
    change(folds=bool(enabled))
    return settings().folds


def _jit_texpr_reductions_enabled() -> bool:
    """Whether the groups of the profiling executor take reductions.

    >>> _jit_texpr_reductions_enabled()
    True
    """
    return settings().folds


def _get_graph_executor_optimize(new_settings: bool | None = None) -> bool:
    """Whether programs of this thread are optimised; with an argument that is what holds from here on, and what held
    before is given.

    >>> _get_graph_executor_optimize()
    True
    """
    before = is_optimised()
    if new_settings is not None:
        set_optimised(new_settings)
    return before


def _set_graph_executor_optimize(enabled: bool) -> None:
    """Have programs of this thread optimised, or run as they were compiled, from here on.

    >>> _set_graph_executor_optimize(True)
    """
    set_optimised(enabled)


def _llvm_enabled() -> bool:
    """Whether kernels are compiled by LLVM."""
    return bool(available())


def _jit_get_inline_everything_mode() -> bool:
    """Whether graphs that this thread compiles have, in the place of calls, what is called.

    >>> _jit_get_inline_everything_mode()
    False
    """
    return is_inlining()


def _jit_set_inline_everything_mode(enabled: bool) -> None:
    """Have graphs that this thread compiles from here on with calls, or with what is called in their place. What is
    compiled already stays as it is; `fn.inlined_graph` shows it inlined.

    >>> import flambeau
    >>> text = "def g(x: int): return x + 1\\ndef f(x: int): return g(x) * 2"
    >>> _jit_set_inline_everything_mode(True)
    >>> [node.kind() for node in flambeau.CompilationUnit(text).f.graph.nodes()][1:]
    ['prim::Constant', 'aten::add', 'aten::mul']
    >>> _jit_set_inline_everything_mode(False)
    """
    set_inlining(enabled)


def _jit_can_fuse_on_cpu() -> bool:
    """Whether calls of this thread have fused groups.

    >>> _jit_can_fuse_on_cpu()
    True
    """
    return settings().fuses


def _getter(value: bool) -> Callable[[], bool]:
    return lambda: value


def _setter(name: str, value: bool, why: str) -> Callable[[bool], bool]:
    def put(wanted: bool) -> bool:
        if bool(wanted) is not value:
            warnings.warn(NOT_HERE.format(name=name, value=bool(wanted), why=why), UserWarning, stacklevel=2)
        return value

    return put


_FIXED: Final = (
    ("_jit_can_fuse_on_gpu", "_jit_override_can_fuse_on_gpu", True, _NO_OTHER),
    ("_jit_can_fuse_on_cpu_legacy", "_jit_override_can_fuse_on_cpu_legacy", False, _NO_OTHER),
    ("_jit_nvfuser_enabled", "_jit_set_nvfuser_enabled", False, _NO_OTHER),
    ("_jit_llga_enabled", "_jit_set_llga_enabled", False, _NO_OTHER),
    ("_jit_texpr_fallback_allowed", "_jit_texpr_set_fallback_allowed", True, _ALWAYS),
    ("_jit_texpr_dynamic_shape_enabled", "_jit_set_texpr_dynamic_shape_enabled", True, _DYNAMIC),
    ("_debug_get_fusion_group_inlining", "_debug_set_fusion_group_inlining", False, _INLINED),
    ("_debug_get_autodiff_subgraph_inlining", "_debug_set_autodiff_subgraph_inlining", False, _INLINED),
)
FIXED: Final[dict[str, Callable[..., Any]]] = {
    **{getter: _getter(value) for getter, _, value, _ in _FIXED},
    **{setter: _setter(setter, value, why) for _, setter, value, why in _FIXED},
}
"""Switches that cannot be turned: they say how they stand, and warn, with the reason, where they are to stand
otherwise."""


V = TypeVar("V", bool, int, str)


class _Wish(Generic[V]):
    """A switch of what is so in any case, whichever way it stands: it is kept for who asks."""

    def __init__(self, first: V) -> None:
        self._kept = threading.local()
        self._first: V = first

    def get(self) -> V:
        """How it stands in this thread."""
        value: V = getattr(self._kept, "value", self._first)
        return value

    def put(self, value: V) -> None:
        """Have it stand so in this thread."""
        self._kept.value = type(self._first)(value)

    def change(self, value: V) -> V:
        """Have it stand so in this thread; how it stood."""
        before = self.get()
        self.put(value)
        return before


_WISHES: Final[tuple[tuple[str, str, _Wish[Any]], ...]] = (
    # Kernels on the host are LLVM's, whether they must be or may.
    ("_jit_get_te_must_use_llvm_cpu", "_jit_set_te_must_use_llvm_cpu", _Wish(True)),
    # Blocks and their sizes follow from the loop nest and the device.
    ("_jit_get_te_cuda_pointwise_loop_levels", "_jit_set_te_cuda_pointwise_loop_levels", _Wish(-1)),
    ("_jit_get_te_cuda_pointwise_block_count", "_jit_set_te_cuda_pointwise_block_count", _Wish(-1)),
    ("_jit_get_te_cuda_pointwise_block_size", "_jit_set_te_cuda_pointwise_block_size", _Wish(-1)),
    ("_jit_get_te_generate_block_code", "_jit_set_te_generate_block_code", _Wish(False)),
    # Warnings of a trace name the user's line, which follows from Python's own frames.
    ("_jit_get_tracer_state_warn", "_jit_set_tracer_state_warn", _Wish(True)),
    # What the compiler logs is asked for with FLAMBEAU_LOG.
    ("_jit_get_logging_option", "_jit_set_logging_option", _Wish("")),
)
_SHAPE_TESTS: Final = _Wish(False)
"""Shapes are propagated with symbols in any case."""

FIXED.update({getter: wish.get for getter, _, wish in _WISHES})
FIXED.update({setter: wish.put for _, setter, wish in _WISHES})
FIXED.update(
    _jit_set_symbolic_shapes_test_mode=_SHAPE_TESTS.change,
    _jit_symbolic_shapes_test_mode_enabled=_SHAPE_TESTS.get,
)
