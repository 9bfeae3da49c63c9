"""Parameters that code reads are nodes: what is computed of them is part of the graph, and learns."""

from __future__ import annotations

import threading

import flambeau
from flambeau import fx, nn


class Bias(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(flambeau.ones(1))

    def forward(self):
        return self.p * 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(flambeau.ones(2, 3))
        self.register_buffer("b", flambeau.ones(3))
        self.bias = Bias()

    def forward(self, x):
        return x @ (self.w + 1) + self.b * 2 + self.bias() + self.w.shape[0]


def test_what_is_computed_of_parameters_is_in_the_graph() -> None:
    net = Net()
    traced = fx.symbolic_trace(net)
    x = flambeau.tensor([[1.0, 2.0]])
    assert flambeau.equal(traced(x), net(x))
    traced(x).sum().backward()
    assert net.w.grad.tolist() == [[1.0] * 3, [2.0] * 3]
    assert net.bias.p.grad.item() == 9
    with flambeau.no_grad():
        net.w.fill_(5)
    assert flambeau.equal(traced(x), net(x))
    reads = [node.target for node in traced.graph.nodes if node.op == "get_attr"]
    assert reads == ["w", "_tensor_constant0", "bias.p"]


def test_sizes_of_parameters_may_be_numbers() -> None:
    graph = fx.Tracer(param_shapes_constant=True).trace(Net())
    assert not any(node.target is getattr for node in graph.nodes)
    shape = next(node.args[1] for node in reversed(graph.nodes) if node.op == "call_function")
    assert shape == 2


def test_buffers_may_be_nodes() -> None:
    class Buffers(fx.Tracer):
        proxy_buffer_attributes = True

    reads = [node.target for node in Buffers().trace(Net()).nodes if node.op == "get_attr"]
    assert reads == ["w", "b", "bias.p"]


def test_a_tracer_says_what_code_reads() -> None:
    seen = []

    class Watching(fx.Tracer):
        def getattr(self, attr, attr_val, parameter_proxy_cache):
            seen.append(attr)
            return super().getattr(attr, attr_val, parameter_proxy_cache)

    Watching().trace(Net())
    assert seen == ["w", "b", "bias", "p", "w"]


def test_other_threads_read_parameters_themselves() -> None:
    net, kinds = Net(), []

    class Waiting(fx.Tracer):
        def getattr(self, attr, attr_val, parameter_proxy_cache):
            other = threading.Thread(target=lambda: kinds.append(type(net.w)))
            other.start()
            other.join()
            return super().getattr(attr, attr_val, parameter_proxy_cache)

    Waiting().trace(net)
    assert set(kinds) == {nn.Parameter}
    assert type(net.w) is nn.Parameter


def test_modules_that_are_made_meanwhile_run() -> None:
    traced = fx.symbolic_trace(lambda x: x + nn.Linear(2, 1)(flambeau.ones(1, 2)).shape[0])
    assert traced(flambeau.tensor(1)).item() == 2
