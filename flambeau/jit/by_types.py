"""Scripted functions whose parameters have no annotations, called with more than tensors: compiled for the types that a
call brings.

def loss(p, x): return (x @ p["w"] + p["b"]).sum()      loss({"w": ..., "b": ...}, x)    →    p : dict[str, Tensor]

Without an annotation a parameter is a Tensor. A call that brings tensors and, where nothing is annotated, containers of
them, numbers or texts, has a meaning all the same: that of the function with these types written out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from flambeau.executor.executor import attach
from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.closures.template import Template, fitting_defaults
from flambeau.frontend.source.python_source import innermost_function, parameter_defaults
from flambeau.jit.compiling import compiling, tidy
from flambeau.jit.infer import NoTypeError, shared_type
from flambeau.jit.unannotated import unannotated_parameters
from flambeau.jit.variants import Variants, kind_text
from flambeau.program.function import Function
from flambeau.schema.types import Type
from flambeau.specialise.cache import SpecialisationCache, differences
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import CompileError
from flambeau.util.trees import REGISTERED

MOST: Final = 16
"""Combinations of types for which code of a function is kept."""
KINDS: Final = "types of its arguments"
NO_TYPE: Final = (
    "what a call of {function} brings for '{name}' has no type in programs: {reason}; a NamedTuple, or several "
    "arguments, hold values of different types"
)
_SIMPLE: Final = frozenset((bool, int, float, complex, str, type(None)))


class OtherArgumentsError(Exception):
    """Arguments of which no program says anything, or that do not fit the parameters."""


class ByTypes:
    """The functions that one stands for, by the types of calls."""

    def __init__(self, fn: Any, template: Callable[[], Template], script: Callable[[Function], Any]) -> None:
        """`template` gives its tree, to be compiled for a call; `script` makes what runs a function."""
        inner = innermost_function(fn)
        code = inner.__code__
        self._python, self._template, self._script = inner, template, script
        defaults = parameter_defaults(fn)
        self._open = frozenset([name for name in unannotated_parameters(fn) if defaults.get(name) is None])
        """Parameters of which nothing says a type: not even a default."""
        self._absent = [name for name, value in defaults.items() if name in self._open and value is None]
        self._places = code.co_varnames[: code.co_argcount]
        self._names = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        self._scripts: Variants[Hashable, Any] = Variants(inner.__name__, "types", KINDS, MOST, _compare)

    @property
    def scripts(self) -> list[Any]:
        """What was compiled."""
        return list(self._scripts.values)

    def of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What runs calls with arguments like these; None where they bring tensors alone, none, or what has no type.

        Raises CompileError for what the program does not mean with them.
        """
        passed = dict(zip(self._places, args, strict=False)) | dict(kwargs)
        values = {name: None for name in self._absent if name not in passed}
        values |= {name: value for name, value in passed.items() if name in self._open}
        if all(isinstance(value, Tensor) for value in values.values()) or not self._names.issuperset(passed):
            return None
        try:
            key = tuple([(name, _kind(values[name])) for name in sorted(values)])
        except (OtherArgumentsError, RecursionError):  # a list that contains itself has no type
            return None
        if not any(map(_has_tensors, passed.values())):
            return None
        return self._scripts.called(key, lambda cause: self._new(values, cause))

    def _new(self, values: Mapping[str, Any], cause: str) -> Any:
        """What runs calls with such arguments."""
        types = {n: self._type(n, value) for n, value in values.items() if not isinstance(value, Tensor)}
        script = self._script(self._compiled(types))
        script._executor.begin_because(cause)
        return script

    def _type(self, name: str, value: Any) -> Type:
        try:
            return shared_type(value, self._template().resolver)
        except NoTypeError as error:
            text = NO_TYPE.format(name=name, function=self._python.__name__, reason=error)
            raise CompileError(text, self._template().tree.range) from None

    def _compiled(self, types: dict[str, Type]) -> Function:
        template = self._template()
        bound = Bound(types=types)
        with compiling((self._python, tuple(types.items())), self._python.__name__, None):
            defaults = fitting_defaults(template, bound)
            function = template.compile(template.tree, template.resolver, defaults=defaults, bound=bound)
        tidy(function)
        attach(function)
        return function


class ByTypesOfTransform:
    """A transform of what a function stands for, by the types of calls."""

    def __init__(self, inner: Any, transform: Callable[[Any], Any]) -> None:
        """`inner` is a ByTypes, or one of these; `transform` makes one of what that gives."""
        self._inner, self._transform = inner, transform
        self._known: SpecialisationCache[Any, Any] = SpecialisationCache(
            "transforms of a function by types", MOST, describe=lambda script: str(script.__name__)
        )
        """The transforms, by what they are of: no more than there are combinations of types."""

    @property
    def scripts(self) -> list[Any]:
        """What was compiled."""
        return list(self._known.values)

    def of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """As of the function itself."""
        script = self._inner.of(args, kwargs)
        if script is None:
            return None
        known = self._known.get_recent(script)
        return self._known.get_or_make(script, lambda cause: self._transform(script)) if known is None else known


def _compare(key: Any, other: Any) -> str:
    """What is new about a call."""
    return differences([kind for _, kind in key], [kind for _, kind in other], [name for name, _ in key], kind_text)


def _kind(value: Any) -> Hashable:
    """What decides which type a value has. Raises OtherArgumentsError."""
    kind: Any = type(value)
    key: Hashable = kind
    if isinstance(value, Tensor):
        key = Tensor
    elif kind is dict:
        key = (dict, frozenset(map(type, value)), frozenset(map(_kind, value.values())))
    elif kind is list:
        classes = frozenset(map(type, value))
        key = (list, classes if classes <= _SIMPLE else frozenset(map(_kind, value)))
    elif isinstance(value, tuple):
        key = (kind, tuple(map(_kind, value)))
    elif kind not in _SIMPLE and not _is_registered(kind):
        raise OtherArgumentsError
    return key


def _is_registered(kind: Any) -> bool:
    """Whether a class is a registered dataclass, whose annotations are its type."""
    return kind in REGISTERED and hasattr(kind, "__dataclass_fields__")


def _has_tensors(value: Any) -> bool:
    """Whether a value is a tensor, or has some in it."""
    if isinstance(value, dict):
        return any(map(_has_tensors, value.values()))
    if _is_registered(type(value)):
        return any(map(_has_tensors, REGISTERED[type(value)].opened(value)[0]))
    if isinstance(value, list | tuple):
        return not _SIMPLE.issuperset(map(type, value)) and any(map(_has_tensors, value))
    return isinstance(value, Tensor)
