"""`flambeau._C._te`: loop nests under the names that TorchScript's users know."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.te import ScheduleError

_te = flambeau._C._te


def test_a_product_is_scheduled_and_called() -> None:
    n = _te.VarHandle("n", flambeau.int32)
    A = _te.BufHandle("A", [n, _te.ExprHandle.int(8)], flambeau.float32)
    B = _te.Placeholder("B", flambeau.float32, [_te.ExprHandle.int(8), 6])
    C = _te.Reduce("C", [n, 6], _te.Sum(), lambda i, j, k: A.load(i, k) * B.load([k, j]), [8])
    nest = _te.LoopNest([C])
    i, j, k = nest.get_loops_for(C)
    nest.reorder_axis(j, k)
    inner = nest.split_with_mask(j, 4)
    nest.vectorize(inner)
    main, rest = nest.split_with_tail(i, 4)
    assert rest is not None
    nest.unroll(main)
    code = _te.construct_codegen("llvm", nest.simplify().root_stmt(), [A, B, C])
    a, b = flambeau.randn(5, 8), flambeau.randn(8, 6)
    c = flambeau.zeros(5, 6)
    code.call([a, b, c])
    np.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-4, atol=1e-5)
    assert code.get_code_text() == str(nest)
    assert "flambeau_nest" in code.get_code_text("llvm_ir")
    assert code.get_code_text("asm")


def test_other_steps() -> None:
    X = _te.BufHandle("X", [4, 8], "float")
    Y = _te.Compute("Y", [4, 8], lambda i, j: _te.ifThenElse(X.load(i, j) > 0, X.load(i, j), _te.ExprHandle.float(0)))
    Z = _te.Compute("Z", [4, 8], lambda i, j: Y.load(i, j) * 2)
    S = _te.Reduce("S", [4], _te.Maximum(0), Z, [8])
    nest = _te.LoopNest([S])
    nest.compute_inline(Z)
    row, column = nest.get_loops_for(S)
    nest.compute_at(Y, row)
    nest.cache_accesses(X, "X_row", row)
    nest.rfactor(S, column)
    nest.set_parallel(row)
    head, _ = nest.slice_head(nest.get_loops_for(S)[-1], 2)
    assert str(head.extent) == "2"
    nest.prepare_for_codegen()
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    for name in ("llvm", "ir_eval"):
        s = np.zeros(4, np.float32)
        _te.construct_codegen(name, nest, [X, S]).call([x, s])
        np.testing.assert_allclose(s, np.maximum(x, 0).max(1) * 2, rtol=1e-6)


def test_nests_for_devices_have_one_index_of_each_kind() -> None:
    X = _te.BufHandle("X", [4, 32], "float")
    Y = _te.Compute("Y", [4, 32], lambda i, j: X.load(i, j) + 1)
    nest = _te.LoopNest([Y])
    i, j = nest.get_loops_for(Y)
    with pytest.raises(ScheduleError, match="blocks have one index here, 0; got 1: flatten the loops"):
        nest.set_gpu_block_index(i, 1)
    nest.set_gpu_block_index(i, 0)
    nest.set_gpu_thread_index(j, 0)
    assert ".entry" in _te.construct_codegen("cuda", nest, [X, Y]).get_code_text("ptx")


def test_what_there_is_not() -> None:
    with pytest.raises(ScheduleError, match="no reduction is called 'mean'"):
        _te.Reducer("mean")
    X = _te.BufHandle("X", [4], "float")
    nest = _te.LoopNest([_te.Compute("Y", [4], lambda i: X.load(i) + 1)])
    with pytest.raises(ScheduleError, match="no backend is called 'block'; write one of 'llvm', 'cuda', 'ir_eval'"):
        _te.construct_codegen("block", nest, [X])


def test_kernels_of_graphs_show_their_nests() -> None:
    text = "graph(%x : Float(*)):\n  %y : Float(*) = aten::relu(%x)\n  return (%y)"
    kernel = _te.TensorExprKernel(flambeau._C.parse_ir(text))
    assert kernel.run([flambeau.tensor([-1.0, 2.0])]).tolist() == [0.0, 2.0]
    assert kernel.run([np.float32([-1, 3])]).tolist() == [0.0, 3.0]
    assert "%2: float32 = maximum %0, %1" in kernel.get_codegen_stmt()
    assert "define" in kernel.get_code_text()
    assert kernel.get_code_text("asm")


def test_sizes_with_names_and_dtypes() -> None:
    X = _te.Placeholder("X", _te.Dtype.Double, [4, 3])
    Y = _te.Compute("Y", [_te.DimArg(4, "row"), _te.DimArg(_te.ExprHandle.int(3), "column")], lambda i, j: X.load(i, j))
    nest = _te.LoopNest([Y])
    [inner] = nest.get_innermost_loops_for(Y.buf())
    outer = nest.get_parent_loop(inner)
    assert outer is not None
    assert [outer.name, inner.name, nest.get_parent_loop(outer)] == ["i", "j", None]
    x, y = np.arange(12.0).reshape(4, 3), np.zeros((4, 3))
    _te.construct_codegen("llvm", nest, [X, Y]).call([x, y])
    np.testing.assert_array_equal(x, y)


def test_it_is_a_module() -> None:
    import flambeau._C._te as module

    assert module is _te
    assert str(_te.simplify(_te.VarHandle("i") + 1 - 1)) == "i"
