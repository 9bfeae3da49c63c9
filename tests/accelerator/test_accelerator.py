"""The device that programs compute on, whichever it is."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import accelerator

without = pytest.mark.skipif(accelerator.is_available(), reason="there is a device")


@without
def test_without_a_device_programs_go_on_with_the_cpu() -> None:
    assert accelerator.current_accelerator() is None
    assert accelerator.current_accelerator(check_available=True) is None
    assert accelerator.device_count() == 0
    chosen = accelerator.current_accelerator() if accelerator.is_available() else "cpu"
    assert flambeau.ones(2, device=chosen).device.type == "cpu"
    with accelerator.device_index(None):
        pass


@without
@pytest.mark.parametrize(
    "name",
    [
        "current_device_index", "set_device_index", "synchronize", "current_stream", "empty_cache", "memory_allocated",
        "memory_stats", "get_memory_info", "reset_peak_memory_stats", "max_memory_reserved",
    ],
)
def test_without_a_device_the_rest_is_refused(name: str) -> None:
    arguments = (0,) if name == "set_device_index" else ()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        getattr(accelerator, name)(*arguments)
    with pytest.raises(RuntimeError, match="when none is available"), accelerator.device_index(0):
        pass
