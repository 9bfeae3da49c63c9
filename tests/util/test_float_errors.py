"""Floating point errors of NumPy that kernels let pass."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import flambeau
from flambeau.tensor.array_library import np as kernels_np
from flambeau.util import float_errors


def state() -> dict[str, str]:
    return dict(np.geterr())


def test_nothing_is_said_within_a_block_and_all_is_as_before_behind_it() -> None:
    with np.errstate(all="raise"):
        before = state()
        with float_errors.ignored():
            assert set(state().values()) == {"ignore"}
            assert (np.ones(1) / np.zeros(1)).tolist() == [np.inf]
        assert state() == before
        with pytest.raises(FloatingPointError):
            np.ones(1) / np.zeros(1)


def test_blocks_may_lie_in_blocks_and_end_by_exceptions() -> None:
    with np.errstate(all="raise"):
        before = state()
        with pytest.raises(KeyError), float_errors.ignored(), float_errors.ignored():
            raise KeyError
        assert state() == before


def test_a_function_runs_within_a_block_even_when_it_calls_itself() -> None:
    @kernels_np.errstate(all="ignore")
    def divided(depth: int) -> float:
        return divided(depth - 1) if depth else float((np.ones(1) / np.zeros(1))[0])

    with np.errstate(all="raise"):
        assert divided(3) == np.inf
        assert set(state().values()) == {"raise"}


def test_what_ignores_some_errors_leaves_the_others() -> None:
    with np.errstate(all="raise"), kernels_np.errstate(divide="ignore"):
        assert state() == {"divide": "ignore", "over": "raise", "under": "raise", "invalid": "raise"}


def test_where_numpy_hides_its_state_the_public_one_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_errors, "begin", float_errors._begun)
    monkeypatch.setattr(float_errors, "end", float_errors._over)
    test_nothing_is_said_within_a_block_and_all_is_as_before_behind_it()


def test_other_threads_keep_theirs() -> None:
    seen = []
    with float_errors.ignored():
        thread = threading.Thread(target=lambda: seen.append(state()))
        thread.start()
        thread.join()
    assert seen[0]["divide"] == "warn"


def test_operators_say_nothing_and_leave_the_state_of_who_calls() -> None:
    x = flambeau.zeros(3)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        before = state()
        for call in (lambda: 1 / x, lambda: x.log(), lambda: x.cumsum(0) / x, lambda: flambeau.cat([x, x]) / 0):
            call()
        with pytest.raises(IndexError):
            x[[5]]
        assert state() == before
