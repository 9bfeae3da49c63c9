"""Memory that native code frees is there for the next call, without a page that is fresh."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np, flambeau
f = flambeau.CompilationUnit("def f(x: Tensor):\\n    return (x @ x).softmax(1) @ x\\n").f
f(flambeau.ones(4, 4))

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays = [np.ones(250_000) for _ in range(4)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what other C libraries keep is their own affair")
def test_blocks_of_megabytes_are_kept() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    pages = 20 * 4 * 250_000 * 8 // 4096
    assert int(done.stdout) < pages // 10
