"""Errors of elements are found by kernels and told by the next wait; no call waits for them."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor
from flambeau.cuda import late_errors

pytestmark = pytest.mark.usefixtures("cuda")


@pytest.fixture
def table() -> Tensor:
    return flambeau.arange(12.0).reshape(4, 3).to("cuda")


def places(*numbers: int) -> Tensor:
    return flambeau.tensor(list(numbers)).to("cuda")


CALLS = {
    "index_select": lambda x, i: x.index_select(0, i),
    "embedding": lambda x, i: F.embedding(i, x),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "index": lambda x, i: x[i],
    "index_put": lambda x, i: x.index_put((i,), x[:2] * 2),
    "index_add": lambda x, i: x.index_add(0, i, x[:2]),
    "take": lambda x, i: x.take(i * 4),
    "nll_loss": lambda x, i: F.nll_loss(x[:2], i),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_next_wait_tells(name: str, table: Tensor) -> None:
    call = CALLS[name]
    right, wrong = (places(1, 2), places(1, 4)) if name != "nll_loss" else (places(0, 2), places(0, 3))
    wanted = call(table, right).tolist()
    found = call(table, wrong)
    with pytest.raises(IndexError, match=rf"^{name}\w* at test_late_errors.py:\d+: index out of range in self"):
        found.cpu()
    flambeau.cuda.synchronize()
    assert call(table, right).tolist() == wanted


@pytest.mark.parametrize("name", CALLS)
def test_no_call_waits(name: str, table: Tensor, pretended_cuda: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.cuda.pretended.engine import engine

    right = places(1, 2)
    CALLS[name](table, right)
    waits: list[str] = []
    monkeypatch.setattr(engine, "synchronise", lambda *_: waits.append(name))
    CALLS[name](table, right)
    assert waits == []


def test_programs_say_their_lines(table: Tensor) -> None:
    def looks_up(x: Tensor, i: Tensor) -> Tensor:
        return x.index_select(0, i) * 2.0

    script = flambeau.script(looks_up)
    line = looks_up.__code__.co_firstlineno + 1
    for _ in range(5):  # the last ones are replays
        assert script(table, places(1, 3)).tolist() == [[6.0, 8.0, 10.0], [18.0, 20.0, 22.0]]
        found = script(table, places(3, -1))
        with pytest.raises(IndexError, match=f"index_select at test_late_errors.py:{line}: index out of range"):
            flambeau.cuda.synchronize()
        del found


def test_the_first_of_several(table: Tensor) -> None:
    first, second = places(9), places(7)
    kept = [table.index_select(0, first), table[second]]
    with pytest.raises(IndexError, match="index_select"):
        flambeau.cuda.current_stream().synchronize()
    event = flambeau.cuda.Event()
    event.record()
    event.synchronize()
    del kept


def test_integer_division(table: Tensor) -> None:
    found = places(4, 6) // places(2, 0)
    with pytest.raises(ZeroDivisionError, match=r"floor_divide at test_late_errors.py:\d+: ZeroDivisionError"):
        found.tolist()


def test_blocking_calls_raise_themselves(table: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with pytest.raises(IndexError, match="CUDA_LAUNCH_BLOCKING"):
        table.index_select(0, places(4))


def test_many_calls_without_a_wait(table: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words come round again, after a wait that tells what was found."""
    monkeypatch.setattr(late_errors, "WORDS", 8)
    monkeypatch.setattr(late_errors, "_state", late_errors._State())
    right, wrong = places(1, 2), places(4)
    for _ in range(30):
        table.index_select(0, right)
    table.index_select(0, wrong)

    def go_on() -> None:
        for _ in range(16):
            table.index_select(0, right)

    with pytest.raises(IndexError, match="index_select"):
        go_on()


def test_graphs_keep_words_of_their_own(table: Tensor) -> None:
    index = places(1, 2)
    table.index_select(0, index)
    graph = flambeau.cuda.CUDAGraph()
    with flambeau.cuda.graph(graph):
        result = table.index_select(0, index)
    index.copy_(places(2, 5))
    for _ in range(2):
        graph.replay()
        with pytest.raises(IndexError, match="index_select"):
            result.cpu()
    index.copy_(places(3, 0))
    graph.replay()
    assert result.tolist() == [[9.0, 10.0, 11.0], [0.0, 1.0, 2.0]]


def test_sizes_of_norms_are_found_out(table: Tensor) -> None:
    def norm(x: Tensor, n: int) -> Tensor:
        return F.layer_norm(x, [n])

    script = flambeau.script(norm)
    assert script(table, 3).shape == (4, 3)
    with pytest.raises(RuntimeError, match=r"normalized_shape"):
        script(table, 2).cpu()
