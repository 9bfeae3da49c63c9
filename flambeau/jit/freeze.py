"""`flambeau.jit.freeze`: a scripted or traced module with constants for whatever of its attributes never changes."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from flambeau.codegen.callable_type import prepare
from flambeau.executor.executor import Executor, attach, executor_of
from flambeau.executor.options import Options
from flambeau.ir.clone import clone_graph
from flambeau.jit.disabled import is_disabled
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.modules.promoted_method import method_of
from flambeau.jit.modules.script_method import ScriptMethod, without_module
from flambeau.jit.modules.script_module import RecursiveScriptModule as ScriptModule
from flambeau.jit.script_registry import REGISTRY
from flambeau.nn.hooks import Registered
from flambeau.nn.module import Module
from flambeau.passes import freeze as frozen_reads
from flambeau.passes import frozen_numerics, remove_dropout
from flambeau.passes.freeze import Attributes, Method
from flambeau.passes.freeze_objects import definition_of, objects_below
from flambeau.passes.freeze_rebuild import rebuild
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.schema.types import ClassType
from flambeau.util.hooks import add_hook
from flambeau.util.record import replace

NOT_SCRIPTED = (
    "Freezing expects a ScriptModule as input. Please use flambeau.jit.script or flambeau.jit.trace to script your "
    "'nn.Module', not a {type}"
)
TRAINING = (
    "Freezing is currently only implemented for modules in eval mode. "
    "Please call .eval() on your module before freezing"
)
NOT_THERE = "Unknown name: {name}. {type} does not have a field with name '{name}', which preserved_attrs wants kept"
NO_METHOD = "{type} has no method '{name}', which preserved_methods names: freeze with preserved_attrs=['{name}']"
GONE = (
    "{type} (a frozen module) does not have a field with name '{name}': freezing keeps forward, what it changes, and "
    "what preserved_attrs names"
)


_own: weakref.WeakSet[ClassDefinition] = weakref.WeakSet()
"""The classes of frozen modules; a submodule that was preserved shares its class with others."""


class FrozenMethod(ScriptMethod):
    """A frozen method that reads nothing of its object, and runs without it as `alone`."""

    def __init__(self, function: Function, alone: Function, owner: ScriptObject, options: Options) -> None:
        super().__init__(function, owner, _executor(alone, options))
        self._first = ()
        prepare(self, self._executor.stub, type(self)._call_slowly)

    def begin_anew(self) -> None:
        """Run it with its object from now on: it has another graph, which may use it."""
        super().begin_anew()
        if not self._first:
            self._first = (self.owner,)
            self._executor = _executor(self.script_function, self._executor.options)
            prepare(self, self._executor.stub, type(self)._call_slowly, self.owner)


def _frozen_method(function: Function, owner: ScriptObject, options: Options) -> ScriptMethod:
    """A method of a frozen module. One that reads what freezing kept, such as a cache that it writes to, runs as
    methods of modules do that were never frozen.
    """
    alone = _without_object(function)
    if alone is not None:
        return FrozenMethod(function, alone, owner, options)
    return method_of(function, owner, _executor(function, options))


def _executor(function: Function, options: Options) -> Executor:
    return executor_of(function) if options == Options() else Executor(function, options)


def _without_object(function: Function) -> Function | None:
    """The function without its first parameter, unless it uses it."""
    if function.frozen_graph.parameters[0].is_used:
        return None
    graph = clone_graph(function.graph)
    graph.body.remove_parameter(0)
    schema = replace(function.schema, arguments=tuple(function.schema.arguments[1:]))
    return Function(function.name, graph, schema, doc=function.doc)


class FrozenModule(ScriptModule):
    """A frozen module: the methods and attributes that freezing kept."""

    _kept_hooks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """The names of the methods that run before and after `forward`."""

    @classmethod
    def around(
        cls,
        script_object: ScriptObject,
        classes: ModuleClasses,
        options: Options,
        name: str,
        modules: dict[int, ScriptModule],
    ) -> ScriptModule:
        """A module for an object; the same one for the same object."""
        module = modules.get(id(script_object))
        if module is not None:
            return module
        definition = script_object.type.definition
        kind = cls if classes.example(definition) is None else ScriptModule
        module = modules[id(script_object)] = kind(script_object, classes, options, name)
        parameters = [a.name for a in definition.attributes if a.is_parameter]
        buffers = [a.name for a in definition.attributes if a.is_buffer]
        module._stand_for_object(parameters, buffers)
        for attribute in definition.attributes:
            if _is_module(attribute.type) and script_object.has(attribute.name):
                child = script_object.get(attribute.name)
                short = getattr(child.type.definition.python, "__name__", attribute.name)
                module._modules[attribute.name] = cls.around(child, classes, options, short, modules)
        return module

    def _take_hooks(self) -> None:
        for table, names in zip(("_forward_pre_hooks", "_forward_hooks"), self._kept_hooks, strict=True):
            self._hooks(table).clear()
            for name in names:
                add_hook(self._hooks(table), Registered(without_module(self._method(name))))

    def _method(self, name: str) -> ScriptMethod:
        method = self._methods.get(name)
        if method is None:
            function = self.script_object.type.definition.methods.get(name)
            if function is None:
                raise AttributeError(GONE.format(type=self._original_name, name=name))
            method = self._methods[name] = _frozen_method(function, self.script_object, self._options)
        return method

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            raise AttributeError(GONE.format(type=self.__dict__.get("_original_name"), name=name)) from None


def _is_module(type_: Any) -> bool:
    return isinstance(type_, ClassType) and isinstance(type_.definition, ClassDefinition) and type_.definition.is_module


def freeze(mod: Any, preserved_attrs: Sequence[str] | None = None, optimize_numerics: bool = True) -> ScriptModule:
    """A copy of a scripted or traced module in which all is constant that never changes, with everything inlined.

    Args:
        mod: in eval mode.
        preserved_attrs: what stays besides `forward`: names of attributes, methods and submodules, dotted for those of
            submodules. The methods are frozen as well; the attributes may be assigned later.
        optimize_numerics: fold batch norms into convolutions and linears before them, and sums and products with
            constants into convolutions. Results then differ in their last digits.

    An attribute stays if anything that stays assigns it or writes to its memory, under whatever name. Tensors that
    nothing changes are shared with `mod`, all else is copied. Parameters become constants without gradients, and
    arguments of calls are taken to share no memory with them.

    Raises RuntimeError for modules in training mode and for those that return themselves, AttributeError for preserved
    names that are not there.

    >>> import flambeau
    >>> model = flambeau.script(flambeau.nn.Linear(3, 2).eval())
    >>> frozen = flambeau.jit.freeze(model)
    >>> hasattr(frozen, "weight"), frozen.graph.find("prim::GetAttr")
    (False, None)
    """
    if is_disabled():
        return mod  # type: ignore[no-any-return]
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(NOT_SCRIPTED.format(type=type(mod).__name__))
    if mod.script_object.has("training") and mod.script_object.get("training"):
        raise RuntimeError(TRAINING)
    frozen = freeze_module(mod, list(preserved_attrs or ()))
    run_frozen_optimizations(frozen, optimize_numerics=optimize_numerics)
    return frozen


def freeze_module(
    mod: ScriptModule, preserved: Sequence[str] = (), *, preserve_parameters: bool = False
) -> ScriptModule:
    """`freeze` of a module in any mode, without optimising its numbers; dropouts and batch norms stay what they are.

    In training mode the parameters and `training` flags that programs read stay attributes: it can be trained on. With
    `preserve_parameters`, parameters and buffers stay attributes. Raises what `freeze` raises, but for the mode.

    Args:
        mod: a scripted module.
        preserved: names of attributes and methods that stay.
        preserve_parameters: whether parameters stay attributes.

    >>> import flambeau
    >>> frozen = flambeau.jit.freeze_module(flambeau.script(flambeau.nn.Linear(2, 1).eval()))
    >>> frozen(flambeau.zeros(1, 2)).shape
    flambeau.Size([1, 1])
    """
    root = mod.script_object
    wanted = _Wanted(mod)
    tensors = [name for name, _ in (*mod.named_parameters(), *mod.named_buffers())] if preserve_parameters else []
    for name in dict.fromkeys((*preserved, *tensors)):
        wanted.add(name)
    kept = wanted.attributes | (_trained(mod) if getattr(mod, "training", False) else set())
    state = frozen_reads.freeze(wanted.methods, kept=kept, whole=wanted.whole)
    script_object, definitions = rebuild(root, state, wanted.attributes, REGISTRY.unit.unique_name)
    for definition in definitions:
        _own.add(definition)
        for function in definition.methods.values():
            attach(function)
    frozen = FrozenModule.around(script_object, mod._classes, mod._options, mod._original_name, {})
    object.__setattr__(frozen, "_kept_hooks", wanted.hooks)
    frozen._take_hooks()
    return frozen


def _trained(mod: ScriptModule) -> Attributes:
    """What training changes: parameters, and whether a module is in training."""
    return {
        (id(inner.script_object), name)
        for inner in mod.modules() if isinstance(inner, ScriptModule)
        for name in ("training", *(n for n, p in inner._parameters.items() if p is not None and p.requires_grad))
    }  # fmt: skip


def _hooks_of(module: ScriptModule) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the methods that run before and after a module's `forward` when Python calls the module."""
    if isinstance(module, FrozenModule):
        return module._kept_hooks
    origin = module._classes.origin(module.script_object.type.definition)
    compiled = None if origin is None else origin.source.hooks()
    if compiled is None:
        return (), ()
    return tuple(f.short_name for f in compiled.before), tuple(f.short_name for f in compiled.after)


class _Wanted:
    """What a user wants to have left."""

    def __init__(self, root: ScriptModule) -> None:
        self.root = root
        self.methods: list[Method] = []
        self.attributes: Attributes = set()
        self.whole: list[ScriptObject] = []
        with suppress(AttributeError):  # a module may have other methods alone
            self._add_method(root, "forward")
        self.hooks = _hooks_of(root)
        for name in dict.fromkeys((*self.hooks[0], *self.hooks[1])):
            self._add_method(root, name)

    def _add_method(self, module: ScriptModule, name: str) -> None:
        function = module._method(name).script_function
        self.methods.append(Method(owner=module.script_object, name=name, function=function))

    def add(self, path: str) -> None:
        """Keep an attribute, a method or a submodule."""
        module: Module = self.root
        *owners, name = path.split(".")
        for owner in owners:
            child = module._modules.get(owner)
            if not isinstance(child, ScriptModule):
                raise RuntimeError(NOT_THERE.format(type=self.root._original_name, name=path))
            module = child
        assert isinstance(module, ScriptModule)
        script_object = module.script_object
        if name in module._modules:
            child = module._modules[name]
            if isinstance(child, ScriptModule):
                self.whole.append(child.script_object)
        elif name in script_object.type.definition.slots:
            self.attributes.add((id(script_object), name))
        elif any(m.owner is script_object and m.name == name for m in self.methods):
            pass
        else:
            try:
                self._add_method(module, name)
            except AttributeError:
                raise RuntimeError(NOT_THERE.format(type=self.root._original_name, name=path)) from None


def run_frozen_optimizations(
    mod: ScriptModule, optimize_numerics: bool = True, preserved_methods: Sequence[str] | None = None
) -> None:
    """Make the methods of a frozen module faster, in place: without dropouts, and with what is constant folded.

    With `optimize_numerics`, batch norms go into the convolutions and linears before them, and sums and products with
    constants into convolutions; results then differ in their last digits.

    Args:
        mod: a frozen module.
        optimize_numerics: whether weights are changed.
        preserved_methods: methods that freezing kept; all that there are become faster, named or not. Raises
            AttributeError for one that is not there.

    >>> import flambeau
    >>> frozen = flambeau.jit.freeze(flambeau.script(flambeau.nn.Linear(2, 1).eval()), optimize_numerics=False)
    >>> flambeau.jit.run_frozen_optimizations(frozen)
    >>> frozen(flambeau.zeros(1, 2)).shape
    flambeau.Size([1, 1])
    """
    if is_disabled():
        return
    for name in preserved_methods or ():
        if name not in mod.script_object.type.definition.methods:
            raise AttributeError(NO_METHOD.format(type=mod._original_name, name=name))
    for definition in set(map(definition_of, objects_below([mod.script_object]))) & set(_own):
        for function in definition.methods.values():
            graph = clone_graph(function.graph)
            changed = remove_dropout.do(graph)
            if optimize_numerics:
                changed = frozen_numerics.do(graph) or changed
            if changed:
                frozen_reads.tidy(graph)
                function.graph = graph
                attach(function)
    for module in mod.modules():
        if isinstance(module, FrozenModule):
            module._methods.clear()
            module._take_hooks()


def optimize_for_inference(mod: Any, other_methods: Sequence[str] | None = None) -> ScriptModule:
    """The module frozen, unless it is, and made as fast as it gets for inference. `other_methods` stay with `forward`.

    A module that is not frozen is put into eval mode first. Raises what `freeze` raises.

    Args:
        mod: a scripted module.
        other_methods: methods that stay, besides `forward`.

    >>> import flambeau
    >>> frozen = flambeau.jit.optimize_for_inference(flambeau.script(flambeau.nn.Linear(2, 1)))
    >>> frozen(flambeau.zeros(1, 2)).shape
    flambeau.Size([1, 1])
    """
    if isinstance(mod, FrozenModule):
        run_frozen_optimizations(mod)
        return mod
    return freeze(mod.eval() if isinstance(mod, ScriptModule) else mod, list(other_methods or ()))
