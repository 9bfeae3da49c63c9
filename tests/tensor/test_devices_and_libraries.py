"""What programs ask about devices and libraries."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import flambeau


def test_devices_and_libraries() -> None:
    assert not flambeau.cuda.is_available()
    assert (flambeau.cuda.device_count(), flambeau.cuda.is_initialized()) == (0, False)
    assert flambeau.cpu.is_available()
    with pytest.raises(RuntimeError, match=r"ask flambeau.cuda.is_available\(\) first"):
        flambeau.cuda.current_device()
    with pytest.raises(RuntimeError, match=r"ask flambeau.cuda.is_available\(\) first"):
        flambeau.cuda.synchronize()
    with pytest.raises(RuntimeError, match="no tensor can be put on device 'cuda' here"):
        flambeau.ones(1).cuda()
    for name in ("cudnn", "mkl", "mkldnn", "mps", "openmp"):
        assert not importlib.import_module(f"flambeau.backends.{name}").is_available()
    assert not flambeau.backends.cuda.is_built()
    assert flambeau.backends.cudnn.version() is None


def test_switches_keep_what_they_are_set_to() -> None:
    cudnn = importlib.import_module("flambeau.backends.cudnn")
    with cudnn.flags(enabled=False, benchmark=True):
        assert (flambeau.backends.cudnn.enabled, cudnn.benchmark) == (False, True)

        def f() -> bool:
            return flambeau.backends.cudnn.enabled

        assert flambeau.script(f)() is False
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)


def test_modules_by_their_names() -> None:
    text = "import flambeau.backends.cudnn as c, flambeau.cuda.amp, flambeau.amp; from flambeau.cpu.amp import autocast"
    subprocess.run([sys.executable, "-c", f"{text}; c.benchmark = True"], check=True)


def test_sizes_that_shapes_broadcast_to() -> None:
    assert flambeau.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    assert flambeau._C._infer_size((4, 1), (2,)) == (4, 2)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
        flambeau._C._infer_size((2,), (3,))


def test_a_device_that_is_named_late_is_found() -> None:
    text = """
import flambeau as fb
fb.zeros(2, 2, device=fb.device("cpu"))
class Own(fb.Tensor): pass
Own(fb.ones(1)) + 1
print(fb.zeros(2, 2, device=fb.device("meta")).device)
"""
    found = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    assert found.stdout == "meta\n"


def test_what_names_a_device() -> None:
    cpu = flambeau.device("cpu")
    assert flambeau.device(cpu) == cpu  # type: ignore[arg-type]
    assert flambeau.device(2) == flambeau.device("cuda", 2) == flambeau.device("cuda:2")
    with pytest.raises(RuntimeError, match="Device index must not be negative"):
        flambeau.device(-1)
    with pytest.raises(RuntimeError, match="Device string must not be empty"):
        flambeau.device("")
    for wrong in (None, 1.5, True):
        with pytest.raises(TypeError, match=rf"got \({type(wrong).__name__}\), but expected a text such as 'cpu'"):
            flambeau.device(wrong)  # type: ignore[arg-type]
