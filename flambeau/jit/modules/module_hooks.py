"""Forward hooks of modules, compiled: `self.sub(x)` in a program runs them around `sub.forward`.

    y = self.sub(x)    →    %a : (Tensor) = prim::TupleConstruct(%x)
                            %b : (Tensor) = prim::CallMethod[name="pre_hook"](%sub, %a)
                            %c : Tensor = prim::TupleUnpack(%b)
                            %d : Tensor = prim::CallMethod[name="forward"](%sub, %c)
                            %y : Tensor = prim::CallMethod[name="hook"](%sub, %b, %d)

A hook before `forward` is `def hook(self, input: tuple[A, B]) -> tuple[A, B]` (or `-> None`), with the types of all
parameters of `forward`; one behind it is `def hook(self, input: tuple[A, B], output: R) -> S`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.frontend.emit.implicit_conversions import pack_tuple, unpack_tuple
from flambeau.frontend.emit.schema_matching import call_method, match_single
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.nn.hooks import Hook
from flambeau.nn.module import Module
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import NONE, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(frozen=True, slots=True)
class HookTable:
    """The compiled hooks of a module's class, in order."""

    before: tuple[Function, ...]
    after: tuple[Function, ...]


CompileHook = Callable[[Hook, str], Function]
"""Compiles a hook as a method of that name."""
NAME_TAKEN = "Can't define hook: {name} on class: {owner} because a method or hook with that name already exists."
TWO_DEFINITIONS = (
    "{what} '{name}' on {owner} has at least two different python definitions. Please use unique names for all hooks."
)
NO_RETURN = "is missing a return annotation. Return annotations are required, please add one."
WHILE_SCRIPTING = (
    "This error occurred while scripting the forward {what} '{name}' on module '{owner}'. If you did not want to "
    "script it, remove it from the module before scripting. It is expected to have the signature: {signature}"
)
NESTED = (
    "When forward has a single tuple input argument, the return needs to be 'None' or a nested tuple containing "
    "forward's input tuple argument as in: '{wanted}'"
)


def compile_hooks(
    module: Module, definition: ClassDefinition, forward: Function, compile_hook: CompileHook
) -> HookTable:
    """The hooks of a module as methods of its class, their signatures checked. Raises CompileError."""
    owner = type(module).__name__
    known: dict[str, Hook] = {}
    compiled: dict[str, list[Function]] = {"before": [], "after": []}
    tables = (("Pre-hook", "before", module._forward_pre_hooks), ("Hook", "after", module._forward_hooks))
    for what, _, hooks in tables:
        _refuse_two(what, [registered.function for registered in hooks.values()], owner)
    for what, when, hooks in tables:
        for registered in hooks.values():
            hook = registered.function
            name, function = hook.__name__, getattr(hook, "__func__", hook)
            if name in known and known[name] is not function:
                raise CompileError(TWO_DEFINITIONS.format(what=what, name=name, owner=owner))
            if name not in known and _is_taken(module, definition, name):
                raise CompileError(NAME_TAKEN.format(name=name, owner=definition.name))
            known[name] = function
            compiled[when].append(definition.methods.get(name) or compile_hook(function, name))
            is_declared = when == "after" or "return" in getattr(function, "__annotations__", {})
            if not is_declared and not _wrong_count(compiled[when][-1], 2):
                raise _refusal(what.lower(), compiled[when][-1], NO_RETURN, owner, _before(compiled[when][-1], forward))
    _check_all(forward, compiled["before"], compiled["after"], owner)
    return HookTable(tuple(compiled["before"]), tuple(compiled["after"]))


def _refuse_two(what: str, hooks: Sequence[Hook], owner: str) -> None:
    """Refuse two hooks of one name."""
    known: dict[str, object] = {}
    for hook in hooks:
        function = getattr(hook, "__func__", hook)
        if known.setdefault(hook.__name__, function) is not function:
            raise CompileError(TWO_DEFINITIONS.format(what=what, name=hook.__name__, owner=owner))


def _is_taken(module: Module, definition: ClassDefinition, name: str) -> bool:
    """Whether a program may mean something else by the name: what every module has in Python is no part of it."""
    own = getattr(type(module), name, None)
    return name in definition.slots or (own is not None and own is not getattr(Module, name, None))


def _check_all(forward: Function, pre: Sequence[Function], post: Sequence[Function], owner: str) -> None:
    inputs = _inputs(forward)
    for hook in pre:
        problem = _wrong_count(hook, 2) or _wrong_input(hook, inputs) or _wrong_return(hook, inputs)
        if problem:
            raise _refusal("pre-hook", hook, problem, owner, _before(hook, forward))
    output = forward.schema.returns[0].type
    for hook in post:
        problem = _wrong_count(hook, 3) or _wrong_input(hook, inputs) or _wrong_output(hook, output)
        if problem:
            signature = (
                f"'def {hook.short_name}(self, input: {inputs.annotation}, output: {output.annotation})', which gives "
                "the new output"
            )
            raise _refusal("hook", hook, problem, owner, signature)
        result = hook.schema.returns[0].type
        output = output if result == NONE else result


def _inputs(forward: Function) -> TupleType:
    """The type of the tuple that hooks are given."""
    return TupleType(tuple(a.type for a in forward.schema.arguments[1:]))


def _before(hook: Function, forward: Function) -> str:
    """The signature of what runs before `forward`, as messages say it."""
    inputs = _inputs(forward).annotation
    return f"'def {hook.short_name}(self, input: {inputs}) -> {inputs}', which gives that or None"


def _refusal(what: str, hook: Function, problem: str, owner: str, signature: str) -> CompileError:
    where = next((n.range for n in hook.graph.body if n.range is not None), None)
    name = hook.short_name
    context = WHILE_SCRIPTING.format(what=what, name=name, owner=owner, signature=signature)
    return CompileError(f"{what.capitalize()} '{name}' on module '{owner}' {problem}\n{context}", where)


def _wrong_count(hook: Function, wanted: int) -> str:
    count = len(hook.schema.arguments)
    if count == wanted:
        return ""
    return f"was expected to only have exactly {wanted} inputs but it had {count} inputs"


def _wrong_input(hook: Function, inputs: TupleType) -> str:
    declared = hook.schema.arguments[1].type
    if not isinstance(declared, TupleType):
        return f"expected the input argument to be typed as a Tuple but found type: '{declared.annotation}' instead."
    received = f"Received type: '{declared.annotation}'. Expected type: '{inputs.annotation}'"
    if len(declared.elements) != len(inputs.elements):
        if not inputs.elements:
            return f"has the wrong inner types for the input tuple argument. {received}"
        return f"has the wrong number of contained types for the input argument's Tuple. {received}"
    if not _alike(inputs, declared):
        return f"has the wrong inner types for the input tuple argument. {received}"
    return ""


def _wrong_return(hook: Function, inputs: TupleType) -> str:
    result = hook.schema.returns[0].type
    single = inputs.elements[0] if len(inputs.elements) == 1 else None
    if result == NONE or _alike(result, inputs):
        return ""
    if isinstance(single, TupleType):
        return f"returned the wrong type of: '{result.annotation}'. {NESTED.format(wanted=inputs.annotation)}"
    if single is not None and _alike(result, single):
        return ""
    return f"returned the wrong type of: '{result.annotation}'. Expected None or '{inputs.annotation}'"


def _wrong_output(hook: Function, output: Type) -> str:
    declared = hook.schema.arguments[2].type
    if _alike(output, declared):
        return ""
    return (
        f"has the wrong type for the output argument. Received type: '{declared.annotation}'. Expected type: "
        f"'{output.annotation}'"
    )


def _alike(type_: Type, wanted: Type) -> bool:
    return is_subtype(type_, wanted)


@dataclass(slots=True)
class HookedCall(Sugared):
    """A call of a module that has hooks."""

    owner: Value
    forward: Function
    hooks: HookTable

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "module"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The hooks around the call of `forward`."""
        schema: FunctionSchema = self.forward.schema
        match = match_single(schema, [Given(self.owner, where), *args], keywords, where)
        with e.graph.at_range(where):
            values = match.operands(e)[1:]
        is_nested = len(values) == 1 and isinstance(values[0].static_type, TupleType)
        for hook in self.hooks.before:
            changed = self._run(e, where, hook, [pack_tuple(e, values)])
            if isinstance(changed.static_type, TupleType) and (not is_nested or len(changed.static_type.elements) == 1):
                values = unpack_tuple(e, changed)
            elif changed.static_type != NONE:
                values = [changed]
        result = self._run(e, where, self.forward, values)
        for hook in self.hooks.after:
            changed = self._run(e, where, hook, [pack_tuple(e, values), result])
            result = result if changed.static_type == NONE else changed
        return SimpleValue(result)

    def _run(self, e: Emitter, where: SourceRange, method: Function, values: Sequence[Value]) -> Value:
        arguments = [Given(value, where) for value in values]
        return call_method(e, where, method, method.short_name, self.owner, arguments, ())
