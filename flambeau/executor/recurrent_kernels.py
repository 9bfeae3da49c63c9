"""What a recurrent layer does element by element in each step, as one kernel there and one back.

NumPy would go over the gates a dozen times.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.codegen.llvm.launch_sizes import ALIGNED_FROM
from flambeau.codegen.lower import LoweringError, lower_graph
from flambeau.codegen.runtime import CompiledKernel, start
from flambeau.ir.parser import parse_ir
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.types import TensorType
from flambeau.util.inversions import STEP_KERNEL

Array = np.ndarray[Any, Any]
_LSTM: Final = """graph({pairs}, %memory : Tensor):
  %one : int = prim::Constant[value=1]()
{sums}
  %input : Tensor = aten::sigmoid(%sum0)
  %forget : Tensor = aten::sigmoid(%sum1)
  %candidate : Tensor = aten::tanh(%sum2)
  %output : Tensor = aten::sigmoid(%sum3)
  %kept : Tensor = aten::mul(%forget, %memory)
  %added : Tensor = aten::mul(%input, %candidate)
  %cell : Tensor = aten::add(%kept, %added, %one)
  %shown : Tensor = aten::tanh(%cell)
  %hidden : Tensor = aten::mul(%output, %shown)
  return (%input, %forget, %candidate, %output, %cell, %hidden)"""
"""One step there: what the state and the input give to each gate and the memory, to gates, memory and state."""
_LSTM_BACK: Final = """graph(%input : Tensor, %forget : Tensor, %candidate : Tensor, %output : Tensor, %before : Tensor,
      %cell : Tensor, %grad : Tensor, %grad_memory : Tensor):
  %one : int = prim::Constant[value=1]()
  %shown : Tensor = aten::tanh(%cell)
  %square : Tensor = aten::mul(%shown, %shown)
  %slope : Tensor = aten::rsub(%square, %one, %one)
  %arriving : Tensor = aten::mul(%grad, %output)
  %through : Tensor = aten::mul(%arriving, %slope)
  %total : Tensor = aten::add(%grad_memory, %through, %one)
  %a0 : Tensor = aten::rsub(%input, %one, %one)
  %a1 : Tensor = aten::mul(%a0, %input)
  %a2 : Tensor = aten::mul(%candidate, %a1)
  %to_input : Tensor = aten::mul(%a2, %total)
  %b0 : Tensor = aten::rsub(%forget, %one, %one)
  %b1 : Tensor = aten::mul(%b0, %forget)
  %b2 : Tensor = aten::mul(%before, %b1)
  %to_forget : Tensor = aten::mul(%b2, %total)
  %c0 : Tensor = aten::mul(%candidate, %candidate)
  %c1 : Tensor = aten::rsub(%c0, %one, %one)
  %c2 : Tensor = aten::mul(%c1, %input)
  %to_candidate : Tensor = aten::mul(%c2, %total)
  %d0 : Tensor = aten::rsub(%output, %one, %one)
  %d1 : Tensor = aten::mul(%d0, %output)
  %d2 : Tensor = aten::mul(%grad, %shown)
  %to_output : Tensor = aten::mul(%d2, %d1)
  %to_memory : Tensor = aten::mul(%total, %forget)
  return (%to_input, %to_forget, %to_candidate, %to_output, %to_memory)"""
"""One step back: gates, the memory before and after it, the gradients of state and memory, to those of the gates'
operands and of the memory before."""


def _text(name: str) -> str:
    if name == "lstm_back":
        return _LSTM_BACK
    pairs = ", ".join(f"%state{k} : Tensor, %row{k} : Tensor" for k in range(4))
    sums = "\n".join(f"  %sum{k} : Tensor = aten::add(%state{k}, %row{k}, %one)" for k in range(4))
    return _LSTM.format(pairs=pairs, sums=sums)


@STEP_KERNEL.provide
def step_kernel(name: str, dtype: Any) -> Step | None:
    """The kernel of a step for arrays of a dtype; None where there is none.

    >>> step = step_kernel("lstm_back", np.dtype(np.float32))
    >>> step is None or isinstance(step, Step)
    True
    """
    kernel = _compiled(name, np.dtype(dtype)) if available() else None
    return None if kernel is None else Step(kernel)


@cache
def _compiled(name: str, dtype: np.dtype[Any]) -> CompiledKernel | None:
    graph = parse_ir(_text(name))
    matrix = TensorType(dtype=from_numpy_dtype(dtype), sizes=(None, None))
    try:
        lowered = lower_graph(graph, [matrix] * len(graph.parameters), name=name)
        return CompiledKernel(lowered.kernel, lowered.spans)
    except (LoweringError, KernelError, NativeError):
        return None


class Step:
    """Calls of a kernel on matrices that lie elsewhere in each step, and otherwise alike."""

    def __init__(self, kernel: CompiledKernel) -> None:
        self._kernel = kernel
        self._flag = ctypes.c_int32(0)
        self._pieces: list[tuple[Launch, array[int], list[int]]] = []
        """How rows are launched, on which words, and how far each array is from its first row."""

    def prepare(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Say how the arrays that are read lie, and those that are written, which are row-major.

        Rows go in pieces, since for large results a kernel counts on memory that lies as it allocates it.
        """
        count = len(outputs[0])
        most = max(1, (ALIGNED_FROM // 2) // max(1, outputs[0][:1].nbytes))
        for first in range(0, count, most):
            launch = self._kernel.launch_for([one[first : first + most] for one in inputs])
            words = array("q", launch.words)
            words[0] = ctypes.addressof(self._flag)
            self._pieces.append((launch, words, [first * one.strides[0] for one in (*inputs, *outputs)]))

    def __call__(self, addresses: Sequence[int]) -> None:
        """Compute, from and to arrays at these addresses."""
        for launch, words, offsets in self._pieces:
            at = 1
            for address, offset in zip(addresses, offsets, strict=True):
                words[at] = address + offset
                at += 1
            start(launch, words)
