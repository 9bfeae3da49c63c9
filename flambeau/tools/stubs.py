"""Type stubs of the derived surface, so that type checkers and editors know what no source file spells out.

`python -m flambeau.tools.stubs` writes `flambeau/__init__.pyi` (every function), those of `linalg`, `nn.functional` and
the like, and `flambeau/tensor/methods.pyi` (every method of `Tensor`) from the registry; with `--check` it writes
nothing and fails if they are out of date.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import inspect
import keyword
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from flambeau.ops import surface
from flambeau.schema import registry
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import ListType, OptionalType, TensorType, TupleType, Type
from flambeau.tensor.tensor import Tensor

HEADER = '''"""{title} Written by `python -m flambeau.tools.stubs`: do not edit."""

# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, valid-type, misc, no-redef"
# ruff: noqa
'''
NAMES = {
    "int": "_int", "float": "_float", "bool": "_bool", "str": "str", "complex": "_complex", "Scalar": "_Number",
    "Device": "_Device | str", "Generator": "_Generator", "Storage": "_Any", "Stream": "_Any", "QScheme": "_Any",
}  # fmt: skip
COMMON_IMPORTS = """
import builtins as _builtins
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import overload as _overload

from flambeau.schema.device import Device as _Device
from flambeau.schema.dtype import DType as _DType
from flambeau.tensor.random import Generator as _Generator
from flambeau.tensor.tensor import Tensor as _Tensor

_int = _builtins.int
_float = _builtins.float
_bool = _builtins.bool
_complex = _builtins.complex
_Number = _builtins.int | _builtins.float | _builtins.complex
"""


SPECIAL_RESULTS = {
    "__bool__": "_bool", "__len__": "_int", "__int__": "_int", "__index__": "_int", "__float__": "_float",
    "__complex__": "_complex", "__repr__": "str", "__str__": "str", "__format__": "str", "__contains__": "_bool",
    "__iter__": "_Iterator[_Tensor]", "__setitem__": "None", "__array__": "_Any", "__dlpack__": "_Any",
    "__dlpack_device__": "_Any",
    "__deepcopy__": "_Tensor", "__reduce_ex__": "_Any", "__reduce__": "_Any", "__dir__": "list[str]",
    "__hash__": "_int",
}  # fmt: skip
"""What Python's own methods return where that is no tensor."""
INHERITED = {
    "__class__", "__init__", "__new__", "__subclasshook__", "__init_subclass__", "__getattr__", "__getstate__",
    "__doc__",
}  # fmt: skip
"""Special methods that say nothing to a type checker; what `__getattr__` has is an error."""
PYTHON_NAMES = {
    "Any": "_Any", "Callable": "_Callable", "RemovableHandle": "_RemovableHandle", "Sequence": "_Sequence", "T": "_T",
    "Tensor": "_Tensor", "TypedStorage": "_TypedStorage", "bool": "_bool", "float": "_float", "int": "_int",
    "str": "str", "type": "_builtins.type",
}  # fmt: skip
"""Names in annotations of methods that are written in Python, as the stub of the methods has them."""
PROPERTIES = {"name": "None"}
METHOD_IMPORTS = """
from collections.abc import Callable as _Callable
from collections.abc import Iterator as _Iterator
from typing import TypeVar as _TypeVar

from flambeau.tensor.typed_storage import TypedStorage as _TypedStorage
from flambeau.util.hooks import RemovableHandle as _RemovableHandle

_T = _TypeVar("_T")
"""


def python_type(type_: Type, declared: str = "", broadcast: int | None = None) -> str:
    """The annotation of a parameter of this type."""
    if declared.startswith("ScalarType"):
        return "_DType | None" if declared.endswith("?") else "_DType"
    if isinstance(type_, OptionalType):
        inner = python_type(type_.element, "", broadcast)
        return inner if inner == "_Any" else f"{inner} | None"
    if isinstance(type_, ListType):
        element = python_type(type_.element)
        return f"_Sequence[{element}]" + (f" | {element}" if broadcast or element == "_int" else "")
    if isinstance(type_, TensorType):
        return "_Tensor"
    return NAMES.get(str(type_), "_Any")


def result_type(schema: FunctionSchema) -> str:
    """The annotation of what a call returns."""
    results = [_result(r.type) for r in schema.returns]
    return "None" if not results else results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"


def _result(type_: Type) -> str:
    if isinstance(type_, ListType):
        return f"list[{_result(type_.element)}]"
    if isinstance(type_, TupleType):
        return f"tuple[{', '.join(map(_result, type_.elements))}]"
    return python_type(type_)


def parameters(arguments: Iterable[Argument]) -> Iterator[str]:
    """The parameter list, star included."""
    is_starred = False
    for argument in arguments:
        if argument.kwarg_only and not is_starred:
            yield "*"
            is_starred = True
        default = " = ..." if argument.has_default else ""
        yield f"{_safe(argument.name)}: {python_type(argument.type, argument.declared, argument.broadcast)}{default}"


def signatures(arguments: Sequence[Argument]) -> Iterator[str]:
    """The parameter list; a second one where sizes may stand one by one, as in `x.view(2, 3)`."""
    listed = list(parameters(arguments))
    yield ", ".join(listed)
    positional = [a for a in arguments if not a.kwarg_only]
    first = 1 if positional and positional[0].name == "self" and isinstance(positional[0].type, TensorType) else 0
    if len(positional) == first + 1 and isinstance(positional[first].type, ListType):
        element = python_type(positional[first].type.contained[0])
        if element in ("_int", "_Tensor"):
            rest = [p for p in listed[first + 1 :] if p != "*"]
            yield ", ".join([*listed[:first], f"*{_safe(positional[first].name)}: {element}", *rest])


def _safe(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def function_stub(public: str, definitions: Iterable[OpDef], *, inplace: bool = False) -> str:
    """All overloads of a function, which calls `input` what the schema calls `self`; perhaps with a flag `inplace`."""
    forms = []
    for definition in definitions:
        for listed in signatures(definition.schema.arguments):
            parameters = listed.replace("self:", "input:", 1) if listed.startswith("self:") else listed
            if inplace:
                parameters += f"{'' if '*' in parameters else ', *'}, inplace: _bool = ..."
            forms.append(f"def {public}({parameters}) -> {result_type(definition.schema)}: ...")
    return _overloads(forms, "")


def method_stub(short: str, definitions: list[OpDef]) -> str:
    """All overloads of a method."""
    forms = []
    for definition in definitions:
        position = surface.self_position(definition)
        if definition.is_method and position is not None:
            rest = [a for i, a in enumerate(definition.schema.arguments) if i != position]
            for listed in signatures(rest):
                inner = f"self, {listed}" if listed else "self"
                forms.append(f"def {short}({inner}) -> {result_type(definition.schema)}: ...")
    return _overloads(forms, "    ")


def _overloads(forms: list[str], indent: str) -> str:
    distinct = list(dict.fromkeys(forms))
    mark = f"{indent}@_overload\n" if len(distinct) > 1 else ""
    return "".join(f"{mark}{indent}{form}\n" for form in distinct)


def functions_stub(source: str) -> str:
    """The stub of the package: what its source imports and assigns, and every operator."""
    names = {short: short for _, short in surface.public_names()}
    return _module_stub(source, "What `flambeau` has.", names, lambda d: d.is_function)


def namespace_stub(source: str, path: str) -> str:
    """The stub of a further module, such as `linalg`."""
    is_prefix, title = path in surface.PREFIXES, f"What `flambeau.{path}` has."
    members = surface.members(path)
    return _module_stub(source, title, members, lambda d: is_prefix or path in d.namespaces, inplace=not is_prefix)


def _module_stub(
    source: str, title: str, names: Mapping[str, str], is_there: Callable[[OpDef], bool], inplace: bool = False
) -> str:
    explicit, lines = _explicit_names(source)
    text = HEADER.format(title=title) + COMMON_IMPORTS + "\n" + "\n".join(lines) + "\n\n"
    for public, short in sorted(names.items()):
        if public not in explicit and public.isidentifier() and not keyword.iskeyword(public):
            definitions = filter(is_there, surface.definitions(f"aten::{short}"))
            text += function_stub(public, definitions, inplace=inplace and bool(registry.overloads(f"aten::{short}_")))
    return text


def _explicit_names(source: str) -> tuple[set[str], list[str]]:
    names: set[str] = set()
    lines: list[str] = []
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
            for alias in statement.names:
                public = alias.asname or alias.name
                names.add(public)
                lines += _exported(statement.module or "", alias.name, public)
        elif isinstance(statement, ast.Assign):
            assigned, imports = _assigned(statement)
            names |= assigned
            lines += imports
        elif isinstance(statement, ast.FunctionDef) and not statement.name.startswith("__"):
            names.add(statement.name)
            lines.append(f"def {statement.name}({ast.unparse(statement.args)}) -> "
                         f"{ast.unparse(statement.returns) if statement.returns else '_Any'}: ...")  # fmt: skip
    return names, lines


def _assigned(statement: ast.Assign) -> tuple[set[str], list[str]]:
    """The names that an assignment in a package gives a value, with the lines of the stub: of a table of what the
    package imports when it is first asked for, the imports."""
    match statement:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return set(), []
        case ast.Assign(targets=[ast.Name(id="_COMPILER" | "_LATER" | "_ROOMS")], value=value):
            later = {name: ("flambeau", name) for name in ast.literal_eval(value)}
        case ast.Assign(targets=[ast.Name(id="_FROM_COMPILER")], value=value):
            later = {public: _module_and_name(path) for public, path in ast.literal_eval(value).items()}
        case _:
            names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            return names, [ast.unparse(statement)]
    exports = [_exported(module, name, public) for public, (module, name) in later.items()]
    return set(later), [line for lines in exports for line in lines]


def _exported(module: str, name: str, public: str) -> list[str]:
    """The lines that import a name for others: those that a stub imports under another name are its own."""
    if name == public or public.startswith("_"):
        return [f"from {module} import {name} as {public}"]
    return [f"from {module} import {name} as _{public}_", f"{public} = _{public}_"]


def _module_and_name(path: str) -> tuple[str, str]:
    """Of `jit.script:script`, or of a module, `jit.futures`."""
    module, _, name = f"flambeau.{path}".rpartition(":" if ":" in path else ".")
    return module, name


def special_method_stub(name: str, method: Callable[..., object]) -> str:
    """One of Python's own methods, with as many parameters as it has."""
    count = sum(p.default is p.empty for p in inspect.signature(method).parameters.values())
    others = "".join(f", {letter}: _Any" for letter in ("", "other", "value", "third")[1:count])
    return f"def {name}(self{others}) -> {SPECIAL_RESULTS.get(name, '_Tensor')}: ..."


def python_method_stub(name: str, method: Callable[..., object]) -> str:
    """A method that is no operator, with the annotations of its source."""
    listed, is_starred = ["self"], False
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            listed.append(f"**{parameter.name}: {_translated(parameter.annotation)}")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_starred:
            listed.append("*")
        is_starred = is_starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else " = ..."
        listed.append(f"{star}{parameter.name}: {_translated(parameter.annotation)}{default}")
    result = _translated(inspect.signature(method).return_annotation)
    return f"def {name}({', '.join(listed)}) -> {result}: ..."


def _translated(annotation: object) -> str:
    """The text of an annotation with the stub's names; `_Any` if it has others."""
    if not isinstance(annotation, str):
        return "_Any"
    tree = ast.parse(annotation, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id not in PYTHON_NAMES:
                return "_Any"
            node.id = PYTHON_NAMES[node.id]
    return ast.unparse(tree)


def property_stub(name: str, value: property) -> str:
    """A property: what its source says, a tensor where an operator computes it, else an answer yes or no."""
    annotation = getattr(value.fget, "__annotations__", {}).get("return", "")
    stated = PROPERTIES.get(name, "") if annotation in ("", "Any") else _translated(annotation)
    result = stated or ("_bool" if name.startswith("is_") else "_Tensor")
    text = f"    @property\n    def {name}(self) -> {result}: ...\n"
    return text + (f"    @{name}.setter\n    def {name}(self, value: _Any) -> None: ...\n" if value.fset else "")


def methods_stub(own: set[str]) -> str:
    """The stub of the base of `Tensor`: every operator that is a method, Python's operators, what else is installed."""
    text = HEADER.format(title="The derived methods of `Tensor`.") + COMMON_IMPORTS + METHOD_IMPORTS
    text += "\nclass TensorMethods:\n"
    members = {n: v for n, v in sorted(vars(Tensor).items()) if n not in own}
    for name, method in members.items():
        if name.startswith("__") and callable(method) and name not in INHERITED:
            text += f"    {special_method_stub(name, method)}\n"
    text += "".join(property_stub(name, value) for name, value in members.items() if isinstance(value, property))
    operators = {}
    for name, short in sorted(surface.public_names()):
        if short not in own and not isinstance(members.get(short), property) and short.isidentifier():
            operators[short] = method_stub(short, surface.definitions(name))
    for name, method in members.items():
        if not name.startswith("_") and inspect.isfunction(method) and not operators.get(name):
            operators[name] = f"    {python_method_stub(name, method)}\n"
    return text + "".join(operators.values())


def own_names(source: str) -> set[str]:
    """What the class `Tensor` defines itself."""
    body = next(s for s in ast.parse(source).body if isinstance(s, ast.ClassDef) and s.name == "Tensor").body
    defined = {s.name for s in body if isinstance(s, ast.FunctionDef)}
    return defined | {s.target.id for s in body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)}


def stubs() -> dict[Path, str]:
    """The text of every stub, by file."""
    root = Path(surface.__file__).parents[1]
    tensor_source = (root / "tensor" / "tensor.py").read_text(encoding="utf-8")
    return {
        root / "__init__.pyi": functions_stub((root / "__init__.py").read_text(encoding="utf-8")),
        root / "tensor" / "methods.pyi": methods_stub(own_names(tensor_source)),
    } | {
        source.with_suffix(".pyi"): namespace_stub(source.read_text(encoding="utf-8"), path)
        for path in ("nn.functional", *surface.PREFIXES)
        for source in [root.joinpath(*path.split(".")).with_suffix(".py")]
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the stubs, or with `--check` say whether they are up to date."""
    parser = argparse.ArgumentParser(prog="flambeau.tools.stubs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a stub is out of date")
    is_check = parser.parse_args(arguments).check
    stale = [p for p, text in stubs().items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    for path in stale:
        if is_check:
            builtins.print(f"{path} is out of date: run python -m flambeau.tools.stubs", file=sys.stderr)
        else:
            path.write_text(stubs()[path], encoding="utf-8")
    return int(is_check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
