"""Products on devices give cuBLAS what it needs: a stand-in computes what it was told to, column by column."""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor
from flambeau.cuda.cublas import binding

R = flambeau.randn


def matrices(address: int, way: int, rows: int, columns: int, leading: int, step: int, count: int) -> Any:
    """What cuBLAS reads: column-major matrices of the size behind the transposition."""
    from tests.cuda.pretended.arena import arena

    stored = (columns, rows) if way else (rows, columns)
    assert leading >= max(1, stored[0])
    reach = (count - 1) * step + (stored[1] - 1) * leading + stored[0]
    arena.check(address, reach * 4)
    flat = np.frombuffer((ctypes.c_float * reach).from_address(arena.on_host(address)), np.float32)
    found = np.lib.stride_tricks.as_strided(flat, (count, *stored), (4 * step, 4, 4 * leading))
    return found.swapaxes(1, 2) if way else found


@pytest.fixture
def pretended_cublas(pretended_cuda: Any, monkeypatch: Any) -> list[str]:
    """The names of the functions called."""
    called: list[str] = []

    def call(function: str, *given: Any) -> None:
        called.append(function)
        for kind_of, value in zip(binding.ARGUMENTS[function], given, strict=True):
            kind_of.from_param(value)  # as the library's function would
        _, way, other, m, n, k, alpha, a, kind, lda, *rest = given
        assert kind == binding.DTYPES["float32"]
        if function == "cublasGemmEx":
            b, _, ldb, beta, c, _, ldc, *ends = rest
            steps, count = (0, 0, 0), 1
        else:
            sa, b, _, ldb, sb, beta, c, _, ldc, sc, count, *ends = rest
            steps = (sa, sb, sc)
        assert ends == [binding.computed_in("float32"), -1]
        left = matrices(a, way, m, k, lda, steps[0], count)
        right = matrices(b, other, k, n, ldb, steps[1], count)
        target = matrices(c, 0, m, n, ldc, steps[2], count)
        before = beta._obj.value * target if beta._obj.value else 0.0
        target[...] = alpha._obj.value * (left @ right) + before

    monkeypatch.setattr(binding, "is_available", lambda: True)
    monkeypatch.setattr(binding, "handle", lambda: nullcontext(0))
    monkeypatch.setattr(binding, "call", call)
    return called


def there(value: Any) -> Any:
    return value.to("cuda") if isinstance(value, Tensor) else value


CALLS: list[Any] = [
    (flambeau.mm, (R(3, 4), R(4, 5))), (flambeau.mm, (R(4, 3).t(), R(4, 5))), (flambeau.mm, (R(3, 4), R(5, 4).t())),
    (flambeau.mm, (R(4, 3).t(), R(5, 4).t())), (flambeau.mm, (R(3, 8)[:, :4], R(4, 9)[:, 2:7])),
    (flambeau.mm, (R(3, 8)[:, ::2], R(4, 5))), (flambeau.mm, (R(1, 4), R(4, 1))), (flambeau.mm, (R(3, 1), R(1, 5))),
    (flambeau.bmm, (R(2, 3, 4), R(2, 4, 5))), (flambeau.bmm, (R(3, 2, 4).transpose(0, 1), R(2, 5, 4).transpose(1, 2))),
    (flambeau.matmul, (R(2, 3, 4), R(4, 5))), (flambeau.matmul, (R(2, 1, 3, 4), R(3, 4, 5))),
    (flambeau.matmul, (R(1, 7, 2, 4).transpose(1, 2), R(1, 7, 2, 4).transpose(1, 2).transpose(2, 3))),
    (flambeau.matmul, (R(2, 7, 2, 4).transpose(1, 2), R(2, 7, 2, 4).transpose(1, 2).transpose(2, 3))),
    (F.linear, (R(2, 3, 4), R(5, 4), R(5))), (F.linear, (R(3, 4), R(5, 4))), (flambeau.addmm, (R(5), R(3, 4), R(4, 5))),
    (lambda *a: flambeau.addmm(*a, beta=0.5, alpha=2.0), (R(3, 1), R(3, 4), R(4, 5))),
    (lambda *a: flambeau.baddbmm(*a, beta=0.0, alpha=2.0), (R(2, 3, 5), R(2, 3, 4), R(2, 4, 5))),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_products(pretended_cublas: list[str], number: int) -> None:
    function, arguments = CALLS[number]
    np.testing.assert_allclose(
        function(*map(there, arguments)).cpu().numpy(), function(*arguments).numpy(), rtol=1e-5, atol=1e-5
    )
    assert len(pretended_cublas) == 1


def test_sizes_that_do_not_fit_are_refused_by_the_operator(pretended_cublas: list[str]) -> None:
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(3x4 and 5x4\)"):
        flambeau.mm(R(3, 4).to("cuda"), R(5, 4).to("cuda"))
    with pytest.raises(RuntimeError):
        F.linear(R(3, 4).to("cuda"), R(5, 4).to("cuda"), R(4).to("cuda"))
    assert pretended_cublas == []
    assert flambeau.mm(R(3, 0).to("cuda"), R(0, 2).to("cuda")).tolist() == [[0.0, 0.0]] * 3


def test_the_switch_of_tf32_says_what_products_are_computed_in(monkeypatch: Any) -> None:
    assert binding.computed_in("float32") == binding.IN_FLOAT32
    monkeypatch.setattr(flambeau.backends.cuda.matmul, "allow_tf32", True)
    assert binding.computed_in("float32") == binding.IN_TF32
    assert binding.computed_in("float64") == binding.IN_FLOAT64


def test_products_agree_on_a_card(cuda: Any) -> None:
    for function, arguments in CALLS:
        found = function(*map(there, arguments))
        np.testing.assert_allclose(found.cpu().numpy(), function(*arguments).numpy(), rtol=1e-4, atol=1e-4)


def test_handles_have_a_workspace_for_each_stream_and_capture(pretended_cuda: Any, monkeypatch: Any) -> None:
    given: list[tuple[Any, ...]] = []

    def use() -> None:
        with binding.handle():
            pass

    monkeypatch.setattr(binding, "call", lambda *arguments: given.append(arguments))
    monkeypatch.setattr(binding, "_idle", {})
    use()
    use()
    assert [name for name, *_ in given] == ["cublasCreate_v2", "cublasSetStream_v2", "cublasSetWorkspace_v2"]
    graph = flambeau.cuda.CUDAGraph()
    with flambeau.cuda.graph(graph):
        use()
        use()
    use()
    assert [name for name, *_ in given].count("cublasSetWorkspace_v2") == 3
    outside, inside, again = [a[2].value for a in given if a[0] == "cublasSetWorkspace_v2"]
    assert outside == again
    assert inside != outside
    assert len(graph._kept) == 1
    monkeypatch.setattr(flambeau.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction", False)
    use()
    use()
    assert given[-1][0::2] == ("cublasSetMathMode", binding.NO_REDUCED_SUMS)
    assert given[-2][0] != "cublasSetMathMode"


def test_handles_are_for_one_thread_at_a_time(pretended_cuda: Any, monkeypatch: Any) -> None:
    made: list[str] = []
    monkeypatch.setattr(binding, "call", lambda name, *_: made.append(name))
    monkeypatch.setattr(binding, "_idle", {})
    with binding.handle() as first, binding.handle() as second:
        assert first is not second
    with binding.handle() as again:
        assert again in (first, second)
    assert made.count("cublasCreate_v2") == 2
