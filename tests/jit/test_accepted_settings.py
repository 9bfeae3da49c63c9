"""Settings that programs say and that change nothing here, and blocks with names."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor


def in_a_block(x: Tensor) -> Tensor:
    with flambeau.autograd.profiler.record_function("doubling"):
        y = x * 2
    return y


def test_blocks_of_the_profiler_are_blocks_of_programs() -> None:
    program = flambeau.script(in_a_block)
    assert program(flambeau.ones(2)).tolist() == in_a_block(flambeau.ones(2)).tolist() == [2, 2]


def test_traces_are_told_of_no_optimisation() -> None:
    with pytest.warns(FutureWarning, match=r"`optimize` has no effect") as seen:
        flambeau.jit.trace(in_a_block, flambeau.ones(1), optimize=True)
    assert seen[0].filename == __file__


def test_whether_onednn_fuses_is_remembered() -> None:
    flambeau.jit.enable_onednn_fusion(True)
    assert flambeau.jit.onednn_fusion_enabled()
    flambeau.jit.enable_onednn_fusion(False)
    assert not flambeau.jit.onednn_fusion_enabled()
