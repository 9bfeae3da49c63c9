"""What libraries are told of the processor under `benchmarks.avx2_only`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import avx2_only

CAN_FAULT = Path("/proc/cpuinfo").is_file() and " cpuid_fault" in Path("/proc/cpuinfo").read_text()
SAYS = """
from numpy._core._multiarray_umath import __cpu_features__ as found
raise SystemExit(found["AVX512F"] + 2 * found["AVX2"])
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.skipif(not CAN_FAULT, reason="needs a processor whose cpuid can fault")
def test_libraries_find_avx2_and_no_avx_512(capfd: pytest.CaptureFixture[str]) -> None:
    status = avx2_only.main(["NPY_DISABLE_CPU_FEATURES=", sys.executable, "-c", SAYS])
    if status == avx2_only.UNSUPPORTED:
        assert "cannot have cpuid answered otherwise" in capfd.readouterr().err
    else:
        assert status == 2


def test_a_command_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert avx2_only.main(["A=1"]) == 2
    assert "python -m benchmarks.avx2_only" in capsys.readouterr().out
