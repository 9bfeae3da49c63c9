"""Captured work is replayed in its own memory; what no capture may hold is refused by the program's line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau.cuda import CUDAGraph, Stream, graph, graph_pool_handle, memory
from flambeau.cuda.memory import MemPool, use_mem_pool
from tests.cuda.pretended.engine import engine

LINE = r"it is within a capture, at test_graphs.py:\d+\. Do it before the capture"


def test_replays_read_and_write_the_same_memory(cuda: Any) -> None:
    x = flambeau.zeros(8, device="cuda")
    captured = CUDAGraph()
    assert not flambeau.cuda.is_current_stream_capturing()
    with graph(captured):
        assert flambeau.cuda.is_current_stream_capturing()
        y = flambeau.relu(x * 2 + 1)
        total = y.sum()
    assert not flambeau.cuda.is_current_stream_capturing()
    for value in (1.0, 2.0, -3.0):
        x.fill_(value)
        captured.replay()
        assert y.tolist() == [max(2 * value + 1, 0)] * 8
        assert total.item() == 8 * max(2 * value + 1, 0)


def test_memory_of_a_graph_is_its_own(cuda: Any) -> None:
    x = flambeau.ones(1000, device="cuda")
    captured = CUDAGraph()
    with graph(captured):
        y = x + 1
        del y
        z = x * 3
    place = z.data_ptr()
    del z
    others = [flambeau.zeros(1000, device="cuda") for _ in range(20)]
    assert place not in [o.data_ptr() for o in others]
    captured.replay()
    assert all(o.tolist() == [0] * 1000 for o in others)
    pools = {s["segment_pool_id"][1] for s in memory.memory_snapshot()}
    assert captured.pool()[1] in pools
    memory.empty_cache()
    assert captured.pool()[1] in {s["segment_pool_id"][1] for s in memory.memory_snapshot()}
    number = captured.pool()[1]
    del captured, others
    memory.empty_cache()
    assert number not in {s["segment_pool_id"][1] for s in memory.memory_snapshot()}


def test_graphs_share_memory(cuda: Any) -> None:
    x = flambeau.ones(1000, device="cuda")
    handle = graph_pool_handle()
    first, second = CUDAGraph(), CUDAGraph()
    with graph(first, pool=handle):
        y = x + 1
        place = y.data_ptr()
        del y
    with graph(second, pool=first.pool()):
        z = x + 2
    assert z.data_ptr() == place
    second.replay()
    assert z[0].item() == 3
    first.reset()
    with pytest.raises(RuntimeError, match="this graph holds no work"):
        first.replay()
    second.replay()


def _as_cupy_refuses(x: Any) -> None:
    raise RuntimeError("the current stream is capturing, so D2H transfers are disallowed")


@pytest.mark.parametrize(
    "way",
    [
        lambda x: x.sum().item(),
        lambda x: x.cpu(),
        lambda x: print(x),
        lambda x: bool((x > 0).all()),
        lambda x: flambeau.cuda.synchronize(),
        lambda x: flambeau.cuda.current_stream().synchronize(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: flambeau.ones(3).to("cuda"),
        lambda x: _as_cupy_refuses(x),
    ],
)
def test_what_waits_is_refused(cuda: Any, way: Any) -> None:
    x = flambeau.ones(8, device="cuda")
    captured = CUDAGraph()
    with pytest.raises(RuntimeError, match=LINE), graph(captured):
        way(x)
    assert not flambeau.cuda.is_current_stream_capturing()
    with graph(captured):
        y = x + 1
    captured.replay()
    assert y.tolist() == [2] * 8


def test_other_streams_take_part(cuda: Any) -> None:
    x, captured, side = flambeau.ones(8, device="cuda"), CUDAGraph(), Stream()
    with graph(captured):
        y = x + 1
        side.wait_stream(flambeau.cuda.current_stream())
        with flambeau.cuda.stream(side):
            z = y * 2
        flambeau.cuda.current_stream().wait_stream(side)
        total = y + z
    x.fill_(4)
    captured.replay()
    assert total.tolist() == [15] * 8
    unjoined = CUDAGraph()

    def left_alone() -> None:
        with graph(unjoined):
            side.wait_stream(flambeau.cuda.current_stream())
            with flambeau.cuda.stream(side):
                x * 2

    with pytest.raises(RuntimeError, match=r"write current_stream\(\).wait_stream\(other\) before its end"):
        left_alone()


def test_mistakes(cuda: Any, tmp_path: Path) -> None:
    captured = CUDAGraph()
    with pytest.raises(RuntimeError, match="the default stream cannot be captured"):
        captured.capture_begin()
    with pytest.raises(RuntimeError, match=r"capture_end\(\) without capture_begin"):
        captured.capture_end()
    with pytest.raises(RuntimeError, match="this graph holds no work"):
        captured.pool()
    with pytest.raises(RuntimeError, match="this graph holds no work"):
        captured.debug_dump(str(tmp_path / "none.dot"))
    with pytest.raises(ValueError, match="expected a mode among global, thread_local, relaxed, got 'strict'"):
        captured.capture_begin(capture_error_mode="strict")
    x = flambeau.ones(8, device="cuda")
    with graph(captured):
        x + 1
    captured.debug_dump(str(tmp_path / "work.dot"))
    assert (tmp_path / "work.dot").read_text().startswith("digraph")
    with pytest.raises(RuntimeError, match=r"this graph was captured before: call reset\(\)"), graph(captured):
        pass
    with pytest.raises(KeyError), graph(CUDAGraph()):
        {}["missing"]
    assert flambeau.cuda.current_stream() == flambeau.cuda.default_stream()


def test_no_memory_for_a_capture(cuda: Any) -> None:
    memory.set_per_process_memory_fraction(0.0)
    refusal = pytest.raises(flambeau.cuda.OutOfMemoryError, match="Within a capture nothing cached is given back")
    try:
        with refusal, graph(CUDAGraph()):
            flambeau.empty(30 << 20, dtype=flambeau.uint8, device="cuda")
    finally:
        memory.set_per_process_memory_fraction(1.0)


def test_pools_of_programs(cuda: Any) -> None:
    pool = MemPool()
    with use_mem_pool(pool):
        x = flambeau.ones(100, device="cuda")
    y = flambeau.ones(100, device="cuda")
    (segment,) = pool.snapshot()
    assert segment["address"] <= x.data_ptr() < segment["address"] + segment["total_size"]
    assert not segment["address"] <= y.data_ptr() < segment["address"] + segment["total_size"]
    captured = CUDAGraph()
    with graph(captured, pool=pool):
        z = x * 2
    assert pool.use_count() == 2
    captured.replay()
    assert z.tolist() == [2] * 100
    captured.reset()
    assert pool.use_count() == 1


def test_functions_whose_work_is_captured(cuda: Any) -> None:
    weight = flambeau.full((4,), 2.0, device="cuda", requires_grad=True)

    def layer(x: Any) -> Any:
        return flambeau.tanh(x * weight)

    class Layer(flambeau.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = flambeau.nn.Parameter(flambeau.full((4,), 2.0, device="cuda"))

        def forward(self, x: Any) -> Any:
            return flambeau.tanh(x * self.weight)

    module, plain = Layer(), Layer()
    sample = flambeau.ones(3, 4, device="cuda", requires_grad=True)
    made = flambeau.cuda.make_graphed_callables(module, (sample,))
    assert made is module
    for value in (0.5, -1.0):
        x = flambeau.full((3, 4), value, device="cuda", requires_grad=True)
        other = flambeau.full((3, 4), value, device="cuda", requires_grad=True)
        module.weight.grad = plain.weight.grad = None
        (module(x) * 3).sum().backward()
        (plain(other) * 3).sum().backward()
        assert x.grad.tolist() == other.grad.tolist()
        assert module.weight.grad.tolist() == plain.weight.grad.tolist()
    with pytest.raises(RuntimeError, match=r"captured for a 1. argument of shape \[3, 4\]"):
        module(flambeau.ones(2, 4, device="cuda"))
    module.eval()
    assert module(flambeau.ones(2, 4, device="cuda")).shape == (2, 4)
    with pytest.raises(TypeError, match="sample_args must be tensors on a CUDA device, got one on cpu"):
        flambeau.cuda.make_graphed_callables(layer, (flambeau.ones(3),))
    first, second = flambeau.cuda.make_graphed_callables(
        (flambeau.relu, flambeau.exp), ((sample.detach(),), (sample.detach(),))
    )
    assert second(first(flambeau.zeros(3, 4, device="cuda"))).tolist() == [[1] * 4] * 3


def test_memory_of_a_graph_that_still_runs_is_kept(pretended_cuda: Any) -> None:
    x = flambeau.ones(1000, device="cuda")
    captured, side = CUDAGraph(), Stream()
    with graph(captured, stream=side):
        y = x + 1
        del y
        z = x * 3
    place = z.data_ptr()
    number = captured.pool()[1]
    other = Stream()

    def pools() -> set[int]:
        return {s["segment_pool_id"][1] for s in memory.memory_snapshot()}

    with engine.later(advances=False):
        with flambeau.cuda.stream(other):
            captured.replay()
        del captured, z
        assert number in pools()
        with flambeau.cuda.stream(side):
            assert place not in [flambeau.zeros(1000, device="cuda").data_ptr() for _ in range(9)]
        other.synchronize()
        assert number not in pools()


def test_training_is_captured(cuda: Any) -> None:
    layers = flambeau.nn.Sequential(flambeau.nn.Linear(6, 8), flambeau.nn.GELU(), flambeau.nn.Linear(8, 1))
    there = layers.state_dict()
    on_host = flambeau.nn.Sequential(flambeau.nn.Linear(6, 8), flambeau.nn.GELU(), flambeau.nn.Linear(8, 1))
    on_host.load_state_dict({k: v.clone() for k, v in there.items()})
    x = flambeau.randn(4, 6)
    layers.to("cuda")

    def stepping(model: Any, given: Any) -> Any:
        optimiser = flambeau.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

        def step() -> Any:
            optimiser.zero_grad(set_to_none=False)
            loss = (model(given) ** 2).mean()
            loss.backward()
            optimiser.step()
            return loss

        return step

    step, wanted = stepping(layers, x.to("cuda")), stepping(on_host, x)
    losses = [step().item() for _ in range(3)]
    captured = CUDAGraph()
    with graph(captured):
        loss = step()
    for _ in range(4):
        captured.replay()
        losses.append(loss.item())
    assert losses == pytest.approx([wanted().item() for _ in range(7)], rel=1e-4)


def test_compiled_functions_are_captured(cuda: Any) -> None:
    @flambeau.script
    def norms(x: flambeau.Tensor, w: flambeau.Tensor) -> flambeau.Tensor:
        y = flambeau.tanh(x * 2.0 + w) * x
        return flambeau.softmax(y @ w, -1).sum(0) + 1.0

    x, w = flambeau.randn(4, 4), flambeau.randn(4, 4)
    given = x.to("cuda"), w.to("cuda")
    norms(*given)
    captured = CUDAGraph()
    with graph(captured):
        result = norms(*given)
    for _ in range(2):
        x = flambeau.randn(4, 4)
        given[0].copy_(x.to("cuda"))
        captured.replay()
        flambeau.testing.assert_close(result.cpu(), norms(x, w), rtol=1e-5, atol=1e-6)
