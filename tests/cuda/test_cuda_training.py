"""Modules, optimisers and archives with parameters on a device give what they give on the host."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import flambeau as fb
from flambeau import nn

pytestmark = pytest.mark.usefixtures("cuda")


@pytest.fixture
def x() -> fb.Tensor:
    return fb.arange(12.0).reshape(3, 4).to("cuda")


OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    name: lambda p, name=name: getattr(fb.optim, name)(p, lr=0.01)
    for name in (
        "SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "ASGD", "LBFGS",
    )
} | {
    "momentum": lambda p: fb.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1),
    "amsgrad": lambda p: fb.optim.Adam(p, lr=0.01, amsgrad=True),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_step(name: str, x: fb.Tensor) -> None:
    fb.manual_seed(0)
    there = nn.Linear(4, 2)
    here = copy.deepcopy(there)
    there.to("cuda")
    for module, rows in ((there, x), (here, x.cpu())):
        optimiser = OPTIMISERS[name](module.parameters())

        def loss(module: Any = module, rows: Any = rows, optimiser: Any = optimiser) -> fb.Tensor:
            optimiser.zero_grad()
            found = module(rows).pow(2).mean()
            found.backward()
            return found

        for _ in range(3):
            optimiser.step(loss)
    assert there.weight.is_cuda
    assert there.weight.grad.is_cuda
    assert (there.weight.detach().cpu() - here.weight.detach()).abs().max() < 1e-4


def test_modules_move(x: fb.Tensor) -> None:
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 2))
    assert module.cuda() is module
    assert {t.device for t in (*module.parameters(), *module.buffers())} == {fb.device("cuda:0")}
    assert module(x).is_cuda
    assert {type(p) for p in module.cpu().parameters()} == {nn.Parameter}
    assert not any(t.is_cuda for t in (*module.parameters(), *module.buffers()))
    half = nn.Linear(2, 2).to("cuda", fb.float16)
    assert {(p.device.type, p.dtype) for p in half.parameters()} == {("cuda", fb.float16)}
    assert nn.Linear(2, 2).cuda(0).weight.is_cuda


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LSTM(4, 3, device="cuda"),
        lambda: nn.GRU(4, 3, 2, bidirectional=True, device="cuda"),
        lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, device="cuda"),
        lambda: nn.TransformerEncoderLayer(4, 2, 8, device="cuda"),
    ],
)
def test_layers_train(make: Callable[[], Any], x: fb.Tensor) -> None:
    layer = make()
    result = layer(x.unsqueeze(0))
    result = result[0] if isinstance(result, tuple) else result
    result.sum().backward()
    assert result.is_cuda
    assert all(p.grad is not None and p.grad.is_cuda for p in layer.parameters())


def test_states_are_saved_and_loaded() -> None:
    module = nn.Linear(4, 2, device="cuda")
    file = io.BytesIO()
    fb.save(module.state_dict(), file)
    places = {None: "cuda", "cpu": "cpu", "cuda:0": "cuda"}
    for place, kind in places.items():
        file.seek(0)
        state = fb.load(file, map_location=place)
        assert {t.device.type for t in state.values()} == {kind}
        assert state["weight"].tolist() == module.weight.tolist()
    other = nn.Linear(4, 2)
    other.load_state_dict(module.state_dict())
    assert other.weight.is_cpu
    assert other.weight.tolist() == module.weight.tolist()


def test_programs_are_saved_and_loaded(x: fb.Tensor) -> None:
    program = fb.jit.script(nn.Linear(4, 2)).to("cuda")
    file = io.BytesIO()
    fb.jit.save(program, file)
    file.seek(0)
    loaded = fb.jit.load(file)
    assert loaded.weight.is_cuda
    assert loaded(x).tolist() == program(x).tolist()
    file.seek(0)
    assert fb.jit.load(file, map_location="cpu").weight.is_cpu


def test_parameters_are_copied_and_pickled() -> None:
    parameter = nn.Parameter(fb.ones(2, device="cuda"))
    for other in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert isinstance(other, nn.Parameter)
        assert other.is_cuda
        assert other.requires_grad
        assert other.data_ptr() != parameter.data_ptr()
    assert "Parameter containing" in repr(parameter)
    assert "device='cuda:0'" in repr(parameter)


def test_dropout_follows_the_seed(x: fb.Tensor) -> None:
    drawn = []
    for place in ("cuda", "cpu", "cuda"):
        fb.cuda.manual_seed(3)
        drawn.append(nn.functional.dropout(x.to(place), 0.5).tolist())
    assert drawn[0] == drawn[1] == drawn[2]


def test_many_numbers_are_drawn_there() -> None:
    from flambeau.tensor.device_draws import LARGE

    for draw in (fb.rand, fb.randn):
        fb.manual_seed(5)
        first = draw(LARGE, device="cuda")
        again = draw(LARGE, device="cuda")
        fb.manual_seed(5)
        assert fb.equal(draw(LARGE, device="cuda"), first)
        assert not fb.equal(first, again)
    rand, randn = fb.rand(LARGE, device="cuda").cpu(), fb.randn(LARGE, device="cuda").cpu()
    assert 0 <= rand.min() <= rand.max() < 1
    assert abs(rand.mean() - 0.5) < 0.005
    assert abs(rand.var() - 1 / 12) < 0.002
    assert abs(randn.mean()) < 0.01
    assert abs(randn.var() - 1) < 0.02
    ints = fb.randint(-3, 4, (LARGE,), device="cuda").cpu()
    assert fb.unique(ints).tolist() == [-3, -2, -1, 0, 1, 2, 3]


def test_transforms(x: fb.Tensor) -> None:
    assert fb.func.grad(lambda a: (a * a).sum())(x).tolist() == (2 * x).tolist()
    assert fb.func.jacrev(lambda a: a * a)(x[0]).tolist() == (2 * x[0]).diag().tolist()
    assert fb.vmap(lambda a: a.sum())(x).tolist() == x.sum(1).tolist()


def test_captures_look_at_no_places(x: fb.Tensor) -> None:
    table, places = fb.arange(8.0).reshape(4, 2).to("cuda"), fb.tensor([1, 3], device="cuda")

    def work() -> fb.Tensor:
        rows = nn.functional.embedding(places, table) + table[places]
        return nn.functional.cross_entropy(rows, places & 1) + table.gather(1, places[:, None] & 1).sum()

    expected = work().item()
    graph = fb.cuda.CUDAGraph()
    with fb.cuda.graph(graph):
        result = work()
    graph.replay()
    assert result.item() == pytest.approx(expected)
    with pytest.raises(IndexError, match="index out of range in self"):
        nn.functional.embedding(places + 1, table).cpu()


def test_gradients_are_checked(x: fb.Tensor) -> None:
    operand = x.double().requires_grad_()
    assert fb.autograd.gradcheck(lambda a: (a * a).sum(0), (operand,))
    assert fb.autograd.gradgradcheck(lambda a: (a * a * a).sum(), (operand,))


def test_what_reads_elements_asks_for_copies(x: fb.Tensor) -> None:
    prune = nn.utils.prune
    for change in (
        lambda m: prune.l1_unstructured(m, "weight", 0.5),
        lambda m: prune.random_unstructured(m, "weight", 0.5),
        lambda m: prune.ln_structured(m, "weight", 0.5, n=2, dim=0),
    ):
        module = change(nn.Linear(4, 2).cuda())
        assert module.weight_mask.is_cuda
        assert module.weight_mask.sum() == 4
        assert module(x).is_cuda
    assert nn.init.sparse_(nn.Parameter(fb.ones(4, 4, device="cuda")), 0.5).is_cuda
    assert nn.LazyLinear(3).cuda()(x).is_cuda
    assert nn.EmbeddingBag(4, 3).cuda()(fb.tensor([[1, 2]], device="cuda")).is_cuda
    rnn = nn.utils.rnn
    packed = rnn.pack_padded_sequence(x.unsqueeze(2), fb.tensor([1, 3, 2, 1]), enforce_sorted=False)
    back, lengths = rnn.pad_packed_sequence(packed)
    assert back.is_cuda
    assert lengths.tolist() == [1, 3, 2, 1]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_of_packed_batches(x: fb.Tensor, kind: str) -> None:
    """Batch sizes and lengths are on the host, orders of sequences on the device."""
    module, rnn = getattr(nn, kind)(1, 4), nn.utils.rnn
    found = []
    for device in ("cpu", "cuda"):
        layer = module.to(device)
        layer.zero_grad()
        batch = x.to(device).unsqueeze(2) / 10
        packed = rnn.pack_padded_sequence(batch, fb.tensor([1, 3, 2, 1]), enforce_sorted=False)
        assert packed.sorted_indices.device.type == packed.data.device.type == device
        assert rnn.pad_packed_sequence(packed.cuda())[0].is_cuda
        back, lengths = rnn.pad_packed_sequence(layer(packed)[0])
        back.square().sum().backward()
        assert not packed.batch_sizes.is_cuda
        assert not lengths.is_cuda
        found.append([back.detach().cpu(), *(p.grad.cpu() for p in layer.parameters())])
    for here, there in zip(*found, strict=True):
        assert fb.allclose(here, there, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [10, 100_000])
def test_operators_of_several_steps(size: int) -> None:
    here = fb.rand(size)
    there = here.cuda().requires_grad_()
    for _ in range(3):
        assert nn.functional.mse_loss(here, here + 1) == 1
        loss = nn.functional.mse_loss(there, there.detach() + 1)
        loss.backward()
        assert loss.item() == pytest.approx(1)
        out = fb.zeros((), device="cuda")
        assert fb.ops.aten.mse_loss(there.detach(), there.detach() + 1, out=out).item() == pytest.approx(1)
    assert there.grad[0].item() == pytest.approx(-6 / size)
