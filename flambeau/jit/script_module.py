"""`ScriptModule`: a module whose methods are compiled. It shares parameters and buffers with the module it is of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from copy import deepcopy
from typing import Any, Self

from flambeau.codegen.callable_type import prepare
from flambeau.executor.executor import Executor, executor_of
from flambeau.executor.options import Options
from flambeau.executor.report import Explanation, PassReport
from flambeau.ir.graph import Graph
from flambeau.jit.arguments import Signature
from flambeau.jit.convert import MismatchError, converter
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules import CONTAINERS, ModuleClasses, exported_methods
from flambeau.jit.resolver import compile_method
from flambeau.nn.module import Module
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.tensor import observer


class _Live(MutableMapping[str, Any]):
    """Parameters or buffers of a scripted module: by name, read from and written to its object: one truth."""

    def __init__(self, held: ScriptObject, names: Iterable[str]) -> None:
        self._held = held
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._held.get(name) if name in self._held.type.definition.slots else None

    def __setitem__(self, name: str, value: Any) -> None:
        self._held.set(name, value)

    def __delitem__(self, name: str) -> None:
        raise RuntimeError(f"'{name}' cannot be removed: compiled methods may use it")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class ScriptMethod(ScriptFunction):
    """A compiled method with its object; the object is no argument of a call."""

    def __init__(self, function: Function, owner: ScriptObject, executor: Executor) -> None:
        super().__init__(function, executor=executor)
        self.owner = owner
        self._first: tuple[Any, ...] = (owner,)
        self._signature = Signature(function.schema, first=1)
        prepare(self, executor.switch, type(self)._call_slowly, owner)

    def _watched(self, watching: observer.Observer, arguments: tuple[Any, ...]) -> Any:
        return watching.called_method(self, arguments, lambda plain: self._executor(*self._first, *plain))

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph that runs for arguments like these."""
        return self._executor.plan_for(self._full(args, kwargs)).graph

    def passes(self, *args: Any, **kwargs: Any) -> PassReport:
        """Each pass that runs for arguments like these."""
        return self._executor.pass_report(self._full(args, kwargs))

    def _full(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return (*self._first, *self._signature.bind(tuple(args), kwargs))


class ScriptModule(Module):
    """A scripted or traced module: call it, look at `graph` and `code`, train it, take its `state_dict`.

    Attributes and parameters read and write the compiled module's own; submodules are scripted modules too.

    >>> import flambeau
    >>> model = flambeau.script(flambeau.nn.Linear(3, 2))
    >>> model(flambeau.ones(4, 3)).shape
    flambeau.Size([4, 2])
    """

    script_object: ScriptObject
    _original_name: str
    _methods: dict[str, ScriptMethod]

    def __init__(
        self, script_object: ScriptObject, classes: ModuleClasses, options: Options, original_name: str
    ) -> None:
        super().__init__()
        set_own = object.__setattr__
        set_own(self, "script_object", script_object)
        set_own(self, "_classes", classes)
        set_own(self, "_options", options)
        set_own(self, "_methods", {})
        set_own(self, "_original_name", original_name)
        del self.__dict__["training"]  # the object has it

    @classmethod
    def of(cls, module: Module, classes: ModuleClasses, options: Options) -> ScriptModule:
        """`module` with `forward` and all that it reaches compiled. Raises CompileError."""
        objects: dict[int, ScriptObject] = {}
        kind = ScriptContainer if isinstance(module, CONTAINERS) else cls
        root = kind.over(module, classes.object_of(module, objects), classes, options, objects)
        for name in exported_methods(module):
            root._method(name)
        return root

    @classmethod
    def over(
        cls,
        module: Module,
        held: ScriptObject,
        classes: ModuleClasses,
        options: Options,
        objects: dict[int, ScriptObject],
    ) -> Self:
        """A scripted module for `module`, with `held` as its object and one of `objects` for each module inside."""
        return cls._wrap(module, held, classes, options, objects, {})

    @classmethod
    def _wrap(
        cls,
        module: Module,
        held: ScriptObject,
        classes: ModuleClasses,
        options: Options,
        objects: dict[int, ScriptObject],
        made: dict[int, Module],
    ) -> Self:
        found = cls(held, classes, options, type(module).__name__)
        made[id(module)] = found
        object.__setattr__(found, "_parameters", _Live(held, module._parameters))
        object.__setattr__(found, "_buffers", _Live(held, module._buffers))
        found._transient.update(module._transient)
        for name, child in module._modules.items():
            if child is None or isinstance(child, ScriptModule):
                found._modules[name] = child
            else:
                known = made.get(id(child))
                args = (child, objects[id(child)], classes, options, objects, made)
                kind = ScriptContainer if isinstance(child, CONTAINERS) else ScriptModule
                found._modules[name] = known if known is not None else kind._wrap(*args)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled `forward`. Raises AttributeError if there is none, and what `ScriptFunction` raises."""
        forward = self.__dict__["_methods"].get("forward") or self.forward
        watching = observer.current()
        if watching is None:
            return forward(*args, **kwargs)
        with watching.module(self):
            return forward(*args, **kwargs)

    # -- methods ------------------------------------------------------------------------------------------------------

    def _method(self, name: str) -> ScriptMethod:
        found = self._methods.get(name)
        if found is None:
            definition = self.script_object.type.definition
            function = definition.methods.get(name)
            if function is None:
                with self._classes.registry.lock:
                    function = compile_method(definition, name, self._classes)
            if function is None:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            executor = executor_of(function) if self._options == Options() else Executor(function, self._options)
            found = self._methods[name] = ScriptMethod(function, self.script_object, executor)
        return found

    @property
    def forward(self) -> ScriptMethod:  # type: ignore[override]
        """The compiled `forward`."""
        return self._method("forward")

    # -- attributes ---------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__.get("script_object")
        if held is not None:
            definition = held.type.definition
            module = self._classes.example(definition)
            if module is not None and isinstance(getattr(type(module), name, None), property):
                return self._method(name)()
            if name in definition.methods:
                return self._method(name)
            if name in definition.slots and name not in self._modules:
                return held.get(name)
            if name in definition.constants:
                return definition.constants[name]
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__.get("script_object")
        if held is None:
            object.__setattr__(self, name, value)
            return
        definition = held.type.definition
        if name in definition.constants:
            raise RuntimeError(f"Cannot set '{name}': it is a constant of {self._original_name}")
        if name in self._modules:
            raise RuntimeError(f"Cannot re-assign modules in a ScriptModule: '{name}' is one. Script the changed one")
        attribute = definition.attribute(name)
        if attribute is None:
            super().__setattr__(name, value)
            return
        try:
            held.set(name, converter(attribute.type)(value))
        except MismatchError as reason:
            raise RuntimeError(
                f"Wrong type for attribute assignment of '{name}'. Expected {attribute.type.annotation}: {reason}"
            ) from None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        held = deepcopy(self.script_object, memo)
        found = type(self)(held, self._classes, self._options, self._original_name)
        memo[id(self)] = found
        for name, value in vars(self).items():
            if name in ("_parameters", "_buffers"):
                object.__setattr__(found, name, _Live(held, value))
            elif name == "_modules" or name not in vars(found):
                object.__setattr__(found, name, deepcopy(value, memo))
        found._transient.update(self._transient)
        return found

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def original_name(self) -> str:
        """The name of the Python class."""
        return self._original_name

    @property
    def graph(self) -> Graph:
        """The graph of `forward`; attributes are read from `%self`."""
        return self._method("forward").graph

    @property
    def inlined_graph(self) -> Graph:
        """The graph of `forward` with every call inlined."""
        return self._method("forward").inlined_graph

    @property
    def code(self) -> str:
        """`forward` as source again."""
        text: str = self._method("forward").code
        return text

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph of `forward` for arguments like these."""
        return self._method("forward").graph_for(*args, **kwargs)

    def passes(self, *args: Any, **kwargs: Any) -> PassReport:
        """Each pass that runs over `forward` for arguments like these."""
        return self._method("forward").passes(*args, **kwargs)

    def explain(self, *, measure: bool | None = None) -> Explanation:
        """What was compiled of `forward`, why and how long it took, what is native and what is not."""
        return self._method("forward").explain(measure=measure)

    def extra_repr(self) -> str:
        """The original class."""
        return f"original_name={self._original_name}"

    def _repr_html_(self) -> str:
        return self.graph._repr_html_()


class ScriptContainer(ScriptModule):
    """A scripted container of modules: it has a length, items and an order, as in Python."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, index: int) -> Module:
        return list(self)[index]
