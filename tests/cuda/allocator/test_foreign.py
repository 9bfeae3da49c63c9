"""Other allocators in place of flambeau's, and what they are told."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau.cuda import CUDAPluggableAllocator, CupyAllocator, Stream, change_current_allocator, get_allocator_backend
from flambeau.cuda.allocator import foreign
from tests.cuda.pretended.arena import arena
from tests.cuda.pretended.engine import engine


class Recorded:
    """Memory straight from the runtime, and a list of calls."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime
        self.calls: list[tuple[Any, ...]] = []

    def allocate(self, nbytes: int, device: int, stream: int) -> int:
        assert self.runtime.getDevice() == device
        self.calls.append(("allocate", nbytes, device, stream))
        return int(self.runtime.malloc(nbytes))

    def free(self, address: int, nbytes: int, device: int, stream: int) -> None:
        assert self.runtime.getDevice() == device
        self.calls.append(("free", nbytes, device, stream))
        self.runtime.free(address)


def test_an_object_of_two_methods(pretended_cuda: Any) -> None:
    own = Recorded(pretended_cuda.cuda.runtime)
    kept = flambeau.ones(4, device="cuda")
    change_current_allocator(own)
    assert get_allocator_backend() == "pluggable"
    x = flambeau.ones(10, device="cuda")
    y = flambeau.ones(10, device="cuda:1")
    assert (x * 2).tolist() == [2] * 10
    del x, y, kept
    assert own.calls[0] == ("allocate", 40, 0, 0)
    assert ("free", 40, 1, 0) in own.calls
    assert sum(c[0] == "free" for c in own.calls) == sum(c[0] == "allocate" for c in own.calls)
    change_current_allocator(None)
    assert get_allocator_backend() == "native"
    with pytest.raises(TypeError, match=r"got int; write CupyAllocator\(function\)"):
        change_current_allocator(3)  # type: ignore[arg-type]


def test_pools_of_cupy(pretended_cuda: Any) -> None:
    pool = pretended_cuda.cuda.MemoryPool()
    change_current_allocator(CupyAllocator(pool.malloc))
    x = flambeau.ones(1000, device="cuda")
    assert pool.used_bytes() == 4096
    del x
    assert pool.used_bytes() == 0
    assert pool.free_bytes() >= 4096


def test_blocks_that_other_streams_use(pretended_cuda: Any) -> None:
    own = Recorded(pretended_cuda.cuda.runtime)
    change_current_allocator(own)
    side = Stream()
    with engine.later(advances=False):
        x = flambeau.ones(40, device="cuda")
        with flambeau.cuda.stream(side):
            y = x * 2
        x.record_stream(side)
        own.calls.clear()
        del x
        foreign.free_passed()
        assert ("free", 160, 0, 0) not in own.calls
        side.synchronize()
        foreign.free_passed()
        assert ("free", 160, 0, 0) in own.calls
    assert y.tolist() == [2] * 40
    del y
    foreign.free_passed()


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_functions_of_a_shared_library(pretended_cuda: Any, tmp_path: Path) -> None:
    source = tmp_path / "own.c"
    source.write_text(
        "#include <sys/types.h>\n"
        "static char* next; int freed;\n"
        "void give(char* memory) { next = memory; }\n"
        "void* take(ssize_t size, int device, void* stream) { char* r = next; next = 0; return r; }\n"
        "void back(void* p, ssize_t size, int device, void* stream) { freed += size; }\n"
    )
    library = tmp_path / "own.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    own = CUDAPluggableAllocator(str(library), "take", "back")
    import ctypes

    loaded = ctypes.CDLL(str(library))
    address = arena.allocate(4096, 0)
    loaded.give(ctypes.c_void_p(address))
    change_current_allocator(own)
    x = flambeau.empty(100, device="cuda")
    assert x.data_ptr() == address
    del x
    assert ctypes.c_int.in_dll(loaded, "freed").value == 400
    with pytest.raises(MemoryError, match="the allocator gave no memory for 4 bytes on cuda:0"):
        flambeau.empty(1, device="cuda")
    arena.free(address)
