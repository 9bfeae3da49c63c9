"""Programs by what they touch, and how they are held against the interpreter and the reference: results with strides
and storages, what is written, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.jit.function import ScriptFunction

Arguments = Callable[[], tuple[Any, ...]]


def function_of(source: str, backend: str) -> ScriptFunction:
    """The function ``f`` of a source, run by a backend."""
    return flambeau.CompilationUnit(source).f.with_options(flambeau.Options(backend=backend))  # type: ignore[no-any-return]


def numbers(value: Any) -> Any:
    """A value without the tensors in it: dtype, sizes, strides, elements to the bit."""
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(numbers, value)]
    if isinstance(value, Tensor):
        return str(value.dtype), tuple(value.shape), value.stride(), value.numpy().tolist().__repr__()
    return type(value).__name__, repr(value)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in a value, in order."""
    if isinstance(value, tuple | list):
        return [t for v in value for t in tensors_in(v)]
    return [value] if isinstance(value, Tensor) else []


def sharing(arguments: tuple[Any, ...], result: Any) -> list[Any]:
    """For each pair of tensors: whether they are one, or on one storage, and where in it."""
    everything = [*tensors_in(arguments), *tensors_in(result)]
    return [
        (a is b, a._storage is b._storage and (a.storage_offset(), b.storage_offset()))
        for k, a in enumerate(everything)
        for b in everything[k + 1 :]
    ]


def outcome(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """All that can be seen of a call."""
    versions = [t._version for t in tensors_in(arguments)]
    try:
        result = call(*arguments)
    except Exception as error:
        return type(error).__name__, str(error), numbers(arguments)
    changes = [t._version != v for t, v in zip(tensors_in(arguments), versions, strict=True)]
    return numbers(result), numbers(arguments), sharing(arguments, result), changes
