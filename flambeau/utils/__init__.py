"""Helpers around training: `checkpoint` trades time for memory."""

from __future__ import annotations

from flambeau.utils import checkpoint

__all__ = ["checkpoint"]
