"""The native call entry: from a Python call to a kernel and back without interpreting a line.

One function serves every kernel; what differs is data. A callable holds the address of a cell with its newest plan,
and plans are chained. A plan (``PLAN`` words) describes one pattern of inputs exactly: descriptor, rank, dimensions
and strides of each. The entry compares, allocates the outputs through NumPy's C interface, copies the plan's block of
words, puts in the addresses and jumps into the kernel. Whatever does not match goes to the slow callable, which makes
new plans and raises errors.

Offsets of object fields are arguments: they are probed when the process starts, never assumed.
"""

from __future__ import annotations

from flambeau.codegen.layouts import CELL, INPUT, OUTPUT, RELEASE_GIL
from flambeau.codegen.llvm.entry_checks import checks_text
from flambeau.codegen.llvm.entry_geometry import SPREAD, WRITTEN, Rows, Spread
from flambeau.codegen.llvm.entry_memory import memory_text
from flambeau.codegen.llvm.entry_patterns import FRAME_WORDS, patterns_text
from flambeau.codegen.llvm.entry_plan import Offsets
from flambeau.codegen.llvm.entry_plan import plan_word as _word
from flambeau.codegen.llvm.entry_sizes import sizes_text

IMPORTS = (
    "PyFloat_AsDouble", "PyLong_AsLongLongAndOverflow", "PyObject_Vectorcall", "PyEval_SaveThread",
    "PyEval_RestoreThread", "PyErr_Clear", "Py_IncRef", "Py_DecRef", "PyTuple_New", "PyTuple_SetItem",
)  # fmt: skip
"""Functions of Python's C interface that the entry calls, under the prefix ``flambeau_``."""


def entry_text(o: Offsets) -> str:
    """LLVM text of ``entry``, a function of the vectorcall signature."""
    return attempt_text(o, _DELIVER_ARRAYS) + _NOTHING_READY + _entry(o)


def attempt_text(o: Offsets, deliver: str, *, by_rows: bool = False) -> str:
    """LLVM text of ``attempt(cell, arguments, count)``: results; null, with no exception, where it has no plan.

    It holds no arguments except while other threads run. ``deliver`` is the end of it, which makes one object of the
    results and goes to ``lost`` where it cannot; ``ready(record)`` gives a storage whose array can be a result.
    Only with ``by_rows`` it knows plans that go over arrays row by row (see ``entry_geometry``).
    """
    start = _HEAD + checks_text(o) + sizes_text()
    start += _LOOKS_LIKE + patterns_text(*([Rows, Spread] if by_rows else [])) + _allocate(o) + _launch()
    return start + _find(by_rows) + _fill(o, by_rows) + _make(o) + _run() + deliver + _FINISH


_HEAD = """
declare ptr @flambeau_PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @flambeau_PyEval_SaveThread()
declare void @flambeau_PyEval_RestoreThread(ptr)
declare void @flambeau_Py_IncRef(ptr)
declare void @flambeau_Py_DecRef(ptr)
declare void @flambeau_PyErr_Clear()
declare ptr @flambeau_PyTuple_New(i64)
declare double @flambeau_PyFloat_AsDouble(ptr)
declare i64 @flambeau_PyLong_AsLongLongAndOverflow(ptr, ptr)
declare i32 @flambeau_PyTuple_SetItem(ptr, i64, ptr)
declare ptr @flambeau_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @flambeau_set_base(ptr, ptr)
@flambeau_ndarray = external global i8
@flambeau_bytes_descr = external global i8
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal void @hold(ptr %objects, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %one]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  %object.p = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %object.p
  call void @flambeau_Py_IncRef(ptr %object)
  br label %head
done:
  ret void
}
define internal void @let_go(ptr %objects, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %one]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  %object.p = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %object.p
  call void @flambeau_Py_DecRef(ptr %object)
  br label %head
done:
  ret void
}
"""


_LOOKS_LIKE = """
define internal i1 @looks_like(ptr %argument, ptr %record) alwaysinline {
  %fits = call i1 @matches(ptr %argument, ptr %record)
  ret i1 %fits
}
"""


def _allocate(o: Offsets) -> str:
    """`allocate`: an output array from its record."""
    return f"""
define internal ptr @new(ptr %descr, i32 %rank, ptr %dims, ptr %strides, ptr %data, i32 %flags, ptr %none) {{
  call void @flambeau_Py_IncRef(ptr %descr)
  %a = call ptr @flambeau_new_array(ptr @flambeau_ndarray, ptr %descr, i32 %rank, ptr %dims, ptr %strides,
    ptr %data, i32 %flags, ptr %none)
  ret ptr %a
}}
{memory_text(o.dims)}
define internal ptr @allocate(ptr %record) {{
entry:
  %descr = load ptr, ptr %record
  %rank.p = getelementptr i64, ptr %record, i64 1
  %rank64 = load i64, ptr %rank.p
  %rank = trunc i64 %rank64 to i32
  %dims.p = getelementptr i64, ptr %record, i64 2
  %dims = load ptr, ptr %dims.p
  %strides.p = getelementptr i64, ptr %record, i64 3
  %strides = load ptr, ptr %strides.p
  %large.p = getelementptr i64, ptr %record, i64 5
  %large = load i64, ptr %large.p
  %is_large = icmp ne i64 %large, 0
  br i1 %is_large, label %aligned, label %plain
plain:
  %p = call ptr @new(ptr %descr, i32 %rank, ptr %dims, ptr %strides, ptr null, i32 0, ptr null)
  ret ptr %p
aligned:
  %bytes.p = getelementptr i64, ptr %record, i64 4
  %bytes = load i64, ptr %bytes.p
  %padded = add i64 %bytes, 64
  %raw = call ptr @raw(i64 %padded)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %none, label %view
view:
  %data.p = getelementptr i8, ptr %raw, i64 {o.data}
  %data = load i64, ptr %data.p
  %up = add i64 %data, 63
  %down = and i64 %up, -64
  %start = inttoptr i64 %down to ptr
  %a = call ptr @new(ptr %descr, i32 %rank, ptr %dims, ptr %strides, ptr %start, i32 1281, ptr null)
  %failed2 = icmp eq ptr %a, null
  br i1 %failed2, label %drop, label %based
drop:
  call void @flambeau_Py_DecRef(ptr %raw)
  ret ptr null
based:
  %b = call i32 @flambeau_set_base(ptr %a, ptr %raw)
  ret ptr %a
none:
  ret ptr null
}}
"""


def _launch() -> str:
    """`launch`: the kernel on this thread, or in pieces on the pool's."""
    return f"""
define internal void @launch(ptr %plan, ptr %block, i64 %count) {{
entry:
{_word("kernel", "%plan", "kernel", "ptr")}
{_word("high", "%plan", "high0")}
{_word("step", "%plan", "step")}
  %is_exact = icmp slt i64 %count, 0
  %high = select i1 %is_exact, i64 %high0, i64 %count
  %whole = icmp eq i64 %step, 0
  br i1 %whole, label %direct, label %split
direct:
  call void %kernel(ptr %block, i64 0, i64 %high)
  ret void
split:
{_word("pieces", "%plan", "pieces0")}
{_word("pool", "%plan", "pool", "ptr")}
  %up = add i64 %high, %step
  %up1 = sub i64 %up, 1
  %cut = udiv i64 %up1, %step
  %pieces = select i1 %is_exact, i64 %pieces0, i64 %cut
  %n = trunc i64 %pieces to i32
  call void %pool(ptr %kernel, ptr %block, i64 %high, i64 %step, i32 %n)
  ret void
}}
"""


_ROW_BY_ROW = f"""{_word("geometry", "%candidate", "geometry")}
  switch i64 %geometry, label %by_rows [ i64 0, label %in_one i64 {SPREAD}, label %spread i64 {WRITTEN}, label %spread ]
spread:
  %are_spread = call i1 @broadcast(ptr %candidate, ptr %args, ptr %frame)
  br i1 %are_spread, label %in_frame, label %other
by_rows:
  %has_rows = call i1 @by_rows(ptr %candidate, ptr %args, ptr %frame)
  br i1 %has_rows, label %in_frame, label %other
in_frame:
  br label %found
"""
"""`attempt` with a plan that goes over arrays row by row."""


def _find(by_rows: bool) -> str:
    """The start of `attempt`: look for the plan that fits."""
    return f"""
define internal ptr @attempt(ptr %cell, ptr %args, i64 %n) {{
entry:
  %error = alloca i32, align 4
  %shape.p = alloca ptr, align 8
  %frame = alloca [{FRAME_WORDS} x i64], align 16
  %first = load atomic ptr, ptr %cell acquire, align 8
  br label %plans
plans:
  %candidate = phi ptr [%first, %entry], [%next, %other]
  %none = icmp eq ptr %candidate, null
  br i1 %none, label %patterns, label %arity
arity:
{_word("n_in", "%candidate", "n_in")}
{_word("inputs", "%candidate", "inputs", "ptr")}
  %same_n = icmp eq i64 %n, %n_in
  br i1 %same_n, label %each, label %slow
each:
  %i = phi i64 [0, %arity], [%i1, %good]
  %more = icmp slt i64 %i, %n_in
  br i1 %more, label %one, label %matched
one:
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %record.o = mul i64 %i, {INPUT.words}
  %record = getelementptr i64, ptr %inputs, i64 %record.o
  %fits = call i1 @matches(ptr %arg, ptr %record)
  br i1 %fits, label %good, label %other
good:
  %i1 = add i64 %i, 1
  br label %each
other:
{_word("next", "%candidate", "next", "ptr")}
  br label %plans
matched:
{_word("size_at", "%candidate", "count_at")}
  store ptr null, ptr %shape.p
{_ROW_BY_ROW if by_rows else "  br label %in_one"}
in_one:
  %is_exact = icmp eq i64 %count_at, 0
  br i1 %is_exact, label %found, label %any_size
any_size:
  %common = call i64 @common_size(ptr %candidate, ptr %args, i64 %n_in, ptr %shape.p)
  %unlike = icmp slt i64 %common, 0
  br i1 %unlike, label %other, label %found
patterns:
  store ptr null, ptr %shape.p
  %looks.p = getelementptr ptr, ptr %cell, i64 {CELL.word("looks")}
  %looks = load atomic ptr, ptr %looks.p acquire, align 8
  %completed = call ptr @pattern_plan(ptr %looks, ptr %args, i64 %n, ptr %frame)
  %unknown = icmp eq ptr %completed, null
  br i1 %unknown, label %slow, label %found
"""


def _fill(o: Offsets, by_rows: bool) -> str:
    """The middle of `attempt`: the block copied, addresses of inputs and numbers into it."""
    plan, count = (", [%frame, %in_frame]", ", [-1, %in_frame]") if by_rows else ("", "")
    return f"""found:
  %plan = phi ptr [%candidate, %in_one], [%candidate, %any_size], [%completed, %patterns]{plan}
  %count = phi i64 [-1, %in_one], [%common, %any_size], [-1, %patterns]{count}
{_word("n_in", "%plan", "n_args")}
{_word("inputs", "%plan", "records", "ptr")}
{_word("size_at", "%plan", "size_at")}
  %shape = load ptr, ptr %shape.p
{_word("words", "%plan", "words")}
{_word("template", "%plan", "template", "ptr")}
{_word("n_out", "%plan", "n_out")}
{_word("outputs", "%plan", "outputs", "ptr")}
{_word("flags", "%plan", "flags")}
  %block = alloca i64, i64 %words, align 16
  %results = alloca ptr, i64 %n_out, align 8
  %storages = alloca ptr, i64 %n_out, align 8
  %numbers = alloca i64, i64 %n_args, align 8
  %size = mul i64 %words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %block, ptr align 8 %template, i64 %size, i1 false)
  store i32 0, ptr %error
  %room = alloca i64, i64 {OUTPUT.words}, align 8
  %size.p = getelementptr i64, ptr %block, i64 %size_at
  store i64 %count, ptr %size.p
  store ptr %error, ptr %block
  br label %fill
fill:
  %f = phi i64 [0, %found], [%f1, %filled]
  %more_f = icmp slt i64 %f, %n_args
  br i1 %more_f, label %fill_one, label %make
fill_one:
  %in.p = getelementptr ptr, ptr %args, i64 %f
  %in = load ptr, ptr %in.p
  %in_record.o = mul i64 %f, {INPUT.words}
  %in_record = getelementptr i64, ptr %records, i64 %in_record.o
  %in_descr = load ptr, ptr %in_record
  %in_number = icmp eq ptr %in_descr, null
  br i1 %in_number, label %number, label %array
number:
  %in_slot = getelementptr i64, ptr %numbers, i64 %f
  %in_slot64 = ptrtoint ptr %in_slot to i64
  %in_kind.p = getelementptr i64, ptr %in_record, i64 1
  %in_kind = load i64, ptr %in_kind.p
  switch i64 %in_kind, label %filled [ i64 0, label %float i64 1, label %int ]
float:
  %double = call double @flambeau_PyFloat_AsDouble(ptr %in)
  store double %double, ptr %in_slot
  br label %filled
int:
  %long = call i64 @flambeau_PyLong_AsLongLongAndOverflow(ptr %in, ptr %error)
  store i64 %long, ptr %in_slot
  %overflow = load i32, ptr %error
  %fits64 = icmp eq i32 %overflow, 0
  br i1 %fits64, label %filled, label %slow
array:
  %in_data.p = getelementptr i8, ptr %in, i64 {o.data}
  %in_data = load i64, ptr %in_data.p
  br label %filled
filled:
  %in_address = phi i64 [%in_data, %array], [0, %number], [%in_slot64, %float], [%in_slot64, %int]
  %f1 = add i64 %f, 1
  %in_word = getelementptr i64, ptr %block, i64 %f1
  store i64 %in_address, ptr %in_word
  br label %fill
"""


def _make(o: Offsets) -> str:
    """`attempt` goes on: the outputs allocated, their addresses into the block."""
    return f"""make:
  %m = phi i64 [0, %fill], [%m1, %made]
  %more_m = icmp slt i64 %m, %n_out
  br i1 %more_m, label %make_one, label %go
make_one:
  %out_record.o = mul i64 %m, {OUTPUT.words}
  %plain_record = getelementptr i64, ptr %outputs, i64 %out_record.o
  %out_record = call ptr @sized(ptr %plain_record, ptr %room, ptr %shape, i64 %count)
  %kept = call ptr @ready(ptr %out_record)
  %kept_slot = getelementptr ptr, ptr %storages, i64 %m
  store ptr %kept, ptr %kept_slot
  %out_slot = getelementptr ptr, ptr %results, i64 %m
  %is_kept = icmp ne ptr %kept, null
  br i1 %is_kept, label %use, label %ask
use:
  %old = call ptr @array_of_storage(ptr %kept)
  store ptr %old, ptr %out_slot
  br label %made
ask:
  %new_out = call ptr @allocate(ptr %out_record)
  store ptr %new_out, ptr %out_slot
  %bad = icmp eq ptr %new_out, null
  br i1 %bad, label %undo, label %made
made:
  %out = phi ptr [%old, %use], [%new_out, %ask]
  %out_data.p = getelementptr i8, ptr %out, i64 {o.data}
  %out_data = load i64, ptr %out_data.p
  %m1 = add i64 %m, 1
  %place0 = add i64 %n_args, %m1
  %out_word = getelementptr i64, ptr %block, i64 %place0
  store i64 %out_data, ptr %out_word
  br label %make
"""


def _run() -> str:
    """The middle of `attempt`, last part: the kernel runs; without the GIL if that pays, while arguments are held."""
    return f"""go:
  %gil = and i64 %flags, {RELEASE_GIL}
  %release = icmp ne i64 %gil, 0
  br i1 %release, label %outside, label %inside
outside:
  call void @hold(ptr %args, i64 %n)
  %state = call ptr @flambeau_PyEval_SaveThread()
  call void @launch(ptr %plan, ptr %block, i64 %count)
  call void @flambeau_PyEval_RestoreThread(ptr %state)
  call void @let_go(ptr %args, i64 %n)
  br label %ended
inside:
  call void @launch(ptr %plan, ptr %block, i64 %count)
  br label %ended
ended:
  %code = load i32, ptr %error
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %drop, label %note
note:
  %served.p = getelementptr i64, ptr %cell, i64 1
  %served = atomicrmw add ptr %served.p, i64 1 monotonic
  br label %deliver
"""


_NOTHING_READY = """
define internal ptr @ready(ptr %record) alwaysinline {
  ret ptr null
}
define internal ptr @array_of_storage(ptr %storage) alwaysinline {
  ret ptr null
}
"""


_DELIVER_ARRAYS = """deliver:
  %single = icmp eq i64 %n_out, 1
  br i1 %single, label %lone, label %several
lone:
  %answer = load ptr, ptr %results
  ret ptr %answer
several:
  %tuple = call ptr @flambeau_PyTuple_New(i64 %n_out)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %lost, label %pack
pack:
  %t = phi i64 [0, %several], [%t1, %pack_one]
  %more_t = icmp slt i64 %t, %n_out
  br i1 %more_t, label %pack_one, label %packed
pack_one:
  %item.p = getelementptr ptr, ptr %results, i64 %t
  %item = load ptr, ptr %item.p
  %set = call i32 @flambeau_PyTuple_SetItem(ptr %tuple, i64 %t, ptr %item)
  %t1 = add i64 %t, 1
  br label %pack
packed:
  ret ptr %tuple
"""


_FINISH = """drop:
  call void @let_go(ptr %results, i64 %n_out)
  call void @let_go(ptr %storages, i64 %n_out)
  br label %slow
undo:
  call void @let_go(ptr %results, i64 %m)
  call void @let_go(ptr %storages, i64 %m)
  br label %raise
lost:
  call void @let_go(ptr %results, i64 %n_out)
  call void @let_go(ptr %storages, i64 %n_out)
  br label %raise
raise:
  call void @flambeau_PyErr_Clear()
  ret ptr null
slow:
  ret ptr null
}
"""
"""The end of `attempt`: what was made is let go of. The slow callable meets the lack of memory again."""


def _entry(o: Offsets) -> str:
    """`entry`: an attempt, and the slow callable where it gives nothing."""
    return f"""
define ptr @entry(ptr %self, ptr %args, i64 %nargsf, ptr %names) {{
entry:
  %no_names = icmp eq ptr %names, null
  br i1 %no_names, label %try, label %slow
try:
  %n = and i64 %nargsf, 9223372036854775807
  %cell.p = getelementptr i8, ptr %self, i64 {o.cell}
  %cell = load ptr, ptr %cell.p
  %answer = call ptr @attempt(ptr %cell, ptr %args, i64 %n)
  %missed = icmp eq ptr %answer, null
  br i1 %missed, label %slow, label %done
done:
  ret ptr %answer
slow:
  %slow.p = getelementptr i8, ptr %self, i64 {o.slow}
  %slow_fn = load ptr, ptr %slow.p
  %answer2 = call ptr @flambeau_PyObject_Vectorcall(ptr %slow_fn, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %answer2
}}
"""
