"""Checkpoints that keep the results of chosen operators."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

MATMUL = flambeau.ops.aten.matmul.default


class Counted(flambeau.DispatchMode):
    """How often each operator runs."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __flambeau_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls[str(func)] += 1
        return func(*args, **(kwargs or {}))


def network(x: Tensor, w: Tensor) -> Tensor:
    h = (x @ w).tanh()
    return ((h @ w).exp() * h).sum()


def tried(policy: Any, **options: Any) -> tuple[list[Any], Counter[str], Counter[str]]:
    """The gradients, and what ran on both ways."""
    x, w = flambeau.linspace(0, 1, 4).reshape(2, 2).requires_grad_(), flambeau.linspace(-1, 1, 4).reshape(2, 2)
    w.requires_grad_()
    there, back = Counted(), Counted()
    with there:
        if policy is None:
            y = network(x, w)
        else:
            y = checkpoint(
                network, x, w, use_reentrant=False,
                context_fn=lambda: create_selective_checkpoint_contexts(policy, **options),
            )  # fmt: skip
    with back:
        y.backward()
    return [x.grad.tolist(), w.grad.tolist()], there.calls, back.calls


def by_name(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    kept = op in (MATMUL, flambeau.ops.aten.exp.default)
    return CheckpointPolicy.PREFER_SAVE if kept else CheckpointPolicy.MUST_RECOMPUTE


@pytest.mark.parametrize("policy", [[MATMUL], by_name, [], lambda *a, **k: True, lambda *a, **k: False])
def test_gradients_are_the_same(policy: Any) -> None:
    expected, _, _ = tried(None)
    gradients, _, _ = tried(policy)
    assert gradients == expected


def test_what_is_kept_does_not_run_again() -> None:
    _, there, back = tried([MATMUL])
    assert there["aten.matmul.default"] == 2
    assert back["aten.matmul.default"] == tried(None)[2]["aten.matmul.default"]
    assert back["aten.tanh.default"] == 1
    assert tried([])[2]["aten.matmul.default"] > back["aten.matmul.default"]


def test_policies_know_the_run() -> None:
    seen: list[bool] = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
        seen.append(ctx.is_recompute)
        return False

    tried(policy)
    assert seen[0] is False
    assert seen[-1] is True


def written(x: Tensor) -> Tensor:
    y = x.exp()
    z = y * 2
    y.add_(1)
    return (z * z).sum()


def test_what_was_written_is_not_taken() -> None:
    x = flambeau.ones(2, requires_grad=True)

    def contexts(**options: Any) -> Any:
        return lambda: create_selective_checkpoint_contexts([flambeau.ops.aten.exp.default], **options)

    y = checkpoint(written, x, use_reentrant=False, context_fn=contexts())
    with pytest.raises(RuntimeError, match=r"the result of aten\.exp\.default was written in place"):
        y.backward()


def test_a_second_way_back_is_refused() -> None:
    x = flambeau.ones(2, requires_grad=True)
    y = checkpoint(
        lambda t: (t.exp() * t).sum(), x, use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts([flambeau.ops.aten.exp.default]),
    )  # fmt: skip
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match=r"aten\.exp\.default was called more often .* goes back once"):
        y.backward()


@pytest.mark.parametrize(
    ("policy", "error", "text"),
    [
        (3, TypeError, "takes a function or a list of operators"),
        ([flambeau.ops.aten.mm], ValueError, "a list of operators has overloads"),
        (["mm"], ValueError, "a list of operators has overloads"),
        (lambda ctx, op, *a, **k: "save", TypeError, "a policy gives a CheckpointPolicy or a bool, got 'save'"),
    ],
)
def test_refused(policy: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tried(policy)
