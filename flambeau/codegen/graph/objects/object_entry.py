"""Calls from Python with objects whose attributes are numbers, and lists of them: words in memory that is used again.

    def move(p: Point, by: float):      def call(*arguments):
        p.x += by                           a0, a1, = arguments
                                            if type(a0) is not c0: return slow(*arguments)
                                            v0_0, v0_1, = a0.x, a0.y,
                                            ...

How much a call copies of such objects is known, and little, so it is always worth it. A function of Python, written for
the signature, takes them apart and packs all words at once; when the native function is done, or has failed, those
attributes are assigned whose words are others than before.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from keyword import iskeyword
from typing import Any, Final

from flambeau.codegen.graph.entry.python_blocks import free_ring
from flambeau.codegen.graph.entry.taken_results import take_results
from flambeau.codegen.graph.native import NativeFunction
from flambeau.codegen.graph.objects.object_arguments import HEADER, NotNativeError, Record, record_of, struct_format
from flambeau.codegen.graph.objects.object_lists import ObjectRows, known_objects, list_of_numbers, list_of_objects
from flambeau.codegen.graph.representation import Bool, Fixed, Float, Int, Listed, Object, Representation, word_count
from flambeau.codegen.layouts import CONTEXT, WORD
from flambeau.program import instances
from flambeau.util.record import dataclass

MOST_OBJECTS: Final = 4
"""Objects among the arguments of such a call: each is compared with those before it."""
MOST_ATTRIBUTES: Final = 32
"""Attributes of an object in such a call."""
_TESTS: Final[dict[type, str]] = {
    Int: "type({0}) is int", Float: "type({0}) is float", Bool: "type({0}) is bool",
}  # fmt: skip
_ERRORS: Final = (struct.error, OverflowError, NotNativeError)
_ELSE: Final = "return slow(*arguments)"


class ObjectEntry:
    """A callable with a function's arguments, and what it counts. `make_object_entry` gives one."""

    def __init__(self, native: NativeFunction, slow: Callable[..., Any]) -> None:
        """`slow` is called with the same arguments if one of them does not look as the function needs."""
        self._native = native
        self._layout = layout = _Layout.of(native)
        self._writers = [
            (start // WORD + len(HEADER) + k, number, instances.writer(name), isinstance(rep, Bool))
            for number, (start, record) in enumerate(zip(layout.starts, layout.records.values(), strict=True))
            for k, (name, rep, _, _) in enumerate(record.fields)
        ]
        self._free: list[tuple[Any, ...]] = []
        self._served = [0]
        names: dict[str, Any] = {
            "slow": slow, "pop": self._free.pop, "push": self._free.append, "new_frame": self._new_frame,
            "pack": layout.arguments.pack, "call_native": native.function, "write_back": self._write_back,
            "fail": self._fail, "take": self._take, "unpack": layout.numbers.unpack_from, "free_ring": free_ring,
            "served": self._served, "errors": _ERRORS,
            "list_of_numbers": list_of_numbers, "list_of_objects": list_of_objects,
        }  # fmt: skip
        names.update({f"c{k}": _of_items(rep) for k, rep in enumerate(native.parameters) if isinstance(rep, Listed)})
        names.update({f"c{number}": record.python for number, record in layout.records.items()})
        names.update({f"f{k}": rep.value for k, rep in enumerate(native.linkage.results) if isinstance(rep, Fixed)})
        self.source = _source(native, layout)
        """What was written for the signature."""
        exec(compile(self.source, f"{__file__}, {layout.arguments.format}", "exec"), names)  # no code of users
        self.call: Callable[..., Any] = names["call"]
        """Takes the function's arguments."""

    @property
    def served(self) -> int:
        """How often it called the function."""
        return self._served[0]

    def _new_frame(self) -> tuple[Any, ...]:
        """Memory of a call: its bytes, what a new context has in its first words, the addresses of the context, the
        arguments, the results, and of each object's block.
        """
        layout = self._layout
        memory = bytearray(layout.record + WORD * self._native.linkage.record_words)
        exported = ctypes.c_char.from_buffer(memory)
        address = ctypes.addressof(exported)
        context = address + layout.context
        fresh = bytes(CONTEXT.pack(previous=context, next=context, record=address + layout.record))
        words = address + layout.words, address + layout.results
        return memory, fresh, exported, context, *words, *[address + start for start in layout.starts]

    def _write_back(self, memory: bytearray, before: bytes, objects: Sequence[Any]) -> None:
        """Assign the attributes whose words are others than before."""
        layout = self._layout
        old, new = layout.bits.unpack_from(before), layout.bits.unpack_from(memory)
        values = layout.values.unpack_from(memory)
        for index, number, write, is_bool in self._writers:
            if old[index] != new[index]:
                write(objects[number], values[index] & 1 == 1 if is_bool else values[index])

    def _fail(
        self, code: int, context: int, blocks: Sequence[int], objects: Sequence[Any], rows: Sequence[ObjectRows]
    ) -> None:
        self._native.fail(code, context, known_objects(blocks, objects, rows))

    def _take(
        self, memory: bytearray, blocks: Sequence[int], objects: Sequence[Any], rows: Sequence[ObjectRows]
    ) -> Any:
        """The results, where they are more than numbers."""
        layout, reps = self._layout, self._native.linkage.results
        words = struct.unpack_from(f"={(layout.context - layout.results) // WORD}q", memory, layout.results)
        taken = take_results(reps, words, known_objects(blocks, objects, rows))
        return taken[0] if len(reps) == 1 else taken


def make_object_entry(native: NativeFunction, slow: Callable[..., Any]) -> ObjectEntry | None:
    """A callable for a native function of numbers, of objects that only numbers are in, and of lists of either; None
    for others.
    """
    are_plain = all(_is_plain(rep.item if isinstance(rep, Listed) else rep) for rep in native.parameters)
    return ObjectEntry(native, slow) if are_plain and len(_records_of(native.parameters)) <= MOST_OBJECTS else None


def _records_of(parameters: Sequence[Representation]) -> dict[int, Record]:
    """Of each object among the arguments, by the number of the argument, how it is read and packed."""
    return {k: record_of(rep.definition) for k, rep in enumerate(parameters) if isinstance(rep, Object)}


def _of_items(rep: Listed) -> Record | Representation:
    return record_of(rep.item.definition) if isinstance(rep.item, Object) else rep.item


def _is_plain(rep: Representation) -> bool:
    if not isinstance(rep, Object):
        return type(rep) in _TESTS
    record = record_of(rep.definition)
    names = [name for name, _, _, _ in record.fields]
    are_numbers = all(type(rep) in _TESTS for _, rep, _, _ in record.fields)
    return are_numbers and len(names) <= MOST_ATTRIBUTES and all(n.isidentifier() and not iskeyword(n) for n in names)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where in the memory of a call what is, in bytes: the objects, the arguments, the results, the context, and the
    words that a failure leaves.
    """

    records: dict[int, Record]
    """By the number of the argument."""
    starts: tuple[int, ...]
    """Where the block of each object is."""
    words: int
    results: int
    context: int
    record: int
    arguments: struct.Struct
    """Packs objects and arguments."""
    bits: struct.Struct
    values: struct.Struct
    """Of the objects' words."""
    numbers: struct.Struct
    """Of the results' words."""

    @classmethod
    def of(cls, native: NativeFunction) -> _Layout:
        """The layout for a function."""
        records = _records_of(native.parameters)
        starts, words, objects = [], 0, ""
        for record in records.values():
            starts.append(words)
            words += record.packed.size
            objects += record.packed.format.lstrip("=")
        arguments = struct.Struct("=" + objects + "".join(map(struct_format, native.parameters)))
        context = arguments.size + WORD * sum(map(word_count, native.linkage.results))
        results = "".join([_result_format(rep) for rep in native.linkage.results])
        return cls(
            records, tuple(starts), words, arguments.size, context, context + WORD * CONTEXT.words,
            arguments, struct.Struct(f"={words // WORD}q"), struct.Struct(f"={objects}"), struct.Struct(f"={results}"),
        )  # fmt: skip


def _result_format(rep: Representation) -> str:
    return "d" if isinstance(rep, Float) else "q" * word_count(rep)


def _source(native: NativeFunction, layout: _Layout) -> str:
    """The text of the callable: what is in it is explained at the top of this file."""
    records, count = layout.records, len(native.parameters)
    objects, blocks = _tuple([f"a{k}" for k in records]), _tuple([f"b{k}" for k in records])
    lists = [k for k, rep in enumerate(native.parameters) if isinstance(rep, Listed) and isinstance(rep.item, Object)]
    rows = "rows" if lists else "()"
    ring = layout.context + CONTEXT["next"].offset
    next_of_fresh = f"{CONTEXT['next'].offset}:{CONTEXT['next'].offset + WORD}"
    lines = [
        "def call(*arguments):",
        f" if len(arguments) != {count}: {_ELSE}",
        f" {_names('a', range(count))} = arguments" if count else "",
        *_taken_apart(native.parameters, records),
        " try: frame = pop()",
        " except IndexError: frame = new_frame()",
        f" memory, fresh, _, context, operands, results, {_names('b', records)} = frame",
        *_same_blocks(records),
        f" memory[{layout.context}:{layout.record}] = fresh",
        f" known, rows = {{{', '.join([f'id(a{k}): b{k}' for k in records])}}}, []" if lists else "",
        " try:",
        f"  try: packed = pack({', '.join(_packed(native.parameters, records))})",
        "  except errors: packed = None",
        f"  if packed is None: {_ELSE}",
        f"  memory[:{layout.results}] = packed",
        "  served[0] += 1",
        "  try: code = call_native(context, operands, results)",
        "  finally:",
        f"   if memory[:{layout.words}] != packed[:{layout.words}]: write_back(memory, packed, {objects})",
        "   for one in rows: one.write_back()" if lists else "",
        f"  if code: fail(code, context, {blocks}, {objects}, {rows})",
        *_results(native.linkage.results, layout, f"take(memory, {blocks}, {objects}, {rows})"),
        " finally:",
        f"  if memory[{ring}:{ring + WORD}] != fresh[{next_of_fresh}]: free_ring(context)",
        "  push(frame)",
    ]
    return "\n".join([line for line in lines if line])


def _names(letter: str, numbers: Iterable[int]) -> str:
    return "".join([f"{letter}{k}, " for k in numbers])


def _tuple(names: Sequence[str]) -> str:
    return f"({''.join([f'{name}, ' for name in names])})"


def _taken_apart(parameters: Sequence[Representation], records: dict[int, Record]) -> list[str]:
    """Lines that read attributes, and go the slow way for values of other types, behind every handler: what is raised
    there is not to look like a consequence.
    """
    lines = []
    for k, rep in enumerate(parameters):
        if isinstance(rep, Listed):
            continue
        if k not in records:
            # An int is a float too, as Python has it.
            test = _TESTS[type(rep)].format(f"a{k}") + (f" or type(a{k}) is int" if isinstance(rep, Float) else "")
            lines.append(f" if not ({test}): {_ELSE}")
            continue
        lines.append(f" if type(a{k}) is not c{k}: {_ELSE}")
        fields = records[k].fields
        if fields:
            variables = [f"v{k}_{j}" for j in range(len(fields))]
            tests = [_TESTS[type(field)].format(v) for v, (_, field, _, _) in zip(variables, fields, strict=True)]
            reads = ", ".join([f"a{k}.{name}" for name, _, _, _ in fields])
            lines += [
                f" try: {', '.join(variables)}, = {reads},",
                f" except AttributeError: {' = '.join(variables)} = None",
                f" if not ({' and '.join(tests)}): {_ELSE}",
            ]
    return lines


def _same_blocks(records: dict[int, Record]) -> list[str]:
    """Lines that have an object that is given twice be one block."""
    known = list(records)
    return [
        f" if a{k} is a{before}: b{k} = b{before}"
        for index, k in enumerate(known)
        for before in reversed(known[:index])
        if records[k] is records[before]
    ]


def _packed(parameters: Sequence[Representation], records: dict[int, Record]) -> list[str]:
    """What is packed: each object's block, then the arguments."""
    words: list[str] = []
    for k, record in records.items():
        words += [*map(str, HEADER), *[f"v{k}_{j}" for j in range(len(record.fields))]]
    return [*words, *[_word(k, rep) for k, rep in enumerate(parameters)]]


def _word(k: int, rep: Representation) -> str:
    """What is packed of an argument."""
    if not isinstance(rep, Listed):
        return f"b{k}" if isinstance(rep, Object) else f"a{k}"
    if isinstance(rep.item, Object):
        return f"list_of_objects(context, c{k}, a{k}, known, rows)"
    return f"list_of_numbers(context, c{k}, a{k})"


def _results(reps: Sequence[Representation], layout: _Layout, take: str) -> list[str]:
    """Lines that give the results; `take` gives those that are more than numbers."""
    if len(reps) == 1 and isinstance(reps[0], Object):
        same_as = "".join([f"a{k} if r0 == b{k} else " for k in layout.records])
        return [f"  r0, = unpack(memory, {layout.results})", f"  return {same_as}{take}"]
    if not all(type(rep) in _TESTS or isinstance(rep, Fixed) for rep in reps):
        return [f"  return {take}"]
    words = [k for k, rep in enumerate(reps) if not isinstance(rep, Fixed)]
    values = [_result(k, rep) for k, rep in enumerate(reps)]
    unpacked = [f"  {_names('r', words)} = unpack(memory, {layout.results})"] if words else []
    return [*unpacked, f"  return {values[0] if len(values) == 1 else _tuple(values) if values else None}"]


def _result(k: int, rep: Representation) -> str:
    if isinstance(rep, Fixed):
        return f"f{k}"
    return f"r{k} & 1 == 1" if isinstance(rep, Bool) else f"r{k}"
