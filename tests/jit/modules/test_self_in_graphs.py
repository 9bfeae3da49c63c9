"""`self` of a module's method is the graph's parameter itself: nothing stores it, so its name has no number."""

from __future__ import annotations

import flambeau as fb
from flambeau import Tensor, nn


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale: float = 2.0
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return self.shifted(x, 2) * self.scale  # type: ignore[no-any-return]
        task = fb.jit.fork(self.shifted, x, 3)
        return self.act(x) + fb.jit.wait(task)  # type: ignore[no-any-return]

    @fb.jit.export
    def shifted(self, x: Tensor, k: int) -> Tensor:
        try:
            assert k < 10, "too far"
            y = self.scale * x
        except AssertionError:
            y = x - self.scale
        return y + k


def test_the_receiver_of_a_module_is_the_parameter_itself() -> None:
    module = fb.jit.script(Scaled())
    for method in (module, module.shifted):
        parameter = method.graph.parameters[0]
        assert parameter.name == "self"
        assert "%self.1" not in str(method.graph)
    x, y = fb.tensor([1.0, 2.0]), fb.tensor([-1.0, -2.0, 4.0, -3.0])
    for value in (x, y, x + 1):
        assert module(value).tolist() == Scaled()(value).tolist()
    assert module.shifted(x, 12).tolist() == [11.0, 12.0]
    module.scale = 3.0
    assert module.shifted(x, 1).tolist() == [4.0, 7.0]


def test_the_receiver_of_a_class_is_a_variable() -> None:
    @fb.script
    class Counter:
        def __init__(self, n: int):
            self.n = n

        def next(self) -> int:
            return self.n + 1

    @fb.script
    def use(n: int) -> int:
        return Counter(n).next()

    assert (use(2), use(5)) == (3, 6)
    assert use.graph.find("prim::CallMethod") is not None
