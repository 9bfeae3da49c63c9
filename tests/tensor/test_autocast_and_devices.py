"""Mixed precision that is not asked for, and what programs ask about devices and libraries."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import flambeau


def test_a_block_without_mixed_precision_is_a_block() -> None:
    x = flambeau.ones(2)
    with flambeau.autocast("cpu", enabled=False), flambeau.cuda.amp.autocast(enabled=False):
        assert (x * 2).dtype is flambeau.float32
        assert not flambeau.is_autocast_enabled()
        assert not flambeau.is_autocast_cpu_enabled()
    with flambeau.amp.autocast("cuda", dtype=flambeau.float16, enabled=False, cache_enabled=True):
        pass

    @flambeau.autocast("cpu", enabled=False)
    def f(x: flambeau.Tensor) -> flambeau.Tensor:
        return x + 1

    assert flambeau.script(f)(x).tolist() == [2.0, 2.0]
    assert flambeau.get_autocast_dtype("cpu") is flambeau.bfloat16


def test_mixed_precision_on_the_cpu_is_refused() -> None:
    for made in (flambeau.autocast("cpu"), flambeau.cpu.amp.autocast()):
        with pytest.raises(RuntimeError, match=r"Convert where less precision is wanted, x.to\(flambeau.bfloat16\)"):
            made.__enter__()
        with pytest.raises(RuntimeError, match="is not offered"):
            made(lambda x: x)
    with pytest.raises(RuntimeError, match="User specified an unsupported autocast device_type 'abacus'"):
        flambeau.autocast("abacus")


def test_on_a_device_that_is_not_here_it_does_nothing() -> None:
    words = "User provided device_type of 'cuda', but it is not available. Disabling"
    with pytest.warns(UserWarning, match=words), flambeau.cuda.amp.autocast():
        assert (flambeau.ones(2) * 2).dtype is flambeau.float32


def test_enabled_only_when_it_runs() -> None:
    def f(x: flambeau.Tensor, flag: bool) -> flambeau.Tensor:
        with flambeau.autocast("cpu", enabled=flag):
            y = x * 2
        return y

    script = flambeau.script(f)
    assert script(flambeau.ones(1), False).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="is not offered"):
        script(flambeau.ones(1), True)


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
