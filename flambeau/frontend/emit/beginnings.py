"""Numbers that begin as constants of Python and go on in a loop as another kind: which they are from the start.

s = 0              →    s = 0.0: in programs on arrays, a variable that holds ints and floats holds floats
for v in x:
    s += v

s = 0.0            →    s = np.float32(0.0), if `x` has float32s and it matters behind the loop which of both it is
for v in x:
    s += v
return s / len(x)

s = n              →    s = float(n), if a call brings np.float32(1.0) as `n`, and `x` has float64s
for v in x:
    s += v

Only programs on arrays have such variables: for others, TorchScript's rule is that a variable has one type. The
function is emitted again with what its loop told.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flambeau.frontend.emit.numpy.array_promotion import as_number, constant_number, element_type
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.type_variables import InferenceRestart
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.scopes.captured_names import Name
from flambeau.ir.graph import Node, Value
from flambeau.schema.array_type import ArrayType, ScalarType
from flambeau.schema.dtype import DType
from flambeau.schema.element_type import PYTHON, element_of, kinds_of
from flambeau.schema.types import FLOAT, INT, Type, is_number
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange


def as_in_block_around(e: Emitter, where: SourceRange, name: Name, value: Value, before: Type) -> Value:
    """A number of a program on arrays as the variable that it is assigned to has it: an int as a float.

    Raises InferenceRestart if the variable is an int so far and the number a float: it is to begin as one.
    """
    if not e.arrays:
        return value
    if before == FLOAT and value.static_type == INT:
        return _as_float(e, where, value)
    if before == INT and value.static_type == FLOAT and name not in e.type_variables.beginnings:
        _begin(e, name, FLOAT, None)
    _check_scalar(e, name, value.static_type, before)
    return value


def _check_scalar(e: Emitter, name: Name, type_: Type, before: Type) -> None:
    """Raise InferenceRestart if a scalar of NumPy goes on as one of another dtype: it is to begin as a number."""
    if not isinstance(before, ScalarType) or name in e.type_variables.beginnings:
        return
    if isinstance(type_, ArrayType) and type_.rank == 0 and type_.dtype not in (None, before.dtype):
        _begin(e, name, element_of(element_type(type_.dtype)), None)
    if is_number(type_):
        _begin(e, name, element_of(type_), None)


def begin_as_scalars(e: Emitter, refusal: CompileError, *values: Value) -> None:
    """Which number it is, one of Python or a scalar of NumPy, makes a difference: numbers that begin as constants and
    go on as scalars are scalars from the start.

    Raises InferenceRestart if there are such ones.
    """
    for name in _mixed_in_loops(e, values):
        _, variable = next((pair for pair in e.scope.frame.all_variables() if pair[0] == name), (None, None))
        kinds = () if variable is None else kinds_of(variable.type)
        dtypes = [kind for kind in kinds if kind is not None]
        if variable is None or len(dtypes) != 1 or _is_begun(e, name):
            continue
        _begin(e, name, element_of(variable.type, *dtypes), refusal)


def as_begun(e: Emitter, where: SourceRange, name: Name, value: Value) -> Value:
    """A number that a variable is given, as what the variable is from its beginning on.

    Raises CompileError, which the program was refused with before, for a number that no scalar of that kind equals.
    """
    type_, refusal = e.type_variables.beginnings.get(name, (None, None))
    if type_ is None or not e.arrays:
        return value
    if isinstance(value.static_type, ScalarType):
        value = as_number(e, value)
    if type_ == FLOAT and value.static_type == INT:
        value = _as_float(e, where, value)
    dtypes = [kind for kind in kinds_of(type_) if kind is not None]
    if not dtypes or kinds_of(value.static_type) != PYTHON or value.static_type != type_:
        return value
    number = _constant(value)
    if refusal is not None and (number is None or not _is_exact(number, dtypes[0])):
        raise refusal
    scalar = e.emit("prim::unchecked_cast", (value,), type_)
    scalar.set_type(type_)
    return scalar


def _as_float(e: Emitter, where: SourceRange, value: Value) -> Value:
    number = constant_number(value)
    return call_operator(e, where, "aten::Float", [value]) if number is None else e.constant(float(number.real))


def _constant(value: Value) -> complex | None:
    """The number that a value is known to be, converted or not."""
    node = value.defining_node
    return constant_number(value) if node is None or node.op != "aten::Float" else constant_number(node.operands[0])


def _is_exact(number: complex, dtype: DType) -> bool:
    """Whether a number is one of a dtype."""
    with np.errstate(all="ignore"):
        return bool(np.asarray(number).astype(dtype.numpy).astype(np.complex128) == number)


def _begin(e: Emitter, name: Name, type_: Type, refusal: CompileError | None) -> None:
    variables = e.type_variables
    variables.beginnings[name] = type_, refusal
    for names in variables.numbers.values():
        names.pop(name, None)
    variables.error = None
    raise InferenceRestart(variables)


def _is_begun(e: Emitter, name: Name) -> bool:
    """Whether a variable is a scalar of NumPy from its beginning on already."""
    known = e.type_variables.beginnings.get(name)
    return known is not None and kinds_of(known[0]) != PYTHON


def _mixed_in_loops(e: Emitter, values: tuple[Value, ...]) -> Iterator[Name]:
    """The variables of loops that values were computed from, and that are numbers of Python before the loop and scalars
    of NumPy behind it.
    """
    mixed = {name for names in e.type_variables.numbers.values() for name in names}
    slots = {variable.slot: name for name, variable in e.scope.frame.all_variables() if name in mixed}
    seen = set[Node]()
    pending = list(values)
    while pending:
        value = pending.pop()
        node = value.defining_node
        if None not in kinds_of(value.static_type) or node is None or node in seen:
            continue
        seen.add(node)
        if node.op == "prim::Load" and node.attribute("name") in slots:
            yield slots[node.attribute("name")]
        pending.extend(node.operands)
