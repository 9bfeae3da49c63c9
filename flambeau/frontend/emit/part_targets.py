"""Assignment to the parts of complex tensors: `x.real = y` is written into the memory of `x`, as NumPy has it."""

from __future__ import annotations

from flambeau.frontend.emit.numpy.array_promotion import is_array
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.tensor_subscripts import as_tensor_like
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.ir.graph import Value
from flambeau.schema.types import TensorType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

OF_REALS = "the imaginary part of an array of {dtype} cannot be assigned: make it complex, `x.astype(np.complex128)`"


def is_part(owner: Sugared, name: str) -> bool:
    """Whether an attribute is a part of a tensor."""
    is_tensor = isinstance(owner, SimpleValue) and isinstance(owner.value.static_type, TensorType)
    return is_tensor and name in ("real", "imag")


def assign_part(e: Emitter, where: SourceRange, owner: Sugared, name: str, value: Value) -> None:
    """`owner.name = value`; of what was written there in place already nothing is left to do."""
    assert isinstance(owner, SimpleValue)
    tensor, type_ = owner.value, owner.value.static_type
    assert isinstance(type_, TensorType)
    if is_array(tensor) and name == "imag" and type_.dtype is not None and not type_.dtype.is_complex:
        raise CompileError(OF_REALS.format(dtype=type_.dtype.name), where)
    if _is_written(tensor, name, value):
        return
    part = owner.attribute(e, where, name).as_value(e, where)
    source = as_tensor_like(e, where, value, part)
    if source is value:  # it may show memory that is written
        source = call_operator(e, where, "aten::clone", [source])
    call_operator(e, where, "aten::copy_", [part, source, e.constant(False)])


def _is_written(tensor: Value, name: str, value: Value) -> bool:
    """Whether a value is what an operator has just left in that part."""
    node = value.defining_node
    if node is None or node.definition is None or not node.definition.schema.is_mutable:
        return False
    view = node.operand(0).defining_node
    return view is not None and view.op == f"aten::{name}" and view.operand(0) is tensor
