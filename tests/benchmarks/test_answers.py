"""Every program of the benchmarks gives the expected answer, on little data: ours and the installed peers'."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from benchmarks.harness import Workload, disagreement
from benchmarks.programs import numba_loops
from benchmarks.workloads import KINDS, workloads

SMALL = list(workloads(small=True))
NAMES = [w.name for w in SMALL]


def _check(workload: Workload, peer: str) -> None:
    assert disagreement(workload.peers[peer]()(), workload.expected(), workload) is None


def _entries(*peers: str) -> list[Any]:
    return [pytest.param(w, p, id=f"{w.name}-{p}") for w in SMALL for p in peers if p in w.peers]


@pytest.mark.parametrize(("workload", "peer"), _entries("flambeau", "numpy"))
def test_ours_and_numpy(workload: Workload, peer: str) -> None:
    _check(workload, peer)


@pytest.mark.parametrize(("workload", "peer"), _entries("torch", "torch/library", "torch.jit"))
def test_torch(workload: Workload, peer: str) -> None:
    pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _check(workload, peer)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # words wrap
@pytest.mark.parametrize(("workload", "peer"), [e for e in _entries("numba") if e.values[0].kind != "threads"])
def test_numba_programs_in_plain_python(workload: Workload, peer: str) -> None:
    program, *arguments = workload.peers[peer].args  # type: ignore[attr-defined]
    assert disagreement(program(*arguments), workload.expected(), workload) is None


@pytest.mark.parametrize("kind", ["calls", "loops"])
def test_numba_and_jax_compile_one_of_a_kind(kind: str) -> None:
    workload = next(w for w in SMALL if w.kind == kind)
    for peer, module in (("numba", "numba"), ("jax", "jax")):
        pytest.importorskip(module, reason=f"{module} is a peer, not a dependency")
        _check(workload, peer)


def test_the_rows_are_told_apart_and_complete() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {w.kind for w in SMALL} == {*KINDS, "softmax"}
    assert all("flambeau" in w.peers for w in SMALL)
    assert set(vars(numba_loops)) >= numba_loops.PARALLEL


@pytest.mark.parametrize("name", ["queens", "quicksort", "multigrid"])
def test_numba_compiles_the_programs_that_a_program_calls(name: str) -> None:
    pytest.importorskip("numba", reason="numba is a peer, not a dependency")
    workload = next(w for w in SMALL if w.kind == "numba programs" and w.name.startswith(name))
    _check(workload, "numba")
