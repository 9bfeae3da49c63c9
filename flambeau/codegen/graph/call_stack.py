"""How much of the C stack calls may take, and by which calls a failure came about, as LLVM text.

A function that calls itself compares its frame with the context's ``floor``. That is near the first frame at first:
most recursion is shallow, and asking for the end of a thread's stack takes microseconds.
"""

from __future__ import annotations

import sys

from flambeau.codegen.graph.abi import NO_STACK
from flambeau.codegen.graph.runtime import BLOCKS
from flambeau.codegen.layouts import BLOCK_DATA, CONTEXT
from flambeau.codegen.llvm.lanes import PREFIX as C_PREFIX

SHALLOW = 1 << 14
"""Bytes of stack that recursion takes without asking how much there is."""
KEPT = 64
"""Calls, the innermost, that are told of a failure."""
RESERVE = 1 << 19
"""Bytes of stack, or a quarter of it if that is less, which are left for Python and for handlers of signals."""
OTHERWISE = 1 << 18
"""Bytes of stack that recursion may take where nothing says how much there is."""
ASKED = ("pthread_self", "pthread_getattr_np", "pthread_attr_getstack", "pthread_attr_destroy")
"""Functions of the C library that are asked."""
CAN_ASK = sys.platform.startswith("linux")

_ASK = f"""
declare i64 @{C_PREFIX}pthread_self()
declare i32 @{C_PREFIX}pthread_getattr_np(i64, ptr)
declare i32 @{C_PREFIX}pthread_attr_getstack(ptr, ptr, ptr)
declare i32 @{C_PREFIX}pthread_attr_destroy(ptr)

define internal ptr @end_of_stack(ptr %frame) noinline cold {{
entry:
  %attributes = alloca [128 x i8], align 16
  %lowest.p = alloca ptr, align 8
  %bytes.p = alloca i64, align 8
  %thread = call i64 @{C_PREFIX}pthread_self()
  %failed = call i32 @{C_PREFIX}pthread_getattr_np(i64 %thread, ptr %attributes)
  %is_known = icmp eq i32 %failed, 0
  br i1 %is_known, label %ask, label %guess
guess:
  %some = getelementptr i8, ptr %frame, i64 -{OTHERWISE}
  ret ptr %some
ask:
  %got = call i32 @{C_PREFIX}pthread_attr_getstack(ptr %attributes, ptr %lowest.p, ptr %bytes.p)
  %gone = call i32 @{C_PREFIX}pthread_attr_destroy(ptr %attributes)
  %lowest = load ptr, ptr %lowest.p
  %bytes = load i64, ptr %bytes.p
  %quarter = lshr i64 %bytes, 2
  %is_small = icmp ult i64 %quarter, {RESERVE}
  %reserve = select i1 %is_small, i64 %quarter, i64 {RESERVE}
  %floor = getelementptr i8, ptr %lowest, i64 %reserve
  ret ptr %floor
}}
"""
_GUESS = f"""
define internal ptr @end_of_stack(ptr %frame) noinline cold {{
entry:
  %some = getelementptr i8, ptr %frame, i64 -{OTHERWISE}
  ret ptr %some
}}
"""

TEXT = f"""
declare ptr @llvm.frameaddress.p0(i32)
{_ASK if CAN_ASK else _GUESS}
define internal i64 @look_at_stack(ptr %context, ptr %frame) noinline cold {{
entry:
  %known.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("floor_known")}
  %known = load i64, ptr %known.p, {BLOCKS}
  %is_known = icmp ne i64 %known, 0
  br i1 %is_known, label %none, label %ask
ask:
  %floor = call ptr @end_of_stack(ptr %frame)
  %floor.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("floor")}
  store ptr %floor, ptr %floor.p, {BLOCKS}
  store i64 1, ptr %known.p, {BLOCKS}
  %is_low = icmp ult ptr %frame, %floor
  br i1 %is_low, label %none, label %room
room:
  ret i64 0
none:
  ret i64 {NO_STACK}
}}

define internal void @note_call(ptr %context, i64 %exit_point) noinline cold {{
entry:
  %trace.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("trace")}
  %trace = load ptr, ptr %trace.p, {BLOCKS}
  %is_first = icmp eq ptr %trace, null
  br i1 %is_first, label %make, label %note
make:
  %block = call ptr @new_block(ptr %context, i64 {8 * (KEPT + 1)})
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %made
made:
  %new = getelementptr i8, ptr %block, i64 {BLOCK_DATA}
  store i64 0, ptr %new, {BLOCKS}
  store ptr %new, ptr %trace.p, {BLOCKS}
  br label %note
note:
  %calls = phi ptr [%trace, %entry], [%new, %made]
  %count = load i64, ptr %calls, {BLOCKS}
  %next = add i64 %count, 1
  store i64 %next, ptr %calls, {BLOCKS}
  %fits = icmp slt i64 %count, {KEPT}
  br i1 %fits, label %put, label %done
put:
  %place = getelementptr i64, ptr %calls, i64 %next
  store i64 %exit_point, ptr %place, {BLOCKS}
  br label %done
done:
  ret void
}}
"""
