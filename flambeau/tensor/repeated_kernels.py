"""Kernels that run in Python, until calls like one were made often: then these have native code of their own.

Calls are alike if their tensors have the same dtypes, sizes and strides, and everything else is equal. A function that
is written for the parameters of each overload looks them up; who makes the code is told of calls that come often:
`REPEATED_CALL`. What it gives has the kernel's own bits, so that it makes no difference from which call on it runs.

>>> from flambeau.schema import registry
>>> print(repeated(registry.get("aten::flip")).__doc__)
def call(a0, a1):
    if is_off:
        return run(a0, a1)
    try:
        x0 = a0._array
        key = (x0.dtype, x0.shape, x0.strides, tuple(a1) if type(a1) is list else a1,)
        native = find(key)
    except (AttributeError, TypeError):
        return run(a0, a1)
    if native is None:
        return count(key, (a0, a1))
    if native.__class__ is list:
        native[0] -= 1
        return native[1](a0, a1) if native[0] > 0 else ask(key, native, (a0, a1))
    try:
        result = native(a0)
    except Exception:
        return run(a0, a1)
    return run(a0, a1) if result is MISSED else result
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.types import (
    BoolType,
    ComplexType,
    DeviceType,
    FloatType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    Type,
)
from flambeau.tensor.defaults import when_changed
from flambeau.tensor.remembered_views import is_window, window_of
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import REPEATED_CALL
from flambeau.util.missed import MISSED, UNDECIDED, missed
from flambeau.util.native_type import NativeBase

LOOKED_AT: Final = 512
"""Calls from which on each so many are told to who makes native code."""
SOON: Final = 8
"""Calls after which who has begun to look is asked again."""
MOST_KEYS: Final = 64
"""Kinds of calls of one operator that are counted at a time."""
MOST_NATIVE: Final = 64
"""Kinds of calls of one operator that are looked for."""
REFUSALS: Final = 4
"""Kinds of calls after which no more are looked for, if none of them has native code."""
FEW: Final = 3
"""Calls of a kind from which on a shorter way is looked for."""
NEVER: Final = 1 << 62
"""More calls than there are."""
Run = Callable[..., Any]
Shorter = Callable[[tuple[Any, ...]], "Run | None"]

_PLAIN: Final = (IntType, BoolType, StringType, DeviceType)
"""Types of arguments that are equal only if they mean the same."""
_NUMBERS: Final = (FloatType, NumberType, ComplexType)
"""Types of numbers, of which 1, 1.0 and True are equal, and so are 0.0 and -0.0."""


def repeated(definition: OpDef) -> Run:
    """The kernel of an overload, with a look at calls that come often; just the kernel of what is not repeated (writes,
    random numbers, lists of views), or looks itself, because native code calls it."""
    kernel: Run = definition.kernel
    looks_itself = isinstance(definition.kernel, NativeBase)
    if looks_itself:
        return kernel
    known = _known.get(definition)
    if known is None:
        known = _known[definition] = with_native(definition, kernel)
    return known


_known: dict[OpDef, Run] = {}
_all: list[Often] = []


class Often:
    """Calls of one kind, by what tells them apart, of which some come often."""

    def __init__(
        self, run: Run, ask: Callable[[Run, tuple[Any, ...], int], Any], shorter: Shorter | None = None
    ) -> None:
        """`run` runs a call; `ask` is asked for native code, with the arguments and how often they came; `shorter`
        gives what runs calls like one as `run` does, with less looking, or None."""
        self.run, self._ask, self._shorter = run, ask, shorter
        self._known = 0
        """Kinds of calls that somebody was asked about for the last time."""
        self.native: dict[Any, Any] = {}
        """What takes the tensors of calls, and gives the result or `MISSED`. For kinds that are counted a list: after
        how many more somebody is asked, what runs them until then, and for which time it is."""
        self.scope: dict[str, Any] = {
            "find": self.native.get, "count": self.count, "ask": self.ask, "run": self.run, "MISSED": MISSED,
            "look": look, "look_at": look_at, "tensors": tensors_of, "missed": missed, "is_off": False,
        }  # fmt: skip
        """What the text of a function refers to that looks calls up; with `is_off` it looks for nothing."""
        _all.append(self)

    def forget(self) -> None:
        """What was made does not hold any more."""
        self.native.clear()
        self._known = 0
        self.scope["is_off"] = False

    @property
    def found(self) -> list[Run]:
        """What somebody said of kinds of calls: native code, or `missed`."""
        return [one for one in list(self.native.values()) if type(one) is not list]

    def count(self, key: Any, arguments: tuple[Any, ...]) -> Any:
        """Run a call of a kind that is not known, and count those like it from now on."""
        result = self.run(*arguments)
        if self._known < MOST_NATIVE:
            if len(self.native) - self._known >= MOST_KEYS:
                self._forget_counts()
            self.native[key] = [LOOKED_AT - 1, self.run, 1] if self._shorter is None else [FEW - 1, self.run, 0]
        return result

    def ask(self, key: Any, counted: list[Any], arguments: tuple[Any, ...]) -> Any:
        """Run a call like ones that came often, and ask for something that runs them."""
        _, run, asked = counted
        result = run(*arguments)
        if not asked and self._shorter is not None:
            counted[:] = LOOKED_AT - FEW, self._shorter(arguments) or run, 1
            return result
        counted[0], counted[2] = LOOKED_AT, asked + 1
        native = self._ask(run, arguments, LOOKED_AT * asked)
        if native is UNDECIDED:
            counted[0], counted[2] = SOON, asked
        elif native is not None:
            self._note(key, native, run)
        return result

    def _forget_counts(self) -> None:
        for key in [key for key, one in list(self.native.items()) if type(one) is list]:
            self.native.pop(key, None)

    def _note(self, key: Any, native: Any, run: Run) -> None:
        """Have calls of a kind run natively, or not; all are run as before once several have been refused and none
        taken, or `native` is NotImplemented. What has a shorter way keeps to it."""
        is_refused = native is MISSED or native is NotImplemented
        if is_refused and run is not self.run:
            self.native[key] = [NEVER, run, 0]
            return
        self.native[key] = missed if is_refused else native
        self._known += 1
        known = self.found
        are_refused = len(known) >= REFUSALS and all(one is missed for one in known)
        self.scope["is_off"] = native is NotImplemented or are_refused


def with_native(definition: OpDef, run: Run, shorter: Shorter | None = None) -> Run:
    """The same for `run`, which runs calls of the overload; `shorter`: see `Often`."""
    shows, converts = is_window(definition), definition.traits.stays is not None
    if not shows and not may_be_repeated(definition):
        return run

    def ask(run: Run, arguments: tuple[Any, ...], count: int) -> Any:
        if shows:
            return window_of(run, arguments)
        if converts and run(*arguments) is arguments[0]:
            return MISSED
        return REPEATED_CALL.implementation(definition, run, arguments, count)

    text, names = _text(definition), Often(run, ask, shorter).scope
    filename = f"{__file__}, calls of {definition.full_name}"  # which is none of a user's: see `warn_user`
    names["__name__"] = __name__
    exec(compile(text, filename, "exec"), names)
    call: Run = names["call"]
    call.__doc__ = text
    return call


def may_be_repeated(definition: OpDef) -> bool:
    """Whether an overload gives new tensors that depend on nothing but its arguments, whose types are usual ones, and
    are the same however they are computed: those of searches are not, where what should be in order is not.
    """
    schema = definition.schema
    is_pure = definition.effect is Effect.NONE and not schema.is_mutable and not definition.is_about_tensor
    is_pure = is_pure and not definition.traits.needs_order
    converts = definition.traits.stays is not None  # calls that give their operand itself do not come here
    aliases = () if converts else [one.alias for one in (*schema.arguments, *schema.returns)]
    shows = definition.family == "view" and not converts
    if not is_pure or any(aliases) or shows or definition.family in ("custom", "quantized"):
        return False
    types = [a.type for a in schema.arguments]
    return bool(types) and all(map(_is_usual, types))


def _inner(type_: Type) -> Type:
    return type_.element if isinstance(type_, OptionalType) else type_


def _has_tensors(type_: Type) -> bool:
    return any(isinstance(part, TensorType) for part in type_.walk())


def _is_usual(type_: Type) -> bool:
    inner = _inner(type_)
    if isinstance(inner, ListType):
        return isinstance(_inner(inner.element), (TensorType, *_PLAIN, *_NUMBERS))
    return isinstance(inner, (TensorType, *_PLAIN, *_NUMBERS))


def _text(definition: OpDef) -> str:
    """The function that looks for what runs a call."""
    lines: list[str] = []
    parts: list[str] = []
    tensors: list[str] = []
    names = []
    for number, argument in enumerate(definition.schema.arguments):
        name = f"a{number}"
        names.append(name)
        if isinstance(argument.type, TensorType):
            lines.append(f"x{number} = {name}._array")
            parts.append(f"x{number}.dtype, x{number}.shape, x{number}.strides")
            tensors.append(name)
        elif _is_of_tensors(argument.type):
            lines += _LISTED.format(name=name, number=number).splitlines()
            parts.append(f"x{number}")
            tensors.append(f"*{name}")
        else:
            parts.append(_part(name, argument.type))
            if _has_tensors(argument.type):
                tensors.append(f"*{_given(name, argument.type)}")
    parameters = ", ".join(names)
    listed = parameters if len(names) > 1 else f"{parameters},"
    return "\n".join(
        [
            f"def call({parameters}):", "    if is_off:", f"        return run({parameters})",
            "    try:", *[f"        {line}" for line in lines],
            f"        key = ({', '.join(parts)},)",
            "        native = find(key)",
            "    except (AttributeError, TypeError):", f"        return run({parameters})",
            "    if native is None:", f"        return count(key, ({listed}))",
            "    if native.__class__ is list:", "        native[0] -= 1",
            f"        return native[1]({parameters}) if native[0] > 0 else ask(key, native, ({listed}))",
            "    try:", f"        result = native({', '.join(tensors)})",
            "    except Exception:", f"        return run({parameters})",
            f"    return run({parameters}) if result is MISSED else result",
        ]
    )  # fmt: skip


_LISTED: Final = """\
if len({name}) == 2:
    one, other = {name}
    x, y = one._array, other._array
    x{number} = (x.dtype, x.shape, x.strides, y.dtype, y.shape, y.strides)
else:
    x{number} = (*map(look, {name}),)"""
"""The lines for what of a list of tensors tells calls apart: of two, which are the most, without a call."""


def _part(name: str, type_: Type) -> str:
    """The text for what of an argument that is no tensor tells calls apart."""
    inner = _inner(type_)
    if isinstance(inner, TensorType):
        return f"None if {name} is None else look({name})"
    if _has_tensors(inner):
        return f"look_at({name})"
    if isinstance(inner, ListType):
        is_plain = isinstance(_inner(inner.element), _PLAIN)
        return f"tuple({name}) if type({name}) is list else {name}" if is_plain else f"repr({name})"
    return name if isinstance(inner, _PLAIN) else f"{name}.__class__, {name} or repr({name})"


def _given(name: str, type_: Type) -> str:
    """The text for the tensors in an argument that is none, or may be none."""
    if isinstance(_inner(type_), TensorType):
        return f"(() if {name} is None else ({name},))"
    return f"tensors(({name},))"


def _is_of_tensors(type_: Type) -> bool:
    return isinstance(type_, ListType) and isinstance(type_.element, TensorType)


look: Final = attrgetter("_array.dtype", "_array.shape", "_array.strides")
"""What of a tensor tells calls apart."""


def look_at(value: Any) -> Any:
    """The same of a list of tensors that may be None."""
    if isinstance(value, list | tuple):
        return tuple([look_at(one) for one in value])
    return None if value is None else look(value)


def tensors_of(arguments: Sequence[Any]) -> list[Any]:
    """The tensors among arguments, those of lists too, in their order."""
    tensors: list[Any] = []
    for value in arguments:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif type(value) in (list, tuple):
            tensors += [one for one in value if isinstance(one, Tensor)]
    return tensors


def _forget_all() -> None:
    for one in list(_all):
        one.forget()


when_changed(_forget_all)
