"""A compiled call as one node on the tape: native code at first; on the way back it runs again, an operator at a time.

That is for functions whose second run gives what the first one gave: those that print nothing, and write nothing that
others see; random numbers and what a call writes may be put back before it (`OnceArguments`). Others run an operator at
a time to begin with.

>>> import flambeau
>>> @flambeau.script
... def energy(x):
...     return (x * x).sum()
>>> x = flambeau.tensor([1.0, 2.0], requires_grad=True)
>>> energy(x).grad_fn.name()
'CompiledCallBackward'
>>> energy(x).backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from flambeau.analysis.gradients import Marks, Replay
from flambeau.autograd import anomaly_mode
from flambeau.autograd.backward import grad_of
from flambeau.autograd.node import Gradients, Node, edge_of
from flambeau.autograd.saved import FREED, SavedTensor
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph
from flambeau.program import instances
from flambeau.program.classes import ClassDefinition
from flambeau.tensor.grad_mode import inference_mode, is_grad_enabled, refuse_saving
from flambeau.tensor.interceptors import changed
from flambeau.tensor.random import fork_rng, get_rng_state, set_rng_state
from flambeau.tensor.recorder import tensors_in
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.trees import tuple_of

Run = Callable[[Sequence[Any]], Any]
CHANGED = (
    "an object of a compiled call was given another {name} between the call and backward(), which needs what the call "
    "saw: assign it afterwards"
)


class KeptArguments(Protocol):
    """The arguments of a call as they were."""

    @property
    def asking(self) -> Sequence[Tensor]:
        """The tensors that ask for gradients, each once."""

    def restored(self, node: Node, needed: Sequence[int] | None = None) -> Sequence[Any]:
        """The arguments. Raises RuntimeError if one was written or an attribute assigned since: of those whose elements
        are needed, where that is told by number."""

    def again(self, run: Run) -> Run:
        """What runs the call once more so that it gives what it gave."""


class Arguments:
    """The arguments of a call as they were: to run it again, or to find that they have changed since."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.asking: list[Tensor] = []
        """The tensors that ask for gradients, each once."""
        self._tensors: dict[int, SavedTensor] = {}
        self._objects: list[tuple[Any, ClassDefinition, list[Any]]] = []
        self._seen: set[int] = set()
        self._values = [self._kept(value) for value in arguments]

    def _kept(self, value: Any) -> Any:
        """A value to run the call with: containers as they are now, tensors and objects themselves."""
        if isinstance(value, Tensor):
            if id(value) not in self._seen:
                self._seen.add(id(value))
                self._tensors[id(value)] = SavedTensor(value)
                if value.asks():
                    self.asking.append(value)
        elif isinstance(value, tuple):
            return tuple_of(type(value), [self._kept(item) for item in value])
        elif type(value) is list:
            return [self._kept(item) for item in value]
        elif type(value) is dict:
            return {key: self._kept(item) for key, item in value.items()}
        elif (definition := instances.definition_of(value)) is not None and id(value) not in self._seen:
            self._seen.add(id(value))
            values = list(instances.attribute_values(value, definition))
            self._objects.append((value, definition, values))
            for item in values:
                self._kept(item)
        return value

    def again(self, run: Run) -> Run:
        """What runs the call once more so that it gives what it gave: it has no effects."""
        return run

    @property
    def memory(self) -> set[int]:
        """The identities of the storages of all tensors in the arguments, also of those that ask for nothing."""
        return {id(saved.tensor._storage) for saved in self._tensors.values()}

    def restored(self, node: Node, needed: Sequence[int] | None = None) -> Sequence[Any]:
        """The arguments. Raises RuntimeError if one was written or an attribute assigned since: of those whose elements
        are needed, where that is told by number."""
        tensors = self._tensors
        checked = tensors.values() if needed is None else self._saved([self._values[n] for n in needed])
        for saved in checked:
            saved.restored(node)
        for owner, definition, values in self._objects:
            current = instances.attribute_values(owner, definition)
            for attribute, now, then in zip(definition.attributes, current, values, strict=True):
                if now is not then:
                    raise RuntimeError(CHANGED.format(name=attribute.name))
        return self._values

    def refuse_inference(self, needed: Sequence[int]) -> None:
        """Raise RuntimeError if the elements of a tensor are needed, by numbers of arguments, that was made in
        `inference_mode()`."""
        for saved in self._saved([self._values[n] for n in needed]):
            refuse_saving(saved.version)

    def _saved(self, values: Sequence[Any]) -> list[SavedTensor]:
        """What was saved of tensors among values, and in containers among them."""
        return [self._tensors[id(t)] for t in tensors_in(list(values)) if id(t) in self._tensors]


class OnceArguments(Arguments):
    """The arguments of a call that writes some of them, or draws random numbers, as they were before it: what a second
    run needs to be like the first."""

    def __init__(self, arguments: Sequence[Any], replay: Replay) -> None:
        super().__init__(arguments)
        self._copies = {n: arguments[n]._array.copy() for n in replay.rewritten}
        self._state = get_rng_state() if replay.draws else None

    def are_apart(self) -> bool:
        """Whether what is written shares no memory with another argument."""
        storages = [tensor._storage.identity for tensor in tensors_in(self._values)]
        return all(storages.count(self._values[n]._storage.identity) == 1 for n in self._copies)

    def again(self, run: Run) -> Run:
        """What runs the call again: on copies of what it writes, with the same random numbers, once for all gradients
        of a batch."""

        def once_more(arguments: Sequence[Any]) -> Any:
            values = [wrap(self._copies[n].copy()) if n in self._copies else v for n, v in enumerate(arguments)]
            with fork_rng(enabled=self._state is not None), changed(handlers=(), modes=()):
                if self._state is not None:
                    set_rng_state(self._state)
                return run(values)

        return once_more

    def ran(self) -> None:
        """The call has run: what it wrote is as it is meant to be now."""
        for number in self._copies:
            tensor = self._values[number]
            self._tensors[id(tensor)].version = tensor._storage.version

    def restored(self, node: Node, needed: Sequence[int] | None = None) -> Sequence[Any]:
        """The arguments; what the call itself wrote is no argument of a second run."""
        unwritten = [n for n in range(len(self._values)) if n not in self._copies]
        return super().restored(node, unwritten if needed is None else needed)


class CompiledCallBackward(Node):
    """One call of a compiled function."""

    __slots__ = ("_arguments", "_marks", "_run")

    def __init__(self, run: Run, arguments: KeptArguments, marks: Marks) -> None:
        super().__init__([edge_of(tensor) for tensor in arguments.asking])
        self._run = run
        self._arguments: KeptArguments | None = arguments
        self._marks = marks

    def apply(self, gradients: Gradients) -> Gradients:
        """Run the function again, recorded, and go back through that. Raises RuntimeError if an input was written."""
        arguments = self._arguments
        if arguments is None:
            raise RuntimeError(FREED)
        creates = is_grad_enabled()
        with inference_mode(False):
            results = marked(self._run(arguments.restored(self)), self._marks)
        pairs = [(r, g) for r, g in zip(results, gradients, strict=False) if g is not None and edge_of(r) is not None]
        roots, seeds = [r for r, _ in pairs], [g for _, g in pairs]
        return grad_of(roots, arguments.asking, seeds, None, creates, ends_at_targets=True)

    def release(self) -> None:
        """Let go of the arguments."""
        self._arguments = None


def marked(result: Any, marks: Marks) -> list[Tensor]:
    """The tensors in a result that depend on what asks for gradients."""
    tensors: list[Tensor] = []
    _collect(result, marks, tensors)
    return tensors


def _collect(result: Any, marks: Marks, tensors: list[Tensor]) -> None:
    if isinstance(result, Tensor):
        if marks is not False and result._array.dtype.kind in "fcV":
            tensors.append(result)
    elif isinstance(result, list | tuple):
        several = isinstance(marks, tuple) and len(marks) == len(result)
        for number, item in enumerate(result):
            _collect(item, marks[number] if several and isinstance(marks, tuple) else marks, tensors)
    elif isinstance(result, dict):
        for item in result.values():
            _collect(item, marks, tensors)


def put_on_tape(result: Any, marks: Marks, arguments: Arguments, run: Run, constants: frozenset[int]) -> bool:
    """Have the results of a native call know how they come about: by `run(arguments)`. False where `own_results` cannot
    tell which those are."""
    results = own_results(marked(result, marks), arguments, constants)
    if results is not None:
        attach(results, CompiledCallBackward(run, arguments, marks))
    return results is not None


def own_results(
    results: Sequence[Tensor], arguments: Arguments, constants: frozenset[int]
) -> list[Tensor | None] | None:
    """The results that a call made; None in the place of one that shows memory of an argument that asks for nothing, or
    of a constant (`constants` are the storages of the function's): it stays as the caller knows it, and asks for
    nothing either. None in the place of all where one shows memory of an argument that asks, or of another result,
    which one node does not tell apart."""
    asking = {id(tensor._storage) for tensor in arguments.asking}
    others = arguments.memory | constants
    own = [None if id(r._storage) in others and id(r._storage) not in asking else r for r in results]
    memory = [id(r._storage) for r in own if r is not None]
    return None if len(set(memory)) < len(memory) or not asking.isdisjoint(memory) else own


def attach(results: Sequence[Tensor | None], node: Node) -> None:
    """Have results be those of a node."""
    anomaly_mode.note(node)
    for number, tensor in enumerate(results):
        if tensor is not None:
            tensor._node, tensor.output_nr = node, number


def constant_memory(graph: Graph) -> frozenset[int]:
    """The identities of the storages of the tensors among the constants of a graph, which outlive it."""
    storages: set[int] = set()
    waiting: list[Any] = [node.attribute("value") for node in graph.find_all(CONSTANT) if "value" in node.attributes]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Tensor):
            storages.add(id(value._storage))
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
    return frozenset(storages)
