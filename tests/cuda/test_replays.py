"""Calls that are replayed as CUDA graphs give what calls give, whoever holds what of earlier ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.executor.report import Compilation

pytestmark = pytest.mark.usefixtures("cuda")
R = flambeau.randn


def scaled(x: Tensor, w: Tensor, k: float) -> Tensor:
    return (x @ w).relu() * k + x.sum()


def scripted(**options: Any) -> Any:
    """The function with plans of its own."""

    def own(x: Tensor, w: Tensor, k: float) -> Tensor:
        return (x @ w).relu() * k + x.sum()

    return flambeau.script(own, **options)


def plan_of(script: Any) -> Compilation:
    """The one plan of a function."""
    (found,) = script.explain().compilations
    return found


def assert_equal(found: Tensor, wanted: Tensor) -> None:
    np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


def host(x: Tensor, w: Tensor, k: float) -> Tensor:
    return scaled(x.cpu(), w.cpu(), k)


def test_later_calls_are_replays() -> None:
    script = scripted()
    w = R(4, 4).to("cuda")
    for _ in range(8):
        x = R(3, 4).to("cuda")
        assert_equal(script(x, w, 2.0), host(x, w, 2.0))
    assert plan_of(script).graphs == ("CUDA graphs: 1 captured, 6 replays",)


def test_results_that_are_held_stay_as_they_are() -> None:
    script = scripted()
    w = R(4, 4).to("cuda")
    held = []
    for _ in range(9):
        x = R(3, 4).to("cuda")
        held.append((script(x, w, 2.0), host(x, w, 2.0)))
    for found, wanted in held:
        assert_equal(found, wanted)
    assert plan_of(script).graphs == ("CUDA graphs: 3 captured, 7 replays",)


def test_views_of_results_hold_them() -> None:
    script = scripted()
    w = R(4, 4).to("cuda")
    rows = []
    for _ in range(9):
        x = R(3, 4).to("cuda")
        rows.append((script(x, w, 2.0)[1], host(x, w, 2.0)[1]))
    for found, wanted in rows:
        assert_equal(found, wanted)


def test_a_result_may_be_the_next_argument() -> None:
    script = scripted()
    w = R(4, 4).to("cuda")
    x = R(3, 4).to("cuda")
    wanted = x.cpu()
    for _ in range(9):
        x = script(x, w, 0.25)
        wanted = scaled(wanted, w.cpu(), 0.25)
        assert_equal(x, wanted)
    assert "replays" in plan_of(script).graphs[0]


def test_numbers_are_part_of_what_is_captured() -> None:
    script = scripted()
    x, w = R(3, 4).to("cuda"), R(4, 4).to("cuda")
    for call in range(12):
        k = float(call % 3)
        assert_equal(script(x, w, k), host(x, w, k))
    for k in map(float, range(100, 130)):
        assert_equal(script(x, w, k), host(x, w, k))


def test_what_is_written_in_place_is_the_arguments() -> None:
    def update(x: Tensor, g: Tensor) -> Tensor:
        x.sub_(g * 0.5)
        x[0] = 1.0
        return x

    script = flambeau.script(update)
    x = R(3, 4).to("cuda")
    wanted = x.cpu()
    for _ in range(7):
        g = R(3, 4)
        version = x._version
        assert script(x, g.to("cuda")) is x
        assert x._version > version
        update(wanted, g)
        assert_equal(x, wanted)
    others = [R(3, 4).to("cuda") for _ in range(12)]
    for other in others:
        wanted, g = other.cpu(), R(3, 4)
        script(other, g.to("cuda"))
        update(wanted, g)
        assert_equal(other, wanted)


def test_results_that_are_views_of_arguments_are_of_this_calls() -> None:
    def rows(x: Tensor) -> tuple[Tensor, Tensor]:
        return x[1:], x * 2

    script = flambeau.script(rows)
    for _ in range(8):
        x = R(3, 4).to("cuda")
        part, twice = script(x)
        assert part.data_ptr() == x[1:].data_ptr()
        part.zero_()
        assert float(x[1:].abs().sum()) == 0.0
        assert_equal(twice[0], x[0].cpu() * 2)


def test_sizes_have_graphs_of_their_own() -> None:
    script = scripted()
    w = R(4, 4).to("cuda")
    for call in range(20):
        x = R(2 + call % 4, 4).to("cuda")
        assert_equal(script(x, w, 1.0), host(x, w, 1.0))


def test_what_looks_at_elements_is_not_captured() -> None:
    def halved(x: Tensor) -> Tensor:
        while bool(x.sum() > 1.0):
            x = x / 2
        return x

    script = flambeau.script(halved)
    for k in range(5):
        x = (R(4).abs() + k + 1).to("cuda")
        assert_equal(script(x), halved(x.cpu()))
    (told,) = plan_of(script).graphs
    assert "not captured" in told
    assert "waits for the device" in told


def test_random_numbers_are_drawn_in_each_call() -> None:
    def noisy(x: Tensor) -> Tensor:
        return x + flambeau.rand_like(x)

    script = flambeau.script(noisy)
    x = R(16).to("cuda")
    seen = {float(script(x).sum()) for _ in range(6)}
    assert len(seen) > 4
    assert "draws random numbers" in plan_of(script).graphs[0]


def test_graphs_can_be_switched_off() -> None:
    script = scripted(without=("cuda_graphs",))
    x, w = R(3, 4).to("cuda"), R(4, 4).to("cuda")
    for _ in range(5):
        assert_equal(script(x, w, 1.0), host(x, w, 1.0))
    assert plan_of(script).graphs == ("not captured: switched off: without=('cuda_graphs',)",)


def test_a_call_within_a_capture_is_part_of_it() -> None:
    script = scripted()
    x, w = R(3, 4).to("cuda"), R(4, 4).to("cuda")
    for _ in range(5):
        script(x, w, 1.0)
    graph = flambeau.cuda.CUDAGraph()
    with flambeau.cuda.graph(graph):
        result = script(x, w, 1.0)
    x.copy_(R(3, 4))
    graph.replay()
    assert_equal(result, host(x, w, 1.0))


def test_streams_have_graphs_of_their_own(pretended_cuda: Any) -> None:
    from tests.cuda.pretended.engine import engine

    script = scripted()
    w = R(4, 4).to("cuda")
    with engine.later():
        for _ in range(5):
            side = flambeau.cuda.Stream()
            with flambeau.cuda.stream(side):
                x = R(3, 4).to("cuda")
                results = [script(x, w, 1.0) for _ in range(3)]
            side.synchronize()
            for found in results:
                assert_equal(found, host(x, w, 1.0))


def test_memory_that_is_gone_is_not_read() -> None:
    script = scripted()
    w = R(4, 4).to("cuda")
    x = R(3, 4).to("cuda")
    for _ in range(4):
        script(x, w, 1.0)
    del x, w
    flambeau.cuda.empty_cache()
    for _ in range(4):
        x, w = R(3, 4).to("cuda"), R(4, 4).to("cuda")
        assert_equal(script(x, w, 1.0), host(x, w, 1.0))


def test_what_shares_memory_with_what_is_written_is_read_after_it() -> None:
    def update(x: Tensor, part: Tensor) -> Tensor:
        x.add_(1.0)
        return part * 2

    script = flambeau.script(update)
    fixed = R(3, 4).to("cuda")
    for call in range(10):
        x = R(3, 4).to("cuda")
        part = x[1:] if call % 2 else fixed[1:]
        wanted = (part + 1.0 if call % 2 else part).cpu() * 2
        assert_equal(script(x, part), wanted)


def test_the_quick_way_takes_what_is_like_the_last_call_only() -> None:
    script = scripted()
    x, w = R(3, 4).to("cuda"), R(4, 4).to("cuda")
    for _ in range(5):
        script(x, w, 0.0)
    assert script._executor.fast_path is not None
    assert_equal(script(x, w, 0.0), host(x, w, 0.0))
    assert_equal(script(x, w, -0.5), host(x, w, -0.5))
    assert_equal(script(x.cpu(), w.cpu(), 0.0).to("cuda"), host(x, w, 0.0))
    assert_equal(script(x[:2], w, 0.0), host(x[:2], w, 0.0))
    assert_equal(script(x.double(), w.double(), 0.0).float(), host(x, w, 0.0))
    asking = w.clone().requires_grad_()
    script(x, asking, 1.0).sum().backward()
    assert asking.grad is not None
    with flambeau.no_grad():
        assert script(x, asking, 1.0).grad_fn is None
    assert plan_of_calls(script) >= 8


def plan_of_calls(script: Any) -> int:
    """How often a function's plans ran."""
    return sum(c.calls for c in script.explain().compilations)


def test_captures_that_fail_again_and_again_are_not_tried_any_more() -> None:
    def looked_at(x: Tensor) -> Tensor:
        return x * float(x.sum().item())

    script = flambeau.script(looked_at)
    for size in range(2, 12):
        for _ in range(4):
            x = R(size).to("cuda")
            assert_equal(script(x), x.cpu() * float(x.cpu().sum().item()))
    (told,) = plan_of(script).graphs
    assert "waits for the device" in told


def test_sizes_that_change_all_the_time_are_not_captured_for_ever() -> None:
    script = scripted()
    w = R(4, 4).to("cuda")
    for call in range(3 * 40):
        x = R(2 + call // 3, 4).to("cuda")
        assert_equal(script(x, w, 1.0), host(x, w, 1.0))
    told = plan_of(script).graphs
    assert "not captured: sizes and numbers are other ones too often" in told


def test_copies_that_nobody_waits_for_are_not_captured() -> None:
    def moved(x: Tensor, y: Tensor) -> Tensor:
        return x + y.to(x.device, non_blocking=True)

    script = flambeau.script(moved)
    for _ in range(5):
        x, y = R(4), R(4)
        assert_equal(script(x.to("cuda"), y.to("cuda")), x + y)
    assert "without waiting for it" in plan_of(script).graphs[0]


def test_attention_is_captured() -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flambeau.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    script = flambeau.script(attend)
    for _ in range(6):
        q, k, v = R(2, 3, 5, 4), R(2, 3, 5, 4), R(2, 3, 5, 4)
        assert_equal(script(q.to("cuda"), k.to("cuda"), v.to("cuda")), attend(q, k, v))
    assert "captured" in plan_of(script).graphs[0]


def test_what_operators_are_made_of_is_looked_at_while_they_are_captured() -> None:
    def turned(x: Tensor, y: Tensor) -> Tensor:
        return flambeau.roll(x, 1) * y

    script = flambeau.script(turned)
    for _ in range(5):
        x, y = R(4), R(4)
        assert_equal(script(x.to("cuda"), y.to("cuda")), flambeau.roll(x, 1) * y)
    assert "aten::roll may copy memory of the host" in plan_of(script).graphs[0]


def test_tensors_put_together_are_part_of_replays() -> None:
    def together(x: Tensor, y: Tensor) -> Tensor:
        rows = flambeau.cat([x, y * 2, x.t()], 0)
        return flambeau.stack([rows, flambeau.cat([rows[:, 1:], rows[:, :1]], -1)], 1).relu()

    script = flambeau.script(together)
    for _ in range(6):
        x, y = R(4, 4), R(2, 4)
        assert_equal(script(x.to("cuda"), y.to("cuda")), together(x, y))
    assert "captured" in plan_of(script).graphs[0]
