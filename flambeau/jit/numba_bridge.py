"""Functions compiled by Numba that call scripted ones: what Numba is told of `ScriptFunction`.

Numba asks an object that it does not know for its ``_numba_type_``. A scripted function's is made here; the first one
also tells Numba how calls are typed and lowered. Nobody else loads this module, and it is Numba that has to be loaded
already.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import inspect
import itertools
import pickle
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flambeau.codegen import available
from flambeau.codegen.kernel import KernelError
from flambeau.codegen.whole import facts
from flambeau.codegen.whole.representation import Bool, Fixed, Float, Int, Representation, Tupled
from flambeau.codegen.whole.shim import Shim
from flambeau.codegen.whole.values import CannotCompileError
from flambeau.executor.whole import WholeFunction
from flambeau.schema.types import BoolType, FloatType, IntType, Type

if TYPE_CHECKING:
    from flambeau.jit.function import ScriptFunction

TAKES_NUMBERS = (
    "a function compiled by Numba calls scripts of int, float and bool that return such numbers or a tuple of them; "
    "{schema} has {what}"
)
DOES_NOT_FIT = "{schema} does not take ({given}) from a function compiled by Numba{reason}"
NOT_NATIVE = "{schema} has no native code that Numba could call: {reason}"
NOT_HERE = "{schema} is native code of the processor's, which Numba cannot call from here"
LOST = "a scripted function failed, and too many others since for its error to be known"
MAX_ERRORS = 4096
"""Errors that are remembered until Numba raises them; it never asks for one that its code catches."""
_ZEROS: dict[type[Type], Any] = {IntType: 0, FloatType: 0.0, BoolType: False}
_CALL = "a call of a scripted function"
_numbers = itertools.count()


def numba_type(script: ScriptFunction) -> Any:
    """What Numba knows a scripted function as: a type of its own."""
    return _script_type()(script)


def shim_of(script: ScriptFunction) -> Shim:
    """The native function that Numba calls. Raises TypeError naming the schema where there is none."""
    schema = script.schema
    for argument in schema.arguments:
        if type(argument.type) not in _ZEROS:
            what = f"parameter '{argument.name}' of type {argument.type.annotation}"
            raise TypeError(TAKES_NUMBERS.format(schema=schema, what=what))
    reason = "llvmlite is not installed" if not available() else f"its backend is '{script.options.backend}'"
    if not available() or script.options.backend != "native":
        raise TypeError(NOT_NATIVE.format(schema=schema, reason=reason))
    graph = script._executor.plan_for([_ZEROS[type(a.type)] for a in schema.arguments]).graph
    whole = WholeFunction(script.name, graph, enters=False)
    parameters = [rep for v in graph.inputs if (rep := facts.of_type(v.type)) is not None]
    try:
        shim = Shim(graph, parameters, whole._run_site, whole._chain, described)
    except (CannotCompileError, KernelError) as error:
        raise TypeError(NOT_NATIVE.format(schema=schema, reason=error)) from None
    for result in _flat(shim.results):
        if not isinstance(result, Int | Float | Bool):
            what = f"a result of type {schema.returns[0].type.annotation}"
            raise TypeError(TAKES_NUMBERS.format(schema=schema, what=what))
    return shim


def _flat(results: Sequence[Representation]) -> list[Representation]:
    """The numbers of results, which may be tuples or None."""
    found: list[Representation] = []
    for rep in results:
        if rep != Fixed(None):
            found += _flat(rep.items) if isinstance(rep, Tupled) else (rep,)
    return found


# -- errors -----------------------------------------------------------------------------------------------------------


class _Errors(threading.local):
    """The error that this thread is about to raise."""

    next: BaseException | None = None


_errors: dict[int, BaseException] = {}
_lock = threading.Lock()
_thread = _Errors()


class _Next:
    """Unpickles as the error that this thread is about to raise."""

    def __reduce__(self) -> Any:
        return _take, ()


def _take() -> BaseException:
    found, _thread.next = _thread.next, None
    return found or RuntimeError(LOST)


def _unwrap(key: int) -> tuple[Any, ...]:
    """Called by code of Numba's that raises, before it unpickles what it raises."""
    with _lock:
        _thread.next = _errors.pop(key, None)
    return ()


_unwrap_c = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_int64)(_unwrap)
_PICKLED = pickle.dumps((_Next(), (), None))
_pickled_c = ctypes.create_string_buffer(_PICKLED, len(_PICKLED))


def described(error: BaseException) -> int:
    """An exception as Numba's functions hand it on: five words, which whoever raises it frees.

    They say where a pickle is, how long it is, a word, a function of that word whose results go into the pickle's
    arguments, and that there is one.
    """
    helpers = importlib.import_module("numba.core.runtime._nrt_python").c_helpers
    address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(helpers["Allocate"])(40)
    if not address:
        return 0
    key = next(_numbers)
    with _lock:
        _errors[key] = error
        while len(_errors) > MAX_ERRORS:
            del _errors[next(iter(_errors))]
    unwrap = ctypes.cast(_unwrap_c, ctypes.c_void_p).value or 0
    words: list[ctypes.c_int64 | int] = [ctypes.addressof(_pickled_c), len(_PICKLED), key, unwrap, 1]
    (ctypes.c_int64 * 5).from_address(address)[:] = words
    return int(address)


# -- types and calls --------------------------------------------------------------------------------------------------


@functools.cache
def _script_type() -> Any:
    """The class of the types of scripted functions, a type for each; Numba is told of it."""
    extending: Any = importlib.import_module("numba.extending")
    errors: Any = importlib.import_module("numba.core.errors")
    typing: Any = importlib.import_module("numba.core.typing")
    types: Any = importlib.import_module("numba.core.types")

    class ScriptType(types.Callable, types.Opaque):  # type: ignore[misc]
        """The type of one scripted function."""

        def __init__(self, script: ScriptFunction) -> None:
            self.script = script
            self._shim: Shim | None = None
            super().__init__(f"script({script.schema}, number {next(_numbers)})")

        @property
        def shim(self) -> Shim:
            """What is called."""
            if self._shim is None:
                self._shim = shim_of(self.script)
            return self._shim

        def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
            """The signature of a call. Raises TypingError naming the schema."""
            if not isinstance(context, typing.Context):
                raise errors.TypingError(NOT_HERE.format(schema=self.script.schema))
            try:
                wanted, returned = self._signature(args, dict(kws))
            except TypeError as error:
                raise errors.TypingError(str(error)) from None
            return typing.signature(returned, *wanted, recvr=self).replace(pysig=inspect.signature(self.script))

        def _signature(self, args: Any, kws: dict[str, Any]) -> tuple[list[Any], Any]:
            shim, schema = self.shim, self.script.schema
            shown = ", ".join([*map(str, args), *(f"{name}={t}" for name, t in kws.items())])
            try:
                bound = inspect.signature(self.script).bind(*args, **kws)
            except TypeError as error:
                raise TypeError(DOES_NOT_FIT.format(schema=schema, given=shown, reason=f": {error}")) from None
            wanted = []
            for argument, rep in zip(schema.arguments, shim.parameters, strict=True):
                given, target = bound.arguments.get(argument.name), _numba_type(rep)
                if given is None:
                    wanted.append(types.Omitted(argument.default))
                elif isinstance(given, types.Omitted) or _fits(types.unliteral(given), target):
                    wanted.append(target if not isinstance(given, types.Omitted) else given)
                else:
                    reason = f": '{argument.name}' is {types.unliteral(given)}"
                    raise TypeError(DOES_NOT_FIT.format(schema=schema, given=shown, reason=reason))
            found = [_numba_type(r) for r in shim.results]
            return wanted, found[0] if len(found) == 1 else types.none

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


def _fits(given: Any, wanted: Any) -> bool:
    """Whether a script takes the number: no float for an int, no number for a bool, no bool for a number."""
    types: Any = importlib.import_module("numba.core.types")
    if wanted == types.boolean or isinstance(given, types.Boolean):
        return bool(given == wanted)
    return isinstance(given, types.Integer) or (wanted == types.float64 and isinstance(given, types.Float))


def _numba_type(rep: Representation) -> Any:
    types: Any = importlib.import_module("numba.core.types")
    if isinstance(rep, Tupled):
        return types.Tuple([_numba_type(r) for r in rep.items])
    numbers: dict[type[Any], Any] = {Int: types.int64, Float: types.float64, Bool: types.boolean}
    return numbers.get(type(rep), types.none)


def _emit_call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The call of the shim, and the way out where it fails."""
    from llvmlite import ir

    cgutils: Any = importlib.import_module("numba.core.cgutils")
    types: Any = importlib.import_module("numba.core.types")
    shim: Shim = signature.args[0].shim
    address = ir.IntType(8).as_pointer()
    values = [
        context.get_constant(_numba_type(rep), type_.value) if isinstance(type_, types.Omitted) else value
        for type_, value, rep in zip(signature.args[1:], arguments[1:], shim.parameters, strict=True)
    ]
    flat = _flat(shim.results)
    results = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(64), max(1, len(flat))))
    error = cgutils.alloca_once(builder, address)
    function = ir.FunctionType(ir.IntType(32), [address, address.as_pointer(), *(v.type for v in values)])
    place = context.add_dynamic_addr(builder, shim.entry, f"flambeau_{signature.args[0].script.name}")
    pointer = builder.bitcast(place, function.as_pointer())
    _keep(context.active_code_library, shim)
    status = builder.call(pointer, [builder.bitcast(results, address), error, *values])
    with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, status)):
        _leave(context.call_conv, builder, builder.load(error))
    items = [_loaded(builder, cgutils.gep_inbounds(builder, results, 0, k), rep) for k, rep in enumerate(flat)]
    made, _ = _assembled(context, builder, signature.return_type, items)
    return made


def _loaded(builder: Any, place: Any, rep: Representation) -> Any:
    from llvmlite import ir

    bits = builder.load(place)
    if isinstance(rep, Float):
        return builder.bitcast(bits, ir.DoubleType())
    return builder.trunc(bits, ir.IntType(1)) if isinstance(rep, Bool) else bits


def _assembled(context: Any, builder: Any, kind: Any, items: list[Any]) -> tuple[Any, list[Any]]:
    """A value of a type from the first of some numbers, and the other numbers."""
    types: Any = importlib.import_module("numba.core.types")
    if not isinstance(kind, types.BaseTuple):
        return (items[0], items[1:]) if items else (context.get_dummy_value(), items)
    parts = []
    for part in kind.types:
        made, items = _assembled(context, builder, part, items)
        parts.append(made)
    return context.make_tuple(builder, kind, parts), items


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
