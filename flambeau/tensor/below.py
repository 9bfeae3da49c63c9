"""What is below the recording of gradients: dispatch modes, then subclasses of tensors, then kernels.

The tape runs an operator by its declaration's kernel. Where somebody stands before that kernel, `redirected` gives a
declaration whose kernel asks them; everything else about the operator is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.schema.own_gradient import is_spelling
from flambeau.tensor import recorder
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.interceptors import Interceptors, changed, stack
from flambeau.tensor.observer import thread, watchers
from flambeau.tensor.subclasses import DISPATCH, goes_below, overrides_dispatch
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import OVERLOAD
from flambeau.util.record import replace

AUTOGRAD: Final = "Autograd"
ALL_REFUSED: Final = (
    "Multiple dispatch failed for '{name}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n{asked}"
)
NO_RULE: Final = (
    "a rule is for a class of dispatch modes, or of tensors with __torch_dispatch__, and {cls} is neither of them"
)


class Mode(Protocol):
    """A dispatch mode, as calls see it."""

    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a call of the operator `func` gives."""


def concerns(definition: OpDef, arguments: Sequence[Any]) -> bool:
    """Whether a call needs more than its kernel: a tensor of a class that does, or a kernel that somebody replaced."""
    return any(may_run(definition, arguments) for may_run in CONCERNS) or has_special(arguments)


CONCERNS: Final[list[Callable[[OpDef, Sequence[Any]], bool]]] = []
"""Who else stands before kernels: whether they do for a call."""
KERNELS: Final[list[Callable[[OpDef, Sequence[Any]], Any]]] = []
"""What runs such calls, or gives NotImplemented; the last is asked first."""


QUICK: Final[dict[int, Callable[[Sequence[Any]], Any]]] = {}
"""By the identity of a declaration: what runs calls of it that nobody but a device has to do with, or gives
NotImplemented. Nothing is recorded: whoever asks has seen to gradients."""


class _Overrides:
    """Whether anybody put kernels in the place of operators' own."""

    exist = False


overrides: Final = _Overrides()


def has_special(values: Sequence[Any], depth: int = 3, *, but_on_devices: bool = False) -> bool:
    """Whether there is a tensor among values, or in lists of them (which may hold themselves), on which operators run
    otherwise; `but_on_devices` leaves those aside that do only because they are on a device."""
    for value in values:
        if type(value) in (list, tuple):
            if depth and has_special(value, depth - 1, but_on_devices=but_on_devices):
                return True
        elif goes_below(type(value)) and not (but_on_devices and is_only_on_device(type(value))):
            return True
    return False


def is_only_on_device(cls: type) -> bool:
    """Whether tensors of a class differ from others in nothing but that they are on a device."""
    return getattr(cls, "_is_on_device", False) and not overrides_dispatch(cls)


ON_DEVICES: Final[list[Callable[[OpDef, Sequence[Any]], Any]]] = []
"""What runs calls of tensors that are plain ones on devices, if there is anybody, or gives NotImplemented."""
UNRECORDED: Final = Interceptors(excluded=frozenset({AUTOGRAD}))
"""What stands before calls that kernels make while the tape records their own, where nobody else does."""


def is_plain_on_device(cls: type) -> bool:
    """Whether nobody has to be asked about tensors of a class on a device: it is made for plain ones there."""
    return "_is_plain_on_device" in cls.__dict__


def _are_plain_on_device(values: Sequence[Any]) -> bool:
    """Whether there are tensors among values, and in lists, and all are plain ones on devices."""
    is_any = False
    for value in values:
        if isinstance(value, Tensor):
            if not is_plain_on_device(type(value)):
                return False
            is_any = True
        elif type(value) in (list, tuple) and value and not isinstance(value[0], int):
            if not _are_plain_on_device(value):
                return False
            is_any = True
    return is_any


@contextmanager
def _unrecorded() -> Iterator[None]:
    before = thread.handlers
    with watchers.one_more():
        thread.handlers = UNRECORDED
        try:
            yield
        finally:
            thread.handlers = before


_redirected: dict[OpDef, OpDef] = {}


class Redirected:
    """The kernel of an operator that asks modes and subclasses first."""

    __slots__ = ("definition",)

    def __init__(self, definition: OpDef) -> None:
        self.definition = definition

    @property
    def is_spelling(self) -> bool:
        """Whether the operator is nothing but a spelling of others."""
        return is_spelling(self.definition)

    def __call__(self, *arguments: Any) -> Any:
        definition, here = self.definition, thread.handlers
        if overrides.exist or not (not here or here is UNRECORDED):
            return run(definition, arguments)
        quick = QUICK.get(id(definition))
        result = NotImplemented if quick is None else quick(arguments)
        if result is NotImplemented and ON_DEVICES and _are_plain_on_device(arguments) and not is_spelling(definition):
            if here or not (mode.enabled and recorder.is_asked(arguments)):
                result = ON_DEVICES[0](definition, arguments)
            else:
                with _unrecorded():
                    result = ON_DEVICES[0](definition, arguments)
        return run(definition, arguments) if result is NotImplemented else result


def forget(definition: OpDef) -> None:
    """How an operator runs has changed, or it is gone."""
    QUICK.pop(id(definition), None)
    other = _redirected.pop(definition, None)
    for one in (definition, other):
        if one is not None:
            recorder.forget(one)


def redirected(definition: OpDef) -> OpDef:
    """The declaration with a kernel that asks modes and subclasses first."""
    other = _redirected.get(definition)
    if other is None:

        other = _redirected[definition] = replace(definition, kernel=Redirected(definition))
    return other


_rules: Final[dict[tuple[str, type], Callable[..., Any]]] = {}
"""What classes of modes and of tensors do for an operator of that full name, if it is not what they do for all."""


def add_rule(full_name: str, cls: type, rule: Callable[..., Any]) -> None:
    """Have a class of modes, or of tensors, do something else for one operator. Raises TypeError for another class."""
    if not hasattr(cls, DISPATCH):
        raise TypeError(NO_RULE.format(cls=cls))
    _rules[full_name, cls] = rule


def _rule(definition: OpDef, cls: type) -> Callable[..., Any] | None:
    return next((_rules[definition.full_name, c] for c in cls.__mro__ if (definition.full_name, c) in _rules), None)


def run(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Run an operator below the recording of gradients. Its parts run by themselves if it is a spelling of others."""
    if is_spelling(definition):
        return definition.kernel(*arguments)
    here = stack()
    excluded = here.excluded | {AUTOGRAD}
    asked = _asked(arguments)
    if here.modes:
        seen = _as_seen(definition)
        func, args, kwargs = presented(seen, list(map(_number, arguments)))
        mode = here.modes[-1]
        with changed(functions=(), handlers=(), modes=here.modes[:-1], excluded=excluded):
            types, rule = tuple(map(type, asked)), _rules and _rule(seen, type(mode))
            ask = functools.partial(rule, mode) if rule else mode.__flambeau_dispatch__
            result = ask(func, types, args, kwargs)
        if result is not NotImplemented:
            return unwrapped_results(definition, result)
    if asked:
        return unwrapped_results(definition, _by_classes(definition, arguments, asked, here, excluded))
    with changed(functions=(), handlers=(), modes=(), excluded=excluded):
        for kernel in reversed(KERNELS):
            result = kernel(definition, arguments)
            if result is not NotImplemented:
                return result
        return definition.kernel(*arguments)


def _by_classes(
    definition: OpDef, arguments: Sequence[Any], asked: Sequence[Any], here: Interceptors, excluded: frozenset[str]
) -> Any:
    definition = _as_seen(definition)
    func, args, kwargs = presented(definition, list(map(_number, arguments)))
    types = tuple(map(type, asked))
    with changed(functions=(), handlers=(), modes=(), excluded=excluded):
        for value in asked:
            rule = _rules and _rule(definition, type(value))
            result = (rule or getattr(type(value), DISPATCH))(func, types, args, kwargs)
            if result is not NotImplemented:
                return result
    lines = [f"  - mode object {m!r}" for m in here.modes[-1:]] + [f"  - tensor subclass {t}" for t in types]
    raise TypeError(ALL_REFUSED.format(name=func, asked="\n".join(lines)))


def _asked(values: Sequence[Any]) -> list[Any]:
    """The tensors, one of each class, whose classes are asked in place of kernels; subclasses before their bases."""
    chosen: list[Any] = []
    for value in values:
        for one in value if type(value) in (list, tuple) else (value,):
            cls = type(one)
            if overrides_dispatch(cls) and cls not in map(type, chosen):
                position = next((i for i, other in enumerate(chosen) if issubclass(cls, type(other))), len(chosen))
                chosen.insert(position, one)
    return chosen


def presented(definition: OpDef, arguments: Sequence[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A call as modes get it: the overload, arguments by position and by name, without those that are defaults."""
    schema = definition.schema
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    keep = 0
    for formal, value in zip(schema.arguments, arguments, strict=False):
        is_default = formal.has_default and _is_same(value, formal.default)
        if not formal.kwarg_only:
            args.append(value)
            keep = keep if is_default else len(args)
        elif not is_default:
            kwargs[formal.name] = value
    return OVERLOAD.implementation(definition), (*args[:keep], *arguments[len(schema.arguments) :]), kwargs


def _as_seen(definition: OpDef) -> OpDef:
    """The overload that modes and classes see: with a number as an operand, the one that takes a tensor there."""
    if not definition.traits.number_is_operand:
        return definition
    wanted = definition.schema.overload.replace("Scalar", "Tensor")
    return next((d for d in registry.overloads(definition.name) if d.schema.overload == wanted), definition)


def _number(value: Any) -> Any:
    """The number that a tensor stands for, if it does."""
    return value.item() if isinstance(value, Tensor) and value.is_wrapped_number else value


def _is_same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and isinstance(value, bool | int | float | str | list) and value == default


def unwrapped_results(definition: OpDef, result: Any) -> Any:
    """What a mode returned, as kernels give it: several results in a tuple, lists of tensors in a list."""
    if len(definition.schema.returns) == 1 and isinstance(result, tuple):
        return list(result)
    return tuple(result) if isinstance(result, tuple | list) and len(definition.schema.returns) > 1 else result
