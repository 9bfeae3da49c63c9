"""A program as the records of an archive, and those as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flambeau.program.classes import ClassDefinition
from flambeau.program.object import ScriptObject
from flambeau.schema.types import ANY, STRING, DictType, ListType, Type
from flambeau.serialize.archive_format import (
    CODE,
    CONSTANTS,
    DATA,
    DEBUG_SUFFIX,
    DEFLATED_ABOVE,
    EXTRA,
    PLAIN_VERSION,
    TRACED_INPUTS,
    version_since,
)
from flambeau.serialize.archive_writer.archive_names import ArchiveNames
from flambeau.serialize.archive_writer.code_files import CodeFiles
from flambeau.serialize.archive_writer.container_writer import Bytes, ContainerWriter, Sink
from flambeau.serialize.archive_writer.contents import Contents
from flambeau.serialize.archive_writer.pickled_values import ValuePickler
from flambeau.serialize.archive_writer.source_table import source_table
from flambeau.util.depth import deep_recursion
from flambeau.util.record import dataclass, field

ExtraFiles = Mapping[str, str | bytes]
_INPUTS = DictType(STRING, ListType(ANY))


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be saved."""

    root: ScriptObject
    complete: Callable[[ClassDefinition], None]
    """Compiles what is part of a class although nothing asked for it yet."""
    traced_inputs: Mapping[str, list[Any]] = field(default_factory=dict)
    """Example inputs by method."""
    extra_files: ExtraFiles = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Archive:
    """What a file consists of."""

    records: list[tuple[str, Bytes]]
    version: int

    def write(self, sink: Sink, folder: str) -> None:
        """Write the file."""
        writer = ContainerWriter(sink, folder)
        for name, data in self.records:
            writer.write(name, data, deflated=name.startswith(CODE) and len(data) > DEFLATED_ABOVE)
        writer.finish(self.version)


def archive_of(program: Program) -> Archive:
    """The records of a program. Raises RuntimeError for what has no form in archives."""
    with deep_recursion():
        contents = Contents(program.complete)
        contents.add_value(program.root)
        names = ArchiveNames(contents.types, contents.functions.values())
        code = CodeFiles(contents, names)
        code.write()
        records: list[tuple[str, Bytes]] = []
        for name, text in program.extra_files.items():
            records.append((EXTRA + name, text.encode() if isinstance(text, str) else bytes(text)))
        records += _pickled(DATA, program.root, ValuePickler(names))
        for record, file in code.files.items():
            records += [(record, file.text.encode()), (record + DEBUG_SUFFIX, source_table(file.marks))]
        records += _pickled(CONSTANTS, tuple(code.table.values), ValuePickler(names))
        if program.traced_inputs:
            records += _without_data(_pickled(TRACED_INPUTS, dict(program.traced_inputs), ValuePickler(names), _INPUTS))
    return Archive(records, version_of(contents.operators))


def _pickled(name: str, value: Any, pickler: ValuePickler, type_: Type = ANY) -> list[tuple[str, Bytes]]:
    """The storages of a value and its pickle."""
    pickler.write(value, type_)
    stored: list[tuple[str, Bytes]] = [(f"{name}/{key}", data) for key, data in pickler.storages.records.items()]
    return [*stored, (f"{name}.pkl", pickler.finish())]


def _without_data(records: list[tuple[str, Bytes]]) -> list[tuple[str, Bytes]]:
    return [(name, data if name.endswith(".pkl") else b"") for name, data in records]


def version_of(operators: Iterable[str]) -> int:
    """The number of the format that programs with these operators are written in."""
    return max(map(version_since, operators), default=PLAIN_VERSION)

