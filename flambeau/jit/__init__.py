"""What users type: `script` and traces, units of functions from text, and the objects and errors they give back.

Where to look (`*` stands for several files):

- compiling a function: `script`, `resolver`, `compiling`, `script_registry`, `infer`, `annotations`, `overloads`,
  `_decompositions`; the object that comes of it: `function`; calls: `arguments`, `value_conversion`,
  `structured_calls`; units of text: `compilation_unit`
- functions without annotations: `unannotated`, `by_types`, `open_function`, `open_containers`, `container_reads`,
  `container_contents`, `python_values`, `variants`, `latest_variant`
- of arrays or of tensors: `arrays_or_tensors`, `array_meaning`, `array_function`, `functions_of_arrays`; their
  arguments, results, errors: `array_*`; `vectorize`
- in programs: `helpers`, `blocks`, `block_decorators`, `gradient_classes`, `containers`, `eager_isinstance`,
  `torch_counterparts`, `value_methods`
- modules and classes of users: the folders `modules`, `classes`; custom gradients: the folder `own_gradients`
- a run as a program: the folder `tracing`; sizes as programs: the folder `symbolic_shapes`
- transforms of functions, as gradients and batches: `gradients`, the folder `transforms`
- saved models: `saving`, `freeze`, `mobile`, `inventory`, the folder `loading`
- operators of users: `library`, `operator_*`, `inferred_schema`
- beside Numba: the folder `with_numba`; under PyTorch's names: `_*`, `frontend`, `futures`, `execution`,
  `internal_names`, the folder `torch_names`
- plain Python in place of programs: `disabled`; what all programs cost: `script_profile`
"""

# ruff: noqa: E402  (what is imported stays, so no collection goes over it)

from typing import Final

from flambeau.util.no_collection import no_collection as _no_collection

_importing = _no_collection()
_importing.__enter__()

from flambeau.executor import large_gradients as _large_gradients  # the tape asks for it
from flambeau.executor import repeated_gradients as _repeated_gradients  # for this too
from flambeau.executor import repeated_operators as _repeated_operators  # and kernels for this
from flambeau.interpreter.awaiting import Await as _Await
from flambeau.interpreter.future import Future
from flambeau.jit import _decompositions, _logging, _pickle, _recursive, _script, _state, annotations, frontend
from flambeau.jit import element_loops as _element_loops
from flambeau.jit._decompositions import _register_decomposition
from flambeau.jit.arguments import ArgumentError
from flambeau.jit.blocks import _IgnoreContextManager, record_function, strict_fusion
from flambeau.jit.classes.interfaces import interface
from flambeau.jit.compilation_unit import CompilationUnit, create_function_from_graph
from flambeau.jit.containers import ScriptDict, ScriptList
from flambeau.jit.execution import (
    _hide_source_ranges,
    enable_onednn_fusion,
    fuser,
    last_executed_optimized_graph,
    onednn_fusion_enabled,
    optimized_execution,
    set_fusion_strategy,
)
from flambeau.jit.freeze import freeze, freeze_module, optimize_for_inference, run_frozen_optimizations
from flambeau.jit.function import ScriptFunction
from flambeau.jit.helpers import (
    _awaitable,
    _awaitable_nowait,
    _awaitable_wait,
    _drop,
    _unwrap_optional,
    annotate,
    fork,
    ignore,
    is_scripting,
    is_tracing,
    unused,
    wait,
)
from flambeau.jit.helpers import isinstance_ as isinstance
from flambeau.jit.inventory import _unique_state_dict, export_opnames
from flambeau.jit.library import custom_op
from flambeau.jit.loading.from_torch import from_torch
from flambeau.jit.loading.load import load
from flambeau.jit.modules import functional_forward as _functional_forward
from flambeau.jit.modules.module_annotations import Attribute
from flambeau.jit.modules.module_methods import export
from flambeau.jit.modules.module_overloads import _overload_method
from flambeau.jit.modules.old_style import ScriptModule, script_method
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.jit.overloads import _overload
from flambeau.jit.own_gradients import expansion as _expansion
from flambeau.jit.saving import save
from flambeau.jit.script import script
from flambeau.jit.script_profile import _ScriptProfile
from flambeau.jit.tracing.trace import get_trace_graph, trace, trace_module
from flambeau.jit.tracing.trace_helpers import allow, dynamic, script_if_tracing
from flambeau.jit.tracing.traced import TopLevelTracedModule, TracedModule
from flambeau.jit.transforms import opened_calls as _opened_calls  # `vjp` asks for it
from flambeau.jit.transforms import within as _within
from flambeau.serialize.archive_reader.limits import LoadLimits
from flambeau.serialize.archive_writer import values_file as _values_file
from flambeau.util.errors import (
    ArchiveError,
    CompileError,
    ExecutionError,
    FrontendError,
    GuardError,
    NotSupportedError,
    PerformanceWarning,
    ScriptError,
    TracerWarning,
    TracingCheckError,
)
from flambeau.util.import_paths import provide as _provide

_importing.__exit__(None, None, None)

__getattr__ = _provide(
    __name__,
    {
        "_async": "fork wait",
        "_await": "_awaitable _awaitable_nowait _awaitable_wait",
        "_freeze": "freeze optimize_for_inference run_frozen_optimizations",
        "_fuser": "fuser last_executed_optimized_graph optimized_execution set_fusion_strategy",
        "_serialization": "load save",
        "_trace": "TopLevelTracedModule TracedModule TracerWarning TracingCheckError _get_trace_graph "
        "_script_if_tracing is_tracing trace trace_module",
    },
)
_fork, _wait, _script_if_tracing = fork, wait, script_if_tracing
Error = ScriptError
"""The name that TorchScript programs catch it by."""
_get_trace_graph = get_trace_graph
"""The name that TorchScript programs call it by."""

__all__ = [
    "ArchiveError",
    "ArgumentError",
    "Attribute",
    "CompilationUnit",
    "CompileError",
    "Error",
    "ExecutionError",
    "Final",
    "FrontendError",
    "Future",
    "GuardError",
    "LoadLimits",
    "NotSupportedError",
    "PerformanceWarning",
    "RecursiveScriptModule",
    "ScriptDict",
    "ScriptError",
    "ScriptFunction",
    "ScriptList",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "allow",
    "annotate",
    "annotations",
    "create_function_from_graph",
    "custom_op",
    "dynamic",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "freeze_module",
    "from_torch",
    "frontend",
    "fuser",
    "get_trace_graph",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "last_executed_optimized_graph",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "record_function",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
