"""Subclasses of `autograd.Function` in programs: `Clamp.apply(x, 0.0)` is a node that Python runs, as in a trace.

%y : Tensor = ^Clamp()(%x, %low)

`clamp = Clamp.apply` is a name for the same, which programs call and transform. In plans there is what `forward` and
`backward` compute in its place, where programs mean it (`jit.own_gradients`). Others stay Python: a call of the program
that has gradients is recorded an operator at a time around it, or in compiled regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

from flambeau.autograd.function import Function, parameters_of
from flambeau.frontend.closures.bound import Bound
from flambeau.frontend.compile_function import compile_def
from flambeau.frontend.emit.values.python_calls import python_schema
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Builtin, Given, Sugared
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.program.function import Function as CompiledFunction
from flambeau.schema.types import TupleType
from flambeau.util.errors import CompileError
from flambeau.util.inversions import CUSTOM_FUNCTION_RESULT
from flambeau.util.record import dataclass

if TYPE_CHECKING:
    from flambeau.frontend.emit.values.sugared import Emitter
    from flambeau.frontend.scopes.name_resolution import Resolver
    from flambeau.util.source import SourceRange

ONLY_APPLY = "programs call a custom function with gradients by {name}.apply(...): '{attribute}' of it is Python's"
BY_POSITION = "{name}.apply takes its arguments by position in programs"


@dataclass(slots=True)
class GradientClass(Sugared):
    """A class with a forward and a backward."""

    python: type[Function]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"class {self.python.__name__}"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """`apply`. Raises CompileError for everything else."""
        if name != "apply":
            raise CompileError(ONLY_APPLY.format(name=self.python.__name__, attribute=name), where)
        return GradientCall(self.python)


def class_of_apply(value: Any) -> type[Function] | None:
    """The class whose `apply` a value is; None for anything else."""
    owner = getattr(value, "__self__", None)
    is_apply = isinstance(owner, type) and issubclass(owner, Function) and value == owner.apply
    return owner if is_apply else None


def function_of_apply(python: type[Function], resolver: Resolver, where: SourceRange) -> CompiledFunction:
    """The call of such a class as a function of what `forward` needs: tensors, where nothing else is annotated. The
    resolver knows the class as `__class__`."""
    names = [p.name for p in parameters_of(python) if p.default is p.empty]
    types = {a.name: a.type for a in python_schema(python.forward, resolver, where).arguments}
    listed = ", ".join(names)
    text = f"def {python.__name__}({listed}):\n    return __class__.apply({listed})\n"
    [tree] = parse_source(text, f"<{python.__name__}.apply>")
    return compile_def(tree, resolver, bound=Bound({name: types[name] for name in names}))


@dataclass(slots=True)
class GradientCall(Builtin):
    """The call of such a class."""

    python: Any

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The node; its result is what `forward` is annotated to return, else what it gives; a tensor by default."""
        name = self.python.__name__
        if keywords:
            raise CompileError(BY_POSITION.format(name=name), where)
        result = python_schema(self.python.forward, e.scope.resolver, where).returns[0].type
        with e.graph.at_range(where):
            operands = [a.value for a in args]
            if signature(self.python.forward).return_annotation is Signature.empty:
                result = CUSTOM_FUNCTION_RESULT.implementation(self.python, [v.static_type for v in operands]) or result
            apply = self.python.apply
            if not isinstance(result, TupleType):
                return SimpleValue(e.emit(f"^{name}", operands, result, callable=apply))
            node = e.insert(f"^{name}", operands, callable=apply)
            values = [node.add_result(part) for part in result.elements]
            return SimpleValue(e.emit("prim::TupleConstruct", values, result))
