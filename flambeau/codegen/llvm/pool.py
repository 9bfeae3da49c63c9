"""A pool of threads written in LLVM IR, for pieces of work of a few microseconds.

Each thread has a contiguous range of the pieces, so that the same thread sees the same memory on every call; who is
done steals from the others. A range is one 64-bit word, generation and next index, claimed by compare-and-exchange.
The caller drains whatever nobody has claimed and waits only for pieces that somebody really runs, so a worker that
never wakes costs nothing. A pool that is busy (a nested call, another Python thread) runs the work serially in the
caller. Callers are counted, in all pools together: a worker helps only where there is a processor left for it beside
them, so that as many callers as processors run their work alone. Idle workers spin for a moment and then sleep on a
futex. They are threads of the C library, started by the first call; the child of a fork, which has none of them, starts
its own after ``reset``.
"""

from __future__ import annotations

APART = 1 << 30
"""Added to a number of pieces: each piece must be a call of its own, also where one thread runs all."""
FUTEX = {"x86_64": 202, "aarch64": 98}
"""System call number by architecture."""

_GLOBALS = """
@ranges = internal global [{n} x [16 x i64]] zeroinitializer, align 128
@limits = internal global [{n} x [32 x i32]] zeroinitializer, align 128
@sequence = internal global i64 0, align 128
@function = internal global ptr null, align 128
@block = internal global ptr null, align 8
@high = internal global i64 0, align 8
@step = internal global i64 0, align 8
@total = internal global i32 0, align 4
@done = internal global i32 0, align 128
@caller_sleeps = internal global i32 0, align 4
@sleepers = internal global i32 0, align 128
@wake_sequence = internal global i32 0, align 4
@busy = internal global i32 0, align 128
@is_started = internal global i32 0, align 4
@flambeau_callers = external global i64
declare i64 @flambeau_syscall(i64, ...)
declare i32 @flambeau_start_thread(ptr, ptr, ptr, ptr)
"""

_PIECE = """
define internal void @piece(ptr %fn, ptr %block, i64 %high, i64 %step, i32 %index) {
  %i = zext i32 %index to i64
  %low = mul i64 %i, %step
  %end = add i64 %low, %step
  %over = icmp sgt i64 %end, %high
  %stop = select i1 %over, i64 %high, i64 %end
  call void %fn(ptr %block, i64 %low, i64 %stop)
  ret void
}
"""

_ALONE = f"""
define internal void @by_one(ptr %fn, ptr %data, i64 %h, i64 %s, i32 %n) {{
entry:
  %flag = and i32 %n, {APART}
  %is_apart = icmp ne i32 %flag, 0
  br i1 %is_apart, label %next, label %whole
whole:
  call void %fn(ptr %data, i64 0, i64 %h)
  ret void
next:
  %low = phi i64 [0, %entry], [%end, %piece]
  %more = icmp slt i64 %low, %h
  br i1 %more, label %piece, label %out
piece:
  %end = add i64 %low, %s
  %over = icmp sgt i64 %end, %h
  %stop = select i1 %over, i64 %h, i64 %end
  call void %fn(ptr %data, i64 %low, i64 %stop)
  br label %next
out:
  ret void
}}
"""

_DRAIN = """
define internal void @drain(i32 %me) noinline {{
entry:
  br label %next_range
next_range:
  %k = phi i32 [0, %entry], [%k1, %range_done]
  %mk = add i32 %me, %k
  %r = urem i32 %mk, {n}
  %r64 = zext i32 %r to i64
  %range = getelementptr [16 x i64], ptr @ranges, i64 %r64
  %limit_at = getelementptr [32 x i32], ptr @limits, i64 %r64
  br label %look
look:
  %word = load atomic i64, ptr %range acquire, align 8
  %next = trunc i64 %word to i32
  %limit = load atomic i32, ptr %limit_at monotonic, align 4
  %fn = load atomic ptr, ptr @function monotonic, align 8
  %data = load atomic ptr, ptr @block monotonic, align 8
  %h = load atomic i64, ptr @high monotonic, align 8
  %s = load atomic i64, ptr @step monotonic, align 8
  %all = load atomic i32, ptr @total monotonic, align 4
  %has = icmp ult i32 %next, %limit
  br i1 %has, label %claim, label %range_done
claim:
  %word1 = add i64 %word, 1
  %pair = cmpxchg ptr %range, i64 %word, i64 %word1 acq_rel monotonic
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %work, label %look
work:
  call void @piece(ptr %fn, ptr %data, i64 %h, i64 %s, i32 %next)
  %before = atomicrmw add ptr @done, i32 1 seq_cst
  %after = add i32 %before, 1
  %last = icmp eq i32 %after, %all
  %sleeps = load atomic i32, ptr @caller_sleeps seq_cst, align 4
  %is_asleep = icmp ne i32 %sleeps, 0
  %must_wake = and i1 %last, %is_asleep
  br i1 %must_wake, label %wake, label %look
wake:
  %w = call i64 (i64, ...) @flambeau_syscall(i64 {futex}, ptr @done, i64 129, i64 1, ptr null, ptr null, i64 0)
  br label %look
range_done:
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, {n}
  br i1 %more, label %next_range, label %out
out:
  ret void
}}
"""

_WORKER = """
define internal ptr @worker(ptr %number) {{
entry:
  %wide = ptrtoint ptr %number to i64
  %me = trunc i64 %wide to i32
  br label %serve
serve:
  %seen = load atomic i64, ptr @sequence acquire, align 8
  %callers = load atomic i64, ptr @flambeau_callers monotonic, align 8
  %taken = add i64 %callers, %wide
  %is_wanted = icmp sle i64 %taken, {n}
  br i1 %is_wanted, label %help, label %rest
help:
  call void @drain(i32 %me)
  br label %rest
rest:
  br label %spin
spin:
  %k = phi i32 [0, %rest], [%k1, %spin_on]
  %now = load atomic i64, ptr @sequence acquire, align 8
  %new = icmp ne i64 %now, %seen
  br i1 %new, label %serve, label %idle
idle:
  %patient = icmp ult i32 %k, 2000
  br i1 %patient, label %spin_on, label %sleep
spin_on:
  {pause}
  %k1 = add i32 %k, 1
  br label %spin
sleep:
  %ticket = load atomic i32, ptr @wake_sequence seq_cst, align 4
  %o1 = atomicrmw add ptr @sleepers, i32 1 seq_cst
  %again = load atomic i64, ptr @sequence seq_cst, align 8
  %late = icmp ne i64 %again, %seen
  br i1 %late, label %awake, label %wait
wait:
  %t64 = zext i32 %ticket to i64
  %r = call i64 (i64, ...) @flambeau_syscall(i64 {futex}, ptr @wake_sequence, i64 128, i64 %t64, ptr null,
    ptr null, i64 0)
  br label %awake
awake:
  %o2 = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %serve
}}
"""

_RUN = """
define void @run(ptr %fn, ptr %data, i64 %h, i64 %s, i32 %count) {{
entry:
  %n = and i32 %count, {most}
  %others = atomicrmw add ptr @flambeau_callers, i64 1 monotonic
  %callers = add i64 %others, 1
  %has_room = icmp slt i64 %callers, {n}
  br i1 %has_room, label %try, label %serial
try:
  %lock = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %lock, 1
  br i1 %mine, label %begin, label %serial
serial:
  call void @by_one(ptr %fn, ptr %data, i64 %h, i64 %s, i32 %count)
  %o0 = atomicrmw sub ptr @flambeau_callers, i64 1 monotonic
  ret void
begin:
  %is_running = load i32, ptr @is_started, align 4
  %has_workers = icmp ne i32 %is_running, 0
  br i1 %has_workers, label %publish, label %hire
hire:
  call void @start()
  br label %publish
publish:
  %q = load atomic i64, ptr @sequence monotonic, align 8
  %q1 = add i64 %q, 1
  %generation = shl i64 %q1, 32
  %closed = or i64 %generation, 4294967295
{close}
  store atomic ptr %fn, ptr @function monotonic, align 8
  store atomic ptr %data, ptr @block monotonic, align 8
  store atomic i64 %h, ptr @high monotonic, align 8
  store atomic i64 %s, ptr @step monotonic, align 8
  store atomic i32 %n, ptr @total monotonic, align 4
  store atomic i32 0, ptr @done monotonic, align 4
  store atomic i32 0, ptr @caller_sleeps monotonic, align 4
  %n64 = zext i32 %n to i64
{open}
  store atomic i64 %q1, ptr @sequence seq_cst, align 8
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp ugt i32 %asleep, 0
  br i1 %any, label %wake, label %work
wake:
  %o = atomicrmw add ptr @wake_sequence, i32 1 seq_cst
  %r = call i64 (i64, ...) @flambeau_syscall(i64 {futex}, ptr @wake_sequence, i64 129, i64 {n}, ptr null,
    ptr null, i64 0)
  br label %work
work:
  call void @drain(i32 0)
  br label %wait
wait:
  %k = phi i32 [0, %work], [%k1, %spin], [0, %sleep]
  %d = load atomic i32, ptr @done acquire, align 4
  %finished = icmp eq i32 %d, %n
  br i1 %finished, label %end, label %check
check:
  %long = icmp ugt i32 %k, 4000
  br i1 %long, label %doze, label %spin
spin:
  {pause}
  %k1 = add i32 %k, 1
  br label %wait
doze:
  store atomic i32 1, ptr @caller_sleeps seq_cst, align 4
  %d2 = load atomic i32, ptr @done seq_cst, align 4
  %finished2 = icmp eq i32 %d2, %n
  br i1 %finished2, label %end, label %sleep
sleep:
  %d64 = zext i32 %d2 to i64
  %r2 = call i64 (i64, ...) @flambeau_syscall(i64 {futex}, ptr @done, i64 128, i64 %d64, ptr null, ptr null, i64 0)
  br label %wait
end:
  store atomic i32 0, ptr @busy release, align 4
  %o3 = atomicrmw sub ptr @flambeau_callers, i64 1 monotonic
  ret void
}}
"""

_START = """
define internal void @start() noinline {{
entry:
  %thread = alloca i64, align 16
  store i32 1, ptr @is_started, align 4
  br label %next
next:
  %k = phi i64 [1, %entry], [%k1, %next]
  %number = inttoptr i64 %k to ptr
  %r = call i32 @flambeau_start_thread(ptr %thread, ptr null, ptr @worker, ptr %number)
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, {n}
  br i1 %more, label %next, label %end
end:
  ret void
}}

define void @reset() {{
  store i32 0, ptr @is_started, align 4
  store i32 0, ptr @busy, align 4
  store i32 0, ptr @sleepers, align 4
  store i32 0, ptr @caller_sleeps, align 4
{close_all}
  ret void
}}
"""


def pool_text(threads: int, architecture: str) -> str:
    """The pool for a number of threads in all: ``run(function, block, high, step, pieces)`` and ``reset()``."""
    futex = FUTEX[architecture]
    is_x86 = architecture == "x86_64"
    pause = "call void @llvm.x86.sse2.pause()" if is_x86 else 'call void asm sideeffect "yield", ""()'
    close = "\n".join(
        f"  store atomic i64 %closed, ptr getelementptr ([16 x i64], ptr @ranges, i64 {r}) seq_cst, align 8"
        for r in range(threads)
    )
    close_all = close.replace("%closed", "4294967295")
    opened = "\n".join(_open_range(r, threads) for r in range(threads))
    values = {
        "n": threads, "futex": futex, "pause": pause, "close": close, "open": opened, "close_all": close_all,
        "most": APART - 1,
    }  # fmt: skip
    head = _GLOBALS.format(**values) + ("declare void @llvm.x86.sse2.pause()\n" if is_x86 else "")
    return head + _PIECE + _ALONE + "".join(part.format(**values) for part in (_DRAIN, _WORKER, _RUN, _START))


def _open_range(r: int, threads: int) -> str:
    return f"""  %lowm{r} = mul i64 %n64, {r}
  %low{r} = udiv i64 %lowm{r}, {threads}
  %topm{r} = mul i64 %n64, {r + 1}
  %top{r} = udiv i64 %topm{r}, {threads}
  %stop{r} = trunc i64 %top{r} to i32
  store atomic i32 %stop{r}, ptr getelementptr ([32 x i32], ptr @limits, i64 {r}) monotonic, align 4
  %open{r} = or i64 %generation, %low{r}
  store atomic i64 %open{r}, ptr getelementptr ([16 x i64], ptr @ranges, i64 {r}) release, align 8"""


RELAY = (
    _ALONE
    + """
@flambeau_setting = external global ptr
define void @relay(ptr %fn, ptr %data, i64 %h, i64 %s, i32 %n) {
  %run = load atomic ptr, ptr @flambeau_setting acquire, align 8
  musttail call void %run(ptr %fn, ptr %data, i64 %h, i64 %s, i32 %n)
  ret void
}
define void @alone(ptr %fn, ptr %data, i64 %h, i64 %s, i32 %n) {
  call void @by_one(ptr %fn, ptr %data, i64 %h, i64 %s, i32 %n)
  ret void
}
"""
)
"""``relay`` is the ``run`` of whichever pool the setting names at that moment; ``alone`` is that of one thread."""
