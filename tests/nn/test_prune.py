"""Weights with entries held at zero."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.utils import prune
from tests.nn.peers import assert_close, taken, ways


def peers() -> tuple[Any, Any, Any]:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    import torch.nn.utils.prune as theirs

    return torch, theirs, torch.nn.Conv2d(3, 4, 2)


STEPS: list[list[tuple[str, tuple[Any, ...]]]] = [
    [("identity", ())],
    [("l1_unstructured", (0.3,))],
    [("l1_unstructured", (7,)), ("l1_unstructured", (0.5,))],
    [("ln_structured", (0.5, 2, 0))],
    [("ln_structured", (1, 1, 1)), ("ln_structured", (1, float("inf"), 1))],
    [("l1_unstructured", (0.4,)), ("ln_structured", (2, 2, 0))],
]


@pytest.mark.parametrize("steps", STEPS)
def test_same_as_torch(steps: list[tuple[str, tuple[Any, ...]]]) -> None:
    torch, their_prune, theirs = peers()
    mine = nn.Conv2d(3, 4, 2).eval()
    mine.load_state_dict(taken(theirs.state_dict()))
    for name, arguments in steps:
        assert getattr(prune, name)(mine, "weight", *arguments) is mine
        getattr(their_prune, name)(theirs, "weight", *arguments)
        assert_close(mine.weight_mask, theirs.weight_mask, 0)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    assert prune.is_pruned(nn.Sequential(mine))
    x = flambeau.randn(1, 3, 4, 4)
    for run in ways(mine, x):
        assert_close(run(x), theirs(torch.from_numpy(x.numpy())))
    before = mine.weight_orig
    prune.remove(mine, "weight")
    their_prune.remove(theirs, "weight")
    assert_close(mine.weight, theirs.weight)
    assert (mine.weight is before, type(mine), prune.is_pruned(mine)) == (True, nn.Conv2d, False)


def test_by_scores_and_everywhere() -> None:
    torch, their_prune, _ = peers()
    models = [library.nn.Sequential(library.nn.Linear(3, 4), library.nn.Linear(4, 2)) for library in (flambeau, torch)]
    models[0].load_state_dict(taken(models[1].state_dict()))
    for model, module in zip(models, (prune, their_prune), strict=True):
        module.global_unstructured(
            [(model[0], "weight"), (model[1], "weight"), (model[1], "bias")], module.L1Unstructured, amount=0.4
        )
    assert_close(list(models[0].state_dict().values()), list(models[1].state_dict().values()))
    layer = prune.l1_unstructured(nn.Linear(2, 2), "weight", 2, flambeau.tensor([[4.0, 1.0], [2.0, 3.0]]))
    assert layer.weight_mask.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    prune.custom_from_mask(layer, "weight", flambeau.tensor([[0, 1], [1, 1]]))
    assert layer.weight_mask.tolist() == [[0.0, 0.0], [0.0, 1.0]]


def own_methods(module: Any) -> dict[str, Any]:
    """Methods that programs write themselves, over a library's."""

    class EveryOther(module.BasePruningMethod):  # type: ignore[misc]
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    class First(module.BasePruningMethod):  # type: ignore[misc]
        PRUNING_TYPE = "structured"

        def __init__(self, dim: int) -> None:
            self.dim = dim

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            mask = default_mask.clone()
            mask.select(self.dim, 0).zero_()
            return mask

    class Whole(EveryOther):
        PRUNING_TYPE = "global"

    return {"other": EveryOther, "first": First, "whole": Whole}


@pytest.mark.parametrize(
    "steps",
    [
        [("other", ()), ("other", ()), ("other", ())],
        [("first", (0,)), ("first", (1,)), ("first", (-1,))],
        [("whole", ()), ("whole", ()), ("other", ())],
        [("other", ()), ("first", (0,)), ("first", (0,))],
    ],
)
def test_own_methods_see_what_is_left(steps: list[tuple[str, tuple[Any, ...]]]) -> None:
    _, their_prune, theirs = peers()
    mine = nn.Conv2d(3, 4, 2)
    for name, arguments in steps:
        own_methods(prune)[name].apply(mine, "weight", *arguments)
        own_methods(their_prune)[name].apply(theirs, "weight", *arguments)
        assert_close(mine.weight_mask, theirs.weight_mask, 0)


def test_own_methods_prune_everywhere() -> None:
    torch, their_prune, _ = peers()
    masks = []
    for library, module in ((flambeau, prune), (torch, their_prune)):
        layer = library.nn.Linear(3, 3)
        for _ in range(2):
            module.global_unstructured([(layer, "weight"), (layer, "bias")], own_methods(module)["other"])
        masks.append([layer.weight_mask.tolist(), layer.bias_mask.tolist()])
    assert masks[0] == masks[1]


def test_masks_and_tensors_by_themselves() -> None:
    layer = prune.CustomFromMask.apply(nn.Linear(2, 1), "weight", flambeau.tensor([[0, 1]]))
    assert layer.weight_mask.tolist() == [[0.0, 1.0]]
    assert prune.L1Unstructured(2).prune(flambeau.tensor([3.0, 1.0, 2.0])).tolist() == [3.0, 0.0, 0.0]
    scores = flambeau.tensor([0.0, 5.0, 6.0])
    assert prune.L1Unstructured(1).prune(flambeau.ones(3), importance_scores=scores).tolist() == [0.0, 1.0, 1.0]


def test_any_entries_or_slices() -> None:
    layer = prune.random_unstructured(nn.Linear(6, 5), "weight", 10)
    assert int(layer.weight_mask.sum()) == 20
    assert int(prune.random_unstructured(layer, "weight", 0.5).weight_mask.sum()) == 10
    rows = prune.random_structured(nn.Linear(6, 5), "weight", 2, 0).weight_mask.sum(1)
    assert sorted(rows.tolist()) == [0.0, 0.0, 6.0, 6.0, 6.0]


def twice(method: Any) -> None:
    layer = method.apply(nn.Linear(2, 2), "weight")
    method.apply(layer, "weight")


def linear() -> nn.Linear:
    return nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("run", "error", "text"),
    [
        (lambda: prune.l1_unstructured(linear(), "weight", "a"), TypeError, "Invalid type for amount"),
        (lambda: prune.l1_unstructured(linear(), "weight", 1.5), ValueError, "a float in the range"),
        (lambda: prune.l1_unstructured(linear(), "weight", -1), ValueError, "or a non-negative integer"),
        (lambda: prune.l1_unstructured(linear(), "weight", 5), ValueError, "the number of parameters to prune=4"),
        (lambda: prune.ln_structured(linear(), "weight", 1, 2, 2), IndexError, "Invalid index 2 for tensor of size"),
        (lambda: prune.ln_structured(linear(), "bias", 1, 2, 0), ValueError, "only be applied to multidimensional"),
        (lambda: prune.custom_from_mask(linear(), "bias", flambeau.ones(3)), RuntimeError, "has to be of shape"),
        (lambda: prune.l1_unstructured(linear(), "bias", 1, flambeau.ones(3)), ValueError, "have the same shape as"),
        (lambda: prune.remove(linear(), "bias"), ValueError, "has to be pruned before pruning can be removed"),
        (lambda: prune.identity(nn.GRU(1, 1), "weight_hh_l0"), RuntimeError, "GRU reads all its weights at once"),
        (lambda: prune.global_unstructured([], prune.LnStructured), TypeError, "only methods of single entries"),
        (lambda: twice(type("Odd", (prune.Identity,), {"PRUNING_TYPE": "rows"})), ValueError, "PRUNING_TYPE is one of"),
        (lambda: prune.BasePruningMethod.apply(linear(), "bias"), NotImplementedError, "has no compute_mask"),
    ],
)
def test_refusals(run: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()
