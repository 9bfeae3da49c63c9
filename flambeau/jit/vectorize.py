"""`flambeau.vectorize`: a function of numbers as a NumPy ufunc, its loops native code."""

from __future__ import annotations

import ctypes
import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.graph import result_types
from flambeau.codegen.graph.entry import ufunc
from flambeau.codegen.graph.entry.ufunc_loop import Kind
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.representation import Representation
from flambeau.executor.options import BackendName, Options
from flambeau.jit.function import ScriptFunction
from flambeau.jit.script import script_function, script_with
from flambeau.schema.types import BoolType, FloatType, IntType, TupleType, Type
from flambeau.util import log
from flambeau.util.errors import InternalError

NOT_NUMBERS = (
    "vectorize takes a function of int, float and bool that returns such numbers or a tuple of them, but {what} of "
    "'{name}' is {type}; call the scripted function itself on tensors"
)
NO_NUMBERS = "vectorize takes a function with parameters and results, not '{schema}'"
NO_COMPILER = "vectorize needs llvmlite, which is not installed; pip install llvmlite"
MAX_OPERANDS = 32
_FROM_FUNCTIONS, _NO_IDENTITY = 1, -1
"""Number of ``PyUFunc_FromFuncAndData`` in NumPy's table; a ufunc that cannot reduce nothing."""
_DTYPES: dict[Kind, Any] = {"float": np.float32, "double": np.float64, "i64": np.int64, "i8": np.bool_}
_ZEROS: dict[type[Type], Any] = {IntType: 0, FloatType: 0.0, BoolType: False}
_OBJECT_FUNCTIONS, _OBJECT_OWNED = 32, 88
"""Bytes from a ufunc's start to the table of its loops, and to what it holds until it goes."""


def vectorize(
    fn: Callable[..., Any] | None = None,
    *,
    backend: BackendName = "native",
    max_plans: int = 16,
    without: tuple[str, ...] = (),
    verify: bool = False,
) -> Any:
    """A NumPy ufunc that applies a function of numbers to every element.

    Args:
        fn: a Python function that `script` compiles, or a scripted function. Its parameters are int, float or bool, its
            result one of these or a tuple of them. Without it, a decorator with the other options comes back.
        backend: as in `script`, like the other options. "interpreter" and "reference" run each element in Python.

    The ufunc does what NumPy's own do: it broadcasts, takes `out=`, `where=` and `dtype=`, and has `reduce`,
    `accumulate` and `outer` if it has two operands and one result. An int is int64. A float is float64; arrays of
    float32 are computed in double precision and give float32. An element that raises stops the call with the
    function's own error; elements after it may have been computed or not. Floating-point flags make no warnings, as in
    scripts.

    Raises:
        CompileError: as `script` does.
        TypeError: a parameter or a result is no number.
        RuntimeError: llvmlite is not installed.

    >>> import flambeau, numpy as np
    >>> @flambeau.vectorize
    ... def clipped(x: float, low: float, high: float) -> float:
    ...     '''x, but not below low or above high.'''
    ...     return min(max(x, low), high)
    >>> clipped(np.array([-3.0, 0.5, 9.0]), 0, [1, 2, 3])
    array([0. , 0.5, 3. ])
    >>> clipped.types
    ['fff->f', 'ddd->d']
    """
    options = Options(backend=backend, max_plans=max_plans, without=frozenset(without), verify=verify)
    if fn is None:
        return lambda decorated: _vectorized(decorated, options)
    return _vectorized(fn, options)


def _vectorized(fn: Callable[..., Any], options: Options) -> np.ufunc:
    scripted = fn if isinstance(fn, ScriptFunction) else script_with(fn, options)
    if not isinstance(scripted, ScriptFunction):
        scripted = script_function(fn, options)  # FLAMBEAU_DISABLE leaves functions as they are, but NumPy needs loops
    return _Universal(scripted, fn).make()


class _Universal:
    """What a ufunc points into: its loops, their code, names; and what runs single elements in Python."""

    def __init__(self, scripted: ScriptFunction, python: Any) -> None:
        if not available():
            raise RuntimeError(NO_COMPILER)
        schema = scripted.schema
        returned: list[Type] = [r.type for r in schema.returns]
        if len(returned) == 1 and isinstance(returned[0], TupleType):
            returned = list(returned[0].elements)
        self.takes: list[Type] = [a.type for a in schema.arguments]
        named = [(f"parameter '{a.name}'", a.type) for a in schema.arguments] + [("a result", t) for t in returned]
        for what, type_ in named:
            if type(type_) not in _ZEROS:
                raise TypeError(NOT_NUMBERS.format(what=what, name=scripted.name, type=type_.annotation))
        if not self.takes or not returned or len(named) > MAX_OPERANDS:
            raise TypeError(NO_NUMBERS.format(schema=schema))
        self.gives = returned
        self.scripted = scripted
        self.choices = list(_choices(self.takes, self.gives))
        self.name = getattr(python, "__name__", scripted.name).encode()
        self.doc = (scripted.__doc__ or str(schema)).encode()
        self.runner = self.run  # native code has its address, so it must be one object
        self.code = ufunc.link(self.choices, self._native(), self.runner)

    def _native(self) -> Any:
        """The function's native text; None if Python has to run the elements."""
        if self.scripted.options.backend != "native":
            return None
        plan = self.scripted._executor.plan_for([_ZEROS[type(t)] for t in self.takes])
        parameters: list[Representation] = [r for t in self.takes if (r := result_types.of_type(t)) is not None]
        try:
            return ufunc.screening_text(plan.graph, parameters)
        except CannotCompileError as reason:
            if log.level("codegen"):
                log.write("codegen", f"the ufunc {self.scripted.name} calls Python for each element: {reason}")
            return None

    def run(self, choice: int, arguments: int, steps: int, start: int, count: int) -> None:
        """Run elements in Python, for native code that found that one of them fails."""
        kinds = [k for part in self.choices[choice] for k in part]
        addresses = (ctypes.c_int64 * len(kinds)).from_address(arguments)
        strides = (ctypes.c_int64 * len(kinds)).from_address(steps)
        for element in range(start, start + count):
            cells = [
                _cell(kind, address + element * stride)
                for kind, address, stride in zip(kinds, addresses, strides, strict=True)
            ]
            elements = [array.item() for array in cells[: len(self.takes)]]
            outcome = self.scripted._executor(*elements)
            results = outcome if len(self.gives) > 1 else (outcome,)
            for array, result in zip(cells[len(self.takes) :], results, strict=True):
                array[...] = result

    def make(self) -> np.ufunc:
        """The ufunc, which holds this object."""
        count = len(self.choices)
        self.functions = (ctypes.c_void_p * count)(*[self.code.addresses[f"{ufunc.LOOP}{k}"] for k in range(count)])
        self.data = (ctypes.c_void_p * count)()
        numbers = [np.dtype(_DTYPES[k]).num for choice in self.choices for part in choice for k in part]
        self.types = (ctypes.c_char * len(numbers))(*numbers)
        universal = _from_functions()(
            self.functions, self.data, self.types, count, len(self.takes), len(self.gives), _NO_IDENTITY, self.name,
            self.doc, 0,
        )  # fmt: skip
        if not isinstance(universal, np.ufunc):
            raise InternalError("vectorize", f"NumPy made {universal!r}")
        _let_hold(universal, ctypes.addressof(self.functions), self)
        return universal


def _cell(kind: Kind, address: int) -> Any:
    """An element in memory, as an array without axes."""
    dtype = np.dtype(_DTYPES[kind])
    return np.ndarray((), dtype, (ctypes.c_char * dtype.itemsize).from_address(address))


def _choices(takes: Sequence[Type], gives: Sequence[Type]) -> Iterator[tuple[list[Kind], list[Kind]]]:
    """Element types of the loops, in the order in which NumPy looks for the first that operands convert to."""
    has_floats = any(isinstance(t, FloatType) for t in itertools.chain(takes, gives))
    takes_floats = any(isinstance(t, FloatType) for t in takes)
    for real in ("float", "double") if has_floats and takes_floats else ("double",):
        kinds: dict[type[Type], Kind] = {IntType: "i64", FloatType: real, BoolType: "i8"}
        yield [kinds[type(t)] for t in takes], [kinds[type(t)] for t in gives]


def _from_functions() -> Any:
    """``PyUFunc_FromFuncAndData``."""
    umath: Any = importlib.import_module("numpy._core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(umath._UFUNC_API, None)
    address = ctypes.c_void_p.from_address(table + _FROM_FUNCTIONS * ctypes.sizeof(ctypes.c_void_p)).value or 0
    address_type, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    return ctypes.PYFUNCTYPE(
        ctypes.py_object, address_type, address_type, address_type, number, number, number, number, text, text, number
    )(address)


_kept_alive: list[Any] = []
"""What ufuncs point into where they cannot hold it themselves."""


def _let_hold(universal: np.ufunc, functions: int, owner: Any) -> None:
    """Have a ufunc hold an object until it goes: NumPy keeps one of each ufunc for its own makers."""
    word = ctypes.c_void_p.from_address
    if word(id(universal) + _OBJECT_FUNCTIONS).value == functions and not word(id(universal) + _OBJECT_OWNED).value:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
        word(id(universal) + _OBJECT_OWNED).value = id(owner)
    else:
        _kept_alive.append(owner)
