"""What training programs need besides: data in batches (`utils.data`), weights as safetensors (`utils.safetensors`),
`checkpoint`, which trades time for memory, functions over values in containers (`utils.pytree`), and times of small
pieces of code (`utils.benchmark`).
"""

from __future__ import annotations

from flambeau.tensor import dispatch_tools
from flambeau.tensor.swapping import swap_tensors
from flambeau.util.import_paths import provide as _provide
from flambeau.utils import benchmark, checkpoint, data, pytree, safetensors

__getattr__ = _provide(__name__, {"dlpack": "from_dlpack to_dlpack"}, "flambeau.tensor.bridge")
_provide(__name__, {"_python_dispatch": dispatch_tools.NAMES}, "flambeau.tensor.dispatch_tools")
_provide(__name__, {"hooks": "RemovableHandle"}, "flambeau.util.hooks")

_provide(__name__, {"_pytree": " ".join(pytree.__all__)}, "flambeau.utils.pytree")

__all__ = ["benchmark", "checkpoint", "data", "pytree", "safetensors", "swap_tensors"]
