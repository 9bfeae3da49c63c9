"""Which overload a call means, and the nodes that call it.

Each overload is tried without conversions first, then with them; the first that fits is taken. Trying emits nothing: an
attempt ends in a conversion per argument, or in the sentence that says why it does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from flambeau.frontend.emit.call_causes import NUMPY_KEYWORDS, cause
from flambeau.frontend.emit.dtype_operands import check_numbers
from flambeau.frontend.emit.empty_attributes import explained
from flambeau.frontend.emit.float_powers import about_power
from flambeau.frontend.emit.fresh_containers import written_as
from flambeau.frontend.emit.implicit_conversions import (
    Conversion,
    conversion_to,
    is_container,
    is_empty_literal,
    keep,
    pack_list,
    pack_tuple,
)
from flambeau.frontend.emit.numpy.array_promotion import note_results
from flambeau.frontend.emit.overload_memory import fit_of, key_of, remember
from flambeau.frontend.emit.schema_mismatches import Mismatch, unknown_operator_text, why_unbound, wrong_type
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.frontend.scopes.python_constants import default_type
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema import registry
from flambeau.schema.array_type import ArrayType, array_of, holds_arrays
from flambeau.schema.dtype import uint64
from flambeau.schema.element_type import is_element, kinds_of
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.schema.match import Bindings, bind, fits, has_variables, result_types, substitute
from flambeau.schema.shown_type import shown_type
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NUMBER,
    AnyType,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    VarType,
)
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.record import dataclass, field, replace
from flambeau.util.source import SourceRange

NO_VARIANT = "{cause}Arguments for call are not valid. {closest}:\n{variants}"
ORIGINAL_CALL = "The original call is"
TOO_MANY = "Expected at most {wanted} arguments but found {found} positional arguments."
POSITIONAL = "{name}() got some positional-only arguments passed as keyword arguments: '{parameter}'"
TO_METHOD = (
    "methods take tensors: annotate their parameter as {name}: Tensor to say that the array means what operators mean "
    "there, or write a function with an np.ndarray parameter in the method's place"
)
AMONG_PYTHONS = instead(
    "an np.{name} among numbers of Python would compute as those do when it is read: write {code} to make it one",
    "float(x[0])", of="float(x[0])", given="x: np.ndarray", shown="{python}(...)",
)  # fmt: skip
@dataclass(slots=True)
class Match:
    """A schema that fits a call, and how to make its operands."""

    schema: FunctionSchema
    conversions: list[Conversion]
    returns: tuple[Type, ...]
    narrows: bool = False
    """Whether it takes a number of which only the run tells what it is for an int."""
    implicit: bool = False
    """Whether it was found by the attempt with conversions."""

    def operands(self, e: Emitter) -> list[Value]:
        """The operands, emitted."""
        return [convert(e) for convert in self.conversions]


@dataclass(slots=True)
class _Attempt:
    """Fitting the arguments of one call to one schema."""

    schema: FunctionSchema
    args: Sequence[Given]
    keywords: Sequence[Given]
    implicit: bool
    bindings: Bindings = field(default_factory=dict)
    bound: list[tuple[Argument, Type]] = field(default_factory=list)
    used: int = 0
    narrows: bool = False

    def run(self) -> Match:
        by_name = self.keywords_by_name()
        conversions: list[Conversion] = []
        for index, formal in enumerate(self.schema.arguments):
            if not formal.kwarg_only and self.used < len(self.args):
                if formal.name in by_name:
                    raise Mismatch(f"Argument {formal.name} specified twice.")
                conversions.append(self.variable_list(index, formal) or self.argument(formal, self.args[self.used]))
                self.used += 1
            elif formal.name in by_name and formal.positional_only:
                raise Mismatch(POSITIONAL.format(name=self.schema.name.rpartition("::")[2], parameter=formal.name))
            elif formal.name in by_name:
                conversions.append(self.argument(formal, by_name.pop(formal.name)))
            elif formal.has_default:
                conversions.append(self.default(formal))
            else:
                raise Mismatch(f"Argument {formal.name} not provided.")
        if self.schema.is_vararg:
            conversions += [keep(extra.value) for extra in self.args[self.used :]]
        elif self.used < len(self.args):
            raise Mismatch(TOO_MANY.format(wanted=len(self.schema.positional), found=len(self.args)))
        for name in by_name:
            raise Mismatch(f"Keyword argument {name} unknown.")
        return Match(self.schema, conversions, result_types(self.schema, self.bindings), self.narrows, self.implicit)

    def keywords_by_name(self) -> dict[str, Given]:
        """The keywords; `input` names the argument `self` of an operator."""
        by_name: dict[str, Given] = {}
        names = self.schema.index
        for keyword in self.keywords:
            name = "self" if keyword.name == "input" and "input" not in names and "self" in names else keyword.name
            if name in by_name:
                raise Mismatch(f"Argument {name} specified twice.")
            by_name[name] = keyword
        return by_name

    def argument(self, formal: Argument, passed: Given) -> Conversion:
        """The conversion of one argument that was given."""
        value, wanted = passed.value, formal.type
        if formal.broadcast is not None:
            element = _element(wanted)
            if element is not None and is_subtype(value.static_type, element):
                count = formal.broadcast
                return lambda e: pack_list(e, [value] * count, element)
        is_open = has_variables(wanted)
        if is_open and self.is_taken_on(value):
            wanted = self.filled_in(wanted, value)
            is_open = has_variables(wanted)
        actual, conversion = conversion_to(value, wanted, implicit=self.implicit)
        self.narrows = self.narrows or (value.static_type == NUMBER and actual == INT)
        if is_open:
            before = dict(self.bindings)
            if not bind(wanted, actual, self.bindings):
                own = shown_type(value.static_type)
                raise Mismatch(
                    f"Could not match type {own} to {shown_type(wanted)} in argument '{formal.name}': "
                    f"{why_unbound(wanted, actual, before)}."
                )
            if not fits(wanted, actual, dict(self.bindings)):
                raise Mismatch(partial(wrong_type, formal, actual))
            if any(not fits(f.type, t, dict(self.bindings)) for f, t in self.bound):
                raise Mismatch(partial(wrong_type, formal, actual))
            self.bound.append((formal, actual))
        elif not is_subtype(actual, wanted):
            raise Mismatch(partial(wrong_type, formal, value.static_type, actual))
        return conversion

    def is_taken_on(self, value: Value) -> bool:
        """Whether a value may take on what earlier arguments bound."""
        return is_container(value.static_type) or (self.implicit and value.static_type == NUMBER)

    def filled_in(self, wanted: Type, value: Value) -> Type:
        """The type with its variables filled in, if earlier arguments bound them and a new container, or a number of
        which only the run tells what it is, can be of it."""
        try:
            filled = substitute(wanted, self.bindings)
        except KeyError:
            return wanted
        is_number = value.static_type == NUMBER and filled in (INT, FLOAT)
        return filled if is_number or is_empty_literal(value) or written_as(value, filled) is not None else wanted

    def variable_list(self, index: int, formal: Argument) -> Conversion | None:
        """The conversion of a trailing list that is given item by item, as in `x.view(2, 3)`; None if it is not."""
        element = _element(formal.type)
        following = self.schema.arguments[index + 1 : index + 2]
        is_last = not following or following[0].kwarg_only
        if element is None or isinstance(element, VarType | AnyType) or not is_last or formal.broadcast:
            return None
        items = self.args[self.used :]
        if not self.are_items(items, formal, element):
            return None
        conversions: list[Conversion] = []
        for item in items:
            actual, conversion = conversion_to(item.value, element, implicit=True)
            if not is_subtype(actual, element):
                raise Mismatch(partial(wrong_type, Argument("<varargs>", element), item.value.static_type))
            conversions.append(conversion)
        self.used = len(self.args) - 1
        return lambda e: pack_list(e, [convert(e) for convert in conversions], element)

    def are_items(self, items: Sequence[Given], formal: Argument, element: Type) -> bool:
        """Whether arguments are the items of a list of that element type, and the first one not the list itself."""
        has_tensors = any(isinstance(item.value.static_type, TensorType) for item in items)
        if formal.name == "self" and (has_tensors or not self.implicit):
            return False  # `max(a, b)` is of two numbers and `x.sum(dim)` of a tensor, not of the list of both
        first = items[0].value.static_type
        first = first.element if isinstance(first, OptionalType) else first
        if isinstance(first, TupleType) and all(is_subtype(t, element) for t in first.elements):
            return False
        return not isinstance(first, ListType) and (len(items) > 1 or not is_subtype(first, formal.type))

    @staticmethod
    def default(formal: Argument) -> Conversion:
        """The conversion of an argument that was left out."""
        value = formal.default
        return lambda e: e.constant(value, default_type(value, formal.type))


MIXED_UNSIGNED = (
    "this number is a Python int, or another, on one way here and a np.uint64 on another: start it as np.uint64(...)"
)


def match_schema(schema: FunctionSchema, args: Sequence[Given], keywords: Sequence[Given], *, implicit: bool) -> Match:
    """How the call fits the schema. Raises `Mismatch` if it does not."""
    return _Attempt(schema, args, keywords, implicit).run()


def match_schemas(
    schemas: Sequence[FunctionSchema], args: Sequence[Given], keywords: Sequence[Given], where: SourceRange
) -> Match:
    """The first schema that fits, without conversions if one does. Raises CompileError with every schema's reason."""
    if len(schemas) == 1:
        return match_single(schemas[0], args, keywords, where)
    narrowing: Match | None = None
    for implicit in (False, True):
        for schema in schemas:
            try:
                match = match_schema(schema, args, keywords, implicit=implicit)
            except Mismatch:
                continue
            if not match.narrows:
                return match
            narrowing = narrowing or match  # an overload for floats takes all numbers
    if narrowing is not None:
        return narrowing
    raise CompileError(_no_variant(schemas, args, keywords, where) + ORIGINAL_CALL, where)


def match_single(schema: FunctionSchema, args: Sequence[Given], keywords: Sequence[Given], where: SourceRange) -> Match:
    """How the call fits the only schema there is. Raises CompileError with the schema and the reason."""
    try:
        return match_schema(schema, args, keywords, implicit=True)
    except Mismatch as mismatch:
        why = _cause([schema], args, keywords, where)
        raise CompileError(f"{f'{why}.' if why else ''}\n{schema}:\n{mismatch}\n", where) from None


def _no_variant(
    schemas: Sequence[FunctionSchema], args: Sequence[Given], keywords: Sequence[Given], where: SourceRange
) -> str:
    """What is wrong with the call, and the overloads that come closest with the reasons why it does not fit them."""
    asks_for_out = any(k.name == "out" for k in keywords)
    plain = [s for s in schemas if asks_for_out or not any(a.is_out for a in s.arguments)] or list(schemas)
    plain.sort(key=lambda schema: -_likeness(schema, args, keywords))
    shown = plain if len(plain) <= 2 else plain[:1]
    variants = "".join(f"  {schema}: {_reason(schema, args, keywords)}\n" for schema in shown)
    closest = "The variants are" if len(shown) == len(plain) else f"The closest of {len(plain)} variants is"
    why = _cause(plain, args, keywords, where)
    return NO_VARIANT.format(cause=f"{why}.\n" if why else "", closest=closest, variants=variants)


def _cause(
    schemas: Sequence[FunctionSchema], args: Sequence[Given], keywords: Sequence[Given], where: SourceRange
) -> str:
    texts = [_text(argument, index, where) for index, argument in enumerate(args)]
    why = cause(schemas[0].name, schemas, texts, [g.value.static_type for g in args], [k.name for k in keywords])
    power = next(filter(None, (about_power(g.value) for g in args)), "")
    return why + (power if why else power.removeprefix(". "))


def _text(argument: Given, index: int, where: SourceRange) -> str:
    """An argument as the user wrote it; operands, of which only the whole expression is known, by their names."""
    if argument.where != where and "\n" not in argument.where.text:
        return argument.where.text
    node = argument.value.defining_node
    if node is not None and node.op == "prim::Load":
        return str(node.attribute("name")).partition(".")[0].partition("$")[0]
    if node is None and argument.value.has_name:
        return argument.value.name.partition(".")[0]
    return ("the left operand", "the right operand")[index] if index < 2 else f"argument {index}"


def _reason(schema: FunctionSchema, args: Sequence[Given], keywords: Sequence[Given]) -> str:
    try:
        match_schema(schema, args, keywords, implicit=True)
    except Mismatch as mismatch:
        return str(mismatch).replace("\n", " ")
    return "Arguments fit."


def _likeness(schema: FunctionSchema, args: Sequence[Given], keywords: Sequence[Given]) -> int:
    """How many arguments are what the schema wants; the first counts most, and half those that may also be None."""
    points = sum(NUMPY_KEYWORDS.get(k.name, k.name) in schema.index for k in keywords)
    for index, (formal, passed) in enumerate(zip(schema.arguments, args, strict=False)):
        actual = passed.value.static_type
        inner = actual.element if isinstance(actual, OptionalType) else actual
        is_right = bind(formal.type, inner, {}) if has_variables(formal.type) else is_subtype(inner, formal.type)
        points += is_right * (2 if inner is actual else 1) * (1 if index else 2)
    return points - 2 * max(0, len(args) - len(schema.positional))


def emit_match(e: Emitter, kind: str, match: Match, where: SourceRange) -> Value:
    """The node that calls a matched operator; several results become a tuple, none None."""
    with e.graph.at_range(where):
        operands = [as_int(e, where, value, kind) for value in match.operands(e)]
        returns: Sequence[Type] = match.returns
        if e.type_variables.is_pending:
            inputs = [value.static_type for value in operands]
            returns = [e.type_variables.derived(inputs, type_) for type_ in returns]
        node = e.graph.insert(kind, operands, returns)
        note_results(node, operands)
        if len(node.results) == 1:
            return node.result()
        if not node.results:
            return e.constant(None)
        return pack_tuple(e, node.results, _named_result(match))


def call_operator(
    e: Emitter, where: SourceRange, name: str, args: Sequence[Given | Value], keywords: Sequence[Given] = ()
) -> Value:
    """Call a builtin operator by its qualified name. Raises CompileError if no overload fits or none exists."""
    name, operands = _with_unsigned(e, name, [a if isinstance(a, Given) else Given(a, where) for a in args])
    schemas = [definition.schema for definition in registry.overloads(name)]
    if not schemas:
        raise CompileError(unknown_operator_text(name), where)
    e.type_variables.unify_operator(name, [g.value.static_type for g in operands])
    if operands and is_element(operands[-1].value.static_type) and any(s.stored for s in schemas):
        _check_keeps(operands[0].value.static_type, operands[-1].value.static_type, where)
    if not keywords and any(g.value.static_type == BOOL for g in operands):
        operands = _without_bools(e, where, schemas, operands)
    try:
        match = _remembered_match(name, schemas, operands, keywords, where)
    except CompileError as error:
        raise explained(error, name, [g.value for g in operands]) from None
    check_numbers(match.schema, operands, where)
    return emit_match(e, name, match, where)


def _remembered_match(
    name: str, schemas: Sequence[FunctionSchema], args: Sequence[Given], keywords: Sequence[Given], where: SourceRange
) -> Match:
    key = key_of(name, args, keywords)
    known = fit_of(key)
    if known is not None:
        with suppress(Mismatch):
            return match_schema(known.schema, args, keywords, implicit=known.implicit)
    match = match_schemas(schemas, args, keywords, where)
    remember(key, match.schema, implicit=match.implicit)
    return match


def _with_unsigned(e: Emitter, name: str, operands: list[Given]) -> tuple[str, list[Given]]:
    """An operator on numbers of uint64 that takes them as they are: beside arrays, and where a float is made of one."""
    if all(kinds_of(g.value.static_type) != (uint64,) for g in operands):
        return name, operands
    if any(isinstance(g.value.static_type, ArrayType) for g in operands):
        return name, [_as_array_of_one(e, g) for g in operands]
    if name != "aten::Float":
        return name, operands
    bits = e.emit("prim::unchecked_cast", (operands[0].value,), INT)
    return "python::uint64_float", [replace(operands[0], value=bits)]


def _as_array_of_one(e: Emitter, operand: Given) -> Given:
    """A number of uint64 beside arrays as an array without dimensions; other operands as they are."""
    if kinds_of(operand.value.static_type) != (uint64,):
        return operand
    bits = e.emit("prim::unchecked_cast", (operand.value,), INT)
    options = (e.constant(uint64.code), e.constant(None), e.constant(False))
    return replace(operand, value=e.emit("aten::tensor", (bits, *options), array_of(uint64, 0)))


def as_int(e: Emitter, where: SourceRange, value: Value, kind: str = "") -> Value:
    """A number of uint64 as the int that operators take, which has to be below 2**63; other values as they are."""
    kinds = kinds_of(value.static_type)
    if uint64 not in kinds:
        return value
    if len(kinds) > 1:
        raise CompileError(MIXED_UNSIGNED, where)
    bits = e.emit("prim::unchecked_cast", (value,), INT)
    return bits if kind == "aten::Bool" else e.emit("python::uint64_int", (bits,), INT)


def _check_keeps(container: Type, item: Type, where: SourceRange) -> None:
    """Raise CompileError for a scalar of NumPy of fewer bits among numbers of Python: it would compute as those do."""
    element = container.element if isinstance(container, ListType) else None
    element = container.value if isinstance(container, DictType) else element
    if element is None or element != item:
        return
    kinds = kinds_of(element)
    lost = [kind for kind in kinds_of(item) if kind is not None and kind not in kinds and kind.itemsize < 8]
    if lost and item != BOOL:
        raise CompileError(AMONG_PYTHONS.format(name=lost[0].name, python=item.annotation), where)


def _without_bools(
    e: Emitter, where: SourceRange, schemas: Sequence[FunctionSchema], operands: Sequence[Given]
) -> list[Given]:
    """The operands of an operator on numbers, bools made ints or floats where it has no overload of its own for them.

    `n + (x > y)` is an int: the overload of any two numbers would not say so.
    """
    types = [g.value.static_type for g in operands]
    if not all(t in (BOOL, INT, FLOAT, COMPLEX) for t in types):
        return list(operands)
    for schema in schemas:
        try:
            match_schema(schema, operands, (), implicit=False)
        except Mismatch:
            continue
        formals = [a.type for a in schema.arguments[: len(operands)]]
        is_own = all(t != BOOL or f != NUMBER for t, f in zip(types, formals, strict=False))
        if is_own or any(isinstance(r.type, TensorType) for r in schema.returns):
            return list(operands)
        break
    kind = "aten::Float" if FLOAT in types else "aten::Int"
    return [Given(call_operator(e, where, kind, [g]), g.where) if g.value.static_type == BOOL else g for g in operands]


def call_function(
    e: Emitter, where: SourceRange, function: Function, args: Sequence[Given], keywords: Sequence[Given]
) -> Value:
    """Call a compiled function."""
    _unify(e, function.schema, args, keywords)
    match = match_single(function.schema, args, keywords, where)
    with e.graph.at_range(where):
        operands = match.operands(e)
        callee = e.function_constant(function)
        return e.emit("prim::CallFunction", (callee, *operands), function.result or match.returns[0])


def _unify(e: Emitter, schema: FunctionSchema, args: Sequence[Given], keywords: Sequence[Given]) -> None:
    """Unify the types of arguments with those of parameters: a list of unknown items learns what it holds."""
    for formal, actual in zip(schema.arguments, args, strict=False):
        e.type_variables.unify(actual.value.static_type, formal.type)
    for actual in keywords:
        if actual.name in schema.index:
            e.type_variables.unify(actual.value.static_type, schema.arguments[schema.index[actual.name]].type)


def call_method(
    e: Emitter,
    where: SourceRange,
    method: Function | FunctionSchema,
    name: str,
    owner: Value,
    args: Sequence[Given],
    keywords: Sequence[Given],
) -> Value:
    """Call a method of an object, compiled or known only by the signature of an interface."""
    schema = method if isinstance(method, FunctionSchema) else method.schema
    for argument in (*args, *keywords):
        if holds_arrays(argument.value.static_type):
            _check_takes_tensors(schema, argument, args, where)
    _unify(e, schema, [Given(owner, where), *args], keywords)
    match = match_single(schema, [Given(owner, where), *args], keywords, where)
    with e.graph.at_range(where):
        operands = match.operands(e)
        return e.emit("prim::CallMethod", operands, match.returns[0], name=name)


def _check_takes_tensors(schema: FunctionSchema, argument: Given, args: Sequence[Given], where: SourceRange) -> None:
    """Raise CompileError for an array that is given to a method whose parameter does not say that it is a tensor."""
    index = args.index(argument) + 1 if argument in args else schema.index.get(argument.name, len(schema.arguments))
    formal = schema.arguments[index] if index < len(schema.arguments) else None
    if formal is not None and isinstance(formal.type, TensorType) and formal.type.inferred:
        raise CompileError(TO_METHOD.format(name=formal.name), where)


def _named_result(match: Match) -> TupleType | None:
    """The tuple type of several results; its fields are named if the schema names them all."""
    names = tuple(r.name for r in match.schema.returns)
    if len(names) < 2 or not all(names):
        return None
    return TupleType(match.returns, match.schema.name.rpartition("::")[2], names)


def _element(type_: Type) -> Type | None:
    inner = type_.element if isinstance(type_, OptionalType) else type_
    return inner.element if isinstance(inner, ListType) else None
