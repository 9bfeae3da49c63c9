"""Arguments of calls by their names: how a function of the package, a function in Python or a module takes them.

>>> import flambeau
>>> normalize_function(flambeau.relu, (flambeau.ones(2),), normalize_to_only_use_kwargs=True).kwargs
{'input': tensor([1., 1.])}
"""

from __future__ import annotations

import inspect
import numbers
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Union, get_args, get_origin

from flambeau.nn.module import Module
from flambeau.schema import registry
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import (
    AnyType,
    BoolType,
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
from flambeau.tensor.tensor import Tensor

AMBIGUOUS: Final = (
    "Tried to normalize arguments to {name} but the schema match was ambiguous! Please provide argument types to the "
    "normalize_arguments() call. Available schemas:\n{signatures}"
)
MUTABLE: Final = (
    "Tried to trace mutable operation {schema}: this tracer takes functions that write nothing alone. Call the one "
    "without the underscore, or trace without check_mutable_operations"
)
_CLASSES: Final[Mapping[type[Type], Any]] = {
    TensorType: Tensor, IntType: int, FloatType: float, BoolType: bool, StringType: str, NumberType: numbers.Number,
    AnyType: Any, DeviceType: Any,
}  # fmt: skip
_PYTHON_NAMES: Final = {"self": "input", "from": "from_"}
"""What Python calls arguments of schemas."""


class ArgsKwargsPair(NamedTuple):
    """Arguments by position, and by name.

    >>> ArgsKwargsPair((1,), {"dim": 0}).kwargs
    {'dim': 0}
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of a function of the package, one per overload; None for any other function.

    Args:
        op: the function, or an overload of an operator.
        return_schemas: give the schemas too.

    >>> import flambeau
    >>> [list(signature.parameters) for signature in get_signature_for_torch_op(flambeau.relu)]
    [['input']]
    """
    schemas = _schemas(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = [_signature(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


def _schemas(op: Callable[..., Any]) -> list[FunctionSchema]:
    if isinstance(own := getattr(op, "_schema", None), FunctionSchema):
        return [own]
    name = getattr(op, "operator_name", None)
    definitions = registry.overloads(name) if isinstance(name, str) else ()
    schemas = [d.schema for d in definitions if d.schema.concerns_tensors]
    return [schema for schema in schemas if not any(a.is_out for a in schema.arguments)]


def _signature(schema: FunctionSchema) -> inspect.Signature:
    parameters = [
        inspect.Parameter(
            _PYTHON_NAMES.get(a.name, a.name),
            inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=a.default if a.has_default else inspect.Parameter.empty,
            annotation=_class_of(a.type),
        )
        for a in schema.arguments
    ]
    results = [_class_of(one.type) for one in schema.returns]
    returned = results[0] if len(results) == 1 else types.GenericAlias(tuple, tuple(results)) if results else None
    return inspect.Signature(parameters, return_annotation=returned)


def _class_of(type_: Any) -> Any:
    if isinstance(type_, OptionalType):
        return _class_of(type_.element) | None
    if isinstance(type_, ListType):
        element = _class_of(type_.element)
        return Any if element is Any else types.GenericAlias(list, (element,))
    return _CLASSES.get(type(type_), Any)


def normalize_function(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None, kwarg_types: Mapping[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call of a function, with those that have defaults; None where no signature takes them.

    Args:
        target: the function.
        args: arguments by position.
        kwargs: arguments by name.
        arg_types: types of `args`, which choose among overloads.
        kwarg_types: types of `kwargs`.
        normalize_to_only_use_kwargs: give all of them by name.

    Raises RuntimeError where several overloads take them and no types are given.

    >>> import flambeau
    >>> normalize_function(flambeau.nn.functional.relu, ("x",))
    ArgsKwargsPair(args=('x',), kwargs={'inplace': False})
    """
    kwargs = dict(kwargs or {})
    signatures = _own_signature(target) or get_signature_for_torch_op(target) or []
    fitting = [s for s in signatures if _takes(s, args, kwargs)]
    if len(fitting) > 1 and (arg_types is not None or kwarg_types is not None):
        fitting = [s for s in fitting if _takes_types(s, arg_types or (), kwarg_types or {})][:1]
    if len(fitting) > 1:
        shown = "\n".join(map(str, fitting))
        raise RuntimeError(AMBIGUOUS.format(name=getattr(target, "__name__", target), signatures=shown))
    return _by_name(fitting[0], args, kwargs, normalize_to_only_use_kwargs) if fitting else None


def _own_signature(target: Callable[..., Any]) -> list[inspect.Signature]:
    """That of a function written in Python, which names its arguments; none for functions derived from operators."""
    if not inspect.isfunction(target):
        return []
    signature = inspect.signature(target)
    is_derived = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    return [] if is_derived and hasattr(target, "operator_name") else [signature]


def normalize_module(
    root: Module, target: str, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call of a submodule, as its `forward` takes them; None where it does not.

    Args:
        root: the module.
        target: the qualified name of the submodule.
        args: arguments by position.
        kwargs: arguments by name.
        normalize_to_only_use_kwargs: give all of them by name.

    >>> from flambeau import nn
    >>> normalize_module(nn.Sequential(nn.ReLU()), "0", ("x",), normalize_to_only_use_kwargs=True).kwargs
    {'input': 'x'}
    """
    signature = inspect.signature(root.get_submodule(target).forward)
    kwargs = dict(kwargs or {})
    return _by_name(signature, args, kwargs, normalize_to_only_use_kwargs) if _takes(signature, args, kwargs) else None


def _takes(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _takes_types(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    bound = signature.bind_partial(*args, **kwargs).arguments
    return all(_is_of(kind, signature.parameters[name].annotation) for name, kind in bound.items())


def _is_of(kind: Any, wanted: Any) -> bool:
    if wanted is Any or kind is wanted:
        return True
    if wanted is numbers.Number:
        return isinstance(kind, type) and issubclass(kind, int | float | complex)
    options = getattr(wanted, "__args__", ()) if type(wanted).__name__ == "UnionType" else ()
    if options:
        return any(_is_of(kind, option) for option in options)
    return isinstance(kind, type) and isinstance(wanted, type) and issubclass(kind, wanted)


def _by_name(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any], all_by_name: bool
) -> ArgsKwargsPair:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if not all_by_name:
        positional = bound.args[: len(args)]
        first = list(bound.arguments)[: len(args)]
        rest = {name: value for name, value in bound.arguments.items() if name not in first}
        return ArgsKwargsPair(positional, rest)
    return ArgsKwargsPair((), dict(bound.arguments))


def check_for_mutable_operation(target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise RuntimeError if a call of a function of the package writes one of its arguments.

    Args:
        target: what is called.
        args: arguments by position.
        kwargs: arguments by name.

    >>> import flambeau
    >>> check_for_mutable_operation(flambeau.relu, ("x",), {})
    """
    fitting = [schema for schema in _schemas(target) if _takes(_signature(schema), args, kwargs)]
    if fitting and all(schema.is_mutable for schema in fitting):
        raise RuntimeError(MUTABLE.format(schema=fitting[0]))


def create_type_hint(x: Any) -> Any:
    """Of the classes of several values, as a list or a tuple, what annotation a list or a tuple of them has.

    Args:
        x: a list or a tuple of classes; anything else is given back.

    >>> create_type_hint([int, int]), create_type_hint((bool, int)), create_type_hint(int)
    (list[int], tuple[int, ...], <class 'int'>)
    """
    if not isinstance(x, list | tuple):
        return x
    parts = [create_type_hint(one) for one in x]
    common = next((one for one in parts if all(type_matches(one, other) for other in parts)), Any)
    return types.GenericAlias(list, (common,)) if isinstance(x, list) else types.GenericAlias(tuple, (common, ...))


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of one type may be passed where a signature has another.

    Args:
        signature_type: an annotation.
        argument_type: a class, or an annotation of a list.

    >>> type_matches(int, bool), type_matches(list[int], list[bool]), type_matches(int | None, str)
    (True, True, False)
    """
    if signature_type is Any or signature_type == argument_type:
        return True
    origin, parts = get_origin(signature_type), get_args(signature_type)
    if origin is Union or origin is types.UnionType:
        return any(type_matches(one, argument_type) for one in parts)
    if origin is list:
        own = [one for one in get_args(argument_type) if one is not ...]
        is_sequence = get_origin(argument_type) in (list, tuple)
        if not is_sequence:
            return argument_type is int and parts == (int,)
        return all(type_matches(parts[0], one) for one in own)
    if not (isinstance(signature_type, type) and isinstance(argument_type, type)):
        return False
    return issubclass(argument_type, (int, float, complex) if signature_type is numbers.Number else signature_type)
