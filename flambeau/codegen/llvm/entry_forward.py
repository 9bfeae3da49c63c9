"""Where calls of a scripted function go: to the fast paths of its switch, or else to its slow function.

Nobody may be watching (tracers, interceptors of operators), there are no keywords, and a fast path serves the
arguments: all else is for the slow function, which takes the callable itself before the arguments.
"""

from __future__ import annotations

FORWARD_IMPORTS = ("PyObject_Vectorcall", "PyTuple_Size", "Py_IncRef", "Py_DecRef")
"""Functions of Python's C interface that it calls, under the prefix ``flambeau_``."""


def forward_text(switch: int, slow: int, first: int) -> str:
    """LLVM text of ``forward``, a function of the vectorcall signature; the arguments are offsets of fields.

    A fast path is held during its call: another thread, or the call itself, may put another into its place.
    """
    return f"""
declare ptr @flambeau_PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i64 @flambeau_PyTuple_Size(ptr)
declare void @flambeau_Py_IncRef(ptr)
declare void @flambeau_Py_DecRef(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@flambeau_missed = external global i8
@flambeau_watchers = external global i64

define ptr @forward(ptr %self, ptr %args, i64 %nargsf, ptr %names) {{
entry:
  %n = and i64 %nargsf, 9223372036854775807
  %watchers = load i64, ptr @flambeau_watchers
  %no_watchers = icmp eq i64 %watchers, 0
  %no_names = icmp eq ptr %names, null
  %is_plain = and i1 %no_watchers, %no_names
  br i1 %is_plain, label %look, label %slow
look:
  %cell.p = getelementptr i8, ptr %self, i64 {switch}
  %cell = load ptr, ptr %cell.p
  %first.p = getelementptr i8, ptr %self, i64 {first}
  %first = load ptr, ptr %first.p
  %no_first = icmp eq ptr %first, null
  br i1 %no_first, label %next, label %shift
shift:
  %more = add i64 %n, 1
  %shifted = alloca ptr, i64 %more, align 8
  store ptr %first, ptr %shifted
  %rest = getelementptr ptr, ptr %shifted, i64 1
  %size = mul i64 %n, 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %rest, ptr align 8 %args, i64 %size, i1 false)
  br label %next
next:
  %given = phi ptr [%args, %look], [%shifted, %shift], [%given, %missed]
  %given_n = phi i64 [%n, %look], [%more, %shift], [%given_n, %missed]
  %place = phi ptr [%cell, %look], [%cell, %shift], [%place1, %missed]
  %fast_path = load ptr, ptr %place
  %place1 = getelementptr ptr, ptr %place, i64 1
  %no_fast_path = icmp eq ptr %fast_path, null
  br i1 %no_fast_path, label %slow, label %held
held:
  call void @flambeau_Py_IncRef(ptr %fast_path)
  %answer = call ptr @flambeau_PyObject_Vectorcall(ptr %fast_path, ptr %given, i64 %given_n, ptr null)
  call void @flambeau_Py_DecRef(ptr %fast_path)
  %is_missed = icmp eq ptr %answer, @flambeau_missed
  br i1 %is_missed, label %missed, label %done
done:
  ret ptr %answer
missed:
  call void @flambeau_Py_DecRef(ptr %answer)
  br label %next
slow:
  br i1 %no_names, label %copy, label %count
count:
  %named = call i64 @flambeau_PyTuple_Size(ptr %names)
  br label %copy
copy:
  %extra = phi i64 [0, %slow], [%named, %count]
  %positional = add i64 %n, 1
  %all = add i64 %positional, %extra
  %full = alloca ptr, i64 %all, align 8
  store ptr %self, ptr %full
  %tail = getelementptr ptr, ptr %full, i64 1
  %values = add i64 %n, %extra
  %bytes = mul i64 %values, 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %tail, ptr align 8 %args, i64 %bytes, i1 false)
  %slow.p = getelementptr i8, ptr %self, i64 {slow}
  %slow_fn = load ptr, ptr %slow.p
  %result = call ptr @flambeau_PyObject_Vectorcall(ptr %slow_fn, ptr %full, i64 %positional, ptr %names)
  ret ptr %result
}}
"""
