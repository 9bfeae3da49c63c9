"""Stores where integers say: text, meaning, native code, order, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import backend, reference
from flambeau.codegen.kernel import KernelError, parse_kernel, print_kernel
from flambeau.codegen.kernel.nest import Load, Store
from flambeau.codegen.lower import LoweringError, lower_graph
from flambeau.codegen.scatter_schedule import changes_side_by_side
from flambeau.codegen.threads import is_supported
from flambeau.passes.fusible import DTYPES
from flambeau.tensor.tensor import wrap
from flambeau.util.record import replace
from tests.codegen.lower.test_lower import graph, interpret

TEXT = """kernel added {
  axes d0, d1, d2
  in x: float32[d0, d2]
  in i: int64[d1]
  in s: float32[d1, d2]
  out y: float32[d0, d2]
  for d0 {
    for d2 {
      %0: float32 = load x[d0, d2]
      store y[d0, d2], %0
    }
  }
  for d1 {
    %1: int64 = load i[d1]
    %2: int64 = within %1, d0
    for d2 {
      %3: float32 = load s[d1, d2]
      store y[%2, d2], add %3
    }
  }
}
"""
FORMS = {
    "scatter": "aten::scatter(%x, %dim, %i, %s)",
    "scatter with a number": "aten::scatter(%x, %dim, %i, %two)",
    "scatter_add": "aten::scatter_add(%x, %dim, %i, %s)",
    "scatter that multiplies": "aten::scatter(%x, %dim, %i, %s, %multiply)",
    "scatter_reduce sum": "aten::scatter_reduce(%x, %dim, %i, %s, %sum, %true)",
    "scatter_reduce prod": "aten::scatter_reduce(%x, %dim, %i, %s, %prod, %true)",
    "scatter_reduce amax": "aten::scatter_reduce(%x, %dim, %i, %s, %amax, %true)",
    "scatter_reduce amin": "aten::scatter_reduce(%x, %dim, %i, %s, %amin, %true)",
    "index_add": "aten::index_add(%x, %dim, %v, %s, %one)",
    "index_add of thrice": "aten::index_add(%x, %dim, %v, %s, %three)",
    "index_copy": "aten::index_copy(%x, %dim, %v, %s)",
}
WORDS = ("multiply", "sum", "prod", "amax", "amin")
NAMES = {
    "float32": "Float", "float64": "Double", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint8": "Byte", "bool": "Bool", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


def case(form: str, rank: int, dim: int, dtype: str = "float32", before: str = "", index: str = "Long") -> Any:
    """The graph of one operator on %x, an index and %s."""
    stars = ", ".join("*" * rank)
    is_vector = "%v" in FORMS[form]
    inputs = [f"%x : {NAMES[dtype]}({stars})", f"%v : {index}(*)" if is_vector else f"%i : {index}({stars})"]
    inputs += [f"%s : {NAMES[dtype]}({stars})"] if "%s" in FORMS[form] else []
    words = "\n".join(f'%{w} : str = prim::Constant[value="{w}"]()' for w in WORDS)
    body = f"{words}\n%dim : int = prim::Constant[value={dim}]()\n%three : int = prim::Constant[value=3]()\n{before}"
    return graph(", ".join(inputs), f"{body}\n%b : Tensor = {FORMS[form]}", "%b")


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < 0.4
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def operands(rng: np.random.Generator, g: Any, shape: tuple[int, ...], dim: int, count: int) -> list[np.ndarray]:
    turned = (*shape[:dim], count, *shape[dim + 1 :])
    dtype = g.parameters[0].static_type.dtype.numpy.name
    index = rng.integers(0, shape[dim], (count,) if g.parameters[1].name == "v" else turned)
    found = [numbers(rng, shape, dtype), index.astype(g.parameters[1].static_type.dtype.numpy)]
    return found + [numbers(rng, turned, dtype)] * (len(g.parameters) > 2)


def strided(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """The same numbers, laid out otherwise."""
    kind = rng.integers(4)
    if kind == 1:
        return np.asfortranarray(x)
    if kind == 2 and x.ndim:
        wide = np.zeros((*x.shape[:-1], x.shape[-1] * 2 + 1), x.dtype)
        wide[..., 1::2] = x
        return wide[..., 1::2]
    if kind == 3 and x.ndim > 1:
        order = rng.permutation(x.ndim)
        return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
    return x


def same(got: np.ndarray, want: np.ndarray) -> None:
    """To the last bit, but for what a nan looks like."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)


def check(g: Any, *arrays: np.ndarray, slowly: bool = True) -> None:
    lowered = lower_graph(g)
    assert parse_kernel(print_kernel(lowered.kernel)) == lowered.kernel
    want = interpret(g, *arrays)[0]
    got = backend.compile_lowered(lowered)(*arrays)
    same(got, want)
    assert [s for s, n in zip(got.strides, got.shape, strict=True) if n > 1] == [
        s for s, n in zip(want.strides, want.shape, strict=True) if n > 1
    ]
    if slowly:
        same(reference.run(lowered.kernel, *arrays)[0], want)


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("seed", range(12))
def test_forms(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    dim = int(rng.integers(rank))
    shape = tuple(int(n) for n in rng.choice([2, 3, 5, 8, 17, 33], rank))
    dtype = str(rng.choice(["float32", "float64", "int32", "int64"]))
    g = case(form, rank, dim, dtype, index=str(rng.choice(["Long", "Int"])))
    arrays = operands(rng, g, shape, dim, int(rng.choice([1, 2, 7, 40])))
    check(g, *[strided(rng, a) for a in arrays])


@pytest.mark.parametrize("dtype", sorted(NAMES))
@pytest.mark.parametrize(
    "form", ["scatter", "scatter_add", "scatter that multiplies", "index_add of thrice", "index_copy"]
)
def test_dtypes(form: str, dtype: str) -> None:
    assert {d.numpy.name for d in DTYPES} == set(NAMES)
    rng = np.random.default_rng(5)
    for rank, dim in ((1, 0), (2, 0), (2, 1)):
        g = case(form, rank, dim, dtype)
        check(g, *operands(rng, g, (9, 20)[:rank], dim, 70))


@pytest.mark.parametrize("shape", [(300,), (4, 300), (300, 4), (300, 40)])
def test_what_is_large_against_the_index(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    for dim in range(len(shape)):
        for count in (3, 1000):
            g = case("scatter_add", len(shape), dim)
            check(g, *operands(rng, g, shape, dim, count), slowly=False)


def test_values_that_are_not_numbers() -> None:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, 3e38, 1e-45], np.float32)
    i = np.arange(64) % 8
    for form in ("scatter", "scatter_add", "scatter_reduce prod"):
        with np.errstate(all="ignore"):
            check(case(form, 1, 0), special, i, np.repeat(special, 8))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 33])
def test_the_last_write_stays(count: int) -> None:
    x, i, s = np.zeros(3, np.float32), np.full(count, 1), np.arange(1, count + 1, dtype=np.float32)
    got = backend.compile_lowered(lower_graph(case("scatter", 1, 0)))(x, i, s)
    same(got, np.array([0, count, 0], np.float32))


def test_producers_are_fused() -> None:
    g = graph("%x : Float(*, *), %y : Float(*), %i : Long(*, *), %s : Float(*, *), %k : float", """
        %c : Tensor = aten::add(%x, %y, %one)
        %m : Tensor = aten::mul(%s, %k)
        %t : Tensor = aten::neg(%m)
        %n : Tensor = aten::remainder(%i, %two)
        %b : Tensor = aten::scatter_add(%c, %one, %n, %t)""", "%b")  # fmt: skip
    rng = np.random.default_rng(0)
    x, y = numbers(rng, (6, 20), "float32"), numbers(rng, (20,), "float32")
    check(g, x, y, rng.integers(-9, 9, (6, 31)), numbers(rng, (6, 31), "float32"), 2.5)


def test_rows_that_an_index_names_are_added_where_another_says() -> None:
    g = graph("%x : Float(*, *), %w : Float(*, *), %from : Long(*), %to : Long(*), %k : Float(*, *)", """
        %a : Tensor = aten::index_select(%w, %zero, %from)
        %m : Tensor = aten::mul(%a, %k)
        %b : Tensor = aten::index_add(%x, %zero, %to, %m, %one)""", "%b")  # fmt: skip
    rng = np.random.default_rng(0)
    for width in (2, 16, 50):
        x, w = numbers(rng, (6, width), "float32"), numbers(rng, (9, width), "float32")
        start, end = rng.integers(0, 9, 40), rng.integers(0, 6, 40)
        check(g, x, w, start, end, numbers(rng, (40, width), "float32"))


@pytest.mark.parametrize("wrong", [-1, 7, 2**40, -(2**63)])
@pytest.mark.parametrize("form", ["scatter", "scatter_add", "index_add"])
def test_places_outside(form: str, wrong: int) -> None:
    for rank, dim in ((1, 0), (2, 0), (2, 1)):
        g = case(form, rank, dim)
        lowered = lower_graph(g)
        compiled = backend.compile_lowered(lowered)
        arrays = operands(np.random.default_rng(2), g, (7, 7)[:rank], dim, 30)
        compiled(*arrays)
        arrays[1].flat[17] = wrong
        with pytest.raises(IndexError):
            compiled(*arrays)
        with pytest.raises(IndexError):
            reference.run(lowered.kernel, *arrays)


def test_sizes_that_differ() -> None:
    rng = np.random.default_rng(0)
    x, i, s = numbers(rng, (4, 6), "float32"), np.zeros((3, 6), np.int64), numbers(rng, (3, 6), "float32")
    compiled = backend.compile_lowered(lower_graph(case("scatter_add", 2, 0)))
    compiled(x, i, s)
    for given in ((x, i[:2], s), (x, i[:, :5], s), (x, i[:, :1], s), (x[:, :1], i, s), (x, i, s[:1]), (x[:0], i, s)):
        with pytest.raises(KernelError):
            compiled(*given)
    same(compiled(x, i[:0], s[:0]), x)


@pytest.mark.parametrize(
    ("inputs", "body", "message"),
    [
        ("%x : Float(), %i : Long(), %s : Float()", "aten::scatter_add(%x, %zero, %i, %s)", "not known"),
        ("%x : Float(1), %i : Long(*), %s : Float(*)", "aten::scatter_add(%x, %zero, %i, %s)", "of size 1"),
        ("%x : Float(*, *), %i : Long(*, 1), %s : Float(*, *)", "aten::scatter_add(%x, %zero, %i, %s)", "other sizes"),
        ("%x : Float(*), %i : Long(*), %s : Double(*)", "aten::scatter_add(%x, %zero, %i, %s)", "another dtype"),
        ("%x : Float(*), %i : Short(*), %s : Float(*)", "aten::scatter_add(%x, %zero, %i, %s)", "int64 or int32"),
        ("%x : Float(*), %i : Long(*)", "aten::scatter_add(%x, %zero, %i, %x)", "is also where"),
        ("%x : Float(*), %i : Long(*), %k : float", "aten::scatter(%x, %zero, %i, %k)", "float32 may not hold"),
        ("%x : Char(*), %i : Long(*)", "aten::scatter(%x, %zero, %i, %large)", "without overflow"),
        ("%x : Float(*), %i : Long(*), %s : Float(*)", "aten::scatter(%x, %zero, %i, %s, %sum)", "scatter with sum"),
        (
            "%x : Float(*), %i : Long(*), %s : Float(*)", "aten::scatter_reduce(%x, %zero, %i, %s, %sum, %false)",
            "scatter with sum",
        ),
        ("%x : Float(*, *), %i : Long(*), %s : Float(*, *)", "aten::scatter(%x, %zero, %i, %s)", "as many dimensions"),
        ("%x : Float(*, *), %i : Long(*, *), %s : Float(*)", "aten::scatter(%x, %zero, %i, %s)", "as many dimensions"),
        ("%x : Float(*, *), %i : Long(*), %s : Float(*)", "aten::index_copy(%x, %zero, %i, %s)", "along one dimension"),
    ],
)  # fmt: skip
def test_refused(inputs: str, body: str, message: str) -> None:
    words = '%sum : str = prim::Constant[value="sum"]()\n%large : int = prim::Constant[value=1000]()'
    with pytest.raises(LoweringError, match=message):
        lower_graph(graph(inputs, f"{words}\n%b : Tensor = {body}", "%b"))


@pytest.mark.parametrize(
    ("body", "outputs", "message"),
    [
        ("%b : Tensor = aten::exp(%a)", "%b", "only result"),
        ("%b : Tensor = aten::exp(%x)", "%a, %b", "only result"),
        ("%b : Tensor = aten::scatter_add(%a, %zero, %i, %s)", "%b", "only result"),
    ],
)
def test_what_follows_is_another_kernel(body: str, outputs: str, message: str) -> None:
    start = "%a : Tensor = aten::scatter_add(%x, %zero, %i, %s)\n"
    with pytest.raises(LoweringError, match=message):
        lower_graph(graph("%x : Float(*), %i : Long(*), %s : Float(*)", start + body, outputs))


def test_folds_are_another_kernel() -> None:
    g = graph("%x : Float(*, *), %i : Long(*, *), %s : Float(*, *)", """
        %a : Tensor = aten::softmax(%s, %one, %none)
        %b : Tensor = aten::scatter_add(%x, %zero, %i, %a)""", "%b")  # fmt: skip
    with pytest.raises(LoweringError, match="folds"):
        lower_graph(g)


def test_text() -> None:
    kernel = parse_kernel(TEXT)
    assert print_kernel(kernel) == TEXT
    rng = np.random.default_rng(0)
    x, s, i = numbers(rng, (6, 5), "float32"), numbers(rng, (9, 5), "float32"), rng.integers(0, 6, 9)
    want = x.copy()
    np.add.at(want, i, s)
    same(backend.compile_kernel(kernel)(x, i, s), want)
    same(reference.run(kernel, x, i, s)[0], want)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("store y[%2, d2], add %3", "store y[%1, d2], add %3", "%1 is not known to lie within d0"),
        ("store y[%2, d2], add %3", "store y[%2, d2], eq %3", "eq does not put two float32 together"),
        ("store y[%2, d2], add %3", "store y[%2, d2], neg %3", "neg takes 1 operands"),
        ("store y[%2, d2], add %3", "store y[%2, d2], plus %3", "no kernel operation is called 'plus'"),
        ("store y[%2, d2], add %3", "store y[%2], add %3", "'y' is declared with axes"),
        ("store y[%2, d2], add %3", "store x[%2, d2], add %3", "cannot store 'in' buffer x"),
        ("store y[d0, d2], %0", "store y[d0, d2], add %0", "add belongs to places that values say"),
        ("      store y[d0, d2], %0\n", "", "places are changed before a loop has filled it"),
    ],
)
def test_faults(old: str, new: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        backend.compile_kernel(parse_kernel(TEXT.replace(old, new)))


def test_loops_over_the_axis_that_values_go_along() -> None:
    text = TEXT.replace("  for d1 {", "  for d1 {\n  for d0 {").replace("    }\n  }\n}\n", "    }\n  }\n  }\n}\n")
    with pytest.raises(KernelError, match="a loop runs over axis d0 here"):
        backend.compile_kernel(parse_kernel(text))


@pytest.mark.parametrize(
    ("value", "shape", "count", "axis"),
    [
        ("%s", (50,), 4000, "x"),
        ("%e", (50,), 4000, "s"),
        ("%s", (4000, 100), 50, "row"),
        ("%s", (50, 16), 4000, None),
    ],
)
def test_what_is_a_vector(value: str, shape: tuple[int, ...], count: int, axis: str | None) -> None:
    stars = ", ".join("*" * len(shape))
    g = graph(f"%x : Float({stars}), %i : Long({stars}), %s : Float({stars})", f"""
        %e : Tensor = aten::exp(%s)
        %b : Tensor = aten::scatter_add(%x, %zero, %i, {value})""", "%b")  # fmt: skip
    rng = np.random.default_rng(0)
    turned = (count, *shape[1:])
    arrays = [numbers(rng, shape, "float32"), rng.integers(0, shape[0], turned), numbers(rng, turned, "float32")]
    compiled = backend.compile_lowered(lower_graph(g))
    compiled(*arrays)
    [variant] = compiled.variants
    chosen = variant.schedule.vector_axis
    axes = {b.name: b.axes for b in variant.kernel.buffers}
    by = {"x": axes["x0"][0], "s": axes["x2"][0], "row": axes["x0"][-1], None: None}
    assert chosen == by[axis]


# -- scripted functions -----------------------------------------------------------------------------------------------


def along_rows(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return x.scatter_add(1, index, source * 2.0).relu()


def test_threads_share_what_lies_before_the_dimension() -> None:
    rng = np.random.default_rng(3)
    x, i, s = numbers(rng, (40, 500), "float32"), rng.integers(0, 500, (40, 3000)), numbers(rng, (40, 3000), "float32")
    arrays = [wrap(a) for a in (x, i, s)]
    want = along_rows(*arrays)._array
    for threads in (1, 2):
        fn = flambeau.script(along_rows, num_threads=threads)
        for _ in range(4):
            same(fn(*arrays)._array, want)
        assert len(list(fn.graph_for(*arrays).find_all("prim::FusionGroup"))) == 2
        latest = fn._executor._latest
        launches = [launch for fused in latest.kernels for k in fused.kernels for _, launch in k.launches]
        assert (launches[0].step > 0) == (threads > 1 and is_supported())


def also_the_values(x: Tensor, index: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    values = source * 2.0
    return x.scatter_add(0, index, values), values


def one_after_another(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
    y = x.neg().scatter_add(0, index, source * 2.0).relu()
    return y.index_add(0, index, source.abs()) * 2.0 + y


def of_itself(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return x.scatter_add(0, index, x[: source.size(0)] * 2.0)


@pytest.mark.parametrize(
    ("function", "groups"),
    [
        (also_the_values, [["mul"], ["scatter_add"]]),
        (one_after_another, [["neg", "mul", "scatter_add"], ["relu"], ["abs", "index_add"], ["mul", "add"]]),
        (of_itself, [["mul", "scatter_add"]]),
    ],
)
def test_groups(function: Any, groups: list[list[str]]) -> None:
    arrays = [wrap(np.array(a)) for a in (np.arange(5, dtype=np.float32), [0, 2, 2], np.ones(3, np.float32))]
    fn = flambeau.script(function)
    want = function(*arrays)
    for _ in range(4):
        for a, b in zip(fn(*arrays), want, strict=True):
            same(a._array, b._array)
    found = [n.attribute("Subgraph").nodes() for n in fn.graph_for(*arrays).find_all("prim::FusionGroup")]
    assert [[n.op[6:] for n in nodes if n.op.startswith("aten::")] for nodes in found] == groups


def added(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return x.scatter_add(0, index, source.neg())


@pytest.mark.parametrize(
    ("arrays", "error"),
    [
        ((np.ones(3, np.float32), np.array([0, 3]), np.ones(2, np.float32)), RuntimeError),
        ((np.ones(3, np.float32), np.array([0, -1]), np.ones(2, np.float32)), RuntimeError),
        ((np.ones(0, np.float32), np.array([0, 0]), np.ones(2, np.float32)), RuntimeError),
        ((np.ones(3, np.float32), np.array([0, 1, 2]), np.ones(2, np.float32)), RuntimeError),
        ((np.ones(3, np.float32), np.array([0.0, 1.0]), np.ones(2, np.float32)), RuntimeError),
        ((np.ones(3, np.float32), np.array([0, 1]), np.ones((2, 2), np.float32)), RuntimeError),
        ((np.ones(3, np.float32), np.array([[0, 1]]), np.ones((1, 2), np.float32)), RuntimeError),
        ((np.ones(3, np.float32), np.array([0, 1]), np.ones(2)), RuntimeError),
        ((np.ones(3, np.float32), np.array([0, 1]), np.ones(5, np.float32)), None),
        ((np.ones(3, np.float32), np.zeros(0, np.int64), np.ones(0, np.float32)), None),
        ((np.ones(0, np.float32), np.zeros(0, np.int64), np.ones(0, np.float32)), None),
        ((np.ones(1, np.float32), np.array([0, 0]), np.ones(2, np.float32)), None),
        ((np.array(1, np.float32), np.array(0), np.array(2, np.float32)), None),
        ((np.ones(3, np.float32), np.array([1]), np.ones(1, np.float32)), None),
    ],
)
def test_calls_do_what_the_operator_does(arrays: tuple[np.ndarray, ...], error: type[Exception] | None) -> None:
    given = [wrap(a) for a in arrays]
    fn = flambeau.script(added)
    for _ in range(4):
        if error is None:
            same(fn(*given)._array, added(*given)._array)
            continue
        with pytest.raises(error) as eager:
            added(*given)
        with pytest.raises(error) as scripted:
            fn(*given)
        assert str(eager.value) in str(scripted.value)


def test_c20_steps_between_elements_that_lie_side_by_side_are_constants() -> None:
    """Only of those: other layouts of the same operands have code of their own."""
    g = case("scatter_add", 1, 0)
    compiled = backend.compile_lowered(lower_graph(g))
    rng = np.random.default_rng(3)
    x, i, s = operands(rng, g, (40,), 0, 500)
    want = x.copy()
    np.add.at(want, i, s)
    np.testing.assert_allclose(compiled(x, i, s), want, rtol=1e-5, atol=1e-5)
    assert {pair[0] for pair in compiled.variants[0].schedule.dense} == {"x0", "x1", "x2", "y0"}
    np.testing.assert_allclose(compiled(x, np.repeat(i, 2)[::2], s), want, rtol=1e-5, atol=1e-5)
    assert {pair[0] for pair in compiled.variants[1].schedule.dense} == {"x0", "x2", "y0"}


def test_against_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    rng = np.random.default_rng(7)
    for form, call in (
        ("scatter", lambda x, d, i, s: x.scatter(d, i, s)),
        ("scatter_add", lambda x, d, i, s: x.scatter_add(d, i, s)),
        ("index_add", lambda x, d, i, s: x.index_add(d, i, s)),
        ("index_copy", lambda x, d, i, s: x.index_copy(d, i, s)),
        ("scatter_reduce amax", lambda x, d, i, s: x.scatter_reduce(d, i, s, "amax")),
    ):
        for dim in (0, 1):
            g = case(form, 2, dim)
            arrays = operands(rng, g, (50, 30), dim, 20)
            if form in ("scatter", "index_copy"):
                arrays[1] = np.argsort(rng.random(arrays[1].shape), axis=dim if form == "scatter" else 0)
            x, i, s = (torch.from_numpy(a) for a in arrays)
            got = backend.compile_lowered(lower_graph(g))(*arrays)
            np.testing.assert_allclose(got, call(x, dim, i, s).numpy(), rtol=1e-6, atol=1e-6)


def test_c20_places_of_several_changes_are_looked_at_before_the_first() -> None:
    g = case("scatter_add", 1, 0)
    for count in (0, 1, 3, 4, 5, 9):
        check(g, np.zeros(9, np.float32), np.arange(count) * 3 % 5, np.linspace(-1, 1, count, dtype=np.float32))
    kernel = lower_graph(g).kernel
    filling, changing = kernel.body
    assert changes_side_by_side(kernel, filling.axes[0]) == 4
    assert changes_side_by_side(kernel, changing.axes[0]) == 1  # lanes of vectors
    source = kernel.inputs[2].name
    reads = [replace(s, buffer="y0") if isinstance(s, Load) and s.buffer == source else s for s in changing.body]
    stores = [replace(s, buffer="y0") if isinstance(s, Store) else s for s in reads]
    dependent = replace(kernel, body=(filling, replace(changing, body=tuple(stores))))
    assert changes_side_by_side(dependent, filling.axes[0]) == 1
