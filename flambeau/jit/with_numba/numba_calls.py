"""Scripts that call functions compiled by Numba: `njit` and `cfunc` functions that a program names.

Numba is never imported here: a program that names such a function has imported it. The call is a node
`^name(...)` of the graph; the interpreter calls the Python object, native code the machine code that Numba made for
the types at hand.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.codegen.graph.entry.foreign_code import ForeignCode
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Array, Bool, Fixed, Float, Int, Representation, Tupled
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.scopes.python_constants import constant_value
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.types import BoolType, FloatType, IntType, NoneType, TensorType, TupleType, Type
from flambeau.tensor.bridge import from_numpy_or_copy
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

ARGUMENT = "a function compiled by Numba takes int, float, bool and Tensor from a program, not {type} ('{name}')"
RESULT = (
    "Numba's function '{name}' gives {type}, which a program has no type for; let it give int64, float, bool, None, an "
    "array, or a tuple of numbers"
)
REFUSED = "Numba's function '{name}' does not take ({types}): {reason}"
_TRIED = tuple((dtype, rank) for rank in (1, 2, 0, 3) for dtype in ("float32", "float64", "int64"))
"""Arrays that a function is typed for while a program is compiled, whose tensors are not known yet."""
_LOW = 0xFFFFFFFF


def loaded() -> Any:
    """The numba package if the process has imported it."""
    return sys.modules.get("numba")


def numba_function(value: Any) -> NumbaFunction | None:
    """A value as a function of Numba's, if it is one."""
    numba = loaded()
    kind = type(value).__module__
    if numba is None or not kind.startswith("numba."):
        return None
    if isinstance(value, numba.core.registry.CPUDispatcher):
        return NumbaFunction(value)
    callbacks = sys.modules.get("numba.core.ccallback")  # which Numba imports when somebody makes one
    if callbacks is not None and isinstance(value, callbacks.CFunc):
        known = getattr(value, "_flambeau", None)
        if known is None:  # the C wrapper swallows exceptions, so the function is compiled without it
            known = value._flambeau = NumbaFunction(numba.njit([value._sig])(value._pyfunc))
        assert isinstance(known, NumbaFunction)
        return known
    return None


class NumbaFunction:
    """What a node calls. Calling it takes and gives what programs have: tensors are arrays to the function."""

    keeps_sizes = True
    """Arrays that it is given have the same sizes and memory afterwards."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self.name: str = dispatcher.py_func.__name__
        self.raiser = raise_described

    def __call__(self, *values: Any) -> Any:
        arrays = [v.numpy() if isinstance(v, Tensor) else v for v in values]
        try:
            return _as_program(self.dispatcher(*arrays))
        finally:
            for value in values:
                if isinstance(value, Tensor):
                    value.bump_version()

    def signature(self, arguments: Sequence[Any]) -> Any:
        """Numba's signature for arguments of its types; compiles the function. Raises Numba's errors and TypeError."""
        kind = loaded().typeof(self.dispatcher)
        signature = kind.get_call_type(self.dispatcher.typingctx, tuple(arguments), {})
        if signature is None:
            raise TypeError(f"it was compiled for {', '.join(map(str, self.dispatcher.signatures))} only")
        return signature

    def result_type(self, types: Sequence[Type], where: SourceRange) -> Type:
        """The program's type of the result. Raises CompileError where Numba refuses, or gives something else."""
        numba, last = loaded(), ""
        for arguments in _candidates(types):
            try:
                return self._program_type(self.signature(arguments).return_type, where)
            except (numba.core.errors.NumbaError, TypeError) as error:
                last = last or str(error)
        shown = ", ".join(str(t) for t in types)
        raise CompileError(REFUSED.format(name=self.name, types=shown, reason=last.strip()), where)

    def _program_type(self, kind: Any, where: SourceRange | None) -> Type:
        types = loaded().types
        kind = types.unliteral(kind)
        if isinstance(kind, types.Boolean):
            return BoolType()
        if isinstance(kind, types.Integer) and (kind.signed or kind.bitwidth < 64):
            return IntType()
        if isinstance(kind, types.Float):
            return FloatType()
        if isinstance(kind, types.NoneType):
            return NoneType()
        if isinstance(kind, types.Array):
            return TensorType()
        if isinstance(kind, types.BaseTuple) and len(kind) and not isinstance(kind, types.BaseNamedTuple):
            return TupleType(tuple(self._program_type(k, where) for k in kind))
        raise CompileError(RESULT.format(name=self.name, type=kind), where)

    def native(self, arguments: Sequence[Representation]) -> ForeignCode | Array:
        """The machine code for such arguments. Raises CannotCompileError where Python has to make the call."""
        numba = loaded()
        try:
            signature = self.signature([_numba_type(rep) for rep in arguments])
        except (numba.core.errors.NumbaError, TypeError) as error:
            raise CannotCompileError(f"Numba refuses it: {str(error).strip()}") from None
        returned = numba.types.unliteral(signature.return_type)
        if isinstance(returned, numba.types.Array):
            return Array(from_numpy_dtype(numba.np.numpy_support.as_dtype(returned.dtype)), returned.ndim)
        compiled = self.dispatcher.overloads[signature.args]
        models = self.dispatcher.targetctx.data_model_manager
        name = compiled.fndesc.llvm_func_name
        kinds = []
        for rep, kind in zip(arguments, signature.args, strict=True):
            is_array = isinstance(kind, numba.types.Array)
            if is_array and kind != _numba_type(rep):
                raise CannotCompileError(f"Numba compiled it for {kind} only")
            kinds.append("" if is_array else str(models[kind].get_argument_type()))
        layout = "i8" if isinstance(returned, numba.types.NoneType) else str(models[returned].get_return_type())
        return ForeignCode(
            compiled.library.get_pointer_to_function(name), f"flambeau_foreign_{_symbol(name)}", tuple(kinds),
            _representation(returned), layout, compiled,
        )  # fmt: skip


def _symbol(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _numba_type(rep: Representation) -> Any:
    """What the call of Python would find the type of such a value to be."""
    types = loaded().types
    match rep:
        case Int():
            return types.int64
        case Float():
            return types.float64
        case Bool():
            return types.boolean
        case Array():
            element = loaded().from_dtype(np.dtype(rep.dtype.numpy))
            return types.Array(element, rep.rank, "C" if rep.dense == rep.rank else "A")
        case _:
            raise CannotCompileError("it takes numbers and tensors in memory")


def _representation(kind: Any) -> Representation:
    types = loaded().types
    kind = types.unliteral(kind)
    if isinstance(kind, types.Boolean):
        return Bool()
    if isinstance(kind, types.Integer) and kind.signed:
        return Int()
    if isinstance(kind, types.Float):
        return Float()
    if isinstance(kind, types.NoneType):
        return Fixed(None)
    if isinstance(kind, types.BaseTuple) and not any(isinstance(k, types.BaseTuple) for k in kind):
        return Tupled(tuple(_representation(k) for k in kind))
    raise CannotCompileError(f"it gives {kind}")


def _candidates(types: Sequence[Type]) -> list[list[Any]]:
    """Numba's types for the arguments: with tensors among them, for several kinds of arrays."""
    kinds = loaded().types
    plain: dict[type[Type], Any] = {IntType: kinds.int64, FloatType: kinds.float64, BoolType: kinds.boolean}
    if not any(isinstance(t, TensorType) for t in types):
        return [[plain[type(t)] for t in types]]
    arrays = [kinds.Array(getattr(kinds, dtype), rank, "C") for dtype, rank in _TRIED]
    return [[plain.get(type(t), array) for t in types] for array in arrays]


def _as_program(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return from_numpy_or_copy(value)
    return tuple([_as_program(v) for v in value]) if isinstance(value, tuple) else value


@dataclass(slots=True)
class NumbaValue(Sugared):
    """A function of Numba's in a program."""

    function: NumbaFunction

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function compiled by Numba"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A node that calls it; keywords and defaults are put in their places."""
        positional = [a for a in args if not a.name]
        named = {a.name: a for a in (*args, *keywords) if a.name}
        try:
            bound = inspect.signature(self.function.dispatcher.py_func).bind(*positional, **named)
        except TypeError as error:
            raise CompileError(f"{self.function.name}(): {error}", where) from None
        bound.apply_defaults()
        values = []
        for name, argument in bound.arguments.items():
            value = argument.value if isinstance(argument, Given) else e.constant(constant_value(argument))
            if not isinstance(value.static_type, IntType | FloatType | BoolType | TensorType):
                raise CompileError(ARGUMENT.format(type=value.static_type.annotation, name=name), where)
            values.append(value)
        type_ = self.function.result_type([v.static_type for v in values], where)
        return SimpleValue(e.emit(f"^{self.function.name}", values, type_, callable=self.function))


def raise_described(address: int) -> None:
    """Raise the exception that a compiled function described: pickled, with arguments of run time if it has any."""
    core = loaded().core
    words = (ctypes.c_int64 * 5).from_address(address)
    pickled = ctypes.string_at(words[0], words[1] & _LOW)
    if words[4] & _LOW:
        unwrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(words[3])
        kind, arguments, _ = core.serialize.runtime_build_excinfo_struct(pickled, unwrap(words[2]))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(core.runtime._nrt_python.c_helpers["Free"])(address)
    else:
        kind, arguments, _ = core.serialize.loads(pickled)
    raise kind if isinstance(kind, BaseException) else kind(*(arguments or ()))
