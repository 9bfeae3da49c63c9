"""Which nodes a kernel can take: decided by the declarations of operators and what types say."""

from __future__ import annotations

from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ops.large import PRODUCTS
from flambeau.passes.static_operands import can_be_static
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import Category
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import (
    BoolType,
    ComplexType,
    FloatType,
    IntType,
    NoneType,
    NumberType,
    OptionalType,
    TensorType,
    Type,
)

ACCUMULATORS = frozenset(
    {
        "sum", "prod", "max", "min", "max_at", "min_at", "mean", "any", "all", "argmax", "argmin",
        "var", "std", "var_mean", "std_mean", "cumsum", "cumprod",
        "softmax", "log_softmax", "logsumexp", "norm", "layer_norm", "rms_norm", "batch_norm",
    }
)  # fmt: skip
"""Folds that kernels know, by what operators declare."""
PAIRS = frozenset({"max_at", "min_at", "var_mean", "std_mean"})
"""The folds that give two results."""
NORMALISATIONS = {"layer_norm": 1, "rms_norm": 1}
"""Operators that name the sizes they work over: which input is the list of them."""
GATHERS = {"embedding": 0, "index_select": 0, "gather": 0}
"""Operators that load where integers say: which input is the table."""
CHANGES = frozenset({"scatter", "scatter_add", "index_add", "index_copy"})
"""Operators that change a copy of a tensor where integers say."""
DTYPES = frozenset(
    {
        dtypes.float32, dtypes.float64, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8,
        dtypes.bool_, dtypes.uint16, dtypes.uint32, dtypes.uint64,
    }
)  # fmt: skip
"""Element types that kernels compute in."""
HALVES = frozenset({dtypes.float16, dtypes.bfloat16})
"""Those that they keep elements in besides, computing in float32. Routines know these on devices only."""
KEPT = DTYPES | HALVES
COMPLEX = frozenset({dtypes.complex64, dtypes.complex128})
"""Those that they take apart and put together, computing in the parts; on the host only."""
COMPLEX_FOLDS = frozenset({"sum", "mean", "cumsum", "any", "all", "norm", "var", "std"})
"""Folds that kernels know of complex numbers."""


def is_vector(value: Value) -> bool:
    """Whether a value is known to be a tensor of one axis."""
    sizes = value.static_type.sizes if isinstance(value.static_type, TensorType) else None
    return sizes is not None and len(sizes) == 1


def takes_complex(definition: OpDef) -> bool:
    """Whether kernels may know an operator of complex numbers."""
    return definition.scalar is not None or definition.accumulator in COMPLEX_FOLDS | PRODUCTS


def _is_on_device(graph: Graph) -> bool:
    types = [v.static_type for v in graph.parameters]
    return any(isinstance(t, TensorType) and t.device is not None and t.device.type == "cuda" for t in types)


class Fusible:
    """The decision for one graph."""

    def __init__(self, graph: Graph) -> None:
        is_on_device = _is_on_device(graph)
        self._dtypes_of_routines = KEPT if is_on_device else DTYPES
        self._dtypes = KEPT if is_on_device else KEPT | COMPLEX
        self._needs_gradients = any(
            isinstance(v.static_type, TensorType) and v.static_type.requires_grad for v in graph.parameters
        )

    def is_fusible(self, node: Node) -> bool:
        """Whether the node may be part of a kernel of pointwise operators and folds."""
        definition = node.definition
        return definition is not None and definition.accumulator not in PRODUCTS and self._is_taken(node, definition)

    def is_pointwise(self, node: Node) -> bool:
        """Whether the node is fusible and works element by element."""
        return node.definition is not None and node.definition.scalar is not None and self.is_fusible(node)

    def is_product(self, node: Node) -> bool:
        """Whether a kernel may compute the product that the node is."""
        definition = node.definition
        if definition is None or definition.accumulator not in PRODUCTS or not self._is_taken(node, definition):
            return False
        if not all(isinstance(v.static_type, TensorType) or constants.is_constant(v) for v in node.operands):
            return False
        first, second = self.factors(node)
        return first is not second or (is_vector(first) and definition.accumulator != "outer")

    def is_alone(self, node: Node) -> bool:
        """Whether a kernel may compute the product or lookup that the node is, if it takes on nothing else."""
        definition = node.definition
        if definition is None or definition.accumulator not in PRODUCTS | GATHERS.keys():
            return False
        return self._is_taken(node, definition, is_alone=True)

    def factors(self, product: Node) -> tuple[Value, Value]:
        """The two tensors that a product multiplies."""
        assert product.definition is not None
        at = 1 if product.definition.accumulator in ("addmm", "addmv", "baddbmm") else 0
        return product.operands[at], product.operands[at + 1]

    def is_routine(self, node: Node) -> bool:
        """Whether a routine computes the node: it takes tensors, and constants beside them."""
        definition = node.definition
        if definition is None or not definition.traits.has_routine or not leaves_all(node, definition):
            return False
        if not all(self._is_for_routines(v.static_type) for v in node.results):
            return False
        return all(self._is_operand(v) or can_be_static(v) for v in node.operands)

    def has_static_operands(self, node: Node) -> bool:
        """Whether a kernel computes the node for each value of its static operands, such as dimensions."""
        definition = node.definition
        if definition is None or not node.results or not definition.accumulator or not has_kernel_form(definition):
            return False
        if definition.schema.is_mutable or not all(map(self._is_shaped, node.results)):
            return False
        if self._is_taken(node, definition):  # as it is, for any sizes
            return False
        operands = list(zip(node.operands, definition.schema.arguments, strict=False))
        static = [v for v, a in operands if not self._takes(v, a.type)]
        return bool(static) and all(map(can_be_static, static)) and any(
            isinstance(v.static_type, TensorType) for v in node.operands
        )

    def _is_shaped(self, value: Value) -> bool:
        """Whether a result is a tensor that kernels give, of a rank that is known."""
        type_ = value.static_type
        return isinstance(type_, TensorType) and type_.sizes is not None and self._is_admissible(type_)

    def is_behind(self, node: Node) -> bool:
        """Whether a routine may take on a node behind its operator: it takes what routines take, and writes to nothing
        but its first operand.
        """
        definition = node.definition
        if definition is None:
            return False
        if definition.accumulator == "batch_norm" and not _has_known_statistics(node, definition):
            return False
        written = [k for k, a in enumerate(definition.schema.arguments) if a.alias is not None and a.alias.is_write]
        values = [*node.results, *node.operands]
        return written in ([], [0]) and all(map(self._is_operand, values))

    def _is_operand(self, value: Value) -> bool:
        """Whether a routine may be given a value: a tensor, a list of tensors that nobody changes, None, or what is
        constant.
        """
        if isinstance(value.static_type, TensorType):
            return self._is_for_routines(value.static_type)
        if lists_tensors(value):
            assert value.defining_node is not None
            return all(self._is_for_routines(v.static_type) for v in value.defining_node.operands)
        return constants.is_constant(value) or isinstance(value.static_type, NoneType)

    def _is_taken(self, node: Node, definition: OpDef, *, is_alone: bool = False) -> bool:
        if not node.results or not has_kernel_form(definition):
            return False
        arguments = definition.schema.arguments
        has_tensors = any(isinstance(v.static_type, TensorType) for v in node.operands)
        if not has_tensors or len(node.operands) != len(arguments):
            return False
        if not self._gives_admissible(node, definition):
            return False
        may_share = is_alone or self._may_share_table(node, definition)
        if not may_share or (definition.accumulator == "batch_norm" and not _leaves_statistics(node, definition)):
            return False
        named = NORMALISATIONS.get(definition.accumulator)
        return all(
            self._takes(v, a.type) or (k == named and _lists_sizes(v))
            for k, (v, a) in enumerate(zip(node.operands, arguments, strict=True))
        )

    def _gives_admissible(self, node: Node, definition: OpDef) -> bool:
        """Whether nothing known of a node's results, or of complex numbers among its operands, speaks against one."""
        types = [v.static_type for v in (*node.operands, *node.results)]
        if not takes_complex(definition) and any(isinstance(t, TensorType) and t.dtype in COMPLEX for t in types):
            return False
        return all(self._is_admissible(v.static_type) for v in node.results)

    def _may_share_table(self, node: Node, definition: OpDef) -> bool:
        """Whether what a lookup looks things up in, if the node is one, may be an input of a kernel with others."""
        table_index = GATHERS.get(definition.accumulator)
        return table_index is None or self._is_table(node.operands[table_index], node)

    def _is_table(self, value: Value, lookup: Node) -> bool:
        """Whether a value lies in memory as it is, and kernels only look things up in it."""
        others = {use.user for use in value.uses()} - {lookup}
        nodes = others if value.defining_node is None else others | {value.defining_node}
        return sum(v is value for v in lookup.operands) == 1 and not any(
            n.definition is not None and has_kernel_form(n.definition) and not _looks_up_in(n, value) for n in nodes
        )

    def _is_admissible(self, type_: Type) -> bool:
        """Whether nothing known of a value speaks against a kernel; what is not known is looked at when it runs."""
        if not isinstance(type_, TensorType) or not (type_.dtype is None or type_.dtype in self._dtypes):
            return False
        if type_.device is not None and type_.device.type not in ("cpu", "cuda"):
            return False
        may_need = type_.requires_grad is not False and (type_.dtype is None or type_.dtype.category >= Category.FLOAT)
        return not (may_need and self._needs_gradients) and type_.requires_grad is not True

    def _is_for_routines(self, type_: Type) -> bool:
        """Whether nothing known of a value speaks against a routine."""
        is_known = isinstance(type_, TensorType) and type_.dtype is not None
        return self._is_admissible(type_) and (not is_known or type_.dtype in self._dtypes_of_routines)  # type: ignore[attr-defined]

    def _takes(self, value: Value, formal: Type) -> bool:
        """Tensors that a kernel may take; numbers where tensors or numbers are expected; elsewhere constants."""
        if isinstance(value.static_type, TensorType):
            return self._is_admissible(value.static_type)
        if constants.is_constant(value):
            return True
        inner = formal.element if isinstance(formal, OptionalType) else formal
        is_number = isinstance(value.static_type, IntType | FloatType | BoolType | ComplexType)
        return is_number and isinstance(inner, TensorType | NumberType | FloatType)


def sizes_of(node: Node) -> list[Node]:
    """What makes the list of sizes that a normalisation names, where it is not constant: sizes of tensors, the list."""
    position = NORMALISATIONS.get(node.definition.accumulator) if node.definition is not None else None
    if position is None or constants.is_constant(node.operands[position]):
        return []
    list_node = node.operands[position].defining_node
    assert list_node is not None
    sizes = dict.fromkeys(
        v.defining_node for v in list_node.operands if v.defining_node is not None and is_size(v.defining_node)
    )
    return [*sorted(sizes, key=lambda n: n._order), list_node]


def is_size(node: Node) -> bool:
    """Whether the node gives one size of a tensor."""
    return node.op == "aten::size" and len(node.operands) == 2 and constants.is_constant(node.operands[1])


def _lists_sizes(value: Value) -> bool:
    """Whether a value is a list made of integers, which nothing changes."""
    return _is_fixed_list(value, IntType)


def lists_tensors(value: Value) -> bool:
    """Whether a value is a list made of tensors, which nothing changes."""
    return _is_fixed_list(value, TensorType)


def _is_fixed_list(value: Value, element: type[Type]) -> bool:
    maker = value.defining_node
    if maker is None or maker.op != "prim::ListConstruct" or not maker.operands:
        return False
    users = [use.user.definition for use in value.uses()]
    return all(isinstance(v.static_type, element) for v in maker.operands) and all(
        d is not None and not d.schema.is_mutable for d in users
    )


def _has_known_statistics(node: Node, definition: OpDef) -> bool:
    """Whether a batch_norm goes by running statistics, not by those of the batch."""
    arguments = {a.name: v for a, v in zip(definition.schema.arguments, node.operands, strict=True)}
    training = arguments["training"]
    is_known = constants.is_constant(training) and not constants.constant_value(training)
    return is_known and _leaves_statistics(node, definition)


def leaves_all(node: Node, definition: OpDef) -> bool:
    """Whether a node is known to write to nothing that it is given."""
    if definition.schema.is_mutable:
        return False
    return definition.traits.writes_when is None or _has_no_statistics(node, definition)


def _has_no_statistics(node: Node, definition: OpDef) -> bool:
    """Whether a norm has no statistics that it might write to."""
    written = definition.traits.writes_when
    arguments = {a.name: v for a, v in zip(definition.schema.arguments, node.operands, strict=True)}
    return written is not None and all(isinstance(arguments[name].static_type, NoneType) for name in written.arguments)


def _leaves_statistics(node: Node, definition: OpDef) -> bool:
    """Whether a batch_norm is known to change no running statistics."""
    arguments = {a.name: v for a, v in zip(definition.schema.arguments, node.operands, strict=True)}
    if not constants.is_constant(arguments["training"]):
        return False
    is_none = [isinstance(arguments[name].static_type, NoneType) for name in ("running_mean", "running_var")]
    return all(is_none) if constants.constant_value(arguments["training"]) else not any(is_none)


def _looks_up_in(node: Node, table: Value) -> bool:
    """Whether a node loads from a table where integers say, and has no other use for it."""
    name = "" if node.definition is None else node.definition.accumulator
    indices = [k for k, v in enumerate(node.operands) if v is table]
    return name in GATHERS and indices == [GATHERS[name]]


def has_kernel_form(definition: OpDef) -> bool:
    """Whether kernels know the operator, for some dtypes at least."""
    if definition.schema.is_mutable:
        return False
    if definition.scalar is not None:
        return definition.compute is not None
    results = 2 if definition.accumulator in PAIRS else 1
    return (
        definition.accumulator in ACCUMULATORS | PRODUCTS | GATHERS.keys() | CHANGES
        and len(definition.schema.returns) == results
    )


def changes_last(nodes: list[Node]) -> bool:
    """Whether at most one of the nodes changes places, which a kernel does last: no other reads the result."""
    changes = [n for n in nodes if n.definition is not None and n.definition.accumulator in CHANGES]
    users = {use.user for n in changes for v in n.results for use in v.uses()}
    return len(changes) <= 1 and users.isdisjoint(nodes)
