"""Checkpoints that keep the results of chosen operators, and compute the others again.

>>> import flambeau
>>> from flambeau.utils.checkpoint import checkpoint
>>> def policy(ctx, op, *args, **kwargs):
...     kept = op is flambeau.ops.aten.matmul.default
...     return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE
>>> w = flambeau.ones(2, 2, requires_grad=True)
>>> def contexts():
...     return create_selective_checkpoint_contexts(policy)
>>> checkpoint(lambda x: (x @ w).exp(), flambeau.zeros(1, 2), use_reentrant=False, context_fn=contexts).sum().backward()
>>> w.grad.tolist()
[[0.0, 0.0], [0.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final

from flambeau.tensor.modes import DispatchMode
from flambeau.tensor.tensor import Tensor
from flambeau.util.trees import mapped

NO_POLICY: Final = (
    "policy_fn_or_list takes a function or a list of operators, as flambeau.ops.aten.mm.default, got {kind}"
)
NO_OPERATOR: Final = (
    "a list of operators has overloads, as flambeau.ops.aten.mm.default, got {one!r}: write .default or another "
    "overload"
)
NO_ANSWER: Final = "a policy gives a CheckpointPolicy or a bool, got {answer!r} for {op}"
WRITTEN: Final = (
    "Tensor cached during selective activation checkpoint has been mutated: the result of {op} was written in place "
    "after it was kept; let it be computed again, or pass allow_cache_entry_mutation=True"
)
FEWER: Final = (
    "{op} was called more often when it was computed again than in the first run, or for a second way back: a "
    "selective checkpoint goes back once, and its function does the same both times"
)


class CheckpointPolicy(Enum):
    """What becomes of an operator's result.

    >>> CheckpointPolicy.MUST_SAVE in SAVED, CheckpointPolicy.PREFER_RECOMPUTE in SAVED
    (True, False)
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


SAVED: Final = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """What a policy is told besides the call: whether it is the run for the way back.

    >>> SelectiveCheckpointContext(is_recompute=False).is_recompute
    False
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


Policy = Callable[..., CheckpointPolicy]


class _Cached:
    """A tensor that was kept, and how often it had been written."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()
        self.version = self.tensor._version


class _Run(DispatchMode):
    """One of both runs, which share what is kept: by operator, in the order of calls."""

    def __init__(self, policy: Policy, kept: dict[Any, list[Any]], *, is_recompute: bool, may_be_written: bool) -> None:
        self._policy, self._kept, self._may_be_written = policy, kept, may_be_written
        self._context = SelectiveCheckpointContext(is_recompute=is_recompute)

    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.name() == "aten::detach":  # what saves tensors calls, in one run more often than in the other
            return func(*args, **kwargs)
        answer = self._policy(self._context, func, *args, **kwargs)
        if isinstance(answer, bool):
            answer = CheckpointPolicy.MUST_SAVE if answer else CheckpointPolicy.PREFER_RECOMPUTE
        if not isinstance(answer, CheckpointPolicy):
            raise TypeError(NO_ANSWER.format(answer=answer, op=func))
        if answer not in SAVED:
            return func(*args, **kwargs)
        if self._context.is_recompute:
            return self._taken(func)
        result = func(*args, **kwargs)
        self._kept.setdefault(func, []).append(mapped(lambda v: _Cached(v) if isinstance(v, Tensor) else v, result))
        return result

    def _taken(self, func: Any) -> Any:
        """The kept result of the next call of an operator."""
        waiting = self._kept.get(func)
        if not waiting:
            raise RuntimeError(FEWER.format(op=func))

        def tensor(value: Any) -> Any:
            if not isinstance(value, _Cached):
                return value
            if value.tensor._version != value.version and not self._may_be_written:
                raise RuntimeError(WRITTEN.format(op=func))
            return value.tensor

        return mapped(tensor, waiting.pop(0))


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[DispatchMode, DispatchMode]:
    """Two blocks for `checkpoint(..., context_fn=...)`: the first run keeps results, the second one takes them.

    Args:
        policy_fn_or_list: called as `policy(ctx, op, *args, **kwargs)` for each operator, with `ctx.is_recompute`; or a
            list of operators whose results are kept. They are those that `flambeau.DispatchMode` sees: `x @ w` is
            `aten.matmul.default`.
        allow_cache_entry_mutation: take results that were written in place meanwhile.

    Raises TypeError for anything else, and ValueError for operators without overload.

    >>> import flambeau
    >>> first, second = create_selective_checkpoint_contexts([flambeau.ops.aten.mm.default])
    """
    if isinstance(policy_fn_or_list, list | tuple):
        for one in policy_fn_or_list:
            if not hasattr(one, "overloadpacket"):
                raise ValueError(NO_OPERATOR.format(one=one))
        chosen = list(policy_fn_or_list)

        def policy(ctx: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError(NO_POLICY.format(kind=type(policy_fn_or_list).__name__))
    kept: dict[Any, list[Any]] = {}
    first = _Run(policy, kept, is_recompute=False, may_be_written=allow_cache_entry_mutation)
    return first, _Run(policy, kept, is_recompute=True, may_be_written=allow_cache_entry_mutation)
