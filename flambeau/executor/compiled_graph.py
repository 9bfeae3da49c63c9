"""A plan's graph as one native function, compiled when it is first called with tensors that lie in memory in some way.

What native code cannot do itself it asks for here: the interpreter runs the nodes of an exit point on the same memory,
which computes their results, or raises the error that the program's failing place deserves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_writes
from flambeau.codegen.callable_type import MISSED, missed
from flambeau.codegen.choices import USUAL, Choices
from flambeau.codegen.graph import result_types
from flambeau.codegen.graph.entry.entry_stub import Entry, Parameter, Signature, make_entry, ones_of
from flambeau.codegen.graph.exit_points import ExitPoint
from flambeau.codegen.graph.module import Prepare
from flambeau.codegen.graph.native import NativeFunction
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.objects.object_arguments import NotNativeError, refuse_unpacked
from flambeau.codegen.graph.objects.object_entry import ObjectEntry, make_object_entry
from flambeau.codegen.graph.read_function import ReadFunction
from flambeau.codegen.graph.representation import Array, Listed, Mapped, Representation, Tupled, has_text, holds_objects
from flambeau.codegen.inline_cache import InlineCache
from flambeau.codegen.kernel import KernelError
from flambeau.codegen.launch_image import LaunchMemory
from flambeau.codegen.llvm.compiler import NativeError
from flambeau.executor.fused import kernel_of
from flambeau.executor.native_records import KeptNative, Looks
from flambeau.interpreter.code import Code, called_from
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.machine import run
from flambeau.ir.clone import clone_node
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes.inline import callee_of
from flambeau.schema.types import BoolType, FloatType, IntType, ListType, TupleType, Type
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor.grad_mode import may_write
from flambeau.tensor.tensor import Tensor
from flambeau.util import blas, log
from flambeau.util.depth import TOO_DEEP, deep_recursion
from flambeau.util.no_collection import no_collection
from flambeau.util.user_code import warn_user

HOT = 10_000
"""Iterations of a loop, or calls, that are interpreted from which on it is worth a word."""
MAX_VARIANTS = 4
"""Ways in which a plan's tensors may lie in memory that get code of their own; others share the code for any way."""
Density = tuple[bool, ...]
StandIn = Callable[["CompiledGraph", NativeFunction], NativeFunction]
"""Gives what is called instead of a native function."""


class Read(Protocol):
    """What an earlier process left of a plan."""

    @property
    def looks(self) -> Looks:
        """What is known of the plan's graph."""

    @property
    def launches(self) -> LaunchMemory:
        """Launches of its groups."""

    def native(self, density: Density) -> KeptNative | None:
        """The function for tensors that lie in memory in one way."""


class Interpreted:
    """What stands in the place of a native function that cannot be compiled."""


class CompiledGraph:
    """The native code of one plan; `None` from a call means that the interpreter has to serve it."""

    def __init__(
        self, name: str, graph: Graph | Callable[[], Graph], choices: Choices = USUAL, *, enters: bool = True,
        prepare: Prepare | None = None, asked: Callable[[Node, str], None] | None = None, read: Read | None = None,
    ) -> None:  # fmt: skip
        """`enters`: whether users' calls may go to native code directly. `prepare`: see `codegen.graph.module`.

        `asked` is told of a node that native code has had Python run often, and why. `read` is what an earlier process
        left of it: then `graph` gives the graph.
        """
        self.asked = asked
        """Told of nodes that Python runs often."""
        self._times: dict[int, int] = {}
        """By the number of the exit point, how often Python ran it."""
        self._enters = enters
        self._choices = choices
        self._prepare = prepare
        self.name = name
        self._read, self._graph = read, graph
        self.looks = looks_of(self.graph) if read is None else read.looks
        self.variants_cache: SpecialisationCache[Density, NativeFunction | Interpreted] = SpecialisationCache(
            f"native functions of {name}", MAX_VARIANTS + 1, describe=_describe_density, compare=_compare
        )
        self._pieces: dict[int, tuple[ExitPoint, Code]] = {}
        """By the identity of the exit point, which is kept alive with its code."""
        self.reason = ""
        """Why there is no native code."""
        self.blamed: Node | None = None
        """The node that has no native form, where it is one."""
        self.is_refused = False
        """Whether that is because LLVM refused it."""
        self.object_seconds = 0.0, 0.0
        """How long the last call with objects was at copying them, and how long its code ran."""
        self._entries: list[Entry | ObjectEntry] = []
        self._is_timed = True

    def anew(self, graph: Graph) -> CompiledGraph:
        """One for another form of the same graph, of which there is no code yet."""
        return CompiledGraph(
            self.name, graph, self._choices, enters=self._enters, prepare=self._prepare, asked=self.asked
        )

    @property
    def graph(self) -> Graph:
        """What it computes."""
        if not isinstance(self._graph, Graph):
            self._graph = self._graph()
        return self._graph

    @property
    def has_loop(self) -> bool:
        """Whether it may take long: it has a loop, or calls a function that calls itself."""
        return self.looks.has_loop

    @property
    def is_read(self) -> bool:
        """Whether an earlier process left native code."""
        return self._read is not None

    @property
    def variants(self) -> list[NativeFunction]:
        """The native functions so far."""
        return [v for v in self.variants_cache.values if isinstance(v, NativeFunction)]

    def variant_for(self, arguments: Sequence[Any]) -> NativeFunction | None:
        """The native function for tensors that lie in memory like these."""
        density = density_of(self.looks.types, arguments)
        if density is None:
            return None
        variant = self.variants_cache.get(density)
        if variant is None:
            if len(self.variants_cache) >= MAX_VARIANTS:
                density = (False,) * len(density)  # code for any way, which is kept beside the others
            variant = self.variants_cache.get_or_make(density, lambda cause: self._compiled(arguments, density))
        return variant if isinstance(variant, NativeFunction) else None

    def __call__(
        self, arguments: Sequence[Any], changed: Sequence[int] = (), stand_in: StandIn | None = None
    ) -> tuple[Any, ...] | None:
        """The results, or None where the interpreter has to run the function.

        Lists are copied, but for the arguments number `changed`, to which is done what the function does to them.
        `stand_in` gives what is called instead of the native function.
        """
        if self.reason:
            return None
        native = self.variant_for(arguments)
        if native is None:
            return None
        written = [t for number in self.looks.written for t in _tensors_in(arguments[number])]
        if not all(t._array.flags.writeable and may_write(t._storage.version) for t in written):
            return None
        if stand_in is not None:
            native = stand_in(self, native)
        try:
            results = native(arguments, changed)
            if isinstance(native, NativeFunction):
                self.object_seconds = native.object_seconds
            return results
        except NotNativeError:
            return None
        finally:
            for tensor in written:
                tensor.bump_version()

    @no_collection()
    def _compiled(self, arguments: Sequence[Any], density: Density) -> NativeFunction | Interpreted:
        try:
            native = self._read_native(density) or self._new_native(arguments, density)
        except RecursionError:
            self.reason = TOO_DEEP
            return Interpreted()
        except NativeError as error:
            self._give_up(error)
            return Interpreted()
        except (CannotCompileError, KernelError) as reason:
            self.reason = str(reason)
            self.blamed = reason.node if isinstance(reason, CannotCompileError) else None
            if log.level("codegen"):
                log.write("codegen", f"{self.name} is interpreted: {reason}")
            return Interpreted()
        native.is_timed = self._is_timed
        if self._enters:
            self._enter(native, arguments)
        return native

    def _new_native(self, arguments: Sequence[Any], density: Density) -> NativeFunction:
        parameters = self._parameters(arguments, density)
        with deep_recursion():
            return NativeFunction(
                self.graph, parameters, self._run_exit_point, self._inline_cache,
                choices=self._choices, prepare=self._prepare,
            )  # fmt: skip

    def _read_native(self, density: Density) -> NativeFunction | None:
        """The function that an earlier process left for such tensors; None where it left none, or its code is gone."""
        kept = None if self._read is None else self._read.native(density)
        if self._read is None or kept is None:
            return None
        with contextlib.suppress(NativeError):
            return ReadFunction(
                lambda: self.graph, kept.parameters, kept.linkage, kept.key, self._run_exit_point,
                self._read.launches, kept.groups,
                choices=self._choices, prepare=self._prepare, image=kept.image,
            )  # fmt: skip
        return None

    @property
    def asks(self) -> bool:
        """Whether Python runs nodes for some of its code whenever they are reached."""
        return any(native.linkage.asks for native in self.variants)

    @property
    def asked_seconds(self) -> float:
        """How long Python was at what native code asked of it, so far."""
        return sum(native.asked_seconds for native in self.variants)

    @property
    def is_timed(self) -> bool:
        """Whether what Python is asked is timed: reading a thread's clock takes as long as many things it is asked."""
        return self._is_timed

    @is_timed.setter
    def is_timed(self, value: bool) -> None:
        self._is_timed = value
        for native in self.variants:
            native.is_timed = value

    def lose(self) -> None:
        """Interpret from now on, which has turned out to be quicker."""
        self.reason = "what native code asks of Python takes longer than to interpret all of it"
        self._entries.clear()

    def _give_up(self, error: NativeError) -> None:
        """Interpret from now on, and say so: that LLVM refuses our code is a mistake of ours."""
        self.is_refused = True
        self.reason = str(error).partition("\n")[0]
        text = f"native code for {self.name} could not be made: {error}. It is interpreted; please report this"
        warn_user(text, RuntimeWarning)

    def _enter(self, native: NativeFunction, arguments: Sequence[Any]) -> None:
        """A native entry for a new variant, which asks the entry before it for what does not fit."""
        slow = self.fast_path or missed
        if any(map(holds_objects, (*native.parameters, *native.linkage.results))):
            of_objects = make_object_entry(native, slow)
            if of_objects is not None:
                self._entries.append(of_objects)
            return
        parameters = tuple([
            Parameter(rep, number in self.looks.written, ones_of(rep, argument))
            for number, (rep, argument) in enumerate(zip(native.parameters, arguments, strict=True))
        ])
        signature = Signature(parameters, native.linkage.results, native.linkage.record_words)
        try:
            entry = make_entry(signature, native.address, slow, native.fail)
        except CannotCompileError:
            return  # called from Python: a list that never held anything has no representation
        if entry is not None:
            self._entries.append(entry)

    @property
    def fast_path(self) -> Callable[..., Any] | None:
        """Takes arguments as users give them and gives the result, or `MISSED`; None before the first call."""
        return self._entries[-1].call if self._entries else None

    def by_entry(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results as users' calls come by them; None where no entry serves such arguments."""
        result: Any = MISSED if self.fast_path is None else self.fast_path(*arguments)
        if result is MISSED:
            return None
        return (result,) if len(self.graph.returns) == 1 else tuple(result)

    @property
    def calls(self) -> int:
        """How often native entries called it."""
        return sum(e.served for e in self._entries)

    def _parameters(self, arguments: Sequence[Any], density: Density) -> list[Representation]:
        flags = iter(density)
        parameters = []
        for value, argument in zip(self.graph.parameters, arguments, strict=True):
            rep = result_types.of_parameter(value.static_type)
            if rep is None:
                raise CannotCompileError(f"parameter %{value.name} is {_unknown(value.static_type, argument)}")
            if not self.has_loop and isinstance(rep, Listed) and has_text(rep):
                raise CannotCompileError("a list of texts that is looked at, which takes less time than copying it")
            if isinstance(rep, Mapped) and not self.has_loop:
                raise CannotCompileError("a dict that is only looked at, which takes less time than copying it")
            parameters.append(_with_density(rep, flags, argument))
        refuse_unpacked(parameters)
        return parameters

    def _inline_cache(self, exit_point: ExitPoint) -> InlineCache:
        return kernel_of(exit_point.nodes[0]).inline_cache

    def code_of(self, exit_point: ExitPoint) -> Code:
        """The nodes of an exit point as bytecode, compiled once for each that native code has."""
        plain = exit_point.plain or exit_point
        known = self._pieces.get(id(plain))
        if known is None:
            known = plain, compile_graph(_piece(plain), self.name)
            if plain.number >= 0:
                self._pieces[id(plain)] = known
        return called_from(known[1], exit_point.call_chain)

    def _run_exit_point(self, exit_point: ExitPoint, values: Sequence[Any]) -> Sequence[Any]:
        arguments = tuple([_as_declared(v, i.static_type) for v, i in zip(values, exit_point.inputs, strict=True)])
        if exit_point.is_called and self.asked is not None:
            times = self._times[exit_point.number] = self._times.get(exit_point.number, 0) + 1
            if times == HOT:
                self.asked(exit_point.nodes[0], exit_point.reason)
        code = self.code_of(exit_point)
        if self._choices.num_threads is None:
            return run(code, arguments)
        with blas.at_most(self._choices.num_threads):
            return run(code, arguments)


def looks_of(graph: Graph) -> Looks:
    """What calls need to know of a graph."""
    has_loop = graph.find("prim::Loop") is not None or any(callee_of(n) for n in graph.listed_nodes())
    return Looks(has_loop, tuple([v.static_type for v in graph.parameters]), tuple(_written_inputs(graph)))


def _unknown(type_: Type, argument: Any) -> str:
    """What an argument is about which too little is known for native code."""
    if isinstance(type_, ListType) and isinstance(argument, list) and result_types.may_hold_tensors(type_):
        if not argument:
            return f"an empty list: nothing tells what its {type_.element} would be"
        return "a list of tensors that differ in dtype, rank or need of gradients, or will once the function changes it"
    return f"a {type_}"


def _as_declared(value: Any, type_: Type) -> Any:
    """Lists that native code keeps apart, item by item, arrive as tuples."""
    if type(value) is not tuple:
        return value
    if isinstance(type_, ListType):
        return [_as_declared(item, type_.element) for item in value]
    if isinstance(type_, TupleType):
        return tuple([_as_declared(item, t) for item, t in zip(value, type_.elements, strict=True)])
    return value


def _piece(exit_point: ExitPoint) -> Graph:
    """The nodes of an exit point as a graph of its own."""
    graph = Graph()
    copies: dict[Value, Value] = {v: graph.add_parameter(v.static_type, v._name) for v in exit_point.inputs}
    for node in exit_point.nodes:
        for value in _used(node):
            if value not in copies and value.defining_node is not None and value.defining_node.op == "prim::Constant":
                graph.body.append(clone_node(value.defining_node, graph, copies))
        if node.op != "prim::Constant":
            graph.body.append(clone_node(node, graph, copies))
    for value in exit_point.outputs:
        graph.add_return(copies[value])
    return graph


def _used(node: Node) -> list[Value]:
    values = list(node.operands)
    for block in node.nested_blocks:
        for inner in block:
            values.extend(_used(inner))
        values.extend(block.returns)
    return values


def _written_inputs(graph: Graph) -> list[int]:
    """The parameters through which tensors are written; others may change because they share memory with them."""
    if not any(map(own_writes, graph.listed_nodes())):
        return []
    apart = AliasAnalysis(graph, apart=True)
    return [k for k, v in enumerate(graph.parameters) if apart.has_tensor_writers(v)]


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors_in(item)


def density_of(types: Sequence[Type], arguments: Sequence[Any]) -> Density | None:
    """Which of the tensors lie row-major in one piece, those in lists left aside; None for tensors that native code
    cannot look at.
    """
    dense: list[bool] = []
    for type_, value in zip(types, arguments, strict=True):
        if isinstance(value, Tensor):
            flags = value._array.flags
            if not flags.aligned or not value._array.dtype.isnative:
                return None
            dense.append(bool(flags.c_contiguous) and value._array.size > 0)
        elif isinstance(type_, TupleType) and value is not None:
            within = density_of(type_.elements, value)
            if within is None:
                return None
            dense += within
        elif isinstance(value, list | tuple) and not _are_readable(type_, value):
            return None
    return tuple(dense)


def _are_readable(type_: Type, value: Sequence[Any]) -> bool:
    """Whether native code can look at all tensors in a container."""
    if isinstance(type_, ListType) and isinstance(type_.element, IntType | FloatType | BoolType):
        return True
    return all(_can_be_read(t) for t in _tensors_in(value))


def _can_be_read(tensor: Tensor) -> bool:
    return bool(tensor._array.flags.aligned) and tensor._array.dtype.isnative


def _describe_density(density: Density) -> str:
    return ", ".join("dense" if is_dense else "any strides" for is_dense in density) or "none"


def _compare(density: Density, other: Density) -> str:
    return f"tensors in memory: {_describe_density(density)}, was {_describe_density(other)}"


def _with_density(rep: Representation, flags: Iterator[bool], value: Any) -> Representation:
    """How an argument like a value looks, with what is known of its tensors."""
    match rep:
        case Array():
            return Array(rep.dtype, rep.rank, rep.rank if next(flags) else 0)
        case Tupled():
            items = tuple([_with_density(r, flags, v) for r, v in zip(rep.items, value, strict=True)])
            return Tupled(items, isinstance(value, list))
        case _:
            return rep
