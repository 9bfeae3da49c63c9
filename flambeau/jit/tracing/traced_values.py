"""Which values of a graph the tensors of a run are, and which ones the arguments of its operators become."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flambeau.ir import constants
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Graph, Value
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
        self._arrays: dict[int, tuple[Any, Value]] = {}
        """Arrays by identity, and what the first tensor of each is: the tape gives a kept result as another tensor."""
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
        array = tensor._array
        if id(tensor) in self._values or id(array) not in self._arrays:
            self._arrays[id(array)] = array, value
        self._values[id(tensor)] = value
        self._kept.append(tensor)

    @contextmanager
    def inner(self) -> Iterator[None]:
        """Within the block, tensors that came up before may become other values: afterwards they are what they were."""
        before, arrays = dict(self._values), dict(self._arrays)
        yield
        self._values.update(before)
        self._arrays.update(arrays)

    def count_on(self, tensor: Tensor) -> int:
        """How many tensors of the run lie on the memory of one."""
        return len({id(t_) for t_ in self._kept if t_._storage is tensor._storage} | {id(tensor)})

    def is_known(self, tensor: Tensor) -> bool:
        """Whether the tensor came up in the run."""
        return self.find(tensor) is not None

    def value_of(self, argument: Any, type_: t.Type) -> Value:
        """The graph value of an argument of this declared type. Raises RuntimeError for what cannot be in a graph."""
        if isinstance(argument, Tensor):
            return self._tensor(argument)
        if isinstance(argument, TracedNumber):
            return argument.value
        if isinstance(argument, list | tuple) and _is_any_traced(argument):
            return self._sequence(argument, type_.element if isinstance(type_, t.OptionalType) else type_)
        if isinstance(argument, dict) and _is_any_traced(argument.values()):
            return self._dict(argument, type_)
        return self._constant(argument, type_)

    def _sequence(self, argument: Sequence[Any], type_: t.Type) -> Value:
        """A list or tuple of which at least one item is a value of the run."""
        element = type_.element if isinstance(type_, t.ListType) else t.ANY
        items = [self.value_of(item, element) for item in argument]
        return self._make_tuple(items) if isinstance(type_, t.TupleType) else self._make_list(items, element)

    def _dict(self, argument: dict[Any, Any], type_: t.Type) -> Value:
        """A dict of which at least one value is one of the run."""
        key_type, value_type = type_.contained if isinstance(type_, t.DictType) else (t.STRING, t.TENSOR)
        parts = [
            part
            for key, item in argument.items()
            for part in (insert_constant(self.graph, key), self.value_of(item, value_type))
        ]
        return self._make("prim::DictConstruct", parts, t.DictType(key_type, value_type))

    def _constant(self, argument: Any, type_: t.Type) -> Value:
        """What is the same in each call."""
        if isinstance(argument, list | tuple) and isinstance(type_, t.ListType | t.OptionalType):
            element = type_.element if isinstance(type_, t.OptionalType) else type_
            if argument and all(isinstance(item, int | float) for item in argument):
                return self._sequence(argument, element)
            argument = list(argument)
        if argument is None or isinstance(argument, bool | int | float | complex | str):
            own = constants.type_of(argument)
            type_ = own if is_subtype(own, type_) else type_
        return insert_constant(self.graph, argument, type_)

    def packed(self, result: Any) -> Value:
        """The one value that a result is: tuples, lists and dicts are made. Raises RuntimeError for what graphs have no
        type for.
        """
        if isinstance(result, tuple):
            return self._make_tuple([self.packed(item) for item in result])
        if isinstance(result, list) and result:
            items = [self.packed(item) for item in result]
            return self._make_list(items, items[0].static_type)
        if isinstance(result, dict) and result:
            parts = [
                part for key, item in result.items() for part in (insert_constant(self.graph, key), self.packed(item))
            ]
            value_type = t.without_refinement(parts[1].static_type)
            return self._make("prim::DictConstruct", parts, t.DictType(parts[0].static_type, value_type))
        if isinstance(result, Tensor | TracedNumber):
            return self.value_of(result, t.TENSOR)
        try:
            return insert_constant(self.graph, result)
        except TypeError as error:
            raise RuntimeError(f"a forked function returned what a trace cannot hold: {error}") from None

    def _make(self, operator: str, parts: Sequence[Value], type_: t.Type) -> Value:
        return self.graph.insert(operator, parts, [type_]).result()

    def _make_tuple(self, items: Sequence[Value]) -> Value:
        return self._make("prim::TupleConstruct", items, t.TupleType(tuple(item.static_type for item in items)))

    def _make_list(self, items: Sequence[Value], element: t.Type) -> Value:
        return self._make("prim::ListConstruct", items, t.ListType(t.without_refinement(element)))

    def _tensor(self, tensor: Tensor) -> Value:
        known = self.find(tensor)
        if known is not None:
            return known
        path = self._owned.get(id(tensor))
        if path is not None and self.self_value is not None:
            return self.attribute(path, tensor_type(tensor))
        if tensor.requires_grad:
            raise RuntimeError(REQUIRES_GRAD_CONSTANT)
        value = insert_constant(self.graph, tensor, tensor_type(tensor))
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
        """The value of a tensor that came up in the run, or that the tape kept of one; None for others."""
        value = self._values.get(id(tensor))
        if value is None and id(tensor) not in self._owned:
            _, value = self._arrays.get(id(tensor._array), (None, None))
        return value

    def dependent(self, tensor: Tensor, *, state: bool) -> Value | None:
        """The value of a tensor that may be another in the next call, parameters and buffers only with `state`."""
        value = self.find(tensor)
        if value is not None:
            return None if value.defining_node is not None and value.defining_node.op == CONSTANT else value
        is_state = id(tensor) in self._owned and self.self_value is not None
        return self._tensor(tensor) if is_state and state else None

    def is_nameless(self, tensor: Tensor) -> bool:
        """Whether a tensor's value has no name yet."""
        value = self._values.get(id(tensor))
        return value is not None and not value.has_name

    def name_variables(self) -> None:
        """Values get the names of the variables that hold them when they are first used, or given to a module."""
        for name, variable in user_frame().f_locals.items():
            if isinstance(variable, Tensor) and self.is_nameless(variable) and name.isidentifier():
                self._values[id(variable)].set_name(name)


def _is_any_traced(items: Iterable[Any]) -> bool:
    return any(isinstance(item, Tensor | TracedNumber) for item in items)
