"""What a scripted or traced module does not take once it is compiled, in words that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.scale = nn.Linear(2, 2), 3
        self.register_buffer("shift", flambeau.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * self.scale + self.shift


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda m: m.register_parameter("more", nn.Parameter(flambeau.ones(1))),
     "Can't add a new parameter after ScriptModule construction. Tried to add 'more'.*script that again"),
    (lambda m: m.register_buffer("more", flambeau.ones(1)), "Can't add a new parameter after ScriptModule"),
    (lambda m: m.add_module("more", nn.ReLU()), "with non-scripted module, tried to add the module 'more'"),
    (lambda m: m.register_module("more", nn.ReLU()), "with non-scripted module, tried to add the module 'more'"),
    (lambda m: setattr(m, "more", nn.ReLU()), "with non-scripted module, tried to add the module 'more'"),
    (lambda m: setattr(m, "more", flambeau.script(nn.ReLU())), "with another module, tried to add the module 'more'"),
    (lambda m: setattr(m, "layer", nn.Linear(2, 2)), "Cannot re-assign"),
    (lambda m: delattr(m, "layer"), "cannot delete methods or parameters of a script module: 'layer'"),
    (lambda m: delattr(m.layer, "weight"), "cannot delete methods or parameters of a script module"),
    (lambda m: m.register_forward_hook(print), "register_forward_hook is not supported on ScriptModules.*with types"),
    (lambda m: m.layer.register_forward_pre_hook(print), "register_forward_pre_hook is not supported on ScriptModules"),
    (lambda m: m.register_full_backward_hook(print), "register_full_backward_hook is not supported on ScriptModules"),
]  # fmt: skip


@pytest.mark.parametrize("way", ["scripted", "traced"])
@pytest.mark.parametrize(("change", "text"), REFUSED)
def test_what_programs_would_not_know_of_is_refused(change: Callable[[Any], Any], text: str, way: str) -> None:
    model = Net()
    made = flambeau.script(model) if way == "scripted" else flambeau.trace(model, flambeau.ones(1, 2))
    before = made(flambeau.ones(1, 2)).tolist()
    with pytest.raises(RuntimeError, match=f"{text}|cannot be removed: the trace may use it"):
        change(made)
    assert made(flambeau.ones(1, 2)).tolist() == before
    assert [name for name, _ in made.named_children()] == ["layer"]


def test_what_is_there_is_registered_anew() -> None:
    made = flambeau.script(Net())
    made.register_buffer("shift", flambeau.zeros(2))
    made.layer.register_parameter("weight", nn.Parameter(flambeau.zeros(2, 2)))
    made.layer.bias = nn.Parameter(flambeau.ones(2))
    assert made(flambeau.ones(1, 2)).tolist() == [[3.0, 3.0]]
    made.note = "Python's own"
    assert made.note == "Python's own"
    del made.note
    assert not hasattr(made, "note")
