"""Sizes and ages of many files by one call: a machine-code loop over the system's `statx`.

A process asks for all sources of this package before it reads anything from the cache, in half the time that Python
takes. The code is found by its text, so that no source decides which it is; where the cache has none, Python looks.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from functools import cache
from typing import Any, Final

from flambeau.codegen.llvm import loader
from flambeau.codegen.llvm.arranged import arranged_of, written
from flambeau.codegen.llvm.compiler import Compiler, NativeError
from flambeau.codegen.llvm.host import ProcessorError, chosen_processor, is_installed, llvm_version
from flambeau.codegen.llvm.object_cache import ObjectCache, key_of, object_cache
from flambeau.codegen.llvm.object_file import NotLinkedError
from flambeau.codegen.llvm.processor import Processor
from flambeau.util.source_files import Look

SYMBOL: Final = "sizes_and_ages"
SYSTEM: Final = ("statx", "strlen")
TEXT: Final = """
declare i32 @statx(i32, ptr, i32, i32, ptr)
declare i64 @strlen(ptr)

; Of each of `count` names, below an open folder and one after another, size and age into `numbers`.
; How many there were before one that cannot be asked for.
define i64 @sizes_and_ages(i32 %folder, ptr %names, i64 %count, ptr %numbers) {
entry:
  %status = alloca [256 x i8], align 8
  %size_field = getelementptr i8, ptr %status, i64 40
  %seconds_field = getelementptr i8, ptr %status, i64 112
  %rest_field = getelementptr i8, ptr %status, i64 120
  br label %next
next:
  %index = phi i64 [0, %entry], [%following, %asked]
  %name = phi ptr [%names, %entry], [%next_name, %asked]
  %is_left = icmp ult i64 %index, %count
  br i1 %is_left, label %ask, label %end
ask:
  ; 0x240: the size and the age of what was changed last are wanted
  %refused = call i32 @statx(i32 %folder, ptr %name, i32 0, i32 576, ptr %status)
  %is_there = icmp eq i32 %refused, 0
  br i1 %is_there, label %asked, label %end
asked:
  %size = load i64, ptr %size_field, align 8
  %seconds = load i64, ptr %seconds_field, align 8
  %rest = load i32, ptr %rest_field, align 8
  %wide = zext i32 %rest to i64
  %whole = mul i64 %seconds, 1000000000
  %age = add i64 %whole, %wide
  %first = shl i64 %index, 4
  %size_place = getelementptr i8, ptr %numbers, i64 %first
  %age_place = getelementptr i8, ptr %size_place, i64 8
  store i64 %size, ptr %size_place, align 8
  store i64 %age, ptr %age_place, align 8
  %length = call i64 @strlen(ptr %name)
  %end_of_name = getelementptr i8, ptr %name, i64 %length
  %next_name = getelementptr i8, ptr %end_of_name, i64 1
  %following = add i64 %index, 1
  br label %next
end:
  ret i64 %index
}
"""


def native_look() -> Look | None:
    """A `Look` by machine code; None where there is none yet, or none for this system."""
    return None if _loaded() is None else _sizes_and_ages


def keep(cache: ObjectCache, processor: Processor, compiler: Compiler) -> None:
    """Leave the code for later processes, where it is of use and not there."""
    key = _key(processor)
    if _has_statx() and not cache.has(key):
        try:
            content = compiler.compile(TEXT, is_glue=True, optimise=False)
            cache.store(key, written(loader.prelinked([content])), processor.name)
        except (NativeError, NotLinkedError):  # Python goes on looking
            return


def _sizes_and_ages(package: str, names: bytes, count: int) -> array[int] | None:
    loaded = _loaded()
    assert loaded is not None
    numbers = array("q", bytes(16 * count))
    try:
        folder = os.open(package, os.O_RDONLY)
    except OSError:
        return None
    try:
        asked = loaded[0](folder, names, count, numbers.buffer_info()[0])
    finally:
        os.close(folder)
    return numbers if asked == count else None


@cache
def _loaded() -> tuple[Any, loader.Image] | None:
    """The function, and the memory that it lies in."""
    entries = object_cache() if _has_statx() and is_installed() else None
    try:
        processor = None if entries is None else chosen_processor()
    except ProcessorError:  # who asks for the engine is told
        return None
    content = None if entries is None or processor is None else entries.load(_key(processor), processor.name)
    arranged = None if content is None else arranged_of(content)
    if arranged is None:
        return None
    try:
        image = loader.load(arranged, [(SYMBOL,)], [_system_function])
    except NotLinkedError:
        return None
    number, address = ctypes.c_int64, ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(number, ctypes.c_int, ctypes.c_char_p, number, address)
    return kind(image.addresses[SYMBOL]), image


def _key(processor: Processor) -> str:
    return key_of("statuses of files", llvm_version(), processor.identity, TEXT)


@cache
def _has_statx() -> bool:
    return loader.is_supported() and all(hasattr(ctypes.CDLL(None), name) for name in SYSTEM)


def _system_function(name: str) -> int | None:
    return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value if name in SYSTEM else None
