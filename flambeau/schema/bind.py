"""Which overload a Python call means, and its arguments in schema order.

`Binder.bind(name, overloads, args, kwargs)` tries every overload; the one that needs the least conversion wins. What
was decided for one combination of argument types is kept as a `CallBinding`, so that the next such call looks it up.

Conversions are PyTorch's: int to float, numbers and one-element tensors to Scalar, a single int for `int[N]`, ints
passed one by one for the only `int[]`, dtypes given as Python or NumPy types, `input` for `self`, and NumPy's
spellings `axis`, `keepdims`, `x1`, `x2`. NumPy arrays are taken for tensors and share their memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.schema.argument_rules import Converter, Rule, RuntimeTypes, rule_of, varargs_position
from flambeau.schema.bind_errors import FailedCall
from flambeau.schema.function import FunctionSchema
from flambeau.schema.named_results import class_of, fields_of, name_of
from flambeau.schema.opdef import OpDef
from flambeau.schema.parameter_names import parameter_name
from flambeau.schema.types import ListType, TensorType
from flambeau.util.record import dataclass

NUMBERS_AS_TENSORS: Final = frozenset(
    "aten::" + n
    for n in ("add", "sub", "mul", "div", "divide", "multiply", "subtract", "true_divide", "floor_divide", "copy")
)
"""Operators that take a Python number for any of their tensors."""
_OPTIONS: Final = ("dtype", "layout", "device", "pin_memory")

_LAYOUT: Final = "layout"
NOT_STRIDED: Final = (
    "tensors are strided here, but a call asks for layout={layout}: keep the values beside their indices "
    "(x.index_add(0, rows, values), scatter_add, embedding_bag)"
)

_SEQUENCES: Final = (tuple, list)

Key = tuple[Any, ...]


@dataclass(slots=True, eq=False)
class CallBinding:
    """How to run a call whose arguments have certain types."""

    definition: OpDef
    kernel: Callable[..., Any]
    tail: tuple[Any, ...]
    """Defaults that follow the positional arguments."""
    sources: tuple[tuple[int, int], ...] | None
    """Pairs of a parameter that does not take its default and the argument that it takes, by their numbers; None when
    arguments are in order already.
    """
    defaults: tuple[Any, ...]
    converters: tuple[tuple[int, Converter], ...]
    varargs_at: int
    """Where ints passed one by one are gathered into a list; -1 if nowhere."""
    finish: Callable[[Any], Any] | None
    """Turns the kernel's result into what Python callers get: lists of tensors as tuples, named results as named
    tuples."""
    requires_grad_at: int
    """Which argument is `requires_grad=` of a constructor; -1 if none."""

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The full argument list in schema order."""
        full: list[Any]
        if self.varargs_at >= 0:
            args = (*args[: self.varargs_at], list(args[self.varargs_at :]))
        if self.sources is None:
            if not self.converters:
                return (*args, *self.tail)
            full = [*args, *self.tail]
        else:
            values = (*args, *(_values(kwargs) if "out" in kwargs else kwargs.values()))
            full = list(self.defaults)
            for parameter, source in self.sources:
                full[parameter] = values[source]
        for index, convert in self.converters:
            full[index] = convert(full[index])
        return full

    def runner(self, count: int, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """What runs a kernel on `count` positional arguments, of which none is converted, as directly as may be."""
        tail = self.tail
        if self.varargs_at == 1 and not tail and 1 < count < 4:
            return (lambda first, a: kernel(first, [a])) if count == 2 else lambda first, a, b: kernel(first, [a, b])
        if self.varargs_at == 1:
            return lambda first, *rest: kernel(first, list(rest), *tail)
        if self.varargs_at == 0:
            return lambda *rest: kernel(list(rest), *tail)
        return with_tail(kernel, count, tail)


def with_tail(kernel: Callable[..., Any], count: int, tail: tuple[Any, ...]) -> Callable[..., Any]:
    """The kernel with fixed arguments after the first `count`; calls with a list of arguments take twice as long."""
    match (count, tail):
        case (_, ()):
            return kernel
        case (1, (last,)):
            return lambda first: kernel(first, last)
        case (1, (third, last)):
            return lambda first: kernel(first, third, last)
        case (1, (third, fourth, last)):
            return lambda first: kernel(first, third, fourth, last)
        case (2, (last,)):
            return lambda first, second: kernel(first, second, last)
        case (2, (fourth, last)):
            return lambda first, second: kernel(first, second, fourth, last)
    return lambda *args: kernel(*args, *tail)


def _values(kwargs: Mapping[str, Any]) -> list[Any]:
    """The keyword values; several `out=` tensors count one by one."""
    values: list[Any] = []
    for name, value in kwargs.items():
        if name == "out" and isinstance(value, tuple | list):
            values.extend(value)
        else:
            values.append(value)
    return values


class Binder:
    """Binds calls, knowing what the run-time's tensors are."""

    def __init__(self, runtime: RuntimeTypes) -> None:
        self.runtime = runtime
        self._rules: dict[int, tuple[FunctionSchema, tuple[Rule, ...]]] = {}

    def rules(self, schema: FunctionSchema) -> tuple[Rule, ...]:
        """One rule per parameter."""
        entry = self._rules.get(id(schema))
        if entry is None:
            number_ok = schema.name.removesuffix("_") in NUMBERS_AS_TENSORS and not schema.overload.startswith("Scalar")
            entry = (schema, tuple(rule_of(a, self.runtime, number_ok) for a in schema.arguments))
            self._rules[id(schema)] = entry
        return entry[1]

    def key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Key:
        """What decides the binding: the types of all arguments, looking into lists."""
        return (tuple(map(_kind, args)), tuple(kwargs), tuple(map(_kind, kwargs.values())))

    def bind(
        self, name: str, candidates: Sequence[OpDef], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> CallBinding:
        """The cheapest way to make this call. Raises TypeError as PyTorch does when there is none."""
        best: CallBinding | None = None
        best_cost = 1 << 30
        for definition in candidates:
            attempt = self._try(definition, args, kwargs)
            if attempt is not None and attempt[0] < best_cost:
                best_cost, best = attempt
        if best is None:
            call = FailedCall(name.rpartition("::")[2], args, kwargs, self.runtime, self.rules)
            raise call.error([d.schema for d in candidates])
        return best

    def _try(self, definition: OpDef, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int, CallBinding] | None:
        schema = definition.schema
        rules = self.rules(schema)
        varargs_at = varargs_position(schema, rules, args)
        if varargs_at >= 0:
            args = (*args[:varargs_at], list(args[varargs_at:]))
        elif len(args) > len(schema.positional):
            return None
        named = _resolve_names(schema, len(args), kwargs)
        if named is None:
            return None
        positions, requires_grad_at = named
        order, full, cost = self._place(schema, args, kwargs, positions)
        if full is None:
            return None
        passed = [index for index, source in enumerate(order) if source >= 0]
        fitting = _fitting(schema, rules, full, passed)
        if fitting is None:
            return None
        more, converters = fitting
        cost += more
        in_order = not kwargs
        binding = CallBinding(
            definition=definition,
            kernel=definition.kernel,
            tail=tuple(full[len(args) :]) if in_order else (),
            sources=None if in_order else tuple([pair for pair in enumerate(order) if pair[1] >= 0]),
            defaults=() if in_order else tuple(a.default if a.has_default else None for a in schema.arguments),
            converters=tuple(converters),
            varargs_at=varargs_at,
            finish=finisher(schema),
            requires_grad_at=requires_grad_at,
        )
        return cost, binding

    @staticmethod
    def _place(
        schema: FunctionSchema, args: Sequence[Any], kwargs: Mapping[str, Any], positions: Mapping[str, int]
    ) -> tuple[list[int], list[Any] | None, int]:
        """Per parameter: which value it takes, the values, and how many defaults were filled in between."""
        values = (*args, *_values(kwargs))
        order: list[int] = []
        full: list[Any] = []
        for index, argument in enumerate(schema.arguments):
            source = index if index < len(args) else positions.get(argument.name, -1)
            if source >= 0:
                full.append(values[source])
            elif argument.has_default:
                full.append(argument.default)
            else:
                return [], None, 0
            order.append(source)
        return order, full, 0


def _kind(value: Any) -> Any:
    """The type of a value, and for lists what is inside."""
    kind = type(value)
    if isinstance(value, _SEQUENCES):
        return (kind, frozenset(map(_kind, value)), len(value) if len(value) < 3 else 3)
    return kind


def _resolve_names(
    schema: FunctionSchema, positional: int, kwargs: Mapping[str, Any]
) -> tuple[dict[str, int], int] | None:
    """Which value each parameter with a keyword takes, and which is `requires_grad=` (-1 if none). None if a keyword is
    unknown or names an argument twice."""
    positions: dict[str, int] = {}
    requires_grad_at = -1
    position = positional
    for key, value in kwargs.items():
        name = parameter_name(schema, key)
        if key == "out" and (name is None or isinstance(value, tuple | list)):
            outs = _out_names(schema, value)
            if outs is None:
                return None
            positions.update(zip(outs, range(position, position + len(outs)), strict=True))
            position += len(outs)
            continue
        if name is not None:
            if name in positions or schema.index[name] < positional:
                return None
            positions[name] = position
        elif not _is_option_beside_out(schema, key):
            if key != "requires_grad" or not all(option in schema.index for option in _OPTIONS):
                return None
            requires_grad_at = position
        position += 1
    return positions, requires_grad_at


def _fitting(
    schema: FunctionSchema, rules: Sequence[Rule], full: Sequence[Any], passed: Sequence[int]
) -> tuple[int, list[tuple[int, Converter]]] | None:
    """What it costs to convert the arguments that are passed, and how each is; None if one does not fit."""
    cost = 0
    converters: list[tuple[int, Converter]] = []
    for index in passed:
        fit = rules[index].fit(full[index])
        if fit is None:
            return None
        cost += fit.cost
        if schema.arguments[index].name == _LAYOUT:
            converters.append((index, _strided))
        if fit.convert is not None:
            converters.append((index, fit.convert))
    return cost, converters


def _strided(layout: Any) -> Any:
    """A layout, which is that of all tensors. Raises RuntimeError for another one."""
    if layout is None or int(layout) == 0:
        return layout
    raise RuntimeError(NOT_STRIDED.format(layout=layout))


def _out_names(schema: FunctionSchema, value: Any) -> list[str] | None:
    """The parameters that `out=value` fills; None if there are not as many."""
    names = [a.name for a in schema.arguments if a.is_out]
    count = len(value) if isinstance(value, tuple | list) else 1
    return names if names and len(names) == count else None


def _is_option_beside_out(schema: FunctionSchema, key: str) -> bool:
    """Whether a constructor takes the keyword and ignores it, because `out=` says dtype and device."""
    return key in (*_OPTIONS, "requires_grad") and "out" in schema.index and not positional_tensor(schema)


def positional_tensor(schema: FunctionSchema) -> bool:
    """Whether a tensor is passed by position; constructors, which take none, accept options beside `out=`."""
    return any(isinstance(a.type, TensorType) for a in schema.positional)


_finishers: dict[tuple[str, tuple[str, ...]], Callable[..., Any]] = {}


def finisher(schema: FunctionSchema) -> Callable[[Any], Any] | None:
    """What is done to the kernel's result for a Python caller; None if nothing is."""
    if len(schema.returns) == 1:
        kind = schema.returns[0].type
        return tuple if isinstance(kind, ListType) and isinstance(kind.element, TensorType) else None
    names = fields_of(schema)
    if names is None:
        return None
    short = name_of(schema)
    finish = _finishers.get((short, names))
    if finish is None:
        make = class_of(short, names)._make

        def finish(result: Any) -> Any:
            return make(result) if type(result) is tuple else result

        _finishers[short, names] = finish
    return finish
