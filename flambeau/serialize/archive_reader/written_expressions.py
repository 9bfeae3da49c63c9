"""Expressions of printed code as functions of a frame: names, calls, attributes, containers and constants.

An expression that printers do not write gives the run up when it is reached.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.interpreter.conform import conforms
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.program.written import GivenUpError
from flambeau.schema import registry
from flambeau.schema.device import Device
from flambeau.schema.types import ClassType, TupleType
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.written_frame import GLOBALS, Frame, Part
from flambeau.serialize.archive_reader.written_names import (
    archived_constant,
    attribute_of,
    global_value,
    method_of,
    named_tuple,
)
from flambeau.serialize.archive_reader.written_operators import Call
from flambeau.tensor.tensor import Tensor
from flambeau.util.names import ROOT

_NUMBERS: Final = {"inf": math.inf, "nan": math.nan, "infj": complex(0, math.inf), "nanj": complex(0, math.nan)}
_CASTS: Final = {"int": "Int", "float": "Float", "bool": "Bool", "str": "str", "sorted": "sorted"}
"""What functions of Python's that the language has are called in `aten`."""
_NEW: Final = "__new__"
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
_VARIABLE, _CONSTANT, _COMPUTED = range(3)
"""What an operand is."""
_MAY_BE_VAGUE: Final = frozenset({type(None), list, dict})
_NOTHING: Final[frozenset[int | str]] = frozenset()


class Expressions:
    """Makes what runs the expressions of one piece of code."""

    def __init__(self, file: CodeFile) -> None:
        self._file = file

    def value(self, node: ast.expr) -> Part:
        """What gives the value of an expression."""
        rule = _EXPRESSIONS.get(type(node))
        return gives_up(f"it writes {type(node).__name__}") if rule is None else rule(self, node)

    def results(self, node: ast.expr) -> Part:
        """What gives the value of what is taken apart, or thrown away."""
        return self._called(node, is_one=False) if isinstance(node, ast.Call) else self.value(node)

    def of_type(self, annotation: ast.expr, node: ast.expr) -> Part:
        """What gives a value of a type that is written for it."""
        value_of, file = self.value(node), self._file

        def run(frame: Frame) -> Any:
            value, type_ = value_of(frame), frame.run.type(file, annotation)
            cast = registry.implicit_cast(type_) if isinstance(value, Tensor) else None
            if cast is not None:
                value = frame.run.operator(Call(cast, (value,), {}))[0]
            if not conforms(value, type_):
                raise GivenUpError("a value is of another type than is written")
            return value

        return run

    # -- values -------------------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Part:
        value = node.value
        if not _is_constant(value):
            return gives_up("a number is too large" if type(value) is int else "it is no constant of the language")
        return lambda frame: value

    def _name(self, node: ast.Name) -> Part:
        name = node.id

        def run(frame: Frame) -> Any:
            variables = frame.variables
            if name in variables:
                return variables[name]
            if name not in _NUMBERS:
                raise GivenUpError(f"there is no value {name}")
            return _NUMBERS[name]

        return run

    def _attribute(self, node: ast.Attribute) -> Part:
        path, name = _global_path(node), node.attr
        if not path:
            owner = self.value(node.value)
            return lambda frame: attribute_of(frame, owner(frame), name)
        if path[0] == "CONSTANTS":
            return lambda frame: archived_constant(frame, path)
        return lambda frame: global_value(frame, ".".join(path))

    def _list(self, node: ast.List) -> Part:
        items = self._values(node.elts)
        plain = [item.value for item in node.elts if isinstance(item, ast.Constant) and _is_constant(item.value)]
        if len(plain) == len(node.elts) and len(set(map(type, plain))) == 1:
            return lambda frame: plain.copy()

        def run(frame: Frame) -> Any:
            values = items(frame)
            if len({_kind(value) for value in values if value is not None}) > 1:
                raise GivenUpError("a list has values of several types")
            return values

        return run

    def _tuple(self, node: ast.Tuple) -> Part:
        items = self._values(node.elts)
        return lambda frame: tuple(items(frame))

    def _dict(self, node: ast.Dict) -> Part:
        if None in node.keys:
            return gives_up("a dict takes another one's items")
        pairs = [
            (self.value(key), self.value(item)) for key, item in zip(node.keys, node.values, strict=True) if key
        ]

        def run(frame: Frame) -> Any:
            items = {}
            for key, item in pairs:
                name = key(frame)
                if type(name) not in (str, int):
                    raise GivenUpError("a dict has other keys than texts and numbers")
                items[name] = item(frame)
            if len({(type(key), _kind(item)) for key, item in items.items()}) > 1:
                raise GivenUpError("a dict has values of several types")
            return items

        return run

    def _item(self, node: ast.Subscript) -> Part:
        if isinstance(node.slice, ast.Slice):
            return gives_up("it takes a slice")
        owner_of, index_of = self.value(node.value), self.value(node.slice)

        def run(frame: Frame) -> Any:
            owner, index = owner_of(frame), index_of(frame)
            if type(owner) in (list, dict, str):
                return frame.run.operator(Call("aten::__getitem__", (owner, index), {}))[0]
            if not isinstance(owner, tuple) or type(index) is not int:
                raise GivenUpError("it takes a part of something else")
            return owner[index]

        return run

    def _signed(self, node: ast.UnaryOp) -> Part:
        operand = node.operand
        if not isinstance(node.op, ast.USub):
            return gives_up("an operator of Python")
        number = operand.value if isinstance(operand, ast.Constant) else None
        number_of = self.value(operand) if number is None else lambda frame: number

        def run(frame: Frame) -> Any:
            value: Any = number_of(frame)
            if type(value) not in (int, float):
                raise GivenUpError("an operator of Python")
            if type(value) is int and not _SMALLEST <= -value <= _LARGEST:
                raise GivenUpError("a number is too large")
            return -value

        return run

    def _sum(self, node: ast.BinOp) -> Part:
        """A complex number: its real and its imaginary part."""
        real, imaginary = self.value(node.left), getattr(node.right, "value", None)
        if not isinstance(node.op, ast.Add) or type(imaginary) is not complex:
            return gives_up("an operator of Python")

        def run(frame: Frame) -> Any:
            number = real(frame)
            if type(number) not in (int, float):
                raise GivenUpError("an operator of Python")
            return number + imaginary

        return run

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Part:
        return self._called(node, is_one=True)

    def _called(self, node: ast.Call, *, is_one: bool) -> Part:
        """What gives the result of a call; `is_one` says that an operator has one at most."""
        function = node.func
        if any(keyword.arg is None for keyword in node.keywords):
            return gives_up("it hands a dict on as keywords")
        if isinstance(function, ast.Name):
            return self._call_name(function.id, node)
        if not isinstance(function, ast.Attribute):
            return gives_up("it calls something else than a function")
        path = _global_path(function)
        if not path:
            return self._call_method(function, node)
        if path[0] == ROOT:
            return self._call_named(".".join(path), node)
        if path == ("torch", "device"):
            return self._device(node)
        return self._operator(path, node, is_one=is_one)

    def _call_name(self, name: str, node: ast.Call) -> Part:
        known: dict[bool, Part] = {}

        def run(frame: Frame) -> Any:
            is_variable = name in frame.variables
            part = known.get(is_variable)
            if part is None:
                function = self._call_function(lambda frame: frame.variables[name], node) if is_variable else None
                part = known[is_variable] = function or self._form(name, node)
            return part(frame)

        return run

    def _call_method(self, function: ast.Attribute, node: ast.Call) -> Part:
        name, keywords = function.attr, self._arguments(node)[1]
        values = self._values([function.value, *node.args])

        def run(frame: Frame) -> Any:
            arguments = values(frame)
            method = method_of(arguments[0], name)
            by_name = {key: value(frame) for key, value in keywords.items()} if keywords else {}
            return frame.run.call(method, arguments, by_name)

        return run

    def _call_named(self, name: str, node: ast.Call) -> Part:
        """What calls a function of the archive, or makes a named tuple or an object."""
        call, values = self._call_function(lambda frame: frame.run.named(name), node), self._values(node.args)

        def run(frame: Frame) -> Any:
            owner, _, method = name.rpartition(".")
            named = frame.run.named(owner if method == _NEW else name)
            if isinstance(named, TupleType) and not node.keywords:
                return named_tuple(named, values(frame))
            if method == _NEW and isinstance(named, ClassType) and not named.definition.is_module:
                return ScriptObject(named)
            return call(frame)

        return run

    def _call_function(self, function_of: Part, node: ast.Call) -> Part:
        values, keywords = self._arguments(node)

        def run(frame: Frame) -> Any:
            function = function_of(frame)
            if not isinstance(function, Function):
                raise GivenUpError("it calls something else than a function")
            by_name = {key: value(frame) for key, value in keywords.items()}
            return frame.run.call(function, [value(frame) for value in values], by_name)

        return run

    def _values(self, nodes: Sequence[ast.expr]) -> Callable[[Frame], list[Any]]:
        """What gives the values of several expressions; for constants and variables no function is called."""
        parts = [self._operand(node) for node in nodes]

        def run(frame: Frame) -> list[Any]:
            variables = frame.variables
            return [
                variables[what] if kind is _VARIABLE else what if kind is _CONSTANT else what(frame)
                for kind, what in parts
            ]

        return run

    def _operand(self, node: ast.expr) -> tuple[int, Any]:
        if isinstance(node, ast.Name) and node.id not in _NUMBERS:
            return _VARIABLE, node.id
        if isinstance(node, ast.Constant) and _is_constant(node.value):
            return _CONSTANT, node.value
        return _COMPUTED, self.value(node)

    def _arguments(self, node: ast.Call) -> tuple[list[Part], dict[str, Part]]:
        return [self.value(one) for one in node.args], {str(k.arg): self.value(k.value) for k in node.keywords}

    def _operator(self, path: tuple[str, ...], node: ast.Call, *, is_one: bool) -> Part:
        match path:
            case ("torch", short):
                name = ""
            case ("ops", namespace, short):
                name = f"{namespace}::{short}"
            case _:
                return gives_up(f"{'.'.join(path)} is no operator by its plain name")
        values, keywords = self._values(node.args), [str(keyword.arg) for keyword in node.keywords]
        by_keyword = self._values([keyword.value for keyword in node.keywords])
        fixed = [isinstance(tree, ast.Constant) for tree in (*node.args, *[keyword.value for keyword in node.keywords])]
        computed = list(zip([*range(len(node.args)), *keywords], fixed, strict=True))

        def run(frame: Frame) -> Any:
            positional = values(frame)
            named = dict(zip(keywords, by_keyword(frame), strict=True)) if keywords else {}
            full = name or frame.run.qualified(short, positional, named)
            result, count = frame.run.operator(Call(full, positional, named, _vague(computed, positional, named)))
            if is_one and count > 1:
                raise GivenUpError("several results are one value")
            return result if count or not is_one else None

        return run

    def _device(self, node: ast.Call) -> Part:
        values, keywords = self._arguments(node)

        def run(frame: Frame) -> Any:
            name = values[0](frame) if len(values) == 1 and not keywords else None
            if type(name) is not str:
                raise GivenUpError("a device is given by more than its name")
            return Device(name)

        return run

    # -- forms --------------------------------------------------------------------------------------------------------

    def _form(self, name: str, node: ast.Call) -> Part:
        if name in _CASTS:
            values, keywords = self._arguments(node)
            full = f"aten::{_CASTS[name]}"
            return lambda frame: frame.run.operator(
                Call(full, [value(frame) for value in values], {key: value(frame) for key, value in keywords.items()})
            )[0]
        form = _FORMS.get((name, len(node.args)))
        if form is None or node.keywords:
            return gives_up(f"it calls {name}")
        return form(self, *node.args)

    def _is_instance(self, node: ast.expr, types: ast.expr) -> Part:
        value_of, file = self.value(node), self._file
        listed: Sequence[ast.expr] = types.elts if isinstance(types, ast.List | ast.Tuple) else (types,)

        def run(frame: Frame) -> Any:
            value = value_of(frame)
            if not (value is None or isinstance(value, bool | int | float | str | Tensor)):
                raise GivenUpError("it asks of which type a container or an object is")
            return any(conforms(value, frame.run.type(file, one)) for one in listed)

        return run

    def _get(self, owner: ast.expr, name: ast.expr) -> Part:
        text = name.value if isinstance(name, ast.Constant) else None
        if not isinstance(text, str):
            return gives_up("the name of an attribute is computed")
        owner_of = self.value(owner)
        return lambda frame: attribute_of(frame, owner_of(frame), text)

    def _unwrapped(self, node: ast.expr) -> Part:
        value_of = self.value(node)

        def run(frame: Frame) -> Any:
            value = value_of(frame)
            if value is None:
                raise GivenUpError("None is unwrapped")
            return value

        return run


def gives_up(why: str) -> Part:
    """What gives the run up when it is reached."""

    def run(frame: Frame) -> Any:
        raise GivenUpError(why)

    return run


def _global_path(node: ast.Attribute) -> tuple[str, ...]:
    """The parts of a qualified name; none for an attribute of a value."""
    parts = [node.attr]
    inner = node.value
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    return (inner.id, *reversed(parts)) if isinstance(inner, ast.Name) and inner.id in GLOBALS else ()


def _is_constant(value: Any) -> bool:
    """Whether a constant of Python is one of the language."""
    if type(value) is int:
        return _SMALLEST <= value <= _LARGEST
    return value is None or type(value) in (bool, float, complex, str)


def _vague(
    computed: Sequence[tuple[int | str, bool]], values: list[Any], named: Mapping[str, Any]
) -> frozenset[int | str]:
    """The operands whose types need not be those of their values: None that is not written, what is empty."""
    operands = [*values, *named.values()] if named else values
    if _MAY_BE_VAGUE.isdisjoint(map(type, operands)):
        return _NOTHING
    pairs = zip(computed, operands, strict=True)
    return frozenset([
        key for (key, is_constant), value in pairs
        if type(value) in _MAY_BE_VAGUE and not (is_constant if value is None else value)
    ])  # fmt: skip


def _kind(value: Any) -> type:
    return Tensor if isinstance(value, Tensor) else type(value)


_EXPRESSIONS: Final[Mapping[type[ast.expr], Callable[[Expressions, Any], Part]]] = {
    ast.Constant: Expressions._constant, ast.Name: Expressions._name, ast.Attribute: Expressions._attribute,
    ast.List: Expressions._list, ast.Tuple: Expressions._tuple, ast.Dict: Expressions._dict,
    ast.Subscript: Expressions._item, ast.UnaryOp: Expressions._signed,
    ast.BinOp: Expressions._sum, ast.Call: Expressions._call,
}  # fmt: skip
_FORMS: Final[Mapping[tuple[str, int], Callable[..., Part]]] = {
    ("annotate", 2): Expressions.of_type,
    ("unchecked_cast", 2): Expressions.of_type,
    ("uninitialized", 1): lambda expressions, type_: lambda frame: None,
    ("getattr", 2): Expressions._get,
    ("unwrap_optional", 1): Expressions._unwrapped,
    ("isinstance", 2): Expressions._is_instance,
}
