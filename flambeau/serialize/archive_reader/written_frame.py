"""A call of one function of an archive, run as it is written: its statements and expressions, with its variables.

What is not among what printed code consists of is given up for the graph (`GivenUpError`).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from flambeau.interpreter.conform import conforms
from flambeau.program.function import Function
from flambeau.program.object import UNSET, ScriptObject
from flambeau.program.written import GivenUpError
from flambeau.schema import registry
from flambeau.schema.device import Device
from flambeau.schema.types import EnumType, Type
from flambeau.serialize.archive_reader.code_file import CodeFile
from flambeau.serialize.archive_reader.written_memory import ForeignMemory
from flambeau.serialize.archive_reader.written_operators import Call
from flambeau.tensor.tensor import Tensor
from flambeau.util.names import ROOT

_GOES_ON: Final = object()
"""What a statement gives that does not return."""
_NUMBERS: Final = {"inf": math.inf, "nan": math.nan, "infj": complex(0, math.inf), "nanj": complex(0, math.nan)}
_CASTS: Final = {"int": "Int", "float": "Float", "bool": "Bool", "str": "str"}
"""What the language's casts are called in `aten`."""
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
_GLOBALS: Final = frozenset({"torch", "ops", "CONSTANTS", ROOT})


class Run(Protocol):
    """The call from outside that a function is called in."""

    memory: ForeignMemory
    constants: Sequence[Any]

    def call(self, function: Function, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """The result of a function of the archive."""

    def operator(self, call: Call) -> tuple[Any, int]:
        """The results of an operator, and how many they are."""

    def named(self, name: str) -> Function | Type | None:
        """What has a qualified name; None if nothing has."""

    def type(self, file: CodeFile, annotation: ast.expr) -> Type:
        """The type that is written for something."""

    def qualified(self, name: str, values: Sequence[Any], keywords: Mapping[str, Any]) -> str:
        """The operator that `torch.name` is for such values."""

    def begin_round(self) -> None:
        """Count a round of a loop."""

    def begin_step(self) -> None:
        """Count a statement."""


class Frame:
    """A call of one function: its variables, and what statements and expressions are with them."""

    def __init__(self, run: Run, file: CodeFile, variables: dict[str, Any]) -> None:
        self._run, self._file, self._variables = run, file, variables

    # -- statements ---------------------------------------------------------------------------------------------------

    def result(self, statements: Sequence[ast.stmt], last_names: Sequence[set[str]]) -> Any:
        """What the statements of a function return; behind each, variables of such names go away."""
        for statement, names in zip(statements, last_names, strict=True):
            result = self._step(statement)
            if result is not _GOES_ON:
                return result
            for name in names:
                self._variables.pop(name, None)
        return None

    def execute(self, statements: Sequence[ast.stmt]) -> Any:
        """Run statements: what they return, or `_GOES_ON`."""
        for statement in statements:
            result = self._step(statement)
            if result is not _GOES_ON:
                return result
        return _GOES_ON

    def _step(self, statement: ast.stmt) -> Any:
        self._run.begin_step()
        return _rule(_STATEMENTS, statement)(self, statement)

    def _assign(self, statement: ast.Assign) -> Any:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            self._variables[target.id] = self.value(statement.value)
            return _GOES_ON
        if not isinstance(target, ast.Tuple) or not all(isinstance(one, ast.Name) for one in target.elts):
            raise GivenUpError("it assigns to a part of something")
        results = self._results(statement.value)
        if type(results) not in (list, tuple) or len(results) != len(target.elts):
            raise GivenUpError("it takes something else apart")
        for one, value in zip(target.elts, results, strict=True):
            assert isinstance(one, ast.Name)
            self._variables[one.id] = value
        return _GOES_ON

    def _declare(self, statement: ast.AnnAssign) -> Any:
        if not isinstance(statement.target, ast.Name) or statement.value is None:
            raise GivenUpError("it declares something without a value")
        self._variables[statement.target.id] = self._of_type(statement.value, statement.annotation)
        return _GOES_ON

    def _return(self, statement: ast.Return) -> Any:
        return None if statement.value is None else self.value(statement.value)

    def _branch(self, statement: ast.If) -> Any:
        return self.execute(statement.body if self._condition(statement.test) else statement.orelse)

    def _while(self, statement: ast.While) -> Any:
        while self._condition(statement.test):
            self._run.begin_round()
            result = self.execute(statement.body)
            if result is not _GOES_ON:
                return result
        return _GOES_ON

    def _for(self, statement: ast.For) -> Any:
        source, target = statement.iter, statement.target
        is_range = isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range"
        if not is_range or not isinstance(target, ast.Name) or "range" in self._variables:
            raise GivenUpError("it loops over something else than numbers")
        assert isinstance(source, ast.Call)
        count = self.value(source.args[0]) if len(source.args) == 1 and not source.keywords else None
        if type(count) is not int:
            raise GivenUpError("it loops over something else than numbers")
        for number in range(count):
            self._run.begin_round()
            self._variables[target.id] = number
            result = self.execute(statement.body)
            if result is not _GOES_ON:
                return result
        return _GOES_ON

    def _do(self, statement: ast.Expr) -> Any:
        self._results(statement.value)
        return _GOES_ON

    def _condition(self, test: ast.expr) -> bool:
        value = self.value(test)
        if type(value) is not bool:
            raise GivenUpError("a condition is no bool")
        return value

    # -- expressions --------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        return _rule(_EXPRESSIONS, node)(self, node)

    def _constant(self, node: ast.Constant) -> Any:
        value = node.value
        if type(value) is int and not _SMALLEST <= value <= _LARGEST:
            raise GivenUpError("a number is too large")
        if value is not None and type(value) not in (bool, int, float, complex, str):
            raise GivenUpError("it is no constant of the language")
        return value

    def _name(self, node: ast.Name) -> Any:
        if node.id in self._variables:
            return self._variables[node.id]
        if node.id not in _NUMBERS:
            raise GivenUpError(f"there is no value {node.id}")
        return _NUMBERS[node.id]

    def _attribute(self, node: ast.Attribute) -> Any:
        path = self._global_path(node)
        if not path:
            return self._read(self.value(node.value), node.attr)
        if path[0] == "CONSTANTS":
            return self._archived(path)
        name, _, member = ".".join(path).rpartition(".")
        named = self._run.named(f"{name}.{member}")
        if isinstance(named, Function):
            return named
        kind = self._run.named(name)
        if not isinstance(kind, EnumType) or kind.python is None:
            raise GivenUpError(f"{name}.{member} is no value")
        return kind.python[member]

    def _archived(self, path: Sequence[str]) -> Any:
        constants, digits = self._run.constants, path[1].removeprefix("c")
        if len(path) != 2 or not digits.isdigit() or int(digits) >= len(constants):
            raise GivenUpError("there is no such constant")
        return self._seen(constants[int(digits)])

    def _seen(self, value: Any) -> Any:
        self._run.memory.add(value)
        return value

    def _read(self, owner: Any, name: str) -> Any:
        if not isinstance(owner, ScriptObject):
            raise GivenUpError(f"something else than an object has an attribute {name}")
        definition = owner.type.definition
        slot = definition.slots.get(name)
        if slot is not None:
            value = owner.values[slot]
        elif name in definition.constants and name not in definition.methods:
            value = definition.constants[name]
        else:
            value = UNSET
        if value is UNSET:
            raise GivenUpError(f"there is no attribute {name}")
        return self._seen(value)

    def _list(self, node: ast.List) -> Any:
        items = [self.value(item) for item in node.elts]
        if len({_kind(item) for item in items if item is not None}) > 1:
            raise GivenUpError("a list has values of several types")
        return items

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple([self.value(item) for item in node.elts])

    def _dict(self, node: ast.Dict) -> Any:
        items = {}
        for key, item in zip(node.keys, node.values, strict=True):
            name = None if key is None else self.value(key)
            if type(name) not in (str, int):
                raise GivenUpError("a dict has other keys than texts and numbers")
            items[name] = self.value(item)
        if len({(type(key), _kind(item)) for key, item in items.items()}) > 1:
            raise GivenUpError("a dict has values of several types")
        return items

    def _item(self, node: ast.Subscript) -> Any:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            raise GivenUpError("it takes a slice")
        index = self.value(node.slice)
        if type(owner) in (list, dict):
            return self._run.operator(Call("aten::__getitem__", (owner, index), {}))[0]
        if not isinstance(owner, tuple) or type(index) is not int:
            raise GivenUpError("it takes a part of something else")
        return owner[index]

    def _signed(self, node: ast.UnaryOp) -> Any:
        number: Any = node.operand.value if isinstance(node.operand, ast.Constant) else self.value(node.operand)
        if not isinstance(node.op, ast.USub) or type(number) not in (int, float):
            raise GivenUpError("an operator of Python")
        if type(number) is int and not _SMALLEST <= -number <= _LARGEST:
            raise GivenUpError("a number is too large")
        return -number

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Any:
        result, count = self._called(node)
        if count > 1:
            raise GivenUpError("several results are one value")
        return result if count else None

    def _results(self, node: ast.expr) -> Any:
        """The value of what is taken apart, or thrown away."""
        return self._called(node)[0] if isinstance(node, ast.Call) else self.value(node)

    def _called(self, node: ast.Call) -> tuple[Any, int]:
        """What a call gives, and how many results an operator has."""
        function = node.func
        if isinstance(function, ast.Name):
            if function.id not in self._variables:
                return self._form(function.id, node), 1
            return self._call_function(self._variables[function.id], (), node), 1
        if not isinstance(function, ast.Attribute):
            raise GivenUpError("it calls something else than a function")
        path = self._global_path(function)
        if not path:
            owner = self.value(function.value)
            return self._call_function(_method(owner, function.attr), (owner,), node), 1
        if path[0] == ROOT:
            return self._call_function(self._run.named(".".join(path)), (), node), 1
        if path == ("torch", "device"):
            return self._device(node), 1
        return self._operator(path, node)

    def _operator(self, path: tuple[str, ...], node: ast.Call) -> tuple[Any, int]:
        values, keywords = self._arguments(node)
        match path:
            case ("torch", short):
                name = self._run.qualified(short, values, keywords)
            case ("ops", namespace, short):
                name = f"{namespace}::{short}"
            case _:
                raise GivenUpError(f"{'.'.join(path)} is no operator by its plain name")
        written: list[tuple[int | str, ast.expr]] = [*enumerate(node.args)]
        written += [(str(k.arg), k.value) for k in node.keywords]
        pairs = zip(written, [*values, *keywords.values()], strict=True)
        vague = [key for (key, tree), value in pairs if _is_vague(value, tree)]
        return self._run.operator(Call(name, values, keywords, frozenset(vague)))

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        if any(keyword.arg is None for keyword in node.keywords):
            raise GivenUpError("it hands a dict on as keywords")
        return [self.value(one) for one in node.args], {str(k.arg): self.value(k.value) for k in node.keywords}

    def _call_function(self, function: Any, leading: tuple[Any, ...], node: ast.Call) -> Any:
        if not isinstance(function, Function):
            raise GivenUpError("it calls something else than a function")
        values, keywords = self._arguments(node)
        return self._run.call(function, (*leading, *values), keywords)

    def _global_path(self, node: ast.Attribute) -> tuple[str, ...]:
        """The parts of a qualified name; none for an attribute of a value."""
        parts = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id not in _GLOBALS or inner.id in self._variables:
            return ()
        return (inner.id, *reversed(parts))

    def _device(self, node: ast.Call) -> Any:
        values, keywords = self._arguments(node)
        if len(values) != 1 or keywords or type(values[0]) is not str:
            raise GivenUpError("a device is given by more than its name")
        return Device(values[0])

    def _form(self, name: str, node: ast.Call) -> Any:
        if name in _CASTS:
            values, keywords = self._arguments(node)
            return self._run.operator(Call(f"aten::{_CASTS[name]}", values, keywords))[0]
        form = _FORMS.get((name, len(node.args)))
        if form is None or node.keywords:
            raise GivenUpError(f"it calls {name}")
        return form(self, *node.args)

    def _of_type(self, node: ast.expr, annotation: ast.expr) -> Any:
        value, type_ = self.value(node), self._run.type(self._file, annotation)
        cast = registry.implicit_cast(type_) if isinstance(value, Tensor) else None
        if cast is not None:
            value = self._run.operator(Call(cast, (value,), {}))[0]
        if not conforms(value, type_):
            raise GivenUpError("a value is of another type than is written")
        return value

    def _is_instance(self, node: ast.expr, types: ast.expr) -> bool:
        value = self.value(node)
        if not (value is None or isinstance(value, bool | int | float | str | Tensor)):
            raise GivenUpError("it asks of which type a container or an object is")
        listed = types.elts if isinstance(types, ast.List | ast.Tuple) else (types,)
        return any(conforms(value, self._run.type(self._file, one)) for one in listed)

    def _get(self, owner: ast.expr, name: ast.expr) -> Any:
        text = name.value if isinstance(name, ast.Constant) else None
        if not isinstance(text, str):
            raise GivenUpError("the name of an attribute is computed")
        return self._read(self.value(owner), text)

    def _unwrapped(self, node: ast.expr) -> Any:
        value = self.value(node)
        if value is None:
            raise GivenUpError("None is unwrapped")
        return value


def _method(owner: Any, name: str) -> Function:
    """A method of an object of the archive."""
    method: Function | None = owner.type.definition.methods.get(name) if isinstance(owner, ScriptObject) else None
    if method is None:
        raise GivenUpError(f"it calls {name}, which is no method of an object")
    return method


def _is_vague(value: Any, tree: ast.expr) -> bool:
    """Whether the type of an expression need not be that of its value: None that is not written, what is empty."""
    return (value is None and not isinstance(tree, ast.Constant)) or (isinstance(value, list | dict) and not value)


def _kind(value: Any) -> type:
    return Tensor if isinstance(value, Tensor) else type(value)


def _rule(rules: Mapping[type[ast.AST], Any], node: ast.AST) -> Any:
    rule = rules.get(type(node))
    if rule is None:
        raise GivenUpError(f"it writes {type(node).__name__}")
    return rule


_STATEMENTS: Final[Mapping[type[ast.AST], Callable[[Frame, Any], Any]]] = {
    ast.Assign: Frame._assign, ast.AnnAssign: Frame._declare, ast.Return: Frame._return, ast.If: Frame._branch,
    ast.While: Frame._while, ast.For: Frame._for, ast.Expr: Frame._do, ast.Pass: lambda frame, node: _GOES_ON,
}  # fmt: skip
_EXPRESSIONS: Final[Mapping[type[ast.AST], Callable[[Frame, Any], Any]]] = {
    ast.Constant: Frame._constant, ast.Name: Frame._name, ast.Attribute: Frame._attribute, ast.List: Frame._list,
    ast.Tuple: Frame._tuple, ast.Dict: Frame._dict, ast.Subscript: Frame._item, ast.UnaryOp: Frame._signed,
    ast.Call: Frame._call,
}  # fmt: skip
_FORMS: Final[Mapping[tuple[str, int], Callable[..., Any]]] = {
    ("annotate", 2): lambda frame, type_, value: frame._of_type(value, type_),
    ("unchecked_cast", 2): lambda frame, type_, value: frame._of_type(value, type_),
    ("uninitialized", 1): lambda frame, type_: None,
    ("getattr", 2): Frame._get,
    ("unwrap_optional", 1): Frame._unwrapped,
    ("isinstance", 2): Frame._is_instance,
}
