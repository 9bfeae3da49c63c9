"""What compiled functions on devices tell: profiles, PTX, and errors that come late."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
import flambeau.nn.functional as F  # noqa: N812
from flambeau import Tensor
from flambeau.cuda import blame

R = flambeau.randn


def layer(x: Tensor, w: Tensor) -> Tensor:
    y = F.gelu(x @ w)
    return y.sum(dim=1)


def test_profiles_have_times_of_groups_and_operators(pretended_cuda: Any, monkeypatch: Any) -> None:
    from flambeau.executor.devices import profiled

    monkeypatch.setattr(profiled, "COPIED", 1 << 16)
    profiled.copied_per_second.cache_clear()
    script = flambeau.script(layer)
    found = script.profile(R(3, 4).to("cuda"), R(4, 4).to("cuda"))
    profiled.copied_per_second.cache_clear()
    regions = {region.name: region for region in found.regions}
    assert set(regions) == {"group_0", "aten::matmul"}
    group = regions["group_0"]
    assert group.operators == ("aten::gelu", "aten::sum")
    assert group.bytes_moved == 3 * 4 * 4 + 3 * 4
    assert group.limit_seconds is not None
    assert group.limit_seconds > 0
    assert sum(line.hits for line in found.lines) == 2


def test_ptx_is_there_for_arguments_of_both_places(cuda: Any) -> None:
    script = flambeau.script(layer)
    x, w = R(3, 4), R(4, 4)
    for arguments in ((x, w), (x.to("cuda"), w.to("cuda"))):
        assert ".visible .entry" in script.ptx(*arguments)


def test_a_kernel_that_failed_is_told_later_with_what_ran_last(pretended_cuda: Any, monkeypatch: Any) -> None:
    from tests.cuda.pretended.errors import ILLEGAL_ADDRESS, CUDARuntimeError

    def broken() -> None:
        raise CUDARuntimeError(ILLEGAL_ADDRESS)

    script = flambeau.script(layer)
    script(R(3, 4).to("cuda"), R(4, 4).to("cuda"))
    monkeypatch.setattr(pretended_cuda.cuda.runtime, "deviceSynchronize", broken)
    with pytest.raises(RuntimeError, match=r"the compiled function that ran last is 'layer'.*CUDA_LAUNCH_BLOCKING=1"):
        flambeau.cuda.synchronize()
    blame.note("")
    with pytest.raises(RuntimeError, match="no compiled function has run on the device"):
        flambeau.cuda.synchronize()


def test_too_little_memory_leaves_arguments_as_they_were(cuda: Any) -> None:
    def grown(x: Tensor, n: int) -> Tensor:
        y = flambeau.zeros(n, device=x.device) + 1
        x += y.sum()
        return x

    script = flambeau.script(grown)
    x = R(3).to("cuda")
    before = x.tolist()
    with pytest.raises(flambeau.cuda.OutOfMemoryError, match="out of memory"):
        script(x, 1 << 40)
    assert x.tolist() == before
    script(x, 4)
    assert x.tolist() == pytest.approx([v + 4 for v in before])


def test_a_call_that_waits_says_so_where_it_is_captured(cuda: Any) -> None:
    def looked_at(x: Tensor) -> Tensor:
        return x * float(x.sum().item())

    script = flambeau.script(looked_at)
    x = R(3).to("cuda")
    script(x)
    graph = flambeau.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="waits for the device, which no graph can hold"), flambeau.cuda.graph(graph):
        script(x)
