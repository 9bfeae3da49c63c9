"""Values of Python as words, and back: for callbacks, errors, and calls that do not go through a native entry."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.containers.dict_words import entry_words, plain_dict
from flambeau.codegen.graph.containers.number_lists import packed_numbers, unpacked_numbers
from flambeau.codegen.graph.entry.python_blocks import drop_block, new_block, new_dict, new_list, set_word, word
from flambeau.codegen.graph.entry.shown_tensors import Shown, item_words
from flambeau.codegen.graph.numbers.number_words import (
    bits_element,
    kind_of_unlike,
    plain_words,
    read_number,
    unlike_words,
)
from flambeau.codegen.graph.objects.class_fields import LearnedFields
from flambeau.codegen.graph.objects.object_arguments import ArgumentObjects
from flambeau.codegen.graph.objects.object_words import SeenObjects
from flambeau.codegen.graph.representation import Representation, word_count
from flambeau.codegen.graph.texts.text_words import read_text, text_words
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, FOREVER, LEAF, LIST
from flambeau.schema.dtype import DType
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import Tensor, share, wrap
from flambeau.util.memory_views import memory_at


def count(reps: Sequence[Representation]) -> int:
    """Words of several values."""
    return sum(map(word_count, reps))


class Arguments:
    """The words of a call's arguments, and blocks for what they refer to."""

    def __init__(self, arguments: Sequence[Any], parameters: Sequence[Representation], context: int) -> None:
        self._keep: list[Any] = []
        self._context = context
        self.objects = ArgumentObjects(context)
        self.lists: list[tuple[int, forms.Listed, int, list[Any]]] = []
        """Of each list in the arguments: the argument's number, how it looks, its block, and the list."""
        words: list[int] = []
        for number, (value, rep) in enumerate(zip(arguments, parameters, strict=True)):
            words += self._words(value, rep, number)
        self.objects.fill()
        self._words_memory = (ctypes.c_int64 * max(1, len(words)))(*words)
        self.address = ctypes.addressof(self._words_memory)

    def _block(self, *words: int) -> int:
        memory = (ctypes.c_int64 * len(words))(*words)
        self._keep.append(memory)
        return ctypes.addressof(memory)

    def _words(self, value: Any, rep: Representation, number: int) -> list[int]:
        if value is None:
            # None itself, or what a program has not set on its way here and does not look at.
            return [0] * word_count(rep)
        match rep:
            case forms.Array():
                array = value._array
                leaf = LEAF.pack(references=FOREVER, origin=1 + number, object=id(value))
                self._keep += [leaf, array, value]
                return [ctypes.addressof(leaf), array.__array_interface__["data"][0], *array.shape, *array.strides]
            case forms.Text():
                return self._text_words(value)
            case forms.Listed():
                return [self._list(value, rep, number)]
            case forms.Mapped():
                return [self._dict(value, rep, number)]
            case forms.Object():
                return [self.objects.object(value, rep)]
            case forms.Tupled():
                return [w for v, r in zip(value, rep.items, strict=True) for w in self._words(v, r, number)]
            case forms.Optional():
                return [1, *self._words(value, rep.inner, number)]
            case forms.Unlike():
                kind = forms.Array(value.dtype, value._array.ndim)
                return unlike_words(rep, kind, self._words(value, kind, number))
            case _:
                return plain_words(rep, value)

    def _list(self, value: Any, rep: forms.Listed, number: int) -> int:
        """The block of a list."""
        items: list[int] | bytes | None = packed_numbers(rep.item, value)
        if items is None:
            items = [w for item in value for w in self._words(item, rep.item, number)]
        block = new_list(self._context, items, len(value), word_count(rep.item), FOREVER)
        self.lists.append((number, rep, block, value))
        return block

    def _text_words(self, value: str) -> list[int]:
        words = text_words(value, lambda size: new_block(self._context, size))
        BLOCK.write(words[0], "references", FOREVER)
        return words

    def _dict(self, value: Any, rep: forms.Mapped, number: int) -> int:
        """The block of a dict, or a set."""
        entries = [w for item in _pairs(rep, value) for w in self._words(item, rep.entry, number)]
        block = new_dict(self._context, entries, len(value), word_count(rep.entry))
        BLOCK.write(block, "references", FOREVER)
        return block


def _pairs(rep: forms.Mapped, value: Any) -> Iterator[tuple[int, Any, Any]]:
    """The entries of a dict, or a set, as `Mapped.entry` has them."""
    if rep.is_set:
        return ((1, item, ()) for item in value)
    return ((1, k, v) for k, v in value.items())


def _array_at(rep: forms.Array, words: Sequence[int]) -> npt.NDArray[Any]:
    """The elements at an address, as an array that holds nothing."""
    data, sizes, strides = words[1], tuple(words[2 : 2 + rep.rank]), tuple(words[2 + rep.rank :])
    itemsize = rep.dtype.itemsize
    low = sum(min(0, (n - 1) * s) for n, s in zip(sizes, strides, strict=True))
    high = sum(max(0, (n - 1) * s) for n, s in zip(sizes, strides, strict=True)) + itemsize
    if 0 in sizes:
        low = high = 0
    memory = memory_at(data + low, high - low)
    return np.ndarray(sizes, rep.dtype.numpy, memory, -low, strides)


def _part_of(
    argument: Tensor, dtype: DType, data: int, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Elements of an argument's memory, which they hold: as arrays they may outlive the argument."""
    storage = argument._storage
    return np.ndarray(sizes, dtype.numpy, storage.bytes, 0 if 0 in sizes else data - storage.address, strides)


class SeenTensors:
    """How Python sees the tensors of native code: an argument as the tensor it is, others by their memory, which
    nothing holds; tensors on one block are on one storage.
    """

    def __init__(self, learned: LearnedFields | None = None) -> None:
        """`learned`: how tensors in attributes of objects look."""
        self._arguments: dict[int, Tensor] = {}
        self._storages: dict[int, Storage] = {}
        self.objects = SeenObjects(learned)

    def argument(self, block: int) -> Tensor | None:
        """The argument whose block it is."""
        if not block or not BLOCK.read(block, "origin"):
            return None
        if block not in self._arguments:
            value: Any = ctypes.cast(LEAF.read(block, "object"), ctypes.py_object).value
            self._arguments[block] = value if isinstance(value, Tensor) else wrap(value)
        return self._arguments[block]

    def tensor(self, rep: forms.Array, words: Sequence[int]) -> Tensor:
        """The tensor of an array's words."""
        argument = self.argument(words[0])
        if argument is None:
            return self._on_block(words[0], _array_at(rep, words))
        own = argument._array
        sizes, strides = tuple(words[2 : 2 + rep.rank]), tuple(words[2 + rep.rank :])
        is_same = own.__array_interface__["data"][0] == words[1] and (own.shape, own.strides) == (sizes, strides)
        is_same = is_same and own.dtype == rep.dtype.numpy  # the real part of complex numbers begins where they do
        return argument if is_same else share(argument, _part_of(argument, rep.dtype, words[1], sizes, strides))

    def _on_block(self, block: int, array: npt.NDArray[Any]) -> Tensor:
        storage = self._storages.get(block) if array.size else None
        if storage is None:
            new = wrap(array)
            if array.size:
                self._storages[block] = new._storage
            return new
        mine = Storage(array)
        low = min(storage.address, mine.address)
        high = max(storage.address + storage.nbytes(), mine.address + mine.nbytes())
        memory = memory_at(low, high - low)
        storage.base, storage._bytes = np.frombuffer(memory, np.uint8), None
        return Tensor(array, storage)


def read(
    reps: Sequence[Representation], address: int, known: Mapping[int, Any] | None = None,
    learned: LearnedFields | None = None,
) -> list[Any]:  # fmt: skip
    """The values whose words are at an address; tensors show the memory of native code and hold nothing. `known`:
    the objects of the call by their blocks; `learned`: how tensors in attributes look.
    """
    words = iter((ctypes.c_int64 * count(reps)).from_address(address)[:] if count(reps) else ())
    seen = SeenTensors(learned)
    if known is not None:
        seen.objects.know(known)
    values = [read_value(r, words, seen) for r in reps]
    seen.objects.fill(lambda rep, own: read_value(rep, own, seen))
    return values


def read_value(rep: Representation, words: Iterator[int], seen: SeenTensors) -> Any:
    """The value of the next words."""
    match rep:
        case forms.Array():
            return seen.tensor(rep, [next(words) for _ in range(word_count(rep))])
        case forms.Listed():
            return _read_list(rep, next(words), seen)
        case forms.Mapped():
            block = next(words)
            return dict_of(rep, block, lambda r, own: read_value(r, own, seen))
        case forms.Object():
            return seen.objects.instance(rep.definition, next(words))
        case forms.Tupled():
            items = [read_value(r, words, seen) for r in rep.items]
            return tuple(items) if rep.names is None else rep.container(items)
        case forms.Optional():
            return _read_optional(rep, words, seen)
        case forms.Element() | forms.Int() | forms.Float() | forms.Complex() | forms.Bool() | forms.Text():
            return _read_plain(rep, words)
        case forms.Fixed():
            return rep.value
        case forms.OneOf():
            return rep.values[next(words)]
        case forms.Unlike():
            return read_value(*kind_of_unlike(rep, words), seen)
        case forms.Unknown():
            return None


_Plain: TypeAlias = forms.Element | forms.Int | forms.Float | forms.Complex | forms.Bool | forms.Text


def _read_plain(rep: _Plain, words: Iterator[int]) -> Any:
    """A number, an element or a text."""
    if isinstance(rep, forms.Element):
        return wrap(bits_element(next(words), rep.dtype))
    return read_text(words) if isinstance(rep, forms.Text) else read_number(rep, words)


def _read_optional(rep: forms.Optional, words: Iterator[int], seen: SeenTensors) -> Any:
    if next(words) & 1:
        return read_value(rep.inner, words, seen)
    for _ in range(word_count(rep.inner)):
        next(words)
    return None


def _read_list(rep: forms.Listed, block: int, seen: SeenTensors) -> list[Any]:
    numbers = unpacked_numbers(rep.item, block)
    if numbers is not None:
        return numbers
    words = item_words(rep, block)
    return [read_value(rep.item, words, seen) for _ in range(LIST.read(block, "length"))]


def dict_of(rep: forms.Mapped, block: int, read: Callable[[Representation, Iterator[int]], Any]) -> Any:
    """The dict or set of a block; ``read`` gives the value of words."""
    known = plain_dict(rep, block)
    if known is not None:
        return known
    pairs = [(read(rep.key, words), read(rep.value, words)) for words in entry_words(rep, block)]
    return {key for key, _ in pairs} if rep.is_set else dict(pairs)


def read_group(reps: Sequence[Representation], inputs: int) -> list[Any]:
    """The inputs of a fused group."""
    values: list[Any] = []
    for k, rep in enumerate(reps):
        address = word(inputs, k)
        match rep:
            case forms.Array():
                words = [0, *(ctypes.c_int64 * (1 + 2 * rep.rank)).from_address(address)[:]]
                values.append(wrap(_array_at(rep, words)))
            case forms.Element():
                memory: Any = (ctypes.c_char * rep.dtype.itemsize).from_address(word(address, 0))
                values.append(wrap(np.frombuffer(memory, rep.dtype.numpy).copy().reshape(())))
            case forms.Listed():
                values.append(read((rep.item,) * word(address, 1), word(address, 0)))
            case _:
                values += read((rep,), word(address, 0))
    return values


# -- results ----------------------------------------------------------------------------------------------------------


def write(
    reps: Sequence[Representation], values: Sequence[Any], address: int, context: int, operands: Shown = ()
) -> None:
    """Put the words of results that Python computed where native code looks for them."""
    words: list[int] = []
    for rep, value in zip(reps, values, strict=True):
        words += _result_words(rep, value, context, operands)
    for index, number in enumerate(words):
        set_word(address, index, number)


def _result_words(rep: Representation, value: Any, context: int, operands: Shown) -> list[int]:
    match rep:
        case forms.Array():
            return _array_words(rep, value, context, operands)
        case forms.Tupled():
            return [w for v, r in zip(value, rep.items, strict=True) for w in _result_words(r, v, context, operands)]
        case forms.Text():
            return text_words(value, lambda size: new_block(context, size))
        case forms.Listed():
            return [_list_block(rep, value, context, operands)]
        case forms.Mapped():
            entries = [w for one in _pairs(rep, value) for w in _result_words(rep.entry, one, context, operands)]
            return [new_dict(context, entries, len(value), word_count(rep.entry))]
        case forms.Optional():
            return _optional_words(rep, value, context, operands)
        case forms.Unlike():
            kind = forms.Array(value.dtype, value._array.ndim)
            return unlike_words(rep, kind, _array_words(kind, value, context, operands))
        case _:
            return _checked_words(rep, value)


def _list_block(rep: forms.Listed, value: Sequence[Any], context: int, operands: Shown) -> int:
    items: list[int] | bytes | None = packed_numbers(rep.item, value)
    if items is None:
        items = [w for v in value for w in _result_words(rep.item, v, context, operands)]
    return new_list(context, items, len(value), word_count(rep.item))


def _optional_words(rep: forms.Optional, value: Any, context: int, operands: Shown) -> list[int]:
    return [0] * word_count(rep) if value is None else [1, *_result_words(rep.inner, value, context, operands)]


def _checked_words(rep: Representation, value: Any) -> list[int]:
    if isinstance(rep, forms.Element):
        _check(rep.dtype, 0, value)
    return plain_words(rep, value)


def _check(dtype: DType, rank: int, value: Any) -> None:
    if not isinstance(value, Tensor) or value.dtype is not dtype or value._array.ndim != rank:
        raise RuntimeError(f"an operator gave {value!r} where its declaration says {dtype} of rank {rank}")


def _array_words(rep: forms.Array, value: Any, context: int, operands: Shown) -> list[int]:
    _check(rep.dtype, rep.rank, value)
    array = value._array
    for operand, owner in operands:
        if np.may_share_memory(array, operand._array):
            BLOCK.write(owner, "references", BLOCK.read(owner, "references") + 1)
            return [owner, array.__array_interface__["data"][0], *array.shape, *array.strides]
    block = new_block(context, array.nbytes)
    memory = memory_at(block + BLOCK_DATA, array.nbytes)
    strides = None if rep.dense == rep.rank or not _is_permuted(array) else array.strides
    copy = np.ndarray(array.shape, rep.dtype.numpy, memory, 0, strides)
    copy[...] = array
    return [block, block + BLOCK_DATA, *copy.shape, *copy.strides]


def _is_permuted(array: npt.NDArray[Any]) -> bool:
    """Whether it lies in one piece, with its axes in any order."""
    step = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1 and stride != step:
            return False
        step *= size
    return array.size > 0


def write_lists(
    reps: Sequence[Representation], values: Sequence[Any], address: int, changed: Sequence[int], context: int
) -> None:
    """Make native code's lists what Python made of the copies it was given."""
    for number in changed:
        rep = reps[number]
        assert isinstance(rep, forms.Listed)
        block = word(address, count(reps[:number]))
        new = _list_block(rep, values[number], context, ())
        old = LIST.read(block, "items")
        for name in ("length", "capacity", "items"):
            LIST.write(block, name, LIST.read(new, name))
        drop_block(old)
        drop_block(new)


def write_group(reps: Sequence[Representation], values: Sequence[Any], outputs: int, context: int) -> None:
    """Put the words of a fused group's results where native code looks for them; elements are in memory too."""
    for k, (rep, value) in enumerate(zip(reps, values, strict=True)):
        in_memory = rep if isinstance(rep, forms.Array) else forms.Array(_dtype(rep), 0)
        write((in_memory,), (value,), word(outputs, k), context)


def _dtype(rep: Representation) -> DType:
    assert isinstance(rep, forms.Element)
    return rep.dtype
