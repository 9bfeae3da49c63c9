"""`cuda.amp`: `autocast` and `GradScaler` with the device left out; without one they do nothing, with a warning."""

from __future__ import annotations

from functools import partial

from flambeau.cuda.devices import is_available
from flambeau.tensor.autocast import HERE
from flambeau.tensor.autocast import CudaAutocast as autocast  # noqa: N813  (as programs write it)
from flambeau.tensor.autocast_functions import custom_bwd as _custom_bwd
from flambeau.tensor.autocast_functions import custom_fwd as _custom_fwd
from flambeau.tensor.grad_scaler import GradScaler as _GradScaler

HERE["cuda"] = is_available
custom_fwd = partial(_custom_fwd, device_type="cuda")
custom_bwd = partial(_custom_bwd, device_type="cuda")


class GradScaler(_GradScaler):
    """`amp.GradScaler` for CUDA devices.

    Args:
        init_scale, growth_factor, backoff_factor, growth_interval, enabled: as of `amp.GradScaler`.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
