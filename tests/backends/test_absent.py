"""Kinds of devices that tensors are never on."""

from __future__ import annotations

from importlib import import_module

import pytest

import flambeau


@pytest.mark.parametrize("kind", ["mps", "mtia", "xpu"])
def test_programs_ask_and_go_on(kind: str) -> None:
    module = import_module(f"flambeau.{kind}")
    assert module is getattr(flambeau, kind)
    assert not module.is_available()
    assert module.device_count() == 0
    module.manual_seed(0)
    module.manual_seed_all(0)
    module.empty_cache()
    with pytest.raises(AttributeError, match=f"ask {kind}.is_available"):
        module.synchronize()
    assert not hasattr(module, "current_device")
