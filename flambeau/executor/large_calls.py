"""Operators by themselves on large arrays: one native loop over all elements, where NumPy would go over them once for
each step of the operator's meaning. What is large is in `ops.large`.

Which calls these are follows from the call alone, so that equal calls give equal bits from the first on; a program's
first answer alone may be given by NumPy, rather than wait for a kernel (`util.at_hand`). What is one loop of NumPy's
too, rows that do not lie row-major, and what no kernel computes, run as before. Of half precision every operator is
worth a loop, because NumPy converts there and back one number at a time, or for each step; of integers, products of
matrices are, which no BLAS computes.

>>> import flambeau
>>> x = flambeau.linspace(-1, 1, 1 << 16)
>>> bool((flambeau.nn.functional.gelu(x) - 0.5 * x * (1 + flambeau.erf(x * 0.5**0.5))).abs().max() < 1e-6)
True
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from flambeau.analysis.operator_rules import result_types
from flambeau.codegen import available
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.lower import lower_graph
from flambeau.codegen.sized_launches import SizedLaunch
from flambeau.executor.fused import FusedKernel, Refused
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Value
from flambeau.ops.derivatives.meaning_steps import is_for_numbers
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.ops.large import (
    NEVER,
    PRODUCTS,
    USUAL,
    character_of,
    is_decided_by_dtypes,
    is_large,
    is_worthwhile,
    least_elements,
)
from flambeau.passes.fusible import Fusible
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import FLOAT, TensorType
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.at_hand import does_without
from flambeau.util.inversions import LARGE
from flambeau.util.missed import MISSED
from flambeau.util.record import dataclass

MAX_PATTERNS: Final = 32
"""Patterns of arguments of one operator that kernels are made for; calls of others run as small ones do."""
Entry = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Served:
    """What runs calls of a pattern, and the kernel behind it."""

    entry: Entry
    kernel: FusedKernel


@dataclass(frozen=True, slots=True)
class SizedCalls:
    """Calls of any number of elements."""

    launches: list[SizedLaunch]
    inputs: list[Any]
    """What a kernel is given, of one call."""
    fixed: Sequence[Any]
    """The arguments behind these, which all calls have."""


class LargeCalls:
    """The kernels of one operator."""

    def __init__(
        self, definition: OpDef, *, is_always: bool = False, is_read_anyhow: bool = False,
        has_fixed_numbers: bool = False,
    ) -> None:  # fmt: skip
        """`is_always`: whether NumPy is as good is not asked. `is_read_anyhow`: arrays may lie in any way, also those
        whose rows are folded. `has_fixed_numbers`: kernels are for just the numbers of a call."""
        self._definition = definition
        self._is_always = is_always
        self._is_read_anyhow = is_read_anyhow or definition.scalar is not None or definition.accumulator in PRODUCTS
        self._numbers = [is_for_numbers(a.type) and not has_fixed_numbers for a in definition.schema.arguments]
        self._simple = definition.traits.simple_numbers
        self.entries: SpecialisationCache[Hashable, Served | Refused] = SpecialisationCache(
            f"kernels of {definition.full_name}", MAX_PATTERNS, describe=str
        )

    def __call__(self, arguments: Sequence[Any]) -> Tensor | None:
        """The result of a call; None where no kernel gives it."""
        parts = self._parts(arguments)
        if parts is None:
            return None
        pattern, inputs = parts
        served = self._find(pattern, arguments)
        result: Tensor | None = None if served is None else served.entry(*inputs)
        return result

    def _parts(self, arguments: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]] | None:
        """What decides which kernel a call has, and what that is given; None where there is none."""
        pattern: list[Any] = []
        inputs: list[Any] = []
        for argument, takes_numbers in zip(arguments, self._open(arguments), strict=True):
            if isinstance(argument, Tensor):
                array = argument._array
                if argument.is_wrapped_number or not (self._is_read_anyhow or array.flags.c_contiguous):
                    return None
                pattern.append((array.dtype, array.ndim))
                inputs.append(wrap(array))
            elif takes_numbers and type(argument) is float:
                pattern.append(float)
                inputs.append(argument)
            elif isinstance(argument, list):
                pattern.append((list, *map(type, argument), *argument))
            else:
                pattern.append((type(argument), argument))
        return tuple(pattern), inputs

    def inputs(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments that kernels are given."""
        return [a for a, t in zip(arguments, self._open(arguments), strict=True) if _is_input(a, t)]

    def _open(self, arguments: Sequence[Any]) -> Sequence[bool]:
        """Of each argument whether it may be a number that kernels are given."""
        simple = self._simple
        if not simple:
            return self._numbers
        return [
            t and (type(a) is not float or a not in simple) for a, t in zip(arguments, self._numbers, strict=True)
        ]

    def find(self, arguments: Sequence[Any]) -> Served | None:
        """What serves calls like one; None where nothing does."""
        pattern = self.pattern(arguments)
        return None if pattern is None else self._find(pattern, arguments)

    def _find(self, pattern: Hashable, arguments: Sequence[Any]) -> Served | None:
        try:
            served = self.entries.get(pattern)
        except TypeError:  # an argument that cannot be looked up
            return None
        if served is None:
            if len(self.entries) >= MAX_PATTERNS or does_without(_most_elements(arguments)):
                return None
            served = self.entries.get_or_make(pattern, lambda cause: self._new(arguments))
        return served if isinstance(served, Served) else None

    def sized(self, arguments: Sequence[Any]) -> SizedCalls | None:
        """Launches for calls like one of any number of elements, whose inputs come before all other arguments; None
        for others."""
        served = self.find(arguments)
        are_inputs = list(map(_is_input, arguments, self._open(arguments)))
        count = sum(are_inputs)
        if served is None or not all(are_inputs[:count]) or float in map(type, arguments[count:]):
            return None
        inputs = [plain(a) for a in arguments[:count]]
        return SizedCalls(served.kernel.sized(inputs), inputs, arguments[count:])

    def entry(self, arguments: Sequence[Any]) -> Entry | None:
        """What runs calls whose arguments differ from these in the elements and classes of tensors alone."""
        served = self.find(arguments)
        if served is None:
            return None
        entry = served.entry
        inputs = [k for k, one in enumerate(map(_is_input, arguments, self._open(arguments))) if one]

        def run(*arguments: Any) -> Any:
            operands = [arguments[k] for k in inputs]
            for k, one in enumerate(operands):
                if type(one) is not float:
                    if one.is_wrapped_number:
                        return MISSED
                    operands[k] = wrap(one._array)
            return entry(*operands)

        return run

    def pattern(self, arguments: Sequence[Any]) -> Hashable:
        """What decides which kernel a call has; None where there is none."""
        parts = self._parts(arguments)
        return None if parts is None else parts[0]

    def _new(self, arguments: Sequence[Any]) -> Served | Refused:
        """What runs calls of a pattern natively."""
        if not self._is_always and not is_worthwhile(self._definition, arguments):
            return Refused("NumPy goes over the elements once, too")
        graph = graph_of_call(self._definition, arguments, self._open(arguments))
        if graph is None:
            return Refused("no kernel computes it")
        kernel = FusedKernel(self._definition.schema.name.partition("::")[2], graph)
        return Served(kernel.entry(kernel.natively), kernel)


_UNKNOWN: Final[Any] = object()


def _is_input(argument: Any, takes_numbers: bool) -> bool:
    return isinstance(argument, Tensor) or (takes_numbers and type(argument) is float)


def _most_elements(arguments: Sequence[Any]) -> int:
    return max(a._array.size for a in arguments if isinstance(a, Tensor))


def plain(argument: Any) -> Any:
    """An input as native entries take it: the tensor without its class and without what is behind it."""
    return wrap(argument._array) if isinstance(argument, Tensor) else argument


def graph_of_call(definition: OpDef, arguments: Sequence[Any], numbers: Sequence[bool]) -> Graph | None:
    """A call as a graph of one node; None if no kernel takes that."""
    graph = Graph()
    operands: list[Value] = []
    for argument, takes_numbers in zip(arguments, numbers, strict=True):
        if isinstance(argument, Tensor):
            sizes = (None,) * argument._array.ndim
            known = TensorType(dtype=argument.dtype, sizes=sizes, device=argument.device, requires_grad=False)
            operands.append(graph.add_parameter(known))
        elif _is_input(argument, takes_numbers):
            operands.append(graph.add_parameter(FLOAT))
        else:
            operands.append(insert_constant(graph, argument))
    node = graph.insert(definition.schema.name, operands, [r.type for r in definition.schema.returns])
    if node.definition is not definition or len(node.results) != 1:
        return None
    [result] = result_types(node, definition, node.results)
    node.result().set_type(result)
    graph.add_return(node.result())
    fusible = Fusible(graph)
    return graph if fusible.is_fusible(node) or fusible.is_product(node) else None


_calls: dict[Hashable, LargeCalls | None] = {}
"""By the full name of the operator, and the character of a dtype that is not usual; None where NumPy is as good."""


def large_call(kernel: EntryKernel, arguments: Sequence[Any]) -> Tensor | None:
    """The result of a call on large arrays by one native loop; None where NumPy is as good."""
    calls = _calls_for(kernel, arguments)
    return None if calls is None else calls(arguments)


def large_entry(kernel: EntryKernel, arguments: Sequence[Any]) -> Entry | None:
    """What runs calls like one on large arrays; gives `MISSED` for a tensor that stands for a number, and None where a
    result says that NumPy has to look at the elements. None where NumPy is as good."""
    calls = _calls_for(kernel, arguments) if is_large(kernel, arguments) else None
    return None if calls is None else calls.entry(arguments)


def sized(kernel: EntryKernel, arguments: Sequence[Any]) -> SizedCalls | None:
    """Launches for large calls like one, of any number of elements; None where they depend on more than that, and for
    other calls."""
    calls = _calls_for(kernel, arguments) if is_large(kernel, arguments) else None
    return None if calls is None else calls.sized(arguments)


def _calls_for(kernel: EntryKernel, arguments: Sequence[Any]) -> LargeCalls | None:
    """What may run a call on large arrays: None where NumPy is as good."""
    character = character_of(arguments)
    key: Hashable = kernel.name if character in USUAL else (kernel.name, character)
    calls = _calls.get(key, _UNKNOWN)
    if calls is _UNKNOWN:
        calls = _calls[key] = _new_calls(kernel, arguments)
    large: LargeCalls | None = calls
    return large


def first_large(kernel: EntryKernel, arguments: Sequence[Any]) -> int:
    """From how many elements on calls of a kernel like one on usual floats are large, and not NumPy's any more; those
    that write an argument are as large as those that do not."""
    character = character_of(arguments)
    is_written = kernel.target is not None
    definition = registry.find(kernel.meaning.schema.full_name if is_written else kernel.name)
    if definition is None or character not in USUAL or not available():  # a formula is no operator
        return NEVER
    inputs = arguments[: len(definition.schema.arguments)]
    least = least_elements(definition, character)
    return least if least >= LARGE or _has_kernel(definition, inputs) else NEVER


def _has_kernel(definition: OpDef, arguments: Sequence[Any]) -> bool:
    """Whether there is a kernel for calls like one; nothing is compiled."""
    if not is_worthwhile(definition, arguments):
        return False
    graph = graph_of_call(definition, arguments, [is_for_numbers(a.type) for a in definition.schema.arguments])
    try:
        return graph is not None and bool(lower_graph(graph, [v.static_type for v in graph.parameters]))
    except KernelError:
        return False


def _new_calls(kernel: EntryKernel, arguments: Sequence[Any]) -> LargeCalls | None:
    """The kernels of an operator, unless NumPy is as good for all its calls."""
    definition = registry.get(kernel.name)
    if not available() or (is_decided_by_dtypes(definition) and not is_worthwhile(definition, arguments)):
        return None
    return LargeCalls(definition, has_fixed_numbers=_looks_at_numbers(definition, arguments))


def _looks_at_numbers(definition: OpDef, arguments: Sequence[Any]) -> bool:
    """Whether an operator refuses some numbers, so that kernels are for just those of a call."""
    if definition.compute is None:
        return False
    types = [
        TensorType(dtype=a.dtype) if isinstance(a, Tensor) else FLOAT if is_for_numbers(formal.type) else a
        for formal, a in zip(definition.schema.arguments, arguments, strict=True)
    ]
    return definition.compute(*types) is None
