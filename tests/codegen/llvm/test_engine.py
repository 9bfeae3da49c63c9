"""The engine: LLVM's passes, the two linkers, entries of the cache, and code that LLVM refuses."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.llvm import loader
from flambeau.codegen.llvm.arranged import arranged_of, written
from flambeau.codegen.llvm.compiler import Compiler, NativeError
from flambeau.codegen.llvm.engine import engine
from flambeau.codegen.llvm.object_cache import SUFFIX, object_cache

ADD_ONE = """
define void @test_add_one(ptr noalias %a, ptr noalias %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %p = getelementptr float, ptr %a, i64 %i
  %q = getelementptr float, ptr %b, i64 %i
  %x = load float, ptr %p
  %y = fadd float %x, 1.0
  store float %y, ptr %q
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}
"""


def test_passes_make_vectors_of_loops() -> None:
    assert "x float>" in engine().optimised_ir(ADD_ONE)
    assert engine().assembly(ADD_ONE) != engine().assembly(ADD_ONE, optimise=True)


def test_optimised_code_computes_the_same() -> None:
    given, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    for optimise in (False, True):
        out[:] = 0
        code = engine().link(ADD_ONE, ("test_add_one",), {}, optimise=optimise)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        function(code.addresses["test_add_one"])(given.ctypes.data, out.ctypes.data, 1000)
        np.testing.assert_array_equal(out, given + 1)


CONSTANTS = """
@table = private unnamed_addr constant [4 x i64] [i64 5, i64 6, i64 7, i64 8]
@names = private unnamed_addr constant [2 x ptr] [ptr @test_pick, ptr @table]
@count = internal global i64 40
@elsewhere = external global i64
declare i64 @test_callback(i64)
define i64 @test_pick(i64 %k) {
  %p = getelementptr i64, ptr @table, i64 %k
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @test_bump() {
  %before = load i64, ptr @count
  %after = add i64 %before, 1
  store i64 %after, ptr @count
  %other = load i64, ptr @elsewhere
  %sum = add i64 %after, %other
  %q = getelementptr ptr, ptr @names, i64 %other
  %function = load ptr, ptr @names
  %x = call i64 %function(i64 2)
  %y = call i64 @test_callback(i64 %x)
  %total = add i64 %sum, %y
  ret i64 %total
}
define i64 @test_switch(i64 %k) {
  switch i64 %k, label %none [i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e]
a:
  %ra = call i64 @test_callback(i64 10)
  ret i64 %ra
b:
  %rb = call i64 @test_bump()
  ret i64 %rb
c:
  ret i64 33
d:
  %rd = mul i64 %k, 7
  ret i64 %rd
e:
  %re = udiv i64 100, %k
  ret i64 %re
none:
  ret i64 -1
}
"""
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
ours = pytest.mark.skipif(not loader.is_supported(), reason="the linker of our own is for x86-64 on Linux")


@pytest.fixture(params=["ours", "LLVM's"])
def linker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "LLVM's":
        monkeypatch.setattr(loader, "is_supported", lambda: False)


@pytest.mark.usefixtures("linker")
def test_code_finds_its_constants_variables_and_functions_elsewhere() -> None:
    @FUNCTION
    def callback(value: int) -> int:
        return value * 100

    number = ctypes.c_int64(1000)
    imports = {
        "test_callback": ctypes.cast(callback, ctypes.c_void_p).value or 0,
        "elsewhere": ctypes.addressof(number),
    }
    code = engine().link(CONSTANTS, ("test_pick", "test_bump", "test_switch"), imports)
    pick, switch = (FUNCTION(code.addresses[name]) for name in ("test_pick", "test_switch"))
    bump = ctypes.CFUNCTYPE(ctypes.c_int64)(code.addresses["test_bump"])
    assert [pick(k) for k in range(4)] == [5, 6, 7, 8]
    assert [bump(), bump()] == [41 + 1000 + 700, 42 + 1000 + 700]
    assert [switch(k) for k in range(6)] == [1000, 43 + 1000 + 700, 33, 21, 25, -1]


@pytest.mark.usefixtures("linker")
def test_functions_of_c_that_llvm_calls_are_found() -> None:
    text = """
    declare double @llvm.pow.f64(double, double)
    define double @test_power(double %x) {
      %y = call double @llvm.pow.f64(double %x, double 2.5)
      ret double %y
    }"""
    code = engine().link(text, ("test_power",), {})
    power = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.addresses["test_power"])
    assert power(4.0) == 32.0


@ours
def test_memory_of_code_goes_with_its_owner() -> None:
    text = "define i64 @test_seven(i64 %x) {\n  ret i64 7\n}"
    with open("/proc/self/maps") as maps:
        before = sum(1 for _ in maps)
    for _ in range(200):
        code = engine().link(text, ("test_seven",), {})
        assert FUNCTION(code.addresses["test_seven"])(0) == 7
    del code
    gc.collect()
    with open("/proc/self/maps") as maps:
        assert sum(1 for _ in maps) < before + 50


@ours
@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"MZ" + bytes(100), bytes(64)])
def test_foreign_objects_are_refused(content: bytes) -> None:
    with pytest.raises(loader.NotLinkedError, match="this is no relocatable object for x86-64"):
        loader.link(content, (), lambda name: None)


@ours
def test_unknown_symbols_are_refused() -> None:
    text = "declare i64 @test_nowhere(i64)\ndefine i64 @test_lost(i64 %x) {\n"
    text += "  %y = call i64 @test_nowhere(i64 %x)\n  ret i64 %y\n}"
    content = Compiler(engine().processor).compile(text, is_glue=False, optimise=False)
    with pytest.raises(loader.NotLinkedError, match="symbol test_nowhere is not defined"):
        loader.link(content, ("test_lost",), lambda name: None)
    with pytest.raises(loader.NotLinkedError, match="there is no symbol test_found"):
        loader.link(content, ("test_found",), lambda name: 8)
    with pytest.raises(NativeError, match="LLVM refused a module"):
        engine().link(text, ("test_lost",), {})


@pytest.mark.parametrize(
    "text",
    ["define i64 @test_broken(", "define i64 @test_broken(i64 %x) {\n  ret i32 %x\n}", "nonsense"],
)
def test_what_llvm_refuses_is_an_error_of_its_own(text: str) -> None:
    with pytest.raises(NativeError, match="LLVM refused a module: LLVM IR parsing error"):
        engine().link(text, ("test_broken",), {})
    with pytest.raises(KernelError):
        engine().assembly(text)


def test_a_kernel_that_llvm_refuses_is_interpreted_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Compiler, text: str, **_: bool) -> bytes:
        raise NativeError("LLVM refused a module: cannot select")

    monkeypatch.setattr(Compiler, "compile", refuse)
    monkeypatch.setenv("FLAMBEAU_CACHE", "off")
    unit = flambeau.CompilationUnit("def f(x):\n    return flambeau.tanh(x) * 3.25 + 1.125\n")
    x = flambeau.tensor([0.5, -2.0, 1.0])
    with pytest.warns(RuntimeWarning, match="could not be made: LLVM refused a module.* please report this"):
        first = unit.f(x)
    assert first.tolist() == unit.f(x).tolist() == (flambeau.tanh(x) * 3.25 + 1.125).tolist()
    assert "interpreted: LLVM refused a module: cannot select" in str(unit.f.explain())


def test_a_damaged_entry_is_compiled_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    text = "define i64 @test_nine(i64 %x) {\n  ret i64 9\n}"
    assert not engine().link(text, ("test_nine",), {}).is_from_cache
    assert engine().link(text, ("test_nine",), {}).is_from_cache
    entries = object_cache()
    assert entries is not None
    for place in Path(entries.path).glob("*.object"):
        place.write_bytes(place.read_bytes()[:-3])
    code = engine().link(text, ("test_nine",), {})
    assert not code.is_from_cache
    assert FUNCTION(code.addresses["test_nine"])(0) == 9
    assert engine().link(text, ("test_nine",), {}).is_from_cache
    assert not engine().link(text, ("test_nine",), {}, is_glue=True).is_from_cache


def test_explain_says_what_came_from_the_cache() -> None:
    def once() -> str:
        unit = flambeau.CompilationUnit("def f(x):\n    return flambeau.exp(x) * 7.0625 - 3.0\n")
        unit.f(flambeau.ones(3))
        return str(unit.f.explain())

    assert "from cache" not in once()
    gc.collect()
    assert "1 variant(s), 1 from cache" in once()


WARM = """
import sys, flambeau
unit = flambeau.CompilationUnit("def f(x):\\n    return flambeau.exp(x) * 2.5 - 3.0\\n")
unit.f(flambeau.ones(3))
print(str(unit.f.explain()).count("native, 1 variant"), "llvmlite.binding" in sys.modules)
"""


@ours
def test_a_second_process_does_not_load_llvm(tmp_path: Path) -> None:
    environment = {**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", WARM], env=environment, capture_output=True, text=True, check=True)
        said.append(done.stdout.strip())
    assert said == ["1 True", "1 False"]


LATER = """
import sys
from flambeau.codegen.llvm.engine import engine, leave_glue
text = "define i64 @test_ten(i64 %x) {\\n  %y = add i64 %x, 10\\n  ret i64 %y\\n}"
print(engine().link(text, ("test_ten",), {}, is_glue=True, optimise=True).is_from_cache)
"""


@pytest.mark.parametrize(("end", "said"), [("", ["False\n", "True\n"]), ("leave_glue()", ["False\n", "False\n"])])
def test_code_of_every_process_is_compiled_well_for_the_next_one(tmp_path: Path, end: str, said: list[str]) -> None:
    environment = {**os.environ, "FLAMBEAU_CACHE_DIR": str(tmp_path), "FLAMBEAU_OPT": "2"}
    command = [sys.executable, "-c", LATER + end]
    for expected in said:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == expected


def test_a_text_is_written_once_for_what_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    written = []

    def write() -> str:
        written.append(1)
        return ADD_ONE

    given, out = np.arange(9, dtype=np.float32), np.zeros(9, np.float32)
    for is_from_cache in (False, True):
        out[:] = 0
        code = engine().link_written("add one", ("test_add_one",), write, {})
        assert code.is_from_cache is is_from_cache
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        function(code.addresses["test_add_one"])(given.ctypes.data, out.ctypes.data, 9)
        np.testing.assert_array_equal(out, given + 1)
    assert len(written) == 1
    assert engine().has_written("add one")
    assert not engine().has_written("nothing")
    for path in list(tmp_path.rglob(f"*{SUFFIX}")):  # the object, and how it lies in memory: either is enough
        content = path.read_bytes()
        path.unlink()
        assert engine().link_written("add one", ("test_add_one",), write, {}).is_from_cache
        path.write_bytes(content)
        path.chmod(0o600)
    for path in tmp_path.rglob(f"*{SUFFIX}"):
        path.write_bytes(b"damaged")
    assert not engine().link_written("add one", ("test_add_one",), write, {}).is_from_cache
    assert len(written) == 2
    written.pop()
    engine().link_written("something else", ("test_add_one",), write, {})
    monkeypatch.setenv("FLAMBEAU_CACHE", "off")
    engine().link_written("add one", ("test_add_one",), write, {})
    assert len(written) == 3


USES = """
@seen = internal global i64 5
declare i64 @labs(i64)
define i64 @test_use(i64 %n) {
  %was = load i64, ptr @seen
  store i64 %n, ptr @seen
  %size = call i64 @labs(i64 %n)
  %sum = add i64 %size, %was
  ret i64 %sum
}
"""


def entry_of_uses() -> int:
    """What `test_use(-3)` gives, of an entry that lies in the cache after the first call."""
    imports = {"labs": ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p).value or 0}

    def link() -> int:
        code = engine().link_entry(
            "uses", ("test_use",), lambda: (USES, ["labs"]), lambda names: {n: imports[n] for n in names},
            optimise=False, is_glue=False,
        )  # fmt: skip
        function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.addresses["test_use"])
        assert function(-3) == 8
        return int(function(2))

    return link()


def test_entries_are_arranged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    assert entry_of_uses() == -1
    before = set(tmp_path.rglob("*.object"))
    assert entry_of_uses() == -1
    (arranged,) = set(tmp_path.rglob("*.object")) - before

    def refuse(contents: object) -> None:
        raise AssertionError("an object was arranged again")

    with monkeypatch.context() as patch:
        patch.setattr(loader, "prelinked", refuse)
        assert entry_of_uses() == -1
    arranged.write_bytes(arranged.read_bytes()[:-3])
    assert entry_of_uses() == -1
    arranged.chmod(0o666)
    assert entry_of_uses() == -1


def test_what_is_arranged_lies_in_memory_as_the_object_does() -> None:
    key = engine().link(USES, ("test_use",), {}).key
    arranged = engine().arranged(key)
    assert arranged is not None
    again = arranged_of(written(arranged))
    assert again == arranged
    assert arranged_of(written(arranged)[:40]) is None
    code = engine().link_arranged(key, again, ("test_use",), {})
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.addresses["test_use"])(-4) == 9
    with pytest.raises(NativeError, match="there is no symbol test_other"):
        engine().link_arranged(key, again, ("test_other",), {})
    assert engine().arranged("0" * 64) is None


def test_one_file_has_all_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path))
    assert entry_of_uses() == entry_of_uses() == -1
    single = set(tmp_path.rglob("*.object"))
    cache = object_cache()
    assert cache is not None
    engine()._shared_entries(cache)._keep()  # as when the process ends
    (shared,) = set(tmp_path.rglob("*.object")) - single
    for file in single:
        file.unlink()

    def refuse(*_: object, **options: object) -> None:
        raise AssertionError("it is made again")

    monkeypatch.setattr(Compiler, "compile", refuse)
    engine()._shared.clear()  # as in another process
    assert entry_of_uses() == -1
    shared.write_bytes(shared.read_bytes()[:-3])
    engine()._shared.clear()
    with pytest.raises(AssertionError, match="made again"):
        entry_of_uses()
