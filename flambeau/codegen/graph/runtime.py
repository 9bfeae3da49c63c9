"""What native functions need around them, as LLVM text: blocks with counts, lists, polls, calls of Python.

Everything is internal to the module it is put into, so that LLVM can inline what is small.
"""

from __future__ import annotations

from flambeau.codegen.graph.abi import INTERRUPTED
from flambeau.codegen.layouts import BLOCK, BLOCK_PADDING, CONTEXT

PREFIX = "flambeau_whole_"
FUNCTIONS = {
    "allocate": "PyMem_RawMalloc", "free": "PyMem_RawFree", "save_thread": "PyEval_SaveThread",
    "restore_thread": "PyEval_RestoreThread", "check_signals": "PyErr_CheckSignals", "number": "PyLong_FromLongLong",
    "value_of": "PyLong_AsLongLong", "call": "PyObject_Vectorcall", "let_go": "Py_DecRef",
}  # fmt: skip
"""Functions of Python's C interface that the module calls, under the prefix."""
SERVE = PREFIX + "serve"
"""The address of the Python callable that runs exit points: of (context, number of the exit point, inputs, outputs),
to a code.
"""
POLL_INTERVAL = 1 << 16
"""Iterations of loops between two looks at the clock."""
CYCLES = 1 << 27
"""Cycles between two polls for an interrupt: some 50 ms."""

TEXT = f"""
declare ptr @{PREFIX}allocate(i64)
declare void @{PREFIX}free(ptr)
declare ptr @{PREFIX}save_thread()
declare void @{PREFIX}restore_thread(ptr)
declare i32 @{PREFIX}check_signals()
declare ptr @{PREFIX}number(i64)
declare i64 @{PREFIX}value_of(ptr)
declare ptr @{PREFIX}call(ptr, ptr, i64, ptr)
declare void @{PREFIX}let_go(ptr)
@{SERVE} = external global i8
declare i64 @llvm.readcyclecounter()
declare void @llvm.memcpy.p0.p0.i64(ptr noalias, ptr noalias, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @new_block(ptr %context, i64 %bytes) noinline cold {{
entry:
  %negative = icmp slt i64 %bytes, 0
  br i1 %negative, label %none, label %ask
ask:
  %padded = add i64 %bytes, {BLOCK_PADDING}
  %raw = call ptr @{PREFIX}allocate(i64 %padded)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %none, label %got
got:
  %raw.i = ptrtoint ptr %raw to i64
  %up = add i64 %raw.i, 71
  %down = and i64 %up, -64
  %block = inttoptr i64 %down to ptr
  %raw.p = getelementptr i64, ptr %block, i64 {BLOCK.word("raw")}
  store ptr %raw, ptr %raw.p, !tbaa !11
  store i64 1, ptr %block, !tbaa !11
  %previous.p = getelementptr i64, ptr %block, i64 {BLOCK.word("previous")}
  store ptr %context, ptr %previous.p, !tbaa !11
  %first.p = getelementptr i64, ptr %context, i64 {BLOCK.word("next")}
  %first = load ptr, ptr %first.p, !tbaa !11
  %next.p = getelementptr i64, ptr %block, i64 {BLOCK.word("next")}
  store ptr %first, ptr %next.p, !tbaa !11
  %back.p = getelementptr i64, ptr %first, i64 {BLOCK.word("previous")}
  store ptr %block, ptr %back.p, !tbaa !11
  store ptr %block, ptr %first.p, !tbaa !11
  %origin.p = getelementptr i64, ptr %block, i64 {BLOCK.word("origin")}
  store i64 0, ptr %origin.p, !tbaa !11
  ret ptr %block
none:
  ret ptr null
}}

define internal void @drop_block(ptr %block) noinline cold {{
entry:
  %previous.p = getelementptr i64, ptr %block, i64 {BLOCK.word("previous")}
  %previous = load ptr, ptr %previous.p, !tbaa !11
  %next.p = getelementptr i64, ptr %block, i64 {BLOCK.word("next")}
  %next = load ptr, ptr %next.p, !tbaa !11
  %forth.p = getelementptr i64, ptr %previous, i64 {BLOCK.word("next")}
  store ptr %next, ptr %forth.p, !tbaa !11
  %back.p = getelementptr i64, ptr %next, i64 {BLOCK.word("previous")}
  store ptr %previous, ptr %back.p, !tbaa !11
  %raw.p = getelementptr i64, ptr %block, i64 {BLOCK.word("raw")}
  %raw = load ptr, ptr %raw.p, !tbaa !11
  call void @{PREFIX}free(ptr %raw)
  ret void
}}

define internal void @retain(ptr %block) alwaysinline {{
entry:
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %hold
hold:
  %count = load i64, ptr %block, !tbaa !11
  %more = add i64 %count, 1
  store i64 %more, ptr %block, !tbaa !11
  br label %done
done:
  ret void
}}

define internal i1 @let_go(ptr %block) alwaysinline {{
entry:
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %no, label %held
no:
  ret i1 false
held:
  %count = load i64, ptr %block, !tbaa !11
  %less = sub i64 %count, 1
  store i64 %less, ptr %block, !tbaa !11
  %last = icmp eq i64 %less, 0
  ret i1 %last
}}

define internal void @release(ptr %block) alwaysinline {{
entry:
  %last = call i1 @let_go(ptr %block)
  br i1 %last, label %drop, label %done
drop:
  call void @drop_block(ptr %block)
  br label %done
done:
  ret void
}}

define internal i64 @look_at_clock(ptr %context) noinline cold {{
entry:
  %now = call i64 @llvm.readcyclecounter()
  %polled.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("polled")}
  %polled = load i64, ptr %polled.p, !tbaa !11
  %thread.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("thread")}
  %thread = load ptr, ptr %thread.p, !tbaa !11
  %held = icmp eq ptr %thread, null
  br i1 %held, label %let_others, label %check
let_others:
  %state = call ptr @{PREFIX}save_thread()
  store ptr %state, ptr %thread.p, !tbaa !11
  store i64 %now, ptr %polled.p, !tbaa !11
  ret i64 0
check:
  %spent = sub i64 %now, %polled
  %due = icmp ugt i64 %spent, {CYCLES}
  br i1 %due, label %poll, label %fine
poll:
  call void @{PREFIX}restore_thread(ptr %thread)
  store ptr null, ptr %thread.p, !tbaa !11
  store i64 %now, ptr %polled.p, !tbaa !11
  %signal = call i32 @{PREFIX}check_signals()
  %quiet = icmp eq i32 %signal, 0
  br i1 %quiet, label %go_on, label %interrupted
go_on:
  %again = call ptr @{PREFIX}save_thread()
  store ptr %again, ptr %thread.p, !tbaa !11
  ret i64 0
interrupted:
  ret i64 {INTERRUPTED}
fine:
  ret i64 0
}}
"""

METADATA = """
attributes #0 = { nounwind "prefer-vector-width"="512" }
!10 = !{!"words"}
!11 = !{!12, !12, i64 0}
!12 = !{!"blocks", !10, i64 0}
!13 = !{!14, !14, i64 0}
!14 = !{!"elements", !10, i64 0}
!15 = !{!16, !16, i64 0}
!16 = !{!"numbers in lists", !10, i64 0}
!17 = !{!18, !18, i64 0}
!18 = !{!"addresses in lists", !10, i64 0}
"""
BLOCKS, ELEMENTS, NUMBERS, ADDRESSES = "!tbaa !11", "!tbaa !13", "!tbaa !15", "!tbaa !17"
"""What a load or store touches: blocks' own words, tensors' elements, lists' items by kind. None overlaps another."""


ASK = f"""
define internal i64 @ask(ptr %context, i64 %exit_point, ptr %inputs, ptr %outputs) noinline {{
entry:
  %thread.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("thread")}
  %thread = load ptr, ptr %thread.p
  %held = icmp eq ptr %thread, null
  br i1 %held, label %prepare, label %take
take:
  call void @{PREFIX}restore_thread(ptr %thread)
  store ptr null, ptr %thread.p
  br label %prepare
prepare:
  %arguments = alloca [4 x ptr], align 16
  %context.i = ptrtoint ptr %context to i64
  %inputs.i = ptrtoint ptr %inputs to i64
  %outputs.i = ptrtoint ptr %outputs to i64
  %a0 = call ptr @{PREFIX}number(i64 %context.i)
  %a1 = call ptr @{PREFIX}number(i64 %exit_point)
  %a2 = call ptr @{PREFIX}number(i64 %inputs.i)
  %a3 = call ptr @{PREFIX}number(i64 %outputs.i)
  store ptr %a0, ptr %arguments
  %p1 = getelementptr ptr, ptr %arguments, i64 1
  store ptr %a1, ptr %p1
  %p2 = getelementptr ptr, ptr %arguments, i64 2
  store ptr %a2, ptr %p2
  %p3 = getelementptr ptr, ptr %arguments, i64 3
  store ptr %a3, ptr %p3
  %answer = call ptr @{PREFIX}call(ptr @{SERVE}, ptr %arguments, i64 4, ptr null)
  call void @{PREFIX}let_go(ptr %a0)
  call void @{PREFIX}let_go(ptr %a1)
  call void @{PREFIX}let_go(ptr %a2)
  call void @{PREFIX}let_go(ptr %a3)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %stop, label %read
read:
  %code = call i64 @{PREFIX}value_of(ptr %answer)
  call void @{PREFIX}let_go(ptr %answer)
  ret i64 %code
stop:
  ret i64 {INTERRUPTED}
}}
"""
"""``ask``: Python runs an exit point. What it raises stays set."""
