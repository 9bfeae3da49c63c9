"""What the pickles of an archive give, kept in the cache on disk: later processes make the objects without them.

An entry lies under a hash over the pickles, over all of the code and over what its reader allows, so that whoever finds
one knows that the pickles were read in full before, that every value was what its class declares, and that nothing was
to be said against the code, which names no operators of users. It says which
classes the objects are of, what each attribute is, and where in which record of the file a tensor's elements lie; the
elements themselves are the file's, and are looked at as they are when pickles are read.

Objects whose own code set them up, objects of PyTorch's C++, members of enums, lists of tensors, and tensors that are
copies of what the file has are read from the pickles each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final, cast

from flambeau.executor.records import RecordError
from flambeau.executor.stored import CacheEntry, entry_under
from flambeau.nn.parameter import Parameter, as_parameter
from flambeau.program.object import ScriptObject
from flambeau.program.origin import Origin
from flambeau.schema import dtype as dtypes
from flambeau.schema.device import CPU
from flambeau.schema.types import ClassType
from flambeau.serialize.archive_format import CONSTANTS, DATA
from flambeau.serialize.archive_reader.code_unit import CodeUnit
from flambeau.serialize.archive_reader.container_reader import Container
from flambeau.serialize.archive_reader.storage_reader import (
    AllTo,
    MapLocation,
    Storages,
    StoredMemory,
    as_written,
    elements_of,
    part_of,
)
from flambeau.tensor.array_library import address_of
from flambeau.tensor.tensor import Tensor, wrap

WHAT: Final = "objects"
_PLAIN: Final = frozenset((type(None), bool, int, float, complex, str))
Link = tuple[int, int, int]
"""Which object, which of its attributes, and the number of the object or tensor that it is."""
StoredTensor = tuple[int, int, tuple[int, ...], tuple[int, ...], bool, bool]
"""The number of its storage, offset, sizes, strides, whether it asks for gradients, whether it is a parameter."""


class StoredObjects:
    """The objects of one archive on disk."""

    def __init__(self, container: Container, unit: CodeUnit, map_location: MapLocation) -> None:
        self._container = container
        self._unit = unit
        self._entry = self._entry_for(map_location)

    def _entry_for(self, map_location: MapLocation) -> CacheEntry | None:
        """Where they lie; None where they are to go where only a function says."""
        limits = self._container.limits
        pickles = [f"{name}.pkl" for name in (CONSTANTS, DATA)]
        if map_location is as_written:
            device = ""
        elif isinstance(map_location, AllTo):
            device = map_location.device
        else:
            return None
        if any(self._container.size(record) > limits.pickle_bytes for record in pickles):
            return None
        hashes = [hashlib.sha256(self._container.read(record)).hexdigest() for record in pickles]
        return entry_under(Origin(self._unit.key, self._unit).part(*hashes, device), WHAT)

    def read(self) -> ScriptObject | None:
        """The object of the module, with the constants of the code in the unit, if an earlier process left what they
        consist of. Raises ArchiveError for records of tensors that are broken."""
        kept = None if self._entry is None else self._entry.read()
        if kept is None:
            return None
        try:
            return _module_of(kept, self._container, self._unit)
        except (RecordError, TypeError, ValueError, LookupError):  # something else lies there
            self._unit.constants.clear()
            return None

    def keep(self, constants: Iterable[Any], module: ScriptObject, storages: Iterable[Storages]) -> None:
        """Leave what the values consist of to later processes."""
        if self._entry is None:
            return
        try:
            kept = _Outline(storages).of(constants, module)
        except RecordError as error:
            self._entry.say_why_not(error)
            return
        self._entry.keep(kept)


class _Outline:
    """What values consist of, as tuples, lists, numbers and texts."""

    def __init__(self, storages: Iterable[Storages]) -> None:
        self._rows = {
            id(memory.row._storage): (record, memory)
            for one in storages for record, memory in one.rows() if memory.row is not None
        }  # fmt: skip
        self._storages: dict[tuple[str, str, int], int] = {}
        """Numbers by record, dtype and count of elements: a record may be read as several dtypes."""
        self._tensors: dict[int, int] = {}
        self._objects: dict[int, int] = {}
        self._waiting: list[ScriptObject] = []
        self._written: list[StoredTensor] = []

    def of(self, constants: Iterable[Any], module: ScriptObject) -> tuple[Any, ...]:
        """All of it. Raises RecordError for what no record can hold."""
        to_objects: list[Link] = []
        to_tensors: list[Link] = []
        classes: dict[str, int] = {}
        kinds: list[int] = []
        values: list[list[Any]] = []
        self._number(module)
        constants = list(constants)
        if any(isinstance(value, ScriptObject) for value in constants):
            raise RecordError("a constant is an object, whose class may read constants")

        def add(items: Iterable[Any]) -> None:
            own: list[Any] = []
            for slot, value in enumerate(items):
                if isinstance(value, ScriptObject):
                    to_objects.append((len(values), slot, self._number(value)))
                elif isinstance(value, Tensor):
                    to_tensors.append((len(values), slot, self._tensor(value)))
                else:
                    _check(value)
                own.append(None if isinstance(value, ScriptObject | Tensor) else value)
            values.append(own)

        done = 0
        while done < len(self._waiting):
            instance = self._waiting[done]
            done += 1
            kinds.append(classes.setdefault(instance.type.name, len(classes)))
            add(instance.values)
        add(constants)
        return tuple(classes), kinds, values, to_objects, to_tensors, tuple(self._storages), self._written

    def _number(self, instance: ScriptObject) -> int:
        number = self._objects.get(id(instance))
        if number is None:
            number = self._objects[id(instance)] = len(self._waiting)
            self._waiting.append(instance)
        return number

    def _tensor(self, tensor: Tensor) -> int:
        number = self._tensors.get(id(tensor))
        if number is None:
            self._written.append(self._stored(tensor))
            number = self._tensors[id(tensor)] = len(self._written) - 1
        return number

    def _stored(self, tensor: Tensor) -> StoredTensor:
        record, memory = self._rows.get(id(tensor._storage), ("", None))
        array = tensor._array
        if memory is None or memory.row is None or memory.device is not CPU or type(tensor) not in (Tensor, Parameter):
            raise RecordError("a tensor does not lie in the memory of the file")
        if array.dtype != memory.row._array.dtype or tensor._base is not None or tensor._node is not None:
            raise RecordError("a tensor is a view of another")
        item = array.dtype.itemsize
        offset = (address_of(array) - address_of(memory.row._array)) // item if array.size else 0
        strides = tuple([step // item for step in array.strides])
        is_parameter = type(tensor) is Parameter
        return self._storage(record, memory), offset, array.shape, strides, tensor._requires_grad, is_parameter

    def _storage(self, record: str, memory: StoredMemory) -> int:
        return self._storages.setdefault((record, memory.dtype.name, memory.size), len(self._storages))


def _check(value: Any) -> None:
    """Raise RecordError for what is not the same when it is read again."""
    waiting = [value]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if type(part) in _PLAIN:
            continue
        if type(part) not in (list, tuple, dict):
            raise RecordError(f"an attribute holds something of {type(part).__name__}")
        if id(part) not in seen:
            seen.add(id(part))
            waiting += [*part, *part.values()] if isinstance(part, dict) else part


def _module_of(kept: Any, container: Container, unit: CodeUnit) -> ScriptObject:
    """What `_Outline` was made of. Raises ArchiveError, and whatever follows from a record that is something else."""
    classes, kinds, values, to_objects, to_tensors, storages, tensors = kept
    rows = [wrap(elements_of(container, record, dtypes.by_name(name), count)) for record, name, count in storages]
    parts = [_part(rows, *tensor) for tensor in tensors]
    for holder, slot, number in to_tensors:
        values[holder][slot] = parts[number]
    unit.constants.extend(values.pop())  # which classes may read
    types = [unit.find_type(name) for name in classes]
    if not all(isinstance(type_, ClassType) for type_ in types):
        raise RecordError("it names something that is no class")
    objects = [ScriptObject(cast(ClassType, types[kind]), own) for kind, own in zip(kinds, values, strict=True)]
    for number, slot, other in to_objects:
        objects[number].values[slot] = objects[other]
    return objects[0]


def _part(
    rows: list[Tensor], storage: int, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...], asks: bool,
    is_parameter: bool,
) -> Tensor:  # fmt: skip
    tensor = part_of(rows[storage], offset, sizes, strides, asks)
    if is_parameter:
        as_parameter(tensor)
    return tensor
