"""Graphs, types and declarations under TorchScript's names, for programs that inspect and change them.

`flambeau._C` is this package: `torch._C.parse_ir(text)` is `flambeau._C.parse_ir(text)`. `Graph`, `Node`, `Block` and
`Value` are the classes of `flambeau.ir`, which have the methods that `torch._C` gives them. Types and declarations
stand for those of `flambeau.schema`, which they have as `ours`.

>>> graph = parse_ir("graph(%x, %n : int):\\n  %y = aten::mul(%x, %n)\\n  return (%y)")
>>> node = graph.findNode("aten::mul")
>>> node.kind(), [v.type().kind() for v in node.inputs()], node.output().debugName()
('aten::mul', ['TensorType', 'IntType'], 'y')
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from flambeau.analysis.alias_db import AliasDb
from flambeau.autodiff.graph_gradient import Gradient
from flambeau.interpreter.awaiting import Await as _Await
from flambeau.interpreter.future import Future
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.torchscript.inferred_type import InferredType
from flambeau.ir.torchscript.types import (
    AnyType,
    AwaitType,
    BoolType,
    ClassType,
    ComplexType,
    DeviceObjType,
    DictType,
    EnumType,
    FloatType,
    FutureType,
    InterfaceType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    RRefType,
    StreamObjType,
    StringType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    _GeneratorType,
)
from flambeau.ir.uses import Use
from flambeau.jit._state import _clear_class_state as _jit_clear_class_registry
from flambeau.jit.compilation_unit import CompilationUnit
from flambeau.jit.containers import ScriptDict, ScriptList
from flambeau.jit.execution import last_executed_optimized_graph as _last_executed_optimized_graph
from flambeau.jit.function import ScriptFunction
from flambeau.jit.helpers import _awaitable, _awaitable_nowait, _awaitable_wait, fork, is_tracing, wait
from flambeau.jit.mobile import LiteScriptModule, _export_operator_list
from flambeau.jit.modules.script_method import ScriptMethod
from flambeau.jit.modules.script_module import RecursiveScriptModule as ScriptModule
from flambeau.jit.torch_names.attribute_tables import BufferDict, ModuleDict, ParameterDict
from flambeau.jit.torch_names.executor_switches import (
    FIXED,
    _get_graph_executor_optimize,
    _jit_can_fuse_on_cpu,
    _jit_get_inline_everything_mode,
    _jit_get_num_profiled_runs,
    _jit_override_can_fuse_on_cpu,
    _jit_set_bailout_depth,
    _jit_set_fusion_strategy,
    _jit_set_inline_everything_mode,
    _jit_set_num_profiled_runs,
    _jit_set_profiling_executor,
    _jit_set_profiling_mode,
    _jit_set_texpr_fuser_enabled,
    _jit_set_texpr_reductions_enabled,
    _jit_texpr_fuser_enabled,
    _jit_texpr_reductions_enabled,
    _llvm_enabled,
    _set_graph_executor_optimize,
)
from flambeau.jit.torch_names.file_reader import (
    PyTorchFileReader,
    _get_model_extra_files,
    _get_model_extra_files_from_buffer,
)
from flambeau.jit.torch_names.file_writer import PyTorchFileWriter
from flambeau.jit.torch_names.flattened import _jit_flatten, _jit_unflatten
from flambeau.jit.torch_names.handle import ModuleHandle, _freeze_module, _jit_debug_module_iterators
from flambeau.jit.torch_names.node_decompositions import (
    _jit_decomposition_graph_for_node,
    _jit_register_decomposition_for_schema,
)
from flambeau.jit.torch_names.operator_questions import (
    _export_opnames,
    _get_schema,
    _jit_assert_is_instance,
    _jit_resolve_packet,
)
from flambeau.jit.torch_names.operator_versions import _get_max_operator_version, _get_operator_version_map
from flambeau.jit.torch_names.pass_table import PASSES
from flambeau.jit.torch_names.schemas import (
    Argument,
    FunctionSchema,
    _jit_get_all_schemas,
    _jit_get_operation,
    _jit_get_schemas_for_operator,
    parse_schema,
    unify_type_list,
)
from flambeau.jit.torch_names.torch_passes import (
    _create_function_from_graph,
    _jit_differentiate,
    _jit_erase_non_input_shape_information,
    _jit_interpret_graph,
    _jit_object_is_non_holding,
    _jit_pass_canonicalize,
    _jit_pass_custom_pattern_based_rewrite,
    _jit_pass_custom_pattern_based_rewrite_graph,
    _jit_pass_lower_graph,
    _jit_pass_propagate_shapes_on_graph_and_build_compute,
    _jit_register_shape_compute_graph_for_node,
    _jit_set_autocast_mode,
    _jit_shape_compute_graph_for_node,
    _jit_try_infer_type,
    _propagate_shapes,
    call_pass,
    parse_ir,
    run_pass,
)
from flambeau.jit.torch_names.type_comments import parse_type_comment
from flambeau.ops.families.matrices import LinAlgError as _LinAlgError
from flambeau.ops.operator_namespaces import OperatorNamespace
from flambeau.ops.python_forms import form_of
from flambeau.ops.python_forms import infer_size as _infer_size
from flambeau.program.object import ScriptObject
from flambeau.tensor import observer
from flambeau.tensor.overrides import nobody_asked as DisableTorchFunction  # noqa: N812
from flambeau.tensor.overrides import subclasses_ignored as DisableTorchFunctionSubclass  # noqa: N812
from flambeau.tensor.subclasses import disabled_function as _disabled_torch_function_impl
from flambeau.tensor.tensor import Tensor as TensorBase
from flambeau.util.counters import AggregationType, LockingLogger, NoopLogger
from flambeau.util.errors import ScriptError as JITException
from flambeau.util.inversions import PACKAGE

_is_tracing, LoggerBase = is_tracing, NoopLogger
_nn = OperatorNamespace("aten")
"""Operators of `nn.functional` under PyTorch's name for them: `_C._nn.gelu`."""


SWITCHES = (
    "_jit_set_", "_jit_get_", "_jit_override_", "_jit_texpr", "_jit_can_fuse", "_debug_set_", "_debug_get_",
    "_set_graph_executor", "_get_graph_executor",
)  # fmt: skip
"""How the names of switches of PyTorch's executors and fusers begin."""
SWITCH = (
    ": it is a switch of PyTorch's executors that has no meaning here. Options belong to a function: "
    'script(fn, without=("fuse",), max_plans=16, backend="interpreter")'
)


@form_of("aten::_get_tracing_state", takes_tensors=False)
def _get_tracing_state() -> Any:
    """What watches tensors in this thread while a function is traced, else None; in programs whether one is: False."""
    return observer.current()


sys.modules["flambeau._C"] = sys.modules[__name__]  # for `import flambeau._C`, and `from flambeau._C import parse_ir`


_OF_PACKAGE = frozenset({
    "Generator", "Size", "Tag", "default_generator", "device", "dtype", "finfo", "get_autocast_dtype",
    "get_default_dtype", "get_num_interop_threads", "get_num_threads", "iinfo", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_autocast_cache_enabled", "is_autocast_enabled", "is_grad_enabled", "is_inference_mode_enabled", "layout",
    "memory_format", "qscheme", "set_autocast_dtype", "set_autocast_enabled", "set_num_interop_threads",
    "set_num_threads",
})  # fmt: skip
"""Names of the package that PyTorch has there, too."""


def _tensor_expressions() -> Any:
    """Loop nests, which few programs ask for: imported when one does."""
    module = sys.modules["flambeau._C._te"] = import_module("flambeau.jit.torch_names.tensor_expressions")
    return module


def __getattr__(name: str) -> Any:
    """`_jit_pass_dce` and its like: passes as functions of a graph; switches that cannot be turned."""
    if name in FIXED:
        return FIXED[name]
    if name == "_te":
        return _tensor_expressions()
    if name in _OF_PACKAGE:
        return getattr(PACKAGE.implementation, name)
    if name == "FileCheck":
        return PACKAGE.implementation.testing.FileCheck
    if name.removeprefix("_jit_pass_") not in PASSES or not name.startswith("_jit_pass_"):
        hint = SWITCH if name.startswith(SWITCHES) else ""
        raise AttributeError(f"flambeau._C has no '{name}'{hint}")
    return partial(call_pass, name.removeprefix("_jit_pass_"))


__all__ = [
    "AggregationType",
    "AliasDb",
    "AnyType",
    "Argument",
    "AwaitType",
    "Block",
    "BoolType",
    "BufferDict",
    "ClassType",
    "CompilationUnit",
    "ComplexType",
    "DeviceObjType",
    "DictType",
    "EnumType",
    "FloatType",
    "FunctionSchema",
    "Future",
    "FutureType",
    "Gradient",
    "Graph",
    "InferredType",
    "IntType",
    "InterfaceType",
    "JITException",
    "ListType",
    "LiteScriptModule",
    "LockingLogger",
    "LoggerBase",
    "ModuleDict",
    "ModuleHandle",
    "Node",
    "NoneType",
    "NoopLogger",
    "NumberType",
    "OptionalType",
    "ParameterDict",
    "PyTorchFileReader",
    "PyTorchFileWriter",
    "RRefType",
    "ScriptDict",
    "ScriptFunction",
    "ScriptList",
    "ScriptMethod",
    "ScriptModule",
    "ScriptObject",
    "StreamObjType",
    "StringType",
    "TensorBase",
    "TensorType",
    "TupleType",
    "Type",
    "UnionType",
    "Use",
    "Value",
    "_Await",
    "_awaitable",
    "_awaitable_nowait",
    "_awaitable_wait",
    "_create_function_from_graph",
    "_export_operator_list",
    "_export_opnames",
    "_freeze_module",
    "_get_graph_executor_optimize",
    "_get_max_operator_version",
    "_get_model_extra_files",
    "_get_model_extra_files_from_buffer",
    "_get_operator_version_map",
    "_get_schema",
    "_get_tracing_state",
    "_infer_size",
    "_is_tracing",
    "_jit_assert_is_instance",
    "_jit_can_fuse_on_cpu",
    "_jit_clear_class_registry",
    "_jit_debug_module_iterators",
    "_jit_decomposition_graph_for_node",
    "_jit_differentiate",
    "_jit_erase_non_input_shape_information",
    "_jit_flatten",
    "_jit_get_all_schemas",
    "_jit_get_inline_everything_mode",
    "_jit_get_num_profiled_runs",
    "_jit_get_operation",
    "_jit_get_schemas_for_operator",
    "_jit_interpret_graph",
    "_jit_object_is_non_holding",
    "_jit_override_can_fuse_on_cpu",
    "_jit_pass_canonicalize",
    "_jit_pass_custom_pattern_based_rewrite",
    "_jit_pass_custom_pattern_based_rewrite_graph",
    "_jit_pass_lower_graph",
    "_jit_pass_propagate_shapes_on_graph_and_build_compute",
    "_jit_register_decomposition_for_schema",
    "_jit_register_shape_compute_graph_for_node",
    "_jit_resolve_packet",
    "_jit_set_autocast_mode",
    "_jit_set_bailout_depth",
    "_jit_set_fusion_strategy",
    "_jit_set_inline_everything_mode",
    "_jit_set_num_profiled_runs",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled",
    "_jit_set_texpr_reductions_enabled",
    "_jit_shape_compute_graph_for_node",
    "_jit_texpr_fuser_enabled",
    "_jit_texpr_reductions_enabled",
    "_jit_try_infer_type",
    "_jit_unflatten",
    "_last_executed_optimized_graph",
    "_llvm_enabled",
    "_propagate_shapes",
    "_set_graph_executor_optimize",
    "fork",
    "parse_ir",
    "parse_schema",
    "parse_type_comment",
    "run_pass",
    "unify_type_list",
    "wait",
]
