"""Which values of a graph the tensors of a run are, and which ones the arguments of its operators become."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau.ir import constants
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Graph
from flambeau.ir.value import Value
from flambeau.jit.tracing.baking import user_frame
from flambeau.jit.tracing.symbols import TracedNumber
from flambeau.jit.tracing.traced_tensor import TracedTensor
from flambeau.nn.module import Module
from flambeau.schema import types as t
from flambeau.schema.subtype import is_subtype
from flambeau.tensor.tensor import Tensor

REQUIRES_GRAD_CONSTANT = (
    "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
    "detaching the gradient"
)
READ = "prim::GetAttr"


def tensor_type(tensor: Tensor) -> t.TensorType:
    """All that is known of a tensor, as a type."""
    return t.TensorType(
        dtype=tensor.dtype,
        sizes=tuple(tensor._array.shape),
        strides=tuple(Tensor.stride(tensor)),
        device=tensor.device,
        requires_grad=tensor.requires_grad,
    )


class TracedValues:
    """The values of one run."""

    def __init__(self, graph: Graph, root: Module | None) -> None:
        self.graph = graph
        self.self_value: Value | None = None
        """The graph's value of the module itself."""
        self.reads: list[dict[str, Value]] = [{}]
        """What was read of attributes, in each module's call that is going on."""
        self._values: dict[int, Value] = {}
        self._kept: list[Tensor] = []
        self._owned: dict[int, str] = {}
        """Parameters and buffers by identity, with their dotted names."""
        for path, module in root.named_modules() if root is not None else ():
            for holder in (module._parameters, module._buffers):
                for name, tensor in holder.items():
                    if tensor is not None:
                        self._owned.setdefault(id(tensor), f"{path}.{name}" if path else name)

    def release(self) -> None:
        """Let the tensors of the run be what they were."""
        for tensor in self._kept:
            if type(tensor) is TracedTensor:
                tensor.__class__ = Tensor  # type: ignore[assignment]  # they have the same layout

    def define(self, tensor: Tensor, value: Value) -> None:
        """`tensor` is `value` from now on."""
        if id(tensor) in self._owned and self.self_value is not None:
            return  # read again where it is used
        if type(tensor) is Tensor:
            tensor.__class__ = TracedTensor
        self._values[id(tensor)] = value
        self._kept.append(tensor)

    @contextmanager
    def inner(self) -> Iterator[None]:
        """Within the block, tensors that came up before may become other values: afterwards they are what they were."""
        before = dict(self._values)
        yield
        self._values.update(before)

    def count_on(self, tensor: Tensor) -> int:
        """How many tensors of the run lie on the memory of one."""
        return len({id(t_) for t_ in self._kept if t_._storage is tensor._storage} | {id(tensor)})

    def is_known(self, tensor: Tensor) -> bool:
        """Whether the tensor came up in the run."""
        return id(tensor) in self._values

    def value_of(self, given: Any, type_: t.Type) -> Value:
        """The graph value of an argument of this declared type. Raises RuntimeError for what cannot be in a graph."""
        if isinstance(given, Tensor):
            return self._tensor(given)
        if isinstance(given, TracedNumber):
            return given.value
        if isinstance(given, list | tuple) and any(isinstance(g, Tensor | TracedNumber) for g in given):
            element = type_.contained[0] if isinstance(type_, t.OptionalType) else type_
            inner = element.contained[0] if isinstance(element, t.ListType) else t.ANY
            values = [self.value_of(g, inner) for g in given]
            if isinstance(element, t.TupleType):
                made = t.TupleType(tuple(v.static_type for v in values))
                return self.graph.insert("prim::TupleConstruct", values, [made]).result()
            kind = t.without_refinement(inner)
            return self.graph.insert("prim::ListConstruct", values, [t.ListType(kind)]).result()
        if isinstance(given, dict) and any(isinstance(g, Tensor | TracedNumber) for g in given.values()):
            key, inner = type_.contained if isinstance(type_, t.DictType) else (t.STRING, t.TENSOR)
            parts = [v for k, g in given.items() for v in (insert_constant(self.graph, k), self.value_of(g, inner))]
            return self.graph.insert("prim::DictConstruct", parts, [t.DictType(key, inner)]).result()
        if isinstance(given, list | tuple) and isinstance(type_, t.ListType | t.OptionalType):
            given = list(given)
        if given is None or isinstance(given, bool | int | float | complex | str):
            own = constants.type_of(given)
            type_ = own if is_subtype(own, type_) else type_
        return insert_constant(self.graph, given, type_)

    def packed(self, given: Any) -> Value:
        """The one value that a result is: tuples, lists and dicts are made. Raises RuntimeError for what graphs have no
        type for.
        """
        if isinstance(given, tuple):
            parts = [self.packed(g) for g in given]
            made: t.Type = t.TupleType(tuple(p.static_type for p in parts))
            return self.graph.insert("prim::TupleConstruct", parts, [made]).result()
        if isinstance(given, list) and given:
            parts = [self.packed(g) for g in given]
            made = t.ListType(t.without_refinement(parts[0].static_type))
            return self.graph.insert("prim::ListConstruct", parts, [made]).result()
        if isinstance(given, dict) and given:
            parts = [v for k, g in given.items() for v in (insert_constant(self.graph, k), self.packed(g))]
            made = t.DictType(parts[0].static_type, t.without_refinement(parts[1].static_type))
            return self.graph.insert("prim::DictConstruct", parts, [made]).result()
        if isinstance(given, Tensor | TracedNumber):
            return self.value_of(given, t.TENSOR)
        try:
            return insert_constant(self.graph, given)
        except TypeError as error:
            raise RuntimeError(f"a forked function returned what a trace cannot hold: {error}") from None

    def _tensor(self, tensor: Tensor) -> Value:
        found = self._values.get(id(tensor))
        if found is not None:
            return found
        path = self._owned.get(id(tensor))
        if path is not None and self.self_value is not None:
            return self.attribute(path, tensor_type(tensor))
        if tensor.requires_grad:
            raise RuntimeError(REQUIRES_GRAD_CONSTANT)
        value = insert_constant(self.graph, tensor, t.TENSOR)
        self.define(tensor, value)
        return value

    def attribute(self, path: str, type_: t.Type) -> Value:
        """What the root has under a dotted name, read once in each module's call."""
        assert self.self_value is not None
        reads = self.reads[-1]
        if path not in reads:
            node = self.graph.insert(READ, [self.self_value], [type_], name=path)
            reads[path] = node.result().set_name(path.rpartition(".")[2])
        return reads[path]

    def assign(self, path: str, tensor: Tensor) -> None:
        """What the root has under a dotted name is this tensor from now on."""
        assert self.self_value is not None
        self.graph.insert("prim::SetAttr", [self.self_value, self._tensor(tensor)], [], name=path)

    def find(self, tensor: Tensor) -> Value | None:
        """The value of a tensor that came up in the run; None for others."""
        return self._values.get(id(tensor))

    def dependent(self, tensor: Tensor, *, state: bool) -> Value | None:
        """The value of a tensor that may be another in the next call, parameters and buffers only with `state`."""
        found = self._values.get(id(tensor))
        if found is not None:
            return None if found.defining_node is not None and found.defining_node.op == CONSTANT else found
        is_state = id(tensor) in self._owned and self.self_value is not None
        return self._tensor(tensor) if is_state and state else None

    def is_nameless(self, tensor: Tensor) -> bool:
        """Whether a tensor's value has no name yet."""
        value = self._values.get(id(tensor))
        return value is not None and not value.has_name

    def name_variables(self) -> None:
        """Values get the names of the variables that hold them when they are first used, or given to a module."""
        for name, held in user_frame().f_locals.items():
            if isinstance(held, Tensor) and self.is_nameless(held) and name.isidentifier():
                self._values[id(held)].set_name(name)
