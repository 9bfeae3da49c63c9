"""Random programs of whole tensors give on a device what they give on the host."""

from __future__ import annotations

import linecache
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.executor.options import Options
from tests.random_programs.tensors.check import Outcome, compile_source, difference, outcome
from tests.random_programs.tensors.generate import generate
from tests.random_programs.tensors.layout import SETS, TURNS, Layout

CHUNKS, PER_CHUNK = 2, 12
NO_KERNEL = ("has no kernel for CUDA devices yet", "is not supported yet")
"""What CuPy lacks."""


def to_device(array: Any) -> Tensor:
    """A tensor on the device; what has gaps in memory on the host has them there."""
    found = flambeau.from_numpy(array)
    if array.size and not array.flags.forc:
        return flambeau.from_numpy(np.ascontiguousarray(np.repeat(array, 2, axis=-1))).to("cuda")[..., ::2]
    return found.to("cuda")


class _OnHost:
    """A scripted function whose results come back to the host."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, **given: Any) -> Any:
        there = {k: to_device(v.numpy()) if isinstance(v, Tensor) else v for k, v in given.items()}
        try:
            return tuple(r.cpu() for r in self.function(**there))
        except Exception:
            with suppress(Exception):  # what kernels found before is not the next call's
                flambeau.cuda.synchronize()
            raise


def _results(seen: Outcome) -> Outcome:
    """What a call gives, without what it leaves: the arguments of the device are others."""
    return Outcome(seen.results, {}, seen.error)


def disagreement(seed: int) -> str | None:
    """How a program differs on the device; None if it does not."""
    layout, filename, source = Layout(seed), f"<tensors {seed}>", generate(seed).source()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            python = compile_source(source, filename, {"flambeau": flambeau, "Tensor": Tensor})
            wanted = [_results(outcome(python, layout, call, flambeau.from_numpy)) for call in range(SETS)]
            function = _OnHost(flambeau.script(python).with_options(Options()))
            for turn, call in enumerate(TURNS[seed % len(TURNS)]):
                got = _results(outcome(function, layout, call, flambeau.from_numpy))
                if any(words in got.error for words in NO_KERNEL):
                    return None
                found = difference(wanted[call], got, words=False)
                if found is not None:
                    return f"seed {seed}, call {turn} with arguments {call}: {found}\n{source}"
    finally:
        linecache.cache.pop(filename, None)
    return None


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.usefixtures("cuda")
def test_devices_agree_with_the_host(chunk: int) -> None:
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        found = disagreement(seed)
        if found is not None:
            pytest.fail(found, pytrace=False)
