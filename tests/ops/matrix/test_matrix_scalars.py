"""The scalar meaning of every pointwise operator runs on any implementation of the protocol, not only on arrays.

A recorder stands for a code generator: its values are names, which nobody may test, compare or index. Replaying what it
recorded, one element at a time, must give what the arrays gave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.ops.families.numpy_scalar import NUMPY
from flambeau.schema import registry
from flambeau.schema import scalar as protocol
from flambeau.schema.dtype import DType, bool_, float32, int64
from flambeau.tensor.tensor import Tensor
from tests.ops.matrix.matrix_cases import Call, as_types, is_tensor, pointwise_calls, pointwise_names
from tests.together import together

KNOWN = {
    *protocol.UNARY_FLOAT, *protocol.UNARY_ANY, *protocol.BINARY, *protocol.COMPARE, *protocol.LOGICAL,
    *protocol.PREDICATES, *protocol.EXACT_INTEGER, *protocol.COMPLEX,
}  # fmt: skip
BOOLS = {*protocol.COMPARE, *protocol.LOGICAL, *protocol.PREDICATES}


class Name:
    """A value of the recorder. It has no truth, no order and no elements."""

    def __init__(self, index: int, dtype: DType) -> None:
        self.index, self.dtype = index, dtype

    def __bool__(self) -> bool:
        raise AssertionError("a scalar meaning branches on a value: use s.select")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __ne__ = __iter__ = None  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Recorder:
    """Implements the protocol by writing down what is asked of it."""

    def __init__(self) -> None:
        self.program: list[tuple[Callable[..., Any], tuple[int, ...]]] = []

    def emit(self, dtype: DType, run: Callable[..., Any], *operands: Name) -> Name:
        self.program.append((run, tuple(o.index for o in operands)))
        return Name(len(self.program) - 1, dtype)

    def dtype_of(self, x: Name) -> DType:
        return x.dtype

    def const(self, value: complex, dtype: DType) -> Name:
        return self.emit(dtype, lambda: NUMPY.const(value, dtype))

    def cast(self, x: Name, dtype: DType) -> Name:
        return self.emit(dtype, lambda v: NUMPY.cast(v, dtype), x)

    def select(self, condition: Name, a: Name, b: Name) -> Name:
        assert condition.dtype is bool_, "the condition of select is a bool"
        assert a.dtype is b.dtype, f"the branches of select are {a.dtype} and {b.dtype}"
        return self.emit(a.dtype, NUMPY.select, condition, a, b)

    def supports(self, name: str, dtype: DType) -> bool:
        return True

    def __getattr__(self, name: str) -> Callable[..., Name]:
        if name not in KNOWN:
            raise AttributeError(name)
        run = getattr(NUMPY, name)

        def record(*operands: Name) -> Name:
            kinds = {o.dtype for o in operands}
            assert len(kinds) == 1, f"{name} gets operands of {kinds}"
            if name in protocol.LOGICAL:
                assert kinds == {bool_}, f"{name} gets {kinds}"
            return self.emit(bool_ if name in BOOLS else operands[0].dtype, run, *operands)

        return record

    def replay(self, result: Name) -> Any:
        values: list[Any] = []
        with np.errstate(all="ignore"):
            for run, operands in self.program:
                values.append(run(*[values[i] for i in operands]))
        return values[result.index]


def record(call: Call, dtype: DType) -> tuple[Recorder, Name]:
    recorder = Recorder()
    arguments: list[Any] = []
    for argument, value in zip(call.definition.schema.arguments, call.arguments, strict=True):
        if isinstance(value, Tensor):
            own = bool_ if argument.name == "condition" else dtype
            first = value._array.ravel()[:1].reshape(())[()]
            arguments.append(recorder.emit(own, lambda v=first, d=own: NUMPY.cast(v, d)))
        elif isinstance(value, int | float | complex) and not isinstance(value, bool) and is_number(argument):
            arguments.append(recorder.const(value, dtype))
        else:
            arguments.append(value)
    assert call.definition.scalar is not None
    return recorder, call.definition.scalar(recorder, *arguments)


def is_number(argument: Any) -> bool:
    return not is_tensor(argument) and str(argument.type).rstrip("?") in ("Scalar", "float")


@together("name", pointwise_names())
def test_meaning_can_be_recorded(name: str) -> None:
    for definition in registry.overloads(name):
        if definition.family != "pointwise":
            continue
        for call in pointwise_calls(definition, (float32, int64)):
            try:
                expected = call.run()
            except (RuntimeError, NotImplementedError):
                continue
            assert definition.compute is not None
            dtype = definition.compute(*types_of(call))
            if dtype is None:
                continue
            recorder, result = record(call, dtype)
            found = NUMPY.cast(np.asarray(recorder.replay(result)), expected.dtype)
            corner = expected._array.ravel()[0]
            assert found == corner or (found != found and corner != corner), f"{call}: {found}, eagerly {corner}"


def types_of(call: Call) -> list[Any]:


    return [as_types(v) for v in call.arguments]
