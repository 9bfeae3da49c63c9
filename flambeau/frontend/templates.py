"""Functions compiled for a call: those that gather arguments, take functions, or see variables of a function around.

def g(x, *rest): ...      g(1, 2.5, 3)    →    g compiled with x : int and rest : (float, int)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from flambeau.frontend.bound import Bound
from flambeau.frontend.constants import constant_type, constant_value
from flambeau.frontend.emit.conversions import pack_tuple
from flambeau.frontend.emit.environment import Variable
from flambeau.frontend.emit.schema_matching import call_function
from flambeau.frontend.resolver import Resolver
from flambeau.frontend.trees.views import Apply, Def, Expr, Ident, Param, Starred, Stmt, Var
from flambeau.frontend.values.keywords import KeywordsValue
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Given, Sugared
from flambeau.ir.value import Value
from flambeau.program.function import Function
from flambeau.schema.types import TensorType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.frontend.emit.emission import Emission

Compiler = Callable[..., Function]
TOO_MANY = "{name}() takes {wanted} positional arguments but {found} were given"
MISSING = "{name}() is missing the argument '{parameter}'"
UNKNOWN = "{name}() got an unexpected keyword argument '{keyword}'"
TWICE = "{name}() got multiple values for argument '{parameter}'"


@dataclass(slots=True)
class Template:
    """A function's tree, where its names are looked up, and what was compiled from it."""

    tree: Def
    resolver: Resolver
    defaults: Mapping[str, Any]
    compile: Compiler
    """`compile_def`, given so that this module need not know it."""
    done: dict[Any, tuple[Function, Bound]] = field(default_factory=dict)
    """What was compiled, with what it was compiled for, which has to live as long."""
    active: set[Any] = field(default_factory=set)


@runtime_checkable
class TemplateResolver(Protocol):
    """What else a resolver can do: give Python functions as templates."""

    def template(self, fn: Any) -> Template | None:
        """The template of a Python function; None for what has no source of its own."""


@dataclass(slots=True)
class Argument:
    """An argument of a call: a value of the graph, or something that only means one."""

    sugared: Sugared
    where: SourceRange

    def value(self, e: Emission) -> Value:
        """The value. Raises CompileError if it is none."""
        return self.sugared.as_value(e, self.where)

    @property
    def is_value(self) -> bool:
        """Whether it can be passed as a value of the graph."""
        return isinstance(self.sugared, SimpleValue)


def emit_all(e: Emission, tree: Apply) -> tuple[list[Argument], dict[str, Argument]]:
    """The arguments of a call, functions among them, stars spread out."""
    args: list[Argument] = []
    for arg in tree.args:
        if isinstance(arg, Starred):
            items = e.sugared(arg.value).as_tuple(e, arg.range)
            args += [Argument(_settled(e, item, arg), arg.range) for item in items]
        else:
            args.append(Argument(_settled(e, e.sugared(arg), arg), arg.range))
    keywords: dict[str, Argument] = {}
    for keyword in tree.keywords:
        if keyword.name == "**":
            for name, value in e.sugared(keyword.value).as_keywords(e, keyword.range).items():
                keywords[name] = Argument(value, keyword.range)
        else:
            keywords[keyword.name] = Argument(_settled(e, e.sugared(keyword.value), keyword.value), keyword.value.range)
    return args, keywords


def _settled(e: Emission, found: Sugared, tree: Expr) -> Sugared:
    """A value of the graph where it is one; conditions become bools."""
    value = found.held(e, tree.range)
    return found if value is None else SimpleValue(value)


def instantiate(
    e: Emission,
    where: SourceRange,
    template: Template,
    args: Sequence[Argument],
    keywords: Mapping[str, Argument],
    captured: Mapping[str, Sugared] | None = None,
) -> Sugared:
    """A call of the function as compiled for these arguments; `captured` is what it sees of a function around it."""
    tree = template.tree
    given = _matched(tree, args, keywords)
    types: dict[str, Type] = {}
    constants: dict[str, Sugared] = {}
    values: list[Given] = []
    extra: list[Param] = []
    for param in tree.decl.params:
        argument = given.pop(param.name, None)
        if argument is None:
            if param.name not in template.defaults:
                raise CompileError(MISSING.format(name=tree.name, parameter=param.name), where)
            _default_type(e, param, template.defaults[param.name], types)
        elif argument.is_value:
            value = argument.value(e)
            if param.annotation is None:
                types[param.name] = TensorType() if isinstance(value.type, TensorType) else value.type
            values.append(Given(value, argument.where, param.name))
        else:
            constants[param.name] = _carried(e, param.name, argument, types, constants, values, extra)
    _gather(e, tree, given, types, constants, values, extra, where)
    for name, sugared in (captured or {}).items():
        if isinstance(sugared, SimpleValue):
            extra.append(_param(name, where))
            types[name] = sugared.value.type
            values.append(Given(sugared.value, where, name))
        else:
            constants[name] = sugared
    open_ = e.unsettled.ids(list(types.values()))
    bound = Bound(types, constants, tuple(extra), e.unsettled if open_ else None)
    function = _compiled(template, bound, where, open_)
    return SimpleValue(call_function(e, where, function, (), values))


def _carried(
    e: Emission,
    parameter: str,
    argument: Argument,
    types: dict[str, Type],
    constants: dict[str, Sugared],
    values: list[Given],
    extra: list[Param],
) -> Sugared:
    """A function that is an argument: what it reads of the caller goes along, under names of its own."""
    function, where = argument.sugared, argument.where
    if not isinstance(function, ClosureValue):
        return function
    names: dict[str, str] = {}
    for name, found in function.captured(e).items():
        hidden = f"{parameter}_{name}"
        names[name] = hidden
        if isinstance(found, SimpleValue):
            extra.append(_param(hidden, where))
            types[hidden] = found.value.type
            values.append(Given(found.value, where, hidden))
        else:
            constants[hidden] = found
    return ClosureValue(function.template, function.free, names)


def _default_type(e: Emission, param: Param, default: Any, types: dict[str, Type]) -> None:
    """A parameter without annotation that is left out has the type of its default."""
    if param.annotation is None:
        try:
            types[param.name] = constant_type(constant_value(default))
        except TypeError:
            return


def _matched(tree: Def, args: Sequence[Argument], keywords: Mapping[str, Argument]) -> dict[str, Any]:
    """Arguments by parameter; what is left over is under `*` and `**`."""
    positional = [p for p in tree.decl.params if not p.keyword_only]
    found: dict[str, Any] = {p.name: a for p, a in zip(positional, args, strict=False)}
    rest = list(args[len(positional) :])
    if rest and tree.decl.vararg is None:
        text = TOO_MANY.format(name=tree.name, wanted=len(positional), found=len(args))
        raise CompileError(text, rest[0].where)
    names = {p.name for p in tree.decl.params}
    others: dict[str, Argument] = {}
    for name, argument in keywords.items():
        if name in found:
            raise CompileError(TWICE.format(name=tree.name, parameter=name), argument.where)
        if name in names:
            found[name] = argument
        elif tree.decl.kwarg is None:
            raise CompileError(UNKNOWN.format(name=tree.name, keyword=name), argument.where)
        else:
            others[name] = argument
    return {**found, "*": rest, "**": others}


def _gather(
    e: Emission,
    tree: Def,
    given: Mapping[str, Any],
    types: dict[str, Type],
    constants: dict[str, Sugared],
    values: list[Given],
    extra: list[Param],
    where: SourceRange,
) -> None:
    """What `*args` and `**options` get: a tuple, and a value for each name."""
    vararg, kwarg = tree.decl.vararg, tree.decl.kwarg
    if vararg is not None:
        packed = pack_tuple(e, [argument.value(e) for argument in given["*"]])
        types[vararg.name] = packed.type
        extra.append(vararg)
        values.append(Given(packed, where, vararg.name))
    if kwarg is not None:
        slots: dict[str, str] = {}
        for name, argument in given["**"].items():
            slot = f"{kwarg.name}_{name}"
            value = argument.value(e)
            slots[name], types[slot] = slot, value.type
            extra.append(_param(slot, where))
            values.append(Given(value, argument.where, slot))
        constants[kwarg.name] = KeywordsValue(slots)


def _param(name: str, where: SourceRange) -> Param:
    return Param(where, Ident(where, name), None, None, True)


def _compiled(template: Template, bound: Bound, where: SourceRange, open_: tuple[int, ...]) -> Function:
    tree = template.tree
    meanings = tuple((n, _key(c)) for n, c in bound.constants.items())
    key = (tuple(bound.types.items()), meanings, open_)
    found = template.done.get(key)
    if found is not None:
        return found[0]
    if key in template.active:
        text = f"function '{tree.name}' is called recursively. Recursive calls are not supported"
        raise CompileError(text, where)
    template.active.add(key)
    try:
        made = template.compile(tree, template.resolver, defaults=template.defaults, bound=bound)
    finally:
        template.active.discard(key)
    template.done[key] = (made, bound)
    return made


def _key(sugared: Sugared) -> Any:
    """What tells one meaning of a name from another."""
    return (type(sugared), tuple(sugared.slots.items())) if isinstance(sugared, KeywordsValue) else id(sugared)


# -- functions inside functions ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class ClosureValue(Sugared):
    """A nested function or a lambda. What it reads of the function around it is read when it is called."""

    template: Template
    free: tuple[str, ...]
    """Names it reads and does not bind."""
    names: Mapping[str, str] | None = None
    """Under which names they are found where it is called; None where it was defined."""

    @property
    def kind(self) -> str:
        """As messages call it."""
        return "function"

    def call_tree(self, e: Emission, tree: Apply, hint: Type | None) -> Sugared:
        """A call with what is known of its arguments."""
        args, keywords = emit_all(e, tree)
        return self._called(e, tree.callee.range, args, keywords)

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with values."""
        positional = [Argument(SimpleValue(a.value), a.where) for a in args]
        named = {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords}
        return self._called(e, where, positional, named)

    def _called(
        self, e: Emission, where: SourceRange, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Sugared:
        return instantiate(e, where, self.template, args, keywords, self.captured(e))

    def captured(self, e: Emission) -> dict[str, Sugared]:
        """What it reads of the function around it, as it is now."""
        captured: dict[str, Sugared] = {}
        for name in self.free:
            known = name if self.names is None else self.names.get(name)
            found = None if known is None else e.frame.find(known)
            if isinstance(found, Variable):
                captured[name] = SimpleValue(e.load(name, found))
            elif isinstance(found, Sugared):
                captured[name] = found
        return captured


def closure(e: Emission, tree: Def, defaults: Mapping[str, Any], compile_: Compiler) -> ClosureValue:
    """The value of a nested definition."""
    bound = {p.name for p in tree.decl.params} | assigned_names(tree.body)
    bound |= {p.name for p in (tree.decl.vararg, tree.decl.kwarg) if p is not None}
    used = dict.fromkeys(t.name for part in tree.body for t in part.walk() if isinstance(t, Var))
    free = tuple(name for name in used if name not in bound)
    return ClosureValue(Template(tree, e.resolver, defaults, compile_), free)


_BINDING = frozenset({"Assign", "AugAssign", "For", "PythonBlock", "Walrus", "WithItem"})
"""Trees whose targets are assigned."""


def assigned_names(body: Sequence[Stmt]) -> set[str]:
    """The names that statements bind. Assigned somewhere in a function, they are its own everywhere, as in Python."""
    found: set[str] = set()
    for part in (t for statement in body for t in statement.walk()):
        targets = getattr(part, "targets", ())
        single = getattr(part, "target", None)
        for target in (*targets, *(() if single is None else (single,))):
            if type(part).__name__ in _BINDING and isinstance(target, Expr):
                found |= {v.name for v in _names(target)}
    return found


def _names(target: Expr) -> list[Var]:
    """The names that a target binds; items and attributes bind none."""
    if isinstance(target, Var):
        return [target]
    if isinstance(target, Starred):
        return _names(target.value)
    items = getattr(target, "items", ())
    return [name for item in items for name in _names(item)]

