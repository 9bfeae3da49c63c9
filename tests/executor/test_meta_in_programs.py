"""Tensors without data in programs: arguments, and those that a program makes itself."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor


@flambeau.script
def rows(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = (x @ x.t()).relu()
    return x + flambeau.ones(x.size(0), device=x.device)


@flambeau.script
def made(n: int) -> Tensor:
    return flambeau.zeros(n, 3, device="meta") + flambeau.ones(3, device="meta")


@flambeau.script
def decided(x: Tensor) -> Tensor:
    return x if bool(x.sum() > 0) else x + 1


def test_programs_run_on_tensors_without_data() -> None:
    for _ in range(2):
        result = rows(flambeau.ones(3, 4, device="meta"), 2)
        assert (result.device.type, result.shape) == ("meta", (3, 3))
        assert rows(flambeau.ones(2, 2), 1).tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_programs_make_tensors_without_data() -> None:
    for _ in range(3):
        result = made(2)
        assert (result.device.type, result.shape) == ("meta", (2, 3))


def test_elements_of_tensors_without_data_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Tensor.item\(\) cannot be called on meta tensors"):
        decided(flambeau.ones(2, device="meta"))
