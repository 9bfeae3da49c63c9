"""Results of calls that do not go through a native entry, from words to objects."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.containers.dict_words import entry_words
from flambeau.codegen.graph.containers.number_lists import unpacked_numbers
from flambeau.codegen.graph.entry.marshalling import Arguments, SeenTensors, dict_of, read_value
from flambeau.codegen.graph.entry.shown_tensors import item_words
from flambeau.codegen.graph.numbers.number_words import kind_of_unlike
from flambeau.codegen.graph.objects.changed_objects import write_back
from flambeau.codegen.graph.objects.object_arguments import ArgumentObjects
from flambeau.codegen.graph.representation import Representation, holds_blocks, word_count
from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, LIST
from flambeau.tensor.storage import Storage
from flambeau.tensor.tensor import Tensor


def take(
    reps: Sequence[Representation], results: Sequence[int], arguments: Arguments, changed: Sequence[int]
) -> tuple[Any, ...]:
    """The results of a call: copies of what is in its blocks, but for arguments and parts of them.

    The lists in the arguments number ``changed`` become what the call made of them, and so do objects and what is in
    these.
    """
    objects = arguments.objects
    lists = [(rep, block, value) for number, rep, block, value in arguments.lists if number in changed]
    taking = _Taking({block: value for _, block, value in lists})
    taking.know(objects)
    for r, own in _each(reps, iter(results)):
        taking.measure(r, own)
    for listed, block, _ in lists:
        taking.measure(listed, (block,))
    for listed, block, value in lists:
        value[:] = taking.items(listed, block)
    words = iter(results)
    values = tuple([taking.take(r, words) for r in reps])
    write_back(objects, taking.take)
    taking.seen.objects.fill(taking.take)
    return values


def take_results(
    reps: Sequence[Representation], results: Sequence[int], known: Mapping[int, Any]
) -> tuple[Any, ...]:
    """The results of a call among whose arguments there are no blocks but those of objects, which are `known`."""
    taking = _Taking({})
    taking.seen.objects.know(known)
    for r, own in _each(reps, iter(results)):
        taking.measure(r, own)
    words = iter(results)
    values = tuple([taking.take(r, words) for r in reps])
    taking.seen.objects.fill(taking.take)
    return values


def _each(reps: Sequence[Representation], words: Iterator[int]) -> list[tuple[Representation, list[int]]]:
    """The words of each representation."""
    return [(r, [next(words) for _ in range(word_count(r))]) for r in reps]


class _Taking:
    """Results become objects: one list per block of a list, one storage per block of tensors."""

    def __init__(self, lists: dict[int, list[Any]]) -> None:
        """`lists`: those that are there already, by their blocks."""
        self.seen = SeenTensors()
        self._reach: dict[int, int] = {}
        self._storages: dict[int, Storage] = {}
        self._tensors: dict[tuple[Any, ...], Tensor] = {}
        self._lists = lists
        self._dicts: dict[int, Any] = {}

    def know(self, objects: ArgumentObjects) -> None:
        """Have the blocks that stand for objects, and for what is in them, be these."""
        self.seen.objects.know(objects.known)
        for one in objects.containers:
            known = self._lists if isinstance(one.rep, forms.Listed) else self._dicts
            known[one.block] = one.value

    def measure(self, rep: Representation, words: Sequence[int]) -> None:
        """Find out how far tensors reach into their blocks."""
        match rep:
            case forms.Array() | forms.Listed() | forms.Mapped() if not words[0]:
                return  # a variable that this way through the program never set
            case forms.Array() if not BLOCK.read(words[0], "origin"):
                sizes, strides = words[2 : 2 + rep.rank], words[2 + rep.rank :]
                reach = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + rep.dtype.itemsize
                end = words[1] - words[0] - BLOCK_DATA + (0 if 0 in sizes else reach)
                self._reach[words[0]] = max(end, self._reach.get(words[0], 0))
            case forms.Listed(item) if holds_blocks(item) and not isinstance(item, forms.Object):
                items = item_words(rep, words[0])
                for r, own in _each((rep.item,) * LIST.read(words[0], "length"), items):
                    self.measure(r, own)
            case forms.Mapped() if holds_blocks(rep.value):
                for own_entry in entry_words(rep, words[0]):
                    self.measure(rep.value, list(own_entry)[word_count(rep.key) :])
            case forms.Tupled():
                for r, own in _each(rep.items, iter(words)):
                    self.measure(r, own)
            case forms.Optional() if words[0] & 1:
                self.measure(rep.inner, words[1:])
            case forms.Unlike():
                kind, own_words = kind_of_unlike(rep, iter(words))
                self.measure(kind, list(own_words))

    def take(self, rep: Representation, words: Iterator[int]) -> Any:
        """The object of the next words."""
        match rep:
            case forms.Array():
                own = [next(words) for _ in range(word_count(rep))]
                return self._tensor(rep, own) if own[0] else None
            case forms.Listed() | forms.Mapped():
                block = next(words)
                return self._container(rep, block) if block else None
            case forms.Tupled():
                return rep.container([self.take(r, words) for r in rep.items])
            case forms.Optional():
                return self._optional(rep, words)
            case forms.Unlike():
                return self.take(*kind_of_unlike(rep, words))
            case _:
                return read_value(rep, words, self.seen)

    def _optional(self, rep: forms.Optional, words: Iterator[int]) -> Any:
        if next(words) & 1:
            return self.take(rep.inner, words)
        for _ in range(word_count(rep.inner)):
            next(words)
        return None

    def _container(self, rep: forms.Listed | forms.Mapped, block: int) -> Any:
        """The list or dict of a block, the same one each time."""
        if isinstance(rep, forms.Mapped):
            if block not in self._dicts:
                self._dicts[block] = dict_of(rep, block, self.take)
            return self._dicts[block]
        if block not in self._lists:
            self._lists[block] = self.items(rep, block)
        return self._lists[block]

    def items(self, rep: forms.Listed, block: int) -> list[Any]:
        """The items of a list."""
        numbers = unpacked_numbers(rep.item, block)
        if numbers is not None:
            return numbers
        words = item_words(rep, block)
        if isinstance(rep.item, forms.Object):
            instance, definition = self.seen.objects.instance, rep.item.definition
            return [instance(definition, address) for address in words]
        return [self.take(rep.item, words) for _ in range(LIST.read(block, "length"))]

    def _tensor(self, rep: forms.Array, words: Sequence[int]) -> Tensor:
        key = (rep.dtype, *words)
        if key not in self._tensors:
            self._tensors[key] = self._new_tensor(rep, words)
        return self._tensors[key]

    def _new_tensor(self, rep: forms.Array, words: Sequence[int]) -> Tensor:
        block = words[0]
        if BLOCK.read(block, "origin"):
            return self.seen.tensor(rep, words)
        storage = self._storages.get(block)
        if storage is None:
            copied = np.empty(self._reach[block], np.uint8)
            ctypes.memmove(copied.ctypes.data, block + BLOCK_DATA, copied.nbytes)
            storage = self._storages[block] = Storage(copied)
        sizes, strides = tuple(words[2 : 2 + rep.rank]), tuple(words[2 + rep.rank :])
        offset = 0 if 0 in sizes else words[1] - block - BLOCK_DATA
        return Tensor(np.ndarray(sizes, rep.dtype.numpy, storage.base.data, offset, strides), storage)
