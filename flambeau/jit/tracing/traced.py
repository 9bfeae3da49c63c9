"""What tracing gives: functions, and modules whose methods are what happened in a run."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from flambeau.executor.executor import attach
from flambeau.executor.options import Options
from flambeau.ir.graph import Graph
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.modules.module_methods import EXPORTED, exported_methods
from flambeau.jit.modules.old_style import ScriptModule
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.jit.tracing.baking import Baked
from flambeau.jit.tracing.traced_modules import TracedMethod, resolve_reads
from flambeau.nn.module import Module
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.program.signature import schema_of
from flambeau.schema.types import BOOL, TENSOR, ClassType
from flambeau.util.names import qualified_name

NOT_CALLABLE = (
    "Trace submodules cannot be called: what '{name}' does was recorded as a part of the whole. Call the traced "
    "module, or trace this one by itself"
)
NOT_REMOVED = "'{name}' cannot be removed: the trace may use it"


class TracedFunction(ScriptFunction):
    """A function compiled from a run."""

    baked: list[Baked]
    """Values that depended on the inputs and are fixed in the graph, each with its line."""


class TracedModule(RecursiveScriptModule):
    """A module inside a traced one: it has parameters and buffers, and cannot be called.

    >>> import flambeau
    >>> traced = flambeau.jit.trace(flambeau.nn.Sequential(flambeau.nn.ReLU()), flambeau.ones(2))
    >>> [type(inner) is flambeau.jit.TracedModule for inner in traced.children()]
    [True]
    """

    baked: list[Baked]
    """Values that depended on the inputs and are fixed in the graph, each with its line."""

    def _get_name(self) -> str:
        return self._original_name

    def __delattr__(self, name: str) -> NoReturn:
        raise RuntimeError(NOT_REMOVED.format(name=name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(NOT_CALLABLE.format(name=self._original_name))


class TopLevelTracedModule(TracedModule):
    """A module compiled from a run.

    >>> import flambeau
    >>> traced = flambeau.jit.trace(flambeau.nn.ReLU(), flambeau.ones(2))
    >>> isinstance(traced, flambeau.jit.TopLevelTracedModule), traced(-flambeau.ones(1))
    (True, tensor([0.]))
    """

    __call__ = RecursiveScriptModule.__call__


class TracedTree:
    """The classes and objects of a traced module and of all the modules in it, each of its own."""

    def __init__(self, root: Module, classes: ModuleClasses) -> None:
        self.root, self._classes = root, classes
        self.paths = dict(root.named_modules())
        self._objects: dict[int, ScriptObject] = {}
        self._plain: list[Module] = []
        """The modules that were not scripted before."""
        self._object(root)

    def _object(self, module: Module) -> ScriptObject:
        scripted_object = self._objects.get(id(module))
        if scripted_object is not None:
            return scripted_object
        scripted = vars(module).get("script_object")
        if isinstance(scripted, ScriptObject):
            self._objects[id(module)] = scripted
            return scripted
        unit = self._classes.registry.unit
        own = ClassDefinition(
            unit.unique_name(qualified_name(type(module))), is_module=True, python=type(module)
        )
        scripted_object = self._objects[id(module)] = ScriptObject(own.type)
        for holder, is_parameter in ((module._parameters, True), (module._buffers, False)):
            for name, tensor in holder.items():
                if tensor is None:
                    own.add_constant(name, None)
                else:
                    own.add_attribute(name, TENSOR, is_parameter=is_parameter, is_buffer=not is_parameter)
                    scripted_object.set(name, tensor)
        for name, child in module._modules.items():
            if child is None:
                own.add_constant(name, None)
            else:
                child_object = self._object(child)
                own.add_attribute(name, child_object.type)
                scripted_object.set(name, child_object)
        own.add_attribute("training", BOOL)
        scripted_object.set("training", module.training)
        self._plain.append(module)
        return scripted_object

    def add(self, name: str, graph: Graph, methods: list[TracedMethod]) -> None:
        """Make a method of the root of a graph, and methods of other modules of what was split off from it."""
        for method in methods:
            self._define(self.paths[method.path], method.name, method.graph)
        self._define(self.root, name, graph)

    def _define(self, module: Module, name: str, graph: Graph) -> None:
        type_: ClassType = self._objects[id(module)].type
        resolve_reads(graph, graph.parameters[0], type_)
        own: ClassDefinition = type_.definition
        attach(own.add_method(name, Function(f"{own.name}.{name}", graph, schema_of(name, graph))))

    def compile_exported(self) -> None:
        """Compile the methods marked with `export`, with the attributes that programs may have."""
        by_class: dict[type, list[str]] = {}
        for module in self._plain:
            names = by_class.get(type(module))
            if names is None or any(hasattr(v, EXPORTED) for v in vars(module).values()):
                names = by_class[type(module)] = [n for n in exported_methods(module) if n != "forward"]
            definition = self._objects[id(module)].type.definition
            if names:
                self._add_attributes(module)
                with self._classes.lending(definition, module) as source:
                    for name in names:
                        source.method(name)

    def _add_attributes(self, module: Module) -> None:
        script_object = self._objects[id(module)]
        own = script_object.type.definition
        scripted = self._classes.object_of(module)
        for attribute in scripted.type.definition.attributes:
            if attribute.name not in own.slots:
                own.add_attribute(attribute.name, attribute.type)
                script_object.set(attribute.name, scripted.get(attribute.name))
        for name, value in scripted.type.definition.constants.items():
            if name not in own.constants and name not in own.slots:
                own.add_constant(name, value)

    def module(self) -> TopLevelTracedModule:
        """The traced module."""
        modules: dict[int, Module] = {}
        return cast("TopLevelTracedModule", self._around(self.root, TopLevelTracedModule, modules))

    def _around(self, module: Module, kind: type[TracedModule], modules: dict[int, Module]) -> TracedModule:
        script_object = self._objects[id(module)]
        traced = modules[id(module)] = kind(script_object, self._classes, Options(), type(module).__name__)
        traced._stand_for_object(module._parameters, module._buffers)
        traced._transient.update(module._transient)
        for name, child in module._modules.items():
            if child is None or isinstance(child, ScriptModule):
                traced._modules[name] = child
            else:
                traced._modules[name] = modules.get(id(child)) or self._around(child, TracedModule, modules)
        return traced
