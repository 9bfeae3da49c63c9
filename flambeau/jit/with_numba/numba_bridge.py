"""Functions compiled by Numba that call scripted ones: what Numba is told of `ScriptFunction`.

Numba asks an object that it does not know for its ``_numba_type_``. A scripted function's is made here; the first one
also tells Numba how calls are typed and lowered. Nobody else loads this module, and it is Numba that has to be loaded
already.

    @flambeau.script
    def half_life(x: float, steps: int) -> float:
        for _ in range(steps):
            x *= 0.5
        return x

    @numba.njit
    def total(n):
        s = 0.0
        for i in range(n):
            s += half_life(1.0, i)  # a call of machine code, without Python in between
        return s
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen import available
from flambeau.codegen.graph import result_types
from flambeau.codegen.graph.entry.shim import Shim, leaves
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Array, Bool, Element, Float, Int, Representation, word_count
from flambeau.codegen.kernel import KernelError
from flambeau.executor.compiled_graph import CompiledGraph
from flambeau.executor.options import Options
from flambeau.executor.plan_graph import prepare_callees
from flambeau.ir.graph import Graph
from flambeau.jit.with_numba import numba_results
from flambeau.jit.with_numba.numba_errors import described
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import BoolType, FloatType, IntType, TensorType, Type
from flambeau.tensor.tensor import wrap

TAKES = (
    "a function compiled by Numba calls scripts of int, float, bool and Tensor that return numbers, tensors, tuples of "
    "them or None; {schema} has {what}"
)
DOES_NOT_FIT = "{schema} does not take ({given}) from a function compiled by Numba{reason}"
READ_ONLY = ": it writes to '{name}', which is read-only"
NO_DTYPE = ": '{name}' is {type}, and no tensor has such elements"
NOT_NATIVE = "{schema} has no native code that Numba could call: {reason}"
NOT_HERE = "{schema} is native code of the processor's, which Numba cannot call from here"
_NUMBERS: dict[type[Type], Representation] = {IntType: Int(), FloatType: Float(), BoolType: Bool()}
_CALL = "a call of a scripted function"
_names = itertools.count()


class Script(Protocol):
    """What is asked of a scripted function here."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def schema(self) -> FunctionSchema:
        """What it takes and returns."""

    @property
    def options(self) -> Options:
        """How it is run."""

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph that runs for arguments like these."""

    @property
    def __call__(self) -> Callable[..., Any]:
        """It can be called, so that it has a signature."""


class Callee:
    """A scripted function that Numba calls: a shim for each way its arrays look."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.schema = script.schema
        self._shims: dict[tuple[Representation, ...], tuple[Shim, frozenset[int]]] = {}

    def shim(self, looks: Sequence[Representation]) -> tuple[Shim, frozenset[int]]:
        """The native code for such arguments, and which of them it writes to. Raises TypeError where there is none."""
        shim = self._shims.get(tuple(looks))
        if shim is None:
            shim = self._shims[tuple(looks)] = self._made(looks)
        return shim

    def refuse_schema(self) -> None:
        """Raise TypeError for parameters that Numba has no values for."""
        for argument in self.schema.arguments:
            if type(argument.type) not in (*_NUMBERS, TensorType):
                what = f"parameter '{argument.name}' of type {argument.type.annotation}"
                raise TypeError(TAKES.format(schema=self.schema, what=what))
        reason = "llvmlite is not installed" if not available() else f"its backend is '{self.script.options.backend}'"
        if not available() or self.script.options.backend != "native":
            raise TypeError(NOT_NATIVE.format(schema=self.schema, reason=reason))

    def _made(self, looks: Sequence[Representation]) -> tuple[Shim, frozenset[int]]:
        graph = self.script.graph_for(*map(_example, looks))
        choices = self.script.options.choices
        prepare = prepare_callees(self.script.options)
        whole = CompiledGraph(self.script.name, graph, choices, enters=False, prepare=prepare)
        try:
            for value, rep in zip(graph.parameters, looks, strict=True):
                if result_types.of_type(value.static_type) != (
                    Array(rep.dtype, rep.rank) if isinstance(rep, Array) else rep
                ):
                    raise CannotCompileError(f"parameter %{value.name} is a {value.static_type}")
            shim = Shim(graph, looks, whole._run_exit_point, whole._inline_cache, described, choices, prepare)
        except (CannotCompileError, KernelError) as error:
            raise TypeError(NOT_NATIVE.format(schema=self.schema, reason=error)) from None
        for result in leaves(shim.results):
            if not isinstance(result, Int | Float | Bool | Array | Element):
                what = f"a result of type {self.schema.returns[0].type.annotation}"
                raise TypeError(TAKES.format(schema=self.schema, what=what))
        return shim, frozenset(whole.looks.written)


def _example(rep: Representation) -> Any:
    """An argument that looks so, with no size of 1, which a plan would rely on."""
    if isinstance(rep, Array):
        return wrap(np.zeros((2,) * rep.rank, rep.dtype.numpy))
    return {Int(): 0, Float(): 0.0}.get(rep, False)


# -- types ------------------------------------------------------------------------------------------------------------


def numba_type(script: Script) -> Any:
    """What Numba knows a scripted function as: a type of its own."""
    return _script_type()(script)


@functools.cache
def _script_type() -> Any:
    """The class of the types of scripted functions, a type for each; Numba is told of it."""
    extending: Any = importlib.import_module("numba.extending")
    errors: Any = importlib.import_module("numba.core.errors")
    typing: Any = importlib.import_module("numba.core.typing")
    types: Any = importlib.import_module("numba.core.types")

    class ScriptType(types.Callable, types.Opaque):  # type: ignore[misc]
        """The type of one scripted function."""

        def __init__(self, script: Script) -> None:
            self.callee = Callee(script)
            super().__init__(f"script({script.schema}, number {next(_names)})")

        def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
            """The signature of a call. Raises TypingError naming the schema."""
            schema = self.callee.schema
            if not isinstance(context, typing.Context):
                raise errors.TypingError(NOT_HERE.format(schema=schema))
            try:
                wanted, returned = _signature(self.callee, args, dict(kws))
            except TypeError as error:
                raise errors.TypingError(str(error)) from None
            python = inspect.signature(self.callee.script)
            return typing.signature(returned, *wanted, recvr=self).replace(pysig=python)

        def get_call_signatures(self) -> tuple[list[Any], bool]:
            """None are fixed."""
            return [], True

        def get_impl_key(self, sig: Any) -> Any:
            """One lowering serves all."""
            return _CALL

    extending.register_model(ScriptType)(extending.models.OpaqueModel)
    extending.unbox(ScriptType)(lambda type_, value, c: extending.NativeValue(c.context.get_dummy_value()))
    extending.lower_builtin(_CALL, ScriptType, types.VarArg(types.Any))(_emit_call)
    return ScriptType


def _types() -> Any:
    return importlib.import_module("numba.core.types")


def _signature(callee: Callee, args: Sequence[Any], kws: dict[str, Any]) -> tuple[list[Any], Any]:
    """The types that a call takes and gives. Raises TypeError."""
    types, schema = _types(), callee.schema
    callee.refuse_schema()
    shown = ", ".join([*map(str, args), *(f"{name}={t}" for name, t in kws.items())])

    def refuse(reason: str) -> TypeError:
        return TypeError(DOES_NOT_FIT.format(schema=schema, given=shown, reason=reason))

    try:
        bound = inspect.signature(callee.script).bind(*args, **kws).arguments
    except TypeError as error:
        raise refuse(f": {error}") from None
    wanted, looks = [], []
    for argument in schema.arguments:
        actual = types.unliteral(bound.get(argument.name, types.Omitted(argument.default)))
        try:
            rep = _look(argument.type, actual)
        except TypeError:
            raise refuse(NO_DTYPE.format(name=argument.name, type=actual)) from None
        if rep is None:
            raise refuse(f": '{argument.name}' is {actual}")
        looks.append(rep)
        wanted.append(actual if isinstance(actual, types.Omitted | types.Array) else numba_results.kind_of(rep))
    shim, written = callee.shim(looks)
    frozen = [number for number, kind in enumerate(wanted) if not getattr(kind, "mutable", True)]
    for number in sorted(written.intersection(frozen)):
        raise refuse(READ_ONLY.format(name=schema.arguments[number].name))
    aliases = AliasAnalysis(shim.graph)
    stays_so = aliases.may_contain_alias([shim.graph.parameters[k] for k in frozen], shim.graph.returns)
    returned = [numba_results.kind_of(r, is_read_only=stays_so) for r in shim.results]
    return wanted, returned[0] if len(returned) == 1 else types.none


def _look(declared: Type, actual: Any) -> Representation | None:
    """How a parameter looks in native code for what Numba gives; None if it does not take that.

    No float goes to an int, no number to a bool, no bool to a number. Raises TypeError for elements of other types.
    """
    types = _types()
    if isinstance(declared, TensorType):
        if not isinstance(actual, types.Array) or not actual.aligned:
            return None
        dtype = from_numpy_dtype(importlib.import_module("numba.np.numpy_support").as_dtype(actual.dtype))
        if dtype.is_complex:
            return None
        return Array(dtype, actual.ndim, actual.ndim if actual.layout == "C" else 0)
    rep = _NUMBERS[type(declared)]
    if isinstance(actual, types.Omitted):
        return rep
    if isinstance(rep, Bool) or isinstance(actual, types.Boolean):
        return rep if isinstance(rep, Bool) and isinstance(actual, types.Boolean) else None
    fits = isinstance(actual, types.Integer) or (isinstance(rep, Float) and isinstance(actual, types.Float))
    return rep if fits else None


# -- calls ------------------------------------------------------------------------------------------------------------


def _emit_call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The call of the shim, and the way out where it fails."""
    from llvmlite import ir

    cgutils: Any = importlib.import_module("numba.core.cgutils")
    callee: Callee = signature.args[0].callee
    passed = list(zip(callee.schema.arguments, signature.args[1:], arguments[1:], strict=True))
    shim, _ = callee.shim([rep for a, type_, _ in passed if (rep := _look(a.type, type_)) is not None])
    address = ir.IntType(8).as_pointer()
    values = [v for a, type_, value in passed for v in _registers(context, builder, a.type, type_, value)]
    size = max(1, sum(map(word_count, shim.results)))
    words = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(64), size))
    error = cgutils.alloca_once(builder, address)
    function = ir.FunctionType(ir.IntType(32), [address, address.as_pointer(), *(v.type for v in values)])
    entry_address = context.add_dynamic_addr(builder, shim.entry, f"flambeau_{callee.script.name}")
    _keep(context.active_code_library, shim)
    pointer = builder.bitcast(entry_address, function.as_pointer())
    status = builder.call(pointer, [builder.bitcast(words, address), error, *values])
    with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, status)):
        _leave(context.call_conv, builder, builder.load(error))
    return numba_results.made(context, builder, signature, arguments, words, shim.results)


def _registers(context: Any, builder: Any, declared: Type, kind: Any, value: Any) -> list[Any]:
    """What the shim takes of an argument."""
    from llvmlite import ir

    types = _types()
    if isinstance(kind, types.Omitted):
        return [context.get_constant(numba_results.kind_of(_NUMBERS[type(declared)]), kind.value)]
    if not isinstance(kind, types.Array):
        return [value]
    array = context.make_array(kind)(context, builder, value)
    axes = [builder.extract_value(numbers, k) for numbers in (array.shape, array.strides) for k in range(kind.ndim)]
    return [builder.bitcast(array.data, ir.IntType(8).as_pointer()), *axes]


def _leave(convention: Any, builder: Any, error: Any) -> None:
    """Hand an error on as one of Numba's own, which a `try` of the caller can catch."""
    code = importlib.import_module("numba.core.callconv").RETCODE_USEREXC
    target = convention._get_excinfo_argument(builder.function)
    builder.store(builder.bitcast(error, target.type.pointee), target)
    convention.check_try_status(builder)
    inside: Any = getattr(builder, "_in_try_block", None)
    if inside:
        builder.branch(inside["target"])
    else:
        convention._return_errcode_raw(builder, code)


def _keep(library: Any, shim: Shim) -> None:
    """Code that calls a shim holds it."""
    library.__dict__.setdefault("_flambeau", []).append(shim)
