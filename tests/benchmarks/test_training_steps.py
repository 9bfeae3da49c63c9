"""Training programs give PyTorch's losses, eager and scripted, and a row of the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import flambeau

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

from benchmarks import training_steps  # noqa: E402  (it needs torch)
from benchmarks.workloads import training_images, training_sequences  # noqa: E402


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    before = [(library, library.get_default_dtype(), library.get_num_threads()) for library in (torch, flambeau)]
    yield
    for library, dtype, threads in before:
        library.set_default_dtype(dtype)
        library.set_num_threads(threads)


@pytest.mark.parametrize("make", [training_sequences.vae, training_images.conv1d], ids=lambda make: make.__name__)
def test_a_row(make: Any) -> None:
    name, *times, off = [cell.strip() for cell in training_steps.row(make, "float64", 12).strip("|").split("|")]
    assert name == make.__name__
    assert all(float(time.replace(",", "")) > 0 for time in times)
    assert float(off) < 1e-12
