"""What training programs need besides: data in batches (`utils.data`), weights as safetensors (`utils.safetensors`),
and `checkpoint`, which trades time for memory.
"""

from __future__ import annotations

from flambeau.utils import checkpoint, data, safetensors

__all__ = ["checkpoint", "data", "safetensors"]
