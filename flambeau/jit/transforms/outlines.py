"""What programs about functions are written with: names, texts of calls, and the compiler of such texts."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from keyword import iskeyword
from types import SimpleNamespace
from typing import Any, Final

from flambeau.analysis.effects import is_random
from flambeau.batching.vmap import vmap as batches_of
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.frontend.compile_text import compile_source
from flambeau.frontend.source.python_source import NameScope
from flambeau.func.reverse import grad
from flambeau.jit.compiling import tidy
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.jit.script_registry import REGISTRY
from flambeau.jit.transforms.tree_texts import is_tree, product
from flambeau.ops.packets import packet_of
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import DictType, TensorType, TupleType, Type
from flambeau.tensor.tensor import Tensor

NO_TENSORS: Final = "{kind}() of {name}() needs results that are tensors, or a tuple of tensors: it returns {found}"
NO_ARGUMENT: Final = "{name}() has {count} parameters: there is no argument {number} to differentiate by"
NO_TENSOR: Final = "{kind}() of {name}() goes by tensors: '{argument}' is a {found}"
REPEATED: Final = (
    "{kind}() of {name}(), which draws random numbers, runs it several times in programs, each time with others: draw "
    "them outside, and pass them as an argument"
)


class Outline:
    """What programs about a function are written with: names, and the texts of calls of it."""

    def __init__(
        self, kind: str, function: Function, argnums: int | tuple[int, ...], *, has_aux: bool = False,
        takes_dicts: bool = False, takes_trees: bool = False,
    ) -> None:  # fmt: skip
        """`takes_dicts`: results may be dicts; `takes_trees`: arguments and results may be containers of tensors."""
        schema = function.schema
        self.function, self.has_aux = function, has_aux
        self.mark = "_"
        while any(a.name.startswith(self.mark) for a in schema.arguments):
            self.mark += "_"
        self.names = names_of(schema, f"{self.mark}a")
        self.header = header_of(schema, self.names)
        self.call = ", ".join(self.names)
        self.is_one_argument = isinstance(argnums, int)
        numbers = [argnums] if isinstance(argnums, int) else list(argnums)
        self._takes_trees = takes_trees
        self.numbers = tuple([self._checked(kind, number) for number in numbers])
        self.sources = [self.names[n] for n in self.numbers]
        self.source_types = [schema.arguments[n].type for n in self.numbers]
        result = _result(kind, function, has_aux=has_aux, takes_dicts=takes_dicts, takes_trees=takes_trees)
        self.is_tuple = isinstance(result, TupleType)
        self.result_types = list(result.elements) if isinstance(result, TupleType) else [result]
        count = len(self.result_types)
        self.values = [f"{self.mark}y{n}" for n in range(count)]
        self.seeds = [f"{self.mark}c{n}" for n in range(count)]
        self.tangents = [f"{self.mark}t{n}" for n in range(len(self.sources))]
        typed = [*zip(self.seeds, self.result_types, strict=True), *zip(self.tangents, self.source_types, strict=True)]
        self._annotations = {name: type_.annotation for name, type_ in typed}

    def _checked(self, kind: str, number: int) -> int:
        arguments = self.function.schema.arguments
        if not -len(arguments) <= number < len(arguments):
            name = self.function.short_name
            raise ValueError(NO_ARGUMENT.format(name=name, count=len(arguments), number=number))
        argument = arguments[number % len(arguments)]
        if not (is_tree(argument.type) if self._takes_trees else isinstance(argument.type, TensorType)):
            text = NO_TENSOR.format(
                kind=kind, name=self.function.short_name, argument=argument.name, found=argument.type.annotation
            )
            raise TypeError(text)
        return number % len(arguments)

    @property
    def evaluated(self) -> str:
        """The statement that calls the function."""
        left = ", ".join(self.values) + ("," if len(self.values) == 1 else "")
        target = f"({left})" if self.is_tuple else self.values[0]
        aux = f", {self.mark}aux" if self.has_aux else ""
        return f"{target}{aux} = {self.mark}f({self.call})"

    def packed(self, texts: Sequence[str]) -> str:
        """The text of values, one for each result."""
        return written(texts, is_tuple=self.is_tuple)

    def by_source(self, texts: Sequence[str]) -> str:
        """The text of values, one for each argument that is differentiated by."""
        return written(texts, is_tuple=not self.is_one_argument)

    def declared(self, names: Sequence[str]) -> str:
        """The parameters of the function, and further ones: like what they belong to, or tensors."""
        further = [f"{name}: {self._annotations.get(name, 'Tensor')}" for name in names]
        return ", ".join([*([self.header] if self.header else []), *further])

    def products(self, values: Sequence[str], others: Sequence[str], types: Sequence[Type]) -> str:
        """The sum of the products of all elements."""
        return " + ".join([product(*pair, self.mark) for pair in zip(values, others, types, strict=True)])

    def pulled(self) -> list[str]:
        """A function of the arguments and of one cotangent for each result: the sum of their products."""
        products = self.products(self.values, self.seeds, self.result_types)
        return [
            f"def {self.mark}pulled({self.declared(self.seeds)}) -> Tensor:", f"    {self.evaluated}",
            f"    return {products}",
        ]  # fmt: skip


def names_of(schema: FunctionSchema, mark: str) -> list[str]:
    """The names of parameters in texts: a number behind a mark for what no text can name, as attributes that native
    code takes as arguments."""
    names = [a.name for a in schema.arguments]
    return [x if x.isidentifier() and not iskeyword(x) else f"{mark}{n}" for n, x in enumerate(names)]


def header_of(schema: FunctionSchema, names: Sequence[str]) -> str:
    """The text of parameters, under these names."""
    return ", ".join(f"{name}: {a.type.annotation}" for name, a in zip(names, schema.arguments, strict=True))


def written(texts: Sequence[str], *, is_tuple: bool) -> str:
    """A value, or a tuple of values, as text."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})" if is_tuple else texts[0]


def _result(kind: str, function: Function, *, has_aux: bool, takes_dicts: bool, takes_trees: bool) -> Type:
    """The type of what is transformed: a tensor or a tuple of tensors; perhaps of dicts of them, or containers."""
    returns = function.schema.returns
    result = returns[0].type if len(returns) == 1 else None
    inner = result.elements[0] if has_aux and isinstance(result, TupleType) and len(result.elements) == 2 else result
    is_fit = inner is not None and (
        is_of_tensors(inner) or (takes_dicts and _is_of_dicts(inner)) or (takes_trees and is_tree(inner))
    )
    if inner is None or not is_fit or (has_aux and inner is result):
        annotation = "nothing" if result is None else result.annotation
        raise TypeError(NO_TENSORS.format(kind=kind, name=function.short_name, found=annotation))
    return inner


def is_of_tensors(type_: Type) -> bool:
    """Whether a type is that of a tensor, or a tuple of tensors."""
    if isinstance(type_, TupleType):
        return bool(type_.elements) and all(isinstance(element, TensorType) for element in type_.elements)
    return isinstance(type_, TensorType)


def _is_of_dicts(type_: Type) -> bool:
    """Whether a type is a dict of tensors, or a tuple of tensors and such dicts."""
    parts = type_.elements if isinstance(type_, TupleType) and type_.name is None else (type_,)
    return bool(parts) and all(
        isinstance(part, TensorType) or (isinstance(part, DictType) and isinstance(part.value, TensorType))
        for part in parts
    )


def refuse_random(kind: str, function: Function) -> None:
    """Raise TypeError for a function that draws random numbers: a program would run it again with others."""
    if any(map(is_random, inlined_graph(function).listed_nodes())):
        raise TypeError(REPEATED.format(kind=kind, name=function.short_name))


def basis(mark: str, name: str) -> str:
    """The vectors of a basis of a tensor, one after the other."""
    count = f"{name}.numel()"
    return f"{mark}eye({count}, dtype={name}.dtype, device={name}.device).reshape([{count}, *{name}.shape])"


def joined(texts: Sequence[str]) -> str:
    return ", ".join(text for text in texts if text)


def compiled(name: str, lines: Sequence[str], outline: Outline, names: dict[str, Any]) -> Function:
    """The last function of a text, with the defaults of the one that it is about."""
    m = outline.mark
    last = compiled_text(name, lines, {
        f"{m}f": outline.function, f"{m}grad": grad, f"{m}zeros_like": packet_of("aten::zeros_like"),
        f"{m}stack": packet_of("aten::stack"), f"{m}eye": packet_of("aten::eye"), f"{m}vmap": batches_of,
        f"{m}sum": sum, **names,
    })  # fmt: skip
    by_name = dict(zip(outline.names, outline.function.schema.arguments, strict=True))
    required = len(last.schema.arguments) > len(by_name)  # tangents come behind
    arguments = [a if required else by_name.get(a.name, a) for a in last.schema.arguments]
    return Function(name, last.graph, FunctionSchema(name, "", tuple(arguments), last.schema.returns))


def _named_types(values: Iterable[Any]) -> dict[str, Any]:
    """The types with names of what functions take, as annotations spell them: `__torch__.Point`."""
    arguments = [a for value in values if isinstance(value, Function) for a in value.schema.arguments]
    root = SimpleNamespace()
    for type_ in [part for argument in arguments for part in argument.type.walk() if "." in part.annotation]:
        *path, last = type_.annotation.split(".") if type_.annotation.replace(".", "").isidentifier() else [""]
        space = root
        for name in path:
            space = vars(space).setdefault(name, SimpleNamespace())
        setattr(space, last, type_)
    return vars(root)


def compiled_text(name: str, lines: Sequence[str], names: dict[str, Any]) -> Function:
    """The last function of a text, under a name of its own."""
    known = {"Tensor": Tensor, **_named_types(names.values()), **names}
    last = None
    for text in "\n".join(lines).replace("\ndef ", "\n\0def ").split("\0"):
        resolver = PythonResolver(NameScope(known, vars(typing)), CLASSES, "<transform>")
        with REGISTRY.lock:
            [last] = compile_source(text + "\n", resolver, filename="<transform>")
        tidy(last)
        REGISTRY.attach(last)
        known[last.short_name] = last
    assert last is not None
    return Function(name, last.graph, FunctionSchema(name, "", last.schema.arguments, last.schema.returns))
