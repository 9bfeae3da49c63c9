"""The same entry for tensors: takes them apart, lets `attempt` serve their arrays, and makes tensors of the results.

A tensor goes in only if its plan can be told from its array: of the class itself, without gradients, not standing for a
Python number. What is no tensor goes in as it is: plans say which types or which very objects they serve.
"""

from __future__ import annotations

from flambeau.codegen.layouts import OUTPUT
from flambeau.codegen.llvm.entry import attempt_text
from flambeau.codegen.llvm.entry_geometry import WRITTEN
from flambeau.codegen.llvm.entry_plan import Offsets, plan_word
from flambeau.codegen.llvm.entry_ready import Weak, ready_text
from flambeau.util.record import dataclass

TENSOR_IMPORTS = ("PyType_GenericAlloc", "PyLong_FromLongLong", "PyList_Size", "PyList_GetItem")
"""Functions of Python's C interface that it calls beside those of ``attempt``."""
TENSOR_OBJECTS = (
    "tensor_type", "storage_type", "float_type", "int_type", "tuple_type", "list_type", "none", "false", "zero",
)  # fmt: skip
"""Objects whose addresses it is given, under the same prefix."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Offsets of the slots of a tensor and of a storage, by name."""

    tensor: dict[str, int]
    storage: dict[str, int]


NEW_TENSOR = {
    "_array": "array", "_storage": "storage", "_requires_grad": "false", "grad": "none", "grad_fn": "none",
    "is_wrapped_number": "false", "output_nr": "zero",
}  # fmt: skip
"""What `Tensor(array)` puts into each slot."""
NEW_STORAGE = {"base": "array", "_bytes": "none", "version": "zero"}
"""What `Storage(array)` puts into each slot."""


def tensors_text(o: Offsets, slots: Slots, weak: Weak, *, by_rows: bool = False) -> str:
    """LLVM text of ``tensors``, a function of the vectorcall signature; ``by_rows`` is as in ``attempt_text``."""
    declared = "".join(f"@flambeau_{name} = external global i8\n" for name in TENSOR_OBJECTS)
    if by_rows:
        declared += "declare i64 @flambeau_PyList_Size(ptr)\ndeclare ptr @flambeau_PyList_GetItem(ptr, i64)\n"
    ready = ready_text(slots.storage, weak, OUTPUT.word("ready"))
    start = attempt_text(o, _DELIVER_TENSORS, by_rows=by_rows)
    return start + declared + ready + _wrap(slots) + _unwrap(o, slots, by_rows) + _bump(slots) + _call(o)


_DELIVER_TENSORS = f"""deliver:
{plan_word("geometry", "%plan", "way")}
  %is_written = icmp eq i64 %way, {WRITTEN}
  br i1 %is_written, label %written, label %fresh
written:
{plan_word("target", "%plan", "into")}
  %is_first = icmp eq i64 %into, 0
  %marker = select i1 %is_first, ptr @flambeau_false, ptr @flambeau_none
  ret ptr %marker
fresh:
  %single = icmp eq i64 %n_out, 1
  br i1 %single, label %lone, label %several
lone:
  %array0 = load ptr, ptr %results
  %storage0 = load ptr, ptr %storages
  %answer = call ptr @wrap(ptr %array0, ptr %storage0)
  ret ptr %answer
several:
  %tuple = call ptr @flambeau_PyTuple_New(i64 %n_out)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %lost, label %pack
pack:
  %t = phi i64 [0, %several], [%t1, %set]
  %broken = phi i1 [false, %several], [%broken1, %set]
  %more_t = icmp slt i64 %t, %n_out
  br i1 %more_t, label %set, label %packed
set:
  %item.p = getelementptr ptr, ptr %results, i64 %t
  %item = load ptr, ptr %item.p
  %kept.q = getelementptr ptr, ptr %storages, i64 %t
  %kept_storage = load ptr, ptr %kept.q
  %wrapped = call ptr @wrap(ptr %item, ptr %kept_storage)
  %is_null = icmp eq ptr %wrapped, null
  %broken1 = or i1 %broken, %is_null
  %ignored = call i32 @flambeau_PyTuple_SetItem(ptr %tuple, i64 %t, ptr %wrapped)
  %t1 = add i64 %t, 1
  br label %pack
packed:
  br i1 %broken, label %break, label %whole
whole:
  ret ptr %tuple
break:
  call void @flambeau_Py_DecRef(ptr %tuple)
  br label %raise
"""


def _wrap(slots: Slots) -> str:
    """`wrap`: the tensor of an array and its storage, null for a new one; takes over both references. Null, with
    MemoryError, if there is none."""

    def fill(target: str, given: dict[str, int], contents: dict[str, str]) -> str:
        lines = []
        for name, what in contents.items():
            value = f"%{what}" if what in ("array", "storage") else f"@flambeau_{what}"
            lines.append(f"  %at.{target}.{name} = getelementptr i8, ptr %{target}, i64 {given[name]}")
            lines.append(f"  store ptr {value}, ptr %at.{target}.{name}")
            if value[0] == "@" or target == "made":
                lines.append(f"  call void @flambeau_Py_IncRef(ptr {value})")
        return "\n".join(lines)

    return f"""
declare ptr @flambeau_PyType_GenericAlloc(ptr, i64)
define internal ptr @wrap(ptr %array, ptr %known) {{
entry:
  %is_known = icmp ne ptr %known, null
  br i1 %is_known, label %second, label %first
first:
  %made = call ptr @flambeau_PyType_GenericAlloc(ptr @flambeau_storage_type, i64 0)
  %no_storage = icmp eq ptr %made, null
  br i1 %no_storage, label %drop, label %fill_storage
fill_storage:
{fill("made", slots.storage, NEW_STORAGE)}
  br label %second
second:
  %storage = phi ptr [%known, %entry], [%made, %fill_storage]
  %tensor = call ptr @flambeau_PyType_GenericAlloc(ptr @flambeau_tensor_type, i64 0)
  %no_tensor = icmp eq ptr %tensor, null
  br i1 %no_tensor, label %drop_storage, label %fill
fill:
{fill("tensor", slots.tensor, NEW_TENSOR)}
  ret ptr %tensor
drop_storage:
  call void @flambeau_Py_DecRef(ptr %storage)
  br label %drop
drop:
  call void @flambeau_Py_DecRef(ptr %array)
  ret ptr null
}}
"""


_LISTS = """\
  %is_list = icmp eq ptr %type, @flambeau_list_type
  br i1 %is_list, label %list, label %itself
list:
  %length = call i64 @flambeau_PyList_Size(ptr %value)
  switch i64 %length, label %no [ i64 0, label %empty i64 1, label %one ]
empty:
  ret ptr @flambeau_list_type
one:
  %item = call ptr @flambeau_PyList_GetItem(ptr %value, i64 0)
  %item_type.p = getelementptr i8, ptr %item, i64 @TYPE@
  %item_type = load ptr, ptr %item_type.p
  %is_index = icmp eq ptr %item_type, @flambeau_int_type
  br i1 %is_index, label %index, label %no
index:
  ret ptr %item
itself:
"""
"""Of `unwrap`: a list of one int is that int, an empty one is the type of lists."""


def _unwrap(o: Offsets, slots: Slots, by_rows: bool) -> str:
    """`unwrap`: a tensor's array, not held, or what is no tensor itself; null for tensors that the slow callable must
    look at; ``by_rows``, lists that say which axes are meant."""
    tests, last = [], "%is_set"
    for number, (name, plain) in enumerate(
        (("_requires_grad", "false"), ("grad_fn", "none"), ("is_wrapped_number", "false"))
    ):
        tests.append(f"""  %p{number} = getelementptr i8, ptr %value, i64 {slots.tensor[name]}
  %v{number} = load ptr, ptr %p{number}
  %c{number} = icmp eq ptr %v{number}, @flambeau_{plain}
  %all{number} = and i1 {last}, %c{number}""")
        last = f"%all{number}"
    checks = "\n".join(tests)
    return f"""
define internal ptr @unwrap(ptr %value) {{
entry:
  %type.p = getelementptr i8, ptr %value, i64 {o.type}
  %type = load ptr, ptr %type.p
  %is_tensor = icmp eq ptr %type, @flambeau_tensor_type
  br i1 %is_tensor, label %tensor, label %number
tensor:
  %array.p = getelementptr i8, ptr %value, i64 {slots.tensor["_array"]}
  %array = load ptr, ptr %array.p
  %is_set = icmp ne ptr %array, null
{checks}
  br i1 {last}, label %yes, label %no
number:
{_LISTS.replace("@TYPE@", str(o.type)) if by_rows else ""}  ret ptr %value
yes:
  ret ptr %array
no:
  ret ptr null
}}
"""


def _bump(slots: Slots) -> str:
    """`bump`: the note that a tensor's memory was written."""
    return f"""
declare ptr @flambeau_PyLong_FromLongLong(i64)
define internal void @bump(ptr %tensor) {{
entry:
  %overflow = alloca i32, align 4
  %storage.p = getelementptr i8, ptr %tensor, i64 {slots.tensor["_storage"]}
  %storage = load ptr, ptr %storage.p
  %version.p = getelementptr i8, ptr %storage, i64 {slots.storage["version"]}
  %version = load ptr, ptr %version.p
  %old = call i64 @flambeau_PyLong_AsLongLongAndOverflow(ptr %version, ptr %overflow)
  %new = add i64 %old, 1
  %next = call ptr @flambeau_PyLong_FromLongLong(i64 %new)
  %missing = icmp eq ptr %next, null
  br i1 %missing, label %clear, label %put
clear:
  call void @flambeau_PyErr_Clear()
  ret void
put:
  store ptr %next, ptr %version.p
  call void @flambeau_Py_DecRef(ptr %version)
  ret void
}}
"""


def _call(o: Offsets) -> str:
    """`tensors` itself."""
    return f"""
define ptr @tensors(ptr %self, ptr %args, i64 %nargsf, ptr %names) {{
entry:
  %no_names = icmp eq ptr %names, null
  br i1 %no_names, label %begin, label %slow
begin:
  %n = and i64 %nargsf, 9223372036854775807
  %arrays = alloca ptr, i64 %n, align 8
  br label %take
take:
  %i = phi i64 [0, %begin], [%i1, %taken]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %take_one, label %try
take_one:
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %array = call ptr @unwrap(ptr %arg)
  %not = icmp eq ptr %array, null
  br i1 %not, label %slow, label %taken
taken:
  %array.p = getelementptr ptr, ptr %arrays, i64 %i
  store ptr %array, ptr %array.p
  %i1 = add i64 %i, 1
  br label %take
try:
  %cell.p = getelementptr i8, ptr %self, i64 {o.cell}
  %cell = load ptr, ptr %cell.p
  %answer = call ptr @attempt(ptr %cell, ptr %arrays, i64 %n)
  %missed = icmp eq ptr %answer, null
  br i1 %missed, label %slow, label %finish
finish:
  %is_first = icmp eq ptr %answer, @flambeau_false
  %is_last = icmp eq ptr %answer, @flambeau_none
  %is_written = or i1 %is_first, %is_last
  br i1 %is_written, label %written, label %fresh
fresh:
  ret ptr %answer
written:
  %end = sub i64 %n, 1
  %into = select i1 %is_first, i64 0, i64 %end
  %target.p = getelementptr ptr, ptr %args, i64 %into
  %target = load ptr, ptr %target.p
  call void @bump(ptr %target)
  call void @flambeau_Py_IncRef(ptr %target)
  ret ptr %target
slow:
  %slow.p = getelementptr i8, ptr %self, i64 {o.slow}
  %slow_fn = load ptr, ptr %slow.p
  %slow_answer = call ptr @flambeau_PyObject_Vectorcall(ptr %slow_fn, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %slow_answer
}}
"""
