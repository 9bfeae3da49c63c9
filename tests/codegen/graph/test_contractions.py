"""Contractions, and what else of matrices is made of products, sums and loops in native code, beside the interpreter
and the reference: of whole numbers, whose sums are exact, to the bit; errors to the letter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from tests.codegen.graph import one_meaning

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
OF_TWO = {
    "einsum": "flambeau.einsum('ij,jk->ki', [x, y]), flambeau.einsum('ij,jk', [x, y])",
    "tensordot": "flambeau.tensordot(x, y, 1), flambeau.tensordot(x, y, dims=([1], [0]))",
    "kron": "flambeau.kron(x, y)",
    "cdist": "flambeau.cdist(x, y.t()), flambeau.cdist(x, y.t(), 1.0)",
}
PAIRS = (((2, 3), (3, 4)), ((1, 3), (3, 1)), ((2, 1), (1, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((2, 3), (4, 2)))


def whole(*shape: int, dtype: str = "float32") -> Tensor:
    return flambeau.from_numpy(np.random.default_rng(3).integers(-4, 5, shape).astype(dtype))


@pytest.mark.parametrize("name", OF_TWO)
def test_of_two_matrices(name: str) -> None:
    program = f"def f(x: Tensor, y: Tensor):\n    return {OF_TWO[name]}\n"
    for shapes in PAIRS:
        fits = name == "kron" or shapes[0][1] == shapes[1][0]
        one_meaning.agree(program, lambda s=shapes: tuple(whole(*n) for n in s), is_native=fits)
    turned = (whole(6, 3, dtype="float64")[::2], whole(5, 3, dtype="float64").t())
    one_meaning.agree(program, lambda: turned)


EQUATIONS = ("bij,bjk->bik", "ijb,bjk->kbi", "ijk,kj->i", "ij,j->i", "i,i->", "ij,ij->", "a,ba->b")


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation: str) -> None:
    sizes = {"b": 2, "i": 3, "j": 4, "k": 5, "a": 3}
    program = f"def f(x: Tensor, y: Tensor):\n    return flambeau.einsum('{equation}', [x, y])\n"
    names = equation.split("->")[0].split(",")
    one_meaning.agree(program, lambda: tuple(whole(*(sizes[n] for n in letters)) for letters in names))


LONGER = (
    "ij,jk,k->i", "i,ij,j->", "ij,kj,kl->il", "ij,jk,kl,la->ai", "i,j->ij", "i,i->i", "ij,ij->ij", "ij->i", "ij->",
    "ijk->ki", "abi,abj->abij", "ij,i->ij", "jk,i->", "...ij,...jk->...ik", "...i,i->...", "bij,jk",
)  # fmt: skip


@pytest.mark.parametrize("equation", LONGER)
def test_einsum_of_more_or_of_less(equation: str) -> None:
    sizes = {"a": 3, "b": 2, "i": 3, "j": 4, "k": 5, "l": 6}
    terms = equation.split("->")[0].split(",")
    names = [f"x{n}" for n in range(len(terms))]
    head, given = ", ".join(f"{name}: Tensor" for name in names), ", ".join(names)
    program = f"def f({head}):\n    return flambeau.einsum('{equation}', [{given}])\n"

    def shape(term: str) -> list[int]:
        before, is_open, after = term.partition("...")
        return [sizes[n] for n in before] + ([2, 3] if is_open else []) + [sizes[n] for n in after]

    one_meaning.agree(program, lambda: tuple(whole(*shape(term)) for term in terms))
    squeezed = [[1 if n == 0 else size for n, size in enumerate(shape(term))] for term in terms]
    one_meaning.agree(program, lambda: tuple(whole(*sizes) for sizes in squeezed), is_native=False)
    if len(terms) > 1:
        odd = [[*shape(terms[0])[:-1], 7], *map(shape, terms[1:])]
        one_meaning.agree(program, lambda: tuple(whole(*sizes) for sizes in odd), is_native=False)


@pytest.mark.parametrize("offset", [0, 1, -2])
def test_vectors_on_diagonals(offset: int) -> None:
    program = f"def f(x: Tensor):\n    return x.diag_embed({offset})\n"
    for x in (whole(3), whole(2, 3, dtype="float64").t(), whole(0), whole(2, 0), whole(1, 1)):
        one_meaning.agree(program, lambda x=x: (x,))
    one_meaning.agree("def f(x: Tensor):\n    return x.diag_embed(0, 0, 1)\n", lambda: (whole(2, 3),), is_native=False)


@pytest.mark.parametrize(("upper", "unit"), [*product((True, False), repeat=2)])
def test_systems_from_the_right(upper: bool, unit: bool) -> None:
    program = (
        "def f(a: Tensor, b: Tensor):\n    return flambeau.linalg.solve_triangular("
        f"a, b, upper={upper}, left=False, unitriangular={unit})\n"
    )
    for shape in ((4, 4), (2, 3, 3), (1, 1)):
        a = whole(*shape, dtype="float64") + 8 * flambeau.eye(shape[-1], dtype=flambeau.float64)
        one_meaning.agree(program, lambda a=a, s=shape: (a, whole(*s[:-2], 5, s[-1], dtype="float64")))
        one_meaning.agree(program, lambda a=a, s=shape: (a, whole(*s[:-2], s[-1], 2, dtype="float64").mT))
    one_meaning.agree(program, lambda: (whole(3, 3), whole(3, 2)), is_native=False)


def test_tensordot_of_several_axes() -> None:
    program = "def f(x: Tensor, y: Tensor):\n    return flambeau.tensordot(x, y, dims=([2, 0], [1, 2]))\n"
    one_meaning.agree(program, lambda: (whole(2, 3, 4), whole(5, 4, 2)))


@pytest.mark.parametrize("call", ["x.trace()", "x.matrix_power(5), flambeau.linalg.matrix_power(x, 1)", "x.logdet()"])
def test_of_a_matrix(call: str) -> None:
    program = f"def f(x: Tensor):\n    return {call}\n"
    for x in (whole(3, 3), whole(4, 4, dtype="float64").t()[1:, 1:], whole(1, 1), whole(0, 0)):
        one_meaning.agree(program, lambda x=x: (x,))
    one_meaning.agree(program, lambda: (whole(3, 2),), is_native=call == "x.trace()")


def test_cross() -> None:
    program = "def f(x: Tensor, y: Tensor):\n    return flambeau.cross(x, y, 0), flambeau.linalg.cross(x, y, dim=0)\n"
    for shape in ((3,), (3, 2), (3, 0), (2, 3)):
        one_meaning.agree(program, lambda s=shape: (whole(*s), whole(*s) + 1), is_native=shape[0] == 3)


@pytest.mark.parametrize(("upper", "turned", "unit"), [*product((True, False), repeat=3)])
def test_triangular_systems(upper: bool, turned: bool, unit: bool) -> None:
    program = (
        "def f(x: Tensor, a: Tensor):\n"
        f"    solved, copy = flambeau.triangular_solve(x, a, {upper}, {turned}, {unit})\n"
        f"    return solved, copy, flambeau.linalg.solve_triangular(a, x, upper={upper}, unitriangular={unit})\n"
    )
    a, x = whole(2, 4, 4) + 9 * flambeau.eye(4), whole(2, 4, 3)
    double = (x.double()[:, ::2], a.double()[:, 1:3, ::2])
    for given in ((x[0], a[0]), (x, a.mT), (x[:, :, :0], a), (x[:, 1:], a), double):
        one_meaning.agree(program, lambda given=given: given, is_native=given[0].shape[-2] == given[1].shape[-1])


def test_many_are_left_to_python() -> None:
    program = "def f(x: Tensor, a: Tensor):\n    return flambeau.cdist(x, a), flambeau.triangular_solve(x, a)[0]\n"
    one_meaning.agree(program, lambda: (whole(130, 130), whole(130, 130) + 190 * flambeau.eye(130)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 2, 8, 31, 64, 69])
@pytest.mark.parametrize("rows", [1, 7, 96])
def test_columns_side_by_side(rows: int, columns: int, dtype: str) -> None:
    rng = np.random.default_rng(rows * columns)
    matrix, sides = rng.random((rows, rows)) + rows * np.eye(rows), rng.random((rows, columns))
    sides[0, -1] = np.inf

    @flambeau.script
    def solved(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        lower = flambeau.linalg.solve_triangular(a, b, upper=False)
        one = flambeau.linalg.solve_triangular(a, b, upper=True, unitriangular=True)
        return lower, flambeau.linalg.solve_triangular(a.T, b, upper=True), one

    a, b = (flambeau.from_numpy(x.astype(dtype)) for x in (matrix, sides))
    expected = [np.tril(matrix), np.tril(matrix).T, np.triu(matrix, 1) + np.eye(rows)]
    for _ in range(2):
        for result, system in zip(solved(a, b), expected, strict=True):
            finite = result.numpy()[:, :-1].astype(np.float64)
            scale = np.abs(system) @ np.abs(finite) + 1
            error = np.abs(system @ finite - sides[:, :-1]) / scale
            assert (error < 16 * np.finfo(result.numpy().dtype).eps).all()
            assert not np.isfinite(result.numpy()[0, -1])


def test_contractions_of_any_axes() -> None:
    """Axes that one operand has alone, that both have and keep, and that are summed, from none to two of each."""
    rng, sizes = np.random.default_rng(3), dict(zip("abcdef", (2, 3, 4, 1, 5, 0), strict=True))
    cases = []
    while len(cases) < 24:
        batch, summed, left, right, _ = np.split(rng.permutation([*"abcdef"]), np.sort(rng.integers(0, 7, 4)))
        wanted = rng.permutation([*batch, *left, *right])
        names = ["".join(rng.permutation([*batch, *summed, *own])) for own in (left, right)]
        if len(summed) and max(map(len, names)) < 5:
            cases.append((*names, "".join(wanted)))
    lines = [f"flambeau.einsum('{x},{y}->{z}', x{k}, y{k})" for k, (x, y, z) in enumerate(cases)]
    parameters = [f"x{k}: Tensor, y{k}: Tensor" for k in range(len(cases))]
    source = f"def f({', '.join(parameters)}):\n    return [{', '.join(lines)}]\n"
    given = [flambeau.from_numpy(rng.random([sizes[n] for n in names])) for case in cases for names in case[:2]]
    found = flambeau.jit.CompilationUnit(source).f(*given)
    for (x, y, z), a, b, c in zip(cases, given[::2], given[1::2], found, strict=True):
        exact = np.einsum(f"{x},{y}->{z}", a.numpy(), b.numpy())
        assert c.shape == exact.shape, f"{x},{y}->{z}"
        np.testing.assert_allclose(c.numpy(), exact, rtol=1e-12, err_msg=f"{x},{y}->{z}")
