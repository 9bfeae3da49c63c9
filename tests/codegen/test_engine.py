"""The engine: LLVM's passes where they are asked for, and what it says of code that LLVM refuses."""

from __future__ import annotations

import ctypes

import numpy as np

from flambeau.codegen.llvm.engine import engine

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
