"""`script(num_threads=...)`: how many threads a function's kernels may use, whatever others use."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen.threads import is_supported


def _work(x: Tensor) -> Tensor:
    return (x.exp() + 1.0).log().sin()


def _pieces(function: flambeau.jit.ScriptFunction) -> list[int]:
    latest = function._executor._latest
    assert latest is not None
    launches = [launch for kernel in latest.kernels for k in kernel.kernels for _, launch in k.launches]
    return [launch.pieces if launch.step else 1 for launch in launches]


@pytest.mark.skipif(not is_supported(), reason="there is no thread pool for this system")
def test_functions_have_thread_counts_of_their_own() -> None:
    x = flambeau.from_numpy(np.linspace(-1, 1, 1 << 20))
    alone, shared = flambeau.script(_work, num_threads=1), flambeau.script(_work, num_threads=3)
    want = np.sin(np.log(np.exp(x.numpy()) + 1.0))
    results = [f(x).numpy() for f in (alone, shared)]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], want, rtol=1e-12)
    assert _pieces(alone) == [1]
    assert _pieces(shared)[0] > 1


PROGRAM = """
import os
import numpy as np
import flambeau

def running():
    return len(os.listdir("/proc/self/task"))

@flambeau.script
def work(x):
    return (x.exp() + 1.0).log().sin()

x = flambeau.from_numpy(np.linspace(-1, 1, 1 << 20))
flambeau.set_num_threads(1)
want = work(x).numpy()
counts = []
for count in (1, 3, 2, 1, 4):
    flambeau.set_num_threads(count)
    for _ in range(3):
        np.testing.assert_array_equal(work(x).numpy(), want)
    counts.append(running())
print([c - counts[0] for c in counts])
"""


@pytest.mark.skipif(not is_supported(), reason="there is no thread pool for this system")
def test_c18_the_number_for_all_holds_for_plans_that_are_there() -> None:
    """Workers of each pool are started by the first call that needs them: two of 3, one of 2, none of 1, three of 4."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "[0, 2, 3, 3, 6]", done.stdout + done.stderr


def test_a_number_of_threads_is_positive() -> None:
    with pytest.raises(ValueError, match="num_threads must be at least 1, not 0"):
        flambeau.script(_work, num_threads=0)
    for options in ({"num_threads": 1.5}, {"num_threads": "2"}, {"max_plans": None}, {"max_plans": True}):
        [(name, wrong)] = options.items()
        with pytest.raises(TypeError, match=f"{name} must be an int, not {type(wrong).__name__}: {wrong!r}"):
            flambeau.script(_work, **options)


def test_the_number_for_all() -> None:
    before = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(1)
        assert flambeau.get_num_threads() == 1
    finally:
        flambeau.set_num_threads(before)
