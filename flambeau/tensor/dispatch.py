"""Running operators by name: bind the call to an overload, pass it through the interceptors, run its kernel.

>>> with intercepting(lambda definition, arguments, proceed: proceed(arguments)):
...     pass
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flambeau.schema import registry
from flambeau.schema.argument_rules import RuntimeTypes
from flambeau.schema.bind import Binder, Plan
from flambeau.schema.function import FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.tensor.bridge import from_numpy_or_copy
from flambeau.tensor.observer import current, thread, watchers
from flambeau.tensor.random import Generator
from flambeau.tensor.tensor import Tensor, wrap_number

Proceed = Callable[[Sequence[Any]], Any]
Handler = Callable[[OpDef, Sequence[Any], Proceed], Any]
"""Called instead of a kernel with the overload, its arguments in schema order, and what runs the rest of the stack."""


def _to_index(tensor: Tensor) -> Any:
    """What a tensor of one integer is for a parameter that takes an int. Raises TypeError for other dtypes."""
    if tensor._array.dtype.kind not in "biu":
        tensor.item()
        raise TypeError(f"expected a tensor holding int, got one of dtype {tensor.dtype}")
    watching = current()
    return int(tensor.item()) if watching is None or tensor._array.size != 1 else watching.integer(tensor)


binder = Binder(
    RuntimeTypes(
        tensor=Tensor,
        generator=Generator,
        from_number=wrap_number,
        from_array=from_numpy_or_copy,
        to_number=Tensor.item,
        to_index=_to_index,
    )
)


@contextmanager
def intercepting(handler: Handler) -> Iterator[None]:
    """Within the block, this thread's operator calls go to `handler`, before handlers that are there already.

    While a handler runs, it is itself not on the stack: operators that it calls go to the handlers below it.
    """
    before = thread.handlers
    with watchers.one_more():
        thread.handlers = (*before, handler)
        try:
            yield
        finally:
            thread.handlers = before


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Within the block, this thread's operator calls run their kernels directly."""
    before = thread.handlers
    thread.handlers = ()
    try:
        yield
    finally:
        thread.handlers = before


def is_intercepted() -> bool:
    """Whether this thread has interceptors."""
    return bool(thread.handlers)


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run an overload on all its arguments in schema order, through the interceptors."""
    stack = thread.handlers
    if not stack:
        return definition.kernel(*arguments)
    handler, below = stack[-1], stack[:-1]

    def proceed(changed: Sequence[Any]) -> Any:
        return run(definition, changed)

    thread.handlers = below
    try:
        return handler(definition, arguments, proceed)
    finally:
        thread.handlers = stack


class Operator:
    """All overloads of one name, with the plans of the calls seen so far."""

    __slots__ = ("_deep", "_plans", "_quick", "_version", "candidates", "name")

    MAX_PLANS = 512

    def __init__(self, name: str) -> None:
        self.name = name
        self.refresh()

    @property
    def operator_name(self) -> str:
        """How the compiler knows it: programs call the operator directly."""
        return self.name

    def refresh(self) -> None:
        """Look the overloads up again."""
        self._version = registry.version()
        self.candidates = tuple(
            d for d in registry.overloads(self.name) if concerns_tensors(d.schema) or d.family == "custom"
        )
        self._plans: dict[Any, Plan] = {}
        self._quick: dict[Any, tuple[Callable[..., Any], tuple[Any, ...], Callable[[Any], Any] | None]] = {}
        self._deep: dict[Any, Plan] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return self.call_with_keywords(args, kwargs)
        key = tuple(map(type, args))
        quick = self._quick.get(key)
        if quick is not None and not thread.handlers:
            kernel, tail, finish = quick
            result = kernel(*args, *tail)
            return result if finish is None else finish(result)
        plan = self._plans.get(key)
        if plan is None:
            plan = self.plan(args, kwargs)
        result = run(plan.definition, plan.arguments(args, kwargs))
        return result if plan.finish is None else plan.finish(result)

    def call_with_keywords(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The same for a call with keywords."""
        if "out" in kwargs and kwargs["out"] is None:
            kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        plan = self.plan(args, kwargs)
        result = run(plan.definition, plan.arguments(args, kwargs))
        if plan.requires_grad_at >= 0 and kwargs["requires_grad"]:
            result.requires_grad_()
        return result if plan.finish is None else plan.finish(result)

    def plan(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Plan:
        """The plan for arguments of these types. Raises TypeError if no overload takes them."""
        if self._version != registry.version():
            self.refresh()
        key = binder.key(args, kwargs)
        plan = self._deep.get(key)
        if plan is None:
            plan = binder.plan(self.name, self.candidates, args, kwargs)
            if len(self._deep) >= self.MAX_PLANS:
                self._deep.clear()
                self._plans.clear()
                self._quick.clear()
            self._deep[key] = plan
            if not kwargs and not any(isinstance(a, list | tuple) for a in args):
                types = tuple(map(type, args))
                self._plans[types] = plan
                if not plan.converters and plan.varargs_at < 0:
                    self._quick[types] = (plan.kernel, plan.tail, plan.finish)
        return plan


def concerns_tensors(schema: FunctionSchema) -> bool:
    """Whether a tensor goes in or comes out; other overloads belong to the language alone."""
    return schema.concerns_tensors


_operators: dict[str, Operator] = {}


def operator(name: str) -> Operator:
    """The overloads of `aten::add`, callable with Python values."""
    found = _operators.get(name)
    if found is None:
        if not registry.overloads(name):
            raise KeyError(f"no operator {name}; similar: {', '.join(registry.similar(name)) or 'none'}")
        found = _operators[name] = Operator(name)
    return found


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Run an operator by qualified name, `call("aten::add", x, 1)`. Raises KeyError for an unknown one, TypeError for
    wrong arguments, and what the operator itself raises.
    """
    found = _operators.get(name)
    return (found or operator(name))(*args, **kwargs)


def function(name: str, public_name: str | None = None) -> Callable[..., Any]:
    """A Python function that runs the operator `name`: its help shows what the operator does and its signatures."""
    target = operator(name)
    run_operator = target.__call__

    def operator_function(*args: Any, **kwargs: Any) -> Any:
        return run_operator(*args, **kwargs)

    short = public_name or name.rpartition("::")[2]
    operator_function.__name__ = operator_function.__qualname__ = short
    operator_function.__module__ = "flambeau"
    operator_function.__doc__ = documentation(target)
    operator_function.operator_name = name  # type: ignore[attr-defined]  # how the compiler knows it
    return operator_function


def documentation(target: Operator) -> str:
    """What the operator does, and its signatures as a Python caller sees them."""
    sentences = next((d.doc for d in target.candidates if d.doc), "")
    forms = "\n".join(f"    {d.schema}" for d in target.candidates)
    return f"{sentences}\n\nSignatures:\n\n{forms}\n" if sentences else f"Signatures:\n\n{forms}\n"
