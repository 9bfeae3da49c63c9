"""What Python callers see, derived from the registry: functions, `Tensor` methods, further namespaces.

No operator is named here. Python's own operators (`+`, `x[i]`) are in `tensor.protocol`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from flambeau.ops import describe
from flambeau.ops.call_examples import PREFIXES as PREFIXES
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import TensorType
from flambeau.tensor import dispatch
from flambeau.tensor.observer import thread
from flambeau.tensor.older_calls import warning_of_name
from flambeau.tensor.overrides import NOT_OVERRIDDEN, answer
from flambeau.tensor.subclasses import special as subclasses
from flambeau.tensor.tensor import Tensor, install_method
from flambeau.util.choice import Shortcut
from flambeau.util.names_of_numba import FUNCTIONS

Function = Callable[..., Any]
Kind = TypeVar("Kind", bound=Function)
"""A function of a kind of its own, which a decorator gives back."""


def install() -> None:
    """Give `Tensor` every method that the registered operators call for. Installing again adds what is new."""
    for name, method in methods().items():
        install_method(name, method)


def function_names() -> list[str]:
    """The Python names of all operators that are functions of the package."""
    return [short for name, short in public_names() if any(d.is_function for d in definitions(name))]


def function(short: str) -> Function:
    """The function of that name. Raises AttributeError, with similar names, when no operator is called so.

    >>> from flambeau import ops
    >>> function("add").__name__
    'add'
    """
    if short.startswith("__"):  # Python asks for these by itself, and wants no names that are similar
        raise AttributeError(f"module 'flambeau' has no attribute '{short}'")
    name = f"aten::{short}"
    overloads = definitions(name)
    if not any(d.is_function for d in overloads):
        raise AttributeError(_UnknownFunction(short))
    return _derived(short)


class _UnknownFunction:
    """The message about a name that no operator has. Similar names are looked for when somebody reads it, which
    `hasattr` does not.
    """

    def __init__(self, short: str) -> None:
        self.short = short

    def __str__(self) -> str:
        text = f"module 'flambeau' has no attribute '{self.short}'"
        if self.short in FUNCTIONS:
            return f"{text}: {FUNCTIONS[self.short]}"
        overloads = definitions(f"aten::{self.short}")
        modules = dict.fromkeys(f"flambeau.{module}.{self.short}" for d in overloads for module in d.namespaces)
        if modules:
            return f"{text}: it is {' or '.join(modules)}"
        if any(d.is_method for d in overloads):
            return f"{text}: it is a method of tensors, x.{self.short}(...)"
        names = [n.removeprefix("aten::") for n in registry.similar(f"aten::{self.short}") if n.startswith("aten::")]
        similar = ", ".join(n for n in names if n != self.short)
        return f"{text}{f'; similar: {similar}' if similar else ''}"

    def __repr__(self) -> str:
        return repr(str(self))


def _derived(short: str) -> Function:
    function = dispatch.operator(f"aten::{short}").function
    function.__doc__ = describe.documentation(definitions(f"aten::{short}"))
    return function


def methods() -> dict[str, Function]:
    """Every operator that is a method of `Tensor`, by its Python name."""
    functions: dict[str, Function] = {}
    for name, short, overloads in _public():
        positions = [p for d in overloads if d.is_method and (p := self_position(d)) is not None]
        if positions:
            functions[short] = _method(name, short, min(positions))
    return functions


def members(path: str) -> dict[str, str]:
    """The names of a further module's functions, each with the name of its operator."""
    if path in PREFIXES:
        prefix = f"{path}_"
        derived = [short for _, short in public_names() if short.startswith(prefix) and not short.endswith("_")]
        return {short.removeprefix(prefix): short for short in derived}
    return {short: short for name, short in public_names() if any(path in d.namespaces for d in definitions(name))}


def member(path: str, name: str) -> Function:
    """One function of a further module. Raises AttributeError where there is none of that name.

    One of `nn.functional` whose operator has an in-place form takes `inplace=False` too.
    """
    is_prefix = path in PREFIXES
    short = f"{path}_{name}" if is_prefix else name
    overloads = definitions(f"aten::{short}")
    if not any(is_prefix or path in d.namespaces for d in overloads) or (is_prefix and name.endswith("_")):
        raise AttributeError(f"module 'flambeau.{path}' has no attribute '{name}'")
    has_in_place = not is_prefix and bool(registry.overloads(f"aten::{short}_"))
    return _with_inplace(f"aten::{short}", short) if has_in_place else _derived(short)


def public_names() -> Iterator[tuple[str, str]]:
    """Qualified and Python names of the operators that concern tensors, Python's special methods excepted."""
    return ((name, short) for name, short, _ in _public())


def _public() -> Iterator[tuple[str, str, list[OpDef]]]:
    """Of each such operator also the overloads that a Python caller can reach."""
    for name in registry.names():
        scope, _, short = name.partition("::")
        if scope == "aten" and not short.startswith("__") and not short[:1].isupper():
            overloads = definitions(name)
            if overloads:
                yield name, short, overloads


def definitions(name: str) -> list[OpDef]:
    """The overloads that a Python caller can reach."""
    return [d for d in registry.overloads(name) if d.schema.concerns_tensors]


def self_position(definition: OpDef) -> int | None:
    """The position of `self` among the arguments; None for an operator that is no method."""
    index = definition.schema.index.get("self")
    if index is None or not isinstance(definition.schema.arguments[index].type, TensorType):
        return None
    return index


def _method(name: str, short: str, position: int) -> Function:
    target = dispatch.operator(name)
    run = target.__call__

    def inner(self: Tensor, /, *args: Any, **kwargs: Any) -> Any:
        if subclasses.exists or thread.handlers:
            result = answer(inner, (self, *args), kwargs)
            if result is not NOT_OVERRIDDEN:
                return result
        if len(args) < position:  # what stands before the tensor comes by name
            return target.call_with_keywords(args, {"self": self, **kwargs})
        return run(*args[:position], self, *args[position:], **kwargs)

    inner.is_overridable = True  # type: ignore[attr-defined]

    method = warning_of_name(definitions(name), dispatch.caller(target) if position == 0 else inner)
    method.__name__ = short
    method.__qualname__ = f"Tensor.{short}"
    method.__doc__ = describe.of_method(short, definitions(name))
    return method


def runs(name: str, unless: Shortcut | None = None) -> Callable[[Kind], Kind]:
    """Says of a Python function that it runs one operator with its own arguments: programs may call that directly.

    With `unless`, calls that use that parameter, which the operator does not have, call the function.
    """

    def mark(function: Kind) -> Kind:
        function.operator_name = name  # type: ignore[attr-defined]
        function.shortcut = unless  # type: ignore[attr-defined]
        return function

    return mark


def _with_inplace(name: str, short: str) -> Function:
    fresh, written = dispatch.operator(name), dispatch.operator(name + "_").__call__

    def functional(*args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if subclasses.exists or thread.handlers:
            result = answer(functional, args, {**kwargs, "inplace": inplace} if inplace else kwargs)
            if result is not NOT_OVERRIDDEN:
                return result
        if inplace:
            return written(*args, **kwargs)
        if kwargs:
            return fresh.call_with_keywords(args, kwargs, functional)
        quick = fresh.fast_path.get(type(args[0]) if len(args) == 1 else tuple(map(type, args)))
        return fresh.call_positional(args, functional) if quick is None or thread.handlers else quick(*args)

    functional.__name__ = functional.__qualname__ = short
    functional.__module__ = "flambeau.nn.functional"
    functional.__doc__ = describe.documentation(definitions(name))
    return runs(name)(functional)
