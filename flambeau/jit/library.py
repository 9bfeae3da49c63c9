"""Operators from Python: functions that programs call without looking inside, by a name and schema of their own."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.frontend.scopes.type_annotations import try_type_of
from flambeau.interpreter.conform import conforms, kind_of
from flambeau.jit.operator_library import DispatchKeySet, Library, exclude_keys, include_keys
from flambeau.jit.operator_registration import (
    define,
    give_methods,
    impl,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from flambeau.schema import registry
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.types import (
    BoolType,
    ComplexType,
    DeviceType,
    FloatType,
    GeneratorType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor

__all__ = [
    "DispatchKeySet",
    "Library",
    "custom_op",
    "define",
    "exclude_keys",
    "impl",
    "include_keys",
    "infer_schema",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
Function = Callable[..., Any]
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")
_SIMPLE = (
    TensorType, IntType, FloatType, BoolType, ComplexType, StringType, NoneType, NumberType, DeviceType, GeneratorType,
)  # fmt: skip
_OWN = ("aten", "prim", "python")
EXAMPLE = "for example custom_op('mylib::blur')"


def custom_op(
    name: str, fn: Function | None = None, *, mutates_args: Sequence[str] = (), has_effects: bool = False
) -> Any:
    """Make an operator of a Python function: `@custom_op("mylib::blur")`.

    The schema is what the annotations say: tensors, numbers, bools, texts, lists and optional values of these; or it is
    given, as in `custom_op("mylib::blur(Tensor x, float by=1.0) -> Tensor")`. In programs the operator is one node,
    `mylib::blur`, and Python runs the function; native code goes on around it.
    `mutates_args` names the tensors that it writes. Unless `has_effects`, a call whose result nobody uses is left out,
    and equal calls are made once. Results must be new tensors: none that shares memory with an argument.

    The operator is what is returned, and `flambeau.ops.mylib.blur`; `blur.register_autograd`, `blur.register_fake` and
    `blur.register_kernel` say more of it. Raises ValueError for a name that is taken or has
    no namespace of its own, and TypeError for annotations that no schema has.

    >>> from flambeau import Tensor, ones
    >>> @custom_op("doc_example::halved")
    ... def halved(x: Tensor, times: int = 1) -> Tensor:
    ...     return x * 0.5 ** times
    >>> halved(ones(2), times=2)
    tensor([0.2500, 0.2500])
    """
    if fn is None:
        return functools.partial(custom_op, name, mutates_args=mutates_args, has_effects=has_effects)
    declared = parse_schema(name) if "(" in name else None
    name = name if declared is None else declared.name
    if not _NAME.fullmatch(name):
        raise ValueError(f"an operator's name has a namespace, {EXAMPLE}; got {name!r}")
    if name.partition("::")[0] in _OWN:
        raise ValueError(f"the namespace '{name.partition('::')[0]}' belongs to the package: choose another one")
    if registry.overloads(name):
        raise ValueError(f"there is an operator {name} already: choose another name or namespace")
    schema = declared or infer_schema(name, fn, mutates_args)
    kernel = _Kernel(fn, schema)
    effect = Effect.WORLD if has_effects else Effect.NONE
    doc = (inspect.getdoc(fn) or "").partition("\n\n")[0].replace("\n", " ")
    registry.register(
        OpDef(schema=schema, family="custom", kernel=kernel, doc=doc, effect=effect, is_method=False, is_function=False)
    )
    operator = dispatch.function(name, name.rpartition("::")[2])
    operator.__wrapped__ = fn  # type: ignore[attr-defined]
    give_methods(operator, name)
    return operator


def infer_schema(name: str, fn: Function, mutates_args: Sequence[str] = ()) -> FunctionSchema:
    """The schema that a function's annotations say. Raises TypeError for what no schema has.

    >>> from flambeau import Tensor
    >>> def scaled(x: Tensor, by: float = 2.0) -> Tensor:
    ...     return x * by
    >>> print(infer_schema('mine::scaled', scaled))
    mine::scaled(Tensor x, float by=2.0) -> Tensor
    """
    signature, hints = inspect.signature(fn), typing.get_type_hints(fn)
    unknown = [m for m in mutates_args if m not in signature.parameters]
    if unknown:
        raise TypeError(f"{name}: mutates_args names {unknown[0]!r}, which is no parameter of {fn.__name__}")
    parts, starred = [], False
    for k, parameter in enumerate(signature.parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{name}: parameter {parameter} takes any number of arguments; an operator's are counted")
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(_argument(name, parameter, hints, chr(ord("a") + k) if parameter.name in mutates_args else ""))
    if "return" not in hints:
        raise TypeError(f"{name}: {fn.__name__} does not say what it returns: annotate it, with None for nothing")
    return parse_schema(f"{name}({', '.join(parts)}) -> {_results(name, hints['return'])}")


def _argument(name: str, parameter: inspect.Parameter, hints: dict[str, Any], letter: str) -> str:
    if parameter.name not in hints:
        raise TypeError(f"{name}: parameter {parameter.name!r} has no annotation; write {parameter.name}: Tensor")
    type_ = _type(f"{name}: parameter {parameter.name!r}", hints[parameter.name])
    if letter and not isinstance(type_, TensorType):
        raise TypeError(f"{name}: mutates_args names {parameter.name!r}, which is a {type_.annotation} and no tensor")
    text = f"Tensor({letter}!)" if letter else str(type_)
    default = parameter.default
    if default is parameter.empty:
        return f"{text} {parameter.name}"
    if not isinstance(default, bool | int | float | str | None):
        what = f"{name}: the default of {parameter.name!r}"
        raise TypeError(f"{what} is {default!r}; a number, a text or None can be one")
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"{text} {parameter.name}={shown}"


def _results(name: str, hint: Any) -> str:
    type_ = _type(f"{name}: the result", hint)
    if isinstance(type_, NoneType):
        return "()"
    return f"({', '.join(map(str, type_.elements))})" if isinstance(type_, TupleType) else str(type_)


def _type(what: str, hint: Any) -> Type:
    type_ = try_type_of(hint, None, None)
    if type_ is None or not _has_schema(type_):
        shown = getattr(hint, "__name__", str(hint))
        raise TypeError(f"{what} is annotated {shown}; operators take tensors, numbers, texts, and lists of these")
    return type_


def _has_schema(type_: Type) -> bool:
    if isinstance(type_, OptionalType | ListType):
        return _has_schema(type_.element)
    if isinstance(type_, TupleType):
        return type_.name is None and all(map(_has_schema, type_.elements))
    return isinstance(type_, _SIMPLE)


class _Kernel:
    """The function as the operator runs it: what it gives back is looked at."""

    def __init__(self, fn: Function, schema: FunctionSchema) -> None:
        self.fn = fn
        self.schema = schema
        self.types = [r.type for r in schema.returns]
        self.keywords = [a.name for a in schema.arguments if a.kwarg_only]

    def __call__(self, *arguments: Any) -> Any:
        count = len(arguments) - len(self.keywords)
        named = dict(zip(self.keywords, arguments[count:], strict=True))
        result = self.fn(*arguments[:count], **named)
        results = result if len(self.types) > 1 else (result,)
        if not self.types:
            results = ()
        if not isinstance(results, tuple) or len(results) != len(self.types):
            got = kind_of(result)
            raise TypeError(f"{self.schema.name} was declared to return {len(self.types)} values, got {got}")
        memory = {t._storage.identity for a in arguments for t in _tensors(a)}
        for value, type_ in zip(results, self.types, strict=True):
            if not conforms(value, type_):
                wanted = type_.annotation
                raise TypeError(f"{self.schema.name} was declared to return {wanted} but returned {kind_of(value)}")
            if any(t._storage.identity in memory for t in _tensors(value)):
                raise RuntimeError(
                    f"{self.schema.name} returned a tensor that shares memory with an argument: return a new one, such "
                    "as result.clone()"
                )
        return result if self.types else None


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, list | tuple):
        return [t for item in value for t in _tensors(item)]
    return [value] if isinstance(value, Tensor) else []
