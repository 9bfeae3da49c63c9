"""Recording the usual calls: tensors and numbers go in, one new tensor comes out, and all formulas are known.

What such a call needs is found out once for each overload and each choice of operands that ask: which formulas there
are, and which operands and results these read. A call then runs the kernel, whose native entry takes tensors that ask
here, and makes a node. What is not of the kind goes the long way.

The functions here run for each call of an operator in a training step: they are long, and call few others.

>>> import flambeau
>>> x = flambeau.ones(2, requires_grad=True)
>>> flambeau.tanh(x).grad_fn.name()
'TanhBackward0'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from flambeau.autograd import views
from flambeau.autograd.node import edge_of, next_number
from flambeau.autograd.operator_node import CallFormulas
from flambeau.autograd.quick_formulas import OPERAND, OPTIONAL, TENSORS
from flambeau.autograd.rule import Rule, is_complex
from flambeau.autograd.written_calls import written
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import (
    AnyType,
    ComplexType,
    FloatType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    TensorType,
)
from flambeau.tensor import grad_mode
from flambeau.tensor.below import Redirected
from flambeau.tensor.grad_mode import refuse_writing
from flambeau.tensor.recorder import refuse_write
from flambeau.tensor.repeated_kernels import repeated
from flambeau.tensor.tensor import Tensor
from flambeau.util.made_objects import Maker

CAREFUL: Final[list[object]] = []
"""Whoever wants to see each node that is made or each tensor that is saved, on any thread: calls go the long way."""


@contextmanager
def careful() -> Iterator[None]:
    """Within the block, all calls go the long way."""
    marker = object()
    CAREFUL.append(marker)
    try:
        yield
    finally:
        CAREFUL.remove(marker)


_COMPLEX: Final = 1 << 30
_NO_COMPLEX: Final = frozenset({int, float, bool, type(None), str})

_COMPLEX_TOO: Final = (TensorType, NumberType, ComplexType, AnyType)
"""Types of values that may be complex numbers, or tensors of them."""

_TAKEN: Final = (TensorType, OptionalType, ListType, NumberType, FloatType, IntType, ComplexType)

_ELEMENTS: Final = (OPERAND, OPTIONAL, TENSORS)
"""How something is kept of which formulas read elements."""

_NODE: Final = {"extras": None, "counts": None, "is_single": True, "shown": None}
"""What nodes of such calls have in other slots than those that differ."""

Recorded = Callable[..., Any]


def quick(rule: Rule, slowly: Recorded) -> Recorded | None:
    """What runs the calls of an overload; None where all go the long way, which is `slowly`."""
    definition = rule.definition
    arguments = definition.schema.arguments
    positions = tuple([position for position, _ in rule.operands])
    returns = definition.schema.returns
    types = [*[arguments[p].type for p in positions], *[r.type for r in returns]]
    if isinstance(definition.kernel, Redirected):
        return None  # results may be tensors of any class
    if not positions or rule.flows is False or not all(map(_holds_tensors, types)):
        return None
    calls = _Calls(rule, positions, slowly)
    if definition.schema.is_mutable:
        return _in_place(calls) if _writes_first_alone(rule, positions) else None
    if len(returns) > 1 or rule.flows is not True or not all(isinstance(t, TensorType) for t in types):
        return _written(calls)
    return {(0,): _unary, (0, 1): _binary}.get(positions, _any_number)(calls)


def unrecorded(definition: OpDef) -> Recorded:
    """The kernel of an overload for arguments that may ask for gradients, which the caller looks after. One that writes
    looks itself at whether its target may be written."""
    kernel = definition.kernel
    if isinstance(kernel, EntryKernel) and not definition.schema.is_mutable:
        return kernel.unrecorded
    return repeated(definition)


class _Calls:
    """What is known of the calls of an overload."""

    def __init__(self, rule: Rule, positions: tuple[int, ...], slowly: Recorded) -> None:
        arguments = rule.definition.schema.arguments
        self.rule = rule
        self.node: Recorded = Maker(rule.node_type, ("edges", "formulas", "shapes", "kept", "sequence"), _NODE)
        """Makes a node."""
        parts = ("edges", "formulas", "shapes", "kept", "sequence", "counts", "is_single")
        self.any_node: Recorded = Maker(rule.node_type, parts, {"extras": None, "shown": None})
        """Makes one of a call with lists of operands, or of results."""
        self.positions = positions
        kernel = rule.definition.kernel
        self.run: Recorded = kernel.unrecorded if isinstance(kernel, EntryKernel) else repeated(rule.definition)
        self.slowly = slowly
        self.is_pointwise = rule.definition.family == "pointwise"
        self.known: dict[int, CallFormulas] = {}
        """By which operands ask, a bit for each, and whether the call is about complex numbers: for calls of which
        nothing else matters."""
        self._by_numbers: dict[int, CallFormulas] = {}
        """The formulas for kinds of calls whose numbers have been looked at."""
        self.numbers = tuple([p for p, a in enumerate(arguments) if p not in positions and _may_be_complex(a.type)])
        """Further arguments that may be complex."""

    def formulas(self, key: int, arguments: tuple[Any, ...]) -> CallFormulas | None:
        """The formulas of a call; None for one that goes the long way."""
        for position in self.numbers:
            value = arguments[position]
            if type(value) is Tensor and value._array.dtype.kind in "biuf":
                continue
            if type(value) not in _NO_COMPLEX and is_complex((value,)):
                key |= _COMPLEX
        if key in self._by_numbers:
            return self._by_numbers[key]
        asking = tuple([bool(key >> number & 1) for number in range(len(self.positions))])
        formulas = self.rule.formulas(asking, bool(key & _COMPLEX), arguments)
        if formulas.direct is None or len(formulas.steps) < sum(asking):
            return None
        if self.rule.gradient.is_static:
            self._by_numbers[key] = formulas
            if not self.numbers:
                self.known[key] = formulas
        return formulas


def _may_be_complex(type_: Any) -> bool:
    return any(isinstance(part, _COMPLEX_TOO) for part in type_.walk())


def _holds_tensors(type_: Any) -> bool:
    """Whether values of a type are tensors, numbers, None, or lists of these."""
    return all(isinstance(part, _TAKEN) for part in type_.walk())


def _kind(operand: Any, dtype: Any) -> int:
    return _COMPLEX if dtype.kind in "cV" and operand.dtype.is_complex else 0


def _edge(operand: Any) -> Any:
    """Where the gradient of an operand goes on; None if it asks for none."""
    if operand._base is not None:
        return edge_of(operand)
    if operand._node is not None:
        return (operand._node, operand.output_nr)
    return (operand, 0) if operand._requires_grad else None


def _is_unasked(arguments: tuple[Any, ...], positions: tuple[int, ...]) -> bool:
    """Whether nothing is recorded, or the operands are plain tensors that ask for nothing, or lists of such; False
    where that is not seen at a glance, of views and numbers."""
    if not grad_mode.mode.enabled:
        return True
    try:
        for position in positions:
            value = arguments[position]
            for one in value if type(value) is list else (value,):
                if one is not None and (one._requires_grad or one._node is not None or one._base is not None):
                    return False
    except AttributeError:
        return False
    return True


def _is_unasked_by(arguments: tuple[Any, ...], positions: tuple[int, ...]) -> bool:
    """Whether no operand asks for gradients itself, or was recorded: the kernel's own entry takes such tensors."""
    for position in positions:
        operand = arguments[position]
        if isinstance(operand, Tensor) and (operand._requires_grad or operand._node is not None):
            return False
    return True


def _attached(result: Any, node: Any) -> Any:
    """The result of a call that shows other memory, which knows its node from now on."""
    result._node = node
    node.shown = result._base._node
    return result


def _unary(calls: _Calls) -> Recorded:
    """Calls with one operand, the first argument."""
    mode, run, known, formulas_of, slowly = grad_mode.mode, calls.run, calls.known, calls.formulas, calls.slowly
    new_node, is_pointwise = calls.node, calls.is_pointwise

    def record(*arguments: Any) -> Any:
        if not mode.enabled:
            return run(*arguments)
        operand = arguments[0]
        edge = _edge(operand)
        if edge is None:
            return run(*arguments)
        array = operand._array
        dtype = array.dtype
        key = 1 if dtype.kind == "f" else 1 | _kind(operand, dtype)
        formulas = known.get(key) or formulas_of(key, arguments)
        if formulas is None or CAREFUL:
            return slowly(*arguments)
        result = run(*arguments)
        like = result._array.dtype
        if like.kind not in "fcV" or result is operand:
            return result
        shapes = None if is_pointwise and like is dtype else ((array.shape, dtype),)
        node = new_node((edge,), formulas, shapes, formulas.keep(arguments, result), next_number())
        if result._base is not None:
            return _attached(result, node)
        result._node = node
        return result

    return record


def _binary(calls: _Calls) -> Recorded:
    """Calls with two operands, the first arguments."""
    mode, run, known, formulas_of, slowly = grad_mode.mode, calls.run, calls.known, calls.formulas, calls.slowly
    new_node, is_pointwise = calls.node, calls.is_pointwise

    def record(*arguments: Any) -> Any:
        if not mode.enabled:
            return run(*arguments)
        left, right = arguments[0], arguments[1]
        edge, other = _edge(left), _edge(right)
        key = (edge is not None) + 2 * (other is not None)
        if not key:
            return run(*arguments)
        array, other_array = left._array, right._array
        dtype, other_dtype = array.dtype, other_array.dtype
        if dtype.kind != "f" or other_dtype is not dtype:
            key |= _kind(left, dtype) | _kind(right, other_dtype)
        formulas = known.get(key) or formulas_of(key, arguments)
        if formulas is None or CAREFUL:
            return slowly(*arguments)
        result = run(*arguments)
        like = result._array.dtype
        if like.kind not in "fcV" or result is left or result is right:
            return result
        sizes, other_sizes = array.shape, other_array.shape
        if is_pointwise and (sizes, dtype, dtype) == (other_sizes, other_dtype, like):
            shapes: Any = None
        else:
            shapes = ((sizes, dtype), (other_sizes, other_dtype))
        node = new_node((edge, other), formulas, shapes, formulas.keep(arguments, result), next_number())
        if result._base is not None:
            return _attached(result, node)
        result._node = node
        return result

    return record


def _any_number(calls: _Calls) -> Recorded:
    """Calls with operands anywhere."""
    mode, run, positions, new_node = grad_mode.mode, calls.run, calls.positions, calls.node

    def record(*arguments: Any) -> Any:
        if not mode.enabled:
            return run(*arguments)
        operands = [arguments[position] for position in positions]
        edges = [_edge(operand) for operand in operands]
        key, bit = 0, 1
        for edge, operand in zip(edges, operands, strict=True):
            if edge is not None:
                key |= bit
            bit <<= 1
            if operand._array.dtype.kind != "f":
                key |= _kind(operand, operand._array.dtype)
        if not key & ~_COMPLEX:
            return run(*arguments)
        formulas = calls.formulas(key, arguments)
        if formulas is None or CAREFUL:
            return calls.slowly(*arguments)
        result = run(*arguments)
        if result._array.dtype.kind not in "fcV" or any(result is operand for operand in operands):
            return result
        shapes = [(operand._array.shape, operand._array.dtype) for operand in operands]
        node = new_node(edges, formulas, shapes, formulas.keep(arguments, result), next_number())
        if result._base is not None:
            return _attached(result, node)
        result._node = node
        return result

    return record


def _written(calls: _Calls) -> Recorded:
    """Calls with operands that may be None or lists, or with several results."""
    general = _general(calls)
    scope = {
        "mode": grad_mode.mode, "run": calls.run, "general": general, "slowly": calls.slowly, "known": calls.known,
        "formulas_of": calls.formulas, "new_node": calls.any_node, "next_number": next_number, "CAREFUL": CAREFUL,
    }  # fmt: skip
    return written(calls.rule, calls.positions, scope) or general


def _general(calls: _Calls) -> Recorded:
    """The same of any kind, looked at operand by operand."""
    run, positions, new_node, flows = calls.run, calls.positions, calls.any_node, calls.rule.flows
    takes_lists = calls.rule.takes_lists

    def record(*arguments: Any) -> Any:
        if _is_unasked(arguments, positions):
            return run(*arguments)
        edges: list[Any] = []
        shapes: list[Any] = []
        counts: list[int] = []
        key, bit = 0, 1
        for position in positions:
            value = arguments[position]
            is_list = takes_lists and isinstance(value, list | tuple)
            for one in value if is_list else (value,):
                key |= _look(one, bit, edges, shapes)
            counts.append(len(value) if is_list else -1)
            bit <<= 1
        if not key & ~_COMPLEX:
            return run(*arguments)
        formulas = calls.formulas(key, arguments)
        if formulas is None or CAREFUL:
            return calls.slowly(*arguments)
        outcome = run(*arguments)
        is_single = not isinstance(outcome, list | tuple)
        node = new_node(
            edges, formulas, shapes, formulas.keep(arguments, outcome), next_number(),
            counts if takes_lists else None, is_single,
        )  # fmt: skip
        for number, result in enumerate((outcome,) if is_single else outcome):
            if flows is True or flows[number]:  # type: ignore[index]  # as many as there are results
                _attach(result, node, number, arguments)
        return outcome

    return record


def _in_place(calls: _Calls) -> Recorded:
    """Calls that write their first operand, which is their result."""
    mode, run, positions, new_node, slowly = grad_mode.mode, calls.run, calls.positions, calls.any_node, calls.slowly
    takes_lists, kernel = calls.rule.takes_lists, calls.rule.definition.kernel

    def record(*arguments: Any) -> Any:
        if not mode.enabled:
            target = arguments[0]
            if type(target) is Tensor and _is_unasked_by(arguments, positions):
                return kernel(*arguments)
            refuse_writing(target._storage.version)  # which the entry for tensors that ask does not look at
            return run(*arguments)
        edges: list[Any] = []
        shapes: list[Any] = []
        key, bit = 0, 1
        for position in positions:
            key |= _look(arguments[position], bit, edges, shapes)
            bit <<= 1
        target = arguments[0]
        if not key & ~_COMPLEX:  # a view may be refused all the same
            return kernel(*arguments) if type(target) is Tensor and target._base is None else slowly(*arguments)
        formulas = None if takes_lists or CAREFUL else calls.formulas(key, arguments)
        if formulas is None or not _may_keep(formulas, arguments, target):
            return slowly(*arguments)
        refuse_writing(target._storage.version)
        refuse_write(target)
        behind = views.base_edge(target)
        result = run(*arguments)
        if formulas.steps and target._array.dtype.kind in "fcV":
            kept = formulas.keep(arguments, result)
            views.note_written(target, behind, new_node(edges, formulas, shapes, kept, next_number(), None, True))
        return result

    return record


def _may_keep(formulas: CallFormulas, arguments: tuple[Any, ...], target: Any) -> bool:
    """Whether what a write leaves is what formulas need: nothing of its target as it was, nor of what was made in
    `inference_mode()`."""
    if type(target) is not Tensor:
        return False
    for way, position in formulas.direct or ():
        if way in _ELEMENTS:
            value = arguments[position]
            for one in (value or ()) if way == TENSORS else (value,):
                if one is target or (one is not None and one._storage.version < 0):
                    return False
    return True


def _writes_first_alone(rule: Rule, positions: tuple[int, ...]) -> bool:
    """Whether calls write their first operand, which is their result, and nothing else."""
    schema = rule.definition.schema
    others = any(a.alias is not None and a.alias.is_write for a in schema.arguments[1:])
    return rule.is_in_place and len(schema.returns) == 1 and positions[0] == 0 and rule.flows is True and not others


def _look(operand: Any, bit: int, edges: list[Any], shapes: list[Any]) -> int:
    """Note where the gradient of an operand goes on, and what it is like; `bit` if it asks for one, with what is
    complex."""
    if not isinstance(operand, Tensor):
        edges.append(None)
        shapes.append(None)
        return _COMPLEX if type(operand) is complex else 0
    array, edge = operand._array, _edge(operand)
    edges.append(edge)
    shapes.append(None if edge is None else (array.shape, array.dtype))
    key = 0 if edge is None else bit
    return key if array.dtype.kind == "f" else key | _kind(operand, array.dtype)


def _attach(result: Any, node: Any, number: int, arguments: tuple[Any, ...]) -> None:
    """Have a result know its node, unless it is an argument, or has no gradients."""
    if not isinstance(result, Tensor) or result._array.dtype.kind not in "fcV":
        return
    if any(result is argument for argument in arguments):
        return
    if result._base is not None:
        node.shown = result._base._node
    result._node, result.output_nr = node, number
