"""Custom functions in mixed precision, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau


def seen(package: Any, cast_inputs: Any) -> list[Any]:
    """What forward and backward of a function see, and what comes out."""
    log: list[Any] = []

    class Product(package.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        @package.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx: Any, a: Any) -> Any:
            log.append((a.dtype, package.is_autocast_enabled("cpu")))
            ctx.save_for_backward(a)
            return a @ a

        @staticmethod
        @package.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Any) -> Any:
            [a] = ctx.saved_tensors
            log.append((grad.dtype, package.is_autocast_enabled("cpu"), (a @ a).dtype))
            return (grad @ a.mT + a.mT @ grad).float()

    x = package.ones(2, 2, requires_grad=True)
    with package.autocast("cpu", dtype=package.bfloat16):
        y = Product.apply(x)
    y.sum().backward()
    log += [y.dtype, x.grad.dtype, x.grad.tolist()]
    z = Product.apply(x)
    log.append(z.dtype)
    return [str(entry).replace("flambeau", "torch") for entry in log]


@pytest.mark.parametrize("name", ["", "float32", "bfloat16"])
def test_as_in_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    found, wanted = (seen(p, getattr(p, name) if name else None) for p in (flambeau, torch))
    assert found == wanted


def test_arguments_in_containers_are_cast() -> None:
    @flambeau.amp.custom_fwd(device_type="cpu", cast_inputs=flambeau.float32)
    def forward(ctx: Any, xs: list[flambeau.Tensor], **named: Any) -> Any:
        return [x.dtype for x in xs], named["n"], named["d"]["x"].dtype

    class Context:
        pass

    x = flambeau.ones(1, dtype=flambeau.bfloat16)
    with flambeau.autocast("cpu"):
        found = forward(Context(), [x, flambeau.ones(1, dtype=flambeau.int64)], n=3, d={"x": x})
    assert found == ([flambeau.float32, flambeau.int64], 3, flambeau.float32)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        flambeau.amp.custom_fwd(lambda ctx: None, device_type=3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'abacus'"):
        flambeau.amp.custom_bwd(device_type="abacus")
    assert callable(flambeau.cuda.amp.custom_fwd(lambda ctx: None))
