"""What native entries do, done in Python through ctypes: slow, obvious, and what they are compared with."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flambeau.codegen.callable_type import MISSED
from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.containers.dict_tables import FEW
from flambeau.codegen.graph.containers.dict_words import entry_words, fill_dict
from flambeau.codegen.graph.entry.signature import Parameter, Signature
from flambeau.codegen.graph.numbers.number_words import kind_of_unlike
from flambeau.codegen.graph.representation import Representation, word_count
from flambeau.codegen.graph.texts.text_words import read_text, text_words
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, BLOCK_PADDING, CONTEXT, DICT, FOREVER, LEAF, LIST
from flambeau.schema.dtype import DType
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.memory_views import memory_at

_FUNCTION = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _UnfitError(Exception):
    """An argument does not look as the signature says."""


def call_in_python(
    signature: Signature,
    function_address: int,
    error: Callable[[int, int], Any],
    arguments: tuple[Any, ...],
    user: int = 0,
) -> Any:
    """Call a function; the parameters are those of `make_entry`. Gives `MISSED` for arguments that do not fit.

    >>> from flambeau.codegen.graph.representation import Int
    >>> from flambeau.codegen.llvm.engine import engine
    >>> code = engine().link('''
    ... define i64 @double(ptr %context, ptr %arguments, ptr %results) {
    ...   %n = load i64, ptr %arguments
    ...   %twice = add i64 %n, %n
    ...   store i64 %twice, ptr %results
    ...   ret i64 0
    ... }
    ... ''', ("double",), {})
    >>> signature = Signature((Parameter(Int()),), (Int(),))
    >>> call_in_python(signature, code.addresses["double"], lambda code, context: None, (21,))
    42
    >>> call_in_python(signature, code.addresses["double"], lambda code, context: None, ("21",)) is MISSED
    True
    """
    return _Call(signature, user).run(function_address, error, arguments)


class _Call:
    """One call: its context, its arguments' words, and what it must keep alive."""

    def __init__(self, signature: Signature, user: int) -> None:
        self.signature = signature
        self.record = (ctypes.c_int64 * max(1, signature.record_words))()
        self.context = CONTEXT.pack(user=user, record=ctypes.addressof(self.record))
        self.address = ctypes.addressof(self.context)
        for name in ("previous", "next"):
            CONTEXT.write(self.address, name, self.address)
        self.keep: list[Any] = []
        self.leaves: dict[int, tuple[Any, np.ndarray[Any, Any]]] = {}
        """Of each block that stands for an argument's memory, the object and its array."""
        self.storages: dict[int, Storage] = {}
        self.lists: dict[int, list[Any]] = {}
        self.dicts: dict[int, Any] = {}
        self.tensors: dict[int, Tensor] = {}

    def run(self, function_address: int, error: Callable[[int, int], Any], arguments: tuple[Any, ...]) -> Any:
        if len(arguments) != len(self.signature.parameters):
            return MISSED
        words: list[int] = []
        written: list[Tensor] = []
        try:
            for k, (p, value) in enumerate(zip(self.signature.parameters, arguments, strict=True)):
                before = set(self.leaves)
                words += self.words(p, value, k + 1)
                new = [self.leaves[block][0] for block in self.leaves.keys() - before]
                written += [x for x in new if p.is_written and isinstance(x, Tensor)]
        except _UnfitError:
            return MISSED
        operands = (ctypes.c_int64 * max(1, len(words)))(*words)
        results = (ctypes.c_int64 * max(1, sum(map(word_count, self.signature.results))))()
        try:
            code = _FUNCTION(function_address)(self.address, ctypes.addressof(operands), ctypes.addressof(results))
            for tensor in written:
                tensor.bump_version()
            if code:
                return error(code, self.address)
            return self.results(iter(results))
        finally:
            self.free()

    # -- arguments ----------------------------------------------------------------------------------------------------

    def words(self, p: Parameter, value: Any, origin: int) -> list[int]:
        """The words of an argument. Raises _UnfitError."""
        match p.representation:
            case forms.Int() | forms.Float() | forms.Bool() as number:
                return [_number_word(number, value)]
            case forms.Complex() if type(value) is complex:
                return [_bits(value.real), _bits(value.imag)]
            case forms.Text() if type(value) is str:
                return text_words(value, self.new_block)
            case forms.Fixed() as fixed if value is fixed.value:
                return []
            case forms.Element() as element:
                return [_element_word(element, value)]
            case forms.Array() as array:
                return self.array(p, array, value, origin)
            case forms.Tupled() as items if type(value) is (list if items.is_list else tuple):
                return self.items(p, items, value, origin)
            case forms.Optional(inner):
                return [0] * (1 + word_count(inner)) if value is None else [1, *self.words(p.inner(), value, origin)]
            case forms.Listed(item) if type(value) in (list, tuple):
                rows = [self.words(Parameter(item, p.is_written), v, origin) for v in value]
                return [self.new_list(rows, word_count(item))]
            case forms.Mapped() as mapped if type(value) is (set if mapped.is_set else dict):
                return [self.new_dict(mapped, value, origin)]
        raise _UnfitError

    def new_dict(self, r: forms.Mapped, value: Any, origin: int) -> int:
        """A dict's block, and that of its entries."""
        pairs = [(item, ()) for item in value] if r.is_set else value.items()
        rows = [
            [1, *self.words(Parameter(r.key), k, origin), *self.words(Parameter(r.value), v, origin)] for k, v in pairs
        ]
        width, room = word_count(r.entry), max(FEW, len(rows))
        items = self.new_block(8 * room * width)
        for k, words in enumerate(rows):
            _fill(items + BLOCK_DATA + 8 * width * k, words)
        block = self.new_block(8 * (DICT.words - LIST.words))
        fill_dict(block, items, len(rows), room)
        return block

    def items(self, p: Parameter, r: forms.Tupled, values: Sequence[Any], origin: int) -> list[int]:
        """The words of a tuple, or of a list of known length."""
        pairs = [] if r.is_list else zip(map(_plain_number, r.items), map(type, values), strict=False)
        if any(wanted not in (None, kind) for wanted, kind in pairs) or len(values) != len(r.items):
            raise _UnfitError
        return [w for k, value in enumerate(values) for w in self.words(p.item(k), value, origin)]

    def array(self, p: Parameter, r: forms.Array, value: Any, origin: int) -> list[int]:
        """The words of a tensor, and a block that stands for its memory."""
        array = _array(value)
        plain = array.flags.aligned and all(s >= 0 and s % array.itemsize == 0 for s in array.strides)
        fits = array.dtype == r.dtype.numpy and array.ndim == r.rank and (array.flags.writeable or not p.is_written)
        are_as_expected = p.ones is None or tuple(n == 1 for n in array.shape) == p.ones
        if not (plain and fits and are_as_expected and _dense_axes(array) >= r.dense):
            raise _UnfitError
        block = LEAF.pack(references=FOREVER, origin=origin, object=id(value))
        self.keep += [block, array, value]
        self.leaves[ctypes.addressof(block)] = (value, array)
        return [ctypes.addressof(block), array.ctypes.data, *array.shape, *array.strides]

    def new_block(self, size: int) -> int:
        """A block in the ring."""
        raw = ctypes.pythonapi.PyMem_RawMalloc
        raw.restype, raw.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        start = raw(size + BLOCK_PADDING)
        if start is None:
            raise MemoryError
        block = (start + 71) // 64 * 64
        following = CONTEXT.read(self.address, "next")
        own = {"raw": start, "references": FOREVER, "previous": self.address, "next": following, "origin": 0}
        for name, value in own.items():
            BLOCK.write(block, name, value)
        BLOCK.write(following, "previous", block)
        CONTEXT.write(self.address, "next", block)
        return int(block)

    def new_list(self, items: list[list[int]], width: int) -> int:
        """A list's block, and that of its items."""
        room = max(4, len(items))
        block = self.new_block(8 * room * max(1, width))
        for k, words in enumerate(items):
            _fill(block + BLOCK_DATA + 8 * width * k, words)
        block_of_list = self.new_block(0)
        for name, value in (("length", len(items)), ("capacity", room), ("items", block)):
            LIST.write(block_of_list, name, value)
        return block_of_list

    # -- results ------------------------------------------------------------------------------------------------------

    def results(self, words: Iterator[int]) -> Any:
        """What a call gives."""
        values = tuple([self.value(r, words) for r in self.signature.results])
        return values[0] if len(values) == 1 else values or None

    def value(self, r: Representation, words: Iterator[int]) -> Any:
        """The object of the next words."""
        match r:
            case forms.Int() | forms.Float() | forms.Complex() | forms.Bool():
                return _number(r, words)
            case forms.Text():
                return read_text(words)
            case forms.Fixed():
                return r.value
            case forms.OneOf():
                return r.values[next(words)]
            case forms.Element():
                bits = struct.pack("q", next(words))[: r.dtype.itemsize]
                return wrap(np.frombuffer(bits, r.dtype.numpy).reshape(()).copy())
            case forms.Tupled():
                return r.container([self.value(item, words) for item in r.items])
            case forms.Optional():
                present = next(words)
                inner = [next(words) for _ in range(word_count(r.inner))]
                return self.value(r.inner, iter(inner)) if present else None
            case forms.Listed():
                return self.list(r, next(words))
            case forms.Mapped():
                return self.dict(r, next(words))
            case forms.Array():
                return self.array_at(r, words)
            case forms.Unlike():
                return self.array_at(*kind_of_unlike(r, words))

    def array_at(self, r: forms.Array, words: Iterator[int]) -> Any:
        """The tensor of the next words."""
        block, data = next(words), next(words)
        shape = tuple([next(words) for _ in range(r.rank)])
        strides = tuple([next(words) for _ in range(r.rank)])
        return self.tensor(r.dtype, block, data, shape, strides)

    def list(self, r: forms.Listed, block: int) -> Any:
        """The list of a block, the same one each time."""
        if block not in self.lists:
            size, items = LIST.read(block, "length"), LIST.read(block, "items")
            width = word_count(r.item)
            words = list((ctypes.c_int64 * (size * width)).from_address(items + BLOCK_DATA))
            rows = [iter(words[k * width : (k + 1) * width]) for k in range(size)]
            self.lists[block] = [self.value(r.item, row) for row in rows]
        return self.lists[block]

    def dict(self, r: forms.Mapped, block: int) -> Any:
        """The dict, or set, of a block, the same one each time."""
        if block not in self.dicts:
            pairs = [(self.value(r.key, words), self.value(r.value, words)) for words in entry_words(r, block)]
            self.dicts[block] = {k for k, _ in pairs} if r.is_set else dict(pairs)
        return self.dicts[block]

    def tensor(self, dtype: DType, block: int, data: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """The tensor of an array's words."""
        if block in self.leaves:
            return self.of_argument(block, data, shape, strides)
        copied = _window(data, shape, strides, dtype).copy()
        if BLOCK.read(block, "references") == 1:
            return wrap(copied)
        return self.shared(dtype, block, data, shape, strides)

    def of_argument(self, block: int, data: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """The tensor that was passed in, or another on the same storage."""
        value, array = self.leaves[block]
        if isinstance(value, Tensor):
            self.storages[block], self.tensors[block] = value._storage, value
        storage = self.storages.setdefault(block, Storage(array))
        if (data, shape, strides) == (array.ctypes.data, array.shape, array.strides):
            return self.tensors.setdefault(block, Tensor(array, storage))
        flat = np.lib.stride_tricks.as_strided(array, shape, strides, writeable=array.flags.writeable)
        offset = data - array.ctypes.data
        if offset:
            memory = storage.bytes
            start = data - storage.address
            flat = np.ndarray(shape, array.dtype, memory, start, strides)
        return Tensor(flat, storage)

    def shared(self, dtype: DType, block: int, data: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """A tensor on a copy of a block that several results show: all on one storage."""
        start = block + BLOCK_DATA
        reach = data - start + _extent(shape, strides, dtype.itemsize)
        storage = self.storages.get(block)
        if storage is None or storage.nbytes() < reach:
            memory = np.frombuffer(ctypes.string_at(start, reach), np.uint8).copy()
            storage = self.storages[block] = Storage(memory)
        return Tensor(np.ndarray(shape, dtype.numpy, storage.bytes, data - start, strides), storage)

    def free(self) -> None:
        """Free all blocks of the ring."""
        release = ctypes.pythonapi.PyMem_RawFree
        release.argtypes, release.restype = [ctypes.c_void_p], None
        block = CONTEXT.read(self.address, "next")
        while block != self.address:
            following = BLOCK.read(block, "next")
            release(BLOCK.read(block, "raw"))
            block = following


def _fill(address: int, words: list[int]) -> None:
    """Write words to memory."""
    for k, value in enumerate(words):
        ctypes.c_int64.from_address(address + 8 * k).value = value


def _number(r: forms.Int | forms.Float | forms.Complex | forms.Bool, words: Iterator[int]) -> Any:
    """The number of the next words."""
    match r:
        case forms.Int():
            return next(words)
        case forms.Float():
            return struct.unpack("d", struct.pack("q", next(words)))[0]
        case forms.Complex():
            return complex(*struct.unpack("2d", struct.pack("2q", next(words), next(words))))
        case forms.Bool():
            return bool(next(words))


def _plain_number(item: forms.Representation) -> type | None:
    """What a number of a tuple has to be: programs on arrays mean something else by other kinds."""
    return float if isinstance(item, forms.Float) else int if isinstance(item, forms.Int) else None


def _number_word(r: forms.Int | forms.Float | forms.Bool, value: Any) -> int:
    """The word of a number; an int is a float too, as Python has it, and NumPy's int64 and float64 are such."""
    match r:
        case forms.Int() if type(value) in (int, np.int64) and -(1 << 63) <= value < 1 << 63:
            return int(value)
        case forms.Float() if type(value) in (float, np.float64):
            return _bits(value)
        case forms.Float() if type(value) is int:
            return _bits(_as_float(value))
        case forms.Bool() if type(value) is bool:
            return int(value)
    raise _UnfitError


def _element_word(r: forms.Element, value: Any) -> int:
    array = _array(value)
    if array.dtype != r.dtype.numpy or array.ndim or not array.flags.aligned:
        raise _UnfitError
    return int.from_bytes(array.tobytes(), "little")


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _UnfitError from None


def _bits(value: float) -> int:
    return int(struct.unpack("q", struct.pack("d", value))[0])


def _array(value: Any) -> np.ndarray[Any, Any]:
    if type(value) is Tensor:
        plain = not (value.asks() or value.is_wrapped_number)
        if plain and type(value._array) is np.ndarray:
            return value._array
    elif type(value) is np.ndarray:
        return value
    raise _UnfitError


def _dense_axes(array: np.ndarray[Any, Any]) -> int:
    """How many of the last axes lie one in the other without gaps."""
    step, count = array.itemsize, 0
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if size > 1 and stride != step:
            break
        step *= size
        count += 1
    return count


def _extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    if 0 in shape:
        return 0
    return sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + itemsize


def _window(data: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """An array on memory that somebody else keeps."""
    memory = memory_at(data, _extent(shape, strides, dtype.itemsize))
    return np.ndarray(shape, dtype.numpy, memory, 0, strides)
