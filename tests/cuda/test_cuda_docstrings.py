"""The examples in docstrings of `flambeau.cuda` do what they show, on a card or on what stands for one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.test_docstrings import CUDA_MODULES, failures


@pytest.mark.parametrize("name", CUDA_MODULES)
def test_examples(name: str, cuda: Any, fresh_allocators: None) -> None:
    assert failures(name) == ""
