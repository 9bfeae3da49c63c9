"""How native functions run fused groups, as LLVM text: by the plans of kernels, chosen by sizes and strides."""

from __future__ import annotations

from flambeau.codegen.graph.runtime import PREFIX
from flambeau.codegen.layouts import BLOCK_DATA, CELL, CONTEXT, INPUT, OUTPUT, PLAN, RELEASE_GIL
from flambeau.codegen.llvm.entry_checks import same_numbers_text
from flambeau.codegen.llvm.entry_patterns import FRAME_WORDS, patterns_text
from flambeau.codegen.llvm.entry_sizes import sizes_text

NO_PLAN = -4
"""No plan is made for such sizes and strides."""


def _word(name: str, register: str, kind: str = "i64") -> str:
    return (
        f"  %{register}.p = getelementptr i64, ptr %plan, i64 {PLAN.word(name)}\n"
        f"  %{register} = load {kind}, ptr %{register}.p"
    )


GROUPS = f"""{same_numbers_text()}
define internal ptr @dims_of(ptr %words) alwaysinline {{
  %dims = getelementptr i64, ptr %words, i64 1
  ret ptr %dims
}}

define internal ptr @strides_of(ptr %words, i64 %rank) alwaysinline {{
  %dims = getelementptr i64, ptr %words, i64 1
  %strides = getelementptr i64, ptr %dims, i64 %rank
  ret ptr %strides
}}
{sizes_text()}
define internal i1 @looks_like(ptr %words, ptr %record) alwaysinline {{
  ret i1 true
}}
{patterns_text()}
define internal ptr @find_plan(ptr %cell, ptr %inputs, i64 %n, ptr %shape, ptr %count, ptr %frame) {{
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
  br i1 %more, label %one, label %matched
one:
  %words.p = getelementptr ptr, ptr %inputs, i64 %i
  %words = load ptr, ptr %words.p
  %record.o = mul i64 %i, {INPUT.words}
  %record = getelementptr i64, ptr %records, i64 %record.o
  %descr = load ptr, ptr %record
  %is_number = icmp eq ptr %descr, null
  br i1 %is_number, label %good, label %array
array:
  %rank.p = getelementptr i64, ptr %record, i64 1
  %rank = load i64, ptr %rank.p
  %dims.p = getelementptr i64, ptr %record, i64 2
  %dims = load ptr, ptr %dims.p
  %any_size = icmp eq ptr %dims, null
  br i1 %any_size, label %good, label %numbers
numbers:
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
matched:
{_word("size_at", "size_at")}
  store ptr null, ptr %shape
  store i64 -1, ptr %count
  %is_exact = icmp eq i64 %size_at, 0
  br i1 %is_exact, label %found, label %sizes
sizes:
  %common = call i64 @common_size(ptr %plan, ptr %inputs, i64 %n, ptr %shape)
  store i64 %common, ptr %count
  %unlike = icmp slt i64 %common, 0
  br i1 %unlike, label %other, label %found
found:
  ret ptr %plan
missing:
  store ptr null, ptr %shape
  store i64 -1, ptr %count
  %looks.p = getelementptr ptr, ptr %cell, i64 {CELL.word("looks")}
  %looks = load atomic ptr, ptr %looks.p acquire, align 8
  %completed = call ptr @pattern_plan(ptr %looks, ptr %inputs, i64 %n, ptr %frame)
  ret ptr %completed
}}

define internal i64 @make_outputs(ptr %context, ptr %plan, ptr %outputs, ptr %shape, i64 %elements) {{
entry:
  %room = alloca i64, i64 {OUTPUT.words}, align 8
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
  %record.o = mul i64 %k, {OUTPUT.words}
  %plain = getelementptr i64, ptr %records, i64 %record.o
  %record = call ptr @sized(ptr %plain, ptr %room, ptr %shape, i64 %elements)
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
  %data = getelementptr i8, ptr %block, i64 {BLOCK_DATA}
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

define internal i64 @run_plan(
  ptr %context, ptr %plan, ptr %inputs, i64 %n_in, ptr %outputs, ptr %shape, i64 %elements
) {{
entry:
  %made = call i64 @make_outputs(ptr %context, ptr %plan, ptr %outputs, ptr %shape, i64 %elements)
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
{_word("high", "high0")}
{_word("step", "step")}
{_word("size_at", "size_at")}
  %is_exact = icmp eq i64 %size_at, 0
  %high = select i1 %is_exact, i64 %high0, i64 %elements
  %block = alloca i64, i64 %words, align 16
  %size = mul i64 %words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %block, ptr align 8 %template, i64 %size, i1 false)
  %size.p = getelementptr i64, ptr %block, i64 %size_at
  store i64 %elements, ptr %size.p
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
  %thread.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("thread")}
  %thread = load ptr, ptr %thread.p
  %held = icmp eq ptr %thread, null
  %give_up = and i1 %long, %held
  br i1 %give_up, label %save, label %launch
save:
  %state = call ptr @{PREFIX}save_thread()
  store ptr %state, ptr %thread.p
  %now = call i64 @llvm.readcyclecounter()
  %polled.p = getelementptr i64, ptr %context, i64 {CONTEXT.word("polled")}
  store i64 %now, ptr %polled.p
  br label %launch
launch:
  %whole = icmp eq i64 %step, 0
  br i1 %whole, label %direct, label %split
direct:
  call void %kernel(ptr %block, i64 0, i64 %high)
  br label %ended
split:
{_word("pieces", "pieces0")}
{_word("pool", "pool", "ptr")}
  %up = add i64 %high, %step
  %up1 = sub i64 %up, 1
  %cut = udiv i64 %up1, %step
  %pieces = select i1 %is_exact, i64 %pieces0, i64 %cut
  %count = trunc i64 %pieces to i32
  call void %pool(ptr %kernel, ptr %block, i64 %high, i64 %step, i32 %count)
  br label %ended
ended:
  %code = load i32, ptr %error
  %failed = icmp ne i32 %code, 0
  %answer = zext i1 %failed to i64
  ret i64 %answer
}}

define i64 @{PREFIX}run_group(ptr %context, ptr %cell, ptr %inputs, i64 %n_in, ptr %outputs) {{
entry:
  %shape.p = alloca ptr, align 8
  %elements.p = alloca i64, align 8
  %frame = alloca [{FRAME_WORDS} x i64], align 16
  %plan = call ptr @find_plan(ptr %cell, ptr %inputs, i64 %n_in, ptr %shape.p, ptr %elements.p, ptr %frame)
  %missing = icmp eq ptr %plan, null
  br i1 %missing, label %none, label %run
run:
  %shape = load ptr, ptr %shape.p
  %elements = load i64, ptr %elements.p
  %answer = call i64 @run_plan(
    ptr %context, ptr %plan, ptr %inputs, i64 %n_in, ptr %outputs, ptr %shape, i64 %elements
  )
  ret i64 %answer
none:
  ret i64 {NO_PLAN}
}}
"""
"""``run_group``: a fused group by the plan for its inputs' sizes and strides; gives `NO_PLAN` where there is none yet.

``inputs`` and ``outputs`` are arrays of addresses: for each input its words from ``data`` on (for a number the address
of the number), for each output all its words, the size of an element in the word before them. Gives 0, 1 where the
group failed (a division by zero), `INTERRUPTED` or `NO_MEMORY`.
"""
