"""Inverses, determinants, systems, factors and eigenvalues of small matrices in native code: NumPy's loops, called as
they are.

Large matrices are left to Python, whose way there is then a small part of the time, and which says how many threads
work on them; so is what has no result, for Python to say why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import attempt
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.routines.matrices import COMPLEX_PREFIX, PREFIX, loop_addresses
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import complex128, float32, float64, int32
from flambeau.util.blas import SMALL

Operand = tuple[ArrayValue, int]
"""A tensor, and how many of its last axes are those of one matrix."""


def matrix_operand(fn: EmittedFunction, node: Node, k: int = 0) -> ArrayValue:
    """A tensor of matrices. Raises `CannotCompileError` for what the loops do not take."""
    x = array(fn, node.operand(k))
    if fn.e.lanes > 1 or x.rep.rank < 2 or x.rep.dtype not in (float32, float64, complex128):
        raise CannotCompileError(f"a tensor of {x.rep.dtype.name} and rank {x.rep.rank}, or one in each iteration")
    return x


def turned(x: ArrayValue) -> ArrayValue:
    """The transposes of the matrices, as a view."""
    sizes, strides = ([*p[:-2], p[-1], p[-2]] for p in (x.sizes, x.strides))
    return view_on(x, x.data, sizes, strides, 0)


def by_columns(fn: EmittedFunction, node: Node, like: ArrayValue, sizes: Sequence[Register]) -> ArrayValue:
    """A new tensor whose last two axes lie in memory the other way round, if it has two."""
    if len(sizes) < 2:
        return arrays.new(fn, like.rep.dtype, sizes, node)
    return turned(arrays.new(fn, like.rep.dtype, [*sizes[:-2], sizes[-1], sizes[-2]], node))


def is_small(fn: EmittedFunction, x: ArrayValue) -> Register:
    """Whether there are matrices of few elements, but not of none."""
    e = fn.e
    rows, columns = x.sizes[-2:]
    fits = e.icmp("ule", memory.multiply(e, rows, columns), number(SMALL))
    for size in x.sizes:
        fits = e.binary("and", fits, e.icmp("ne", size, number(0)))
    return fits


def is_square(fn: EmittedFunction, x: ArrayValue) -> Register:
    """Whether the matrices have as many rows as columns."""
    return fn.e.icmp("eq", x.sizes[-2], x.sizes[-1])


def run_loop(
    fn: EmittedFunction, node: Node, name: str, sizes: Sequence[Register], operands: Sequence[Operand],
    results: Sequence[Operand],
) -> Register:  # fmt: skip
    """Call a loop for each matrix of a batch; whether each has a result, which nan as its first element denies.

    ``sizes`` are those that the signature names, which the operands have. Elements of float32 become float64 and back.
    """
    dtype = operands[0][0].rep.dtype
    symbol = (COMPLEX_PREFIX if dtype.is_complex else PREFIX) + name
    if symbol not in loop_addresses():
        raise CannotCompileError("NumPy has no such function over matrices")
    if dtype is not float32:
        return _each_matrix(fn, symbol, sizes, operands, results)
    wide = [(arrays.new(fn, float64, x.sizes, node), rank) for x, rank in (*operands, *results)]
    count = len(operands)
    for (operand, _), (copy, _) in zip(operands, wide[:count], strict=True):
        convert(fn, copy, operand)
    is_good = _each_matrix(fn, symbol, sizes, wide[:count], wide[count:])
    for (result, _), (computed, _) in zip(results, wide[count:], strict=True):
        convert(fn, result, computed)
    for x, _ in wide:
        fn.e.raw(f"call void @drop_block(ptr {x.owner})")
    return is_good


def convert(fn: EmittedFunction, target: ArrayValue, source: ArrayValue) -> None:
    """Copy between float32 and float64."""
    e = fn.e
    change, kind = ("fpext", "double") if target.rep.dtype is float64 else ("fptrunc", "float")

    def one(at: list[Register]) -> None:
        element = memory.load_element(e, at[1], source.rep.dtype)
        memory.store_element(e, at[0], e.convert(change, element, kind), target.rep.dtype)

    arrays.each_element(fn, target.sizes, [target, source], one)


def _each_matrix(
    fn: EmittedFunction, symbol: str, sizes: Sequence[Register], operands: Sequence[Operand], results: Sequence[Operand]
) -> Register:
    every, e = [*operands, *results], fn.e
    steps = [number(0)] * len(every) + [s for x, rank in every for s in (x.strides[-rank:] if rank else ())]
    step_words, size_words = memory.spilled(e, steps), memory.spilled(e, [number(1), *sizes])
    batches = [
        view_on(x, x.data, x.sizes[: x.rep.rank - rank], x.strides[: x.rep.rank - rank], 0) for x, rank in every
    ]
    good = e.slot("i1", 1)
    e.raw(f"store i1 true, ptr {good}")

    def matrix(at: list[Register]) -> None:
        call_routine(fn, symbol, _addresses(fn, at), size_words, step_words, Register("null", "ptr", 1))
        first = memory.load_element(e, at[len(operands)], float64)
        fine = e.define(f"fcmp ord double {first}, {first}", "i1", 1)
        before = e.define(f"load i1, ptr {good}", "i1", 1)
        e.raw(f"store i1 {e.binary('and', before, fine)}, ptr {good}")

    arrays.each_element(fn, batches[-1].sizes, batches, matrix)
    return e.define(f"load i1, ptr {good}", "i1", 1)


def _addresses(fn: EmittedFunction, at: Sequence[Register]) -> Register:
    return memory.spilled(fn.e, [fn.e.define(f"ptrtoint ptr {a} to i64", "i64", 1) for a in at])


# -- operators --------------------------------------------------------------------------------------------------------


def inverse(fn: EmittedFunction, node: Node) -> None:
    """`inverse` and `linalg.inv`."""
    x = matrix_operand(fn, node)

    def native() -> tuple[list[ArrayValue], Register]:
        result = by_columns(fn, node, x, x.sizes)
        return [result], run_loop(fn, node, "inv", x.sizes[-1:], [(x, 2)], [(result, 2)])

    _attempt(fn, node, x, _reps(x, [x.rep.rank]), native)


def inverse_and_failure(fn: EmittedFunction, node: Node) -> None:
    """`linalg.inv_ex`: where each matrix has an inverse, zeros say so."""
    x = matrix_operand(fn, node)

    def native() -> tuple[list[ArrayValue], Register]:
        result, info = by_columns(fn, node, x, x.sizes), _no_failures(fn, node, x)
        return [result, info], run_loop(fn, node, "inv", x.sizes[-1:], [(x, 2)], [(result, 2)])

    usable = fn.e.binary("and", is_small(fn, x), is_square(fn, x))
    attempt(fn, node, usable, [*_reps(x, [x.rep.rank]), Array(int32, x.rep.rank - 2, 0)], native)


def _no_failures(fn: EmittedFunction, node: Node, x: ArrayValue) -> ArrayValue:
    info = arrays.new(fn, int32, x.sizes[:-2], node)
    arrays.fill(fn, info, Register("0", "i32", 1))
    return info


def determinant(fn: EmittedFunction, node: Node) -> None:
    """`det` and `linalg.det`."""
    x = matrix_operand(fn, node)

    def native() -> tuple[list[ArrayValue], Register]:
        result = arrays.new(fn, x.rep.dtype, x.sizes[:-2], node)
        return [result], run_loop(fn, node, "det", x.sizes[-1:], [(x, 2)], [(result, 0)])

    _attempt(fn, node, x, _reps(x, [x.rep.rank - 2]), native)


def sign_and_logarithm(fn: EmittedFunction, node: Node) -> None:
    """`slogdet` and `linalg.slogdet`."""
    x = matrix_operand(fn, node)
    dtypes = x.rep.dtype, x.rep.dtype.to_real()

    def native() -> tuple[list[ArrayValue], Register]:
        results = [arrays.new(fn, dtype, x.sizes[:-2], node) for dtype in dtypes]
        return results, run_loop(fn, node, "slogdet", x.sizes[-1:], [(x, 2)], [(r, 0) for r in results])

    _attempt(fn, node, x, [Array(dtype, x.rep.rank - 2, 0) for dtype in dtypes], native)


def cholesky(fn: EmittedFunction, node: Node) -> None:
    """`cholesky` and `linalg.cholesky`: the upper factor is the transpose of that of the transpose."""
    x, is_upper = matrix_operand(fn, node), literal_of(operands_by_name(fn, node)["upper"])
    if not isinstance(is_upper, bool) or (is_upper and x.rep.dtype.is_complex):
        raise CannotCompileError("the triangle of the factor is not known")

    def native() -> tuple[list[ArrayValue], Register]:
        result = by_columns(fn, node, x, x.sizes)
        source, target = (turned(x), turned(result)) if is_upper else (x, result)
        return [result], run_loop(fn, node, "cholesky_lo", x.sizes[-1:], [(source, 2)], [(target, 2)])

    _attempt(fn, node, x, _reps(x, [x.rep.rank]), native)


def eigenvalues(fn: EmittedFunction, node: Node) -> None:
    """`linalg.eigvalsh`."""
    x, triangle = matrix_operand(fn, node), _triangle(fn, node)

    def native() -> tuple[list[ArrayValue], Register]:
        result = arrays.new(fn, x.rep.dtype.to_real(), x.sizes[:-1], node)
        return [result], run_loop(fn, node, f"eigvalsh_{triangle}", x.sizes[-1:], [(x, 2)], [(result, 1)])

    _attempt(fn, node, x, [Array(x.rep.dtype.to_real(), x.rep.rank - 1, 0)], native)


def eigenvectors(fn: EmittedFunction, node: Node) -> None:
    """`linalg.eigh`."""
    x, triangle = matrix_operand(fn, node), _triangle(fn, node)

    def native() -> tuple[list[ArrayValue], Register]:
        values = arrays.new(fn, x.rep.dtype.to_real(), x.sizes[:-1], node)
        vectors = by_columns(fn, node, x, x.sizes)
        return [values, vectors], run_loop(
            fn, node, f"eigh_{triangle}", x.sizes[-1:], [(x, 2)], [(values, 1), (vectors, 2)]
        )

    reps = [Array(x.rep.dtype.to_real(), x.rep.rank - 1, 0), Array(x.rep.dtype, x.rep.rank, 0)]
    _attempt(fn, node, x, reps, native)


def _triangle(fn: EmittedFunction, node: Node) -> str:
    letter = literal_of(operands_by_name(fn, node)["UPLO"])
    if letter not in ("L", "U"):
        raise CannotCompileError("which triangle is meant is not known")
    return "lo" if letter == "L" else "up"


def singular_values(fn: EmittedFunction, node: Node) -> None:
    """`linalg.svdvals`; what is not finite is refused by Python."""
    x, e = matrix_operand(fn, node), fn.e
    if literal_of(operands_by_name(fn, node)["driver"]) is not None:
        raise CannotCompileError("a driver is named")
    count = e.intrinsic("smin", *x.sizes[-2:])

    def native() -> tuple[list[ArrayValue], Register]:
        result = arrays.new(fn, x.rep.dtype, [*x.sizes[:-2], count], node)
        return [result], run_loop(fn, node, "svd", [*x.sizes[-2:], count], [(x, 2)], [(result, 1)])

    usable = e.binary("and", is_small(fn, x), is_finite(fn, x))
    attempt(fn, node, usable, _reps(x, [x.rep.rank - 1]), native)


def is_finite(fn: EmittedFunction, x: ArrayValue) -> Register:
    """Whether all elements are finite: zero times any other is nan."""
    e, dtype = fn.e, x.rep.dtype
    kind = "float" if dtype.itemsize == 4 else "double"
    total = e.slot(kind, 8)
    e.raw(f"store {kind} 0.0, ptr {total}")

    def one(at: list[Register]) -> None:
        product = e.define(f"fmul {kind} {memory.load_element(e, at[0], dtype)}, 0.0", kind, 1)
        before = e.define(f"load {kind}, ptr {total}", kind, 1)
        e.raw(f"store {kind} {e.define(f'fadd {kind} {before}, {product}', kind, 1)}, ptr {total}")

    arrays.each_element(fn, x.sizes, [x], one)
    value = e.define(f"load {kind}, ptr {total}", kind, 1)
    return e.define(f"fcmp ord {kind} {value}, 0.0", "i1", 1)


def solve(fn: EmittedFunction, node: Node) -> None:
    """`linalg.solve` of one right side for one system, or batches of the same sizes: a vector each, or a matrix."""
    x, right = matrix_operand(fn, node), array(fn, node.operand(1))
    is_vector = right.rep.rank == 1 if x.rep.rank == 2 else right.rep.rank == x.rep.rank - 1
    if right.rep.rank > 1 and is_vector and [*right.sizes] != [*x.sizes[:-1]]:
        raise CannotCompileError("right sides of which sizes tell whether they are vectors or a matrix for all")
    if literal_of(operands_by_name(fn, node)["left"]) is not True or right.rep.dtype is not x.rep.dtype:
        raise CannotCompileError("an equation from the right, or one of two dtypes")
    if right.rep.rank != x.rep.rank - is_vector:
        raise CannotCompileError("right sides that are broadcast")
    e = fn.e
    core = 1 if is_vector else 2
    usable = e.binary("and", is_small(fn, x), is_square(fn, x))
    usable = e.binary("and", usable, e.icmp("eq", x.sizes[-1], right.sizes[-core]))
    right, fits = _repeated(fn, right, x.sizes[:-2])
    usable = e.binary("and", usable, fits)
    width = number(1) if is_vector else right.sizes[-1]
    usable = e.binary("and", usable, e.icmp("ule", memory.multiply(e, width, x.sizes[-1]), number(SMALL)))
    usable = e.binary("and", usable, e.icmp("ne", width, number(0)))

    def native() -> tuple[list[ArrayValue], Register]:
        result = by_columns(fn, node, x, right.sizes)
        sides = [_as_matrices(t) if is_vector else t for t in (right, result)]
        return [result], run_loop(fn, node, "solve", [x.sizes[-1], width], [(x, 2), (sides[0], 2)], [(sides[1], 2)])

    attempt(fn, node, usable, _reps(x, [right.rep.rank]), native)


def _repeated(fn: EmittedFunction, right: ArrayValue, batch: Sequence[Register]) -> tuple[ArrayValue, Register]:
    """Right sides of which there may be one for all systems along an axis of the batch, and whether that is so."""
    e, fits = fn.e, Register("true", "i1", 1)
    strides = [*right.strides]
    for axis, (size, systems) in enumerate(zip(right.sizes, batch, strict=False)):
        is_one = e.icmp("eq", size, number(1))
        fits = e.binary("and", fits, e.binary("or", is_one, e.icmp("eq", size, systems)))
        strides[axis] = e.select(is_one, number(0), right.strides[axis])
    sizes = (*batch, *right.sizes[len(batch) :])
    rep = Array(right.rep.dtype, right.rep.rank, 0)
    return ArrayValue(rep, right.owner, right.data, sizes, tuple(strides)), fits


def _as_matrices(x: ArrayValue) -> ArrayValue:
    """Vectors as matrices of one column."""
    return view_on(x, x.data, [*x.sizes, number(1)], [*x.strides, number(memory.itemsize(x.rep.dtype))], 0)


def _attempt(
    fn: EmittedFunction, node: Node, x: ArrayValue, reps: Sequence[Array],
    native: Callable[[], tuple[list[ArrayValue], Register]],
) -> None:  # fmt: skip
    """The results of a node that is about small square matrices."""
    attempt(fn, node, fn.e.binary("and", is_small(fn, x), is_square(fn, x)), reps, native)


def _reps(x: ArrayValue, ranks: Sequence[int]) -> list[Array]:
    return [Array(x.rep.dtype, rank, 0) for rank in ranks]
