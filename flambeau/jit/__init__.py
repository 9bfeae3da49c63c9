"""What users type: `script`, `trace`, units of functions from text, and the objects and errors they give back."""

from flambeau.jit.arguments import ArgumentError
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules import export
from flambeau.jit.script import script
from flambeau.jit.script_module import ScriptModule
from flambeau.jit.trace import trace
from flambeau.jit.unit import CompilationUnit, create_function_from_graph
from flambeau.util.errors import (
    CompileError,
    ExecutionError,
    FrontendError,
    GuardError,
    NotSupportedError,
    ScriptError,
    TracerWarning,
    TracingCheckError,
)

Error = ScriptError
"""The name that TorchScript programs catch it by."""

__all__ = [
    "ArgumentError",
    "CompilationUnit",
    "CompileError",
    "Error",
    "ExecutionError",
    "FrontendError",
    "GuardError",
    "NotSupportedError",
    "ScriptError",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "TracingCheckError",
    "create_function_from_graph",
    "export",
    "script",
    "trace",
]
