"""Schedules by themselves: what they warn of and refuse."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import optim
from flambeau.optim import lr_scheduler


@pytest.fixture
def optimizer() -> optim.Optimizer:
    return optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)


def test_a_step_before_the_optimizer_s(optimizer: Any) -> None:
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()


def test_asking_for_rates_outside_of_a_step(optimizer: Any) -> None:
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        lr_scheduler.StepLR(optimizer, 1).get_lr()


def test_a_step_to_an_epoch(optimizer: Any) -> None:
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        scheduler.step(3)
    assert scheduler.get_last_lr() == [pytest.approx(1e-3)]


def test_a_run_that_goes_on_needs_to_know_where_it_began(optimizer: Any) -> None:
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        lr_scheduler.StepLR(optimizer, 3, last_epoch=2)


def test_a_cycle_that_is_over(optimizer: Any) -> None:
    scheduler = lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2)
    for _ in range(2):
        optimizer.step()
        scheduler.step()
    with pytest.raises(ValueError, match=r"Tried to step 3 times. The specified number of total steps is 2"):
        scheduler.step()


def test_rates_that_are_tensors_are_filled() -> None:
    rate = flambeau.tensor(1.0)
    optimizer = optim.SGD([flambeau.zeros(1, requires_grad=True)], lr=rate)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5
    assert scheduler.base_lrs[0].item() == 1.0


def test_objects_that_are_called_are_saved_by_their_attributes(optimizer: Any) -> None:
    class Warm:
        def __init__(self) -> None:
            self.slope = 0.5

        def __call__(self, epoch: int) -> float:
            return self.slope * epoch

    state = lr_scheduler.LambdaLR(optimizer, Warm()).state_dict()
    assert state["lr_lambdas"] == [{"slope": 0.5}]
    other = Warm()
    other.slope = 3.0
    lr_scheduler.LambdaLR(optimizer, other).load_state_dict(state)
    assert other.slope == 0.5


AVERAGES = [
    {},
    {"avg_fn": optim.swa_utils.get_ema_avg_fn(0.5)},
    {"multi_avg_fn": optim.swa_utils.get_ema_multi_avg_fn(0.5)},
]


@pytest.mark.parametrize("fn", AVERAGES)
def test_averages_of_a_model(fn: dict[str, Any]) -> None:
    model = flambeau.nn.Sequential(flambeau.nn.Linear(1, 1), flambeau.nn.BatchNorm1d(1))
    averaged = optim.swa_utils.AveragedModel(model, **fn)
    expected = None
    for count, value in enumerate((1.0, 2.0, 6.0)):
        with flambeau.no_grad():
            for parameter in model.parameters():
                parameter.fill_(value)
            model[1].running_mean.fill_(value)
        averaged.update_parameters(model)
        if expected is None:
            expected = value
        else:
            expected = (expected + value) / 2 if fn else expected + (value - expected) / (count + 1)
    assert averaged.module[0].weight.item() == pytest.approx(expected)
    assert averaged.module[1].running_mean.item() == 6.0
    assert averaged.n_averaged.item() == 3
    assert sorted(averaged.state_dict())[:2] == ["module.0.bias", "module.0.weight"]


def test_averages_by_two_functions() -> None:
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        optim.swa_utils.AveragedModel(
            flambeau.nn.Linear(1, 1), avg_fn=lambda a, b, n: a, multi_avg_fn=lambda a, b, n: None
        )


def test_a_scheduler_without_rates_says_what_to_write() -> None:
    class Lazy(lr_scheduler.LRScheduler):
        pass

    with pytest.raises(NotImplementedError, match=r"Lazy does not say what the learning.*: define `get_lr\(self\)`"):
        Lazy(optim.SGD([flambeau.ones(1, requires_grad=True)]))
