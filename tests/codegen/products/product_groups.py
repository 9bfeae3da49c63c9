"""Product groups for the tests: graphs by text, random factors in many layouts, the bound on errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen import backend
from flambeau.codegen.runtime import CompiledKernel
from flambeau.ir import parse_ir
from flambeau.ir.graph import Graph

Array = npt.NDArray[Any]
TYPES = {"float32": "Float", "float64": "Double", "int32": "Int", "int64": "Long", "bool": "Bool"}

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda v: np.maximum(v, 0),
    "tanh": np.tanh,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "exp": np.exp,
    "sin": np.sin,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
}


def graph_of(operator: str, ranks: tuple[int, ...], dtype: str, activation: str | None = None) -> Graph:
    """`operator` of tensors of these ranks, and one activation."""
    kinds = [f"{TYPES[dtype]}({', '.join('*' * r)})" for r in ranks]
    head = ", ".join(f"%x{k} : {kind}" for k, kind in enumerate(kinds))
    names = [f"%x{k}" for k in range(len(ranks))]
    if operator.startswith(("addm", "baddbmm")):
        names += ["%1", "%1"]
    if operator == "linear" and len(ranks) == 2:
        names.append("%none")
    body = f"  %p : Tensor = aten::{operator}({', '.join(names)})\n"
    last = "%p"
    if activation is not None:
        body += f"  %r : Tensor = aten::{activation}(%p)\n"
        last = "%r"
    constants = "  %1 : int = prim::Constant[value=1]()\n  %none : NoneType = prim::Constant()\n"
    return parse_ir(f"graph({head}):\n{constants}{body}  return ({last})\n")


def compiled(operator: str, ranks: tuple[int, ...], dtype: str, activation: str | None = None) -> CompiledKernel:
    """The group as native code."""
    return backend.compile_graph(graph_of(operator, ranks, dtype, activation))


def laid_out(array: Array, layout: str, r: np.random.Generator) -> Array:
    """The same numbers in another layout of memory."""
    if layout == "transposed":
        return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2) if array.ndim > 1 else array
    if layout == "strided":
        wide = r.standard_normal((*(2 * s for s in array.shape[:-1]), 3 * array.shape[-1])).astype(array.dtype)
        view = wide[(*(slice(None, None, 2),) * (array.ndim - 1), slice(None, None, 3))]
        view[...] = array
        return view
    if layout == "reversed":
        flip = (slice(None, None, -1),) * array.ndim
        return np.ascontiguousarray(array[flip])[flip]
    return array


def bound(left: Array, right: Array, dtype: str) -> Array:
    """How far sums of products may be off, whatever the order they are added in."""
    depth = left.shape[-1]
    size = np.matmul(np.abs(left).astype(np.float64), np.abs(right).astype(np.float64))
    return np.asarray((8 + depth**0.5) * np.finfo(dtype).eps * (size + 1e-30))
