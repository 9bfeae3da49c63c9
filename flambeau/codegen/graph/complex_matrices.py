"""Complex matrices and eigenvalues of real ones, and transforms of signals along one axis, in native code: NumPy's
loops, called as they are.

Large operands are left to Python, and so is what has no result, for Python to say why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.codegen.graph import arrays, complex_elements, matrices, memory
from flambeau.codegen.graph.arrays import array
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import attempt
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.lowering_tables import lowers_on_complex_tensors, lowers_on_tensors
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.routines.library import call_routine, routine_symbol
from flambeau.codegen.graph.routines.transforms import DATA, PREFIX, loop_addresses
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import DType, complex128, float64

Operand = tuple[ArrayValue, int]
"""A tensor, and how many of its last axes one call of the loop is about."""
NULL: Final = Register("null", "ptr", 1)
LONGEST: Final = 1 << 16
"""Points of a signal up to which its transform is not left to Python, which polls for signals."""


def _call(fn: EmittedFunction, name: str, sizes: Sequence[Register], operands: Sequence[Operand]) -> None:
    """A call of a loop for operands without further axes; ``sizes`` are those that its signature names."""
    e = fn.e
    steps = [number(0)] * len(operands) + [s for x, rank in operands for s in (x.strides[-rank:] if rank else ())]
    addresses = [e.define(f"ptrtoint ptr {x.data} to i64", "i64", 1) for x, _ in operands]
    words = [memory.spilled(e, w) for w in (addresses, [number(1), *sizes], steps)]
    has_data = PREFIX + name + DATA in loop_addresses()
    call_routine(fn, PREFIX + name, *words, routine_symbol(fn, PREFIX + name + DATA) if has_data else NULL)


def _require(fn: EmittedFunction, name: str) -> None:
    if PREFIX + name not in loop_addresses():
        raise CannotCompileError("NumPy has no such function over complex numbers")
    if fn.e.lanes > 1:
        raise CannotCompileError("complex tensors in several lanes")


# -- systems, determinants, Hermitian matrices: as of real matrices ---------------------------------------------------

lowers_on_complex_tensors("aten::inverse", "aten::linalg_inv")(matrices.inverse)
lowers_on_complex_tensors("aten::linalg_inv_ex")(matrices.inverse_and_failure)
lowers_on_complex_tensors("aten::det", "aten::linalg_det")(matrices.determinant)
lowers_on_complex_tensors("aten::slogdet", "aten::linalg_slogdet")(matrices.sign_and_logarithm)
lowers_on_complex_tensors("aten::cholesky", "aten::linalg_cholesky")(matrices.cholesky)
lowers_on_complex_tensors("aten::linalg_eigvalsh")(matrices.eigenvalues)
lowers_on_complex_tensors("aten::linalg_eigh")(matrices.eigenvectors)
lowers_on_complex_tensors("aten::linalg_solve")(matrices.solve)


# -- eigenvalues ------------------------------------------------------------------------------------------------------


@lowers_on_tensors("aten::linalg_eigvals")
def spectrum(fn: EmittedFunction, node: Node) -> None:
    """The eigenvalues of one real matrix."""
    _spectrum(fn, node, "eigvals")


@lowers_on_tensors("aten::linalg_eig")
def spectrum_and_vectors(fn: EmittedFunction, node: Node) -> None:
    """The eigenvalues of one real matrix, and its eigenvectors."""
    _spectrum(fn, node, "eig")


def _spectrum(fn: EmittedFunction, node: Node, name: str) -> None:
    x = matrices.matrix_operand(fn, node)
    _require(fn, name)
    if x.rep.rank != 2 or x.rep.dtype is not float64:
        raise CannotCompileError("several matrices, or one in single precision")
    e, size = fn.e, x.sizes[0]
    usable = e.binary("and", matrices.is_small(fn, x), matrices.is_square(fn, x))
    usable = e.binary("and", usable, matrices.is_finite(fn, x))

    def native() -> tuple[list[ArrayValue], Register]:
        results = [(arrays.new(fn, complex128, [size], node), 1)]
        if name == "eig":
            results.append((matrices.turned(arrays.new(fn, complex128, [size, size], node)), 2))
        _call(fn, name, [size], [(x, 2), *results])
        first = memory.load_element(e, results[0][0].data, float64)
        return [r for r, _ in results], e.define(f"fcmp ord double {first}, {first}", "i1", 1)

    attempt(fn, node, usable, [Array(complex128, rank, 0) for rank in range(1, 2 + (name == "eig"))], native)


# -- transforms -------------------------------------------------------------------------------------------------------


@lowers_on_tensors("aten::fft_fft", "aten::fft_ifft")
@lowers_on_complex_tensors("aten::fft_fft", "aten::fft_ifft")
def transform(fn: EmittedFunction, node: Node) -> None:
    """Of a complex signal."""
    _transform(fn, node, complex128, complex128)


@lowers_on_tensors("aten::fft_rfft")
def transform_of_reals(fn: EmittedFunction, node: Node) -> None:
    """Of a real signal, the half that determines it."""
    _transform(fn, node, float64, complex128)


@lowers_on_complex_tensors("aten::fft_irfft")
def transform_to_reals(fn: EmittedFunction, node: Node) -> None:
    """The real signal that such a half belongs to."""
    _transform(fn, node, complex128, float64)


def _transform(fn: EmittedFunction, node: Node, source: DType, target: DType) -> None:
    x, e = array(fn, node.operand(0)), fn.e
    is_real = source is target and x.rep.dtype is float64
    if (x.rep.dtype is not source and not is_real) or x.rep.rank != 1 or not _is_plain(fn, node):
        raise CannotCompileError("a transform of several signals, of another dtype, or with options")
    assert node.definition is not None
    name = node.definition.name.partition("fft_")[2]
    names = ["rfft_n_even", "rfft_n_odd"] if name == "rfft" else [name]
    for one in names:
        _require(fn, one)
    (length,) = x.sizes
    points = memory.multiply(e, number(2), e.binary("sub", length, number(1))) if name == "irfft" else length
    size = e.binary("add", e.binary("lshr", length, number(1)), number(1)) if name == "rfft" else points
    usable = e.binary("and", e.icmp("sgt", points, number(0)), e.icmp("ule", points, number(LONGEST)))

    def native() -> tuple[list[ArrayValue], None]:
        result = arrays.new(fn, target, [size], node)
        signal = _complex(fn, node, x) if is_real else x
        _of_parity(fn, names, [length, size], [(signal, 1), (_factor(fn, name, points, result), 0), (result, 1)])
        if is_real:
            e.raw(f"call void @drop_block(ptr {signal.owner})")
        return [result], None

    attempt(fn, node, usable, [Array(target, 1, 1)], native)


def _is_plain(fn: EmittedFunction, node: Node) -> bool:
    """Whether a transform is of all points along the last axis, with the factor that is usual."""
    options = operands_by_name(fn, node)
    is_along_last = literal_of(options["dim"]) in (-1, array(fn, node.operand(0)).rep.rank - 1)
    return is_along_last and literal_of(options["n"]) is None and literal_of(options["norm"]) in (None, "backward")


def _factor(fn: EmittedFunction, name: str, points: Register, result: ArrayValue) -> ArrayValue:
    """What a transform is multiplied with: an inverse one with a part for each point."""
    e, slot = fn.e, fn.e.slot("double", 8)
    factor = Register("1.0", "double", 1)
    if name.startswith("i"):
        factor = e.define(f"fdiv double 1.0, {e.convert('uitofp', points, 'double')}", "double", 1)
    e.raw(f"store double {factor}, ptr {slot}")
    return ArrayValue(Array(float64, 0, 0), result.owner, slot, (), ())


def _of_parity(fn: EmittedFunction, names: Sequence[str], sizes: Sequence[Register], operands: list[Operand]) -> None:
    """A call of one loop, or of that for an even number of points, or of the other for an odd one."""
    e = fn.e
    if len(names) == 1:
        _call(fn, names[0], sizes, operands)
        return
    odd, even, after = e.label("odd"), e.label("even"), e.label("transformed")
    e.branch_if(e.icmp("ne", e.binary("and", sizes[0], number(1)), number(0)), odd, even)
    for label, name in ((even, names[0]), (odd, names[1])):
        e.start(label)
        _call(fn, name, sizes, operands)
        e.branch(after)
    e.start(after)


def _complex(fn: EmittedFunction, node: Node, x: ArrayValue) -> ArrayValue:
    """Real numbers as complex ones, in memory of their own."""
    copy, s = arrays.new(fn, complex128, x.sizes, node), complex_elements.ComplexRegisters(fn, node)

    def one(at: list[Register]) -> None:
        complex_elements.store(fn, at[0], s.cast(complex_elements.load(fn, at[1], float64), complex128))

    arrays.each_element(fn, x.sizes, [copy, x], one)
    return copy
