"""The classes of results that have names: `flambeau.return_types.sort` of what `flambeau.sort` gives.

>>> import flambeau
>>> result = flambeau.tensor([2, 1]).sort()
>>> isinstance(result, flambeau.return_types.sort)
True
>>> result
flambeau.return_types.sort(
values=tensor([1, 2]),
indices=tensor([1, 0]))
"""

from __future__ import annotations

from typing import Any

from flambeau.ops.point_histograms import Histogram as _Histogram
from flambeau.schema import named_results as _named_results
from flambeau.schema import registry as _registry

histogramdd = _Histogram


def __getattr__(name: str) -> Any:
    """The class of an operator's results."""
    known = None if name.startswith("__") else _named_results.named(name)
    if known is None:
        raise AttributeError(f"module 'flambeau.return_types' has no attribute '{name}': no operator's results have it")
    globals()[name] = known
    return known


def __dir__() -> list[str]:
    short = (name.removeprefix("aten::") for name in _registry.names() if name.startswith("aten::"))
    return sorted({*globals(), *(name for name in short if _named_results.named(name) is not None)})
