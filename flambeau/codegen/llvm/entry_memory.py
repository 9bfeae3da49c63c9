"""Memory for large results: the C library gives large blocks back to the system, and fresh pages cost more than work.

A few blocks are kept. Whoever holds a result, or any view of it, holds the array of bytes under it; a kept block that
nobody but the keeper refers to is free.
"""

from __future__ import annotations

KEPT = 2
"""How many blocks are kept."""
KEPT_FROM, KEPT_TO = 24 << 20, 96 << 20
"""Bytes of blocks that are kept: smaller ones the C library keeps itself, of larger ones too much would lie idle."""


def memory_text(offset_of_dims: int) -> str:
    """LLVM text of ``raw``: a new reference to an array of at least so many bytes; null, with MemoryError, if none."""
    return f"""{_FRESH}
@kept = internal global [{KEPT} x ptr] zeroinitializer
define internal ptr @raw(i64 %size) {{
entry:
  %span = sub i64 %size, {KEPT_FROM}
  %is_kept = icmp ult i64 %span, {KEPT_TO - KEPT_FROM}
  br i1 %is_kept, label %look, label %plain
plain:
  %other = call ptr @fresh(i64 %size)
  ret ptr %other
look:
  %k = phi i64 [0, %entry], [%k1, %next]
  %place = phi ptr [null, %entry], [%place1, %next]
  %more = icmp slt i64 %k, {KEPT}
  br i1 %more, label %one, label %none
one:
  %slot = getelementptr ptr, ptr @kept, i64 %k
  %held = load ptr, ptr %slot
  %is_empty = icmp eq ptr %held, null
  br i1 %is_empty, label %idle, label %count
count:
  %references = load i32, ptr %held
  %is_free = icmp eq i32 %references, 1
  br i1 %is_free, label %measure, label %next
measure:
  %dims.p = getelementptr i8, ptr %held, i64 {offset_of_dims}
  %dims = load ptr, ptr %dims.p
  %have = load i64, ptr %dims
  %twice = shl i64 %size, 1
  %enough = icmp uge i64 %have, %size
  %not_too_much = icmp ule i64 %have, %twice
  %fits = and i1 %enough, %not_too_much
  br i1 %fits, label %reuse, label %idle
reuse:
  call void @flambeau_Py_IncRef(ptr %held)
  ret ptr %held
idle:
  br label %next
next:
  %place1 = phi ptr [%slot, %idle], [%place, %count]
  %k1 = add i64 %k, 1
  br label %look
none:
  %made = call ptr @fresh(i64 %size)
  %failed = icmp eq ptr %made, null
  %nowhere = icmp eq ptr %place, null
  %give = or i1 %failed, %nowhere
  br i1 %give, label %done, label %keep
keep:
  %old = load ptr, ptr %place
  call void @flambeau_Py_IncRef(ptr %made)
  store ptr %made, ptr %place
  %had = icmp ne ptr %old, null
  br i1 %had, label %drop, label %done
drop:
  call void @flambeau_Py_DecRef(ptr %old)
  br label %done
done:
  ret ptr %made
}}
"""


_FRESH = """
define internal ptr @fresh(i64 %size) {
entry:
  %room = alloca i64
  store i64 %size, ptr %room
  %raw = call ptr @new(ptr @flambeau_bytes_descr, i32 1, ptr %room, ptr null, ptr null, i32 0, ptr null)
  ret ptr %raw
}
"""
