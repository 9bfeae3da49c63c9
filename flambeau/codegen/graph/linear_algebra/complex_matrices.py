"""Systems, determinants and eigenvalues of complex matrices, and eigenvalues of real ones, in native code: NumPy's
loops, called as they are.

Large operands are left to Python, and so is what has no result, for Python to say why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import attempt
from flambeau.codegen.graph.linear_algebra import matrices
from flambeau.codegen.graph.lowering_tables import lowers_on_complex_tensors, lowers_on_tensors
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.routines.library import call_loop
from flambeau.codegen.graph.routines.transforms import PREFIX, loop_addresses
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema.dtype import complex128, float64

Operand = tuple[ArrayValue, int]
"""A tensor, and how many of its last axes one call of the loop is about."""
NULL: Final = Register("null", "ptr", 1)


def _call(fn: EmittedFunction, name: str, sizes: Sequence[Register], operands: Sequence[Operand]) -> None:
    """A call of a loop for operands without further axes; ``sizes`` are those that its signature names."""
    steps = [number(0)] * len(operands) + [s for x, rank in operands for s in (x.strides[-rank:] if rank else ())]
    call_loop(fn, PREFIX + name, [x.data for x, _ in operands], [number(1), *sizes], steps)


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
