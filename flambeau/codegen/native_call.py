"""Callables with a native entry: a type made at run time whose instances jump straight into machine code.

Field offsets of arrays and the callable's own slots are found by looking at live objects; where anything looks
different from what the entry needs (another Python implementation, a debug build), ``make`` gives None and callers
use the Python path.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flambeau.codegen.callable_type import CALLABLE_LAYOUT, MISSED, forward_objects
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.layouts import Field, Layout, ObjectLayouts, measured_layout
from flambeau.codegen.llvm.builder import IMPORTED, ModuleBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.llvm.entry import entry_module
from flambeau.codegen.llvm.entry_arrays import arrays_module
from flambeau.codegen.llvm.entry_forward import FORWARDS, forward_module
from flambeau.codegen.llvm.entry_life import LIFE_EXPORTS, life_module
from flambeau.codegen.llvm.entry_make import make_module
from flambeau.codegen.llvm.entry_places import PLACES, places_module
from flambeau.codegen.llvm.entry_products import PRODUCTS, products_module
from flambeau.codegen.llvm.entry_tensors import inner_module, tensors_module
from flambeau.codegen.llvm.host import is_remembered
from flambeau.codegen.llvm.loops import LOOP_EXPORTS, loops_text
from flambeau.codegen.llvm.product_operands import Bounds
from flambeau.codegen.llvm.tensor_objects import LEFT_EMPTY, NEW_STORAGE, NEW_TENSOR
from flambeau.codegen.ufunc_loops import loop_of
from flambeau.ops.families.rows import LISTED
from flambeau.schema.dtype import ALL, bool_, float32, float64, int32, int64
from flambeau.tensor import grad_mode
from flambeau.tensor.storage import Storage
from flambeau.tensor.subclasses import PLAIN
from flambeau.tensor.tensor import Tensor
from flambeau.util import blas
from flambeau.util.native_type import HEAD, Member, Slot, address_of, direct, is_supported, make_type, word

_CALLABLE = measured_layout(
    {name: HEAD + 8 * k for k, name in enumerate(("vectorcall", "cell", "slow", "owned"))}
)  # fmt: skip
_SIZE = HEAD + 32
"""Bytes of a native callable."""
MOST, MOST_WORK = 1 << 22, 1 << 22
"""Elements of a matrix, and multiplications, up to which products are made while the interpreter's lock is held: a
tenth of a millisecond, a whole one where the matrix comes from memory."""
_NEW_FROM_DESCR, _NDARRAY, _SET_BASE = 94, 2, 282
"""Places in NumPy's table of C functions, fixed since NumPy 1.7."""


@functools.cache
def object_layouts() -> ObjectLayouts | None:
    """Where objects have their fields: each is looked for, or checked against what NumPy says of two arrays. None where
    they do not look as stubs expect.
    """
    if not is_supported():
        return None
    probe = np.arange(6, dtype=np.float32).reshape(2, 3)
    other = np.zeros((4, 5, 6), np.int64)[:, ::2]
    types = [k for k in range(8, HEAD, 8) if word(id(probe) + k) == id(np.ndarray)]
    kind: Any = type
    bases = [k for k in range(HEAD, kind.__basicsize__, 8) if word(id(bool) + k) == id(int)]
    whole, half, plain = np.int64(77), np.float64(0.5), 0.5
    has_numbers = word(id(whole) + HEAD) == 77 and word(id(half) + HEAD) == word(id(plain) + HEAD)
    if len(types) != 1 or len(bases) != 1 or not has_numbers:
        return None
    names = {"data": 0, "rank": 8, "dims": 16, "strides": 24, "descr": 40, "flags": 48}
    offsets = {name: HEAD + offset for name, offset in names.items()} | {"weak": np.ndarray.__weakrefoffset__}
    array = measured_layout(offsets, ints=("rank", "flags"))
    tensor, storage = _slots(Tensor), _slots(Storage)
    as_expected = tensor.keys() - LEFT_EMPTY == NEW_TENSOR.keys() and storage.keys() == NEW_STORAGE.keys()
    if not as_expected or not all(_agrees(array, a) for a in (probe, other)):
        return None
    return ObjectLayouts(
        object=measured_layout({"references": 0, "type": types[0]}, ints=("references",)),
        type=measured_layout({"base": bases[0]}),
        array=array,
        callable=_CALLABLE,
        tensor=measured_layout(tensor),
        storage=measured_layout(storage | {"weak": Storage.__weakrefoffset__}),
        float=Layout({"value": Field(HEAD, "double")}),
        numpy_int=Layout({"value": Field(HEAD, "i64")}),
    )


def _agrees(layout: Layout, a: np.ndarray[Any, Any]) -> bool:
    if a.__sizeof__() < layout.offset("flags") + 4 or layout.read(id(a), "data") != a.ctypes.data:
        return False
    if layout.read(id(a), "rank") != a.ndim or layout.read(id(a), "descr") != id(a.dtype):
        return False
    numbers = ctypes.c_ssize_t * a.ndim
    dims = tuple(numbers.from_address(layout.read(id(a), "dims")))
    strides = tuple(numbers.from_address(layout.read(id(a), "strides")))
    is_aligned = bool(layout.read(id(a), "flags") & ALIGNED)
    return is_aligned == a.flags.aligned and dims == a.shape and strides == a.strides


@functools.cache
def numpy_functions() -> dict[str, int] | None:
    """Addresses from NumPy's C interface, by name; None where its table looks different."""
    from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    if table[_NDARRAY] != id(np.ndarray):
        return None
    return {
        "new_array": table[_NEW_FROM_DESCR] or 0,
        "set_base": table[_SET_BASE] or 0,
        "ndarray": id(np.ndarray),
        "bytes_descr": id(np.dtype(np.uint8)),
    }


@functools.cache
def _callable_type() -> type | None:
    """The type of native callables; None where its code cannot be made."""
    layouts = object_layouts()
    if layouts is None:
        return None

    def write() -> tuple[str, Sequence[str]]:
        m = life_module(layouts)
        return m.text(), (*m.imported, *m.symbols)

    try:
        code = engine().link_entry(about("life"), LIFE_EXPORTS, write, addresses, optimise=False)
    except NativeError:  # kernels say so; without an entry they are called from Python
        return None
    clear, dealloc, traverse, has_gc, not_from_python = 51, 52, 71, 1 << 14, 1 << 7
    numbers = {"dealloc": dealloc, "clear": clear, "traverse": traverse}
    slots = [Slot(numbers[name], code.addresses[name]) for name in LIFE_EXPORTS]
    wrapped = Member(
        b"__wrapped__", 16, _CALLABLE.offset("slow"), 1, b"What is called where native code does not know what to do."
    )
    keep(code)
    return make_type("flambeau.NativeCallable", _SIZE, has_gc | not_from_python, slots, [wrapped])


_codes: list[NativeCode] = []


def keep(code: NativeCode) -> NativeCode:
    """Code that lives as long as the process: two threads that ask for it first may both make it, and use their own."""
    _codes.append(code)
    return code


def imports_of(m: ModuleBuilder, more: Mapping[str, int] | None = None) -> dict[str, int]:
    """The addresses of what a module imports: functions of Python and NumPy, objects by name, and ``more``."""
    return addresses((*m.imported, *m.symbols), more, m.prefix)


def addresses(
    names: Iterable[str], more: Mapping[str, int] | None = None, prefix: str = IMPORTED
) -> dict[str, int]:
    """The same by the names of what is imported, and what its symbols begin with."""
    known = {name: id(value) for name, value in _OBJECTS.items()}
    known["listed_axes"] = ctypes.addressof(LISTED)
    known["parameter_type"] = id(PLAIN[0] if PLAIN else Tensor)
    known["inference_blocks"] = ctypes.addressof(grad_mode.inference_blocks)
    known |= numpy_functions() or {}
    known |= more or {}
    return {prefix + n: known[n] if n in known else address_of(getattr(ctypes.pythonapi, n)) for n in names}


def new_callable(code: int, cell: int, slow: Callable[..., Any], kept: tuple[Any, ...]) -> Callable[..., Any] | None:
    """A native callable.

    Args:
        code: the address of its entry.
        cell: the address of what the entry reads.
        slow: called for all that the entry does not serve.
        kept: what else must live as long as the callable.
    """
    cls = _callable_type()
    if cls is None:
        return None
    allocate = ctypes.pythonapi.PyType_GenericAlloc
    allocate.restype, allocate.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]
    result: Callable[..., Any] = allocate(cls, 0)
    owned = (slow, *kept)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned))
    for name, address in (("owned", id(owned)), ("slow", id(slow)), ("cell", cell), ("vectorcall", code)):
        _CALLABLE.write(id(result), name, address)
    return result


def _slots(cls: type) -> dict[str, int]:
    """Offsets of a class's slots: where an instance holds what was put into each of them."""
    instance: Any = object.__new__(cls)
    marks = {name: object() for name in cls.__dict__["__slots__"] if not name.startswith("__")}
    for name, mark in marks.items():
        cls.__dict__[name].__set__(instance, mark)
    words = {word(id(instance) + at): at for at in range(HEAD, cls.__basicsize__, 8)}
    return {name: words[id(mark)] for name, mark in marks.items() if id(mark) in words}


_OBJECTS = {
    "tensor_type": Tensor, "storage_type": Storage, "float_type": float, "complex_type": complex, "int_type": int,
    "numpy_float_type": np.float64, "numpy_int_type": np.int64, "str_type": str, "set_type": set,
    "tuple_type": tuple, "list_type": list, "dict_type": dict, "none": None, "true": True, "false": False, "zero": 0,
    "one": 1,
    "grad_mode": grad_mode.mode, "first_version_name": "first_version", "missed": MISSED,
}  # fmt: skip


_MODULES: dict[str, Callable[[ObjectLayouts], ModuleBuilder]] = {
    "entry": entry_module,
    "tensors": tensors_module,
    "operators": functools.partial(tensors_module, by_rows=True),
    "inner": inner_module,
    "products": functools.partial(products_module, bounds=Bounds(MOST, MOST_WORK, blas.SMALL, blas.SMALL_WORK)),
    "places": places_module,
    "make": make_module,
    "arrays": arrays_module,
}
"""What writes the modules of entries. "operators" is "tensors" with launches by rows, "inner" what plans call,
"arrays" what programs on arrays do."""


def _entry_module(entry: str) -> ModuleBuilder | None:
    """The module of an entry; None where objects do not look as they must."""
    layouts = object_layouts()
    return None if layouts is None or numpy_functions() is None else _MODULES[entry](layouts)


_SYMBOLS = {
    "operators": ("tensors", "any_tensors", "writing_tensors"), "products": PRODUCTS, "places": PLACES,
}  # fmt: skip
"""What entries are called in their code, where there are others than of their name."""


@functools.cache
def _matrix_loops() -> dict[str, int] | None:
    """What the entry of products imports of NumPy's loops; None where they do not look as expected."""
    loops: dict[str, int] = {"blas_control": blas.control_address()}
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        loop = loop_of(np.matmul, (dtype,) * 3)
        if loop is None or loop.data:
            return None
        loops |= {f"{dtype.name}_descr": id(dtype), f"{dtype.name}_loop": loop.function}
        added = loop_of(np.add, (dtype,) * 3)
        if added is None or added.data:
            return None
        loops[f"{dtype.name}_add"] = added.function
    return loops


@functools.cache
def _places() -> dict[str, int] | None:
    """What the entries of places import: dtypes, how many bytes an element of each has, and a loop of NumPy's; None
    where that does not look as expected."""
    added = loop_of(np.add, (np.dtype(np.float64),) * 3)
    if added is None or added.data:
        return None
    words = [word for dtype in ALL for word in (id(dtype.numpy), dtype.itemsize)]
    table = (ctypes.c_int64 * (len(words) + 2))(*words)
    _tables.append(table)
    descrs = {f"{dtype.name}_descr": id(dtype.numpy) for dtype in (bool_, int32, int64, float32, float64)}
    return descrs | {"element_sizes": ctypes.addressof(table), "float64_add": added.function}


_tables: list[Any] = []
"""What machine code reads, alive as long as the process."""


@functools.cache
def _support(entry: str) -> NativeCode | None:
    """The code of an entry."""
    layouts = object_layouts()
    more = _matrix_loops() if entry == "products" else _places() if entry == "places" else {}
    if layouts is None or numpy_functions() is None or more is None:
        return None

    def write() -> tuple[str, Sequence[str]]:
        m = _entry_module(entry)
        assert m is not None
        return m.text(), (*m.imported, *m.symbols)

    exports = _SYMBOLS.get(entry, (entry,))
    addresses_of = functools.partial(addresses, more=more)
    try:
        return engine().link_entry(about(entry), exports, write, addresses_of)
    except NativeError:
        return None


def about(entry: str) -> str:
    """What tells the code of an entry from all other code."""
    return f"{entry} {_around()}"


@functools.cache
def _around() -> str:
    """What the code of all entries depends on."""
    return f"{sys.version} {np.__version__} {object_layouts()!r}"


@functools.cache
def loops_code() -> tuple[NativeCode, tuple[int, int, int]] | None:
    """The kernel that runs NumPy's loops, and the addresses of the entries for plain tensors, for those that ask for
    gradients too, and for calls that write one; None where there is none."""
    entry = _support("operators")
    if entry is None:
        return None
    try:
        code = engine().link(loops_text(), LOOP_EXPORTS, {}, is_glue=True, optimise=True)
    except NativeError:
        return None
    known = keep(entry).addresses
    return keep(code), (known["tensors"], known["any_tensors"], known["writing_tensors"])


@functools.cache
def products_code() -> dict[str, int] | None:
    """The addresses of the entries of products by name, ``PRODUCTS``; None where there are none."""
    entry = _support("products")
    return None if entry is None else keep(entry).addresses


@functools.cache
def places_code() -> dict[str, int] | None:
    """The addresses of the entries of kernels that put elements elsewhere, ``PLACES``; None where there are none."""
    entry = _support("places")
    return None if entry is None else keep(entry).addresses


@functools.cache
def make_code() -> int:
    """The address of what makes objects (see ``util.made_objects``); 0 where there is none."""
    entry = _support("make")
    return 0 if entry is None else keep(entry).addresses["make"]


def has_cached_loops() -> bool:
    """Whether making that code takes no compiler: this process has it, or the cache on disk."""
    if not is_remembered():
        return False
    if object_layouts() is None or numpy_functions() is None:
        return False
    has_entries = all(engine().has_entry(about(entry)) for entry in ("operators", "products", "places", "make"))
    return has_entries and engine().is_cached(loops_text(), is_glue=True, optimise=True)


def make(inline_cache: InlineCache, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    """A callable of arrays that tries the launches of an inline cache and else calls ``slow``; None where it cannot be
    made.
    """
    return _make("entry", inline_cache, slow)


def make_for_tensors(inline_cache: InlineCache, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    """The same with tensors as arguments and results. `slow` gets the tensors themselves."""
    return _make("tensors", inline_cache, slow)


def make_for_plan(inline_cache: InlineCache, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    """The same for what a plan calls: gradients were looked at before it was run, so that parameters, and what asks for
    gradients, are arguments like all others.
    """
    return _make("inner", inline_cache, slow)


def _make(entry: str, inline_cache: InlineCache, slow: Callable[..., Any]) -> Callable[..., Any] | None:
    code = _support(entry)
    if code is None:
        return None
    inline_cache.note_entry()
    return new_callable(code.addresses[entry], ctypes.addressof(inline_cache.cell), slow, (inline_cache, code))


def make_for_arrays(cell: int, slow: Callable[..., Any], kept: tuple[Any, ...]) -> Callable[..., Any] | None:
    """A callable of a program on arrays, by the address of its `layouts.ARRAY_CELL`."""
    code = _support("arrays")
    return None if code is None else new_callable(code.addresses["arrays"], cell, slow, (*kept, code))


@functools.cache
def _forward() -> NativeCode | None:
    """The code that calls of scripted functions go to; None where there is none."""
    layouts = object_layouts()
    if layouts is None or numpy_functions() is None:
        return None
    m = forward_module(CALLABLE_LAYOUT, layouts.object)
    try:
        code = engine().link(m.text(), FORWARDS, imports_of(m, forward_objects()), is_glue=True)
    except NativeError:
        return None
    return keep(code)


def go_native(instance: Any, way: str = "forward") -> None:
    """From now on, calls of an instance of `NativeBase` that was prepared go through native code, one of `FORWARDS`."""
    code = _forward() if is_supported() else None
    if code is not None:
        direct(instance, code.addresses[way])
