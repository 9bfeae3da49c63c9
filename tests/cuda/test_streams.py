"""Streams and events: which is in use, what waits for what, how long it took."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flambeau
from flambeau.cuda import Event, ExternalStream, Stream, current_stream, default_stream, set_stream, stream
from tests.cuda.pretended.engine import engine


def test_the_stream_in_use(cuda: Any) -> None:
    assert current_stream() == default_stream()
    assert default_stream().cuda_stream == 0
    side = Stream()
    with stream(side) as chosen:
        assert chosen is side
        assert current_stream() == side
        assert cuda.cuda.get_current_stream().ptr == side.cuda_stream
        with stream(None):
            assert current_stream() == side
        with default_stream():
            assert current_stream() == default_stream()
    assert current_stream() == default_stream()
    set_stream(side)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(current_stream()))
    thread.start()
    thread.join()
    assert seen == [default_stream()]
    assert current_stream() == side
    set_stream(default_stream())
    assert repr(side) == f"<flambeau.cuda.Stream device=cuda:0 cuda_stream={side.cuda_stream:#x}>"
    assert hash(side) == hash(ExternalStream(side.cuda_stream))


def test_streams_bring_their_device(pretended_cuda: Any) -> None:
    other = Stream("cuda:1")
    with stream(other):
        assert flambeau.cuda.current_device() == 1
        assert flambeau.ones(2, device="cuda").device.index == 1
        assert current_stream(0) == default_stream(0)
    assert flambeau.cuda.current_device() == 0
    assert current_stream(1) == default_stream(1)


def test_there_are_32_of_a_priority(cuda: Any) -> None:
    assert len({Stream() for _ in range(100)}) == 32
    assert not {Stream(priority=-1) for _ in range(40)} & {Stream() for _ in range(40)}


def test_waiting(pretended_cuda: Any) -> None:
    side = Stream()
    x = flambeau.zeros(8, device="cuda")
    with engine.later(advances=False):
        with stream(side):
            x += 1
        assert x.tolist() == [0] * 8
        assert not side.query()
        event = side.record_event()
        assert not event.query()
        current_stream().wait_event(event)
        assert x.tolist() == [1] * 8
        assert event.query()
        with side:
            x += 1
        current_stream().wait_stream(side)
        assert x.tolist() == [2] * 8
        with side:
            x += 1
        side.synchronize()
        assert side.query()
        assert x.tolist() == [3] * 8
        with side:
            x += 1
            event.record()
        event.synchronize()
        assert x.tolist() == [4] * 8
        with side:
            x += 1
        flambeau.cuda.synchronize()
        assert x.tolist() == [5] * 8


def test_streams_of_others(pretended_cuda: Any) -> None:
    theirs = pretended_cuda.cuda.Stream(non_blocking=True)
    x = flambeau.zeros(8, device="cuda")
    with engine.later(advances=False):
        with stream(ExternalStream(theirs.ptr)):
            x += 1
        assert x.tolist() == [0] * 8
        theirs.synchronize()
        assert x.tolist() == [1] * 8
        with theirs:
            assert current_stream() == ExternalStream(theirs.ptr)


def test_times(cuda: Any) -> None:
    start, end = Event(enable_timing=True), Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="both events must be recorded"):
        start.elapsed_time(end)
    assert repr(start) == "<flambeau.cuda.Event not recorded>"
    start.record()
    end.record()
    end.synchronize()
    assert 0 <= start.elapsed_time(end) < 1000
    with pytest.raises(RuntimeError, match=r"write Event\(enable_timing=True\) for both"):
        Event().elapsed_time(end)
    assert Event().query()


def test_operators_and_compiled_functions_work_on_any_stream(pretended_cuda: Any) -> None:
    @flambeau.script
    def scaled(x: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.tanh(x * 2.0) + 1.0

    x = flambeau.randn(5, 5)
    wanted = [scaled(x), x @ x, x.sum(1), flambeau.softmax(x, -1), x.sort(-1)[0], x[x > 0]]
    side = Stream()
    with engine.later(advances=False):
        with stream(side):
            y = x.to("cuda")
            given = [scaled(y), y @ y, y.sum(1), flambeau.softmax(y, -1), y.sort(-1)[0], y[y > 0]]
            got = [g.cpu() for g in given]
        current_stream().wait_stream(side)
        late = [g.cpu() for g in given]
    for one, two, three in zip(wanted, got, late, strict=True):
        flambeau.testing.assert_close(two, one, rtol=1e-5, atol=1e-6)
        flambeau.testing.assert_close(three, one, rtol=1e-5, atol=1e-6)
