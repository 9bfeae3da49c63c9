"""How native callables end: what they keep is let go of, and the garbage collector sees it."""

from __future__ import annotations

LIFE_IMPORTS = ("Py_DecRef", "PyObject_GC_UnTrack", "PyObject_GC_Del")
"""Functions of Python's C interface that are called, under the prefix ``flambeau_``."""
LIFE_EXPORTS = ("dealloc", "traverse", "clear")
"""The type's functions of these names."""


def life_text(offset_of_type: int, offset_of_kept: int, offset_of_vectorcall: int) -> str:
    """LLVM text of the functions. A cleared callable cannot be called any more."""
    return f"""
declare void @flambeau_Py_DecRef(ptr)
declare void @flambeau_PyObject_GC_UnTrack(ptr)
declare void @flambeau_PyObject_GC_Del(ptr)

define void @dealloc(ptr %self) {{
  call void @flambeau_PyObject_GC_UnTrack(ptr %self)
  %ignored = call i32 @clear(ptr %self)
  %type.p = getelementptr i8, ptr %self, i64 {offset_of_type}
  %type = load ptr, ptr %type.p
  call void @flambeau_PyObject_GC_Del(ptr %self)
  call void @flambeau_Py_DecRef(ptr %type)
  ret void
}}

define i32 @clear(ptr %self) {{
  %call.p = getelementptr i8, ptr %self, i64 {offset_of_vectorcall}
  store ptr null, ptr %call.p
  %kept.p = getelementptr i8, ptr %self, i64 {offset_of_kept}
  %kept = load ptr, ptr %kept.p
  store ptr null, ptr %kept.p
  call void @flambeau_Py_DecRef(ptr %kept)
  ret i32 0
}}

define i32 @traverse(ptr %self, ptr %visit, ptr %argument) {{
entry:
  %type.p = getelementptr i8, ptr %self, i64 {offset_of_type}
  %type = load ptr, ptr %type.p
  %first = call i32 %visit(ptr %type, ptr %argument)
  %stop = icmp ne i32 %first, 0
  br i1 %stop, label %done, label %look
look:
  %kept.p = getelementptr i8, ptr %self, i64 {offset_of_kept}
  %kept = load ptr, ptr %kept.p
  %none = icmp eq ptr %kept, null
  br i1 %none, label %done, label %second
second:
  %answer = call i32 %visit(ptr %kept, ptr %argument)
  ret i32 %answer
done:
  ret i32 %first
}}
"""
