"""Floating point operations are those that PyTorch counts, by module and in all."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import flambeau
from flambeau.utils.flop_counter import FlopCounterMode, register_flop_formula

torch = pytest.importorskip("torch")


def layers(lib: Any) -> None:
    x = lib.ones(5, 2, requires_grad=True)
    lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Sequential(lib.nn.Linear(3, 4)))(x).sum().backward()


def convolutions(lib: Any) -> None:
    image = lib.ones(2, 4, 8, 8, requires_grad=True)
    lib.nn.Conv2d(4, 6, 3, stride=2)(image).sum().backward()
    lib.nn.ConvTranspose2d(4, 6, 3)(image).sum().backward()
    lib.nn.Conv1d(4, 6, 3, groups=2)(lib.ones(4, 8))


def products(lib: Any) -> None:
    def ones(*sizes: int) -> Any:
        return lib.ones(sizes)

    lib.einsum("bij,bjk->bik", ones(2, 3, 4), ones(2, 4, 5))
    lib.einsum("ij,jk,kl->il", ones(3, 4), ones(4, 5), ones(5, 6))
    lib.einsum("...ij,jk", ones(7, 3, 4), ones(4, 5))
    lib.einsum("ij,kl->ijkl", ones(3, 4), ones(4, 5))
    _ = ones(2, 3, 4) @ ones(4), ones(2, 1, 3, 4) @ ones(5, 4, 2)
    lib.addmm(ones(4), ones(2, 3), ones(3, 4))
    lib.baddbmm(ones(4), ones(1, 2, 3), ones(1, 3, 4))


@pytest.mark.parametrize("block", [layers, convolutions, products])
def test_counts(block: Any) -> None:
    totals = []
    for lib in (flambeau, torch):
        mode = importlib.import_module(f"{lib.__name__}.utils.flop_counter").FlopCounterMode(display=False)
        with mode:
            block(lib)
        totals.append({name: sum(counts.values()) for name, counts in mode.get_flop_counts().items()})
    assert totals[0] == totals[1]


def test_formulas_of_users(capsys: pytest.CaptureFixture[str]) -> None:
    with FlopCounterMode(custom_mapping={flambeau.ops.aten.add: lambda a, b, out_shape: 7}) as counted:
        _ = flambeau.ones(2) + 1
    assert counted.get_total_flops() == 7
    assert "aten.add" in capsys.readouterr().out
    with FlopCounterMode() as counted:
        pass
    assert counted.get_total_flops() == 0
    with pytest.raises(ValueError, match="got str"):
        register_flop_formula("aten::mm")(len)
