"""Operators from Python: functions that programs call without looking inside, by a name and schema of their own."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from flambeau.interpreter.conform import conforms, kind_of
from flambeau.jit.inferred_schema import infer_schema
from flambeau.jit.operator_checks import opcheck
from flambeau.jit.operator_library import DispatchKeySet, Library, exclude_keys, fallthrough_kernel, include_keys
from flambeau.jit.operator_registration import _scoped_library as _scoped_library
from flambeau.jit.operator_registration import (
    define,
    get_ctx,
    give_methods,
    impl,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    triton_op,
    wrap_triton,
)
from flambeau.schema import registry
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.tags import declare_tags
from flambeau.tensor import dispatch
from flambeau.tensor.kernels import NO_KERNEL, key_of, table
from flambeau.tensor.tensor import Tensor

__all__ = [
    "DispatchKeySet",
    "Library",
    "custom_op",
    "define",
    "exclude_keys",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "include_keys",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]
Function = Callable[..., Any]
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")
_OWN = ("aten", "prim", "python")
EXAMPLE = "for example custom_op('mylib::blur')"


def custom_op(
    name: str, fn: Function | None = None, /, *, mutates_args: Iterable[str] | str = (), has_effects: bool = False,
    device_types: str | Sequence[str] | None = None, schema: str | None = None, tags: Any = (),
) -> Any:  # fmt: skip
    """Make an operator of a Python function: `@custom_op("mylib::blur")`.

    The schema is what the annotations say: tensors, numbers, bools, texts, lists and optional values of these; or it is
    given, as in `custom_op("mylib::blur", schema="(Tensor x, float by=1.0) -> Tensor")`. In programs the operator is
    one node, `mylib::blur`, and Python runs the function; native code goes on around it.
    Unless `has_effects`, a call whose result nobody uses is left out, and equal calls are made once. Results must be
    new tensors: none that shares memory with an argument.

    The operator is what is returned, and `flambeau.ops.mylib.blur`; `blur.register_autograd`, `blur.register_fake` and
    `blur.register_kernel` say more of it.

    Args:
        name: the operator's name, with its namespace; the schema may stand behind it.
        fn: the function; a decorator without.
        mutates_args: the names of the tensors that it writes; `"unknown"` for any of them.
        has_effects: whether it does more than give results and write arguments.
        device_types: the kinds of devices that the function is for; all if None.
        schema: arguments and results, if the annotations do not say them.
        tags: what the overload's `tags` say.

    Raises ValueError for a name that is taken or has no namespace of its own, and for annotations that no schema has.

    >>> from flambeau import Tensor, ones
    >>> @custom_op("doc_example::halved")
    ... def halved(x: Tensor, times: int = 1) -> Tensor:
    ...     return x * 0.5 ** times
    >>> halved(ones(2), times=2)
    tensor([0.2500, 0.2500])
    """
    if fn is None:
        return functools.partial(
            custom_op, name, mutates_args=mutates_args, has_effects=has_effects, device_types=device_types,
            schema=schema, tags=tags,
        )  # fmt: skip
    declared = parse_schema(name) if "(" in name else None
    name = name if declared is None else declared.name
    _check_name(name)
    if declared is None:
        declared = parse_schema(f"{name}{schema or infer_schema(fn, mutates_args=mutates_args)}")
    own = _Kernel(fn, declared)
    effect = Effect.WORLD if has_effects else Effect.NONE
    doc = (inspect.getdoc(fn) or "").partition("\n\n")[0].replace("\n", " ")
    registry.register(
        OpDef(
            schema=declared, family="custom", kernel=own if device_types is None else _Elsewhere(declared), doc=doc,
            effect=effect, is_method=False, is_function=False,
        )
    )  # fmt: skip
    declare_tags(declared.full_name, tags)
    operator = dispatch.function(name, name.rpartition("::")[2])
    operator.__wrapped__ = fn  # type: ignore[attr-defined]
    give_methods(operator, name)
    if device_types is not None:
        kinds = (device_types,) if isinstance(device_types, str) else device_types
        register_kernel(name, list(kinds), own.called)
    return operator


def _check_name(name: str) -> None:
    """Raise ValueError for a name without a namespace of its own, and for one that is taken."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"an operator's name has a namespace, {EXAMPLE}; got {name!r}")
    if name.partition("::")[0] in _OWN:
        raise ValueError(f"the namespace '{name.partition('::')[0]}' belongs to the package: choose another one")
    if registry.overloads(name):
        raise ValueError(f"there is an operator {name} already: choose another name or namespace")


class _Elsewhere:
    """What runs an operator on tensors for which it has no kernel: an error that says so."""

    def __init__(self, schema: FunctionSchema) -> None:
        self.schema = schema

    def __call__(self, *arguments: Any) -> NoReturn:
        key, name = key_of(arguments), self.schema.full_name
        raise NotImplementedError(NO_KERNEL.format(name=name, key=key, known=", ".join(table.kernels.get(name, ()))))


class _Kernel:
    """The function as the operator runs it: what it gives back is looked at."""

    def __init__(self, fn: Function, schema: FunctionSchema) -> None:
        self.fn = fn
        self.schema = schema
        self.types = [r.type for r in schema.returns]
        self.names = [a.name for a in schema.arguments]
        self.keywords = [a.name for a in schema.arguments if a.kwarg_only]

    def called(self, *args: Any, **kwargs: Any) -> Any:
        """Run it by a call as users write it."""
        defaults = {a.name: a.default for a in self.schema.arguments if a.has_default}
        bound = {**defaults, **dict(zip(self.names, args, strict=False)), **kwargs}
        return self(*(bound[name] for name in self.names))

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
