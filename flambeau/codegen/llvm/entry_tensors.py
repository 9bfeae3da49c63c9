"""The same entry for tensors: takes them apart, lets `attempt` serve their arrays, and makes tensors of the results.

A tensor goes in only if its plan can be told from its array: of the class itself, without gradients, not standing for a
Python number. Floats and ints go in as they are; everything else is for the slow callable.
"""

from __future__ import annotations

from flambeau.codegen.llvm.entry import attempt_text
from flambeau.codegen.llvm.entry_plan import READY_PLACE, Offsets
from flambeau.codegen.llvm.entry_ready import Weak, ready_text
from flambeau.util.record import dataclass

TENSOR_IMPORTS = ("PyType_GenericAlloc",)
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


def tensors_text(o: Offsets, slots: Slots, weak: Weak) -> str:
    """LLVM text of ``tensors``, a function of the vectorcall signature."""
    declared = "".join(f"@flambeau_{name} = external global i8\n" for name in TENSOR_OBJECTS)
    ready = ready_text(slots.storage, weak, READY_PLACE)
    return attempt_text(o, _DELIVER_TENSORS) + declared + ready + _wrap(slots) + _unwrap(o, slots) + _call(o)


_DELIVER_TENSORS = """deliver:
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


def _unwrap(o: Offsets, slots: Slots) -> str:
    """`unwrap`: a tensor's array, or a number, not held; null for what the slow callable must look at."""
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
  ret ptr %found
no:
  ret ptr null
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
  ret ptr %answer
slow:
  %slow.p = getelementptr i8, ptr %self, i64 {o.slow}
  %slow_fn = load ptr, ptr %slow.p
  %slow_answer = call ptr @flambeau_PyObject_Vectorcall(ptr %slow_fn, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %slow_answer
}}
"""
