"""Linears with constant weights as products with the transposed weight, beside TorchScript."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.ir.verify import verify
from flambeau.passes import transpose_frozen_linear


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.second(self.first(x)), nn.functional.linear(x, x)


def kinds(graph: Any) -> Counter[str]:
    return Counter(node.kind() for node in graph.nodes() if not node.kind().startswith("prim::"))


def test_linears_become_products() -> None:
    frozen = flambeau.jit.freeze(flambeau.script(Net().eval()))
    x = flambeau.randn(5, 3)
    wanted = frozen(x)
    graph = frozen.graph
    assert transpose_frozen_linear.do(graph)
    verify(graph)
    assert kinds(graph) == {"aten::matmul": 2, "aten::add": 1, "aten::linear": 1}
    found = flambeau._C._create_function_from_graph("f", graph)(frozen, x)
    for one, other in zip(found, wanted, strict=True):
        assert flambeau.allclose(one, other, atol=1e-6)
    assert not transpose_frozen_linear.do(graph)


@pytest.mark.filterwarnings("ignore")
def test_as_in_torchscript() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")

    class Theirs(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2, bias=False)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[name-defined]
            return self.second(self.first(x)), torch.nn.functional.linear(x, x)

    graphs = []
    for package, module in ((flambeau, Net()), (torch, Theirs())):
        graph = package.jit.freeze(package.jit.script(module.eval())).graph
        package._C._jit_pass_transpose_frozen_linear(graph)
        graphs.append(kinds(graph))
    assert graphs[0] == graphs[1]


def test_weights_that_are_no_constants_stay() -> None:
    script = flambeau.script(Net().eval())
    assert not transpose_frozen_linear.do(script.inlined_graph.copy())
