"""The layouts of structs in memory that machine code and Python both read and write, each declared once.

A `Layout` gives each field's offset in bytes and its LLVM type. Layouts of our own structs are made of 64-bit words.
Those of CPython's and NumPy's objects are measured when the process starts (`native_call.object_layouts`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from typing import Any

from flambeau.util.record import dataclass

WORD = 8
"""Bytes of a word."""
_C_TYPES = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "ptr": ctypes.c_int64}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    offset: int
    """Bytes from the start of the struct."""
    type: str
    """An LLVM type: ``i32``, ``i64`` or ``ptr``."""


class Layout:
    """The fields of a struct, by name."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self.fields = dict(fields)
        self.words = max(((f.offset + WORD) // WORD for f in self.fields.values()), default=0)
        self.indices = {name: f.offset // WORD for name, f in self.fields.items()}
        """Of each field, the index among the words of a struct."""
        """Words of a struct, from its address on."""

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def __repr__(self) -> str:
        return f"Layout({self.fields!r})"

    def __getitem__(self, name: str) -> Field:
        return self.fields[name]

    def offset(self, name: str) -> int:
        """Bytes from the start of a struct to a field."""
        return self.fields[name].offset

    def word(self, name: str) -> int:
        """The index of a field among the words of a struct."""
        return self.indices[name]

    def read(self, address: int, name: str) -> int:
        """The value of a field of the struct at an address."""
        field = self.fields[name]
        return int(_C_TYPES[field.type].from_address(address + field.offset).value)

    def write(self, address: int, name: str, value: int) -> None:
        """Write a field of the struct at an address."""
        field = self.fields[name]
        _C_TYPES[field.type].from_address(address + field.offset).value = value

    def pack(self, **values: int) -> Any:
        """A new struct, as a ctypes array of its words; fields that are not given are 0."""
        struct, indices = (ctypes.c_int64 * self.words)(), self.indices
        for name, value in values.items():
            struct[indices[name]] = value
        return struct


def words_layout(fields: str, *, base: Layout | None = None, first: int = 0) -> Layout:
    """The layout of a struct of words, ``"ptr next, i64 count"``, after those of ``base`` or from word ``first`` on."""
    start = first if base is None else base.words
    declared = [field.split() for field in fields.split(",")]
    own = {name: Field((start + k) * WORD, kind) for k, (kind, name) in enumerate(declared)}
    return Layout(own if base is None else {**base.fields, **own})


def measured_layout(offsets: Mapping[str, int], ints: Iterable[str] = ()) -> Layout:
    """The layout of an object whose fields are where measurements found them: addresses, and C ints."""
    return Layout({name: Field(offset, "i32" if name in ints else "ptr") for name, offset in offsets.items()})


BLOCK = words_layout("ptr raw, i64 references, ptr previous, ptr next, i64 origin, ptr bin", first=-1)
"""Memory of compiled graphs. ``raw`` is what the C library allocated; live blocks form a ring, whose head is in the
context; ``origin`` is 0 for a block made in the call, 1 + the number of the argument whose memory it stands for;
``bin`` is where the block goes when the call has no more use of it (see `BIN`), 0 for back to the C library."""
BLOCK_DATA = 64
"""Bytes from the start of a block to the elements or items in it."""
BLOCK_PADDING = BLOCK_DATA + WORD + 64
"""Bytes that a block takes beside its elements: its words, the word before it, and what alignment may skip."""
FOREVER = 1 << 40
"""References of a caller's block: more than a function ever gives back."""
LIST = words_layout("i64 length, i64 capacity, ptr items", base=BLOCK)
"""The block of a list; its items are in a block of their own. While results are made, a capacity below 0 is the address
of the list made of it, inverted."""
STACK = words_layout("ptr chunk, i64 room", base=LIST)
"""The block of a list that only grows and shrinks at its end, and keeps copies of small tensors. ``chunk``: 0, or the
block, with a reference of the list's, at whose end ``room`` bytes are left for the next."""
DICT = words_layout("ptr table, i64 bits, i64 live, i64 filled", base=LIST)
"""The block of a dict or a set, which is a list of entries, those that were taken out among them. ``table``: 0, or the
block with places of entries, as 32-bit ints by hash, -1 where there is none; ``bits``: the logarithm of its size;
``live``: how many entries were not taken out; ``filled``: places of the table that are taken."""
TEXT = words_layout("i64 used, i64 room")
"""What a block of code points has before them: how many are used, and for how many there is room. A text that ends
where the used ones do is added to in place."""
TEXT_DATA = BLOCK_DATA + TEXT.words * WORD
"""Bytes from the start of a block to its code points."""
LEAF = words_layout("ptr object, ptr array, ptr chain, ptr storage, ptr tensor", base=BLOCK)
"""The block that stands for an argument: the object passed in, its array (with a reference of the leaf's), the leaf
before it, and, where known, the storage and the tensor that stand for it among the results (without references)."""

OBJECT = words_layout("i64 references, ptr destroy, ptr cell")
"""What an object has before its attributes: its count where that of a block is, the function that takes it apart
(`graph.releases`), and where its place goes when it is freed (`graph.object_pool`)."""
POOL = words_layout("ptr next, ptr end")
"""Where new objects of a call lie: from ``next`` on, up to ``end``. Cells follow, one for each class of the module: its
free places, chained by their counts."""

CONTEXT = words_layout(
    "i64 references, ptr previous, ptr next, i64 origin, ptr thread, i64 polled, ptr record, i64 user, i64 long, "
    "ptr floor, i64 floor_known, i64 calls, ptr trace, ptr bins, ptr team, i64 piece, ptr error, ptr error_value, "
    "ptr error_trace, ptr pool"
)
"""The context of a call of a compiled graph. Its first words are those of a block: the head of the ring. ``thread``:
what `PyEval_SaveThread` gave, 0 while the GIL is held; ``polled``: cycle counter at the last poll; ``record``: address
of the words of a failed exit point's operands; ``user``: a number the caller may look itself up by; ``long``: 1 after a
call that took so many iterations of loops that the next had better give up the GIL at once. Functions that call
themselves fill in the rest. ``floor``: the address below which frames must not lie; ``floor_known``: 1 once that is the
end of the stack and not only as much as most take; ``calls``: how many are left until the next look at the clock;
``trace``: 0, or the address of how many calls a failure has left, and the numbers of their exit points, the innermost
first. ``bins``: 0, or the address of the bins that the call's small blocks come from and go to. ``team``: 0, or the
`TEAM` of which this is the context of piece number ``piece``; the piece's thread has no GIL of its own then, and what
it raised is in the three behind, as `PyErr_Fetch` gives it. ``pool``: 0, or where the call's objects lie."""
TEAM = words_layout("ptr context, i64 leader, i64 failed, i64 step, ptr pieces")
"""A loop whose iterations run at the same time, behind which the words of its operands stand. ``context``: that of the
call; ``leader``: the number of its thread; ``failed``: the first piece that failed, or `MOST_PIECES`; ``step``:
iterations of a piece; ``pieces``: a `PIECE` for each, with the words of its results behind it."""
PIECE = words_layout("i64 code", base=CONTEXT)
"""The context of a piece of such a loop, and what stopped it, or 0."""
MOST_PIECES = 64
"""Into how many pieces such a loop is cut, at most, however many threads there are: so sums are the same on all."""
BIN = words_layout("ptr first, i64 room")
"""Blocks of one size that nobody uses, chained by their ``next``, and how many more may come."""
SMALLEST_BIN_BITS, LARGEST_BIN_BITS = 7, 16
"""Powers of two between which bins are; four to each."""
BIN_COUNT = 4 * (LARGEST_BIN_BITS - SMALLEST_BIN_BITS)
BIN_BYTES = 1 << 20
"""Bytes of a bin's blocks, at most."""
ENTRY_CONTEXT = words_layout("ptr leaves", base=CONTEXT)
"""The context of an entry stub, which chains the leaves of the arguments."""
ARRAY_CELL = words_layout(
    "ptr targets, i64 count, i64 positional, ptr names, ptr classes, ptr contents, ptr scalars, ptr to_array, "
    "ptr defaults, ptr conversion, i64 is_array, i64 is_tuple, ptr error"
)
"""What the callable of a program on arrays refers to. ``targets``: the array of fast paths of the program, which ends
with 0; ``count``: its parameters, of which the first ``positional`` may have arguments without names; ``names``: the
name of each; ``classes``: for each the class that its argument must have, or 0; ``contents``: 0, or for each the
`CONTENTS` that are looked for in it, or 0; ``scalars``: 0, or for each whether
``to_array``, a callable, makes an array of it, as of NumPy's scalars; ``defaults``: for
each what it is if there is no argument, or 0; ``conversion``: 0, or the callable that makes arrays of what is in a
result; ``is_array``, ``is_tuple``: whether native code may do so, of one tensor or of those in a tuple; ``error``: the
callable that raises what an error is to users of arrays."""
CONTENTS = words_layout("ptr type, i64 kind, i64 count, i64 bit, i64 bits, ptr parts")
"""What an object and those in it must be, as a tree. ``type``: the object's class; ``kind``: one of `HOLDS_NOTHING` and
those after it; ``count``: the items of a tuple; ``bit``: what is set where a list or dict is not empty, since what
holds nothing does not tell what it is for; ``bits``: those of it and of its parts; ``parts``: addresses of the same for
items, of a dict for keys and values."""
HOLDS_NOTHING, HOLDS_ITEMS, HOLDS_EACH, HOLDS_PAIRS = range(4)
"""Kinds of `CONTENTS`: of a number or a text, of a list, of a tuple, of a dict."""
GRAPH_CELL = words_layout("ptr function, ptr error, i64 user, i64 served, i64 long")
"""What the callable of a compiled graph refers to: the function's address, the error callable, the context's word of
that name, how often the function was called, and whether the last call was so long that the next gives up the GIL at
once."""

LAUNCH = words_layout(
    "ptr next, ptr kernel, i64 high, i64 step, i64 words, ptr template, i64 flags, i64 n_in, i64 n_out, ptr inputs, "
    "ptr outputs, i64 pieces, ptr pool, i64 size_at, i64 least, i64 most, ptr program, i64 geometry, i64 rank, "
    "i64 target, i64 fixed"
)
"""A kernel's launch, as the native entry reads it. One for any size (see ``launch_sizes``) has the index of its block's
word for the number of elements in ``size_at``, and serves from ``least`` to ``most`` of them; its ``high`` and
``pieces`` follow from that number. That of a pattern (see ``entry_patterns``) has a ``program``. One that goes over its
arrays row by row (see ``entry_geometry``) says how in ``geometry``, for up to ``most`` elements. Behind the ``n_in``
inputs that a kernel is given, calls of Python have ``fixed`` more, which decide by being the very objects."""
RELEASE_GIL = 1
"""The flag of a launch that takes long."""
INPUT = words_layout("ptr descr, i64 rank, ptr dims, ptr strides")
"""What an input of a launch must look like: a launch for any size has 0 for ``dims``, and the bytes of an element for
``strides``. A Python number has no ``descr``; its ``rank`` is a kind (`NUMBER_FLOAT`, ...), its ``dims`` its type, or
for `IDENTITY` the object itself; for `STATIC` the address of numbers, with their count as ``strides``."""
NUMBER_FLOAT, NUMBER_INT, IDENTITY, STATIC, NUMBER_COMPLEX = range(5)
"""Kinds of inputs that are no arrays: `IDENTITY` decides by being this very object, `STATIC` is numbers that a launch
is for. Those come behind what a kernel is given, and only compiled graphs look at them."""
OUTPUT = words_layout("ptr descr, i64 rank, ptr dims, ptr strides, i64 bytes, i64 large, ptr ready")
"""What an output of a launch looks like: ``strides`` is 0 for row-major ones, ``large`` says whether it starts on a
64-byte boundary, and ``ready`` is the address of ready storages (see ``entry_ready``; 0 for none)."""
CELL = words_layout("ptr launches, i64 served, ptr looks, ptr programs")
"""What a callable of a kernel refers to: the newest launch, how many calls were served, what inputs its patterns may
have, the newest program that makes launches (``llvm.recorded_launches``), which compiled graphs look at."""
LOOK = words_layout("ptr next, ptr inputs, ptr buckets, i64 n, ptr of_any_size")
"""What the inputs of a kernel's patterns may be: the next of them, records of the inputs without sizes, the launches by
hash, the number of inputs, the launches whose sizes have many hashes."""


@dataclass(frozen=True, slots=True)
class ObjectLayouts:
    """The layouts of the objects that entry stubs take apart and make."""

    object: Layout
    """Any object: its ``references`` and its ``type``."""
    type: Layout
    """A type: its ``base``."""
    array: Layout
    """NumPy's: ``data``, ``rank``, ``dims``, ``strides``, ``descr``, ``flags`` and ``weak`` references to it."""
    callable: Layout
    """A native callable: ``vectorcall``, the address of its code; ``cell``, that of what it reads; ``slow``, which
    is called for everything else; ``owned``, a tuple of all that the others point to."""
    tensor: Layout
    storage: Layout
    float: Layout
    """A Python float, or NumPy's float64, which is one: its ``value``."""
    numpy_int: Layout
    """NumPy's int64: its ``value``."""
