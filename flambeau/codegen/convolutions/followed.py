"""What a group does to the sums of its convolution: a norm by known statistics, an addition, an activation."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Final

import numpy as np

from flambeau.codegen.convolutions.activations import Activation
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.llvm.engine import NativeCode
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.table import Operands, operands_of
from flambeau.ir.constants import CONSTANT, constant_value
from flambeau.ir.graph import Graph, Node
from flambeau.passes.epilogues import activation_of, addend_of, bounds_of
from flambeau.schema.opdef import OpDef
from flambeau.util.record import dataclass

_NORM: Final = {"gamma": "weight", "beta": "bias", "mean": "running_mean", "variance": "running_var"}
"""The vectors of a norm, by what they are to it and by the names of its schema."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A convolution's operands, and what follows it."""

    operands: Operands
    inputs: int
    """Of the group."""
    norm: Operands | None = None
    residual: int | None = None
    """Which input of the group is added."""
    bounds: tuple[float, float] = (-inf, inf)
    activation: Activation | None = None
    """What is more than bounds."""

    @property
    def is_scaled(self) -> bool:
        """Whether sums are scaled, shifted or clamped while they are in registers."""
        return self.norm is not None or (self.residual is None and self.bounds != (-inf, inf))

    def activation_code(self, character: str) -> NativeCode | None:
        """The function of the activation, if there is one."""
        return None if self.activation is None else self.activation.code(character)

    @property
    def eps(self) -> float:
        """What a norm adds to variances."""
        return 0.0 if self.norm is None else float(self.norm.constants["eps"])

    def places(self, first: int, otherwise: int) -> dict[str, int]:
        """Where a launch's block has the address of each array, inputs lying from `first` on."""
        convolution = {"x": "input", "w": "weight", "bias": "bias"}
        numbers = {name: self.operands.inputs.get(own) for name, own in convolution.items()}
        numbers |= {name: None if self.norm is None else self.norm.inputs.get(own) for name, own in _NORM.items()}
        numbers["residual"] = self.residual
        return {name: otherwise if number is None else first + number for name, number in numbers.items()}

    def check(
        self, arrays: Sequence[Lying], shape: tuple[int, ...], dtype: np.dtype[Any], is_transposed: bool
    ) -> Lying | None:
        """What is added. Raises `KernelError` for arrays that cannot be taken along, or that operators refuse."""
        if self.norm is not None:
            if self._is_of_one_image(arrays):
                raise KernelError("a norm of a single image")
            vectors = [arrays[index] for name, index in self.norm.inputs.items() if name != "input"]
            if any(v.shape != shape[1:2] or v.dtype != dtype or v.strides != (dtype.itemsize,) for v in vectors):
                raise KernelError("a norm by other vectors than one number for each channel, side by side")
        if self.residual is None:
            return None
        added = arrays[self.residual]
        if added.shape != shape or added.dtype != dtype or is_transposed:
            raise KernelError("what is added has other sizes")
        return added

    def _is_of_one_image(self, arrays: Sequence[Lying]) -> bool:
        inputs = self.operands.inputs
        return arrays[inputs["input"]].ndim < arrays[inputs["weight"]].ndim


def followed_by(graph: Graph) -> Followed:
    """The convolution of a group and what follows it. Raises `KernelError` for other groups."""
    first, *rest = (n for n in graph.nodes() if n.op != CONSTANT)
    operands, inputs = operands_of(graph, first), list(graph.parameters)
    norm, residual, bounds, activation = None, None, (-inf, inf), None
    before = first
    for node in rest:
        if node.definition is not None and node.definition.accumulator == "batch_norm":
            norm = operands_of(graph, node, computed=before.result())
            if norm.constants["training"]:
                raise KernelError("a norm by statistics of the batch")
        elif (limits := bounds_of(node)) is not None:
            bounds = limits
        elif (other := addend_of(node, before.result())) in inputs and other is not None:
            residual = inputs.index(other)
        elif (definition := activation_of(node)) is not None:
            activation = _activation(definition, node)
        else:
            raise KernelError(f"{node.op} behind a convolution")
        before = node
    return Followed(operands, len(inputs), norm, residual, bounds, activation)


def _activation(definition: OpDef, node: Node) -> Activation:
    names = [a.name for a in definition.schema.arguments[1 : len(node.operands)]]
    constants = [constant_value(v) for v in node.operands[1:]]
    return Activation(definition.full_name, tuple(zip(names, constants, strict=True)))

