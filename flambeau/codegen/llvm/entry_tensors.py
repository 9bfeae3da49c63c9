"""The same entry for tensors: takes them apart, lets `attempt` serve their arrays, and makes tensors of the results.

A tensor goes in only if its plan can be told from its array: of the class itself, without gradients, not standing for a
Python number. Floats and ints go in as they are; everything else is for the slow callable.
"""

from __future__ import annotations

from flambeau.codegen.llvm.entry import Offsets, attempt_text
from flambeau.util.record import dataclass

TENSOR_IMPORTS = ("PyType_GenericAlloc", "PyTuple_Size", "PyTuple_GetItem")
"""Functions of Python's C interface that it calls beside those of ``attempt``."""
TENSOR_OBJECTS = ("tensor_type", "storage_type", "float_type", "int_type", "tuple_type", "none", "false", "zero")
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


def tensors_text(o: Offsets, slots: Slots) -> str:
    """LLVM text of ``tensors``, a function of the vectorcall signature."""
    declared = "".join(f"@flambeau_{name} = external global i8\n" for name in TENSOR_OBJECTS)
    return attempt_text(o) + declared + _wrap(slots) + _unwrap(o, slots) + _wrap_all(o) + _call(o)


def _wrap(slots: Slots) -> str:
    """`wrap`: the tensor of a new array, whose reference it takes over; null, with MemoryError, if there is none."""
    values = {"array": "%array", "storage": "%storage"}
    lines = []
    for target, given, contents in (("%storage", slots.storage, NEW_STORAGE), ("%tensor", slots.tensor, NEW_TENSOR)):
        for name, what in contents.items():
            value = values.get(what, f"@flambeau_{what}")
            place = f"%at.{target[1:]}.{name}"
            lines.append(f"  {place} = getelementptr i8, ptr {target}, i64 {given[name]}")
            lines.append(f"  store ptr {value}, ptr {place}")
            if (what, name) not in (("array", "base"), ("storage", "_storage")):
                lines.append(f"  call void @flambeau_Py_IncRef(ptr {value})")
    fill = "\n".join(lines)
    return f"""
declare ptr @flambeau_PyType_GenericAlloc(ptr, i64)
define internal ptr @wrap(ptr %array) {{
entry:
  %storage = call ptr @flambeau_PyType_GenericAlloc(ptr @flambeau_storage_type, i64 0)
  %no_storage = icmp eq ptr %storage, null
  br i1 %no_storage, label %drop_array, label %second
second:
  %tensor = call ptr @flambeau_PyType_GenericAlloc(ptr @flambeau_tensor_type, i64 0)
  %no_tensor = icmp eq ptr %tensor, null
  br i1 %no_tensor, label %drop_storage, label %fill
fill:
{fill}
  ret ptr %tensor
drop_storage:
  call void @flambeau_Py_DecRef(ptr %storage)
  br label %drop_array
drop_array:
  call void @flambeau_Py_DecRef(ptr %array)
  ret ptr null
}}
"""


def _unwrap(o: Offsets, slots: Slots) -> str:
    """`unwrap`: a new reference to a tensor's array, or to a number; null for what the slow callable must look at."""
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
  %is_float = icmp eq ptr %type, @flambeau_float_type
  %is_int = icmp eq ptr %type, @flambeau_int_type
  %is_number = or i1 %is_float, %is_int
  br i1 %is_number, label %yes, label %no
yes:
  %found = phi ptr [%array, %tensor], [%value, %number]
  call void @flambeau_Py_IncRef(ptr %found)
  ret ptr %found
no:
  ret ptr null
}}
"""


def _wrap_all(o: Offsets) -> str:
    """`wrap_all`: the tensor of an array, or the tuple of those of a tuple of arrays; takes over the reference."""
    return f"""
declare i64 @flambeau_PyTuple_Size(ptr)
declare ptr @flambeau_PyTuple_GetItem(ptr, i64)
define internal ptr @wrap_all(ptr %result) {{
entry:
  %kind.p = getelementptr i8, ptr %result, i64 {o.type}
  %kind = load ptr, ptr %kind.p
  %several = icmp eq ptr %kind, @flambeau_tuple_type
  br i1 %several, label %tuple, label %single
single:
  %tensor = call ptr @wrap(ptr %result)
  ret ptr %tensor
tuple:
  %count = call i64 @flambeau_PyTuple_Size(ptr %result)
  %made = call ptr @flambeau_PyTuple_New(i64 %count)
  %no_tuple = icmp eq ptr %made, null
  br i1 %no_tuple, label %fail, label %items
items:
  %t = phi i64 [0, %tuple], [%t1, %set]
  %more_t = icmp slt i64 %t, %count
  br i1 %more_t, label %item_one, label %complete
item_one:
  %item = call ptr @flambeau_PyTuple_GetItem(ptr %result, i64 %t)
  call void @flambeau_Py_IncRef(ptr %item)
  %wrapped = call ptr @wrap(ptr %item)
  %lost = icmp eq ptr %wrapped, null
  br i1 %lost, label %fail_item, label %set
set:
  %ignored = call i32 @flambeau_PyTuple_SetItem(ptr %made, i64 %t, ptr %wrapped)
  %t1 = add i64 %t, 1
  br label %items
complete:
  call void @flambeau_Py_DecRef(ptr %result)
  ret ptr %made
fail_item:
  call void @flambeau_Py_DecRef(ptr %made)
  br label %fail
fail:
  call void @flambeau_Py_DecRef(ptr %result)
  ret ptr null
}}
"""


def _call(o: Offsets) -> str:
    """`tensors` itself. It holds the arrays while the kernel runs: another thread may give a tensor another array."""
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
  br i1 %not, label %give_back, label %taken
taken:
  %array.p = getelementptr ptr, ptr %arrays, i64 %i
  store ptr %array, ptr %array.p
  %i1 = add i64 %i, 1
  br label %take
try:
  %cell.p = getelementptr i8, ptr %self, i64 {o.cell}
  %cell = load ptr, ptr %cell.p
  %answer = call ptr @attempt(ptr %cell, ptr %arrays, i64 %n)
  br label %give_back
give_back:
  %result = phi ptr [null, %take_one], [%answer, %try]
  br label %back
back:
  %b = phi i64 [%i, %give_back], [%b1, %back_one]
  %more_b = icmp sgt i64 %b, 0
  br i1 %more_b, label %back_one, label %settled
back_one:
  %b1 = sub i64 %b, 1
  %held.p = getelementptr ptr, ptr %arrays, i64 %b1
  %held = load ptr, ptr %held.p
  call void @flambeau_Py_DecRef(ptr %held)
  br label %back
settled:
  %missed = icmp eq ptr %result, null
  br i1 %missed, label %slow, label %finish
finish:
  %tensors = call ptr @wrap_all(ptr %result)
  ret ptr %tensors
slow:
  %slow.p = getelementptr i8, ptr %self, i64 {o.slow}
  %slow_fn = load ptr, ptr %slow.p
  %slow_answer = call ptr @flambeau_PyObject_Vectorcall(ptr %slow_fn, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %slow_answer
}}
"""
