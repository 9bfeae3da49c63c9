"""Libraries that PyTorch computes with, and their switches, as programs ask for them: none is used here.

A switch keeps what it is set to and changes nothing. In programs it is a constant, as it stands when they are compiled.

>>> from flambeau import backends
>>> backends.cudnn.is_available(), backends.cudnn.enabled
(False, True)
"""

from __future__ import annotations

from flambeau.backends import cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
