"""Calls of a method whose object has not been read: of the file they take where tensors lie, of the cache machine code.

    arguments ──┐
    file ─ tensors ─ native code of the plan ─ result

Only what fits is answered. Whoever looks on, asks for gradients or replaced a kernel, and arguments of another kind
than the image has, need the object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.executor import latest
from flambeau.executor.options import Options
from flambeau.executor.read_plan import ReadPlan
from flambeau.executor.stored import CacheEntry, has_own_kernels
from flambeau.ir.graph import Graph
from flambeau.jit.loading.image_record import KeptCall, KeptMethod
from flambeau.jit.value_conversion import MismatchError, converter
from flambeau.specialise.spec import Spec, describe, spec_of
from flambeau.tensor import defaults, kernels
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor
from flambeau.util.locks import Lock
from flambeau.util.missed import MISSED, missed
from flambeau.util.record import dataclass, replace

OPTIONS: Final = Options()
"""The options of methods of loaded modules."""


@dataclass(slots=True, eq=False)
class LinkedCall:
    """Calls of one kind, with what they run in memory."""

    kept: KeptCall
    plan: ReadPlan
    hidden: tuple[Any, ...]
    spec: Spec
    """What the plan relies on of the arguments."""
    path: Callable[..., Any] = missed
    """Takes arguments and what is hidden; gives the result, or `MISSED`."""


class ImageCalls:
    """The calls of one method."""

    def __init__(
        self, name: str, kept: KeptMethod, memory: Any, entry: CacheEntry, read: Callable[[], None], lock: Lock
    ) -> None:
        """`memory` is that of the file, `entry` where its image lies; `read` has the object read under the lock."""
        self.name = name
        self._kept, self._memory, self._entry, self._read = kept, memory, entry, read
        self._dtype = defaults.float_dtype()
        self.linked: dict[str, LinkedCall] = {}
        """By what a plan relies on of the arguments."""
        self._answering: tuple[LinkedCall, ...] = ()
        """The kinds of calls that native code answers, the newest first."""
        self._latest: LinkedCall | None = None
        self._lock, self._is_over = lock, False
        positional = [not p.is_by_name for p in kept.parameters]
        self._count = len(positional) if all(positional) else -1

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result; `MISSED` for a call that the image does not serve."""
        if thread.observer is not None or thread.handlers or thread.is_plain or has_own_kernels():
            return MISSED
        if not kwargs and len(args) == self._count:
            is_recorded = is_grad_enabled()
            for linked in self._answering:
                if is_recorded in linked.kept.modes:
                    result = linked.path(*args, *linked.hidden)
                    if result is not MISSED:
                        return result
        return self._first(args, kwargs)

    def _first(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result of a call that comes by Python."""
        if kernels.table.overridden_names or defaults.float_dtype() != self._dtype:
            return MISSED
        arguments = self._bound(args, kwargs)
        if arguments is None:
            return MISSED
        spec = spec_of(arguments)
        key = describe(spec)
        kept = self._kept.calls.get(key)
        if kept is None or is_grad_enabled() not in kept.modes:
            return MISSED
        with self._lock:
            linked = None if self._is_over else self.linked.get(key) or self._link(key, kept, spec, arguments)
        if linked is None:
            return MISSED
        self._latest = linked
        latest.note(self)
        result = linked.path(*arguments, *linked.hidden)
        if result is not MISSED:
            self._answering = (linked, *[one for one in self._answering if one is not linked])
            latest.is_answered(self)
        return result

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """All arguments in order, converted; None where the signature has to say what is wrong with them, or meant."""
        by_name = dict(kwargs)
        values: list[Any] = []
        for number, parameter in enumerate(self._kept.parameters):
            if number < len(args):
                if parameter.is_by_name:
                    return None
                values.append(args[number])
            elif parameter.name in by_name:
                values.append(by_name.pop(parameter.name))
            elif parameter.default:
                values.append(parameter.default[0])
            else:
                return None
        if by_name or len(args) > len(values):
            return None
        try:
            return tuple([converter(p.type)(v) for p, v in zip(self._kept.parameters, values, strict=True)])
        except MismatchError:
            return None

    def _link(self, key: str, kept: KeptCall, spec: Spec, arguments: Sequence[Any]) -> LinkedCall | None:
        """Put what such calls run into memory; None where it is not there any more."""
        latest.makes_plan()
        plan = ReadPlan.of(replace(self._entry, key=kept.plan), OPTIONS, self._kept.name)
        if plan is None:
            return None
        hidden = tuple([_tensor(self._memory, *one) if type(one) is tuple else one[0] for one in kept.hidden])
        if not plan.serves((*arguments, *hidden)) or self._is_over:
            return None
        plan.late.find_function = self._read
        linked = self.linked[key] = LinkedCall(kept, plan, hidden, spec)
        native = plan.compiled.variant_for((*arguments, *hidden))
        path = plan.compiled.fast_path
        if native is None or path is None:
            del self.linked[key]
            return None
        linked.path = path
        return linked

    def end(self) -> list[LinkedCall]:
        """Serve no calls of new kinds; the kinds that came, the last one at the end."""
        self._is_over = True
        return sorted(self.linked.values(), key=lambda one: one is self._latest)

    # -- as those see it who ask what ran last ------------------------------------------------------------------------

    @property
    def calls(self) -> int:
        """How often plans ran."""
        return sum([linked.plan.compiled.calls for linked in self.linked.values()])

    @property
    def latest_graph(self) -> Graph | None:
        """The graph of the plan used last."""
        return None if self._latest is None else self._latest.plan.compiled.graph

    def drop_fast_paths(self) -> None:
        """Have the next call come through Python."""
        self._answering = ()


def _tensor(memory: Any, begin: int, dtype: str, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """The tensor at a place of the file, whose bytes are `memory`."""
    return Tensor(np.ndarray(sizes, dtype, memory, begin, strides), None)
