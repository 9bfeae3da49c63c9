"""What goes into a trace and comes out: tensors, and tuples, lists and dicts of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Value
from flambeau.jit.tracing.baking import warn_user
from flambeau.jit.tracing.symbols import TracedNumber
from flambeau.jit.tracing.trace_recorder import Recorder
from flambeau.jit.tracing.traced_values import tensor_type
from flambeau.nn.module import Module
from flambeau.schema import types as t
from flambeau.tensor.dispatch import call
from flambeau.tensor.settled import apart
from flambeau.tensor.tensor import Tensor, wrap

NOT_TRACEABLE = (
    "Type '{type}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can "
    "be traced. "
    "Numbers are fixed in a trace: close over them, or pass them as 0-d tensors"
)
EMPTY_LIST = "List trace inputs must have elements"
HOLDS_ITSELF = "a list or dict that holds itself cannot be traced"
EMPTY_DICT = "Dictionary inputs must have entries: an empty dict tells nothing of its types"
BAD_KEYS = "the keys of a dict that is traced must all be strings, or all ints, floats or bools"
_KEYS: Final[dict[type, t.Type]] = {str: t.STRING, int: t.INT, float: t.FLOAT, bool: t.BOOL}
BAD_OUTPUT = (
    "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions, got a "
    "{type}. "
    "Return tensors, or script the function"
)
NO_OUTPUT = (
    "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a no-op. "
    "Return tensors, or script the function"
)
BAD_DICT_OUTPUT = (
    "output {key!r} ({type}) of a traced function cannot be understood by the tracer, only outputs matching "
    "dict[str, Tensor | tuple[Tensor, ...]] can be a dictionary output of a traced function"
)
DICT_OUTPUT = (
    "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if the "
    "container structure does not change based on the module's inputs. Use strict=False to allow it"
)
LIST_OUTPUT = (
    "Encountering a list at the output of the tracer might cause the trace to be incorrect, this is only valid if the "
    "container structure does not change based on the module's inputs. Consider a tuple, or use strict=False"
)


def _no_output(result: Any) -> str:
    return NO_OUTPUT if result is None else BAD_OUTPUT.format(type=type(result).__name__)


def as_arguments(inputs: Any) -> tuple[Any, ...]:
    """Example inputs as the positional arguments of a call: a lone tensor or dict is one, a list holds several."""
    if isinstance(inputs, tuple | list):
        return tuple(inputs)
    return (inputs,)


def copied(value: Any) -> Any:
    """An input with tensors of its own. Raises RuntimeError for empty ones, _NotTraceableError for other things."""
    if isinstance(value, Tensor):
        fresh = call("aten::to", apart(value), value.device)
        return fresh.requires_grad_() if value.requires_grad else fresh
    if isinstance(value, np.ndarray):
        return wrap(value.copy())
    if isinstance(value, tuple):
        items = [copied(v) for v in value]
        return type(value)._make(items) if hasattr(value, "_make") else tuple(items)
    if isinstance(value, list):
        if not value:
            raise RuntimeError(EMPTY_LIST)
        return [copied(v) for v in value]
    if isinstance(value, Mapping):
        if not value:
            raise RuntimeError(EMPTY_DICT)
        return {k: copied(v) for k, v in value.items()}
    raise _NotTraceableError


class _NotTraceableError(Exception):
    """A part of an input is nothing that can be traced."""


def _holds_itself(value: Any, outer: tuple[Any, ...] = ()) -> bool:
    if not isinstance(value, tuple | list | Mapping):
        return False
    if any(value is one for one in outer):
        return True
    items = value.values() if isinstance(value, Mapping) else value
    return any(_holds_itself(item, (*outer, value)) for item in items)


def fresh(args: Sequence[Any]) -> tuple[Any, ...]:
    """Example inputs with tensors of their own. Raises RuntimeError for what cannot be traced."""
    if _holds_itself(args):
        raise RuntimeError(HOLDS_ITSELF)
    try:
        return tuple(map(copied, args))
    except _NotTraceableError:
        raise RuntimeError(NOT_TRACEABLE.format(type=_shown(tuple(args)))) from None


def _shown(value: Any) -> str:
    """The type of an input as messages say it."""
    if isinstance(value, Tensor | np.ndarray):
        return "Tensor"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_shown, value))}]"
    if isinstance(value, list):
        return f"List[{', '.join(dict.fromkeys(map(_shown, value)))}]"
    if isinstance(value, Mapping):
        return f"Dict[str, {', '.join(dict.fromkeys(map(_shown, value.values())))}]"
    return type(value).__name__


def flat(value: Any) -> Iterator[Tensor]:
    """The tensors of a result, in order; a number, which a trace gives as one, as a tensor."""
    if isinstance(value, Tensor):
        yield value
        return
    if isinstance(value, int | float):
        yield wrap(np.asarray(value))
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from flat(item)


def signature_names(func: Any) -> list[str]:
    """The names of the parameters of a callable, in order; none where that is not known."""
    return [p.name for p in _parameters(func)]


def _parameters(func: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(func.forward if isinstance(func, Module) else func).parameters.values())
    except (TypeError, ValueError):
        return []


def parameter_names(func: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> list[str]:
    """How the parameters of the graph are called: as those of the function that take the inputs."""
    names = [p.name for p in _parameters(func) if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY)]
    return [*(names[i] if i < len(names) else f"argument_{i}" for i in range(len(args))), *keywords]


def define_inputs(recorder: Recorder, graph: Graph, inputs: Sequence[Any], names: Sequence[str]) -> None:
    """Make parameters of the graph for the inputs of a call."""
    for value, name in zip(inputs, names, strict=True):
        _bind(recorder, graph, value, graph.add_parameter(input_type(value), name))


def _bind(recorder: Recorder, graph: Graph, argument: Any, value: Value) -> None:
    """Tell the recorder which values the tensors of an input are."""
    if isinstance(argument, Tensor):
        recorder.values.define(argument, value)
    elif isinstance(argument, dict):
        for key, item in argument.items():
            constant = insert_constant(graph, key)
            _bind(
                recorder, graph, item, graph.insert("aten::__getitem__", [value, constant], [input_type(item)]).result()
            )
    else:
        kind = "prim::TupleUnpack" if isinstance(argument, tuple) else "prim::ListUnpack"
        node = graph.insert(kind, [value], [input_type(g) for g in argument])
        for item, output in zip(argument, node.results, strict=True):
            _bind(recorder, graph, item, output)


def input_type(argument: Any) -> t.Type:
    """The type of an input. Raises RuntimeError for lists and dicts of different things."""
    if isinstance(argument, Tensor):
        return tensor_type(argument)
    if isinstance(argument, tuple):
        return t.TupleType(tuple(map(input_type, argument)))
    if isinstance(argument, dict):
        kinds = {type(k) for k in argument}
        key = _KEYS.get(kinds.pop()) if len(kinds) == 1 else None
        if key is None:
            raise RuntimeError(BAD_KEYS)
        return t.DictType(key, _one_type(list(argument.values())))
    return t.ListType(_one_type(argument))


def _one_type(items: Sequence[Any]) -> t.Type:
    types = {t.without_refinement(input_type(i)) for i in items}
    if len(types) != 1:
        raise RuntimeError(
            "List and dict inputs to traced functions must have consistent element types, got "
            + ", ".join(sorted(map(str, types)))
        )
    return types.pop()


def number_as_tensor(number: TracedNumber) -> Tensor:
    """What a traced number is as the result of a trace: the 0-d tensor of it."""
    return wrap(np.asarray(number.number))


def with_tensors(result: Any) -> Any:
    """A result whose traced numbers are the tensors that the trace gives."""
    if isinstance(result, TracedNumber):
        return number_as_tensor(result)
    if isinstance(result, tuple):
        items = map(with_tensors, result)
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    return result


class Outputs:
    """Makes graph values of what a traced function returned."""

    def __init__(self, recorder: Recorder, graph: Graph, *, strict: bool, warn: bool) -> None:
        self._recorder, self._graph, self._strict, self._warn = recorder, graph, strict, warn

    def value(self, result: Any) -> Value:
        """The value of a result. Raises RuntimeError for one that cannot be traced."""
        graph = self._graph
        if isinstance(result, Tensor):
            return self._recorder.values.value_of(result, t.TENSOR)
        if isinstance(result, TracedNumber):
            return graph.insert("prim::NumToTensor", [result.value], [tensor_type(number_as_tensor(result))]).result()
        if isinstance(result, tuple):
            parts = [self.value(r) for r in result]
            return graph.insert(
                "prim::TupleConstruct", parts, [t.TupleType(tuple(p.static_type for p in parts))]
            ).result()
        if isinstance(result, list) and result:
            if self._strict and self._warn:
                warn_user(LIST_OUTPUT)
            if not all(isinstance(r, Tensor) for r in result):
                raise RuntimeError(BAD_OUTPUT.format(type=f"list of {type(result[0]).__name__}"))
            parts = [self.value(r) for r in result]
            return graph.insert("prim::ListConstruct", parts, [t.ListType(t.TENSOR)]).result()
        if isinstance(result, dict) and result:
            return self._dict(result)
        raise RuntimeError(_no_output(result))

    def _dict(self, result: dict[Any, Any]) -> Value:
        if self._strict:
            raise RuntimeError(DICT_OUTPUT)
        parts = []
        for key, item in result.items():
            is_tuple = isinstance(item, tuple) and all(isinstance(i, Tensor) for i in item)
            if not isinstance(key, str | Tensor) or not (isinstance(item, Tensor) or is_tuple):
                raise RuntimeError(BAD_DICT_OUTPUT.format(key=key, type=type(item).__name__))
            parts += [insert_constant(self._graph, key), self.value(item)]
        types = {t.without_refinement(p.static_type) for p in parts[1::2]}
        if len(types) != 1:
            raise RuntimeError(BAD_DICT_OUTPUT.format(key=next(iter(result)), type=", ".join(sorted(map(str, types)))))
        dict_type = t.DictType(parts[0].static_type, types.pop())
        return self._graph.insert("prim::DictConstruct", parts, [dict_type]).result()
