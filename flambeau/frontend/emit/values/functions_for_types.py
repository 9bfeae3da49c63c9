"""Functions of Python without annotations, compiled for the types that a call in a program brings.

def loss(p, x): return (x @ p["w"]).sum()

loss(p, x), grad(loss)(p, x)      of a dict `p` of tensors    →    p : dict[str, Tensor]
square(3)                                                     →    x : int

With tensors alone such a function is the one that its missing annotations say, as ever.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from flambeau.frontend.closures.call_arguments import Argument, takes_anything
from flambeau.frontend.closures.instantiation import instantiate, specialise
from flambeau.frontend.closures.template import Template, TemplateResolver
from flambeau.frontend.emit.schema_matching import call_function
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared, Transform
from flambeau.frontend.trees.tree_views import Def
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema.types import TensorType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NO_FUNCTION = "no function of a program that can be transformed"


def template_of(e: Emitter, python: Any) -> Template | None:
    """A Python function, to be compiled for a call; None for anything else."""
    if not isinstance(python, types.FunctionType | Def) or not isinstance(e.scope.resolver, TemplateResolver):
        return None
    try:
        return e.scope.resolver.template(python)
    except CompileError:
        return None  # which the call itself says better


def source_of(python: Any) -> Any:
    """The Python function that a scripted one is of, where programs may compile it anew; others as they are."""
    return getattr(python, "array_source", None) or python


def is_open(template: Template | None) -> bool:
    """Whether a function has parameters without annotations."""
    return template is not None and any(p.annotation is None for p in template.tree.decl.params)


def brings_types(template: Template | None, args: Sequence[Given], keywords: Sequence[Given]) -> bool:
    """Whether a call brings something else than tensors where nothing is annotated."""
    if template is None:
        return False
    params = template.tree.decl.params
    by_name = dict(zip([p.name for p in params if not p.keyword_only], args, strict=False))
    by_name |= {keyword.name: keyword for keyword in keywords}
    return any(
        p.annotation is None
        and takes_anything(p)
        and p.name in by_name
        and not isinstance(by_name[p.name].value.static_type, TensorType)
        for p in params
    )


def call_for_types(
    e: Emitter, where: SourceRange, template: Template, args: Sequence[Given], keywords: Sequence[Given],
    transforms: Sequence[Transform] = (),
) -> Sugared:  # fmt: skip
    """A call of a function as compiled for the types of its arguments, or of what transforms make of it."""
    named = {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords}
    try:
        return instantiate(e, where, template, _positional(args), named, None, transforms)
    except CompileError as error:
        raise error.with_caller(template.tree.name, e.scope.name, where) from None


def specialised_for_types(
    e: Emitter, where: SourceRange, template: Template, args: Sequence[Given], transforms: Sequence[Transform]
) -> tuple[Function, list[Given]]:
    """What transforms make of a function as compiled for the types of arguments, and these by name."""
    try:
        called = specialise(e, where, template, _positional(args), {}, None, transforms)
    except CompileError as error:
        raise error.with_caller(template.tree.name, e.scope.name, where) from None
    return called.function, called.values


def _positional(args: Sequence[Given]) -> list[Argument]:
    return [Argument(SimpleValue(a.value), a.where) for a in args]


@dataclass(slots=True)
class TransformedFunction(Sugared):
    """A transform of a function with parameters without annotations."""

    python: Any
    template: Template
    transforms: tuple[Transform, ...]
    """What is made of the function, one after another."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def transformed(self, e: Emitter, transform: Transform) -> Sugared:
        """This function with one more transform."""
        return TransformedFunction(self.python, self.template, (*self.transforms, transform))

    def specialised(
        self, e: Emitter, where: SourceRange, args: Sequence[Given], transform: Transform
    ) -> tuple[Function, list[Given]] | None:
        """The same for these arguments, if they are more than tensors."""
        if not brings_types(self.template, args, []):
            return None
        return specialised_for_types(e, where, self.template, args, (*self.transforms, transform))

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The transform of the function of tensors."""
        return e.function_constant(self._of_tensors(e, where))

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call for the types of its arguments."""
        if brings_types(self.template, args, keywords):
            return call_for_types(e, where, self.template, args, keywords, self.transforms)
        return SimpleValue(call_function(e, where, self._of_tensors(e, where), args, keywords))

    def _of_tensors(self, e: Emitter, where: SourceRange) -> Function:
        function = e.scope.resolver.compile_function(self.python, where)
        if function is None:
            raise CompileError(NO_FUNCTION, where)
        try:
            for transform in self.transforms:
                function = transform(function, len(function.schema.arguments))
        except (TypeError, ValueError) as error:
            raise CompileError(str(error), where) from None
        return function
