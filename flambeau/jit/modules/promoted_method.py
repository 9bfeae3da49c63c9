"""A compiled method that native code runs without its object: what it reads of the object goes in as arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import attrgetter, getitem, is_
from typing import Any, Final

from flambeau.codegen.callable_type import MISSED
from flambeau.codegen.unchanged import unchanged
from flambeau.executor import gradients, lost_numbers
from flambeau.executor.executor import Executor, executor_of
from flambeau.executor.inlined_graph import cast_graph, inlined_graph
from flambeau.executor.known_classes import for_classes_of
from flambeau.executor.options import Options
from flambeau.executor.parameter_promotion import PROMOTION, Promotion, promotion_of
from flambeau.executor.precisions import alone
from flambeau.executor.promoted_answers import ASKS, GRAD_MODE, Path
from flambeau.executor.promoted_containers import items_of
from flambeau.executor.read_plan import ReadPlan
from flambeau.executor.stored import entry_of, is_kept, plan_entry
from flambeau.jit.arguments import ArgumentError
from flambeau.jit.function import ScriptFunction
from flambeau.jit.modules.script_method import ScriptMethod, shown
from flambeau.program.function import Function
from flambeau.program.object import UNSET, ScriptObject
from flambeau.specialise.spec import Spec, spec_of
from flambeau.tensor.dispatch import intercepting
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.observer import thread
from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import InternalError, NeedsObjectError
from flambeau.util.foreign import is_foreign
from flambeau.util.record import dataclass, field

_array_of = attrgetter("_array")
OFTEN: Final = 100
"""Looks at an object's attributes by Python, before machine code is made for them."""


@dataclass(slots=True)
class _Length:
    """A list whose only item is whether another has as many as it had."""

    of: list[Any]
    count: int

    def __getitem__(self, key: int) -> bool:
        return len(self.of) == self.count


@dataclass(slots=True)
class _Asks:
    """A list whose only item is whether a tensor asks for gradients."""

    of: Tensor

    def __getitem__(self, key: int) -> bool:
        return self.of.requires_grad


@dataclass(slots=True)
class _Keys:
    """A list whose only item is whether a dict has the keys that it had, in this order."""

    of: dict[Any, Any]
    keys: list[Any]

    def __getitem__(self, key: int) -> bool:
        return [*self.of] == self.keys


@dataclass(slots=True)
class _Values:
    """A list by the keys of a dict: what is not there is nothing that was found."""

    of: dict[Any, Any]

    def __getitem__(self, key: Any) -> Any:
        return self.of.get(key, UNSET)


class _GradMode:
    """A list whose only item is whether gradients are recorded on this thread."""

    def __getitem__(self, key: int) -> bool:
        return is_grad_enabled()


_GRAD_MODE = _GradMode()


@dataclass(slots=True)
class _Seen:
    """What was found when the object was last looked at. It is not changed once it is in use: threads may share it."""

    lists: list[list[Any]] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    """Where objects and values were: in which list, under which index or key, and what was there."""
    noted: set[tuple[int, int]] = field(default_factory=set)
    """Which of them are in these lists."""
    tensors: list[Tensor] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)
    """Parameters that plain tensors stand for, and the memory that those show."""
    hidden: tuple[Any, ...] = ()
    """The arguments that nobody passes."""
    cells: list[tuple[int, list[Any], int]] = field(default_factory=list)
    """What the method assigns: its place among the hidden arguments, and where it is."""
    taken: tuple[Any, ...] = ()
    """What they stand for."""
    native: ScriptFunction | None = None
    """The method as a function that takes them last; None where the method needs its object after all."""

    looks: int = 0
    """How often somebody asked `is_current`."""
    look: Callable[[], bool] | None = None
    """Answers it, once it was asked often."""

    def is_current(self) -> bool:
        """Whether everything is still where it was."""
        if self.look is not None:
            return self.look()
        self.looks += 1
        if self.looks == OFTEN:
            self.look = self._machine_look()
        return all(map(is_, map(getitem, self.lists, self.keys), self.values)) and all(
            map(is_, map(_array_of, self.tensors), self.arrays)
        )

    def _machine_look(self) -> Callable[[], bool] | None:
        """The same by machine code, but for what is only asked as lists are; None where there is none."""
        rows = list(zip(self.lists, self.keys, self.values, strict=True))
        own = [row for row in rows if type(row[0]) is list]
        others = [row for row in rows if type(row[0]) is not list]
        lists, keys, values = [r[0] for r in own], [r[1] for r in own], [r[2] for r in own]
        look = unchanged(lists, keys, values, self.tensors, self.arrays)
        if look is None or not others:
            return look
        machine, seldom = look, list(zip(*others, strict=True))
        return lambda: machine() and all(map(is_, map(getitem, seldom[0], seldom[1]), seldom[2]))

    def read(self, owner: ScriptObject, path: tuple[str, ...], *, is_assigned: bool = False) -> Any:
        """The value of an attribute, noting where it was; of one that the method assigns, where it is."""
        value: Any = owner
        if path == (GRAD_MODE,):
            return self._note_mode()
        for depth, name in enumerate(path, 1):
            if name == ASKS and not isinstance(value, ScriptObject):
                return self._note_asks(value)
            if not isinstance(value, ScriptObject):
                return UNSET
            stored, definition = value.values, value.type.definition
            slot = definition.slots.get(name, -1)
            value = stored[slot if slot >= 0 else definition.slot(name)]
            if is_assigned and depth == len(path):
                self.cells.append((0, stored, slot))
                break
            if (id(stored), slot) not in self.noted:
                self.noted.add((id(stored), slot))
                self.lists.append(stored)
                self.keys.append(slot)
                self.values.append(value)
        if isinstance(value, list):
            self._note_items(value)
        elif isinstance(value, dict):
            self._note_keys(value)
        return value

    def is_shared(self) -> bool:
        """Whether what the method assigns is read or assigned under another name as well."""
        cells = [(id(stored), slot) for _, stored, slot in self.cells]
        return len(set(cells)) < len(cells) or not self.noted.isdisjoint(cells)

    def _note_mode(self) -> bool:
        """Note whether gradients are recorded."""
        value = is_grad_enabled()
        self.lists.append(_GRAD_MODE)  # type: ignore[arg-type]  # it is asked as lists are
        self.keys.append(0)
        self.values.append(value)
        return value

    def _note_asks(self, value: Any) -> bool:
        """Note whether a tensor asks for gradients; None in its place does not."""
        if not isinstance(value, Tensor):
            return False
        asks = value.requires_grad
        self.lists.append(_Asks(value))  # type: ignore[arg-type]  # it is asked as lists are
        self.keys.append(0)
        self.values.append(asks)
        return asks

    def _note_items(self, items: list[Any]) -> None:
        """Note what is in a list: how much first, since nothing else is looked at where that is something else."""
        self.lists += [_Length(items, len(items)), *[items] * len(items)]  # type: ignore[list-item]  # it is asked as lists are
        self.keys += [0, *range(len(items))]
        self.values += [True, *items]

    def _note_keys(self, items: dict[Any, Any]) -> None:
        """Note what is in a dict, in order."""
        self.lists += [_Keys(items, [*items]), *[_Values(items)] * len(items)]  # type: ignore[list-item]
        self.keys += [0, *items]
        self.values += [True, *items.values()]

    def stand_in(self, value: Any) -> Any:
        """What native code gets: in the place of a parameter a tensor over the same memory."""
        if not isinstance(value, Tensor) or (type(value) is Tensor and not value.requires_grad):
            return value
        self.tensors.append(value)
        self.arrays.append(value._array)
        return settle(Tensor(value._array, value._storage))


class PromotedMethod(ScriptMethod):
    """A method whose object's attributes are looked up before each call, which sees whatever was assigned since."""

    def __init__(self, function: Function, owner: ScriptObject, executor: Executor) -> None:
        super().__init__(function, owner, executor)
        self._with_object = executor
        arguments = function.schema.arguments[1:]
        self._count = -1 if any(a.kwarg_only for a in arguments) else len(arguments)
        """How many arguments by position are all of them; -1 where some have to be given by name."""
        self._natives: dict[Function, ScriptFunction] = {}
        self._seen: _Seen | None = None
        """None before the first call: only what is called is worth promotion."""
        self._looked: _Seen | None = None
        """What the question for a plan has seen, for the call that is made now."""

    def begin_anew(self) -> None:
        """Forget what was made of the method: it has another graph."""
        super().begin_anew()
        self._executor = self._with_object
        self._natives = {}
        self._seen = self._looked = None

    @property
    def promotion(self) -> Promotion | None:
        """How the method runs without its object; None where it needs it."""
        return self._promotion()[0]

    def _promotion(self) -> tuple[Promotion | None, tuple[Path, ...]]:
        """The same, and where in the object are those of whose classes it depends."""
        if self._gives_objects:
            return None, ()
        function, paths = for_classes_of(self.script_function, self.owner)
        return promotion_of(function), paths

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Raises ArgumentError before anything runs, ScriptError for its own raise, else RuntimeError."""
        seen = self._seen
        if seen is None or not seen.is_current():
            if (result := self._at_once(args, kwargs)) is not MISSED:
                return result
            seen = self._look()
        if seen.native is None or self._is_watched(seen):
            return self._call_slowly(*args, **kwargs)
        if kwargs or len(args) != self._count:
            args = self._signature.bind(args, kwargs)
        try:
            if seen.taken and is_grad_enabled():
                result = self._recorded(seen, seen.native, args)
                if result is not MISSED:
                    return result
            if seen.cells:
                return self._assigning(seen, seen.native, args)
            return seen.native(*args, *seen.hidden)
        except ArgumentError:
            by_place, by_name = self._as_given(args)
            self._signature.bind(by_place, by_name)  # raises it in the words of this method
            raise
        except NeedsObjectError:
            return self._call_again(args)

    def _is_watched(self, seen: _Seen) -> bool:
        """Whether the method runs with its object for who looks on; within `autocast`, if it has blocks of its own."""
        if thread.observer is not None or thread.is_plain or not thread.handlers:
            return thread.observer is not None or thread.is_plain
        function = self.script_function
        return bool(alone()) and (bool(seen.cells) or cast_graph(function) is not inlined_graph(function))

    def _recorded(self, seen: _Seen, native: ScriptFunction, args: tuple[Any, ...]) -> Any:
        """The call where parameters ask for gradients; `MISSED` where none does."""
        if thread.handlers and alone():
            return native(*args, *seen.taken)
        if native._executor.repeated_calls and not (seen.cells or thread.handlers):
            result = native._executor.once_more((*args, *seen.taken))
            if result is not MISSED:
                return result
        asks = gradients.asking(seen.taken)
        return self._marked(seen, native, args, asks) if True in asks else MISSED

    def _at_once(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The answer before there is a plan; `MISSED` where a plan is to answer."""
        is_watched = thread.is_plain or thread.handlers or thread.observer is not None
        if is_watched or not self._with_object.first_tier.is_on:
            return MISSED
        bound = self._signature.bind(tuple(args), kwargs)
        arguments = (self.owner, *bound)
        result = self._with_object.at_once(arguments, lambda: self._make_ready(bound), lambda: self._is_kept(bound))
        if result is not MISSED:
            self._looked = None
        return shown(result) if self._gives_objects else result

    def _is_kept(self, bound: tuple[Any, ...]) -> bool:
        """Whether an earlier process has left the plan for arguments like these: one that promoted the method has."""
        entry = entry_of(self.script_function, PROMOTION)
        seen = self._looked = self._found() if entry is not None and entry.is_there() else None
        if seen is None or seen.native is None:
            return is_kept(self.script_function, (self.owner, *bound), self._with_object.options)
        return is_kept(seen.native.script_function, (*bound, *seen.hidden), self._with_object.options)

    def _make_ready(self, bound: tuple[Any, ...]) -> None:
        """Make the plan for arguments like these, for the calls to come."""
        seen = self._found()
        if seen.native is None:
            self._with_object.make_ready((self.owner, *bound))
        else:
            seen.native._executor.make_ready((*bound, *seen.hidden))

    def _marked(self, seen: _Seen, native: ScriptFunction, args: tuple[Any, ...], hidden: gradients.Asking) -> Any:
        """The call of a method some of whose parameters ask for gradients: recorded if a result depends on them."""
        args = native._signature.bind((*args, *seen.hidden), {})[: len(args)]
        arguments = (*args, *seen.hidden)
        asks = (*gradients.asking(args), *hidden)
        flow = native._executor.derivatives.flow(spec_of(arguments), arguments, asks)
        if not (flow.is_open or flow.is_recorded):
            return self._assigning(seen, native, args) if seen.cells else native(*arguments)
        if (flow.is_repeatable or flow.replay) and not flow.is_open and not seen.cells:
            plain = gradients.Plain(arguments).arguments
            return native._executor.on_tape(flow, (*args, *seen.taken), lambda: native(*plain))
        if seen.cells:
            with intercepting(gradients.one_by_one):
                return self._call_again(args)
        reason = lost_numbers.OPEN if flow.is_open else lost_numbers.EFFECTS
        return native._executor.recorded((*args, *seen.taken), reason)

    def _assigning(self, seen: _Seen, native: ScriptFunction, args: tuple[Any, ...]) -> Any:
        """The call of a method that assigns: what attributes become are the last results."""
        hidden = list(seen.hidden)
        for at, stored, slot in seen.cells:
            value = hidden[at] = stored[slot]
            if isinstance(value, Tensor) and (type(value) is not Tensor or value.requires_grad):
                return self._call_again(args)
        try:
            results = native(*args, *hidden)
        except ArgumentError:
            raise
        except Exception as error:
            if is_foreign(error):
                raise
            return self._call_again(args)  # fails as well, and leaves what was assigned before
        first = len(results) - len(seen.cells)
        for (_, stored, slot), value in zip(seen.cells, results[first:], strict=True):
            stored[slot] = value
        return results[0] if first else None

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        """The call as a method of the object, or as Python."""
        if thread.is_plain and self._python is not None:
            return self._python(*args, **kwargs)
        bound = self._signature.bind(args, kwargs)
        if thread.observer is not None:
            return self._watched(thread.observer, bound)
        result = self._with_object(self.owner, *bound)
        return shown(result) if self._gives_objects else result

    def _call_again(self, args: tuple[Any, ...]) -> Any:
        """The call as a method of the object, of arguments in the order of the schema."""
        by_place, by_name = self._as_given(args)
        return self._call_slowly(*by_place, **by_name)

    def _as_given(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments in the order of the schema as a call gives them: by position, and those that have to be by name."""
        names = [a.name for a in self.schema.arguments[1:] if a.kwarg_only]
        first = len(self.schema.arguments) - 1 - len(names)
        return args[:first], dict(zip(names, args[first:], strict=False))

    def _watched(self, watching: Any, arguments: tuple[Any, ...]) -> Any:
        return watching.called_method(self, arguments, lambda plain: self._with_object(self.owner, *plain))

    def _full(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        seen = self._look()
        bound = self._signature.bind(tuple(args), kwargs)
        return (self.owner, *bound) if seen.native is None else (*bound, *seen.hidden)

    def _look(self) -> _Seen:
        """The hidden arguments as they are now, and the function that takes them, which takes calls from now on."""
        looked, self._looked = self._looked, None
        seen = self._seen = looked if looked is not None and looked.is_current() else self._found()
        if seen.native is None:
            self._executor = self._with_object
        else:
            self._executor = seen.native._executor
            self._executor.first_tier.is_on = False
        return seen

    def _found(self) -> _Seen:
        """The hidden arguments as they are now, and the function that takes them."""
        seen, (promotion, paths) = _Seen(), self._promotion()
        for path in paths:
            seen.read(self.owner, path)
        values: list[Any] = []
        if promotion is not None:
            read = len(promotion.paths) - promotion.assigned
            values = [seen.read(self.owner, p, is_assigned=k >= read) for k, p in enumerate(promotion.paths)]
        is_whole = promotion is not None and not any(map(is_, values, repeat(UNSET))) and not seen.is_shared()
        variant = promotion.variant(values) if promotion is not None and is_whole else None
        if variant is not None:
            function, fixed = variant
            taken = [one for v, known in zip(values, fixed, strict=True) if not known for one in items_of(v)]
            seen.taken = tuple(taken)
            seen.hidden = tuple(map(seen.stand_in, taken))
            first = len(taken) - len(seen.cells)
            seen.cells = [(first + k, stored, slot) for k, (_, stored, slot) in enumerate(seen.cells)]
            seen.native = self._native(function)
        return seen

    def take(self, read: ReadPlan, key: str, spec: Spec) -> Executor:
        """Have a plan, which lies under a key of the cache and was called without the object, be that of calls with
        arguments of a spec. What runs such calls now."""
        seen = self._found()
        function = self.script_function if seen.native is None else seen.native.script_function
        whole = (*spec, *spec_of(seen.hidden))
        entry = plan_entry(function, whole, self._with_object.options)
        if seen.native is None or entry is None or entry.key != key:
            raise InternalError("the cache on disk", f"{function.short_name} has another plan than it was called by")
        seen.native._executor.take(read, entry, whole)
        self._looked = seen
        self._look()
        return self._executor

    def _native(self, function: Function) -> ScriptFunction:
        native = self._natives.get(function)
        if native is None:
            options = self._with_object.options
            executor = executor_of(function) if options == Options() else Executor(function, options)
            native = self._natives[function] = ScriptFunction(function, executor=executor)
            executor.first_tier = self._with_object.first_tier  # a call answered there is answered
        return native


def method_of(function: Function, owner: ScriptObject, executor: Executor) -> ScriptMethod:
    """A method with its object; where native code is wanted, one that does without it if it can."""
    kind = PromotedMethod if executor.options.backend == "native" else ScriptMethod
    return kind(function, owner, executor)
