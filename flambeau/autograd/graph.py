"""The tape's graph as users reach into it: nodes and edges, hooks on what is saved, hooks on several tensors.

>>> import flambeau
>>> x = flambeau.ones(2, requires_grad=True)
>>> with saved_tensors_hooks(lambda t: t.tolist(), lambda listed: flambeau.tensor(listed)):
...     y = x.exp() * 3
>>> [round(number, 3) for number in y.grad_fn.next_functions[0][0]._raw_saved_result.tensor]
[2.718, 2.718]
>>> y.sum().backward()
>>> x.grad
tensor([8.1548, 8.1548])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Self
from weakref import WeakSet

from flambeau.autograd import engine
from flambeau.autograd.first_gradients import Like
from flambeau.autograd.node import GradientEdge, Node, accumulator, edge_of
from flambeau.autograd.quick_calls import careful
from flambeau.autograd.saved import HOOKS, Pack, Unpack
from flambeau.autograd.tensor_methods import register_hook
from flambeau.schema.opdef import OpDef
from flambeau.tensor import dispatch
from flambeau.tensor.recorder import tensors_in
from flambeau.tensor.tensor import Tensor
from flambeau.util.hooks import RemovableHandle
from flambeau.util.locks import Lock

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor that asks for gradients. Raises RuntimeError for others.

    >>> import flambeau
    >>> x = flambeau.tensor(2.0, requires_grad=True)
    >>> y = x * x
    >>> edge = get_gradient_edge(y)
    >>> flambeau.autograd.grad(y * 3, edge)
    (tensor(3.),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    number = 0 if node is None else tensor.output_nr
    return GradientEdge(accumulator(tensor) if node is None else node, number, Like(tensor.shape, tensor.dtype))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that tensors were written in a way that nobody saw: what was saved of them before is out of date.

    >>> import flambeau
    >>> x = flambeau.ones(2)
    >>> increment_version(x)
    >>> x._version
    1
    """
    for one in [tensor] if isinstance(tensor, Tensor) else tensor:
        one._storage.version += 1


class saved_tensors_hooks:  # noqa: N801  (as programs write it)
    """Within the block, what is kept for the way back is what `pack_hook(tensor)` gives; `unpack_hook` gives the tensor
    of that when it is needed. Blocks in blocks: the innermost pair is used.

    Raises RuntimeError where `disable_saved_tensors_hooks` forbids it.

    >>> import flambeau
    >>> x = flambeau.tensor(2.0, requires_grad=True)
    >>> sizes = []
    >>> with saved_tensors_hooks(lambda t: sizes.append(t.shape) or t, lambda t: t):
    ...     y = x.exp()
    >>> y.backward()
    >>> sizes, x.grad
    ([flambeau.Size([])], tensor(7.3891))
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._careful: AbstractContextManager[None] | None = None

    def __enter__(self) -> Self:
        if HOOKS.refusals:
            raise RuntimeError(HOOKS.refusals[-1])
        self._careful = careful()
        self._careful.__enter__()
        HOOKS.stack.append((self.pack_hook, self.unpack_hook))
        return self

    def __exit__(self, *error: Any) -> None:
        HOOKS.stack.pop()
        assert self._careful is not None
        self._careful.__exit__(None, None, None)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801  (as programs write it)
    """Within the block, what is kept for the way back lies in the CPU's memory, and returns to its device for it.

    >>> import flambeau
    >>> x = flambeau.tensor(2.0, requires_grad=True)
    >>> with save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(4.)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within the block, hooks on what is saved are refused with RuntimeError(error_message).

    >>> with disable_saved_tensors_hooks("not here"), save_on_cpu():
    ...     pass
    Traceback (most recent call last):
        ...
    RuntimeError: not here
    """
    if HOOKS.stack:
        raise RuntimeError(error_message)
    HOOKS.refusals.append(error_message)
    try:
        yield
    finally:
        HOOKS.refusals.pop()


_COPYING: Final[ContextVar[bool]] = ContextVar("copying", default=False)
"""Whether a block is around in which saved tensors are copied before they are written."""


class _Copied:
    """A saved tensor that is copied when something writes to its memory."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __hash__(self) -> int:
        return id(self)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Within the block, tensors that were saved may be written in place: what was saved is copied before.

    >>> import flambeau
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> with allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     _ = y.mul_(100)
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])

    Raises RuntimeError within another such block.
    """
    if _COPYING.get():
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    kept: WeakSet[_Copied] = WeakSet()

    def pack(tensor: Tensor) -> _Copied:
        copied = _Copied(tensor)
        kept.add(copied)
        return copied

    def copy_before(definition: OpDef, arguments: Sequence[Any], proceed: Callable[[Sequence[Any]], Any]) -> Any:
        if definition.schema.is_mutable:
            memory = {
                id(tensor._storage)
                for formal, value in zip(definition.schema.arguments, arguments, strict=False)
                if formal.alias is not None and formal.alias.is_write
                for tensor in tensors_in(value)
            }
            for copied in [c for c in kept if id(c.tensor._storage) in memory]:
                copied.tensor = copied.tensor.detach().clone()
                kept.discard(copied)
        return proceed(arguments)

    token = _COPYING.set(True)
    try:
        with dispatch.intercepting(copy_before), saved_tensors_hooks(pack, lambda copied: copied.tensor):
            yield
    finally:
        _COPYING.reset(token)


class _Count:
    """What a hook on several tensors waits for in one run."""

    def __init__(self, expected: int, number: int) -> None:
        self.expected = expected
        self.gradients: list[Tensor | None] = [None] * number
        self.arrived = 0


class _MultiHandle(RemovableHandle):
    def __init__(self, handles: list[RemovableHandle]) -> None:
        super().__init__({})
        self._handles = handles

    def remove(self) -> None:
        """Take the hook away from all tensors."""
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once for each run over the tape, when the gradients of several tensors are known.

    Args:
        tensors: tensors that ask for gradients.
        fn: with mode "all" it gets a list of a gradient, or None, for each tensor, when all that the run computes are
            there; with mode "any" the first gradient.
        mode: "all" or "any"; ValueError for others.

    >>> import flambeau
    >>> x, y = (flambeau.ones(1, requires_grad=True) for _ in range(2))
    >>> handle = register_multi_grad_hook([x, y], lambda grads: print([g.item() for g in grads]))
    >>> (x * 2 + y * 3).backward()
    [2.0, 3.0]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    counts: dict[int, _Count] = {}
    lock = Lock()

    def hook_of(number: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            run = engine.current_run()
            with lock:
                count = counts.get(id(run))
                if count is None:
                    expected = 1 if mode == "any" else sum(run.will_reach(edge_of(tensor)) for tensor in tensors)
                    count = counts[id(run)] = _Count(expected, len(tensors))
                    run.at_end.append(lambda: counts.pop(id(run), None))
                count.gradients[number] = gradient
                count.arrived += 1
                is_complete = count.arrived == count.expected
            if is_complete:
                fn(gradient if mode == "any" else count.gradients)

        return hook

    return _MultiHandle([register_hook(tensor, hook_of(number)) for number, tensor in enumerate(tensors)])
