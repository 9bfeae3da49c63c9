"""Programs in mixed precision: casts in graphs, blocks that the program switches, and what no graph shows."""

from __future__ import annotations

import io
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.interpreter import reference
from flambeau.ir.parser import parse_ir
from flambeau.ir.verify import verify
from flambeau.passes import autocast

X = flambeau.tensor([[0.5, -1.25], [2.0, 1.0]])


def switched(x: Tensor, on: bool) -> tuple[Tensor, Tensor]:
    with flambeau.autocast("cpu", dtype=flambeau.bfloat16, enabled=on):
        y = x @ x
        with flambeau.autocast("cpu", enabled=False):
            z = x @ x
        if bool(y.sum() > 0):
            return y @ y, z
        for _ in range(3):
            z = z @ x
    return y + 0, z @ z


def joined(x: Tensor, y: Tensor) -> list[Tensor]:
    with flambeau.autocast("cpu"):
        small = x @ y
        return [flambeau.cat([small, x]), flambeau.einsum("ij,jk->ik", [x, y]), nn.functional.mse_loss(small, y)]


def falling(x: Tensor, n: int) -> Tensor:
    if n == 0:
        return x
    return falling(x @ x, n - 1)


@flambeau.jit.ignore
def outside(x: Tensor) -> Tensor:
    return x @ x


def hidden(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    with flambeau.autocast("cpu"):
        a = outside(x)
        b = falling(x, 2)
        c = flambeau.jit.wait(flambeau.jit.fork(outside, x))
    return a, b, c, outside(x)


def asked(x: Tensor) -> tuple[bool, bool, bool]:
    before = flambeau.is_autocast_cpu_enabled()
    with flambeau.autocast("cpu"):
        within = flambeau.is_autocast_cpu_enabled()
        other = flambeau.is_autocast_enabled()
    return before, within, other


def dtypes(result: Any) -> list[Any]:
    return [t.dtype for t in (result if isinstance(result, tuple | list) else [result])]


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("x", [X, X.abs(), -X.abs() - 1])
def test_programs_agree_with_python(x: Tensor, on: bool) -> None:
    script = flambeau.script(switched, verify=True)
    for _ in range(3):
        found, wanted = script(x, on), switched(x, on)
        assert dtypes(found) == dtypes(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert flambeau.allclose(one.float(), other.float(), rtol=2e-2, atol=1e-1)
    [plain] = reference.evaluate(flambeau.script(switched).graph, [x, on])
    assert dtypes(plain) == dtypes(switched(x, on))


def test_plans_have_casts_and_no_blocks() -> None:
    script = flambeau.script(joined, verify=True)
    assert dtypes(script(X, X)) == dtypes(joined(X, X)) == [flambeau.float32, flambeau.bfloat16, flambeau.float32]
    text = str(script.graph_for(X, X))
    assert "prim::Enter" not in text
    assert "BFloat16(*, *" in text
    assert "prim::Enter" in str(script.graph)


def test_what_a_graph_does_not_show_sees_the_block() -> None:
    script = flambeau.script(hidden)
    small, wide = flambeau.bfloat16, flambeau.float32
    for _ in range(4):
        assert dtypes(script(X)) == [small, small, small, wide]


def test_questions_have_answers() -> None:
    script = flambeau.script(asked)
    assert script(X) == (False, True, False)
    with flambeau.autocast("cpu"):
        assert script(X) == asked(X) == (True, True, False)


def test_calls_within_a_block_have_plans_of_their_own() -> None:
    def layer(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        return nn.functional.linear(x, w, b).relu()

    script = flambeau.script(layer)
    for _ in range(3):
        assert script(X, X).dtype is flambeau.float32
        with flambeau.autocast("cpu"):
            assert script(X, X).dtype is script(X, X, X[0]).dtype is flambeau.bfloat16
            with flambeau.autocast("cpu", dtype=flambeau.float16):
                assert script(X, X).dtype is flambeau.float16
            with flambeau.autocast("cpu", enabled=False):
                assert script(X, X).dtype is flambeau.float32
    assert script._executor.precisions.cache.statistics().entries == 2


def test_a_block_within_a_call_within_a_block() -> None:
    script = flambeau.script(switched)
    with flambeau.autocast("cpu"):
        assert dtypes(script(X, False)) == dtypes(switched(X, False))


def test_modules_and_their_gradients() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.first(x).relu())

    flambeau.manual_seed(0)
    net, x, gradients = Net(), flambeau.randn(3, 4), []
    script = flambeau.script(net)
    for module in (net, script, script, script):
        net.zero_grad()
        with flambeau.autocast("cpu"):
            y = module(x)
            loss = nn.functional.mse_loss(y, flambeau.ones(3, 2))
        assert y.dtype is flambeau.bfloat16
        loss.backward()
        gradients.append([p.grad.clone() for p in net.parameters() if p.grad is not None])
    for others in gradients[1:]:
        for one, other in zip(gradients[0], others, strict=True):
            assert other.dtype is flambeau.float32
            assert flambeau.allclose(one, other, rtol=3e-2, atol=3e-2)
    assert script(x).dtype is flambeau.float32


def test_modules_with_blocks_of_their_own() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            y = self.layer(x)
            with flambeau.autocast("cpu", enabled=False):
                z = self.layer(x)
            return y, z

    net, x = Net(), flambeau.ones(2, 4)
    script = flambeau.script(net)
    for _ in range(3):
        with flambeau.autocast("cpu"):
            assert dtypes(script(x)) == dtypes(net(x)) == [flambeau.bfloat16, flambeau.float32]
            with flambeau.no_grad():
                assert dtypes(script(x)) == [flambeau.bfloat16, flambeau.float32]
        assert dtypes(script(x)) == [flambeau.float32, flambeau.float32]


def test_recurrent_layers() -> None:
    layer, x = nn.GRU(3, 4), flambeau.ones(2, 1, 3)
    with flambeau.no_grad(), flambeau.autocast("cpu"):
        wanted = layer(x)[0]
        assert flambeau.script(layer)(x)[0].dtype is wanted.dtype


def test_decorated_functions() -> None:
    @flambeau.autocast("cpu")
    def f(x: Tensor) -> Tensor:
        return x @ x

    @flambeau.autocast("cpu")
    @flambeau.autocast("cpu", enabled=False)
    @flambeau.no_grad()
    def g(x: Tensor) -> tuple[Tensor, bool]:
        return x @ x, flambeau.is_grad_enabled()

    assert flambeau.script(f)(X).dtype is flambeau.bfloat16
    y, is_recorded = flambeau.script(g)(X)
    assert y.dtype is flambeau.float32
    assert not is_recorded


def test_gradients_in_programs() -> None:
    def f(x: Tensor) -> Tensor:
        with flambeau.autocast("cpu"):
            return (x @ x).sum()

    def g(x: Tensor) -> Tensor:
        return flambeau.func.grad(f)(x)

    found = flambeau.script(g)(X)
    assert found.dtype is flambeau.float32
    assert flambeau.allclose(found, g(X), rtol=2e-2, atol=2e-2)


def test_as_a_pass() -> None:
    graph = flambeau.script(joined).graph.copy()
    flambeau._C._jit_pass_inline(graph)
    flambeau._C._jit_pass_autocast(graph)
    verify(graph)
    assert "prim::Enter" not in str(graph)
    assert str(graph).count(autocast.REDUCED) == 4
    assert not autocast.do(graph)


def test_devices_have_their_own_lists() -> None:
    text = """graph(%x : Tensor):
      %n : NoneType = prim::Constant()
      %y : Tensor = aten::exp(%x)
      %z : Tensor = aten::sum(%y, %n)
      return (%z)"""
    on_cpu, on_cuda = parse_ir(text), parse_ir(text)
    autocast.do(on_cpu, (("cpu", flambeau.bfloat16),))
    autocast.do(on_cuda, (("cuda", flambeau.float16),))
    assert autocast.FULL not in str(on_cpu)
    assert str(on_cuda).count(autocast.FULL) == 2
    verify(on_cuda)


def test_a_device_that_is_not_written_out_is_refused() -> None:
    def f(x: Tensor, device: str) -> Tensor:
        with flambeau.autocast(device):
            return x @ x

    with pytest.raises(RuntimeError, match=r"write the kind of device out: autocast\('cpu'\)"):
        flambeau.script(f)


@pytest.mark.filterwarnings("ignore")
def test_archives_go_both_ways() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    buffer = io.BytesIO(flambeau.script(joined).save_to_buffer())
    wanted = [str(d).rpartition(".")[2] for d in dtypes(joined(X, X))]
    assert [str(d).rpartition(".")[2] for d in dtypes(flambeau.jit.load(buffer)(X, X))] == wanted
    buffer.seek(0)
    theirs = torch.jit.load(buffer)
    x = torch.tensor(X.tolist())
    found = [str(t.dtype).rpartition(".")[2] for t in theirs(x, x)]
    # TorchScript casts no lists: its einsum computes in float32
    assert [found[0], found[2]] == [wanted[0], wanted[2]]


TORCHS = '''
import torch
from torch import Tensor

def program(x: Tensor, w: Tensor):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        with torch.autocast("cpu", enabled=False):
            k = y.float() @ w
        z = y.softmax(0)
    with torch.cpu.amp.autocast(dtype=torch.bfloat16):
        v = x @ x
    return torch.cat([z, x]), y, k, v
'''


@pytest.mark.filterwarnings("ignore")
def test_archives_of_torchscript(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    (tmp_path / "program_in_mixed_precision.py").write_text(TORCHS)
    monkeypatch.syspath_prepend(tmp_path)
    import program_in_mixed_precision as written  # type: ignore[import-not-found]

    theirs, buffer = torch.jit.script(written.program), io.BytesIO()
    torch.jit.save(theirs, buffer)
    buffer.seek(0)
    ours = flambeau.jit.load(buffer)
    x = torch.tensor(X.tolist())
    found, wanted = ours(X, X), theirs(x, x)
    for one, other in zip(found, wanted, strict=True):
        assert str(one.dtype).rpartition(".")[2] == str(other.dtype).rpartition(".")[2]
        assert flambeau.allclose(one.float(), flambeau.tensor(other.float().tolist()), rtol=2e-2)


def test_the_pass_is_always_on() -> None:
    assert flambeau._C._jit_set_autocast_mode(True)
    with pytest.raises(ValueError, match=r"Turn it off for a block: with flambeau\.autocast"):
        flambeau._C._jit_set_autocast_mode(False)
