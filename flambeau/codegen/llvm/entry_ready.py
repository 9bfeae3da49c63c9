"""Small results in storages made before: making an array and its storage takes longer than most small kernels.

Each output of a launch may have a row of storages, to which only the launch refers. One to which nobody else refers,
nor to its array, is free to become a result's; the tensor itself is always new. Rows end with 0.
"""

from __future__ import annotations

from flambeau.codegen.layouts import OUTPUT, ObjectLayouts
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL

READY = 3
"""Storages in a row: a loop that keeps the last result, and one more, still finds one free."""
READY_UP_TO = 1 << 13
"""Bytes of outputs that are small in this sense."""


def add_ready(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add ``ready(record)``: a new reference to a free storage, null if there is none; and
    ``array_of_storage(storage)``, which gives a new reference.
    """
    storage_layout, array_layout, none = layouts.storage, layouts.array, m.symbol("none")
    f = m.function("ptr ready", "ptr record")
    row = f.get(f.parameters[0], OUTPUT, "ready")
    f.return_if(f.is_null(row), NULL)
    at = f.variable(row)
    f.start("look")
    slot = f.load(at, "ptr")
    storage = f.load(slot, "ptr")
    f.return_if(f.is_null(storage), NULL)
    f.store(at, f.at(slot, 1))
    array = f.get(storage, storage_layout, "base")
    is_free = f.all_of(
        f.compare("eq", f.get(storage, layouts.object, "references"), 1),
        f.compare("eq", f.get(array, layouts.object, "references"), 1),
        f.compare("eq", f.get(storage, storage_layout, "_bytes"), none),
        f.is_null(f.get(storage, storage_layout, "weak")),
        f.is_null(f.get(array, array_layout, "weak")),
    )
    f.require(is_free, "look")
    f.call("Py_IncRef", storage)
    version, first = f.get(storage, storage_layout, "version"), f.call("first_version")
    f.put(storage, storage_layout, version=first)
    f.call("Py_DecRef", version)
    f.ret(storage)
    f = m.function("ptr array_of_storage", "ptr storage")
    array = f.get(f.parameters[0], storage_layout, "base")
    f.call("Py_IncRef", array)
    f.ret(array)
