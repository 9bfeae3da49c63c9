"""`flambeau.script`: compile a function, a module, or a list of functions in a Python module."""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final, ParamSpec, Protocol, TypeVar, overload

from flambeau.executor.executor import Executor
from flambeau.executor.options import BackendName, Options
from flambeau.frontend.closures.template import Template
from flambeau.frontend.source.python_source import NameScope, innermost_function
from flambeau.frontend.trees.function_conversion import get_tree
from flambeau.jit.array_meaning import Meaning, meaning_of
from flambeau.jit.arrays_or_tensors import ArraysOrTensors
from flambeau.jit.by_types import ByTypes
from flambeau.jit.classes.script_class import define, let_instances_be_met, script_class
from flambeau.jit.classes.script_instances import ScriptInstance
from flambeau.jit.container_reads import reads_containers
from flambeau.jit.containers import ScriptDict, ScriptList
from flambeau.jit.disabled import is_disabled
from flambeau.jit.example_inputs import ExampleTypes
from flambeau.jit.function import ScriptFunction
from flambeau.jit.functions_of_arrays import (
    array_function,
    function_by_call,
    furthest,
    has_meaning,
    has_meaning_of_containers,
)
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.modules.old_style import ScriptModule
from flambeau.jit.modules.prepared import METHOD as SUBSTITUTE
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.jit.open_function import OpenFunction
from flambeau.jit.overloads import refuse_direct
from flambeau.jit.python_values import is_of_python_values
from flambeau.jit.resolver import PythonResolver, compile_python_function
from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.torch_counterparts import MODULE_OF_TORCH, is_torch_module
from flambeau.jit.unannotated import ByCall, may_mean_arrays, unannotated_parameters
from flambeau.nn.module import Module
from flambeau.program.function import Function
from flambeau.util.errors import CompileError, without_frames
from flambeau.util.names_of_numba import NO_SIGNATURE, unknown_option

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")
CLASSES = ModuleClasses(REGISTRY, PythonResolver)
"""The process's classes of modules."""
let_instances_be_met(CLASSES)
ScriptModule._finish.append(lambda instance: RecursiveScriptModule.of(instance, CLASSES, Options()))
MODULE_CLASS = (
    "Type '{0}' cannot be compiled since it inherits from nn.Module, pass an instance instead: make one and script it"
)
NO_OPTIMIZE = "script's `optimize` has no effect; with jit.optimized_execution(False): runs calls unoptimised"
NO_EXAMPLES = "example_inputs are of functions and modules; a {kind} is compiled by its annotations alone"
WHAT_TO_SCRIPT = "script takes a function, a module, or a Python module with functions, not a {kind}: {hint}"

OPERATOR = "{0} is compiled already, and runs by itself; a program that calls it is a function of its own"
CLASS_METHOD = "programs may call {0}.{1}(...), or make it a function or a static method"


class Scripting(Protocol):
    """What `script` gives that was only told its options: a decorator."""

    @overload
    def __call__(self, obj: type[T], /) -> type[T]: ...  # type: ignore[overload-overlap]  # a class is callable too
    @overload
    def __call__(self, obj: Callable[P, R], /) -> ScriptFunction[P, R]: ...


@overload
def script(  # type: ignore[overload-overlap]  # a module is callable too
    obj: Module,
    *,
    backend: BackendName = ...,
    max_plans: int = ...,
    without: tuple[str, ...] = ...,
    verify: bool = ...,
    tiered: bool = ...,
    example_inputs: Any = ...,
) -> RecursiveScriptModule: ...
@overload
def script(  # type: ignore[overload-overlap]  # a class is callable too
    obj: type[T],
    *,
    backend: BackendName = ...,
    num_threads: int | None = ...,
    fastmath: bool = ...,
    max_plans: int = ...,
    without: tuple[str, ...] = ...,
    verify: bool = ...,
    tiered: bool = ...,
) -> type[T]: ...
@overload
def script(
    obj: types.ModuleType,
    *,
    backend: BackendName = ...,
    num_threads: int | None = ...,
    fastmath: bool = ...,
    max_plans: int = ...,
    without: tuple[str, ...] = ...,
    verify: bool = ...,
    tiered: bool = ...,
) -> dict[str, ScriptFunction]: ...
@overload
def script(obj: list[Any]) -> ScriptList: ...
@overload
def script(obj: dict[Any, Any]) -> ScriptDict: ...
@overload
def script(
    obj: Callable[P, R],
    *,
    backend: BackendName = ...,
    num_threads: int | None = ...,
    fastmath: bool = ...,
    max_plans: int = ...,
    without: tuple[str, ...] = ...,
    verify: bool = ...,
    tiered: bool = ...,
    example_inputs: Any = ...,
) -> ScriptFunction[P, R]: ...
@overload
def script(
    obj: None = None,
    *,
    backend: BackendName = ...,
    num_threads: int | None = ...,
    fastmath: bool = ...,
    max_plans: int = ...,
    without: tuple[str, ...] = ...,
    verify: bool = ...,
    tiered: bool = ...,
    example_inputs: Any = ...,
) -> Scripting: ...


def script(
    obj: Any = None,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Callable[[str], Any] | None = None,
    example_inputs: Any = None,
    *,
    backend: BackendName = "native", num_threads: int | None = None, fastmath: bool = False, max_plans: int = 16,
    without: tuple[str, ...] = (), verify: bool = False, tiered: bool = True, **unknown: Any,
) -> Any:  # fmt: skip
    """Compile `obj` from its source.

    Args:
        obj: a function, a `flambeau.nn.Module`, a class (which comes back itself, all its methods compiled for programs
            that use it), or a Python module (each function defined in it is compiled; a dict by name comes back). Of a
            list or dict it makes one that programs take by reference. Without it, a decorator with the other options
            comes back.
        backend: what runs it. "native" makes machine code of groups of tensor operators, "interpreter" runs bytecode
            alone, "reference" is the slow evaluator that defines the meaning.
        num_threads: threads that one kernel may use, the caller's included; None for what `set_num_threads` says.
            Results do not depend on it, but for the sums inside large products that the BLAS computes.
        fastmath: let native code regroup arithmetic of floats: sums in any order, reciprocals, fused multiply-adds,
            zeros of either sign. Results differ in their last digits; nan and infinities keep their meaning.
        max_plans: specialisations (by dtype, rank, and which sizes are 1) that are kept.
        without: passes to leave out, by name; "llvm" for those that LLVM runs over whole graphs.
        verify: check the graph after every pass.
        example_inputs: arguments of calls, a list of tuples, or a dict from methods of a module to such lists. They run
            in Python first, and tell the types of parameters without annotations in all functions that they reach.
        tiered: let a long program (32 operators on tensors) answer its first call as it is written, before a plan is.

    Programs written for TorchScript may pass more: `_rcb` gives values of names, and None for those that mean what they
    mean where the function was written; `optimize` (with a warning) and `_frames_up` have no effect.

    Scripting the same function again gives the same graph. Types come from annotations; a parameter without one is a
    Tensor, or what a call brings beside tensors (a dict of them, a number). FLAMBEAU_DISABLE=1 has `obj` come back.

    Raises:
        TypeError: an option that there is not; of Numba's options the message says what to write.
        ValueError: `example_inputs` of another form.
        CompileError: the source cannot be had or is not of the language; the message shows the place.

    >>> import flambeau
    >>> from flambeau import Tensor
    >>> @flambeau.script
    ... def halves(x: Tensor, n: int) -> Tensor:
    ...     for _ in range(n):
    ...         x = x * 0.5
    ...     return x
    >>> halves(flambeau.ones(2), 3)
    tensor([0.1250, 0.1250])
    """
    if unknown:
        raise TypeError(unknown_option(list(unknown)))
    options = Options(
        backend=backend, num_threads=num_threads, fastmath=fastmath, max_plans=max_plans, without=frozenset(without),
        verify=verify, tiered=tiered,
    )  # fmt: skip
    if optimize is not None:
        warnings.warn(NO_OPTIMIZE, FutureWarning, stacklevel=2)
    if obj is None:
        return partial(script, backend=backend, num_threads=num_threads, fastmath=fastmath, max_plans=max_plans,
                       without=without, verify=verify, tiered=tiered, example_inputs=example_inputs)  # fmt: skip
    try:
        if example_inputs is not None and not is_disabled():
            return _script_for_examples(obj, options, example_inputs)
        if _rcb is not None and inspect.isfunction(obj) and not is_disabled():
            return script_function(obj, options, _rcb)
        return script_with(obj, options)
    except CompileError as error:
        raise without_frames(error) from None


def script_with(obj: Any, options: Options) -> Any:
    """`script` with its options gathered."""
    if is_disabled() and not isinstance(obj, list | dict):
        return obj
    scripting = next((scripting for kind, scripting in _SCRIPTING if isinstance(obj, kind)), None)
    if hasattr(type(obj), SUBSTITUTE) and not isinstance(obj, _AS_THEY_ARE):
        return script_with(getattr(obj, SUBSTITUTE)(), options)
    if scripting is not None:
        return scripting(obj, options)
    if inspect.ismethod(obj):
        return _method(obj, options)
    if isinstance(getattr(obj, "operator_name", None), str) and not hasattr(obj, "__wrapped__"):
        raise TypeError(WHAT_TO_SCRIPT.format(kind="operator", hint=OPERATOR.format(obj.__name__)))
    if inspect.isfunction(obj) or hasattr(obj, "__wrapped__"):
        return script_function(obj, options)
    return _instance(obj, options)


def _script_for_examples(obj: Any, options: Options, examples: Any) -> Any:
    """`script` of a function or module whose parameters have the types that calls bring."""
    if isinstance(obj, ScriptModule | ScriptFunction):
        return obj
    if not (isinstance(obj, Module) or inspect.isfunction(obj)):
        raise TypeError(NO_EXAMPLES.format(kind=type(obj).__name__))
    classes = CLASSES.beside(REGISTRY.beside(ExampleTypes.of_calls(obj, examples)))
    with REGISTRY.lock:
        if isinstance(obj, Module):
            return RecursiveScriptModule.of(obj, classes, options)
        return _alike(options, obj, compile_python_function(obj, classes))


def _method(method: types.MethodType, options: Options) -> Any:
    """A method of an object: that of the scripted object. Raises TypeError for a method of a class."""
    owner, name = method.__self__, method.__name__
    if isinstance(owner, type):
        raise TypeError(WHAT_TO_SCRIPT.format(kind="class method", hint=CLASS_METHOD.format(owner.__name__, name)))
    scripted = script_with(owner, options)
    if not isinstance(scripted, RecursiveScriptModule):
        return getattr(scripted, name)
    with REGISTRY.lock:
        return scripted._method(name)


def _module(module: Module, options: Options) -> RecursiveScriptModule:
    with REGISTRY.lock:
        return RecursiveScriptModule.of(module, CLASSES, options)


def _functions_of(module: types.ModuleType, options: Options) -> dict[str, Any]:
    """The functions that a module of Python defines, scripted, by name."""
    own = [v for v in vars(module).values() if inspect.isfunction(v) and v.__module__ == module.__name__]
    return {function.__name__: script_with(function, options) for function in own}


def _class(cls: type, options: Options) -> Any:
    if issubclass(cls, Module):
        raise RuntimeError(MODULE_CLASS.format(cls))
    return script_class(cls, CLASSES)


def _instance(value: Any, options: Options) -> ScriptInstance:
    if is_torch_module(value):
        raise TypeError(WHAT_TO_SCRIPT.format(kind=type(value).__name__, hint=MODULE_OF_TORCH))
    definition = define(type(value), CLASSES)
    if definition is None:
        hint = NO_SIGNATURE if isinstance(value, str) else "it has no Python source to compile"
        raise TypeError(WHAT_TO_SCRIPT.format(kind=type(value).__name__, hint=hint))
    return ScriptInstance(value, definition, options)


def _with_options(function: ScriptFunction, options: Options) -> ScriptFunction:
    return function if options == function.options else ScriptFunction.with_options(function, options)


_AS_THEY_ARE: Final = (list, dict, ScriptModule, ScriptInstance, ScriptList, ScriptDict, ScriptFunction, Module)
"""Nothing is asked for a substitute of these."""
_SCRIPTING: Final[tuple[tuple[Any, Callable[[Any, Options], Any]], ...]] = (
    (list, lambda items, options: ScriptList(items)),
    (dict, lambda items, options: ScriptDict(items)),
    ((ScriptModule, ScriptInstance, ScriptList, ScriptDict), lambda scripted, options: scripted),
    (ScriptFunction, _with_options),
    (Module, _module),
    (types.ModuleType, _functions_of),
    (type, _class),
)
"""How each kind of object is scripted; the first that fits counts."""


def script_function(
    fn: Callable[..., Any], options: Options, names: Callable[[str], Any] | None = None
) -> ScriptFunction:
    """A Python function, compiled; `names` gives values of names before its own scope does, or None."""
    refuse_direct(fn)
    with REGISTRY.lock:
        of_arrays = array_function(fn, CLASSES, options) if names is None and inspect.isfunction(fn) else None
        if of_arrays is not None:
            return of_arrays
        is_open = names is None and inspect.isfunction(fn) and bool(unannotated_parameters(fn))
        meaning = meaning_of(fn) if is_open else Meaning.TENSORS
        try:
            function = _of_tensors(fn, meaning, names)
        except CompileError as error:
            if not is_open:
                raise
            return _of_calls(fn, meaning, options, error)
    executor = None if options == Options() else Executor(function, options)
    inner = innermost_function(fn)
    if not is_open:
        return ScriptFunction(function, inner, lambda: get_tree(fn), executor)
    by_call = ByCall(fn, lambda: function_by_call(fn, CLASSES, options))
    if meaning is not Meaning.TENSORS:
        takes_numbers = meaning is Meaning.NUMPY
        either = ArraysOrTensors(function, inner, lambda: get_tree(fn), executor, by_call, takes_numbers=takes_numbers)
        either.take_types(_by_types(fn, options))
        return either
    scripted = ScriptFunction(function, inner, lambda: get_tree(fn), executor)
    scripted.array_source, scripted.by_call = inner, by_call
    scripted.by_types = _by_types(fn, options)
    return scripted


def _by_types(fn: Any, options: Options) -> ByTypes:
    """What a function without annotations is for the types of calls."""
    return ByTypes(fn, lambda: _template_of(fn), partial(_alike, options, innermost_function(fn)))


def _template_of(fn: Any) -> Template:
    """A function, to be compiled for the types of a call."""
    inner = innermost_function(fn)
    template = PythonResolver(NameScope.of_function(fn), CLASSES, inner.__name__).template(fn)
    assert template is not None
    return template


def _alike(options: Options, python: Callable[..., Any], function: Function) -> ScriptFunction:
    executor = None if options == Options() else Executor(function, options)
    return ScriptFunction(function, python, None, executor)


def _of_tensors(fn: Callable[..., Any], meaning: Meaning, names: Callable[[str], Any] | None) -> Function:
    """The function as one on tensors, if nothing else is annotated."""
    with warnings.catch_warnings():
        if meaning is not Meaning.TENSORS:  # what is said of tensors does not hold for what calls bring
            warnings.simplefilter("ignore")
        return compile_python_function(fn, CLASSES, names=names)


def _of_calls(
    fn: Callable[..., Any], meaning: Meaning, options: Options, refusal: CompileError
) -> ScriptFunction:
    """What a function without annotations that is refused for tensors is of what calls bring. Raises CompileError for
    one that is nothing: what was said of tensors, or, if it has a meaning for longer with arrays, of these."""
    refusals: list[CompileError] = []
    of_arrays = function_by_call(fn, CLASSES, options)
    if may_mean_arrays(fn) or (meaning is not Meaning.TENSORS and has_meaning(of_arrays, refusals)):
        of_arrays.by_types = _by_types(fn, options)
        return of_arrays
    if reads_containers(fn):
        return OpenFunction(fn, _template_of(fn), options, refusal)
    is_of_calls = meaning is not Meaning.TENSORS
    if is_of_calls and (has_meaning_of_containers(of_arrays) or is_of_python_values(fn, refusal)):
        return of_arrays
    raise furthest(refusals, refusal, is_numpys=meaning is Meaning.NUMPY) from None
