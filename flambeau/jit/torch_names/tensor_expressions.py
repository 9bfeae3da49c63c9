"""`flambeau.te` under the names of `torch._C._te`, for programs that schedule loop nests there.

Names that mean the same stand for it: a `BufHandle` has its tensor, and a `LoopNest` its nest, as `ours`. Steps change
the nest in place, as there; what gives a statement there gives the nest here.

>>> X = BufHandle("X", [ExprHandle.int(8)], "float32")
>>> Y = Compute("Y", [8], lambda i: X.load([i]) * 2)
>>> nest = LoopNest([Y])
>>> nest.vectorize(nest.get_loops_for(Y)[0])
>>> construct_codegen("llvm", nest.simplify(), [X, Y]).get_code_text()
'in X: float32[8]\\nout Y: float32[8]\\nvector for i in range(8):\\n    Y[i] = X[i] * 2.0\\n'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.codegen import backend
from flambeau.codegen.kernel.printer import print_kernel
from flambeau.ir.graph import Graph
from flambeau.te import Expr, Loop, ScheduleError, Tensor, Var, cast, compute, placeholder, reduce, where
from flambeau.te import LoopNest as Nest
from flambeau.te.expressions import Const
from flambeau.te.linear import simplify as simplify_expression
from flambeau.te.tensors import REDUCTIONS
from flambeau.tensor.bridge import from_numpy
from flambeau.tensor.tensor import Tensor as EagerTensor

For = Loop
ifThenElse = where  # noqa: N816
Cast = cast


def _number(dtype: str) -> Callable[[Any], Const]:
    return staticmethod(lambda value: Const(float(value) if dtype.startswith("float") else value, dtype))


class ExprHandle:
    """Numbers as expressions: `ExprHandle.int(8)`."""

    int, long, short, float, double, bool = map(
        _number, ("int32", "int64", "int16", "float32", "float64", "bool")
    )  # fmt: skip


class Dtype:
    """Dtypes by the names that they have there: `Dtype.Float`."""

    Byte, Char, Short, Int, Long = "uint8", "int8", "int16", "int32", "int64"
    Half, BFloat16, Float, Double, Bool = "float16", "bfloat16", "float32", "float64", "bool"


class DimArg:
    """A size with a name for its loop, which the body's parameters give here."""

    def __init__(self, dim: Any, name: str = "") -> None:
        self.dim, self.name = dim, name


def VarHandle(name: str, dtype: Any = "int64") -> Var:
    """A variable; integers are sizes and indices, of 64 bits."""
    kind = _dtype(dtype)
    return Var(name, "int64" if kind.startswith("int") else kind)


def _dtype(dtype: Any) -> str:
    name: str = getattr(dtype, "name", str(dtype)).rpartition(".")[2].lower()
    return {"float": "float32", "double": "float64", "int": "int32", "long": "int64"}.get(name, name)


def _sizes(dims: Sequence[Any]) -> list[Any]:
    plain = (d.dim if isinstance(d, DimArg) else d for d in dims)
    return [int(d.value) if isinstance(d, Const) else d for d in plain]


class BufHandle:
    """A tensor; one that is made by name is a placeholder."""

    def __init__(self, name: str, dims: Sequence[Any], dtype: Any) -> None:
        self.ours: Tensor = placeholder(name, _sizes(dims), _dtype(dtype))

    def buf(self) -> BufHandle:
        """Itself: a tensor is its buffer."""
        return self

    def load(self, *indices: Any) -> Expr:
        """An element, by a list of indices or by indices."""
        indices_given = indices[0] if len(indices) == 1 and isinstance(indices[0], list | tuple) else indices
        return self.ours[tuple(indices_given)]


def Placeholder(name: str, dtype: Any, dims: Sequence[Any]) -> BufHandle:
    """A placeholder, with its dtype before its sizes."""
    return BufHandle(name, dims, dtype)


def _handle(t: Tensor) -> BufHandle:
    handle = BufHandle.__new__(BufHandle)
    handle.ours = t
    return handle


def Compute(name: str, dims: Sequence[Any], body: Callable[..., Any]) -> BufHandle:
    """`te.compute`."""
    return _handle(compute(name, _sizes(dims), body))


class Reducer:
    """A way to put values together, by its name in `te.reduce`. Raises ScheduleError for one that there is not."""

    def __init__(self, name: str) -> None:
        if name not in REDUCTIONS:
            raise ScheduleError(f"no reduction is called {name!r}; write one of {', '.join(REDUCTIONS)}")
        self.name = name


def Sum() -> Reducer:
    """Values are added."""
    return Reducer("sum")


def Product() -> Reducer:
    """Values are multiplied."""
    return Reducer("prod")


def Maximum(*start: Any) -> Reducer:
    """The largest is taken; what it starts from follows from the dtype."""
    return Reducer("max")


def Minimum(*start: Any) -> Reducer:
    """The smallest is taken; what it starts from follows from the dtype."""
    return Reducer("min")


def Reduce(
    name: str, dims: Sequence[Any], reducer: Reducer, body: Callable[..., Any] | BufHandle, reduce_dims: Sequence[Any]
) -> BufHandle:
    """`te.reduce`, of a function or of a tensor's elements."""
    function = (lambda *at: body.load(list(at))) if isinstance(body, BufHandle) else body
    return _handle(reduce(name, _sizes(dims), reducer.name, function, _sizes(reduce_dims)))


class LoopNest:
    """`te.LoopNest` with the names of its steps there."""

    def __init__(self, tensors: Sequence[BufHandle], *others: Any) -> None:
        self.ours = Nest([t.ours for t in tensors])

    def get_loops_for(self, tensor: BufHandle) -> list[Loop]:
        """The loops that compute a tensor, outermost first."""
        return self.ours.loops(tensor.ours)

    def get_innermost_loops_for(self, tensor: BufHandle) -> list[Loop]:
        """The innermost loop that computes a tensor."""
        return self.ours.loops(tensor.ours)[-1:]

    def get_parent_loop(self, loop: Loop) -> Loop | None:
        """The loop that another lies in; None for an outermost one."""
        around = [s for s in self.ours.path(loop) if isinstance(s, Loop)]
        return around[-1] if around else None

    def split_with_mask(self, loop: Loop, factor: int) -> Loop:
        """The inner loop of `split`; its condition keeps to what there is."""
        return self.ours.split(loop, factor)[1]

    def split_with_tail(self, loop: Loop, factor: int) -> tuple[Loop, Loop | None]:
        """The inner loop of `split_with_tail`, and that over the rest."""
        return self.ours.split_with_tail(loop, factor)[1:]

    def slice_head(self, loop: Loop, count: int) -> tuple[Loop, Loop]:
        """The loops over the first iterations and over the others."""
        return self.ours.slice_head(loop, count)

    def slice_tail(self, loop: Loop, count: int) -> tuple[Loop, Loop]:
        """The loops over the others and over the last iterations."""
        return self.ours.slice_tail(loop, count)

    def reorder_axis(self, a: Loop, b: Loop) -> None:
        """Put the inner of two loops outside the outer one."""
        outer, inner = (a, b) if len(self.ours.path(a)) < len(self.ours.path(b)) else (b, a)
        self.ours.reorder(inner, outer)

    def reorder(self, loops: Sequence[Loop], permutation: Sequence[int]) -> list[Loop]:
        """Put loops in the order that a permutation says."""
        ordered = [loops[k] for k in permutation]
        self.ours.reorder(*ordered)
        return ordered

    def flatten(self, loops: Sequence[Loop]) -> Loop:
        """One loop of several."""
        return self.ours.flatten(*loops)

    def vectorize(self, loop: Loop) -> None:
        """A loop as lanes of vectors."""
        self.ours.vectorize(loop)

    def unroll(self, loop: Loop) -> None:
        """An unrolled loop."""
        self.ours.unroll(loop)

    def set_parallel(self, loop: Loop) -> None:
        """A loop shared among threads."""
        self.ours.parallel(loop)

    def set_gpu_block_index(self, loop: Loop, index: int = 0) -> None:
        """A loop as blocks of a device, which have one index."""
        self._bind(loop, "block", index)

    def set_gpu_thread_index(self, loop: Loop, index: int = 0) -> None:
        """A loop as threads of a block, which have one index."""
        self._bind(loop, "thread", index)

    def _bind(self, loop: Loop, to: str, index: int) -> None:
        if index != 0:
            raise ScheduleError(f"{to}s have one index here, 0; got {index}: flatten the loops, bind what they become")
        self.ours.bind(loop, to)

    def compute_at(self, tensor: BufHandle, loop: Loop) -> None:
        """A temporary computed in a loop that reads it."""
        self.ours.compute_at(tensor.ours, loop)

    def compute_inline(self, tensor: BufHandle) -> None:
        """A temporary's expression in place of its elements."""
        self.ours.compute_inline(tensor.ours)

    def cache_accesses(self, tensor: BufHandle, name: str, loop: Loop) -> Any:
        """What a loop touches of a tensor in memory of its own."""
        return self.ours.cache(tensor.ours, loop, name)

    def rfactor(self, tensor: BufHandle, loop: Loop) -> Loop:
        """A reduction in two steps; the loop over the results of the first."""
        return self.ours.rfactor(loop)

    def prepare_for_codegen(self) -> None:
        """Nothing: `construct_codegen` does what there is to do."""

    def simplify(self) -> LoopNest:
        """The nest without what never happens."""
        self.ours.simplify()
        return self

    def root_stmt(self) -> LoopNest:
        """The nest, which `construct_codegen` takes."""
        return self

    def __str__(self) -> str:
        return str(self.ours)


BACKENDS = {"llvm": "llvm", "cuda": "cuda", "ir_eval": "interp", "simple_ir_eval": "interp"}


class CodeGen:
    """A nest to call with arrays, tensors and numbers, those that it writes among them."""

    def __init__(self, name: str, nest: LoopNest, args: Sequence[BufHandle | Var]) -> None:
        if name not in BACKENDS:
            raise ScheduleError(f"no backend is called {name!r}; write one of {', '.join(map(repr, BACKENDS))}")
        arguments = [a.ours if isinstance(a, BufHandle) else a for a in args]
        self.ours: Any = nest.ours.codegen(BACKENDS[name], arguments)  # type: ignore[call-overload]

    def call(self, args: Sequence[Any]) -> None:
        """Run it."""
        self.ours(*args)

    def get_code_text(self, attribute: str = "") -> str:
        """The nest's text, or what the code has by that name: `asm`, `llvm_ir`, `ptx`."""
        if not attribute:
            return str(self.ours)
        text = getattr(self.ours, attribute)
        return str(text() if callable(text) else text)


def construct_codegen(name: str, stmt: LoopNest, args: Sequence[BufHandle | Var]) -> CodeGen:
    """A nest as code: `llvm`, `cuda` or `ir_eval`."""
    return CodeGen(name, stmt, args)


def simplify(what: Expr | LoopNest) -> Expr | LoopNest:
    """An expression or a nest, simplified."""
    return what.simplify() if isinstance(what, LoopNest) else simplify_expression(what)


class TensorExprKernel:
    """A graph of pointwise operators, reductions and the like as one kernel.

    The graph says the dtypes and ranks of its inputs. Raises LoweringError where it has no native form.

    >>> from flambeau.ir import parse_ir
    >>> kernel = TensorExprKernel(parse_ir("graph(%x : Float(*)):\\n  %y = aten::neg(%x)\\n  return (%y)"))
    >>> print(kernel.get_codegen_stmt())
    kernel fused {
      axes d0
      in x0: float32[d0]
      out y0: float32[d0]
      for d0 {
        %0: float32 = load x0[d0]
        %1: float32 = neg %0
        store y0[d0], %1
      }
    }
    <BLANKLINE>
    """

    def __init__(self, graph: Graph) -> None:
        self.ours = backend.compile_graph(graph)

    def run(self, args: Sequence[Any]) -> Any:
        """The results for some arguments: tensors where a tensor is among them."""
        results = self.ours(*args)
        if not any(isinstance(a, EagerTensor) for a in args):
            return results
        return tuple(map(from_numpy, results)) if isinstance(results, tuple) else from_numpy(results)

    def get_codegen_stmt(self) -> str:
        """The loop nest."""
        return print_kernel(self.ours.kernel)

    def get_code_text(self, attribute: str = "llvm_ir") -> str:
        """The LLVM IR of what was run so far, or its machine instructions by `asm`."""
        return backend.asm(self.ours) if attribute == "asm" else backend.llvm_ir(self.ours)
