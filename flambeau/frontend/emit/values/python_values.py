"""What Python values are in a program: functions to compile, namespaces, operators, constants.

import math; LIMIT = 3          `math` is a namespace, `math.sqrt` an operator, `LIMIT` the constant 3
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

import numpy as np

from flambeau.frontend.closures.call_arguments import (
    OBJECTS,
    Argument,
    emit_all,
    is_function,
    takes_anything,
    wants_types,
)
from flambeau.frontend.closures.instantiation import instantiate
from flambeau.frontend.closures.nested_functions import functions_given
from flambeau.frontend.closures.returned_functions import call_maker, makes_function
from flambeau.frontend.closures.template import Template, TemplateResolver
from flambeau.frontend.emit.builtins.builtin_table import BUILTINS
from flambeau.frontend.emit.builtins.builtin_types import TypedTensorClass
from flambeau.frontend.emit.builtins.language_forms import LANGUAGE_FORMS
from flambeau.frontend.emit.builtins.library_functions import library_function
from flambeau.frontend.emit.builtins.operator_functions import wrap_getter
from flambeau.frontend.emit.builtins.printing import stream_value
from flambeau.frontend.emit.conditions import Condition, ConditionValue
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.generator_lists import yields
from flambeau.frontend.emit.numpy.array_promotion import as_number
from flambeau.frontend.emit.numpy.element_functions import scalar_class
from flambeau.frontend.emit.numpy.numpy_creation import numpy_creation, numpy_dtype
from flambeau.frontend.emit.numpy.numpy_functions import numpy_function
from flambeau.frontend.emit.schema_matching import call_function
from flambeau.frontend.emit.values.chosen_functions import wrap_choice
from flambeau.frontend.emit.values.class_values import wrap_class
from flambeau.frontend.emit.values.function_groups import wrap_group
from flambeau.frontend.emit.values.functions_for_types import (
    TransformedFunction,
    brings_types,
    call_for_types,
    is_open,
    source_of,
    specialised_for_types,
    template_of,
)
from flambeau.frontend.emit.values.future_methods import FUTURE_FUNCTIONS, FutureFunction
from flambeau.frontend.emit.values.generator_calls import generator_call
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.python_calls import CACHED, PythonFunction
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Iteration, Sugared, Transform
from flambeau.frontend.scopes.array_annotations import may_name_arrays
from flambeau.frontend.scopes.name_resolution import MISSING
from flambeau.frontend.scopes.python_constants import constant_type, constant_value
from flambeau.frontend.source.python_source import innermost_function
from flambeau.frontend.trees.tree_views import (
    Apply,
    Def,
    Expr,
    GeneratorComp,
    GeneratorListComp,
    Lambda,
    NoneLit,
    Select,
    Subscript,
    TernaryIf,
    Var,
)
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema.array_type import array_of, holds_arrays, holds_tensors
from flambeau.schema.types import Type
from flambeau.tensor.bridge import from_numpy_or_copy
from flambeau.tensor.tensor import Tensor
from flambeau.tensor.typed import TypedTensor
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NO_OBJECT = "cannot call a {kind}: programs make no objects of class '{name}'. Make it outside, and pass what it gives"
NOT_A_VALUE = (
    "python value of type '{type}' cannot be used as a value. Perhaps it is a closed over global variable? If so, "
    "please consider passing it in as an argument or use a local variable instead."
)
TAKES_ARRAYS = (
    "{name} takes arrays of NumPy, and is given tensors here: annotate the parameters of this function as np.ndarray, "
    "as those of {name} are"
)
UNSUPPORTED_BUILTIN = "Python builtin {value!r} is currently not supported in Torchscript"


@dataclass(slots=True)
class PythonValue(Sugared):
    """A Python value that a program can name but not hold."""

    python: Any

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        if isinstance(self.python, types.ModuleType):
            return "module"
        return f"python value of type '{type(self.python).__name__}'"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Never a value."""
        raise CompileError(NOT_A_VALUE.format(type=type(self.python).__name__), where)

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """What the attribute of the Python value is in a program."""
        value = e.scope.resolver.member(self.python, name)
        if value is MISSING:
            raise CompileError(f"object has no attribute {name}{self._instead(name)}", where)
        return e.wrap(value, where)

    def _instead(self, name: str) -> str:
        """What goes behind the message that a module has no such name."""
        if not isinstance(self.python, types.ModuleType):
            return ""
        alike = get_close_matches(name, dir(self.python), 1)
        meant = f". Did you mean {alike[0]}?" if alike else ""
        return f": the module {self.python.__name__} has none of that name{meant}"

    def _refuse_containers(self, e: Emitter, where: SourceRange) -> None:
        if isinstance(self.python, list | dict | set):
            self.as_value(e, where)

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Never: containers outside of the program are no values."""
        self._refuse_containers(e, where)
        return Sugared.iterate(self, e, where)

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """Never, for the same reason."""
        self._refuse_containers(e, where)
        return Sugared.item(self, e, where, index)

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """Never, for the same reason."""
        self._refuse_containers(e, where)
        return Sugared.length(self, e, where)

    def as_keywords(self, e: Emitter, where: SourceRange) -> dict[str, Sugared]:
        """What a dict outside of the program spreads out in a call."""
        if not isinstance(self.python, dict) or not all(isinstance(name, str) for name in self.python):
            return Sugared.as_keywords(self, e, where)
        return {name: e.wrap(value, where) for name, value in self.python.items()}

    def has_attribute(self, e: Emitter, where: SourceRange, name: str) -> bool:
        """Whether the Python value has it, which is known while compiling."""
        return e.scope.resolver.member(self.python, name) is not MISSING

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call of a function that may have to be compiled for it: that gathers arguments, or takes functions."""
        where = tree.callee.range
        template = template_of(e, self.python)
        if template is None or not _is_compiled_for(e, template, self.python, tree):
            return None
        args, keywords = emit_all(e, tree)
        given_functions = functions_given(template.tree, args, keywords)
        if template.makes_function or makes_function(template.tree, template.resolver, given_functions):
            return call_maker(e, where, template, args, keywords)
        if not _gathers(self.python) and not wants_types(template.tree, template.defaults, args, keywords):
            arguments = [Given(a.value(e), a.where) for a in args]
            named = [Given(k.value(e), k.where, name) for name, k in keywords.items()]
            return self.call(e, where, arguments, named)
        try:
            if yields(template.tree):
                generator = _generator(e, where, template, args, keywords)
                if generator is not None:
                    return generator
            return instantiate(e, where, template, args, keywords)
        except CompileError as error:
            raise error.with_caller(template.tree.name, e.scope.name, where) from None

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of a Python function, which is compiled when it is reached."""
        generated = self._generated(e, where, args, keywords)
        if generated is not None:
            return generated
        template = template_of(e, source_of(self.python))
        has_arrays = e.arrays or any(holds_arrays(g.value.static_type) for g in (*args, *keywords))
        if template is not None and (has_arrays or brings_types(template, args, keywords)):
            return call_for_types(e, where, template, args, keywords)
        if (
            not e.arrays
            and any(holds_tensors(g.value.static_type) for g in (*args, *keywords))
            and _takes_arrays(self.python)
        ):
            raise CompileError(TAKES_ARRAYS.format(name=self.python.__name__), where)
        function = e.scope.resolver.compile_function(self.python, where)
        if function is not None:
            return SimpleValue(call_function(e, where, function, args, keywords))
        if isinstance(self.python, types.BuiltinFunctionType):
            raise CompileError(UNSUPPORTED_BUILTIN.format(value=self.python), where)
        if isinstance(self.python, type):
            raise CompileError(NO_OBJECT.format(kind=self.kind, name=self.python.__name__), where)
        raise CompileError(f"cannot call a {self.kind}", where)

    def transformed(self, e: Emitter, transform: Transform) -> Sugared | None:
        """What a transform makes of a function that may have to be compiled for a call; None for others."""
        template = template_of(e, source_of(self.python))
        if template is None or not is_open(template):
            return None
        return TransformedFunction(self.python, template, (transform,))

    def specialised(
        self, e: Emitter, where: SourceRange, args: Sequence[Given], transform: Transform
    ) -> tuple[Function, list[Given]] | None:
        """What a transform makes of a function without annotations for arguments that are more than tensors."""
        template = template_of(e, source_of(self.python))
        if template is None or not brings_types(template, args, []):
            return None
        return specialised_for_types(e, where, template, args, (transform,))

    def _generated(
        self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]
    ) -> Sugared | None:
        """A call of a generator; None for other functions."""
        fn = self.python
        is_generator = isinstance(fn, Def) or (
            isinstance(fn, types.FunctionType) and inspect.isgeneratorfunction(innermost_function(fn))
        )
        template = (
            e.scope.resolver.template(fn) if is_generator and isinstance(e.scope.resolver, TemplateResolver) else None
        )
        if template is None or not yields(template.tree):
            return None

        def listed(e: Emitter) -> Value:
            function = e.scope.resolver.compile_function(fn, where)
            assert function is not None
            return call_function(e, where, function, args, keywords)

        positional = [Argument(SimpleValue(a.value), a.where) for a in args]
        named = {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords}
        return generator_call(
            e, template.tree, template.resolver, template.defaults, positional, named, listed, template.compile
        )


def _takes_arrays(python: Any) -> bool:
    """Whether a function is annotated for arrays of NumPy."""
    source = source_of(python)
    if not isinstance(source, types.FunctionType):
        return False
    function = innermost_function(source)
    annotations = [a for name, a in function.__annotations__.items() if name != "return"]
    return any(may_name_arrays(a, function.__globals__.get) for a in annotations)


def _generator(
    e: Emitter, where: SourceRange, template: Template, args: Sequence[Argument], keywords: Mapping[str, Argument]
) -> Sugared | None:
    """A call of a generator that is given functions or generators."""

    def listed(e: Emitter) -> Value:
        return instantiate(e, where, template, args, keywords).as_value(e, where)

    return generator_call(
        e, template.tree, template.resolver, template.defaults, args, keywords, listed, template.compile
    )


def _is_compiled_for(e: Emitter, template: Template, python: Any, tree: Apply) -> bool:
    """Whether a function may have to be compiled for a call: its arguments or its parameters ask for that."""
    if template.makes_function is None:
        template.makes_function = makes_function(template.tree, template.resolver, {})
    defaults = template.defaults.values()
    if _gathers(python) or template.makes_function or any(d is None or is_function(d) for d in defaults):
        return True
    if any(p.annotation is not None and takes_anything(p) for p in template.tree.decl.params):
        return True
    return any(may_be_function(e, arg) for arg in (*tree.args, *(k.value for k in tree.keywords)))


def _gathers(python: Any) -> bool:
    if isinstance(python, Def):
        return python.decl.vararg is not None or python.decl.kwarg is not None
    code = innermost_function(python).__code__  # a decorator's own function may take anything
    return bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))


def may_be_function(e: Emitter, tree: Expr) -> bool:
    """Whether an argument may be a function or an object, as its tree tells."""
    if isinstance(tree, Var):
        meaning = e.scope.find(tree.name)
        if isinstance(meaning, Variable):
            return isinstance(meaning.type, OBJECTS)
        if meaning is not None:
            return not isinstance(meaning, SimpleValue)
    if isinstance(tree, Var | Select):
        value = e.python_value(tree)
        return callable(value) or (value is MISSING and isinstance(tree, Select))
    return isinstance(tree, Lambda | NoneLit | Apply | Subscript | TernaryIf | GeneratorListComp | GeneratorComp)


@dataclass(slots=True)
class PartialValue(Sugared):
    """`functools.partial(f, 1, k=2)`: a function with some arguments given."""

    python: functools.partial[Any]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "partial function"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with the given arguments before the others."""

        def given(value: Any, name: str = "") -> Given:
            return Given(e.wrap(value, where).as_value(e, where), where, name)

        first = [given(value) for value in self.python.args]
        named = {name: given(value, name) for name, value in self.python.keywords.items()}
        named.update({keyword.name: keyword for keyword in keywords})
        return e.wrap(self.python.func, where).call(e, where, [*first, *args], list(named.values()))


@dataclass(slots=True)
class FunctionValue(Sugared):
    """A compiled function."""

    function: Function

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The function itself."""
        return e.function_constant(self.function)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call."""
        return SimpleValue(call_function(e, where, self.function, args, keywords))


def wrap(e: Emitter, value: Any, where: SourceRange) -> Sugared:
    """What a Python value is in a program. Raises CompileError for a constant beyond 64 bits."""
    if isinstance(value, Sugared):
        return value
    for rule in _MEANINGS:
        meaning = rule(e, value, where)
        if meaning is not None:
            return meaning
    try:
        type_ = constant_type(value)
        return SimpleValue(e.constant(constant_value(value), type_))
    except OverflowError as error:
        raise CompileError(str(error), where) from None
    except TypeError:
        return PythonValue(value)


def _resolved(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    """What whoever compiles says that the value is: modules, for example."""
    meaning = e.scope.resolver.sugared(value, where)
    return meaning if isinstance(meaning, Sugared) else None


def _builtin(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    if isinstance(value, bool):
        return ConditionValue(Condition(known=value))
    try:
        return BUILTINS.get(value)
    except TypeError:
        return None


def _of_library(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    """Streams, and functions of Python's library that are written in the language."""
    stream = stream_value(value)
    return library_function(value) if stream is None else stream


def _of_numpy(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    function = numpy_creation(value) or numpy_function(value)
    if function is not None:
        return function
    dtype = numpy_dtype(value, where)
    return None if dtype is None else scalar_class(e, dtype)


def _language_form(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    """`annotate`, `fork` and the like, which say themselves what they are."""
    form = None if isinstance(value, types.ModuleType) else getattr(value, "language_form", None)
    if not isinstance(form, str):
        return None
    return FutureFunction(SimpleValue, form, value) if form in FUTURE_FUNCTIONS else LANGUAGE_FORMS.get(form)


def _operator(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    name = e.scope.resolver.operator_name(value)
    choice = wrap_choice(value, name)
    return choice if choice is not None or name is None else OperatorValue(name)


def _function(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    if isinstance(value, Function):
        return FunctionValue(value)
    if isinstance(value, functools.partial):
        return PartialValue(value)
    return PythonFunction(value) if isinstance(value, CACHED) else None


def _class(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    if value is Tensor:
        return TypedTensorClass("Tensor", None)
    if isinstance(value, TypedTensor):
        return TypedTensorClass(value.__name__, value.dtype.code)
    return (wrap_class(e, value, where) or PythonValue(value)) if isinstance(value, type) else None


def _array(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    """An array or a scalar of NumPy around a program on arrays: a constant, on the memory of the array."""
    if not e.arrays or not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in _NUMERIC:
        return None
    tensor = from_numpy_or_copy(np.asarray(value))
    return SimpleValue(as_number(e, e.constant(tensor, array_of(tensor.dtype, tensor.dim()))))


def _group(e: Emitter, value: Any, where: SourceRange) -> Sugared | None:
    """Functions in a tuple, a list or a dict; `itemgetter` and the like."""
    return wrap_group(e, value, where) or wrap_getter(e, value, where)


_NUMERIC: Final = "biufc"
"""The kinds of NumPy's dtypes that tensors have."""
_MEANINGS: Final = (
    _resolved, _builtin, _of_library, _of_numpy, _language_form, _operator, _function, _class, _array, _group
)  # fmt: skip
"""What a Python value may be beside a constant, asked in this order; None of each for what it does not know."""
