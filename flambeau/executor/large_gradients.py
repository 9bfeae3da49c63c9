"""The way back through one operator on large arrays: the formulas of all its operands as one compiled function, where
the tape would run each operator of each formula by itself.

Which calls these are follows from the call alone, as for `large_calls`. Formulas that scatter, multiply matrices or ask
for what only a run knows are left to the tape.

>>> import flambeau
>>> from flambeau.util.inversions import LARGE
>>> x = flambeau.linspace(-1, 1, LARGE, requires_grad=True)
>>> flambeau.nn.functional.silu(x).sum().backward()
>>> x.grad[LARGE // 2]
tensor(0.5000)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.proxies import TensorProxy, UntraceableError
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.codegen import available
from flambeau.codegen.callable_type import MISSED
from flambeau.executor.executor import attach
from flambeau.executor.fused import Refused
from flambeau.executor.gradient_blocks import blocks_of
from flambeau.executor.large_calls import MAX_PATTERNS
from flambeau.executor.options import Options
from flambeau.ir.graph import Graph, Node
from flambeau.passes.fusible import ACCUMULATORS, has_kernel_form
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.gradient import Formula, Part
from flambeau.schema.types import FLOAT, TensorType
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import LARGE_GRADIENTS

Values = Sequence[Any]
Gradients = Sequence[Any]
IndexedFormulas = Sequence[tuple[Formula, Sequence[tuple[str, int]]]]
"""Each formula with the names of what it needs and where among the values that is."""


@LARGE_GRADIENTS.provide
class LargeGradients:
    """Answers with the gradients of the operands, in the order of their formulas; None for what it does not serve."""

    def __init__(self, name: str, formulas: IndexedFormulas) -> None:
        self._name = name
        self._formulas = formulas
        self._blocks = blocks_of(formulas)
        self._are_fixed = False
        """Whether numbers decide what the formulas are: each has a function of its own."""
        self.runs: SpecialisationCache[Hashable, Callable[[Values], Gradients] | Refused] = SpecialisationCache(
            f"gradients of {name} on large arrays", MAX_PATTERNS, describe=str
        )

    def __call__(self, values: Values) -> Gradients | None:
        """The gradients, from the values of a call."""
        if thread.handlers:
            return None
        gradients = None if self._blocks is None else self._blocks(values, self._at_once)
        return self._at_once(values) if gradients is None else gradients

    def _at_once(self, values: Values) -> Gradients | None:
        """The gradients by one run."""
        try:
            pattern = tuple([_pattern(value, self._are_fixed) for value in values])
            run = self.runs.get(pattern)
        except TypeError:  # a value that cannot be looked up
            return None
        if run is None:
            if len(self.runs) >= MAX_PATTERNS:
                return None
            were_fixed = self._are_fixed
            run = self.runs.get_or_make(pattern, lambda cause: self._compiled(values))
            if self._are_fixed and not were_fixed:
                return self._at_once(values)
        return None if isinstance(run, Refused) else run(values)

    def _compiled(self, values: Values) -> Callable[[Values], Gradients] | Refused:
        if not available():
            return Refused("there is no native code")
        try:
            graph, passed = traced(self._formulas, values, self._are_fixed)
        except UntraceableError as error:
            self._are_fixed = self._are_fixed or float in map(type, values)
            return Refused(f"a formula asks for {error}")
        if not (_pays(graph) or any(formula.is_whole for formula, _ in self._formulas)):
            return Refused("NumPy is as good")
        name = f"gradients_of_{self._name}"
        executor = attach(Function(name, graph, schema_of(name, graph)), Options(), is_noted=False)

        are_fixed = self._are_fixed
        plain = _laid_out if any(map(_has_routine, graph.nodes())) else _plain

        def run(values: Values) -> Gradients:
            inputs = [plain(value) for value in values if _is_input(value, are_fixed)]
            fast_path = executor.fast_path
            result = MISSED if fast_path is None else fast_path(*inputs)
            if result is MISSED:
                result = executor(*inputs)
            computed = iter(result if isinstance(result, tuple) else (result,))
            return [next(computed) if index is None else values[index] for index in passed]

        return run


def _is_input(value: Any, are_fixed: bool) -> bool:
    return isinstance(value, Tensor) or (type(value) is float and not are_fixed)


def _pattern(value: Any, are_fixed: bool) -> Any:
    """What of a value decides which function a call has; of numbers all, if they `are_fixed`."""
    if isinstance(value, Tensor):
        return value._array.dtype, value._array.ndim
    if type(value) is float:
        return (float, value.hex()) if are_fixed else float
    return (list, *value) if isinstance(value, list) else (type(value), value)


def _plain(value: Any) -> Any:
    return wrap(value._array) if isinstance(value, Tensor) else value


def _laid_out(value: Any) -> Any:
    """The same for routines, which take elements row by row: a gradient that one number was repeated for is not."""
    return wrap(np.ascontiguousarray(value._array)) if isinstance(value, Tensor) else value


def traced(formulas: IndexedFormulas, values: Values, are_fixed: bool) -> tuple[Graph, list[int | None]]:
    """All formulas as one graph; for each the value that it gives as it is, None where the graph gives the result.

    Raises UntraceableError for what only a run tells.
    """
    graph = Graph()
    builder = Builder(graph, SymbolicSizes(graph))
    proxied = [_proxy(builder, value) if _is_input(value, are_fixed) else value for value in values]
    passed: list[int | None] = []
    of_all: dict[Any, Any] = {}
    """What functions gave that compute the gradients of several operands."""
    for formula, indices in formulas:
        needed = {name: proxied[index] for name, index in indices}
        if isinstance(formula, Part):
            if formula.function not in of_all:
                of_all[formula.function] = formula.of_all(builder.operators, needed)
            gradient = of_all[formula.function][formula.index]
        else:
            gradient = formula(builder.operators, needed)
        if not isinstance(gradient, TensorProxy):
            raise UntraceableError("a gradient that is no tensor")
        same = [k for k, one in enumerate(proxied) if isinstance(one, TensorProxy) and one.value is gradient.value]
        passed.append(same[0] if same else None)
        if not same:
            graph.add_return(gradient.value)
    return graph, passed


def _proxy(builder: Builder, value: Any) -> Any:
    graph = builder.graph
    if isinstance(value, Tensor):
        sizes = (None,) * value._array.ndim
        return builder.proxy(graph.add_parameter(TensorType(dtype=value.dtype, sizes=sizes, requires_grad=False)))
    return builder.proxy(graph.add_parameter(FLOAT))


def _pays(graph: Graph) -> bool:
    """Whether kernels compute all of a graph, and go over the elements less often than NumPy."""
    steps = [n for n in graph.nodes() if any(isinstance(v.static_type, TensorType) for v in n.results)]
    computing = [n for n in steps if not _is_view(n) and not _is_of_numbers(n)]
    return len(computing) > 1 and all(map(_is_in_kernels, computing))


def _is_of_numbers(node: Node) -> bool:
    """Whether a node makes a tensor without axes of numbers."""
    types = [v.static_type for v in node.results]
    are_scalars = all(isinstance(t, TensorType) and t.rank == 0 for t in types)
    return are_scalars and not any(isinstance(v.static_type, TensorType) for v in node.operands)


def _is_view(node: Node) -> bool:
    return node.definition is not None and node.definition.family == "view"


def _is_in_kernels(node: Node) -> bool:
    """Whether kernels go over elements for an operator, and not by places or along rows of a product; or a routine
    made for the way back does."""
    definition = node.definition
    if _has_routine(node):
        return True
    if definition is None or not has_kernel_form(definition):
        return False
    return definition.scalar is not None or definition.accumulator in ACCUMULATORS


def _has_routine(node: Node) -> bool:
    """Whether a node is run by a routine made for the way back."""
    definition = node.definition
    return definition is not None and definition.traits.has_routine and node.op.startswith("flambeau::")
