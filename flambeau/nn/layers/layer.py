"""What layers have in common: how `repr` shows their settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from flambeau.nn import init
from flambeau.nn.layers import fresh
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType


class Layer(Module):
    """A module that `repr` shows with its settings: those named in `SHOWN`, or else its constants.

    >>> from flambeau import nn
    >>> nn.PixelShuffle(2)
    PixelShuffle(upscale_factor=2)
    """

    __constants__: ClassVar[list[str]] = []
    SHOWN: ClassVar[tuple[str, ...] | None] = None

    def extra_repr(self) -> str:
        """The settings, by name."""
        names = type(self).__constants__ if self.SHOWN is None else self.SHOWN
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


class Activation(Layer):
    """A layer that may write its result into its input; `repr` says so only where it does."""

    def extra_repr(self) -> str:
        """The settings, by name."""
        return super().extra_repr().replace(", inplace=False", "").replace("inplace=False", "")


def unusual(module: Module, **usual: Any) -> str:
    """For `repr`: the settings that are not as they usually are, each behind a comma."""
    values = {name: getattr(module, name) for name in usual}
    return "".join(f", {name}={value}" for name, value in values.items() if value != usual[name])


class Affine(Layer):
    """A layer with factors and shifts, where they are wanted: `weight` and `bias`, ones and zeros in the beginning."""

    if TYPE_CHECKING:  # what programs know of them is what each layer holds
        weight: Parameter | None
        bias: Parameter | None

    def _add_parameters(
        self, sizes: Sequence[int], weight: bool, bias: bool, device: Device | str | None, dtype: DType | None
    ) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            parameter = fresh.parameter(*sizes, dtype=dtype, device=device) if wanted else None
            self.register_parameter(name, parameter)

    def reset_parameters(self) -> None:
        """Factors 1, shifts 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)
