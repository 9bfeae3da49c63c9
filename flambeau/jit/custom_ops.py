"""Operators written in Python: declared by their schema, called from programs and from Python, checked like any other.

>>> import flambeau
>>> @custom_op("demo::scaled(Tensor x, float by=2.0) -> Tensor")
... def scaled(x, by):
...     return x * by
>>> scaled(flambeau.ones(2))
tensor([2., 2.])
>>> unit = flambeau.CompilationUnit("def f(x): return scaled(x, by=3.0)")
>>> unit.f(flambeau.ones(2))
tensor([3., 3.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flambeau.schema import registry
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import Effect, OpDef
from flambeau.tensor import dispatch

F = TypeVar("F", bound=Callable[..., Any])
NO_NAMESPACE = "the operator '{name}' needs a namespace of its own, as in 'mine::{name}(Tensor x) -> Tensor'"
TAKEN = "the namespace '{space}' belongs to the package: choose another one"
_OWN = ("aten", "prim", "python")


def custom_op(schema: str, *, effect: bool = False, doc: str = "") -> Callable[[F], Any]:
    """A decorator: the function, which takes all arguments of `schema` by position, becomes an operator.

    The schema is TorchScript's: `ns::name(Tensor x, int n=1) -> Tensor`; an argument that the function changes is
    written `Tensor(a!) x`. With `effect` it does something beside its result, and is never left out. What comes back
    is the operator: call it from Python or in a program; `flambeau.jit.custom_ops.op("ns::name")` finds it again.

    Raises ValueError for a schema without a namespace of its own, and for one that exists already.
    """
    parsed = parse_schema(schema)
    space, _, name = parsed.name.rpartition("::")
    if not space:
        raise ValueError(NO_NAMESPACE.format(name=name))
    if space in _OWN:
        raise ValueError(TAKEN.format(space=space))

    def declare(fn: F) -> Any:
        registry.register(
            OpDef(
                schema=parsed,
                family="custom",
                kernel=fn,
                doc=doc or (fn.__doc__ or ""),
                effect=Effect.WORLD if effect else Effect.NONE,
                is_method=False,
                is_function=False,
            )
        )
        return op(parsed.name)

    return declare


def op(name: str) -> Any:
    """The operator of a qualified name. Raises AttributeError if there is none."""
    if not registry.overloads(name):
        raise AttributeError(f"there is no operator '{name}'; similar: {', '.join(registry.similar(name))}")
    made = dispatch.function(name, name.rpartition("::")[2])
    made.__doc__ = next((d.doc for d in registry.overloads(name) if d.doc), "")
    return made
