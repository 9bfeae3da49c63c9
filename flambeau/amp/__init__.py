"""Mixed precision under the name that programs know it by: see `flambeau.autocast`."""

from __future__ import annotations

from flambeau.tensor.autocast import autocast, is_autocast_available

__all__ = ["autocast", "is_autocast_available"]
