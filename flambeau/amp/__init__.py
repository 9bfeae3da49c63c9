"""Mixed precision under the name that programs know it by: `autocast`, custom functions in it, and scaled losses."""

from __future__ import annotations

from flambeau.tensor.autocast import autocast, is_autocast_available
from flambeau.tensor.autocast_functions import custom_bwd, custom_fwd
from flambeau.tensor.grad_scaler import GradScaler
from flambeau.util.import_paths import provide as _provide

__getattr__ = _provide(
    __name__, {"autocast_mode": "autocast custom_bwd custom_fwd is_autocast_available", "grad_scaler": "GradScaler"}
)

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
