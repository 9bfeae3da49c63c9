"""What native functions need around them, as LLVM text: blocks with counts, lists, plans of kernels, polls.

Everything is internal to the module it is put into, so that LLVM can inline what is small.
"""

from __future__ import annotations

from flambeau.codegen.llvm.entry import INPUT_WORDS, OUTPUT_WORDS, PLAN, RELEASE_GIL
from flambeau.codegen.whole.abi import CONTEXT_WORDS, INTERRUPTED

PREFIX = "flambeau_whole_"
FUNCTIONS = {
    "allocate": "PyMem_RawMalloc", "free": "PyMem_RawFree", "save_thread": "PyEval_SaveThread",
    "restore_thread": "PyEval_RestoreThread", "check_signals": "PyErr_CheckSignals", "number": "PyLong_FromLongLong",
    "value_of": "PyLong_AsLongLong", "call": "PyObject_Vectorcall", "let_go": "Py_DecRef",
}  # fmt: skip
"""Functions of Python's C interface that the module calls, under the prefix."""
SERVE = PREFIX + "serve"
"""The address of the Python callable that runs sites: of (context, number of the site, inputs, outputs), to a code."""
TICKS = 1 << 16
"""Turns of loops between two looks at the clock."""
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
  %padded = add i64 %bytes, 136
  %raw = call ptr @{PREFIX}allocate(i64 %padded)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %none, label %got
got:
  %raw.i = ptrtoint ptr %raw to i64
  %up = add i64 %raw.i, 71
  %down = and i64 %up, -64
  %block = inttoptr i64 %down to ptr
  %raw.p = getelementptr i64, ptr %block, i64 -1
  store ptr %raw, ptr %raw.p, !tbaa !11
  store i64 1, ptr %block, !tbaa !11
  %previous.p = getelementptr i64, ptr %block, i64 1
  store ptr %context, ptr %previous.p, !tbaa !11
  %first.p = getelementptr i64, ptr %context, i64 2
  %first = load ptr, ptr %first.p, !tbaa !11
  %next.p = getelementptr i64, ptr %block, i64 2
  store ptr %first, ptr %next.p, !tbaa !11
  %back.p = getelementptr i64, ptr %first, i64 1
  store ptr %block, ptr %back.p, !tbaa !11
  store ptr %block, ptr %first.p, !tbaa !11
  %origin.p = getelementptr i64, ptr %block, i64 3
  store i64 0, ptr %origin.p, !tbaa !11
  ret ptr %block
none:
  ret ptr null
}}

define internal void @drop_block(ptr %block) noinline cold {{
entry:
  %previous.p = getelementptr i64, ptr %block, i64 1
  %previous = load ptr, ptr %previous.p, !tbaa !11
  %next.p = getelementptr i64, ptr %block, i64 2
  %next = load ptr, ptr %next.p, !tbaa !11
  %forth.p = getelementptr i64, ptr %previous, i64 2
  store ptr %next, ptr %forth.p, !tbaa !11
  %back.p = getelementptr i64, ptr %next, i64 1
  store ptr %previous, ptr %back.p, !tbaa !11
  %raw.p = getelementptr i64, ptr %block, i64 -1
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
  %polled.p = getelementptr i64, ptr %context, i64 {CONTEXT_WORDS["polled"]}
  %polled = load i64, ptr %polled.p, !tbaa !11
  %thread.p = getelementptr i64, ptr %context, i64 {CONTEXT_WORDS["thread"]}
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
define internal i64 @ask(ptr %context, i64 %site, ptr %inputs, ptr %outputs) noinline {{
entry:
  %thread.p = getelementptr i64, ptr %context, i64 {CONTEXT_WORDS["thread"]}
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
  %a1 = call ptr @{PREFIX}number(i64 %site)
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
"""``ask``: Python runs a site. What it raises stays set."""


def _word(name: str, register: str, kind: str = "i64") -> str:
    return (
        f"  %{register}.p = getelementptr i64, ptr %plan, i64 {PLAN.index(name)}\n"
        f"  %{register} = load {kind}, ptr %{register}.p"
    )


GROUPS = f"""
define internal i1 @same_numbers(ptr %a, ptr %b, i64 %n) alwaysinline {{
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %body]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %yes
body:
  %pa = getelementptr i64, ptr %a, i64 %i
  %pb = getelementptr i64, ptr %b, i64 %i
  %x = load i64, ptr %pa
  %y = load i64, ptr %pb
  %i1 = add i64 %i, 1
  %same = icmp eq i64 %x, %y
  br i1 %same, label %head, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal ptr @find_plan(ptr %cell, ptr %inputs, i64 %n) {{
entry:
  %first = load atomic ptr, ptr %cell acquire, align 8
  br label %plans
plans:
  %plan = phi ptr [%first, %entry], [%next, %other]
  %none = icmp eq ptr %plan, null
  br i1 %none, label %missing, label %look
look:
{_word("inputs", "records", "ptr")}
  br label %each
each:
  %i = phi i64 [0, %look], [%i1, %good]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %found
one:
  %words.p = getelementptr ptr, ptr %inputs, i64 %i
  %words = load ptr, ptr %words.p
  %record.o = mul i64 %i, {INPUT_WORDS}
  %record = getelementptr i64, ptr %records, i64 %record.o
  %descr = load ptr, ptr %record
  %is_number = icmp eq ptr %descr, null
  br i1 %is_number, label %good, label %array
array:
  %rank.p = getelementptr i64, ptr %record, i64 1
  %rank = load i64, ptr %rank.p
  %dims.p = getelementptr i64, ptr %record, i64 2
  %dims = load ptr, ptr %dims.p
  %my_dims = getelementptr i64, ptr %words, i64 1
  %same_dims = call i1 @same_numbers(ptr %my_dims, ptr %dims, i64 %rank)
  br i1 %same_dims, label %strides, label %other
strides:
  %strides.p = getelementptr i64, ptr %record, i64 3
  %wanted = load ptr, ptr %strides.p
  %my_strides = getelementptr i64, ptr %my_dims, i64 %rank
  %same_strides = call i1 @same_numbers(ptr %my_strides, ptr %wanted, i64 %rank)
  br i1 %same_strides, label %good, label %other
good:
  %i1 = add i64 %i, 1
  br label %each
other:
{_word("next", "next", "ptr")}
  br label %plans
found:
  ret ptr %plan
missing:
  ret ptr null
}}

define internal i64 @make_outputs(ptr %context, ptr %plan, ptr %outputs) {{
entry:
{_word("n_out", "n")}
{_word("outputs", "records", "ptr")}
  br label %each
each:
  %k = phi i64 [0, %entry], [%k1, %made]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %one, label %done
one:
  %words.p = getelementptr ptr, ptr %outputs, i64 %k
  %words = load ptr, ptr %words.p
  %record.o = mul i64 %k, {OUTPUT_WORDS}
  %record = getelementptr i64, ptr %records, i64 %record.o
  %rank.p = getelementptr i64, ptr %record, i64 1
  %rank = load i64, ptr %rank.p
  %dims.p = getelementptr i64, ptr %record, i64 2
  %dims = load ptr, ptr %dims.p
  %strides.p = getelementptr i64, ptr %record, i64 3
  %strides = load ptr, ptr %strides.p
  %bytes.p = getelementptr i64, ptr %record, i64 4
  %bytes = load i64, ptr %bytes.p
  %block = call ptr @new_block(ptr %context, i64 %bytes)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %no_memory, label %fill
fill:
  store ptr %block, ptr %words
  %data = getelementptr i8, ptr %block, i64 64
  %data.p = getelementptr i64, ptr %words, i64 1
  store ptr %data, ptr %data.p
  %my_dims = getelementptr i64, ptr %words, i64 2
  %size = mul i64 %rank, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %my_dims, ptr %dims, i64 %size, i1 false)
  %my_strides = getelementptr i64, ptr %my_dims, i64 %rank
  %row_major = icmp eq ptr %strides, null
  br i1 %row_major, label %count, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %my_strides, ptr %strides, i64 %size, i1 false)
  br label %made
count:
  %itemsize.p = getelementptr i64, ptr %words, i64 -1
  %itemsize = load i64, ptr %itemsize.p
  br label %axes
axes:
  %axis = phi i64 [%rank, %count], [%before, %step]
  %stride = phi i64 [%itemsize, %count], [%larger, %step]
  %left = icmp sgt i64 %axis, 0
  br i1 %left, label %step, label %made
step:
  %before = sub i64 %axis, 1
  %slot = getelementptr i64, ptr %my_strides, i64 %before
  store i64 %stride, ptr %slot
  %dim.p = getelementptr i64, ptr %my_dims, i64 %before
  %dim = load i64, ptr %dim.p
  %zero = icmp eq i64 %dim, 0
  %factor = select i1 %zero, i64 1, i64 %dim
  %larger = mul i64 %stride, %factor
  br label %axes
made:
  %k1 = add i64 %k, 1
  br label %each
done:
  ret i64 0
no_memory:
  ret i64 -2
}}

define internal i64 @run_plan(ptr %context, ptr %plan, ptr %inputs, i64 %n_in, ptr %outputs) {{
entry:
  %made = call i64 @make_outputs(ptr %context, ptr %plan, ptr %outputs)
  %bad = icmp ne i64 %made, 0
  br i1 %bad, label %no_memory, label %prepare
no_memory:
  ret i64 %made
prepare:
  %error = alloca i32, align 4
{_word("words", "words")}
{_word("template", "template", "ptr")}
{_word("n_out", "n_out")}
{_word("flags", "flags")}
{_word("kernel", "kernel", "ptr")}
{_word("high", "high")}
{_word("step", "step")}
  %block = alloca i64, i64 %words, align 16
  %size = mul i64 %words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %block, ptr align 8 %template, i64 %size, i1 false)
  store i32 0, ptr %error
  store ptr %error, ptr %block
  br label %fill
fill:
  %f = phi i64 [0, %prepare], [%f1, %fill_one]
  %more_f = icmp slt i64 %f, %n_in
  br i1 %more_f, label %fill_one, label %make
fill_one:
  %in.p = getelementptr ptr, ptr %inputs, i64 %f
  %in = load ptr, ptr %in.p
  %address = load i64, ptr %in
  %f1 = add i64 %f, 1
  %in_word = getelementptr i64, ptr %block, i64 %f1
  store i64 %address, ptr %in_word
  br label %fill
make:
  %m = phi i64 [0, %fill], [%m1, %make_one]
  %more_m = icmp slt i64 %m, %n_out
  br i1 %more_m, label %make_one, label %go
make_one:
  %out.p = getelementptr ptr, ptr %outputs, i64 %m
  %out = load ptr, ptr %out.p
  %data.p = getelementptr i64, ptr %out, i64 1
  %data = load i64, ptr %data.p
  %m1 = add i64 %m, 1
  %place = add i64 %n_in, %m1
  %out_word = getelementptr i64, ptr %block, i64 %place
  store i64 %data, ptr %out_word
  br label %make
go:
  %gil = and i64 %flags, {RELEASE_GIL}
  %long = icmp ne i64 %gil, 0
  %thread.p = getelementptr i64, ptr %context, i64 {CONTEXT_WORDS["thread"]}
  %thread = load ptr, ptr %thread.p
  %held = icmp eq ptr %thread, null
  %give_up = and i1 %long, %held
  br i1 %give_up, label %save, label %launch
save:
  %state = call ptr @{PREFIX}save_thread()
  store ptr %state, ptr %thread.p
  %now = call i64 @llvm.readcyclecounter()
  %polled.p = getelementptr i64, ptr %context, i64 {CONTEXT_WORDS["polled"]}
  store i64 %now, ptr %polled.p
  br label %launch
launch:
  %whole = icmp eq i64 %step, 0
  br i1 %whole, label %direct, label %split
direct:
  call void %kernel(ptr %block, i64 0, i64 %high)
  br label %ended
split:
{_word("pieces", "pieces")}
{_word("pool", "pool", "ptr")}
  %count = trunc i64 %pieces to i32
  call void %pool(ptr %kernel, ptr %block, i64 %high, i64 %step, i32 %count)
  br label %ended
ended:
  %code = load i32, ptr %error
  %failed = icmp ne i32 %code, 0
  %answer = zext i1 %failed to i64
  ret i64 %answer
}}

define internal i64 @run_group(ptr %context, i64 %site, ptr %cell, ptr %inputs, i64 %n_in, ptr %outputs) noinline {{
entry:
  %plan = call ptr @find_plan(ptr %cell, ptr %inputs, i64 %n_in)
  %missing = icmp eq ptr %plan, null
  br i1 %missing, label %ask, label %run
run:
  %answer = call i64 @run_plan(ptr %context, ptr %plan, ptr %inputs, i64 %n_in, ptr %outputs)
  ret i64 %answer
ask:
  %served = call i64 @ask(ptr %context, i64 %site, ptr %inputs, ptr %outputs)
  ret i64 %served
}}
"""
"""``run_group``: a fused group by the plan for its inputs' sizes and strides, or by the callback that makes plans.

``inputs`` and ``outputs`` are arrays of addresses: for each input its words from ``data`` on (for a number the address
of the number), for each output all its words, the size of an element in the word before them. Gives 0, 1 where the
group failed (a division by zero), `INTERRUPTED` or `NO_MEMORY`.
"""
