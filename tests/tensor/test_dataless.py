"""Tensors without data need addresses, as many as the system promises."""

from __future__ import annotations

import pytest

import flambeau


def test_more_bytes_than_there_are_addresses_for() -> None:
    with pytest.raises(RuntimeError, match=r"addresses for [\d,]+ bytes\. A limit on these, as `ulimit -v` sets"):
        flambeau.empty(1 << 20, 1 << 20, 1 << 20, device="meta")
