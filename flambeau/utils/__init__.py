"""What training programs need besides: data in batches (`utils.data`), weights as safetensors (`utils.safetensors`),
and `checkpoint`, which trades time for memory.
"""

from __future__ import annotations

from flambeau.util.import_paths import provide as _provide
from flambeau.utils import checkpoint, data, safetensors

__getattr__ = _provide(__name__, {"dlpack": "from_dlpack to_dlpack"}, "flambeau.tensor.bridge")
_provide(__name__, {"hooks": "RemovableHandle"}, "flambeau.util.hooks")

__all__ = ["checkpoint", "data", "safetensors"]
