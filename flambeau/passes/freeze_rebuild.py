"""The module that is left after freezing: objects of new classes with the attributes that stayed, frozen methods.

```
%c : __torch__.Counter = prim::Constant[value=object]()          %c : Counter = prim::GetAttr[name="counter"](%self)
%n : Tensor = prim::GetAttr[name="n"](%c)                   →    %n : Tensor = prim::GetAttr[name="n"](%c)
```

An object that stays whole keeps its class. Lists and dicts are copied, and so are tensors that the frozen module
writes: it shares with its source only what neither of them changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from flambeau.analysis.points_to import memory_key
from flambeau.ir import literals
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph
from flambeau.passes.freeze import GET, SET, Attributes, Frozen, Method
from flambeau.passes.freeze_objects import children, constant_object, definition_of, get, has, is_object, objects_below
from flambeau.program import instances
from flambeau.program.classes import ClassDefinition
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.schema.types import ClassType
from flambeau.util.record import replace


def rebuild(
    root: ScriptObject, frozen: Frozen, preserved: Attributes, unique_name: Callable[[str], str]
) -> tuple[ScriptObject, list[ClassDefinition]]:
    """The frozen module, and the new classes of it. `preserved` stays; `unique_name` gives names for classes."""
    rebuilder = _Rebuilder(root, frozen, preserved, unique_name)
    module = rebuilder.run()
    return module, [type_.definition for type_ in rebuilder.types.values()]


class _Rebuilder:
    def __init__(
        self, root: ScriptObject, frozen: Frozen, preserved: Attributes, unique_name: Callable[[str], str]
    ) -> None:
        self.root, self.frozen, self.unique_name = root, frozen, unique_name
        self.objects = objects_below([root])
        self.needed: dict[int, set[str]] = {}
        """Names of the attributes that stay, by the identity of objects that stay."""
        self.types: dict[int, ClassType] = {}
        self.copies: dict[int, Any] = {}
        for owner, name in preserved:
            self.needed.setdefault(owner, set()).add(name)

    def run(self) -> ScriptObject:
        for method in self.frozen.methods:
            self.needed.setdefault(id(method.owner), set())
            self._note_uses(method.graph)
        for instance in self.frozen.whole.values():
            self.needed.setdefault(id(instance), set()).update(a.name for a in definition_of(instance).attributes)
        self._note_ways()
        result: ScriptObject = self._copy(self.root)
        for method in self.frozen.methods:
            if self._is_rebuilt(method.owner):
                self._add_method(method)
        return result

    # -- what stays ---------------------------------------------------------------------------------------------------

    def _note_uses(self, graph: Graph) -> None:
        for node in graph.find_all(CONSTANT):
            instance = constant_object(node.result())
            if instance is not None:
                names = self.needed.setdefault(id(instance), set())
                names.update(u.user.attribute("name") for u in node.result().uses() if u.user.op in (GET, SET))

    def _note_ways(self) -> None:
        """What leads to an object that stays, stays."""
        parents: dict[int, list[tuple[Any, str]]] = {}
        for owner in self.objects:
            for name, child in children(owner):
                parents.setdefault(id(child), []).append((owner, name))
        waiting = list(self.needed)
        while waiting:
            for parent, name in parents.get(waiting.pop(), ()):
                names = self.needed.get(id(parent))
                if names is None:
                    names = self.needed[id(parent)] = set()
                    waiting.append(id(parent))
                names.add(name)

    # -- objects ------------------------------------------------------------------------------------------------------

    def _is_rebuilt(self, instance: Any) -> bool:
        """Whether an object gets a class of its own."""
        return instance is self.root or (id(instance) not in self.frozen.whole and definition_of(instance).is_module)

    def _type(self, instance: Any) -> ClassType:
        if not self._is_rebuilt(instance):
            return definition_of(instance).type
        type_ = self.types.get(id(instance))
        if type_ is None:
            old = definition_of(instance)
            new = ClassDefinition(self.unique_name(old.name), is_module=old.is_module, python=old.python, doc=old.doc)
            type_ = self.types[id(instance)] = new.type
            for a in old.attributes:
                if a.name in self.needed[id(instance)]:
                    value = get(instance, a.name) if has(instance, a.name) else None
                    attribute_type = self._type(value) if isinstance(value, ScriptObject) else a.type
                    new.add_attribute(a.name, attribute_type, is_parameter=a.is_parameter, is_buffer=a.is_buffer)
        return type_

    def _copy(self, value: Any) -> Any:
        """What the frozen module has in the place of a value of its source."""
        if literals.is_tensor(value):
            is_written = self.frozen.writes_outside or memory_key(value) in self.frozen.written
            return deepcopy(value, self.copies) if is_written else value
        if not (isinstance(value, list | dict | tuple) or is_object(value)):
            return value
        if id(value) in self.copies:
            return self.copies[id(value)]
        copied: Any
        if is_object(value):
            copied = self.copies[id(value)] = self._empty(value)
            for a in definition_of(copied).attributes:
                if has(value, a.name):
                    instances.writer(a.name)(copied, self._copy(get(value, a.name)))
        elif isinstance(value, list):
            copied = self.copies[id(value)] = []
            copied.extend(map(self._copy, value))
        elif isinstance(value, dict):
            copied = self.copies[id(value)] = {}
            copied.update((self._copy(k), self._copy(v)) for k, v in value.items())
        else:
            items = map(self._copy, value)
            copied = self.copies[id(value)] = type(value)._make(items) if hasattr(value, "_make") else tuple(items)
        return copied

    def _empty(self, value: Any) -> Any:
        """A new object for what an object holds; what programs do not know of an instance of Python stays."""
        if isinstance(value, ScriptObject):
            return ScriptObject(self._type(value))
        instance = object.__new__(type(value))
        if hasattr(instance, "__dict__"):
            vars(instance).update(vars(value))
        return instance

    # -- methods ------------------------------------------------------------------------------------------------------

    def _add_method(self, method: Method) -> None:
        owner = self._type(method.owner)
        graph, old = method.graph, method.function
        graph.parameters[0].set_type(owner)
        ways = self._ways(method.owner)
        for node in graph.find_all(CONSTANT):
            instance = constant_object(node.result())
            if instance is None:
                continue
            value, reached = graph.parameters[0], method.owner
            for name in ways[id(instance)]:
                reached = get(reached, name)
                with graph.inserting(node), graph.at_range(node.range):
                    value = graph.insert(GET, [value], [self._type(reached)], name=name).result()
            node.result().replace_uses_with(value)
            node.erase()
        first, *others = old.schema.arguments
        schema = replace(old.schema, arguments=(replace(first, type=owner), *others))
        owner.definition.add_method(method.name, Function(f"{owner.name}.{method.name}", graph, schema, doc=old.doc))

    def _ways(self, owner: Any) -> dict[int, tuple[str, ...]]:
        """To each object that a method may know, the attributes to read one after another, none of which changes."""
        ways: dict[int, tuple[str, ...]] = {id(owner): ()}
        waiting = deque([owner])
        while waiting:
            reached = waiting.popleft()
            for attribute in definition_of(reached).attributes:
                child = get(reached, attribute.name) if has(reached, attribute.name) else None
                if not is_object(child) or id(child) in ways:
                    continue
                if (id(reached), attribute.name) not in self.frozen.kept:
                    ways[id(child)] = (*ways[id(reached)], attribute.name)
                    waiting.append(child)
        return ways
