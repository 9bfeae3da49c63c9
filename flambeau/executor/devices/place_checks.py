"""Places that an operator over arrays is given, looked at by a kernel: the host waits for none of them.

A kernel goes over the places, and writes to a word of the host's where one lies outside (`flambeau.cuda.late_errors`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.cuda import ptx
from flambeau.codegen.cuda.runtime import architecture_for
from flambeau.codegen.llvm.abi import OUTSIDE
from flambeau.cuda import capturing, late_errors, library
from flambeau.util.inversions import PLACES_ON_DEVICE
from flambeau.util.locks import Lock

THREADS: Final = 256
MOST_BLOCKS: Final = 528
TEXT: Final = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()

define ptx_kernel void @flambeau_places_TYPE(GIVEN) #0 {
entry:
  %t32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b32 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n32 = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %t = zext i32 %t32 to i64
  %b = zext i32 %b32 to i64
  %n = zext i32 %n32 to i64
  %base = mul i64 %b, THREADS
  %first = add i64 %base, %t
  %step = mul i64 %n, THREADS
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %after ]
  %goes = icmp slt i64 %i, %count
  br i1 %goes, label %iteration, label %end
iteration:
  %at = getelementptr TYPE, ptr addrspace(1) %places, i64 %i
  %read = load TYPE, ptr addrspace(1) %at
  %place = WIDER
  %below = icmp slt i64 %place, %low
  %above = icmp sge i64 %place, %high
  %outside = or i1 %below, %above
  br i1 %outside, label %tell, label %after
tell:
  store i32 OUTSIDE, ptr addrspace(1) %word
  br label %after
after:
  %next = add i64 %i, %step
  br label %head
end:
  ret void
}
attributes #0 = { nounwind "nvvm.reqntid"="THREADS" }
"""
GIVEN: Final = "ptr addrspace(1) %places, i64 %count, i64 %low, i64 %high, ptr addrspace(1) %word"
ERROR: Final = "index out of range in self, expected {low} <= index < {high}"
_WIDER: Final = {"i64": "add i64 %read, 0", "i32": "sext i32 %read to i64"}
_modules: dict[tuple[int, int, str], Any] = {}
"""Loaded modules by library, device and element type."""
_lock: Final = Lock()


def _text(kind: str) -> str:
    text = TEXT.replace("GIVEN", GIVEN).replace("WIDER", _WIDER[kind]).replace("TYPE", kind)
    return text.replace("THREADS", str(THREADS)).replace("OUTSIDE", str(OUTSIDE))


def _module(kind: str) -> Any:
    """The kernel for one element type on the device in use."""
    cuda = library.cupy().cuda
    device = cuda.Device()
    key = (library.which(), int(device.id), kind)
    with _lock:
        if key not in _modules:
            module = cuda.Module()
            module.load(ptx.to_ptx(_text(kind), architecture_for(device.compute_capability)).encode())
            _modules[key] = module
        return _modules[key]


@PLACES_ON_DEVICE.provide
def look_at(indices: Any, low: int, high: int, operator: str) -> bool:
    """Have the device look whether indices lie within `low <= index < high`; whether it can.

    Args:
        indices: an array of the device's library, with elements.
        low: the first index that there is.
        high: the first one behind all.
        operator: who asks, for the error.
    """
    kind = {np.dtype(np.int64): "i64", np.dtype(np.int32): "i32"}.get(indices.dtype)
    if kind is None or low >= high or not available():
        return False
    indices = library.cupy().ascontiguousarray(indices)
    module = _module(kind)
    error_of = late_errors.at_this_line(IndexError, operator.rpartition("::")[2], ERROR.format(low=low, high=high))
    word = late_errors.word(error_of)
    capturing.keep(int(library.cupy().cuda.runtime.getDevice()), module)
    blocks = min(-(-indices.size // THREADS), MOST_BLOCKS)
    numbers = [np.int64(indices.size), np.int64(low), np.int64(high), np.uint64(word)]
    module.get_function(f"flambeau_places_{kind}")((blocks,), (THREADS,), (indices, *numbers))
    late_errors.given()
    return True
