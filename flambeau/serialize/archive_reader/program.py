"""A whole archive: the object of its module, the code of its classes, the files that users put in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from flambeau.program.object import ScriptObject
from flambeau.serialize.archive_format import (
    CONSTANTS,
    DATA,
    EXTRA,
    NEWEST_VERSION,
    OLDEST_VERSION,
    TRACED_INPUTS,
    VERSION_RECORDS,
)
from flambeau.serialize.archive_reader.code_texts import code_texts
from flambeau.serialize.archive_reader.code_unit import CodeUnit
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.limits import exceeded
from flambeau.serialize.archive_reader.object_reader import Objects
from flambeau.serialize.archive_reader.operators import Named, objections
from flambeau.serialize.archive_reader.permissions import REFUSED, Permissions
from flambeau.serialize.archive_reader.pickle_machine import is_expandable
from flambeau.serialize.archive_reader.pickle_names import read_pickle, read_with_storages
from flambeau.serialize.archive_reader.storage_reader import MapLocation, Storages
from flambeau.serialize.archive_reader.stored_objects import StoredObjects
from flambeau.util.depth import deep_recursion
from flambeau.util.record import dataclass

TOO_NEW: Final = (
    "the archive has version {version}, and the maximum supported version for reading is {newest}: it was written by a "
    "newer program"
)
TOO_OLD: Final = "the archive has version {version}, and the oldest version that can be read is {oldest}"
SHOWN: Final = 20
"""Names that a message lists."""
MISSING: Final = "it needs what Flambeau does not have: {missing}"

NO_WEIGHTS: Final = (
    ". The weights of its convolutions are not in the archive: who wrote it saved what optimize_for_inference gave, "
    "which leaves them out. Save the module from before, flambeau.jit.freeze(m) or m itself, and optimise that here"
)
OF_PYTHON: Final = "its code takes from Python what is not in the archive, which is neither imported nor run: {places}"


@dataclass(frozen=True, slots=True)
class Program:
    """What was in an archive."""

    module: ScriptObject
    unit: CodeUnit
    version: int
    container: Container

    def traced_inputs(self) -> dict[str, list[Any]]:
        """The example inputs of traced methods, tensors as their sizes and types alone. Raises ArchiveError."""
        if not self.container.has(f"{TRACED_INPUTS}.pkl"):
            return {}
        by_method = read_pickle(self.container, TRACED_INPUTS, Objects(self.unit), str, shapes_only=True)
        if not isinstance(by_method, dict) or not all(isinstance(v, list | tuple) for v in by_method.values()):
            raise self.container.error("expected a list of inputs for each method", f"{TRACED_INPUTS}.pkl")
        return {str(name): list(inputs) for name, inputs in by_method.items()}


def version_of(container: Container) -> int:
    """The number of the format. Raises ArchiveError if it is none, too old or too new."""
    record = next((r for r in VERSION_RECORDS if container.has(r)), None)
    if record is None:
        why = "PyTorch 1.3 or older wrote it" if container.has("model.json") else "it is no TorchScript archive"
        raise container.error(f"there is no record '{VERSION_RECORDS[1]}': {why}")
    text = container.text(record).strip()
    if re.fullmatch(r"\d{1,9}", text) is None:
        raise container.error(f"expected a number, got {text[:40]!r}", record)
    version = int(text)
    if version > NEWEST_VERSION:
        raise container.error(TOO_NEW.format(version=version, newest=NEWEST_VERSION))
    if version < OLDEST_VERSION:
        raise container.error(TOO_OLD.format(version=version, oldest=OLDEST_VERSION))
    return version


def is_program(container: Container) -> bool:
    """Whether it is the archive of a program, and not of values that `save` wrote."""
    return container.has(f"{CONSTANTS}.pkl") and container.has(f"{DATA}.pkl")


def read_program(container: Container, map_location: MapLocation, permissions: Permissions) -> Program:
    """The program in an archive; `map_location` says where storages go. Raises ArchiveError."""
    version = version_of(container)
    if not is_program(container):
        what = "a file of values: flambeau.load reads it" if container.has(f"{DATA}.pkl") else "no TorchScript archive"
        raise container.error(f"expected the archive of a module, got {what}")
    texts = code_texts(container)
    unit = CodeUnit(container, version, texts, permissions)
    stored = StoredObjects(container, unit, map_location)
    with deep_recursion():
        known = stored.read()
    if known is not None:  # nothing is to be said against such code
        return Program(known, unit, version, container)
    objected = objections(container, texts, permissions)
    if objected.missing:
        hint = NO_WEIGHTS if any("ConstantMKLDNNTensor" in name for name in objected.missing) else ""
        raise container.error(MISSING.format(missing=_listed(objected.missing)) + hint)
    if objected.of_python:
        raise container.error(OF_PYTHON.format(places=_listed(objected.of_python)))
    if objected.refused:
        raise container.error(REFUSED.format(places=_listed(objected.refused), names=sorted(objected.refused)))
    is_clear = not (objected.unclear or objected.users)
    with deep_recursion():
        program = Program(_read(container, unit, map_location, stored if is_clear else None), unit, version, container)
        for record, line in sorted(objected.unclear):
            unit.check_around(record, line)
    if not objected.unclear:
        unit.outlines.keep(unit.types)
    return program


def _listed(named: Mapping[str, Named]) -> str:
    shown = [str(one) for one in islice(named.values(), SHOWN)]
    more = [f"and {len(named) - SHOWN:,} more"] if len(named) > SHOWN else []
    return "; ".join([*shown, *more])


def _read(
    container: Container, unit: CodeUnit, map_location: MapLocation, stored: StoredObjects | None
) -> ScriptObject:
    """The module, which is kept in `stored`."""
    objects = Objects(unit)
    storages = [Storages(container, name, map_location) for name in (CONSTANTS, DATA)]
    constants = read_with_storages(container, CONSTANTS, objects, storages[0])
    if not isinstance(constants, tuple | list):
        raise container.error(f"expected a tuple of constants, got {type(constants).__name__}", f"{CONSTANTS}.pkl")
    if not is_expandable(constants, container.limits.pickle_opcodes):
        why = "it repeats its values too often: written out, they are"
        raise container.error(f"{why} {exceeded(container.limits, 'pickle_opcodes')}", f"{CONSTANTS}.pkl")
    unit.constants.extend(constants)
    module = read_with_storages(container, DATA, objects, storages[1])
    if not isinstance(module, ScriptObject) or not module.type.definition.is_module:
        raise container.error(f"expected a module, got {type(module).__name__}", f"{DATA}.pkl")
    if stored is not None and objects.are_as_written:
        stored.keep(constants, module, storages)
    return module


def extra_files(container: Container, wanted: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of these names that a user put into an archive; those that are not there are left out."""
    return {name: container.read(EXTRA + name) for name in wanted if container.has(EXTRA + name)}
