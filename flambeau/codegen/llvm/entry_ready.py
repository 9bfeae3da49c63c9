"""Small results in storages made before: making an array and its storage takes longer than most small kernels.

Each output of a plan may have a row of storages, held by the plan alone. One that nobody else refers to, neither it nor
its array, is free to become a result's; the tensor itself is always new. Rows end with 0.
"""

from __future__ import annotations

from flambeau.util.record import dataclass

READY = 3
"""Storages in a row: a loop that keeps the last result, and one more, still finds one free."""
READY_UP_TO = 1 << 13
"""Bytes of outputs that are small in this sense."""


@dataclass(frozen=True, slots=True)
class Weak:
    """Offsets of the lists of weak references of an array and of a storage."""

    array: int
    storage: int


def ready_text(storage: dict[str, int], weak: Weak, place: int) -> str:
    """LLVM text of ``ready(record)``: a new reference to a free storage, null if there is none; and of
    ``array_of_storage(storage)``, which gives a new reference.

    ``storage`` has offsets of slots; ``place`` is that of the row's address in an output's record.
    """
    return f"""
define internal ptr @ready(ptr %record) {{
entry:
  %row.p = getelementptr i64, ptr %record, i64 {place}
  %row = load ptr, ptr %row.p
  %no_row = icmp eq ptr %row, null
  br i1 %no_row, label %none, label %look
look:
  %at = phi ptr [%row, %entry], [%next, %busy]
  %storage = load ptr, ptr %at
  %is_end = icmp eq ptr %storage, null
  br i1 %is_end, label %none, label %count
count:
  %next = getelementptr ptr, ptr %at, i64 1
  %holds = load i32, ptr %storage
  %array.p = getelementptr i8, ptr %storage, i64 {storage["base"]}
  %array = load ptr, ptr %array.p
  %array_holds = load i32, ptr %array
  %weak.p = getelementptr i8, ptr %storage, i64 {weak.storage}
  %weak = load ptr, ptr %weak.p
  %array_weak.p = getelementptr i8, ptr %array, i64 {weak.array}
  %array_weak = load ptr, ptr %array_weak.p
  %bytes.p = getelementptr i8, ptr %storage, i64 {storage["_bytes"]}
  %bytes = load ptr, ptr %bytes.p
  %ok1 = icmp eq i32 %holds, 1
  %ok2 = icmp eq i32 %array_holds, 1
  %ok3 = icmp eq ptr %weak, null
  %ok4 = icmp eq ptr %array_weak, null
  %ok5 = icmp eq ptr %bytes, @flambeau_none
  %ok12 = and i1 %ok1, %ok2
  %ok34 = and i1 %ok3, %ok4
  %ok125 = and i1 %ok12, %ok5
  %is_free = and i1 %ok125, %ok34
  br i1 %is_free, label %free, label %busy
busy:
  br label %look
free:
  call void @flambeau_Py_IncRef(ptr %storage)
  %version.p = getelementptr i8, ptr %storage, i64 {storage["version"]}
  %version = load ptr, ptr %version.p
  %is_zero = icmp eq ptr %version, @flambeau_zero
  br i1 %is_zero, label %give, label %reset
reset:
  call void @flambeau_Py_IncRef(ptr @flambeau_zero)
  store ptr @flambeau_zero, ptr %version.p
  call void @flambeau_Py_DecRef(ptr %version)
  br label %give
give:
  ret ptr %storage
none:
  ret ptr null
}}
define internal ptr @array_of_storage(ptr %storage) {{
  %array.p = getelementptr i8, ptr %storage, i64 {storage["base"]}
  %array = load ptr, ptr %array.p
  call void @flambeau_Py_IncRef(ptr %array)
  ret ptr %array
}}
"""
