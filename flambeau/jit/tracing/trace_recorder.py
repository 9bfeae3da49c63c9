"""Turns a run into a graph: an interceptor of operators and an observer of what leaves the tensors' world.

Every operator call becomes a node whose operands are the values of its tensors; numbers become constants, sizes stay
expressions (`symbols`). What Python learns of a tensor, a branch or an `int()`, is fixed in the trace (`baking`). A
module's call stands between markers, of which `trace_modules` makes a method; until then attributes are read from the
root under dotted names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from flambeau.interpreter.future import Future
from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Value
from flambeau.ir.kinds import PYTHON_ARGUMENTS
from flambeau.jit.tracing.baking import COMPARING, KINDS, PROPERTIES, Baker, precision_of, same_contents, user_range
from flambeau.jit.tracing.python_calls import NOT_TENSORS, PythonCall
from flambeau.jit.tracing.symbols import TracedFloat, TracedInt, TracedNumber
from flambeau.jit.tracing.traced_forks import ENTER_FORK, EXIT_FORK, TracedFuture
from flambeau.jit.tracing.traced_tensor import TracedShape, TracedTensor
from flambeau.jit.tracing.traced_values import TracedValues, tensor_type
from flambeau.nn.module import Module
from flambeau.passes import inline
from flambeau.program.function import Function
from flambeau.schema import registry
from flambeau.schema import types as t
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch, observer
from flambeau.tensor.random import default_generator
from flambeau.tensor.settled import readable
from flambeau.tensor.tensor import Tensor, share

FOREIGN_METHOD = (
    "Cannot trace the call of '{name}' of {type}: that module is no part of what is traced. Make it a submodule "
    "of a module and trace that, or script the function"
)
VIEWS = (
    "There are {count} live references to the data region being modified when tracing in-place operator {name}. This "
    "might cause the trace to be incorrect, because all other views that also reference this data will not reflect "
    "this change in the trace. Trace without _force_outplace"
)
PRECISION = 1e-12
"""How far a float that was computed of sizes may be off."""
ENTER, EXIT = "prim::Enter", "prim::Exit"
"""Markers around a module's call; `path` says which module's."""


class Recorder:
    """Records one run into `graph`."""

    def __init__(
        self, graph: Graph, root: Module | None = None, *, guard: bool = True, warn: bool = True,
        outplace: bool = False,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.baker = Baker(graph, guard=guard, warn=warn)
        self.random: list[str] = []
        """Operators that drew random numbers."""
        self._outplace = outplace
        self.values = TracedValues(graph, root)
        self._scopes: list[str] = []
        self._paths: dict[int, str] = {}
        self._objects: dict[int, str] = {}
        """Scripted modules inside the traced one, by their objects."""
        if root is not None:
            self._learn(root)

    def _learn(self, root: Module) -> None:
        for path, module in root.named_modules():
            self._paths[id(module)] = path
            if "script_object" in vars(module):
                self._objects[id(vars(module)["script_object"])] = path

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Within the block, this thread's operators are recorded."""
        try:
            with observer.observing(self), dispatch.intercepting(self.handle):
                yield
        finally:
            self.values.release()

    # -- operators ----------------------------------------------------------------------------------------------------

    def handle(self, definition: OpDef, arguments: Sequence[Any], proceed: Any) -> Any:
        """Record one operator call: the interceptor."""
        question = _question(definition, arguments)
        if question is not None:
            return question(arguments[0])
        self._locate()
        operands = [
            self.values.value_of(value, argument.type)
            for value, argument in zip(arguments, definition.schema.arguments, strict=True)
        ]
        if any(isinstance(a, Tensor) and self.values.is_nameless(a) for a in arguments):
            self.values.name_variables()
        result = self._run(definition, arguments, proceed)
        if self._outplace:
            operands = self._out_of_place(definition, arguments, operands)
        returns = [r.type for r in definition.schema.returns]
        node = self.graph.insert(self._recorded_as(definition), operands, returns)
        if len(returns) > 1:
            return tuple([self._result(r, v) for r, v in zip(result, node.results, strict=True)])
        return self._result(result, node.result()) if returns else result

    def _run(self, definition: OpDef, arguments: Sequence[Any], proceed: Any) -> Any:
        """The result of an operator; a tensor that it gives back as it is becomes another one on the same memory."""
        try:
            with observer.observing(None):
                result = proceed([plain(a) for a in arguments])
        except Exception as error:
            self.baker.failed(definition.name, error)
            raise
        if definition.draws(arguments):
            self.random.append(definition.name)
        is_argument = isinstance(result, Tensor) and any(result is a for a in arguments)
        return _alias(result) if is_argument and not definition.schema.is_mutable else result

    def _out_of_place(self, definition: OpDef, arguments: Sequence[Any], operands: list[Value]) -> list[Value]:
        """The operands of what is recorded in place of an operator that writes; warns of what the trace loses."""
        if definition.schema.is_mutable and isinstance(arguments[0], Tensor):
            self._warn_of_views(definition, arguments[0])
        if definition.name == "aten::copy_" and isinstance(arguments[1], Tensor):
            return [operands[1], operands[0]]  # what is copied, made as large as what it went to
        return operands

    def _warn_of_views(self, definition: OpDef, written: Tensor) -> None:
        """Other tensors on the memory that is written would not see, in the trace, what becomes of it."""
        count = self.values.count_on(written)
        if count > 1:
            self.baker.warn(VIEWS.format(count=count, name=definition.name))

    def _recorded_as(self, definition: OpDef) -> str:
        """The operator that a node names: for `_force_outplace` the one that makes a new tensor."""
        name = definition.name
        if name == "aten::detach_":
            return "aten::detach"  # a graph has no tensors to detach in place
        if self._outplace and name == "aten::copy_" and isinstance(definition.schema.arguments[1].type, t.TensorType):
            return "aten::expand_as"
        if self._outplace and definition.family == "in_place" and registry.overloads(name.removesuffix("_")):
            return name.removesuffix("_")
        return name

    def _result(self, result: Any, value: Value) -> Any:
        if isinstance(result, Tensor):
            self.values.define(result, value.set_type(tensor_type(result)))
        elif isinstance(result, list) and result and all(isinstance(r, Tensor) for r in result):
            unpack = self.graph.insert("prim::ListUnpack", [value], [tensor_type(r) for r in result])
            for part, output in zip(result, unpack.results, strict=True):
                self.values.define(part, output)
        elif type(result) is int and isinstance(value.static_type, t.IntType):
            return self._traced_int(result, value)
        elif type(result) is bool and value.defining_node is not None and value.static_type == t.BOOL:
            self.baker.fix("a Python boolean", result, value)
        return result

    def _traced_int(self, number: int, value: Value) -> TracedInt:
        return TracedInt(number, value, self)

    def sizes(self, tensor: Tensor, sizes: tuple[int, ...]) -> tuple[Any, ...]:
        """The sizes of a traced tensor as expressions."""
        source = self.values.find(tensor)
        if source is None:
            return sizes
        self._locate()

        def at(dim: int) -> TracedInt:
            self._locate()
            index = insert_constant(self.graph, dim, t.INT)
            value = self.graph.insert("aten::size", [source, index], [t.INT]).result()
            return self._traced_int(sizes[dim], value)

        return TracedShape.of(
            tuple(map(at, range(len(sizes)))), lambda: self._fix_property("rank", source, len(sizes)), at
        )

    def computed(self, name: str, operands: tuple[Any, ...], number: float, *, is_free: bool) -> TracedNumber:
        """Arithmetic on sizes."""
        kind = TracedFloat if isinstance(number, float) else TracedInt
        node = self._on_numbers(name, operands, t.FLOAT if kind is TracedFloat else t.INT)
        return kind(number, node, self, is_free=is_free)

    def _on_numbers(self, name: str, operands: tuple[Any, ...], type_: t.Type) -> Value:
        self._locate()
        return self.graph.insert(name, [self.values.value_of(x, t.NUMBER) for x in operands], [type_]).result()

    def integer(self, tensor: Tensor) -> Any:
        """A 0-d integer tensor as an index that stays open."""
        source = self.values.dependent(tensor, state=True)
        if source is None:
            return int(readable(tensor)._array.item())
        self._locate()
        value = self.graph.insert("aten::Int", [source], [t.INT]).result()
        return self._traced_int(int(readable(tensor)._array.item()), value)

    def number(self, tensor: Tensor) -> Any:
        """A real number that stays open; what else a tensor of one element may hold is fixed."""
        if tensor._array.dtype.kind in "iu":
            return self.integer(tensor)
        dtype: DType = Tensor.dtype.__get__(tensor)
        source = self.values.dependent(tensor, state=True) if dtype.is_floating_point else None
        if source is None:
            return Tensor.item(tensor)
        with observer.observing(None):
            number = float(tensor)
        self._locate()
        value = self.graph.insert("aten::Float", [source], [t.FLOAT]).result()
        return TracedFloat(number, value, self)

    # -- calls --------------------------------------------------------------------------------------------------------

    def called(self, function: Function, arguments: Sequence[Any], run: Any) -> Any:
        """Record a call of a scripted function as a call, its control flow intact."""
        self._locate()
        operands = [self.values.value_of(a, d.type) for a, d in zip(arguments, function.schema.arguments, strict=True)]
        constant = self.graph.insert("prim::Constant", [], [t.FUNCTION], name=function.short_name, function=function)
        return self._call("prim::CallFunction", [constant.result(), *operands], function, arguments, run)

    def called_method(self, method: Any, arguments: Sequence[Any], run: Any) -> Any:
        """Record a call of a scripted module's method as a call. Raises RuntimeError for one that is no part of the
        trace.
        """
        path = self._objects.get(id(method.owner))
        if path is None or self.values.self_value is None:
            raise RuntimeError(FOREIGN_METHOD.format(name=method.name, type=method.owner.type.name))
        self._locate()
        function: Function = method.script_function
        declared = function.schema.arguments[1:]
        operands = [self.values.value_of(a, d.type) for a, d in zip(arguments, declared, strict=True)]
        owner = self.values.attribute(path, method.owner.type)
        return self._call("prim::CallMethod", [owner, *operands], function, arguments, run, name=function.short_name)

    def called_python(self, name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Record a call of a Python function as one node, which calls it again: what it is given besides tensors stays
        as it was. Raises RuntimeError for results that are no tensors.
        """
        self._locate()
        call = PythonCall(name, function, [None if isinstance(a, Tensor) else plain(a) for a in arguments])
        call = call.of_tensors([n for n, a in enumerate(arguments) if isinstance(a, Tensor)])
        operands = [self.values.value_of(a, t.TENSOR) for a in arguments if isinstance(a, Tensor)]
        with observer.observing(None), dispatch.uninterrupted():
            result = call(*[a for a in arguments if isinstance(a, Tensor)])
        results = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(r, Tensor) for r in results):
            raise RuntimeError(NOT_TENSORS.format(name=name))
        types: list[t.Type] = [t.TENSOR for _ in results]
        returned = t.TupleType(tuple(types)) if isinstance(result, tuple) else t.TENSOR
        node = self.graph.insert(f"^{name}", operands, [returned], callable=call)
        if call.scalar_args:
            node.attributes[PYTHON_ARGUMENTS] = call.arguments_text
        result = _apart(result, {id(a) for a in arguments})
        self._unpack(result, node.result())
        return result

    def forked(self, task: Callable[[], Any]) -> Future:
        """Record a task, which runs now, as one whose result is waited for."""
        self._locate()
        enter = self.graph.insert(ENTER_FORK, [], [])
        try:
            with self.values.inner():
                result = task()
                packed = self.values.packed(result)
        except Exception as error:
            enter.erase()
            failure = error
            return Future.of(lambda: _raise(failure))
        exit_ = self.graph.insert(EXIT_FORK, [packed], [t.FutureType(packed.static_type)])

        def waited(result: Any) -> Any:
            if observer.current() is not self:
                return result
            self._locate()
            value = self.graph.insert("aten::wait", [exit_.result()], [packed.static_type]).result()
            fresh = _apart(result, None)
            self._unpack(fresh, value)
            return fresh

        return TracedFuture.recorded(result, waited)

    def _call(
        self,
        kind: str,
        operands: list[Value],
        function: Function,
        arguments: Sequence[Any],
        run: Any,
        **attributes: Any,
    ) -> Any:
        returned = function.schema.returns[0].type if function.schema.returns else t.NONE
        node = self.graph.insert(kind, operands, [returned], **attributes)
        may_draw = random_operators(function)
        before = default_generator.position() if may_draw else b""
        try:
            with observer.observing(None), dispatch.uninterrupted():
                result = run([plain(a) for a in arguments])
        except Exception as error:
            node.erase()
            self.baker.failed(function.short_name, error)
            raise
        if may_draw and default_generator.position() != before:
            self.random += may_draw
        result = _apart(result, {id(a) for a in arguments if isinstance(a, Tensor)})
        self._unpack(result, node.result())
        return result

    def _unpack(self, result: Any, value: Value) -> None:
        """Tell which values the tensors in a call's result are."""
        type_ = value.static_type.contained[0] if isinstance(value.static_type, t.OptionalType) else value.static_type
        if isinstance(result, Tensor):
            if not isinstance(value.static_type, t.TensorType):
                value = self.graph.insert("prim::unchecked_cast", [value], [t.TENSOR]).result()
            self.values.define(result, value.set_type(tensor_type(result)))
        elif isinstance(result, tuple | list) and isinstance(type_, t.TupleType | t.ListType):
            is_tuple = isinstance(type_, t.TupleType)
            inner = type_.elements if isinstance(type_, t.TupleType) else [type_.element] * len(result)
            unpack = self.graph.insert("prim::TupleUnpack" if is_tuple else "prim::ListUnpack", [value], inner)
            for part, output in zip(result, unpack.results, strict=True):
                self._unpack(part, output)
        elif isinstance(result, dict) and isinstance(type_, t.DictType):
            for key, item in result.items():
                constant = insert_constant(self.graph, key)
                item_value = self.graph.insert("aten::__getitem__", [value, constant], [type_.value]).result()
                self._unpack(item, item_value)

    # -- what Python learns -------------------------------------------------------------------------------------------

    def converted(self, kind: str, tensor: Tensor, value: Any) -> Any:
        """A tensor became a Python value, or was asked about."""
        source = self.values.dependent(tensor, state=kind in KINDS)
        if source is None:
            return value
        self._locate()
        if kind in PROPERTIES:
            self._fix_property(kind, source, value)
            return value
        if kind == "numel":
            return self._traced_int(value, self.graph.insert("aten::numel", [source], [t.INT]).result())
        if kind == "iter":
            zero = insert_constant(self.graph, 0, t.INT)
            size = self.graph.insert("aten::size", [source, zero], [t.INT]).result()
            self.baker.fix("the number of rows", value, size, action="Iterating over a tensor")
            return value
        what, operator, type_ = KINDS[kind]
        if kind in ("tolist", "numpy"):
            self.baker.fix(what, value, source, holds=same_contents(self.graph, source, tensor))
            return value
        if kind == "item":
            operator, type_ = {bool: KINDS["bool"], int: KINDS["int"], float: KINDS["float"]}.get(
                type(value), KINDS["complex"]
            )[1:]
        if isinstance(value, complex) and not Tensor.dtype.__get__(tensor).is_complex:
            source, operator = self.graph.insert("aten::Float", [source], [t.FLOAT]).result(), "aten::Complex"
        number = self.graph.insert(operator, [source], [type_]).result()
        self.baker.fix(what, value, number, precision=precision_of(tensor))
        return value

    def _fix_property(self, kind: str, source: Value, value: Any) -> None:
        self._locate()
        self.baker.fix_property(kind, source, value)

    def bake(self, traced: TracedNumber, what: str) -> Any:
        """Python needs the number of a size."""
        self._locate()
        precision = PRECISION if isinstance(traced, TracedFloat) else 0.0
        self.baker.fix(what, traced.number, traced.value, precision=precision)
        return traced.number

    def compared(self, name: str, left: Any, right: Any, outcome: bool) -> bool:
        """Python compared sizes: what came of it is fixed, not the sizes."""
        comparison = self._on_numbers(name, (left, right), t.BOOL)
        self.baker.fix("the outcome of a comparison", outcome, comparison, action=COMPARING)
        return outcome

    # -- places -------------------------------------------------------------------------------------------------------

    @contextmanager
    def module(self, module: Any) -> Iterator[None]:
        """Nodes recorded inside belong to this module's call."""
        path = self._paths.get(id(module), "")
        self._locate()
        self.values.name_variables()
        self._scopes.append(f"__module.{path}" if path else "")
        has_frame = bool(path) and self.values.self_value is not None and "script_object" not in vars(module)
        try:
            with self._frame(path) if has_frame else nullcontext():
                yield
        finally:
            self._scopes.pop()

    @contextmanager
    def _frame(self, path: str) -> Iterator[None]:
        self.graph.insert(ENTER, [], [], path=path)
        self.values.reads.append({})
        yield
        self.values.reads.pop()
        self.graph.insert(EXIT, [], [], path=path)

    def _locate(self) -> None:
        self.graph.current_range = user_range()
        self.graph.current_scope = self._scopes[-1] if self._scopes else ""


def _alias(tensor: Tensor) -> Tensor:
    """Another tensor on the same memory, for an operator that gave back its operand: in a later call it may not."""
    fresh = share(tensor, tensor._array)
    return fresh.requires_grad_() if tensor.requires_grad else fresh


def _raise(error: Exception) -> None:
    raise error


def _question(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """The method of traced tensors that asks what a function asks; None for other operators."""
    if definition.family != "metadata" or not isinstance(arguments[0], TracedTensor) or len(arguments) != 1:
        return None
    return vars(TracedTensor).get(definition.name.removeprefix("aten::"))


def _apart(result: Any, arguments: set[int] | None) -> Any:
    """The result of a call, with other tensors on the same memory for those that were given; None for all."""
    if isinstance(result, Tensor):
        return _alias(result) if arguments is None or id(result) in arguments else result
    if isinstance(result, tuple):
        items = [_apart(r, arguments) for r in result]
        return type(result)._make(items) if hasattr(result, "_make") else tuple(items)
    if isinstance(result, list):
        return [_apart(r, arguments) for r in result]
    return {k: _apart(r, arguments) for k, r in result.items()} if isinstance(result, dict) else result


def random_operators(function: Function) -> list[str]:
    """The operators that draw random numbers in a compiled function and all that it calls."""
    copy = clone_graph(function.graph)
    inline.do(copy)
    return [n.op for n in copy.listed_nodes() if n.definition is not None and n.definition.effect.value == "random"]


def plain(value: Any) -> Any:
    """An argument with traced sizes as plain ints."""
    if isinstance(value, TracedNumber):
        return value.number
    if isinstance(value, list | tuple) and any(isinstance(g, TracedNumber) for g in value):
        return type(value)(plain(g) for g in value)
    if isinstance(value, dict) and any(isinstance(g, TracedNumber) for g in value.values()):
        return {k: plain(g) for k, g in value.items()}
    return value
