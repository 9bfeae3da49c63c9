"""What LLVM is told while code of ours is made holds for nobody else."""

import threading
from types import SimpleNamespace

import pytest

from flambeau.codegen.llvm.compiler import Compiler, NativeError
from flambeau.codegen.llvm.host import chosen_processor
from flambeau.codegen.llvm.llvm_switches import LOADS_EACH_TIME, without_strength_reduction

llvm = pytest.importorskip("llvmlite.binding")

SUMS = """
define double @sums(ptr %x, i64 %n, i64 %step) {
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %sum = phi double [0.0, %entry], [%more, %body]
  %goes_on = icmp slt i64 %k, %n
  br i1 %goes_on, label %body, label %after
body:
  %distance = mul i64 %k, %step
  %address = getelementptr double, ptr %x, i64 %distance
  %value = load double, ptr %address
  %more = fadd double %sum, %value
  %next = add nsw i64 %k, 1
  br label %head
after:
  ret double %sum
}
"""
"""A loop whose multiplication the reduction of strengths makes an addition."""

NEIGHBOURS = """
define i64 @product(ptr %x, i64 %n) {
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %head]
  %product = phi i64 [1, %entry], [%more, %head]
  %next = add nuw nsw i64 %k, 1
  %here = getelementptr i8, ptr %x, i64 %k
  %there = getelementptr i8, ptr %x, i64 %next
  %a = load i8, ptr %here
  %b = load i8, ptr %there
  %c = udiv i8 %a, %b
  %d = zext i8 %c to i64
  %e = mul i64 %product, 31
  %more = add i64 %e, %d
  %goes_on = icmp slt i64 %next, %n
  br i1 %goes_on, label %head, label %after
after:
  ret i64 %more
}
"""
"""A loop whose iterations load what the one before has loaded."""


def _assembly():
    """What llvmlite makes of the loop, as Numba would ask for it."""
    module = llvm.parse_assembly(SUMS, llvm.create_context())
    machine = llvm.Target.from_triple(chosen_processor().triple).create_target_machine(opt=2)
    return machine.emit_assembly(module)


def _multiplies(assembly):
    return "imul" in assembly


def test_a_loop_is_made_as_it_is_written_unless_all_passes_ran_and_as_ever_for_others():
    compiler = Compiler(chosen_processor())
    before = _assembly()
    assert not _multiplies(before)
    with without_strength_reduction(llvm):
        assert _multiplies(_assembly())
    assert _multiplies(compiler.assembly(SUMS, optimise=False))
    reduced = compiler.assembly(SUMS, optimise=True)
    with without_strength_reduction(llvm):
        assert compiler.assembly(SUMS, optimise=True) != reduced
    assert _assembly() == before
    compiler.compile(SUMS, is_glue=False, optimise=True)
    assert _assembly() == before


def test_a_text_may_ask_for_loads_in_each_iteration():
    compiler = Compiler(chosen_processor())
    before = compiler.optimised_ir(NEIGHBOURS)
    assert before.count("load i8") < compiler.optimised_ir(f"{LOADS_EACH_TIME}\n{NEIGHBOURS}").count("load i8")
    assert compiler.optimised_ir(NEIGHBOURS) == before


def test_a_refused_module_leaves_nothing_switched():
    compiler = Compiler(chosen_processor())
    before = _assembly()
    with pytest.raises(NativeError, match="LLVM refused a module"):
        compiler.compile("define nothing", is_glue=False, optimise=False)
    with pytest.raises(ZeroDivisionError), without_strength_reduction(llvm):
        print(1 // 0)
    assert _assembly() == before


def test_others_wait_meanwhile():
    before, answers = _assembly(), []
    thread = threading.Thread(target=lambda: answers.append(_assembly()))
    with without_strength_reduction(llvm):
        thread.start()
        thread.join(0.05)
        assert not answers
    thread.join()
    assert answers == [before]


def test_without_a_lock_nothing_is_switched() :
    """Where llvmlite keeps its lock elsewhere, others could be in LLVM meanwhile."""
    asked = []
    other = SimpleNamespace(ffi=SimpleNamespace(lib=object()), set_option=lambda *option: asked.append(option))
    with without_strength_reduction(other):
        pass
    assert asked == []
