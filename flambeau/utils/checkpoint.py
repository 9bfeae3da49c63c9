"""Trading time for memory: parts of a program whose inner results are computed again on the way back.

>>> import flambeau
>>> x = flambeau.ones(2, requires_grad=True)
>>> y = checkpoint(lambda t: (t * 2).exp(), x, use_reentrant=False)
>>> y.sum().backward()
>>> x.grad
tensor([14.7781, 14.7781])
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final

from flambeau.autograd.backward import backward
from flambeau.autograd.engine import is_for_targets
from flambeau.autograd.function import Function
from flambeau.autograd.graph import saved_tensors_hooks
from flambeau.tensor.autocast_state import in_precision, precision
from flambeau.tensor.grad_mode import inference_mode, is_grad_enabled
from flambeau.tensor.modes import DispatchMode
from flambeau.tensor.random import get_rng_state, set_rng_state
from flambeau.tensor.recorder import tensors_in
from flambeau.tensor.tensor import Tensor
from flambeau.utils.selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "SelectiveCheckpointContext",
    "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
    "detach_variable", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
]  # fmt: skip
Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]
CHOOSE: Final = (
    "checkpoint: the use_reentrant parameter should be passed explicitly: use_reentrant=False is recommended, "
    "use_reentrant=True is taken here"
)
NONE_ASKS: Final = "None of the inputs have requires_grad=True. Gradients will be None"
NO_OUTPUT: Final = "none of output has requires_grad=True, this checkpoint() is not necessary"
NOT_WITH_GRAD: Final = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)
UNEQUAL: Final = (
    "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
    "Number of tensors saved during forward: {before}\nNumber of tensors saved during recomputation: {after}"
)
DIFFERENT: Final = (
    "checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.\n"
    "tensor at position {number}:\nsaved metadata: {before}\nrecomputed metadata: {after}"
)
CHECKS: Final = ("default", "none")
NO_CHECK: Final = "determinism_check should be one of {checks}, but got {check}"
OPERATORS: Final = "\noperators of the first run: {before}\noperators of the second run: {after}"
SEE_OPERATORS: Final = "\nTo see which operators ran, call checkpoint(..., debug=True)."
NO_TUPLE: Final = "Only tuple of tensors is supported. Got Unsupported input type: {kind}"
ONLY_REENTRANT: Final = "Passing `context_fn` or `debug` is only supported when use_reentrant=False."


class CheckpointError(RuntimeError):
    """What was computed again is not what was computed first."""


class _Asked(threading.local):
    early_stop: bool | None = None
    debug: bool | None = None


_asked: Final = _Asked()
"""What blocks around say; None outside of blocks."""


class _Log(DispatchMode):
    """Notes which operators run, on both runs."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether second runs of what is called in the block end as soon as all that was saved is there again, which they
    do by default; with False they run through, so that what the function does at its end is done twice.

    >>> import flambeau
    >>> x, calls = flambeau.ones(1, requires_grad=True), []
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(lambda t: (t.exp(), calls.append("end"))[0], x, use_reentrant=False)
    >>> y.backward()
    >>> calls
    ['end', 'end']
    """
    before, _asked.early_stop = _asked.early_stop, enable
    try:
        yield
    finally:
        _asked.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether checkpoints in the block note which operators run, for errors to tell; None leaves it to each call.

    >>> import flambeau
    >>> x = flambeau.ones(1, requires_grad=True)
    >>> with set_checkpoint_debug_enabled(True):
    ...     y = checkpoint(lambda t: t.exp(), x, use_reentrant=False)
    >>> y.backward()
    """
    before, _asked.debug = _asked.debug, enabled
    try:
        yield
    finally:
        _asked.debug = before


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Contexts in which nothing changes, as `context_fn` gives them.

    >>> [type(context).__name__ for context in noop_context_fn()]
    ['nullcontext', 'nullcontext']
    """
    return nullcontext(), nullcontext()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values, tensors detached from what they come from, that ask for gradients as they did.

    Raises RuntimeError for what is no tuple.

    >>> import flambeau
    >>> x = flambeau.ones(1, requires_grad=True) * 2
    >>> detach_variable((x, "text"))
    (tensor([2.], requires_grad=True), 'text')
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(NO_TUPLE.format(kind=type(inputs).__name__))
    return tuple(_apart(value) for value in inputs)


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn if no tensor among some values asks for gradients.

    >>> import flambeau
    >>> check_backward_validity([flambeau.ones(1, requires_grad=True)])
    """
    if not any(isinstance(value, Tensor) and value.requires_grad for value in inputs):
        warnings.warn(NONE_ASKS, stacklevel=2)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts | None = None,
    determinism_check: str = "default",
    preserve_rng_state: bool = True,
    early_stop: bool = True,
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """Run a function without keeping what its operators need for the way back: it runs again then.

    Args:
        function: what to run. It must do the same both times.
        args, kwargs: its arguments; tensors in them are kept.
        use_reentrant: False replaces each saved tensor by one that is computed when the first of them is needed; True
            records the call as one node, which goes back through a second run by itself (no keyword arguments then).
        context_fn: gives two context managers, for the first and for the second run; those of
            `create_selective_checkpoint_contexts` keep the results of chosen operators.
        determinism_check: "default" compares sizes and dtypes of what is computed again, "none" nothing.
        preserve_rng_state: draw the same random numbers both times.
        early_stop: end the second run as soon as all that was saved is there again; `set_checkpoint_early_stop` around
            the call comes first.
        debug: note which operators run, for errors to tell; `set_checkpoint_debug_enabled` comes first.

    Raises CheckpointError if the second run saves other tensors than the first, ValueError for what cannot be together.

    >>> import flambeau
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> checkpoint(lambda v: (v * 3).exp().log(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    if use_reentrant is None:
        warnings.warn(CHOOSE, stacklevel=2)
        use_reentrant = True
    if use_reentrant:
        _check_reentrant(kwargs, has_others=context_fn is not None or debug)
        if is_grad_enabled() and not any(tensor.requires_grad for tensor in tensors_in(args)):
            warnings.warn(NONE_ASKS, stacklevel=2)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not is_grad_enabled():
        return function(*args, **kwargs)
    if determinism_check not in CHECKS:
        raise ValueError(NO_CHECK.format(checks=list(CHECKS), check=determinism_check))
    stops = early_stop if _asked.early_stop is None else _asked.early_stop
    logs = (_Log(), _Log()) if (debug if _asked.debug is None else _asked.debug) else None
    first, second = (noop_context_fn if context_fn is None else context_fn)()
    frame = _Frame(function, args, kwargs, second, preserve_rng_state, determinism_check == "default", stops, logs)
    with nullcontext() if logs is None else logs[0], first, saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


checkpoint.language_form = "checkpoint"  # type: ignore[attr-defined]  # what calls in programs mean


def _check_reentrant(kwargs: dict[str, Any], *, has_others: bool) -> None:
    """Raise ValueError for what a call that is one node does not take."""
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if has_others:
        raise ValueError(ONLY_REENTRANT)


class _World:
    """What besides its arguments a function may depend on: random numbers to come, and mixed precision."""

    def __init__(self, *, with_random: bool) -> None:
        self._state = get_rng_state() if with_random else None
        self._precision = precision()

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Within the block, all is as it was."""
        now = get_rng_state()
        if self._state is not None:
            set_rng_state(self._state)
        try:
            with in_precision(self._precision):
                yield
        finally:
            if self._state is not None:
                set_rng_state(now)


class _Stop(Exception):  # noqa: N818  (no error: the second run has given all that is needed)
    pass


class _Frame:
    """One call whose saved tensors are computed again."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        context: AbstractContextManager[Any],
        preserves: bool,
        compares: bool,
        stops: bool,
        logs: tuple[_Log, _Log] | None,
    ) -> None:
        self._logs = logs
        self._call = (function, args, kwargs)
        self._context = context
        self._world = _World(with_random=preserves)
        self._compares = compares
        self._stops = stops
        self._kinds: list[Any] = []
        self._values: dict[int, Tensor] = {}

    def pack(self, tensor: Tensor) -> int:
        """The number of a tensor, in place of it."""
        self._kinds.append(_kind(tensor))
        return len(self._kinds) - 1

    def unpack(self, number: int) -> Tensor:
        """The tensor of a number: of the second run."""
        if number not in self._values:
            self._run_again()
        return self._values.pop(number)

    def _run_again(self) -> None:
        function, args, kwargs = self._call
        saved: list[Tensor] = []

        def keep(tensor: Tensor) -> Tensor:
            saved.append(tensor.detach())
            if self._stops and len(saved) == len(self._kinds):
                raise _Stop
            return tensor

        hooks = saved_tensors_hooks(keep, lambda tensor: tensor)
        log = nullcontext() if self._logs is None else self._logs[1]
        with suppress(_Stop), self._world.restored(), inference_mode(False), log, self._context, hooks:
            function(*map(_apart, args), **{name: _apart(value) for name, value in kwargs.items()})
        if len(saved) != len(self._kinds):
            raise CheckpointError(UNEQUAL.format(before=len(self._kinds), after=len(saved)) + self._operators())
        for number, (before, tensor) in enumerate(zip(self._kinds, saved, strict=True)):
            if self._compares and _kind(tensor) != before:
                text = DIFFERENT.format(number=number, before=before, after=_kind(tensor))
                raise CheckpointError(text + self._operators())
            self._values[number] = tensor

    def _operators(self) -> str:
        """What an error says of the operators that ran."""
        if self._logs is None:
            return SEE_OPERATORS
        before, after = (", ".join(log.names) for log in self._logs)
        return OPERATORS.format(before=before, after=after)


def _kind(tensor: Tensor) -> dict[str, Any]:
    return {"shape": list(tensor._array.shape), "dtype": tensor.dtype, "device": tensor.device}


def _apart(value: Any) -> Any:
    """A tensor on the same memory that asks as well, and that nothing leads back from."""
    return value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


class CheckpointFunction(Function):
    """A call as one node, which runs the function again and goes back through that: into leaves that the function sees
    besides its arguments as well, so that a run for the gradients of some tensors only is refused.

    >>> import flambeau
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> CheckpointFunction.apply(lambda v: v * 3, True, x).grad_fn.name()
    'CheckpointFunctionBackward'
    """

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserves: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.world = _World(with_random=preserves)
        ctx.tensor_indices = [n for n, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.values = [None if isinstance(value, Tensor) else value for value in args]
        ctx.save_for_backward(*[args[n] for n in ctx.tensor_indices])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if is_for_targets():
            raise RuntimeError(NOT_WITH_GRAD)
        values = list(ctx.values)
        for index, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            values[index] = _apart(tensor)
        with ctx.world.restored(), inference_mode(False):
            result = ctx.function(*values)
        listed = result if isinstance(result, tuple) else (result,)
        pairs = [
            (output, gradient)
            for output, gradient in zip(listed, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(NO_OUTPUT)
        backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        return (None, None, *[value.grad if isinstance(value, Tensor) else None for value in values])


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Run functions, or the modules of a `Sequential`, one after the other, in segments of which all but the last are
    checkpoints.

    >>> import flambeau
    >>> x = flambeau.ones(1, requires_grad=True)
    >>> steps = [flambeau.exp, flambeau.log, flambeau.sin, flambeau.cos]
    >>> checkpoint_sequential(steps, 2, x, use_reentrant=False).shape
    flambeau.Size([1])
    """
    listed: Sequence[Callable[[Any], Any]] = list(functions.children() if hasattr(functions, "children") else functions)
    length = len(listed) // segments

    def segment(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in listed[start:end]:
                value = function(value)
            return value

        return run

    end = 0
    for number in range(segments - 1):
        start, end = number * length, (number + 1) * length
        input = checkpoint(
            segment(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
    return segment(end, len(listed))(input)
