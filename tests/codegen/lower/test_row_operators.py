"""Row operators as kernels: what they compute against the operators' own kernels, what is left to the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import KernelError, parse_kernel, print_kernel
from flambeau.codegen.lower import LoweringError, lower_graph
from tests.codegen.lower.test_lower import graph, interpret

EPS = "%e : float = prim::Constant[value=1e-05]()\n"
ALONE = "%x : Float(*, *, *)"
PARAMETERS = ALONE + ", %w : Float(*), %c : Float(*), %m : Float(*), %v : Float(*)"
FORMS = {
    "batch_norm": (PARAMETERS, EPS + "%b : Tensor = aten::batch_norm(%x, %w, %c, %m, %v, %false, %e, %e, %false)"),
    "batch_norm, plain": (
        ALONE + ", %m : Float(*), %v : Float(*)",
        EPS + "%b : Tensor = aten::batch_norm(%x, %none, %none, %m, %v, %false, %e, %e, %false)",
    ),
    "batch_norm of the batch": (
        ALONE + ", %w : Float(*), %c : Float(*)",
        EPS + "%b : Tensor = aten::batch_norm(%x, %w, %c, %none, %none, %true, %e, %e, %false)",
    ),
    "rms_norm": (ALONE, """
        %s : int[] = prim::Constant[value=[6]]()
        %b : Tensor = aten::rms_norm(%x, %s, %none, %none)"""),
    "logsumexp": (ALONE, "%b : Tensor = aten::logsumexp(%x, %dims, %false)"),
    "logsumexp, kept": (ALONE, "%b : Tensor = aten::logsumexp(%x, %both, %true)"),
    "norm": (ALONE, "%b : Tensor = aten::norm(%x, %two, %both, %false)"),
    "norm of all": (ALONE, "%b : Tensor = aten::norm(%x, %one)"),
    "norm, largest": (ALONE, """
        %i : float = prim::Constant[value=inf]()
        %b : Tensor = aten::linalg_vector_norm(%x, %i, %dims, %true, %none)"""),
    "max": (ALONE, "%b : Tensor, %i : Tensor = aten::max(%x, %one, %false)"),
    "min, kept": (ALONE, "%b : Tensor, %i : Tensor = aten::min(%x, %zero, %true)"),
    "var_mean": (ALONE, "%b : Tensor, %i : Tensor = aten::var_mean(%x, %dims, %false, %true)"),
    "var_mean of all": (ALONE, "%b : Tensor, %i : Tensor = aten::var_mean(%x, %false)"),
    "std_mean": (ALONE, "%b : Tensor, %i : Tensor = aten::std_mean(%x, %both, %false, %false)"),
    "norm, count": (ALONE, "%b : Tensor = aten::linalg_vector_norm(%x, %zero, %dims, %false, %none)"),
}  # fmt: skip


def numbers(*sizes: int) -> np.ndarray:
    return np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(np.float32)


@pytest.mark.parametrize("name", list(FORMS))
@pytest.mark.parametrize("shape", [(2, 3, 6), (40, 70, 6), (1, 1, 6)])
def test_row_operator(name: str, shape: tuple[int, int, int]) -> None:
    g = graph(*FORMS[name], "%b, %i" if "%i : Tensor" in FORMS[name][1] else "%b")
    vectors = [np.abs(numbers(shape[1])) + 0.5 for _ in g.parameters[1:]]
    arrays = [numbers(*shape), *vectors]
    lowered = lower_graph(g)
    compiled = backend.compile_lowered(lowered)
    turned = np.ascontiguousarray(arrays[0].transpose(2, 0, 1)).transpose(1, 2, 0)
    results = [compiled(*arrays), compiled(turned, *arrays[1:])]
    if shape[0] < 40:
        results.append(reference.run(lowered.kernel, *arrays))
    for got in results:
        for mine, want in zip(got if isinstance(got, tuple) else (got,), interpret(g, *arrays), strict=True):
            assert (mine.dtype, mine.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(mine, want, rtol=3e-5, atol=2e-5)


@pytest.mark.parametrize("row", [[np.inf, 1.0], [-np.inf, -np.inf], [np.nan, 0.0], [1e30, 1e30], [np.inf, -np.inf]])
def test_logsumexp_of_special_values(row: list[float]) -> None:
    g = graph("%x : Float(*, *)", "%b : Tensor = aten::logsumexp(%x, %dims, %false)", "%b")
    x = np.array([row], np.float32)
    np.testing.assert_allclose(backend.compile_graph(g)(x), interpret(g, x)[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "wrong"), [("[6]", (5,)), ("[5]", (6,)), ("[6]", (1,))], ids=["weight", "input", "weight of one"]
)
def test_sizes_that_do_not_fit(sizes: str, wrong: tuple[int, ...]) -> None:
    g = graph("%x : Float(*, *), %w : Float(*)", f"""
        %s : int[] = prim::Constant[value={sizes}]()
        {EPS}%b : Tensor = aten::layer_norm(%x, %s, %w, %none, %e, %true)""", "%b")  # fmt: skip
    with pytest.raises(KernelError):
        backend.compile_graph(g)(numbers(3, 6), numbers(*wrong))


def test_moved_statistics_are_refused() -> None:
    g = graph(PARAMETERS, EPS + "%b : Tensor = aten::batch_norm(%x, %w, %c, %m, %v, %true, %e, %e, %false)", "%b")
    with pytest.raises(LoweringError, match="moves running statistics"):
        lower_graph(g)


def test_a_weight_per_channel_does_not_broadcast() -> None:
    g = graph(*FORMS["batch_norm"], "%b")
    ones = [np.ones(1, np.float32)] * 4
    with pytest.raises(KernelError, match="a value of size 1"):
        backend.compile_graph(g)(numbers(2, 3, 6), *ones)


SCANS = {
    "cumsum": ("%x : Float(*, *)", "%b : Tensor = aten::cumsum(%x, %one, %none)"),
    "cumsum down": ("%x : Float(*, *)", "%b : Tensor = aten::cumsum(%x, %zero, %none)"),
    "cumprod": ("%x : Double(*, *)", "%b : Tensor = aten::cumprod(%x, %one, %none)"),
    "of integers": ("%x : Int(*, *)", "%b : Tensor = aten::cumsum(%x, %last, %none)"),
    "fused": ("%x : Float(*, *)", """
        %a : Tensor = aten::mul(%x, %two)
        %c : Tensor = aten::cumsum(%a, %one, %none)
        %b : Tensor = aten::softmax(%c, %one, %none)"""),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SCANS))
@pytest.mark.parametrize("shape", [(3, 5), (30, 64), (2, 1), (5, 1000), (1, 40_000), (0, 4)])
def test_scan(name: str, shape: tuple[int, int]) -> None:
    g = graph(*SCANS[name], "%b")
    x = (numbers(*shape) * 3 if name != "cumprod" else 1 + numbers(*shape) / 50).astype(
        g.parameters[0].static_type.dtype.numpy
    )
    want = interpret(g, x)[0]
    lowered = lower_graph(g)
    assert parse_kernel(print_kernel(lowered.kernel)) == lowered.kernel
    results = [backend.compile_lowered(lowered)(x), backend.compile_lowered(lowered)(np.asfortranarray(x))]
    if x.size < 100:
        results += reference.run(lowered.kernel, x)
    for got in results:
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_scan_of_special_values() -> None:
    g = graph("%x : Float(*)", "%b : Tensor = aten::cumsum(%x, %zero, %none)", "%b")
    x = np.ones(40, np.float32)
    x[[7, 9, 20]] = np.inf, -np.inf, np.nan
    np.testing.assert_array_equal(backend.compile_graph(g)(x), interpret(g, x)[0])


NAMED = """%o : int = prim::Constant[value=-1]()
    %k : int = aten::size(%x, %o)
    %l : int[] = prim::ListConstruct({sizes})
    %b : Tensor = aten::layer_norm(%x, %l, %w, %none, %e, %false)"""


def test_sizes_that_a_call_names() -> None:
    x, w = numbers(5, 7, 6), numbers(6)
    own = graph(ALONE + ", %w : Float(*)", EPS + NAMED.format(sizes="%k"), "%b")
    compiled = backend.compile_lowered(lower_graph(own))
    off = x - x.mean(-1, keepdims=True)
    np.testing.assert_allclose(
        compiled(x, w), off / np.sqrt((off**2).mean(-1, keepdims=True) + 1e-5) * w, rtol=1e-4, atol=1e-6
    )
    with pytest.raises(KernelError):
        compiled(x, numbers(1))
    given = graph(ALONE + ", %n : int, %w : Float(*)", EPS + NAMED.format(sizes="%n"), "%b")
    lowered = lower_graph(given)
    compiled = backend.compile_lowered(lowered)
    want = backend.compile_lowered(lower_graph(own))(x, w)
    np.testing.assert_allclose(compiled(x, 6, w), want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        reference.run(lowered.kernel, x, np.int64(6), w)[0], compiled(x, 6, w), rtol=1e-4, atol=1e-6
    )
    with pytest.raises(ZeroDivisionError):
        compiled(x, 5, w)
    other = graph(ALONE + ", %w : Float(*)", EPS + NAMED.format(sizes="%k").replace("%o)", "%zero)"), "%b")
    with pytest.raises(LoweringError, match="another dimension"):
        lower_graph(other)
