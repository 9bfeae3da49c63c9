"""What programs do to graphs beside passes of their own: arguments by name, fewer layers, order, proxies of nodes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from flambeau.fx.experimental.proxy_tensor import make_fx

import flambeau
from flambeau import Tensor, fx, nn
from flambeau.autograd import grad
from flambeau.fx.experimental import optimization
from flambeau.fx.immutable_collections import immutable_dict, immutable_list
from flambeau.fx.operator_schemas import get_signature_for_torch_op, normalize_function
from flambeau.fx.passes.tools_common import legalize_graph
from flambeau.fx.proxy import GraphAppendingTracer


class _Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2)
        self.head = nn.Sequential(nn.Dropout(0.9), nn.Linear(8, 3))

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.head(nn.functional.gelu(self.norm(self.conv(x))).flatten(1))


def _network() -> nn.Module:
    flambeau.manual_seed(0)
    network = _Network()
    network(flambeau.randn(16, 1, 4, 4))  # statistics that are not those of the start
    return network.eval()


def test_convolutions_normalise_by_themselves() -> None:
    network, x = _network(), flambeau.randn(2, 1, 4, 4)
    fused = optimization.fuse(network)
    assert [type(m).__name__ for m in fused.modules()].count("BatchNorm2d") == 0
    assert flambeau.allclose(fused(x), network(x), atol=1e-5)
    assert hasattr(network, "norm")
    assert optimization.fuse(network, inplace=True)(x).shape == (2, 3)
    with pytest.raises(AssertionError, match="Fusion only for eval"):
        optimization.fuse(_Network().train())


def test_what_others_use_is_not_fused() -> None:
    class Twice(_Network):
        def forward(self, x):  # type: ignore[no-untyped-def]
            y = self.conv(x)
            return y + self.norm(y)

    network, x = Twice().eval(), flambeau.randn(2, 1, 4, 4)
    fused = optimization.fuse(network)
    assert "BatchNorm2d" in [type(m).__name__ for m in fused.modules()]
    assert flambeau.allclose(fused(x), network(x))


def test_dropout_is_taken_away() -> None:
    network, x = _network(), flambeau.randn(2, 1, 4, 4)
    quick = optimization.remove_dropout(network.train())
    assert "Dropout" not in [type(m).__name__ for m in quick.modules()]
    assert quick.train()(x).shape == (2, 3)


def test_a_function_with_an_in_place_form_is_the_target() -> None:
    traced = fx.symbolic_trace(lambda x: nn.functional.gelu(x) + nn.functional.gelu(x, approximate="tanh"))
    assert len(traced.graph.find_nodes(op="call_function", target=nn.functional.gelu)) == 2
    for node in traced.graph.nodes:
        if node.target is nn.functional.gelu:
            node.target = flambeau.tanh
            node.kwargs = {}
    traced.recompile()
    assert traced(flambeau.tensor(0.5)).item() == pytest.approx(2 * flambeau.tensor(0.5).tanh().item())


def test_arguments_of_nodes_stay_as_they_are() -> None:
    traced = fx.symbolic_trace(lambda x: flambeau.cat([x, x], dim=0))
    cat = next(n for n in traced.graph.nodes if n.op == "call_function")
    assert type(cat.args[0]) is immutable_list
    assert type(cat.kwargs) is immutable_dict
    for change in (
        lambda: cat.args[0].append(cat), lambda: cat.kwargs.update(dim=1), lambda: cat.kwargs.__setitem__("dim", 1),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="does not support mutation"):
            change()
    cat.kwargs = {"dim": 1}
    traced.recompile()
    assert traced(flambeau.ones(2, 2)).shape == (2, 4)
    assert pickle.loads(pickle.dumps(immutable_list([1]))) == [1]


def test_arguments_by_name() -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    by_name = [n.normalized_arguments(traced, normalize_to_only_use_kwargs=True) for n in traced.graph.nodes]
    assert [sorted(b.kwargs) for b in by_name if b is not None] == [["input"], ["input"]]
    assert normalize_function(nn.functional.relu, ("x",), {}, normalize_to_only_use_kwargs=True).kwargs == {  # type: ignore[union-attr]
        "input": "x", "inplace": False,
    }  # fmt: skip
    with pytest.raises(RuntimeError, match="the schema match was ambiguous"):
        normalize_function(flambeau.add, ("x", 1))
    added = normalize_function(flambeau.add, ("x", 1), arg_types=(flambeau.Tensor, int))
    assert added is not None
    assert (added.args, added.kwargs) == (("x", 1), {"alpha": 1})
    assert normalize_function(flambeau.relu, ("x", 1, 2)) is None
    assert get_signature_for_torch_op(len) is None


def test_nodes_are_brought_into_order() -> None:
    traced = fx.symbolic_trace(lambda x: (x + 1) * (x - 1))
    nodes = list(traced.graph.nodes)
    nodes[3].append(nodes[1])
    with pytest.raises(RuntimeError, match="used before"):
        traced.graph.lint()
    assert legalize_graph(traced)(3) == 8
    traced.graph.lint()


def test_proxies_of_nodes_append() -> None:
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    assert isinstance(x.tracer, GraphAppendingTracer)
    graph.output((flambeau.relu(x) + 1).node)
    assert fx.GraphModule({}, graph)(flambeau.tensor(-1.0)).item() == 1


def test_calls_of_modules_that_are_not_there_are_refused() -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    with pytest.raises(AttributeError, match="has no attribute `nothing`"):
        traced.graph.call_module("nothing", ())


def test_make_fx_from_its_usual_path() -> None:
    assert make_fx is fx.make_fx


def test_calls_for_their_effect_stay() -> None:
    seen: list[object] = []

    @fx.node.has_side_effect
    def note(x: object) -> None:
        seen.append(x)

    traced = fx.symbolic_trace(lambda x: x + 1)
    x, add, _ = traced.graph.nodes
    with traced.graph.inserting_after(x):
        traced.graph.call_function(note, (x,))
        traced.graph.call_function(flambeau.neg, (x,))
    assert traced.graph.eliminate_dead_code()
    traced.recompile()
    assert (traced(3), seen) == (4, [3])
    assert [n.target for n in traced.graph.find_nodes(op="call_function")] == [note, add.target]


def test_what_passes_remember_of_a_module() -> None:
    traced = fx.symbolic_trace(nn.ReLU())
    assert traced.meta == {}
    traced.meta["passes"] = ["fuse"]
    copied = copy.deepcopy(traced)
    copied.meta["passes"].append("drop")
    assert traced.meta == {"passes": ["fuse"]}
    assert flambeau.script(traced)(-flambeau.ones(1)).item() == 0


def test_gradients_in_graphs_are_of_the_arguments_of_the_call() -> None:
    """Results that derivatives are made of are nodes, not constants of the first call."""

    def slope(x: Tensor) -> Tensor:
        y = flambeau.tanh(x) * flambeau.softmax(x.view(2, 2), -1).view(4)
        y.mul_(2.0)
        return grad((y * flambeau.exp(x)).sum(), x)[0]

    first, other = (flambeau.tensor(v, requires_grad=True) for v in ([0.1, 0.2, 0.3, -0.4], [0.7, -0.9, 1.0, 0.2]))
    module = make_fx(slope)(first)
    for x in (first, other):
        np.testing.assert_allclose(module(x).detach().numpy(), slope(x).detach().numpy(), rtol=1e-6)
