"""Turns a run into a graph: an interceptor of operators and an observer of what leaves the tensors' world.

Every operator call becomes a node whose operands are the values of its tensors; numbers become constants, sizes stay
expressions (`symbols`). What Python learns of a tensor's contents, a branch or an `int()`, is fixed in the trace: it is
listed in `baked`, warned of at its line, and guarded in the graph, so that a later run for which it differs raises
instead of going on wrongly.
"""

from __future__ import annotations

import linecache
import math
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph
from flambeau.ir.value import Value
from flambeau.jit.symbols import TracedInt
from flambeau.nn.module import Module
from flambeau.passes import inline
from flambeau.program.function import Function
from flambeau.schema import types as t
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch, observer
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import GuardError, TracerWarning
from flambeau.util.record import dataclass
from flambeau.util.source import Source, SourceRange

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
KINDS = {
    "bool": ("a Python boolean", "aten::Bool", t.BOOL),
    "int": ("a Python integer", "aten::Int", t.INT),
    "index": ("a Python index", "aten::Int", t.INT),
    "float": ("a Python float", "aten::Float", t.FLOAT),
    "complex": ("a Python complex number", "aten::Complex", t.COMPLEX),
    "item": ("a Python number", "", t.NUMBER),
    "tolist": ("a Python list", "", t.ANY),
    "numpy": ("a NumPy array", "", t.ANY),
}
REQUIRES_GRAD_CONSTANT = (
    "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
    "detaching the "
    "gradient"
)

FOREIGN_METHOD = (
    "Cannot trace the call of '{name}' of {type}: that module is no part of what is traced. Make it a submodule "
    "of a module "
    "and trace that, or script the function"
)


@dataclass(frozen=True)
class Baked:
    """A value that depended on the inputs and is fixed in the trace."""

    what: str
    """What it became: "a Python boolean"."""
    value: Any
    where: SourceRange


def tensor_type(tensor: Tensor) -> t.TensorType:
    """All that is known of a tensor, as a type."""
    return t.TensorType(
        dtype=tensor.dtype,
        sizes=tuple(tensor._array.shape),
        strides=tuple(tensor.stride()),
        device=tensor.device,
        requires_grad=tensor.requires_grad,
    )


def user_range() -> SourceRange:
    """The line of the innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    filename, number = frame.f_code.co_filename, frame.f_lineno
    line = linecache.getline(filename, number, frame.f_globals).rstrip("\n")
    if not line:
        return SourceRange.at(filename, number, 0)
    start = len(line) - len(line.lstrip())
    return SourceRange(Source(line, filename, first_line=number), start, len(line.rstrip()))


class Recorder:
    """Records one run into `graph`."""

    def __init__(self, graph: Graph, root: Module | None = None, *, guard: bool = True, warn: bool = True) -> None:
        self.graph = graph
        self.baked: list[Baked] = []
        self.random: list[str] = []
        """Operators that drew random numbers."""
        self._guard, self._warn = guard, warn
        self._values: dict[int, Value] = {}
        self._kept: list[Any] = []
        self._scopes: list[str] = []
        self._paths: dict[int, str] = {}
        self._owned: dict[int, tuple[str, ...]] = {}
        self._objects: dict[int, tuple[str, ...]] = {}
        """Scripted modules inside the traced one, by their objects."""
        self.self_value: Value | None = None
        """The graph's value of the module itself."""
        if root is not None:
            self._learn(root)

    def _learn(self, root: Module) -> None:
        for path, module in root.named_modules():
            self._paths[id(module)] = path
            if "script_object" in vars(module):
                self._objects[id(vars(module)["script_object"])] = tuple(path.split("."))
            for holder in (module._parameters, module._buffers):
                for name, tensor in holder.items():
                    if tensor is not None:
                        self._owned.setdefault(id(tensor), (*path.split("."), name) if path else (name,))

    # -- values -------------------------------------------------------------------------------------------------------

    def define(self, tensor: Tensor, value: Value) -> None:
        """`tensor` is `value` from now on."""
        self._values[id(tensor)] = value
        self._kept.append(tensor)

    def value_of(self, given: Any, type_: t.Type) -> Value:
        """The graph value of an argument of this declared type. Raises RuntimeError for what cannot be in a graph."""
        if isinstance(given, Tensor):
            return self._tensor(given)
        if isinstance(given, TracedInt):
            return given.value
        if isinstance(given, list | tuple) and any(isinstance(g, Tensor | TracedInt) for g in given):
            element = type_.contained[0] if isinstance(type_, t.OptionalType) else type_
            inner = element.contained[0] if isinstance(element, t.ListType) else t.ANY
            values = [self.value_of(g, inner) for g in given]
            kind = t.without_refinement(inner)
            return self.graph.insert("prim::ListConstruct", values, [t.ListType(kind)]).output()
        if isinstance(given, list | tuple) and isinstance(type_, t.ListType | t.OptionalType):
            given = list(given)
        return insert_constant(self.graph, given, type_)

    def _tensor(self, tensor: Tensor) -> Value:
        found = self._values.get(id(tensor))
        if found is not None:
            return found
        path = self._owned.get(id(tensor))
        if path is not None and self.self_value is not None:
            value = self._attribute(path)
            value.set_type(tensor_type(tensor))
        elif tensor.requires_grad:
            raise RuntimeError(REQUIRES_GRAD_CONSTANT)
        else:
            value = insert_constant(self.graph, tensor, t.TENSOR)
        self.define(tensor, value)
        return value

    def _attribute(self, path: Sequence[str]) -> Value:
        assert self.self_value is not None
        value = self.self_value
        for name in path:
            assert isinstance(value.type, t.NamedType)
            type_ = value.type.definition.attribute(name).type
            value = self.graph.insert("prim::GetAttr", [value], [type_], name=name).output().set_name(name)
        return value

    # -- operators ----------------------------------------------------------------------------------------------------

    def handle(self, definition: OpDef, arguments: Sequence[Any], proceed: Any) -> Any:
        """Record one operator call: the interceptor."""
        self._locate()
        operands = [
            self.value_of(given, argument.type)
            for given, argument in zip(arguments, definition.schema.arguments, strict=True)
        ]
        with observer.observing(None):
            result = proceed([plain(a) for a in arguments])
        if definition.draws(arguments):
            self.random.append(definition.name)
        returns = [r.type for r in definition.schema.returns]
        node = self.graph.insert(definition.name, operands, returns)
        results = result if len(returns) > 1 else (result,)
        if not returns:
            return result
        kept = [self._result(r, v) for r, v in zip(results, node.outputs, strict=True)]
        return tuple(kept) if len(returns) > 1 else kept[0]

    def _result(self, result: Any, value: Value) -> Any:
        if isinstance(result, Tensor):
            self.define(result, value.set_type(tensor_type(result)))
        elif isinstance(result, list) and result and all(isinstance(r, Tensor) for r in result):
            unpack = self.graph.insert("prim::ListUnpack", [value], [tensor_type(r) for r in result])
            for part, output in zip(result, unpack.outputs, strict=True):
                self.define(part, output)
        elif type(result) is int and isinstance(value.type, t.IntType):
            return TracedInt(result, value, self.bake_int, self.record_int)
        elif type(result) is bool and value.node is not None and value.node.kind in ("aten::equal", "aten::allclose"):
            self._bake("a Python boolean", result, value)
        return result

    def sizes(self, tensor: Tensor, sizes: tuple[int, ...]) -> tuple[Any, ...]:
        """The sizes of a traced tensor as expressions."""
        if id(tensor) not in self._values:
            return sizes
        self._locate()
        source = self._values[id(tensor)]
        found = []
        for dim, size in enumerate(sizes):
            index = insert_constant(self.graph, dim, t.INT)
            value = self.graph.insert("aten::size", [source, index], [t.INT]).output()
            found.append(TracedInt(size, value, self.bake_int, self.record_int))
        return tuple(found)

    def record_int(self, name: str, left: TracedInt | int, right: TracedInt | int, number: int) -> TracedInt:
        """Arithmetic on sizes."""
        self._locate()
        operands = [self.value_of(x, t.INT) for x in (left, right)]
        value = self.graph.insert(name, operands, [t.INT]).output()
        return TracedInt(number, value, self.bake_int, self.record_int)

    def called(self, function: Function, arguments: Sequence[Any], run: Any) -> Any:
        """Record a call of a scripted function as a call, its control flow intact."""
        self._locate()
        operands = [self.value_of(a, d.type) for a, d in zip(arguments, function.schema.arguments, strict=True)]
        constant = self.graph.insert("prim::Constant", [], [t.FUNCTION], name=function.short_name, function=function)
        return self._call("prim::CallFunction", [constant.output(), *operands], function, arguments, run)

    def called_method(self, method: Any, arguments: Sequence[Any], run: Any) -> Any:
        """Record a call of a scripted module's method as a call. Raises RuntimeError for one that is no part of the
        trace.
        """
        path = self._objects.get(id(method.owner))
        if path is None or self.self_value is None:
            raise RuntimeError(FOREIGN_METHOD.format(name=method.name, type=method.owner.type.name))
        self._locate()
        function: Function = method.script_function
        declared = function.schema.arguments[1:]
        operands = [self.value_of(a, d.type) for a, d in zip(arguments, declared, strict=True)]
        owner = self._attribute(path)
        return self._call("prim::CallMethod", [owner, *operands], function, arguments, run, name=function.short_name)

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
        self.random += random_operators(function)
        with observer.observing(None), dispatch.uninterrupted():
            result = run([plain(a) for a in arguments])
        self._unpack(result, node.output())
        return result

    def _unpack(self, result: Any, value: Value) -> None:
        if isinstance(result, Tensor):
            self.define(result, value.set_type(tensor_type(result)))
        elif isinstance(result, tuple | list) and isinstance(value.type, t.TupleType | t.ListType):
            inner = value.type.elements if isinstance(value.type, t.TupleType) else [value.type.element] * len(result)
            kind = "prim::TupleUnpack" if isinstance(value.type, t.TupleType) else "prim::ListUnpack"
            unpack = self.graph.insert(kind, [value], inner)
            for part, output in zip(result, unpack.outputs, strict=True):
                self._unpack(part, output)

    # -- what Python learns -------------------------------------------------------------------------------------------

    def converted(self, kind: str, tensor: Tensor, value: Any) -> Any:
        """A tensor became a Python value."""
        if id(tensor) not in self._values:
            return value
        self._locate()
        what, operator, type_ = KINDS[kind]
        source = self._values[id(tensor)]
        if kind in ("tolist", "numpy"):
            constant = insert_constant(self.graph, Tensor(tensor._array.copy()), t.TENSOR)
            same = self.graph.insert("aten::equal", [source, constant], [t.BOOL]).output()
            self._bake(what, value, same, is_condition=True)
            return value
        if kind == "item":
            operator, type_ = {bool: KINDS["bool"], int: KINDS["int"], float: KINDS["float"]}.get(
                type(value), KINDS["complex"]
            )[1:]
        self._bake(what, value, self.graph.insert(operator, [source], [type_]).output())
        return value

    def bake_int(self, traced: TracedInt, what: str) -> int:
        """Python needs the number of a size."""
        self._locate()
        self._bake(what, traced.number, traced.value)
        return traced.number

    def _bake(self, what: str, value: Any, source: Value, *, is_condition: bool = False) -> None:
        where = self.graph.current_range or user_range()
        self.baked.append(Baked(what, value, where))
        filename, line, _ = where.file_line_col()
        if self._guard:
            self._insert_guard(what, value, source, where, is_condition)
        if self._warn:
            ending = (
                "A later call for which it differs raises an error that names this line."
                if self._guard
                else "Nothing guards it: a later call for which it differs goes wrong silently."
            )
            text = (
                f"Converting a tensor to {what} fixes its value in the trace, here {_short(value)}. {ending} To "
                "keep it "
                f"open, script this function (flambeau.script) or compute it with tensor operators: "
                f"{where.text or line}"
            )
            warnings.warn_explicit(text, TracerWarning, filename, line, registry={})

    def _insert_guard(self, what: str, value: Any, source: Value, where: SourceRange, is_condition: bool) -> None:
        graph = self.graph
        if is_condition:
            holds = source
        elif isinstance(value, float) and math.isnan(value):
            holds = graph.insert("aten::isnan", [source], [t.BOOL]).output()
        else:
            expected = insert_constant(graph, value, source.type)
            holds = graph.insert("aten::eq", [source, expected], [t.BOOL]).output()
        branch = graph.insert("prim::If", [holds], [])
        branch.add_block()
        with graph.inserting(branch.add_block()):
            filename, line, _ = where.file_line_col()
            text = (
                f"the trace fixed {what} at {filename}:{line} to {_short(value)}, and this call needs another value: "
                f"{where.text or ''}. Script the function, or trace it again for inputs like these."
            )
            message = insert_constant(graph, text, t.STRING)
            error = insert_constant(graph, GuardError.name, t.STRING)
            graph.insert("prim::RaiseException", [message, error], [])

    # -- places -------------------------------------------------------------------------------------------------------

    @contextmanager
    def module(self, module: Any) -> Iterator[None]:
        """Nodes recorded inside belong to this module's scope."""
        path = self._paths.get(id(module), "")
        self._scopes.append(f"__module.{path}" if path else "")
        try:
            yield
        finally:
            self._scopes.pop()

    def _locate(self) -> None:
        self.graph.current_range = user_range()
        self.graph.current_scope = self._scopes[-1] if self._scopes else ""


def random_operators(function: Function) -> list[str]:
    """The operators that draw random numbers in a compiled function and all that it calls."""
    copy = clone_graph(function.graph)
    inline.do(copy)
    return [n.kind for n in copy.all_nodes() if n.definition is not None and n.definition.effect.value == "random"]


def plain(given: Any) -> Any:
    """An argument with traced sizes as plain ints."""
    if isinstance(given, TracedInt):
        return given.number
    if isinstance(given, list | tuple) and any(isinstance(g, TracedInt) for g in given):
        return type(given)(plain(g) for g in given)
    return given


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
