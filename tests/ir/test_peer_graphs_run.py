"""Graphs that the peer printed: read, checked, optimised and run here, with the peer's own answers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify
from flambeau.jit import create_function_from_graph
from tests.ir import peer_programs


def value(name: Any, from_numpy: Any) -> Any:
    arrays = {
        "x": np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5,
        "y": np.linspace(-1.0, 2.0, 6, dtype=np.float32).reshape(2, 3),
    }
    return from_numpy(arrays[name].copy()) if name in arrays else name


def plain(result: Any) -> Any:
    if hasattr(result, "numpy"):
        return result.numpy().tolist()
    if isinstance(result, tuple | list):
        return type(result)(map(plain, result))
    return result


def near(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(near, a, b))
    return a == pytest.approx(b, rel=1e-5, abs=1e-6) if isinstance(a, float) else a == b


@pytest.mark.parametrize("inlined", [False, True], ids=["graph", "inlined_graph"])
@pytest.mark.parametrize("name", peer_programs.CALLS)
def test_reads_runs_and_prints_back(name: str, inlined: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    peer_programs.torch = torch
    program, arguments = peer_programs.CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = torch.jit.script(program)
        text = str(peer.inlined_graph if inlined else peer.graph)
        want = plain(peer(*(value(a, torch.from_numpy) for a in arguments)))
    graph = parse_ir(text)
    verify(graph)
    assert str(graph) == text
    if "prim::CallFunction" in text:
        return
    for backend in ("reference", "interpreter", "native"):
        function = flambeau.script(create_function_from_graph("f", parse_ir(text)), backend=backend, verify=True)
        got = plain(function(*(value(a, flambeau.from_numpy) for a in arguments)))
        assert near(want, got), backend
