"""An optimiser's formula, compiled: flags become constants, numbers are worked out before, tensors make one kernel.

>>> from flambeau.optim import formulas
>>> formulas.sgd.tensors
('param', 'grad', 'momentum_buffer')
>>> formulas.sgd.numbers
('lr', 'momentum', 'dampening', 'weight_decay')
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.codegen import available
from flambeau.codegen.lower import LoweringError, lower_region
from flambeau.codegen.runtime import CompiledKernel
from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.scopes.name_resolution import Names
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.ir import clone
from flambeau.ir.constants import constant_value, insert_constant, is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import constant_pooling, constant_propagation, dce, lower_tuples
from flambeau.schema.dtype import DType
from flambeau.schema.types import TensorType, Type
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.cached import cached_property

MAX_KERNELS: Final = 16
"""Kernels that a formula keeps: one for each combination of flags and dtypes; what was asked for longest ago goes."""
Key = tuple[tuple[bool, ...], tuple[DType | None, ...]]


class Formula:
    """A function over tensors, numbers and flags, in this order; calling it runs it as Python."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        kinds = {name: p.annotation for name, p in inspect.signature(function).parameters.items()}
        self.tensors = tuple([name for name, kind in kinds.items() if kind == "Tensor"])
        """Its tensors: the parameter, the gradient, the state."""
        self.numbers = tuple([name for name, kind in kinds.items() if kind == "float"])
        self.flags = tuple([name for name, kind in kinds.items() if kind == "bool"])
        self.targets = tuple([k for k, name in enumerate(self.tensors) if name != "grad"])
        """The tensors that its results take the place of."""
        self.kernels: SpecialisationCache[Key, FormulaKernel | str] = SpecialisationCache(
            f"kernels of {function.__name__}", MAX_KERNELS, describe=str
        )

    def __call__(self, tensors: Sequence[Any], numbers: Sequence[Any], flags: Sequence[bool]) -> tuple[Any, ...]:
        """New tensors in the place of the parameter and the state, by operators one after the other."""
        return self.function(*tensors, *numbers, *flags)  # type: ignore[no-any-return]

    def kernel(self, dtypes: tuple[DType | None, ...], flags: tuple[bool, ...]) -> FormulaKernel | None:
        """Its kernel for tensors of some dtypes (None: there is no such tensor); None where it has none."""
        key = flags, dtypes
        kernel = self.kernels.get_or_make(key, lambda cause: self._compiled(dtypes, flags))
        return None if isinstance(kernel, str) else kernel

    @cached_property
    def graph(self) -> Graph:
        """The formula as it was written, flags open."""
        source = textwrap.dedent(inspect.getsource(self.function))
        [tree] = parse_source(source, inspect.getfile(self.function))
        return compile_def(tree, Names()).graph

    def _compiled(self, dtypes: tuple[DType | None, ...], flags: tuple[bool, ...]) -> FormulaKernel | str:
        """A kernel, or why there is none."""
        if not available():
            return "llvmlite is not installed"
        try:
            return FormulaKernel(self, dtypes, flags)
        except LoweringError as reason:
            return str(reason)


class FormulaKernel:
    """The kernel of a formula for some flags and dtypes, and the numbers that it takes."""

    def __init__(self, formula: Formula, dtypes: tuple[DType | None, ...], flags: tuple[bool, ...]) -> None:
        graph = clone.clone_graph(formula.graph)
        count = len(formula.tensors)
        tensors, rest = graph.parameters[:count], graph.parameters[count:]
        _set_flags(graph, rest[len(formula.numbers) :], flags)
        lower_tuples.do(graph, signature=True)
        self.targets = self._without_absent(graph, formula, dtypes)
        """Of each result, which tensor of the formula it takes the place of."""
        dce.do(graph)
        constant_pooling.do(graph)
        on_numbers = [n for n in graph.nodes() if not is_constant(n.result()) and not _is_tensor(n.result())]
        on_tensors = [n for n in graph.nodes() if n not in on_numbers]
        used = {v for n in on_tensors for v in n.operands} | set(graph.returns)
        self.sources = tuple([k for k, v in enumerate(tensors) if v in used])
        """Of each tensor that the kernel reads, which one of the formula it is."""
        self._numbers = NumberPart(rest[: len(formula.numbers)], on_numbers)
        self.number_indices = tuple([k for k, v in enumerate(self._numbers.values) if v in used])
        numbers = [self._numbers.values[k] for k in self.number_indices]
        inputs = [*[tensors[k] for k in self.sources], *numbers]
        types: list[Type] = [TensorType(dtype=dtypes[k], sizes=(None,)) for k in self.sources]
        types += [v.static_type for v in numbers]
        name = formula.function.__name__
        self.lowered = lowered = lower_region(on_tensors, inputs, graph.returns, types, name=name)
        results = [buffer.dtype for buffer in lowered.kernel.outputs]
        if results != [getattr(dtypes[k], "name", None) for k in self.targets]:
            raise LoweringError(f"{name} gives {results}, which is not what it writes over")

    @cached_property
    def compiled(self) -> CompiledKernel:
        """The kernel for this machine's processor."""
        return CompiledKernel(self.lowered.kernel, self.lowered.spans)

    @staticmethod
    def _without_absent(graph: Graph, formula: Formula, dtypes: Sequence[DType | None]) -> tuple[int, ...]:
        """Return no tensor that there is not."""
        kept = []
        for index, target in reversed(list(enumerate(formula.targets))):
            if dtypes[target] is None:
                graph.body.remove_return(index)
            else:
                kept.append(target)
        return tuple(reversed(kept))

    def numbers(self, values: Sequence[float]) -> list[float]:
        """What the kernel takes as numbers, of those that the formula takes."""
        results = self._numbers(values)
        return [results[k] for k in self.number_indices]


class NumberPart:
    """The part of a formula that is about numbers alone, which is run in Python before the kernel."""

    def __init__(self, parameters: Sequence[Value], nodes: Sequence[Node]) -> None:
        self.values = [*parameters, *[n.result() for n in nodes]]
        """What is computed, the numbers it starts with first."""
        index_of = {value: k for k, value in enumerate(self.values)}
        self._steps: list[tuple[Callable[..., float], list[tuple[int, Any]]]] = []
        for node in nodes:
            assert node.definition is not None
            operands = [(-1, constant_value(v)) if is_constant(v) else (index_of[v], None) for v in node.operands]
            self._steps.append((node.definition.kernel, operands))

    def __call__(self, values: Sequence[float]) -> list[float]:
        results = list(values)
        for kernel, operands in self._steps:
            results.append(kernel(*[value if at < 0 else results[at] for at, value in operands]))
        return results


def _set_flags(graph: Graph, parameters: Sequence[Value], flags: Sequence[bool]) -> None:
    """Make constants of a graph's flags, and follow the ways that they leave open."""
    with graph.inserting(next(iter(graph.nodes()))):
        for parameter, flag in zip(parameters, flags, strict=True):
            parameter.replace_uses_with(insert_constant(graph, flag))
    constant_propagation.do(graph, values_only=True)


def _is_tensor(value: Value) -> bool:
    return isinstance(value.static_type, TensorType)
