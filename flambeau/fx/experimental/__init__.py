"""What PyTorch's programs import from `fx.experimental`: models made quicker by changing their graphs, `make_fx`."""

from __future__ import annotations

from flambeau.util.import_paths import provide as _provide

__getattr__ = _provide(__name__, {"proxy_tensor": "make_fx"}, "flambeau.fx")
